/* Checks checkpoints: loading restores the saved state to the bit, or changes nothing. */
#include "test_checkpoint_support.h"

#include <math.h>

START_TEST(test_a_restored_run_goes_on_as_the_unbroken_one)
{
    svit_optimizer_config config = optimizer_config(kinds[_i].kind, kinds[_i].ema);
    run unbroken = run_open(1, 5, &config);
    run_steps(&unbroken, 3);
    const char *keys[] = {"mine", "other"}, *values[] = {"1", "\xc3\xa4 \"b\""};
    WORKS(svit_checkpoint_save(path, unbroken.model, unbroken.optimizer, unbroken.session, keys,
                               values, 2, err));
    run_steps(&unbroken, 3);

    run resumed = run_open(2, 5, &config);
    svit_checkpoint *checkpoint = NULL;
    WORKS(svit_checkpoint_open(&checkpoint, context, path, err));
    ck_assert_str_eq(svit_checkpoint_value(checkpoint, "other"), values[1]);
    ck_assert_ptr_null(svit_checkpoint_value(checkpoint, "svit.optimizer.steps"));
    ck_assert_ptr_null(svit_checkpoint_value(checkpoint, "config"));
    ck_assert_ptr_null(svit_checkpoint_value(checkpoint, "none"));
    WORKS(svit_checkpoint_restore(checkpoint, resumed.model, resumed.optimizer, resumed.session,
                                  err));
    svit_checkpoint_free(checkpoint);
    ck_assert_uint_eq(svit_optimizer_steps(resumed.optimizer), 3);
    ck_assert_uint_eq(svit_session_counter(resumed.session), 3);
    run_steps(&resumed, 3);
    ck_assert(fit_same(unbroken.model, resumed.model));
    if (kinds[_i].ema) {
        WORKS(svit_optimizer_swap_ema(unbroken.optimizer, err));
        WORKS(svit_optimizer_swap_ema(resumed.optimizer, err));
        ck_assert(fit_same(unbroken.model, resumed.model));
    }
    run_close(&unbroken);
    run_close(&resumed);
}
END_TEST

START_TEST(test_a_checkpoint_loads_as_a_model)
{
    svit_optimizer_config config = optimizer_config(SVIT_OPTIMIZER_ADAMW, SVIT_EMA_PLAIN);
    run r = run_open(1, 5, &config);
    run_steps(&r, 2);
    WORKS(svit_checkpoint_save(path, r.model, r.optimizer, r.session, NULL, NULL, 0, err));
    svit_model *model = NULL;
    WORKS(svit_model_load(&model, context, path, err));
    ck_assert(fit_same(model, r.model));
    svit_model_free(model);
    run_close(&r);
}
END_TEST

START_TEST(test_what_does_not_fit_is_refused_and_nothing_changes)
{
    svit_optimizer_config adamw = optimizer_config(SVIT_OPTIMIZER_ADAMW, SVIT_EMA_NONE);
    svit_optimizer_config sgd = optimizer_config(SVIT_OPTIMIZER_SGD, SVIT_EMA_NONE);
    svit_optimizer_config average = optimizer_config(SVIT_OPTIMIZER_ADAMW, SVIT_EMA_PLAIN);
    run saved = run_open(1, 5, &adamw), other = run_open(2, 6, &sgd),
        third = run_open(2, 5, &average);
    run_steps(&saved, 2);
    WORKS(svit_checkpoint_save(path, saved.model, saved.optimizer, saved.session, NULL, NULL, 0,
                               err));
    svit_checkpoint *checkpoint = NULL;
    WORKS(svit_checkpoint_open(&checkpoint, context, path, err));
    FAILS(svit_checkpoint_restore(checkpoint, other.model, other.optimizer, NULL, err),
          SVIT_E_ARGUMENT, "kind");
    FAILS(svit_checkpoint_restore(checkpoint, other.model, NULL, other.session, err),
          SVIT_E_ARGUMENT, "seed");
    FAILS(svit_checkpoint_restore(checkpoint, third.model, third.optimizer, NULL, err),
          SVIT_E_ARGUMENT, "ema");
    FAILS(svit_checkpoint_restore(NULL, third.model, NULL, NULL, err), SVIT_E_ARGUMENT, "NULL");
    FAILS(svit_checkpoint_restore(checkpoint, third.model, saved.optimizer, NULL, err),
          SVIT_E_ARGUMENT, "optimizer is of another model than the one given");
    FAILS(svit_checkpoint_restore(checkpoint, third.model, NULL, saved.session, err),
          SVIT_E_ARGUMENT, "session is of another model than the one given");
    svit_model_config config = fit_model_config(4);
    config.dropout = 0.3;
    svit_model *model = NULL, *fresh = fit_model(context, 4, 2);
    WORKS(svit_model_create(&model, context, &config, 2, err));
    FAILS(svit_checkpoint_restore(checkpoint, model, NULL, NULL, err), SVIT_E_ARGUMENT,
          "'dropout'");
    ck_assert(fit_same(other.model, fresh));
    ck_assert(fit_same(third.model, fresh));
    ck_assert_uint_eq(svit_session_counter(other.session), 0);
    svit_checkpoint_free(checkpoint);
    svit_model_free(model);
    svit_model_free(fresh);
    run_close(&saved);
    run_close(&other);
    run_close(&third);
}
END_TEST

