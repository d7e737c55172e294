/* Images: decoding, encoding, resampling. Every function here may be called from any thread. */
#ifndef SHIFTVIT_IMAGE_H
#define SHIFTVIT_IMAGE_H

#include <shiftvit/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A decoded image: 8-bit RGB, rgb[height, width, 3]. */
typedef struct svit_image svit_image;

/* Reads a JPEG or PNG file, told apart by its first bytes; grey becomes RGB, transparency is laid
 * on black. The image is turned upright as the orientation in the file's EXIF data says; EXIF data
 * that is malformed is ignored. At most 16384 pixels a side and 64 million in all; a JPEG of four
 * inks (CMYK) is not accepted. `*out` is owned by the caller, free with svit_image_free. SVIT_E_IO;
 * SVIT_E_FORMAT naming the file and what is wrong with it; SVIT_E_MEMORY. */
SVIT_API svit_status svit_image_read(svit_image **out, svit_context *context, const char *path,
                                     svit_error *err);

/* As svit_image_read, from memory; `name` is what messages call it (NULL: "image"). */
SVIT_API svit_status svit_image_decode(svit_image **out, svit_context *context, const void *data,
                                       size_t bytes, const char *name, svit_error *err);

/* NULL allowed. */
SVIT_API void svit_image_free(svit_image *image);

/* Its size in pixels, 0 for NULL, and its pixels, borrowed until svit_image_free. */
SVIT_API size_t svit_image_height(const svit_image *image);
SVIT_API size_t svit_image_width(const svit_image *image);
SVIT_API const uint8_t *svit_image_pixels(const svit_image *image);

/* Writes rgb[height, width, 3] as a PNG file; atomic replace as svit_file_replace. */
SVIT_API svit_status svit_image_write_png(svit_context *context, const char *path,
                                          const uint8_t *rgb, size_t height, size_t width,
                                          svit_error *err);

/* Nearest neighbour, half-pixel centres: source index floor((o + 0.5) * n_in / n_out), as
 * tf.image.resize. in[height, width, 3] to out[out_height, out_width, 3]. Sizes 1..16384. */
SVIT_API svit_status svit_resize_nearest_u8(const uint8_t *in, size_t height, size_t width,
                                            uint8_t *out, size_t out_height, size_t out_width,
                                            svit_error *err);

/* Bilinear with antialiasing: where an axis shrinks, the triangle is widened by its scale, so that
 * every pixel of the input counts. Each axis is scaled by itself. The same bytes as
 * Image.resize((out_width, out_height), BILINEAR) of Pillow up to version 12; 13 may differ by one
 * level where one axis shrinks and the other grows. in[height, width, 3] to
 * out[out_height, out_width, 3], not the same array, sides 1..16384. SVIT_E_ARGUMENT;
 * SVIT_E_MEMORY, since tables are made in the context's memory. */
SVIT_API svit_status svit_resize_antialias_u8(svit_context *context, const uint8_t *in,
                                              size_t height, size_t width, uint8_t *out,
                                              size_t out_height, size_t out_width, svit_error *err);

/* Bilinear, half-pixel centres, edges clamped, no antialias, as keras.layers.Resizing.
 * in[height, width, channels] to out[out_height, out_width, channels]; channels 1..1024. */
SVIT_API svit_status svit_resize_bilinear_f32(const float *in, size_t height, size_t width,
                                              size_t channels, float *out, size_t out_height,
                                              size_t out_width, svit_error *err);

/* Left-right mirror, in and out [height, width, channels], not the same array. */
SVIT_API svit_status svit_flip_horizontal_f32(const float *in, size_t height, size_t width,
                                              size_t channels, float *out, svit_error *err);

/* Affine resampling: output pixel (x, y) reads input point (t0 x + t1 y + t2, t3 x + t4 y + t5),
 * pixel centres at whole numbers, folded into the image by reflection (d c b a | a b c d |
 * d c b a), bilinear. in and out [height, width, channels], not the same array; `transform` has
 * 6 finite values. As Keras' RandomRotation and RandomZoom. */
SVIT_API svit_status svit_affine_f32(const float *in, size_t height, size_t width, size_t channels,
                                     const double transform[6], float *out, svit_error *err);

/* The transform of a rotation about the centre by `turns` (1 = full circle, positive turns the
 * content counter-clockwise), and of a zoom by 1 + factor (positive zooms out). */
SVIT_API svit_status svit_affine_rotation(double turns, size_t height, size_t width,
                                          double transform[6], svit_error *err);
SVIT_API svit_status svit_affine_zoom(double height_factor, double width_factor, size_t height,
                                      size_t width, double transform[6], svit_error *err);

/* The order of the copies of shifted patch tokenization. */
enum {
    SVIT_SPT_KERAS = 0, /* copies: original, left-up, left-down, right-up, right-down */
    SVIT_SPT_PAPER = 1  /* copies: original, right-down, left-down, right-up, left-up */
};

/* Cuts an image into patches, tokens in row-major order: in[height, width, channels] to
 * out[tokens, patch, patch, copies, channels], `patch` pixels a side, 1..256, dividing height and
 * width. `spt` 0: one copy, the image. 1: five copies, as shifted patch tokenization has them, the
 * image and its diagonal moves by half a patch (an odd patch: rounded down), 0 where nothing comes
 * in, in the order `spt_order`: SVIT_SPT_KERAS or SVIT_SPT_PAPER. Not the same array.
 * Lee, Lee, Song 2021. */
SVIT_API svit_status svit_patches_f32(const float *in, size_t height, size_t width, size_t channels,
                                      size_t patch, int32_t spt, int32_t spt_order, float *out,
                                      svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
