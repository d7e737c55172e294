/* Sizes and parameter names that follow from the configuration of a ViT, for the files of this
 * folder. */
#ifndef SV_VIT_H
#define SV_VIT_H

#include "models/config.h"

#include <stdbool.h>

/* Elements that are mapped to one token: those of a patch; with SVIT_TOKENIZER_SPT those of the
 * patch in the image and in its four shifted copies. */
size_t sv_vit_patch_elements(const svit_model_config *config);

/* Whether there is a class token. */
bool sv_vit_has_class_token(const svit_model_config *config);

/* Whether there is a position embedding. */
bool sv_vit_has_positions(const svit_model_config *config);

/* Tokens before the patches: class token, distillation token and registers. */
size_t sv_vit_prefix(const svit_model_config *config);

/* How many of these tokens, counted from the first, have position embeddings. */
size_t sv_vit_positioned_prefix(const svit_model_config *config);

/* Tokens in the attention blocks: the prefix and the patches. */
size_t sv_vit_sequence(const svit_model_config *config);

/* Patches that masked autoencoding leaves visible, and the configuration of its decoder's
 * blocks. */
size_t sv_vit_visible(const svit_model_config *config);
svit_model_config sv_vit_decoder(const svit_model_config *config);

/* Whether attention has an output projection. The paper's code leaves it out if there is one head
 * that is as wide as the model. */
bool sv_vit_has_projection(const svit_model_config *config);

/* The epsilon of the norm of each head's output in differential attention. */
#define SV_VIT_OUTPUT_EPS 1e-5

/* What differential attention adds to lambda in layer `layer`, from 0 (Ye et al. 2024). */
double sv_vit_lambda_init(size_t layer);

/* The names of the parameters. Names of linear maps and norms lack their .weight and .bias. */
typedef struct sv_vit_names {
    const char *position, *class_token, *distillation_token, *register_tokens;
    const char *patch_norm, *patch; /* patch embedding */
    /* A name of layer i, from 0, is `layer`, i, a dot, and one of norm1 to scale2. */
    const char *layer;
    const char *norm1, *qkv, *query_norm, *key_norm, *frequencies, *attention_norm, *projection;
    const char *lambda; /* of differential attention, followed by q1, k1, q2 or k2 */
    const char *output_norm;
    const char *temperature, *scale1, *norm2, *fc1, *mlp_norm, *fc2, *scale2;
    const char *pre_norm; /* before the first layer */
    const char *norm;     /* after the last layer */
    /* Attention pooling. */
    const char *pool_latent, *pool_q, *pool_kv, *pool_proj, *pool_norm, *pool_fc1, *pool_fc2;
    const char *head_norm;      /* after the pooling */
    const char *head;           /* followed by the number of the linear map, from 1 */
    const char *distilled_head; /* on the distillation token */
} sv_vit_names;

const sv_vit_names *sv_vit_names_of(const svit_model_config *config);

#endif
