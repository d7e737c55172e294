/* Changes a setting of parameters, completely or not at all. */
#include "base/text/pattern.h"
#include "optim/update.h"

#include <string.h>

enum { LR_SCALE, WEIGHT_DECAY, TRAINABLE };

/* A change of a setting of parameters. */
typedef struct setting_change {
    const char *pattern; /* NULL: those that have the optimiser's weight_decay */
    size_t key;          /* LR_SCALE, WEIGHT_DECAY or TRAINABLE */
    double value;
    bool found;         /* a parameter has been changed */
    const char *frozen; /* one that cannot become trainable */
} setting_change;

static svit_status read_change(setting_change *change, const char *pattern, const char *key,
                               double value, svit_error *err)
{
    static const char *const KEYS[] = {"lr_scale", "weight_decay", "trainable"};
    size_t at = 0;
    while (at < 3 && strcmp(key, KEYS[at]) != 0)
        at++;
    if (at == 3)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "key '%.40s' is unknown; known are lr_scale, weight_decay, trainable", key);
    if ((pattern && !(value >= 0 && value <= 1e30)) ||
        (at == TRAINABLE && value != 0 && value != 1))
        return sv_fail(err, SVIT_E_ARGUMENT, "value for '%s' is %g; it is %s", key, value,
                       at == TRAINABLE ? "0 or 1" : "in [0, 1e30]");
    *change = (setting_change){.pattern = pattern, .key = at, .value = value};
    return SVIT_OK;
}

static void change_settings(setting_change *change, sv_parameter_settings *settings,
                            const sv_parameter *parameter)
{
    if (change->pattern ? !sv_pattern_matches(change->pattern, parameter->name)
                        : !settings->inherits_decay)
        return;
    change->found = true;
    switch (change->key) {
    case LR_SCALE:
        settings->lr_scale = change->value * settings->depth_scale;
        break;
    case WEIGHT_DECAY:
        settings->weight_decay = change->value;
        settings->inherits_decay = settings->inherits_decay && !change->pattern;
        break;
    default:
        settings->trainable = change->value != 0;
        if (settings->trainable && parameter->frozen)
            change->frozen = parameter->name;
    }
}

/* Changes the settings, which are a copy that the optimiser has, and splits its work anew. */
static svit_status apply_change(sv_optim *optim, setting_change *change, svit_error *err)
{
    for (size_t i = 0; i < optim->table->count; i++)
        change_settings(change, &optim->settings[i], &optim->table->list[i]);
    if (!change->found && change->pattern)
        return sv_fail(err, SVIT_E_ARGUMENT, "pattern '%.95s' matches no parameter of the model",
                       change->pattern);
    if (change->frozen)
        return sv_fail(err, SVIT_E_STATE,
                       "parameter '%s' is frozen in the model (svit_model_set_trainable)",
                       change->frozen);
    return sv_optim_split(optim, err);
}

svit_status sv_optim_set_parameter(sv_optim *optim, const char *pattern, const char *key,
                                   double value, svit_error *err)
{
    setting_change change = {0};
    SVIT_TRY(read_change(&change, pattern, key, value, err));
    const size_t bytes = optim->table->count * sizeof *optim->settings;
    sv_parameter_settings *before = optim->settings, *settings = NULL;
    SVIT_TRY(sv_allocate_array(&optim->context->allocator, (void **)&settings, optim->table->count,
                               sizeof *settings, "the settings of the parameters", err));
    memcpy(settings, before, bytes);
    optim->settings = settings;
    const svit_status status = apply_change(optim, &change, err);
    if (status != SVIT_OK)
        optim->settings = before;
    sv_release(&optim->context->allocator, status == SVIT_OK ? before : settings, bytes);
    return status;
}
