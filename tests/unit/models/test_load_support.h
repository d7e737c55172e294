/* Helpers for tests of loading: a small ViT, and files for it whose tensors can be changed. */
#ifndef TEST_LOAD_SUPPORT_H
#define TEST_LOAD_SUPPORT_H

#include "fit.h"

#include "base/numbers/byte_order.h"
#include "io/safetensors.h"
#include "tensor/convert.h"

#include <math.h>

static svit_context *context;
static fit_folder folder;
static char path[128];
static const char *metadata = "\"format\":\"pt\""; /* of the files that write_tensors writes */

static inline void setup(void)
{
    context = fit_context(1);
    folder = fit_folder_make();
    snprintf(path, sizeof path, "%s", fit_path(&folder, "model.safetensors"));
}

static inline void teardown(void)
{
    svit_context_free(context);
    fit_folder_remove(&folder);
}

/* 3 x 2 patches, one block. */
static const char SMALL[] =
    "{\"architecture\":\"vit\",\"input_height\":12,\"input_width\":8,\"patch_size\":4,\"dim\":6,"
    "\"depth\":1,\"heads\":2,\"head_dim\":3,\"mlp_dim\":5,\"pool\":\"class_token\","
    "\"head_units\":[],\"mlp_last_gelu\":false,\"num_classes\":3}";
enum { MOST_TENSORS = 40, MOST_ELEMENTS = 4096 };

static inline svit_model_config small_config(void)
{
    svit_model_config config;
    WORKS(svit_model_config_from_json(&config, sizeof config, SMALL, err));
    return config;
}

static inline svit_model *small_model(void)
{
    svit_model_config config = small_config();
    svit_model *model = NULL;
    WORKS(svit_model_create(&model, context, &config, 3, err));
    return model;
}

/* A tensor of a file. */
typedef struct tensor {
    const char *name;
    size_t rank;
    int64_t shape[4];
    sv_dtype dtype;
    int has_nan;
} tensor;

typedef struct tensor_file {
    tensor list[MOST_TENSORS];
    size_t count;
} tensor_file;

static const tensor TIMM[] = {
    {"pos_embed", 3, {1, 7, 6}, SV_DTYPE_F32, 0},
    {"cls_token", 3, {1, 1, 6}, SV_DTYPE_F32, 0},
    {"patch_embed.proj.weight", 4, {6, 3, 4, 4}, SV_DTYPE_F32, 0},
    {"patch_embed.proj.bias", 1, {6}, SV_DTYPE_F32, 0},
    {"blocks.0.norm1.weight", 1, {6}, SV_DTYPE_F32, 0},
    {"blocks.0.norm1.bias", 1, {6}, SV_DTYPE_F32, 0},
    {"blocks.0.attn.qkv.weight", 2, {18, 6}, SV_DTYPE_F32, 0},
    {"blocks.0.attn.qkv.bias", 1, {18}, SV_DTYPE_F32, 0},
    {"blocks.0.attn.proj.weight", 2, {6, 6}, SV_DTYPE_F32, 0},
    {"blocks.0.attn.proj.bias", 1, {6}, SV_DTYPE_F32, 0},
    {"blocks.0.norm2.weight", 1, {6}, SV_DTYPE_F32, 0},
    {"blocks.0.norm2.bias", 1, {6}, SV_DTYPE_F32, 0},
    {"blocks.0.mlp.fc1.weight", 2, {5, 6}, SV_DTYPE_F32, 0},
    {"blocks.0.mlp.fc1.bias", 1, {5}, SV_DTYPE_F32, 0},
    {"blocks.0.mlp.fc2.weight", 2, {6, 5}, SV_DTYPE_F32, 0},
    {"blocks.0.mlp.fc2.bias", 1, {6}, SV_DTYPE_F32, 0},
    {"norm.weight", 1, {6}, SV_DTYPE_F32, 0},
    {"norm.bias", 1, {6}, SV_DTYPE_F32, 0},
    {"head.weight", 2, {3, 6}, SV_DTYPE_F32, 0},
    {"head.bias", 1, {3}, SV_DTYPE_F32, 0},
};

static inline tensor_file timm_file(void)
{
    tensor_file file = {.count = sizeof TIMM / sizeof *TIMM};
    memcpy(file.list, TIMM, sizeof TIMM);
    return file;
}

