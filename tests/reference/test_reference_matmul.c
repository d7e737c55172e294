/* Matmuls of random shapes with random epilogues, of every backend on every instruction set that it
 * supports, compared with the reference. Compiled once more in double, for the backends in double.
 */
#include "library_matmul.h"
#include "plain_operations.h"
#include "random_shapes.h"

#include <math.h>

enum { SHAPE_COUNT = 40 };

/* Half a unit in the last place of 1. */
#ifdef SV_DOUBLE
#define UNIT 0x1p-53
#else
#define UNIT 0x1p-24
#endif

/* Bounds on the slope of GELU, and on that of its derivative. */
#define GELU_SLOPE 1.13
#define GELU_CURVATURE 0.8

/* The absolute error of the library's GELU and its derivative: about one unit in the last place of
 * a float32 value of 8. */
#define GELU_ERROR (10 * UNIT)

/* The operands of a matmul; all values are of float32, and between -1 and 1. */
typedef struct operands {
    size_t m, n, k;
    double *x, *weight, *bias;                               /* [m, k], [n, k], [n] */
    double *before, *residual;                               /* [m, n] */
    double *dropout;                                         /* [m, n] */
    double *drop_path_scale;                                 /* [m] */
    double *pre_gelu;                                        /* [m, n] */
    double *got, *wanted, *got_other, *wanted_other, *bound; /* [m, n] */
    reference_epilogue epilogue;
    library_layout layout;
    random_state state;
} operands;

static double *draw(random_state *state, size_t elements)
{
    double *values = malloc(elements * sizeof *values);
    ck_assert_ptr_nonnull(values);
    for (size_t i = 0; i < elements; i++)
        values[i] = (float)random_centred(state);
    return values;
}

/* Elements of dropout or DropPath: 0, or `scale`. */
static double *draw_dropped(random_state *state, size_t elements, double scale)
{
    double *values = draw(state, elements);
    for (size_t i = 0; i < elements; i++)
        values[i] = values[i] < -0.5 ? 0 : scale;
    return values;
}

/* A size: the width of a vector or micropanel, one more or less, or any up to `max`. */
static size_t draw_size(random_state *state, size_t max)
{
    static const size_t widths[] = {1, 4, 8, 14, 16, 32, 48, 64, 96, 128, 144, 192};
    size_t size = widths[random_between(state, 0, sizeof widths / sizeof *widths - 1)];
    if (random_between(state, 0, 2) == 0)
        size = random_between(state, 1, max);
    else if (random_coin(state))
        size += random_between(state, 0, 2) - (size > 1);
    return size < 1 ? 1 : size > max ? max : size;
}

/* Dropout and DropPath come only with an operation that applies them. */
static void draw_epilogue(operands *o)
{
    reference_epilogue *e = &o->epilogue;
    const size_t images = random_between(&o->state, 1, 4);
    e->accumulate = random_between(&o->state, 0, 3) == 0;
    e->bias = !e->accumulate && random_coin(&o->state) ? o->bias : NULL;
    e->pre_gelu = random_coin(&o->state) ? o->wanted_other : NULL;
    e->residual = random_coin(&o->state) ? o->residual : NULL;
    if ((e->pre_gelu || e->residual) && random_coin(&o->state))
        e->dropout = o->dropout;
    e->image_tokens = (o->m + images - 1) / images;
    if (e->residual && random_coin(&o->state))
        e->drop_path_scale = o->drop_path_scale;
    o->layout.first_token = e->image_tokens * random_between(&o->state, 0, 50);
}

static operands draw_operands(uint64_t seed)
{
    operands o = {.state = 0x9E3779B97F4A7C15u * seed};
    o.m = draw_size(&o.state, 70);
    o.n = draw_size(&o.state, 420);
    o.k = draw_size(&o.state, random_between(&o.state, 0, 7) ? 200 : 1100);
    o.x = draw(&o.state, o.m * o.k);
    o.weight = draw(&o.state, o.n * o.k);
    o.bias = draw(&o.state, o.n);
    double **const of_result[] = {&o.before,    &o.residual,     &o.pre_gelu, &o.got,
                                  &o.got_other, &o.wanted_other, &o.bound};
    for (size_t i = 0; i < sizeof of_result / sizeof *of_result; i++)
        *of_result[i] = draw(&o.state, o.m * o.n);
    o.wanted = malloc(o.m * o.n * sizeof(double));
    ck_assert_ptr_nonnull(o.wanted);
    o.dropout = draw_dropped(&o.state, o.m * o.n, 1.5);
    o.drop_path_scale = draw_dropped(&o.state, o.m, 1.25);
    draw_epilogue(&o);
    o.layout.transposed_x = random_coin(&o.state);
    o.layout.transposed_weight = random_coin(&o.state);
    o.layout.split = random_coin(&o.state) ? library_split(o.n, random_bits(&o.state)) : 0;
    return o;
}

