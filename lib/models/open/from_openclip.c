/* What open_clip_config.json tells of the image tower. Every key of vision_cfg is read, told by the
 * tensors, or refused: OpenCLIP's own reader takes no others. */
#include "models/open/open_internal.h"

#include <math.h>
#include <string.h>

static const char FILE_NAME[] = "open_clip_config.json";

/* The keys of vision_cfg. Those that an `own` tower has only as false change what it computes, and
 * no tensor need tell of them; a tower of timm does not read them. */
static const struct tower_key {
    const char *name;
    bool is_off;
} KEYS[] = {
    {"layers", false},
    {"width", false},
    {"head_width", false},
    {"mlp_ratio", false},
    {"patch_size", false},
    {"image_size", false},
    {"ls_init_value", false},
    {"patch_dropout", false},
    {"attentional_pool", true},
    {"attn_pooler_queries", false},
    {"attn_pooler_heads", false},
    {"no_ln_pre", false},
    {"pos_embed_type", false},
    {"final_ln_after_pool", false},
    {"pool_type", false},
    {"output_tokens", false},
    {"act_kwargs", false},
    {"norm_kwargs", false},
    {"block_type", false},
    {"qk_norm", true},
    {"scaled_cosine_attn", true},
    {"scale_heads", true},
    {"scale_attn_inner", true},
    {"scale_attn", true},
    {"scale_fc", true},
    {"timm_model_name", false},
    {"timm_model_pretrained", false},
    {"timm_pool", false},
    {"timm_proj", false},
    {"timm_proj_bias", false},
    {"timm_drop", false},
    {"timm_drop_path", false},
};

static svit_status check_keys(const sv_open *open, const sv_json_value *tower, svit_error *err)
{
    const sv_json_value *member = tower + 1;
    for (size_t i = 0; i < tower->count; i++, member = member->after) {
        size_t k = 0;
        while (k < sizeof KEYS / sizeof *KEYS && strcmp(KEYS[k].name, member->key) != 0)
            k++;
        if (k == sizeof KEYS / sizeof *KEYS)
            return sv_fail(err, SVIT_E_UNSUPPORTED,
                           "%s: %s: vision_cfg has '%.60s', which this library does not read",
                           open->weights, FILE_NAME, member->key);
    }
    return SVIT_OK;
}

/* Reads a flag; *out stays if it is absent or null. */
static svit_status read_flag(const sv_open *open, const sv_json_value *object, const char *key,
                             bool *out, svit_error *err)
{
    const sv_json_value *value = sv_json_get(object, key);
    if (!value || value->kind == SV_JSON_NULL)
        return SVIT_OK;
    if (value->kind != SV_JSON_TRUE && value->kind != SV_JSON_FALSE)
        return sv_fail(err, SVIT_E_FORMAT, "%s: %s: %s is neither true nor false", open->weights,
                       FILE_NAME, key);
    *out = value->kind == SV_JSON_TRUE;
    return SVIT_OK;
}

/* Reads a text, "" for null; *out stays if it is absent. */
static svit_status read_text(const sv_open *open, const sv_json_value *object, const char *key,
                             const char **out, svit_error *err)
{
    const sv_json_value *value = sv_json_get(object, key);
    if (!value)
        return SVIT_OK;
    *out = value->kind == SV_JSON_NULL ? "" : sv_json_text(value);
    if (!*out)
        return sv_fail(err, SVIT_E_FORMAT, "%s: %s: %s is no text", open->weights, FILE_NAME, key);
    return SVIT_OK;
}

/* Finds an object of arguments, of which this library reads the one named `known`; NULL: there is
 * none. */
