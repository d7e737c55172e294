/* Errors of the losses and of the functions from logits to probabilities. They compute in double
 * and round their results once. */
#include "rows.h"

#include <shiftvit/loss.h>

#include <math.h>
#include <stdlib.h>

enum { N = 13, CLASSES = 37, ELEMENTS = N * CLASSES };
#define SMOOTHING 0.1f

typedef struct operands {
    float logits[ELEMENTS], targets[ELEMENTS], weights[CLASSES];
    int32_t labels[N];
    float loss, gradient[ELEMENTS];
} operands;

static void fill(numbers_errors *errors, operands *o)
{
    numbers_fill(errors, o->logits, ELEMENTS);
    numbers_fill_between(errors, o->targets, ELEMENTS, 0, 1);
    numbers_fill_between(errors, o->weights, CLASSES, 0.1, 3);
    for (size_t i = 0; i < N; i++)
        o->labels[i] = (int32_t)(i * 7 % CLASSES);
}

static void must(svit_status status)
{
    if (status != SVIT_OK)
        abort();
}

/* log p of one row of logits. */
static void log_softmax(long double *log_p, const float *row)
{
    long double max = row[0], sum = 0;
    for (size_t k = 0; k < CLASSES; k++)
        max = fmaxl(max, row[k]);
    for (size_t k = 0; k < CLASSES; k++)
        sum += expl(row[k] - max);
    for (size_t k = 0; k < CLASSES; k++)
        log_p[k] = row[k] - max - logl(sum);
}

static void run_softmax(numbers_errors *errors, const sv_kernels *k)
{
    static operands o;
    static float p[ELEMENTS];
    (void)k;
    fill(errors, &o);
    must(svit_softmax(o.logits, N, CLASSES, p, NULL));
    for (size_t i = 0; i < N; i++) {
        long double log_p[CLASSES];
        log_softmax(log_p, o.logits + i * CLASSES);
        for (size_t c = 0; c < CLASSES; c++)
            numbers_see(errors, p[i * CLASSES + c], expl(log_p[c]), expl(log_p[c]), "p",
                        i * CLASSES + c);
    }
}

static long double sigmoid(long double z)
{
    return z < 0 ? expl(z) / (1 + expl(z)) : 1 / (1 + expl(-z));
}

static void run_sigmoid(numbers_errors *errors, const sv_kernels *k)
{
    static operands o;
    static float p[ELEMENTS];
    (void)k;
    fill(errors, &o);
    must(svit_sigmoid(o.logits, N, CLASSES, p, NULL));
    for (size_t i = 0; i < ELEMENTS; i++)
        numbers_see(errors, p[i], sigmoid(o.logits[i]), sigmoid(o.logits[i]), "p", i);
}

/* Compares the mean over `divisor` of the cross-entropies with targets t[N, CLASSES]. */
static void see_cross_entropy(numbers_errors *errors, const operands *o, const long double *t,
                              long double divisor)
{
    long double loss = 0, terms = 0;
    for (size_t i = 0; i < N; i++) {
        long double log_p[CLASSES], sum = 0;
        log_softmax(log_p, o->logits + i * CLASSES);
        for (size_t c = 0; c < CLASSES; c++)
            sum += t[i * CLASSES + c];
        for (size_t c = 0; c < CLASSES; c++) {
            long double target = t[i * CLASSES + c], p = expl(log_p[c]) * sum;
            loss -= target * log_p[c] / divisor;
            terms += fabsl(target * log_p[c] / divisor);
            numbers_see(errors, o->gradient[i * CLASSES + c], (p - target) / divisor,
                        (p + target) / divisor, "dlogits", i * CLASSES + c);
        }
    }
    numbers_see(errors, o->loss, loss, terms, "loss", 0);
}

static long double smoothed(const operands *o, size_t i)
{
    int is_label = (size_t)o->labels[i / CLASSES] == i % CLASSES;
    return (long double)SMOOTHING / CLASSES + (is_label ? 1 - (long double)SMOOTHING : 0);
}

static void run_cross_entropy(numbers_errors *errors, const sv_kernels *k)
{
    static operands o;
    static long double t[ELEMENTS];
    (void)k;
    fill(errors, &o);
    must(svit_cross_entropy(o.logits, o.labels, N, CLASSES, SMOOTHING, &o.loss, o.gradient, NULL));
    for (size_t i = 0; i < ELEMENTS; i++)
        t[i] = smoothed(&o, i);
    see_cross_entropy(errors, &o, t, N);
}

