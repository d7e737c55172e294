/* Helpers for tests of parameters: a context, a file, and a small ViT in many variants. */
#ifndef TEST_PARAMETERS_SUPPORT_H
#define TEST_PARAMETERS_SUPPORT_H

#include "fit.h"

#include "config/json.h"

static svit_context *context;
static fit_folder folder;
static char path[128];

static inline void setup(void)
{
    context = fit_context(2);
    folder = fit_folder_make();
    snprintf(path, sizeof path, "%s", fit_path(&folder, "model.safetensors"));
}

static inline void teardown(void)
{
    svit_context_free(context);
    fit_folder_remove(&folder);
}

/* A ViT for images of 12x12 pixels: patches of 4, 6 channels, one layer of 2 heads of 5. */
static const struct {
    const char *key, *value;
} small[] = {
    {"architecture", "\"vit\""},
    {"input_height", "12"},
    {"input_width", "12"},
    {"num_classes", "7"},
    {"patch_size", "4"},
    {"dim", "6"},
    {"depth", "1"},
    {"heads", "2"},
    {"head_dim", "5"},
    {"mlp_dim", "11"},
    {"head_units", "[]"},
};

/* The small ViT with other fields, and the shape that a parameter then has. */
static const struct {
    const char *fields, *name;
    size_t rank; /* 0: there is no such parameter */
    int64_t shape[4];
} variants[] = {
    {"{}", "pos_embed", 2, {9, 6}},
    {"{}", "cls_token", 0, {0}},
    {"{}", "patch_embed.norm.weight", 0, {0}},
    {"{}", "patch_embed.proj.weight", 2, {6, 48}},
    {"{}", "blocks.0.attn.qkv.weight", 2, {30, 6}},
    {"{}", "blocks.0.attn.qkv.bias", 1, {30}},
    {"{}", "blocks.0.attn.proj.weight", 2, {6, 10}},
    {"{}", "blocks.0.attn.tau", 0, {0}},
    {"{}", "blocks.0.mlp.fc1.weight", 2, {11, 6}},
    {"{}", "blocks.0.mlp.fc2.weight", 2, {6, 11}},
    {"{}", "norm.weight", 1, {6}},
    {"{}", "head.fc1.weight", 2, {7, 54}},
    {"{}", "head.fc2.weight", 0, {0}},
    {"{\"head_units\":[5,3]}", "head.fc2.weight", 2, {3, 5}},
    {"{\"head_units\":[5,3]}", "head.fc3.weight", 2, {7, 3}},
    {"{\"pool\":\"class_token\"}", "pos_embed", 2, {10, 6}},
    {"{\"pool\":\"class_token\"}", "cls_token", 3, {1, 1, 6}},
    {"{\"pool\":\"class_token\"}", "head.fc1.weight", 2, {7, 6}},
    {"{\"pool\":\"mean\"}", "pos_embed", 2, {9, 6}},
    {"{\"pool\":\"mean\"}", "norm.bias", 1, {6}},
    {"{\"pool\":\"mean\"}", "head.fc1.weight", 2, {7, 6}},
    {"{\"classifier\":false,\"num_classes\":54}", "head.fc1.weight", 0, {0}},
    {"{\"classifier\":false,\"num_classes\":54}", "norm.weight", 1, {6}},
    {"{\"qkv_bias\":false}", "blocks.0.attn.qkv.bias", 0, {0}},
    {"{\"tokenizer\":\"conv\"}", "patch_embed.conv1.weight", 4, {3, 3, 3, 3}},
    {"{\"tokenizer\":\"conv\"}", "patch_embed.conv2.weight", 4, {6, 3, 3, 3}},
    {"{\"tokenizer\":\"conv\"}", "patch_embed.conv2.bias", 1, {6}},
    {"{\"tokenizer\":\"conv\"}", "patch_embed.proj.weight", 0, {0}},
    {"{\"tokenizer\":\"spt\"}", "patch_embed.norm.weight", 1, {240}},
    {"{\"tokenizer\":\"spt\"}", "patch_embed.proj.weight", 2, {6, 240}},
    {"{\"attention\":\"lsa\"}", "blocks.0.attn.tau", 1, {1}},
    {"{\"attention\":\"lsa\",\"temperature\":\"multiply\"}", "blocks.0.attn.tau", 1, {2}},
    {"{\"heads\":1,\"head_dim\":6}", "blocks.0.attn.proj.weight", 2, {6, 6}},
    {"{\"names\":\"paper\"}", "pos_embedding", 3, {1, 9, 6}},
    {"{\"names\":\"paper\"}", "cls_token", 0, {0}},
    {"{\"names\":\"paper\"}", "to_patch_embedding.1.weight", 2, {6, 48}},
    {"{\"names\":\"paper\"}", "to_patch_embedding.merging.1.weight", 0, {0}},
    {"{\"names\":\"paper\"}", "transformer.layers.0.0.fn.to_qkv.bias", 1, {30}},
    {"{\"names\":\"paper\"}", "transformer.layers.0.0.fn.to_out.0.weight", 2, {6, 10}},
    {"{\"names\":\"paper\"}", "mlp_head.1.weight", 2, {7, 54}},
    {"{\"names\":\"paper\",\"heads\":1}", "transformer.layers.0.0.fn.to_out.0.weight", 2, {6, 5}},
    {"{\"names\":\"paper\",\"heads\":1,\"head_dim\":6}",
     "transformer.layers.0.0.fn.to_out.0.weight",
     0,
     {0}},
    {"{\"names\":\"paper\",\"tokenizer\":\"spt\"}", "to_patch_embedding.merging.1.bias", 1, {240}},
    {"{\"names\":\"paper\",\"tokenizer\":\"spt\"}", "to_patch_embedding.1.weight", 0, {0}},
    {"{\"names\":\"paper\",\"attention\":\"lsa\"}", "transformer.layers.0.0.fn.scale", 1, {1}},
    {"{\"names\":\"paper\",\"pool\":\"class_token\"}", "pos_embedding", 3, {1, 10, 6}},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

/* Returns the JSON object of `small` in which the members of `fields` replace those of the same
 * name. */
static inline void merge(char *json, size_t capacity, const char *fields)
{
    sv_allocator allocator = sv_allocator_default();
    sv_json *other;
    WORKS(sv_json_parse_object(&other, &allocator, fields, strlen(fields), "fields", err));
    size_t used = (size_t)snprintf(json, capacity, "{");
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        if (!sv_json_get(sv_json_root(other), small[i].key))
            used += (size_t)snprintf(json + used, capacity - used, "\"%s\":%s,", small[i].key,
                                     small[i].value);
    if (sv_json_root(other)->count)
        snprintf(json + used, capacity - used, "%s", fields + 1);
    else
        snprintf(json + used - 1, capacity - used, "}");
    sv_json_free(other);
}

static inline svit_model *small_vit(const char *fields, uint64_t seed)
{
    char json[512];
    merge(json, sizeof json, fields);
    svit_model_config config;
    WORKS(svit_model_config_from_json(&config, sizeof config, json, err));
    svit_model *model = NULL;
    WORKS(svit_model_create(&model, context, &config, seed, err));
    return model;
}

#endif
