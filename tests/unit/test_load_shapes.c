/* Checks which shapes of a tensor are read as a parameter: its own, and those that are the same
 * values in the same order, but for the convolution of a patch embedding. */
#include "test_load_support.h"

#include <stdbool.h>

enum { MAX_RANK = 4 };

static svit_status load_small(svit_model **out, const char *map, svit_error *err)
{
    svit_model_config config = small_config();
    return svit_model_load_mapped(out, context, &config, path, map, err);
}

/* The shape without axes of length 1 at both ends. */
static size_t core_of(int64_t core[MAX_RANK], const tensor *t)
{
    size_t begin = 0, end = t->rank;
    while (begin < end && t->shape[begin] == 1)
        begin++;
    while (begin < end && t->shape[end - 1] == 1)
        end--;
    memcpy(core, t->shape + begin, (end - begin) * sizeof *core);
    return end - begin;
}

static bool has_own_order(const tensor *t, const tensor *own)
{
    int64_t a[MAX_RANK], b[MAX_RANK];
    const size_t rank = core_of(a, t);
    return rank == core_of(b, own) && memcmp(a, b, rank * sizeof *a) == 0;
}

/* The parameter behind a name of timm's. The patch embedding is one row for each output. */
static tensor parameter_of(const tensor *t)
{
    tensor own = *t;
    if (t->rank == 4) {
        own.rank = 2;
        own.shape[1] = t->shape[1] * t->shape[2] * t->shape[3];
    }
    return own;
}

static size_t loaded, refused;

static void check_shape(const tensor_file *from, size_t index, const tensor *shape)
{
    const tensor own = parameter_of(&from->list[index]);
    const bool fits = has_own_order(shape, &own) ||
                      (from->list[index].rank == 4 && shape->rank == 4 &&
                       memcmp(shape->shape, from->list[index].shape, sizeof shape->shape) == 0);
    tensor_file file = *from;
    svit_model *model = NULL;
    file.list[index] = *shape;
    write_tensors(&file);
    svit_error error = {.struct_size = sizeof error};
    const svit_status status = load_small(&model, "timm", &error);
    ck_assert_msg(
        status == (fits ? SVIT_OK : SVIT_E_FORMAT), "%s as %zu axes %lld %lld %lld %lld: %d %s",
        shape->name, shape->rank, (long long)shape->shape[0], (long long)shape->shape[1],
        (long long)shape->shape[2], (long long)shape->shape[3], (int)status, error.message);
    *(fits ? &loaded : &refused) += 1;
    svit_model_free(model);
}

/* All shapes of `rank` axes with `left` elements in the axes from `axis` on. */
static void walk(const tensor_file *from, size_t index, tensor *shape, size_t axis, int64_t left)
{
    if (axis + 1 == shape->rank || axis + 1 == MAX_RANK) {
        shape->shape[axis] = left;
        check_shape(from, index, shape);
        return;
    }
    for (int64_t length = 1; length <= left; length++)
        if (left % length == 0) {
            shape->shape[axis] = length;
            walk(from, index, shape, axis + 1, left / length);
        }
}

/* Every tensor of the file in every shape of its elements with up to four axes. Convolutions of
 * other channels and sizes, and other weights in four axes, used to be read in a wrong order. */
START_TEST(test_a_tensor_of_another_geometry_is_refused)
{
    const tensor_file file = timm_file();
    for (size_t i = 0; i < file.count; i++)
        for (size_t rank = 1; rank <= MAX_RANK; rank++) {
            tensor shape = {file.list[i].name, rank, {0}, SV_DTYPE_F32, 0};
            walk(&file, i, &shape, 0, (int64_t)elements_of(&file.list[i]));
        }
    printf("%zu shapes were read, %zu refused\n", loaded, refused);
    ck_assert_uint_gt(loaded, file.count);
    ck_assert_uint_gt(refused, 1000);
}
END_TEST

/* A file for one patch, whose position embedding is one row, fits any grid. */
START_TEST(test_a_position_embedding_of_one_row_is_interpolated)
{
    svit_model_config config = small_config();
    svit_model *model = NULL;
    tensor_file file = timm_file();
    float rows[6 * 6];
    remove_tensor(&file, "cls_token");
    tensor *position = tensor_of(&file, "pos_embed");
    position->rank = (size_t)_i;
    position->shape[0] = position->shape[1] = 1;
    position->shape[position->rank - 1] = 6;
    config.pool = SVIT_POOL_MEAN;
    write_tensors(&file);
    WORKS(svit_model_load_mapped(&model, context, &config, path, "timm", err));
    WORKS(svit_model_get_parameter(model, "pos_embed", rows, 6 * 6, err));
    for (size_t i = 0; i < 6 * 6; i++)
        ck_assert_float_eq(rows[i], value_of("pos_embed", i % 6));
    svit_model_free(model);
}
END_TEST