static void run_cross_entropy_soft(numbers_errors *errors, const sv_kernels *k)
{
    static operands o;
    static long double t[ELEMENTS];
    (void)k;
    fill(errors, &o);
    must(svit_cross_entropy_soft(o.logits, o.targets, N, CLASSES, &o.loss, o.gradient, NULL));
    for (size_t i = 0; i < ELEMENTS; i++)
        t[i] = o.targets[i];
    see_cross_entropy(errors, &o, t, N);
}

static void run_cross_entropy_weighted(numbers_errors *errors, const sv_kernels *k)
{
    static operands o;
    static long double t[ELEMENTS];
    long double divisor = 0;
    (void)k;
    fill(errors, &o);
    must(svit_cross_entropy_weighted(o.logits, o.labels, o.weights, N, CLASSES, SMOOTHING, &o.loss,
                                     o.gradient, NULL));
    for (size_t i = 0; i < ELEMENTS; i++)
        t[i] = smoothed(&o, i) * o.weights[i % CLASSES];
    for (size_t i = 0; i < N; i++)
        divisor += o.weights[o.labels[i]];
    see_cross_entropy(errors, &o, t, divisor);
}

/* log sigmoid(z) */
static long double log_sigmoid(long double z)
{
    return (z < 0 ? z : 0) - log1pl(expl(-fabsl(z)));
}

static void run_binary_cross_entropy(numbers_errors *errors, const sv_kernels *k)
{
    static operands o;
    long double loss = 0;
    (void)k;
    fill(errors, &o);
    must(svit_binary_cross_entropy(o.logits, o.targets, o.weights, N, CLASSES, SMOOTHING, &o.loss,
                                   o.gradient, NULL));
    for (size_t i = 0; i < ELEMENTS; i++) {
        long double s = SMOOTHING, t = (1 - s) * o.targets[i] + s / 2, z = o.logits[i];
        long double w = o.weights[i % CLASSES], p = sigmoid(z);
        loss -= (w * t * log_sigmoid(z) + (1 - t) * log_sigmoid(-z)) / ELEMENTS;
        numbers_see(errors, o.gradient[i], (w * t * (p - 1) + (1 - t) * p) / ELEMENTS,
                    (w * t * sigmoid(-z) + (1 - t) * p) / ELEMENTS, "dlogits", i);
    }
    numbers_see(errors, o.loss, loss, loss, "loss", 0);
}

static void run_mean_squared_error(numbers_errors *errors, const sv_kernels *k)
{
    static operands o;
    long double loss = 0;
    (void)k;
    fill(errors, &o);
    numbers_fill(errors, o.targets, ELEMENTS);
    must(svit_mean_squared_error(o.logits, o.targets, N, CLASSES, &o.loss, o.gradient, NULL));
    for (size_t i = 0; i < ELEMENTS; i++) {
        long double d = (long double)o.logits[i] - o.targets[i];
        loss += d * d / ELEMENTS;
        numbers_see(errors, o.gradient[i], 2 * d / ELEMENTS, fabsl(2 * d / ELEMENTS),
                    "dpredictions", i);
    }
    numbers_see(errors, o.loss, loss, loss, "loss", 0);
}

/* Half an ulp, and the errors of double. */
#define ROUNDED_ONCE 0.50001
#define DOUBLE "double, rounded once"
#define LOSS(name, measure, run)                                                                   \
    {                                                                                              \
        name, NUMBERS_ALL, measure, ROUNDED_ONCE, DOUBLE, run, 1, 0                                \
    }

static const numbers_row ROWS[] = {
    LOSS("svit_softmax", NUMBERS_VALUE, run_softmax),
    LOSS("svit_sigmoid", NUMBERS_VALUE, run_sigmoid),
    LOSS("svit_cross_entropy", NUMBERS_TERMS, run_cross_entropy),
    LOSS("svit_cross_entropy_soft", NUMBERS_TERMS, run_cross_entropy_soft),
    LOSS("svit_cross_entropy_weighted", NUMBERS_TERMS, run_cross_entropy_weighted),
    LOSS("svit_binary_cross_entropy", NUMBERS_TERMS, run_binary_cross_entropy),
    LOSS("svit_mean_squared_error", NUMBERS_VALUE, run_mean_squared_error),
};

NUMBERS_ROWS(numbers_losses, ROWS);
