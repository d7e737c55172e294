/* Checks ONNX files without a runtime: the wire format, the order of nodes, the initialisers, and
 * what happens when an export fails. tests/programs/onnx_export.py compares the values. */
#include "suite.h"
#include "test_onnx_support.h"

#include "base/numbers/byte_order.h"
#include "models/model.h"

#include <shiftvit/shiftvit.h>
#include <unistd.h>

static char folder[64], path[96];
static svit_context *context;

static void setup(void)
{
    strcpy(folder, "/tmp/shiftvit-onnx-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    ck_assert_int_eq(svit_context_create(&context, NULL, NULL), SVIT_OK);
}

static void teardown(void)
{
    svit_context_free(context);
    unlink(path);
    ck_assert_int_eq(rmdir(folder), 0); /* there is no temporary file */
}

#define SIZES "\"input_height\":12,\"input_width\":16,\"dim\":16"
#define SMALL SIZES ",\"num_classes\":7"
#define VIT_WITH(head_dim)                                                                         \
    "{\"architecture\":\"vit\"," SMALL                                                             \
    ",\"patch_size\":4,\"depth\":2,\"heads\":2,\"head_dim\":" head_dim                             \
    ",\"mlp_dim\":24,\"mlp_last_gelu\":false,\"head_units\":[]"
#define VIT VIT_WITH("6")
#define SHIFTVIT "{" SMALL ",\"blocks\":[1,1],\"num_div\":4"
#define MIXER                                                                                      \
    "{\"architecture\":\"mixer\"," SMALL                                                           \
    ",\"patch_size\":4,\"depth\":2,\"token_mlp_dim\":10,\"mlp_dim\":24"

static const char *const MODELS[] = {
    VIT "}",
    VIT ",\"tokenizer\":\"spt\",\"attention\":\"lsa\"}",
    VIT ",\"tokenizer\":\"conv\",\"pool\":\"mean\"}",
    VIT ",\"pool\":\"class_token\",\"distilled\":true,\"register_tokens\":3,"
        "\"position_tokens\":\"class-patches\",\"layer_scale\":true,\"pre_norm\":true}",
    VIT ",\"pool\":\"class-mean\",\"mlp\":\"swiglu\",\"head_norm\":true}",
    VIT_WITH("8") ",\"pool\":\"class_token\",\"rope\":\"mixed\",\"rope_theta\":10}",
    SHIFTVIT "}",
    SHIFTVIT ",\"shift\":\"keras\",\"stem\":\"whitened\",\"patch_norm\":true,\"norm\":\"group\"}",
    SHIFTVIT ",\"mixer\":\"depthwise\",\"stem\":\"conv\",\"final_norm\":true}",
    MIXER "}",
    SHIFTVIT ",\"shift_pixel\":0}",
    /* More divisions than channels: nothing is shifted. */
    "{" SMALL ",\"blocks\":[1,1],\"num_div\":80}",
    /* One token, which attends to nothing. */
    "{\"architecture\":\"vit\",\"input_height\":4,\"input_width\":4,\"dim\":16,\"num_classes\":7,"
    "\"patch_size\":4,\"depth\":2,\"heads\":2,\"head_dim\":6,\"mlp_dim\":24,\"head_units\":[],"
    "\"attention\":\"lsa\",\"mlp_last_gelu\":false}",
    /* The paper's attention of one head as wide as the tokens has no projection. */
    "{\"architecture\":\"vit\"," SMALL
    ",\"names\":\"paper\",\"patch_size\":4,\"depth\":2,\"heads\":1,"
    "\"head_dim\":16,\"mlp_dim\":24,\"mlp_last_gelu\":false,\"head_units\":[],"
    "\"pool\":\"class_token\"}",
    "{\"architecture\":\"vit\"," SIZES
    ",\"patch_size\":4,\"depth\":1,\"heads\":2,\"head_dim\":8,\"mlp_dim\":24,\"head_units\":[],"
    "\"mlp_last_gelu\":false,\"pool\":\"class_token\",\"distilled\":true,\"classifier\":false,"
    "\"num_classes\":16}",
    /* The features are the logits. */
    "{\"architecture\":\"vit\"," SIZES
    ",\"patch_size\":4,\"depth\":1,\"heads\":1,\"head_dim\":16,\"mlp_dim\":24,\"head_units\":[],"
    "\"pool\":\"class_token\",\"classifier\":false,\"num_classes\":16}",
    "{" SIZES ",\"blocks\":[1,1],\"num_div\":4,\"classifier\":false,\"num_classes\":32}",
    "{\"architecture\":\"mixer\"," SIZES
    ",\"patch_size\":4,\"depth\":2,\"token_mlp_dim\":10,\"mlp_dim\":24,\"classifier\":false,"
    "\"num_classes\":16}",
};
enum { MODEL_COUNT = sizeof MODELS / sizeof *MODELS };

static svit_model *model_in(svit_context *in, const char *json)
{
    svit_model_config config;
    svit_model *model = NULL;
    svit_error err = {sizeof err, 0, ""};
    ck_assert_msg(svit_model_config_from_json(&config, sizeof config, json, &err) == SVIT_OK, "%s",
                  err.message);
    ck_assert_int_eq(svit_model_create(&model, in, &config, 1, NULL), SVIT_OK);
    return model;
}

static size_t elements_of(const onnx_tensor *tensor)
{
    size_t elements = 1;
    for (size_t i = 0; i < tensor->rank; i++)
        elements *= (size_t)tensor->shape[i];
    return elements;
}

/* A dense weight [out, in] is [in, out] in the file; all other parameters are as they are. */
static void check_tensor(const svit_model *model, const onnx_tensor *tensor)
{
    char name[128];
    int64_t shape[8];
    size_t rank, elements = elements_of(tensor), at = 0;
    snprintf(name, sizeof name, "%.*s", (int)tensor->name.length, (const char *)tensor->name.data);
    ck_assert_int_eq(svit_model_parameter_shape(model, name, shape, &rank, NULL), SVIT_OK);
    float *values = malloc(elements * sizeof *values);
    ck_assert_int_eq(svit_model_get_parameter(model, name, values, elements, NULL), SVIT_OK);
    ck_assert_uint_eq(tensor->data_type, 1);
    ck_assert_uint_eq(tensor->raw.length, elements * sizeof(float));
    int is_transposed = tensor->rank == 2 && rank >= 2 && strstr(name, ".weight") != NULL;
    size_t in = is_transposed ? (size_t)tensor->shape[0] : 1, out = elements / in;
    for (size_t i = 0; i < in; i++)
        for (size_t o = 0; o < out; o++, at++) {
            float found;
            memcpy(&found, tensor->raw.data + at * sizeof found, sizeof found);
            sv_little_endian(&found, sizeof found, 1);
            ck_assert(found == values[is_transposed ? o * in + i : at]);
        }
    free(values);
}

START_TEST(test_a_file_is_well_formed_and_has_each_parameter_once)
{
    svit_model *model = model_in(context, MODELS[_i]);
    ck_assert_int_eq(svit_model_export_onnx(model, path, NULL, NULL), SVIT_OK);
    onnx_contents *file = onnx_read(path);
    ck_assert_uint_eq(file->ir_version, 8);
    ck_assert_uint_eq(file->opset, 17);
    ck_assert(onnx_is(file->input, "images"));
    ck_assert(onnx_is(file->output, "logits"));
    ck_assert(onnx_is(file->values[file->value_count - 1], "logits")); /* of the last node */
    ck_assert_uint_ge(file->nodes, 40);
    ck_assert_uint_eq(file->tensor_count, svit_model_parameter_count(model));
    for (size_t i = 0; i < file->tensor_count; i++)
        check_tensor(model, &file->tensors[i]);
    onnx_free(file);
    svit_model_free(model);
}
END_TEST

static svit_pipeline_config pipeline_of(uint32_t height, uint32_t width, uint32_t channels)
{
    svit_pipeline_config config;
    ck_assert_int_eq(svit_pipeline_config_init(&config, sizeof config), SVIT_OK);
    config.source_height = config.source_width = 14;
    config.resize_height = height + 2;
    config.resize_width = width + 2;
    config.output_height = height;
    config.output_width = width;
    config.channels = channels;
    for (uint32_t c = 0; c < channels; c++)
        config.variance[c] = 1;
    return config;
}

static void check_property(const onnx_contents *file, const char *key, const char *start)
{
    for (size_t i = 0; i < file->property_count; i++)
        if (onnx_is(file->keys[i], key)) {
            ck_assert_msg(file->properties[i].length >= strlen(start) &&
                              memcmp(file->properties[i].data, start, strlen(start)) == 0,
                          "%s is %.*s", key, (int)file->properties[i].length,
                          (const char *)file->properties[i].data);
            return;
        }
    ck_abort_msg("there is no %s", key);
}

/* A file used to have names of no class, and no word of how its images are made. */
START_TEST(test_a_file_says_what_the_model_is)
{
    static const char *const names[] = {"oak", "b\303\244r \"x\"", "c", "d", "e", "f", "g"};
    svit_model *model = model_in(context, SHIFTVIT "}");
    svit_pipeline_config pipeline = pipeline_of(12, 16, 3);
    ck_assert_int_eq(svit_model_export_onnx(model, path, NULL, NULL), SVIT_OK);
    onnx_contents *file = onnx_read(path);
    ck_assert_uint_eq(file->property_count, 1);
    check_property(file, "config", "{\"architecture\":\"shiftvit\"");
    onnx_free(file);
    ck_assert_int_eq(svit_model_set_classes(model, names, 7, NULL), SVIT_OK);
    ck_assert_int_eq(svit_model_set_pipeline(model, &pipeline, NULL), SVIT_OK);
    ck_assert_int_eq(svit_model_set_output(model, SVIT_OUTPUT_SIGMOID, NULL), SVIT_OK);
    ck_assert_int_eq(svit_model_export_onnx(model, path, NULL, NULL), SVIT_OK);
    file = onnx_read(path);
    ck_assert_uint_eq(file->property_count, 4);
    check_property(file, "classes", "[\"oak\",\"b\303\244r \\\"x\\\"\",");
    check_property(file, "preprocessing", "{\"source_height\":14");
    check_property(file, "output", "sigmoid");
    onnx_free(file);
    svit_model_free(model);
}
END_TEST

START_TEST(test_options_name_the_input_and_the_output)
{
    svit_model *model = model_in(context, SHIFTVIT "}");
    svit_pipeline_config pipeline = pipeline_of(12, 16, 3);
    svit_onnx_options options;
    ck_assert_int_eq(svit_onnx_options_init(&options, sizeof options), SVIT_OK);
    ck_assert_int_eq(options.output, SVIT_ONNX_LOGITS);
    ck_assert_int_eq(options.preprocessing, 0);
    options.output = SVIT_ONNX_PROBABILITIES;
    options.preprocessing = 1;
    ck_assert_int_eq(svit_model_set_pipeline(model, &pipeline, NULL), SVIT_OK);
    ck_assert_int_eq(svit_model_export_onnx(model, path, &options, NULL), SVIT_OK);
    onnx_contents *file = onnx_read(path);
    ck_assert(onnx_is(file->input, "bytes"));
    ck_assert(onnx_is(file->output, "probabilities"));
    onnx_free(file);
    svit_model_free(model);
}
END_TEST

static size_t count_operators(const onnx_contents *file, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < file->nodes; i++)
        count += onnx_is(file->operators[i], name);
    return count;
}

