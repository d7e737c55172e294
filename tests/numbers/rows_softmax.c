/* Errors of the softmax of attention, and of the sum over heads. */
#include "rows.h"

#include "base/threads/fp_env.h"

#include <float.h>
#include <math.h>

enum { QUERIES = 11, KEYS = 75, ELEMENTS = QUERIES * KEYS, FIRST = 27 };
enum { WORDS = 2 * KEYS };
#define SCALE (-0.75f)
#define KEEP 1.25f

typedef struct operands {
    float scores[ELEMENTS], dp[ELEMENTS], row_max[FIRST + QUERIES], inv_row_sum[FIRST + QUERIES];
    uint32_t words[WORDS];
    sv_attention_rows block;
} operands;

static void fill(numbers_errors *errors, operands *o)
{
    numbers_fill(errors, o->scores, ELEMENTS);
    numbers_fill(errors, o->dp, ELEMENTS);
    numbers_fill_words(errors, o->words, WORDS);
    o->block = (sv_attention_rows){.rows = QUERIES,
                                   .columns = KEYS,
                                   .first_row = FIRST,
                                   .scale = SCALE,
                                   .masked = 1,
                                   .mask = o->words,
                                   .keep = KEEP,
                                   .row_max = o->row_max,
                                   .inv_row_sum = o->inv_row_sum};
}

static long double factor_of(const operands *o, size_t row, size_t column)
{
    size_t query = FIRST + row;
    return o->words[query / 32 * KEYS + column] >> query % 32 & 1 ? (long double)KEEP : 0;
}

/* The weights p[KEYS] of one row, and in *largest the largest magnitude of its exponents. */
static void weights_of(long double *p, long double *largest, const operands *o, size_t row)
{
    const float *scores = o->scores + row * KEYS;
    long double max = -INFINITY, sum = 0;
    *largest = 0;
    for (size_t i = 0; i < KEYS; i++) {
        long double z = SCALE * numbers_in(scores[i]);
        if (i != FIRST + row)
            max = fmaxl(max, z);
        *largest = fmaxl(*largest, fabsl(z));
    }
    for (size_t i = 0; i < KEYS; i++) {
        p[i] = i == FIRST + row ? 0 : expl(SCALE * numbers_in(scores[i]) - max);
        sum += p[i];
    }
    for (size_t i = 0; i < KEYS; i++)
        p[i] /= sum;
}

/* A change of each score by a part of itself changes a weight by at most twice the largest exponent
 * times that part of the weight. */
static void see_weights(numbers_errors *errors, const operands *o, const float *p,
                        const float *dropped)
{
    for (size_t r = 0; r < QUERIES; r++) {
        long double wanted[KEYS], largest;
        weights_of(wanted, &largest, o, r);
        for (size_t i = 0; i < KEYS; i++) {
            long double terms = wanted[i] * (1 + 2 * largest), factor = factor_of(o, r, i);
            numbers_see(errors, p[r * KEYS + i], wanted[i], terms, "p", r * KEYS + i);
            numbers_see(errors, dropped[r * KEYS + i], factor * wanted[i], factor * terms,
                        "dropped", r * KEYS + i);
        }
    }
}

static void run_softmax(numbers_errors *errors, const sv_kernels *k)
{
    static operands o;
    static float p[ELEMENTS], dropped[ELEMENTS];
    fill(errors, &o);
    NUMBERS_CALL(k->attention_softmax(p, dropped, o.scores, &o.block));
    see_weights(errors, &o, p, dropped);
}

static void run_softmax_recompute(numbers_errors *errors, const sv_kernels *k)
{
    static operands o;
    static float p[ELEMENTS], dropped[ELEMENTS], q[ELEMENTS], dropped_again[ELEMENTS];
    fill(errors, &o);
    NUMBERS_CALL(k->attention_softmax(p, dropped, o.scores, &o.block));
    NUMBERS_CALL(k->attention_softmax_recompute(q, dropped_again, o.scores, &o.block));
    numbers_see_bits(errors, q, p, ELEMENTS, "p");
    numbers_see_bits(errors, dropped_again, dropped, ELEMENTS, "dropped");
    see_weights(errors, &o, q, dropped_again);
}

