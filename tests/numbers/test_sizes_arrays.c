/* Functions on arrays at the extremes of sizes: losses and metrics of 1 to 100,000 classes
 * and of up to 65,536 rows, resampling and image files of 1 x 1 to 16,384 pixels. The
 * results are those of plain loops; a size beyond the limits is refused by a message that says what
 * is accepted. */
#include "sizes.h"

#include <math.h>
#include <stdbool.h>

static uint8_t *draw_bytes(size_t count, uint32_t seed)
{
    uint8_t *bytes = malloc(count);
    ck_assert_ptr_nonnull(bytes);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(seed >> 24);
    }
    return bytes;
}

/* Rows and classes. */
static const size_t ARRAYS[][2] = {{1, 1},     {3, 1},    {65536, 1}, {1, 2},
                                   {65536, 2}, {5, 3},    {3, 1000},  {64, 10000},
                                   {1, 10000}, {1, 9999}, {2, 100000}};
enum { ARRAY_COUNT = sizeof ARRAYS / sizeof *ARRAYS };

/* Logits and what rows are compared with. */
typedef struct rows {
    size_t n, classes;
    float *logits, *targets, *out, *probabilities;
    int32_t *labels;
} rows;

static rows make_rows(const size_t sizes[2])
{
    rows r = {.n = sizes[0], .classes = sizes[1]};
    const size_t count = r.n * r.classes;
    r.logits = draw(count, 1);
    r.targets = draw(count, 2);
    r.out = malloc(count * sizeof *r.out);
    r.probabilities = malloc(count * sizeof *r.probabilities);
    r.labels = malloc(r.n * sizeof *r.labels);
    for (size_t i = 0; i < count; i++) {
        r.logits[i] *= 5;
        r.targets[i] = r.targets[i] > 0.9f;
    }
    for (size_t i = 0; i < r.n; i++)
        r.labels[i] = (int32_t)(i * 7919 % r.classes);
    return r;
}

static void free_rows(rows *r)
{
    free(r->logits);
    free(r->targets);
    free(r->out);
    free(r->probabilities);
    free(r->labels);
}

/* log sum exp of one row. */
static long double log_sum(const float *row, size_t classes)
{
    long double sum = 0;
    for (size_t k = 0; k < classes; k++)
        sum += expl(row[k]);
    return logl(sum);
}

static void check_cross_entropies(rows *r)
{
    float loss, soft, weighted;
    float *weights = malloc(r->classes * sizeof *weights);
    long double wanted = 0;
    for (size_t k = 0; k < r->classes; k++)
        weights[k] = 1;
    if (r->classes == 1) {
        FAILS(svit_cross_entropy(r->logits, r->labels, r->n, 1, 0, &loss, NULL, err),
              SVIT_E_ARGUMENT, "2 or more are accepted");
        free(weights);
        return;
    }
    WORKS(svit_cross_entropy(r->logits, r->labels, r->n, r->classes, 0, &loss, r->out, err));
    for (size_t i = 0; i < r->n; i++) {
        const float *row = r->logits + i * r->classes;
        const long double sum = log_sum(row, r->classes);
        wanted += (sum - row[r->labels[i]]) / r->n;
        for (size_t k = 0; k < r->classes; k++) {
            long double p = expl(row[k] - sum), t = (int32_t)k == r->labels[i];
            long double error = fabsl(r->out[i * r->classes + k] - (p - t) / r->n);
            if (!(error <= 1e-7L * (p + t) / r->n))
                ck_abort_msg("row %zu, class %zu of %zu: off by %Lg", i, k, r->classes, error);
        }
    }
    ck_assert_double_le(fabs((double)(loss - wanted)), 1e-6 * (double)wanted);
    WORKS(svit_cross_entropy_weighted(r->logits, r->labels, weights, r->n, r->classes, 0, &weighted,
                                      NULL, err));
    ck_assert_double_le(fabs(weighted - loss), 1e-6 * loss);
    memset(r->out, 0, r->n * r->classes * sizeof *r->out);
    for (size_t i = 0; i < r->n; i++)
        r->out[i * r->classes + (size_t)r->labels[i]] = 1;
    WORKS(svit_cross_entropy_soft(r->logits, r->out, r->n, r->classes, &soft, NULL, err));
    ck_assert_double_le(fabs(soft - loss), 1e-6 * loss);
    free(weights);
}