/* The export fails with this status and a message that has this part. */
static void check_refused(const svit_model *model, const char *to, const svit_onnx_options *options,
                          svit_status status, const char *part)
{
    svit_error err = {sizeof err, 0, ""};
    ck_assert_int_eq(svit_model_export_onnx(model, to, options, &err), status);
    ck_assert_msg(strstr(err.message, part) != NULL, "no '%s' in '%s'", part, err.message);
}

/* The operator of the last node. */
static onnx_text last_operator(const onnx_contents *file)
{
    return file->operators[file->nodes - 1];
}

/* Regression: the probabilities of labels were a softmax, which is for classes, and so were those
 * of embeddings. */
START_TEST(test_probabilities_are_those_of_predictors)
{
    static const char *const texts[] = {"a fox", "a dog"};
    static const float embeddings[2 * 7] = {1, 2, 3, 4, 5, 6, 7, 7, 6, 5, 4, 3, 2, 1};
    svit_model *model = model_in(context, SHIFTVIT "}");
    const svit_onnx_options options = {sizeof options, SVIT_ONNX_PROBABILITIES, 0};
    ck_assert_int_eq(svit_model_export_onnx(model, path, &options, NULL), SVIT_OK);
    onnx_contents *classes = onnx_read(path);
    ck_assert(onnx_is(last_operator(classes), "Softmax"));
    onnx_free(classes);
    ck_assert_int_eq(svit_model_set_output(model, SVIT_OUTPUT_SIGMOID, NULL), SVIT_OK);
    ck_assert_int_eq(svit_model_set_text_head(model, embeddings, texts, 2, 7, 50, -3, NULL),
                     SVIT_OK);
    ck_assert_int_eq(svit_model_export_onnx(model, path, &options, NULL), SVIT_OK);
    onnx_contents *labels = onnx_read(path);
    ck_assert(onnx_is(last_operator(labels), "Sigmoid"));
    ck_assert_uint_eq(count_operators(labels, "ReduceL2"), 1);
    ck_assert_uint_eq(count_operators(labels, "Gemm"), 1);
    check_property(labels, "text_head", "{\"logit_scale\":50.0,\"logit_bias\":-3.0,\"classes\":[");
    onnx_free(labels);
    ck_assert_int_eq(svit_model_set_output(model, SVIT_OUTPUT_LOGITS, NULL), SVIT_OK);
    check_refused(model, path, &options, SVIT_E_ARGUMENT, "predicts numbers");
    svit_model_free(model);
}
END_TEST

