/* Pipelines: preprocessing and augmentation, from an image to the input of a model. */
#ifndef SHIFTVIT_PIPELINE_H
#define SHIFTVIT_PIPELINE_H

#include <shiftvit/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How evaluation turns the resized image into the model's input. */
enum {
    SVIT_EVALUATE_RESIZE = 0,    /* resizes it once more, to the output size (Keras 2) */
    SVIT_EVALUATE_KEEP = 1,      /* takes it as it is, at the resized size (Keras 3) */
    SVIT_EVALUATE_CROP = 2,      /* takes the centre, of the output size. With the source step
                                 SVIT_SOURCE_BICUBIC to 256 x 256 and no other resize, an output of
                                 224 x 224 is the evaluation of papers on ImageNet and of timm with
                                 crop_pct 0.875; the bytes are those of torchvision's Resize and
                                 CenterCrop on images of Pillow, but for RGBA (SVIT_SOURCE_*) */
    SVIT_EVALUATE_CROP_FLOOR = 3 /* likewise, but where an odd number of lines is over, the centre
                                    always lies one line nearer to the start than to the end, and
                                    that of the source step too, as transformers' center_crop has
                                    it; torchvision's does so for every second odd number */
};

/* The source step: how an image of another size is brought to source_height x source_width. An
 * image that already has this size is not changed. Each channel is resized by itself. Where the
 * bytes are those of Pillow, those of four channels are its bytes of CMYK; of RGBA it multiplies
 * the colours by alpha before it resizes them. */
enum {
    SVIT_SOURCE_NEAREST = 0,      /* scales each axis by itself, by nearest neighbour */
    SVIT_SOURCE_SHORTER_SIDE = 1, /* scales both axes alike, with svit_resize_antialias_u8, until
                                     the image just covers the source size, then crops the centre */
    SVIT_SOURCE_BICUBIC = 2,      /* likewise, with bicubic interpolation, antialiased */
    SVIT_SOURCE_SHORTER_SIDE_PILLOW_12 = 3, /* as SVIT_SOURCE_SHORTER_SIDE with the bytes of Pillow
                                               up to 12.1, which resizes horizontally first; Pillow
                                               13 and the others here do not where the height loses
                                               more than twice the lines that the width loses */
    SVIT_SOURCE_BICUBIC_PILLOW_12 = 4,      /* likewise, with bicubic interpolation */
    SVIT_SOURCE_SQUASH = 5,                 /* scales each axis by itself, bilinear and antialiased:
                                               the bytes of Pillow's resize to the source size
                                               (transformers' ViTImageProcessor) */
    SVIT_SOURCE_SQUASH_BICUBIC = 6,         /* likewise, with bicubic interpolation */
    SVIT_SOURCE_KEEP_RATIO = 7,        /* as SVIT_SOURCE_SHORTER_SIDE, but the longer side of the
                                       resized image is rounded to the nearest pixel, half to even,
                                       and not down: timm's ResizeKeepRatio, which timm and OpenCLIP
                                       take for inputs that are no squares */
    SVIT_SOURCE_KEEP_RATIO_BICUBIC = 8 /* likewise, with bicubic interpolation */
};

/* A step of augmentation, for training alone. Steps up to SVIT_AUGMENT_RESIZED_CROP work on the
 * bytes of the image before step 1 of svit_pipeline_config; files have their images at the source
 * size then (svit_dataset_folder_pipeline). The two after it work on values after step 4. Mixup
 * and CutMix mix the images of a batch in pairs, the first with the last and so on, and their
 * targets alike (svit_loader_next_targets). If a pipeline has both, one of them is drawn for each
 * batch. The steps from SVIT_AUGMENT_COLOR_JITTER to SVIT_AUGMENT_AUTOAUGMENT work on colours, so
 * they need 3 channels. These and SVIT_AUGMENT_RESIZED_CROP do not work on float images. */
