/* Checks name maps: rules in JSON against the built-in ones, hostile rules, and tensors that do not
 * fit together. */
#include "test_load_support.h"

#define LAYER "encoder.layer.0."

/* The small model under the names of transformers' ViT. */
static const tensor HUGGINGFACE[] = {
    {"vit.embeddings.position_embeddings", 3, {1, 7, 6}, SV_DTYPE_F32, 0},
    {"vit.embeddings.cls_token", 3, {1, 1, 6}, SV_DTYPE_F32, 0},
    {"vit.embeddings.patch_embeddings.projection.weight", 4, {6, 3, 4, 4}, SV_DTYPE_F32, 0},
    {"vit.embeddings.patch_embeddings.projection.bias", 1, {6}, SV_DTYPE_F32, 0},
    {"vit." LAYER "layernorm_before.weight", 1, {6}, SV_DTYPE_F32, 0},
    {"vit." LAYER "layernorm_before.bias", 1, {6}, SV_DTYPE_F32, 0},
    {"vit." LAYER "attention.attention.query.weight", 2, {6, 6}, SV_DTYPE_F32, 0},
    {"vit." LAYER "attention.attention.query.bias", 1, {6}, SV_DTYPE_F32, 0},
    {"vit." LAYER "attention.attention.key.weight", 2, {6, 6}, SV_DTYPE_F32, 0},
    {"vit." LAYER "attention.attention.key.bias", 1, {6}, SV_DTYPE_F32, 0},
    {"vit." LAYER "attention.attention.value.weight", 2, {6, 6}, SV_DTYPE_F32, 0},
    {"vit." LAYER "attention.attention.value.bias", 1, {6}, SV_DTYPE_F32, 0},
    {"vit." LAYER "attention.output.dense.weight", 2, {6, 6}, SV_DTYPE_F32, 0},
    {"vit." LAYER "attention.output.dense.bias", 1, {6}, SV_DTYPE_F32, 0},
    {"vit." LAYER "layernorm_after.weight", 1, {6}, SV_DTYPE_F32, 0},
    {"vit." LAYER "layernorm_after.bias", 1, {6}, SV_DTYPE_F32, 0},
    {"vit." LAYER "intermediate.dense.weight", 2, {5, 6}, SV_DTYPE_F32, 0},
    {"vit." LAYER "intermediate.dense.bias", 1, {5}, SV_DTYPE_F32, 0},
    {"vit." LAYER "output.dense.weight", 2, {6, 5}, SV_DTYPE_F32, 0},
    {"vit." LAYER "output.dense.bias", 1, {6}, SV_DTYPE_F32, 0},
    {"vit.layernorm.weight", 1, {6}, SV_DTYPE_F32, 0},
    {"vit.layernorm.bias", 1, {6}, SV_DTYPE_F32, 0},
    {"classifier.weight", 2, {3, 6}, SV_DTYPE_F32, 0},
    {"classifier.bias", 1, {3}, SV_DTYPE_F32, 0},
};

/* The same names as rules. */
static const char RULES[] =
    "{\"pos_embed\": \"vit.embeddings.position_embeddings\","
    " \"cls_token\": \"vit.embeddings.cls_token\","
    " \"patch_embed.proj\": \"vit.embeddings.patch_embeddings.projection\","
    " \"blocks.*.norm1\": \"vit.encoder.layer.*.layernorm_before\","
    " \"blocks.*.attn.qkv\": [\"vit.encoder.layer.*.attention.attention.query\","
    "   \"vit.encoder.layer.*.attention.attention.key\","
    "   \"vit.encoder.layer.*.attention.attention.value\"],"
    " \"blocks.*.attn.proj\": \"vit.encoder.layer.*.attention.output.dense\","
    " \"blocks.*.norm2\": \"vit.encoder.layer.*.layernorm_after\","
    " \"blocks.*.mlp.fc1\": \"vit.encoder.layer.*.intermediate.dense\","
    " \"blocks.*.mlp.fc2\": {\"tensor\": \"vit.encoder.layer.*.output.dense\"},"
    " \"norm\": \"vit.layernorm\","
    " \"head.fc1\": \"classifier\"}";

