/* Sessions with check_finite: the message names the first tensor that is not finite, for every
 * parameter of every architecture, and the bits are those of sessions without. */
#include "calls.h"
#include "models/model.h"
#include "session/session.h"

#include <shiftvit/shiftvit.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define SIZE "\"input_height\":24,\"input_width\":24,\"num_classes\":5,"

static const char *const MODELS[] = {
    ("\"architecture\":\"vit\"," SIZE "\"patch_size\":6,\"dim\":24,\"depth\":2,\"heads\":2,"
     "\"head_dim\":12,\"mlp_dim\":40,\"head_units\":[],\"pool\":\"class_token\""),
    ("\"architecture\":\"vit\"," SIZE "\"patch_size\":6,\"dim\":24,\"depth\":2,\"heads\":2,"
     "\"head_dim\":12,\"mlp_dim\":40,\"head_units\":[16],\"tokenizer\":\"spt\","
     "\"attention\":\"lsa\",\"temperature\":\"multiply\""),
    ("\"architecture\":\"shiftvit\"," SIZE "\"dim\":24,\"blocks\":[1,2],\"num_div\":6,"
     "\"drop_path\":0.2"),
    ("\"architecture\":\"shiftvit\"," SIZE "\"dim\":24,\"blocks\":[1,1],\"num_div\":6,"
     "\"mixer\":\"depthwise\",\"stem\":\"conv\""),
    ("\"architecture\":\"mixer\"," SIZE "\"patch_size\":6,\"dim\":20,\"depth\":2,"
     "\"token_mlp_dim\":10,\"mlp_dim\":30")};
enum { MODEL_COUNT = sizeof MODELS / sizeof *MODELS, N = 3, CLASSES = 5, PIXELS = N * 24 * 24 * 3 };
enum { MEMORY_MODES = 3 };

typedef struct fixture {
    svit_context *context;
    svit_model *model;
    float images[PIXELS], dlogits[N * CLASSES];
} fixture;

static void fill(float *values, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525 + 1013904223;
        values[i] = (float)(seed >> 8) / (1 << 24) - 0.5f;
    }
}

static void open_fixture(fixture *f, const char *fields)
{
    char json[1024];
    svit_context_config context;
    svit_model_config config;
    err.struct_size = sizeof err;
    snprintf(json, sizeof json, "{%s}", fields);
    OK(svit_context_config_init(&context, sizeof context));
    context.threads = 2;
    OK(svit_context_create(&f->context, &context, &err));
    OK(svit_model_config_from_json(&config, sizeof config, json, &err));
    OK(svit_model_create(&f->model, f->context, &config, 7, &err));
    fill(f->images, PIXELS, 1);
    fill(f->dlogits, N * CLASSES, 2);
}

static void close_fixture(fixture *f)
{
    svit_model_free(f->model);
    svit_context_free(f->context);
}

static svit_session *open_session(fixture *f, int32_t mode, int32_t memory, bool check)
{
    svit_session *session = NULL;
    svit_session_config plan;
    OK(svit_session_config_init(&plan, sizeof plan));
    plan.max_batch = N;
    plan.mode = mode;
    plan.memory = memory;
    plan.check_finite = check;
    OK(svit_session_create(&session, f->model, &plan, &err));
    return session;
}

/* Reads a parameter, and writes it back so that sessions pack it again. */
static float *touch(fixture *f, const sv_parameter *parameter, float scale)
{
    const size_t elements = parameter->desc.elements;
    float *values = malloc(elements * sizeof *values);
    ck_assert_ptr_nonnull(values);
    OK(svit_model_get_parameter(f->model, parameter->name, values, elements, &err));
    for (size_t i = 0; i < elements; i++)
        values[i] *= scale;
    OK(svit_model_set_parameter(f->model, parameter->name, values, elements, &err));
    return values;
}

/* A forward in both modes with a NaN in one element of one parameter, which the API lets nobody
 * write. */
