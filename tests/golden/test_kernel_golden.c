/* Compares single operations with Keras: GELU, layer norm, group norm and the masked softmax, on
 * every instruction set. */
#include "golden.h"
#include "isa.h"
#include "suite.h"

#include "kernels/kernels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

START_TEST(test_gelu_equals_keras)
{
    KERNELS(k);
    sv_safetensors *file = golden_open("ops");
    size_t count;
    float *x = golden_floats(file, "gelu.x", &count);
    float *y = golden_floats(file, "gelu.y", NULL), *dy = golden_floats(file, "gelu.dy", NULL);
    float a[64], du[64], kept[64];
    const sv_dropout whole = {NULL, 1};
    const sv_rows line = {0, 1, 64, 64};
    ck_assert_uint_eq(count, 64);
    k->gelu(a, NULL, x, whole, line);
    ck_assert_double_le(golden_difference(a, y, count), 1e-6);
    memcpy(a, x, sizeof a);
    k->gelu(a, kept, a, whole, (sv_rows){0, 4, count / 4, count / 4});
    ck_assert_double_le(golden_difference(a, y, count), 1e-6);
    ck_assert_mem_eq(kept, x, sizeof kept);
    for (size_t i = 0; i < count; i++)
        du[i] = 1;
    k->gelu_backward(a, du, x, whole, line);
    ck_assert_double_le(golden_difference(a, y, count), 1e-6);
    ck_assert_double_le(golden_difference(du, dy, count), 1e-6);
    golden_free(x);
    golden_free(y);
    golden_free(dy);
    sv_safetensors_close(file);
}
END_TEST

typedef struct norm_case {
    const char *golden; /* name of the golden tensors: layernorm.eps1e-5, ... */
    const char *input;
    float eps;
    size_t groups, tokens, c; /* elements of a group: one token's or one image's */
} norm_case;

static const norm_case NORMS[] = {{"layernorm.eps1e-5", "layernorm", 1e-5f, 6, 1, 24},
                                  {"layernorm.eps1e-6", "layernorm", 1e-6f, 6, 1, 24},
                                  {"groupnorm.eps1e-5", "groupnorm", 1e-5f, 2, 12, 24}};

static float *tensor(const sv_safetensors *file, const char *prefix, const char *suffix)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s", prefix, suffix);
    return golden_floats(file, name, NULL);
}

/* Row 3 of the layer norm's input has an offset of 100, so that rounding the input alone is 1e-4 of
 * a standard deviation. */
static void check_norm(const sv_kernels *k, const norm_case *c, const sv_safetensors *file)
{
    size_t row = c->tokens * c->c, count = c->groups * row, tokens = c->groups * c->tokens;
    float *x = tensor(file, c->input, "x"), *dy = tensor(file, c->input, "dy");
    float *y = tensor(file, c->golden, "y"), *dx = tensor(file, c->golden, "dx");
    float *dweight = tensor(file, c->golden, "dweight"), *dbias = tensor(file, c->golden, "dbias");
    float *weight = tensor(file, "norm", "weight"), *bias = tensor(file, "norm", "bias");
    float mean[24], rstd[24], out[2 * 12 * 24], back[2 * 12 * 24], dw[24] = {0}, db[24] = {0};
    ck_assert_uint_le(count, sizeof out / sizeof *out);
    for (size_t g = 0; g < c->groups; g++) {
        size_t at = g * row, token = g * c->tokens;
        if (c->tokens == 1) {
            k->layer_norm(out + at, mean + token, rstd + token, x + at, weight, bias, 1, c->c,
                          c->eps);
            k->layer_norm_backward(back + at, dy + at, x + at, mean + token, rstd + token, weight,
                                   1, c->c);
        } else {
            k->norm_moments(mean + token, rstd + token, x + at, c->tokens, c->c, c->eps);
            k->norm_apply(out + at, x + at, mean + token, rstd + token, weight, bias, c->tokens,
                          c->c);
            k->group_norm_backward(back + at, dy + at, x + at, mean + token, rstd + token, weight,
                                   c->tokens, c->c);
        }
        int offset_row = c->tokens == 1 && g == 3;
        ck_assert_double_le(golden_difference(out + at, y + at, row), offset_row ? 1e-4 : 1e-5);
        double largest = golden_largest(dx + at, row);
        ck_assert_msg(golden_difference(back + at, dx + at, row) <= 1e-5 * largest,
                      "%s dx, row %zu: off by %g of %g", c->golden, g,
                      golden_difference(back + at, dx + at, row), largest);
    }
    k->norm_backward_parameters(dw, db, dy, x, mean, rstd, tokens, c->c);
    ck_assert_double_le(golden_difference(dw, dweight, c->c), 1e-4);
    ck_assert_double_le(golden_difference(db, dbias, c->c), 1e-4);
    float *all[] = {x, dy, y, dx, dweight, dbias, weight, bias};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        golden_free(all[i]);
}

