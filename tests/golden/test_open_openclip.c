/* Image towers of OpenCLIP as its own checkpoints have them: with the text tower beside them, of
 * its own code or of timm, and with the members of vision_cfg that no tensor shows. */
#include "open_case.h"
#include "suite.h"

static const int64_t ONE[] = {1};

/* What stands beside the image tower: of a text tower under "text.", or at the top. */
static size_t add_text(own_tensor *list, bool is_own)
{
    static const char *const names[][4] = {{"logit_scale", "logit_bias", "text.ln_final.bias",
                                            "text.transformer.resblocks.0.ln_1.weight"},
                                           {"logit_scale", "positional_embedding",
                                            "token_embedding.weight",
                                            "transformer.resblocks.0.ln_1.bias"}};
    for (size_t i = 0; i < 4; i++)
        list[i] = own(names[is_own][i], 1, ONE, NULL);
    return 4;
}

/* The JSON of a tower, whose vision_cfg goes on with `members`. */
static void write_config(const open_case *self, const char *vision, const char *members)
{
    char text[2048];
    snprintf(text, sizeof text, "{\"model_cfg\":{\"embed_dim\":5,\"vision_cfg\":{%s%s}}}", vision,
             members);
    case_text(self, "open_clip_config.json", text);
}

/* The grid of 2 x 4 patches has with the class token as many rows as one of 3 x 3. */
#define TOWER                                                                                      \
    "\"image_size\":[4,8],\"patch_size\":2,\"width\":8,\"head_width\":4,\"layers\":2,"             \
    "\"mlp_ratio\":2.0"

/* Members, and the golden logits that they lead to. */
static const struct variant {
    const char *members, *logits;
} VARIANTS[] = {
    {"", "logits.tok"},
    {",\"pool_type\":\"tok\",\"final_ln_after_pool\":true", "logits.tok"},
    {",\"pool_type\":\"avg\"", "logits.avg"},
    {",\"pool_type\":\"avg\",\"final_ln_after_pool\":true", "logits.after"},
    {",\"pool_type\":\"avg\",\"final_ln_after_pool\":true,\"no_ln_pre\":true", "logits.clipa"},
    {",\"norm_kwargs\":{\"eps\":0.03}", "logits.eps"},
    {",\"norm_kwargs\":{},\"act_kwargs\":null", "logits.tok"},
    {",\"act_kwargs\":{\"approximate\":\"tanh\"}", "logits.tanh"},
    {",\"act_kwargs\":{\"approximate\":\"none\"}", "logits.tok"},
    {",\"block_type\":\"custom\",\"qk_norm\":false,\"scale_heads\":null", "logits.tok"},
    {",\"pos_embed_type\":\"sin_cos_2d\",\"output_tokens\":true,\"patch_dropout\":0.5",
     "logits.tok"},
};
enum { VARIANT_COUNT = sizeof VARIANTS / sizeof *VARIANTS };

START_TEST(test_members_without_tensors_count)
{
    static own_tensor list[CASE_TENSORS];
    const struct variant *of = &VARIANTS[_i];
    open_case all, *self = &all;
    svit_model *model = NULL;
    svit_model_config config;
    size_t kept = 0;
    case_begin(self, "openclip_tower");
    const size_t count = own_golden(list, self, "");
    for (size_t i = 0; i < count; i++)
        if (strstr(of->members, "no_ln_pre") && strstr(list[i].name, "ln_pre"))
            golden_free((float *)(uintptr_t)list[i].from);
        else
            list[kept++] = list[i];
    own_write(self, list, kept + add_text(list + kept, true));
    write_config(self, TOWER, of->members);
    const svit_status status = case_open(self, &model, NULL);
    ck_assert_msg(status == SVIT_OK, "%s", self->err.message);
    WORKS(svit_model_get_config(model, &config, sizeof config, err));
    ck_assert_uint_eq(config.input_height, 4);
    ck_assert_uint_eq(config.input_width, 8);
    ck_assert_double_le(case_difference_from(self, model, of->logits), 1e-5);
    svit_model_free(model);
    own_free(list, kept);
    case_end(self);
}
END_TEST

/* The golden logits tell the variants apart, so that the test above can fail. */
START_TEST(test_the_variants_differ)
{
    open_case all, *self = &all;
    case_begin(self, "openclip_tower");
    for (size_t a = 0; a < VARIANT_COUNT; a++)
        for (size_t b = 0; b < a; b++) {
            size_t elements;
            float *one = golden_floats(self->golden, VARIANTS[a].logits, &elements);
            float *other = golden_floats(self->golden, VARIANTS[b].logits, NULL);
            if (strcmp(VARIANTS[a].logits, VARIANTS[b].logits) != 0)
                ck_assert_double_gt(golden_difference(one, other, elements), 1e-4);
            golden_free(one);
            golden_free(other);
        }
    case_end(self);
}
END_TEST

