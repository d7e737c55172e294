/* Checks what a trainer freezes in its model, and that it trains nothing that the caller has frozen. */
#include "test_trainer_support.h"

/* What the caller has frozen is trained by no group, and where groups freeze nothing else, sessions of
 * before remain good. */
START_TEST(test_groups_do_not_train_what_is_frozen)
{
    plan p = plan_make(1);
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_session_config config;
    svit_session *session = NULL;
    WORKS(svit_model_set_trainable(model, "*", 0, err));
    WORKS(svit_model_set_trainable(model, "head*", 1, err));
    WORKS(svit_session_config_init(&config, sizeof config));
    config.mode = SVIT_MODE_TRAIN;
    WORKS(svit_session_create(&session, model, &config, err));
    p.optimizer.group_count = 2;
    for (int i = 0; i < 2; i++) {
        p.optimizer.groups[i] =
            (svit_parameter_group){.lr_scale = 1, .weight_decay = -1, .rule = SVIT_RULE_AUTO};
        p.optimizer.groups[i].trainable = i == 0;
        snprintf(p.optimizer.groups[i].pattern, sizeof p.optimizer.groups[i].pattern, "%s",
                 i == 0 ? "*" : "patch_embed*");
    }
    svit_trainer *trainer = open_trainer(model, &p, NULL);
    for (size_t i = 0; i < svit_model_parameter_count(model); i++) {
        int32_t trainable = -1;
        const char *name = svit_model_parameter_name(model, i);
        WORKS(svit_model_get_trainable(model, name, &trainable, err));
        ck_assert_msg(trainable == (strncmp(name, "head", 4) == 0), "%s", name);
    }
    WORKS(svit_session_zero_gradients(session, err));
    svit_trainer_free(trainer);
    svit_session_free(session);
    svit_model_free(model);
}
END_TEST

/* A trainer that is not made, since the folder holds a run, leaves frozen what was. */
START_TEST(test_a_trainer_that_fails_freezes_nothing)
{
    plan p = plan_make(1);
    svit_model *model = fit_model(context, CLASSES, 1);
    const size_t count = svit_model_parameter_count(model);
    svit_trainer *trainer = open_trainer(model, &p, NULL);
    WORKS(svit_trainer_checkpoint(trainer, err));
    svit_trainer_free(trainer);
    for (size_t i = 0; i < count; i++)
        WORKS(
            svit_model_set_trainable(model, svit_model_parameter_name(model, i), i % 3 != 1, err));
    p.optimizer.group_count = 1;
    p.optimizer.groups[0] = (svit_parameter_group){
        .pattern = "layers*", .lr_scale = 1, .weight_decay = -1, .rule = SVIT_RULE_AUTO};
    FAILS(svit_trainer_create(&trainer, context, model, training, NULL, &p.trainer, &p.optimizer,
                              &p.pipeline, err),
          SVIT_E_STATE, "holds a run");
    for (size_t i = 0; i < count; i++) {
        int32_t trainable = -1;
        const char *name = svit_model_parameter_name(model, i);
        WORKS(svit_model_get_trainable(model, name, &trainable, err));
        ck_assert_msg(trainable == (i % 3 != 1), "%s", name);
    }
    svit_model_free(model);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("trainer_freezing");
    TCase *c = tcase_create("core");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_groups_do_not_train_what_is_frozen);
    tcase_add_test(c, test_a_trainer_that_fails_freezes_nothing);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
