/* The fields of an optimiser's configuration: defaults, ranges, JSON, and the fields that may
 * change during training. */
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
         (sv_words){
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
    {FIELD(schedule, WORD), .words = (sv_words){[SVIT_SCHEDULE_CONSTANT] = "constant",
                                                [SVIT_SCHEDULE_WARMUP_COSINE] = "warmup-cosine",
                                                [SVIT_SCHEDULE_LINEAR] = "linear",
                                                [SVIT_SCHEDULE_ONE_CYCLE] = "one-cycle",
                                                [SVIT_SCHEDULE_STEP] = "step",
                                                [SVIT_SCHEDULE_COSINE_RESTARTS] = "cosine-restarts",
                                                [SVIT_SCHEDULE_PIECEWISE] = "piecewise"}},
    {FIELD(decay_rule, WORD), .words = (sv_words){"scaled", "unscaled"}},
    {FIELD(decay_exclude, SET), .words = (sv_words){"bias", "norm", "position"}},
    {FIELD(nesterov, FLAG)},
    {FIELD(ema, WORD), .words = (sv_words){"none", "plain", "keras", "swa"}},
    {FIELD(sgd_form, WORD), .words = (sv_words){"keras", "torch"}},
    {FIELD(epsilon_form, WORD), .words = (sv_words){"keras", "torch"}},
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
static void set_defaults(void *out)
{
    svit_optimizer_config *config = out;
    config->kind = SVIT_OPTIMIZER_ADAMW;
    config->learning_rate = 1e-3;
    config->beta1 = 0.9;
    config->beta2 = 0.999;
    config->epsilon = 1e-7;
    config->weight_decay = 1e-4;
    config->schedule = SVIT_SCHEDULE_CONSTANT;
    config->decay_rule = SVIT_DECAY_SCALED;
    config->ema = SVIT_EMA_NONE;
    config->adamw_learning_rate = 1e-3;
    config->lookahead_alpha = 0.5;
    config->layer_decay = 1;
    config->step_factor = 0.1;
    config->restart_factor = 1;
}

bool sv_optim_lacks_length(const svit_optimizer_config *config)
{
    return config->total_steps == 0 &&
           (sv_schedule_uses(config->schedule, SV_SCHEDULE_LENGTH) || config->ema == SVIT_EMA_SWA);
}

static svit_status check(const void *config, svit_error *err)
{
    return sv_schedule_check(config, err);
}

const sv_config_type sv_optimizer_config_type = {
    SV_CONFIG(svit_optimizer_config, FIELDS, "the optimizer configuration"),
    .reserved = offsetof(svit_optimizer_config, reserved), .set_defaults = set_defaults,
    .null_is_default = true, .check = check};

SV_CONFIG_FUNCTIONS(svit_optimizer_config, sv_optimizer_config_type)

svit_status sv_optim_config_import(svit_optimizer_config *local,
                                   const svit_optimizer_config *config, svit_error *err)
{
    SVIT_TRY(sv_config_read(&sv_optimizer_config_type, local, config, err));
    if (sv_optim_lacks_length(local))
        return sv_fail(err, SVIT_E_ARGUMENT, "total_steps is 0; %s has at least 1 step",
                       sv_schedule_uses(local->schedule, SV_SCHEDULE_LENGTH)
                           ? "a schedule with a length"
                           : "training with ema 'swa'");
    return SVIT_OK;
}

/* Fields that svit_optimizer_set_f64 may change during training. */
static const char *const SETTABLE[] = {"learning_rate", "weight_decay", "momentum", "clip_norm",
                                       "ema_momentum"};
enum { SETTABLE_COUNT = sizeof SETTABLE / sizeof *SETTABLE };

static svit_status fail_unknown(const char *name, const char *also, svit_error *err)
{
    char known[128];
    size_t used = 0;
    for (size_t i = 0; i < SETTABLE_COUNT && used < sizeof known; i++)
        used +=
            (size_t)snprintf(known + used, sizeof known - used, used ? ", %s" : "%s", SETTABLE[i]);
    return sv_fail(err, SVIT_E_ARGUMENT, "key '%.40s' is unknown; known are %s%s", name, known,
                   also);
}

svit_status sv_optim_field_find(const sv_field **out, const char *name, const char *also,
                                svit_error *err)
{
    for (size_t i = 0; i < SETTABLE_COUNT; i++)
        if (strcmp(SETTABLE[i], name) == 0) {
            *out = sv_fields_find_member(&sv_optimizer_config_type.table, name);
            return SVIT_OK;
        }
    return fail_unknown(name, also, err);
}

void sv_optim_field_range(const sv_field *field, const svit_optimizer_config *config, double *min,
                          double *max)
{
    sv_field_bounds(field, min, max);
    if (field->offset == offsetof(svit_optimizer_config, learning_rate) &&
        sv_schedule_uses(config->schedule, SV_SCHEDULE_START))
        *min = config->lr_start;
}
