/* Sessions that begin behind a layer, whose output they take in place of images. */
#include "base/size.h"
#include "session/session.h"

#include <string.h>

const sv_layer *sv_session_named_layer(const svit_session *session, const char *name)
{
    for (size_t i = session->first_named; i < session->layers.named_count; i++)
        if (strcmp(session->layers.named[i]->name, name) == 0)
            return session->layers.named[i];
    return NULL;
}

/* The layers of the inference graph up to the one that ends where layer `end` of the training graph
 * begins; 0: none ends there. */
static size_t inference_until(const sv_layer_list *list, size_t end)
{
    for (size_t i = 0; i < list->inference_count; i++)
        if (list->inference[i]->end == end)
            return i + 1;
    return 0;
}

/* Removes the layers up to layer `end` of the training graph from the inference graph. One that
 * fuses layers on both sides of that limit cannot remain, so no layers are fused then. */
static void cut_inference(sv_layer_list *list, size_t end)
{
    if (inference_until(list, end) == 0)
        sv_layer_list_unfuse(list);
    const size_t count = inference_until(list, end);
    list->inference += count;
    list->inference_count -= count;
}

svit_status sv_session_begin_at_input_layer(svit_session *session, svit_error *err)
{
    const char *name = session->config.input_layer;
    if (name[0] == '\0')
        return SVIT_OK;
    const sv_layer *layer = sv_session_named_layer(session, name);
    if (!layer)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "input_layer is '%s'; the model has no such layer, svit_session_layer_name "
                       "of a session without input_layer lists them",
                       name);
    if (layer->end == session->layers.training_count)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "input_layer is '%s', the last layer of the model, so that none is left to "
                       "run; a layer before it is accepted",
                       name);
    session->first_layer = layer->end;
    while (session->first_named < session->layers.named_count &&
           session->layers.named[session->first_named]->end <= layer->end)
        session->first_named++;
    session->input = layer->out;
    cut_inference(&session->layers, layer->end);
    return SVIT_OK;
}

bool sv_session_runs_layer(const svit_session *session, const sv_layer *layer)
{
    const sv_layer_list *list = &session->layers;
    if (layer->number < list->training_count)
        return layer->number >= session->first_layer;
    for (size_t i = 0; i < list->inference_count; i++)
        if (list->inference[i] == layer)
            return true;
    return false;
}

void sv_session_find_hole(svit_session *session)
{
    const size_t first = session->gradients_first, end = first + session->gradients_elements;
    for (size_t i = 0; i < session->first_layer; i++) {
        const sv_layer *layer = session->layers.layers[i];
        if (layer->parameters_end == 0 || layer->parameters_first < first ||
            layer->parameters_end > end)
            continue;
        if (session->hole_end == 0 || layer->parameters_first < session->hole_first)
            session->hole_first = layer->parameters_first;
        session->hole_end = sv_size_max(session->hole_end, layer->parameters_end);
    }
}

SVIT_API size_t svit_session_input_size(const svit_session *session)
{
    return session ? sv_shape_elements(session->input) : 0;
}
