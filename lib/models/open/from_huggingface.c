/* What config.json of transformers tells: sizes, epsilon and activation by the model's type, and
 * the pooling and what is left out by the class that wrote the file. */
#include "models/open/open_internal.h"

#include <stdio.h>
#include <string.h>

/* A type of transformers, with the defaults of keys that older files lack. */
typedef struct model_type {
    const char *name, *inside; /* model_type; the key of the image tower's configuration, or NULL */
    double heads, patch, eps;
    bool states_ratio; /* mlp_ratio, not intermediate_size */
    const char *activation;
    int32_t pool; /* SVIT_POOL_* */
} model_type;

static const model_type TYPES[] = {
    {"vit", NULL, 12, 16, 1e-12, false, "gelu", SVIT_POOL_CLASS_TOKEN},
    {"deit", NULL, 12, 16, 1e-12, false, "gelu", SVIT_POOL_CLASS_TOKEN},
    {"vit_mae", NULL, 12, 16, 1e-12, false, "gelu", SVIT_POOL_CLASS_TOKEN},
    {"vit_msn", NULL, 12, 16, 1e-6, false, "gelu", SVIT_POOL_CLASS_TOKEN},
    {"dinov2", NULL, 12, 14, 1e-6, true, "gelu", SVIT_POOL_CLASS_TOKEN},
    {"dinov2_with_registers", NULL, 12, 16, 1e-6, true, "gelu", SVIT_POOL_CLASS_TOKEN},
    {"dinov3_vit", NULL, 6, 16, 1e-5, false, "gelu", SVIT_POOL_CLASS_TOKEN},
    {"clip", "vision_config", 12, 32, 1e-5, false, "quick_gelu", SVIT_POOL_CLASS_TOKEN},
    {"clip_vision_model", NULL, 12, 32, 1e-5, false, "quick_gelu", SVIT_POOL_CLASS_TOKEN},
    {"ijepa", NULL, 12, 16, 1e-12, false, "gelu", SVIT_POOL_MEAN_PATCHES},
    {"siglip", "vision_config", 12, 16, 1e-6, false, "gelu_pytorch_tanh", SVIT_POOL_ATTENTION},
    {"siglip_vision_model", NULL, 12, 16, 1e-6, false, "gelu_pytorch_tanh", SVIT_POOL_ATTENTION},
    {"siglip2", "vision_config", 12, 16, 1e-6, false, "gelu_pytorch_tanh", SVIT_POOL_ATTENTION},
    {"siglip2_vision_model", NULL, 12, 16, 1e-6, false, "gelu_pytorch_tanh", SVIT_POOL_ATTENTION},
};

/* Types whose image tower is that of another one, with the same defaults. */
static const struct {
    const char *name, *as;
} COPIES[] = {
    {"altclip", "clip"},      {"altclip_vision_model", "clip_vision_model"},
    {"chinese_clip", "clip"}, {"chinese_clip_vision_model", "clip_vision_model"},
    {"metaclip_2", "clip"},   {"metaclip_2_vision_model", "clip_vision_model"},
};

/* A class whose model does not follow from its type and tensors alone: the type and the weight of
 * the classifier that only this class has, its pooling, whether the final norm counts, and NULL or
 * a pattern of tensors that it does not use for its logits. */
static const struct class_row {
    const char *name, *type, *weight;
    int32_t pool;
    bool final_norm;
    const char *passed;
} CLASSES[] = {
#define CLASS(name) name "ForImageClassification"
#define HEAD "classifier.weight"
    {CLASS("Dinov2"), "dinov2", HEAD, SVIT_POOL_CLASS_MEAN, true, NULL},
    {CLASS("Dinov2WithRegisters"), "dinov2_with_registers", HEAD, SVIT_POOL_CLASS_MEAN, true, NULL},
    {CLASS("CLIP"), "clip", HEAD, SVIT_POOL_MEAN_PATCHES, false, "*post_layernorm.*"},
    {CLASS("MetaClip2"), "clip", HEAD, SVIT_POOL_MEAN_PATCHES, false, "*post_layernorm.*"},
    {CLASS("Siglip"), "siglip", HEAD, SVIT_POOL_MEAN_PATCHES, true, "*vision_model.head.*"},
    {CLASS("Siglip2"), "siglip2", HEAD, SVIT_POOL_MEAN_PATCHES, true, "*vision_model.head.*"},
    {CLASS("DeiT") "WithTeacher", "deit", "cls_" HEAD, SVIT_POOL_CLASS_TOKEN, true, NULL},
#undef CLASS
#undef HEAD
};

