/* The nearest samples of a feature set, and the samples that cover it, against plain loops in
 * double precision. */
#include "test_feature_sets_support.h"

#include <float.h>

enum { SAMPLES = 700, QUERIES = 19, CHANNELS = 21, K = 5 };

/* Numbers that look random, with samples that occur twice. */
static void draw(float *out, size_t rows, unsigned seed)
{
    uint32_t state = 2463534242u + seed;
    for (size_t i = 0; i < rows * CHANNELS; i++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        out[i] = (float)(int32_t)state / 2147483648.0f;
    }
    for (size_t i = 50; i < rows; i += 50)
        memcpy(out + i * CHANNELS, out + (i - 7) * CHANNELS, CHANNELS * sizeof *out);
}

/* How near two vectors are: what svit_features_nearest writes, in double. */
static double distance(const float *a, const float *b, int32_t metric)
{
    double dot = 0, aa = 0, bb = 0, square = 0;
    for (size_t i = 0; i < CHANNELS; i++) {
        dot += (double)a[i] * b[i];
        aa += (double)a[i] * a[i];
        bb += (double)b[i] * b[i];
        square += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
    }
    return metric == SVIT_METRIC_EUCLIDEAN ? sqrt(square) : dot / sqrt(aa * bb);
}

static svit_features *make_set(svit_context *context, const float *rows, size_t count)
{
    static int32_t labels[SAMPLES];
    svit_features *set = NULL;
    for (size_t i = 0; i < count; i++)
        labels[i] = (int32_t)(i % 7) - 1;
    OK(svit_features_create(&set, context, rows, labels, count, CHANNELS, 6, NULL, err));
    return set;
}

/* Metric _i % 2, with one thread and with three. */
START_TEST(test_nearest_samples_are_those_of_a_plain_search)
{
    static float rows[SAMPLES * CHANNELS], queries[QUERIES * CHANNELS], found[QUERIES * K];
    static size_t indices[QUERIES * K];
    const int32_t metric = _i % 2;
    svit_context *context = context_of(_i < 2 ? 1 : 3);
    draw(rows, SAMPLES, 0);
    draw(queries, QUERIES, 9);
    memcpy(queries, rows + 43 * CHANNELS, CHANNELS * sizeof *queries); /* also sample 50 */
    svit_features *set = make_set(context, rows, SAMPLES);
    OK(svit_features_nearest(set, queries, QUERIES, K, metric, indices, found, err));
    ck_assert_uint_eq(indices[0], 43);
    ck_assert_uint_eq(indices[1], 50);
    for (size_t q = 0; q < QUERIES; q++) {
        bool taken[SAMPLES] = {false};
        for (size_t j = 0; j < K; j++) {
            const size_t index = indices[q * K + j];
            const double one = distance(queries + q * CHANNELS, rows + index * CHANNELS, metric);
            ck_assert_double_le(fabs(one - found[q * K + j]), 1e-5);
            ck_assert(!taken[index]);
            taken[index] = true;
        }
        const double last = found[q * K + K - 1];
        for (size_t i = 0; i < SAMPLES; i++) {
            const double one = distance(queries + q * CHANNELS, rows + i * CHANNELS, metric);
            ck_assert(taken[i] || (metric ? one >= last - 1e-5 : one <= last + 1e-5));
        }
    }
    svit_features_free(set);
    svit_context_free(context);
}
END_TEST

/* Where the queries are few, the workers share the samples: the result is that of one worker, which
 * goes through them in order, also among samples that occur twice. */