static void forward_with_nan(fixture *f, const sv_parameter *parameter)
{
    char wanted[160];
    snprintf(wanted, sizeof wanted, "of parameter '%s' is ", parameter->name);
    for (int32_t mode = SVIT_MODE_INFER; mode <= SVIT_MODE_TRAIN; mode++) {
        float logits[N * CLASSES];
        free(touch(f, parameter, 1));
        real *element = &f->model->weights[parameter->offset + parameter->desc.elements / 2];
        const real before = *element;
        *element = NAN;
        svit_session *session = open_session(f, mode, 0, true);
        FAILS(SVIT_E_NUMERIC, "", svit_forward(session, f->images, N, logits, &err));
        ck_assert_msg(strstr(err.message, wanted), "%s: %s", parameter->name, err.message);
        ck_assert_int_eq(strncmp(err.message, "training forward 0: ", 20) == 0, mode);
        ck_assert_uint_eq(svit_session_counter(session), 0);
        svit_session_free(session);
        *element = before;
    }
}

START_TEST(test_every_parameter_is_named)
{
    fixture f;
    open_fixture(&f, MODELS[_i]);
    ck_assert_uint_gt(f.model->parameters.count, 10);
    for (size_t i = 0; i < f.model->parameters.count; i++)
        forward_with_nan(&f, &f.model->parameters.list[i]);
    close_fixture(&f);
}
END_TEST

/* The parameter whose products overflow, and the first named output at or behind its layer. */
static const struct {
    const char *parameter, *layer;
} OVERFLOWS[MODEL_COUNT] = {{"blocks.1.mlp.fc2.weight", "up to 'blocks.1' is"},
                            {"blocks.0.mlp.fc2.weight", "up to 'blocks.0' is"},
                            {"layers.1.blocks.0.mlp.fc2.weight", "up to 'layers.1.blocks.0' is"},
                            {"layers.0.blocks.0.mlp.fc2.weight", "up to 'layers.0.blocks.0' is"},
                            {"blocks.1.mlp_channels.fc2.weight", "up to 'blocks.1' is"}};

/* Weights that are finite overflow in their layer; without the check only a logit is named. */
START_TEST(test_the_layer_that_overflows_is_named)
{
    fixture f;
    float logits[N * CLASSES];
    open_fixture(&f, MODELS[_i]);
    const sv_parameter *parameter =
        sv_parameter_find(&f.model->parameters, OVERFLOWS[_i].parameter);
    ck_assert_ptr_nonnull(parameter);
    float *values = touch(&f, parameter, 1);
    for (size_t i = 0; i < parameter->desc.elements; i++)
        values[i] = i % 2 ? 3e38f : -3e38f;
    OK(svit_model_set_parameter(f.model, parameter->name, values, parameter->desc.elements, &err));
    for (int32_t mode = SVIT_MODE_INFER; mode <= SVIT_MODE_TRAIN; mode++)
        for (int check = 0; check < 2; check++) {
            svit_session *session = open_session(&f, mode, 0, check);
            FAILS(SVIT_E_NUMERIC, "", svit_forward(session, f.images, N, logits, &err));
            ck_assert_msg(strstr(err.message, check ? OVERFLOWS[_i].layer : "has the logit"), "%s",
                          err.message);
            ck_assert(!check || strstr(err.message, "the output of layer "));
            svit_session_free(session);
        }
    free(values);
    close_fixture(&f);
}
END_TEST

/* What an input that is not finite leaves is no forward that a backward could follow. */
START_TEST(test_a_backward_does_not_follow_a_refused_input)
{
    fixture f;
    float logits[N * CLASSES];
    open_fixture(&f, MODELS[_i]);
    svit_session *session = open_session(&f, SVIT_MODE_TRAIN, 0, true);
    OK(svit_forward(session, f.images, N, logits, &err));
    const float before = f.images[5];
    f.images[5] = NAN;
    FAILS(SVIT_E_NUMERIC, "nhwc[5] is nan", svit_forward(session, f.images, N, logits, &err));
    f.images[5] = before;
    FAILS(SVIT_E_STATE, "", svit_backward(session, f.dlogits, N, &err));
    ck_assert_uint_eq(svit_session_counter(session), 1);
    svit_session_free(session);
    close_fixture(&f);
}
END_TEST

