/* Parameters of a model: names, shapes, initial weights, files. */
#include "fit.h"
#include "golden.h"

#include "interop/safetensors.h"

#include <math.h>

static svit_context *context;
static fit_folder folder;
static char path[128];

static void setup(void)
{
    context = fit_context(2);
    folder = fit_folder_make();
    snprintf(path, sizeof path, "%s", fit_path(&folder, "model.safetensors"));
}

static void teardown(void)
{
    svit_context_free(context);
    fit_folder_remove(&folder);
}

START_TEST(test_names_and_shapes_are_those_of_the_papers_files)
{
    static const struct {
        const char *name;
        size_t rank;
        int64_t shape[4];
    } expected[] = {
        {"patch_embed.proj.weight", 4, {8, 3, 4, 4}},
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

/* Of reference files: names, order, number and, where the file has them, shapes. */
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
    ck_assert_msg(rank == entry->rank, "%s has rank %zu, not %zu", name, rank, entry->rank);
    for (size_t i = 0; i < rank; i++)
        ck_assert_int_eq(shape[i], entry->shape[i]);
}

START_TEST(test_a_vits_parameters_are_those_of_the_reference)
{
    sv_safetensors *file = golden_open(references[_i].file);
    svit_model_config config;
    WORKS(svit_model_config_from_json(&config, sizeof config,
                                      sv_safetensors_metadata(file, "config"), err));
    svit_model *model = NULL;
    WORKS(svit_model_create(&model, context, &config, 1, err));
    json_t *names = json_loads(sv_safetensors_metadata(file, "param_names"), 0, NULL);
    size_t count = json_array_size(names);
    ck_assert_uint_gt(count, 30);
    ck_assert_uint_eq(svit_model_parameter_count(model), count);
    ck_assert_uint_eq(svit_model_parameter_elements(model), references[_i].parameters);
    for (size_t i = 0; i < count; i++) {
        const char *name = svit_model_parameter_name(model, i);
        ck_assert_str_eq(name, json_string_value(json_array_get(names, i)));
        check_shape(model, file, name);
    }
    json_decref(names);
    svit_model_free(model);
    sv_safetensors_close(file);
}
END_TEST

/* A ViT of 12x12 pictures, patches of 4, 6 channels, one layer of 2 heads of 5. */
static const char small[] =
    "{\"architecture\":\"vit\",\"input_height\":12,\"input_width\":12,\"num_classes\":7,"
    "\"patch_size\":4,\"dim\":6,\"depth\":1,\"heads\":2,\"head_dim\":5,\"mlp_dim\":11,"
    "\"head_units\":[]}";

/* That with other fields: what becomes of a parameter. */
static const struct {
    const char *fields, *name;
    size_t rank; /* 0: there is none */
    int64_t shape[4];
} variants[] = {
    {"{}", "pos_embed", 2, {9, 6}},
    {"{}", "cls_token", 0, {0}},
    {"{}", "patch_embed.norm.weight", 0, {0}},
    {"{}", "patch_embed.proj.weight", 2, {6, 48}},
    {"{}", "blocks.0.attn.qkv.weight", 2, {30, 6}},
    {"{}", "blocks.0.attn.qkv.bias", 1, {30}},
    {"{}", "blocks.0.attn.proj.weight", 2, {6, 10}},
    {"{}", "blocks.0.attn.tau", 0, {0}},
    {"{}", "blocks.0.mlp.fc1.weight", 2, {11, 6}},
    {"{}", "blocks.0.mlp.fc2.weight", 2, {6, 11}},
    {"{}", "norm.weight", 1, {6}},
    {"{}", "head.fc1.weight", 2, {7, 54}},
    {"{}", "head.fc2.weight", 0, {0}},
    {"{\"head_units\":[5,3]}", "head.fc2.weight", 2, {3, 5}},
    {"{\"head_units\":[5,3]}", "head.fc3.weight", 2, {7, 3}},
    {"{\"pool\":\"class_token\"}", "pos_embed", 2, {10, 6}},
    {"{\"pool\":\"class_token\"}", "cls_token", 3, {1, 1, 6}},
    {"{\"pool\":\"class_token\"}", "head.fc1.weight", 2, {7, 6}},
    {"{\"pool\":\"mean\"}", "pos_embed", 2, {9, 6}},
    {"{\"pool\":\"mean\"}", "norm.bias", 1, {6}},
    {"{\"pool\":\"mean\"}", "head.fc1.weight", 2, {7, 6}},
    {"{\"classifier\":false,\"num_classes\":54}", "head.fc1.weight", 0, {0}},
    {"{\"classifier\":false,\"num_classes\":54}", "norm.weight", 1, {6}},
    {"{\"qkv_bias\":false}", "blocks.0.attn.qkv.bias", 0, {0}},
    {"{\"tokenizer\":\"spt\"}", "patch_embed.norm.weight", 1, {240}},
    {"{\"tokenizer\":\"spt\"}", "patch_embed.proj.weight", 2, {6, 240}},
    {"{\"attention\":\"lsa\"}", "blocks.0.attn.tau", 1, {1}},
    {"{\"attention\":\"lsa\",\"temperature\":\"multiply\"}", "blocks.0.attn.tau", 1, {2}},
    {"{\"heads\":1,\"head_dim\":6}", "blocks.0.attn.proj.weight", 2, {6, 6}},
    {"{\"names\":\"paper\"}", "pos_embedding", 3, {1, 9, 6}},
    {"{\"names\":\"paper\"}", "cls_token", 0, {0}},
    {"{\"names\":\"paper\"}", "to_patch_embedding.1.weight", 2, {6, 48}},
    {"{\"names\":\"paper\"}", "to_patch_embedding.merging.1.weight", 0, {0}},
    {"{\"names\":\"paper\"}", "transformer.layers.0.0.fn.to_qkv.bias", 1, {30}},
    {"{\"names\":\"paper\"}", "transformer.layers.0.0.fn.to_out.0.weight", 2, {6, 10}},
    {"{\"names\":\"paper\"}", "mlp_head.1.weight", 2, {7, 54}},
    {"{\"names\":\"paper\",\"heads\":1}", "transformer.layers.0.0.fn.to_out.0.weight", 2, {6, 5}},
    {"{\"names\":\"paper\",\"heads\":1,\"head_dim\":6}",
     "transformer.layers.0.0.fn.to_out.0.weight",
     0,
     {0}},
    {"{\"names\":\"paper\",\"tokenizer\":\"spt\"}", "to_patch_embedding.merging.1.bias", 1, {240}},
    {"{\"names\":\"paper\",\"tokenizer\":\"spt\"}", "to_patch_embedding.1.weight", 0, {0}},
    {"{\"names\":\"paper\",\"attention\":\"lsa\"}", "transformer.layers.0.0.fn.scale", 1, {1}},
    {"{\"names\":\"paper\",\"pool\":\"class_token\"}", "pos_embedding", 3, {1, 10, 6}},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static svit_model *small_vit(const char *fields, uint64_t seed)
{
    json_t *object = json_loads(small, 0, NULL), *other = json_loads(fields, 0, NULL);
    ck_assert_int_eq(json_object_update(object, other), 0);
    char *json = json_dumps(object, 0);
    svit_model_config config;
    WORKS(svit_model_config_from_json(&config, sizeof config, json, err));
    svit_model *model = NULL;
    WORKS(svit_model_create(&model, context, &config, seed, err));
    free(json);
    json_decref(other);
    json_decref(object);
    return model;
}

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
    svit_pipeline_config pipeline;
    FAILS(svit_model_get_pipeline(model, &pipeline, sizeof pipeline, err), SVIT_E_STATE,
          "no pipeline");
    ck_assert(fit_same(model, same));
    svit_model_free(model);
    svit_model_free(same);
}
END_TEST

START_TEST(test_initial_weights_depend_on_the_seed_alone)
{
    svit_context *alone = fit_context(1);
    svit_model *a = fit_model(context, 5, 7), *b = fit_model(alone, 5, 7),
               *c = fit_model(alone, 5, 8);
    ck_assert(fit_same(a, b));
    ck_assert(!fit_same(a, c));
    svit_model_free(a);
    svit_model_free(b);
    svit_model_free(c);
    svit_context_free(alone);
}
END_TEST

/* Mean square and largest of a parameter. */
static void moments(const svit_model *model, const char *name, double *square, double *most)
{
    size_t elements = fit_elements(model, name);
    float *values = malloc(elements * sizeof *values);
    WORKS(svit_model_get_parameter(model, name, values, elements, err));
    *square = *most = 0;
    for (size_t i = 0; i < elements; i++) {
        *square += (double)values[i] * values[i] / (double)elements;
        *most = fmax(*most, fabs((double)values[i]));
    }
    free(values);
}

START_TEST(test_initial_weights_follow_their_rule)
{
    svit_model_config config;
    WORKS(svit_model_config_init(&config, sizeof config));
    config.stages = 1;
    config.blocks[0] = 1;
    svit_model *model = NULL;
    WORKS(svit_model_create(&model, context, &config, 3, err));
    double square, most;
    moments(model, "patch_embed.proj.weight", &square, &most);
    double limit = sqrt(6.0 / (48 + 1536));
    ck_assert_double_le(most, limit);
    ck_assert_double_gt(most, 0.99 * limit);
    ck_assert_double_eq_tol(square / (limit * limit / 3), 1, 0.05);
    moments(model, "layers.0.blocks.0.norm2.weight", &square, &most);
    ck_assert_double_eq_tol(square, 1, 1e-12);
    moments(model, "layers.0.blocks.0.mlp.fc1.bias", &square, &most);
    ck_assert_double_eq(most, 0);
    svit_model_free(model);

    config.init = SVIT_INIT_PAPER;
    WORKS(svit_model_create(&model, context, &config, 3, err));
    moments(model, "layers.0.blocks.0.mlp.fc1.weight", &square, &most);
    ck_assert_double_eq_tol(sqrt(square), 0.02, 0.0005);
    svit_model_free(model);
}
END_TEST

/* Weights that are drawn: `limit` is of a uniform one, 0 for a normal one of `deviation`. */
static const struct {
    const char *preset, *name;
    double limit, deviation, tolerance;
} drawn[] = {
    {"slvit-cifar100", "pos_embed", 0.05, 0, 0.02},
    {"slvit-cifar100", "patch_embed.proj.weight", 0.0996683, 0, 0.02},
    {"slvit-cifar100", "blocks.0.attn.qkv.weight", 0.1369306, 0, 0.02},
    {"slvit-cifar100", "blocks.0.attn.proj.weight", 0.1369306, 0, 0.02},
    {"slvit-cifar100", "blocks.0.mlp.fc1.weight", 0.1767767, 0, 0.03},
    {"slvit-cifar100", "head.fc1.weight", 0.0230798, 0, 0.01},
    {"slvit-paper-cifar100", "pos_embedding", 0, 1, 0.03},
    {"slvit-paper-cifar100", "cls_token", 0, 1, 0.3},
    {"slvit-paper-cifar100", "to_patch_embedding.merging.2.weight", 0, 0.0680414, 0.02},
    {"slvit-paper-cifar100", "transformer.layers.0.0.fn.to_qkv.weight", 0, 0.0510310, 0.02},
    {"slvit-paper-cifar100", "transformer.layers.0.0.fn.to_out.0.weight", 0, 0.0721688, 0.02},
    {"slvit-paper-cifar100", "mlp_head.1.weight", 0, 0.0827606, 0.03},
};

static svit_model *one_layer(const char *preset)
{
    svit_model_config config;
    WORKS(svit_model_config_preset(&config, sizeof config, preset, err));
    config.depth = 1;
    svit_model *model = NULL;
    WORKS(svit_model_create(&model, context, &config, 3, err));
    return model;
}

/* sqrt(6 / (64 (4 + 64))) and sqrt(6 / (4 (64 + 64))); the others as ever. */
START_TEST(test_attention_may_begin_as_in_earlier_keras)
{
    svit_model_config config;
    WORKS(svit_model_config_preset(&config, sizeof config, "vit-cifar100", err));
    config.init = SVIT_INIT_KERAS_3_14;
    config.depth = 1;
    svit_model *model = NULL;
    WORKS(svit_model_create(&model, context, &config, 3, err));
    const struct {
        const char *name;
        double limit;
    } wanted[] = {{"blocks.0.attn.qkv.weight", 0.0371303},
                  {"blocks.0.attn.proj.weight", 0.1082532},
                  {"blocks.0.mlp.fc1.weight", 0.1767767},
                  {"pos_embed", 0.05}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        double square, most;
        moments(model, wanted[i].name, &square, &most);
        ck_assert_double_le(most, 1.00001 * wanted[i].limit);
        ck_assert_double_gt(most, 0.99 * wanted[i].limit);
    }
    svit_model_free(model);
}
END_TEST

START_TEST(test_initial_weights_of_a_vit_follow_their_rule)
{
    svit_model *model = one_layer(drawn[_i].preset);
    double square, most, limit = drawn[_i].limit;
    moments(model, drawn[_i].name, &square, &most);
    double deviation = limit > 0 ? limit / sqrt(3) : drawn[_i].deviation;
    ck_assert_double_eq_tol(sqrt(square) / deviation, 1, drawn[_i].tolerance);
    if (limit > 0) {
        ck_assert_double_le(most, 1.00001 * limit);
        ck_assert_double_gt(most, 0.99 * limit);
    } else {
        ck_assert_double_gt(most, 2 * deviation);
    }
    svit_model_free(model);
}
END_TEST

static const struct {
    const char *preset, *name;
    double value;
} constants[] = {
    {"slvit-cifar100", "blocks.0.attn.tau", 8},
    {"slvit-cifar100", "blocks.0.attn.qkv.bias", 0},
    {"slvit-cifar100", "patch_embed.norm.weight", 1},
    {"slvit-cifar100", "norm.bias", 0},
    {"slvit-paper-cifar100", "transformer.layers.0.0.fn.scale", 0.25},
    {"slvit-paper-cifar100", "transformer.layers.0.1.fn.net.3.bias", 0},
    {"slvit-paper-cifar100", "mlp_head.0.weight", 1},
};

START_TEST(test_temperatures_norms_and_biases_begin_with_one_number)
{
    svit_model *model = one_layer(constants[_i].preset);
    size_t elements = fit_elements(model, constants[_i].name);
    float *values = malloc(elements * sizeof *values);
    WORKS(svit_model_get_parameter(model, constants[_i].name, values, elements, err));
    for (size_t i = 0; i < elements; i++)
        ck_assert_double_eq(values[i], constants[_i].value);
    free(values);
    svit_model_free(model);
}
END_TEST

START_TEST(test_a_saved_vit_loads)
{
    svit_model *model = small_vit(variants[_i].fields, 5), *back = NULL;
    WORKS(svit_model_save(model, path, err));
    WORKS(svit_model_load(&back, context, path, err));
    ck_assert(fit_same(model, back));
    svit_model_config a, b;
    WORKS(svit_model_get_config(model, &a, sizeof a, err));
    WORKS(svit_model_get_config(back, &b, sizeof b, err));
    ck_assert(fit_same_config(&a, &b));
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
    svit_model_config a, b;
    WORKS(svit_model_get_config(model, &a, sizeof a, err));
    WORKS(svit_model_get_config(back, &b, sizeof b, err));
    ck_assert(fit_same_config(&a, &b));
    svit_model_free(model);
    svit_model_free(back);
}
END_TEST

/* What a file is made of in the next test: the tiny model's tensors, changed as a case says. */
typedef struct change {
    const char *tensor; /* which is changed */
    int64_t shape[4];
    size_t rank;       /* 0: the tensor is left out */
    const char *extra; /* a tensor more */
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
    {.config = "", .status = SVIT_E_ARGUMENT, .part = "svit_model_load_as"},
    {.classes = "[\"a\",\"b\"]", .status = SVIT_E_FORMAT, .part = "array of 3"},
    {.classes = "[\"a\",\"b\",3]", .status = SVIT_E_FORMAT, .part = "class 2"},
    {.classes = "nonsense", .status = SVIT_E_FORMAT, .part = "array of 3"},
};

static void fill(float *out, const sv_safetensors_tensor *tensor, void *user)
{
    (void)user;
    for (size_t i = 0; i < tensor->elements; i++)
        out[i] = (float)i;
}

static void write_changed(const svit_model *model, const change *wanted)
{
    sv_safetensors_tensor tensors[64];
    int64_t shapes[64][8];
    size_t count = 0;
    const char *name;
    for (size_t i = 0; (name = svit_model_parameter_name(model, i)) != NULL; i++) {
        size_t rank;
        WORKS(svit_model_parameter_shape(model, name, shapes[count], &rank, err));
        if (wanted->tensor && strcmp(name, wanted->tensor) == 0) {
            if (wanted->rank == 0)
                continue;
            rank = wanted->rank;
            memcpy(shapes[count], wanted->shape, sizeof wanted->shape);
        }
        tensors[count] =
            (sv_safetensors_tensor){name, shapes[count], rank, fit_elements(model, name), NULL};
        count++;
    }
    static const int64_t three[] = {3};
    if (wanted->extra)
        tensors[count++] = (sv_safetensors_tensor){wanted->extra, three, 1, 3, NULL};
    json_t *metadata = json_object();
    char config[1024];
    svit_model_config of_model;
    WORKS(svit_model_get_config(model, &of_model, sizeof of_model, err));
    WORKS(svit_model_config_to_json(&of_model, config, sizeof config, NULL, err));
    json_object_set_new(metadata, "format_version",
                        json_string(wanted->version ? wanted->version : "1"));
    const char *text = wanted->config ? wanted->config : config;
    if (*text)
        json_object_set_new(metadata, "config", json_string(text));
    if (wanted->classes)
        json_object_set_new(metadata, "classes", json_string(wanted->classes));
    sv_allocator allocator = sv_allocator_default();
    WORKS(sv_safetensors_write(&allocator, path, metadata, tensors, count, fill, NULL, err));
    json_decref(metadata);
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
    } else {
        FAILS(svit_model_load(&back, context, path, err), wanted->status, wanted->part);
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
    WORKS(svit_model_load_as(&back, context, &config, path, err));
    svit_model_free(back);
    config.blocks[1] = 2;
    back = NULL;
    FAILS(svit_model_load_as(&back, context, &config, path, err), SVIT_E_FORMAT,
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
    FAILS(svit_model_load(&back, context, path, err), SVIT_E_ARGUMENT, "svit_model_load_as");
    svit_model_config config;
    WORKS(svit_model_get_config(model, &config, sizeof config, err));
    WORKS(svit_model_load_as(&back, context, &config, path, err));
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
    FAILS(svit_model_load_as(&back, context, &config, path, err), SVIT_E_FORMAT,
          "'pos_embedding' is [1, 10, 6]; the model has [1, 13, 6]");
    ck_assert_ptr_null(back);
    svit_model_free(model);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("parameters");
    TCase *c = tcase_create("parameters");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_names_and_shapes_are_those_of_the_papers_files);
    tcase_add_loop_test(c, test_a_vits_parameters_are_those_of_the_reference, 0,
                        sizeof references / sizeof *references);
    tcase_add_loop_test(c, test_each_field_of_a_vit_shapes_its_parameters, 0, VARIANTS);
    tcase_add_test(c, test_what_is_set_is_what_is_got);
    tcase_add_test(c, test_wrong_calls_name_the_argument_and_change_nothing);
    tcase_add_test(c, test_initial_weights_depend_on_the_seed_alone);
    tcase_add_test(c, test_initial_weights_follow_their_rule);
    tcase_add_test(c, test_attention_may_begin_as_in_earlier_keras);
    tcase_add_loop_test(c, test_initial_weights_of_a_vit_follow_their_rule, 0,
                        sizeof drawn / sizeof *drawn);
    tcase_add_loop_test(c, test_temperatures_norms_and_biases_begin_with_one_number, 0,
                        sizeof constants / sizeof *constants);
    tcase_add_loop_test(c, test_a_saved_vit_loads, 0, VARIANTS);
    tcase_add_test(c, test_a_saved_model_loads_with_all_that_it_had);
    tcase_add_loop_test(c, test_files_that_do_not_fit_are_refused_by_name, 0,
                        sizeof changes / sizeof *changes);
    tcase_add_test(c, test_a_file_without_configuration_loads_with_the_callers);
    tcase_add_test(c, test_a_file_of_the_papers_code_loads_with_the_callers_configuration);
    tcase_add_test(c, test_a_position_embedding_of_another_length_is_refused);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
