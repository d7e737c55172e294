/* Inference has one result on all CPUs with fused multiply-adds: matmuls in float32 have the bits
 * of a plain definition, and row kernels and whole models in int8 have recorded ones. Without fused
 * multiply-adds products are rounded too, and the results are others. */
#include "calls.h"
#include "isa.h"

#include "gemm/tile/tile_kernels.h"
#include "kernels/simd.h"

#include <shiftvit/shiftvit.h>

#include <math.h>

/* Whether the kernels of this instruction set have fused multiply-adds. */
static bool has_multiply_add(sv_isa isa)
{
#if defined(__x86_64__) || defined(__i386__)
    return isa != SV_ISA_BASELINE;
#elif defined(SV_HAS_MULTIPLY_ADD)
    (void)isa;
    return true;
#else
    (void)isa;
    return false;
#endif
}

/* Numbers from -1 to 1 that are exact in float32. */
static uint32_t state;

static float number(void)
{
    state = state * 1664525u + 1013904223u;
    return (float)(state >> 8) / (1 << 23) - 1;
}

static float *numbers(size_t count)
{
    float *x = malloc(count * sizeof *x);
    for (size_t i = 0; i < count; i++)
        x[i] = number();
    return x;
}

/* FNV-1a of the bits, the same in every byte order. */
static uint64_t sum_of(const float *x, size_t count)
{
    uint64_t sum = 1469598103934665603u;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        for (int byte = 0; byte < 4; byte++)
            sum = (sum ^ (bits >> 8 * byte & 255)) * 1099511628211u;
    }
    return sum;
}

enum { M = 13, N = 75, CHAIN = 768 };
static const size_t DEPTHS[] = {1, 5, 64, 191, 192, 193, 500, 768, 769, 1000, 1537, 2304};
enum { DEPTH_COUNT = sizeof DEPTHS / sizeof *DEPTHS };

/* before + the sum of the products of steps 0..count-1, one after the other. */
static float chain(float before, const float *a, const float *b, size_t count, bool fused)
{
    for (size_t p = 0; p < count; p++) {
        const volatile float product = a[p] * b[p * N];
        before = fused ? fmaf(a[p], b[p * N], before) : before + product;
    }
    return before;
}

/* c + a[k] b[k, j]: the first 768 steps are a chain of their own, and the others continue from
 * C. */
static float plain_sum(float c, const float *a, const float *b, size_t k, bool fused)
{
    const size_t count = k < CHAIN ? k : CHAIN;
    return chain(c + chain(0, a, b, count, fused), a + count, b + count * N, k - count, fused);
}

static void compare_matmul(const sv_kernels *k, size_t depth, bool accumulate, bool interleaved)
{
    const sv_tile_kernels *kernels = sv_tile_kernels_of(k);
    state = (uint32_t)depth;
    float *a = numbers(M * depth), *b = numbers(depth * N), *bias = numbers(N), *c = numbers(M * N);
    float *before = malloc(M * N * sizeof *before);
    memcpy(before, c, M * N * sizeof *before);
    void *packed = NULL;
    ck_assert_int_eq(posix_memalign(&packed, 64, kernels->packed_b_bytes(SV_PACKED_F32, depth, N)),
                     0);
    kernels->pack_b(packed, SV_PACKED_F32, b, N, 1, depth, N);
    const sv_tile_matmul matmul = {.c = c,
                                   .ldc = N,
                                   .accumulate = accumulate,
                                   .bias = accumulate ? NULL : bias,
                                   .a = a,
                                   .row_stride = depth,
                                   .column_stride = 1,
                                   .packed = packed,
                                   .k = depth,
                                   .interleaved_prefetch = interleaved};
    kernels->matmul(&matmul, SV_PACKED_F32, M, 0, N);
    for (size_t i = 0; i < M * N; i++) {
        const bool fused = has_multiply_add(k->isa);
        const float *row = a + i / N * depth, *column = b + i % N;
        const float wanted = accumulate ? plain_sum(before[i], row, column, depth, fused)
                                        : chain(bias[i % N], row, column, depth, fused);
        ck_assert_msg(c[i] == wanted,
                      "%s, k %zu, accumulate %d, interleaved %d, element %zu: %a for %a",
                      sv_isa_name(k->isa), depth, accumulate, interleaved, i, c[i], wanted);
    }
    free(a);
    free(b);
    free(bias);
    free(c);
    free(before);
    free(packed);
}

START_TEST(test_matmuls_have_the_bits_of_their_definition)
{
    KERNELS(k);
    for (size_t i = 0; i < DEPTH_COUNT; i++)
        for (int form = 0; form < 4; form++)
            compare_matmul(k, DEPTHS[i], form & 1, form >> 1);
}
END_TEST