/* Gradients of logits that are finite, but whose sum over the images is not. */
START_TEST(test_the_gradient_that_overflows_is_named)
{
    fixture f;
    float logits[N * CLASSES];
    open_fixture(&f, MODELS[_i]);
    for (size_t i = 0; i < N * CLASSES; i++)
        f.dlogits[i] = 3e38f;
    svit_session *session = open_session(&f, SVIT_MODE_TRAIN, 0, true);
    OK(svit_session_set_counter(session, 6, &err));
    OK(svit_forward(session, f.images, N, logits, &err));
    FAILS(SVIT_E_NUMERIC, "", svit_backward(session, f.dlogits, N, &err));
    ck_assert_msg(strncmp(err.message, "training forward 6: element ", 28) == 0 &&
                      strstr(err.message, " of the gradient of parameter 'head.") &&
                      (strstr(err.message, "inf") || strstr(err.message, "nan")),
                  "%s", err.message);
    svit_session_free(session);
    close_fixture(&f);
}
END_TEST

/* The logits of an inference and of a training forward, and all gradients; the caller frees it. */
static float *results(fixture *f, int32_t memory, bool check, size_t *count)
{
    const size_t elements = (size_t)svit_model_parameter_elements(f->model);
    float *out = calloc(2 * N * CLASSES + elements, sizeof *out), *to = out + 2 * N * CLASSES;
    svit_session *infers = open_session(f, SVIT_MODE_INFER, memory, check);
    svit_session *trains = open_session(f, SVIT_MODE_TRAIN, memory, check);
    OK(svit_forward(infers, f->images, N, out, &err));
    OK(svit_forward(trains, f->images, N, out + N * CLASSES, &err));
    OK(svit_backward(trains, f->dlogits, N, &err));
    for (size_t i = 0; i < f->model->parameters.count; i++) {
        const sv_parameter *parameter = &f->model->parameters.list[i];
        OK(svit_session_get_gradient(trains, parameter->name, to, parameter->desc.elements, &err));
        to += parameter->desc.elements;
    }
    *count = 2 * N * CLASSES + elements;
    svit_session_free(trains);
    svit_session_free(infers);
    return out;
}

START_TEST(test_the_bits_are_those_without)
{
    fixture f;
    size_t count;
    open_fixture(&f, MODELS[_i / MEMORY_MODES]);
    float *with = results(&f, _i % MEMORY_MODES, true, &count);
    float *without = results(&f, _i % MEMORY_MODES, false, &count);
    ck_assert_mem_eq(with, without, count * sizeof *with);
    free(without);
    free(with);
    close_fixture(&f);
}
END_TEST

/* A trainer adds the epoch and the step. */
START_TEST(test_a_trainer_names_the_step)
{
    enum { COUNT = 16 };
    static const uint8_t pixels[COUNT * 24 * 24 * 3] = {200, 3, 77};
    static const int32_t labels[COUNT] = {0, 1, 2, 3, 4};
    fixture f;
    svit_dataset *data = NULL;
    svit_trainer *trainer = NULL;
    svit_trainer_config config;
    svit_optimizer_config optimizer;
    svit_pipeline_config pipeline;
    svit_trainer_event event;
    svit_status status = SVIT_OK;
    open_fixture(&f, MODELS[2]);
    OK(svit_trainer_config_init(&config, sizeof config));
    config.batch = 4;
    config.prefetch = 0;
    config.check_finite = 1;
    OK(svit_optimizer_config_init(&optimizer, sizeof optimizer));
    optimizer.kind = SVIT_OPTIMIZER_SGD;
    optimizer.learning_rate = 1e30;
    OK(svit_pipeline_config_init(&pipeline, sizeof pipeline));
    pipeline.source_height = pipeline.source_width = 24;
    pipeline.resize_height = pipeline.resize_width = 24;
    pipeline.output_height = pipeline.output_width = 24;
    OK(svit_dataset_memory(&data, f.context, pixels, labels, COUNT, 24, 24, 3, CLASSES, &err));
    OK(svit_trainer_create(&trainer, f.context, f.model, data, NULL, &config, &optimizer, &pipeline,
                           &err));
    for (int i = 0; i < 4 && status == SVIT_OK; i++)
        status = svit_trainer_step(trainer, &event, sizeof event, &err);
    ck_assert_int_eq(status, SVIT_E_NUMERIC);
    ck_assert_msg(strncmp(err.message,
                          "epoch 1, step 2 of 4: training forward 1: the output of layer ",
                          61) == 0,
                  "%s", err.message);
    svit_trainer_free(trainer);
    svit_dataset_free(data);
    close_fixture(&f);
}
END_TEST

