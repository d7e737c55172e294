/* The public calls that pass arrays to and from a session: they check the arguments and run the
 * passes. */
#include "base/numbers/finite.h"
#include "base/size.h"
#include "base/status.h"
#include "base/threads/fp_env.h"
#include "session/finite_check.h"
#include "session/session.h"

#include <string.h>

svit_status sv_session_check_finite(const float *values, size_t count, const char *what,
                                    svit_error *err)
{
    size_t at = sv_first_not_finite(values, count);
    if (at == count)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_NUMERIC, "%s[%zu] is %g; every value must be finite", what, at,
                   (double)values[at]);
}

svit_status sv_session_check_forward(svit_session *session, const float *nhwc, size_t n,
                                     svit_error *err)
{
    SVIT_TRY(svit_context_check(session->context, err));
    if (n < 1 || n > session->config.max_batch)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "n is %zu; 1 to %u images, the session's max_batch, are accepted", n,
                       session->config.max_batch);
    const svit_status status =
        sv_session_check_finite(nhwc, n * sv_shape_elements(session->input), "nhwc", err);
    /* A backward that comes all the same would add the gradients of the batch before. */
    if (status == SVIT_E_NUMERIC)
        sv_tape_clear(&session->tape);
    return status;
}

/* Activations can overflow even if all weights and images are finite. */
static svit_status check_logits(const svit_session *session, const float *logits, size_t n,
                                size_t first, svit_error *err)
{
    SVIT_TRY(sv_finite_check_end(session, err));
    size_t count = n * session->classes, at = sv_first_not_finite(logits, count);
    if (at == count)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_NUMERIC,
                   "image %zu has the logit %zu of %g; weights and values of images must be small "
                   "enough for finite logits",
                   first + at / session->classes, at % session->classes, (double)logits[at]);
}

svit_status sv_session_forward_from(svit_session *session, const float *nhwc, size_t n,
                                    size_t first, float *logits, svit_error *err)
{
    bool training = session->mode == SVIT_MODE_TRAIN;
    SVIT_TRY(sv_session_check_forward(session, nhwc, n, err));
    if (training)
        SVIT_TRY(sv_session_check_trainable(session, err));
    sv_fp_env before = sv_fp_env_begin();
    sv_finite_check_begin(session, training);
    sv_session_forward(session, nhwc, n, logits);
    sv_fp_env_end(before);
    svit_status status = check_logits(session, logits, n, first, err);
    if (status != SVIT_OK)
        sv_session_undo_forward(session, training);
    return status;
}

SVIT_API svit_status svit_forward(svit_session *session, const float *nhwc, size_t n, float *logits,
                                  svit_error *err)
{
    SV_REQUIRE(session);
    SV_REQUIRE(nhwc);
    SV_REQUIRE(logits);
    return sv_session_forward_from(session, nhwc, n, 0, logits, err);
}

SVIT_API svit_status svit_session_attention_size(const svit_session *session, size_t *heads,
                                                 size_t *tokens, svit_error *err)
{
    SV_REQUIRE(session);
    SV_REQUIRE(heads);
    SV_REQUIRE(tokens);
    if (!sv_session_last_attention(session, heads, tokens))
        return sv_fail(err, SVIT_E_UNSUPPORTED, "%s",
                       session->active.first > 0 ? "no layer behind input_layer has attention"
                                                 : "the model has no attention");
    return SVIT_OK;
}

SVIT_API svit_status svit_forward_attention(svit_session *session, const float *nhwc, size_t n,
                                            float *logits, float *attention, size_t elements,
                                            svit_error *err)
{
    size_t heads = 0, tokens = 0, needed = 0;
    SV_REQUIRE(session);
    SV_REQUIRE(nhwc);
    SV_REQUIRE(logits);
    SV_REQUIRE(attention);
    SVIT_TRY(svit_session_attention_size(session, &heads, &tokens, err));
    SVIT_TRY(sv_session_check_forward(session, nhwc, n, err));
    if (!sv_size_product(&needed, (size_t[]){n, heads, tokens, tokens}, 4) || elements != needed)
        return sv_fail(err, SVIT_E_ARGUMENT, "elements is %zu; %zu x %zu x %zu x %zu are needed",
                       elements, n, heads, tokens, tokens);
    sv_fp_env before = sv_fp_env_begin();
    sv_finite_check_begin(session, false);
    sv_session_forward_attention(session, nhwc, n, logits, attention);
    sv_fp_env_end(before);
    return check_logits(session, logits, n, 0, err);
}

static svit_status check_backward(const svit_session *session, const float *dlogits, size_t n,
                                  svit_error *err)
{
    SVIT_TRY(svit_context_check(session->context, err));
    if (!session->trains)
        return sv_fail(err, SVIT_E_STATE,
                       "the session was created to infer; create one with SVIT_MODE_TRAIN");
    if (session->leaves)
        SVIT_TRY(sv_leaves_check_open(session->leaves, err));
    if (session->leaves && n == 0)
        return SVIT_OK;
    if (session->tape.count == 0)
        return sv_fail(err, SVIT_E_STATE,
                       "backward without a forward in training mode since the last backward");
    if (n != session->tape.n)
        return sv_fail(err, SVIT_E_ARGUMENT, "n is %zu; the last forward had %zu images", n,
                       session->tape.n);
    return sv_session_check_finite(dlogits, n * session->classes, "dlogits", err);
}

