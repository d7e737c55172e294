/* Checks the trainer's early stopping, best weights and history. */
#include "trainer_support.h"

#include <math.h>
#include <stdbool.h>

START_TEST(test_patience_ends_a_run_that_does_not_get_better)
{
    plan p = plan_make(50);
    p.trainer.patience = 2;
    p.optimizer.schedule = SVIT_SCHEDULE_CONSTANT;
    p.optimizer.learning_rate = 0; /* the loss never changes, so epoch 1 is the best */
    p.optimizer.weight_decay = 0;
    svit_model *model = fit_model(context, CLASSES, 1), *same = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    svit_trainer_event event = {0};
    do
        WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    while (event.kind != SVIT_EVENT_FINISHED);
    ck_assert_int_eq(event.stopped_early, 1);
    ck_assert_uint_eq(event.epoch, 3);
    ck_assert_uint_eq(event.best_epoch, 1);
    ck_assert_uint_eq(svit_trainer_history_count(trainer), 3);
    ck_assert(fit_same(model, same));
    WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    ck_assert_int_eq(event.kind, SVIT_EVENT_FINISHED);
    svit_trainer_free(trainer);
    svit_model_free(model);
    svit_model_free(same);
}
END_TEST

START_TEST(test_patience_counts_from_the_best_epoch)
{
    enum { PATIENCE = 3 };
    plan p = plan_make(60);
    p.trainer.patience = PATIENCE;
    p.trainer.folder = NULL;
    p.optimizer.schedule = SVIT_SCHEDULE_CONSTANT;
    p.optimizer.learning_rate = 0.1;
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    size_t rows = svit_trainer_history_count(trainer);
    uint64_t waits = 0; /* epochs without improvement, in total */
    svit_trainer_event row;
    for (size_t i = 0; i < rows; i++) {
        WORKS(svit_trainer_history(trainer, i, &row, sizeof row, err));
        ck_assert_int_eq(row.epoch - row.best_epoch >= PATIENCE, i + 1 == rows);
        waits += row.best_epoch != row.epoch;
    }
    ck_assert_uint_lt(rows, 60);
    ck_assert_uint_gt(waits, PATIENCE);
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

START_TEST(test_the_best_weights_are_kept_and_written)
{
    plan p = plan_make(4);
    p.trainer.keep = SVIT_KEEP_BEST;
    svit_model *model = fit_model(context, CLASSES, 1), *best = NULL;
    svit_trainer *trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    svit_trainer_event row;
    double most = -1, least = 0;
    uint64_t epoch = 0;
    for (size_t i = 0; i < svit_trainer_history_count(trainer); i++) {
        WORKS(svit_trainer_history(trainer, i, &row, sizeof row, err));
        if (row.val_top1 > most || (row.val_top1 == most && row.val_loss < least)) {
            most = row.val_top1;
            least = row.val_loss;
            epoch = i + 1;
        }
        ck_assert_uint_eq(row.best_epoch, epoch);
    }
    double top1;
    WORKS(svit_evaluate(context, model, validation, &p.pipeline, 4, NULL, &top1, NULL, err));
    ck_assert_double_eq(top1, most);
    double loss[3];
    for (int32_t i = SVIT_COMPUTE_F32; i <= SVIT_COMPUTE_INT8; i++) {
        WORKS(svit_evaluate_with_compute(context, model, validation, &p.pipeline, 4, i, &loss[i],
                                         NULL, NULL, err));
        ck_assert_double_eq_tol(loss[i], loss[0], 0.02);
        ck_assert_msg(i == SVIT_COMPUTE_F32 || loss[i] != loss[0], "compute %d is float32", (int)i);
    }
    FAILS(svit_evaluate_with_compute(context, model, validation, &p.pipeline, 4, 3, NULL, &top1,
                                     NULL, err),
          SVIT_E_ARGUMENT, "compute is 3");
    WORKS(svit_model_load(&best, context, fit_path(&folder, "best.safetensors"), err));
    ck_assert(fit_same(model, best));
    svit_trainer_free(trainer);
    svit_model_free(model);
    svit_model_free(best);
}
END_TEST

/* Of epochs with equal top-1 the one with the lowest loss is the best, and patience counts from
 * there. The first of them used to stay the best. */
START_TEST(test_of_equal_top1_the_lowest_loss_is_the_best)
{
    enum { FEW = 2 };
    plan p = plan_make(40);
    svit_dataset *few = NULL;
    p.trainer.keep = SVIT_KEEP_BEST;
    p.trainer.patience = 2;
    p.optimizer.schedule = SVIT_SCHEDULE_CONSTANT;
    p.optimizer.learning_rate = 2e-3;
    svit_model *model = fit_model(context, CLASSES, 1);
    WORKS(svit_dataset_slice(&few, training, 0, FEW, err));
    svit_trainer *trainer = open_trainer(model, &p, few);
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    svit_trainer_event row, best = {0};
    size_t rows = svit_trainer_history_count(trainer), ties = 0;
    for (size_t i = 0; i < rows; i++) {
        WORKS(svit_trainer_history(trainer, i, &row, sizeof row, err));
        bool is_tie = i > 0 && row.val_top1 == best.val_top1 && row.val_loss < best.val_loss;
        if (i == 0 || row.val_top1 > best.val_top1 || is_tie)
            best = row;
        ties += is_tie;
        ck_assert_uint_eq(row.best_epoch, best.epoch);
        ck_assert_int_eq(row.epoch - row.best_epoch >= p.trainer.patience, i + 1 == rows && i < 39);
    }
    ck_assert_uint_gt(ties, 3);
    double loss;
    WORKS(svit_evaluate(context, model, few, &p.pipeline, 4, &loss, NULL, NULL, err));
    ck_assert_double_eq_tol(loss, best.val_loss, 1e-6);
    svit_trainer_free(trainer);
    svit_dataset_free(few);
    svit_model_free(model);
}
END_TEST

START_TEST(test_history_has_a_row_an_epoch_with_the_known_columns)
{
    plan p = plan_make(2);
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, NULL);
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    char *text = fit_read(fit_path(&folder, "history.csv"), NULL);
    static const char head[] = "epoch,train_loss,train_top1,train_top5,val_loss,val_top1,val_top5,"
                               "lr,images_per_second,seconds,pflop\n";
    ck_assert(strncmp(text, head, strlen(head)) == 0);
    int epoch;
    double loss, top1, top5;
    ck_assert_int_eq(sscanf(text + strlen(head), "%d,%lf,%lf,%lf,,,,", &epoch, &loss, &top1, &top5),
                     4);
    svit_trainer_event row;
    WORKS(svit_trainer_history(trainer, 0, &row, sizeof row, err));
    ck_assert_double_eq_tol(loss, row.train_loss, 1e-8);
    ck_assert(isnan(row.val_top1));
    ck_assert_uint_eq(row.best_epoch, 0);
    ck_assert_double_eq(top5, 1);
    FAILS(svit_trainer_history(trainer, 2, &row, sizeof row, err), SVIT_E_ARGUMENT, "index is 2");
    free(text);
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("trainer_best");
    TCase *c = tcase_create("trainer_best");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_patience_ends_a_run_that_does_not_get_better);
    tcase_add_test(c, test_patience_counts_from_the_best_epoch);
    tcase_add_test(c, test_the_best_weights_are_kept_and_written);
    tcase_add_test(c, test_of_equal_top1_the_lowest_loss_is_the_best);
    tcase_add_test(c, test_history_has_a_row_an_epoch_with_the_known_columns);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
