/* Checks model files: a saved model loads, and the error for a file that does not fit names the
 * reason. */
#include "test_parameters_support.h"

#include "io/safetensors.h"
#include "models/model.h"

#include <math.h>

static void check_same_config(const svit_model *model, const svit_model *back)
{
    svit_model_config a, b;
    WORKS(svit_model_get_config(model, &a, sizeof a, err));
    WORKS(svit_model_get_config(back, &b, sizeof b, err));
    ck_assert(fit_same_config(&a, &b));
}

START_TEST(test_a_saved_vit_loads)
{
    svit_model *model = small_vit(variants[_i].fields, 5), *back = NULL;
    WORKS(svit_model_save(model, path, err));
    WORKS(svit_model_load(&back, context, path, err));
    ck_assert(fit_same(model, back));
    check_same_config(model, back);
    svit_model_free(model);
    svit_model_free(back);
}
END_TEST

START_TEST(test_a_saved_model_loads_with_all_that_it_had)
{
    svit_model *model = fit_model(context, 3, 9), *back = NULL;
    const char *names[] = {"cat", "d\xc3\xb6g", "\"quoted\""};
    svit_pipeline_config pipeline, pipeline_back;
    svit_pipeline_config_init(&pipeline, sizeof pipeline);
    pipeline.mean[1] = 0.4821;
    WORKS(svit_model_set_classes(model, names, 3, err));
    WORKS(svit_model_set_pipeline(model, &pipeline, err));
    WORKS(svit_model_save(model, path, err));
    WORKS(svit_model_load(&back, context, path, err));
    ck_assert(fit_same(model, back));
    for (size_t i = 0; i < 3; i++)
        ck_assert_str_eq(svit_model_class_name(back, i), names[i]);
    ck_assert_ptr_null(svit_model_class_name(back, 3));
    WORKS(svit_model_get_pipeline(back, &pipeline_back, sizeof pipeline_back, err));
    ck_assert(fit_same_pipeline(&pipeline, &pipeline_back));
    check_same_config(model, back);
    svit_model_free(model);
    svit_model_free(back);
}
END_TEST

/* Readers refuse what is not finite, so no file gets it, and an old one stays. */
START_TEST(test_weights_that_are_not_finite_are_not_saved)
{
    svit_model *model = fit_model(context, 3, 9), *back = NULL;
    WORKS(svit_model_save(model, path, err));
    const float before = model->weights[0];
    model->weights[0] = _i ? INFINITY : NAN;
    FAILS(svit_model_save(model, path, err), SVIT_E_NUMERIC, "files hold finite numbers");
    model->weights[0] = before;
    WORKS(svit_model_load(&back, context, path, err));
    ck_assert(fit_same(model, back));
    svit_model_free(model);
    svit_model_free(back);
}
END_TEST

/* How a file of the tiny model is changed for the next test. */
typedef struct change {
    const char *tensor; /* the tensor that is changed */
    int64_t shape[4];
    size_t rank;       /* 0: the tensor is left out */
    const char *extra; /* an additional tensor */
    const char *version, *config, *classes;
    svit_status status;
    const char *part;
} change;

static const change changes[] = {
    {.status = SVIT_OK},
    {"layers.0.blocks.0.mlp.fc1.weight", {16, 8}, 2, .status = SVIT_OK},
    {.extra = "optimizer.m.head.bias", .status = SVIT_OK},
    {.extra = "ema.head.bias", .status = SVIT_OK},
    {"head.bias", {0}, 0, .status = SVIT_E_FORMAT, .part = "'head.bias' is missing"},
    {"head.bias", {3, 1}, 2, .status = SVIT_E_FORMAT, .part = "[3, 1]"},
    {"head.weight", {16, 3}, 2, .status = SVIT_E_FORMAT, .part = "[3, 16]"},
    {.extra = "head.scale", .status = SVIT_E_FORMAT, .part = "'head.scale'"},
    {.version = "2", .status = SVIT_E_VERSION, .part = "format_version is 2"},
    {.version = "new", .status = SVIT_E_FORMAT, .part = "format_version"},
    {.config = "{\"dim\":-8}", .status = SVIT_E_FORMAT, .part = "dim is -8"},
    {.config = "8", .status = SVIT_E_FORMAT, .part = "model.safetensors"},
    {.config = "", .status = SVIT_E_ARGUMENT, .part = "svit_model_load_with_config"},
    {.classes = "[\"a\",\"b\"]", .status = SVIT_E_FORMAT, .part = "array of 3"},
    {.classes = "[\"a\",\"b\",3]", .status = SVIT_E_FORMAT, .part = "class 2"},
    {.classes = "nonsense", .status = SVIT_E_FORMAT, .part = "entry 'classes' is not JSON"},
    {.classes = "{}", .status = SVIT_E_FORMAT, .part = "array of 3"},
};

