/* Checks model files in F16, BF16 and I8: the rounding of each element, what is refused, and
 * damaged scales. */
#include "fit.h"

#include "base/files/file.h"
#include "io/safetensors.h"

#include <float.h>
#include <math.h>
#include <sys/stat.h>

enum { CLASSES = 12 };

/* The reads of files. */
static size_t reads;
svit_status __real_sv_file_read_at(sv_file *file, uint64_t offset, void *data, size_t bytes,
                                   svit_error *error);
svit_status __wrap_sv_file_read_at(sv_file *file, uint64_t offset, void *data, size_t bytes,
                                   svit_error *error);

svit_status __wrap_sv_file_read_at(sv_file *file, uint64_t offset, void *data, size_t bytes,
                                   svit_error *error)
{
    reads++;
    return __real_sv_file_read_at(file, offset, data, bytes, error);
}

static svit_context *context;
static fit_folder folder;
static const char *path;
static svit_model *model;

static void setup(void)
{
    context = fit_context(1);
    folder = fit_folder_make();
    path = fit_path(&folder, "model.safetensors");
    model = fit_model(context, CLASSES, 5);
}

static void teardown(void)
{
    svit_model_free(model);
    svit_context_free(context);
    fit_folder_remove(&folder);
}

static svit_model *saved_and_loaded(int32_t dtype)
{
    svit_model *out = NULL;
    WORKS(svit_model_save_as(model, path, dtype, err));
    WORKS(svit_model_load(&out, context, path, err));
    return out;
}

/* Values, and what F16 and BF16 make of them: ties go to the even neighbour. */
static const struct {
    float value, half, bfloat;
} roundings[CLASSES] = {
    {1 + 0x1p-11f, 1, 1},
    {1 + 0x3p-11f, 1 + 0x1p-9f, 1},
    {1 + 0x1.8p-8f, 1 + 0x1.8p-8f, 1 + 0x1p-7f},
    {1 + 0x1p-8f, 1 + 0x1p-8f, 1},
    {-0x1.ffep0f, -2, -2},
    {-0x1.fffp0f, -2, -2},
    {0x1p-24f, 0x1p-24f, 0x1p-24f},
    {0x1p-25f, 0, 0x1p-25f},
    {0x3p-25f, 0x1p-23f, 0x3p-25f},
    {-0x1.ffcp-15f, -0x1p-14f, -0x1p-14f},
    {65504, 65504, 65536},
    {1e-9f, 0, 0x1.12p-30f},
};

START_TEST(test_rounding)
{
    float values[CLASSES], read[CLASSES];
    for (int i = 0; i < CLASSES; i++)
        values[i] = roundings[i].value;
    WORKS(svit_model_set_parameter(model, "head.bias", values, CLASSES, err));
    svit_model *halves = saved_and_loaded(SVIT_DTYPE_F16);
    WORKS(svit_model_get_parameter(halves, "head.bias", read, CLASSES, err));
    for (int i = 0; i < CLASSES; i++)
        ck_assert_msg(read[i] == roundings[i].half, "%d: F16 of %a is %a, not %a", i,
                      (double)values[i], (double)read[i], (double)roundings[i].half);
    svit_model *bfloats = saved_and_loaded(SVIT_DTYPE_BF16);
    WORKS(svit_model_get_parameter(bfloats, "head.bias", read, CLASSES, err));
    for (int i = 0; i < CLASSES; i++)
        ck_assert_msg(read[i] == roundings[i].bfloat, "%d: BF16 of %a is %a, not %a", i,
                      (double)values[i], (double)read[i], (double)roundings[i].bfloat);
    svit_model_free(bfloats);
    svit_model_free(halves);
}
END_TEST

/* Every weight differs by at most half a unit of the type, and a second trip changes nothing. */
START_TEST(test_all_weights)
{
    static const double units[] = {0, 0x1p-11, 0x1p-8};
    struct stat whole, part;
    size_t elements;
    svit_model *copy = saved_and_loaded(SVIT_DTYPE_F32);
    ck_assert_int_eq(stat(path, &whole), 0);
    float *before = fit_weights(model, &elements), *exact = fit_weights(copy, NULL);
    ck_assert_mem_eq(before, exact, elements * sizeof *exact);
    svit_model_free(copy);
    for (int32_t dtype = SVIT_DTYPE_F16; dtype <= SVIT_DTYPE_BF16; dtype++) {
        copy = saved_and_loaded(dtype);
        ck_assert_int_eq(stat(path, &part), 0);
        ck_assert_int_lt(part.st_size, whole.st_size - (long)(2 * elements) + 200);
        float *after = fit_weights(copy, NULL);
        for (size_t i = 0; i < elements; i++)
            ck_assert_double_le(fabs((double)after[i] - before[i]),
                                units[dtype] * fabs((double)before[i]) + 0x1p-25);
        svit_model *again = NULL;
        WORKS(svit_model_save_as(copy, path, dtype, err));
        WORKS(svit_model_map(&again, context, path, err));
        float *twice = fit_weights(again, NULL);
        ck_assert_mem_eq(after, twice, elements * sizeof *twice);
        free(twice);
        free(after);
        svit_model_free(again);
        svit_model_free(copy);
    }
    free(exact);
    free(before);
}
END_TEST