/* The steps of an evaluation are those nodes of the graph that it has more with preprocessing. The
 * source is resized if its size is another, and the result cropped, resized again or kept. */
START_TEST(test_preprocessing_has_the_steps_of_the_evaluation)
{
    enum { HEIGHT = 12, WIDTH = 16 };
    static const struct {
        int32_t evaluation;
        uint32_t source[2], resize[2];
        size_t resizes, slices;
    } cases[] = {
        {SVIT_EVALUATE_KEEP, {14, 14}, {HEIGHT, WIDTH}, 1, 0},
        {SVIT_EVALUATE_KEEP, {HEIGHT, WIDTH}, {HEIGHT, WIDTH}, 0, 0},
        {SVIT_EVALUATE_CROP, {14, 14}, {14, 18}, 1, 1},
        {SVIT_EVALUATE_CROP, {14, 18}, {14, 18}, 0, 1},
        {SVIT_EVALUATE_CROP, {14, 17}, {14, 18}, 1, 1},
        {SVIT_EVALUATE_CROP, {14, 14}, {HEIGHT, 18}, 1, 1},
        {SVIT_EVALUATE_CROP, {14, 14}, {14, WIDTH}, 1, 1},
        {SVIT_EVALUATE_CROP, {14, 14}, {HEIGHT, WIDTH}, 1, 0},
        {SVIT_EVALUATE_CROP_FLOOR, {14, 18}, {14, 18}, 0, 1},
        {SVIT_EVALUATE_CROP_FLOOR, {14, 14}, {HEIGHT, WIDTH}, 1, 0},
        {SVIT_EVALUATE_RESIZE, {14, 14}, {14, 18}, 2, 0},
        {SVIT_EVALUATE_RESIZE, {HEIGHT, WIDTH}, {HEIGHT, WIDTH}, 0, 0},
    };
    svit_model *model = model_in(context, MIXER "}");
    svit_onnx_options options;
    ck_assert_int_eq(svit_onnx_options_init(&options, sizeof options), SVIT_OK);
    ck_assert_int_eq(svit_model_export_onnx(model, path, &options, NULL), SVIT_OK);
    onnx_contents *plain = onnx_read(path);
    options.preprocessing = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        svit_pipeline_config pipeline = pipeline_of(HEIGHT, WIDTH, 3);
        pipeline.evaluation = cases[i].evaluation;
        pipeline.source_height = cases[i].source[0];
        pipeline.source_width = cases[i].source[1];
        pipeline.resize_height = cases[i].resize[0];
        pipeline.resize_width = cases[i].resize[1];
        ck_assert_int_eq(svit_model_set_pipeline(model, &pipeline, NULL), SVIT_OK);
        ck_assert_int_eq(svit_model_export_onnx(model, path, &options, NULL), SVIT_OK);
        onnx_contents *file = onnx_read(path);
        ck_assert(onnx_is(file->input, "bytes"));
        ck_assert_msg(count_operators(file, "Resize") == cases[i].resizes, "case %zu: %zu resizes",
                      i, count_operators(file, "Resize"));
        ck_assert_msg(count_operators(file, "Slice") - count_operators(plain, "Slice") ==
                          cases[i].slices,
                      "case %zu: slices", i);
        onnx_free(file);
    }
    onnx_free(plain);
    svit_model_free(model);
}
END_TEST

