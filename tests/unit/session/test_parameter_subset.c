/* The parameters that gradients, optimiser slots and checkpoints have: those that are trained and
 * whose layers run. */
#include "fit.h"
#include "suite.h"

#include "layers/linear/partial_gradients.h"
#include "models/model.h"
#include "session/optimizer_handle.h"
#include "session/session.h"

#include <math.h>
#include <string.h>

#define VIT                                                                                        \
    "{\"architecture\":\"vit\",\"input_height\":8,\"input_width\":8,\"num_classes\":5,"            \
    "\"patch_size\":4,\"dim\":12,\"depth\":3,\"heads\":2,\"head_dim\":6,\"mlp_dim\":20,"           \
    "\"head_units\":[],\"lora_rank\":2,\"lora_alpha\":2}"

static const struct {
    const char *trained, *also, *input_layer; /* patterns, NULL: no more, and the whole model */
} CASES[] = {
    {"*", NULL, NULL},
    {"head*", NULL, NULL},
    {"blocks.1.*", NULL, NULL},
    {"blocks.0.*", "blocks.2.*", NULL},
    {"*lora_?", "head*", NULL},
    {"*.bias", NULL, NULL},
    {"pos_embed", "norm*", NULL},
    {"blocks.2.*", "head*", "blocks.0"},
    {"*.bias", NULL, "blocks.1"},
    {"*", NULL, "blocks.1"},
};

/* Whether a parameter belongs to a layer behind the one with this name, if that is not NULL. */
static bool is_behind(const char *parameter, const char *input_layer)
{
    return !input_layer || strncmp(parameter, "head", 4) == 0 ||
           strncmp(parameter, "norm", 4) == 0 ||
           (strncmp(parameter, "blocks.", 7) == 0 && strncmp(parameter, input_layer, 8) > 0);
}

static void create(svit_model **model, svit_session **session, svit_context *context, int of_case)
{
    svit_model_config config;
    svit_session_config training;
    WORKS(svit_model_config_from_json(&config, sizeof config, VIT, err));
    WORKS(svit_model_create(model, context, &config, 1, err));
    WORKS(svit_model_set_trainable(*model, "*", 0, err));
    WORKS(svit_model_set_trainable(*model, CASES[of_case].trained, 1, err));
    if (CASES[of_case].also)
        WORKS(svit_model_set_trainable(*model, CASES[of_case].also, 1, err));
    WORKS(svit_session_config_init(&training, sizeof training));
    training.mode = SVIT_MODE_TRAIN;
    if (CASES[of_case].input_layer)
        strcpy(training.input_layer, CASES[of_case].input_layer);
    WORKS(svit_session_create(session, *model, &training, err));
}

START_TEST(test_gradients_and_slots_are_those_of_trained_parameters)
{
    svit_context *context = fit_context(1);
    svit_model *model;
    svit_session *session;
    svit_optimizer *of_session, *of_model;
    size_t behind = 0, trained = 0;
    create(&model, &session, context, _i);
    WORKS(sv_optimizer_create(&of_session, model, context, session, NULL, err));
    WORKS(svit_optimizer_create(&of_model, model, NULL, err));
    for (size_t i = 0; i < model->parameters.count; i++) {
        const sv_parameter *p = &model->parameters.list[i];
        const bool runs = is_behind(p->name, CASES[_i].input_layer);
        ck_assert_msg((sv_gradients_at(&session->gradients, p->offset) != NULL) ==
                          (runs && !p->frozen),
                      "%s", p->name);
        ck_assert_msg((sv_subset_place(&of_session->core->subset, p->offset) == SV_NO_PLACE) ==
                          (!runs || p->frozen),
                      "%s", p->name);
        trained += p->frozen ? 0 : p->desc.elements;
        behind += p->frozen || !runs ? 0 : p->desc.elements;
    }
    ck_assert_uint_eq(session->gradients.subset.elements, behind);
    ck_assert_uint_eq(of_session->core->subset.elements, behind);
    ck_assert_uint_eq(of_model->core->subset.elements, trained);
    svit_optimizer_free(of_session);
    svit_optimizer_free(of_model);
    svit_session_free(session);
    svit_model_free(model);
    svit_context_free(context);
}
END_TEST

/* Elements of begin..end-1 that are in the subset's ranges and should not be, or are missing. */
static size_t wrong_in_ranges(const sv_parameter_subset *subset, const size_t *places, size_t begin,
                              size_t end)
{
    size_t wrong = 0, at = begin;
    for (sv_range r = sv_subset_first(subset, at, end); r.elements > 0;
         r = sv_subset_first(subset, at, end)) {
        for (; at < r.begin; at++)
            wrong += places[at] != SV_NO_PLACE;
        for (; at < r.begin + r.elements; at++)
            wrong += places[at] != places[r.begin] + (at - r.begin);
    }
    for (; at < end; at++)
        wrong += places[at] != SV_NO_PLACE;
    return wrong;
}

