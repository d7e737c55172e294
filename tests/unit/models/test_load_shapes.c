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
          SVIT_E_FORMAT,
          BY_SIZE("tensor 'q': the product", "'blocks.0.attn.qkv.weight' is [18, 6]"));
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

/* The token that stands for a masked patch in DINOv2's training, and what a checkpoint has besides
 * the weights, are passed over; a name that only begins like them is not. */
static const struct {
    const char *tensor;
    bool passes;
} BESIDES[] = {
    {"mask_token", true},      {"optimizer.momentum.norm.weight", true},
    {"ema.norm.weight", true}, {"optimizers.norm.weight", false},
    {"emanorm.weight", false},
};

START_TEST(test_what_belongs_to_training_is_passed_over)
{
    tensor_file file = timm_file();
    svit_model *model = NULL;
    add_tensor(&file, BESIDES[_i].tensor, 2, 1, 6, SV_DTYPE_F32);
    write_tensors(&file);
    if (BESIDES[_i].passes)
        WORKS(load_small(&model, "timm", err));
    else
        FAILS(load_small(&model, "timm", err), SVIT_E_FORMAT, "belongs to no parameter");
    svit_model_free(model);
}
END_TEST

/* timm's names are those of a ViT. */
START_TEST(test_another_architecture_is_not_saved_for_timm)
{
    static const char mixer[] =
        "{\"architecture\":\"mixer\",\"input_height\":8,\"input_width\":8,\"patch_size\":4,"
        "\"dim\":6,\"depth\":1,\"token_mlp_dim\":3,\"mlp_dim\":5,\"num_classes\":3}";
    svit_model_config config;
    svit_model *model = NULL;
    WORKS(svit_model_config_from_json(&config, sizeof config, mixer, err));
    WORKS(svit_model_create(&model, context, &config, 1, err));
    FAILS(svit_model_save_mapped(model, path, "timm", err), SVIT_E_UNSUPPORTED, "names a ViT");
    svit_model_free(model);
}
END_TEST

/* Tensors that are read as no parameter, one difference each, and the message. */
static const struct {
    const char *map, *without; /* the tensor of timm's that is left out */
    tensor added[2];
    const char *part;
} MISFITS[] = {
    {"timm",
     "norm.weight",
     {{"norm.weight", 2, {1, 1}, SV_DTYPE_F32, 0}},
     "'norm.weight' is [1, 1]; 'norm.weight' is [6]"},
    {"timm",
     "norm.weight",
     {{"norm.weight", 0, {0}, SV_DTYPE_F32, 0}},
     "'norm.weight' is []; 'norm.weight' is [6]"},
    {"timm",
     "patch_embed.proj.weight",
     {{"patch_embed.proj.weight", 4, {6, 3, 4, 5}, SV_DTYPE_F32, 0}},
     "is [6, 3, 4, 5]"},
    {"timm",
     "patch_embed.proj.weight",
     {{"patch_embed.proj.weight", 4, {6, 3, 5, 4}, SV_DTYPE_F32, 0}},
     "is [6, 3, 5, 4]"},
    {"timm",
     "patch_embed.proj.weight",
     {{"patch_embed.proj.weight", 4, {6, 2, 4, 4}, SV_DTYPE_F32, 0}},
     "is [6, 2, 4, 4]"},
    {"timm",
     "patch_embed.proj.weight",
     {{"patch_embed.proj.weight", 4, {5, 3, 4, 4}, SV_DTYPE_F32, 0}},
     "is [5, 3, 4, 4]"},
    {"{\"head.fc1\": \"head\", \"norm.weight\": [\"a\", \"b\"]}",
     "norm.weight",
     {{"a", 0, {0}, SV_DTYPE_F32, 0}, {"b", 0, {0}, SV_DTYPE_F32, 0}},
     "'a' is []; 'norm.weight' is [6]"},
    {"{\"head.fc1\": \"head\", \"norm.weight\": [\"a\", \"b\"]}",
     "norm.weight",
     {{"a", 1, {3}, SV_DTYPE_F32, 0}, {"b", 2, {3, 1}, SV_DTYPE_F32, 0}},
     "'a' is [3]; 'norm.weight' is [6]"},
    {"{\"head.fc1.bias\": \"head.bias\", \"head.fc1.weight\": {\"tensor\": \"turned\", "
     "\"transpose\": true}}",
     "head.weight",
     {{"turned", 3, {6, 3, 2}, SV_DTYPE_F32, 0}},
     "'turned' is [6, 3, 2], and is transposed; 'head.fc1.weight' is [3, 6]"},
    {"{\"head.fc1.bias\": \"head.bias\", \"head.fc1.weight\": {\"tensor\": \"turned\", "
     "\"transpose\": true}}",
     "head.weight",
     {{"turned", 2, {6, 4}, SV_DTYPE_F32, 0}},
     "'turned' is [6, 4], and is transposed; 'head.fc1.weight' is [3, 6]"},
};

