/* The fields of an optimiser's configuration: defaults, ranges, JSON, and the fields that may
 * change during training. */
#include "config/config.h"
#include "optim/groups.h"
#include "optim/optimizer.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

#define FIELD(field, kind) SV_FIELD(svit_optimizer_config, field, kind)
#define FROM_ZERO(field)                                                                           \
    {                                                                                              \
        FIELD(field, REAL), .max = FLT_MAX                                                         \
    }
#define BELOW_ONE(field)                                                                           \
    {                                                                                              \
        FIELD(field, REAL), .max = 1, .max_is_open = 1                                             \
    }

static const sv_field FIELDS[] = {
    {FIELD(kind, WORD), .key = "optimizer",
     .words =
         {
#define SV_OPTIMIZER(constant, name) [SVIT_OPTIMIZER_##constant] = #name,
#include "optim/optimizer_list.h"
#undef SV_OPTIMIZER
         }},
    FROM_ZERO(learning_rate),
    BELOW_ONE(beta1),
    BELOW_ONE(beta2),
    {FIELD(epsilon, REAL), .min_is_open = 1, .max = FLT_MAX},
    FROM_ZERO(weight_decay),
    BELOW_ONE(momentum),
    FROM_ZERO(clip_norm),
    BELOW_ONE(ema_momentum),
    FROM_ZERO(lr_start),
    {FIELD(warmup_steps, U64)},
    {FIELD(total_steps, U64)},
    {FIELD(schedule, WORD), .words = {[SVIT_SCHEDULE_CONSTANT] = "constant",
                                      [SVIT_SCHEDULE_WARMUP_COSINE] = "warmup-cosine",
                                      [SVIT_SCHEDULE_LINEAR] = "linear",
                                      [SVIT_SCHEDULE_ONE_CYCLE] = "one-cycle",
                                      [SVIT_SCHEDULE_STEP] = "step",
                                      [SVIT_SCHEDULE_COSINE_RESTARTS] = "cosine-restarts",
                                      [SVIT_SCHEDULE_PIECEWISE] = "piecewise"}},
    {FIELD(decay_rule, WORD), .words = {"scaled", "unscaled"}},
    {FIELD(decay_exclude, SET), .words = {"bias", "norm", "position"}},
    {FIELD(nesterov, FLAG)},
    {FIELD(ema, WORD), .words = {"none", "plain", "keras", "swa"}},
    {FIELD(sgd_form, WORD), .words = {"keras", "torch"}},
    {FIELD(epsilon_form, WORD), .words = {"keras", "torch"}},
    FROM_ZERO(adamw_learning_rate),
    {FIELD(lookahead_alpha, REAL), .max = 1},
    {FIELD(swa_start, REAL), .max = 1},
    {FIELD(layer_decay, REAL), .min_is_open = 1, .max = 1},
    {FIELD(swa_every, U64)},
    {FIELD(step_size, U64)},
    FROM_ZERO(step_factor),
    {FIELD(restart_steps, U64)},
    {FIELD(restart_factor, U32), .min = 1, .max = 16},
    {FIELD(lookahead, U32), .max = UINT32_MAX},
    {FIELD(groups, ELEMENTS), .count_name = "group_count",
     .count_offset = offsetof(svit_optimizer_config, group_count), .max_count = SVIT_MAX_GROUPS,
     .elements = &sv_group_elements},
    {FIELD(points, ELEMENTS), .count_name = "point_count",
     .count_offset = offsetof(svit_optimizer_config, point_count),
     .max_count = SVIT_MAX_SCHEDULE_POINTS, .elements = &sv_point_elements},
};
static const sv_field_table TABLE = {.type = "svit_optimizer_config",
                                     .noun = "the optimizer configuration",
                                     .fields = FIELDS,
                                     .count = sizeof FIELDS / sizeof *FIELDS};

/* Fields that svit_optimizer_set_f64 may change during training. */
static const char *const SETTABLE[] = {"learning_rate", "weight_decay", "momentum", "clip_norm",
                                       "ema_momentum"};
enum { SETTABLE_COUNT = sizeof SETTABLE / sizeof *SETTABLE };

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
                                   .ema = SVIT_EMA_NONE,
                                   .adamw_learning_rate = 1e-3,
                                   .lookahead_alpha = 0.5,
                                   .layer_decay = 1,
                                   .step_factor = 0.1,
                                   .restart_factor = 1};
}

