/* The range of the flat arrays that a session keeps gradients of: from the first to the last layer
 * with a trained parameter, less the layers in between that do not run. */
#include "fit.h"
#include "suite.h"

#include "models/model.h"
#include "session/session.h"

#include <string.h>

#define VIT                                                                                        \
    "{\"architecture\":\"vit\",\"input_height\":8,\"input_width\":8,\"num_classes\":5,"            \
    "\"patch_size\":4,\"dim\":12,\"depth\":3,\"heads\":2,\"head_dim\":6,\"mlp_dim\":20,"           \
    "\"head_units\":[]}"

static const struct {
    const char *trained, *also, *input_layer; /* patterns, NULL: no more, and the whole model */
    const char *first, *last;                 /* parameters of the first and the last layer */
} CASES[] = {
    {"*", NULL, NULL, "", ""},
    {"head*", NULL, NULL, "head", "head"},
    {"blocks.1.*", NULL, NULL, "blocks.1", "blocks.1"},
    {"blocks.0.*", "blocks.2.*", NULL, "blocks.0", "blocks.2"},
    {"blocks.2.*", "head*", "blocks.0", "blocks.2", "head"},
};

/* The range of the parameters whose names begin with one of two texts, and of those between
 * them. */
static void range_of(size_t *begin, size_t *end, const svit_model *model, const char *first,
                     const char *last)
{
    *begin = SIZE_MAX, *end = 0;
    for (size_t i = 0; i < model->parameters.count; i++) {
        const sv_parameter *p = &model->parameters.list[i];
        size_t elements = 1;
        for (size_t k = 0; k < p->desc.rank; k++)
            elements *= (size_t)p->desc.shape[k];
        if (strncmp(p->name, first, strlen(first)) == 0 && p->offset < *begin)
            *begin = p->offset;
        if (strncmp(p->name, last, strlen(last)) == 0 && p->offset + elements > *end)
            *end = p->offset + elements;
    }
}

START_TEST(test_the_range_is_that_of_trained_layers)
{
    svit_context *context = fit_context(1);
    svit_model_config config;
    svit_session_config training;
    svit_model *model;
    svit_session *session;
    size_t begin, end;
    WORKS(svit_model_config_from_json(&config, sizeof config, VIT, err));
    WORKS(svit_model_create(&model, context, &config, 1, err));
    WORKS(svit_model_set_trainable(model, "*", 0, err));
    WORKS(svit_model_set_trainable(model, CASES[_i].trained, 1, err));
    if (CASES[_i].also)
        WORKS(svit_model_set_trainable(model, CASES[_i].also, 1, err));
    WORKS(svit_session_config_init(&training, sizeof training));
    training.mode = SVIT_MODE_TRAIN;
    if (CASES[_i].input_layer)
        strcpy(training.input_layer, CASES[_i].input_layer);
    WORKS(svit_session_create(&session, model, &training, err));
    range_of(&begin, &end, model, CASES[_i].first, CASES[_i].last);
    ck_assert_uint_eq(session->gradients.first, begin);
    ck_assert_uint_le(end - begin, session->gradients.elements);
    ck_assert_uint_lt(session->gradients.elements, end - begin + SV_ALIGNMENT);
    ck_assert_uint_eq(session->gradients.hole_end, 0);
    svit_session_free(session);
    svit_model_free(model);
    svit_context_free(context);
}
END_TEST

/* Gradients are dropped once a reducer is taken, and not by one that is refused. */
START_TEST(test_a_reducer_that_is_refused_drops_nothing)
{
    static const float image[8 * 8 * 3] = {1, 0.5f, -1}, dlogits[5] = {1, -2, 3};
    const svit_reducer refused = {.struct_size = sizeof refused, .leaves = 1, .ranks = 2};
    svit_context *context = fit_context(1);
    svit_model_config config;
    svit_session_config training;
    svit_model *model;
    svit_session *session;
    float logits[5];
    WORKS(svit_model_config_from_json(&config, sizeof config, VIT, err));
    WORKS(svit_model_create(&model, context, &config, 1, err));
    WORKS(svit_session_config_init(&training, sizeof training));
    training.mode = SVIT_MODE_TRAIN;
    WORKS(svit_session_create(&session, model, &training, err));
    WORKS(svit_forward(session, image, 1, logits, err));
    WORKS(svit_backward(session, dlogits, 1, err));
    const size_t elements = svit_model_parameter_elements(model);
    float *before = calloc(2 * elements, sizeof *before), *after = before + elements;
    ck_assert_ptr_nonnull(before);
    fit_copy_gradients(model, session, before);
    FAILS(svit_session_set_reducer(session, &refused, err), SVIT_E_ARGUMENT, "ranks is 2");
    fit_copy_gradients(model, session, after);
    ck_assert_mem_eq(before, after, elements * sizeof *after);
    WORKS(svit_session_set_reducer(session, NULL, err));
    fit_copy_gradients(model, session, after);
    ck_assert_mem_ne(before, after, elements * sizeof *after);
    free(before);
    svit_session_free(session);
    svit_model_free(model);
    svit_context_free(context);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("gradient_span");
    TCase *c = tcase_create("gradient_span");
    tcase_add_loop_test(c, test_the_range_is_that_of_trained_layers, 0,
                        sizeof CASES / sizeof *CASES);
    tcase_add_test(c, test_a_reducer_that_is_refused_drops_nothing);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