static const model_type *find_type(const char *name)
{
    for (size_t i = 0; name && i < sizeof COPIES / sizeof *COPIES; i++)
        if (strcmp(COPIES[i].name, name) == 0)
            name = COPIES[i].as;
    for (size_t i = 0; name && i < sizeof TYPES / sizeof *TYPES; i++)
        if (strcmp(TYPES[i].name, name) == 0)
            return &TYPES[i];
    return NULL;
}

/* The sizes that `object` states, and after that those that its type implies. */
static svit_status state_sizes(sv_open *open, const sv_json_value *object, const model_type *type,
                               svit_error *err)
{
    static const char *const members[][2] = {
        {"hidden_size", "dim"},           {"num_hidden_layers", "depth"},
        {"num_attention_heads", "heads"}, {"num_channels", "in_channels"},
        {"layer_norm_eps", "norm_eps"},   {"qkv_bias", "qkv_bias"},
        {"query_bias", "qkv_bias"},       {"num_register_tokens", "register_tokens"}};
    char from[SV_FACT_SOURCE];
    snprintf(from, sizeof from, "what model_type '%.40s' implies", type->name);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        SVIT_TRY(
            sv_open_state_member(open, object, members[i][0], members[i][1], "config.json", err));
    SVIT_TRY(sv_open_state_patch(open, sv_json_get(object, "patch_size"), "config.json: patch_size",
                                 err));
    sv_facts_assume(&open->facts, "heads", type->heads, from);
    sv_facts_assume(&open->facts, "patch_size", type->patch, from);
    sv_facts_assume(&open->facts, "norm_eps", type->eps, from);
    if (type->states_ratio)
        (void)sv_json_number(sv_json_get(object, "mlp_ratio"), &open->mlp_ratio);
    else
        SVIT_TRY(
            sv_open_state_member(open, object, "intermediate_size", "mlp_dim", "config.json", err));
    if (strncmp(type->name, "dino", 4) == 0)
        SVIT_TRY(sv_facts_state(&open->facts, "layer_scale", 1, err, "%s", from));
    return sv_open_state_image(open, sv_json_get(object, "image_size"), "config.json: image_size",
                               err);
}

/* SigLIP 2's image_size is a number of patches, of which a square is taken. */
static void assume_grid(sv_open *open, const sv_json_value *object)
{
    double patches, side = 1;
    const double patch = sv_facts_value(&open->facts, "patch_size", 16);
    if (!sv_json_number(sv_json_get(object, "num_patches"), &patches))
        return;
    while (side * side < patches && side < 8192)
        side++;
    if (side * side != patches)
        return;
    sv_open_note_image(open, side * patch, side * patch);
    sv_facts_assume(&open->facts, "input_height", side * patch, "config.json: num_patches");
    sv_facts_assume(&open->facts, "input_width", side * patch, "config.json: num_patches");
    sv_facts_assume(&open->facts, "in_channels", 3, "config.json: num_patches");
}

static bool is_true(const sv_json_value *object, const char *key)
{
    return sv_json_is(sv_json_get(object, key), SV_JSON_TRUE);
}

/* The biases of a DINOv3's block, with transformers' defaults. */
enum { QUERY, KEY, VALUE, PROJ, MLP, BIASES };
static const struct {
    const char *name;
    bool otherwise;
} BIAS[BIASES] = {[QUERY] = {"query_bias", true},
                  [KEY] = {"key_bias", false},
                  [VALUE] = {"value_bias", true},
                  [PROJ] = {"proj_bias", true},
                  [MLP] = {"mlp_bias", true}};

/* Refuses biases that no block of this library has: queries and values have one or none, keys have
 * none where they have none, and the other linear maps have one. */
