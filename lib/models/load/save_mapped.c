/* Saves a ViT under the names and shapes of timm. */
#include "base/threads/fp_env.h"
#include "models/load/load_internal.h"
#include "models/parts/lora.h"

#include <stdio.h>
#include <string.h>

/* One tensor that is written: a parameter, and another one after it on an axis. */
typedef struct item {
    char name[SV_TENSOR_NAME];
    const sv_parameter *parameter, *other; /* other NULL: none */
    size_t axis;                           /* 0 or 1 */
    sv_tensor_desc desc;                   /* in the file */
} item;

/* Names the first field of a ViT with which timm's VisionTransformer has no names for the
 * parameters, or other shapes of them, and says for which value of it there are some. */
static svit_status check_fields(const svit_model_config *config, svit_error *err)
{
    const bool parallel = config->block != SVIT_BLOCK_SEQUENTIAL,
               attention_pool = config->pool == SVIT_POOL_ATTENTION;
    const uint32_t hidden = config->mlp_dim * (config->mlp == SVIT_MLP_SWIGLU ? 2 : 1);
    const struct {
        bool unnamed;
        const char *field, *named;
    } fields[] = {
        {config->tokenizer != SVIT_TOKENIZER_PATCH, "tokenizer", "'patch'"},
        {config->attention == SVIT_ATTENTION_LSA, "attention", "'global' and 'differential'"},
        {config->mlp_last_gelu, "mlp_last_gelu", "false"},
        {config->pool == SVIT_POOL_FLATTEN || config->pool == SVIT_POOL_CLASS_MEAN, "pool",
         "'class_token', 'mean', 'mean-patches' and 'attention'"},
        {config->head_layers > 0, "head_units", "[]"},
        {config->rope, "rope", "'none' (its Eva has other names)"},
        {config->no_key_bias, "no_key_bias", "false"},
        {config->heads * config->head_dim != config->dim, "head_dim", "dim / heads"},
        {parallel && (config->mlp || config->mlp_norm || config->attention_norm), "block",
         "'sequential', or mlp 'plain' without mlp_norm and attention_norm"},
        {config->block == SVIT_BLOCK_PARALLEL && config->attention, "block",
         "'sequential' and 'parallel-fused' with differential attention"},
        {config->register_tokens > 0 && config->position_tokens == SVIT_POSITION_CLASS_PATCHES,
         "position_tokens", "'all' and 'patches' with registers"},
        {config->mask_ratio > 0, "mask_ratio", "0"},
        {config->patch_bias == config->pre_norm, "patch_bias", "the opposite of pre_norm"},
        {config->final_norm && config->head_norm, "head_norm", "false with final_norm"},
        {config->distilled && config->head_norm, "head_norm", "false with distilled"},
        {attention_pool && config->pool_heads != config->heads, "pool_heads", "heads"},
        {attention_pool && config->pool_mlp_dim != hidden, "pool_mlp_dim",
         "the outputs of the first layer of the blocks' MLP"},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].unnamed)
            return sv_fail(err, SVIT_E_UNSUPPORTED,
                           "timm has no names for a ViT with this '%s'; it has for %s",
                           fields[i].field, fields[i].named);
    return SVIT_OK;
}

static svit_status check_timm(const svit_model *model, svit_error *err)
{
    const svit_model_config *config = &model->config;
    if (config->architecture != SVIT_ARCHITECTURE_VIT || config->names != SVIT_NAMES_TIMM)
        return sv_fail(err, SVIT_E_UNSUPPORTED,
                       "map is 'timm'; it names a ViT with names 'seed', and this model has the "
                       "names of its own code, which svit_model_save writes");
    return check_fields(config, err);
}

/* What the parameters of a parallel block are in timm's file, behind "blocks.N.": the tensor, and
 * the parameter that follows in it. The first row that meets a name, or begins it, is taken;
 * without a tensor another row writes the parameter. */