/* Members that are refused by their names, with what is accepted. */
static const struct refused {
    const char *vision, *members, *part;
} REFUSED[] = {
    {TOWER, ",\"pool_type\":\"none\"", "pool_type is 'none'; 'tok' and 'avg' are accepted"},
    {TOWER, ",\"pool_type\":7", "pool_type is no text"},
    {TOWER, ",\"qk_norm\":true", "qk_norm is true; false is accepted"},
    {TOWER, ",\"scaled_cosine_attn\":true", "scaled_cosine_attn is true; false is accepted"},
    {TOWER, ",\"scale_heads\":true", "scale_heads is true; false is accepted"},
    {TOWER, ",\"scale_fc\":1", "scale_fc is neither true nor false"},
    {TOWER, ",\"no_ln_pre\":\"a\"", "no_ln_pre is neither true nor false"},
    {TOWER, ",\"attentional_pool\":\"parallel\"", "attentional_pool: CoCa"},
    {TOWER, ",\"block_type\":\"other\"", "block_type is 'other'; 'default' and 'custom'"},
    {TOWER, ",\"norm_kwargs\":{\"eps\":1e-5,\"bias\":false}", "norm_kwargs has other members than"},
    {TOWER, ",\"norm_kwargs\":{\"eps\":\"a\"}", "norm_kwargs has an eps that is no number"},
    {TOWER, ",\"norm_kwargs\":7", "norm_kwargs has other members than 'eps'"},
    {TOWER, ",\"act_kwargs\":{\"approximate\":\"erf\"}", "approximate 'erf'; 'none' and 'tanh'"},
    {TOWER, ",\"act_kwargs\":{\"alpha\":1}", "act_kwargs has other members than 'approximate'"},
    {TOWER, "},\"quick_gelu\":true,\"a\":{", NULL},
    {TOWER, ",\"act_kwargs\":{\"approximate\":\"none\"}},\"quick_gelu\":true,\"a\":{",
     "with quick_gelu neither"},
    {TOWER, ",\"input_patchnorm\":true", "vision_cfg has 'input_patchnorm', which this library"},
    {TOWER, ",\"timm_model_name\":\"vit_tiny_patch16_224\"",
     "timm_model_name is 'vit_tiny_patch16_224', but the tensors are those of OpenCLIP's own"},
    {"\"head_width\":\"a\"", "", "head_width is not a number"},
#define PATCHES "\"image_size\":[4,8],\"width\":8,\"head_width\":4,\"patch_size\":"
    {PATCHES "2", "", NULL},
    {PATCHES "[2,2]", "", NULL},
    {PATCHES "null", "", NULL},
    {PATCHES "[2,4]", "",
     "open_clip_config.json: patch_size is 2 x 4; square patches are accepted"},
    {PATCHES "[2]", "", "open_clip_config.json: patch_size is neither a number nor two"},
    {PATCHES "4", "", "patch_size is 4 by open_clip_config.json: patch_size, but 2 by the tensors"},
};
enum { REFUSED_COUNT = sizeof REFUSED / sizeof *REFUSED };

START_TEST(test_other_towers_are_refused)
{
    const struct refused *of = &REFUSED[_i];
    open_case all, *self = &all;
    svit_model *model = NULL;
    case_begin(self, "openclip_tower");
    case_weights(self, "");
    write_config(self, of->vision, of->members);
    const svit_status status = case_open(self, &model, NULL);
    ck_assert_msg((status == SVIT_OK) == !of->part, "%d: %s", (int)status, self->err.message);
    if (of->part)
        ck_assert_msg(strstr(self->err.message, of->part), "%s", self->err.message);
    svit_model_free(model);
    case_end(self);
}
END_TEST

/* Without the linear map the logits are the features, as many as the width. */
START_TEST(test_a_tower_opens_without_its_linear_map)
{
    static own_tensor list[CASE_TENSORS];
    open_case all, *self = &all;
    svit_model *model = NULL;
    svit_model_config config;
    case_begin(self, "openclip_tower");
    const size_t count = own_golden(list, self, "");
    own_write(self, list, count);
    write_config(self, TOWER, "");
    WORKS(case_open(self, &model, "{\"classifier\":false}"));
    WORKS(svit_model_get_config(model, &config, sizeof config, err));
    ck_assert_uint_eq(config.num_classes, 8);
    svit_model_free(model);
    /* A width that the tensors do not have is refused as that of the map. */
    case_text(self, "open_clip_config.json",
              "{\"model_cfg\":{\"embed_dim\":6,\"vision_cfg\":{" TOWER "}}}");
    ck_assert_int_eq(case_open(self, &model, NULL), SVIT_E_FORMAT);
    ck_assert_msg(strstr(self->err.message, "num_classes is 6 by open_clip_config.json: embed_dim, "
                                            "but 5 by the tensors"),
                  "%s", self->err.message);
    own_free(list, count);
    case_end(self);
}
END_TEST

