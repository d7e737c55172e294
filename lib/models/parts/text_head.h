/* The head of a model whose logits are an embedding of the image, and whose classes are embeddings
 * of texts: their cosine similarities. Predictors apply it. */
#ifndef SV_TEXT_HEAD_H
#define SV_TEXT_HEAD_H

#include "io/safetensors.h"
#include "models/model_file.h"

struct sv_text_head {
    sv_parameter_table table; /* of one tensor, "text_head.weight" [classes, channels] */
    size_t classes, channels;
    real *weight; /* rows of length 1 */
    char **names; /* [classes] */
    double scale, bias;
};

/* The name of its tensor in model files, and of its metadata. */
#define SV_TEXT_HEAD_TENSOR "text_head.weight"
#define SV_TEXT_HEAD_KEY "text_head"

/* Frees the head; the model has none afterwards. */
void sv_model_release_text_head(svit_model *model);

/* Copies the head of `from`, if it has one, to a model that has none. SVIT_E_MEMORY. */
svit_status sv_model_copy_text_head(svit_model *to, const svit_model *from, svit_error *err);

/* Passes what the metadata of a file say of the head, if there is one, to `sink`. */
svit_status sv_text_head_metadata(const sv_metadata_sink *sink, const svit_model *model,
                                  svit_error *err);

/* Reads the head of a file, if it has one, into a model that has none. SVIT_E_FORMAT. */
svit_status sv_text_head_read(svit_model *model, const sv_safetensors *file, const char *path,
                              svit_error *err);

/* out[n, classes] = scale * the cosine similarities of embeddings[n, channels] + bias. That of an
 * embedding of zeros is 0. */
void sv_text_head_apply(const struct sv_text_head *head, float *out, const float *embeddings,
                        size_t n);

#endif