/* Rows with and without remainders of vectors of 4, 8 and 16 lanes. */
static const size_t COLUMNS[] = {1, 3, 8, 20, 31, 48, 72, 197};
enum { WIDTH_COUNT = sizeof COLUMNS / sizeof *COLUMNS, ROWS = 7 };

typedef struct rows {
    const sv_kernels *k;
    size_t columns;
    float *x, *weight, *bias, *y;
} rows;

static void run_gelu(const rows *r)
{
    const sv_dropout none = {NULL, 1};
    r->k->gelu(r->y, NULL, r->x, none, (sv_rows){0, ROWS, r->columns, r->columns});
}

static void run_layer_norm(const rows *r)
{
    float mean[ROWS], rstd[ROWS];
    r->k->layer_norm(r->y, mean, rstd, r->x, r->weight, r->bias, ROWS, r->columns, 1e-6f);
}

static void run_rms_norm(const rows *r)
{
    float mean[ROWS], rstd[ROWS];
    r->k->layer_norm(r->y, mean, rstd, r->x, r->weight, NULL, ROWS, r->columns, 1e-6f);
}

static void run_group_norm(const rows *r)
{
    float mean[ROWS], rstd[ROWS];
    r->k->norm_moments(mean, rstd, r->x, ROWS, r->columns, 1e-6f);
    r->k->norm_apply(r->y, r->x, mean, rstd, r->weight, r->bias, ROWS, r->columns);
}

static void run_softmax(const rows *r)
{
    sv_attention_rows block = {.rows = ROWS, .columns = r->columns, .scale = 0.75f, .keep = 1};
    memcpy(r->y, r->x, ROWS * r->columns * sizeof *r->y);
    r->k->attention_softmax(r->y, r->y, r->y, &block);
}

static void run_mean_tokens(const rows *r)
{
    r->k->mean_tokens(r->y, r->x, 1, ROWS, r->columns);
}

static void run_sigmoid_gate(const rows *r)
{
    const sv_dropout none = {NULL, 1};
    r->k->sigmoid_gate(r->y, NULL, r->x, (sv_sigmoid_gate){1.702f, 0.0713f}, none,
                       (sv_rows){0, ROWS, r->columns, r->columns});
}

static void run_residual(const rows *r)
{
    const float scale = 0.7f;
    r->k->residual(r->y, r->x, r->weight, SV_NO_DROPOUT, &scale, ROWS,
                   (sv_rows){0, 1, r->columns, r->columns});
}

/* x has two halves. */
static void run_swiglu(const rows *r)
{
    r->k->swiglu(r->y, r->x, SV_NO_DROPOUT, (sv_rows){0, ROWS / 2, r->columns, r->columns});
}

static void run_depthwise(const rows *r)
{
    const sv_depthwise_geometry map = {1, ROWS, r->columns};
    float *weight = numbers(9 * r->columns);
    r->k->depthwise(r->y, r->x, weight, r->bias, &map);
    free(weight);
}

/* Each row of o is a head. */
static void run_attention_sum(const rows *r)
{
    const sv_head_sum sum = {.o = r->weight,
                             .bias = r->bias,
                             .inv_row_sum = r->bias + 1,
                             .rows = 1,
                             .tokens = 0,
                             .heads = ROWS,
                             .c = r->columns,
                             .drop_path_scale = 0.7f};
    r->k->attention_sum(r->y, r->x, &sum);
}

static const struct {
    const char *name;
    void (*run)(const rows *r);
    uint64_t sum;
} ROW_KERNELS[] = {
    {"gelu", run_gelu, 0x98388f47d5ba3c25},
    {"layer_norm", run_layer_norm, 0xe9db2b79c809802e},
    {"rms_norm", run_rms_norm, 0x0ca6c31b02c81ad4},
    {"group_norm", run_group_norm, 0xa9043278fc736fef},
    {"attention_softmax", run_softmax, 0x55c775ea54e98701},
    {"mean_tokens", run_mean_tokens, 0xfcf3e2aae7294bcf},
    {"sigmoid_gate", run_sigmoid_gate, 0x42df2e7b901a3952},
    {"residual", run_residual, 0x09f23ed389a7f2b2},
    {"swiglu", run_swiglu, 0xa5113692475293bf},
    {"depthwise", run_depthwise, 0x945239f95ef0e29c},
    {"attention_sum", run_attention_sum, 0xd823a30814be4a96},
};
enum { ROW_KERNEL_COUNT = sizeof ROW_KERNELS / sizeof *ROW_KERNELS };