static void fill(float *out, const sv_safetensors_tensor *tensor, void *user)
{
    (void)user;
    for (size_t i = 0; i < tensor->desc->elements; i++)
        out[i] = (float)i;
}

static void put_pair(sv_json_writer *metadata, const char *key, const char *value)
{
    sv_json_put_key(metadata, key);
    sv_json_put_text(metadata, value);
}

static void write_changed(const svit_model *model, const change *wanted)
{
    sv_safetensors_tensor tensors[64];
    sv_tensor_desc descs[64];
    size_t count = 0;
    const char *name;
    for (size_t i = 0; (name = svit_model_parameter_name(model, i)) != NULL; i++) {
        int64_t shape[8];
        size_t rank;
        WORKS(svit_model_parameter_shape(model, name, shape, &rank, err));
        if (wanted->tensor && strcmp(name, wanted->tensor) == 0) {
            if (wanted->rank == 0)
                continue;
            rank = wanted->rank;
            memcpy(shape, wanted->shape, sizeof wanted->shape);
        }
        ck_assert(sv_tensor_desc_init(&descs[count], SV_DTYPE_F32, shape, rank));
        tensors[count] = (sv_safetensors_tensor){name, &descs[count], NULL};
        count++;
    }
    static const sv_tensor_desc three = {.rank = 1, .shape = {3}, .elements = 3};
    if (wanted->extra)
        tensors[count++] = (sv_safetensors_tensor){wanted->extra, &three, NULL};
    char config[2048];
    svit_model_config of_model;
    WORKS(svit_model_get_config(model, &of_model, sizeof of_model, err));
    WORKS(svit_model_config_to_json(&of_model, config, sizeof config, NULL, err));
    sv_allocator allocator = sv_allocator_default();
    sv_json_writer metadata = sv_json_writer_make(&allocator);
    sv_json_begin(&metadata, '{');
    put_pair(&metadata, "format_version", wanted->version ? wanted->version : "1");
    const char *text = wanted->config ? wanted->config : config;
    if (*text)
        put_pair(&metadata, "config", text);
    if (wanted->classes)
        put_pair(&metadata, "classes", wanted->classes);
    sv_json_end(&metadata, '}');
    WORKS(sv_safetensors_write(&allocator, path, metadata.text, tensors, count, fill, NULL, err));
    sv_json_writer_free(&metadata);
}

/* An allocator that adds up the bytes that are requested. */
static size_t asked;

static void *counting_allocate(void *user, size_t bytes, size_t alignment)
{
    (void)user;
    void *memory = NULL;
    asked += bytes;
    return posix_memalign(&memory, alignment, bytes) == 0 ? memory : NULL;
}

static void counting_release(void *user, void *memory, size_t bytes)
{
    (void)user;
    (void)bytes;
    free(memory);
}

static svit_context *counting_context(void)
{
    svit_context_config config;
    svit_context *made = NULL;
    WORKS(svit_context_config_init(&config, sizeof config));
    config.threads = 1;
    config.allocate = counting_allocate;
    config.release = counting_release;
    WORKS(svit_context_create(&made, &config, err));
    return made;
}

/* Regression: 64 GiB for weights that the file does not have are allocated and cleared before the
 * tensors are looked up. */
