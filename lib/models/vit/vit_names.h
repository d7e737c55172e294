/* How the parameters of a ViT are called: two tables. */
#ifndef SV_VIT_NAMES_H
#define SV_VIT_NAMES_H

#include <shiftvit/model.h>

/* Linear layers and norms without their ".weight" and ".bias". */
typedef struct sv_vit_names {
    const char *position, *class_token;
    const char *patch_norm, *patch; /* before the layers */
    const char *layer;              /* + number of the layer, from 0, + "." + one of these: */
    const char *norm1, *qkv, *projection, *temperature, *norm2, *fc1, *fc2;
    const char *norm, *head; /* after them; head + number of the linear layer, from 1 */
} sv_vit_names;

const sv_vit_names *sv_vit_names_of(const svit_model_config *config);

#endif