START_TEST(test_tensors_that_differ_in_one_axis_are_refused)
{
    tensor_file file = timm_file();
    svit_model *model = NULL;
    remove_tensor(&file, MISFITS[_i].without);
    for (size_t i = 0; i < 2 && MISFITS[_i].added[i].name; i++)
        file.list[file.count++] = MISFITS[_i].added[i];
    write_tensors(&file);
    FAILS(load_small(&model, MISFITS[_i].map, err), SVIT_E_FORMAT, MISFITS[_i].part);
    ck_assert_ptr_null(model);
}
END_TEST

/* 3 x 3 patches for 3 x 2: only the columns are interpolated. The outputs are centred on 0.75 and
 * 2.25 of the inputs 0.5, 1.5, 2.5, and the kernel is widened by 1.5: k(1/6), k(1/2) and k(7/6). */
START_TEST(test_positions_of_as_many_rows_are_interpolated_in_columns)
{
    static const double weights[] = {0.9375, 0.5625, -25.0 / 432};
    const double total = weights[0] + weights[1] + weights[2];
    tensor_file file = timm_file();
    svit_model *model = NULL;
    float rows[7 * 6];
    tensor_of(&file, "pos_embed")->shape[1] = 1 + 3 * 3;
    write_tensors(&file);
    WORKS(load_small(&model, "timm", err));
    WORKS(svit_model_get_parameter(model, "pos_embed", rows, 7 * 6, err));
    for (size_t y = 0; y < 3; y++)
        for (size_t x = 0; x < 2; x++)
            for (size_t i = 0; i < 6; i++) {
                double sum = 0;
                for (size_t j = 0; j < 3; j++)
                    sum += weights[x == 0 ? j : 2 - j] / total *
                           value_of("pos_embed", (1 + y * 3 + j) * 6 + i);
                ck_assert_double_eq_tol(rows[(1 + y * 2 + x) * 6 + i], sum, 1e-6);
            }
    svit_model_free(model);
}
END_TEST

/* What models have beside 3 x 2 patches of 4. */
static const struct {
    const char *fields;
    uint32_t height, width; /* of the input */
} OWN_FILES[] = {
    {"\"pool\":\"mean\"", 12, 8},
    {"\"pool\":\"class_token\"", 12, 8},
    {"\"pool\":\"class_token\",\"distilled\":true", 12, 8},
    {"\"pool\":\"class_token\",\"register_tokens\":4", 12, 8},
    {"\"pool\":\"class_token\",\"register_tokens\":2,\"position_tokens\":\"class-patches\"", 12, 8},
    {"\"pool\":\"class_token\",\"position_tokens\":\"patches\"", 12, 8},
    {"\"pool\":\"mean\",\"patch_padding\":\"valid\"", 15, 9},
    {"\"pool\":\"mean\",\"tokenizer\":\"spt\"", 12, 8},
    {"\"pool\":\"mean\",\"tokenizer\":\"conv\"", 12, 8},
    {"\"pool\":\"mean\",\"names\":\"paper\"", 12, 8},
};

static svit_model_config own_config(size_t i)
{
    char text[512];
    svit_model_config config;
    snprintf(text, sizeof text,
             "{\"architecture\":\"vit\",\"input_height\":%u,\"input_width\":%u,\"patch_size\":4,"
             "\"dim\":6,\"depth\":1,\"heads\":2,\"head_dim\":3,\"mlp_dim\":5,\"head_units\":[],"
             "\"mlp_last_gelu\":false,\"num_classes\":3,%s}",
             OWN_FILES[i].height, OWN_FILES[i].width, OWN_FILES[i].fields);
    WORKS(svit_model_config_from_json(&config, sizeof config, text, err));
    return config;
}

/* A model of the configuration with the weights of the file; its own would be another seed's. */
static svit_model *with_weights_of_file(const svit_model_config *config)
{
    svit_model *model = NULL;
    WORKS(svit_model_create(&model, context, config, 5, err));
    WORKS(svit_model_load_into(model, path, NULL, 0, NULL, err));
    return model;
}

/* The rows of 3 x 2 patches were copied to 2 x 3, and refused for a grid of another number. A grid
 * that is stated counts more than that of the file. */