static void free_operands(operands *o)
{
    double *const all[] = {o->x,         o->weight,          o->bias,     o->before, o->residual,
                           o->dropout,   o->drop_path_scale, o->pre_gelu, o->got,    o->wanted,
                           o->got_other, o->wanted_other,    o->bound};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static double sum_of_sizes(const double *values, size_t elements)
{
    double sum = 0;
    for (size_t i = 0; i < elements; i++)
        sum += fabs(values[i]);
    return sum;
}

/* The error that the sum of element (i, j) may have: the roundings of k additions, which grow with
 * sqrt(k) as a random walk does, and the rounding of the operands by a backend that rounds them.
 * Elements of int8 are off by a part of their row's largest element, which is at most 1. */
static double sum_bound(const subject *of, const operands *o, size_t i, size_t j)
{
    const double *x = o->x + i * o->k, *weight = o->weight + j * o->k;
    double terms = o->epilogue.bias ? fabs(o->bias[j]) : 0;
    terms = o->epilogue.accumulate ? fabs(o->before[i * o->n + j]) : terms;
    double magnitudes = 0;
    for (size_t p = 0; p < o->k; p++)
        magnitudes += fabs(x[p] * weight[p]);
    double operands_bound = magnitudes * (of->a_error + of->b_error);
    if (of->b_error == BYTE)
        operands_bound = sum_of_sizes(x, o->k) * of->b_error +
                         sum_of_sizes(weight, o->k) * of->a_error +
                         (double)o->k * of->a_error * of->b_error;
    return (terms + magnitudes) * UNIT * (2 + sqrt((double)o->k)) + 1.01 * operands_bound;
}

static void check(const subject *of, const operands *o, const double *got, const double *wanted,
                  const char *what)
{
    for (size_t i = 0; i < o->m * o->n; i++)
        if (!(fabs(got[i] - wanted[i]) <= o->bound[i]))
            ck_abort_msg("%s, %s of %zu x %zu x %zu: [%zu, %zu] is %.9g, the reference %.9g, and "
                         "the bound of the difference is %.3g",
                         of->gemm->name, what, o->m, o->n, o->k, i / o->n, i % o->n, got[i],
                         wanted[i], o->bound[i]);
}

/* The bound of an epilogue's result. The library applies each of up to four operations, which
 * rounds once, to values of these sizes. */
static void set_bounds(const subject *of, operands *o)
{
    const reference_epilogue *e = &o->epilogue;
    for (size_t i = 0; i < o->m * o->n; i++) {
        double bound = sum_bound(of, o, i / o->n, i % o->n), scale = 1;
        if (e->pre_gelu)
            bound = GELU_SLOPE * bound + GELU_ERROR * (1 + fabs(e->pre_gelu[i]));
        if (e->dropout)
            scale *= e->dropout[i];
        if (e->drop_path_scale)
            scale *= e->drop_path_scale[i / o->n / e->image_tokens];
        bound *= scale;
        const double size = fabs(o->wanted[i]) + (e->residual ? 2 * fabs(e->residual[i]) : 0);
        o->bound[i] = bound + 4 * UNIT * size;
    }
}

START_TEST(test_matmuls_with_their_epilogues_equal_the_reference)
{
    SUBJECT(of, kernels);
    for (uint64_t seed = 1; seed <= SHAPE_COUNT; seed++) {
        operands o = draw_operands(seed);
        const size_t bytes = o.m * o.n * sizeof(double);
        memcpy(o.wanted, o.before, bytes);
        memcpy(o.got, o.before, bytes);
        reference_matmul(o.wanted, o.x, o.weight, &o.epilogue, o.m, o.n, o.k);
        reference_epilogue epilogue = o.epilogue;
        epilogue.pre_gelu = o.epilogue.pre_gelu ? o.got_other : NULL;
        library_matmul(of, kernels, &o.layout, o.got, o.x, o.weight, &epilogue, o.m, o.n, o.k);
        set_bounds(of, &o);
        check(of, &o, o.got, o.wanted, "the result");
        for (size_t i = 0; i < o.m * o.n; i++)
            o.bound[i] = sum_bound(of, &o, i / o.n, i % o.n);
        if (epilogue.pre_gelu)
            check(of, &o, o.got_other, o.wanted_other, "GELU's input");
        free_operands(&o);
    }
}
END_TEST

START_TEST(test_matmuls_through_the_derivative_of_gelu_equal_the_reference)
{
    SUBJECT(of, kernels);
    if (of->b_error == BYTE)
        return; /* int8 only infers */
    for (uint64_t seed = 1; seed <= SHAPE_COUNT; seed++) {
        operands o = draw_operands(seed);
        const double *dropout = o.epilogue.dropout;
        o.epilogue = (reference_epilogue){.bias = NULL};
        reference_matmul(o.wanted, o.x, o.weight, &o.epilogue, o.m, o.n, o.k);
        for (size_t i = 0; i < o.m * o.n; i++) {
            const double scale = dropout ? dropout[i] : 1;
            const double slope = plain_activation_derivative(o.pre_gelu[i], SVIT_ACTIVATION_GELU);
            const double size = GELU_ERROR * fabs(o.wanted[i]);
            o.bound[i] = scale * (GELU_SLOPE * sum_bound(of, &o, i / o.n, i % o.n) + size);
            o.wanted[i] *= scale * slope;
            o.wanted_other[i] = scale * plain_activation(o.pre_gelu[i], SVIT_ACTIVATION_GELU);
        }
        library_matmul_gelu_backward(of, kernels, &o.layout, o.got, o.got_other, o.x, o.weight,
                                     o.pre_gelu, dropout, o.m, o.n, o.k);
        check(of, &o, o.got, o.wanted, "the result");
        for (size_t i = 0; i < o.m * o.n; i++)
            o.bound[i] = 1.5 * GELU_ERROR;
        check(of, &o, o.got_other, o.wanted_other, "the hidden activation");
        free_operands(&o);
    }
}
END_TEST

/* The reference's weight gradient of y = x weight^T, dweight += dy^T x, is the library's matmul of
 * dy[m, n] and x[m, k]. Its sums run over the m rows. */
START_TEST(test_weight_gradients_equal_the_backward_of_the_reference)
{
    SUBJECT(of, kernels);
    if (of->b_error == BYTE)
        return; /* int8 only infers */
    const double rounding = library_weight_gradient_rounding(of);
    for (uint64_t seed = 1; seed <= SHAPE_COUNT; seed++) {
        operands o = draw_operands(seed);
        const reference_epilogue plain = {.bias = NULL};
        const size_t weights = o.n * o.k;
        double *dx = draw(&o.state, o.m * o.k), *sizes = calloc(weights, sizeof *sizes);
        double *wanted = draw(&o.state, weights), *got = malloc(weights * sizeof *got);
        memcpy(got, wanted, weights * sizeof *got);
        reference_matmul_backward(dx, wanted, NULL, NULL, o.before, o.x, o.weight, &plain, o.m, o.n,
                                  o.k);
        library_weight_gradient(of, kernels, got, o.before, o.x, o.n, o.k, o.m);
        for (size_t i = 0; i < o.m * o.n; i++)
            for (size_t p = 0; p < o.k; p++)
                sizes[i % o.n * o.k + p] += fabs(o.before[i] * o.x[i / o.n * o.k + p]);
        for (size_t i = 0; i < weights; i++) {
            const double bound =
                (1 + sizes[i]) * (UNIT * (2 + sqrt((double)o.m))) + 1.01 * rounding * sizes[i];
            if (!(fabs(got[i] - wanted[i]) <= bound))
                ck_abort_msg("%s, %zu x %zu x %zu: [%zu] is %.9g, the reference %.9g",
                             of->gemm->name, o.n, o.k, o.m, i, got[i], wanted[i]);
        }
        free(dx);
        free(sizes);
        free(wanted);
        free(got);
        free_operands(&o);
    }
}
END_TEST

static Suite *matmul_suite(void)
{
    Suite *suite = suite_create("reference matmuls");
    TCase *all = tcase_create("random shapes");
    tcase_add_loop_test(all, test_matmuls_with_their_epilogues_equal_the_reference, 0,
                        SUBJECT_COUNT);
    tcase_add_loop_test(all, test_matmuls_through_the_derivative_of_gelu_equal_the_reference, 0,
                        SUBJECT_COUNT);
    tcase_add_loop_test(all, test_weight_gradients_equal_the_backward_of_the_reference, 0,
                        SUBJECT_COUNT);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(matmul_suite)
