/* The forward and the backward over a session's layers. */
#include "session/finite_check.h"
#include "session/fused_chain.h"
#include "session/packed_weights.h"

#include <assert.h>
#include <string.h>

/* Copies the input, since the caller's array may change before the backward reads it. */
static const real *save_input(svit_session *session, const real *input, size_t n)
{
    size_t elements = n * sv_shape_elements(session->input);
    return memcpy(session->saved_input, input, elements * sizeof(real));
}

/* The one of the two buffers that does not hold x. */
static real *other_buffer(const svit_session *session, const real *x)
{
    return x == session->buffers[0] ? session->buffers[1] : session->buffers[0];
}

/* The chain that begins with layer `first` and ends at `limit` at the latest. A pass that returns
 * attention weights runs layer by layer, since the attention block writes those of the whole batch,
 * and so does one that looks at the output of every layer. */
static sv_fused_chain chain_from(const svit_session *session, const sv_run *run, size_t first,
                                 size_t limit)
{
    if (run->pass.attention || session->config.check_finite)
        return (sv_fused_chain){.first = first, .end = first + 1, .inner_end = first};
    return sv_fused_chain_from(session, first, limit, run->pass.n);
}

/* Runs the first `limit` layers of the inference graph, chain by chain. The output of the last one
 * goes to `out`, or to one of the session's buffers if that is NULL. Returns where it is. */
static const real *forward_inference(svit_session *session, const sv_run *run, const real *input,
                                     size_t limit, real *out)
{
    const real *x = input;
    for (size_t i = 0, end; i < limit; i = end) {
        const sv_layer *layer = session->layers.inference[i];
        sv_fused_chain chain = chain_from(session, run, i, limit);
        end = chain.end;
        real *y = end == limit && out ? out : other_buffer(session, x);
        sv_run layer_run = sv_session_layer_run(session, run, layer);
        if (chain.images)
            sv_fused_chain_forward(session, run, &chain, y, x);
        else
            layer->ops->forward(layer, &layer_run, NULL, y, x);
        sv_finite_check_output(session, layer, y, run->pass.n);
        x = y;
    }
    return x;
}

/* Runs the layers below the first trained one as in inference, since nothing of them is saved for a
 * backward. Returns the input of the first trained layer. */
static const real *forward_frozen(svit_session *session, const real *input, size_t n)
{
    const sv_run run = sv_session_run(session, n, false);
    const real *x = forward_inference(session, &run, input, session->active.frozen_inference, NULL);
    for (size_t i = session->active.frozen_end; i < session->active.first_recorded; i++) {
        const sv_layer *layer = session->layers.layers[i];
        if (layer->ops->training_only)
            continue;
        sv_run layer_run = sv_session_layer_run(session, &run, layer);
        real *y = other_buffer(session, x);
        layer->ops->forward(layer, &layer_run, NULL, y, x);
        sv_finite_check_output(session, layer, y, n);
        x = y;
    }
    real *kept = session->outputs[session->active.first_recorded - 1];
    if (!kept)
        return x;
    size_t elements =
        n * sv_shape_elements(session->layers.layers[session->active.first_recorded]->in);
    return memcpy(kept, x, elements * sizeof(real));
}

/* Runs the training graph and records its trained part on the tape. */
static void forward_training(svit_session *session, const sv_run *run, const real *input,
                             real *logits)
{
    const size_t count = session->layers.training_count;
    const real *x = input;
    if (session->active.first_recorded > session->active.first)
        x = forward_frozen(session, input, run->pass.n);
    else if (session->saved_input)
        x = save_input(session, input, run->pass.n);
    for (size_t i = session->active.first_recorded; i < count; i++) {
        const sv_layer *layer = session->layers.layers[i];
        sv_run layer_run = sv_session_layer_run(session, run, layer);
        real *y = i + 1 == count        ? logits
                  : session->outputs[i] ? session->outputs[i]
                                        : other_buffer(session, x);
        sv_tape_forward(&session->tape, layer, &layer_run, session->saved[i], y, x);
        sv_finite_check_output(session, layer, y, run->pass.n);
        x = y;
    }
}

void sv_session_forward(svit_session *session, const real *input, size_t n, real *logits)
{
    bool training = session->mode == SVIT_MODE_TRAIN;
    sv_run run = sv_session_run(session, n, training);
    sv_packed_weights_update(session, session->mode);
    sv_tape_clear(&session->tape);
    if (training)
        forward_training(session, &run, input, logits);
    else
        forward_inference(session, &run, input, session->layers.inference_count, logits);
    session->counter += training;
}

void sv_session_undo_forward(svit_session *session, bool training)
{
    sv_tape_clear(&session->tape);
    session->counter -= training;
}