START_TEST(test_norms_equal_keras)
{
    KERNELS(k);
    sv_safetensors *file = golden_open("ops");
    for (size_t i = 0; i < sizeof NORMS / sizeof *NORMS; i++)
        check_norm(k, &NORMS[i], file);
    sv_safetensors_close(file);
}
END_TEST

START_TEST(test_the_masked_softmax_equals_keras)
{
    KERNELS(k);
    enum { HEADS = 6, T = 5 };
    sv_safetensors *file = golden_open("ops");
    size_t count;
    float *scores = golden_floats(file, "lsa.scores", &count);
    float *wanted = golden_floats(file, "lsa.softmax", NULL);
    ck_assert_uint_eq(count, HEADS * T * T);
    const sv_attention_rows rows = {.rows = T, .columns = T, .scale = 1, .masked = 1};
    for (size_t head = 0; head < HEADS; head++) {
        float p[T * T], given[T * T], *own = scores + head * T * T;
        memcpy(given, own, sizeof given);
        k->attention_softmax(p, p, own, &rows);
        ck_assert_mem_eq(own, given, sizeof given);
        ck_assert_double_le(golden_difference(p, wanted + head * T * T, T * T), 1e-6);
        for (size_t i = 0; i < T; i++)
            ck_assert(p[i * T + i] == 0);
    }
    golden_free(scores);
    golden_free(wanted);
    sv_safetensors_close(file);
}
END_TEST

/* The diagonal stays masked whatever the sign of the scale, and if it is 0. */
START_TEST(test_the_mask_holds_at_any_factor)
{
    KERNELS(k);
    enum { T = 21 };
    const float factors[] = {-2, 0, 0.5f};
    for (size_t f = 0; f < sizeof factors / sizeof *factors; f++) {
        float scores[T * T], p[T * T];
        for (size_t i = 0; i < T * T; i++)
            scores[i] = (float)((i * 7919) % 31) / 8 - 2;
        const sv_attention_rows rows = {.rows = T, .columns = T, .scale = factors[f], .masked = 1};
        k->attention_softmax(p, p, scores, &rows);
        for (size_t r = 0; r < T; r++) {
            double sum = 0;
            for (size_t i = 0; i < T; i++)
                sum += i == r ? 0 : exp((double)factors[f] * scores[r * T + i]);
            for (size_t i = 0; i < T; i++) {
                double wanted = i == r ? 0 : exp((double)factors[f] * scores[r * T + i]) / sum;
                ck_assert_double_le(fabs(p[r * T + i] - wanted), 1e-6);
            }
        }
    }
}
END_TEST

static Suite *kernel_golden_suite(void)
{
    Suite *suite = suite_create("kernel goldens");
    TCase *all = tcase_create("ops");
    tcase_add_loop_test(all, test_gelu_equals_keras, 0, ISA_COUNT);
    tcase_add_loop_test(all, test_norms_equal_keras, 0, ISA_COUNT);
    tcase_add_loop_test(all, test_the_masked_softmax_equals_keras, 0, ISA_COUNT);
    tcase_add_loop_test(all, test_the_mask_holds_at_any_factor, 0, ISA_COUNT);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(kernel_golden_suite)