START_TEST(test_wrong_entries_are_refused_and_the_old_file_stays)
{
    svit_optimizer_config config = optimizer_config(SVIT_OPTIMIZER_ADAMW, SVIT_EMA_NONE);
    run r = run_open(1, 5, &config), other = run_open(1, 5, &config);
    WORKS(svit_checkpoint_save(path, r.model, NULL, NULL, NULL, NULL, 0, err));
    size_t bytes;
    char *before = fit_read(path, &bytes);
    static const struct {
        const char *key, *value, *part;
    } wrong[] = {
        {"svit.mine", "1", "'svit.'"},     {"config", "1", "'config'"},
        {"x", NULL, "values[1]"},          {NULL, "1", "keys[1]"},
        {"first", "1", "once more"},       {"x", "\xff", "UTF-8"},
        {"format", "1", "'format'"},       {"format_version", "1", "'format_version'"},
        {"classes", "1", "'classes'"},     {"preprocessing", "1", "'preprocessing'"},
        {"output", "1", "'output'"},       {"known_threshold", "1", "'known_threshold'"},
        {"text_head", "1", "'text_head'"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *keys[] = {"first", wrong[i].key}, *values[] = {"1", wrong[i].value};
        FAILS(svit_checkpoint_save(path, r.model, NULL, NULL, keys, values, 2, err),
              SVIT_E_ARGUMENT, wrong[i].part);
    }
    FAILS(svit_checkpoint_save(path, r.model, other.optimizer, NULL, NULL, NULL, 0, err),
          SVIT_E_ARGUMENT, "optimizer");
    FAILS(svit_checkpoint_save(path, r.model, NULL, other.session, NULL, NULL, 0, err),
          SVIT_E_ARGUMENT, "session");
    FAILS(svit_checkpoint_save("/nowhere/at/all", r.model, NULL, NULL, NULL, NULL, 0, err),
          SVIT_E_IO, "/nowhere/at/all");
    size_t bytes_after;
    char *after = fit_read(path, &bytes_after);
    ck_assert_uint_eq(bytes, bytes_after);
    ck_assert_mem_eq(before, after, bytes);
    free(before);
    free(after);

    svit_checkpoint *checkpoint = NULL;
    WORKS(svit_checkpoint_open(&checkpoint, context, path, err));
    FAILS(svit_checkpoint_restore(checkpoint, r.model, r.optimizer, NULL, err), SVIT_E_ARGUMENT,
          "no optimiser");
    FAILS(svit_checkpoint_restore(checkpoint, r.model, NULL, r.session, err), SVIT_E_ARGUMENT,
          "no session");
    svit_checkpoint_free(checkpoint);
    WORKS(svit_model_save(r.model, path, err));
    FAILS(svit_checkpoint_open(&checkpoint, context, path, err), SVIT_E_FORMAT, "no checkpoint");
    run_close(&r);
    run_close(&other);
}
END_TEST

/* Metadata entries that the library never writes together with the others. */
START_TEST(test_a_state_that_cannot_be_is_named_and_nothing_changes)
{
    static const struct {
        int32_t ema;
        const char *key, *value;
        int with_optimizer, with_session;
    } damages[] = {
        {SVIT_EMA_NONE, "svit.optimizer.swapped", "1", 1, 1},
        {SVIT_EMA_PLAIN, "svit.optimizer.swapped", "2", 1, 1},
        {SVIT_EMA_PLAIN, "svit.optimizer", "2", 1, 1},
        {SVIT_EMA_PLAIN, "svit.session", "18446744073709551615", 1, 1},
        {SVIT_EMA_NONE, "svit.optimizer.steps", "1", 0, 1},
        {SVIT_EMA_NONE, "svit.optimizer.swapped", "1", 0, 1},
        {SVIT_EMA_NONE, "svit.session.counter", "1", 1, 0},
        {SVIT_EMA_PLAIN, "svit.optimizer.snapshots", "3", 1, 1},
        {SVIT_EMA_NONE, "svit.optimizer.snapshots", "1", 0, 1},
    };
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        svit_optimizer_config config = optimizer_config(SVIT_OPTIMIZER_ADAMW, damages[i].ema);
        run saved = run_open(1, 5, &config), other = run_open(2, 5, &config);
        svit_model *fresh = fit_model(context, 4, 2);
        run_steps(&saved, 2);
        WORKS(svit_checkpoint_save(
            path, saved.model, damages[i].with_optimizer ? saved.optimizer : NULL,
            damages[i].with_session ? saved.session : NULL, NULL, NULL, 0, err));
        checkpoint_edit(path, damages[i].key, 0, damages[i].value);
        svit_checkpoint *checkpoint = NULL;
        WORKS(svit_checkpoint_open(&checkpoint, context, path, err));
        FAILS(svit_checkpoint_restore(checkpoint, other.model, other.optimizer, other.session, err),
              SVIT_E_FORMAT, damages[i].key);
        ck_assert(fit_same(other.model, fresh));
        ck_assert_uint_eq(svit_optimizer_steps(other.optimizer), 0);
        ck_assert_uint_eq(svit_session_counter(other.session), 0);
        svit_checkpoint_free(checkpoint);
        svit_model_free(fresh);
        run_close(&saved);
        run_close(&other);
    }
}
END_TEST

