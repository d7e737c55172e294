/* Compares the whitening filters of a stem with those that NumPy computed (stride 2 of the golden
 * file), and checks the eigenvectors themselves. */
#include "base/numbers/eigen.h"
#include "fit.h"
#include "golden.h"

#include <math.h>

enum { K = 12, IMAGES = 6, HEIGHT = 9, WIDTH = 11 };

static svit_context *context;
static svit_model *model;

static svit_model_config model_config(void)
{
    svit_model_config config;
    WORKS(svit_model_config_from_json(
        &config, sizeof config,
        "{\"input_height\":9,\"input_width\":11,\"patch_size\":2,\"dim\":12,"
        "\"blocks\":[1],\"num_classes\":3,\"patch_padding\":\"valid\","
        "\"stem\":\"whitened\"}",
        err));
    return config;
}

static void setup(void)
{
    const svit_model_config config = model_config();
    context = fit_context(2);
    WORKS(svit_model_create(&model, context, &config, 1, err));
}

static void teardown(void)
{
    svit_model_free(model);
    svit_context_free(context);
}

START_TEST(test_whitening_filters_are_numpys)
{
    sv_safetensors *file = golden_open("optim2");
    float *images = golden_floats(file, "whiten.images", NULL);
    float *wanted = golden_floats(file, "whiten.stride2.weight", NULL);
    float weight[2 * K * K], bias[2 * K];
    WORKS(svit_model_whiten(model, images, IMAGES, err));
    WORKS(svit_model_get_parameter(model, "patch_embed.whiten.weight", weight, 2 * K * K, err));
    WORKS(svit_model_get_parameter(model, "patch_embed.whiten.bias", bias, 2 * K, err));
    double off = golden_difference(weight, wanted, K * K);
    ck_assert_double_le(off, 2e-4 * golden_largest(wanted, K * K));
    for (size_t i = 0; i < K * K; i++)
        ck_assert_float_eq(weight[K * K + i], -weight[i]);
    ck_assert_double_eq(golden_largest(bias, 2 * K), 0);
    images[7] = NAN;
    FAILS(svit_model_whiten(model, images, IMAGES, err), SVIT_E_NUMERIC, "nhwc[7] is nan");
    FAILS(svit_model_whiten(model, images, 0, err), SVIT_E_ARGUMENT, "n is 0");
    golden_free(wanted);
    golden_free(images);
    sv_safetensors_close(file);
    svit_model *other = fit_model(context, 3, 1);
    FAILS(svit_model_whiten(other, bias, 1, err), SVIT_E_STATE, "SVIT_STEM_WHITENED");
    svit_model_free(other);
}
END_TEST

/* Images of one patch are enough, smaller ones are not. Patches of zeros have every direction, each
 * divided by the root of what is added to the eigenvalues, 5e-4. */
START_TEST(test_whitening_needs_a_whole_patch)
{
    static const uint32_t sides[3][2] = {{2, 2}, {1, 2}, {2, 1}};
    const float images[4 * 3] = {0};
    for (int i = 0; i < 3; i++) {
        svit_model_config config = model_config();
        svit_model *small = NULL;
        float weight[2 * K * K];
        config.input_height = sides[i][0];
        config.input_width = sides[i][1];
        config.patch_padding = SVIT_PADDING_SAME;
        WORKS(svit_model_create(&small, context, &config, 1, err));
        if (i > 0) {
            FAILS(svit_model_whiten(small, images, 1, err), SVIT_E_ARGUMENT,
                  "1 or more images of a patch or more");
        } else {
            WORKS(svit_model_whiten(small, images, 1, err));
            WORKS(svit_model_get_parameter(small, "patch_embed.whiten.weight", weight, 2 * K * K,
                                           err));
            for (size_t k = 0; k < K * K; k++)
                ck_assert_float_eq(weight[k], k % (K + 1) == 0 ? (float)(1 / sqrt(5e-4)) : 0);
        }
        svit_model_free(small);
    }
}
END_TEST

static bool always(void *user)
{
    (void)user;
    return true;
}

/* A = V^T D V with rows of V orthonormal, also for repeated and zero eigenvalues. */
START_TEST(test_eigenvectors_rebuild_the_matrix)
{
    enum { N = 7 };
    double a[N * N], copy[N * N], values[N], vectors[N * N];
    uint32_t state = 5;
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j <= i; j++) {
            state = state * 1664525u + 1013904223u;
            double x = _i == 2 ? (i == j) * 3.0 : (double)(state >> 8) / (1 << 24) - 0.5;
            if (_i == 1 && (i > 4 || j > 4))
                x = 0;
            a[i * N + j] = a[j * N + i] = x;
        }
    memcpy(copy, a, sizeof copy);
    ck_assert(sv_eigen_symmetric(a, N, values, vectors, always, NULL));
    for (size_t i = 0; i < N; i++) {
        if (i > 0)
            ck_assert_double_ge(values[i - 1], values[i]);
        for (size_t j = 0; j < N; j++) {
            double product = 0, dot = 0;
            for (size_t k = 0; k < N; k++) {
                product += vectors[k * N + i] * values[k] * vectors[k * N + j];
                dot += vectors[i * N + k] * vectors[j * N + k];
            }
            ck_assert_double_eq_tol(product, copy[i * N + j], 1e-14);
            ck_assert_double_eq_tol(dot, i == j, 1e-14);
        }
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("stem_golden");
    TCase *c = tcase_create("stem_golden");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_whitening_filters_are_numpys);
    tcase_add_test(c, test_whitening_needs_a_whole_patch);
    tcase_add_loop_test(c, test_eigenvectors_rebuild_the_matrix, 0, 3);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