START_TEST(test_options_that_are_not_accepted_are_named)
{
    svit_model *model = model_in(context, VIT "}");
    const svit_onnx_options size = {.struct_size = 4}, output = {sizeof size, 2, 0};
    const svit_onnx_options flag = {sizeof size, 0, 2}, bytes = {sizeof size, 0, 1};
    check_refused(NULL, path, NULL, SVIT_E_ARGUMENT, "model");
    check_refused(model, NULL, NULL, SVIT_E_ARGUMENT, "path");
    check_refused(model, path, &size, SVIT_E_ARGUMENT, "struct_size");
    check_refused(model, path, &output, SVIT_E_ARGUMENT, "output");
    check_refused(model, path, &flag, SVIT_E_ARGUMENT, "preprocessing");
    check_refused(model, path, &bytes, SVIT_E_STATE, "svit_model_set_pipeline");
    svit_pipeline_config grey = pipeline_of(12, 16, 1), larger = pipeline_of(12, 20, 3);
    ck_assert_int_eq(svit_model_set_pipeline(model, &grey, NULL), SVIT_OK);
    check_refused(model, path, &bytes, SVIT_E_ARGUMENT, "channels of the pipeline is 1");
    ck_assert_int_eq(svit_model_set_pipeline(model, &larger, NULL), SVIT_OK);
    check_refused(model, path, &bytes, SVIT_E_ARGUMENT, "12 x 20");
    svit_pipeline_config huge = pipeline_of(12, 16, 3);
    huge.scale = 1e60;
    for (int c = 0; c < 3; c++)
        huge.variance[c] = 1e120;
    ck_assert_int_eq(svit_model_set_pipeline(model, &huge, NULL), SVIT_OK);
    check_refused(model, path, &bytes, SVIT_E_UNSUPPORTED, "scale 1e+60");
    huge.scale = 2e36; /* is a float, and that of the byte 255 is not */
    for (int c = 0; c < 3; c++)
        huge.variance[c] = 1e20;
    ck_assert_int_eq(svit_model_set_pipeline(model, &huge, NULL), SVIT_OK);
    check_refused(model, path, &bytes, SVIT_E_UNSUPPORTED, "255 times the pipeline's scale 2e+36");
    ck_assert_int_ne(access(path, F_OK), 0);
    svit_model_free(model);
}
END_TEST

