/* What timm's models of a name usually have and the tensors of a checkpoint tell otherwise: a model
 * may have been made with other arguments, or its file has lost tensors. Nobody can tell which, so
 * that the difference is a warning. */
#include "models/open/open_internal.h"

#include "base/text/pattern.h"

#include <stdio.h>
#include <string.h>

/* Rows are read from the first to the last; a later one has the last word. */
static const struct usual {
    const char *pattern, *field;
    double value; /* negative: it is not known */
} ROWS[] = {
    {"*", "depth", 12},
    {"*_xsmall*", "depth", 10},
    {"vit_*wee_*", "depth", 14},
    {"vit_pwee_*", "depth", 16},
    {"vit_dpwee_*", "depth", 16},
    {"vit_*little_*", "depth", 14},
    {"*_mediumd_*", "depth", 20},
    {"*_large*", "depth", 24},
    {"*_huge_*", "depth", 32},
    {"*_giant*", "depth", 40},
    {"*_gigantic_*", "depth", 48},
    {"*_so150m_*", "depth", 18},
    {"*_so150m2_*", "depth", 21},
    {"*_so400m_*", "depth", 27},
    {"*_36x1_*", "depth", 36},
    {"vit_7b_*", "depth", 40},
    {"vit_pe_*", "depth", -1},
    {"test_vit*", "depth", -1},
    {"*", "qkv_bias", 1},
    {"*_miil*", "qkv_bias", 0},
    {"*_xp_*", "qkv_bias", 0},
    {"vit_medium_patch16_gap_*", "qkv_bias", 0},
    {"vit_betwixt_patch16_gap_*", "qkv_bias", 0},
    {"vit_so150m2_*", "qkv_bias", 0},
    {"*_dinov3", "qkv_bias", 0},
    {"*_lingbot", "qkv_bias", -1},
    {"vit_*wee_*", "layer_scale", 1},
    {"vit_*little_*", "layer_scale", 1},
    {"vit_medium*_gap_*", "layer_scale", 1},
    {"vit_betwixt_*_gap_*", "layer_scale", 1},
    {"vit_so150m2_*", "layer_scale", 1},
    {"*_36x1_*", "layer_scale", 1},
    {"deit3_*", "layer_scale", 1},
    {"*_dinov2", "layer_scale", 1},
    {"*_tipsv2", "layer_scale", 1},
    {"*_dinov3*", "layer_scale", 1},
    {"*_rope*_224", "layer_scale", 1},
    {"*_rope_reg*", "layer_scale", 1},
    {"vit_base_*_plus_2*", "layer_scale", 1},
    {"*_lingbot", "layer_scale", 1},
    {"vit_pe_lang_*", "layer_scale", 1},
    {"vit_pe_spatial_gigantic_*", "layer_scale", 1},
    {"test_vit?", "layer_scale", 1},
    {"eva02_base_*", "mlp_norm", 1},
    {"eva02_large_*", "mlp_norm", 1},
    {"beit3_*", "mlp_norm", 1},
    {"beit3_*", "attention_norm", 1},
    {"*_dinov3*", "class_token", SVIT_CLASS_TOKEN_PRESENT},
    {"*_dinov3*", "register_tokens", 4},
};

static const char *const FIELDS[] = {"depth",          "qkv_bias",    "layer_scale",    "mlp_norm",
                                     "attention_norm", "class_token", "register_tokens"};

static double usual_value(const char *name, const char *field)
{
    double value = -1;
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
        if (strcmp(ROWS[i].field, field) == 0 && sv_pattern_matches(ROWS[i].pattern, name))
            value = ROWS[i].value;
    return value;
}

/* Only what the tensors alone tell is compared: a configuration or the caller knows better. */
static void compare(const sv_open *open, const char *name, const char *field)
{
    const double value = usual_value(name, field);
    const sv_fact *fact = sv_facts_find(&open->facts, field);
    char usual[SV_FIELD_NUMBER_TEXT], own[SV_FIELD_NUMBER_TEXT];
    if (value < 0 || !fact || strcmp(fact->from, SV_OPEN_TENSORS) != 0 || fact->value == value)
        return;
    sv_context_warn(
        open->context,
        "%s is %s by the tensors; timm's '%.60s' usually has %s: was the model made with other "
        "arguments, or has the file lost tensors?",
        field, sv_facts_value_text(own, field, fact->value), name,
        sv_facts_value_text(usual, field, value));
}

void sv_open_compare_with_usual(const sv_open *open, const char *whole)
{
    char name[SV_TIMM_NAME];
    sv_open_bare_timm_name(name, whole);
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++)
        compare(open, name, FIELDS[i]);
}