static svit_status check_biases(const sv_open *open, const sv_json_value *object, svit_error *err)
{
    bool has[BIASES];
    for (size_t i = 0; i < BIASES; i++) {
        const sv_json_value *value = sv_json_get(object, BIAS[i].name);
        const bool is_absent = !value || value->kind == SV_JSON_NULL;
        if (!is_absent && value->kind != SV_JSON_TRUE && value->kind != SV_JSON_FALSE)
            return sv_fail(err, SVIT_E_FORMAT, "%s: config.json: %s is neither true nor false",
                           open->weights, BIAS[i].name);
        has[i] = is_absent ? BIAS[i].otherwise : value->kind == SV_JSON_TRUE;
    }
    for (size_t i = PROJ; i < BIASES; i++)
        if (!has[i])
            return sv_fail(err, SVIT_E_UNSUPPORTED,
                           "%s: config.json: %s is false; true is accepted", open->weights,
                           BIAS[i].name);
    if (has[QUERY] == has[VALUE] && (has[QUERY] || !has[KEY]))
        return SVIT_OK;
    return sv_fail(err, SVIT_E_UNSUPPORTED,
                   "%s: config.json: query_bias is %s, key_bias %s and value_bias %s; equal ones "
                   "are accepted, and a key_bias that alone is false",
                   open->weights, has[QUERY] ? "true" : "false", has[KEY] ? "true" : "false",
                   has[VALUE] ? "true" : "false");
}

/* The activation, which SwiGLU does not have, and what DINOv3 has of its own. */
static svit_status state_computation(sv_open *open, const sv_json_value *object,
                                     const model_type *type, svit_error *err)
{
    const char *stated = sv_json_text(sv_json_get(object, "hidden_act"));
    const char *activation = stated ? stated : type->activation;
    const bool gated = is_true(object, "use_gated_mlp");
    /* DINOv2's gate is SwiGLU whatever hidden_act says, DINOv3's has the activation that it
     * names. */
    if (gated && strcmp(activation, "silu") != 0 && strcmp(activation, "swish") != 0)
        return sv_fail(err, SVIT_E_UNSUPPORTED,
                       "%s: config.json: the gated MLP has hidden_act '%.40s'; 'silu' is accepted",
                       open->weights, activation);
    if (!gated && !is_true(object, "use_swiglu_ffn"))
        SVIT_TRY(sv_open_state_activation(open, activation,
                                          stated ? "config.json: hidden_act" : type->name, err));
    if (strcmp(type->name, "dinov3_vit") != 0)
        return SVIT_OK;
    SVIT_TRY(check_biases(open, object, err));
    SVIT_TRY(sv_facts_state(&open->facts, "rope", SVIT_ROPE_CENTRED, err, "DINOv3"));
    SVIT_TRY(sv_facts_state(&open->facts, "rope_pairs", SVIT_ROPE_PAIRS_HALVES, err, "DINOv3"));
    SVIT_TRY(sv_open_state_member(open, object, "rope_theta", "rope_theta", "config.json", err));
    sv_facts_assume(&open->facts, "rope_theta", 100, "DINOv3");
    sv_open_note_image(open, 224, 224);
    sv_facts_assume(&open->facts, "input_height", 224, "DINOv3");
    sv_facts_assume(&open->facts, "input_width", 224, "DINOv3");
    return SVIT_OK;
}

/* Whether a class has a last layer of its own. */
static bool has_classifier(const char *name)
{
    return strstr(name, "ForImageClassification") || strstr(name, "WithProjection");
}

/* Whether a model of this class has no classes, and so no classifier: num_labels is 0. */
static bool has_no_labels(const sv_open *open, const char *name)
{
    const sv_json_value *labels = sv_json_get(open->config, "id2label");
    return strstr(name, "ForImageClassification") && sv_json_is(labels, SV_JSON_OBJECT) &&
           labels->count == 0;
}

/* The pooling by the class of the model; NULL if that is not known. DeiT's class with one head
 * reads the class token alone, and its distillation token is a register with a position. */