static void check_element_losses(rows *r)
{
    float binary, square;
    double absolute, root;
    long double wanted_binary = 0, wanted_square = 0, wanted_absolute = 0;
    const size_t count = r->n * r->classes;
    WORKS(svit_binary_cross_entropy(r->logits, r->targets, NULL, r->n, r->classes, 0, &binary, NULL,
                                    err));
    WORKS(svit_mean_squared_error(r->logits, r->targets, r->n, r->classes, &square, NULL, err));
    WORKS(svit_regression_errors(r->logits, r->targets, r->n, r->classes, &absolute, &root, err));
    for (size_t i = 0; i < count; i++) {
        long double z = r->logits[i], t = r->targets[i];
        wanted_binary += (log1pl(expl(z)) - t * z) / count;
        wanted_square += (z - t) * (z - t) / count;
        wanted_absolute += fabsl(z - t) / count;
    }
    ck_assert_double_le(fabs((double)(binary - wanted_binary)), 1e-6 * (double)wanted_binary);
    ck_assert_double_le(fabs((double)(square - wanted_square)), 1e-6 * (double)wanted_square);
    ck_assert_double_le(fabs((double)(absolute - wanted_absolute)), 1e-9);
    ck_assert_double_le(fabs((double)(root - sqrtl(wanted_square))), 1e-9);
}

static void check_counts(const rows *r)
{
    const size_t ks[] = {1, 5, r->classes, r->classes + 1, SIZE_MAX};
    uint64_t top1, count, wanted1 = 0;
    for (size_t i = 0; i < r->n; i++) {
        const float *row = r->logits + i * r->classes;
        size_t best = 0;
        for (size_t k = 1; k < r->classes; k++)
            best = row[k] > row[best] ? k : best;
        wanted1 += best == (size_t)r->labels[i];
    }
    WORKS(svit_count_top1(r->logits, r->labels, r->n, r->classes, &top1, err));
    ck_assert_uint_eq(top1, wanted1);
    for (size_t j = 0; j < sizeof ks / sizeof *ks; j++) {
        uint64_t wanted = 0;
        for (size_t i = 0; i < r->n; i++) {
            const float *row = r->logits + i * r->classes;
            size_t greater = 0;
            for (size_t k = 0; k < r->classes; k++)
                greater += row[k] > row[r->labels[i]];
            wanted += greater < ks[j];
        }
        WORKS(svit_count_top_k(r->logits, r->labels, r->n, r->classes, ks[j], &count, err));
        ck_assert_uint_eq(count, wanted);
    }
    ck_assert_uint_eq(count, r->n);
}

static void check_probabilities(rows *r)
{
    WORKS(svit_softmax(r->logits, r->n, r->classes, r->probabilities, err));
    WORKS(svit_sigmoid(r->logits, r->n, r->classes, r->out, err));
    for (size_t i = 0; i < r->n; i++) {
        const float *row = r->logits + i * r->classes;
        long double sum = 0, wanted_sum = 0;
        for (size_t k = 0; k < r->classes; k++) {
            sum += r->probabilities[i * r->classes + k];
            wanted_sum += expl(row[k]);
        }
        if (!(fabsl(sum - 1) <= 1e-7L * (1 + sqrtl(r->classes))))
            ck_abort_msg("row %zu of %zu classes sums to %Lg", i, r->classes, sum);
        for (size_t k = 0; k < r->classes; k++) {
            const long double wanted = expl(row[k]) / wanted_sum;
            if (!(fabsl(r->probabilities[i * r->classes + k] - wanted) <= 2e-6L * wanted))
                ck_abort_msg("softmax %zu of row %zu is %g, not %Lg", k, i,
                             (double)r->probabilities[i * r->classes + k], wanted);
        }
    }
    for (size_t i = 0; i < r->n * r->classes; i++)
        if (!(fabsl(r->out[i] - 1 / (1 + expl(-(long double)r->logits[i]))) <= 6e-8L))
            ck_abort_msg("sigmoid %zu is %g", i, (double)r->out[i]);
}

