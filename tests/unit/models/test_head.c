/* Heads of other numbers of classes: which weights stay, and which models are refused. */
#include "calls.h"

#include <shiftvit/shiftvit.h>

#include <string.h>

enum { DIM = 12, CLASSES = 4 };

#define VIT                                                                                        \
    "{\"architecture\":\"vit\",\"input_height\":12,\"input_width\":12,\"patch_size\":6,"           \
    "\"dim\":12,\"depth\":1,\"heads\":2,\"head_dim\":6,\"mlp_dim\":8,"                             \
    "\"pool\":\"class_token\",\"head_units\":[]"

typedef struct fixture {
    svit_context *context;
    svit_model *model;
} fixture;

static void open_fixture(fixture *f, const char *json)
{
    svit_model_config config;
    err.struct_size = sizeof err;
    OK(svit_context_create(&f->context, NULL, &err));
    OK(svit_model_config_from_json(&config, sizeof config, json, &err));
    OK(svit_model_create(&f->model, f->context, &config, 7, &err));
}

static void close_fixture(fixture *f)
{
    svit_model_free(f->model);
    svit_context_free(f->context);
}

static void get(const fixture *f, const char *name, float *out, size_t elements)
{
    OK(svit_model_get_parameter(f->model, name, out, elements, &err));
}

START_TEST(test_added_classes_keep_the_old_rows)
{
    fixture f;
    float before[CLASSES * DIM], after[(CLASSES + 2) * DIM], position[5 * DIM], same[5 * DIM];
    float bias[CLASSES] = {1, 2, 3, 4}, longer[CLASSES + 2];
    const char *names[] = {"a", "b", "c", "d"};
    open_fixture(&f, VIT ",\"num_classes\":4}");
    OK(svit_model_set_parameter(f.model, "head.fc1.bias", bias, CLASSES, &err));
    OK(svit_model_set_classes(f.model, names, CLASSES, &err));
    OK(svit_model_set_trainable(f.model, "blocks.*", 0, &err));
    get(&f, "head.fc1.weight", before, CLASSES * DIM);
    get(&f, "pos_embed", position, 5 * DIM);
    OK(svit_model_add_classes(f.model, 2, 3, &err));
    get(&f, "head.fc1.weight", after, (CLASSES + 2) * DIM);
    get(&f, "head.fc1.bias", longer, CLASSES + 2);
    get(&f, "pos_embed", same, 5 * DIM);
    ck_assert_mem_eq(before, after, sizeof before);
    ck_assert_mem_eq(position, same, sizeof same);
    ck_assert_mem_eq(bias, longer, sizeof bias);
    ck_assert_float_ne(after[CLASSES * DIM], 0);
    ck_assert_ptr_null(svit_model_class_name(f.model, 0));
    int32_t trainable;
    OK(svit_model_get_trainable(f.model, "blocks.0.norm1.bias", &trainable, &err));
    ck_assert_int_eq(trainable, 0);
    OK(svit_model_get_trainable(f.model, "head.fc1.bias", &trainable, &err));
    ck_assert_int_eq(trainable, 1);
    close_fixture(&f);
}
END_TEST

START_TEST(test_a_replaced_head_is_new_and_the_body_stays)
{
    fixture f;
    float before[CLASSES * DIM], after[CLASSES * DIM], fc1[8 * DIM], same[8 * DIM];
    open_fixture(&f, VIT ",\"num_classes\":4}");
    get(&f, "head.fc1.weight", before, CLASSES * DIM);
    get(&f, "blocks.0.mlp.fc1.weight", fc1, 8 * DIM);
    OK(svit_model_replace_head(f.model, CLASSES, 99, &err));
    get(&f, "head.fc1.weight", after, CLASSES * DIM);
    get(&f, "blocks.0.mlp.fc1.weight", same, 8 * DIM);
    ck_assert_mem_eq(fc1, same, sizeof same);
    for (size_t i = 0; i < CLASSES * DIM; i++)
        ck_assert_float_ne(before[i], after[i]);
    close_fixture(&f);
}
END_TEST

