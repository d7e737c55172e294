/* Checks what a trainer freezes in its model. */
#include "trainer_support.h"

#include <stdbool.h>

/* With a group that freezes, the groups decide also about what the caller has frozen. Without one
 * it stays. */
START_TEST(test_groups_that_freeze_decide_for_the_model)
{
    static const struct {
        const char *pattern; /* of the second group; the first has all parameters */
        int32_t trainable;
    } CASES[] = {{"layers*", 0}, {"head*", 1}};
    plan p = plan_make(1);
    svit_model *model = fit_model(context, CLASSES, 1);
    WORKS(svit_model_set_trainable(model, "*", 0, err));
    WORKS(svit_model_set_trainable(model, "head*", 1, err));
    p.optimizer.group_count = 2;
    for (int i = 0; i < 2; i++) {
        p.optimizer.groups[i] = (svit_parameter_group){
            .lr_scale = 1, .weight_decay = -1, .trainable = 1, .rule = SVIT_RULE_AUTO};
        snprintf(p.optimizer.groups[i].pattern, sizeof p.optimizer.groups[i].pattern, "%s",
                 i == 0 ? "*" : CASES[_i].pattern);
    }
    p.optimizer.groups[1].trainable = CASES[_i].trainable;
    svit_trainer *trainer = open_trainer(model, &p, NULL);
    for (size_t i = 0; i < svit_model_parameter_count(model); i++) {
        int32_t trainable = -1;
        const char *name = svit_model_parameter_name(model, i);
        WORKS(svit_model_get_trainable(model, name, &trainable, err));
        const bool is_layer = strncmp(name, "layers", 6) == 0,
                   is_head = strncmp(name, "head", 4) == 0;
        ck_assert_msg(trainable == (_i == 0 ? !is_layer : is_head), "%s", name);
    }
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

/* Groups that leave nothing to train are not accepted, whatever else the model has frozen. */
START_TEST(test_groups_that_freeze_everything_are_refused)
{
    plan p = plan_make(1);
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = NULL;
    WORKS(svit_model_set_trainable(model, "head*", 0, err));
    p.optimizer.group_count = 1;
    p.optimizer.groups[0] = (svit_parameter_group){.pattern = "*", .weight_decay = -1};
    FAILS(svit_trainer_create(&trainer, context, model, training, NULL, &p.trainer, &p.optimizer,
                              &p.pipeline, err),
          SVIT_E_ARGUMENT, "nothing is left to train");
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
    tcase_add_loop_test(c, test_groups_that_freeze_decide_for_the_model, 0, 2);
    tcase_add_test(c, test_groups_that_freeze_everything_are_refused);
    tcase_add_test(c, test_a_trainer_that_fails_freezes_nothing);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