/* A row of I8 is its scale times whole numbers; tensors of rank 1 keep every bit. */
START_TEST(test_quantised_weights)
{
    static float weight[CLASSES * 16], read[CLASSES * 16], bias[CLASSES], read_bias[CLASSES];
    WORKS(svit_model_get_parameter(model, "head.weight", weight, CLASSES * 16, err));
    for (size_t i = 0; i < 16; i++) {
        weight[3 * 16 + i] = 0;
        weight[4 * 16 + i] = i % 2 ? 2.1e-43f : 0; /* too small for a scale with enough digits */
    }
    WORKS(svit_model_set_parameter(model, "head.weight", weight, CLASSES * 16, err));
    for (int i = 0; i < CLASSES; i++)
        bias[i] = 0.1f * (float)(i + 1);
    WORKS(svit_model_set_parameter(model, "head.bias", bias, CLASSES, err));
    svit_model *copy = saved_and_loaded(SVIT_DTYPE_I8);
    WORKS(svit_model_get_parameter(copy, "head.weight", read, CLASSES * 16, err));
    WORKS(svit_model_get_parameter(copy, "head.bias", read_bias, CLASSES, err));
    ck_assert_mem_eq(bias, read_bias, sizeof bias);
    for (size_t row = 0; row < CLASSES; row++) {
        float largest = 0;
        for (size_t i = 0; i < 16; i++)
            largest = fmaxf(largest, fabsf(weight[row * 16 + i]));
        float scale = largest / 127 >= FLT_MIN ? largest / 127 : 0;
        for (size_t i = row * 16; i < row * 16 + 16; i++)
            ck_assert(read[i] == (scale > 0 ? roundf(weight[i] / scale) * scale : 0));
    }
    svit_model_free(copy);
}
END_TEST

START_TEST(test_what_is_refused)
{
    float values[CLASSES] = {0, 65520};
    WORKS(svit_model_set_parameter(model, "head.bias", values, CLASSES, err));
    FAILS(svit_model_save_as(model, path, SVIT_DTYPE_F16, err), SVIT_E_ARGUMENT,
          "element 1 of 'head.bias' is 65520; F16 holds magnitudes up to 65504");
    WORKS(svit_model_save_as(model, path, SVIT_DTYPE_BF16, err));
    FAILS(svit_model_save_as(model, path, 4, err), SVIT_E_ARGUMENT, "dtype is 4");
    FAILS(svit_model_save_as(model, path, -1, err), SVIT_E_ARGUMENT, "dtype is -1");
}
END_TEST

/* Tensors of one value, and an I8 weight "head.weight" with scales that may be damaged. */
typedef struct damage {
    const char *scale_name; /* NULL: there is none */
    sv_dtype dtype;
    int64_t shape[2];
    size_t rank;
    float scale;
    const char *quantised; /* the tensor that is I8 */
    const char *part;      /* of the message; NULL: the file is read */
} damage;

static const damage damages[] = {
    {"head.weight.scale", SV_DTYPE_F32, {CLASSES}, 1, 0.5f, "head.weight", NULL},
    {NULL, SV_DTYPE_F32, {0}, 0, 0, "head.weight", "'head.weight.scale' is missing"},
    {"head.bias.scale", SV_DTYPE_F32, {CLASSES}, 1, 1, "head.weight", "'head.bias.scale' is none"},
    {"head.bias.scale", SV_DTYPE_F32, {CLASSES}, 1, 1, "head.bias", "of rank 1 is I8"},
    {"head.weight.scale", SV_DTYPE_F32, {1, CLASSES}, 2, 1, "head.weight", "must be F32 [12]"},
    {"head.weight.scale", SV_DTYPE_F32, {16}, 1, 1, "head.weight", "must be F32 [12]"},
    {"head.weight.scale", SV_DTYPE_BF16, {CLASSES}, 1, 1, "head.weight", "must be F32 [12]"},
    {"head.weight.scale", SV_DTYPE_F32, {CLASSES}, 1, -1, "head.weight", "scales are at least 0"},
    {"head.weight.scale", SV_DTYPE_F32, {CLASSES}, 1, NAN, "head.weight", "scales are at least 0"},
    {"head.weight.scale", SV_DTYPE_F32, {CLASSES}, 1, INFINITY, "head.weight", "not finite"},
};

static void fill(float *out, const sv_safetensors_tensor *tensor, void *user)
{
    const damage *of = user;
    for (size_t i = 0; i < tensor->desc->elements; i++)
        out[i] = of->scale_name && strcmp(tensor->name, of->scale_name) == 0 ? of->scale : 3;
}