typedef struct parallel_row {
    const char *own, *tensor, *other;
    size_t axis;
} parallel_row;
static const parallel_row PARALLEL[] = {{"norm1", "in_norm", NULL, 0},
                                        {"ls1", "ls", NULL, 0},
                                        {"mlp.fc1.weight", "in_proj.weight", "attn.qkv.weight", 0},
                                        {"mlp.fc1.bias", "in_proj.bias", "attn.qkv.bias", 0},
                                        {"attn.qkv", NULL, NULL, 0},
                                        {"attn.proj", "attn_out_proj", NULL, 0},
                                        {"mlp.fc2", "mlp_out_proj", NULL, 0},
                                        {"attn.", "", NULL, 0}};
static const parallel_row FUSED[] = {
    {"attn.proj.weight", "out_proj.weight", "mlp.fc2.weight", 1},
    {"mlp.fc2.weight", NULL, NULL, 0},
    {"mlp.fc2.bias", "out_proj.bias", NULL, 0},
};

/* Names the tensor of a parameter of a parallel block and finds what follows in it. Returns false
 * if another parameter's tensor has it. */
static bool name_parallel(item *one, const svit_model *model)
{
    const sv_parameter_table *table = &model->parameters;
    const char *name = one->parameter->name, *dot = strchr(name + strlen("blocks."), '.');
    const bool fused = model->config.block == SVIT_BLOCK_PARALLEL_FUSED;
    const size_t fused_rows = fused ? sizeof FUSED / sizeof *FUSED : 0;
    const int prefix = (int)(dot + 1 - name);
    char other[SV_TENSOR_NAME];
    for (size_t i = 0; i < fused_rows + sizeof PARALLEL / sizeof *PARALLEL; i++) {
        const parallel_row *row = i < fused_rows ? &FUSED[i] : &PARALLEL[i - fused_rows];
        if (strncmp(dot + 1, row->own, strlen(row->own)) != 0)
            continue;
        if (!row->tensor)
            return false;
        snprintf(other, sizeof other, "%.*s%s", prefix, name, row->other ? row->other : "");
        one->other = sv_parameter_find(table, other);
        one->axis = row->axis;
        /* Without a bias of queries, keys and values the MLP's is apart. */
        if (row->other && !one->other)
            snprintf(one->name, SV_TENSOR_NAME, "%.*smlp_bias", prefix, name);
        else
            snprintf(one->name, SV_TENSOR_NAME, "%.*s%s%s", prefix, name, row->tensor,
                     dot + 1 + strlen(row->own));
        return true;
    }
    return true;
}

/* The shape in timm's file: a position embedding is [1, rows, dim], the patch embedding a
 * convolution [dim, channels, size, size]. */
static bool timm_shape(sv_tensor_desc *out, const sv_parameter *parameter)
{
    const int64_t *own = parameter->desc.shape, size = (int64_t)parameter->patch_size;
    if (parameter->grid_height > 0)
        return sv_tensor_desc_init(out, SV_DTYPE_F32, (const int64_t[]){1, own[0], own[1]}, 3);
    if (size > 0)
        return sv_tensor_desc_init(
            out, SV_DTYPE_F32,
            (const int64_t[]){own[0], (int64_t)parameter->patch_channels, size, size}, 4);
    return sv_tensor_desc_init(out, SV_DTYPE_F32, own, parameter->desc.rank);
}

/* The shape of an item. Returns false if it overflows. */
static bool item_shape(item *one)
{
    int64_t shape[SV_MAX_RANK];
    if (!timm_shape(&one->desc, one->parameter) || !one->other)
        return !one->other;
    memcpy(shape, one->desc.shape, sizeof shape);
    shape[one->axis] += one->other->desc.shape[one->axis];
    return sv_tensor_desc_init(&one->desc, SV_DTYPE_F32, shape, one->desc.rank);
}

/* Writes two parameters, one after the other or row by row. */
static void join(float *out, const item *one, const real *weights)
{
    const size_t rows = one->axis == 1 ? (size_t)one->desc.shape[0] : 1;
    const sv_parameter *const parts[2] = {one->parameter, one->other};
    for (size_t r = 0; r < rows; r++)
        for (size_t p = 0; p < 2; p++) {
            const size_t elements = parts[p]->desc.elements / rows;
            const real *from = weights + parts[p]->offset + r * elements;
            for (size_t i = 0; i < elements; i++)
                *out++ = (float)from[i];
        }
}

