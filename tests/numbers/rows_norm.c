/* Errors of the norms. */
#include "rows.h"

#include "base/threads/fp_env.h"

#include <float.h>
#include <math.h>

enum { TOKENS = 21, WIDTH = 53, ELEMENTS = TOKENS * WIDTH };
#define EPSILON 1e-5f

/* Inputs of a norm and of its backward. Weights and gradients are ordinary where x is large. */
typedef struct operands {
    float x[ELEMENTS], dy[ELEMENTS], weight[WIDTH], bias[WIDTH];
} operands;

static void fill(numbers_errors *errors, operands *o)
{
    numbers_fill(errors, o->x, ELEMENTS);
    if (errors->range == NUMBERS_LARGE) {
        numbers_fill_between(errors, o->dy, ELEMENTS, -1, 1);
        numbers_fill_between(errors, o->weight, WIDTH, -1, 1);
        numbers_fill_between(errors, o->bias, WIDTH, -1, 1);
        return;
    }
    numbers_fill(errors, o->dy, ELEMENTS);
    numbers_fill(errors, o->weight, WIDTH);
    numbers_fill(errors, o->bias, WIDTH);
}

/* The moments of `count` elements, their mean magnitude, and root mean square. */
typedef struct moments {
    long double mean, rstd, magnitude, rms;
} moments;

static moments moments_of(const float *x, size_t count)
{
    moments m = {0, 0, 0, 0};
    long double variance = 0;
    for (size_t i = 0; i < count; i++) {
        m.mean += numbers_in(x[i]) / count;
        m.magnitude += fabsl(numbers_in(x[i])) / count;
        m.rms += numbers_in(x[i]) * numbers_in(x[i]) / count;
    }
    for (size_t i = 0; i < count; i++)
        variance += (numbers_in(x[i]) - m.mean) * (numbers_in(x[i]) - m.mean) / count;
    m.rms = sqrtl(m.rms);
    m.rstd = 1 / sqrtl(variance + (long double)EPSILON);
    return m;
}

/* The sum of the magnitudes of what rstd depends on: a change of each x by a part of itself changes
 * rstd by at most that part of rstd * (1 + rms * rstd). */
static void see_moments(numbers_errors *errors, float mean, float rstd, const moments *m, size_t t)
{
    numbers_see(errors, mean, m->mean, m->magnitude, "mean", t);
    numbers_see(errors, rstd, m->rstd, m->rstd * (1 + m->rms * m->rstd), "rstd", t);
}

static void run_layer_norm(numbers_errors *errors, const sv_kernels *k)
{
    static operands o;
    static float y[ELEMENTS], mean[TOKENS], rstd[TOKENS];
    fill(errors, &o);
    NUMBERS_CALL(k->layer_norm(y, mean, rstd, o.x, o.weight, o.bias, TOKENS, WIDTH, EPSILON));
    for (size_t t = 0; t < TOKENS; t++) {
        const moments m = moments_of(o.x + t * WIDTH, WIDTH);
        see_moments(errors, mean[t], rstd[t], &m, t);
        for (size_t c = 0; c < WIDTH; c++) {
            long double x = numbers_in(o.x[t * WIDTH + c]), w = numbers_in(o.weight[c]);
            long double xhat = (x - m.mean) * m.rstd, b = numbers_in(o.bias[c]);
            long double terms = fabsl(w) * m.rstd * (fabsl(x) + m.magnitude) +
                                fabsl(w * xhat) * (1 + m.rms * m.rstd) + fabsl(b);
            numbers_see(errors, y[t * WIDTH + c], w * xhat + b, terms, "y", t * WIDTH + c);
        }
    }
}

/* The moments without a mean, as a root-mean-square norm has them. */
static moments squares_of(const float *x, size_t count)
{
    moments m = moments_of(x, count);
    m.mean = 0;
    m.rstd = 1 / sqrtl(m.rms * m.rms + (long double)EPSILON);
    return m;
}

/* A root-mean-square norm: layer_norm and, of the same moments, norm_apply without a bias. */
static void run_rms_norm(numbers_errors *errors, const sv_kernels *k)
{
    static operands o;
    static float y[ELEMENTS], again[ELEMENTS], mean[TOKENS], rstd[TOKENS];
    fill(errors, &o);
    NUMBERS_CALL(k->layer_norm(y, mean, rstd, o.x, o.weight, NULL, TOKENS, WIDTH, EPSILON));
    NUMBERS_CALL(k->norm_apply(again, o.x, mean, rstd, o.weight, NULL, TOKENS, WIDTH));
    for (size_t i = 0; i < ELEMENTS; i++) {
        const moments m = squares_of(o.x + i / WIDTH * WIDTH, WIDTH);
        const long double wanted = numbers_in(o.weight[i % WIDTH]) * numbers_in(o.x[i]) * m.rstd;
        const long double terms = fabsl(wanted) * (1 + m.rms * m.rstd);
        numbers_see(errors, mean[i / WIDTH], 0, 0, "mean", i);
        numbers_see(errors, y[i], wanted, terms, "y", i);
        numbers_see(errors, again[i], wanted, terms, "y again", i);
    }
}

