/* Compares shifted patches, norm and projection with Keras: the tokens before the position
 * embedding is added, which no public function returns. */
#include "fit.h"
#include "golden.h"
#include "session/session.h"

static svit_model *golden_model(svit_context *context, const sv_safetensors *file)
{
    svit_model_config config;
    WORKS(svit_model_config_from_json(&config, sizeof config,
                                      sv_safetensors_metadata(file, "config"), err));
    svit_model *model = NULL;
    WORKS(svit_model_create(&model, context, &config, 1, err));
    for (size_t i = 0; i < svit_model_parameter_count(model); i++) {
        const char *name = svit_model_parameter_name(model, i);
        char key[160];
        size_t elements;
        snprintf(key, sizeof key, "param.%s", name);
        float *values = golden_floats(file, key, &elements);
        WORKS(svit_model_set_parameter(model, name, values, elements, err));
        golden_free(values);
    }
    return model;
}

/* Runs the layers before the position embedding and returns the output of the last one. */
static float *tokens_of(const svit_session *session, const float *input, size_t n, size_t *elements)
{
    sv_run run = sv_session_run(session, n, 0);
    float *x = NULL;
    for (size_t i = 0; i < session->layers.inference_count; i++) {
        const sv_layer *layer = session->layers.inference[i];
        if (strcmp(layer->ops->name, "position embedding") == 0)
            break;
        *elements = n * sv_shape_tokens(layer->out) * layer->out.channels;
        float *y = malloc(*elements * sizeof *y);
        layer->ops->forward(layer, &run, NULL, y, x ? x : input);
        free(x);
        x = y;
    }
    return x;
}

START_TEST(test_shifted_patch_tokens_equal_keras)
{
    sv_safetensors *file = golden_open("slvit_small");
    svit_context *context = fit_context(2);
    svit_model *model = golden_model(context, file);
    size_t n, elements = 0, wanted_elements;
    golden_free(golden_labels(file, "labels", &n));
    float *input = golden_floats(file, "input", NULL);
    float *wanted = golden_floats(file, "spt.tokens", &wanted_elements);
    svit_session *session = NULL;
    WORKS(svit_session_create(&session, model, NULL, err));
    float *logits = malloc(n * session->classes * sizeof *logits);
    WORKS(svit_forward(session, input, n, logits, err)); /* packs the weights */
    float *tokens = tokens_of(session, input, n, &elements);
    ck_assert_uint_eq(elements, wanted_elements);
    ck_assert_double_le(golden_difference(tokens, wanted, elements), 1e-5);
    free(tokens);
    free(logits);
    golden_free(wanted);
    golden_free(input);
    svit_session_free(session);
    svit_model_free(model);
    svit_context_free(context);
    sv_safetensors_close(file);
}
END_TEST

static Suite *tokens_suite(void)
{
    Suite *suite = suite_create("tokens");
    TCase *tokens = tcase_create("shifted patches");
    tcase_add_test(tokens, test_shifted_patch_tokens_equal_keras);
    suite_add_tcase(suite, tokens);
    return suite;
}

TEST_MAIN(tokens_suite)
