//! Images: decoding, encoding, resampling and patches. Any thread may call every function here.

// Written by bindings/rust/generate from the C headers.

use crate::context::*;
use crate::status::*;
use std::os::raw::{c_char, c_void};

// The bytes of a pixel in a program's frame.

/// grey
pub const SVIT_PIXELS_GREY: i32 = 0;
/// red, green, blue
pub const SVIT_PIXELS_RGB: i32 = 1;
/// blue, green, red: those of OpenCV
pub const SVIT_PIXELS_BGR: i32 = 2;
/// red, green, blue, alpha, whose colours are not multiplied by alpha
pub const SVIT_PIXELS_RGBA: i32 = 3;
/// blue, green, red, alpha, likewise; a frame whose fourth byte has no
/// meaning gives black where it is 0
pub const SVIT_PIXELS_BGRA: i32 = 4;

// The order of the five image copies in shifted patch tokenization (SPT).

/// original, left-up, left-down, right-up, right-down (Keras example)
pub const SVIT_SPT_KERAS: i32 = 0;
/// original, right-down, left-down, right-up, left-up (the paper's code)
pub const SVIT_SPT_PAPER: i32 = 1;

/// A decoded image of 8-bit pixels \[height, width, channels\].
#[repr(C)]
pub struct svit_image {
    _data: [u8; 0],
    _marker: core::marker::PhantomData<(*mut u8, core::marker::PhantomPinned)>,
}

