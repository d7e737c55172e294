/* Features: outputs of single layers, compared with what follows from them. */
#include "calls.h"

#include <shiftvit/shiftvit.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define SIZE "\"input_height\":24,\"input_width\":24,\"patch_size\":6,\"num_classes\":5,"

/* One linear layer after the pooling, whose weight has this name. */
static const struct {
    const char *json, *head;
    size_t channels;
} MODELS[] = {
    {"{\"architecture\":\"vit\"," SIZE "\"dim\":24,\"depth\":3,\"heads\":2,\"head_dim\":12,"
     "\"mlp_dim\":40,\"head_units\":[],\"pool\":\"class-mean\",\"register_tokens\":2}",
     "head.fc1", 48},
    {"{\"architecture\":\"vit\"," SIZE "\"dim\":24,\"depth\":2,\"heads\":2,\"head_dim\":12,"
     "\"mlp_dim\":40,\"head_units\":[],\"pool\":\"mean\",\"head_norm\":true}",
     "head.fc1", 24},
    {"{\"architecture\":\"shiftvit\",\"input_height\":24,\"input_width\":24,\"dim\":24,"
     "\"blocks\":[1,2],\"num_classes\":5,\"num_div\":6}",
     "head", 48},
    {"{\"architecture\":\"mixer\"," SIZE "\"dim\":20,\"depth\":2,\"token_mlp_dim\":10,"
     "\"mlp_dim\":30}",
     "head", 20}};
enum { MODEL_COUNT = sizeof MODELS / sizeof *MODELS, N = 3, CLASSES = 5, PIXELS = 24 * 24 * 3 };

typedef struct fixture {
    svit_context *context;
    svit_model *model;
    svit_session *session;
    float images[N * PIXELS];
} fixture;

static void open_fixture(fixture *f, size_t index, bool features, int32_t mode)
{
    svit_model_config config;
    svit_session_config session;
    err.struct_size = sizeof err;
    OK(svit_context_create(&f->context, NULL, &err));
    OK(svit_model_config_from_json(&config, sizeof config, MODELS[index].json, &err));
    OK(svit_model_create(&f->model, f->context, &config, 7, &err));
    svit_session_config_init(&session, sizeof session);
    session.max_batch = N;
    session.mode = mode;
    session.features = features;
    OK(svit_session_create(&f->session, f->model, &session, &err));
    for (size_t i = 0; i < N * PIXELS; i++)
        f->images[i] = (float)sin((double)i * 0.37) + (float)(i / PIXELS);
}

static void close_fixture(fixture *f)
{
    svit_session_free(f->session);
    svit_model_free(f->model);
    svit_context_free(f->context);
}

static float *parameter(const fixture *f, const char *name, const char *suffix, size_t elements)
{
    char full[64];
    float *values = malloc(elements * sizeof *values);
    snprintf(full, sizeof full, "%s%s", name, suffix);
    OK(svit_model_get_parameter(f->model, full, values, elements, &err));
    return values;
}

/* logits = head(features), computed in double. */
START_TEST(test_the_head_of_the_features_is_the_logits)
{
    fixture f;
    const size_t index = (size_t)_i / 2, c = MODELS[index].channels;
    open_fixture(&f, index, true, _i % 2 ? SVIT_MODE_TRAIN : SVIT_MODE_INFER);
    float features[N * 48], logits[N * CLASSES];
    size_t tokens, channels;
    float *weight = parameter(&f, MODELS[index].head, ".weight", CLASSES * c);
    float *bias = parameter(&f, MODELS[index].head, ".bias", CLASSES);
    OK(svit_session_layer_shape(f.session, "features", &tokens, &channels, &err));
    ck_assert_uint_eq(tokens, 1);
    ck_assert_uint_eq(channels, c);
    OK(svit_forward_features(f.session, f.images, N, "features", features, N * c, &err));
    OK(svit_session_set_mode(f.session, SVIT_MODE_INFER, &err));
    OK(svit_forward(f.session, f.images, N, logits, &err));
    for (size_t n = 0; n < N; n++)
        for (size_t k = 0; k < CLASSES; k++) {
            double sum = bias[k];
            for (size_t i = 0; i < c; i++)
                sum += (double)features[n * c + i] * weight[k * c + i];
            ck_assert_double_le(fabs(sum - logits[n * CLASSES + k]), 1e-5);
        }
    free(weight);
    free(bias);
    close_fixture(&f);
}
END_TEST

