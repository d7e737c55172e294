/* The search for the first tensor of a pass that is not finite. */
#include "session/finite_check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Whether a tensor has to be looked at: only the first one is reported. */
static bool is_wanted(const svit_session *session)
{
    return session->config.check_finite && session->not_finite.code == SVIT_OK;
}

/* The place of the first value that is not finite; `count` if there is none. In every build: a
 * `real` may be a double. */
static size_t first_bad(const real *values, size_t count)
{
    size_t i = 0;
    while (i < count && isfinite(values[i]))
        i++;
    return i;
}

/* Writes "layer 12, mlp block, up to 'blocks.3'": the number, the kind, and the first name of an
 * output at the layer or behind it. */
static void describe(const svit_session *session, const sv_layer *layer, char *text,
                     size_t capacity)
{
    const char *name = "logits";
    for (size_t i = session->layers.named_count; i > 0; i--)
        if (session->layers.named[i - 1]->number + 1u >= layer->end)
            name = session->layers.named[i - 1]->name;
    snprintf(text, capacity, "layer %u, %s, up to '%s'", layer->number, layer->ops->name, name);
}

/* Notes a value of a tensor whose rows belong to the images. */
static void note(svit_session *session, const sv_layer *layer, const char *what, const real *values,
                 size_t n, size_t row)
{
    char where[128];
    const size_t at = first_bad(values, n * row);
    if (at == n * row)
        return;
    describe(session, layer, where, sizeof where);
    sv_fail(&session->not_finite, SVIT_E_NUMERIC, "%s of %s is %g at element %zu of image %zu",
            what, where, (double)values[at], at % row, at / row);
}

/* The first parameter of the layer with a weight, or a gradient of the run if that is not NULL,
 * which is not finite; NULL if there is none. Sets *at to the element. */
static const sv_parameter *bad_parameter(const svit_session *session, const sv_layer *layer,
                                         const sv_run *run, size_t *at)
{
    const sv_parameter_table *table = &session->model->parameters;
    for (size_t i = 0; i < table->count; i++) {
        const sv_parameter *parameter = &table->list[i];
        if (parameter->offset < layer->parameters_first ||
            parameter->offset >= layer->parameters_end)
            continue;
        const real *values =
            run ? sv_gradient(run, parameter->offset) : session->model->weights + parameter->offset;
        *at = values ? first_bad(values, parameter->desc.elements) : parameter->desc.elements;
        if (*at < parameter->desc.elements)
            return parameter;
    }
    return NULL;
}

void sv_finite_check_begin(svit_session *session, bool training)
{
    session->checks_training = training;
    session->not_finite = (svit_error){.struct_size = sizeof session->not_finite};
}

void sv_finite_check_output(svit_session *session, const sv_layer *layer, const real *y, size_t n)
{
    size_t at;
    if (!is_wanted(session))
        return;
    note(session, layer, "the output", y, n, sv_shape_elements(layer->out));
    if (session->not_finite.code == SVIT_OK)
        return;
    const real *weights = session->model->weights;
    const sv_parameter *parameter = bad_parameter(session, layer, NULL, &at);
    if (parameter)
        sv_fail(&session->not_finite, SVIT_E_NUMERIC, "element %zu of parameter '%s' is %g", at,
                parameter->name, (double)weights[parameter->offset + at]);
}

void sv_finite_check_dy(svit_session *session, const sv_layer *layer, const real *dy, size_t n)
{
    if (is_wanted(session))
        note(session, layer, "the gradient of the output", dy, n, sv_shape_elements(layer->out));
}

void sv_finite_check_gradients(svit_session *session, const sv_layer *layer, const sv_run *run)
{
    size_t at;
    if (!is_wanted(session) || !layer->trained)
        return;
    const sv_parameter *parameter = bad_parameter(session, layer, run, &at);
    if (parameter)
        sv_fail(&session->not_finite, SVIT_E_NUMERIC,
                "element %zu of the gradient of parameter '%s' is %g", at, parameter->name,
                (double)sv_gradient(run, parameter->offset)[at]);
}

svit_status sv_finite_check_end(const svit_session *session, svit_error *err)
{
    if (session->not_finite.code == SVIT_OK)
        return SVIT_OK;
    if (!session->checks_training)
        return svit_error_set(err, SVIT_E_NUMERIC, session->not_finite.message);
    return sv_fail(err, SVIT_E_NUMERIC, "training forward %" PRIu64 ": %s", session->tape.counter,
                   session->not_finite.message);
}