START_TEST(test_few_queries_have_the_bits_of_one_worker)
{
    enum { MANY = 9 * SAMPLES };
    static const size_t counts[] = {1, 2, 7, 33}, neighbours[] = {1, 10, 900, MANY};
    float *rows = calloc(MANY * CHANNELS, sizeof *rows), queries[33 * CHANNELS];
    svit_context *one = context_of(1), *three = context_of(3);
    for (size_t i = 0; i < 9; i++)
        draw(rows + i * SAMPLES * CHANNELS, SAMPLES, (unsigned)(i % 4));
    memset(rows + 5 * CHANNELS, 0, CHANNELS * sizeof *rows);
    for (size_t i = 0; i < CHANNELS; i++) {
        rows[6 * CHANNELS + i] *= 1e-20f;
        rows[7 * CHANNELS + i] *= 1e16f;
    }
    draw(queries, 33, 3);
    svit_features *a = NULL, *b = NULL;
    OK(svit_features_create(&a, one, rows, NULL, MANY, CHANNELS, 0, NULL, err));
    OK(svit_features_create(&b, three, rows, NULL, MANY, CHANNELS, 0, NULL, err));
    for (int metric = 0; metric < 2; metric++)
        for (size_t i = 0; i < 4; i++)
            for (size_t j = 0; j < 4; j++) {
                const size_t n = counts[i], k = neighbours[j];
                size_t *wanted = malloc(n * k * sizeof *wanted), *got = malloc(n * k * sizeof *got);
                float *near = malloc(n * k * sizeof *near), *found = malloc(n * k * sizeof *found);
                OK(svit_features_nearest(a, queries, n, k, metric, wanted, near, err));
                OK(svit_features_nearest(b, queries, n, k, metric, got, found, err));
                ck_assert_mem_eq(got, wanted, n * k * sizeof *got);
                ck_assert_mem_eq(found, near, n * k * sizeof *found);
                for (size_t q = 0; q < n; q++)
                    for (size_t m = 1; m < k; m++)
                        if (metric == SVIT_METRIC_COSINE &&
                            near[q * k + m] == near[q * k + m - 1] &&
                            wanted[q * k + m] < wanted[q * k + m - 1])
                            ck_abort_msg("query %zu: sample %zu is behind %zu", q,
                                         wanted[q * k + m], wanted[q * k + m - 1]);
                free(wanted);
                free(got);
                free(near);
                free(found);
            }
    svit_features_free(a);
    svit_features_free(b);
    svit_context_free(one);
    svit_context_free(three);
    free(rows);
}
END_TEST

/* The cosine of samples whose squares are too small or too large for a float. */
START_TEST(test_samples_of_any_length_have_their_cosine)
{
    float rows[6 * CHANNELS], query[CHANNELS], found[6];
    size_t indices[6];
    svit_context *context = context_of(1);
    draw(rows, 1, 1);
    for (size_t i = 1; i < 6; i++)
        for (size_t k = 0; k < CHANNELS; k++)
            rows[i * CHANNELS + k] =
                rows[k] * (const float[]){1, 1e-18f, 1e-30f, 1e18f, 1e37f, 0}[i];
    draw(query, 1, 5);
    svit_features *set = make_set(context, rows, 6);
    OK(svit_features_nearest(set, query, 1, 6, SVIT_METRIC_COSINE, indices, found, err));
    const double wanted = distance(query, rows, SVIT_METRIC_COSINE);
    for (size_t i = 0; i < 6; i++)
        ck_assert_double_le(fabs(found[i] - (indices[i] == 5 ? 0 : wanted)), 1e-6);
    svit_features_free(set);
    svit_context_free(context);
}
END_TEST

START_TEST(test_no_cosine_is_above_1)
{
    static float rows[SAMPLES * CHANNELS], opposite[SAMPLES * CHANNELS], found[SAMPLES];
    static size_t indices[SAMPLES];
    svit_context *context = context_of(1);
    draw(rows, SAMPLES, 0);
    svit_features *set = make_set(context, rows, SAMPLES);
    OK(svit_features_nearest(set, rows, SAMPLES, 1, SVIT_METRIC_COSINE, indices, found, err));
    for (size_t i = 0; i < SAMPLES; i++)
        ck_assert(found[i] <= 1 && found[i] > 0.999999f);
    for (size_t i = 0; i < SAMPLES * CHANNELS; i++)
        opposite[i] = -rows[i];
    svit_features *one = make_set(context, opposite, 1);
    OK(svit_features_nearest(one, rows, 1, 1, SVIT_METRIC_COSINE, indices, found, err));
    ck_assert(found[0] >= -1 && found[0] < -0.999999f);
    svit_features_free(one);
    svit_features_free(set);
    svit_context_free(context);
}
END_TEST

/* The plain selection: of equally far samples the first. */
START_TEST(test_a_coreset_is_the_greedy_cover)
{
    static float rows[SAMPLES * CHANNELS];
    static double nearest[SAMPLES];
    enum { CHOSEN = 60 };
    svit_context *context = context_of(_i ? 3 : 1);
    svit_features *out = NULL;
    draw(rows, SAMPLES, 4);
    svit_features *set = make_set(context, rows, SAMPLES);
    OK(svit_features_coreset(&out, set, CHOSEN, err));
    ck_assert_uint_eq(svit_features_count(out), CHOSEN);
    ck_assert_uint_eq(svit_features_channels(out), CHANNELS);
    ck_assert_uint_eq(svit_features_classes(out), 6);
    for (size_t i = 0; i < SAMPLES; i++)
        nearest[i] = i == 0 ? DBL_MAX : 1e300;
    for (size_t done = 0; done < CHOSEN; done++) {
        size_t best = 0;
        for (size_t i = 1; i < SAMPLES; i++)
            if (nearest[i] > nearest[best])
                best = i;
        const float *row = svit_features_values(out) + done * CHANNELS;
        ck_assert_mem_eq(row, rows + best * CHANNELS, CHANNELS * sizeof *row);
        ck_assert_int_eq(svit_features_labels(out)[done], (int32_t)(best % 7) - 1);
        for (size_t i = 0; i < SAMPLES; i++)
            nearest[i] =
                fmin(nearest[i], distance(rows + i * CHANNELS, row, SVIT_METRIC_EUCLIDEAN));
    }
    svit_features_free(out);
    svit_features_free(set);
    svit_context_free(context);
}
END_TEST

