/* Operations of sessions. */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_IMAGES = 3 };

/* A layer of the session, or none. */
static const char *layer(const svit_session *session)
{
    const char *name = svit_session_layer_name(session, calls_choose(24));
    return name ? name : calls_choose(2) ? "nothing" : "features";
}

static svit_session_config random_config(const svit_session *other)
{
    svit_session_config config;
    svit_session_config_init(&config, sizeof config);
    config.max_batch = calls_choose(8) ? 1 + calls_choose(MOST_IMAGES) : 0;
    config.mode = (int32_t)calls_choose(3);
    config.compute = calls_choose(2) ? 0 : (int32_t)calls_choose(4);
    config.memory = (int32_t)calls_choose(4);
    config.features = (int32_t)calls_choose(3);
    config.input_gradient = (int32_t)calls_choose(2);
    if (calls_choose(4) == 0)
        strncpy(config.input_layer, layer(other), sizeof config.input_layer - 1);
    if (calls_choose(4) == 0) {
        config.input_height = 4 * calls_choose(5);
        config.input_width = 4 * calls_choose(5);
    }
    return config;
}

static void create(void)
{
    const svit_session_config config = random_config(ANY(sessions));
    CREATE(sessions, svit_session_free,
           svit_session_create(OUT(sessions), ANY(models), &config, ERR));
}

static void create_for_training(void)
{
    svit_session_config config;
    svit_session_config_init(&config, sizeof config);
    config.max_batch = MOST_IMAGES;
    config.mode = SVIT_MODE_TRAIN;
    CREATE(sessions, svit_session_free,
           svit_session_create(OUT(sessions), ANY(models), &config, ERR));
}

static void memory_needed(void)
{
    const svit_session_config config = random_config(ANY(sessions));
    uint64_t bytes;
    TRY(svit_session_memory_needed(&bytes, ANY(models), &config, ERR));
}

/* The images of a call: at most as many as calls_numbers has. */
static size_t images(const svit_session *session)
{
    const size_t size = svit_session_input_size(session), n = calls_choose(MOST_IMAGES + 2);
    return size > 0 && n * size > NUMBERS ? 1 : n;
}

static void forward(void)
{
    svit_session *session = ANY(sessions);
    TRY(svit_forward(session, calls_numbers, images(session), calls_results, ERR));
}

static void forward_features(void)
{
    svit_session *session = ANY(sessions);
    const char *name = layer(session);
    const size_t n = images(session);
    size_t tokens = 0, channels = 0;
    TRY(svit_session_layer_shape(session, name, &tokens, &channels, ERR));
    const size_t count = calls_choose(8) ? n * tokens * channels : calls_choose(9);
    if (count <= NUMBERS)
        TRY(svit_forward_features(session, calls_numbers, n, name, calls_results, count, ERR));
}

static void forward_attention(void)
{
    enum { LOGITS = NUMBERS / 4 };
    svit_session *session = ANY(sessions);
    const size_t n = images(session);
    size_t heads = 0, tokens = 0;
    TRY(svit_session_attention_size(session, &heads, &tokens, ERR));
    const size_t count = calls_choose(8) ? n * heads * tokens * tokens : calls_choose(9);
    if (count <= NUMBERS - LOGITS)
        TRY(svit_forward_attention(session, calls_numbers, n, calls_results, calls_results + LOGITS,
                                   count, ERR));
}

static void backward(void)
{
    TRY(svit_backward(ANY(sessions), calls_numbers, calls_choose(MOST_IMAGES + 2), ERR));
}

static void backward_input(void)
{
    svit_session *session = ANY(sessions);
    TRY(svit_backward_input(session, calls_numbers, images(session), calls_results, ERR));
}

/* A whole pass of training without a step. */
static void pass(void)
{
    enum { LOGITS = NUMBERS / 4 };
    svit_session *session = ANY(sessions);
    const size_t n = images(session);
    float loss;
    if (TRY(svit_forward(session, calls_numbers, n, calls_results, ERR)) &&
        TRY(svit_cross_entropy(calls_results, calls_labels, n, 1 + calls_choose(4), 0.1f, &loss,
                               calls_results + LOGITS, ERR)))
        TRY(svit_backward(session, calls_results + LOGITS, n, ERR));
}

static void set_mode(void)
{
    TRY(svit_session_set_mode(ANY(sessions), (int32_t)calls_choose(3), ERR));
}

static void set_counter(void)
{
    svit_session *session = ANY(sessions);
    const uint64_t counter = calls_choose(9);
    if (TRY(svit_session_set_counter(session, counter, ERR)))
        FUZZ_CHECK(svit_session_counter(session) == counter);
}

static void zero_gradients(void)
{
    TRY(svit_session_zero_gradients(ANY(sessions), ERR));
}

/* The name and the size of a parameter of any model, which may not be the session's. */
static const char *parameter(size_t *elements)
{
    int64_t shape[8];
    size_t rank;
    const svit_model *model = ANY(models);
    const char *name = svit_model_parameter_name(model, calls_choose(64));
    *elements = calls_choose(9);
    if (!name || !TRY(svit_model_parameter_shape(model, name, shape, &rank, ERR)))
        return "nothing.weight";
    for (size_t axis = 0, count = 1; axis < rank; axis++) {
        count *= (size_t)shape[axis];
        if (axis + 1 == rank && count <= NUMBERS)
            *elements = count;
    }
    return name;
}

static void get_gradient(void)
{
    size_t elements;
    const char *name = parameter(&elements);
    TRY(svit_session_get_gradient(ANY(sessions), name, calls_results, elements, ERR));
}

static void set_gradient(void)
{
    size_t elements;
    const char *name = parameter(&elements);
    TRY(svit_session_set_gradient(ANY(sessions), name, calls_numbers, elements, ERR));
}

static void set_reducer(void)
{
    svit_reducer reducer = {.struct_size = sizeof reducer, .ranks = calls_choose(3)};
    reducer.leaves = calls_choose(6);
    reducer.rank = calls_choose(2);
    TRY(svit_session_set_reducer(ANY(sessions), calls_choose(4) ? &reducer : NULL, ERR));
}

static void read_names(void)
{
    const svit_session *session = ANY(sessions);
    for (size_t i = 0; svit_session_layer_name(session, i); i++) {
        size_t tokens, channels;
        FUZZ_CHECK(i < 100);
        TRY(svit_session_layer_shape(session, svit_session_layer_name(session, i), &tokens,
                                     &channels, ERR));
    }
}

static const calls_operation operations[] = {create,       create_for_training, memory_needed,
                                             forward,      forward_features,    forward_attention,
                                             backward,     backward_input,      pass,
                                             set_mode,     set_counter,         zero_gradients,
                                             get_gradient, set_gradient,        set_reducer,
                                             read_names};
const calls_table calls_of_sessions = CALLS_TABLE(operations);