/* Every element of a subset, and many ranges, found by looking at each parameter. */
START_TEST(test_places_follow_the_parameters)
{
    svit_context *context = fit_context(1);
    svit_model *model;
    svit_session *session;
    create(&model, &session, context, _i);
    const sv_parameter_subset *subset = &session->gradients.subset;
    const sv_parameter_table *table = &model->parameters;
    size_t place = 0, *places = malloc((table->elements + 1) * sizeof *places);
    ck_assert_ptr_nonnull(places);
    for (size_t i = 0; i < table->count; i++) {
        const sv_parameter *p = &table->list[i];
        const bool has = !p->frozen && is_behind(p->name, CASES[_i].input_layer);
        for (size_t k = 0; k < p->desc.elements; k++)
            places[p->offset + k] = has ? place++ : SV_NO_PLACE;
    }
    size_t wrong = 0, below = 0;
    for (size_t i = 0; i < table->elements; i++) {
        wrong += sv_subset_place(subset, i) != places[i];
        wrong += sv_subset_elements_below(subset, i) != below;
        below += places[i] != SV_NO_PLACE;
    }
    ck_assert_uint_eq(wrong, 0);
    ck_assert_uint_eq(sv_subset_elements_below(subset, table->elements), below);
    ck_assert_uint_eq(sv_subset_place(subset, SV_NO_PARAMETER), SV_NO_PLACE);
    for (size_t begin = 0; begin < table->elements; begin += 97)
        for (size_t end = begin + 1; end <= table->elements; end += 89)
            wrong += wrong_in_ranges(subset, places, begin, end);
    ck_assert_uint_eq(wrong, 0);
    free(places);
    svit_session_free(session);
    svit_model_free(model);
    svit_context_free(context);
}
END_TEST

/* Nothing is computed for a frozen weight: its sums have no place, others have, and so have those
 * that a layer reduces itself. */
START_TEST(test_sums_of_frozen_weights_are_not_wanted)
{
    svit_context *context = fit_context(1);
    svit_model *model;
    svit_session *session;
    real sums[2];
    create(&model, &session, context, _i);
    const sv_run run = sv_session_run(session, 1, true);
    for (size_t i = 0; i < model->parameters.count; i++) {
        const sv_parameter *p = &model->parameters.list[i];
        const sv_partial_gradient partial = {p->offset, 1, sums};
        const bool is_trained = sv_gradients_at(&session->gradients, p->offset) != NULL;
        ck_assert_ptr_eq(sv_partial_gradient_if_read(&run, &partial, 1),
                         is_trained ? sums + 1 : NULL);
    }
    const sv_partial_gradient derived = {SV_NO_PARAMETER, 1, sums};
    ck_assert_ptr_eq(sv_partial_gradient_if_read(&run, &derived, 1), sums + 1);
    svit_session_free(session);
    svit_model_free(model);
    svit_context_free(context);
}
END_TEST

/* With all parameters frozen there is still the gradient of the input, also with leaves, and steps
 * change nothing. */
START_TEST(test_nothing_trained_is_nothing_stepped)
{
    static const float image[8 * 8 * 3] = {1, 0.5f, -1}, dlogits[5] = {1, -2, 3};
    const svit_reducer leaf = {.struct_size = sizeof leaf, .leaves = 1, .ranks = 1};
    svit_context *context = fit_context(2);
    svit_model_config config;
    svit_session_config training;
    svit_optimizer_config averaged;
    svit_model *model;
    svit_session *session;
    svit_optimizer *optimizer;
    float logits[5], dx[8 * 8 * 3], sum = 0;
    WORKS(svit_model_config_from_json(&config, sizeof config, VIT, err));
    WORKS(svit_model_create(&model, context, &config, 1, err));
    WORKS(svit_model_set_trainable(model, "*", 0, err));
    WORKS(svit_session_config_init(&training, sizeof training));
    training.mode = SVIT_MODE_TRAIN;
    training.input_gradient = 1;
    WORKS(svit_session_create(&session, model, &training, err));
    WORKS(svit_session_set_reducer(session, &leaf, err));
    WORKS(svit_optimizer_config_init(&averaged, sizeof averaged));
    averaged.ema = SVIT_EMA_PLAIN;
    WORKS(svit_optimizer_create(&optimizer, model, &averaged, err));
    float *before = fit_weights(model, NULL);
    WORKS(svit_forward(session, image, 1, logits, err));
    WORKS(svit_backward_input(session, dlogits, 1, dx, err));
    WORKS(svit_step(optimizer, session, err));
    WORKS(svit_optimizer_swap_ema(optimizer, err));
    float *after = fit_weights(model, NULL);
    ck_assert_mem_eq(before, after, svit_model_parameter_elements(model) * sizeof *after);
    for (size_t i = 0; i < sizeof dx / sizeof *dx; i++)
        sum += fabsf(dx[i]);
    ck_assert_float_gt(sum, 0);
    free(before);
    free(after);
    svit_optimizer_free(optimizer);
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
    Suite *all = suite_create("parameter subset");
    TCase *c = tcase_create("parameter subset");
    const int cases = sizeof CASES / sizeof *CASES;
    tcase_add_loop_test(c, test_gradients_and_slots_are_those_of_trained_parameters, 0, cases);
    tcase_add_loop_test(c, test_places_follow_the_parameters, 0, cases);
    tcase_add_loop_test(c, test_sums_of_frozen_weights_are_not_wanted, 0, cases);
    tcase_add_test(c, test_nothing_trained_is_nothing_stepped);
    tcase_add_test(c, test_a_reducer_that_is_refused_drops_nothing);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
