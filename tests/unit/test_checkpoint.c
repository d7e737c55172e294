/* Checks checkpoints: loading restores the saved state to the bit, or changes nothing. */
#include "checkpoint_edit.h"

#include <math.h>

static svit_context *context;
static fit_folder folder;
static char path[128];

static void setup(void)
{
    context = fit_context(2);
    folder = fit_folder_make();
    snprintf(path, sizeof path, "%s", fit_path(&folder, "checkpoint.safetensors"));
}

static void teardown(void)
{
    svit_context_free(context);
    fit_folder_remove(&folder);
}

typedef struct run {
    svit_model *model;
    svit_session *session;
    svit_optimizer *optimizer;
} run;

static svit_optimizer_config optimizer_config(int32_t kind, int32_t ema)
{
    svit_optimizer_config config;
    WORKS(svit_optimizer_config_init(&config, sizeof config));
    config.kind = kind;
    config.momentum = 0.9;
    config.ema = ema;
    config.ema_momentum = 0.9;
    config.learning_rate = 0.01;
    return config;
}

static run run_open(uint64_t seed, uint64_t masks, const svit_optimizer_config *config)
{
    run r = {.model = fit_model(context, 4, seed)};
    svit_session_config session;
    WORKS(svit_session_config_init(&session, sizeof session));
    session.mode = SVIT_MODE_TRAIN;
    session.max_batch = 2;
    session.seed = masks;
    WORKS(svit_session_create(&r.session, r.model, &session, err));
    WORKS(svit_optimizer_create(&r.optimizer, r.model, config, err));
    return r;
}

static void run_close(run *r)
{
    svit_optimizer_free(r->optimizer);
    svit_session_free(r->session);
    svit_model_free(r->model);
}

static void run_steps(run *r, int steps)
{
    float images[2 * 8 * 8 * 3], logits[8], dlogits[8], loss;
    static const int32_t labels[] = {1, 3};
    for (size_t i = 0; i < sizeof images / sizeof *images; i++)
        images[i] = (float)(i % 7) / 7;
    for (int step = 0; step < steps; step++) {
        WORKS(svit_forward(r->session, images, 2, logits, err));
        WORKS(svit_cross_entropy(logits, labels, 2, 4, 0, &loss, dlogits, err));
        WORKS(svit_backward(r->session, dlogits, 2, err));
        WORKS(svit_step(r->optimizer, r->session, err));
    }
}

static const struct {
    int32_t kind, ema;
} kinds[] = {
    {SVIT_OPTIMIZER_ADAMW, SVIT_EMA_NONE},
    {SVIT_OPTIMIZER_ADAMW, SVIT_EMA_KERAS},
    {SVIT_OPTIMIZER_SGD, SVIT_EMA_PLAIN},
};

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

/* What the frozen models train, by pattern: a part in the middle of the file, or the classifier. */
static const char *const trained[] = {"layers.1.*", "head*"};

static void freeze_but(svit_model *model, const char *pattern)
{
    WORKS(svit_model_set_trainable(model, "*", 0, err));
    WORKS(svit_model_set_trainable(model, pattern, 1, err));
}

static void open_handles(run *r, const svit_optimizer_config *config)
{
    svit_session_config session;
    WORKS(svit_session_config_init(&session, sizeof session));
    session.mode = SVIT_MODE_TRAIN;
    session.max_batch = 2;
    session.seed = 5;
    WORKS(svit_session_create(&r->session, r->model, &session, err));
    WORKS(svit_optimizer_create(&r->optimizer, r->model, config, err));
}