static void check_multilabel(const rows *r)
{
    double accuracy, exact, micro, macro;
    double *precision = malloc(r->classes * sizeof *precision);
    double *wrong = calloc(r->classes, sizeof *wrong), *hit = calloc(r->classes, sizeof *hit);
    size_t right = 0, rows_right = 0;
    for (size_t i = 0; i < r->n; i++) {
        size_t same = 0;
        for (size_t k = 0; k < r->classes; k++) {
            const bool predicted = r->logits[i * r->classes + k] > 0;
            const bool present = r->targets[i * r->classes + k] > 0.5f;
            same += predicted == present;
            wrong[k] += predicted != present;
            hit[k] += predicted && present;
        }
        right += same;
        rows_right += same == r->classes;
    }
    double hits = 0, wrongs = 0, wanted_macro = 0;
    for (size_t k = 0; k < r->classes; k++) {
        hits += hit[k];
        wrongs += wrong[k];
        wanted_macro += hit[k] > 0 ? 2 * hit[k] / (2 * hit[k] + wrong[k]) : 0;
    }
    WORKS(svit_multilabel_metrics(r->logits, r->targets, r->n, r->classes, &accuracy, &exact,
                                  &micro, &macro, err));
    ck_assert_double_eq_tol(accuracy, (double)right / (double)(r->n * r->classes), 1e-12);
    ck_assert_double_eq_tol(exact, (double)rows_right / (double)r->n, 1e-12);
    ck_assert_double_eq_tol(micro, hits > 0 ? 2 * hits / (2 * hits + wrongs) : 0, 1e-12);
    ck_assert_double_eq_tol(macro, wanted_macro / (double)r->classes, 1e-12);
    WORKS(svit_average_precision(context, r->logits, r->targets, r->n, r->classes, precision, err));
    for (size_t k = 0; k < r->classes; k++)
        ck_assert(isnan(precision[k]) || (precision[k] >= 0 && precision[k] <= 1 + 1e-12));
    free(hit);
    free(wrong);
    free(precision);
}

START_TEST(test_losses_and_metrics_of_any_size_follow_plain_loops)
{
    rows r = make_rows(ARRAYS[_i]);
    check_probabilities(&r);
    check_cross_entropies(&r);
    check_element_losses(&r);
    check_counts(&r);
    check_multilabel(&r);
    free_rows(&r);
}
END_TEST

START_TEST(test_no_rows_and_no_classes_are_refused)
{
    const float logits[2] = {0};
    const int32_t labels[2] = {0};
    float loss, out[2];
    uint64_t count;
    FAILS(svit_cross_entropy(logits, labels, 0, 2, 0, &loss, NULL, err), SVIT_E_ARGUMENT,
          "at least one row");
    FAILS(svit_cross_entropy(logits, labels, 1, 0, 0, &loss, NULL, err), SVIT_E_ARGUMENT,
          "at least one");
    FAILS(svit_softmax(logits, 0, 2, out, err), SVIT_E_ARGUMENT, "at least one row");
    FAILS(svit_sigmoid(logits, 1, 0, out, err), SVIT_E_ARGUMENT, "at least one");
    FAILS(svit_mean_squared_error(logits, logits, 0, 1, &loss, NULL, err), SVIT_E_ARGUMENT,
          "at least one row");
    FAILS(svit_count_top_k(logits, labels, 1, 2, 0, &count, err), SVIT_E_ARGUMENT, "at least 1");
}
END_TEST

START_TEST(test_a_confusion_matrix_of_any_size_counts_its_rows)
{
    static const size_t classes[] = {1, 2, 1000, 3000};
    const size_t sizes[] = {500, classes[_i]};
    rows r = make_rows(sizes);
    const size_t cells = r.classes * r.classes;
    uint64_t *matrix = calloc(cells, sizeof *matrix), sum = 0, diagonal = 0, top1;
    WORKS(svit_confusion_matrix(r.logits, r.labels, r.n, r.classes, matrix, err));
    WORKS(svit_count_top1(r.logits, r.labels, r.n, r.classes, &top1, err));
    for (size_t i = 0; i < cells; i++)
        sum += matrix[i];
    for (size_t k = 0; k < r.classes; k++)
        diagonal += matrix[k * r.classes + k];
    ck_assert_uint_eq(sum, r.n);
    ck_assert_uint_eq(diagonal, top1);
    free(matrix);
    free_rows(&r);
}
END_TEST

