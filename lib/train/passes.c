/* Forward and backward over a session's layers. */
#include "train/session.h"

#include <assert.h>
#include <string.h>

static sv_run start_run(const svit_session *session, size_t n, int training)
{
    return (sv_run){.context = session->model->context,
                    .weights = session->model->weights,
                    .gradients = session->gradients,
                    .n = n,
                    .training = training,
                    .seed = session->config.seed,
                    .counter = session->counter,
                    .shared = session->shared,
                    .worker = session->worker,
                    .worker_bytes = session->worker_bytes};
}

typedef struct pack_call {
    svit_session *session;
    sv_run run;
} pack_call;

static void pack_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    pack_call *call = argument;
    sv_layer *layer = call->session->layers.layers[task];
    if (layer->class->pack)
        layer->class->pack(layer, &call->run, call->session->packed[task]);
}

/* The weights are packed once after each change. */
static void pack_weights(svit_session *session)
{
    uint64_t version = atomic_load(&session->model->version) + 1;
    if (session->packed_version == version)
        return;
    pack_call call = {session, start_run(session, 0, session->trains)};
    sv_pool_run(session->model->context->pool, pack_task, &call, session->layers.count);
    session->packed_version = version;
}

void sv_session_forward(svit_session *session, const real *input, size_t n, real *logits)
{
    int training = session->mode == SVIT_MODE_TRAIN;
    size_t last = session->layers.count - 1;
    sv_run run = start_run(session, n, training);
    const real *x = input;
    pack_weights(session);
    sv_tape_clear(&session->tape);
    for (size_t i = 0; i <= last; i++) {
        if (!training && session->layers.layers[i]->class->training_only)
            continue;
        real *y = i == last                         ? logits
                  : training && session->outputs[i] ? session->outputs[i]
                  : x == session->buffers[0]        ? session->buffers[1]
                                                    : session->buffers[0];
        sv_tape_forward(&session->tape, session->layers.layers[i], &run,
                        training ? session->saved[i] : NULL, y, x);
        x = y;
    }
    if (training)
        session->counter++;
}

void sv_session_backward(svit_session *session, const real *dlogits, size_t n)
{
    assert(session->tape.n == n);
    sv_run run = start_run(session, n, 1);
    memcpy(session->buffers[0], dlogits, n * session->classes * sizeof(real));
    sv_tape_backward(&session->tape, &run, session->buffers);
}
