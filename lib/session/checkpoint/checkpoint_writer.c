/* Writes checkpoints: weights, optimiser slots, their state, and the caller's metadata entries. */
#include "autograd/parameter_file.h"
#include "base/text/unique.h"
#include "base/text/utf8.h"
#include "base/threads/fp_env.h"
#include "models/model_file.h"
#include "session/checkpoint/checkpoint_frozen.h"
#include "session/checkpoint/checkpoint_skipped.h"
#include "session/checkpoint/checkpoint_state.h"

#include <shiftvit/checkpoint.h>

#include <string.h>

static svit_status check_entry(const char *key, const char *value, size_t i, svit_error *err)
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
    if (!sv_utf8_valid(key) || !sv_utf8_valid(value))
        return sv_fail(err, SVIT_E_ARGUMENT, "keys[%zu] or values[%zu] is not UTF-8", i, i);
    return SVIT_OK;
}

static svit_status check_unique(const sv_allocator *allocator, const char *const *keys,
                                size_t count, svit_error *err)
{
    size_t twice[2];
    SVIT_TRY(sv_texts_find_twice(twice, keys, count, allocator, err));
    if (twice[1] == 0)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT, "keys[%zu] is '%.64s' once more; keys are unique",
                   twice[1], keys[twice[1]]);
}

static svit_status check_entries(const sv_allocator *allocator, const char *const *keys,
                                 const char *const *values, size_t count, svit_error *err)
{
    for (size_t i = 0; i < count; i++)
        SVIT_TRY(check_entry(keys[i], values[i], i, err));
    return check_unique(allocator, keys, count, err);
}

static svit_status put_metadata(sv_json_writer *metadata, const svit_model *model,
                                const svit_optimizer *optimizer, const sv_checkpoint_state *state,
                                const char *const *keys, const char *const *values, size_t count,
                                svit_error *err)
{
    sv_json_begin(metadata, '{');
    SVIT_TRY(sv_model_metadata(metadata, model, err));
    sv_checkpoint_state_write(metadata, state);
    SVIT_TRY(sv_frozen_set_write(metadata, model, err));
    if (optimizer)
        SVIT_TRY(sv_skipped_write(metadata, optimizer, err));
    for (size_t i = 0; i < count; i++) {
        sv_json_put_key(metadata, keys[i]);
        sv_json_put_text(metadata, values[i]);
    }
    sv_json_end(metadata, '}');
    return sv_json_writer_status(metadata, "a checkpoint's metadata", err);
}

static svit_status write_file(const char *path, const svit_model *model,
                              const svit_optimizer *optimizer, const char *metadata,
                              svit_error *err)
{
    sv_parameter_array arrays[1 + SV_MAX_SLOTS] = {{.prefix = "", .values = model->weights}};
    char prefixes[SV_MAX_SLOTS][SV_ARRAY_PREFIX];
    size_t count = 1;
    for (size_t i = 0; optimizer && i < optimizer->core->slot_count; i++) {
        const sv_slot *slot = &optimizer->core->slots[i];
        arrays[count++] = (sv_parameter_array){.prefix = sv_checkpoint_prefix(prefixes[i], slot),
                                               .values = slot->values,
                                               .subset = &optimizer->core->subset};
    }
    const sv_byte_target target = {.name = path};
    return sv_parameter_arrays_write(&model->parameters, &target, metadata, arrays, count,
                                     SV_DTYPE_F32, err);
}

SVIT_API svit_status svit_checkpoint_save(const char *path, const svit_model *model,
                                          const svit_optimizer *optimizer,
                                          const svit_session *session, const char *const *keys,
                                          const char *const *values, size_t count, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
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
    if (optimizer)
        SVIT_TRY(sv_optimizer_check_trainable(optimizer, err));
    const sv_allocator *allocator = &model->context->allocator;
    SVIT_TRY(check_entries(allocator, keys, values, count, err));
    sv_checkpoint_state state = sv_checkpoint_state_of(optimizer, session);
    sv_json_writer metadata = sv_json_writer_make(allocator);
    svit_status status =
        put_metadata(&metadata, model, optimizer, &state, keys, values, count, err);
    if (status == SVIT_OK)
        status = write_file(path, model, optimizer, metadata.text, err);
    sv_json_writer_free(&metadata);
    return status;
}
