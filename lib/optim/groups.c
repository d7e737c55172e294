/* The settings of single parameters: those of the optimiser, changed by its groups. */
#include "optim/groups.h"

#include "base/text/pattern.h"

#include <math.h>

size_t sv_matrix_rows(const sv_parameter *parameter)
{
    return (size_t)parameter->desc.shape[0];
}

size_t sv_matrix_columns(const sv_parameter *parameter)
{
    return parameter->desc.elements / sv_matrix_rows(parameter);
}

/* Whether weight decay applies to the parameter; `exclude` is a sum of SVIT_EXCLUDE_*. */
static bool decays(const sv_parameter *parameter, uint32_t exclude)
{
    switch (parameter->role) {
    case SV_ROLE_BIAS:
    case SV_ROLE_TEMPERATURE:
    case SV_ROLE_LAMBDA:
    case SV_ROLE_LAYER_SCALE:
        return !(exclude & SVIT_EXCLUDE_BIAS);
    case SV_ROLE_NORM_WEIGHT:
    case SV_ROLE_NORM_BIAS:
        return !(exclude & SVIT_EXCLUDE_NORM);
    case SV_ROLE_POSITION:
    case SV_ROLE_FREQUENCIES:
        return !(exclude & SVIT_EXCLUDE_POSITION);
    case SV_ROLE_WEIGHT:
    case SV_ROLE_LORA_A:
    case SV_ROLE_LORA_B:
        break;
    }
    return true;
}

/* Whether the matrix rule applies without a group that says so: to weights but the first and the
 * last one of the model. */
static bool is_hidden_weight(const sv_parameter_table *table, size_t index)
{
    bool before = false, after = false;
    for (size_t i = 0; i < table->count; i++)
        if (table->list[i].role == SV_ROLE_WEIGHT) {
            before |= i < index;
            after |= i > index;
        }
    return table->list[index].role == SV_ROLE_WEIGHT && before && after;
}

static bool is_matrix(const sv_parameter_table *table, size_t index, int32_t rule)
{
    if (table->list[index].desc.rank < 2 || rule == SVIT_RULE_ELEMENT)
        return false;
    return rule == SVIT_RULE_MATRIX || is_hidden_weight(table, index);
}

/* layer_decay ^ (depths - depth) */
static double depth_scale(const sv_parameter_table *table, const sv_parameter *parameter,
                          double layer_decay)
{
    return pow(layer_decay, (double)(table->depths - parameter->depth));
}

static void apply_group(sv_parameter_settings *settings, const svit_parameter_group *group)
{
    settings->lr_scale = group->lr_scale * settings->depth_scale;
    settings->trainable = group->trainable != 0;
    if (group->weight_decay >= 0) {
        settings->weight_decay = group->weight_decay;
        settings->inherits_decay = false;
    }
}

/* The last group that has a parameter; NULL: none has. */
static const svit_parameter_group *group_of(const svit_optimizer_config *config, const char *name)
{
    for (uint32_t g = config->group_count; g > 0; g--)
        if (sv_pattern_matches(config->groups[g - 1].pattern, name))
            return &config->groups[g - 1];
    return NULL;
}

static svit_status check_patterns(const sv_parameter_table *table,
                                  const svit_optimizer_config *config, svit_error *err)
{
    for (uint32_t g = 0; g < config->group_count; g++) {
        bool found = false;
        for (size_t i = 0; i < table->count && !found; i++)
            found = sv_pattern_matches(config->groups[g].pattern, table->list[i].name);
        if (!found)
            return sv_fail(err, SVIT_E_ARGUMENT,
                           "groups[%u]: pattern '%.95s' matches no parameter of the model, such as "
                           "'%.60s'",
                           g, config->groups[g].pattern, table->list[0].name);
    }
    return SVIT_OK;
}

svit_status sv_parameter_settings_make(sv_parameter_settings *list, const sv_parameter_table *table,
                                       const svit_optimizer_config *config,
                                       const sv_optimizer_ops *ops, svit_error *err)
{
    SVIT_TRY(check_patterns(table, config, err));
    for (size_t i = 0; i < table->count; i++) {
        const sv_parameter *parameter = &table->list[i];
        const svit_parameter_group *group = group_of(config, parameter->name);
        bool has_decay = decays(parameter, config->decay_exclude);
        const double scale = depth_scale(table, parameter, config->layer_decay);
        list[i] = (sv_parameter_settings){.lr_scale = scale,
                                          .depth_scale = scale,
                                          .weight_decay = has_decay ? config->weight_decay : 0,
                                          .inherits_decay = has_decay,
                                          .trainable = true};
        if (group)
            apply_group(&list[i], group);
        list[i].trainable = list[i].trainable && !parameter->frozen;
        list[i].is_matrix =
            ops->update_matrix && is_matrix(table, i, group ? group->rule : SVIT_RULE_AUTO);
    }
    return SVIT_OK;
}

