/* Opens checkpoints and restores their state, completely or not at all. */
#include "autograd/parameter_file.h"
#include "base/threads/fp_env.h"
#include "models/config.h"
#include "models/model_file.h"
#include "session/checkpoint/checkpoint_frozen.h"
#include "session/checkpoint/checkpoint_skipped.h"
#include "session/checkpoint/checkpoint_state.h"

#include <shiftvit/checkpoint.h>

#include <inttypes.h>
#include <string.h>

struct svit_checkpoint {
    svit_context *context;
    sv_safetensors *file;
    char *path;
    svit_model_config config;
    sv_checkpoint_state state;
};

static svit_status read_checkpoint(svit_checkpoint *checkpoint, const char *path, svit_error *err)
{
    const sv_allocator *allocator = &checkpoint->context->allocator;
    checkpoint->path = sv_copy_text(allocator, path);
    if (!checkpoint->path)
        return sv_fail_memory(err, strlen(path) + 1, "a path");
    SVIT_TRY(sv_safetensors_open(&checkpoint->file, allocator, path, err));
    SVIT_TRY(sv_model_file_check_version(checkpoint->file, path, err));
    SVIT_TRY(sv_checkpoint_state_read(&checkpoint->state, checkpoint->file, path, err));
    return sv_model_file_config(&checkpoint->config, checkpoint->file, path, err);
}

SVIT_API svit_status svit_checkpoint_open(svit_checkpoint **out, svit_context *context,
                                          const char *path, svit_error *err)
{
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(path);
    svit_checkpoint *checkpoint;
    SVIT_TRY(sv_allocate_array(&context->allocator, (void **)&checkpoint, 1, sizeof *checkpoint,
                               "a checkpoint", err));
    checkpoint->context = sv_context_retain(context);
    svit_status status = read_checkpoint(checkpoint, path, err);
    if (status == SVIT_OK)
        *out = checkpoint;
    else
        svit_checkpoint_free(checkpoint);
    return status;
}

SVIT_API void svit_checkpoint_free(svit_checkpoint *checkpoint)
{
    if (!checkpoint)
        return;
    svit_context *context = checkpoint->context;
    sv_safetensors_close(checkpoint->file);
    sv_release_text(&context->allocator, checkpoint->path);
    sv_release(&context->allocator, checkpoint, sizeof *checkpoint);
    svit_context_free(context);
}

SVIT_API const char *svit_checkpoint_value(const svit_checkpoint *checkpoint, const char *key)
{
    if (!checkpoint || !key ||
        strncmp(key, SV_CHECKPOINT_PREFIX, strlen(SV_CHECKPOINT_PREFIX)) == 0 ||
        sv_model_metadata_key_check(key, NULL) != SVIT_OK)
        return NULL;
    return sv_safetensors_metadata(checkpoint->file, key);
}

SVIT_API svit_status svit_checkpoint_get_u64(const svit_checkpoint *checkpoint, const char *key,
                                             uint64_t *value, svit_error *err)
{
    SV_REQUIRE(checkpoint);
    SV_REQUIRE(key);
    SV_REQUIRE(value);
    const sv_checkpoint_state *state = &checkpoint->state;
    if (strcmp(key, "optimizer.steps") == 0)
        *value = state->steps;
    else if (strcmp(key, "optimizer.swapped") == 0)
        *value = state->swapped;
    else if (strcmp(key, "session.counter") == 0)
        *value = state->counter;
    else
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "key is '%.64s'; 'optimizer.steps', 'optimizer.swapped' and "
                       "'session.counter' are accepted",
                       key);
    return SVIT_OK;
}

static svit_status check_model(const svit_checkpoint *checkpoint, const svit_model *model,
                               svit_error *err)
{
    const char *field =
        sv_config_difference(&sv_model_config_type, &checkpoint->config, &model->config);
    if (field)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s is of a model with another '%s'; the model must have the checkpoint's "
                       "configuration",
                       checkpoint->path, field);
    return SVIT_OK;
}

/* The checkpoint's value of a setting must be the handle's. */
static svit_status check_equal(const svit_checkpoint *checkpoint, const char *what, uint64_t saved,
                               uint64_t present, svit_error *err)
{
    if (saved == present)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "%s has %s %" PRIu64 ", the handle %" PRIu64 "; they must be equal",
                   checkpoint->path, what, saved, present);
}

