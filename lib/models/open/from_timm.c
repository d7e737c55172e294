/* What config.json of timm on the hub tells: the model's name, arguments that differ from it, and
 * its pooling. */
#include "models/open/open_internal.h"

#include <string.h>

bool sv_open_timm_pool(int32_t *out, const sv_open *open, const char *name)
{
    const struct {
        const char *name;
        int32_t pool;
    } known[] = {{"token", SVIT_POOL_CLASS_TOKEN},
                 {"avg", open->pools_prefix > 0 ? SVIT_POOL_MEAN : SVIT_POOL_MEAN_PATCHES},
                 {"map", SVIT_POOL_ATTENTION}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (name && strcmp(known[i].name, name) == 0) {
            *out = known[i].pool;
            return true;
        }
    return false;
}

static svit_status state_pool(sv_open *open, const char *pool, const char *from, svit_error *err)
{
    const sv_fact *stated = sv_facts_find(&open->facts, "pool");
    int32_t known;
    if (stated && stated->is_final)
        return SVIT_OK;
    if (sv_open_timm_pool(&known, open, pool))
        return sv_facts_state(&open->facts, "pool", known, err, "%s", from);
    return sv_fail(err, SVIT_E_UNSUPPORTED,
                   "%s: %s is '%.40s'; 'token', 'avg' and 'map' are accepted", open->weights, from,
                   pool ? pool : "no text");
}

/* Whether a pooling takes the tokens before the patches, which says what "avg" means. */
static svit_status state_prefix(sv_open *open, const sv_json_value *arguments, const char *name,
                                svit_error *err)
{
    const sv_json_value *all = sv_json_get(arguments, "pool_include_prefix");
    if (sv_json_is(all, SV_JSON_TRUE) || sv_json_is(all, SV_JSON_FALSE))
        open->pools_prefix = all->kind == SV_JSON_TRUE ? 1 : -1;
    else if (all && all->kind != SV_JSON_NULL)
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: config.json: model_args: pool_include_prefix is not true or false",
                       open->weights);
    sv_open_note_timm_prefix(open, name);
    return SVIT_OK;
}

/* The size of the images: [channels, height, width]. */
static svit_status state_input(sv_open *open, const sv_json_value *size, svit_error *err)
{
    double sides[3];
    if (!size || size->kind != SV_JSON_ARRAY || size->count != 3)
        return SVIT_OK;
    const sv_json_value *value = size + 1;
    for (size_t i = 0; i < 3; i++, value = value->after)
        if (!sv_json_number(value, &sides[i]))
            return sv_fail(err, SVIT_E_FORMAT, "%s: config.json: input_size is not three numbers",
                           open->weights);
    static const char from[] = "config.json: input_size";
    sv_open_note_image(open, sides[1], sides[2]);
    sv_facts_assume(&open->facts, "input_height", sides[1], from);
    sv_facts_assume(&open->facts, "input_width", sides[2], from);
    return SVIT_OK;
}

static const char IMG_SIZE[] = "config.json: img_size";

/* Whether the model has dynamic_img_size, which some names bring. */
static bool is_dynamic(const char *name, const sv_json_value *arguments)
{
    static const char *const parts[] = {"dinov3", "vit_pe_", "lingbot", "vit_intern300m"};
    static const char *const names[] = {"test_vit", "test_vit2", "test_vit4"};
    const sv_json_value *given = sv_json_get(arguments, "dynamic_img_size");
    bool named = false;
    for (size_t i = 0; name && i < sizeof parts / sizeof *parts; i++)
        named = named || strstr(name, parts[i]);
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
        named = named || strcmp(name, names[i]) == 0;
    return given ? sv_json_is(given, SV_JSON_TRUE) : named;
}

/* The size that the model was made for. With dynamic_img_size it tells the grid of the positions
 * alone: timm interpolates them for images of any size. */
