/* Checks sequences of 1 and of 1,025 tokens, images that are not square, and how the memory of
 * inference grows with the tokens. */
#include "fit.h"
#include "worst.h"

#include <math.h>

enum { HEADS = 2, HEAD_DIM = 3, DIM = 6, COLOURS = 3, HEIGHT = 25, WIDTH = 41, TOKENS = 1025 };

/* A model of one layer with patches of 1 x 1 pixel. */
static svit_model *pixel_model(svit_context *context, uint32_t height, uint32_t width, int lsa)
{
    char json[400];
    snprintf(json, sizeof json,
             "{\"architecture\":\"vit\",\"input_height\":%u,\"input_width\":%u,\"patch_size\":1,"
             "\"dim\":%d,\"depth\":1,\"heads\":%d,\"head_dim\":%d,\"mlp_dim\":5,\"head_units\":[],"
             "\"num_classes\":3,\"pool\":\"mean\",\"attention\":\"%s\"}",
             height, width, DIM, HEADS, HEAD_DIM, lsa ? "lsa" : "global");
    svit_model_config config;
    WORKS(svit_model_config_from_json(&config, sizeof config, json, err));
    svit_model *model = NULL;
    WORKS(svit_model_create(&model, context, &config, 3, err));
    return model;
}

static svit_session *one_image(svit_model *model)
{
    svit_session_config config;
    svit_session_config_init(&config, sizeof config);
    config.max_batch = 1;
    svit_session *session = NULL;
    WORKS(svit_session_create(&session, model, &config, err));
    return session;
}

static float *weights(const svit_model *model, const char *name)
{
    size_t elements = fit_elements(model, name);
    float *values = malloc(elements * sizeof *values);
    WORKS(svit_model_get_parameter(model, name, values, elements, err));
    return values;
}

/* Fills an array with values in [-size/2, size/2), the same ones in each run. */
static void draw(float *values, size_t elements, float size)
{
    uint32_t state = 12345;
    for (size_t i = 0; i < elements; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = size * ((float)(state >> 8) / 16777216.0f - 0.5f);
    }
}

static void set_drawn(svit_model *model, const char *name, float size)
{
    size_t elements = fit_elements(model, name);
    float *values = malloc(elements * sizeof *values);
    draw(values, elements, size);
    WORKS(svit_model_set_parameter(model, name, values, elements, err));
    free(values);
}

/* token[DIM] = norm(W pixel + b + position), with a norm whose weight is 1 and whose bias is 0. */
static void naive_token(double *token, const svit_model *model, const float *pixel, size_t at)
{
    float *w = weights(model, "patch_embed.proj.weight"),
          *b = weights(model, "patch_embed.proj.bias");
    float *position = weights(model, "pos_embed");
    double mean = 0, variance = 0;
    for (size_t i = 0; i < DIM; i++) {
        token[i] = (double)b[i] + position[at * DIM + i];
        for (size_t c = 0; c < COLOURS; c++)
            token[i] += (double)w[i * COLOURS + c] * pixel[c];
        mean += token[i] / DIM;
    }
    for (size_t i = 0; i < DIM; i++)
        variance += (token[i] - mean) * (token[i] - mean) / DIM;
    for (size_t i = 0; i < DIM; i++)
        token[i] = (token[i] - mean) / sqrt(variance + 1e-6);
    free(w);
    free(b);
    free(position);
}

/* Computes the queries, keys and values of all tokens: [TOKENS, 3, HEADS, HEAD_DIM]. */
static double *naive_qkv(const svit_model *model, const float *image)
{
    enum { WIDE = 3 * HEADS * HEAD_DIM };
    float *w = weights(model, "blocks.0.attn.qkv.weight"),
          *b = weights(model, "blocks.0.attn.qkv.bias");
    double *qkv = malloc(sizeof(double) * TOKENS * WIDE), token[DIM];
    for (size_t t = 0; t < TOKENS; t++) {
        naive_token(token, model, image + t * COLOURS, t);
        for (size_t i = 0; i < WIDE; i++) {
            qkv[t * WIDE + i] = b[i];
            for (size_t c = 0; c < DIM; c++)
                qkv[t * WIDE + i] += (double)w[i * DIM + c] * token[c];
        }
    }
    free(w);
    free(b);
    return qkv;
}

/* row[TOKENS] = the softmax of the scores of query t in one head, without token t itself if `lsa`.
 */
static void naive_row(double *row, const double *qkv, size_t head, size_t t, int lsa)
{
    enum { WIDE = 3 * HEADS * HEAD_DIM };
    const double *q = qkv + t * WIDE + head * HEAD_DIM;
    double sum = 0;
    for (size_t other = 0; other < TOKENS; other++) {
        const double *k = qkv + other * WIDE + HEADS * HEAD_DIM + head * HEAD_DIM;
        double score = 0;
        for (size_t i = 0; i < HEAD_DIM; i++)
            score += q[i] * k[i];
        row[other] = lsa && other == t ? 0 : exp(score / sqrt(HEAD_DIM));
        sum += row[other];
    }
    for (size_t other = 0; other < TOKENS; other++)
        row[other] /= sum;
}