/* Heights and widths of an image and of its result. */
static const size_t RESIZES[][4] = {
    {1, 1, 1, 1},         {1, 1, 1, 1024},      {1, 1, 64, 64},     {1024, 1024, 1, 1},
    {1024, 1024, 7, 3},   {1, 1024, 1024, 1},   {1024, 1, 1, 1024}, {3, 5, 1024, 1023},
    {16384, 1, 1, 16384}, {1, 16384, 16384, 1}, {2, 2, 1, 16384},
};
enum { RESIZE_COUNT = sizeof RESIZES / sizeof *RESIZES };

/* Compares the bilinear resize with its formula, for values that grow along an axis: the result is
 * the clamped source coordinate. */
START_TEST(test_a_resize_between_any_sizes_follows_its_formula)
{
    const size_t *s = RESIZES[_i];
    float *in = malloc(s[0] * s[1] * 2 * sizeof *in), *out = malloc(s[2] * s[3] * 2 * sizeof *out);
    for (size_t i = 0; i < s[0] * s[1]; i++) {
        in[2 * i] = (float)(i / s[1]);
        in[2 * i + 1] = (float)(i % s[1]);
    }
    WORKS(svit_resize_bilinear_f32(in, s[0], s[1], 2, out, s[2], s[3], err));
    for (size_t i = 0; i < s[2] * s[3] * 2; i++) {
        const size_t o = i % 2 ? i / 2 % s[3] : i / 2 / s[3], axis = i % 2;
        double at = ((double)o + 0.5) * (double)s[axis] / (double)s[2 + axis] - 0.5;
        at = fmin(fmax(at, 0), (double)s[axis] - 1);
        if (!(fabs(out[i] - at) <= 2e-7 * (1 + at)))
            ck_abort_msg("element %zu is %g, not %g", i, (double)out[i], at);
    }
    free(in);
    free(out);
}
END_TEST

START_TEST(test_bytes_resized_between_any_sizes_are_those_of_the_image)
{
    const size_t *s = RESIZES[_i];
    uint8_t *in = draw_bytes(s[0] * s[1] * 3, 3), *out = malloc(s[2] * s[3] * 3);
    uint8_t least[3] = {255, 255, 255}, most[3] = {0, 0, 0};
    for (size_t i = 0; i < s[0] * s[1] * 3; i++) {
        least[i % 3] = in[i] < least[i % 3] ? in[i] : least[i % 3];
        most[i % 3] = in[i] > most[i % 3] ? in[i] : most[i % 3];
    }
    WORKS(svit_resize_nearest_u8(in, s[0], s[1], out, s[2], s[3], err));
    for (size_t y = 0; y < s[2]; y++)
        for (size_t x = 0; x < s[3]; x++) {
            const size_t from_y = (2 * y + 1) * s[0] / (2 * s[2]);
            const size_t from_x = (2 * x + 1) * s[1] / (2 * s[3]);
            if (memcmp(out + (y * s[3] + x) * 3, in + (from_y * s[1] + from_x) * 3, 3))
                ck_abort_msg("pixel %zu, %zu is not %zu, %zu", y, x, from_y, from_x);
        }
    WORKS(svit_resize_antialias_u8(context, in, s[0], s[1], out, s[2], s[3], err));
    for (size_t i = 0; i < s[2] * s[3] * 3; i++)
        if (out[i] < least[i % 3] || out[i] > most[i % 3])
            ck_abort_msg("byte %zu is outside of the image's values", i);
    if (s[0] == s[2] && s[1] == s[3])
        ck_assert_mem_eq(out, in, s[0] * s[1] * 3);
    free(in);
    free(out);
}
END_TEST

