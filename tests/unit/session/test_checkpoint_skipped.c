/* Checks what checkpoints say of updates that have left parameters out. */
#include "test_checkpoint_support.h"

static void set_trainable(run *r, const char *pattern, double value)
{
    WORKS(svit_optimizer_set_parameter_f64(r->optimizer, pattern, "trainable", value, err));
}

/* Saved while parameters are left out, or after it; who resumes sets what is trainable again. */
START_TEST(test_a_resumed_run_counts_the_updates_of_each_parameter)
{
    const svit_optimizer_config config = optimizer_config(kinds[_i % 3].kind, kinds[_i % 3].ema);
    const int after = _i / 3;
    run unbroken = run_open(1, 5, &config), resumed = run_open(2, 5, &config);
    run_steps(&unbroken, 1);
    set_trainable(&unbroken, "layers.1.*", 0);
    set_trainable(&unbroken, "head*", 0);
    run_steps(&unbroken, 2);
    if (after)
        set_trainable(&unbroken, "*", 1);
    run_steps(&unbroken, 2);
    WORKS(svit_checkpoint_save(path, unbroken.model, unbroken.optimizer, unbroken.session, NULL,
                               NULL, 0, err));
    svit_checkpoint *checkpoint = NULL;
    WORKS(svit_checkpoint_open(&checkpoint, context, path, err));
    WORKS(svit_checkpoint_restore(checkpoint, resumed.model, resumed.optimizer, resumed.session,
                                  err));
    svit_checkpoint_free(checkpoint);
    set_trainable(&unbroken, "*", 1);
    run_steps(&unbroken, 2);
    run_steps(&resumed, 2);
    ck_assert(fit_same(unbroken.model, resumed.model));
    run_close(&unbroken);
    run_close(&resumed);
}
END_TEST

/* Without parameters that were left out there is no entry, and a restored optimiser forgets what it
 * has counted. */
START_TEST(test_without_counts_there_is_no_entry)
{
    const svit_optimizer_config config = optimizer_config(SVIT_OPTIMIZER_ADAMW, SVIT_EMA_NONE);
    run unbroken = run_open(1, 5, &config), counted = run_open(2, 5, &config);
    set_trainable(&counted, "*", 0);
    run_steps(&counted, 7);
    set_trainable(&counted, "*", 1);
    run_steps(&unbroken, 2);
    WORKS(svit_checkpoint_save(path, unbroken.model, unbroken.optimizer, unbroken.session, NULL,
                               NULL, 0, err));
    size_t bytes;
    char *data = fit_read(path, &bytes);
    ck_assert_ptr_null(memmem(data, bytes, "optimizer.skipped", 17));
    free(data);
    svit_checkpoint *checkpoint = NULL;
    WORKS(svit_checkpoint_open(&checkpoint, context, path, err));
    WORKS(svit_checkpoint_restore(checkpoint, counted.model, counted.optimizer, counted.session,
                                  err));
    svit_checkpoint_free(checkpoint);
    run_steps(&unbroken, 2);
    run_steps(&counted, 2);
    ck_assert(fit_same(unbroken.model, counted.model));
    run_close(&unbroken);
    run_close(&counted);
}
END_TEST

/* Of two updates. */
static const struct {
    const char *value, *part;
} bad_counts[] = {{"[]", "optimizer.skipped"},
                  {"{", "optimizer.skipped"},
                  {"5", "optimizer.skipped"},
                  {"{\"none\":1}", "'none'; parameters of the model are accepted"},
                  {"{\"head.bias\":-1}", "'head.bias' is no number of updates from 0"},
                  {"{\"head.bias\":0.5}", "'head.bias' is no number"},
                  {"{\"head.bias\":3}", "'head.bias' is no number"},
                  {"{\"head.bias\":1e300}", "'head.bias' is no number"},
                  {"{\"head.bias\":\"1\"}", "'head.bias' is no number"},
                  {"{\"head.bias\":null}", "'head.bias' is no number"},
                  {"{\"head.bias\":1.8446744073709552e19}", "'head.bias' is no number"}};

START_TEST(test_wrong_counts_are_refused_and_nothing_changes)
{
    const svit_optimizer_config config = optimizer_config(SVIT_OPTIMIZER_ADAMW, SVIT_EMA_NONE);
    run saved = run_open(1, 5, &config), other = run_open(2, 5, &config),
        fresh = run_open(2, 5, &config);
    const char *const key = "mine.optimizer.skipped";
    run_steps(&saved, 2);
    WORKS(svit_checkpoint_save(path, saved.model, saved.optimizer, NULL, &key,
                               &bad_counts[_i].value, 1, err));
    checkpoint_rename(path, key, "svit.optimizer.skipped");
    svit_checkpoint *checkpoint = NULL;
    WORKS(svit_checkpoint_open(&checkpoint, context, path, err));
    FAILS(svit_checkpoint_restore(checkpoint, other.model, other.optimizer, NULL, err),
          SVIT_E_FORMAT, bad_counts[_i].part);
    ck_assert(fit_same(other.model, fresh.model));
    run_steps(&other, 2);
    run_steps(&fresh, 2);
    ck_assert(fit_same(other.model, fresh.model));
    svit_checkpoint_free(checkpoint);
    run_close(&saved);
    run_close(&other);
    run_close(&fresh);
}
END_TEST

/* As many steps as an entry holds do not make a number of updates of what no integer holds. */
START_TEST(test_a_count_beyond_integers_is_refused)
{
    const svit_optimizer_config config = optimizer_config(SVIT_OPTIMIZER_ADAMW, SVIT_EMA_NONE);
    const char *const key = "mine.optimizer.skipped",
                      *value = "{\"head.bias\":1.8446744073709552e19}";
    run saved = run_open(1, 5, &config), other = run_open(2, 5, &config);
    WORKS(svit_checkpoint_save(path, saved.model, saved.optimizer, NULL, &key, &value, 1, err));
    checkpoint_rename(path, key, "svit.optimizer.skipped");
    checkpoint_edit(path, "svit.optimizer.steps", 0, "18446744073709551615");
    svit_checkpoint *checkpoint = NULL;
    WORKS(svit_checkpoint_open(&checkpoint, context, path, err));
    FAILS(svit_checkpoint_restore(checkpoint, other.model, other.optimizer, NULL, err),
          SVIT_E_FORMAT, "'head.bias' is no number");
    svit_checkpoint_free(checkpoint);
    run_close(&saved);
    run_close(&other);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("updates without parameters in checkpoints");
    TCase *c = tcase_create("skipped");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_a_resumed_run_counts_the_updates_of_each_parameter, 0, 6);
    tcase_add_test(c, test_without_counts_there_is_no_entry);
    tcase_add_loop_test(c, test_wrong_counts_are_refused_and_nothing_changes, 0,
                        sizeof bad_counts / sizeof *bad_counts);
    tcase_add_test(c, test_a_count_beyond_integers_is_refused);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