/* Where only the last parameter is trained, the layers below have no gradients that could be
 * looked at: what the buffers hold there is left from before. */
START_TEST(test_layers_without_gradients_are_not_looked_at)
{
    fixture f;
    float logits[N * CLASSES];
    svit_session *session = NULL;
    svit_session_config plan;
    open_fixture(&f, MODELS[_i / MEMORY_MODES]);
    const sv_parameter *last = &f.model->parameters.list[f.model->parameters.count - 1];
    OK(svit_model_set_trainable(f.model, "*", 0, &err));
    OK(svit_model_set_trainable(f.model, last->name, 1, &err));
    OK(svit_session_config_init(&plan, sizeof plan));
    plan.max_batch = N;
    plan.mode = SVIT_MODE_TRAIN;
    plan.memory = _i % MEMORY_MODES;
    plan.check_finite = plan.input_gradient = 1;
    OK(svit_session_create(&session, f.model, &plan, &err));
    OK(svit_forward(session, f.images, N, logits, &err));
    for (int k = 0; k < 2; k++)
        session->buffers[k][0] = NAN;
    OK(svit_backward(session, f.dlogits, N, &err));
    svit_session_free(session);
    close_fixture(&f);
}
END_TEST

/* The output of a layer is asked of a session that trains: no training forward is named. */
START_TEST(test_features_name_no_training_forward)
{
    fixture f;
    svit_session *session = NULL;
    svit_session_config plan;
    float features[N * 24];
    open_fixture(&f, MODELS[0]);
    const sv_parameter *parameter = sv_parameter_find(&f.model->parameters, OVERFLOWS[0].parameter);
    float *values = touch(&f, parameter, 1);
    for (size_t i = 0; i < parameter->desc.elements; i++)
        values[i] = i % 2 ? 3e38f : -3e38f;
    OK(svit_model_set_parameter(f.model, parameter->name, values, parameter->desc.elements, &err));
    OK(svit_session_config_init(&plan, sizeof plan));
    plan.max_batch = N;
    plan.mode = SVIT_MODE_TRAIN;
    plan.check_finite = plan.features = 1;
    OK(svit_session_create(&session, f.model, &plan, &err));
    FAILS(SVIT_E_NUMERIC, "the output of layer ",
          svit_forward_features(session, f.images, N, "features", features, N * 24, &err));
    ck_assert_msg(strncmp(err.message, "the output of layer ", 20) == 0, "%s", err.message);
    svit_session_free(session);
    free(values);
    close_fixture(&f);
}
END_TEST

static Suite *finite_check_suite(void)
{
    Suite *suite = suite_create("finite_check");
    TCase *tcase = tcase_create("core");
    tcase_add_loop_test(tcase, test_every_parameter_is_named, 0, MODEL_COUNT);
    tcase_add_loop_test(tcase, test_the_layer_that_overflows_is_named, 0, MODEL_COUNT);
    tcase_add_loop_test(tcase, test_the_gradient_that_overflows_is_named, 0, MODEL_COUNT);
    tcase_add_loop_test(tcase, test_a_backward_does_not_follow_a_refused_input, 0, MODEL_COUNT);
    tcase_add_loop_test(tcase, test_the_bits_are_those_without, 0, MODEL_COUNT * MEMORY_MODES);
    tcase_add_test(tcase, test_a_trainer_names_the_step);
    tcase_add_loop_test(tcase, test_layers_without_gradients_are_not_looked_at, 0,
                        MODEL_COUNT * MEMORY_MODES);
    tcase_add_test(tcase, test_features_name_no_training_forward);
    suite_add_tcase(suite, tcase);
    return suite;
}

TEST_MAIN(finite_check_suite)