START_TEST(test_sides_beyond_the_limits_are_refused)
{
    static const size_t beyond[] = {0, 16385, SIZE_MAX};
    const float in[3] = {0};
    const uint8_t bytes[3] = {0};
    float out[3];
    uint8_t out_bytes[3];
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        const size_t side = beyond[i];
        FAILS(svit_resize_bilinear_f32(in, side, 1, 3, out, 1, 1, err), SVIT_E_ARGUMENT, "16384");
        FAILS(svit_resize_bilinear_f32(in, 1, 1, 3, out, 1, side, err), SVIT_E_ARGUMENT, "16384");
        FAILS(svit_resize_nearest_u8(bytes, 1, side, out_bytes, 1, 1, err), SVIT_E_ARGUMENT,
              "16384");
        FAILS(svit_resize_antialias_u8(context, bytes, 1, 1, out_bytes, side, 1, err),
              SVIT_E_ARGUMENT, "16384");
        FAILS(svit_flip_horizontal_f32(in, side, 1, 3, out, err), SVIT_E_ARGUMENT, "16384");
    }
}
END_TEST

/* The identity, by a transform and by two mirrorings. */
START_TEST(test_images_of_any_size_come_back)
{
    const size_t height = RESIZES[_i][0], width = RESIZES[_i][1], count = height * width * 3;
    static const double identity[6] = {1, 0, 0, 0, 1, 0};
    float *in = draw(count, 4), *out = malloc(count * sizeof *out), *back = draw(count, 5);
    WORKS(svit_affine_f32(in, height, width, 3, identity, out, err));
    ck_assert_mem_eq(out, in, count * sizeof *in);
    WORKS(svit_flip_horizontal_f32(in, height, width, 3, out, err));
    WORKS(svit_flip_horizontal_f32(out, height, width, 3, back, err));
    ck_assert_mem_eq(back, in, count * sizeof *in);
    free(in);
    free(out);
    free(back);
}
END_TEST

#ifdef SV_HAVE_PNG
START_TEST(test_image_files_of_any_size_keep_their_pixels)
{
    static const size_t sides[][2] = {{1, 1},       {1, 2},     {1, 1024}, {1024, 1},
                                      {1024, 1024}, {1, 16384}, {16384, 1}};
    const size_t height = sides[_i][0], width = sides[_i][1], bytes = height * width * 3;
    const fit_folder folder = fit_folder_make();
    const char *path = fit_path(&folder, "image.png");
    uint8_t *pixels = draw_bytes(bytes, 8);
    svit_image *image = NULL;
    WORKS(svit_image_write_png(context, path, pixels, height, width, err));
    WORKS(svit_image_read(&image, context, path, 3, err));
    ck_assert_uint_eq(svit_image_height(image), height);
    ck_assert_uint_eq(svit_image_width(image), width);
    ck_assert_mem_eq(svit_image_pixels(image), pixels, bytes);
    FAILS(svit_image_write_png(context, path, pixels, 0, width, err), SVIT_E_ARGUMENT, "16384");
    FAILS(svit_image_write_png(context, path, pixels, height, 16385, err), SVIT_E_ARGUMENT,
          "16384");
    svit_image_free(image);
    free(pixels);
    fit_folder_remove(&folder);
}
END_TEST
#endif

static Suite *sizes_suite(void)
{
    Suite *suite = suite_create("sizes_arrays");
    TCase *all = tcase_create("arrays");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_loop_test(all, test_losses_and_metrics_of_any_size_follow_plain_loops, 0,
                        ARRAY_COUNT);
    tcase_add_test(all, test_no_rows_and_no_classes_are_refused);
    tcase_add_loop_test(all, test_a_confusion_matrix_of_any_size_counts_its_rows, 0, 4);
    tcase_add_loop_test(all, test_a_resize_between_any_sizes_follows_its_formula, 0, RESIZE_COUNT);
    tcase_add_loop_test(all, test_bytes_resized_between_any_sizes_are_those_of_the_image, 0,
                        RESIZE_COUNT);
    tcase_add_test(all, test_sides_beyond_the_limits_are_refused);
    tcase_add_loop_test(all, test_images_of_any_size_come_back, 0, RESIZE_COUNT);
#ifdef SV_HAVE_PNG
    tcase_add_loop_test(all, test_image_files_of_any_size_keep_their_pixels, 0, 7);
#endif
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(sizes_suite)
