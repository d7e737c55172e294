/* The sv_run structs that a session passes to layers: for a whole pass, for one layer of it, and
 * for packing weights. */
#include "gemm/small_m.h"
#include "session/session.h"

sv_run sv_session_run(const svit_session *session, size_t n, bool training)
{
    return (sv_run){.exec = {.context = session->context,
                             .gemm = session->gemm,
                             .workspace = session->workspace,
                             .worker_scratch = session->worker_scratch,
                             .worker_bytes = session->worker_bytes},
                    .pass = {.n = n,
                             .training = training,
                             .seed = session->config.seed,
                             .counter = session->counter},
                    .weights = session->model->weights,
                    .trained = &session->gradients.subset,
                    .gradients = session->gradients.values};
}

/* The decision depends on max_batch and not on n, so that the result of an image is the same in
 * every batch. */
sv_run sv_session_layer_run(const svit_session *session, const sv_run *run, const sv_layer *layer)
{
    sv_run layer_run = *run;
    bool small_m = sv_layer_rows(layer) <= SV_SMALL_M_BACKEND_ROWS / session->config.max_batch;
    layer_run.exec.small_m = small_m && session->small_m;
    if (small_m)
        layer_run.exec.gemm = session->small_m_gemm;
    return layer_run;
}

sv_run sv_session_pack_run(const svit_session *session, const sv_layer *layer)
{
    bool training = session->trains && layer->number >= session->active.first_recorded &&
                    layer->number < session->layers.training_count;
    sv_run run = sv_session_run(session, session->config.max_batch, training);
    return sv_session_layer_run(session, &run, layer);
}