static svit_status backward(svit_session *session, const float *dlogits, size_t n, float *dinput,
                            svit_error *err)
{
    sv_fp_env before = sv_fp_env_begin();
    svit_status status = SVIT_OK;
    sv_finite_check_begin(session, true);
    if (n > 0)
        sv_session_backward(session, dlogits, n, dinput);
    else
        sv_session_backward_nothing(session);
    if (session->leaves)
        status = sv_leaves_end(session->leaves, err);
    sv_fp_env_end(before);
    return status == SVIT_OK ? sv_finite_check_end(session, err) : status;
}

SVIT_API svit_status svit_backward(svit_session *session, const float *dlogits, size_t n,
                                   svit_error *err)
{
    SV_REQUIRE(session);
    SV_REQUIRE(dlogits);
    SVIT_TRY(check_backward(session, dlogits, n, err));
    return backward(session, dlogits, n, NULL, err);
}

SVIT_API svit_status svit_backward_input(svit_session *session, const float *dlogits, size_t n,
                                         float *dnhwc, svit_error *err)
{
    SV_REQUIRE(session);
    SV_REQUIRE(dlogits);
    SV_REQUIRE(dnhwc);
    if (!session->config.input_gradient)
        return sv_fail(err, SVIT_E_STATE,
                       "the session computes no gradient of its input; create one with "
                       "input_gradient 1");
    SVIT_TRY(check_backward(session, dlogits, n, err));
    return backward(session, dlogits, n, dnhwc, err);
}

/* A parameter and its gradient in a session. */
typedef struct parameter_gradient {
    const sv_parameter *parameter;
    real *values;
} parameter_gradient;

/* Finds a parameter by name and checks that the caller's array has its size. */
static svit_status find_gradient(parameter_gradient *out, const svit_session *session,
                                 const char *name, size_t elements, svit_error *err)
{
    if (!session->trains)
        return sv_fail(err, SVIT_E_STATE, "the session was created to infer: it has no gradients");
    const sv_parameter *parameter = sv_parameter_find(&session->model->parameters, name);
    if (!parameter)
        return sv_fail(err, SVIT_E_ARGUMENT, "name is '%.100s'; the model has no such parameter",
                       name);
    if (elements != parameter->desc.elements)
        return sv_fail(err, SVIT_E_ARGUMENT, "elements is %zu; %s has %zu", elements,
                       parameter->name, parameter->desc.elements);
    if (parameter->frozen)
        return sv_fail(err, SVIT_E_STATE,
                       "parameter '%s' is frozen (svit_model_set_trainable) and has no gradient",
                       parameter->name);
    SVIT_TRY(sv_session_check_trainable(session, err));
    real *values = sv_gradients_at(&session->gradients, parameter->offset);
    if (!values)
        return sv_fail(err, SVIT_E_STATE,
                       "parameter '%s' is not behind the input_layer '%s' of the session and has "
                       "no gradient in it",
                       parameter->name, session->config.input_layer);
    *out = (parameter_gradient){parameter, values};
    return SVIT_OK;
}

SVIT_API svit_status svit_session_get_gradient(const svit_session *session, const char *name,
                                               float *out, size_t elements, svit_error *err)
{
    SV_REQUIRE(session);
    SV_REQUIRE(name);
    SV_REQUIRE(out);
    parameter_gradient of = {0};
    SVIT_TRY(find_gradient(&of, session, name, elements, err));
    sv_parameter_export_from(of.parameter, out, of.values);
    return SVIT_OK;
}

SVIT_API svit_status svit_session_set_gradient(svit_session *session, const char *name,
                                               const float *in, size_t elements, svit_error *err)
{
    SV_REQUIRE(session);
    SV_REQUIRE(name);
    SV_REQUIRE(in);
    parameter_gradient of = {0};
    SVIT_TRY(find_gradient(&of, session, name, elements, err));
    const size_t bad = sv_parameter_first_not_zero(of.parameter, in);
    if (bad < elements)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "element %zu for the gradient of '%s' is %g; with no_key_bias it is 0", bad,
                       name, (double)in[bad]);
    sv_parameter_import_to(of.parameter, of.values, in);
    return SVIT_OK;
}

SVIT_API svit_status svit_session_zero_gradients(svit_session *session, svit_error *err)
{
    SV_REQUIRE(session);
    if (!session->trains)
        return sv_fail(err, SVIT_E_STATE, "the session was created to infer: it has no gradients");
    /* First, since a reducer may still be at work on the gradients. */
    sv_session_restart_gradients(session);
    sv_pool_clear(session->context->pool, session->gradients.values,
                  session->gradients.subset.elements * sizeof(real));
    return SVIT_OK;
}

static svit_status create_leaves(sv_leaves **out, svit_session *session,
                                 const svit_reducer *reducer, svit_error *err)
{
    const sv_allocator *allocator = &session->context->allocator;
    const size_t layers = session->layers.training_count;
    size_t *first;
    SVIT_TRY(sv_allocate_array(allocator, (void **)&first, layers, sizeof *first,
                               "the gradients of leaves", err));
    const sv_gradient_groups groups = {layers, first, sv_session_group_gradients(session, first)};
    svit_status status =
        sv_leaves_create(out, session->context, &session->gradients, &groups, reducer, err);
    sv_release(allocator, first, layers * sizeof *first);
    return status;
}

SVIT_API svit_status svit_session_set_reducer(svit_session *session, const svit_reducer *reducer,
                                              svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(session);
    sv_leaves *leaves = NULL;
    if (reducer)
        SVIT_TRY(create_leaves(&leaves, session, reducer, err));
    const svit_status status = svit_session_zero_gradients(session, err);
    if (status != SVIT_OK) {
        sv_leaves_free(session->context, leaves);
        return status;
    }
    sv_leaves_free(session->context, session->leaves);
    session->leaves = leaves;
    return SVIT_OK;
}