static tensor_file huggingface_file(void)
{
    tensor_file file = {.count = sizeof HUGGINGFACE / sizeof *HUGGINGFACE};
    memcpy(file.list, HUGGINGFACE, sizeof HUGGINGFACE);
    return file;
}

static svit_model *load(const char *map)
{
    svit_model *model = NULL;
    svit_model_config config = small_config();
    WORKS(svit_model_load_mapped(&model, context, &config, path, map, err));
    return model;
}

START_TEST(test_rules_in_json_equal_the_built_in_map)
{
    tensor_file file = huggingface_file();
    write_tensors(&file);
    svit_model *a = load("huggingface"), *b = load(RULES);
    ck_assert(same_weights(a, b));
    svit_model_free(a);
    svit_model_free(b);
}
END_TEST

/* Queries, keys and values follow each other in this order. */
START_TEST(test_queries_keys_and_values_are_joined_in_order)
{
    static const char *const parts[] = {"query", "key", "value"};
    float weight[18 * 6], bias[18];
    char name[96];
    tensor_file file = huggingface_file();
    write_tensors(&file);
    svit_model *model = load("huggingface");
    WORKS(svit_model_get_parameter(model, "blocks.0.attn.qkv.weight", weight, 18 * 6, err));
    WORKS(svit_model_get_parameter(model, "blocks.0.attn.qkv.bias", bias, 18, err));
    for (size_t p = 0; p < 3; p++) {
        snprintf(name, sizeof name, "vit." LAYER "attention.attention.%s.weight", parts[p]);
        for (size_t i = 0; i < 36; i++)
            ck_assert_float_eq(weight[p * 36 + i], value_of(name, i));
        snprintf(name, sizeof name, "vit." LAYER "attention.attention.%s.bias", parts[p]);
        for (size_t i = 0; i < 6; i++)
            ck_assert_float_eq(bias[p * 6 + i], value_of(name, i));
    }
    svit_model_free(model);
}
END_TEST

/* A file of transformers that does not fit, and the message. */
static const struct {
    const char *tensor;
    size_t rank; /* 0: the tensor is left out */
    int64_t rows, columns;
    const char *part;
} MISFITS[] = {
    {"vit." LAYER "attention.attention.key.weight", 2, 6, 5, "'blocks.0.attn.qkv.weight'"},
    {"vit." LAYER "attention.attention.key.weight", 1, 36, 0, "'blocks.0.attn.qkv.weight'"},
    {"vit." LAYER "attention.attention.value.weight", 2, 7, 6, "[19, 6]"},
    {"vit." LAYER "attention.attention.value.bias", 0, 0, 0,
     "attention.attention.value.bias' for parameter 'blocks.0.attn.qkv.bias' is missing"},
    {"vit." LAYER "attention.attention.query.weight", 0, 0, 0, "'blocks.0.attn.qkv.weight'"},
    {"vit.embeddings.patch_embeddings.projection.weight", 2, 6, 47, "'patch_embed.proj.weight'"},
    {"classifier.weight", 2, 6, 3, "[6, 3]; 'head.fc1.weight' is [3, 6]"},
};

