/* Checks configurations of ShiftViT: four groups that fit every stage, maps that keep a pixel. */
#include "models/config.h"

size_t sv_stage_channels(const svit_model_config *config, size_t stage)
{
    return (size_t)config->dim << stage;
}

size_t sv_stage_hidden(const svit_model_config *config, size_t stage)
{
    return (size_t)(config->mlp_ratio * (double)sv_stage_channels(config, stage));
}

size_t sv_stage_group(const svit_model_config *config, size_t stage)
{
    size_t c = sv_stage_channels(config, stage);
    size_t quotient = c / config->num_div;
    return config->groups == SVIT_GROUPS_SECTIONS ? c / quotient : quotient;
}

size_t sv_padded_lines(size_t lines, size_t size, int32_t padding)
{
    return padding == SVIT_PADDING_SAME ? (lines + size - 1) / size : lines / size;
}

static svit_status check_sections(const svit_model_config *config, size_t stage, svit_error *err)
{
    size_t c = sv_stage_channels(config, stage);
    size_t sections = c / config->num_div;
    if (sections < 4)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "num_div is %u: the %zu channels of stage %zu make %zu sections; a shift "
                       "needs at least 4",
                       config->num_div, c, stage, sections);
    if (c % sections != 0)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "num_div is %u: the %zu channels of stage %zu cannot be divided into %zu "
                       "equal sections",
                       config->num_div, c, stage, sections);
    return SVIT_OK;
}

/* Four groups must fit the channels of every stage. */
static svit_status check_groups(const svit_model_config *config, size_t stage, svit_error *err)
{
    if (config->groups == SVIT_GROUPS_SECTIONS)
        return check_sections(config, stage, err);
    size_t c = sv_stage_channels(config, stage);
    size_t group = c / config->num_div;
    if (4 * group > c)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "num_div is %u: four groups of %zu channels do not fit the %zu of stage "
                       "%zu; num_div is at least 4",
                       config->num_div, group, c, stage);
    return SVIT_OK;
}

static svit_status check_stages(const svit_model_config *config, svit_error *err)
{
    for (size_t stage = 0; stage < config->stages; stage++) {
        SVIT_TRY(check_groups(config, stage, err));
        if (sv_stage_hidden(config, stage) < 1)
            return sv_fail(err, SVIT_E_ARGUMENT,
                           "mlp_ratio is %g: the MLP of stage %zu, with %zu channels, would have "
                           "no hidden channel",
                           config->mlp_ratio, stage, sv_stage_channels(config, stage));
    }
    return SVIT_OK;
}

/* Every map keeps at least one line. */
static svit_status check_lines(const svit_model_config *config, const char *field, uint32_t input,
                               svit_error *err)
{
    size_t lines = sv_padded_lines(input, config->patch_size, config->patch_padding);
    if (lines < 1)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s is %u: no patch of patch_size %u fits in; with patch_padding 'valid' "
                       "at least %u are needed",
                       field, input, config->patch_size, config->patch_size);
    for (size_t stage = 1; stage < config->stages; stage++) {
        lines = sv_padded_lines(lines, 2, config->merge_padding);
        if (lines < 1)
            return sv_fail(err, SVIT_E_ARGUMENT,
                           "%s is %u: no pixel is left at stage %zu of %u; a larger %s is needed",
                           field, input, stage, config->stages, field);
    }
    return SVIT_OK;
}

svit_status sv_shiftvit_config_check(const svit_model_config *config, svit_error *err)
{
    SVIT_TRY(check_stages(config, err));
    SVIT_TRY(check_lines(config, "input_height", config->input_height, err));
    return check_lines(config, "input_width", config->input_width, err);
}

size_t sv_shiftvit_features(const svit_model_config *config)
{
    return sv_stage_channels(config, config->stages - 1);
}
