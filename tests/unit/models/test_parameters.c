/* Checks the parameters of a model: names, shapes, reading and writing them. */
#include "test_parameters_support.h"

#include "golden.h"

#include "io/safetensors.h"

START_TEST(test_names_and_shapes_are_those_of_the_papers_files)
{
    static const struct {
        const char *name;
        size_t rank;
        int64_t shape[4];
    } expected[] = {
        {"patch_embed.proj.weight", 4, {8, 3, 2, 2}},
        {"patch_embed.proj.bias", 1, {8}},
        {"patch_embed.norm.weight", 1, {8}},
        {"patch_embed.norm.bias", 1, {8}},
        {"layers.0.blocks.0.norm2.weight", 1, {8}},
        {"layers.0.blocks.0.norm2.bias", 1, {8}},
        {"layers.0.blocks.0.mlp.fc1.weight", 4, {20, 8, 1, 1}},
        {"layers.0.blocks.0.mlp.fc1.bias", 1, {20}},
        {"layers.0.blocks.0.mlp.fc2.weight", 4, {8, 20, 1, 1}},
        {"layers.0.blocks.0.mlp.fc2.bias", 1, {8}},
        {"layers.0.downsample.reduction.weight", 4, {16, 8, 2, 2}},
        {"layers.0.downsample.norm.weight", 1, {8}},
        {"layers.0.downsample.norm.bias", 1, {8}},
        {"norm.weight", 1, {16}},
        {"norm.bias", 1, {16}},
        {"head.weight", 2, {5, 16}},
        {"head.bias", 1, {5}},
    };
    enum { COUNT = sizeof expected / sizeof *expected };
    svit_model_config config = fit_model_config(5);
    config.patch_norm = config.final_norm = 1;
    config.mlp_ratio = 2.5;
    config.blocks[1] = 0;
    svit_model *model = NULL;
    WORKS(svit_model_create(&model, context, &config, 1, err));
    ck_assert_uint_eq(svit_model_parameter_count(model), COUNT);
    uint64_t total = 0;
    for (size_t i = 0; i < COUNT; i++) {
        ck_assert_str_eq(svit_model_parameter_name(model, i), expected[i].name);
        int64_t shape[8];
        size_t rank;
        WORKS(svit_model_parameter_shape(model, expected[i].name, shape, &rank, err));
        ck_assert_uint_eq(rank, expected[i].rank);
        for (size_t k = 0; k < 8; k++)
            ck_assert_int_eq(shape[k], k < 4 ? expected[i].shape[k] : 0);
        total += fit_elements(model, expected[i].name);
    }
    ck_assert_uint_eq(svit_model_parameter_elements(model), total);
    ck_assert_ptr_null(svit_model_parameter_name(model, COUNT));
    svit_model_free(model);
}
END_TEST

/* Compares with golden files: names, order, number and, if the file has them, shapes. */
static const struct {
    const char *file;
    uint64_t parameters;
} references[] = {
    {"vit_small", 17546},
    {"slvit_small", 25540},
    {"slvit_paper_small", 16600},
    {"vit_cifar100_full", 21759012},
    {"slvit_cifar100_full", 21787748},
    {"slvit_paper_full", 2747248},
    {"mixer_small", 5310},
    {"mixer_odd", 13814},
    {"mixer_s32_full", 19104624},
};

static void check_shape(const svit_model *model, const sv_safetensors *file, const char *name)
{
    char key[160];
    snprintf(key, sizeof key, "param.%s", name);
    const sv_safetensors_entry *entry = sv_safetensors_find(file, key);
    if (!entry)
        return;
    int64_t shape[8];
    size_t rank;
    WORKS(svit_model_parameter_shape(model, name, shape, &rank, err));
    ck_assert_msg(rank == entry->desc.rank, "%s has rank %zu, not %zu", name, rank,
                  entry->desc.rank);
    for (size_t i = 0; i < rank; i++)
        ck_assert_int_eq(shape[i], entry->desc.shape[i]);
}

START_TEST(test_parameters_are_those_of_the_reference)
{
    sv_safetensors *file = golden_open(references[_i].file);
    svit_model_config config;
    WORKS(svit_model_config_from_json(&config, sizeof config,
                                      sv_safetensors_metadata(file, "config"), err));
    svit_model *model = NULL;
    WORKS(svit_model_create(&model, context, &config, 1, err));
    const char *text = sv_safetensors_metadata(file, "param_names");
    sv_allocator allocator = sv_allocator_default();
    sv_json *names;
    WORKS(sv_json_parse(&names, &allocator, text, strlen(text), "param_names", err));
    const sv_json_value *list = sv_json_root(names), *element = list + 1;
    size_t count = list->count;
    ck_assert_uint_ge(count, 30);
    ck_assert_uint_eq(svit_model_parameter_count(model), count);
    ck_assert_uint_eq(svit_model_parameter_elements(model), references[_i].parameters);
    for (size_t i = 0; i < count; i++, element = element->after) {
        const char *name = svit_model_parameter_name(model, i);
        ck_assert_str_eq(name, sv_json_text(element));
        check_shape(model, file, name);
    }
    sv_json_free(names);
    svit_model_free(model);
    sv_safetensors_close(file);
}
END_TEST