void sv_session_forward_features(svit_session *session, const real *input, size_t n, size_t end,
                                 real *out)
{
    const sv_run run = sv_session_run(session, n, false);
    const size_t limit = sv_layer_list_inference_until(&session->layers, end);
    sv_packed_weights_update(session, SVIT_MODE_INFER);
    sv_tape_clear(&session->tape);
    forward_inference(session, &run, input, limit, out);
}

const sv_layer *sv_session_last_attention(const svit_session *session, size_t *heads,
                                          size_t *tokens)
{
    for (size_t end = session->layers.training_count; end > session->active.first; end--) {
        const sv_layer *layer = session->layers.layers[end - 1];
        *heads = layer->heads;
        *tokens = sv_shape_tokens(layer->in);
        if (layer->heads > 0)
            return layer;
    }
    return NULL;
}

void sv_session_forward_attention(svit_session *session, const real *input, size_t n, real *logits,
                                  real *attention)
{
    size_t heads, tokens;
    sv_run run = sv_session_run(session, n, false);
    run.pass.attention = attention;
    run.pass.attention_layer = sv_session_last_attention(session, &heads, &tokens)->number;
    sv_packed_weights_update(session, SVIT_MODE_INFER);
    sv_tape_clear(&session->tape);
    forward_inference(session, &run, input, session->layers.inference_count, logits);
}

/* Repeats the forward of a segment, because another segment has since overwritten its saved
 * activations: the segments share one region of memory (segments.h). It writes to the same
 * addresses and draws the same dropout masks as the first time, so the tape's records stay valid.
 * Temporary activations alternate between `buffer` and session->temporary, since the other of the
 * session's buffers holds the gradient. */
static void recompute(const svit_session *session, const sv_run *run, const sv_segment *segment,
                      real *buffer)
{
    const real *x = segment->first > session->active.first ? session->outputs[segment->first - 1]
                                                           : session->saved_input;
    for (size_t i = segment->first; i < segment->end; i++) {
        const sv_layer *layer = session->layers.layers[i];
        real *y = session->outputs[i] ? session->outputs[i]
                  : x == buffer       ? session->temporary
                                      : buffer;
        layer->ops->forward(layer, run, session->saved[i], y, x);
        x = y;
    }
}

/* Tells the leaves that the backward of a layer is done. */
static void end_layer(svit_session *session, size_t index)
{
    sv_leaves_end_layer(session->leaves, session->context, &session->gradients, index,
                        index == session->active.first_recorded);
}

void sv_session_backward_nothing(svit_session *session)
{
    for (size_t end = session->layers.training_count; end > session->active.first_recorded; end--)
        end_layer(session, end - 1);
}

/* The backward of one recorded layer, whose gradients are those of a leaf if there are leaves. */
static void backward_layer(svit_session *session, const sv_run *run, real *buffers[2], real *dinput)
{
    const size_t index = session->active.first_recorded + session->tape.count - 1;
    const sv_layer *layer = session->layers.layers[index];
    sv_run own = *run;
    if (session->leaves)
        own.gradients_first += sv_leaves_begin_layer(session->leaves, index, &own.gradients);
    if (session->tape.count > sv_tape_lowest(&session->tape, dinput))
        sv_finite_check_dy(session, layer, buffers[0], run->pass.n);
    sv_tape_backward(&session->tape, &own, buffers, session->tape.count - 1, dinput);
    sv_finite_check_gradients(session, layer, &own);
    if (session->leaves)
        end_layer(session, index);
}

/* The backward of the recorded layers of a segment. That of a leaf goes layer by layer, so that
 * gradients are added while they are in the cache, and those of the last leaf are on their way to
 * other ranks meanwhile. */
static void backward_segment(svit_session *session, const sv_run *run, real *buffers[2],
                             const sv_segment *segment, real *dinput)
{
    const size_t until = segment->first - session->active.first_recorded;
    if (!session->leaves && !session->config.check_finite)
        sv_tape_backward(&session->tape, run, buffers, until, dinput);
    while (session->tape.count > until)
        backward_layer(session, run, buffers, dinput);
}

void sv_session_backward(svit_session *session, const real *dlogits, size_t n, real *dinput)
{
    assert(session->tape.n == n);
    assert(!dinput || session->config.input_gradient);
    sv_run run = sv_session_run(session, n, true);
    run.pass.counter = session->tape.counter;
    real *buffers[] = {session->buffers[0], session->buffers[1]};
    memcpy(buffers[0], dlogits, n * session->classes * sizeof(real));
    for (size_t end = session->segments.count; end > 0; end--) {
        const sv_segment *segment = &session->segments.list[end - 1];
        if (segment->recomputed)
            recompute(session, &run, segment, buffers[1]);
        backward_segment(session, &run, buffers, segment, dinput);
    }
}
