/* Frozen parameters: their bits stay, the gradients of the others are those of a model without
 * frozen parameters, and sessions hold no memory for them. */
#include "calls.h"

#include <shiftvit/shiftvit.h>

#include <stdbool.h>
#include <string.h>

/* No dropout, so that the layers below the trained ones compute the same in both modes. */
static const char *const MODELS[] = {
    "{\"architecture\":\"vit\",\"input_height\":24,\"input_width\":24,\"patch_size\":6,\"dim\":24,"
    "\"depth\":3,\"heads\":2,\"head_dim\":12,\"mlp_dim\":40,\"num_classes\":5,\"head_units\":[],"
    "\"pool\":\"class_token\",\"layer_scale\":true,\"mlp_last_gelu\":false,\"dropout\":0,"
    "\"attention_dropout\":0,\"head_dropout\":0}",
    "{\"architecture\":\"vit\",\"input_height\":24,\"input_width\":24,\"patch_size\":6,\"dim\":12,"
    "\"depth\":3,\"heads\":2,\"head_dim\":40,\"mlp_dim\":20,\"num_classes\":5,\"head_units\":[16],"
    "\"tokenizer\":\"spt\",\"attention\":\"lsa\",\"dropout\":0,\"attention_dropout\":0,"
    "\"head_dropout\":0}",
    "{\"architecture\":\"shiftvit\",\"input_height\":24,\"input_width\":24,\"dim\":24,"
    "\"blocks\":[1,2,1],\"num_classes\":5,\"num_div\":6,\"dropout\":0,\"drop_path\":0}",
    "{\"architecture\":\"shiftvit\",\"input_height\":24,\"input_width\":24,\"dim\":24,"
    "\"blocks\":[1,2],\"num_classes\":5,\"num_div\":6,\"dropout\":0,\"drop_path\":0,"
    "\"mixer\":\"depthwise\",\"norm\":\"group\",\"final_norm\":true,\"stem\":\"conv\"}",
    "{\"architecture\":\"mixer\",\"input_height\":24,\"input_width\":24,\"patch_size\":6,"
    "\"dim\":20,\"depth\":2,\"token_mlp_dim\":10,\"mlp_dim\":30,\"num_classes\":5,\"dropout\":0,"
    "\"drop_path\":0}"};
enum { MODEL_COUNT = sizeof MODELS / sizeof *MODELS, N = 3, CLASSES = 5, PIXELS = 24 * 24 * 3 };

/* What stays trainable when everything else is frozen; some match nothing in some models. */
static const char *const KEPT[] = {
    "head*", "*.2.*",     "*norm*",       "*.1.*fc1*", "layers.1.downsample*",
    "*bias", "pos_embed", "patch_embed*", "norm*"};
enum { KEPT_COUNT = sizeof KEPT / sizeof *KEPT };

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

/* Random parameters all over, since zeros and LayerScale of 1e-5 would hide errors. */
static void open_fixture(fixture *f, const char *json)
{
    svit_model_config config;
    err.struct_size = sizeof err;
    OK(svit_context_create(&f->context, NULL, &err));
    OK(svit_model_config_from_json(&config, sizeof config, json, &err));
    OK(svit_model_create(&f->model, f->context, &config, 7, &err));
    for (size_t i = 0; i < svit_model_parameter_count(f->model); i++) {
        const char *name = svit_model_parameter_name(f->model, i);
        int64_t shape[8];
        size_t rank, elements = 1;
        OK(svit_model_parameter_shape(f->model, name, shape, &rank, &err));
        for (size_t r = 0; r < rank; r++)
            elements *= (size_t)shape[r];
        float *values = malloc(elements * sizeof *values);
        OK(svit_model_get_parameter(f->model, name, values, elements, &err));
        if (rank < 2)
            fill(values, elements, (uint32_t)i);
        if (strstr(name, "norm") && strstr(name, "weight"))
            for (size_t k = 0; k < elements; k++)
                values[k] += 1;
        if (strstr(name, "tau"))
            values[0] = 5;
        OK(svit_model_set_parameter(f->model, name, values, elements, &err));
        free(values);
    }
    fill(f->images, N * PIXELS, 1);
    fill(f->dlogits, N * CLASSES, 2);
}

static void close_fixture(fixture *f)
{
    svit_model_free(f->model);
    svit_context_free(f->context);
}

