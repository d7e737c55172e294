/* ShiftViT (Wang et al. 2022) read top to bottom: patches, stages of shift blocks with a merge
 * between them, pooling, classifier. */
#include "models/shiftvit_layers.h"

#include "layers/layers.h"
#include "models/config.h"

#include <stdio.h>

typedef struct builder {
    sv_layer_list *list;
    const svit_model *model;
    sv_map map; /* what the next layer gets */
    svit_error *err;
} builder;

/* Blocks of all stages, patches with their norm, a norm and a merge a stage, norm, mean, head. */
static size_t layer_count(const svit_model_config *config)
{
    size_t count = 5;
    for (size_t i = 0; i < config->stages; i++)
        count += config->blocks[i] + 2;
    return count;
}

static void append(builder *build, sv_layer *layer)
{
    layer->number = (uint32_t)build->list->count;
    build->map = layer->out;
    build->list->layers[build->list->count++] = layer;
}

static svit_status add_patches(builder *build, size_t size, size_t channels, int32_t padding,
                               const char *name)
{
    sv_map in = build->map;
    if (!sv_padded_lines(in.height, size, padding) || !sv_padded_lines(in.width, size, padding))
        return sv_fail(build->err, SVIT_E_ARGUMENT,
                       "%s: a map of %zux%zu leaves no pixel after a stride of %zu; a larger input "
                       "is needed",
                       name, in.height, in.width, size);
    sv_patch_options options = {in, size, channels, padding == SVIT_PADDING_SAME, name};
    sv_layer *layer = NULL;
    SVIT_TRY(sv_patch_create(&layer, build->model->context, &build->model->parameters, &options,
                             build->err));
    append(build, layer);
    return SVIT_OK;
}

static svit_status add_norm(builder *build, const char *name)
{
    const svit_model_config *config = &build->model->config;
    sv_norm_options options = {build->map, name, config->norm == SVIT_NORM_GROUP, config->norm_eps};
    sv_layer *layer = NULL;
    SVIT_TRY(sv_norm_create(&layer, build->model->context, &build->model->parameters, &options,
                            build->err));
    append(build, layer);
    return SVIT_OK;
}

/* The last of `count` values from 0 to `rate` at equal distances is `rate`; a single one is 0. */
static double linspace(double rate, size_t index, size_t count)
{
    return count > 1 ? rate * (double)index / (double)(count - 1) : 0;
}

static double drop_path_rate(const svit_model_config *config, size_t stage, size_t block)
{
    size_t before = 0, all = 0;
    for (size_t i = 0; i < config->stages; i++) {
        before += i < stage ? config->blocks[i] : 0;
        all += config->blocks[i];
    }
    switch (config->drop_path_rule) {
    case SVIT_DROP_PATH_STAGE:
        return linspace(config->drop_path, block, config->blocks[stage]);
    case SVIT_DROP_PATH_NETWORK:
        return linspace(config->drop_path, before + block, all);
    default:
        return config->drop_path;
    }
}

static svit_status add_block(builder *build, size_t stage, size_t block)
{
    const svit_model_config *config = &build->model->config;
    char name[64];
    snprintf(name, sizeof name, "layers.%zu.blocks.%zu", stage, block);
    sv_shift_options options = {.map = build->map,
                                .hidden = sv_stage_hidden(config, stage),
                                .group = sv_stage_group(config, stage),
                                .pixels = config->shift_pixel,
                                .crop = config->shift == SVIT_SHIFT_KERAS,
                                .group_norm = config->norm == SVIT_NORM_GROUP,
                                .eps = config->norm_eps,
                                .dropout = config->dropout,
                                .drop_path = drop_path_rate(config, stage, block),
                                .name = name};
    sv_layer *layer = NULL;
    SVIT_TRY(sv_shift_block_create(&layer, build->model->context, &build->model->parameters,
                                   &options, build->err));
    append(build, layer);
    return SVIT_OK;
}

static svit_status add_stage(builder *build, size_t stage)
{
    const svit_model_config *config = &build->model->config;
    for (size_t block = 0; block < config->blocks[stage]; block++)
        SVIT_TRY(add_block(build, stage, block));
    if (stage + 1 == config->stages)
        return SVIT_OK;
    char name[64];
    snprintf(name, sizeof name, "layers.%zu.downsample.norm", stage);
    SVIT_TRY(add_norm(build, name));
    snprintf(name, sizeof name, "layers.%zu.downsample.reduction", stage);
    return add_patches(build, 2, sv_stage_channels(config, stage + 1), config->merge_padding, name);
}

static svit_status add_head(builder *build)
{
    const svit_model *model = build->model;
    sv_layer *layer = NULL;
    SVIT_TRY(sv_mean_create(&layer, model->context, build->map, build->err));
    append(build, layer);
    if (!model->config.classifier)
        return SVIT_OK;
    SVIT_TRY(sv_dense_create(&layer, model->context, &model->parameters, build->map,
                             model->config.num_classes, "head", build->err));
    append(build, layer);
    return SVIT_OK;
}

static svit_status add_all(builder *build)
{
    const svit_model_config *config = &build->model->config;
    SVIT_TRY(add_patches(build, config->patch_size, config->dim, config->patch_padding,
                         "patch_embed.proj"));
    if (config->patch_norm)
        SVIT_TRY(add_norm(build, "patch_embed.norm"));
    for (size_t stage = 0; stage < config->stages; stage++)
        SVIT_TRY(add_stage(build, stage));
    if (config->final_norm)
        SVIT_TRY(add_norm(build, "norm"));
    return add_head(build);
}

svit_status sv_shiftvit_layers(sv_layer_list *out, const svit_model *model, size_t height,
                               size_t width, svit_error *err)
{
    sv_layer_list list = {.capacity = layer_count(&model->config)};
    void *memory;
    SVIT_TRY(sv_allocate_array(&model->context->allocator, &memory, list.capacity,
                               sizeof *list.layers, "a list of layers", err));
    list.layers = memory;
    builder build = {&list, model, {height, width, model->config.in_channels}, err};
    svit_status status = add_all(&build);
    if (status != SVIT_OK) {
        sv_layer_list_free(model->context, &list);
        return status;
    }
    *out = list;
    return SVIT_OK;
}

void sv_layer_list_free(svit_context *context, sv_layer_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        sv_layer_free(context, list->layers[i]);
    sv_release(&context->allocator, list->layers, list->capacity * sizeof *list->layers);
    *list = (sv_layer_list){0};
}
