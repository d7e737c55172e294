/* The configuration of a ShiftViT: its fields, the sizes that follow from it, and its checks. */
#include "base/status.h"
#include "models/config_fields.h"
#include "models/parts/conv_stem.h"
#include "models/shiftvit/shiftvit.h"

static const sv_field FIELDS[] = {
    SV_MODEL_FIELDS_INPUT,
    SV_MODEL_LIST(blocks, stages, 1, SVIT_MAX_STAGES, 0, 1000),
    SV_MODEL_POSITIVE(mlp_ratio, 1024),
    SV_MODEL_SIZE(num_div, 1, 65536),
    SV_MODEL_SIZE(shift_pixel, 0, 8192),
    SV_MODEL_WORD(shift, "true", "keras"),
    SV_MODEL_WORD(groups, "channels", "sections"),
    SV_MODEL_WORD(norm, "layer", "group"),
    SV_MODEL_FLAG(patch_norm),
    SV_MODEL_FLAG(final_norm),
    SV_MODEL_WORD(patch_padding, "same", "valid"),
    SV_MODEL_WORD(merge_padding, "same", "valid"),
    SV_MODEL_WORD(stem, "patch", "whitened", "conv"),
    SV_MODEL_WORD(mixer, "shift", "depthwise"),
    SV_MODEL_FIELDS_CLASSIFIER,
    SV_MODEL_FIELDS_DROP_PATH,
    SV_MODEL_FIELD_INIT,
};
const sv_field_table sv_shiftvit_fields = SV_MODEL_FIELD_TABLE(FIELDS);

size_t sv_shiftvit_stage_channels(const svit_model_config *config, size_t stage)
{
    return (size_t)config->dim << stage;
}

size_t sv_shiftvit_stage_hidden(const svit_model_config *config, size_t stage)
{
    const double hidden = config->mlp_ratio * (double)sv_shiftvit_stage_channels(config, stage);
    return hidden < (double)SIZE_MAX ? (size_t)hidden : SIZE_MAX;
}

size_t sv_shiftvit_stage_group(const svit_model_config *config, size_t stage)
{
    size_t c = sv_shiftvit_stage_channels(config, stage);
    size_t quotient = c / config->num_div;
    return config->groups == SVIT_GROUPS_SECTIONS ? c / quotient : quotient;
}

size_t sv_shiftvit_whitened_channels(const svit_model_config *config)
{
    return 2 * (size_t)config->patch_size * config->patch_size * config->in_channels;
}

size_t sv_shiftvit_strided(size_t pixels, size_t size, int32_t padding)
{
    return padding == SVIT_PADDING_SAME ? (pixels + size - 1) / size : pixels / size;
}

/* With SVIT_GROUPS_SECTIONS the channels must divide into equal sections, of which four move. */
static svit_status check_sections(const svit_model_config *config, size_t stage, svit_error *err)
{
    size_t c = sv_shiftvit_stage_channels(config, stage);
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

/* A shift moves four groups, which must fit the channels of the stage. */
static svit_status check_groups(const svit_model_config *config, size_t stage, svit_error *err)
{
    if (config->groups == SVIT_GROUPS_SECTIONS)
        return check_sections(config, stage, err);
    size_t c = sv_shiftvit_stage_channels(config, stage);
    size_t group = c / config->num_div;
    if (4 * group > c)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "num_div is %u: four groups of %zu channels do not fit the %zu of stage "
                       "%zu; num_div is at least 4",
                       config->num_div, group, c, stage);
    return SVIT_OK;
}

/* Every stage needs its shift groups and at least one hidden channel. */
static svit_status check_stages(const svit_model_config *config, svit_error *err)
{
    for (size_t stage = 0; stage < config->stages; stage++) {
        SVIT_TRY(check_groups(config, stage, err));
        if (sv_shiftvit_stage_hidden(config, stage) < 1)
            return sv_fail(err, SVIT_E_ARGUMENT,
                           "mlp_ratio is %g: the MLP of stage %zu, with %zu channels, would have "
                           "no hidden channel",
                           config->mlp_ratio, stage, sv_shiftvit_stage_channels(config, stage));
    }
    return SVIT_OK;
}

/* Every feature map must have at least one pixel along a side of `input` pixels. */
static svit_status check_side(const svit_model_config *config, const char *field, uint32_t input,
                              svit_error *err)
{
    size_t pixels = sv_shiftvit_strided(input, config->patch_size, config->patch_padding);
    if (pixels < 1)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s is %u: no patch of patch_size %u fits in; with patch_padding 'valid' "
                       "at least %u are needed",
                       field, input, config->patch_size, config->patch_size);
    for (size_t stage = 1; stage < config->stages; stage++) {
        pixels = sv_shiftvit_strided(pixels, 2, config->merge_padding);
        if (pixels < 1)
            return sv_fail(err, SVIT_E_ARGUMENT,
                           "%s is %u: no pixel is left at stage %zu of %u; a larger %s is needed",
                           field, input, stage, config->stages, field);
    }
    return SVIT_OK;
}

static svit_status check_stem(const svit_model_config *config, svit_error *err)
{
    if (config->stem != SVIT_STEM_CONV)
        return SVIT_OK;
    SVIT_TRY(sv_conv_stem_check(config, "stem", err));
    if (config->patch_padding != SVIT_PADDING_SAME)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "patch_padding is 'valid'; the stem 'conv' has 'same'");
    return SVIT_OK;
}

svit_status sv_shiftvit_check(const svit_model_config *config, svit_error *err)
{
    SVIT_TRY(check_stem(config, err));
    SVIT_TRY(check_stages(config, err));
    SVIT_TRY(check_side(config, "input_height", config->input_height, err));
    return check_side(config, "input_width", config->input_width, err);
}

size_t sv_shiftvit_features(const svit_model_config *config)
{
    return sv_shiftvit_stage_channels(config, config->stages - 1);
}
