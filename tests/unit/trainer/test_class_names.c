/* Checks that a label means the same class in the model, the training set, the validation set and
 * an evaluation. */
#include "trainer_support.h"

#include "data/datasets/dataset_ops.h"

/* The first samples of the training set, whose labels are 0, 1, 2 and so on, with the classes "a",
 * "b" and so on as `letters` says; of digits, so many classes without names. */
static svit_dataset *lettered(const char *letters)
{
    static const char *const known[] = {"a", "b", "c", "d", "e", "f"};
    static const char *lists[8][4];
    static size_t next;
    const char **list = lists[next++ % 8];
    const size_t classes = letters[0] < 'a' ? (size_t)(letters[0] - '0') : strlen(letters);
    svit_dataset *view = NULL;
    WORKS(svit_dataset_slice(&view, training, 0, classes, err));
    view->classes = classes;
    for (size_t k = 0; letters[0] >= 'a' && k < classes; k++)
        list[k] = known[letters[k] - 'a'];
    view->names = letters[0] < 'a' ? NULL : list;
    return view;
}

static const struct {
    const char *model, *training, *validation; /* "" of a model: no names; no validation */
    int32_t loss;
    const char *message; /* NULL: accepted */
} sets[] = {
    {"", "abc", "abc", SVIT_LOSS_CROSS_ENTROPY, NULL},
    {"", "abc", "ab", SVIT_LOSS_CROSS_ENTROPY, NULL},
    {"", "abc", "ab", SVIT_LOSS_BINARY, NULL},
    {"", "abc", "2", SVIT_LOSS_CROSS_ENTROPY, NULL},
    {"", "abc", "ba", SVIT_LOSS_CROSS_ENTROPY, "class 0 of training is 'a', of the dataset 'b'"},
    {"", "abc", "ac", SVIT_LOSS_BINARY, "class 1 of training is 'b', of the dataset 'c'"},
    /* A training set of all classes names them anew, but for those that the model has elsewhere. */
    {"abc", "dec", "dec", SVIT_LOSS_CROSS_ENTROPY, NULL},
    {"abc", "def", "de", SVIT_LOSS_CROSS_ENTROPY, NULL},
    {"abc", "def", "abc", SVIT_LOSS_CROSS_ENTROPY, "class 0 of training is 'd'"},
    {"abc", "cba", "cba", SVIT_LOSS_CROSS_ENTROPY,
     "class 0 of training is 'c', which is class 2 of the model"},
    {"abc", "aef", "", SVIT_LOSS_CROSS_ENTROPY, NULL},
    {"abc", "deb", "", SVIT_LOSS_CROSS_ENTROPY,
     "class 2 of training is 'b', which is class 1 of the model"},
    /* Otherwise the names of the model stay. */
    {"abc", "3", "abc", SVIT_LOSS_CROSS_ENTROPY, NULL},
    {"abc", "3", "cba", SVIT_LOSS_CROSS_ENTROPY, "class 0 of the model is 'a', of the dataset 'c'"},
    {"abc", "3", "ca", SVIT_LOSS_BINARY, "class 0 of the model is 'a', of the dataset 'c'"},
    {"abc", "ab", "", SVIT_LOSS_CROSS_ENTROPY, NULL},
    {"abc", "ab", "abc", SVIT_LOSS_CROSS_ENTROPY, NULL},
    {"abc", "ab", "a", SVIT_LOSS_CROSS_ENTROPY, NULL},
    {"abc", "ab", "abd", SVIT_LOSS_CROSS_ENTROPY, "class 2 of the model is 'c'"},
    {"abc", "ba", "", SVIT_LOSS_CROSS_ENTROPY, "class 0 of the model is 'a', of the dataset 'b'"},
    {"abc", "ab", "", SVIT_LOSS_BINARY, "training has 2 classes or targets; the model has 3"},
    /* A model without names learns those classes that the training set has. */
    {"", "ab", "abc", SVIT_LOSS_CROSS_ENTROPY, NULL},
    {"", "ab", "ba", SVIT_LOSS_CROSS_ENTROPY, "class 0 of training is 'a', of the dataset 'b'"},
};

/* Regression: a validation set was compared with a training set without names, not with the model,
 * and sets of fewer classes were refused. The trained model accepts the same sets to evaluate. */