/* The sum of the sums of all widths. */
static uint64_t run_all_widths(const sv_kernels *k, void (*run)(const rows *r))
{
    uint64_t sum = 0;
    for (size_t i = 0; i < WIDTH_COUNT; i++) {
        const size_t elements = ROWS * COLUMNS[i];
        state = (uint32_t)i;
        rows r = {k,
                  COLUMNS[i],
                  numbers(elements),
                  numbers(elements),
                  numbers(elements),
                  calloc(elements, sizeof(float))};
        for (size_t j = 0; j < elements; j++)
            r.x[j] *= 5;
        run(&r);
        sum = sum * 31 + sum_of(r.y, elements);
        free(r.x);
        free(r.weight);
        free(r.bias);
        free(r.y);
    }
    return sum;
}

START_TEST(test_row_kernels_have_recorded_bits)
{
    KERNELS(k);
    if (!has_multiply_add(k->isa)) {
        skip_check("no fused multiply-adds");
        return;
    }
    for (size_t i = 0; i < ROW_KERNEL_COUNT; i++) {
        const uint64_t sum = run_all_widths(k, ROW_KERNELS[i].run);
        ck_assert_msg(sum == ROW_KERNELS[i].sum, "%s of %s: 0x%016llx for 0x%016llx",
                      sv_isa_name(k->isa), ROW_KERNELS[i].name, (unsigned long long)sum,
                      (unsigned long long)ROW_KERNELS[i].sum);
    }
}
END_TEST

static const struct {
    const char *preset;
    uint64_t sum;
} MODELS[] = {
    {"shiftvit-cifar10", 0xca3b998dfdcc636e},
    {"vit-cifar100", 0x04a84a962c44cd6c},
    {"slvit-cifar100", 0x7c11b675f1244c01},
};
enum { MODEL_COUNT = sizeof MODELS / sizeof *MODELS, IMAGES = 2 };

/* The sum of the int8 logits of a new model of the preset. */
static uint64_t run_model(const char *preset)
{
    svit_model_config config;
    svit_session_config inference;
    svit_context *context;
    svit_model *model;
    svit_session *session;
    OK(svit_model_config_preset(&config, sizeof config, preset, &err));
    OK(svit_session_config_init(&inference, sizeof inference));
    inference.mode = SVIT_MODE_INFER;
    inference.max_batch = IMAGES;
    inference.compute = SVIT_COMPUTE_INT8;
    OK(svit_context_create(&context, NULL, &err));
    OK(svit_model_create(&model, context, &config, 1, &err));
    OK(svit_session_create(&session, model, &inference, &err));
    state = 1;
    float *images =
        numbers((size_t)IMAGES * config.input_height * config.input_width * config.in_channels);
    float *logits = calloc((size_t)IMAGES * config.num_classes, sizeof *logits);
    OK(svit_forward(session, images, IMAGES, logits, &err));
    const uint64_t sum = sum_of(logits, (size_t)IMAGES * config.num_classes);
    free(images);
    free(logits);
    svit_session_free(session);
    svit_model_free(model);
    svit_context_free(context);
    return sum;
}

/* Iteration i: model i % MODEL_COUNT on instruction set i / MODEL_COUNT, to which SHIFTVIT_TEST_ISA
 * limits contexts. */
START_TEST(test_models_in_int8_have_recorded_logits)
{
    const sv_isa isa = (sv_isa)(_i / MODEL_COUNT);
    const size_t which = (size_t)_i % MODEL_COUNT;
#ifndef SV_LOW_PRECISION
    skip_check("int8 is no part of this build");
    return;
#endif
    if (!sv_cpu_has(isa) || !has_multiply_add(isa)) {
        skip_check(sv_isa_name(isa));
        return;
    }
    ck_assert_int_eq(setenv("SHIFTVIT_TEST_ISA", sv_isa_name(isa), 1), 0);
    const uint64_t sum = run_model(MODELS[which].preset);
    ck_assert_msg(sum == MODELS[which].sum, "%s on %s: 0x%016llx for 0x%016llx",
                  MODELS[which].preset, sv_isa_name(isa), (unsigned long long)sum,
                  (unsigned long long)MODELS[which].sum);
}
END_TEST

static Suite *one_result_suite(void)
{
    Suite *suite = suite_create("one_result");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, test_matmuls_have_the_bits_of_their_definition, 0, ISA_COUNT);
    tcase_add_loop_test(all, test_row_kernels_have_recorded_bits, 0, ISA_COUNT);
    tcase_add_loop_test(all, test_models_in_int8_have_recorded_logits, 0,
                        (SV_ISA_NEON_I8MM + 1) * MODEL_COUNT);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(one_result_suite)
