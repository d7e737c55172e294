/* What layers see of a pass, and what inference does with them one after another. */
#include "train/session.h"

sv_run sv_session_run(const svit_session *session, size_t n, int training)
{
    return (sv_run){.context = session->model->context,
                    .gemm = session->gemm,
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

/* Rows of a layer's products that are few. */
enum { FEW_ROWS = 64 };

/* By the largest batch, so that a picture's bits do not depend on how many come with it. */
sv_run sv_session_layer_run(const svit_session *session, const sv_run *run, const sv_layer *layer)
{
    sv_run own = *run;
    size_t tokens = sv_map_tokens(layer->out);
    if (tokens <= FEW_ROWS / session->config.max_batch)
        own.gemm = session->few_gemm;
    return own;
}

size_t sv_step_end(const svit_session *session, size_t i)
{
    sv_layer *const *layers = session->layers.layers;
    size_t next = i + 1;
    if (!layers[i]->class->forward_mean)
        return next;
    while (next < session->layers.count && layers[next]->class->training_only)
        next++;
    return next < session->layers.count && layers[next]->class->takes_mean ? next + 1 : i + 1;
}

void sv_step_infer(const svit_session *session, const sv_run *run, size_t i, real *y, const real *x)
{
    const sv_layer *layer = session->layers.layers[i];
    if (sv_step_end(session, i) > i + 1)
        layer->class->forward_mean(layer, run, y, x);
    else
        layer->class->forward(layer, run, NULL, y, x);
}
