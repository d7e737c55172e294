/* Weights that stay in their file. */
#ifndef SV_MODEL_MAP_H
#define SV_MODEL_MAP_H

#include "io/safetensors.h"
#include "models/model.h"

/* Lets the weights of a model without any lie in the file's own pages. Where that cannot be, or a
 * weight is wrong, they stay NULL and the status is SVIT_OK: reading the file tells which. Fails
 * with SVIT_E_MEMORY. */
svit_status sv_model_map_weights(svit_model *model, const sv_safetensors *file, svit_error *err);

/* Gives back the pages of a weight that has been packed, by its place in the flat array, where the
 * model is mapped and nobody has written to it. They come back when they are touched; those of a
 * weight that the file has in another order do not, and are given back only of a model that is
 * packed once. Any thread, while no other writes to the model. */
void sv_model_forget_weight(const svit_model *model, size_t place);

#endif
