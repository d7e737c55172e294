/* Counts the multiply-adds of a model over its layers. */
#include "base/size.h"
#include "base/threads/fp_env.h"
#include "models/config.h"
#include "models/layer_list.h"

/* Multiply-adds of a layer in the forward of one image: each weight is multiplied by every row of
 * its layer's matmuls, but for those that images share, and matmuls of two activations come on top.
 * *normalized says whether a norm precedes the matmuls. */
static uint64_t count_layer(const sv_layer *layer, const sv_parameter_table *table,
                            bool *normalized)
{
    uint64_t weights = 0;
    *normalized = false;
    for (size_t i = 0; i < table->count; i++) {
        const sv_parameter *parameter = &table->list[i];
        if (parameter->offset < layer->parameters_first ||
            parameter->offset >= layer->parameters_end)
            continue;
        if (parameter->role == SV_ROLE_WEIGHT)
            weights += parameter->desc.elements;
        *normalized = *normalized || parameter->role == SV_ROLE_NORM_WEIGHT;
    }
    const uint64_t of_weights = sv_count_times(weights, sv_layer_rows(layer));
    return sv_count_plus(of_weights - layer->shared_multiply_adds, layer->activation_multiply_adds);
}

/* The backward has two matmuls for each of the forward. The first layer, whose input is the image,
 * needs the gradient of its matmul's input only if a norm with parameters lies between. */
svit_status sv_model_multiply_adds(const svit_model *model, size_t height, size_t width,
                                   uint64_t *forward, uint64_t *training, svit_error *err)
{
    sv_layer_list list;
    SVIT_TRY(sv_model_layers(&list, model, height, width, err));
    *forward = *training = 0;
    for (size_t i = 0; i < list.training_count; i++) {
        bool normalized;
        const uint64_t count = count_layer(list.layers[i], &model->parameters, &normalized);
        *forward = sv_count_plus(*forward, count);
        *training = sv_count_plus(*training, sv_count_times(count, i > 0 || normalized ? 3 : 2));
    }
    sv_layer_list_free(model->context, &list);
    return SVIT_OK;
}

SVIT_API svit_status svit_model_multiply_adds(const svit_model_config *config, uint64_t *forward,
                                              uint64_t *training, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(config);
    svit_model_config local;
    svit_context *context;
    svit_model *model;
    uint64_t counts[2] = {0, 0};
    const svit_context_config serial = {.struct_size = sizeof serial, .threads = 1};
    SVIT_TRY(sv_config_read(&sv_model_config_type, &local, config, err));
    SVIT_TRY(svit_context_create(&context, &serial, err));
    svit_status status = sv_model_open(&model, context, &local, err);
    if (status == SVIT_OK) {
        status = sv_model_multiply_adds(model, local.input_height, local.input_width, &counts[0],
                                        &counts[1], err);
        svit_model_free(model);
    }
    svit_context_free(context);
    if (status == SVIT_OK && forward)
        *forward = counts[0];
    if (status == SVIT_OK && training)
        *training = counts[1];
    return status;
}
