/* Runs the augmentation steps of a pipeline on one image. The result is a function of the
 * configuration and of (seed, epoch, sample). Epochs are below 2^52. */
#ifndef SV_AUGMENT_STEPS_H
#define SV_AUGMENT_STEPS_H

#include <shiftvit/pipeline.h>

#include <stdbool.h>

/* Which image of which epoch is augmented. */
typedef struct sv_augment_key {
    uint64_t seed, epoch;
    uint32_t sample;
} sv_augment_key;

/* Whether a configuration has steps on bytes, and whether it has steps on values. */
bool sv_augment_has_bytes(const svit_pipeline_config *config);
bool sv_augment_has_values(const svit_pipeline_config *config);

/* How often each sample of an epoch is read: 1 without repeated augmentation. */
uint32_t sv_augment_repeats(const svit_pipeline_config *config);

/* Runs the steps on bytes. Returns the result: `rgb` itself, or one of two buffers of height *
 * width
 * * 3 bytes in `scratch`. */
const uint8_t *sv_augment_bytes(const svit_pipeline_config *config, const sv_augment_key *key,
                                const uint8_t *rgb, size_t height, size_t width, uint8_t *scratch);

/* Runs the steps on values in place, image[height, width, 3]. */
void sv_augment_values(const svit_pipeline_config *config, const sv_augment_key *key, float *image,
                       size_t height, size_t width);

/* crop.c: out[height, width, 3] = the window of that size at (top, left) of the image after padding
 * all sides by `padding` pixels; with `reflect` the padding mirrors the image. */
void sv_augment_crop(uint8_t *out, const uint8_t *in, size_t height, size_t width, size_t padding,
                     size_t top, size_t left, bool reflect);

/* out = in mirrored left-right. */
void sv_augment_mirror(uint8_t *out, const uint8_t *in, size_t height, size_t width);

/* Sets a box of image[height, width, 3] to 0. */
void sv_augment_erase(float *image, size_t width, size_t top, size_t left, size_t box_height,
                      size_t box_width);

/* The lines first..first + count - 1 that a square of `size` about line `centre` covers, cut at the
 * border of `lines` lines. */
void sv_cutout_range(size_t *first, size_t *count, size_t lines, size_t size, size_t centre);

#endif