/* A model of features gets a classifier, and then runs with it. */
START_TEST(test_features_get_a_classifier)
{
    fixture f;
    svit_model_config config;
    svit_session *session;
    static float image[12 * 12 * 3];
    float logits[3];
    open_fixture(&f, VIT ",\"num_classes\":12,\"classifier\":false}");
    FAILS(SVIT_E_STATE, "no classifier", svit_model_add_classes(f.model, 1, 1, &err));
    OK(svit_model_replace_head(f.model, 3, 1, &err));
    OK(svit_model_get_config(f.model, &config, sizeof config, &err));
    ck_assert_uint_eq(config.num_classes, 3);
    ck_assert_int_eq(config.classifier, 1);
    OK(svit_session_create(&session, f.model, NULL, &err));
    OK(svit_forward(session, image, 1, logits, &err));
    svit_session_free(session);
    close_fixture(&f);
}
END_TEST

/* What was stated of the logits goes with the head that made them, and stays with its rows. */
START_TEST(test_the_output_belongs_to_the_head)
{
    fixture f;
    open_fixture(&f, VIT ",\"num_classes\":4}");
    OK(svit_model_set_output(f.model, SVIT_OUTPUT_SIGMOID, &err));
    OK(svit_model_add_classes(f.model, 1, 1, &err));
    ck_assert_int_eq(svit_model_output(f.model), SVIT_OUTPUT_SIGMOID);
    OK(svit_model_replace_head(f.model, 3, 1, &err));
    ck_assert_int_eq(svit_model_output(f.model), SVIT_OUTPUT_SOFTMAX);
    OK(svit_model_set_output(f.model, SVIT_OUTPUT_LOGITS, &err));
    OK(svit_model_truncate(f.model, "blocks.0", &err));
    ck_assert_int_eq(svit_model_output(f.model), SVIT_OUTPUT_SOFTMAX);
    close_fixture(&f);
}
END_TEST

START_TEST(test_a_model_in_use_is_refused)
{
    fixture f;
    svit_session *session;
    open_fixture(&f, VIT ",\"num_classes\":4}");
    OK(svit_session_create(&session, f.model, NULL, &err));
    FAILS(SVIT_E_STATE, "sessions", svit_model_replace_head(f.model, 3, 1, &err));
    svit_session_free(session);
    FAILS(SVIT_E_ARGUMENT, "num_classes", svit_model_replace_head(f.model, 0, 1, &err));
    FAILS(SVIT_E_ARGUMENT, "count is 0", svit_model_add_classes(f.model, 0, 1, &err));
    FAILS(SVIT_E_ARGUMENT, "num_classes", svit_model_add_classes(f.model, 1 << 30, 1, &err));
    OK(svit_model_replace_head(f.model, 3, 1, &err));
    close_fixture(&f);
}
END_TEST

/* A mapped model's weights leave the file's mapping. */
START_TEST(test_a_mapped_model_gets_another_head)
{
    fixture f;
    float before[8 * DIM], after[8 * DIM];
    svit_model *mapped;
    open_fixture(&f, VIT ",\"num_classes\":4}");
    OK(svit_model_save(f.model, "head.safetensors", &err));
    OK(svit_model_map(&mapped, f.context, "head.safetensors", &err));
    get(&f, "blocks.0.mlp.fc1.weight", before, 8 * DIM);
    OK(svit_model_replace_head(mapped, 9, 1, &err));
    OK(svit_model_get_parameter(mapped, "blocks.0.mlp.fc1.weight", after, 8 * DIM, &err));
    ck_assert_mem_eq(before, after, sizeof before);
    svit_model_free(mapped);
    remove("head.safetensors");
    close_fixture(&f);
}
END_TEST

static Suite *head_suite(void)
{
    Suite *suite = suite_create("heads");
    TCase *all = tcase_create("heads");
    tcase_add_test(all, test_added_classes_keep_the_old_rows);
    tcase_add_test(all, test_a_replaced_head_is_new_and_the_body_stays);
    tcase_add_test(all, test_features_get_a_classifier);
    tcase_add_test(all, test_the_output_belongs_to_the_head);
    tcase_add_test(all, test_a_model_in_use_is_refused);
    tcase_add_test(all, test_a_mapped_model_gets_another_head);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(head_suite)