extern "C" {
    /// Reads a JPEG, PNG or WebP file; the first bytes tell which it is. `channels` says what it
    /// becomes: 1: grey, the luma (19595 R + 38470 G + 7471 B + 32768) \>\> 16 as Pillow's convert("L"),
    /// without regard to transparency; 3: RGB, transparent pixels blended with black; 4: RGBA, the alpha
    /// 255 where the file has none. The pixels are those of Pillow, but for grey PNG of 16
    /// bits, and before a blend with black: colour
    /// profiles and gamma are ignored, CMYK becomes RGB by Pillow's formula, and an animation gives its
    /// first frame. The image is turned upright by the orientation in its EXIF data or XMP, as by
    /// Pillow's ImageOps.exif_transpose; of a JPEG the first Exif segment counts. Malformed EXIF data is
    /// ignored. The caller owns \*out and frees it with svit_image_free.
    ///
    /// SVIT_E_ARGUMENT: `channels` is another number. SVIT_E_IO: the file cannot be read. SVIT_E_FORMAT
    /// names the file and the problem: it is damaged, of another format, wider or higher than 16384
    /// pixels, larger than max_image_pixels of the context, the file has more than 256 MiB, or a JPEG
    /// more than 500 scans or, times the pixels, more than 2^31.
    /// SVIT_E_UNSUPPORTED: the build has no decoder for the format, which svit_context_describe tells.
    /// SVIT_E_MEMORY: the decoder has not enough memory.
    pub fn svit_image_read(
        out: *mut *mut svit_image,
        context: *mut svit_context,
        path: *const c_char,
        channels: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Decodes a JPEG, PNG or WebP file from memory, data\[bytes\], as svit_image_read does. Messages call
    /// the image `name`; NULL stands for "image". The caller owns \*out and frees it with
    /// svit_image_free.
    pub fn svit_image_decode(
        out: *mut *mut svit_image,
        context: *mut svit_context,
        data: *const c_void,
        bytes: usize,
        name: *const c_char,
        channels: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Returns the endings of the files' names of all formats that the library knows, in lower case,
    /// with a space between two: ".jpg .jpeg .jpe .jfif .png .webp". Datasets of folders take the files
    /// that end so, in either case, for images. Only the first bytes of a file decide on its format. The
    /// text has static storage. Any thread may call it.
    pub fn svit_image_endings() -> *const c_char;

    /// Frees an image. NULL is allowed.
    pub fn svit_image_free(image: *mut svit_image);

    /// Returns the height in pixels; 0 for NULL.
    pub fn svit_image_height(image: *const svit_image) -> usize;

    /// Returns the width in pixels; 0 for NULL.
    pub fn svit_image_width(image: *const svit_image) -> usize;

    /// Returns the number of channels, 1, 3 or 4; 0 for NULL.
    pub fn svit_image_channels(image: *const svit_image) -> usize;

    /// Returns the pixels \[height, width, channels\], borrowed until svit_image_free; NULL for NULL.
    pub fn svit_image_pixels(image: *const svit_image) -> *const u8;

    /// Writes rgb\[height, width, 3\] as a PNG file and replaces an existing file atomically, as
    /// svit_file_replace. SVIT_E_IO names the path. SVIT_E_UNSUPPORTED: the build has no PNG.
    pub fn svit_image_write_png(
        context: *mut svit_context,
        path: *const c_char,
        rgb: *const u8,
        height: usize,
        width: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Brings a frame, such as a camera's or a part of a larger one, to the order of this library's
    /// arrays: out\[height, width, channels\], another array, is what svit_image_read makes of a file with
    /// these pixels, and what predictors take. `format` is SVIT_PIXELS_\*. Sides are 1..16384 pixels,
    /// `channels` 1, 3 or 4. `stride` is the number of bytes from one row of `in` to the next, 0: those
    /// of a row. For a frame whose first row is the lowest one call is made for each row, with height 1.
    /// SVIT_E_ARGUMENT names what is out of range. New in 0.4.
    pub fn svit_pixels_convert(
        input: *const u8,
        format: i32,
        height: usize,
        width: usize,
        stride: usize,
        out: *mut u8,
        channels: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Resizes in\[height, width, 3\] to out\[out_height, out_width, 3\] by nearest neighbour with
    /// half-pixel centres, as tf.image.resize: the source index is floor((o + 0.5) \* n_in / n_out). All
    /// sides are 1..16384 pixels. SVIT_E_ARGUMENT names a side that is out of range.
    pub fn svit_resize_nearest_u8(
        input: *const u8,
        height: usize,
        width: usize,
        out: *mut u8,
        out_height: usize,
        out_width: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Resizes in\[height, width, 3\] to out\[out_height, out_width, 3\], another array, by bilinear
    /// interpolation with antialiasing: on an axis that shrinks, the triangle filter is widened by the
    /// scale, so that every input pixel contributes. All sides are 1..16384 pixels. The bytes equal
    /// those of Image.resize((out_width, out_height), BILINEAR) in Pillow 13, which resizes vertically
    /// first where the height loses more than twice the lines that the width loses; older versions
    /// differ there. SVIT_E_ARGUMENT names a side that is out of range. SVIT_E_MEMORY: the filter
    /// tables, from the context's allocator, do not fit.
    pub fn svit_resize_antialias_u8(
        context: *mut svit_context,
        input: *const u8,
        height: usize,
        width: usize,
        out: *mut u8,
        out_height: usize,
        out_width: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Resizes in\[height, width, channels\] to out\[out_height, out_width, channels\] by bilinear
    /// interpolation with half-pixel centres and clamped edges, without antialiasing, as
    /// keras.layers.Resizing. Sides are 1..16384 pixels, channels 1..1024. SVIT_E_ARGUMENT names a size
    /// that is out of range.
    pub fn svit_resize_bilinear_f32(
        input: *const f32,
        height: usize,
        width: usize,
        channels: usize,
        out: *mut f32,
        out_height: usize,
        out_width: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Mirrors in\[height, width, channels\] left to right into `out`, another array of the same shape.
    pub fn svit_flip_horizontal_f32(
        input: *const f32,
        height: usize,
        width: usize,
        channels: usize,
        out: *mut f32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Resamples in\[height, width, channels\] into `out`, another array of the same shape, under an
    /// affine transform of 6 finite values t: output pixel (x, y) is the bilinear interpolation of the
    /// input at (t0 x + t1 y + t2, t3 x + t4 y + t5). Pixel centres are at integer coordinates. Points
    /// outside the image are reflected into it (d c b a \| a b c d \| d c b a). As Keras' RandomRotation
    /// and RandomZoom.
    pub fn svit_affine_f32(
        input: *const f32,
        height: usize,
        width: usize,
        channels: usize,
        transform: *const f64,
        out: *mut f32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes the transform of a rotation about the image centre by `turns` full circles to `transform`.
    /// Positive values turn the content counter-clockwise.
    pub fn svit_affine_rotation(
        turns: f64,
        height: usize,
        width: usize,
        transform: *mut f64,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes the transform of a zoom about the image centre by 1 + factor on each axis to `transform`.
    /// Positive factors zoom out.
    pub fn svit_affine_zoom(
        height_factor: f64,
        width_factor: f64,
        height: usize,
        width: usize,
        transform: *mut f64,
        err: *mut svit_error,
    ) -> svit_status;

    /// Cuts in\[height, width, channels\] into patches of patch x patch pixels and writes them, in
    /// row-major order, to out\[tokens, patch, patch, copies, channels\], another array, where tokens is
    /// (height / patch) \* (width / patch). `patch` is 1..256 and divides height and width.
    ///
    /// With `spt` 0 there is one copy, the image. With `spt` 1 there are the five copies of shifted
    /// patch tokenization (Lee, Lee, Song 2021) in the order `spt_order` (SVIT_SPT_\*): the image, and
    /// the image shifted diagonally by patch / 2 pixels, rounded down, with zeros at the borders.
    /// SVIT_E_ARGUMENT names the argument that is out of range.
    pub fn svit_patches_f32(
        input: *const f32,
        height: usize,
        width: usize,
        channels: usize,
        patch: usize,
        spt: i32,
        spt_order: i32,
        out: *mut f32,
        err: *mut svit_error,
    ) -> svit_status;
}
