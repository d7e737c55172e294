//! The choices of `pipeline.h`.

// Written by bindings/rust/generate from the C headers.

use crate::field::enumeration;
use shiftvit_sys as sys;

enumeration! {
    /// How evaluation turns the resized image into the model's input.
    pub enum Evaluation {
        /// Resizes it once more, to the output size (Keras 2).
        Resize = SVIT_EVALUATE_RESIZE,
        /// Takes it as it is, at the resized size (Keras 3).
        Keep = SVIT_EVALUATE_KEEP,
        /// Takes the centre, of the output size. With the source step
        /// `Source::Bicubic` to 256 x 256 and no other resize, an output of
        /// 224 x 224 is the evaluation of papers on ImageNet and of timm with
        /// crop_pct 0.875; the bytes are those of torchvision's Resize and
        /// CenterCrop on images of Pillow, but for RGBA (`Source`).
        Crop = SVIT_EVALUATE_CROP,
        /// Likewise, but where an odd number of lines is over, the centre
        /// always lies one line nearer to the start than to the end, and
        /// that of the source step too, as transformers' center_crop has
        /// it; torchvision's does so for every second odd number.
        CropFloor = SVIT_EVALUATE_CROP_FLOOR,
    }
}

enumeration! {
    /// The source step: how an image of another size is brought to source_height x source_width. An
    /// image that already has this size is not changed. Each channel is resized by itself. Where the
    /// bytes are those of Pillow, those of four channels are its bytes of CMYK; of RGBA it multiplies
    /// the colours by alpha before it resizes them.
    pub enum Source {
        /// Scales each axis by itself, by nearest neighbour.
        Nearest = SVIT_SOURCE_NEAREST,
        /// Scales both axes alike, with `sys::svit_resize_antialias_u8`, until
        /// the image just covers the source size, then crops the centre.
        ShorterSide = SVIT_SOURCE_SHORTER_SIDE,
        /// Likewise, with bicubic interpolation, antialiased.
        Bicubic = SVIT_SOURCE_BICUBIC,
        /// As `Source::ShorterSide` with the bytes of Pillow
        /// up to 12.1, which resizes horizontally first; Pillow
        /// 13 and the others here do not where the height loses
        /// more than twice the lines that the width loses.
        ShorterSidePillow12 = SVIT_SOURCE_SHORTER_SIDE_PILLOW_12,
        /// Likewise, with bicubic interpolation.
        BicubicPillow12 = SVIT_SOURCE_BICUBIC_PILLOW_12,
        /// Scales each axis by itself, bilinear and antialiased:
        /// the bytes of Pillow's resize to the source size
        /// (transformers' ViTImageProcessor).
        Squash = SVIT_SOURCE_SQUASH,
        /// Likewise, with bicubic interpolation.
        SquashBicubic = SVIT_SOURCE_SQUASH_BICUBIC,
        /// As `Source::ShorterSide`, but the longer side of the
        /// resized image is rounded to the nearest pixel, half to even,
        /// and not down: timm's ResizeKeepRatio, which timm and OpenCLIP
        /// take for inputs that are no squares.
        KeepRatio = SVIT_SOURCE_KEEP_RATIO,
        /// Likewise, with bicubic interpolation.
        KeepRatioBicubic = SVIT_SOURCE_KEEP_RATIO_BICUBIC,
    }
}

enumeration! {
    /// A choice among `SVIT_CROP_ZERO`, `SVIT_CROP_REFLECT` of C.
    pub enum CropFill {
        /// SVIT_AUGMENT_CROP: the padding is 0.
        Zero = SVIT_CROP_ZERO,
        /// The padding mirrors the image, without its border pixels.
        Reflect = SVIT_CROP_REFLECT,
    }
}

enumeration! {
    /// A choice among `SVIT_FLIP_RANDOM`, `SVIT_FLIP_ALTERNATING` of C.
    pub enum FlipRule {
        /// SVIT_AUGMENT_FLIP: with `probability`.
        Random = SVIT_FLIP_RANDOM,
        /// Each image in every second epoch, at random from the first or
        /// from the second on (Jordan 2024).
        Alternating = SVIT_FLIP_ALTERNATING,
    }
}

enumeration! {
    /// A choice among `SVIT_AUTOAUGMENT_CIFAR10`, `SVIT_AUTOAUGMENT_IMAGENET` of C.
    pub enum AutoAugmentPolicy {
        /// SVIT_AUGMENT_AUTOAUGMENT: the policy for CIFAR-10.
        Cifar10 = SVIT_AUTOAUGMENT_CIFAR10,
        /// The policy for ImageNet.
        Imagenet = SVIT_AUTOAUGMENT_IMAGENET,
    }
}

enumeration! {
    /// A choice among `SVIT_RESIZE_BILINEAR`, `SVIT_RESIZE_BICUBIC` of C.
    pub enum ResizeFilter {
        /// SVIT_AUGMENT_RESIZED_CROP: bilinear interpolation.
        Bilinear = SVIT_RESIZE_BILINEAR,
        /// Bicubic interpolation.
        Bicubic = SVIT_RESIZE_BICUBIC,
    }
}
