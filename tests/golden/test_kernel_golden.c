/* Single operations against Keras: GELU, layer norm, group norm, on every instruction set. */
#include "golden.h"
#include "suite.h"

#include "kernels/kernels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define KERNELS(name)                                                                              \
    const sv_kernels *name = _i <= (int)sv_cpu_isa() ? sv_kernels_for((sv_isa)_i) : NULL;          \
    if (!name)                                                                                     \
    return

START_TEST(test_gelu_equals_keras)
{
    KERNELS(k);
    sv_safetensors *file = golden_open("ops");
    size_t count;
    float *x = golden_floats(file, "gelu.x", &count);
    float *y = golden_floats(file, "gelu.y", NULL), *dy = golden_floats(file, "gelu.dy", NULL);
    float bias[64] = {0}, a[64], u[64], du[64];
    ck_assert_uint_eq(count, 64);
    memcpy(u, x, sizeof u);
    k->bias_gelu(a, u, bias, NULL, 1, 0, 1, count);
    ck_assert_double_le(golden_difference(a, y, count), 1e-6);
    for (size_t i = 0; i < count; i++)
        du[i] = 1;
    k->gelu_backward(a, du, x, NULL, 1, 0, 1, count);
    ck_assert_double_le(golden_difference(a, y, count), 1e-6);
    ck_assert_double_le(golden_difference(du, dy, count), 1e-6);
    golden_free(x);
    golden_free(y);
    golden_free(dy);
    sv_safetensors_close(file);
}
END_TEST

typedef struct norm_case {
    const char *golden; /* layernorm.eps1e-5, ... */
    const char *input;
    float eps;
    size_t groups, tokens, c; /* of a group: one token, or one image's */
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

/* Row 3 of the layer norm's input is offset by 100, so its own rounding is 1e-4 of a deviation. */
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

static Suite *kernel_golden_suite(void)
{
    Suite *suite = suite_create("kernel goldens");
    TCase *all = tcase_create("ops");
    tcase_add_loop_test(all, test_gelu_equals_keras, 0, 3);
    tcase_add_loop_test(all, test_norms_equal_keras, 0, 3);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(kernel_golden_suite)
