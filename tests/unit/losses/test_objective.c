/* Checks what a run minimises: smoothed and weighted targets, next to the labels that they stand
 * for. */
#include "fit.h"
#include "guard.h"

#include "losses/objective.h"

#include <math.h>

enum { N = 3, CLASSES = 4, ELEMENTS = N * CLASSES };

static const float LOGITS[ELEMENTS] = {1, 2, -1, 0.5f, 0, 0, 1, -2, 3, 1, 1, 2};
static const int32_t LABELS[N] = {1, 3, 0};

/* Targets of one class each have the loss of their labels, up to the divisor: that of weighted
 * labels is the sum of the weights, that of targets the number of samples. Nothing is written
 * behind the targets. */
START_TEST(test_targets_are_smoothed_and_weighted_as_labels)
{
    static const struct {
        float smoothing;
        int is_weighted;
    } cases[] = {{0, 0}, {0.1f, 0}, {0, 1}, {0.3f, 1}};
    float weights[CLASSES] = {1, 0.5f, 2, 3}, loss[2], gradient[2][ELEMENTS];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float one_hot[ELEMENTS] = {0};
        double sum = 0;
        for (size_t r = 0; r < N; r++) {
            one_hot[r * CLASSES + (size_t)LABELS[r]] = 1;
            sum += cases[i].is_weighted ? weights[LABELS[r]] : 1;
        }
        const sv_objective objective = {.loss = SVIT_LOSS_CROSS_ENTROPY,
                                        .label_smoothing = cases[i].smoothing,
                                        .class_weights = cases[i].is_weighted ? weights : NULL,
                                        .classes = CLASSES};
        const sv_batch labels = {.labels = (int32_t *)LABELS, .n = N},
                       targets = {.labels = (int32_t *)LABELS,
                                  .targets = guard_copy(one_hot, sizeof one_hot, 0),
                                  .n = N};
        WORKS(sv_objective_loss(&objective, &labels, LOGITS, &loss[0], gradient[0], err));
        WORKS(sv_objective_loss(&objective, &targets, LOGITS, &loss[1], gradient[1], err));
        ck_assert_double_eq_tol(loss[0] * sum, (double)loss[1] * N, 1e-5);
        for (size_t k = 0; k < ELEMENTS; k++)
            ck_assert_double_eq_tol(gradient[0][k] * sum, (double)gradient[1][k] * N, 1e-5);
        ck_assert_double_eq_tol(sv_objective_divisor(&objective, &labels), sum, 1e-12);
        ck_assert_double_eq(sv_objective_divisor(&objective, &targets), N);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("objective");
    TCase *c = tcase_create("objective");
    tcase_add_test(c, test_targets_are_smoothed_and_weighted_as_labels);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