static void run_norm_moments(numbers_errors *errors, const sv_kernels *k)
{
    static float x[ELEMENTS];
    float mean[TOKENS], rstd[TOKENS];
    numbers_fill(errors, x, ELEMENTS);
    NUMBERS_CALL(k->norm_moments(mean, rstd, x, TOKENS, WIDTH, EPSILON));
    const moments m = moments_of(x, ELEMENTS);
    for (size_t t = 0; t < TOKENS; t++)
        see_moments(errors, mean[t], rstd[t], &m, t);
}

/* The moments that a forward has saved, rounded to float32. */
static void save_moments(float *mean, float *rstd, const operands *o)
{
    for (size_t t = 0; t < TOKENS; t++) {
        const moments m = moments_of(o->x + t * WIDTH, WIDTH);
        mean[t] = (float)m.mean;
        rstd[t] = (float)m.rstd;
    }
}

static void run_norm_apply(numbers_errors *errors, const sv_kernels *k)
{
    static operands o;
    static float y[ELEMENTS], mean[TOKENS], rstd[TOKENS];
    fill(errors, &o);
    save_moments(mean, rstd, &o);
    NUMBERS_CALL(k->norm_apply(y, o.x, mean, rstd, o.weight, o.bias, TOKENS, WIDTH));
    for (size_t i = 0; i < ELEMENTS; i++) {
        long double x = numbers_in(o.x[i]), m = numbers_in(mean[i / WIDTH]);
        long double factor = numbers_in(o.weight[i % WIDTH]) * rstd[i / WIDTH];
        long double b = numbers_in(o.bias[i % WIDTH]);
        numbers_see(errors, y[i], (x - m) * factor + b,
                    (fabsl(x) + fabsl(m)) * fabsl(factor) + fabsl(b), "y", i);
    }
}

static void run_norm_backward_parameters(numbers_errors *errors, const sv_kernels *k)
{
    static operands o;
    float mean[TOKENS], rstd[TOKENS], dweight[WIDTH], dbias[WIDTH];
    fill(errors, &o);
    save_moments(mean, rstd, &o);
    for (size_t c = 0; c < WIDTH; c++) {
        dweight[c] = o.weight[c];
        dbias[c] = o.bias[c];
    }
    errors->floor = 4 * TOKENS * (double)FLT_MIN * 400;
    NUMBERS_CALL(k->norm_backward_parameters(dweight, dbias, o.dy, o.x, mean, rstd, TOKENS, WIDTH));
    for (size_t c = 0; c < WIDTH; c++) {
        long double dw = numbers_in(o.weight[c]), db = numbers_in(o.bias[c]);
        long double dw_terms = fabsl(dw), db_terms = fabsl(db);
        for (size_t t = 0; t < TOKENS; t++) {
            long double g = numbers_in(o.dy[t * WIDTH + c]), x = numbers_in(o.x[t * WIDTH + c]);
            long double m = numbers_in(mean[t]);
            dw += g * (x - m) * rstd[t];
            dw_terms += fabsl(g) * (fabsl(x) + fabsl(m)) * rstd[t];
            db += g;
            db_terms += fabsl(g);
        }
        numbers_see(errors, dweight[c], dw, dw_terms, "dweight", c);
        numbers_see(errors, dbias[c], db, db_terms, "dbias", c);
    }
}

/* What the backward of a norm subtracts: the means of g and g * xhat over `count` elements, with
 * the means of the magnitudes of their terms. */
typedef struct means {
    long double g, gx, g_terms, gx_terms;
} means;

static means means_of(const operands *o, size_t first, size_t count, long double m, long double s)
{
    means of = {0, 0, 0, 0};
    for (size_t i = first; i < first + count; i++) {
        long double g = numbers_in(o->dy[i]) * numbers_in(o->weight[i % WIDTH]) / count;
        long double x = numbers_in(o->x[i]);
        of.g += g;
        of.g_terms += fabsl(g);
        of.gx += g * (x - m) * s;
        of.gx_terms += fabsl(g) * (fabsl(x) + fabsl(m)) * s;
    }
    return of;
}

static void see_gradients(numbers_errors *errors, const float *dx, const operands *o, size_t first,
                          size_t count, float mean, float rstd)
{
    const long double m = numbers_in(mean), s = rstd;
    const means of = means_of(o, first, count, m, s);
    for (size_t i = first; i < first + count; i++) {
        long double g = numbers_in(o->dy[i]) * numbers_in(o->weight[i % WIDTH]);
        long double x = numbers_in(o->x[i]), xhat = (x - m) * s;
        long double terms = s * (fabsl(g) + of.g_terms + (fabsl(x) + fabsl(m)) * s * of.gx_terms);
        numbers_see(errors, dx[i], s * (g - of.g - xhat * of.gx), terms, "dx", i);
    }
}

