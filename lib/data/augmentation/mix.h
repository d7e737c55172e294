/* Mixup and CutMix: steps of augmentation that mix the images of a batch in pairs, and their
 * targets alike. Image i and image n - 1 - i are a pair, as in timm. */
#ifndef SV_MIX_H
#define SV_MIX_H

#include <shiftvit/pipeline.h>

#include <stdbool.h>

/* How the images of one batch are mixed. */
typedef struct sv_mix {
    int32_t kind;   /* SVIT_AUGMENT_MIXUP, SVIT_AUGMENT_CUTMIX, or -1 for nothing */
    double lambda;  /* the weight of an image's own target, 0..1 */
    size_t rows[2]; /* CutMix: the box that comes from the partner, first and one past the last */
    size_t columns[2];
} sv_mix;

/* Whether a configuration has a step of Mixup or CutMix. */
bool sv_mix_in(const svit_pipeline_config *config);

/* Draws how a batch of images of height x width pixels is mixed: a function of the arguments alone.
 * Of Mixup and CutMix, if the configuration has both, one is chosen with equal probability. */
sv_mix sv_mix_draw(const svit_pipeline_config *config, uint64_t seed, uint64_t epoch,
                   uint32_t batch, size_t height, size_t width);

/* The box of CutMix about a centre (row, column), for a drawn lambda, cut at the border, as in
 * timm: its sides are int(side * sqrt(1 - lambda)). Corrects mix->lambda to the part of the image
 * outside the box. */
void sv_mix_box(sv_mix *mix, size_t height, size_t width, size_t row, size_t column);

/* Mixes the images a and b, [height, width, channels], and their targets, [classes], in place.
 * Which of the two is first makes no difference. */
void sv_mix_pair(const sv_mix *mix, float *a, float *b, size_t height, size_t width,
                 size_t channels, float *a_targets, float *b_targets, size_t classes);

#endif
