/* The public constants by name, for languages that cannot read C headers. */
#include "base/status.h"

#include <shiftvit/shiftvit.h>

#include <string.h>

#define CONSTANT(name)                                                                             \
    {                                                                                              \
#name, name                                                                                \
    }

static const struct {
    const char *name;
    int64_t value;
} CONSTANTS[] = {
    CONSTANT(SVIT_OK),
    CONSTANT(SVIT_E_ARGUMENT),
    CONSTANT(SVIT_E_MEMORY),
    CONSTANT(SVIT_E_STATE),
    CONSTANT(SVIT_E_IO),
    CONSTANT(SVIT_E_FORMAT),
    CONSTANT(SVIT_E_VERSION),
    CONSTANT(SVIT_E_STOPPED),
    CONSTANT(SVIT_E_UNSUPPORTED),
    CONSTANT(SVIT_E_NUMERIC),
    CONSTANT(SVIT_LOG_INFO),
    CONSTANT(SVIT_LOG_WARNING),
    CONSTANT(SVIT_MAX_STAGES),
    CONSTANT(SVIT_ARCHITECTURE_SHIFTVIT),
    CONSTANT(SVIT_SHIFT_TRUE),
    CONSTANT(SVIT_SHIFT_KERAS),
    CONSTANT(SVIT_GROUPS_CHANNELS),
    CONSTANT(SVIT_GROUPS_SECTIONS),
    CONSTANT(SVIT_NORM_LAYER),
    CONSTANT(SVIT_NORM_GROUP),
    CONSTANT(SVIT_PADDING_SAME),
    CONSTANT(SVIT_PADDING_VALID),
    CONSTANT(SVIT_DROP_PATH_STAGE),
    CONSTANT(SVIT_DROP_PATH_NETWORK),
    CONSTANT(SVIT_DROP_PATH_CONSTANT),
    CONSTANT(SVIT_INIT_SEED),
    CONSTANT(SVIT_INIT_PAPER),
    CONSTANT(SVIT_MODE_INFER),
    CONSTANT(SVIT_MODE_TRAIN),
    CONSTANT(SVIT_COMPUTE_F32),
    CONSTANT(SVIT_COMPUTE_BF16),
    CONSTANT(SVIT_OPTIMIZER_ADAMW),
    CONSTANT(SVIT_OPTIMIZER_SGD),
    CONSTANT(SVIT_DECAY_SCALED),
    CONSTANT(SVIT_DECAY_UNSCALED),
    CONSTANT(SVIT_SCHEDULE_CONSTANT),
    CONSTANT(SVIT_SCHEDULE_WARMUP_COSINE),
    CONSTANT(SVIT_EXCLUDE_BIAS),
    CONSTANT(SVIT_EXCLUDE_NORM),
    CONSTANT(SVIT_EXCLUDE_POSITION),
    CONSTANT(SVIT_EMA_NONE),
    CONSTANT(SVIT_EMA_PLAIN),
    CONSTANT(SVIT_EMA_KERAS),
    CONSTANT(SVIT_EVALUATE_RESIZE),
    CONSTANT(SVIT_EVALUATE_KEEP),
    CONSTANT(SVIT_SPLIT_TRAIN),
    CONSTANT(SVIT_SPLIT_TEST),
    CONSTANT(SVIT_SPLIT_VALIDATION),
    CONSTANT(SVIT_LABELS_FINE),
    CONSTANT(SVIT_LABELS_COARSE),
    CONSTANT(SVIT_KEEP_LAST),
    CONSTANT(SVIT_KEEP_BEST),
    CONSTANT(SVIT_EVENT_STEP),
    CONSTANT(SVIT_EVENT_EPOCH),
    CONSTANT(SVIT_EVENT_FINISHED),
};

enum { CONSTANT_COUNT = sizeof CONSTANTS / sizeof *CONSTANTS };

SVIT_API svit_status svit_constant(const char *name, int64_t *value, svit_error *err)
{
    SV_REQUIRE(name);
    SV_REQUIRE(value);
    for (size_t i = 0; i < CONSTANT_COUNT; i++)
        if (strcmp(CONSTANTS[i].name, name) == 0) {
            *value = CONSTANTS[i].value;
            return SVIT_OK;
        }
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "name is '%.100s'; svit_constant_name lists the constants that there are", name);
}

SVIT_API const char *svit_constant_name(size_t index)
{
    return index < CONSTANT_COUNT ? CONSTANTS[index].name : NULL;
}
