/* Writes, reads and checks the state of a checkpoint. One table lists its entries. */
#include "session/checkpoint/checkpoint_state.h"

#include "base/numbers/digits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* An entry of the metadata and its uint64_t in sv_checkpoint_state. */
typedef struct entry {
    const char *key;
    size_t offset;
} entry;

/* The value of an entry that an older library did not write, UINT64_MAX. */
#define NOT_SAVED "18446744073709551615"

#define ENTRY(key, field)                                                                          \
    {                                                                                              \
        SV_CHECKPOINT_PREFIX key, offsetof(sv_checkpoint_state, field)                             \
    }

static const entry ENTRIES[] = {
    ENTRY("optimizer", has_optimizer),
    ENTRY("optimizer.kind", kind),
    ENTRY("optimizer.ema", ema),
    ENTRY("optimizer.swapped", swapped),
    ENTRY("optimizer.steps", steps),
    ENTRY("session", has_session),
    ENTRY("session.counter", counter),
    ENTRY("session.seed", seed),
    ENTRY("optimizer.snapshots", snapshots), /* which older libraries did not write */
};

sv_checkpoint_state sv_checkpoint_state_of(const svit_optimizer *optimizer,
                                           const svit_session *session)
{
    sv_checkpoint_state state = {0};
    if (optimizer) {
        state.has_optimizer = 1;
        state.kind = (uint64_t)optimizer->core->config.kind;
        state.ema = (uint64_t)optimizer->core->config.ema;
        state.swapped = (uint64_t)optimizer->core->swapped;
        state.steps = optimizer->core->steps;
        state.snapshots = optimizer->core->snapshots;
    }
    if (session) {
        state.has_session = 1;
        state.counter = svit_session_counter(session);
        state.seed = sv_session_seed(session);
    }
    return state;
}

void sv_checkpoint_state_write(sv_json_writer *metadata, const sv_checkpoint_state *state)
{
    for (size_t i = 0; i < sizeof ENTRIES / sizeof *ENTRIES; i++) {
        uint64_t value;
        memcpy(&value, (const char *)state + ENTRIES[i].offset, sizeof value);
        char text[24];
        snprintf(text, sizeof text, "%" PRIu64, value);
        sv_json_put_key(metadata, ENTRIES[i].key);
        sv_json_put_text(metadata, text);
    }
}

svit_status sv_checkpoint_state_read(sv_checkpoint_state *state, const sv_safetensors *file,
                                     const char *path, svit_error *err)
{
    for (size_t i = 0; i < sizeof ENTRIES / sizeof *ENTRIES; i++) {
        const char *text = sv_safetensors_metadata(file, ENTRIES[i].key);
        if (!text && ENTRIES[i].offset == offsetof(sv_checkpoint_state, snapshots))
            text = NOT_SAVED;
        if (!text)
            return sv_fail(err, SVIT_E_FORMAT, "%s is no checkpoint: it has no entry '%s'", path,
                           ENTRIES[i].key);
        uint64_t value;
        const char *end = sv_digits_read(&value, text, 10);
        if (!end || end == text || *end)
            return sv_fail(err, SVIT_E_FORMAT, "%s: entry '%s' is '%.40s', not an integer", path,
                           ENTRIES[i].key, text);
        memcpy((char *)state + ENTRIES[i].offset, &value, sizeof value);
    }
    return SVIT_OK;
}

static svit_status fail_entry(const char *path, const char *key, uint64_t value,
                              const char *accepted, svit_error *err)
{
    return sv_fail(err, SVIT_E_FORMAT,
                   "%s: entry '" SV_CHECKPOINT_PREFIX "%s' is %" PRIu64 "; %s accepted", path, key,
                   value, accepted);
}

svit_status sv_checkpoint_state_check(const sv_checkpoint_state *state, const char *path,
                                      svit_error *err)
{
    static const char NOTHING[] = "only 0, since there is no such handle in the file, is";
    if (state->has_optimizer > 1)
        return fail_entry(path, "optimizer", state->has_optimizer, "0 and 1 are", err);
    if (state->has_session > 1)
        return fail_entry(path, "session", state->has_session, "0 and 1 are", err);
    if (state->swapped > 1)
        return fail_entry(path, "optimizer.swapped", state->swapped, "0 and 1 are", err);
    if (!state->has_optimizer && state->steps)
        return fail_entry(path, "optimizer.steps", state->steps, NOTHING, err);
    if (state->snapshots > state->steps && state->snapshots != UINT64_MAX)
        return fail_entry(path, "optimizer.snapshots", state->snapshots,
                          "at most the steps of the optimiser are", err);
    if (!state->has_session && state->counter)
        return fail_entry(path, "session.counter", state->counter, NOTHING, err);
    if (state->swapped && state->ema == SVIT_EMA_NONE)
        return fail_entry(path, "optimizer.swapped", state->swapped,
                          "only 0, since there is no average of the weights, is", err);
    if (state->swapped && state->steps == 0)
        return fail_entry(path, "optimizer.swapped", state->swapped,
                          "only 0, before the first step, is", err);
    return SVIT_OK;
}

const char *sv_checkpoint_prefix(char prefix[SV_ARRAY_PREFIX], const sv_slot *slot)
{
    const char *form = strcmp(slot->name, "ema") == 0 ? "%s." : "optimizer.%s.";
    snprintf(prefix, SV_ARRAY_PREFIX, form, slot->name);
    return prefix;
}