static inline tensor *tensor_of(tensor_file *file, const char *name)
{
    for (size_t i = 0; i < file->count; i++)
        if (strcmp(file->list[i].name, name) == 0)
            return &file->list[i];
    ck_abort_msg("there is no tensor %s", name);
    return NULL;
}

static inline void add_tensor(tensor_file *file, const char *name, size_t rank, int64_t rows,
                              int64_t columns, sv_dtype dtype)
{
    ck_assert_uint_lt(file->count, MOST_TENSORS);
    file->list[file->count++] = (tensor){name, rank, {rows, columns, 0, 0}, dtype, 0};
}

static inline void remove_tensor(tensor_file *file, const char *name)
{
    tensor *gone = tensor_of(file, name);
    memmove(gone, gone + 1, (size_t)(file->list + file->count - gone - 1) * sizeof *gone);
    file->count--;
}

/* Element i of a tensor: a number that F16 and BF16 hold exactly. */
static inline float value_of(const char *name, size_t i)
{
    size_t sum = 0;
    for (const char *c = name; *c; c++)
        sum = sum * 31 + (unsigned char)*c;
    return (float)((sum * 7 + i * 13 + i / 17) % 127) / 64;
}

static inline size_t elements_of(const tensor *t)
{
    size_t elements = 1;
    for (size_t r = 0; r < t->rank; r++)
        elements *= (size_t)t->shape[r];
    return elements;
}

static inline size_t write_data(uint8_t *out, const tensor *t)
{
    static float values[MOST_ELEMENTS];
    const size_t elements = elements_of(t), bytes = elements * sv_dtype_bits(t->dtype) / 8;
    ck_assert_uint_le(elements, MOST_ELEMENTS);
    for (size_t i = 0; i < elements; i++)
        values[i] = value_of(t->name, i);
    if (t->has_nan)
        values[elements - 1] = NAN;
    memset(out, 0, bytes);
    if (t->dtype == SV_DTYPE_F32 || t->dtype == SV_DTYPE_F16 || t->dtype == SV_DTYPE_BF16) {
        sv_convert_from_f32(values, values, t->dtype, elements);
        memcpy(out, values, bytes);
    }
    return bytes;
}

/* Writes the file at `path` without the library's writer, which writes fewer types. Returns its
 * bytes. */
static inline size_t write_tensors(const tensor_file *file)
{
    static uint8_t data[1 << 18];
    static char header[16384];
    size_t used = 0;
    int length = snprintf(header, sizeof header, "{\"__metadata__\":{%s}", metadata);
    for (size_t i = 0; i < file->count; i++) {
        const tensor *t = &file->list[i];
        size_t bytes = write_data(data + used, t);
        length +=
            snprintf(header + length, sizeof header - (size_t)length,
                     ",\"%s\":{\"dtype\":\"%s\",\"shape\":[", t->name, sv_dtype_name(t->dtype));
        for (size_t r = 0; r < t->rank; r++)
            length += snprintf(header + length, sizeof header - (size_t)length, "%s%lld",
                               r ? "," : "", (long long)t->shape[r]);
        length += snprintf(header + length, sizeof header - (size_t)length,
                           "],\"data_offsets\":[%zu,%zu]}", used, used + bytes);
        used += bytes;
    }
    length += snprintf(header + length, sizeof header - (size_t)length, "}");
    FILE *out = fopen(path, "wb");
    ck_assert_ptr_nonnull(out);
    uint8_t count[8];
    sv_store_little(count, (uint64_t)length, 8);
    fwrite(count, 1, sizeof count, out);
    fwrite(header, 1, (size_t)length, out);
    fwrite(data, 1, used, out);
    ck_assert_int_eq(fclose(out), 0);
    return sizeof count + (size_t)length + used;
}

/* Whether both models have the same bits in all parameters. */
static inline int same_weights(const svit_model *a, const svit_model *b)
{
    static float x[MOST_ELEMENTS], y[MOST_ELEMENTS];
    const char *name;
    for (size_t i = 0; (name = svit_model_parameter_name(a, i)); i++) {
        size_t elements = fit_elements(a, name);
        WORKS(svit_model_get_parameter(a, name, x, elements, err));
        WORKS(svit_model_get_parameter(b, name, y, elements, err));
        if (memcmp(x, y, elements * sizeof *x) != 0)
            return 0;
    }
    return 1;
}

#endif
