/* Features: the outputs of single layers. */
#include "base/size.h"
#include "base/threads/fp_env.h"
#include "session/finite_check.h"

SVIT_API const char *svit_session_layer_name(const svit_session *session, size_t index)
{
    if (!session || index >= session->layers.named_count - session->active.first_named)
        return NULL;
    return session->layers.named[session->active.first_named + index]->name;
}

static svit_status find_layer(const sv_layer **out, const svit_session *session, const char *name,
                              svit_error *err)
{
    *out = sv_session_named_layer(session, name);
    if (*out)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "layer is '%.40s'; the session has no such layer, svit_session_layer_name lists "
                   "them",
                   name);
}

SVIT_API svit_status svit_session_layer_shape(const svit_session *session, const char *layer,
                                              size_t *tokens, size_t *channels, svit_error *err)
{
    const sv_layer *found;
    SV_REQUIRE(session);
    SV_REQUIRE(layer);
    SV_REQUIRE(tokens);
    SV_REQUIRE(channels);
    SVIT_TRY(find_layer(&found, session, layer, err));
    *tokens = sv_shape_tokens(found->out);
    *channels = found->out.channels;
    return SVIT_OK;
}

SVIT_API svit_status svit_forward_features(svit_session *session, const float *nhwc, size_t n,
                                           const char *layer, float *out, size_t elements,
                                           svit_error *err)
{
    const sv_layer *found;
    size_t needed = 0;
    SV_REQUIRE(session);
    SV_REQUIRE(nhwc);
    SV_REQUIRE(layer);
    SV_REQUIRE(out);
    SVIT_TRY(sv_session_check_forward(session, nhwc, n, err));
    SVIT_TRY(find_layer(&found, session, layer, err));
    if (sv_layer_list_inference_until(&session->layers, found->end) == 0)
        return sv_fail(err, SVIT_E_STATE,
                       "layer '%s' is fused with its neighbours in this session; create one with "
                       "features 1",
                       layer);
    if (!sv_size_multiply(&needed, n, sv_shape_elements(found->out)) || elements != needed)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "elements is %zu; %zu images x %zu tokens x %zu "
                       "channels are needed",
                       elements, n, sv_shape_tokens(found->out), found->out.channels);
    sv_fp_env before = sv_fp_env_begin();
    sv_finite_check_begin(session, false);
    sv_session_forward_features(session, nhwc, n, found->end, out);
    sv_fp_env_end(before);
    SVIT_TRY(sv_finite_check_end(session, err));
    return sv_session_check_finite(out, elements, "the output of the layer", err);
}