/* The model is restored first, so that session and optimiser are those of what is trained. */
START_TEST(test_a_restored_run_freezes_what_was_frozen)
{
    svit_optimizer_config config = optimizer_config(kinds[_i % 3].kind, kinds[_i % 3].ema);
    run unbroken = {.model = fit_model(context, 4, 1)},
        resumed = {.model = fit_model(context, 4, 2)};
    freeze_but(unbroken.model, trained[_i / 3]);
    open_handles(&unbroken, &config);
    run_steps(&unbroken, 3);
    WORKS(svit_checkpoint_save(path, unbroken.model, unbroken.optimizer, unbroken.session, NULL,
                               NULL, 0, err));
    run_steps(&unbroken, 3);

    svit_checkpoint *checkpoint = NULL;
    WORKS(svit_checkpoint_open(&checkpoint, context, path, err));
    svit_model *fresh = fit_model(context, 4, 2);
    run stale = {.model = resumed.model};
    open_handles(&stale, &config);
    FAILS(svit_checkpoint_restore(checkpoint, stale.model, stale.optimizer, NULL, err),
          SVIT_E_STATE, "is frozen in");
    FAILS(svit_checkpoint_restore(checkpoint, stale.model, NULL, stale.session, err), SVIT_E_STATE,
          "restore the model alone");
    ck_assert(fit_same(stale.model, fresh));
    svit_model_free(fresh);
    WORKS(svit_checkpoint_restore(checkpoint, resumed.model, NULL, NULL, err));
    FAILS(svit_checkpoint_restore(checkpoint, NULL, stale.optimizer, NULL, err), SVIT_E_STATE,
          "optimizer was created");
    FAILS(svit_checkpoint_restore(checkpoint, NULL, NULL, stale.session, err), SVIT_E_STATE,
          "session was created");
    FAILS(svit_checkpoint_save(path, stale.model, stale.optimizer, NULL, NULL, NULL, 0, err),
          SVIT_E_STATE, "optimizer was created");
    svit_optimizer_free(stale.optimizer);
    svit_session_free(stale.session);

    open_handles(&resumed, &config);
    WORKS(svit_checkpoint_restore(checkpoint, resumed.model, resumed.optimizer, resumed.session,
                                  err));
    svit_checkpoint_free(checkpoint);
    for (size_t i = 0; i < svit_model_parameter_count(resumed.model); i++) {
        const char *name = svit_model_parameter_name(resumed.model, i);
        int32_t wanted, got;
        WORKS(svit_model_get_trainable(unbroken.model, name, &wanted, err));
        WORKS(svit_model_get_trainable(resumed.model, name, &got, err));
        ck_assert_msg(wanted == got, "%s", name);
    }
    run_steps(&resumed, 3);
    ck_assert(fit_same(unbroken.model, resumed.model));
    run_close(&unbroken);
    run_close(&resumed);
}
END_TEST

static const struct {
    const char *value, *part;
} bad_lists[] = {{"[5]", "no text"},
                 {"{}", "no list"},
                 {"[\\\"none\\\"]", "'none'"},
                 {"[", "svit.frozen"},
                 {"[\\\"head.bias\\\",null]", "element 1"}};

START_TEST(test_a_wrong_list_of_frozen_parameters_is_refused)
{
    svit_model *model = fit_model(context, 4, 1), *other = fit_model(context, 4, 2);
    svit_checkpoint *checkpoint = NULL;
    WORKS(svit_checkpoint_save(path, other, NULL, NULL, NULL, NULL, 0, err));
    checkpoint_edit(path, "svit.frozen", 0, bad_lists[_i].value);
    WORKS(svit_checkpoint_open(&checkpoint, context, path, err));
    FAILS(svit_checkpoint_restore(checkpoint, model, NULL, NULL, err), SVIT_E_FORMAT,
          bad_lists[_i].part);
    ck_assert(!fit_same(model, other));
    svit_checkpoint_free(checkpoint);
    svit_model_free(model);
    svit_model_free(other);
}
END_TEST

/* A checkpoint of an older library has no list of frozen parameters. */
START_TEST(test_without_a_list_the_model_stays_as_it_is)
{
    svit_model *model = fit_model(context, 4, 1), *other = fit_model(context, 4, 2);
    svit_checkpoint *checkpoint = NULL;
    int32_t trainable;
    WORKS(svit_checkpoint_save(path, other, NULL, NULL, NULL, NULL, 0, err));
    checkpoint_rename(path, "svit.frozen", "svit.unkown");
    freeze_but(model, "head*");
    WORKS(svit_checkpoint_open(&checkpoint, context, path, err));
    WORKS(svit_checkpoint_restore(checkpoint, model, NULL, NULL, err));
    WORKS(svit_model_get_trainable(model, "patch_embed.proj.weight", &trainable, err));
    ck_assert_int_eq(trainable, 0);
    ck_assert(fit_same(model, other));
    svit_checkpoint_free(checkpoint);
    svit_model_free(model);
    svit_model_free(other);
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
    tcase_add_loop_test(c, test_a_restored_run_freezes_what_was_frozen, 0, 6);
    tcase_add_loop_test(c, test_a_wrong_list_of_frozen_parameters_is_refused, 0,
                        sizeof bad_lists / sizeof *bad_lists);
    tcase_add_test(c, test_without_a_list_the_model_stays_as_it_is);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