static void write_damaged(const damage *of)
{
    sv_safetensors_tensor tensors[64];
    sv_tensor_desc descs[64];
    size_t count = 0, rank;
    const char *name;
    int64_t shape[8];
    for (; (name = svit_model_parameter_name(model, count)) != NULL; count++) {
        WORKS(svit_model_parameter_shape(model, name, shape, &rank, err));
        sv_dtype dtype = strcmp(name, of->quantised) == 0 ? SV_DTYPE_I8 : SV_DTYPE_F32;
        ck_assert(sv_tensor_desc_init(&descs[count], dtype, shape, rank));
        tensors[count] = (sv_safetensors_tensor){name, &descs[count], NULL};
    }
    if (of->scale_name) {
        ck_assert(sv_tensor_desc_init(&descs[count], of->dtype, of->shape, of->rank));
        tensors[count] = (sv_safetensors_tensor){of->scale_name, &descs[count], NULL};
        count++;
    }
    sv_allocator allocator = sv_allocator_default();
    WORKS(sv_safetensors_write(&allocator, path, "{}", tensors, count, fill, (void *)of, err));
}

START_TEST(test_damaged_scales)
{
    const damage *of = &damages[_i];
    svit_model_config config = fit_model_config(CLASSES);
    svit_model *out = NULL;
    float weight[CLASSES * 16];
    write_damaged(of);
    if (of->part) {
        FAILS(svit_model_load_with_config(&out, context, &config, path, err), SVIT_E_FORMAT,
              of->part);
        ck_assert_ptr_null(out);
        return;
    }
    WORKS(svit_model_load_with_config(&out, context, &config, path, err));
    WORKS(svit_model_get_parameter(out, "head.weight", weight, CLASSES * 16, err));
    for (int i = 0; i < CLASSES * 16; i++)
        ck_assert(weight[i] == 1.5f);
    svit_model_free(out);
}
END_TEST

/* The scale of the largest float is not rounded up to one that no load accepts. */
START_TEST(test_the_largest_float_is_kept)
{
    enum { ROWS = 3, DIM = 16 };
    svit_model *large = fit_model(context, ROWS, 5), *out = NULL;
    float before[ROWS * DIM], after[ROWS * DIM];
    for (size_t i = 0; i < ROWS * DIM; i++)
        before[i] = i / DIM == 1 ? 1e-37f : i % 2 ? FLT_MAX : -FLT_MAX;
    WORKS(svit_model_set_parameter(large, "head.weight", before, ROWS * DIM, err));
    WORKS(svit_model_save_as(large, path, SVIT_DTYPE_I8, err));
    WORKS(svit_model_load(&out, context, path, err));
    WORKS(svit_model_get_parameter(out, "head.weight", after, ROWS * DIM, err));
    for (size_t i = 0; i < ROWS * DIM; i++)
        ck_assert_msg(i / DIM == 1 ? after[i] == 0
                                   : fabsf(after[i] / 4 - before[i] / 4) <= FLT_MAX * 1e-6f,
                      "%zu: %g", i, (double)after[i]);
    svit_model_free(out);
    svit_model_free(large);
}
END_TEST

/* A regression: each scale was a read of 4 bytes. A wide layer has more scales than one piece. */
START_TEST(test_scales_are_read_in_pieces)
{
    enum { MANY = 1300, DIM = 16 };
    svit_model *wide = fit_model(context, MANY, 5), *out = NULL;
    static float before[MANY * DIM], after[MANY * DIM];
    /* Rows whose scales are 1, 2, 3, ..., and whose values are multiples of them. */
    for (size_t i = 0; i < MANY * DIM; i++)
        before[i] = (float)(i / DIM + 1) * (i % DIM ? -3 : 127);
    WORKS(svit_model_set_parameter(wide, "head.weight", before, MANY * DIM, err));
    WORKS(svit_model_save_as(wide, path, SVIT_DTYPE_I8, err));
    reads = 0;
    WORKS(svit_model_load(&out, context, path, err));
    ck_assert_uint_lt(reads, 3 * svit_model_parameter_count(wide));
    WORKS(svit_model_get_parameter(out, "head.weight", after, MANY * DIM, err));
    ck_assert_mem_eq(before, after, sizeof before);
    svit_model_free(out);
    svit_model_free(wide);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("model_dtypes");
    TCase *c = tcase_create("model_dtypes");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_rounding);
    tcase_add_test(c, test_all_weights);
    tcase_add_test(c, test_quantised_weights);
    tcase_add_test(c, test_scales_are_read_in_pieces);
    tcase_add_test(c, test_the_largest_float_is_kept);
    tcase_add_test(c, test_what_is_refused);
    tcase_add_loop_test(c, test_damaged_scales, 0, sizeof damages / sizeof *damages);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