/* A ViT's pooled features follow from its last block: with a class token and registers, the norm of
 * the class token and the mean of the norms of the patches. */
START_TEST(test_pooled_features_follow_from_the_last_block)
{
    enum { DIM = 24, PREFIX = 3, TOKENS = PREFIX + 16 };
    fixture f;
    static float block[N * TOKENS * DIM], features[N * 2 * DIM];
    open_fixture(&f, 0, false, SVIT_MODE_INFER);
    OK(svit_forward_features(f.session, f.images, N, "blocks.2", block, N * TOKENS * DIM, &err));
    OK(svit_forward_features(f.session, f.images, N, "features", features, N * 2 * DIM, &err));
    for (size_t n = 0; n < N; n++) {
        double mean[DIM] = {0}, norm[DIM];
        for (size_t t = 0; t < TOKENS; t++) {
            const float *x = block + (n * TOKENS + t) * DIM;
            double sum = 0, square = 0;
            for (size_t i = 0; i < DIM; i++)
                sum += x[i] / DIM;
            for (size_t i = 0; i < DIM; i++)
                square += (x[i] - sum) * (x[i] - sum) / DIM;
            for (size_t i = 0; i < DIM; i++) {
                norm[i] = (x[i] - sum) / sqrt(square + 1e-6);
                if (t == 0)
                    ck_assert_double_le(fabs(norm[i] - features[n * 2 * DIM + i]), 1e-5);
                mean[i] += t < PREFIX ? 0 : norm[i] / 16;
            }
        }
        for (size_t i = 0; i < DIM; i++)
            ck_assert_double_le(fabs(mean[i] - features[(n * 2 + 1) * DIM + i]), 1e-5);
    }
    close_fixture(&f);
}
END_TEST

/* Each named layer is reached, one image gives what a batch gives, and the names are the model's.
 */
START_TEST(test_every_layer_is_reached)
{
    fixture f;
    open_fixture(&f, (size_t)_i, true, SVIT_MODE_INFER);
    const char *name;
    size_t count = 0;
    for (; (name = svit_session_layer_name(f.session, count)); count++) {
        size_t tokens, channels;
        OK(svit_session_layer_shape(f.session, name, &tokens, &channels, &err));
        const size_t elements = tokens * channels;
        float *all = malloc(N * elements * sizeof *all), *one = malloc(elements * sizeof *one);
        OK(svit_forward_features(f.session, f.images, N, name, all, N * elements, &err));
        OK(svit_forward_features(f.session, f.images + 2 * PIXELS, 1, name, one, elements, &err));
        for (size_t i = 0; i < elements; i++)
            ck_assert_float_eq_tol(all[2 * elements + i], one[i], 1e-5f);
        ck_assert_float_ne(all[elements - 1], all[2 * elements - 1]); /* of a patch */
        free(all);
        free(one);
    }
    ck_assert_uint_ge(count, 4);
    close_fixture(&f);
}
END_TEST

START_TEST(test_misuse_of_features)
{
    fixture f;
    float out[8];
    size_t tokens, channels;
    open_fixture(&f, 2, false, SVIT_MODE_INFER);
    FAILS(SVIT_E_ARGUMENT, "no such layer",
          svit_forward_features(f.session, f.images, 1, "none", out, 8, &err));
    FAILS(SVIT_E_ARGUMENT, "no such layer",
          svit_session_layer_shape(f.session, "", &tokens, &channels, &err));
    FAILS(SVIT_E_STATE, "features 1",
          svit_forward_features(f.session, f.images, 1, "features", out, 8, &err));
    FAILS(SVIT_E_ARGUMENT, "elements is 8",
          svit_forward_features(f.session, f.images, 1, "layers.1.blocks.0", out, 8, &err));
    FAILS(SVIT_E_ARGUMENT, "n is 4",
          svit_forward_features(f.session, f.images, 4, "layers.1.blocks.0", out, 8, &err));
    ck_assert_ptr_null(svit_session_layer_name(NULL, 0));
    close_fixture(&f);
}
END_TEST

static Suite *features_suite(void)
{
    Suite *suite = suite_create("features");
    TCase *all = tcase_create("features");
    tcase_add_loop_test(all, test_the_head_of_the_features_is_the_logits, 0, 2 * MODEL_COUNT);
    tcase_add_test(all, test_pooled_features_follow_from_the_last_block);
    tcase_add_loop_test(all, test_every_layer_is_reached, 0, MODEL_COUNT);
    tcase_add_test(all, test_misuse_of_features);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(features_suite)