START_TEST(test_a_model_file_states_the_grid_of_its_positions)
{
    static const uint32_t inputs[][2] = {{8, 12}, {24, 4}, {16, 16}, {24, 16}};
    const svit_model_config own = own_config((size_t)_i);
    svit_model *file = NULL;
    WORKS(svit_model_create(&file, context, &own, 3, err));
    WORKS(svit_model_save(file, path, err));
    svit_model *same = with_weights_of_file(&own);
    ck_assert(same_weights(same, file));
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        svit_model_config config = own;
        config.input_height = inputs[i][0];
        config.input_width = inputs[i][1];
        svit_model *model = with_weights_of_file(&config);
        config.position_height = 3;
        config.position_width = 2;
        svit_model *stated = with_weights_of_file(&config);
        ck_assert(same_weights(model, stated));
        config.position_height = 2;
        config.position_width = 3;
        svit_model *other = with_weights_of_file(&config);
        ck_assert(!same_weights(model, other));
        svit_model_free(model);
        svit_model_free(stated);
        svit_model_free(other);
    }
    svit_model_free(same);
    svit_model_free(file);
}
END_TEST

/* Configurations that say nothing of positions: damaged, of another model, of another library. */
static const char *const NO_GRIDS[] = {
    "\"config\":\"{\"",
    "\"config\":\"{\\\"architecture\\\":\\\"vit\\\",\\\"patch_size\\\":0}\"",
    "\"config\":\"{\\\"model_type\\\":\\\"vit\\\"}\"",
    "\"config\":\"{}\"",
    "\"format\":\"pt\"",
};

/* As many rows as the model has, and a square. */
START_TEST(test_without_a_configuration_the_grid_follows_from_the_rows)
{
    tensor_file file = timm_file();
    svit_model *model = NULL;
    float rows[7 * 6];
    metadata = NO_GRIDS[_i];
    write_tensors(&file);
    WORKS(load_small(&model, "timm", err));
    WORKS(svit_model_get_parameter(model, "pos_embed", rows, 7 * 6, err));
    for (size_t i = 0; i < 7 * 6; i++)
        ck_assert_float_eq(rows[i], value_of("pos_embed", i));
    tensor_of(&file, "pos_embed")->shape[1] = 1 + 3 * 3;
    write_tensors(&file);
    WORKS(svit_model_load_into(model, path, "timm", 0, NULL, err));
    svit_model_free(model);
}
END_TEST

/* A file of no tensors is one in which all parameters are missing. */
START_TEST(test_a_file_without_tensors_changes_nothing)
{
    const tensor_file file = {.count = 0};
    svit_model *model = small_model(), *before = small_model();
    svit_load_report report = {.struct_size = sizeof report};
    size_t parameters = 0;
    while (svit_model_parameter_name(model, parameters))
        parameters++;
    write_tensors(&file);
    FAILS(svit_model_load_into(model, path, "timm", 0, NULL, err), SVIT_E_FORMAT, "is missing");
    WORKS(svit_model_load_into(model, path, "timm", SVIT_LOAD_ALLOW_MISSING, &report, err));
    ck_assert_uint_eq(report.missing, parameters);
    ck_assert_uint_eq(report.loaded + report.mismatched + report.extra + report.buffers, 0);
    ck_assert(same_weights(model, before));
    svit_model_free(model);
    svit_model_free(before);
}
END_TEST

static Suite *load_shapes_suite(void)
{
    Suite *suite = suite_create("load shapes");
    TCase *all = tcase_create("load shapes");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, test_a_tensor_of_another_geometry_is_refused);
    tcase_add_loop_test(all, test_a_position_embedding_of_one_row_is_interpolated, 2, 4);
    tcase_add_test(all, test_a_list_joins_any_number_of_tensors);
    tcase_add_test(all, test_empty_tensors_of_many_rows_are_refused);
    tcase_add_loop_test(all, test_a_common_prefix_is_named, 0, sizeof PREFIXES / sizeof *PREFIXES);
    tcase_add_loop_test(all, test_what_belongs_to_training_is_passed_over, 0,
                        sizeof BESIDES / sizeof *BESIDES);
    tcase_add_test(all, test_another_architecture_is_not_saved_for_timm);
    tcase_add_loop_test(all, test_tensors_that_differ_in_one_axis_are_refused, 0,
                        sizeof MISFITS / sizeof *MISFITS);
    tcase_add_test(all, test_positions_of_as_many_rows_are_interpolated_in_columns);
    tcase_add_loop_test(all, test_a_model_file_states_the_grid_of_its_positions, 0,
                        sizeof OWN_FILES / sizeof *OWN_FILES);
    tcase_add_loop_test(all, test_without_a_configuration_the_grid_follows_from_the_rows, 0,
                        sizeof NO_GRIDS / sizeof *NO_GRIDS);
    tcase_add_test(all, test_a_file_without_tensors_changes_nothing);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(load_shapes_suite)