START_TEST(test_weights_swapped_before_the_first_step_are_refused)
{
    svit_optimizer_config config = optimizer_config(SVIT_OPTIMIZER_ADAMW, SVIT_EMA_PLAIN);
    run r = run_open(1, 5, &config);
    svit_checkpoint *checkpoint = NULL;
    WORKS(svit_checkpoint_save(path, r.model, r.optimizer, r.session, NULL, NULL, 0, err));
    checkpoint_edit(path, "svit.optimizer.swapped", 0, "1");
    WORKS(svit_checkpoint_open(&checkpoint, context, path, err));
    FAILS(svit_checkpoint_restore(checkpoint, r.model, r.optimizer, r.session, err), SVIT_E_FORMAT,
          "svit.optimizer.swapped");
    svit_checkpoint_free(checkpoint);
    run_close(&r);
}
END_TEST

/* The optimiser has the weights while the model has their average. */
START_TEST(test_a_swapped_optimiser_is_restored_with_its_model)
{
    svit_optimizer_config config = optimizer_config(SVIT_OPTIMIZER_ADAMW, SVIT_EMA_PLAIN);
    run r = run_open(1, 5, &config), other = run_open(2, 5, &config);
    svit_checkpoint *checkpoint = NULL;
    run_steps(&r, 2);
    WORKS(svit_optimizer_swap_ema(r.optimizer, err));
    WORKS(svit_checkpoint_save(path, r.model, r.optimizer, r.session, NULL, NULL, 0, err));
    WORKS(svit_checkpoint_open(&checkpoint, context, path, err));
    FAILS(svit_checkpoint_restore(checkpoint, NULL, other.optimizer, NULL, err), SVIT_E_ARGUMENT,
          "holds the average of its weights");
    ck_assert_uint_eq(svit_optimizer_steps(other.optimizer), 0);
    WORKS(svit_checkpoint_restore(checkpoint, other.model, other.optimizer, NULL, err));
    WORKS(svit_optimizer_swap_ema(r.optimizer, err));
    WORKS(svit_optimizer_swap_ema(other.optimizer, err));
    ck_assert(fit_same(r.model, other.model));
    svit_checkpoint_free(checkpoint);
    /* The one that is there has the average, and the checkpoint the weights. */
    WORKS(svit_checkpoint_save(path, r.model, r.optimizer, r.session, NULL, NULL, 0, err));
    WORKS(svit_checkpoint_open(&checkpoint, context, path, err));
    WORKS(svit_optimizer_swap_ema(other.optimizer, err));
    FAILS(svit_checkpoint_restore(checkpoint, NULL, other.optimizer, NULL, err), SVIT_E_ARGUMENT,
          "the model of the optimiser holds the average of its weights");
    WORKS(svit_optimizer_swap_ema(other.optimizer, err));
    ck_assert(fit_same(r.model, other.model));
    WORKS(svit_checkpoint_restore(checkpoint, NULL, other.optimizer, NULL, err));
    svit_checkpoint_free(checkpoint);
    run_close(&r);
    run_close(&other);
}
END_TEST

