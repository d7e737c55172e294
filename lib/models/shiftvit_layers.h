/* ShiftViT as a list of layers. */
#ifndef SV_SHIFTVIT_LAYERS_H
#define SV_SHIFTVIT_LAYERS_H

#include "autograd/layer.h"
#include "models/model.h"

typedef struct sv_layer_list {
    sv_layer **layers;
    size_t count, capacity;
} sv_layer_list;

/* Makes the layers of `model` for inputs of height x width, from patches to logits. SVIT_E_ARGUMENT
 * where a map would have no pixel. On failure nothing is left behind. */
svit_status sv_shiftvit_layers(sv_layer_list *out, const svit_model *model, size_t height,
                               size_t width, svit_error *err);
void sv_layer_list_free(svit_context *context, sv_layer_list *list);

#endif