START_TEST(test_tensors_that_do_not_fit_are_named)
{
    svit_model *model = small_model(), *before = small_model();
    tensor_file file = huggingface_file();
    if (MISFITS[_i].rank == 0)
        remove_tensor(&file, MISFITS[_i].tensor);
    else
        *tensor_of(&file, MISFITS[_i].tensor) =
            (tensor){MISFITS[_i].tensor,
                     MISFITS[_i].rank,
                     {MISFITS[_i].rows, MISFITS[_i].columns, 0, 0},
                     SV_DTYPE_F32,
                     0};
    write_tensors(&file);
    FAILS(svit_model_load_into(model, path, "huggingface", 0, NULL, err), SVIT_E_FORMAT,
          MISFITS[_i].part);
    FAILS(svit_model_load_into(model, path, RULES, 0, NULL, err), SVIT_E_FORMAT, MISFITS[_i].part);
    ck_assert(same_weights(model, before));
    svit_model_free(model);
    svit_model_free(before);
}
END_TEST

/* Texts that are no maps. */
static const struct {
    const char *map;
    svit_status status;
    const char *part;
} HOSTILE[] = {
    {"", SVIT_E_ARGUMENT, "map is ''"},
    {"Timm", SVIT_E_ARGUMENT, "'timm', 'huggingface', 'openclip'"},
    {"[]", SVIT_E_ARGUMENT, "map is '[]'"},
    {"{", SVIT_E_FORMAT, "a name map"},
    {"[{}]", SVIT_E_FORMAT, "a name map"},
    {"{\"norm\": \"a\", \"norm\": \"b\"}", SVIT_E_FORMAT, "norm"},
    {"{\"norm\": 3}", SVIT_E_ARGUMENT, "the rule of 'norm'"},
    {"{\"norm\": true}", SVIT_E_ARGUMENT, "the rule of 'norm'"},
    {"{\"norm\": []}", SVIT_E_ARGUMENT, "the rule of 'norm'"},
    {"{\"norm\": [\"a\", 3]}", SVIT_E_ARGUMENT, "the rule of 'norm'"},
    {"{\"norm\": [null]}", SVIT_E_ARGUMENT, "the rule of 'norm'"},
    {"{\"norm\": [[\"a\"]]}", SVIT_E_ARGUMENT, "the rule of 'norm'"},
    {"{\"norm\": [\"a\", \"b\", \"c\", \"d\"]}", SVIT_E_FORMAT, "'a.weight'"},
    {"{\"norm\": {}}", SVIT_E_ARGUMENT, "the rule of 'norm'"},
    {"{\"norm\": {\"tensor\": 1}}", SVIT_E_ARGUMENT, "the rule of 'norm'"},
    {"{\"norm\": {\"transpose\": true}}", SVIT_E_ARGUMENT, "the rule of 'norm'"},
    {"{\"norm\": {\"tensor\": \"a\", \"transpose\": 1}}", SVIT_E_ARGUMENT, "the rule of 'norm'"},
    {"{\"norm\": {\"tensor\": \"a\", \"transposed\": true}}", SVIT_E_ARGUMENT,
     "the rule of 'norm'"},
    {"{\"norm\": [\"?a\", \"b\"]}", SVIT_E_ARGUMENT, "the rule of 'norm'"},
    {"{\"norm\": \"?a\"}", SVIT_E_ARGUMENT, "the rule of 'norm'"},
    {"{\"norm\": {\"tensor\": \"?a\"}}", SVIT_E_ARGUMENT, "the rule of 'norm'"},
    {"{\"norm\": {\"tensor\": \"?a\", \"part\": [0, 1, 3]}}", SVIT_E_ARGUMENT,
     "the rule of 'norm'"},
    {"{\"norm\": {\"tensor\": \"a\", \"part\": [0, 1]}}", SVIT_E_ARGUMENT, "the rule of 'norm'"},
    {"{\"norm\": {\"tensor\": \"a\", \"part\": [1, 1, 3]}}", SVIT_E_ARGUMENT, "the rule of 'norm'"},
    {"{\"norm\": {\"tensor\": \"a\", \"part\": [0, 4, 3]}}", SVIT_E_ARGUMENT, "the rule of 'norm'"},
    {"{\"norm\": {\"tensor\": \"a\", \"part\": [0, 0.5, 3]}}", SVIT_E_ARGUMENT,
     "the rule of 'norm'"},
    {"{\"norm\": {\"tensor\": \"a\", \"part\": [0, 1e30, 1e30]}}", SVIT_E_ARGUMENT,
     "the rule of 'norm'"},
    {"{\"norm\": {\"tensor\": \"a\", \"part\": [0, -1, 3]}}", SVIT_E_ARGUMENT,
     "the rule of 'norm'"},
    {"{\"norm\": {\"tensor\": \"a\", \"part\": [-1, 1, 3]}}", SVIT_E_ARGUMENT,
     "the rule of 'norm'"},
    {"{\"norm\": {\"tensor\": \"a\", \"part\": [0, \"1\", 3]}}", SVIT_E_ARGUMENT,
     "the rule of 'norm'"},
    {"{\"norm\": {\"tensor\": \"a\", \"part\": [0, 1, null]}}", SVIT_E_ARGUMENT,
     "the rule of 'norm'"},
    {"{\"norm\": {\"tensor\": \"a\", \"part\": [2, 1, 3]}}", SVIT_E_ARGUMENT, "the rule of 'norm'"},
    {"{\"norm\": {\"tensor\": \"a\", \"part\": 3}}", SVIT_E_ARGUMENT, "the rule of 'norm'"},
    {"{\"norm\": {\"tensor\": \"a\", \"part\": [0, 1, 3], \"transpose\": true}}", SVIT_E_ARGUMENT,
     "the rule of 'norm'"},
    {"{\"norm\": {\"tensor\": \"a\", \"block_axis\": 0}}", SVIT_E_ARGUMENT, "the rule of 'norm'"},
    {"{\"blocks.*.norm1\": {\"tensor\": \"a\", \"block_axis\": \"0\"}}", SVIT_E_ARGUMENT,
     "the rule of 'blocks.*.norm1'"},
    {"{\"blocks.*.norm1\": {\"tensor\": \"norm\", \"block_axis\": 1}}", SVIT_E_FORMAT,
     "'norm.weight' is [6], of which a part is taken; 'blocks.0.norm1.weight' is [6]"},
    {"{\"norm.weight\": {\"tensor\": \"head.bias\", \"part\": [0, 1, 2]}}", SVIT_E_FORMAT,
     "'head.bias' is [3], of which a part is taken; 'norm.weight' is [6]"},
    {"{\"norm.weight\": {\"tensor\": \"head.weight\", \"part\": [0, 2, 3]}}", SVIT_E_FORMAT,
     "'head.weight' is [3, 6], of which a part is taken; 'norm.weight' is [6]"},
    {"{\"blocks.*.*\": \"a.*\"}", SVIT_E_ARGUMENT, "too many '*'"},
    {"{\"blocks.*\": \"a.*.*\"}", SVIT_E_ARGUMENT, "too many '*'"},
    {"{\"norm\": \"a.*\"}", SVIT_E_ARGUMENT, "too many '*'"},
    {"{\"norm\": \"absent\"}", SVIT_E_FORMAT, "'absent.weight'"},
    {"{\"norm\": {\"tensor\": \"absent\", \"transpose\": false}}", SVIT_E_FORMAT,
     "'absent.weight'"},
    {"{\"norm.weight\": {\"tensor\": \"head.weight\", \"transpose\": true}}", SVIT_E_FORMAT,
     "'head.weight' is [3, 6], and is transposed; 'norm.weight' is [6]"},
    {"{\"head.fc1.weight\": {\"tensor\": \"head.weight\", \"transpose\": true}}", SVIT_E_FORMAT,
     "'head.weight' is [3, 6], and is transposed; 'head.fc1.weight' is [3, 6]"},
};