static void run_softmax_backward(numbers_errors *errors, const sv_kernels *k)
{
    static operands o;
    static float p[ELEMENTS], dropped[ELEMENTS], ds[ELEMENTS];
    fill(errors, &o);
    NUMBERS_CALL(k->attention_softmax(p, dropped, o.scores, &o.block));
    float dscale = 0;
    NUMBERS_CALL(dscale = k->attention_softmax_backward(ds, p, dropped, o.dp, o.scores, &o.block));
    long double wanted_dscale = 0, dscale_terms = 0;
    errors->floor = 2 * ELEMENTS * (double)FLT_MIN;
    for (size_t r = 0; r < QUERIES; r++) {
        long double mean = 0, mean_terms = 0;
        for (size_t i = r * KEYS; i < (r + 1) * KEYS; i++) {
            long double term = numbers_in(dropped[i]) * numbers_in(o.dp[i]);
            mean += term;
            mean_terms += fabsl(term);
        }
        for (size_t i = r * KEYS; i < (r + 1) * KEYS; i++) {
            long double own = numbers_in(dropped[i]) * numbers_in(o.dp[i]), w = numbers_in(p[i]);
            long double d = own - w * mean, terms = fabsl(own) + w * mean_terms;
            numbers_see(errors, ds[i], SCALE * d, fabsl(SCALE) * terms, "dscores", i);
            wanted_dscale += d * numbers_in(o.scores[i]);
            dscale_terms += terms * fabsl(numbers_in(o.scores[i]));
        }
    }
    numbers_see(errors, dscale, wanted_dscale, dscale_terms, "dscale", 0);
}

static void run_attention_sum(numbers_errors *errors, const sv_kernels *k)
{
    enum { ROWS_COUNT = 13, HEADS = 5, WIDTH = 37, TOKENS = 17, SUMS = ROWS_COUNT * WIDTH };
    static float o[ROWS_COUNT * HEADS * WIDTH], x[SUMS], y[SUMS], bias[WIDTH];
    static float inverse[HEADS * TOKENS];
    numbers_fill(errors, o, ROWS_COUNT * HEADS * WIDTH);
    numbers_fill(errors, x, SUMS);
    numbers_fill(errors, bias, WIDTH);
    numbers_fill_between(errors, inverse, HEADS * TOKENS, 0.01, 1);
    const sv_head_sum sum = {o, bias, inverse, 1.5f, HEADS, TOKENS, ROWS_COUNT, WIDTH};
    errors->floor = 2 * HEADS * (double)FLT_MIN;
    NUMBERS_CALL(k->attention_sum(y, x, &sum));
    for (size_t i = 0; i < SUMS; i++) {
        size_t r = i / WIDTH, c = i % WIDTH;
        long double wanted = numbers_in(bias[c]), terms = fabsl(numbers_in(bias[c]));
        for (size_t h = 0; h < HEADS; h++) {
            long double term = numbers_in(o[(r * HEADS + h) * WIDTH + c]) * inverse[h * TOKENS + r];
            wanted += term;
            terms += fabsl(term);
        }
        numbers_see(errors, y[i], numbers_in(x[i]) + 1.5L * wanted,
                    fabsl(numbers_in(x[i])) + 1.5L * terms, "y", i);
    }
}

static const numbers_row ROWS[] = {
    {"attention_softmax", NUMBERS_ALL, NUMBERS_TERMS, 8,
     "4 roundings of exponents, the polynomial of 2^x, and the sum", run_softmax, 0, 0},
    {"attention_softmax_recompute", NUMBERS_ALL, NUMBERS_TERMS, 8, "the bits of attention_softmax",
     run_softmax_recompute, 0, 0},
    {"attention_softmax_backward", NUMBERS_ALL, NUMBERS_TERMS, KEYS / 4 + 3 + 6,
     "75 / 4 + 3 additions in 4 lanes, and 6 operations", run_softmax_backward, 0, 0},
    {"attention_sum", NUMBERS_ALL, NUMBERS_TERMS, 5 + 4, "5 additions, and 4 operations",
     run_attention_sum, 0, 0},
};

NUMBERS_ROWS(numbers_softmax, ROWS);