static svit_status read_arguments(const sv_open *open, const sv_json_value *tower, const char *key,
                                  const char *known, const sv_json_value **out, svit_error *err)
{
    const sv_json_value *object = sv_json_get(tower, key);
    *out = NULL;
    if (!object || object->kind == SV_JSON_NULL)
        return SVIT_OK;
    if (object->kind != SV_JSON_OBJECT || object->count > 1 ||
        (object->count == 1 && strcmp((object + 1)->key, known) != 0))
        return sv_fail(err, SVIT_E_UNSUPPORTED,
                       "%s: %s: %s has other members than '%s', which alone is accepted",
                       open->weights, FILE_NAME, key, known);
    *out = object->count == 1 ? object : NULL;
    return SVIT_OK;
}

/* Refuses what changes the computation of the blocks or the pooling. */
static svit_status check_off(const sv_open *open, const sv_json_value *tower, svit_error *err)
{
    const sv_json_value *pooler = sv_json_get(tower, "attentional_pool");
    const char *block = "";
    if (pooler && pooler->kind != SV_JSON_FALSE && pooler->kind != SV_JSON_NULL)
        return sv_fail(err, SVIT_E_UNSUPPORTED,
                       "%s: %s: attentional_pool: CoCa, whose pooling has many queries, is not "
                       "computed; false is accepted",
                       open->weights, FILE_NAME);
    for (size_t k = 0; k < sizeof KEYS / sizeof *KEYS; k++) {
        bool is_on = false;
        if (KEYS[k].is_off)
            SVIT_TRY(read_flag(open, tower, KEYS[k].name, &is_on, err));
        if (is_on)
            return sv_fail(err, SVIT_E_UNSUPPORTED, "%s: %s: %s is true; false is accepted",
                           open->weights, FILE_NAME, KEYS[k].name);
    }
    SVIT_TRY(read_text(open, tower, "block_type", &block, err));
    if (*block && strcmp(block, "default") != 0 && strcmp(block, "custom") != 0)
        return sv_fail(err, SVIT_E_UNSUPPORTED,
                       "%s: %s: block_type is '%.40s'; 'default' and 'custom' are accepted",
                       open->weights, FILE_NAME, block);
    return SVIT_OK;
}

/* The activation: the quick GELU, or the GELU in one of its forms. */
static svit_status state_activation(sv_open *open, const sv_json_value *model,
                                    const sv_json_value *tower, svit_error *err)
{
    bool quick = false;
    const char *form = "none", *from = "quick_gelu";
    const sv_json_value *arguments;
    SVIT_TRY(read_flag(open, model, "quick_gelu", &quick, err));
    SVIT_TRY(read_arguments(open, tower, "act_kwargs", "approximate", &arguments, err));
    if (arguments) {
        from = "act_kwargs";
        SVIT_TRY(read_text(open, arguments, "approximate", &form, err));
    }
    const bool tanh = strcmp(form, "tanh") == 0;
    if ((arguments && quick) || (!tanh && strcmp(form, "none") != 0))
        return sv_fail(
            err, SVIT_E_UNSUPPORTED,
            "%s: %s: act_kwargs has approximate '%.40s'; 'none' and 'tanh' are accepted, "
            "with quick_gelu neither",
            open->weights, FILE_NAME, form);
    return sv_facts_state(&open->facts, "activation",
                          quick  ? SVIT_ACTIVATION_QUICK_GELU
                          : tanh ? SVIT_ACTIVATION_GELU_TANH
                                 : SVIT_ACTIVATION_GELU,
                          err, "%s: %s", FILE_NAME, from);
}

static svit_status state_eps(sv_open *open, const sv_json_value *tower, svit_error *err)
{
    double eps = 1e-5;
    const sv_json_value *arguments;
    SVIT_TRY(read_arguments(open, tower, "norm_kwargs", "eps", &arguments, err));
    if (arguments && !sv_json_number(sv_json_get(arguments, "eps"), &eps))
        return sv_fail(err, SVIT_E_FORMAT, "%s: %s: norm_kwargs has an eps that is no number",
                       open->weights, FILE_NAME);
    return sv_facts_state(&open->facts, "norm_eps", eps, err,
                          arguments ? "%s: norm_kwargs" : "%s, which states no other", FILE_NAME);
}

