/* Checks what checkpoints say of frozen parameters. */
#include "test_checkpoint_support.h"

/* What the frozen models train, by pattern: a part in the middle of the file, or the classifier. */
static const char *const trained[] = {"layers.1.*", "head*"};

static void freeze_but(svit_model *model, const char *pattern)
{
    WORKS(svit_model_set_trainable(model, "*", 0, err));
    WORKS(svit_model_set_trainable(model, pattern, 1, err));
}

/* The model is restored first, so that session and optimiser are those of what is trained. */
START_TEST(test_a_restored_run_freezes_what_was_frozen)
{
    svit_optimizer_config config = optimizer_config(kinds[_i % 3].kind, kinds[_i % 3].ema);
    run unbroken = {.model = fit_model(context, 4, 1)},
        resumed = {.model = fit_model(context, 4, 2)};
    freeze_but(unbroken.model, trained[_i / 3]);
    run_open_handles(&unbroken, 5, &config);
    run_steps(&unbroken, 3);
    WORKS(svit_checkpoint_save(path, unbroken.model, unbroken.optimizer, unbroken.session, NULL,
                               NULL, 0, err));
    run_steps(&unbroken, 3);

    svit_checkpoint *checkpoint = NULL;
    WORKS(svit_checkpoint_open(&checkpoint, context, path, err));
    svit_model *fresh = fit_model(context, 4, 2);
    run stale = {.model = resumed.model};
    run_open_handles(&stale, 5, &config);
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

    run_open_handles(&resumed, 5, &config);
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

/* The names of all parameters but those of the head, as a list in a JSON string. */
static void list_body(char *out, const svit_model *model)
{
    *out = '\0';
    for (size_t i = 0; i < svit_model_parameter_count(model); i++) {
        const char *name = svit_model_parameter_name(model, i);
        if (strncmp(name, "head", 4) != 0)
            sprintf(out + strlen(out), "%s\\\"%s\\\"", *out ? "," : "[", name);
    }
    strcat(out, "]");
}

/* A step of given gradients, since layers below the trained ones have no dropout. */
static void step_with(run *r, const char *name)
{
    int64_t shape[8];
    size_t rank;
    float gradient[1024];
    WORKS(svit_model_parameter_shape(r->model, name, shape, &rank, err));
    const size_t elements = (size_t)(shape[0] * shape[1]);
    ck_assert_uint_le(elements, sizeof gradient / sizeof *gradient);
    for (size_t i = 0; i < elements; i++)
        gradient[i] = (float)(i % 5) - 2;
    WORKS(svit_session_zero_gradients(r->session, err));
    WORKS(svit_session_set_gradient(r->session, name, gradient, elements, err));
    WORKS(svit_step(r->optimizer, r->session, err));
}

/* Older libraries wrote slots of frozen parameters too. They are not read, and the others are those
 * of an optimiser that has all slots and updates as few parameters. */
START_TEST(test_slots_of_frozen_parameters_are_skipped)
{
    char frozen[4096];
    svit_optimizer_config config = optimizer_config(kinds[_i].kind, kinds[_i].ema);
    run whole = run_open(1, 5, &config), head = {.model = fit_model(context, 4, 2)};
    svit_checkpoint *checkpoint = NULL;
    run_steps(&whole, 2);
    WORKS(svit_checkpoint_save(path, whole.model, whole.optimizer, NULL, NULL, NULL, 0, err));
    list_body(frozen, whole.model);
    checkpoint_edit(path, "svit.frozen", 0, frozen);
    freeze_but(head.model, "head*");
    run_open_handles(&head, 5, &config);
    WORKS(svit_checkpoint_open(&checkpoint, context, path, err));
    WORKS(svit_checkpoint_restore(checkpoint, head.model, head.optimizer, NULL, err));
    svit_checkpoint_free(checkpoint);

    WORKS(svit_optimizer_set_parameter_f64(whole.optimizer, "*", "trainable", 0, err));
    WORKS(svit_optimizer_set_parameter_f64(whole.optimizer, "head*", "trainable", 1, err));
    step_with(&whole, "head.weight");
    step_with(&head, "head.weight");
    ck_assert(fit_same(whole.model, head.model));
    run_close(&whole);
    run_close(&head);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("frozen parameters in checkpoints");
    TCase *c = tcase_create("frozen");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_a_restored_run_freezes_what_was_frozen, 0, 6);
    tcase_add_loop_test(c, test_a_wrong_list_of_frozen_parameters_is_refused, 0,
                        sizeof bad_lists / sizeof *bad_lists);
    tcase_add_test(c, test_without_a_list_the_model_stays_as_it_is);
    tcase_add_loop_test(c, test_slots_of_frozen_parameters_are_skipped, 0,
                        sizeof kinds / sizeof *kinds);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