/* out[o, i, a] = in[o, a, i], a being a pixel of the patch: the inverse of loading. */
static void permute_patch(float *out, const real *in, const sv_tensor_desc *to)
{
    const size_t rows = (size_t)to->shape[0], channels = (size_t)to->shape[1];
    const size_t area = (size_t)to->shape[2] * (size_t)to->shape[3];
    for (size_t o = 0; o < rows; o++, in += channels * area)
        for (size_t i = 0; i < channels; i++)
            for (size_t a = 0; a < area; a++)
                *out++ = (float)in[a * channels + i];
}

static void fill(float *out, const sv_safetensors_tensor *tensor, void *user)
{
    const svit_model *model = user;
    const item *source = tensor->source;
    if (source->other)
        join(out, source, model->weights);
    else if (source->parameter->patch_size > 0)
        permute_patch(out, model->weights + source->parameter->offset, tensor->desc);
    else
        sv_parameter_export(source->parameter, out, model->weights);
}

/* `items` and `tensors` have an element for each parameter. */
static svit_status write_items(const svit_model *model, const char *path, item *items,
                               sv_safetensors_tensor *tensors, const sv_name_map *map,
                               svit_error *err)
{
    const sv_parameter_table *table = &model->parameters;
    size_t count = 0;
    for (size_t i = 0; i < table->count; i++) {
        item *one = &items[i];
        *one = (item){.parameter = &table->list[i]};
        sv_name_map_tensor(one->name, map, one->parameter->name);
        if (model->config.block && strncmp(one->name, "blocks.", 7) == 0 &&
            !name_parallel(one, model))
            continue;
        if (!item_shape(one))
            return sv_fail(err, SVIT_E_ARGUMENT, "'%s' is too large for a file", one->name);
        tensors[count++] = (sv_safetensors_tensor){one->name, &one->desc, one};
    }
    return sv_safetensors_write(&model->context->allocator, path, "{\"format\":\"pt\"}", tensors,
                                count, fill, (void *)model, err);
}

static svit_status save_timm(const svit_model *model, const char *path, const sv_name_map *map,
                             svit_error *err)
{
    const sv_allocator *allocator = &model->context->allocator;
    const size_t count = model->parameters.count;
    const sv_parameter_array weights = {.prefix = "", .values = model->weights};
    item *items = NULL;
    sv_safetensors_tensor *tensors = NULL;
    SVIT_TRY(sv_parameter_check_finite(&model->parameters, &weights, err));
    SVIT_TRY(sv_allocate_array(allocator, (void **)&items, count, sizeof *items, "names of tensors",
                               err));
    svit_status status = sv_allocate_array(allocator, (void **)&tensors, count, sizeof *tensors,
                                           "a list of tensors", err);
    if (status == SVIT_OK)
        status = write_items(model, path, items, tensors, map, err);
    if (tensors)
        sv_release(allocator, tensors, count * sizeof *tensors);
    sv_release(allocator, items, count * sizeof *items);
    return status;
}

SVIT_API svit_status svit_model_save_mapped(const svit_model *model, const char *path,
                                            const char *map, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(model);
    SV_REQUIRE(path);
    SV_REQUIRE(map);
    sv_name_map rules;
    if (strcmp(map, "timm") != 0)
        return sv_fail(err, SVIT_E_ARGUMENT, "map is '%.60s'; 'timm' is accepted", map);
    SVIT_TRY(check_timm(model, err));
    svit_model *merged = NULL;
    if (sv_model_has_lora(model))
        SVIT_TRY(sv_model_merged(&merged, model, err));
    svit_status status = sv_name_map_open(&rules, &model->context->allocator, map, err);
    if (status == SVIT_OK) {
        status = save_timm(merged ? merged : model, path, &rules, err);
        sv_name_map_free(&model->context->allocator, &rules);
    }
    svit_model_free(merged);
    return status;
}