enum {
    SVIT_AUGMENT_CROP = 0,         /* pads all sides by `padding` pixels and takes a random crop of
                                      the image's own size */
    SVIT_AUGMENT_FLIP = 1,         /* a left-right mirror */
    SVIT_AUGMENT_COLOR_JITTER = 2, /* changes brightness, contrast, saturation and hue in random
                                      order by random amounts, as torchvision does */
    SVIT_AUGMENT_RANDAUGMENT = 3,  /* RandAugment (Cubuk et al. 2020): `count` operations that are
                                      drawn from 14, at the magnitude `magnitude` of 0..30 */
    SVIT_AUGMENT_TRIVIALAUGMENT = 4, /* TrivialAugment (Mueller, Hutter 2021): one operation at a
                                        random magnitude */
    SVIT_AUGMENT_AUTOAUGMENT = 5,    /* AutoAugment (Cubuk et al. 2019): a random pair of operations
                                        of the policy */
    SVIT_AUGMENT_RESIZED_CROP = 6,   /* torchvision's RandomResizedCrop: a box of a random area and
                                        ratio of its sides, resized with the bytes of Pillow. As
                                        the first step it takes the place of the source step: the
                                        box is one of the whole image, also of a file, and gets the
                                        source size, which data sets of files should have, too. A
                                        later one keeps the size of the image */
    SVIT_AUGMENT_ERASING = 7,        /* random erasing (Zhong et al. 2020): a random box becomes 0,
                                        the mean colour of normalised images */
    SVIT_AUGMENT_CUTOUT = 8,         /* Cutout (DeVries, Taylor 2017): a square of `size` pixels
                                        about a random pixel becomes 0 */
    SVIT_AUGMENT_MIXUP = 9,          /* Mixup (Zhang et al. 2018): lambda times the image plus
                                        1 - lambda times its partner; lambda is Beta(alpha, alpha)
                                        distributed */
    SVIT_AUGMENT_CUTMIX = 10,        /* CutMix (Yun et al. 2019): a box of 1 - lambda of the image
                                        comes from the partner; targets count by their areas */
    SVIT_AUGMENT_REPEAT = 11         /* repeated augmentation (Hoffer et al. 2020): an epoch reads
                                        its first samples `count` times each, one after the other,
                                        with augmentations of their own, and has as many samples as
                                        without it; one such step is accepted */
};

/* The mode of a step. */
enum {
    SVIT_CROP_ZERO = 0,            /* SVIT_AUGMENT_CROP: the padding is 0 */
    SVIT_CROP_REFLECT = 1,         /* the padding mirrors the image, without its border pixels */
    SVIT_FLIP_RANDOM = 0,          /* SVIT_AUGMENT_FLIP: with `probability` */
    SVIT_FLIP_ALTERNATING = 1,     /* each image in every second epoch, at random from the first or
                                      from the second on (Jordan 2024) */
    SVIT_AUTOAUGMENT_CIFAR10 = 0,  /* SVIT_AUGMENT_AUTOAUGMENT: the policy for CIFAR-10 */
    SVIT_AUTOAUGMENT_IMAGENET = 1, /* the policy for ImageNet */
    SVIT_RESIZE_BILINEAR = 0,      /* SVIT_AUGMENT_RESIZED_CROP: bilinear interpolation */
    SVIT_RESIZE_BICUBIC = 1        /* bicubic interpolation */
};

/* One step. Fields of other kinds of steps are 0. All fields of its own kind have to be set:
 * erasing, Mixup, CutMix and a random flip with the `probability` 0 do nothing.
 *
 * JSON has these defaults: `padding` 4; `probability` 0.5 of flip and erasing, 1 of Mixup and
 * CutMix; `count` 2 and `magnitude` 9 of RandAugment; `scale` 0.08 to 1 and `ratio` 3/4 to 4/3 of
 * the resized crop, 0.02 to 0.33 and 0.3 to 3.3 of erasing; `size` 8; `alpha` 0.8 of Mixup, 1 of
 * CutMix; `count` 3 of repeat; all others 0. */