/* Queries, keys and values of one head each, in the order of the parameter's rows. */
START_TEST(test_a_list_joins_any_number_of_tensors)
{
    enum { HEADS = 2, PARTS = 3 * HEADS, ROWS = 3, DIM = 6 };
    static const char *const names[PARTS] = {"q.0", "q.1", "k.0", "k.1", "v.0", "v.1"};
    tensor_file file = timm_file();
    float weight[PARTS * ROWS * DIM];
    remove_tensor(&file, "blocks.0.attn.qkv.weight");
    for (size_t i = 0; i < PARTS; i++)
        add_tensor(&file, names[i], 2, ROWS, DIM, SV_DTYPE_F32);
    write_tensors(&file);
    svit_model *model = NULL;
    WORKS(load_small(&model,
                     "{\"head.fc1\": \"head\", \"blocks.*.attn.qkv.weight\": [\"q.0\", \"q.1\", "
                     "\"k.0\", \"k.1\", \"v.0\", \"v.1\"]}",
                     err));
    WORKS(svit_model_get_parameter(model, "blocks.0.attn.qkv.weight", weight, PARTS * ROWS * DIM,
                                   err));
    for (size_t i = 0; i < PARTS * ROWS * DIM; i++)
        ck_assert_float_eq(weight[i], value_of(names[i / (ROWS * DIM)], i % (ROWS * DIM)));
    svit_model_free(model);
}
END_TEST

/* The sum of the rows of empty tensors does not fit 64 bits. */
START_TEST(test_empty_tensors_of_many_rows_are_refused)
{
    tensor_file file = timm_file();
    svit_model *model = NULL;
    remove_tensor(&file, "blocks.0.attn.qkv.weight");
    add_tensor(&file, "q", 2, INT64_C(1) << 62, 0, SV_DTYPE_F32);
    add_tensor(&file, "k", 2, INT64_C(1) << 62, 0, SV_DTYPE_F32);
    write_tensors(&file);
    FAILS(load_small(&model,
                     "{\"head.fc1\": \"head\", \"blocks.*.attn.qkv.weight\": [\"q\", \"k\"]}", err),
          SVIT_E_FORMAT, "'blocks.0.attn.qkv.weight' is [18, 6]");
}
END_TEST

static const struct {
    const char *prefix;
    size_t without; /* tensors that keep their names */
    const char *part;
} PREFIXES[] = {
    {"module.", 0, "is missing; the names of all its tensors begin with 'module.'"},
    {"model.backbone.", 0, "the names of all its tensors begin with 'model.backbone.'"},
    {"module.", 1, "is missing"},
    {"patch", 0, "is missing"},
};

/* A file that was saved from within another module says so. */
START_TEST(test_a_common_prefix_is_named)
{
    static char names[MOST_TENSORS][96];
    tensor_file file = timm_file();
    svit_model *model = NULL;
    svit_error error = {.struct_size = sizeof error};
    for (size_t i = PREFIXES[_i].without; i < file.count; i++) {
        snprintf(names[i], sizeof names[i], "%s%s", PREFIXES[_i].prefix, file.list[i].name);
        file.list[i].name = names[i];
    }
    write_tensors(&file);
    ck_assert_int_eq(load_small(&model, "timm", &error), SVIT_E_FORMAT);
    ck_assert_msg(strstr(error.message, PREFIXES[_i].part) != NULL, "%s", error.message);
    ck_assert_msg(!strstr(error.message, "all its tensors") == !strstr(PREFIXES[_i].part, "all"),
                  "%s", error.message);
}
END_TEST

/* DINOv2's own files have the token that stands for a masked patch in its training. */
START_TEST(test_the_mask_token_is_passed_over)
{
    tensor_file file = timm_file();
    svit_model *model = NULL;
    add_tensor(&file, "mask_token", 2, 1, 6, SV_DTYPE_F32);
    write_tensors(&file);
    WORKS(load_small(&model, "timm", err));
    svit_model_free(model);
}
END_TEST

static Suite *load_shapes_suite(void)
{
    Suite *suite = suite_create("load shapes");
    TCase *all = tcase_create("load shapes");
    tcase_set_timeout(all, 60);
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, test_a_tensor_of_another_geometry_is_refused);
    tcase_add_loop_test(all, test_a_position_embedding_of_one_row_is_interpolated, 2, 4);
    tcase_add_test(all, test_a_list_joins_any_number_of_tensors);
    tcase_add_test(all, test_empty_tensors_of_many_rows_are_refused);
    tcase_add_loop_test(all, test_a_common_prefix_is_named, 0, sizeof PREFIXES / sizeof *PREFIXES);
    tcase_add_test(all, test_the_mask_token_is_passed_over);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(load_shapes_suite)
