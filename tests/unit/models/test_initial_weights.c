/* Checks the initial weights of a model. */
#include "test_parameters_support.h"
#include "worst.h"

#include <math.h>

START_TEST(test_initial_weights_depend_on_the_seed_alone)
{
    svit_context *alone = fit_context(1);
    svit_model *a = fit_model(context, 5, 7), *b = fit_model(alone, 5, 7),
               *c = fit_model(alone, 5, 8);
    ck_assert(fit_same(a, b));
    ck_assert(!fit_same(a, c));
    svit_model_free(a);
    svit_model_free(b);
    svit_model_free(c);
    svit_context_free(alone);
}
END_TEST

/* Computes the mean square and the largest magnitude of a parameter. */
static void moments(const svit_model *model, const char *name, double *square, double *most)
{
    size_t elements = fit_elements(model, name);
    float *values = malloc(elements * sizeof *values);
    WORKS(svit_model_get_parameter(model, name, values, elements, err));
    *square = *most = 0;
    for (size_t i = 0; i < elements; i++) {
        *square += (double)values[i] * values[i] / (double)elements;
        *most = worst_of(*most, fabs((double)values[i]));
    }
    free(values);
}

START_TEST(test_initial_weights_follow_their_rule)
{
    svit_model_config config;
    WORKS(svit_model_config_init(&config, sizeof config));
    config.stages = 1;
    config.blocks[0] = 1;
    svit_model *model = NULL;
    WORKS(svit_model_create(&model, context, &config, 3, err));
    double square, most;
    moments(model, "patch_embed.proj.weight", &square, &most);
    double limit = sqrt(6.0 / (48 + 1536));
    ck_assert_double_le(most, limit);
    ck_assert_double_gt(most, 0.99 * limit);
    ck_assert_double_eq_tol(square / (limit * limit / 3), 1, 0.05);
    moments(model, "layers.0.blocks.0.norm2.weight", &square, &most);
    ck_assert_double_eq_tol(square, 1, 1e-12);
    moments(model, "layers.0.blocks.0.mlp.fc1.bias", &square, &most);
    ck_assert_double_eq(most, 0);
    svit_model_free(model);

    config.init = SVIT_INIT_PAPER;
    WORKS(svit_model_create(&model, context, &config, 3, err));
    moments(model, "layers.0.blocks.0.mlp.fc1.weight", &square, &most);
    ck_assert_double_eq_tol(sqrt(square), 0.02, 0.0005);
    svit_model_free(model);
}
END_TEST

/* Checks random weights: uniform ones up to `limit`, or normal ones of `deviation` if `limit` is 0.
 */
static const struct {
    const char *preset, *name;
    double limit, deviation, tolerance;
} random_weights[] = {
    {"slvit-cifar100", "pos_embed", 0.05, 0, 0.02},
    {"slvit-cifar100", "patch_embed.proj.weight", 0.0996683, 0, 0.02},
    {"slvit-cifar100", "blocks.0.attn.qkv.weight", 0.1369306, 0, 0.02},
    {"slvit-cifar100", "blocks.0.attn.proj.weight", 0.1369306, 0, 0.02},
    {"slvit-cifar100", "blocks.0.mlp.fc1.weight", 0.1767767, 0, 0.03},
    {"slvit-cifar100", "head.fc1.weight", 0.0230798, 0, 0.01},
    {"slvit-paper-cifar100", "pos_embedding", 0, 1, 0.03},
    {"slvit-paper-cifar100", "cls_token", 0, 1, 0.3},
    {"slvit-paper-cifar100", "to_patch_embedding.merging.2.weight", 0, 0.0680414, 0.02},
    {"slvit-paper-cifar100", "transformer.layers.0.0.fn.to_qkv.weight", 0, 0.0510310, 0.02},
    {"slvit-paper-cifar100", "transformer.layers.0.0.fn.to_out.0.weight", 0, 0.0721688, 0.02},
    {"slvit-paper-cifar100", "mlp_head.1.weight", 0, 0.0827606, 0.03},
};

