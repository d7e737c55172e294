/* The trainer's configuration: defaults and ranges. */
#include "trainer/trainer_inside.h"

#include <float.h>
#include <string.h>

enum { CONFIG_LEAST = sizeof(svit_trainer_config) };

static svit_trainer_config defaults(void)
{
    return (svit_trainer_config){.struct_size = sizeof(svit_trainer_config),
                                 .epochs = 100,
                                 .batch = 256,
                                 .accumulate = 1,
                                 .patience = 5,
                                 .keep = SVIT_KEEP_LAST,
                                 .warmup_fraction = 0.15,
                                 .compute = SVIT_COMPUTE_F32,
                                 .prefetch = 2,
                                 .memory = SVIT_MEMORY_STORE};
}

SVIT_API svit_status svit_trainer_config_init(svit_trainer_config *config, size_t size)
{
    svit_trainer_config own = defaults();
    return sv_trainer_export(config, size, &own, sizeof own, "svit_trainer_config", NULL);
}

typedef struct range {
    const char *name;
    size_t offset;
    double least, greatest;
} range;

#define RANGE(field, least, greatest)                                                              \
    {                                                                                              \
#field, offsetof(svit_trainer_config, field), least, greatest                              \
    }

static const range COUNTS[] = {
    RANGE(epochs, 1, 1000000), RANGE(batch, 1, 65536), RANGE(accumulate, 1, 65536),
    RANGE(keep, 0, 1),         RANGE(compute, 0, 1),   RANGE(prefetch, 0, 16),
    RANGE(memory, 0, 2),
};
static const range NUMBERS[] = {
    RANGE(label_smoothing, 0, 1 - DBL_EPSILON / 2),
    RANGE(warmup_fraction, 0, 1),
    RANGE(checkpoint_seconds, 0, DBL_MAX),
};

static svit_status check_range(const range *field, double value, svit_error *err)
{
    if (value >= field->least && value <= field->greatest)
        return SVIT_OK;
    return sv_trainer_fail(err, SVIT_E_ARGUMENT, "%s is %.17g; it is in [%g, %.17g]", field->name,
                           value, field->least, field->greatest);
}

static svit_status check(const svit_trainer_config *config, svit_error *err)
{
    for (size_t i = 0; i < sizeof COUNTS / sizeof *COUNTS; i++) {
        uint32_t value;
        memcpy(&value, (const char *)config + COUNTS[i].offset, sizeof value);
        TRAINER_TRY(check_range(&COUNTS[i], value, err));
    }
    for (size_t i = 0; i < sizeof NUMBERS / sizeof *NUMBERS; i++) {
        double value;
        memcpy(&value, (const char *)config + NUMBERS[i].offset, sizeof value);
        TRAINER_TRY(check_range(&NUMBERS[i], value, err));
    }
    if (config->accumulate > config->batch)
        return sv_trainer_fail(err, SVIT_E_ARGUMENT, "accumulate is %u; it is at most batch, %u",
                               config->accumulate, config->batch);
    return SVIT_OK;
}

svit_status sv_trainer_config_import(svit_trainer_config *own, const svit_trainer_config *config,
                                     svit_error *err)
{
    *own = defaults();
    if (config)
        TRAINER_TRY(
            sv_trainer_import(own, sizeof *own, config, CONFIG_LEAST, "svit_trainer_config", err));
    return check(own, err);
}
