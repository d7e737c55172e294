/* Sessions that begin behind a layer: their logits, gradients and steps are those of a whole
 * session whose layers below are frozen. */
#include "calls.h"

#include <shiftvit/shiftvit.h>

#include <stdbool.h>
#include <string.h>

#define SIZE "\"input_height\":24,\"input_width\":24,\"num_classes\":5,"

/* Both orders of class token and norm, hidden layers of the head, dropout behind the layer, a norm
 * before the blocks, tokens read one after the other, and fused layers. */
static const char *const MODELS[] = {
    "{\"architecture\":\"vit\"," SIZE "\"patch_size\":6,\"dim\":24,\"depth\":3,\"heads\":2,"
    "\"head_dim\":12,\"mlp_dim\":40,\"head_units\":[],\"pool\":\"class_token\",\"layer_scale\":"
    "true,"
    "\"mlp_last_gelu\":false,\"pre_norm\":true,\"dropout\":0.2,\"attention_dropout\":0.1,\"head_"
    "dropout\":0}",
    "{\"architecture\":\"vit\"," SIZE "\"patch_size\":6,\"dim\":12,\"depth\":2,\"heads\":2,"
    "\"head_dim\":40,\"mlp_dim\":20,\"head_units\":[16],\"tokenizer\":\"spt\",\"attention\":"
    "\"lsa\","
    "\"head_dropout\":0.3}",
    "{\"architecture\":\"shiftvit\"," SIZE "\"dim\":24,\"blocks\":[1,2,1],\"num_div\":6,"
    "\"drop_path\":0.2}",
    "{\"architecture\":\"shiftvit\"," SIZE "\"dim\":24,\"blocks\":[1,2],\"num_div\":6,"
    "\"mixer\":\"depthwise\",\"norm\":\"group\",\"final_norm\":true,\"stem\":\"conv\"}",
    "{\"architecture\":\"mixer\"," SIZE "\"patch_size\":6,\"dim\":20,\"depth\":2,"
    "\"token_mlp_dim\":10,\"mlp_dim\":30}"};
enum { MODEL_COUNT = sizeof MODELS / sizeof *MODELS, N = 3, CLASSES = 5, PIXELS = 24 * 24 * 3 };
enum { MEMORY_MODES = 3 };

typedef struct fixture {
    svit_context *context;
    svit_model *model;
    float images[N * PIXELS], dlogits[N * CLASSES];
} fixture;

static void fill(float *values, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525 + 1013904223;
        values[i] = (float)(seed >> 8) / (1 << 24) - 0.5f;
    }
}

static size_t elements_of(const svit_model *model, const char *name)
{
    int64_t shape[8];
    size_t rank, elements = 1;
    OK(svit_model_parameter_shape(model, name, shape, &rank, &err));
    for (size_t r = 0; r < rank; r++)
        elements *= (size_t)shape[r];
    return elements;
}

/* Random biases, norms and LayerScale, since zeros and factors of 1e-5 would hide errors. */
static void set_random(svit_model *model, const char *name, uint32_t seed)
{
    const size_t elements = elements_of(model, name);
    float *values = malloc(elements * sizeof *values);
    if (strstr(name, "bias") || strstr(name, "norm") || strstr(name, "ls")) {
        fill(values, elements, seed);
        for (size_t i = 0; i < elements; i++)
            values[i] += strstr(name, "norm") && strstr(name, "weight") ? 1 : 0;
        OK(svit_model_set_parameter(model, name, values, elements, &err));
    }
    free(values);
}

static void open_fixture(fixture *f, const char *json)
{
    svit_model_config config;
    err.struct_size = sizeof err;
    OK(svit_context_create(&f->context, NULL, &err));
    OK(svit_model_config_from_json(&config, sizeof config, json, &err));
    OK(svit_model_create(&f->model, f->context, &config, 7, &err));
    for (size_t i = 0; i < svit_model_parameter_count(f->model); i++)
        set_random(f->model, svit_model_parameter_name(f->model, i), (uint32_t)i);
    fill(f->images, N * PIXELS, 1);
    fill(f->dlogits, N * CLASSES, 2);
}

static void close_fixture(fixture *f)
{
    svit_model_free(f->model);
    svit_context_free(f->context);
}

