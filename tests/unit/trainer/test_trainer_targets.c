/* Checks which targets each loss accepts: a cross-entropy of one output, or of numbers that are no
 * probabilities, is always 0 or means nothing, and is refused before a run begins. So are several
 * labels that are not from 0 to 1. */
#include "trainer_support.h"

#include <shiftvit/loss.h>

#include <math.h>

enum { MOST = 3 };

/* What a row of targets is; the row of sample 7 is of this kind, the others are probabilities. */
enum { LABELS, ONE_HOT, SOFT, THIRDS, NEGATIVE, ZEROS, SEVERAL, NUMBERS, KINDS };

static int is_probability(int kind)
{
    return kind <= THIRDS;
}

static void fill_row(float *row, size_t classes, int kind)
{
    for (size_t k = 0; k < classes; k++)
        switch (kind) {
        case ONE_HOT:
            row[k] = k == 0;
            break;
        case THIRDS: /* rounded */
            row[k] = floorf(100 / (float)classes) / 100;
            break;
        case NEGATIVE: /* with the sum 1 */
            row[k] = k == 0 ? 1 + 0.5f * (float)(classes - 1) : -0.5f;
            break;
        case ZEROS:
            row[k] = 0;
            break;
        case SEVERAL:
            row[k] = 1;
            break;
        case NUMBERS:
            row[k] = 17.5f;
            break;
        default:
            row[k] = 1 / (float)classes;
        }
}

/* Samples of `classes` classes, of which number 7 has a row of that kind. The arrays of the two
 * places are those of two datasets that are alive. */
static svit_dataset *samples_of(size_t classes, int kind, int place)
{
    static float all_rows[2][SAMPLES * MOST];
    static int32_t all_labels[2][SAMPLES];
    float *rows = all_rows[place];
    int32_t *few = all_labels[place];
    svit_dataset *out = NULL;
    for (size_t i = 0; i < SAMPLES; i++) {
        few[i] = (int32_t)(i % classes);
        fill_row(rows + i * classes, classes, i == 7 ? kind : SOFT);
    }
    if (kind == LABELS)
        WORKS(
            svit_dataset_memory(&out, context, images, few, SAMPLES, SIDE, SIDE, 3, classes, err));
    else
        WORKS(svit_dataset_memory_targets(&out, context, images, rows, SAMPLES, SIDE, SIDE, 3,
                                          classes, err));
    return out;
}

static int is_accepted(int32_t loss, size_t classes, int kind)
{
    if (loss == SVIT_LOSS_BINARY)
        return kind != NUMBERS && (kind != NEGATIVE || classes == 1);
    return loss != SVIT_LOSS_CROSS_ENTROPY || (classes > 1 && is_probability(kind));
}

static void check_status(svit_status status, const svit_error *err, int accepted, size_t classes,
                         int32_t loss, int kind)
{
    ck_assert_msg(status == (accepted ? SVIT_OK : SVIT_E_ARGUMENT),
                  "loss %d, %zu classes, kind %d: status %d (%s)", (int)loss, classes, kind,
                  (int)status, err->message);
    if (accepted)
        return;
    ck_assert_ptr_nonnull(strstr(err->message, "loss=binary"));
    ck_assert(loss == SVIT_LOSS_BINARY || strstr(err->message, "loss=mse"));
    ck_assert_ptr_nonnull(strstr(
        err->message, classes == 1 && loss != SVIT_LOSS_BINARY ? "one output" : "of image 7"));
}

/* Every loss x number of classes x kind of targets, as the training and as the validation set. */
START_TEST(test_every_loss_with_every_kind_of_targets)
{
    const int32_t losses[] = {SVIT_LOSS_CROSS_ENTROPY, SVIT_LOSS_BINARY, SVIT_LOSS_MSE};
    for (size_t c = 0; c < 3 * MOST * KINDS * 2; c++) {
        const int32_t loss = losses[c % 3];
        const size_t classes = c / 3 % MOST + 1;
        const int kind = (int)(c / 3 / MOST % KINDS), validates = c >= 3 * MOST * KINDS;
        svit_dataset *of_kind = samples_of(classes, kind, 0),
                     *good = samples_of(classes, ONE_HOT, 1);
        plan p = plan_make(1);
        p.trainer.loss = loss;
        p.trainer.folder = NULL;
        svit_model *model = fit_model(context, (uint32_t)classes, 1);
        svit_trainer *trainer = NULL;
        svit_error error = {sizeof error, 0, ""};
        svit_status status = svit_trainer_create(
            &trainer, context, model, validates ? good : of_kind, validates ? of_kind : NULL,
            &p.trainer, &p.optimizer, &p.pipeline, &error);
        check_status(status, &error, is_accepted(loss, classes, kind), classes, loss, kind);
        svit_trainer_free(trainer);
        svit_model_free(model);
        svit_dataset_free(good);
        svit_dataset_free(of_kind);
    }
}
END_TEST