typedef struct svit_augment_step {
    int32_t kind;       /* SVIT_AUGMENT_* */
    int32_t mode;       /* as above; 0 for other kinds */
    uint32_t padding;   /* crop: pixels, 0..256, below the sides of the images, which a
                           loader sees */
    uint32_t count;     /* RandAugment: operations, 1..16; repeat: 1..16 */
    uint32_t magnitude; /* RandAugment: 0..30 */
    uint32_t size;      /* Cutout: pixels, 1..8192; of an odd size, as in the authors' code, one
                           line and column less */
    uint32_t off_epoch; /* Mixup, CutMix: from this epoch on, counted from 0, they do nothing; 0:
                           they always work */
    uint32_t reserved;  /* 0; another value is SVIT_E_VERSION */
    double probability; /* flip, erasing, Mixup, CutMix: [0, 1] */
    double scale[2];   /* erasing, resized crop: smallest and largest part of the area, in (0, 1] */
    double ratio[2];   /* erasing: smallest and largest height / width, (0, 1e6]; resized crop:
                          width / height */
    double brightness; /* jitter, [0, 255]: factors are in max(0, 1 - x)..1 + x */
    double contrast;   /* jitter, likewise */
    double saturation; /* jitter, likewise */
    double alpha;      /* Mixup, CutMix: (0, 1000], the shape of the distribution of lambda */
    double hue;        /* jitter, [0, 0.5]: the hue turns by up to this part of the circle */
} svit_augment_step;

/* The capacities of the arrays in svit_pipeline_config. */
enum {
    SVIT_MAX_AUGMENT_STEPS = 16, /* of `augment` */
    SVIT_MAX_CHANNELS = 4        /* of `mean` and `variance` */
};

/* The configuration of a pipeline. The steps are, after those of `augment` that work on bytes:
 *  1. The source step brings the image to source_height x source_width.
 *  2. Bilinear interpolation without antialiasing resizes it to resize_height x resize_width.
 *  3. Training takes a random crop of output_height x output_width, mirrors it with
 *     flip_probability, rotates and zooms it at random and fills the border by reflection.
 *     Evaluation does what `evaluation` says.
 *  4. value = (byte * scale - mean[channel]) / sqrt(variance[channel]).
 * The values of a float image take the place of the bytes; its source step can only be
 * SVIT_SOURCE_NEAREST, unless the image already has the source size.
 * Keras' ShiftViT example: 32 -> 52 -> crop of 48, flip 0.5, scale 1/255, mean 0, variance 1.
 * Keras' ViT example: 32 -> 72, no crop, flip 0.5, rotation 0.02, zoom 0.2, mean and variance of
 * the training set. */
typedef struct svit_pipeline_config {
    uint32_t struct_size;    /* sizeof(svit_pipeline_config) */
    uint32_t source_height;  /* pixels, 1..8192 */
    uint32_t source_width;   /* pixels, 1..8192 */
    uint32_t resize_height;  /* pixels, output_height..8192 */
    uint32_t resize_width;   /* pixels, output_width..8192 */
    uint32_t output_height;  /* pixels, 1..8192: the height of the model's input */
    uint32_t output_width;   /* pixels, 1..8192: the width of the model's input */
    int32_t evaluation;      /* SVIT_EVALUATE_* */
    int32_t per_batch;       /* 1: one random crop offset for a batch, as in Keras; 0: one for
                                each image. Each image is mirrored by itself in both cases */
    int32_t source_filter;   /* SVIT_SOURCE_* */
    uint32_t channels;       /* of images, 1..1024; those of files have 1 (grey), 3 (RGB) or 4
                                (RGBA). The in_channels of the model. Above SVIT_MAX_CHANNELS the
                                source step is SVIT_SOURCE_NEAREST, and there is no
                                SVIT_AUGMENT_RESIZED_CROP */
    uint32_t augment_count;  /* of `augment` */
    double flip_probability; /* [0, 1]: probability of a left-right mirror */
    double scale;            /* above 0: factor of the bytes */
    double mean[SVIT_MAX_CHANNELS];     /* of each channel, in units of byte * scale; of images
                                           with more channels than this the first is that of all */
    double variance[SVIT_MAX_CHANNELS]; /* above 0, likewise, in units of (byte * scale)^2 */
    double rotation; /* [0, 1]: largest random rotation either way, in full circles */
    double zoom;     /* [0, 1): training zooms height and width by random factors of their
                        own in 1 - zoom..1 + zoom; factors above 1 zoom out */
    svit_augment_step augment[SVIT_MAX_AUGMENT_STEPS]; /* training alone: steps on bytes, then those
                                                          on values, then those on batches */
} svit_pipeline_config;