/* Whether the caller has said how the model pools. */
static bool caller_pools(const sv_open *open)
{
    const sv_fact *pool = sv_facts_find(&open->facts, "pool");
    return pool && pool->is_final;
}

/* The pooling. The one norm behind the blocks, ln_post, comes before a mean of the patches or after
 * it; a single token has the same norm either way. */
static svit_status state_pool(sv_open *open, const sv_json_value *tower, svit_error *err)
{
    const char *pool = "tok";
    bool after = false;
    SVIT_TRY(read_text(open, tower, "pool_type", &pool, err));
    SVIT_TRY(read_flag(open, tower, "final_ln_after_pool", &after, err));
    const bool mean = strcmp(pool, "avg") == 0;
    if (!mean && strcmp(pool, "tok") != 0 && !caller_pools(open))
        return sv_fail(err, SVIT_E_UNSUPPORTED,
                       "%s: %s: pool_type is '%.40s'; 'tok' and 'avg' are accepted", open->weights,
                       FILE_NAME, pool);
    SVIT_TRY(sv_facts_state(&open->facts, "pool",
                            mean ? SVIT_POOL_MEAN_PATCHES : SVIT_POOL_CLASS_TOKEN, err,
                            "%s: pool_type", FILE_NAME));
    SVIT_TRY(sv_facts_state(&open->facts, "final_norm", !(mean && after), err,
                            "%s: final_ln_after_pool", FILE_NAME));
    return sv_facts_state(&open->facts, "head_norm", mean && after, err, "%s: final_ln_after_pool",
                          FILE_NAME);
}

/* Heads of head_width channels, 64 unless stated. */
static svit_status state_heads(sv_open *open, const sv_json_value *tower, svit_error *err)
{
    double width, channels = 64;
    const sv_json_value *stated = sv_json_get(tower, "head_width");
    if (stated && stated->kind != SV_JSON_NULL && !sv_json_number(stated, &channels))
        return sv_fail(err, SVIT_E_FORMAT, "%s: %s: head_width is not a number", open->weights,
                       FILE_NAME);
    if (!sv_json_number(sv_json_get(tower, "width"), &width) || !(channels > 0))
        return SVIT_OK;
    return sv_facts_state(&open->facts, "heads", floor(width / channels), err, "%s: head_width",
                          FILE_NAME);
}

static svit_status state_side(sv_open *open, const sv_json_value *tower, svit_error *err)
{
    return sv_open_state_image(open, sv_json_get(tower, "image_size"),
                               "open_clip_config.json: image_size", err);
}

/* A tower of OpenCLIP's own code. */
static svit_status state_own(sv_open *open, const sv_json_value *model, const sv_json_value *tower,
                             svit_error *err)
{
    bool no_norm = false;
    SVIT_TRY(check_off(open, tower, err));
    SVIT_TRY(sv_open_state_member(open, tower, "width", "dim", FILE_NAME, err));
    SVIT_TRY(sv_open_state_member(open, tower, "layers", "depth", FILE_NAME, err));
    SVIT_TRY(sv_open_state_patch(open, sv_json_get(tower, "patch_size"),
                                 "open_clip_config.json: patch_size", err));
    const sv_json_value *width = sv_json_get(model, "embed_dim");
    if (width && width->kind != SV_JSON_NULL && !sv_json_number(width, &open->classes))
        return sv_fail(err, SVIT_E_FORMAT, "%s: %s: embed_dim is not a number", open->weights,
                       FILE_NAME);
    open->classes_from = "open_clip_config.json: embed_dim";
    SVIT_TRY(read_flag(open, tower, "no_ln_pre", &no_norm, err));
    SVIT_TRY(sv_facts_state(&open->facts, "pre_norm", !no_norm, err, "%s: no_ln_pre", FILE_NAME));
    SVIT_TRY(sv_facts_state(&open->facts, "qkv_bias", 1, err, "OpenCLIP's own tower"));
    open->has_positions = true;
    SVIT_TRY(state_heads(open, tower, err));
    SVIT_TRY(state_side(open, tower, err));
    SVIT_TRY(state_activation(open, model, tower, err));
    SVIT_TRY(state_eps(open, tower, err));
    return state_pool(open, tower, err);
}