static svit_status check_optimizer(const svit_checkpoint *checkpoint,
                                   const svit_optimizer *optimizer, svit_error *err)
{
    if (!checkpoint->state.has_optimizer)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s holds no optimiser; give NULL for it",
                       checkpoint->path);
    sv_checkpoint_state present = sv_checkpoint_state_of(optimizer, NULL);
    SVIT_TRY(check_equal(checkpoint, "optimiser kind", checkpoint->state.kind, present.kind, err));
    SVIT_TRY(check_equal(checkpoint, "ema", checkpoint->state.ema, present.ema, err));
    return check_model(checkpoint, optimizer->model, err);
}

static svit_status check_session(const svit_checkpoint *checkpoint, const svit_session *session,
                                 svit_error *err)
{
    if (!checkpoint->state.has_session)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s holds no session; give NULL for it",
                       checkpoint->path);
    SVIT_TRY(check_equal(checkpoint, "session seed", checkpoint->state.seed,
                         sv_session_seed(session), err));
    return check_model(checkpoint, sv_session_model(session), err);
}

/* What is restored is of one model. Where a model holds its average (svit_optimizer_swap_ema), that
 * of the checkpoint or the one that is there, the optimiser has the weights: alone it would take
 * them for an average, or an average for them. The model alone is what svit_model_load reads of the
 * file. */
static svit_status check_together(const svit_checkpoint *checkpoint, const svit_model *model,
                                  const svit_optimizer *optimizer, const svit_session *session,
                                  svit_error *err)
{
    if (model && optimizer && optimizer->model != model)
        return sv_fail(err, SVIT_E_ARGUMENT, "optimizer is of another model than the one given");
    if (model && session && sv_session_model(session) != model)
        return sv_fail(err, SVIT_E_ARGUMENT, "session is of another model than the one given");
    if (optimizer && !model && (checkpoint->state.swapped || optimizer->core->swapped))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "model is NULL; the model of %s holds the average of its weights, and is "
                       "restored with the optimiser, which has them",
                       checkpoint->state.swapped ? checkpoint->path : "the optimiser");
    return SVIT_OK;
}

/* Arrays that have been read from the file. They are copied to their targets only when all of them
 * have been read, so that a failure changes nothing. */
typedef struct staging {
    const sv_parameter_table *table;
    real *read[1 + SV_MAX_SLOTS];
    real *target[1 + SV_MAX_SLOTS];
    size_t elements[1 + SV_MAX_SLOTS]; /* of each array */
    size_t count;
} staging;

/* Reads the array with this prefix, which is to replace `target`, of a subset or, with NULL, of all
 * parameters. */
static svit_status stage(staging *staged, const svit_checkpoint *checkpoint,
                         const sv_parameter_table *table, const sv_parameter_subset *subset,
                         const char *prefix, real *target, svit_error *err)
{
    const size_t elements = subset ? subset->elements : table->elements;
    staged->table = table;
    SVIT_TRY(
        sv_parameter_array_check(table, subset, checkpoint->file, checkpoint->path, prefix, err));
    SVIT_TRY(sv_allocate_array(&table->allocator, (void **)&staged->read[staged->count], elements,
                               sizeof(real), "an array of a checkpoint", err));
    staged->target[staged->count] = target;
    staged->elements[staged->count] = elements;
    return sv_parameter_array_read(table, subset, staged->read[staged->count++], checkpoint->file,
                                   checkpoint->path, prefix, err);
}

/* Reads the weights for the model and the slots for the optimiser, each of which may be NULL. */
static svit_status stage_all(staging *staged, const svit_checkpoint *checkpoint, svit_model *model,
                             svit_optimizer *optimizer, svit_error *err)
{
    if (model)
        SVIT_TRY(stage(staged, checkpoint, &model->parameters, NULL, "", model->weights, err));
    for (size_t i = 0; optimizer && i < optimizer->core->slot_count; i++) {
        const sv_slot *slot = &optimizer->core->slots[i];
        char prefix[SV_ARRAY_PREFIX];
        SVIT_TRY(stage(staged, checkpoint, &optimizer->model->parameters, &optimizer->core->subset,
                       sv_checkpoint_prefix(prefix, slot), slot->values, err));
    }
    return SVIT_OK;
}