static svit_status state_made_size(sv_open *open, const char *name, const sv_json_value *arguments,
                                   svit_error *err)
{
    const sv_json_value *size = sv_json_get(arguments, "img_size");
    double height, width;
    if (!size || size->kind == SV_JSON_NULL || !is_dynamic(name, arguments))
        return sv_open_state_image(open, size, IMG_SIZE, err);
    SVIT_TRY(sv_open_read_sides(open, size, IMG_SIZE, &height, &width, err));
    sv_open_note_image(open, height, width);
    return SVIT_OK;
}

/* Where no file tells the size of the images, it is the one that the model was made for, or timm's
 * own if that is not the size of its images. */
static void assume_size(sv_open *open, bool dynamic)
{
    enum { TIMM_SIDE = 224 };
    const double height = dynamic ? TIMM_SIDE : open->image[0];
    const double width = dynamic ? TIMM_SIDE : open->image[1];
    if (height <= 0)
        return;
    sv_facts_assume(&open->facts, "input_height", height, IMG_SIZE);
    sv_facts_assume(&open->facts, "input_width", width, IMG_SIZE);
}

/* Arguments that are stated otherwise than the fields they are about. */
static svit_status state_sizes(sv_open *open, const sv_json_value *arguments, svit_error *err)
{
    static const char file[] = "config.json: model_args";
    double value;
    if (sv_json_number(sv_json_get(arguments, "patch_size"), &value))
        SVIT_TRY(sv_open_state_member(open, arguments, "patch_size", "patch_size", file, err));
    /* timm's Block has no LayerScale with 0, its other blocks have one of zeros. */
    if (sv_json_number(sv_json_get(arguments, "init_values"), &value) && value != 0)
        SVIT_TRY(sv_facts_state(&open->facts, "layer_scale", 1, err, "%s: init_values", file));
    (void)sv_json_number(sv_json_get(arguments, "mlp_ratio"), &open->mlp_ratio);
    const sv_json_value *token = sv_json_get(arguments, "class_token");
    if (sv_json_is(token, SV_JSON_TRUE) || sv_json_is(token, SV_JSON_FALSE))
        return sv_facts_state(&open->facts, "class_token",
                              token->kind == SV_JSON_TRUE ? SVIT_CLASS_TOKEN_PRESENT
                                                          : SVIT_CLASS_TOKEN_NONE,
                              err, "%s: class_token", file);
    return SVIT_OK;
}

/* Arguments of the model that its file records because they differ from those of its name. */
static svit_status state_arguments(sv_open *open, const char *name, const sv_json_value *arguments,
                                   svit_error *err)
{
    static const char *const members[][2] = {{"num_heads", "heads"},
                                             {"embed_dim", "dim"},
                                             {"depth", "depth"},
                                             {"in_chans", "in_channels"},
                                             {"qkv_bias", "qkv_bias"},
                                             {"qk_norm", "qk_norm"},
                                             {"pre_norm", "pre_norm"},
                                             {"rope_temperature", "rope_theta"},
                                             {"reg_tokens", "register_tokens"},
                                             {"num_reg_tokens", "register_tokens"}};
    static const char *const told[] = {"num_heads",          "rope_temperature", "img_size",
                                       "patch_size",         "embed_dim",        "depth",
                                       "mlp_ratio",          "qkv_bias",         "in_chans",
                                       "num_classes",        "global_pool",      "drop_rate",
                                       "pos_drop_rate",      "patch_drop_rate",  "proj_drop_rate",
                                       "attn_drop_rate",     "drop_path_rate",   "init_values",
                                       "class_token",        "reg_tokens",       "num_reg_tokens",
                                       "no_embed_class",     "fc_norm",          "use_fc_norm",
                                       "dynamic_img_size",   "dynamic_img_pad",  "strict_img_size",
                                       "weight_init",        "pre_norm",         "qk_norm",
                                       "pool_include_prefix"};
    if (!arguments || arguments->kind != SV_JSON_OBJECT)
        return SVIT_OK;
    const sv_json_value *member = arguments + 1;
    for (size_t i = 0; i < arguments->count; i++, member = member->after) {
        bool known = false;
        for (size_t k = 0; k < sizeof told / sizeof *told; k++)
            known = known || strcmp(told[k], member->key) == 0;
        if (!known)
            return sv_fail(err, SVIT_E_UNSUPPORTED,
                           "%s: config.json: model_args has '%.60s', which this library does not "
                           "read",
                           open->weights, member->key);
    }
    const sv_json_value *pool = sv_json_get(arguments, "global_pool");
    if (sv_json_is(sv_json_get(arguments, "dynamic_img_pad"), SV_JSON_TRUE))
        return sv_fail(err, SVIT_E_UNSUPPORTED,
                       "%s: config.json: model_args: dynamic_img_pad is true; false is accepted",
                       open->weights);
    if (pool && pool->kind != SV_JSON_NULL)
        SVIT_TRY(state_pool(open, sv_json_text(pool), "config.json: model_args: global_pool", err));
    const sv_json_value *bare = sv_json_get(arguments, "no_embed_class");
    if (sv_json_is(bare, SV_JSON_TRUE) || sv_json_is(bare, SV_JSON_FALSE))
        sv_facts_assume(&open->facts, "position_tokens",
                        bare->kind == SV_JSON_TRUE ? SVIT_POSITION_PATCHES : SVIT_POSITION_ALL,
                        "config.json: no_embed_class");
    SVIT_TRY(state_made_size(open, name, arguments, err));
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        SVIT_TRY(sv_open_state_member(open, arguments, members[i][0], members[i][1],
                                      "config.json: model_args", err));
    return state_sizes(open, arguments, err);
}