/* The pooling of a tower of timm. Without a text the name's stays, if a linear map follows it:
 * otherwise there is none, and the tower gives all tokens. */
static svit_status state_timm_pool(sv_open *open, const sv_json_value *tower, bool is_projected,
                                   svit_error *err)
{
    const char *pool = "avg";
    int32_t known;
    SVIT_TRY(read_text(open, tower, "timm_pool", &pool, err));
    if ((!*pool && is_projected) || caller_pools(open))
        return SVIT_OK;
    if (sv_open_timm_pool(&known, open, pool))
        return sv_facts_state(&open->facts, "pool", known, err, "%s: timm_pool", FILE_NAME);
    return sv_fail(err, SVIT_E_UNSUPPORTED,
                   "%s: %s: timm_pool is '%.40s'; 'token', 'avg', 'map' and, if timm_proj is "
                   "'linear', '' are accepted",
                   open->weights, FILE_NAME, pool);
}

/* A tower that is a model of timm, and the linear map or classifier behind it. */
static svit_status state_timm(sv_open *open, const sv_json_value *tower, const char *name,
                              svit_error *err)
{
    const char *projection = "linear";
    if (strcmp(open->map.name, "openclip") == 0)
        return sv_fail(
            err, SVIT_E_FORMAT,
            "%s: %s: timm_model_name is '%.60s', but the tensors are those of OpenCLIP's "
            "own tower",
            open->weights, FILE_NAME, name);
    SVIT_TRY(read_text(open, tower, "timm_proj", &projection, err));
    const bool is_projected = strcmp(projection, "linear") == 0;
    if (!is_projected && *projection && strcmp(projection, "none") != 0)
        return sv_fail(err, SVIT_E_UNSUPPORTED,
                       "%s: %s: timm_proj is '%.40s'; 'linear', 'none', '' and null are accepted",
                       open->weights, FILE_NAME, projection);
    SVIT_TRY(sv_open_from_timm_name(open, name, err));
    SVIT_TRY(state_timm_pool(open, tower, is_projected, err));
    return state_side(open, tower, err);
}

svit_status sv_open_refuse_openclip(const sv_open *open, const sv_json_value *root, svit_error *err)
{
    const sv_json_value *tower = sv_json_get(sv_json_get(root, "model_cfg"), "vision_cfg");
    const char *name = sv_json_text(sv_json_get(tower, "timm_model_name"));
    if (name && *name) {
        SVIT_TRY(sv_open_refuse_timm_name(open, name, err));
        /* Where config.json may count, this name need not. */
        return open->side[SV_SIDE_CONFIG].json ? SVIT_OK
                                               : sv_open_check_timm_words(open, name, err);
    }
    if (sv_json_is(sv_json_get(tower, "layers"), SV_JSON_ARRAY))
        return sv_fail(err, SVIT_E_UNSUPPORTED,
                       "%s: %s: layers is a list, as of a ResNet; a number is accepted",
                       open->weights, FILE_NAME);
    return SVIT_OK;
}

svit_status sv_open_from_openclip(sv_open *open, svit_error *err)
{
    const sv_json_value *model = sv_json_get(open->openclip, "model_cfg");
    const sv_json_value *tower = sv_json_get(model, "vision_cfg");
    const char *name = "";
    if (!sv_json_is(tower, SV_JSON_OBJECT))
        return sv_fail(err, SVIT_E_FORMAT, "%s: open_clip_config.json has no model_cfg.vision_cfg",
                       open->weights);
    SVIT_TRY(check_keys(open, tower, err));
    SVIT_TRY(read_text(open, tower, "timm_model_name", &name, err));
    return *name ? state_timm(open, tower, name, err) : state_own(open, model, tower, err);
}