START_TEST(test_each_field_of_a_vit_shapes_its_parameters)
{
    svit_model *model = small_vit(variants[_i].fields, 1);
    int64_t shape[8];
    size_t rank;
    if (variants[_i].rank == 0) {
        FAILS(svit_model_parameter_shape(model, variants[_i].name, shape, &rank, err),
              SVIT_E_ARGUMENT, variants[_i].name);
    } else {
        WORKS(svit_model_parameter_shape(model, variants[_i].name, shape, &rank, err));
        ck_assert_uint_eq(rank, variants[_i].rank);
        for (size_t k = 0; k < 8; k++)
            ck_assert_int_eq(shape[k], k < 4 ? variants[_i].shape[k] : 0);
    }
    svit_model_free(model);
}
END_TEST

START_TEST(test_what_is_set_is_what_is_got)
{
    svit_model *model = fit_model(context, 5, 1);
    const char *name;
    for (size_t i = 0; (name = svit_model_parameter_name(model, i)) != NULL; i++) {
        size_t elements = fit_elements(model, name);
        float *in = malloc(elements * sizeof *in), *out = malloc(elements * sizeof *out);
        for (size_t k = 0; k < elements; k++)
            in[k] = (float)(k + 100 * i);
        WORKS(svit_model_set_parameter(model, name, in, elements, err));
        WORKS(svit_model_get_parameter(model, name, out, elements, err));
        ck_assert_mem_eq(in, out, elements * sizeof *in);
        free(in);
        free(out);
    }
    svit_model_free(model);
}
END_TEST

START_TEST(test_wrong_calls_name_the_argument_and_change_nothing)
{
    svit_model *model = fit_model(context, 5, 1), *same = fit_model(context, 5, 1);
    float values[5] = {1, 2, INFINITY, 4, 5};
    FAILS(svit_model_set_parameter(model, "head.bias", values, 5, err), SVIT_E_NUMERIC,
          "element 2");
    FAILS(svit_model_set_parameter(model, "head.bias", values, 4, err), SVIT_E_ARGUMENT,
          "elements is 4");
    FAILS(svit_model_set_parameter(model, "head.bia", values, 5, err), SVIT_E_ARGUMENT,
          "'head.bia'");
    FAILS(svit_model_get_parameter(model, "head.bias", values, 6, err), SVIT_E_ARGUMENT,
          "elements is 6");
    FAILS(svit_model_get_parameter(model, NULL, values, 5, err), SVIT_E_ARGUMENT, "name is NULL");
    FAILS(svit_model_get_parameter(NULL, "head.bias", values, 5, err), SVIT_E_ARGUMENT,
          "model is NULL");
    const char *names[] = {"a", "b", NULL, "d", "e"};
    FAILS(svit_model_set_classes(model, names, 5, err), SVIT_E_ARGUMENT, "names[2]");
    FAILS(svit_model_set_classes(model, names, 4, err), SVIT_E_ARGUMENT, "count is 4");
    names[2] = "Gr\xfcn";
    FAILS(svit_model_set_classes(model, names, 5, err), SVIT_E_ARGUMENT,
          "names[2] is 'Gr\\xFCn', which is not UTF-8");
    svit_pipeline_config pipeline;
    FAILS(svit_model_get_pipeline(model, &pipeline, sizeof pipeline, err), SVIT_E_STATE,
          "no pipeline");
    ck_assert(fit_same(model, same));
    svit_model_free(model);
    svit_model_free(same);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("parameters");
    TCase *c = tcase_create("parameters");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_names_and_shapes_are_those_of_the_papers_files);
    tcase_add_loop_test(c, test_parameters_are_those_of_the_reference, 0,
                        sizeof references / sizeof *references);
    tcase_add_loop_test(c, test_each_field_of_a_vit_shapes_its_parameters, 0, VARIANTS);
    tcase_add_test(c, test_what_is_set_is_what_is_got);
    tcase_add_test(c, test_wrong_calls_name_the_argument_and_change_nothing);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
