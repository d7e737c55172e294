/* Which layers of a session run: all, or those behind a layer whose output it takes in place of
 * images; which are recorded; and which parameters have gradients. */
#include "base/size.h"
#include "session/session.h"

#include <assert.h>
#include <string.h>

const sv_layer *sv_session_named_layer(const svit_session *session, const char *name)
{
    for (size_t i = session->active.first_named; i < session->layers.named_count; i++)
        if (strcmp(session->layers.named[i]->name, name) == 0)
            return session->layers.named[i];
    return NULL;
}

/* Removes the layers up to layer `end` of the training graph from the inference graph. One that
 * fuses layers on both sides of that limit cannot remain, so no layers are fused then. */
static void cut_inference(sv_layer_list *list, size_t end)
{
    if (sv_layer_list_inference_until(list, end) == 0)
        sv_layer_list_unfuse(list);
    const size_t count = sv_layer_list_inference_until(list, end);
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
    session->active.first = layer->end;
    while (session->active.first_named < session->layers.named_count &&
           session->layers.named[session->active.first_named]->end <= layer->end)
        session->active.first_named++;
    session->input = layer->out;
    cut_inference(&session->layers, layer->end);
    return SVIT_OK;
}

bool sv_session_runs_layer(const svit_session *session, const sv_layer *layer)
{
    const sv_layer_list *list = &session->layers;
    if (layer->number < list->training_count)
        return layer->number >= session->active.first;
    for (size_t i = 0; i < list->inference_count; i++)
        if (list->inference[i] == layer)
            return true;
    return false;
}

/* Whether a layer's range of the flat arrays has the parameter. */
static bool has_parameter(const sv_layer *layer, const sv_parameter *parameter)
{
    return parameter->offset >= layer->parameters_first &&
           parameter->offset < layer->parameters_end;
}

/* What has gradients: each parameter that is not frozen, but for those of the layers below the
 * first one that runs. */
static bool has_gradient(const sv_parameter *parameter, const void *user)
{
    const svit_session *session = user;
    const sv_layer_list *list = &session->layers;
    if (parameter->frozen)
        return false;
    bool runs = true;
    for (size_t i = 0; runs && i < session->active.first; i++)
        runs = !has_parameter(list->layers[i], parameter);
    for (size_t i = session->active.first; !runs && i < list->training_count; i++)
        runs = has_parameter(list->layers[i], parameter);
    return runs;
}

/* Where a group may begin: the end of the gradients of all layers below `index`; SIZE_MAX if a
 * layer from `index` on has some below that. */
static size_t find_cut(const svit_session *session, size_t index)
{
    const sv_parameter_subset *subset = &session->gradients.subset;
    size_t below = 0, above = SIZE_MAX;
    for (size_t i = session->active.first; i < session->layers.training_count; i++) {
        const sv_layer *layer = session->layers.layers[i];
        if (!layer->trained)
            continue;
        if (i < index)
            below = sv_size_max(below, sv_subset_elements_below(subset, layer->parameters_end));
        else
            above = sv_size_min(above, sv_subset_elements_below(subset, layer->parameters_first));
    }
    return below <= above ? below : SIZE_MAX;
}

size_t sv_session_group_gradients(const svit_session *session, size_t *first)
{
    size_t largest = 0, begin = 0;
    for (size_t i = 0; i < session->layers.training_count; i++) {
        const size_t cut = find_cut(session, i);
        if (cut != SIZE_MAX) {
            largest = sv_size_max(largest, cut - begin);
            begin = cut;
        }
        first[i] = begin;
    }
    return sv_size_max(largest, session->gradients.subset.elements - begin);
}

static svit_status find_recorded(svit_session *session, svit_error *err)
{
    sv_active_layers *active = &session->active;
    active->first_recorded = active->first;
    if (session->config.input_gradient)
        return SVIT_OK;
    while (active->first_recorded < session->layers.training_count &&
           !session->layers.layers[active->first_recorded]->trained &&
           !session->layers.layers[active->first_recorded]->ops->draws)
        active->first_recorded++;
    if (!session->trains || active->first_recorded < session->layers.training_count)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_STATE,
                   "every parameter of the %s is frozen, so there is nothing to train; "
                   "svit_model_set_trainable changes that",
                   active->first > 0 ? "layers behind input_layer" : "model");
}

/* Finds the layers below the first recorded one that the inference graph has. */
static void find_frozen(svit_session *session)
{
    const sv_layer_list *list = &session->layers;
    sv_active_layers *active = &session->active;
    size_t count = 0;
    while (session->trains && count < list->inference_count &&
           list->inference[count]->end <= active->first_recorded)
        count++;
    active->frozen_inference = count;
    active->frozen_end = count > 0 ? list->inference[count - 1]->end : active->first;
    assert(active->first <= active->frozen_end && active->frozen_end <= active->first_recorded);
}

svit_status sv_session_find_active(svit_session *session, svit_error *err)
{
    session->trainable_version = session->model->trainable_version;
    SVIT_TRY(find_recorded(session, err));
    find_frozen(session);
    if (!session->trains)
        return SVIT_OK;
    return sv_parameter_subset_make(&session->gradients.subset, &session->model->parameters,
                                    has_gradient, session, err);
}

SVIT_API size_t svit_session_input_size(const svit_session *session)
{
    return session ? sv_shape_elements(session->input) : 0;
}
