/* How many updates have left a parameter out: in the metadata of a checkpoint, as an object of JSON
 * by the names of the parameters. */
#include "session/checkpoint/checkpoint_skipped.h"

#include "io/metadata_json.h"
#include "session/checkpoint/checkpoint_state.h"

#define KEY SV_CHECKPOINT_PREFIX "optimizer.skipped"

svit_status sv_skipped_write(sv_json_writer *metadata, const svit_optimizer *optimizer,
                             svit_error *err)
{
    const sv_optim *core = optimizer->core;
    sv_json_writer skipped = sv_json_writer_make(metadata->allocator);
    bool any = false;
    sv_json_begin(&skipped, '{');
    for (size_t i = 0; i < core->table->count; i++) {
        if (core->settings[i].skipped == 0)
            continue;
        sv_json_put_key(&skipped, core->table->list[i].name);
        sv_json_put_u64(&skipped, core->settings[i].skipped);
        any = true;
    }
    sv_json_end(&skipped, '}');
    const svit_status status = sv_json_writer_status(&skipped, "the updates of parameters", err);
    if (status == SVIT_OK && any) {
        sv_json_put_key(metadata, KEY);
        sv_json_put_text(metadata, skipped.text);
    }
    sv_json_writer_free(&skipped);
    return status;
}

/* Reads the entry to skipped[table->count]. */
static svit_status read_counts(uint64_t *skipped, const sv_parameter_table *table,
                               const sv_json_value *object, uint64_t steps, const char *path,
                               svit_error *err)
{
    if (object->kind != SV_JSON_OBJECT)
        return sv_fail(err, SVIT_E_FORMAT, "%s: entry '" KEY "' is no object of parameters", path);
    const sv_json_value *member = object + 1;
    for (size_t i = 0; i < object->count; i++, member = member->after) {
        double number = -1;
        const sv_parameter *parameter = sv_parameter_find(table, member->key);
        if (!parameter)
            return sv_fail(err, SVIT_E_FORMAT,
                           "%s: entry '" KEY "' has '%.96s'; parameters of the model are accepted",
                           path, member->key);
        /* A double holds whole numbers up to 2^53. */
        if (!sv_json_number(member, &number) || !(number >= 0 && number <= 0x1p53) ||
            (double)(uint64_t)number != number || (uint64_t)number > steps)
            return sv_fail(err, SVIT_E_FORMAT,
                           "%s: entry '" KEY "' of '%.96s' is no number of updates from 0 to the "
                           "steps of the optimiser",
                           path, member->key);
        skipped[parameter - table->list] = (uint64_t)number;
    }
    return SVIT_OK;
}

svit_status sv_skipped_restore(svit_optimizer *optimizer, const sv_safetensors *file,
                               uint64_t steps, const char *path, svit_error *err)
{
    const sv_parameter_table *table = optimizer->core->table;
    const sv_allocator *allocator = &optimizer->core->context->allocator;
    sv_json *json;
    uint64_t *skipped;
    SVIT_TRY(sv_allocate_array(allocator, (void **)&skipped, table->count, sizeof *skipped,
                               "the updates of parameters", err));
    svit_status status = sv_metadata_json_read(&json, allocator, file, KEY, path, err);
    if (json)
        status = read_counts(skipped, table, sv_json_root(json), steps, path, err);
    if (status == SVIT_OK)
        sv_optim_set_skipped(optimizer->core, skipped);
    sv_json_free(json);
    sv_release(allocator, skipped, table->count * sizeof *skipped);
    return status;
}