/* Copies all arrays to their targets. */
static void commit(const staging *staged)
{
    for (size_t i = 0; i < staged->count; i++)
        memcpy(staged->target[i], staged->read[i], staged->elements[i] * sizeof(real));
}

/* Frees what has been read. */
static void release(staging *staged)
{
    for (size_t i = 0; i < staged->count; i++)
        sv_release(&staged->table->allocator, staged->read[i], staged->elements[i] * sizeof(real));
}

static void restore_optimizer(const svit_checkpoint *checkpoint, svit_optimizer *optimizer)
{
    const sv_checkpoint_state *state = &checkpoint->state;
    sv_optim *core = optimizer->core;
    core->steps = state->steps;
    core->rate = -1;
    core->snapshots = state->snapshots == UINT64_MAX
                          ? sv_optim_due_snapshots(&core->config, state->steps)
                          : state->snapshots;
    core->swapped = state->swapped != 0;
}

/* Optimiser and session belong to what is trained, so they must have been created when the model's
 * frozen parameters were those of the checkpoint. */
static svit_status check_frozen(const sv_frozen_set *frozen, const svit_checkpoint *checkpoint,
                                const svit_optimizer *optimizer, const svit_session *session,
                                svit_error *err)
{
    if (optimizer) {
        SVIT_TRY(sv_frozen_set_check(frozen, optimizer->model, checkpoint->path, err));
        SVIT_TRY(sv_optimizer_check_trainable(optimizer, err));
    }
    if (session) {
        SVIT_TRY(sv_frozen_set_check(frozen, sv_session_model(session), checkpoint->path, err));
        SVIT_TRY(sv_session_check_trainable(session, err));
    }
    return SVIT_OK;
}

svit_status sv_frozen_set_of_checkpoint(sv_frozen_set *set, const svit_model *model,
                                        const svit_checkpoint *checkpoint, svit_error *err)
{
    *set = (sv_frozen_set){0};
    SVIT_TRY(check_model(checkpoint, model, err));
    return sv_frozen_set_read(set, model, checkpoint->file, checkpoint->path, err);
}

/* Restores what svit_checkpoint_restore has checked. What can fail comes first. */
static svit_status restore(const svit_checkpoint *checkpoint, svit_model *model,
                           svit_optimizer *optimizer, svit_session *session,
                           const sv_frozen_set *frozen, svit_error *err)
{
    staging staged = {0};
    svit_status status = stage_all(&staged, checkpoint, model, optimizer, err);
    if (status == SVIT_OK && optimizer)
        status = sv_skipped_restore(optimizer, checkpoint->file, checkpoint->state.steps,
                                    checkpoint->path, err);
    if (status == SVIT_OK) {
        commit(&staged);
        if (optimizer)
            restore_optimizer(checkpoint, optimizer);
        if (session)
            svit_session_set_counter(session, checkpoint->state.counter, NULL);
        if (model) {
            sv_frozen_set_apply(frozen, model);
            sv_model_touch(model);
        }
    }
    release(&staged);
    return status;
}

SVIT_API svit_status svit_checkpoint_restore(const svit_checkpoint *checkpoint, svit_model *model,
                                             svit_optimizer *optimizer, svit_session *session,
                                             svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(checkpoint);
    SVIT_TRY(sv_checkpoint_state_check(&checkpoint->state, checkpoint->path, err));
    if (model)
        SVIT_TRY(check_model(checkpoint, model, err));
    if (optimizer)
        SVIT_TRY(check_optimizer(checkpoint, optimizer, err));
    if (session)
        SVIT_TRY(check_session(checkpoint, session, err));
    SVIT_TRY(check_together(checkpoint, model, optimizer, session, err));
    const svit_model *of = model       ? model
                           : optimizer ? optimizer->model
                           : session   ? sv_session_model(session)
                                       : NULL;
    if (!of)
        return SVIT_OK;
    sv_frozen_set frozen;
    svit_status status = sv_frozen_set_of_checkpoint(&frozen, of, checkpoint, err);
    if (status == SVIT_OK)
        status = check_frozen(&frozen, checkpoint, optimizer, session, err);
    if (status == SVIT_OK)
        status = restore(checkpoint, model, optimizer, session, &frozen, err);
    sv_frozen_set_free(&frozen, of);
    return status;
}
