/* Runs models of the library for the comparisons with references: in float32 through the public
 * API, and in the library's build in double through internal functions. */
#include "library_model.h"

#include "fit.h"

#include <stdbool.h>

#ifdef SV_DOUBLE
#include "session/session.h"
#endif

/* In ascending order. A CPU that has one of them has those before it. */
static const char *const ISAS[] = {"baseline", "avx2", "avx512", "avx512-vnni", "avx512-bf16"};
enum { ISA_COUNT = sizeof ISAS / sizeof *ISAS };

/* Creates a context. An environment variable limits its instruction set to `isa`. NULL: the CPU or
 * the build lacks the backend. */
static svit_context *open_context(const char *isa, const char *gemm, uint32_t threads)
{
    svit_context *context = NULL;
    svit_context_config config;
    const char *before = getenv("SHIFTVIT_TEST_ISA");
    char saved[32];
    snprintf(saved, sizeof saved, "%s", before ? before : "");
    if (isa)
        ck_assert_int_eq(setenv("SHIFTVIT_TEST_ISA", isa, 1), 0);
    WORKS(svit_context_config_init(&config, sizeof config));
    config.threads = threads;
    config.gemm = gemm;
    svit_status status = svit_context_create(&context, &config, NULL);
    if (before)
        ck_assert_int_eq(setenv("SHIFTVIT_TEST_ISA", saved, 1), 0);
    else
        unsetenv("SHIFTVIT_TEST_ISA");
    return status == SVIT_OK ? context : NULL;
}

/* Whether a context uses the kernels of `isa` if the instruction set is limited to `highest`; NULL:
 * it is not limited. */
static int runs_with(const char *isa, const char *highest)
{
    char description[4096], part[64];
    svit_context *context = open_context(highest, "tile", 1);
    ck_assert_ptr_nonnull(context);
    WORKS(svit_context_describe(context, description, sizeof description, NULL, err));
    svit_context_free(context);
    snprintf(part, sizeof part, "\"instruction_set\":\"%s\"", isa);
    return strstr(description, part) != NULL;
}

size_t library_isas(const char *isas[LIBRARY_MAX_ISAS])
{
    size_t count = 0;
    for (size_t i = 0; i < ISA_COUNT; i++)
        if (runs_with(ISAS[i], ISAS[i]) && !runs_with(ISAS[i], NULL))
            isas[count++] = ISAS[i];
    isas[count++] = NULL;
    return count;
}

int library_has_gemm(const char *gemm)
{
    svit_context *context = open_context(NULL, gemm, 1);
    svit_context_free(context);
    return context != NULL;
}

int library_accepts(const svit_model_config *config)
{
    svit_context *context = open_context(NULL, "tile", 1);
    svit_model *model = NULL;
    svit_status status = svit_model_create(&model, context, config, 1, NULL);
    svit_model_free(model);
    svit_context_free(context);
    return status == SVIT_OK;
}

static void set_parameters(svit_model *to, const plain_model *model)
{
    ck_assert_uint_eq(svit_model_parameter_count(to), model->tensor_count);
    for (size_t i = 0; i < model->tensor_count; i++) {
        const plain_tensor *tensor = &model->tensors[i];
        float *values = malloc(tensor->elements * sizeof *values);
        ck_assert_ptr_nonnull(values);
        ck_assert_str_eq(svit_model_parameter_name(to, i), tensor->name);
        for (size_t j = 0; j < tensor->elements; j++)
            values[j] = (float)tensor->value[j];
        WORKS(svit_model_set_parameter(to, tensor->name, values, tensor->elements, err));
        free(values);
    }
}

#ifdef SV_DOUBLE
static void pass(svit_model *library_model, svit_session *session, const plain_model *model,
                 const library_options *options, float *logits, float *gradients)
{
    const size_t count = model->images * model->classes;
    double *out = malloc(count * sizeof *out);
    ck_assert_ptr_nonnull(out);
    sv_session_forward(session, model->x, model->images, out);
    for (size_t i = 0; i < count; i++)
        logits[i] = (float)out[i];
    free(out);
    if (options->mode != SVIT_MODE_TRAIN)
        return;
    const size_t pixels = model->images * sv_shape_elements(session->input);
    double *dx = session->config.input_gradient ? malloc(pixels * sizeof *dx) : NULL;
    sv_session_backward(session, model->dlogits, model->images, dx);
    for (size_t i = 0; i < model->tensor_count; i++) {
        const plain_tensor *tensor = &model->tensors[i];
        sv_parameter_export(sv_parameter_find(&library_model->parameters, tensor->name), gradients,
                            session->gradients.values);
        gradients += tensor->elements;
    }
    for (size_t i = 0; dx && i < pixels; i++)
        gradients[i] = (float)dx[i];
    free(dx);
}
#else
static float *rounded(const double *values, size_t count)
{
    float *result = malloc(count * sizeof *result);
    ck_assert_ptr_nonnull(result);
    for (size_t i = 0; i < count; i++)
        result[i] = (float)values[i];
    return result;
}

/* Behind the gradients of the tensors comes that of the images, if the session computes it. */
static void backward(svit_session *session, const plain_model *model, const float *dlogits,
                     float *gradients, int32_t input_gradient)
{
    for (size_t i = 0; input_gradient && i < model->tensor_count; i++)
        gradients += model->tensors[i].elements;
    WORKS(input_gradient ? svit_backward_input(session, dlogits, model->images, gradients, err)
                         : svit_backward(session, dlogits, model->images, err));
}

static void pass(svit_model *library_model, svit_session *session, const plain_model *model,
                 const library_options *options, float *logits, float *gradients)
{
    const svit_model_config *config = &model->config;
    const size_t pixels = (size_t)config->input_height * config->input_width * config->in_channels;
    float *x = rounded(model->x, model->images * pixels);
    float *dlogits = rounded(model->dlogits, model->images * model->classes);
    const bool training = options->mode == SVIT_MODE_TRAIN;
    (void)library_model;
    WORKS(svit_forward(session, x, model->images, logits, err));
    if (training)
        backward(session, model, dlogits, gradients, options->input_gradient);
    for (size_t i = 0; training && i < model->tensor_count; i++) {
        const plain_tensor *tensor = &model->tensors[i];
        WORKS(svit_session_get_gradient(session, tensor->name, gradients, tensor->elements, err));
        gradients += tensor->elements;
    }
    free(x);
    free(dlogits);
}
#endif

void library_run(const plain_model *model, const library_options *options, float *logits,
                 float *gradients)
{
    svit_model *library_model = NULL;
    svit_session *session = NULL;
    svit_session_config config;
    svit_context *context = open_context(options->isa, options->gemm, options->threads);
    ck_assert_ptr_nonnull(context);
    WORKS(svit_model_create(&library_model, context, &model->config, 1, err));
    set_parameters(library_model, model);
    WORKS(svit_session_config_init(&config, sizeof config));
    config.max_batch = options->max_batch;
    config.mode = options->mode;
    config.compute = options->compute;
    config.memory = options->memory;
    config.input_gradient = options->input_gradient;
    WORKS(svit_session_create(&session, library_model, &config, err));
    pass(library_model, session, model, options, logits, gradients);
    svit_session_free(session);
    svit_model_free(library_model);
    svit_context_free(context);
}