/* A tower of timm in a whole checkpoint, whose classifier is OpenCLIP's linear map or none. */
typedef enum projection { NONE, LINEAR, LINEAR_BIAS, PROJECTIONS } projection;
enum { OUTPUTS = 5 };

static float weight_of(size_t o, size_t i)
{
    return (float)((double)((o * 29 + i * 13) % 17) / 17 - 0.4);
}

/* W f + b of the golden features of both images. */
static void check_projected(const open_case *self, svit_model *model, bool is_biased)
{
    svit_session *session;
    size_t elements;
    float logits[2 * OUTPUTS];
    float *input = golden_floats(self->golden, "input", NULL);
    float *features = golden_floats(self->golden, "logits", &elements);
    WORKS(svit_session_create(&session, model, NULL, err));
    for (size_t n = 0; n < 2; n++) {
        svit_model_config config;
        WORKS(svit_model_get_config(model, &config, sizeof config, err));
        const size_t pixels = (size_t)config.input_height * config.input_width * 3;
        WORKS(svit_forward(session, input + n * pixels, 1, logits, err));
        for (size_t o = 0; o < OUTPUTS; o++) {
            double wanted = is_biased ? (double)weight_of(o, 90) : 0;
            for (size_t i = 0; i < elements / 2; i++)
                wanted += (double)weight_of(o, i) * (double)features[n * elements / 2 + i];
            ck_assert_double_le(fabs((double)logits[o] - wanted), 2e-5);
        }
    }
    svit_session_free(session);
    golden_free(input);
    golden_free(features);
}

/* Adds the map; its values outlive the call. */
static size_t add_projection(own_tensor *list, size_t features, bool is_biased)
{
    static float weight[OUTPUTS * 1024], bias[OUTPUTS];
    for (size_t o = 0; o < OUTPUTS; o++) {
        bias[o] = weight_of(o, 90);
        for (size_t i = 0; i < features; i++)
            weight[o * features + i] = weight_of(o, i);
    }
    const int64_t shape[] = {OUTPUTS, (int64_t)features};
    list[0] = own("visual.head.proj.weight", 2, shape, weight);
    list[1] = own("visual.head.proj.bias", 1, shape, bias);
    return 1 + is_biased;
}

START_TEST(test_towers_of_timm_open_with_their_text_tower)
{
    static const char *const members[] = {
        [NONE] = "\"timm_pool\":\"map\",\"timm_proj\":\"none\",",
        [LINEAR] = "\"timm_pool\":\"map\",\"timm_proj\":\"linear\",",
        /* The map is the default, and without a text the pooling is the name's. */
        [LINEAR_BIAS] = "\"timm_pool\":\"\",\"timm_proj_bias\":true,"};
    static own_tensor list[CASE_TENSORS];
    open_case all, *self = &all;
    svit_model *model = NULL;
    size_t features;
    case_begin(self, "family_timm_siglip");
    golden_free(golden_floats(self->golden, "logits", &features));
    const size_t golden = own_golden(list, self, "visual.trunk.");
    size_t count = golden + add_text(list + golden, false);
    if (_i != NONE)
        count += add_projection(list + count, features / 2, _i == LINEAR_BIAS);
    own_write(self, list, count);
    write_config(self, members[_i],
                 "\"timm_model_name\":\"timm/vit_base_patch16_siglip_224.webli\"");
    const svit_status status = case_open(self, &model, "{\"heads\":3}");
    ck_assert_msg(status == SVIT_OK, "%s", self->err.message);
    if (_i == NONE)
        ck_assert_double_le(case_difference(self, model), 1e-5);
    else
        check_projected(self, model, _i == LINEAR_BIAS);
    svit_model_free(model);
    /* What is neither the tower nor beside it is still refused. */
    list[golden] = own("unknown.weight", 1, ONE, NULL);
    own_write(self, list, count);
    FAILS(svit_model_open(&model, self->context, self->folder.path,
                          &(svit_open_options){.struct_size = sizeof(svit_open_options),
                                               .fields = "{\"heads\":3}"},
                          NULL, err),
          SVIT_E_FORMAT, "'unknown.weight' belongs to no parameter");
    own_free(list, golden);
    case_end(self);
}
END_TEST