static void run_layer_norm_backward(numbers_errors *errors, const sv_kernels *k)
{
    static operands o;
    static float dx[ELEMENTS], mean[TOKENS], rstd[TOKENS];
    fill(errors, &o);
    save_moments(mean, rstd, &o);
    errors->floor = 4 * WIDTH * (double)FLT_MIN * 400;
    NUMBERS_CALL(k->layer_norm_backward(dx, o.dy, o.x, mean, rstd, o.weight, TOKENS, WIDTH));
    for (size_t t = 0; t < TOKENS; t++)
        see_gradients(errors, dx, &o, t * WIDTH, WIDTH, mean[t], rstd[t]);
}

/* dx without the mean of g. The gradient of the weight is that of any norm whose mean is 0. */
static void run_rms_norm_backward(numbers_errors *errors, const sv_kernels *k)
{
    static operands o;
    static float dx[ELEMENTS];
    const float mean[TOKENS] = {0};
    float rstd[TOKENS], dweight[WIDTH] = {0}, same[WIDTH] = {0}, dbias[WIDTH] = {0};
    fill(errors, &o);
    for (size_t t = 0; t < TOKENS; t++)
        rstd[t] = (float)squares_of(o.x + t * WIDTH, WIDTH).rstd;
    errors->floor = 4 * WIDTH * (double)FLT_MIN * 400;
    NUMBERS_CALL(k->rms_norm_backward(dx, o.dy, o.x, mean, rstd, o.weight, TOKENS, WIDTH));
    for (size_t i = 0; i < ELEMENTS; i++) {
        const long double s = rstd[i / WIDTH], x = numbers_in(o.x[i]);
        const long double g = numbers_in(o.dy[i]) * numbers_in(o.weight[i % WIDTH]);
        const means of = means_of(&o, i / WIDTH * WIDTH, WIDTH, 0, s);
        numbers_see(errors, dx[i], s * (g - x * s * of.gx),
                    s * (fabsl(g) + fabsl(x) * s * of.gx_terms), "dx", i);
    }
    NUMBERS_CALL(k->norm_backward_parameters(same, dbias, o.dy, o.x, mean, rstd, TOKENS, WIDTH));
    NUMBERS_CALL(k->norm_backward_parameters(dweight, NULL, o.dy, o.x, mean, rstd, TOKENS, WIDTH));
    for (size_t c = 0; c < WIDTH; c++)
        numbers_see(errors, dweight[c], same[c], 0, "dweight", c);
}

static void run_group_norm_backward(numbers_errors *errors, const sv_kernels *k)
{
    static operands o;
    static float dx[ELEMENTS];
    fill(errors, &o);
    const moments m = moments_of(o.x, ELEMENTS);
    float mean[TOKENS], rstd[TOKENS];
    for (size_t t = 0; t < TOKENS; t++) {
        mean[t] = (float)m.mean;
        rstd[t] = (float)m.rstd;
    }
    errors->floor = 4 * ELEMENTS * (double)FLT_MIN * 400;
    NUMBERS_CALL(k->group_norm_backward(dx, o.dy, o.x, mean, rstd, o.weight, TOKENS, WIDTH));
    see_gradients(errors, dx, &o, 0, ELEMENTS, mean[0], rstd[0]);
}

/* A sum over c elements is c / 4 additions in each of 4 lanes, or fewer, and those of the lanes. */
#define LANE_SUM(elements) ((elements) / 4 + 3)

static const numbers_row ROWS[] = {
    {"layer_norm", NUMBERS_ALL, NUMBERS_TERMS, LANE_SUM(WIDTH) + 4,
     "53 / 4 + 3 additions in 4 lanes, and 4 operations", run_layer_norm, 0, 0},
    {"rms_norm", NUMBERS_ALL, NUMBERS_TERMS, LANE_SUM(WIDTH) + 6,
     "without a bias: 53 / 4 + 3 additions in 4 lanes, and 6 operations", run_rms_norm, 0, 0},
    {"norm_moments", NUMBERS_ALL, NUMBERS_TERMS, LANE_SUM(ELEMENTS) + 4,
     "1113 / 4 + 3 additions in 4 lanes, and 4 operations", run_norm_moments, 0, 0},
    {"norm_apply", NUMBERS_ALL, NUMBERS_TERMS, 4, "4 operations", run_norm_apply, 0, 0},
    {"norm_backward_parameters", NUMBERS_ALL, NUMBERS_TERMS, TOKENS + 3,
     "21 additions, and 3 operations for each term", run_norm_backward_parameters, 0, 0},
    {"layer_norm_backward", NUMBERS_ALL, NUMBERS_TERMS, LANE_SUM(WIDTH) + 8,
     "53 / 4 + 3 additions in 4 lanes, and 8 operations", run_layer_norm_backward, 0, 0},
    {"rms_norm_backward", NUMBERS_ALL, NUMBERS_TERMS, LANE_SUM(WIDTH) + 8,
     "53 / 4 + 3 additions in 4 lanes, and 8 operations", run_rms_norm_backward, 0, 0},
    {"group_norm_backward", NUMBERS_ALL, NUMBERS_TERMS, LANE_SUM(ELEMENTS) + 8,
     "1113 / 4 + 3 additions in 4 lanes, and 8 operations", run_group_norm_backward, 0, 0},
};

NUMBERS_ROWS(numbers_norm, ROWS);
