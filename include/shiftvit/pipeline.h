/* Pipelines: preprocessing and augmentation, from an 8-bit image to the input of a model. */
#ifndef SHIFTVIT_PIPELINE_H
#define SHIFTVIT_PIPELINE_H

#include <shiftvit/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How evaluation turns the resized image into the model's input. */
enum {
    SVIT_EVALUATE_RESIZE = 0, /* resizes it once more, to the output size (Keras 2) */
    SVIT_EVALUATE_KEEP = 1    /* takes it as it is, at the resized size (Keras 3) */
};

/* The source step: how an image of another size is brought to source_height x source_width. An
 * image that already has this size is not changed. */
enum {
    SVIT_SOURCE_NEAREST = 0,     /* scales each axis by itself, by nearest neighbour */
    SVIT_SOURCE_SHORTER_SIDE = 1 /* scales both axes alike, with svit_resize_antialias_u8, until the
                                    image just covers the source size, then crops the centre */
};

/* The configuration of a pipeline. The steps are:
 *  1. The source step brings the image to source_height x source_width.
 *  2. Bilinear interpolation without antialiasing resizes it to resize_height x resize_width.
 *  3. Training takes a random crop of output_height x output_width, mirrors it with
 *     flip_probability, rotates and zooms it at random and fills the border by reflection.
 *     Evaluation does what `evaluation` says.
 *  4. value = (byte * scale - mean[channel]) / sqrt(variance[channel]).
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
    double flip_probability; /* [0, 1]: probability of a left-right mirror */
    double scale;            /* above 0: factor of the bytes */
    double mean[3];          /* of red, green, blue, in units of byte * scale */
    double variance[3];      /* above 0, of red, green, blue, in units of (byte * scale)^2 */
    double rotation;         /* [0, 1]: largest random rotation either way, in full circles */
    double zoom;             /* [0, 1): training zooms height and width by random factors of their
                                own in 1 - zoom..1 + zoom; factors above 1 zoom out */
} svit_pipeline_config;

/* Fills `config` with the pipeline of Keras' ShiftViT example and SVIT_SOURCE_NEAREST. `size` is
 * sizeof(svit_pipeline_config) as the caller was compiled. Any thread may call it. */
SVIT_API svit_status svit_pipeline_config_init(svit_pipeline_config *config, size_t size);

/* Fills `config` from a JSON object, which model files carry as "preprocessing". Its keys are the
 * names of the fields; a missing one takes its default. `config` is written only on success.
 * SVIT_E_ARGUMENT names an unknown key or a value that is not accepted; SVIT_E_FORMAT means that
 * the text is no JSON object. Any thread may call it. */
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

/* Applies the source step alone to rgb[height, width, 3], with sides of 1..16384 pixels, and writes
 * out[source_height, source_width, 3], another array. This is the image that training and
 * evaluation resize. SVIT_E_ARGUMENT names what is out of range; SVIT_E_MEMORY as
 * svit_resize_antialias_u8. Any thread may call it. */
SVIT_API svit_status svit_pipeline_apply_source(svit_context *context,
                                                const svit_pipeline_config *config,
                                                const uint8_t *rgb, size_t height, size_t width,
                                                uint8_t *out, svit_error *err);

/* Applies the evaluation pipeline, source step included, to n images rgb[n, height, width, 3] and
 * writes out[n, evaluation height, evaluation width, 3] in the size of
 * svit_pipeline_evaluation_size. Errors are those of svit_pipeline_apply_source. Any thread may
 * call it. */
SVIT_API svit_status svit_pipeline_apply_evaluation(svit_context *context,
                                                    const svit_pipeline_config *config,
                                                    const uint8_t *rgb, size_t n, size_t height,
                                                    size_t width, float *out, svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