START_TEST(test_hostile_maps_are_refused)
{
    svit_model *model = small_model(), *before = small_model();
    tensor_file file = timm_file();
    write_tensors(&file);
    FAILS(svit_model_load_into(model, path, HOSTILE[_i].map, 0, NULL, err), HOSTILE[_i].status,
          HOSTILE[_i].part);
    ck_assert(same_weights(model, before));
    svit_model_free(model);
    svit_model_free(before);
}
END_TEST

/* A '*' stands for at least one digit, so these rules match nothing. */
START_TEST(test_a_star_needs_digits)
{
    static const char *const maps[] = {
        "{\"head.fc1\": \"head\", \"block*s.0.norm1\": \"a.*\"}",
        "{\"head.fc1\": \"head\", \"blocks.0*.norm1\": \"a.*\"}",
        "{\"head.fc1\": \"head\", \"blocks.*norm1\": \"a.*\"}",
        "{\"head.fc1\": \"head\", \"nor\": \"a\", \"norm.weigh\": \"b\"}",
    };
    tensor_file file = timm_file();
    write_tensors(&file);
    svit_model *wanted = load("timm"), *model = load(maps[_i]);
    ck_assert(same_weights(model, wanted));
    svit_model_free(model);
    svit_model_free(wanted);
}
END_TEST

