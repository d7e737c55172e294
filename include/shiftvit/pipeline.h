/* Pipelines: what turns an image of bytes into a model's input, in training and in evaluation. */
#ifndef SHIFTVIT_PIPELINE_H
#define SHIFTVIT_PIPELINE_H

#include <shiftvit/context.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SVIT_EVALUATE_RESIZE = 0, /* the resized image is resized again to the output size (Keras 2) */
    SVIT_EVALUATE_KEEP = 1    /* the resized image is the output (today's Keras) */
};

/* The source step: how an image whose size differs from source_height x source_width is brought to
 * that size. An image that has it already is taken as it is. */
enum {
    SVIT_SOURCE_NEAREST = 0,     /* each axis is stretched by nearest neighbour */
    SVIT_SOURCE_SHORTER_SIDE = 1 /* both axes are scaled alike, by bilinear resizing with
                                    antialiasing (as Pillow's), so that the image just covers the
                                    source size (a square one: the shorter side becomes it); then
                                    the middle is kept */
};

/* Images are brought to source size as `source_filter` says, then resized bilinearly to
 * resize_height x resize_width. Training then takes a random crop of the output size, mirrors it
 * with flip_probability, rotates and zooms it, filling by reflection; evaluation does as
 * `evaluation` says. Last, value = (byte * scale - mean[channel]) / sqrt(variance[channel]). The
 * Keras ShiftViT example: 32 -> 52 -> crop 48, flip 0.5, scale 1/255, mean 0, variance 1. The Keras
 * ViT example: 32 -> 72, no crop, flip 0.5, rotation 0.02, zoom 0.2, the training set's mean and
 * variance. */
typedef struct svit_pipeline_config {
    uint32_t struct_size;   /* sizeof(svit_pipeline_config) */
    uint32_t source_height; /* pixels, 1..8192, as all sizes here */
    uint32_t source_width;
    uint32_t resize_height; /* at least the output's */
    uint32_t resize_width;
    uint32_t output_height; /* the model's input */
    uint32_t output_width;
    int32_t evaluation;      /* SVIT_EVALUATE_* */
    int32_t per_batch;       /* 1: one crop offset a batch (as Keras draws), 0: one an image; the
                                flip is always drawn for each image */
    int32_t source_filter;   /* SVIT_SOURCE_*; NEAREST unless set, also in files that name none */
    double flip_probability; /* [0, 1] */
    double scale;            /* above 0 */
    double mean[3];          /* in units of byte * scale */
    double variance[3];      /* above 0 */
    double rotation;         /* [0, 1]: training turns by up to so many circles either way */
    double zoom;             /* [0, 1): training zooms height and width, each by a factor of its
                                own in 1 - zoom..1 + zoom; positive zooms out */
} svit_pipeline_config;

/* Fills `config` with the pipeline of the Keras ShiftViT example. */
SVIT_API svit_status svit_pipeline_config_init(svit_pipeline_config *config, size_t size);

/* Fills `config` from the JSON object that model files carry as `preprocessing`, and back. A field
 * left out takes its default; an unknown one is an error that names it. Buffer rules as
 * svit_context_describe. Any thread. */
SVIT_API svit_status svit_pipeline_config_from_json(svit_pipeline_config *config, size_t size,
                                                    const char *json, svit_error *err);
SVIT_API svit_status svit_pipeline_config_to_json(const svit_pipeline_config *config, char *buffer,
                                                  size_t capacity, size_t *needed, svit_error *err);

/* The size of what evaluation puts out for `config`: the output size, or the resized size with
 * SVIT_EVALUATE_KEEP. */
SVIT_API svit_status svit_pipeline_evaluation_size(const svit_pipeline_config *config,
                                                   size_t *height, size_t *width, svit_error *err);

/* Applies the source step alone to an image rgb[height, width, 3], sides 1..16384, into
 * out[source_height, source_width, 3], another array: what training and evaluation see of it before
 * they resize it. SVIT_E_ARGUMENT; SVIT_E_MEMORY. Any thread. */
SVIT_API svit_status svit_pipeline_apply_source(svit_context *context,
                                                const svit_pipeline_config *config,
                                                const uint8_t *rgb, size_t height, size_t width,
                                                uint8_t *out, svit_error *err);

/* Applies the evaluation pipeline, source step included, to n images rgb[n, height, width, 3] into
 * out[n, evaluation height, evaluation width, 3]. Any thread. */
SVIT_API svit_status svit_pipeline_apply_evaluation(svit_context *context,
                                                    const svit_pipeline_config *config,
                                                    const uint8_t *rgb, size_t n, size_t height,
                                                    size_t width, float *out, svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