static svit_session_config plan_of(int32_t mode, int32_t memory, bool features, const char *layer)
{
    svit_session_config config;
    OK(svit_session_config_init(&config, sizeof config));
    config.max_batch = N;
    config.mode = mode;
    config.memory = memory;
    config.features = features;
    snprintf(config.input_layer, sizeof config.input_layer, "%s", layer);
    return config;
}

static svit_session *open_session(fixture *f, int32_t mode, int32_t memory, bool features,
                                  const char *layer)
{
    svit_session *session = NULL;
    const svit_session_config config = plan_of(mode, memory, features, layer);
    OK(svit_session_create(&session, f->model, &config, &err));
    return session;
}

/* Copies the name of a layer of the model; returns false past the last one. */
static bool layer_at(fixture *f, size_t index, char name[32])
{
    svit_session *session = open_session(f, SVIT_MODE_INFER, 0, true, "");
    const char *found = svit_session_layer_name(session, index);
    if (found)
        snprintf(name, 32, "%s", found);
    svit_session_free(session);
    return found != NULL;
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Whether the parameter belongs to a layer that ends with `layer` at the latest, by the names of
 * the models' files. */
static bool is_below(const char *name, const char *layer)
{
    unsigned stage, block, at_stage, at_block;
    const bool is_patch = starts_with(name, "patch_embed") || starts_with(name, "stem.") ||
                          starts_with(name, "patch_norm");
    const bool is_token = starts_with(name, "pos_embed") || starts_with(name, "cls_token") ||
                          starts_with(name, "norm_pre");
    if (strcmp(layer, "features") == 0)
        return !starts_with(name, "head");
    if (is_patch || strcmp(layer, "patch_embed") == 0)
        return is_patch;
    if (is_token || strcmp(layer, "tokens") == 0)
        return is_token;
    if (sscanf(layer, "blocks.%u", &at_block) == 1)
        return sscanf(name, "blocks.%u.", &block) == 1 && block <= at_block;
    ck_assert_int_eq(sscanf(layer, "layers.%u.blocks.%u", &at_stage, &at_block), 2);
    if (sscanf(name, "layers.%u.blocks.%u.", &stage, &block) == 2)
        return stage < at_stage || (stage == at_stage && block <= at_block);
    return sscanf(name, "layers.%u.downsample", &stage) == 1 && stage < at_stage;
}

static void freeze_below(fixture *f, const char *layer)
{
    for (size_t i = 0; i < svit_model_parameter_count(f->model); i++) {
        const char *name = svit_model_parameter_name(f->model, i);
        if (is_below(name, layer))
            OK(svit_model_set_trainable(f->model, name, 0, &err));
    }
}

/* The output of the layer by `whole`, a session from images. The caller frees it. NULL: the session
 * fuses the layer with a later one. */
static float *features_of(fixture *f, svit_session *whole, const char *layer)
{
    size_t tokens, channels;
    OK(svit_session_layer_shape(whole, layer, &tokens, &channels, &err));
    const size_t elements = N * tokens * channels;
    float *out = malloc(elements * sizeof *out);
    svit_status status = svit_forward_features(whole, f->images, N, layer, out, elements, &err);
    if (status == SVIT_OK)
        return out;
    ck_assert_int_eq(status, SVIT_E_STATE);
    free(out);
    return NULL;
}

/* A session from images that reaches the layer: it fuses none if it must. */
static svit_session *open_whole(fixture *f, int32_t mode, int32_t memory, const char *layer)
{
    svit_session *whole = open_session(f, mode, memory, false, "");
    float *features = features_of(f, whole, layer);
    if (!features) {
        svit_session_free(whole);
        return open_session(f, mode, memory, true, "");
    }
    free(features);
    return whole;
}

/* Compares the gradients of the parameters behind the layer; those below have none. */
static void compare_gradients(fixture *f, const svit_session *whole, const svit_session *upper,
                              const char *layer)
{
    size_t below = 0, behind = 0;
    for (size_t i = 0; i < svit_model_parameter_count(f->model); i++) {
        const char *name = svit_model_parameter_name(f->model, i);
        const size_t elements = elements_of(f->model, name);
        float *a = malloc(elements * sizeof *a), *b = malloc(elements * sizeof *b);
        if (is_below(name, layer)) {
            FAILS(SVIT_E_STATE, "is not behind the input_layer",
                  svit_session_get_gradient(upper, name, b, elements, &err));
            FAILS(SVIT_E_STATE, "is not behind the input_layer",
                  svit_session_set_gradient((svit_session *)upper, name, b, elements, &err));
            below++;
        } else {
            OK(svit_session_get_gradient(whole, name, a, elements, &err));
            OK(svit_session_get_gradient(upper, name, b, elements, &err));
            ck_assert_msg(memcmp(a, b, elements * sizeof *a) == 0, "%s behind %s", name, layer);
            behind++;
        }
        free(a);
        free(b);
    }
    ck_assert_uint_ge(below, 1);
    ck_assert_uint_ge(behind, 1);
}

static void check_training(size_t index, const char *layer, int32_t memory)
{
    fixture frozen, free_model;
    float wanted[N * CLASSES], got[N * CLASSES];
    open_fixture(&frozen, MODELS[index]);
    open_fixture(&free_model, MODELS[index]);
    freeze_below(&frozen, layer);
    svit_session *whole = open_whole(&frozen, SVIT_MODE_TRAIN, memory, layer);
    svit_session *upper = open_session(&free_model, SVIT_MODE_TRAIN, memory, false, layer);
    float *features = features_of(&frozen, whole, layer);
    ck_assert_uint_lt(svit_session_memory(upper), svit_session_memory(whole));
    for (int pass = 0; pass < 2; pass++) {
        OK(svit_forward(whole, frozen.images, N, wanted, &err));
        OK(svit_forward(upper, features, N, got, &err));
        ck_assert_mem_eq(got, wanted, sizeof got);
        memset(features, 0, N * svit_session_input_size(upper) * sizeof *features);
        OK(svit_backward(whole, frozen.dlogits, N, &err));
        OK(svit_backward(upper, free_model.dlogits, N, &err));
        compare_gradients(&free_model, whole, upper, layer);
        free(features);
        features = features_of(&frozen, whole, layer);
    }
    free(features);
    svit_session_free(whole);
    svit_session_free(upper);
    close_fixture(&frozen);
    close_fixture(&free_model);
}

/* Twice, so that gradients add up and dropout masks differ; the caller's features are cleared
 * before the backward. */
START_TEST(test_training_has_the_bits_of_a_session_with_frozen_layers)
{
    fixture f;
    char layer[32];
    open_fixture(&f, MODELS[_i]);
    size_t i = 0;
    for (; layer_at(&f, i, layer); i++)
        for (int32_t memory = 0; memory < MEMORY_MODES; memory++)
            check_training((size_t)_i, layer, memory);
    ck_assert_uint_ge(i, 4);
    close_fixture(&f);
}
END_TEST

/* Compares the later features that both sessions reach, and adds how many they are to *compared;
 * returns how many layers there are. */
static size_t compare_features(fixture *f, svit_session *whole, svit_session *upper,
                               const float *input, size_t *compared)
{
    size_t count = 0;
    const char *name;
    for (; (name = svit_session_layer_name(upper, count)); count++) {
        size_t tokens, channels;
        OK(svit_session_layer_shape(upper, name, &tokens, &channels, &err));
        const size_t elements = N * tokens * channels;
        float *a = malloc(elements * sizeof *a), *b = malloc(elements * sizeof *b);
        const svit_status status =
            svit_forward_features(whole, f->images, N, name, a, elements, &err);
        if (status != SVIT_E_STATE) {
            ck_assert_msg(status == SVIT_OK, "%s", err.message);
            ++*compared;
            OK(svit_forward_features(upper, input, N, name, b, elements, &err));
            ck_assert_msg(memcmp(a, b, elements * sizeof *a) == 0, "%s", name);
        }
        free(a);
        free(b);
    }
    return count;
}

START_TEST(test_inference_has_the_bits_of_a_whole_session)
{
    fixture f;
    char layer[32];
    float wanted[N * CLASSES], got[N * CLASSES];
    uint64_t needed, last = UINT64_MAX;
    size_t compared = 0;
    open_fixture(&f, MODELS[_i]);
    for (size_t i = 0; layer_at(&f, i, layer); i++) {
        const svit_session_config plan = plan_of(SVIT_MODE_INFER, 0, false, layer);
        svit_session *upper = open_session(&f, SVIT_MODE_INFER, 0, false, layer);
        svit_session *whole = open_whole(&f, SVIT_MODE_INFER, 0, layer);
        float *features = features_of(&f, whole, layer);
        size_t tokens, channels;
        OK(svit_session_layer_shape(whole, layer, &tokens, &channels, &err));
        ck_assert_uint_eq(svit_session_input_size(upper), tokens * channels);
        ck_assert_uint_eq(svit_session_input_size(whole), PIXELS);
        OK(svit_forward(whole, f.images, N, wanted, &err));
        OK(svit_forward(upper, features, N, got, &err));
        ck_assert_mem_eq(got, wanted, sizeof got);
        size_t later = compare_features(&f, whole, upper, features, &compared);
        ck_assert_ptr_null(svit_session_layer_name(whole, i + 1 + later));
        OK(svit_session_memory_needed(&needed, f.model, &plan, &err));
        ck_assert_uint_eq(svit_session_memory(upper), needed);
        ck_assert_uint_le(needed, last);
        last = needed;
        free(features);
        svit_session_free(upper);
        svit_session_free(whole);
    }
    ck_assert_uint_gt(compared, 0);
    close_fixture(&f);
}
END_TEST

/* Sessions that begin at different layers never share packed weights by mistake. */
START_TEST(test_sessions_of_all_layers_live_together)
{
    enum { MOST = 40 };
    fixture f;
    char layer[32];
    svit_session *open[MOST];
    size_t count = 0;
    open_fixture(&f, MODELS[_i]);
    svit_session *whole = open_session(&f, SVIT_MODE_INFER, 0, true, "");
    for (size_t i = 0; layer_at(&f, i, layer); i++)
        for (int features = 0; features < 2; features++) {
            ck_assert_uint_lt(count, MOST);
            open[count] = open_session(&f, SVIT_MODE_INFER, 0, features, layer);
            float *input = features_of(&f, whole, layer), got[N * CLASSES], wanted[N * CLASSES];
            OK(svit_forward(open[count++], input, N, got, &err));
            OK(svit_forward(whole, f.images, N, wanted, &err));
            for (size_t k = 0; k < N * CLASSES; k++)
                ck_assert_float_eq_tol(got[k], wanted[k], 1e-5f);
            free(input);
        }
    while (count > 0)
        svit_session_free(open[--count]);
    svit_session_free(whole);
    close_fixture(&f);
}
END_TEST

/* Copies all parameters of a model, in the order of their list. The caller frees them. */
static float *weights_of(const svit_model *model)
{
    float *all = malloc(svit_model_parameter_elements(model) * sizeof *all), *out = all;
    for (size_t i = 0; i < svit_model_parameter_count(model); i++) {
        const char *name = svit_model_parameter_name(model, i);
        const size_t elements = elements_of(model, name);
        OK(svit_model_get_parameter(model, name, out, elements, &err));
        out += elements;
    }
    return all;
}

/* Decay, clipping, an average and slow weights, which all reach further than the gradients. */
static const char *const OPTIMIZERS[] = {
    "{\"weight_decay\":0.1,\"clip_norm\":0.01,\"ema\":\"plain\",\"ema_momentum\":0.3}",
    "{\"optimizer\":\"sgd\",\"momentum\":0.9,\"weight_decay\":0.1,\"lookahead\":2}",
    ("{\"optimizer\":\"muon\",\"weight_decay\":0.1,\"groups\":[{\"pattern\":\"*bias\","
     "\"lr_scale\":2}]}")};
enum { OPTIMIZER_COUNT = sizeof OPTIMIZERS / sizeof *OPTIMIZERS };

static void train(fixture *f, const char *json, svit_session *session, const float *input)
{
    float logits[N * CLASSES];
    svit_optimizer_config config;
    svit_optimizer *optimizer;
    OK(svit_optimizer_config_from_json(&config, sizeof config, json, &err));
    OK(svit_optimizer_create(&optimizer, f->model, &config, &err));
    for (int step = 0; step < 3; step++) {
        OK(svit_forward(session, input, N, logits, &err));
        OK(svit_backward(session, f->dlogits, N, &err));
        OK(svit_step(optimizer, session, &err));
    }
    if (config.ema != SVIT_EMA_NONE)
        OK(svit_optimizer_swap_ema(optimizer, &err));
    svit_optimizer_free(optimizer);
}

static void check_steps(size_t index, const char *layer, const char *json)
{
    fixture frozen, free_model;
    open_fixture(&frozen, MODELS[index]);
    open_fixture(&free_model, MODELS[index]);
    freeze_below(&frozen, layer);
    svit_session *whole = open_whole(&frozen, SVIT_MODE_TRAIN, 0, layer);
    svit_session *upper = open_session(&free_model, SVIT_MODE_TRAIN, 0, false, layer);
    float *input = features_of(&frozen, whole, layer), *before = weights_of(frozen.model);
    train(&frozen, json, whole, frozen.images);
    train(&free_model, json, upper, input);
    float *wanted = weights_of(frozen.model), *got = weights_of(free_model.model);
    const float *a = before, *b = got, *c = wanted;
    for (size_t i = 0; i < svit_model_parameter_count(frozen.model); i++) {
        const char *name = svit_model_parameter_name(frozen.model, i);
        const size_t elements = elements_of(frozen.model, name);
        const bool stays = memcmp(a, b, elements * sizeof *a) == 0;
        ck_assert_msg(memcmp(b, c, elements * sizeof *b) == 0, "%s behind %s", name, layer);
        ck_assert_msg(stays == is_below(name, layer), "%s behind %s", name, layer);
        a += elements;
        b += elements;
        c += elements;
    }
    free(before);
    free(wanted);
    free(got);
    free(input);
    svit_session_free(whole);
    svit_session_free(upper);
    close_fixture(&frozen);
    close_fixture(&free_model);
}

START_TEST(test_steps_leave_the_layers_below_alone)
{
    fixture f;
    char layer[32];
    open_fixture(&f, MODELS[_i / OPTIMIZER_COUNT]);
    for (size_t i = 0; layer_at(&f, i, layer); i++)
        check_steps((size_t)_i / OPTIMIZER_COUNT, layer, OPTIMIZERS[_i % OPTIMIZER_COUNT]);
    close_fixture(&f);
}
END_TEST

START_TEST(test_misuse_of_the_input_layer)
{
    fixture f;
    svit_session *none = NULL;
    svit_model_config model_config;
    float out[N * PIXELS] = {0};
    size_t heads, tokens;
    open_fixture(&f, MODELS[0]);
    svit_session_config plan = plan_of(SVIT_MODE_TRAIN, 0, false, "blocks.3");
    FAILS(SVIT_E_ARGUMENT, "input_layer is 'blocks.3'; the model has no such layer",
          svit_session_create(&none, f.model, &plan, &err));
    memset(plan.input_layer, 'x', sizeof plan.input_layer);
    FAILS(SVIT_E_ARGUMENT, "input_layer", svit_session_create(&none, f.model, &plan, &err));
    plan = plan_of(SVIT_MODE_TRAIN, 0, false, "features");
    OK(svit_model_set_trainable(f.model, "head*", 0, &err));
    FAILS(SVIT_E_STATE, "every parameter of the layers behind input_layer is frozen",
          svit_session_create(&none, f.model, &plan, &err));
    svit_session *session = open_session(&f, SVIT_MODE_INFER, 0, false, "features");
    FAILS(SVIT_E_ARGUMENT, "no such layer",
          svit_forward_features(session, out, 1, "tokens", out, 1, &err));
    FAILS(SVIT_E_UNSUPPORTED, "no layer behind input_layer has attention",
          svit_session_attention_size(session, &heads, &tokens, &err));
    ck_assert_uint_eq(svit_session_input_size(NULL), 0);
    svit_session_free(session);
    svit_model_free(f.model);
    OK(svit_model_config_from_json(&model_config, sizeof model_config, MODELS[2], &err));
    model_config.classifier = 0;
    model_config.num_classes = 96;
    OK(svit_model_create(&f.model, f.context, &model_config, 1, &err));
    FAILS(SVIT_E_ARGUMENT, "'features', the last layer of the model",
          svit_session_create(&none, f.model, &plan, &err));
    ck_assert_ptr_null(none);
    close_fixture(&f);
}
END_TEST

static Suite *input_layer_suite(void)
{
    Suite *suite = suite_create("input layer");
    TCase *all = tcase_create("input layer");
    tcase_add_loop_test(all, test_training_has_the_bits_of_a_session_with_frozen_layers, 0,
                        MODEL_COUNT);
    tcase_add_loop_test(all, test_inference_has_the_bits_of_a_whole_session, 0, MODEL_COUNT);
    tcase_add_loop_test(all, test_sessions_of_all_layers_live_together, 0, MODEL_COUNT);
    tcase_add_loop_test(all, test_steps_leave_the_layers_below_alone, 0,
                        MODEL_COUNT * OPTIMIZER_COUNT);
    tcase_add_test(all, test_misuse_of_the_input_layer);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(input_layer_suite)
