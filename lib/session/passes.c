/* Forward and backward over a session's layers. */
#include "layers/prepack.h"
#include "models/model_map.h"
#include "session/fused_chain.h"

#include <assert.h>
#include <string.h>

typedef struct pack_call {
    svit_session *session;
    sv_layer *const *layers;
    size_t count, copies; /* of each layer's weights */
} pack_call;

static void forget_weight(const void *model, size_t weight)
{
    sv_model_discard_weight(model, weight);
}

/* The last layers come first: they are the largest, and of a mapped model the pages that they have
 * read are gone before the packed copies are many. */
static void pack_task(void *argument, size_t task, uint32_t worker)
{
    pack_call *call = argument;
    sv_layer *layer = call->layers[call->count - 1 - task / call->copies];
    sv_run run = sv_session_pack_run(call->session, layer);
    run.exec.packed = forget_weight;
    run.exec.packed_argument = call->session->model;
    sv_prepack(layer, &run, call->session->packed[layer->number], task % call->copies != 0, worker);
}

/* The weights are packed once after each change: those of the layers that are to run. */
static void pack_weights(svit_session *session, int32_t mode)
{
    const sv_layer_list *list = &session->layers;
    uint64_t version = atomic_load(&session->model->version) + 1;
    if (session->packed_version[mode] == version)
        return;
    assert(!session->model->packed_once || session->packed_version[mode] == 0);
    pack_call call = {session, list->inference, list->inference_count, 1};
    if (mode == SVIT_MODE_TRAIN)
        call = (pack_call){session, list->layers, list->training_count, 2};
    sv_pool_run(session->model->context->pool, pack_task, &call, call.count * call.copies);
    session->packed_version[mode] = version;
}

/* The caller's array may change before the backward. */
static const real *keep_input(svit_session *session, const real *input, size_t n)
{
    size_t elements = n * sv_shape_elements(session->input);
    return memcpy(session->saved_input, input, elements * sizeof(real));
}

/* A map in passing that nobody reads. */
static real *other_buffer(const svit_session *session, const real *x)
{
    return x == session->buffers[0] ? session->buffers[1] : session->buffers[0];
}

static void train(svit_session *session, const sv_run *run, const real *input, real *logits)
{
    const size_t count = session->layers.training_count;
    const real *x = session->saved_input ? keep_input(session, input, run->pass.n) : input;
    sv_tape_clear(&session->tape);
    for (size_t i = 0; i < count; i++) {
        const sv_layer *layer = session->layers.layers[i];
        sv_run own = sv_session_layer_run(session, run, layer);
        real *y = i + 1 == count        ? logits
                  : session->outputs[i] ? session->outputs[i]
                                        : other_buffer(session, x);
        sv_tape_forward(&session->tape, layer, &own, session->saved[i], y, x);
        x = y;
    }
}

/* Whoever wants to see attention weights wants them of all images, of one layer. */
static sv_fused_chain chain_from(const svit_session *session, const sv_run *run, size_t first)
{
    if (run->pass.attention)
        return (sv_fused_chain){first, first + 1, 0, first, 0};
    return sv_fused_chain_from(session, first, run->pass.n);
}

static void infer(svit_session *session, const sv_run *run, const real *input, real *logits)
{
    const size_t count = session->layers.inference_count;
    const real *x = input;
    sv_tape_clear(&session->tape);
    for (size_t i = 0, end; i < count; i = end) {
        const sv_layer *layer = session->layers.inference[i];
        sv_fused_chain chain = chain_from(session, run, i);
        end = chain.end;
        real *y = end == count ? logits : other_buffer(session, x);
        sv_run own = sv_session_layer_run(session, run, layer);
        if (chain.images)
            sv_fused_chain_forward(session, run, &chain, y, x);
        else
            layer->ops->forward(layer, &own, NULL, y, x);
        x = y;
    }
}

void sv_session_forward(svit_session *session, const real *input, size_t n, real *logits)
{
    int training = session->mode == SVIT_MODE_TRAIN;
    sv_run run = sv_session_run(session, n, training);
    pack_weights(session, session->mode);
    if (training)
        train(session, &run, input, logits);
    else
        infer(session, &run, input, logits);
    session->counter += training != 0;
}

void sv_session_undo_forward(svit_session *session, int training)
{
    sv_tape_clear(&session->tape);
    session->counter -= training != 0;
}

const sv_layer *sv_session_last_attention(const svit_session *session, size_t *heads,
                                          size_t *tokens)
{
    for (size_t i = session->layers.training_count; i-- > 0;)
        if (sv_layer_attends(session->layers.layers[i], heads, tokens))
            return session->layers.layers[i];
    return NULL;
}

void sv_session_attend(svit_session *session, const real *input, size_t n, real *logits,
                       real *attention)
{
    size_t heads, tokens;
    sv_run run = sv_session_run(session, n, 0);
    run.pass.attention = attention;
    run.pass.attention_layer = sv_session_last_attention(session, &heads, &tokens)->number;
    pack_weights(session, SVIT_MODE_INFER);
    infer(session, &run, input, logits);
}

/* Runs a segment's forward again, so that the region holds what its layers keep: they write where
 * they wrote in the forward, and so the tape's records stay true. Its maps in passing lie in `free`
 * and in the session's third place for them; the gradient has the other buffer. */
static void run_again(const svit_session *session, const sv_run *run, const sv_segment *segment,
                      real *free)
{
    const real *x =
        segment->first > 0 ? session->outputs[segment->first - 1] : session->saved_input;
    for (size_t i = segment->first; i < segment->end; i++) {
        const sv_layer *layer = session->layers.layers[i];
        real *y = session->outputs[i] ? session->outputs[i] : x == free ? session->passing : free;
        layer->ops->forward(layer, run, session->saved[i], y, x);
        x = y;
    }
}

void sv_session_backward(svit_session *session, const real *dlogits, size_t n)
{
    assert(session->tape.n == n);
    sv_run run = sv_session_run(session, n, 1);
    run.pass.counter = session->tape.counter;
    real *buffers[] = {session->buffers[0], session->buffers[1]};
    memcpy(buffers[0], dlogits, n * session->classes * sizeof(real));
    for (size_t i = session->segments.count; i-- > 0;) {
        const sv_segment *segment = &session->segments.list[i];
        if (segment->again)
            run_again(session, &run, segment, buffers[1]);
        sv_tape_backward(&session->tape, &run, buffers, segment->first);
    }
}