START_TEST(test_a_small_file_that_claims_a_large_model_costs_nothing)
{
    static const struct {
        const char *config, *part;
    } cases[] = {
        {"{\"dim\":32768,\"blocks\":[1,1]}", BY_SIZE("than fit memory", "is missing")},
        {"{\"architecture\":\"vit\",\"dim\":65536,\"heads\":1024,\"depth\":1,\"head_units\":[]}",
         BY_SIZE("than fit memory", "is missing")},
        {"{\"dim\":4,\"num_div\":4,\"blocks\":[1000,1000,1000,1000,1000,1000,1000,1000]}",
         "3 tensors are too few for a model of 8000 blocks"},
        {"{\"architecture\":\"vit\",\"depth\":1000}",
         "3 tensors are too few for a model of 1000 blocks"},
        {"{\"architecture\":\"mixer\",\"token_mlp_dim\":1048576,\"mlp_dim\":1048576,\"depth\":1}",
         "is missing"},
        {"{\"architecture\":\"mixer\",\"depth\":1000}",
         "3 tensors are too few for a model of 1000 blocks"},
    };
    static const sv_tensor_desc one = {.rank = 1, .shape = {1}, .elements = 1};
    static const sv_safetensors_tensor others[] = {
        {"ema.a", &one, NULL}, {"ema.b", &one, NULL}, {"optimizer.c", &one, NULL}};
    svit_context *counting = counting_context();
    sv_allocator allocator = sv_allocator_default();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        svit_model *back = NULL;
        sv_json_writer metadata = sv_json_writer_make(&allocator);
        sv_json_begin(&metadata, '{');
        put_pair(&metadata, "config", cases[i].config);
        sv_json_end(&metadata, '}');
        WORKS(sv_safetensors_write(&allocator, path, metadata.text, others, 3, fill, NULL, err));
        sv_json_writer_free(&metadata);
        asked = 0;
        const svit_status status =
            strstr(cases[i].part, "fit memory") ? SVIT_E_MEMORY : SVIT_E_FORMAT;
        FAILS(svit_model_load(&back, counting, path, err), status, cases[i].part);
        FAILS(svit_model_map(&back, counting, path, err), status, cases[i].part);
        ck_assert_uint_lt(asked, 1 << 20);
    }
    svit_context_free(counting);
}
END_TEST

/* A model of 18,010 parameters: looking up each by a search through all names takes longer than the
 * test's time limit. */
START_TEST(test_every_name_of_a_model_with_many_parameters_is_found)
{
    svit_model_config config;
    svit_model *model = NULL, *back = NULL;
    WORKS(svit_model_config_from_json(&config, sizeof config,
                                      "{\"input_height\":8,\"input_width\":8,\"dim\":4,\"num_div\":"
                                      "4,\"blocks\":[1000,1000,1000]}",
                                      err));
    WORKS(svit_model_create(&model, context, &config, 1, err));
    ck_assert_uint_eq(svit_model_parameter_count(model), 18010);
    for (int round = 0; round < 10; round++)
        for (size_t i = 0; i < 18010 && takes_case(round); i++) {
            int64_t shape[8];
            size_t rank;
            WORKS(svit_model_parameter_shape(model, svit_model_parameter_name(model, i), shape,
                                             &rank, err));
        }
    WORKS(svit_model_save(model, path, err));
    WORKS(svit_model_load(&back, context, path, err));
    ck_assert(fit_same(model, back));
    svit_model_free(model);
    svit_model_free(back);
}
END_TEST

/* Loads the bytes of the file at `path` from memory, which is freed before the model is used. */
static svit_status load_memory(svit_model **out, svit_error *err)
{
    size_t bytes;
    char *file = fit_read(path, &bytes), *memory = malloc(bytes ? bytes : 1);
    memcpy(memory, file, bytes);
    svit_status status = svit_model_load_memory(out, context, memory, bytes, err);
    memset(memory, 0, bytes);
    free(memory);
    free(file);
    return status;
}