static svit_session *open_session(fixture *f, int32_t memory)
{
    svit_session *session;
    svit_session_config config;
    svit_session_config_init(&config, sizeof config);
    config.max_batch = N;
    config.mode = SVIT_MODE_TRAIN;
    config.memory = memory;
    OK(svit_session_create(&session, f->model, &config, &err));
    return session;
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

static void pass(fixture *f, svit_session *session, float *logits)
{
    OK(svit_forward(session, f->images, N, logits, &err));
    OK(svit_backward(session, f->dlogits, N, &err));
}

/* Keeps what matches trainable. Returns false if nothing does. */
static bool freeze_all_but(fixture *f, const char *kept)
{
    OK(svit_model_set_trainable(f->model, "*", 0, &err));
    return svit_model_set_trainable(f->model, kept, 1, &err) == SVIT_OK;
}

/* Compares the gradients of all trainable parameters with those of `all`, which trains all. The
 * sums may differ in their last bits where dx takes another path. */
static size_t compare(fixture *f, const svit_session *all, const svit_session *some)
{
    size_t compared = 0;
    for (size_t i = 0; i < svit_model_parameter_count(f->model); i++) {
        const char *name = svit_model_parameter_name(f->model, i);
        const size_t elements = elements_of(f->model, name);
        float *a = malloc(elements * sizeof *a), *b = malloc(elements * sizeof *b);
        int32_t trainable;
        OK(svit_model_get_trainable(f->model, name, &trainable, &err));
        if (!trainable) {
            FAILS(SVIT_E_STATE, "is frozen",
                  svit_session_get_gradient(some, name, b, elements, &err));
        } else {
            OK(svit_session_get_gradient(all, name, a, elements, &err));
            OK(svit_session_get_gradient(some, name, b, elements, &err));
            ck_assert_msg(memcmp(a, b, elements * sizeof *a) == 0, "%s", name);
            compared++;
        }
        free(a);
        free(b);
    }
    return compared;
}

/* The gradients of the trainable parameters are those of a session that trains all, bit for bit.
 * That session must belong to a second model, since freezing is a property of the model. */
START_TEST(test_gradients_do_not_depend_on_what_is_frozen)
{
    fixture whole, some;
    const char *kept = KEPT[_i % KEPT_COUNT];
    const int32_t memory = _i / KEPT_COUNT % 2 ? SVIT_MEMORY_RECOMPUTE_BLOCKS : SVIT_MEMORY_STORE;
    const char *json = MODELS[_i / KEPT_COUNT / 2];
    open_fixture(&whole, json);
    open_fixture(&some, json);
    if (freeze_all_but(&some, kept)) {
        svit_session *a = open_session(&whole, memory), *b = open_session(&some, memory);
        float wanted[N * CLASSES], got[N * CLASSES];
        pass(&whole, a, wanted);
        pass(&some, b, got);
        for (size_t i = 0; i < N * CLASSES; i++)
            ck_assert_float_eq_tol(got[i], wanted[i], 1e-5f);
        ck_assert_uint_le(svit_session_memory(b), svit_session_memory(a));
        ck_assert_uint_ge(compare(&some, a, b), 1);
        svit_session_free(a);
        svit_session_free(b);
    }
    close_fixture(&whole);
    close_fixture(&some);
}
END_TEST

static void copy_weights(const svit_model *model, float *out)
{
    for (size_t i = 0; i < svit_model_parameter_count(model); i++) {
        const char *name = svit_model_parameter_name(model, i);
        size_t elements = elements_of(model, name);
        OK(svit_model_get_parameter(model, name, out, elements, &err));
        out += elements;
    }
}

/* Steps with decay and momentum leave frozen parameters bit for bit, and change all others. */
START_TEST(test_steps_leave_frozen_parameters_alone)
{
    fixture f;
    float logits[N * CLASSES];
    open_fixture(&f, MODELS[_i]);
    ck_assert(freeze_all_but(&f, "head*"));
    const size_t elements = (size_t)svit_model_parameter_elements(f.model);
    float *before = malloc(elements * sizeof *before), *after = malloc(elements * sizeof *after);
    copy_weights(f.model, before);
    svit_session *session = open_session(&f, SVIT_MEMORY_STORE);
    svit_optimizer_config config;
    svit_optimizer *optimizer;
    svit_optimizer_config_init(&config, sizeof config);
    config.weight_decay = 0.1;
    config.ema = SVIT_EMA_PLAIN;
    OK(svit_optimizer_create(&optimizer, f.model, &config, &err));
    for (int step = 0; step < 3; step++) {
        pass(&f, session, logits);
        OK(svit_step(optimizer, session, &err));
    }
    copy_weights(f.model, after);
    const float *a = before, *b = after;
    for (size_t i = 0; i < svit_model_parameter_count(f.model); i++) {
        const char *name = svit_model_parameter_name(f.model, i);
        const size_t count = elements_of(f.model, name);
        const bool is_head = strncmp(name, "head", 4) == 0;
        ck_assert_msg((memcmp(a, b, count * sizeof *a) != 0) == is_head, "%s", name);
        a += count;
        b += count;
    }
    svit_optimizer_free(optimizer);
    svit_session_free(session);
    free(before);
    free(after);
    close_fixture(&f);
}
END_TEST

/* Every kind of slot: two of AdamW, one of Lion, matrices of Muon, averages and slow weights. */
static const struct {
    int32_t kind, ema;
    uint32_t lookahead;
} OPTIMIZERS[] = {{SVIT_OPTIMIZER_ADAMW, SVIT_EMA_PLAIN, 2},
                  {SVIT_OPTIMIZER_SGD, SVIT_EMA_KERAS, 0},
                  {SVIT_OPTIMIZER_MUON, SVIT_EMA_NONE, 3},
                  {SVIT_OPTIMIZER_LION, SVIT_EMA_SWA, 0}};
enum { OPTIMIZER_COUNT = sizeof OPTIMIZERS / sizeof *OPTIMIZERS };

/* Trains five steps and writes the weights, and behind them their average. */
static void train(fixture *f, const svit_optimizer_config *config, float *out)
{
    float logits[N * CLASSES];
    svit_session *session = open_session(f, SVIT_MEMORY_STORE);
    svit_optimizer *optimizer;
    OK(svit_optimizer_create(&optimizer, f->model, config, &err));
    for (int step = 0; step < 5; step++) {
        pass(f, session, logits);
        OK(svit_step(optimizer, session, &err));
    }
    copy_weights(f->model, out);
    if (config->ema != SVIT_EMA_NONE)
        OK(svit_optimizer_swap_ema(optimizer, &err));
    copy_weights(f->model, out + svit_model_parameter_elements(f->model));
    svit_optimizer_free(optimizer);
    svit_session_free(session);
}

/* An optimiser whose groups freeze parameters has slots for all of them, one of a model with frozen
 * parameters has not. Both train to the same bits. */
START_TEST(test_missing_slots_change_no_bit)
{
    fixture by_model, by_group;
    const char *kept = KEPT[_i % KEPT_COUNT];
    const int kind = _i / KEPT_COUNT % OPTIMIZER_COUNT;
    const char *json = MODELS[_i / KEPT_COUNT / OPTIMIZER_COUNT];
    open_fixture(&by_model, json);
    open_fixture(&by_group, json);
    if (freeze_all_but(&by_model, kept)) {
        svit_optimizer_config config;
        svit_optimizer_config_init(&config, sizeof config);
        config.kind = OPTIMIZERS[kind].kind;
        config.ema = OPTIMIZERS[kind].ema;
        config.lookahead = OPTIMIZERS[kind].lookahead;
        config.ema_momentum = config.momentum = 0.9;
        config.total_steps = 8;
        config.clip_norm = 0.5;
        config.groups[0] = (svit_parameter_group){"*", 1, -1, 1, SVIT_RULE_AUTO};
        config.group_count = 1;
        const size_t elements = 2 * (size_t)svit_model_parameter_elements(by_model.model);
        float *a = malloc(elements * sizeof *a), *b = malloc(elements * sizeof *b);
        train(&by_model, &config, a);
        config.groups[0].trainable = 0;
        config.groups[1] = (svit_parameter_group){"", 1, -1, 1, SVIT_RULE_AUTO};
        strcpy(config.groups[1].pattern, kept);
        config.group_count = 2;
        train(&by_group, &config, b);
        ck_assert_mem_eq(a, b, elements * sizeof *a);
        free(a);
        free(b);
    }
    close_fixture(&by_model);
    close_fixture(&by_group);
}
END_TEST

static void *count_allocate(void *user, size_t bytes, size_t alignment)
{
    *(size_t *)user += bytes;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void count_release(void *user, void *memory, size_t bytes)
{
    *(size_t *)user -= bytes;
    free(memory);
}

/* Bytes of an optimiser with two slots, average and slow weights, but for its chunks. */
static size_t optimizer_bytes(svit_model *model, const size_t *out)
{
    const size_t before = *out;
    svit_optimizer_config config;
    svit_optimizer *optimizer;
    svit_optimizer_config_init(&config, sizeof config);
    config.ema = SVIT_EMA_PLAIN;
    config.lookahead = 2;
    OK(svit_optimizer_create(&optimizer, model, &config, &err));
    const size_t bytes = *out - before;
    svit_optimizer_free(optimizer);
    ck_assert_uint_eq(*out, before);
    return bytes;
}

START_TEST(test_an_optimiser_has_slots_for_trained_parameters_alone)
{
    size_t out = 0;
    svit_context *context;
    svit_context_config config;
    svit_model_config model_config;
    svit_model *model;
    err.struct_size = sizeof err;
    svit_context_config_init(&config, sizeof config);
    config.allocate = count_allocate;
    config.release = count_release;
    config.allocator_user = &out;
    OK(svit_context_create(&context, &config, &err));
    OK(svit_model_config_from_json(&model_config, sizeof model_config, MODELS[0], &err));
    OK(svit_model_create(&model, context, &model_config, 7, &err));
    const size_t slots = 4 * sizeof(float);
    const size_t all = optimizer_bytes(model, &out),
                 fixed = all - slots * (size_t)svit_model_parameter_elements(model);
    OK(svit_model_set_trainable(model, "*", 0, &err));
    ck_assert_uint_le(optimizer_bytes(model, &out), fixed + 64);
    OK(svit_model_set_trainable(model, "norm.weight", 1, &err));
    OK(svit_model_set_trainable(model, "head*.bias", 1, &err));
    const size_t wanted = fixed + slots * (24 + CLASSES), got = optimizer_bytes(model, &out);
    ck_assert_uint_le(got, wanted + 256); /* chunks more than one */
    ck_assert_uint_ge(got, wanted);
    svit_model_free(model);
    svit_context_free(context);
}
END_TEST

START_TEST(test_stale_sessions_and_optimisers_are_refused)
{
    fixture f;
    float logits[N * CLASSES];
    int32_t trainable;
    open_fixture(&f, MODELS[0]);
    svit_session *session = open_session(&f, SVIT_MEMORY_STORE);
    svit_optimizer *optimizer, *late;
    OK(svit_optimizer_create(&optimizer, f.model, NULL, &err));
    FAILS(SVIT_E_ARGUMENT, "matches no parameter",
          svit_model_set_trainable(f.model, "nothing*", 0, &err));
    FAILS(SVIT_E_ARGUMENT, "trainable is 2", svit_model_set_trainable(f.model, "*", 2, &err));
    FAILS(SVIT_E_ARGUMENT, "no parameter 'none'",
          svit_model_get_trainable(f.model, "none", &trainable, &err));
    pass(&f, session, logits);
    OK(svit_model_set_trainable(f.model, "blocks.0.*", 0, &err));
    FAILS(SVIT_E_STATE, "session was", svit_step(optimizer, session, &err));
    FAILS(SVIT_E_STATE, "session was", svit_forward(session, f.images, N, logits, &err));
    svit_session_free(session);
    session = open_session(&f, SVIT_MEMORY_STORE);
    pass(&f, session, logits);
    FAILS(SVIT_E_STATE, "optimizer was", svit_step(optimizer, session, &err));
    OK(svit_optimizer_create(&late, f.model, NULL, &err));
    FAILS(SVIT_E_STATE, "is frozen in the model",
          svit_optimizer_set_parameter_f64(late, "blocks.0.norm1.bias", "trainable", 1, &err));
    OK(svit_step(late, session, &err));
    OK(svit_model_set_trainable(f.model, "*", 0, &err));
    svit_session_config config;
    svit_session *none = NULL;
    svit_session_config_init(&config, sizeof config);
    config.mode = SVIT_MODE_TRAIN;
    FAILS(SVIT_E_STATE, "every parameter", svit_session_create(&none, f.model, &config, &err));
    svit_optimizer_free(optimizer);
    svit_optimizer_free(late);
    svit_session_free(session);
    close_fixture(&f);
}
END_TEST

static Suite *trainable_suite(void)
{
    Suite *suite = suite_create("trainable parameters");
    TCase *all = tcase_create("trainable");
    add_cases(all, test_gradients_do_not_depend_on_what_is_frozen, MODEL_COUNT * KEPT_COUNT * 2);
    tcase_add_loop_test(all, test_steps_leave_frozen_parameters_alone, 0, MODEL_COUNT);
    add_cases(all, test_missing_slots_change_no_bit, MODEL_COUNT * KEPT_COUNT * OPTIMIZER_COUNT);
    tcase_add_test(all, test_an_optimiser_has_slots_for_trained_parameters_alone);
    tcase_add_test(all, test_stale_sessions_and_optimisers_are_refused);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(trainable_suite)