/* The number of a '*' goes into the tensor's name, a transposed weight is turned, and null is 0,
 * whatever the model had. */
START_TEST(test_transposed_and_absent_parameters)
{
    static const char map[] = "{\"head.fc1.weight\": {\"tensor\": \"turned\", \"transpose\": true},"
                              " \"head.fc1.bias\": null,"
                              " \"blocks.*.norm1\": \"first.*.norm\"}";
    tensor_file file = timm_file();
    float weight[18], bias[3], norm[6];
    remove_tensor(&file, "head.weight");
    remove_tensor(&file, "head.bias");
    add_tensor(&file, "turned", 2, 6, 3, SV_DTYPE_F32);
    tensor_of(&file, "blocks.0.norm1.weight")->name = "first.0.norm.weight";
    tensor_of(&file, "blocks.0.norm1.bias")->name = "first.0.norm.bias";
    write_tensors(&file);
    svit_model *model = load(map);
    WORKS(svit_model_set_parameter(model, "head.fc1.bias", (const float[]){1, 2, 3}, 3, err));
    WORKS(svit_model_load_into(model, path, map, 0, NULL, err));
    WORKS(svit_model_get_parameter(model, "head.fc1.weight", weight, 18, err));
    WORKS(svit_model_get_parameter(model, "head.fc1.bias", bias, 3, err));
    WORKS(svit_model_get_parameter(model, "blocks.0.norm1.weight", norm, 6, err));
    for (size_t o = 0; o < 3; o++)
        for (size_t i = 0; i < 6; i++)
            ck_assert_float_eq(weight[o * 6 + i], value_of("turned", i * 3 + o));
    for (size_t i = 0; i < 6; i++)
        ck_assert_float_eq(norm[i], value_of("first.0.norm.weight", i));
    for (size_t i = 0; i < 3; i++)
        ck_assert_float_eq(bias[i], 0);
    svit_model_free(model);
}
END_TEST

/* A part of the rows, an element of an axis by the number of the block, and zeros where the file
 * lacks a tensor of a list. */