/* Every sample is chosen once, also those that occur twice. */
START_TEST(test_the_largest_coreset_has_every_sample_once)
{
    static float rows[120 * CHANNELS];
    bool seen[120] = {false};
    svit_context *context = context_of(2);
    svit_features *out = NULL;
    draw(rows, 120, 1);
    for (size_t i = 0; i < 120; i++)
        rows[i * CHANNELS] = i < 60 ? (float)i : 7.0f; /* tells 61 values apart */
    svit_features *set = make_set(context, rows, 120);
    OK(svit_features_coreset(&out, set, 120, err));
    for (size_t i = 0; i < 120; i++) {
        size_t at = 0;
        while (at < 120 && (seen[at] || memcmp(svit_features_values(out) + i * CHANNELS,
                                               rows + at * CHANNELS, CHANNELS * 4) != 0))
            at++;
        ck_assert_uint_lt(at, 120);
        seen[at] = true;
    }
    svit_features_free(out);
    svit_features_free(set);
    svit_context_free(context);
}
END_TEST

START_TEST(test_what_is_not_accepted_is_named)
{
    const float rows[] = {1, 2, 3, 4}, far[] = {3e38f, 0, -3e38f, 0};
    const float bad[] = {1, NAN};
    size_t indices[2];
    float found[2];
    svit_context *context = context_of(1);
    svit_features *set = NULL, *wide = NULL, *out = NULL;
    OK(svit_features_create(&set, context, rows, NULL, 2, 2, 0, NULL, err));
    OK(svit_features_create(&wide, context, far, NULL, 2, 2, 0, NULL, err));
    FAILS(svit_features_nearest(set, rows, 0, 1, 0, indices, found, err), SVIT_E_ARGUMENT,
          "n is 0");
    FAILS(svit_features_nearest(set, rows, 1, 0, 0, indices, found, err), SVIT_E_ARGUMENT,
          "k is 0");
    FAILS(svit_features_nearest(set, rows, 1, 3, 0, indices, found, err), SVIT_E_ARGUMENT,
          "k is 3; the reference has 2");
    FAILS(svit_features_nearest(set, rows, 1, 1, 2, indices, found, err), SVIT_E_ARGUMENT,
          "metric is 2");
    FAILS(svit_features_nearest(set, bad, 1, 1, 1, indices, found, err), SVIT_E_ARGUMENT,
          "queries[0, 1]");
    FAILS(svit_features_nearest(wide, far, 1, 2, SVIT_METRIC_EUCLIDEAN, indices, found, err),
          SVIT_E_NUMERIC, "distance of query 0 to sample 1");
    OK(svit_features_nearest(wide, far, 1, 2, SVIT_METRIC_COSINE, indices, found, err));
    ck_assert_float_eq_tol(found[1], -1, 1e-6f);
    FAILS(svit_features_coreset(&out, set, 0, err), SVIT_E_ARGUMENT, "count is 0; it is 1..2");
    FAILS(svit_features_coreset(&out, set, 3, err), SVIT_E_ARGUMENT, "count is 3; it is 1..2");
    FAILS(svit_features_coreset(&out, wide, 2, err), SVIT_E_NUMERIC,
          "the distance of sample 1 to those before it is not finite");
    ck_assert_ptr_null(out);
    OK(svit_features_coreset(&out, wide, 1, err));
    svit_features_free(out);
    svit_features_free(wide);
    svit_features_free(set);
    svit_context_free(context);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("feature_nearest");
    TCase *c = tcase_create("core");
    tcase_add_loop_test(c, test_nearest_samples_are_those_of_a_plain_search, 0, 4);
    tcase_add_test(c, test_few_queries_have_the_bits_of_one_worker);
    tcase_add_test(c, test_samples_of_any_length_have_their_cosine);
    tcase_add_test(c, test_no_cosine_is_above_1);
    tcase_add_loop_test(c, test_a_coreset_is_the_greedy_cover, 0, 2);
    tcase_add_test(c, test_the_largest_coreset_has_every_sample_once);
    tcase_add_test(c, test_what_is_not_accepted_is_named);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