/* The validation row of one epoch of `classes` classes, whose validation set says that it has `few`
 * of them. */
static svit_trainer_event validate_few(int32_t loss, size_t classes, size_t few, uint32_t prefetch)
{
    static int32_t all[SAMPLES], of_few[SAMPLES];
    svit_dataset *train = NULL, *with = NULL;
    plan p = plan_make(1);
    p.trainer.loss = loss;
    p.trainer.folder = NULL;
    p.trainer.prefetch = prefetch;
    for (size_t i = 0; i < SAMPLES; i++) {
        all[i] = (int32_t)(i % classes);
        of_few[i] = 0; /* a class of every set */
    }
    WORKS(svit_dataset_memory(&train, context, images, all, SAMPLES, SIDE, SIDE, 3, classes, err));
    WORKS(svit_dataset_memory(&with, context, images, of_few, SAMPLES, SIDE, SIDE, 3, few, err));
    svit_model *model = fit_model(context, (uint32_t)classes, 1);
    svit_trainer *trainer = NULL;
    svit_trainer_event row;
    WORKS(svit_trainer_create(&trainer, context, model, train, with, &p.trainer, &p.optimizer,
                              &p.pipeline, err));
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    WORKS(svit_trainer_history(trainer, 0, &row, sizeof row, err));
    svit_trainer_free(trainer);
    svit_model_free(model);
    svit_dataset_free(with);
    svit_dataset_free(train);
    return row;
}

/* Labels mean the same classes of the model, however many classes the validation set says it
 * has. */
START_TEST(test_a_validation_set_may_have_fewer_classes)
{
    const int32_t losses[] = {SVIT_LOSS_CROSS_ENTROPY, SVIT_LOSS_BINARY, SVIT_LOSS_MSE};
    for (size_t l = 0; l < 3; l++)
        for (size_t classes = 2; classes <= 2 * MOST; classes++) {
            const svit_trainer_event wanted = validate_few(losses[l], classes, classes, 0);
            for (size_t few = 1; few < classes; few++) {
                const svit_trainer_event row =
                    validate_few(losses[l], classes, few, (uint32_t)few % 2);
                ck_assert_msg(memcmp(&row.val_loss, &wanted.val_loss, sizeof row.val_loss) == 0 &&
                                  memcmp(&row.val_top1, &wanted.val_top1, sizeof row.val_top1) == 0,
                              "loss %d, %zu of %zu classes: val_loss %g, not %g", losses[l], few,
                              classes, row.val_loss, wanted.val_loss);
            }
        }
}
END_TEST

START_TEST(test_an_evaluation_measures_probabilities_only)
{
    for (size_t c = 0; c < MOST * KINDS; c++) {
        const size_t classes = c % MOST + 1;
        const int kind = (int)(c / MOST);
        plan p = plan_make(1);
        svit_dataset *of_kind = samples_of(classes, kind, 0);
        svit_model *model = fit_model(context, (uint32_t)classes, 1);
        svit_error error = {sizeof error, 0, ""};
        double loss = -1;
        svit_status status =
            svit_evaluate(context, model, of_kind, &p.pipeline, 8, &loss, NULL, NULL, &error);
        const int accepted = is_accepted(SVIT_LOSS_CROSS_ENTROPY, classes, kind);
        check_status(status, &error, accepted, classes, SVIT_LOSS_CROSS_ENTROPY, kind);
        ck_assert(accepted ? loss > 0 : loss < 0);
        svit_model_free(model);
        svit_dataset_free(of_kind);
    }
}
END_TEST

START_TEST(test_a_cross_entropy_of_one_class_is_refused)
{
    const float logits[] = {1, 2}, rows[] = {1, 1};
    const int32_t zeros[] = {0, 0};
    float loss = -1;
    svit_error error = {sizeof error, 0, ""};
    const svit_status got[] = {
        svit_cross_entropy(logits, zeros, 2, 1, 0, &loss, NULL, &error),
        svit_cross_entropy_soft(logits, rows, 2, 1, &loss, NULL, &error),
        svit_cross_entropy_weighted(logits, zeros, NULL, 2, 1, 0, &loss, NULL, &error)};
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(got[i], SVIT_E_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.message, "classes is 1"));
    ck_assert_ptr_nonnull(strstr(error.message, "svit_mean_squared_error"));
    ck_assert(loss < 0);
    WORKS(svit_binary_cross_entropy(logits, rows, NULL, 2, 1, 0, &loss, NULL, err));
    WORKS(svit_mean_squared_error(logits, rows, 2, 1, &loss, NULL, err));
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("trainer_targets");
    TCase *c = tcase_create("trainer_targets");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_every_loss_with_every_kind_of_targets);
    tcase_add_test(c, test_a_validation_set_may_have_fewer_classes);
    tcase_add_test(c, test_an_evaluation_measures_probabilities_only);
    tcase_add_test(c, test_a_cross_entropy_of_one_class_is_refused);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