START_TEST(test_parts_of_tensors)
{
    static const char map[] =
        "{\"head.fc1\": \"head\","
        " \"norm.bias\": {\"tensor\": \"thirds\", \"part\": [1, 2, 3]},"
        " \"blocks.*.attn.proj.weight\": {\"tensor\": \"halves\", \"part\": [2, 4, 4]},"
        " \"blocks.*.norm1.weight\": {\"tensor\": \"all\", \"block_axis\": 1},"
        " \"blocks.*.attn.qkv.bias\": [\"q.*\", \"?k.*\", \"?v.*\"]}";
    static const char *const replaced[] = {"norm.bias", "blocks.0.attn.proj.weight",
                                           "blocks.0.norm1.weight", "blocks.0.attn.qkv.bias"};
    tensor_file file = timm_file();
    float bias[6], weight[36], norm[6], qkv[18];
    for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++)
        remove_tensor(&file, replaced[i]);
    add_tensor(&file, "thirds", 1, 18, 0, SV_DTYPE_F32);
    add_tensor(&file, "halves", 2, 12, 6, SV_DTYPE_F32);
    add_tensor(&file, "all", 2, 6, 4, SV_DTYPE_F32);
    add_tensor(&file, "q.0", 1, 6, 0, SV_DTYPE_F32);
    add_tensor(&file, "v.0", 1, 6, 0, SV_DTYPE_F32);
    write_tensors(&file);
    svit_model *model = load(map);
    WORKS(svit_model_get_parameter(model, "norm.bias", bias, 6, err));
    WORKS(svit_model_get_parameter(model, "blocks.0.attn.proj.weight", weight, 36, err));
    WORKS(svit_model_get_parameter(model, "blocks.0.norm1.weight", norm, 6, err));
    WORKS(svit_model_get_parameter(model, "blocks.0.attn.qkv.bias", qkv, 18, err));
    for (size_t i = 0; i < 36; i++)
        ck_assert_float_eq(weight[i], value_of("halves", 36 + i));
    for (size_t i = 0; i < 6; i++) {
        ck_assert_float_eq(bias[i], value_of("thirds", 6 + i));
        ck_assert_float_eq(norm[i], value_of("all", 4 * i));
        ck_assert_float_eq(qkv[i], value_of("q.0", i));
        ck_assert_float_eq(qkv[6 + i], 0);
        ck_assert_float_eq(qkv[12 + i], value_of("v.0", i));
    }
    svit_model_free(model);
}
END_TEST

#define COUNT(list) (int)(sizeof(list) / sizeof *(list))

/* Each field for which timm has no names, or other shapes, is named. */
static const struct {
    const char *fields, *part; /* NULL: timm has names */
} UNNAMED[] = {
    {"\"dropout\":0.1", NULL},
    {"\"tokenizer\":\"spt\"", "with this 'tokenizer'; it has for 'patch'"},
    {"\"attention\":\"lsa\"", "with this 'attention'; it has for 'global' and 'differential'"},
    {"\"mlp_last_gelu\":true", "with this 'mlp_last_gelu'; it has for false"},
    {"\"pool\":\"flatten\"", "with this 'pool'; it has for 'class_token', 'mean', "},
    {"\"pool\":\"class-mean\"", "with this 'pool'; it has for 'class_token', 'mean', "},
    {"\"head_units\":[4]", "with this 'head_units'; it has for []"},
    {"\"rope\":\"axial\",\"rope_theta\":10",
     "with this 'rope'; it has for 'none' (its Eva has other names)"},
    {"\"no_key_bias\":true", "with this 'no_key_bias'; it has for false"},
    {"\"head_dim\":8", "with this 'head_dim'; it has for dim / heads"},
    {"\"block\":\"parallel\"", NULL},
    {"\"block\":\"parallel\",\"mlp\":\"swiglu\"",
     "with this 'block'; it has for 'sequential', or mlp 'plain'"},
    {"\"block\":\"parallel\",\"mlp_norm\":true", "with this 'block'"},
    {"\"block\":\"parallel\",\"attention_norm\":true", "with this 'block'"},
    {"\"block\":\"parallel\",\"attention\":\"differential\"", "'sequential' and 'parallel-fused'"},
    {"\"block\":\"parallel-fused\"", NULL},
    {"\"block\":\"parallel-fused\",\"attention\":\"differential\"", NULL},
    {"\"register_tokens\":2,\"position_tokens\":\"class-patches\"",
     "with this 'position_tokens'; it has for 'all' and 'patches'"},
    {"\"register_tokens\":2,\"position_tokens\":\"patches\"", NULL},
    {"\"mask_ratio\":0.5,\"classifier\":false,\"num_classes\":192",
     "with this 'mask_ratio'; it has for 0"},
    {"\"pre_norm\":true", "with this 'patch_bias'; it has for the opposite of pre_norm"},
    {"\"patch_bias\":false", "with this 'patch_bias'"},
    {"\"pre_norm\":true,\"patch_bias\":false", NULL},
    {"\"head_norm\":true", "with this 'head_norm'; it has for false with final_norm"},
    {"\"head_norm\":true,\"final_norm\":false", NULL},
    {"\"head_norm\":true,\"final_norm\":false,\"distilled\":true",
     "with this 'head_norm'; it has for false with distilled"},
    {"\"pool\":\"attention\",\"pool_heads\":2,\"pool_mlp_dim\":8", NULL},
    {"\"pool\":\"attention\",\"pool_heads\":4,\"pool_mlp_dim\":8",
     "with this 'pool_heads'; it has for heads"},
    {"\"pool\":\"attention\",\"pool_heads\":2,\"pool_mlp_dim\":16", "with this 'pool_mlp_dim'"},
    {"\"pool\":\"attention\",\"pool_heads\":2,\"pool_mlp_dim\":16,\"mlp\":\"swiglu\"", NULL},
    {"\"names\":\"paper\"", "map is 'timm'; it names a ViT with names 'seed'"},
};

