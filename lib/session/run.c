/* What layers see of a pass, and of the packing of their weights. */
#include "session/session.h"

sv_run sv_session_run(const svit_session *session, size_t n, int training)
{
    return (sv_run){.exec.context = session->model->context,
                    .exec.gemm = session->gemm,
                    .weights = session->model->weights,
                    .gradients = session->gradients,
                    .pass.n = n,
                    .pass.training = training,
                    .pass.seed = session->config.seed,
                    .pass.counter = session->counter,
                    .exec.workspace = session->shared,
                    .exec.worker_scratch = session->worker,
                    .exec.worker_bytes = session->worker_bytes};
}

/* Rows of a layer's products that are few. */
enum { FEW_ROWS = 64 };

/* By the largest batch, so that an image's bits do not depend on how many come with it. */
sv_run sv_session_layer_run(const svit_session *session, const sv_run *run, const sv_layer *layer)
{
    sv_run own = *run;
    size_t rows = layer->rows ? layer->rows : sv_shape_tokens(layer->out);
    int few = rows <= FEW_ROWS / session->config.max_batch;
    own.exec.small_m = few && session->few;
    if (few)
        own.exec.gemm = session->small_m_gemm;
    return own;
}

sv_run sv_session_pack_run(const svit_session *session, const sv_layer *layer)
{
    int trains = session->trains && layer->number < session->layers.training_count;
    sv_run run = sv_session_run(session, session->config.max_batch, trains);
    return sv_session_layer_run(session, &run, layer);
}
