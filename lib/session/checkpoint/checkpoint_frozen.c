/* The frozen parameters of a checkpoint, a list of names as JSON in its metadata. */
#include "session/checkpoint/checkpoint_frozen.h"

#include "io/metadata_json.h"
#include "session/checkpoint/checkpoint_state.h"

#define KEY SV_CHECKPOINT_PREFIX "frozen"

svit_status sv_frozen_set_write(sv_json_writer *metadata, const svit_model *model, svit_error *err)
{
    sv_json_writer names = sv_json_writer_make(metadata->allocator);
    sv_json_begin(&names, '[');
    for (size_t i = 0; i < model->parameters.count; i++)
        if (model->parameters.list[i].frozen)
            sv_json_put_text(&names, model->parameters.list[i].name);
    sv_json_end(&names, ']');
    svit_status status = sv_json_writer_status(&names, "the frozen parameters", err);
    if (status == SVIT_OK) {
        sv_json_put_key(metadata, KEY);
        sv_json_put_text(metadata, names.text);
    }
    sv_json_writer_free(&names);
    return status;
}

static svit_status allocate(sv_frozen_set *set, const svit_model *model, svit_error *err)
{
    set->count = model->parameters.count;
    return sv_allocate_array(&model->context->allocator, (void **)&set->list, set->count,
                             sizeof *set->list, "the frozen parameters", err);
}

static svit_status read_names(sv_frozen_set *set, const sv_parameter_table *table,
                              const sv_json_value *names, const char *path, svit_error *err)
{
    if (names->kind != SV_JSON_ARRAY)
        return sv_fail(err, SVIT_E_FORMAT, "%s: entry '" KEY "' is no list of parameters", path);
    const sv_json_value *value = names + 1;
    for (size_t i = 0; i < names->count; i++, value = value->after) {
        const char *name = sv_json_text(value);
        const sv_parameter *parameter = name ? sv_parameter_find(table, name) : NULL;
        if (!parameter)
            return sv_fail(err, SVIT_E_FORMAT,
                           "%s: element %zu of entry '" KEY "' is '%.96s'; parameters of the model "
                           "are accepted",
                           path, i, name ? name : "no text");
        set->list[parameter - table->list] = true;
    }
    return SVIT_OK;
}

svit_status sv_frozen_set_read(sv_frozen_set *set, const svit_model *model,
                               const sv_safetensors *file, const char *path, svit_error *err)
{
    const sv_allocator *allocator = &model->context->allocator;
    const sv_parameter_table *table = &model->parameters;
    sv_json *json;
    *set = (sv_frozen_set){0};
    SVIT_TRY(sv_metadata_json_read(&json, allocator, file, KEY, path, err));
    if (!json)
        return SVIT_OK;
    svit_status status = allocate(set, model, err);
    if (status == SVIT_OK)
        status = read_names(set, table, sv_json_root(json), path, err);
    sv_json_free(json);
    return status;
}

svit_status sv_frozen_set_keep(sv_frozen_set *set, const svit_model *model, svit_error *err)
{
    SVIT_TRY(allocate(set, model, err));
    for (size_t i = 0; i < set->count; i++)
        set->list[i] = model->parameters.list[i].frozen;
    set->version = model->trainable_version;
    return SVIT_OK;
}

void sv_frozen_set_bring_back(const sv_frozen_set *set, svit_model *model)
{
    for (size_t i = 0; set->list && i < set->count; i++)
        model->parameters.list[i].frozen = set->list[i];
    if (set->list)
        model->trainable_version = set->version;
}

void sv_frozen_set_free(sv_frozen_set *set, const svit_model *model)
{
    if (set->list)
        sv_release(&model->context->allocator, set->list, set->count * sizeof *set->list);
    set->list = NULL;
}

svit_status sv_frozen_set_check(const sv_frozen_set *set, const svit_model *model, const char *path,
                                svit_error *err)
{
    for (size_t i = 0; set->list && i < set->count; i++)
        if (set->list[i] != model->parameters.list[i].frozen)
            return sv_fail(err, SVIT_E_STATE,
                           "parameter '%s' is %s in %s, not in the model; restore the model alone, "
                           "then create session and optimizer and restore all three",
                           model->parameters.list[i].name, set->list[i] ? "frozen" : "trainable",
                           path);
    return SVIT_OK;
}

void sv_frozen_set_apply(const sv_frozen_set *set, svit_model *model)
{
    if (sv_frozen_set_check(set, model, "", NULL) == SVIT_OK)
        return;
    for (size_t i = 0; i < set->count; i++)
        model->parameters.list[i].frozen = set->list[i];
    model->trainable_version++;
}
