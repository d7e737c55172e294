/* Weights of a model that stay in their file, which is mapped into memory. */
#ifndef SV_MODEL_MAP_H
#define SV_MODEL_MAP_H

#include "io/safetensors.h"
#include "models/model.h"

/* Maps the file and lets model->weights, which must be NULL, point into the mapping. If the file
 * cannot be used in place, or a weight is not finite, the weights stay NULL and the status is
 * SVIT_OK: the caller then reads the file, which accepts more formats and reports what is wrong.
 * SVIT_E_MEMORY. */
svit_status sv_model_map_weights(svit_model *model, const sv_safetensors *file, svit_error *err);

/* Discards the pages of a packed weight, given by its offset in the flat array. Does nothing unless
 * the model is mapped and its weights have not changed. A later access reads the pages from the
 * file again. A weight that was transposed after mapping cannot be read again, so it is discarded
 * only if model->packed_once. Any thread, while no other writes to the model. */
void sv_model_discard_weight(const svit_model *model, size_t offset);

#endif