/* 1,025 tokens of an image that is not square: each attention weight agrees with its definition. */
START_TEST(test_attention_over_1025_tokens_is_the_definition)
{
    svit_context *context = fit_context(2);
    svit_model *model = pixel_model(context, HEIGHT, WIDTH, _i);
    set_drawn(model, "blocks.0.attn.qkv.weight", 3);
    set_drawn(model, "blocks.0.attn.qkv.bias", 1);
    svit_session *session = one_image(model);
    static float image[TOKENS * COLOURS], attention[HEADS * TOKENS * TOKENS];
    float logits[3];
    draw(image, TOKENS * COLOURS, 2);
    WORKS(
        svit_forward_attention(session, image, 1, logits, attention, HEADS * TOKENS * TOKENS, err));
    double *qkv = naive_qkv(model, image), row[TOKENS], most = 0, largest = 0;
    for (size_t head = 0; head < HEADS; head++)
        for (size_t t = 0; t < TOKENS; t++) {
            const float *got = attention + (head * TOKENS + t) * TOKENS;
            naive_row(row, qkv, head, t, _i);
            for (size_t other = 0; other < TOKENS; other++) {
                most = worst_of(most, fabs(got[other] - row[other]));
                largest = worst_of(largest, row[other]);
            }
            ck_assert(!_i || got[t] == 0);
        }
    ck_assert_msg(most <= 2e-6, "off by %g", most);
    ck_assert_double_gt(largest, 0.02); /* a smaller weight would make the softmax almost uniform */
    free(qkv);
    svit_session_free(session);
    svit_model_free(model);
    svit_context_free(context);
}
END_TEST

/* A single token that must not attend to itself attends to nothing; otherwise its weight is 1. */
START_TEST(test_one_token_attends_to_itself_or_to_nothing)
{
    svit_context *context = fit_context(1);
    svit_model *model = pixel_model(context, 1, 1, _i);
    svit_session *session = one_image(model);
    const float pixel[COLOURS] = {0.2f, -1, 0.7f};
    float before[3], after[3], attention[HEADS];
    WORKS(svit_forward_attention(session, pixel, 1, before, attention, HEADS, err));
    ck_assert_float_eq(attention[0], _i ? 0 : 1);
    ck_assert_float_eq(attention[1], _i ? 0 : 1);
    set_drawn(model, "blocks.0.attn.qkv.weight", 3);
    WORKS(svit_forward(session, pixel, 1, after, err));
    ck_assert_int_eq(memcmp(before, after, sizeof before) == 0, _i);
    for (size_t i = 0; i < 3; i++)
        ck_assert(isfinite(after[i]));
    svit_session_free(session);
    svit_model_free(model);
    svit_context_free(context);
}
END_TEST

static uint64_t memory_of(svit_context *context, uint32_t side)
{
    svit_model *model = pixel_model(context, side, side, 0);
    svit_session *session = one_image(model);
    uint64_t bytes = svit_session_memory(session);
    svit_session_free(session);
    svit_model_free(model);
    return bytes;
}

/* With four times the tokens the memory grows four times. If all scores of a head were kept, it
 * would grow sixteen times. */
START_TEST(test_memory_of_inference_grows_with_the_tokens)
{
    svit_context *context = fit_context(1);
    uint64_t small = memory_of(context, 48), middle = memory_of(context, 96);
    uint64_t large = memory_of(context, 192);
    double growth = (double)(large - middle) / (double)(middle - small);
    ck_assert_msg(growth > 3.5 && growth < 4.5, "it grows by %g", growth);
    svit_context_free(context);
}
END_TEST

/* svit_session_memory_needed returns the bytes that the session then allocates. */
START_TEST(test_a_plan_is_the_memory_of_its_session)
{
    svit_context *context = fit_context(2);
    svit_model *model = pixel_model(context, 8, 12, 1);
    for (int32_t mode = SVIT_MODE_INFER; mode <= SVIT_MODE_TRAIN; mode++) {
        svit_session_config config;
        svit_session_config_init(&config, sizeof config);
        config.max_batch = 33;
        config.mode = mode;
        uint64_t bytes = 0;
        svit_session *session = NULL;
        WORKS(svit_session_memory_needed(&bytes, model, &config, err));
        WORKS(svit_session_create(&session, model, &config, err));
        ck_assert_uint_gt(bytes, 0);
        ck_assert_uint_eq(bytes, svit_session_memory(session));
        svit_session_free(session);
        config.max_batch = 0;
        FAILS(svit_session_memory_needed(&bytes, model, &config, err), SVIT_E_ARGUMENT,
              "max_batch");
    }
    FAILS(svit_session_memory_needed(NULL, model, NULL, err), SVIT_E_ARGUMENT, "bytes is NULL");
    svit_model_free(model);
    svit_context_free(context);
}
END_TEST

static Suite *sequences_suite(void)
{
    Suite *suite = suite_create("sequences");
    TCase *lengths = tcase_create("lengths");
    tcase_add_loop_test(lengths, test_attention_over_1025_tokens_is_the_definition, 0, 2);
    tcase_add_loop_test(lengths, test_one_token_attends_to_itself_or_to_nothing, 0, 2);
    tcase_add_test(lengths, test_memory_of_inference_grows_with_the_tokens);
    tcase_add_test(lengths, test_a_plan_is_the_memory_of_its_session);
    suite_add_tcase(suite, lengths);
    return suite;
}

TEST_MAIN(sequences_suite)