START_TEST(test_sets_have_the_names_of_the_model)
{
    svit_model *model = fit_model(context, 3, 1);
    svit_dataset *trained = lettered(sets[_i].training), *other = NULL;
    svit_trainer *trainer = NULL;
    plan p = plan_make(1);
    const char *names[] = {"a", "b", "c"};
    double loss;
    p.trainer.loss = sets[_i].loss;
    p.trainer.folder = NULL;
    if (sets[_i].model[0])
        WORKS(svit_model_set_classes(model, names, 3, err));
    if (sets[_i].validation[0])
        other = lettered(sets[_i].validation);
#define CREATE                                                                                     \
    svit_trainer_create(&trainer, context, model, trained, other, &p.trainer, &p.optimizer,        \
                        &p.pipeline, err)
    if (sets[_i].message) {
        FAILS(CREATE, SVIT_E_ARGUMENT, sets[_i].message);
    } else {
        WORKS(CREATE);
        WORKS(svit_evaluate(context, model, trained, &p.pipeline, 4, &loss, NULL, NULL, err));
        if (other)
            WORKS(svit_evaluate(context, model, other, &p.pipeline, 4, &loss, NULL, NULL, err));
    }
#undef CREATE
    svit_trainer_free(trainer);
    svit_dataset_free(other);
    svit_dataset_free(trained);
    svit_model_free(model);
}
END_TEST

enum { NAMED = 10 };

/* A view of `data` with its names in reverse order, behind which "more" follows if `count` is one
 * larger. */
static svit_dataset *reversed(svit_dataset *data, const char *names[NAMED + 1], size_t count)
{
    svit_dataset *view = NULL;
    for (size_t k = 0; k < NAMED; k++)
        names[k] = svit_dataset_class_name(data, NAMED - 1 - k);
    names[NAMED] = "more";
    WORKS(svit_dataset_match_classes(&view, data, names, count, err));
    return view;
}

/* A label means the same class in the training set, the validation set and the model. */
START_TEST(test_names_of_classes_agree)
{
    const char *names[NAMED + 1];
    svit_trainer *trainer = NULL;
    svit_dataset *data = NULL, *same = NULL;
    plan p = plan_make(1);
    WORKS(svit_dataset_synthetic(&data, context, 1, SVIT_SPLIT_TRAIN, 20, err));
    svit_dataset *turned = reversed(data, names, NAMED), *longer = reversed(data, names, NAMED + 1);
    svit_model *ten = fit_model(context, NAMED, 1), *eleven = fit_model(context, NAMED + 1, 1);
#define CREATE(model, training_set, validation_set)                                                \
    svit_trainer_create(&trainer, context, model, training_set, validation_set, &p.trainer,        \
                        &p.optimizer, &p.pipeline, err)
    p.pipeline.resize_height = p.pipeline.resize_width = SIDE;
    FAILS(CREATE(ten, data, turned), SVIT_E_ARGUMENT, "class 0 of training is '");
    WORKS(CREATE(eleven, turned, longer));
    svit_trainer_free(trainer);
    FAILS(CREATE(eleven, data, longer), SVIT_E_ARGUMENT, "class 0 of training is '");
    ck_assert_ptr_null(svit_model_class_name(ten, 0));
    WORKS(svit_dataset_match_classes(&same, data, names, NAMED, err));
    WORKS(CREATE(ten, turned, same));
    svit_trainer_free(trainer);
    ck_assert_str_eq(svit_model_class_name(ten, 0), names[0]);
    /* All classes get other names with another classifier, some of them do not. */
    FAILS(CREATE(ten, data, NULL), SVIT_E_ARGUMENT, "svit_model_replace_head");
    ck_assert_str_eq(svit_model_class_name(ten, 0), names[0]);
    WORKS(svit_model_replace_head(ten, NAMED, 1, err));
    WORKS(CREATE(ten, data, NULL));
    svit_trainer_free(trainer);
    ck_assert_str_eq(svit_model_class_name(ten, 0), names[NAMED - 1]);
    WORKS(svit_model_set_classes(eleven, names, NAMED + 1, err));
    FAILS(CREATE(eleven, data, NULL), SVIT_E_ARGUMENT, "class 0 of the model is '");
    WORKS(CREATE(eleven, turned, NULL));
    svit_trainer_free(trainer);
    ck_assert_str_eq(svit_model_class_name(eleven, NAMED), "more");
#undef CREATE
    svit_model_free(eleven);
    svit_model_free(ten);
    svit_dataset_free(same);
    svit_dataset_free(longer);
    svit_dataset_free(turned);
    svit_dataset_free(data);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("class_names");
    TCase *c = tcase_create("class_names");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_sets_have_the_names_of_the_model, 0, sizeof sets / sizeof *sets);
    tcase_add_test(c, test_names_of_classes_agree);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