START_TEST(test_files_that_do_not_fit_are_refused_by_name)
{
    const change *wanted = &changes[_i];
    svit_model *model = fit_model(context, 3, 1), *back = NULL;
    write_changed(model, wanted);
    if (wanted->status == SVIT_OK) {
        WORKS(svit_model_load(&back, context, path, err));
        float bias[3];
        WORKS(svit_model_get_parameter(back, "head.bias", bias, 3, err));
        ck_assert_float_eq(bias[2], 2);
        svit_model_free(back);
        WORKS(load_memory(&back, err));
        WORKS(svit_model_get_parameter(back, "head.bias", bias, 3, err));
        ck_assert_float_eq(bias[2], 2);
    } else {
        FAILS(svit_model_load(&back, context, path, err), wanted->status, wanted->part);
        FAILS(load_memory(&back, err), wanted->status,
              strcmp(wanted->part, "model.safetensors") ? wanted->part : "the model in memory: ");
        ck_assert_ptr_null(back);
    }
    svit_model_free(model);
    svit_model_free(back);
}
END_TEST

START_TEST(test_a_file_without_configuration_loads_with_the_callers)
{
    svit_model *model = fit_model(context, 3, 1), *back = NULL;
    write_changed(model, &(change){.config = ""});
    svit_model_config config = fit_model_config(3);
    WORKS(svit_model_load_with_config(&back, context, &config, path, err));
    svit_model_free(back);
    config.blocks[1] = 2;
    back = NULL;
    FAILS(svit_model_load_with_config(&back, context, &config, path, err), SVIT_E_FORMAT,
          "layers.1.blocks.1.norm2.weight");
    ck_assert_ptr_null(back);
    svit_model_free(model);
}
END_TEST

static const char paper[] =
    "{\"names\":\"paper\",\"tokenizer\":\"spt\",\"attention\":\"lsa\",\"qkv_bias\":false,"
    "\"temperature\":\"multiply\",\"pool\":\"class_token\"}";

START_TEST(test_a_file_of_the_papers_code_loads_with_the_callers_configuration)
{
    svit_model *model = small_vit(paper, 1), *back = NULL;
    write_changed(model, &(change){.config = ""});
    FAILS(svit_model_load(&back, context, path, err), SVIT_E_ARGUMENT,
          "svit_model_load_with_config");
    svit_model_config config;
    WORKS(svit_model_get_config(model, &config, sizeof config, err));
    WORKS(svit_model_load_with_config(&back, context, &config, path, err));
    float scale[2];
    WORKS(svit_model_get_parameter(back, "transformer.layers.0.0.fn.scale", scale, 2, err));
    ck_assert_float_eq(scale[1], 1);
    svit_model_free(model);
    svit_model_free(back);
}
END_TEST

START_TEST(test_a_position_embedding_of_another_length_is_refused)
{
    svit_model *model = small_vit(paper, 1), *back = NULL;
    WORKS(svit_model_save(model, path, err));
    svit_model_config config;
    WORKS(svit_model_get_config(model, &config, sizeof config, err));
    config.input_width = 16;
    FAILS(svit_model_load_with_config(&back, context, &config, path, err), SVIT_E_FORMAT,
          "'pos_embedding' is [1, 10, 6]; the model has [1, 13, 6]");
    ck_assert_ptr_null(back);
    svit_model_free(model);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("model_file");
    TCase *c = tcase_create("model_file");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_a_saved_vit_loads, 0, VARIANTS);
    tcase_add_test(c, test_a_saved_model_loads_with_all_that_it_had);
    tcase_add_loop_test(c, test_weights_that_are_not_finite_are_not_saved, 0, 2);
    tcase_add_loop_test(c, test_files_that_do_not_fit_are_refused_by_name, 0,
                        sizeof changes / sizeof *changes);
    tcase_add_test(c, test_a_file_without_configuration_loads_with_the_callers);
    tcase_add_test(c, test_a_file_of_the_papers_code_loads_with_the_callers_configuration);
    tcase_add_test(c, test_a_position_embedding_of_another_length_is_refused);
    tcase_add_test(c, test_a_small_file_that_claims_a_large_model_costs_nothing);
    tcase_add_test(c, test_every_name_of_a_model_with_many_parameters_is_found);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