static svit_status state_class(sv_open *open, const char *stated, const sv_json_value *object,
                               const model_type *type, svit_error *err)
{
    const sv_json_value *head = sv_json_get(object, "vision_use_head");
    const char *name = stated ? stated : type->name;
    int32_t pool = type->pool;
    for (size_t i = 0; i < sizeof CLASSES / sizeof *CLASSES; i++) {
        if (strcmp(CLASSES[i].name, name) != 0)
            continue;
        pool = CLASSES[i].pool;
        sv_facts_assume(&open->facts, "final_norm", CLASSES[i].final_norm, name);
        if (CLASSES[i].passed)
            sv_open_pass(open, CLASSES[i].passed);
    }
    if (pool == SVIT_POOL_ATTENTION && sv_json_is(head, SV_JSON_FALSE))
        pool = SVIT_POOL_MEAN_PATCHES;
    sv_facts_assume(&open->facts, "final_norm", 1, name);
    if (has_classifier(name) && !has_no_labels(open, name))
        sv_facts_assume(&open->facts, "classifier", 1, name);
    open->distillation_is_register = strcmp(type->name, "deit") == 0 &&
                                     strcmp(name, "DeiTForImageClassificationWithTeacher") != 0;
    if (strstr(name, "MaskedImageModeling") || strstr(name, "ForPreTraining")) {
        sv_open_pass(open, "decoder.*");
        sv_open_pass(open, "*.decoder.*");
    }
    /* No class of a tower alone has a classifier, so that its pooling is asked for. */
    if (!stated && strstr(name, "_vision_model") &&
        sv_open_is_named(open, "head.fc1.weight", "classifier.weight"))
        return SVIT_OK;
    return sv_facts_state(&open->facts, "pool", pool, err, "the class %.60s", name);
}

/* The class of a type that alone has the file's classifier. NULL: there is none, and the type tells
 * the pooling. */
static const char *class_of_tensors(const sv_open *open, const model_type *type)
{
    for (size_t i = 0; i < sizeof CLASSES / sizeof *CLASSES; i++)
        if (strcmp(CLASSES[i].type, type->name) == 0 &&
            sv_open_is_named(open, "head.fc1.weight", CLASSES[i].weight))
            return CLASSES[i].name;
    return NULL;
}

/* The class that computes the logits: the one that an adapter changes, which PEFT notes unless it
 * knows the task, if that has a classifier, or the one that wrote the file. NULL: neither is
 * stated, and the tensors do not tell. */
static const char *class_of(const sv_open *open, const sv_json_value *root, const model_type *type)
{
    const sv_json *adapter = open->side[SV_SIDE_ADAPTER].json;
    const sv_json_value *mapping =
        adapter ? sv_json_get(sv_json_root(adapter), "auto_mapping") : NULL;
    const char *adapted = sv_json_text(sv_json_get(mapping, "base_model_class"));
    const sv_json_value *classes = sv_json_get(root, "architectures");
    if (adapted && has_classifier(adapted))
        return adapted;
    const char *stated =
        sv_json_is(classes, SV_JSON_ARRAY) && classes->count > 0 ? sv_json_text(classes + 1) : NULL;
    return stated ? stated : class_of_tensors(open, type);
}

svit_status sv_open_from_huggingface(sv_open *open, svit_error *err)
{
    const sv_json_value *root = open->config, *object = root;
    const char *type_name = sv_json_text(sv_json_get(root, "model_type"));
    const model_type *type = find_type(type_name);
    if (!type)
        return sv_fail(err, SVIT_E_UNSUPPORTED,
                       "%s: config.json: model_type is '%.60s', which is no plain ViT; vit, deit, "
                       "vit_mae, vit_msn, ijepa, dinov2, dinov2_with_registers, dinov3_vit, clip, "
                       "altclip, chinese_clip, metaclip_2, siglip and siglip2 are accepted",
                       open->weights, type_name);
    const char *class_name = class_of(open, root, type);
    if (type->inside && !(object = sv_json_get(root, type->inside)))
        return sv_fail(err, SVIT_E_FORMAT, "%s: config.json has no '%s'", open->weights,
                       type->inside);
    /* CLIP's own configuration lets the older key, with the defaults of what it leaves out, win. */
    const sv_json_value *older = sv_json_get(root, "vision_config_dict");
    if (strcmp(type->name, "clip") == 0 && sv_json_is(older, SV_JSON_OBJECT))
        object = older;
    SVIT_TRY(state_sizes(open, object, type, err));
    assume_grid(open, object);
    SVIT_TRY(state_computation(open, object, type, err));
    SVIT_TRY(sv_open_state_output(open, root, err));
    open->class_names = sv_json_get(root, "id2label");
    open->has_positions = strcmp(type->name, "dinov3_vit") != 0;
    return state_class(open, class_name, object, type, err);
}