static svit_model *one_layer(const char *preset)
{
    svit_model_config config;
    WORKS(svit_model_config_preset(&config, sizeof config, preset, err));
    config.depth = 1;
    svit_model *model = NULL;
    WORKS(svit_model_create(&model, context, &config, 3, err));
    return model;
}

/* Attention's limits are sqrt(6 / (64 (4 + 64))) and sqrt(6 / (4 (64 + 64))); all others are those
 * of the current Keras. */
START_TEST(test_attention_may_begin_as_in_earlier_keras)
{
    svit_model_config config;
    WORKS(svit_model_config_preset(&config, sizeof config, "vit-cifar100", err));
    config.init = SVIT_INIT_KERAS_3_14;
    config.depth = 1;
    svit_model *model = NULL;
    WORKS(svit_model_create(&model, context, &config, 3, err));
    const struct {
        const char *name;
        double limit;
    } wanted[] = {{"blocks.0.attn.qkv.weight", 0.0371303},
                  {"blocks.0.attn.proj.weight", 0.1082532},
                  {"blocks.0.mlp.fc1.weight", 0.1767767},
                  {"pos_embed", 0.05}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        double square, most;
        moments(model, wanted[i].name, &square, &most);
        ck_assert_double_le(most, 1.00001 * wanted[i].limit);
        ck_assert_double_gt(most, 0.99 * wanted[i].limit);
    }
    svit_model_free(model);
}
END_TEST

START_TEST(test_initial_weights_of_a_vit_follow_their_rule)
{
    svit_model *model = one_layer(random_weights[_i].preset);
    double square, most, limit = random_weights[_i].limit;
    moments(model, random_weights[_i].name, &square, &most);
    double deviation = limit > 0 ? limit / sqrt(3) : random_weights[_i].deviation;
    ck_assert_double_eq_tol(sqrt(square) / deviation, 1, random_weights[_i].tolerance);
    if (limit > 0) {
        ck_assert_double_le(most, 1.00001 * limit);
        ck_assert_double_gt(most, 0.99 * limit);
    } else {
        ck_assert_double_gt(most, 2 * deviation);
    }
    svit_model_free(model);
}
END_TEST

static const struct {
    const char *preset, *name;
    double value;
} constants[] = {
    {"slvit-cifar100", "blocks.0.attn.tau", 8},
    {"slvit-cifar100", "blocks.0.attn.qkv.bias", 0},
    {"slvit-cifar100", "patch_embed.norm.weight", 1},
    {"slvit-cifar100", "norm.bias", 0},
    {"slvit-paper-cifar100", "transformer.layers.0.0.fn.scale", 0.25},
    {"slvit-paper-cifar100", "transformer.layers.0.1.fn.net.3.bias", 0},
    {"slvit-paper-cifar100", "mlp_head.0.weight", 1},
};

START_TEST(test_temperatures_norms_and_biases_begin_with_one_number)
{
    svit_model *model = one_layer(constants[_i].preset);
    size_t elements = fit_elements(model, constants[_i].name);
    float *values = malloc(elements * sizeof *values);
    WORKS(svit_model_get_parameter(model, constants[_i].name, values, elements, err));
    for (size_t i = 0; i < elements; i++)
        ck_assert_double_eq(values[i], constants[_i].value);
    free(values);
    svit_model_free(model);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("initial_weights");
    TCase *c = tcase_create("initial_weights");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_initial_weights_depend_on_the_seed_alone);
    tcase_add_test(c, test_initial_weights_follow_their_rule);
    tcase_add_test(c, test_attention_may_begin_as_in_earlier_keras);
    tcase_add_loop_test(c, test_initial_weights_of_a_vit_follow_their_rule, 0,
                        sizeof random_weights / sizeof *random_weights);
    tcase_add_loop_test(c, test_temperatures_norms_and_biases_begin_with_one_number, 0,
                        sizeof constants / sizeof *constants);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