/* Where timm_pool is absent it is the mean of the patches, whatever the name says. */
START_TEST(test_the_pooling_of_timm_is_the_mean)
{
    static const struct {
        const char *members, *part; /* NULL: the golden logits */
    } cases[] = {
        {",\"timm_proj\":null", NULL},
        {",\"timm_proj\":\"\",\"timm_pool\":\"avg\"", NULL},
        {",\"timm_proj\":\"\",\"timm_pool\":\"\"", "timm_pool is ''; 'token', 'avg', 'map' and"},
        {",\"timm_proj\":\"\",\"timm_pool\":\"abs_attn\"", "timm_pool is 'abs_attn'; 'token'"},
        {",\"timm_proj\":\"\",\"timm_pool\":3", "timm_pool is no text"},
        {",\"timm_proj\":\"mlp\"", "timm_proj is 'mlp'; 'linear', 'none', '' and null"},
        {",\"timm_proj\":\"\",\"timm_img_size\":3", "vision_cfg has 'timm_img_size'"},
    };
    static const char TOWER_OF_TIMM[] =
        "\"timm_model_name\":\"vit_tiny_patch16_224\",\"image_size\":[36,48]";
    static const char FIELDS[] = "{\"heads\":2,\"activation\":\"gelu-tanh\"}";
    open_case all, *self = &all;
    case_begin(self, "pretrained_timm_mean");
    case_weights(self, "visual.trunk.");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        svit_model *model = NULL;
        write_config(self, TOWER_OF_TIMM, cases[i].members);
        if (!cases[i].part) {
            case_agrees(self, FIELDS);
            continue;
        }
        ck_assert_int_ne(case_open(self, &model, FIELDS), SVIT_OK);
        ck_assert_msg(strstr(self->err.message, cases[i].part), "%s", self->err.message);
    }
    case_end(self);
}
END_TEST

/* The mean of a name that pools all tokens is that of all, as in timm's own files. */
START_TEST(test_the_mean_takes_the_tokens_that_the_name_takes)
{
    static const char *const pools[] = {"", ",\"timm_pool\":\"avg\""};
    static const char *const names[] = {"test_vit3", "test_vit2"};
    static const int32_t pooled[] = {SVIT_POOL_MEAN, SVIT_POOL_MEAN_PATCHES};
    static own_tensor list[CASE_TENSORS], kept[CASE_TENSORS];
    char vision[200];
    open_case all, *self = &all;
    svit_model *model = NULL;
    svit_model_config config;
    size_t left = 0;
    case_begin(self, "timm_pools");
    const size_t count = own_golden(list, self, "visual.trunk.");
    for (size_t i = 0; i < count; i++)
        if (!strstr(list[i].name, "attn_pool."))
            kept[left++] = list[i];
    own_write(self, kept, left);
    own_free(list, count);
    for (size_t i = 0; i < 4; i++) {
        snprintf(vision, sizeof vision,
                 "\"timm_model_name\":\"%s\",\"image_size\":16,\"timm_proj\":\"none\"",
                 names[i / 2]);
        write_config(self, vision, pools[i % 2]);
        const svit_status status = case_open(self, &model, "{\"heads\":2}");
        ck_assert_msg(status == SVIT_OK, "%s", self->err.message);
        WORKS(svit_model_get_config(model, &config, sizeof config, err));
        ck_assert_int_eq(config.pool, pooled[i / 2]);
        ck_assert_int_eq(case_difference_from(self, model, "logits.avg") <= 1e-5, i / 2 == 0);
        svit_model_free(model);
    }
    case_end(self);
}
END_TEST

static Suite *open_openclip_suite(void)
{
    Suite *suite = suite_create("open_openclip");
    TCase *tcase = tcase_create("open");
    tcase_add_loop_test(tcase, test_members_without_tensors_count, 0, VARIANT_COUNT);
    tcase_add_test(tcase, test_a_tower_opens_without_its_linear_map);
    tcase_add_test(tcase, test_the_variants_differ);
    tcase_add_loop_test(tcase, test_other_towers_are_refused, 0, REFUSED_COUNT);
    tcase_add_loop_test(tcase, test_towers_of_timm_open_with_their_text_tower, 0, PROJECTIONS);
    tcase_add_test(tcase, test_the_pooling_of_timm_is_the_mean);
    tcase_add_test(tcase, test_the_mean_takes_the_tokens_that_the_name_takes);
    suite_add_tcase(suite, tcase);
    return suite;
}

TEST_MAIN(open_openclip_suite)