START_TEST(test_fields_without_names_of_timm_are_named)
{
    char json[512];
    svit_model *of = NULL;
    svit_model_config config;
    snprintf(json, sizeof json,
             "{\"architecture\":\"vit\",\"input_height\":8,\"input_width\":8,\"patch_size\":4,"
             "\"dim\":8,\"depth\":1,\"heads\":2,\"mlp_dim\":8%s%s%s%s%s,%s}",
             strstr(UNNAMED[_i].fields, "num_classes") ? "" : ",\"num_classes\":3",
             strstr(UNNAMED[_i].fields, "head_dim") ? "" : ",\"head_dim\":4",
             strstr(UNNAMED[_i].fields, "pool") ? "" : ",\"pool\":\"class_token\"",
             strstr(UNNAMED[_i].fields, "head_units") ? "" : ",\"head_units\":[]",
             strstr(UNNAMED[_i].fields, "last_gelu") ? "" : ",\"mlp_last_gelu\":false",
             UNNAMED[_i].fields);
    WORKS(svit_model_config_from_json(&config, sizeof config, json, err));
    WORKS(svit_model_create(&of, context, &config, 1, err));
    if (!UNNAMED[_i].part) {
        svit_model *back = NULL;
        WORKS(svit_model_save_mapped(of, path, "timm", err));
        WORKS(svit_model_load_mapped(&back, context, &config, path, "timm", err));
        ck_assert(fit_same(of, back));
        svit_model_free(back);
    } else {
        FAILS(svit_model_save_mapped(of, path, "timm", err), SVIT_E_UNSUPPORTED, UNNAMED[_i].part);
    }
    svit_model_free(of);
}
END_TEST

static Suite *maps_suite(void)
{
    Suite *suite = suite_create("name maps");
    TCase *all = tcase_create("maps");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, test_rules_in_json_equal_the_built_in_map);
    tcase_add_test(all, test_queries_keys_and_values_are_joined_in_order);
    tcase_add_loop_test(all, test_tensors_that_do_not_fit_are_named, 0, COUNT(MISFITS));
    tcase_add_loop_test(all, test_hostile_maps_are_refused, 0, COUNT(HOSTILE));
    tcase_add_loop_test(all, test_a_star_needs_digits, 0, 4);
    tcase_add_test(all, test_transposed_and_absent_parameters);
    tcase_add_test(all, test_parts_of_tensors);
    tcase_add_loop_test(all, test_fields_without_names_of_timm_are_named, 0, COUNT(UNNAMED));
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(maps_suite)
