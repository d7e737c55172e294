/* Writes checkpoints. */
#include "autograd/parameter_file.h"
#include "models/model_file.h"
#include "train/checkpoint_state.h"

#include <shiftvit/checkpoint.h>

#include <string.h>

static svit_status check_key(const json_t *metadata, const char *key, const char *value, size_t i,
                             svit_error *err)
{
    if (!key || !value)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s[%zu] is NULL; text is needed",
                       key ? "values" : "keys", i);
    if (strncmp(key, SV_CHECKPOINT_PREFIX, strlen(SV_CHECKPOINT_PREFIX)) == 0)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "keys[%zu] is '%.64s'; '" SV_CHECKPOINT_PREFIX
                       "' is the start of the library's own keys",
                       i, key);
    SVIT_TRY(sv_model_metadata_key_check(key, err));
    if (json_object_get(metadata, key))
        return sv_fail(err, SVIT_E_ARGUMENT, "keys[%zu] is '%.64s' once more; keys are unique", i,
                       key);
    return SVIT_OK;
}

static svit_status set_entries(json_t *metadata, const char *const *keys, const char *const *values,
                               size_t count, svit_error *err)
{
    for (size_t i = 0; i < count; i++) {
        SVIT_TRY(check_key(metadata, keys[i], values[i], i, err));
        if (json_object_set_new(metadata, keys[i], json_string(values[i])) != 0)
            return sv_fail(err, SVIT_E_ARGUMENT, "keys[%zu] or values[%zu] is not UTF-8", i, i);
    }
    return SVIT_OK;
}

static svit_status write_file(const char *path, const svit_model *model,
                              const svit_optimizer *optimizer, const json_t *metadata,
                              svit_error *err)
{
    sv_parameter_array arrays[1 + SV_MAX_SLOTS] = {{"", model->weights}};
    char prefixes[SV_MAX_SLOTS][SV_ARRAY_PREFIX];
    size_t count = 1;
    for (size_t i = 0; optimizer && i < optimizer->core->slot_count; i++) {
        const sv_slot *slot = &optimizer->core->slots[i];
        arrays[count++] =
            (sv_parameter_array){sv_checkpoint_prefix(prefixes[i], slot), slot->values};
    }
    return sv_parameter_arrays_write(&model->parameters, path, metadata, arrays, count, err);
}

SVIT_API svit_status svit_checkpoint_save(const char *path, const svit_model *model,
                                          const svit_optimizer *optimizer,
                                          const svit_session *session, const char *const *keys,
                                          const char *const *values, size_t count, svit_error *err)
{
    SV_REQUIRE(path);
    SV_REQUIRE(model);
    if (count) {
        SV_REQUIRE(keys);
        SV_REQUIRE(values);
    }
    if (optimizer && optimizer->model != model)
        return sv_fail(err, SVIT_E_ARGUMENT, "optimizer is of another model than the one given");
    if (session && sv_session_model(session) != model)
        return sv_fail(err, SVIT_E_ARGUMENT, "session is of another model than the one given");
    json_t *metadata;
    SVIT_TRY(sv_model_metadata(&metadata, model, err));
    sv_checkpoint_state state = sv_checkpoint_state_of(optimizer, session);
    svit_status status = sv_checkpoint_state_write(metadata, &state, err);
    if (status == SVIT_OK)
        status = set_entries(metadata, keys, values, count, err);
    if (status == SVIT_OK)
        status = write_file(path, model, optimizer, metadata, err);
    json_decref(metadata);
    return status;
}