#define FIELD(field, kind) SV_FIELD(svit_parameter_group, field, kind)

static const sv_field GROUP_FIELDS[] = {
    {FIELD(pattern, CHARS), .max_count = sizeof((svit_parameter_group *)0)->pattern},
    {FIELD(lr_scale, REAL), .max = 1e30},
    {FIELD(weight_decay, REAL), .min = -1, .max = 1e30},
    {FIELD(trainable, FLAG)},
    {FIELD(rule, WORD), .words = (sv_words){[SVIT_RULE_AUTO] = "auto",
                                            [SVIT_RULE_ELEMENT] = "element",
                                            [SVIT_RULE_MATRIX] = "matrix"}},
};
static const sv_field_table GROUP = {.type = "svit_parameter_group",
                                     .noun = "a parameter group",
                                     .fields = GROUP_FIELDS,
                                     .count = sizeof GROUP_FIELDS / sizeof *GROUP_FIELDS};

static svit_status group_check(const void *element, svit_error *err)
{
    const svit_parameter_group *group = element;
    SVIT_TRY(sv_fields_check(&GROUP, group, err));
    if (group->weight_decay < 0 && group->weight_decay != -1)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "weight_decay is %g; -1 (that of the optimizer) and [0, 1e+30] are accepted",
                       group->weight_decay);
    return group->pattern[0]
               ? SVIT_OK
               : sv_fail(err, SVIT_E_ARGUMENT, "pattern is empty; it matches names of parameters");
}

static svit_status group_read(void *element, const sv_json_value *value, svit_error *err)
{
    svit_parameter_group *group = element;
    if (value->kind != SV_JSON_OBJECT)
        return sv_fail(err, SVIT_E_ARGUMENT, "it is no object with a \"pattern\"");
    *group = (svit_parameter_group){.lr_scale = 1, .weight_decay = -1, .trainable = 1};
    SVIT_TRY(sv_fields_from_json(&GROUP, group, value, err));
    return group_check(group, err);
}

static void group_write(const void *element, sv_json_writer *writer)
{
    sv_fields_to_json(&GROUP, element, writer);
}

const sv_field_elements sv_group_elements = {.noun = "parameter groups",
                                             .bytes = sizeof(svit_parameter_group),
                                             .read = group_read,
                                             .write = group_write,
                                             .check = group_check};

static svit_status point_check(const void *element, svit_error *err)
{
    const svit_schedule_point *point = element;
    if (!(point->fraction >= 0 && point->fraction <= 1))
        return sv_fail(err, SVIT_E_ARGUMENT, "the fraction is %g; it is in [0, 1]",
                       point->fraction);
    if (!(point->factor >= 0 && point->factor <= 1e30))
        return sv_fail(err, SVIT_E_ARGUMENT, "the factor is %g; it is in [0, 1e30]", point->factor);
    return SVIT_OK;
}

static svit_status point_read(void *element, const sv_json_value *value, svit_error *err)
{
    svit_schedule_point *point = element;
    if (value->kind != SV_JSON_ARRAY || value->count != 2 ||
        !sv_json_number(value + 1, &point->fraction) ||
        !sv_json_number(value[1].after, &point->factor))
        return sv_fail(err, SVIT_E_ARGUMENT, "it is no pair [fraction, factor] of numbers");
    return point_check(point, err);
}

static void point_write(const void *element, sv_json_writer *writer)
{
    const svit_schedule_point *point = element;
    sv_json_begin(writer, '[');
    sv_json_put_real(writer, point->fraction);
    sv_json_put_real(writer, point->factor);
    sv_json_end(writer, ']');
}

const sv_field_elements sv_point_elements = {.noun = "pairs [fraction, factor]",
                                             .bytes = sizeof(svit_schedule_point),
                                             .read = point_read,
                                             .write = point_write,
                                             .check = point_check};