/* Fills `config` with the pipeline of Keras' ShiftViT example and SVIT_SOURCE_NEAREST. `size` is
 * sizeof(svit_pipeline_config) as the caller was compiled. Any thread may call it. */
SVIT_API svit_status svit_pipeline_config_init(svit_pipeline_config *config, size_t size);

/* Fills `config` from a JSON object, which model files carry as "preprocessing". Its keys are the
 * names of the fields, but for `augment_count`, which follows from "augment"; a missing one takes
 * its default. "filter" is accepted and written too, always "bilinear": that of the resize. "mean"
 * and "variance" are lists of `channels` numbers, of one above SVIT_MAX_CHANNELS. "augment" is a
 * list of objects with "name" and the fields of that step, for example {"name": "crop",
 * "padding": 4, "mode": "zero"}: "crop", "flip" (mode "random", "alternating"), "color-jitter",
 * "randaugment" (n and m for count and magnitude), "trivialaugment", "autoaugment" (policy
 * "cifar10", "imagenet"), "resized-crop" (mode "bilinear", "bicubic"), "erasing", "cutout",
 * "mixup", "cutmix", "repeat" (n for count). A missing field of a step has the default of
 * svit_augment_step. `config` is written only on success. SVIT_E_ARGUMENT names an unknown key or a
 * value that is not accepted; SVIT_E_FORMAT means that the text is no JSON object. SVIT_E_VERSION:
 * a struct of this `size` lacks a field that is not at its default. Any thread may call it. */
SVIT_API svit_status svit_pipeline_config_from_json(svit_pipeline_config *config, size_t size,
                                                    const char *json, svit_error *err);

/* Writes `config` as the JSON object that svit_pipeline_config_from_json reads. `buffer`,
 * `capacity` and `needed` are as in svit_context_describe. SVIT_E_ARGUMENT names a field that is
 * out of range. Any thread may call it. */
SVIT_API svit_status svit_pipeline_config_to_json(const svit_pipeline_config *config, char *buffer,
                                                  size_t capacity, size_t *needed, svit_error *err);

/* Writes the size of an evaluated image to *height and *width, in pixels: the output size, or the
 * resized size with SVIT_EVALUATE_KEEP. Any thread may call it. */
SVIT_API svit_status svit_pipeline_evaluation_size(const svit_pipeline_config *config,
                                                   size_t *height, size_t *width, svit_error *err);

/* Applies the source step alone to pixels[height, width, channels], with sides of 1..16384 pixels,
 * and writes out[source_height, source_width, channels], another array; `channels` is the
 * pipeline's. This is the image that training and
 * evaluation resize. SVIT_E_ARGUMENT names what is out of range; SVIT_E_MEMORY as
 * svit_resize_antialias_u8. Any thread may call it. */
SVIT_API svit_status svit_pipeline_apply_source(svit_context *context,
                                                const svit_pipeline_config *config,
                                                const uint8_t *pixels, size_t height, size_t width,
                                                uint8_t *out, svit_error *err);

/* Applies the evaluation pipeline, source step included, to n images
 * pixels[n, height, width, channels] and writes out[n, evaluation height, evaluation width,
 * channels] in the size of svit_pipeline_evaluation_size; `channels` is the pipeline's. Errors are
 * those of svit_pipeline_apply_source. Any thread may call it. */
SVIT_API svit_status svit_pipeline_apply_evaluation(svit_context *context,
                                                    const svit_pipeline_config *config,
                                                    const uint8_t *pixels, size_t n, size_t height,
                                                    size_t width, float *out, svit_error *err);

/* Does the same for float images[n, height, width, channels]. SVIT_E_ARGUMENT names the first image
 * with a value that is not finite, or so large that a step might make it so: above an eighth of the
 * largest float, before or after the normalisation. SVIT_E_UNSUPPORTED: the source step would be
 * antialiased. */
SVIT_API svit_status svit_pipeline_apply_evaluation_f32(svit_context *context,
                                                        const svit_pipeline_config *config,
                                                        const float *images, size_t n,
                                                        size_t height, size_t width, float *out,
                                                        svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
