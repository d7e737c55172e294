/* Attention scores of any size: each row of weights is the softmax of the rounded products of
 * scores and factor, whose largest exponent is 0, so that it sums to 1, also where one rounding of
 * such a product is larger than any exponent. */
#include "isa.h"
#include "suite.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { ROWS = 5, COLUMNS = 37, POWERS = 38, SIGNS = 2 };

/* Scores of the size 10^power, of either sign, in which some are equal and the differences of
 * others are a few units in the last place. */
static void fill(float *scores, float size)
{
    for (size_t i = 0; i < ROWS * COLUMNS; i++) {
        const float part = (float)((i * 7919 + 13) % 97) / 97 - 0.5f;
        scores[i] = size * part;
        if (i % 5 == 1)
            scores[i] = scores[i - 1];
        if (i % 7 == 3)
            scores[i] = nextafterf(scores[i - 1], FLT_MAX);
    }
}

static void check_row(const float *p, const float *scores, float scale)
{
    const float factor = scale * 1.44269504088896340736f;
    double sum = 0, largest = -INFINITY, total = 0;
    for (size_t i = 0; i < COLUMNS; i++) {
        largest = fmax(largest, (double)factor * scores[i]);
        sum += p[i];
    }
    ck_assert_double_le(fabs(sum - 1), 1e-5);
    /* A difference of exponents has an error of the last place of each, which is that of the
     * largest. */
    const double error = 4 * fabs(largest) * FLT_EPSILON;
    for (size_t i = 0; i < COLUMNS; i++)
        total += exp2((double)factor * scores[i] - largest);
    for (size_t i = 0; i < COLUMNS; i++) {
        const double below = (double)factor * scores[i] - largest;
        ck_assert_double_le(p[i], fmin(1, exp2(fmin(0, below + error)) * (1 + 1e-5)));
        if (below == 0)
            ck_assert_double_ge(p[i], 1 / (double)COLUMNS - 1e-6);
        else if (error < 1e-3)
            ck_assert_double_le(fabs(p[i] - exp2(below) / total),
                                (2 * error + 1e-5) * exp2(below) / total + 1e-30);
    }
}

START_TEST(test_rows_of_large_scores_sum_to_one)
{
    KERNELS(k);
    static float scores[ROWS * COLUMNS], p[ROWS * COLUMNS], again[ROWS * COLUMNS];
    float most[ROWS], share[ROWS];
    for (int at = 0; at < SIGNS * POWERS; at++) {
        const float scale = at % SIGNS ? -0.7f : 0.3f;
        const sv_attention_rows block = {.rows = ROWS,
                                         .columns = COLUMNS,
                                         .scale = scale,
                                         .row_max = most,
                                         .inv_row_sum = share};
        fill(scores, powf(10, (float)(at / SIGNS)));
        k->attention_softmax(p, p, scores, &block);
        for (size_t r = 0; r < ROWS; r++)
            check_row(p + r * COLUMNS, scores + r * COLUMNS, scale);
        k->attention_softmax_recompute(again, again, scores, &block);
        ck_assert_mem_eq(again, p, sizeof p);
    }
}
END_TEST

static Suite *softmax_extremes_suite(void)
{
    Suite *suite = suite_create("softmax_extremes");
    TCase *tcase = tcase_create("rows");
    tcase_add_loop_test(tcase, test_rows_of_large_scores_sum_to_one, 0, ISA_COUNT);
    suite_add_tcase(suite, tcase);
    return suite;
}

TEST_MAIN(softmax_extremes_suite)
