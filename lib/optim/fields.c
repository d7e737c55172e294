/* The fields of an optimiser's configuration: defaults, ranges, and what may change later. */
#include "base/config.h"
#include "optim/optimizer.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

/* The largest double below 1, and the least above 0. */
#define BELOW_ONE (1 - DBL_EPSILON / 2)
#define ABOVE_ZERO DBL_MIN
#define FIELD(field) #field, offsetof(svit_optimizer_config, field)

static const sv_optim_field FIELDS[] = {
    {FIELD(learning_rate), 0, FLT_MAX, 1},  {FIELD(weight_decay), 0, FLT_MAX, 1},
    {FIELD(momentum), 0, BELOW_ONE, 1},     {FIELD(clip_norm), 0, FLT_MAX, 1},
    {FIELD(ema_momentum), 0, BELOW_ONE, 1}, {FIELD(beta1), 0, BELOW_ONE, 0},
    {FIELD(beta2), 0, BELOW_ONE, 0},        {FIELD(epsilon), ABOVE_ZERO, FLT_MAX, 0},
    {FIELD(lr_start), 0, FLT_MAX, 0},
};
enum { FIELD_COUNT = sizeof FIELDS / sizeof *FIELDS };

/* Fields that are one of 0..greatest. */
typedef struct choice {
    const char *name;
    size_t offset;
    uint32_t greatest;
} choice;

static const choice CHOICES[] = {
    {FIELD(kind), SVIT_OPTIMIZER_SGD},
    {FIELD(schedule), SVIT_SCHEDULE_WARMUP_COSINE},
    {FIELD(decay_rule), SVIT_DECAY_UNSCALED},
    {FIELD(decay_exclude), SVIT_EXCLUDE_BIAS | SVIT_EXCLUDE_NORM | SVIT_EXCLUDE_POSITION},
    {FIELD(nesterov), 1},
    {FIELD(ema), SVIT_EMA_KERAS},
};

static svit_optimizer_config defaults(void)
{
    return (svit_optimizer_config){.struct_size = sizeof(svit_optimizer_config),
                                   .kind = SVIT_OPTIMIZER_ADAMW,
                                   .learning_rate = 1e-3,
                                   .beta1 = 0.9,
                                   .beta2 = 0.999,
                                   .epsilon = 1e-7,
                                   .weight_decay = 1e-4,
                                   .schedule = SVIT_SCHEDULE_CONSTANT,
                                   .decay_rule = SVIT_DECAY_SCALED,
                                   .ema = SVIT_EMA_NONE};
}

SVIT_API svit_status svit_optimizer_config_init(svit_optimizer_config *config, size_t size)
{
    svit_optimizer_config own = defaults();
    return sv_config_export(config, size, &own, sizeof own, "svit_optimizer_config", NULL);
}

static svit_status fail_unknown(const char *name, svit_error *err)
{
    char known[128];
    size_t used = 0;
    for (size_t i = 0; i < FIELD_COUNT && used < sizeof known; i++)
        if (FIELDS[i].settable)
            used += (size_t)snprintf(known + used, sizeof known - used, used ? ", %s" : "%s",
                                     FIELDS[i].name);
    return sv_fail(err, SVIT_E_ARGUMENT, "key '%.40s' is unknown; known are %s", name, known);
}

svit_status sv_optim_field_find(const sv_optim_field **out, const char *name, svit_error *err)
{
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (FIELDS[i].settable && strcmp(FIELDS[i].name, name) == 0) {
            *out = &FIELDS[i];
            return SVIT_OK;
        }
    return fail_unknown(name, err);
}

void sv_optim_field_range(const sv_optim_field *field, const svit_optimizer_config *config,
                          double *least, double *greatest)
{
    *least = field->least;
    *greatest = field->greatest;
    if (field->offset == offsetof(svit_optimizer_config, learning_rate) &&
        config->schedule == SVIT_SCHEDULE_WARMUP_COSINE)
        *least = config->lr_start;
}

static svit_status check_numbers(const svit_optimizer_config *config, svit_error *err)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const sv_optim_field *field = &FIELDS[i];
        double value;
        memcpy(&value, (const char *)config + field->offset, sizeof value);
        if (!(value >= field->least && value <= field->greatest))
            return sv_fail(err, SVIT_E_ARGUMENT, "%s is %g; it is in [%g, %.17g]", field->name,
                           value, field->least, field->greatest);
    }
    return SVIT_OK;
}

static svit_status check_choices(const svit_optimizer_config *config, svit_error *err)
{
    for (size_t i = 0; i < sizeof CHOICES / sizeof *CHOICES; i++) {
        uint32_t value;
        memcpy(&value, (const char *)config + CHOICES[i].offset, sizeof value);
        if (value > CHOICES[i].greatest)
            return sv_fail(err, SVIT_E_ARGUMENT, "%s is %d; it is 0..%u", CHOICES[i].name,
                           (int)value, CHOICES[i].greatest);
    }
    return SVIT_OK;
}

static svit_status check_schedule(const svit_optimizer_config *config, svit_error *err)
{
    if (config->total_steps < 1)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "total_steps is 0; a warm-up cosine schedule has at least 1 step");
    if (config->warmup_steps > config->total_steps)
        return sv_fail(
            err, SVIT_E_ARGUMENT, "warmup_steps is %llu; it is at most total_steps, which is %llu",
            (unsigned long long)config->warmup_steps, (unsigned long long)config->total_steps);
    if (config->lr_start > config->learning_rate)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "lr_start is %g; it is at most learning_rate, which is %g", config->lr_start,
                       config->learning_rate);
    return SVIT_OK;
}

svit_status sv_optim_config_check(const svit_optimizer_config *config, svit_error *err)
{
    SVIT_TRY(check_choices(config, err));
    SVIT_TRY(check_numbers(config, err));
    return config->schedule == SVIT_SCHEDULE_WARMUP_COSINE ? check_schedule(config, err) : SVIT_OK;
}

svit_status sv_optim_config_import(svit_optimizer_config *own, const svit_optimizer_config *config,
                                   svit_error *err)
{
    *own = defaults();
    if (config)
        SVIT_TRY(
            sv_config_import(own, sizeof *own, config, sizeof *own, "svit_optimizer_config", err));
    SVIT_TRY(sv_config_check_reserved(own->reserved, "svit_optimizer_config", err));
    return sv_optim_config_check(own, err);
}