SVIT_API svit_status svit_optimizer_config_init(svit_optimizer_config *config, size_t size)
{
    svit_optimizer_config local = defaults();
    return sv_config_export(config, size, &local, sizeof local, "svit_optimizer_config", NULL);
}

static svit_status fail_unknown(const char *name, svit_error *err)
{
    char known[128];
    size_t used = 0;
    for (size_t i = 0; i < SETTABLE_COUNT && used < sizeof known; i++)
        used +=
            (size_t)snprintf(known + used, sizeof known - used, used ? ", %s" : "%s", SETTABLE[i]);
    return sv_fail(err, SVIT_E_ARGUMENT, "key '%.40s' is unknown; known are %s", name, known);
}

svit_status sv_optim_field_find(const sv_field **out, const char *name, svit_error *err)
{
    for (size_t i = 0; i < SETTABLE_COUNT; i++)
        if (strcmp(SETTABLE[i], name) == 0) {
            *out = sv_fields_find_member(&TABLE, name);
            return SVIT_OK;
        }
    return fail_unknown(name, err);
}

void sv_optim_field_range(const sv_field *field, const svit_optimizer_config *config, double *min,
                          double *max)
{
    sv_field_bounds(field, min, max);
    if (field->offset == offsetof(svit_optimizer_config, learning_rate) &&
        sv_schedule_uses_start(config->schedule))
        *min = config->lr_start;
}

bool sv_optim_needs_length(const svit_optimizer_config *config)
{
    return sv_schedule_has_length(config->schedule) || config->ema == SVIT_EMA_SWA;
}

/* Checks every field. A schedule without total_steps is accepted, because a trainer computes
 * them. */
static svit_status check_fields(const svit_optimizer_config *config, svit_error *err)
{
    SVIT_TRY(sv_fields_check(&TABLE, config, err));
    SVIT_TRY(sv_config_check_reserved(config->reserved, TABLE.type, err));
    if (sv_optim_needs_length(config) && config->total_steps == 0)
        return SVIT_OK;
    return sv_schedule_check(config, err);
}

static svit_status import(svit_optimizer_config *local, const svit_optimizer_config *config,
                          svit_error *err)
{
    *local = defaults();
    if (config)
        SVIT_TRY(sv_config_import(local, sizeof *local, config, sizeof *local, TABLE.type, err));
    return check_fields(local, err);
}

svit_status sv_optim_config_check(const svit_optimizer_config *config, svit_error *err)
{
    SVIT_TRY(check_fields(config, err));
    if (sv_optim_needs_length(config) && config->total_steps == 0)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "total_steps is 0; a schedule with a length has at least 1 step");
    return SVIT_OK;
}

svit_status sv_optim_config_import(svit_optimizer_config *local,
                                   const svit_optimizer_config *config, svit_error *err)
{
    SVIT_TRY(import(local, config, err));
    return sv_optim_config_check(local, err);
}

SVIT_API svit_status svit_optimizer_config_from_json(svit_optimizer_config *config, size_t size,
                                                     const char *json, svit_error *err)
{
    SV_REQUIRE(config);
    SV_REQUIRE(json);
    svit_optimizer_config local = defaults();
    SVIT_TRY(sv_fields_from_text(&TABLE, &local, json, err));
    SVIT_TRY(check_fields(&local, err));
    return sv_config_export(config, size, &local, sizeof local, TABLE.type, err);
}

SVIT_API svit_status svit_optimizer_config_to_json(const svit_optimizer_config *config,
                                                   char *buffer, size_t capacity, size_t *needed,
                                                   svit_error *err)
{
    SV_REQUIRE(config);
    svit_optimizer_config local;
    SVIT_TRY(import(&local, config, err));
    return sv_fields_to_buffer(&TABLE, &local, buffer, capacity, needed, err);
}

const sv_field_table *sv_optim_fields(void)
{
    return &TABLE;
}

svit_status sv_optim_config_import_unplanned(svit_optimizer_config *local,
                                             const svit_optimizer_config *config, svit_error *err)
{
    return import(local, config, err);
}
