/* Runs the augmentation steps of a pipeline on one image. The result is a function of the
 * configuration and of (seed, epoch, sample). Epochs are below 2^52. */
#ifndef SV_AUGMENT_STEPS_H
#define SV_AUGMENT_STEPS_H

#include "data/decoding/image_shape.h"
#include "data/resampling/antialias.h"

#include <shiftvit/pipeline.h>

/* Which image of which epoch is augmented. A reading of an image that has random numbers of its own
 * beside another in one epoch has another seed or counts as another epoch. */
typedef struct sv_augment_key {
    uint64_t seed, epoch;
    uint32_t sample;
} sv_augment_key;

/* Whether a configuration has steps on bytes, and whether it has steps on values. */
bool sv_augment_has_bytes(const svit_pipeline_config *config);
bool sv_augment_has_values(const svit_pipeline_config *config);

/* How often each sample of an epoch is read: 1 without repeated augmentation. */
uint32_t sv_augment_repeats(const svit_pipeline_config *config);

/* Bytes of scratch that sv_augment_bytes needs for images of that shape: two images, and the tables
 * of resized crops. */
size_t sv_augment_scratch(const sv_image_shape *shape);

/* Runs the steps on bytes from step `first` on. `pixels` may be floats if all these steps only move
 * pixels. Returns the result: `pixels` itself, or one of two images in `scratch`, which is aligned
 * for floats. */
const void *sv_augment_bytes(const svit_pipeline_config *config, const sv_augment_key *key,
                             uint32_t first, const void *pixels, const sv_image_shape *shape,
                             void *scratch);

/* Runs the steps on values in place, image[height, width, config->channels]. */
void sv_augment_values(const svit_pipeline_config *config, const sv_augment_key *key, float *image,
                       size_t height, size_t width);

/* crop.c: out[height, width] = the window of that size at (top, left) of the image after padding
 * all sides by `padding` pixels; with `reflect` the padding mirrors the image. A pixel has
 * `pixel_bytes` bytes. */
void sv_augment_crop(void *out, const void *in, size_t height, size_t width, size_t pixel_bytes,
                     size_t padding, size_t top, size_t left, bool reflect);

/* A window of an image. */
typedef struct sv_crop_box {
    size_t top, left, height, width;
} sv_crop_box;

/* A resized crop whose box is not drawn before the size of the image is known. */
typedef struct sv_first_crop {
    const svit_augment_step *step; /* step 0 */
    sv_augment_key key;
} sv_first_crop;

/* Whether the steps of a configuration begin with a resized crop. */
bool sv_augment_crops_first(const svit_pipeline_config *config);

/* The box of that crop in an image of height x width pixels. */
sv_crop_box sv_augment_draw_box(const sv_first_crop *crop, size_t height, size_t width);

/* The sides of a box of that part of the image's area and that ratio of width to height, rounded to
 * nearest. Returns false, with *box unchanged, if it does not fit the image. */
bool sv_resized_crop_sides(sv_crop_box *box, size_t height, size_t width, double area,
                           double ratio);

/* Cuts the box out of in[height, width, channels] and resizes it to out[height, width, channels] by
 * sv_antialias_enlarge, which gets `scratch`. */
void sv_augment_resized_crop(uint8_t *out, const uint8_t *in, size_t height, size_t width,
                             size_t channels, const sv_crop_box *box, sv_antialias_filter filter,
                             void *scratch);

/* The filter of a resized crop. */
sv_antialias_filter sv_augment_crop_filter(const svit_augment_step *step);

/* out = in mirrored left-right, pixels of `pixel_bytes` bytes. */
void sv_augment_mirror(void *out, const void *in, size_t height, size_t width, size_t pixel_bytes);

/* Sets a box of image[height, width, channels] to 0. */
void sv_augment_erase(float *image, size_t width, size_t channels, size_t top, size_t left,
                      size_t box_height, size_t box_width);

/* The lines first..first + count - 1 that a square of `size` about line `centre` covers, cut at the
 * border of `lines` lines. */
void sv_cutout_range(size_t *first, size_t *count, size_t lines, size_t size, size_t centre);

#endif