/* The average, where the checkpoint's model holds it; a training goes on once all are restored. */
START_TEST(test_a_model_alone_is_the_one_that_the_file_loads)
{
    svit_optimizer_config config = optimizer_config(SVIT_OPTIMIZER_ADAMW, SVIT_EMA_PLAIN);
    run r = run_open(1, 5, &config), other = run_open(2, 5, &config);
    svit_checkpoint *checkpoint = NULL;
    svit_model *loaded = NULL;
    run_steps(&r, 2);
    WORKS(svit_optimizer_swap_ema(r.optimizer, err));
    WORKS(svit_checkpoint_save(path, r.model, r.optimizer, r.session, NULL, NULL, 0, err));
    WORKS(svit_checkpoint_open(&checkpoint, context, path, err));
    WORKS(svit_model_load(&loaded, context, path, err));
    WORKS(svit_checkpoint_restore(checkpoint, other.model, NULL, NULL, err));
    ck_assert(fit_same(other.model, loaded));
    ck_assert(fit_same(other.model, r.model));
    WORKS(svit_checkpoint_restore(checkpoint, other.model, other.optimizer, other.session, err));
    WORKS(svit_optimizer_swap_ema(r.optimizer, err));
    WORKS(svit_optimizer_swap_ema(other.optimizer, err));
    run_steps(&r, 1);
    run_steps(&other, 1);
    ck_assert(fit_same(r.model, other.model));
    svit_model_free(loaded);
    svit_checkpoint_free(checkpoint);
    run_close(&r);
    run_close(&other);
}
END_TEST

START_TEST(test_numbers_of_the_state_are_read_by_name)
{
    svit_optimizer_config config = optimizer_config(SVIT_OPTIMIZER_ADAMW, SVIT_EMA_PLAIN);
    run r = run_open(1, 5, &config);
    run_steps(&r, 3);
    WORKS(svit_optimizer_swap_ema(r.optimizer, err));
    WORKS(svit_checkpoint_save(path, r.model, r.optimizer, r.session, NULL, NULL, 0, err));
    svit_checkpoint *checkpoint = NULL;
    uint64_t value = 77;
    WORKS(svit_checkpoint_open(&checkpoint, context, path, err));
    WORKS(svit_checkpoint_get_u64(checkpoint, "optimizer.steps", &value, err));
    ck_assert_uint_eq(value, 3);
    WORKS(svit_checkpoint_get_u64(checkpoint, "optimizer.swapped", &value, err));
    ck_assert_uint_eq(value, 1);
    WORKS(svit_checkpoint_get_u64(checkpoint, "session.counter", &value, err));
    ck_assert_uint_eq(value, 3);
    FAILS(svit_checkpoint_get_u64(checkpoint, "steps", &value, err), SVIT_E_ARGUMENT,
          "key is 'steps'; 'optimizer.steps'");
    FAILS(svit_checkpoint_get_u64(NULL, "optimizer.steps", &value, err), SVIT_E_ARGUMENT,
          "checkpoint");
    ck_assert_uint_eq(value, 3);
    svit_checkpoint_free(checkpoint);
    run_close(&r);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("checkpoint");
    TCase *c = tcase_create("checkpoint");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_a_restored_run_goes_on_as_the_unbroken_one, 0,
                        sizeof kinds / sizeof *kinds);
    tcase_add_test(c, test_a_checkpoint_loads_as_a_model);
    tcase_add_test(c, test_what_does_not_fit_is_refused_and_nothing_changes);
    tcase_add_test(c, test_wrong_entries_are_refused_and_the_old_file_stays);
    tcase_add_test(c, test_a_state_that_cannot_be_is_named_and_nothing_changes);
    tcase_add_test(c, test_weights_swapped_before_the_first_step_are_refused);
    tcase_add_test(c, test_a_swapped_optimiser_is_restored_with_its_model);
    tcase_add_test(c, test_a_model_alone_is_the_one_that_the_file_loads);
    tcase_add_test(c, test_numbers_of_the_state_are_read_by_name);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