START_TEST(test_a_path_that_cannot_be_written_is_named)
{
    svit_model *model = model_in(context, MIXER "}");
    check_refused(model, "/nonexistent-folder/model.onnx", NULL, SVIT_E_IO, "nonexistent-folder");
    check_refused(model, folder, NULL, SVIT_E_IO, folder);
    svit_model_free(model);
}
END_TEST

/* The weights do not exist, since the size is checked before they are read. */
START_TEST(test_more_than_2_gib_are_refused)
{
    svit_model_config config;
    svit_model *model = NULL;
    const char *json = "{\"input_height\":8,\"input_width\":8,\"dim\":1024,\"blocks\":[0],"
                       "\"num_classes\":524288}";
    ck_assert_int_eq(svit_model_config_from_json(&config, sizeof config, json, NULL), SVIT_OK);
    ck_assert_int_eq(sv_model_open(&model, context, &config, NULL), SVIT_OK);
    check_refused(model, path, NULL, SVIT_E_UNSUPPORTED, "at most 2147483647");
    svit_model_free(model);
}
END_TEST

/* An allocator whose call number fail_at fails. */
typedef struct ledger {
    size_t calls, fail_at, live;
} ledger;

static void *ledger_allocate(void *user, size_t bytes, size_t alignment)
{
    ledger *book = user;
    void *memory = NULL;
    if (++book->calls == book->fail_at || posix_memalign(&memory, alignment, bytes) != 0)
        return NULL;
    book->live++;
    return memory;
}

