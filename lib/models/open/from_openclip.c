/* What open_clip_config.json tells of the image tower. */
#include "models/open/open_internal.h"

#include <math.h>
#include <string.h>

/* The side of the images. */
static svit_status state_side(sv_open *open, const sv_json_value *tower, svit_error *err)
{
    double side;
    const sv_json_value *size = sv_json_get(tower, "image_size");
    if (!sv_json_number(size, &side))
        return SVIT_OK;
    return sv_open_state_image(open, size, "open_clip_config.json: image_size", err);
}

/* A tower of OpenCLIP's own code: heads of head_width channels, 64 unless stated. */
static svit_status state_own(sv_open *open, const sv_json_value *model, const sv_json_value *tower,
                             svit_error *err)
{
    static const char file[] = "open_clip_config.json";
    double width, channels = 64;
    const sv_json_value *quick = sv_json_get(model, "quick_gelu");
    const sv_json_value *no_norm = sv_json_get(tower, "no_ln_pre");
    const sv_json_value *pooler = sv_json_get(tower, "attentional_pool");
    if (pooler && pooler->kind != SV_JSON_FALSE && pooler->kind != SV_JSON_NULL)
        return sv_fail(err, SVIT_E_UNSUPPORTED,
                       "%s: CoCa, whose pooling has many queries, is not computed", open->weights);
    SVIT_TRY(sv_open_state_member(open, tower, "width", "dim", file, err));
    SVIT_TRY(sv_open_state_member(open, tower, "layers", "depth", file, err));
    SVIT_TRY(sv_open_state_member(open, tower, "patch_size", "patch_size", file, err));
    SVIT_TRY(sv_open_state_member(open, model, "embed_dim", "num_classes", file, err));
    SVIT_TRY(sv_facts_state(&open->facts, "pre_norm", !sv_json_is(no_norm, SV_JSON_TRUE), err,
                            "%s: no_ln_pre", file));
    open->has_positions = true;
    (void)sv_json_number(sv_json_get(tower, "head_width"), &channels);
    if (sv_json_number(sv_json_get(tower, "width"), &width) && channels > 0)
        SVIT_TRY(sv_facts_state(&open->facts, "heads", floor(width / channels), err,
                                "%s: head_width", file));
    SVIT_TRY(state_side(open, tower, err));
    SVIT_TRY(sv_facts_state(&open->facts, "activation",
                            sv_json_is(quick, SV_JSON_TRUE) ? SVIT_ACTIVATION_QUICK_GELU
                                                            : SVIT_ACTIVATION_GELU,
                            err, "%s: quick_gelu", file));
    SVIT_TRY(sv_facts_state(&open->facts, "norm_eps", 1e-5, err, "OpenCLIP"));
    return sv_facts_state(&open->facts, "pool", SVIT_POOL_CLASS_TOKEN, err, "OpenCLIP");
}

/* A tower that is a model of timm. */
static svit_status state_timm(sv_open *open, const sv_json_value *tower, const char *name,
                              svit_error *err)
{
    static const char *const pools[] = {[SVIT_POOL_CLASS_TOKEN] = "token",
                                        [SVIT_POOL_MEAN_PATCHES] = "avg",
                                        [SVIT_POOL_ATTENTION] = "map"};
    const char *pool = sv_json_text(sv_json_get(tower, "timm_pool"));
    SVIT_TRY(sv_open_refuse_timm_name(open, name, err));
    SVIT_TRY(sv_open_from_timm_name(open, name, err));
    for (size_t i = 0; pool && i < sizeof pools / sizeof *pools; i++)
        if (pools[i] && strcmp(pools[i], pool) == 0)
            SVIT_TRY(sv_facts_state(&open->facts, "pool", (double)i, err,
                                    "open_clip_config.json: timm_pool"));
    return state_side(open, tower, err);
}

svit_status sv_open_from_openclip(sv_open *open, svit_error *err)
{
    const sv_json_value *root = sv_json_root(open->side[SV_SIDE_OPENCLIP].json);
    const sv_json_value *model = sv_json_get(root, "model_cfg");
    const sv_json_value *tower = sv_json_get(model, "vision_cfg");
    const char *name = sv_json_text(sv_json_get(tower, "timm_model_name"));
    if (!tower)
        return sv_fail(err, SVIT_E_FORMAT, "%s: open_clip_config.json has no model_cfg.vision_cfg",
                       open->weights);
    return name ? state_timm(open, tower, name, err) : state_own(open, model, tower, err);
}