/* Whether transformers has saved the model without its classifier, whose classes it names all the
 * same. */
static bool is_bare(const sv_json_value *root)
{
    const sv_json_value *classes = sv_json_get(root, "architectures");
    const char *first = classes && classes->kind == SV_JSON_ARRAY && classes->count > 0
                            ? sv_json_text(classes + 1)
                            : NULL;
    return first && strcmp(first, "TimmWrapperModel") == 0;
}

/* The class names, which timm has had in several places, and transformers in one of its own. NULL:
 * there are none. */
static const sv_json_value *names_of(const sv_json_value *root, const sv_json_value *pretrained)
{
    const sv_json_value *const places[] = {
        sv_json_get(root, "labels"), sv_json_get(root, "label_names"),
        sv_json_get(root, "id2label"), sv_json_get(pretrained, "label_names")};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (sv_open_has_names(places[i], true))
            return places[i];
    return NULL;
}

svit_status sv_open_from_timm(sv_open *open, svit_error *err)
{
    const sv_json_value *root = open->config;
    const sv_json_value *pretrained = sv_open_timm_pretrained(root);
    const char *name = sv_json_text(sv_json_get(root, "architecture"));
    const char *pool = sv_json_text(sv_json_get(root, "global_pool"));
    const sv_json_value *arguments = sv_json_get(root, "model_args");
    SVIT_TRY(state_prefix(open, arguments, name, err));
    SVIT_TRY(state_arguments(open, name, arguments, err));
    SVIT_TRY(sv_open_from_timm_name(open, name, err));
    if (pool)
        SVIT_TRY(state_pool(open, pool, "config.json: global_pool", err));
    SVIT_TRY(state_input(open, sv_json_get(pretrained, "input_size"), err));
    assume_size(open, pretrained && is_dynamic(name, arguments));
    /* transformers writes such files of timm's models too, with a model_type; timm itself has no
     * pipeline for the logits. */
    if (sv_json_get(root, "model_type") || sv_json_get(root, "problem_type"))
        SVIT_TRY(sv_open_state_output(open, root, err));
    if (!is_bare(root))
        (void)sv_json_number(sv_json_get(root, "num_classes"), &open->classes);
    open->classes_from = "config.json: num_classes";
    open->class_names = names_of(root, pretrained);
    return SVIT_OK;
}