static void ledger_release(void *user, void *memory, size_t bytes)
{
    (void)bytes;
    ((ledger *)user)->live--;
    free(memory);
}

static void write_old(void)
{
    FILE *file = fopen(path, "w");
    fputs("old", file);
    fclose(file);
}

static int is_old(void)
{
    size_t bytes;
    uint8_t *data = onnx_load(path, &bytes);
    int same = bytes == 3 && memcmp(data, "old", 3) == 0;
    free(data);
    return same;
}

START_TEST(test_a_failed_allocation_leaves_the_old_file)
{
    ledger book = {0, 0, 0};
    svit_context_config config;
    svit_context *counted = NULL;
    svit_context_config_init(&config, sizeof config);
    config.threads = 1;
    config.allocate = ledger_allocate;
    config.release = ledger_release;
    config.allocator_user = &book;
    ck_assert_int_eq(svit_context_create(&counted, &config, NULL), SVIT_OK);
    svit_model *model = model_in(counted, MODELS[_i]);
    svit_model_config of;
    ck_assert_int_eq(svit_model_get_config(model, &of, sizeof of, NULL), SVIT_OK);
    svit_pipeline_config pipeline = pipeline_of(of.input_height, of.input_width, 3);
    ck_assert_int_eq(svit_model_set_pipeline(model, &pipeline, NULL), SVIT_OK);
    const svit_onnx_options options = {sizeof options, 0, 1};
    const size_t live = book.live;
    svit_status status = SVIT_E_MEMORY;
    size_t failures = 0;
    write_old();
    for (; status != SVIT_OK; failures++) {
        ck_assert(is_old());
        book.calls = 0;
        book.fail_at = failures + 1;
        status = svit_model_export_onnx(model, path, &options, NULL);
        ck_assert(status == SVIT_OK || status == SVIT_E_MEMORY);
        ck_assert_uint_eq(book.live, live);
    }
    ck_assert_uint_ge(failures, 10);
    ck_assert(!is_old());
    onnx_free(onnx_read(path));
    svit_model_free(model);
    svit_context_free(counted);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("onnx");
    TCase *c = tcase_create("onnx");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_a_file_is_well_formed_and_has_each_parameter_once, 0, MODEL_COUNT);
    tcase_add_test(c, test_a_file_says_what_the_model_is);
    tcase_add_test(c, test_options_name_the_input_and_the_output);
    tcase_add_test(c, test_probabilities_are_those_of_predictors);
    tcase_add_test(c, test_preprocessing_has_the_steps_of_the_evaluation);
    tcase_add_test(c, test_options_that_are_not_accepted_are_named);
    tcase_add_test(c, test_a_path_that_cannot_be_written_is_named);
    tcase_add_test(c, test_more_than_2_gib_are_refused);
    tcase_add_loop_test(c, test_a_failed_allocation_leaves_the_old_file, 0, MODEL_COUNT);
    suite_add_tcase(s, c);
    return s;
}

TEST_MAIN(suite)
