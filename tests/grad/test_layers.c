/* Gradients of each layer by itself. A new layer is checked here before a model has it. */
#include "layer_check.h"

#include "suite.h"

static const sv_shape SHAPE = {3, 4, 12}; /* 12 tokens */

static const sv_mlp_names MLP_NAMES = {"norm", "fc1", "fc2", "ls", "hidden"};

/* A norm without a bias is a root-mean-square norm. */
static void add_norm(layer_check *check, const char *weight, const char *bias, int64_t c)
{
    layer_check_add(check, weight, (const int64_t[5]){c});
    if (bias)
        layer_check_add(check, bias, (const int64_t[5]){c});
}

static void add_norm_and_mlp(layer_check *check, const char *norm_bias, int64_t c, int64_t hidden,
                             bool gated)
{
    const int64_t width = gated ? 2 * hidden : hidden;
    add_norm(check, "norm.weight", norm_bias, c);
    layer_check_add(check, "fc1.weight", (const int64_t[5]){width, c});
    layer_check_add(check, "fc1.bias", (const int64_t[5]){width});
    layer_check_add(check, "fc2.weight", (const int64_t[5]){c, hidden});
    layer_check_add(check, "fc2.bias", (const int64_t[5]){c});
}

/* Hidden channels just above what the backward takes by chunks of images (mlp_chunks.c), and a gate
 * so wide that a forward gives rows of tokens to each weight (partition.c), too. */
enum { LARGE = 4200, GATED = 5500 };

static const sv_mlp_options MLPS[] = {
    {.hidden_channels = 20, .dropout = 0.25, .drop_path = 0.25},
    {.hidden_channels = 20, .last_gelu = true, .dropout = 0.25},
    {.hidden_channels = 20, .shift = {.group_channels = 2, .pixels = 1}},
    {.hidden_channels = 20, .shift = {.group_channels = 2, .pixels = 1, .crop = true}},
    {.hidden_channels = 20,
     .shift = {.group_channels = 3, .pixels = 2},
     .norm_per_image = true,
     .dropout = 0.5},
    {.hidden_channels = LARGE, .shift = {.group_channels = 2, .pixels = 1}, .drop_path = 0.5},
    {.hidden_channels = LARGE, .norm_per_image = true},
    {.hidden_channels = 20, .activation = SV_GELU_TANH, .dropout = 0.25},
    {.hidden_channels = 20, .activation = SV_QUICK_GELU},
    {.hidden_channels = 20, .gated = true, .dropout = 0.25},
    {.hidden_channels = GATED, .gated = true, .dropout = 0.5},
    {.hidden_channels = LARGE, .activation = SV_QUICK_GELU, .dropout = 0.5},
};
enum { MLP_COUNT = sizeof MLPS / sizeof *MLPS };

/* Every block; then every block without a shift and a last GELU with LayerScale; then every block
 * with a norm of the hidden channels; then with root-mean-square norms as well, without a shift. */

START_TEST(test_mlp_blocks)
{
    layer_check check = layer_check_open();
    sv_mlp_options options = MLPS[_i % MLP_COUNT];
    const bool scaled = _i / MLP_COUNT == 1, normed = _i / MLP_COUNT >= 2;
    const bool rms = _i / MLP_COUNT == 3;
    options.last_gelu = options.last_gelu && !scaled;
    if (scaled || rms)
        options.shift = (sv_shift_options){0};
    options.norm_per_image = options.norm_per_image && !rms;
    options.shape = SHAPE;
    options.eps = 1e-5;
    options.names = MLP_NAMES;
    add_norm_and_mlp(&check, rms ? NULL : "norm.bias", (int64_t)SHAPE.channels,
                     (int64_t)options.hidden_channels, options.gated);
    if (scaled)
        layer_check_add(&check, "ls", (const int64_t[5]){(int64_t)SHAPE.channels});
    if (normed)
        add_norm(&check, "hidden.weight", rms ? NULL : "hidden.bias",
                 (int64_t)options.hidden_channels);
    check.layer = sv_mlp_create(LAYER_SOURCE(check), &options);
    layer_check_run(&check, true);
    if (options.dropout > 0)
        layer_check_masks(&check);
    layer_check_close(&check);
}
END_TEST

static const sv_token_mlp_options TOKEN_MLPS[] = {
    {.shape = {3, 4, 12}, .hidden = 20, .dropout = 0.25, .drop_path = 0.25},
    {.shape = {7, 5, 37}, .hidden = 9},
    {.shape = {1, 1, 5}, .hidden = 3, .dropout = 0.5},
    {.shape = {5, 5, 2}, .hidden = 1, .drop_path = 0.5},
    {.shape = {3, 11, 33}, .hidden = 65, .dropout = 0.25},
};

START_TEST(test_token_mlp_blocks)
{
    layer_check check = layer_check_open();
    sv_token_mlp_options options = TOKEN_MLPS[_i];
    const int64_t tokens = (int64_t)sv_shape_tokens(options.shape);
    const int64_t c = (int64_t)options.shape.channels, hidden = (int64_t)options.hidden;
    options.eps = 1e-5;
    options.names = MLP_NAMES;
    layer_check_add(&check, "norm.weight", (const int64_t[5]){c});
    layer_check_add(&check, "norm.bias", (const int64_t[5]){c});
    layer_check_add(&check, "fc1.weight", (const int64_t[5]){hidden, tokens});
    layer_check_add(&check, "fc1.bias", (const int64_t[5]){hidden});
    layer_check_add(&check, "fc2.weight", (const int64_t[5]){tokens, hidden});
    layer_check_add(&check, "fc2.bias", (const int64_t[5]){tokens});
    check.layer = sv_token_mlp_create(LAYER_SOURCE(check), &options);
    layer_check_run(&check, true);
    if (options.dropout > 0)
        layer_check_masks(&check);
    layer_check_close(&check);
}
END_TEST

/* With heads of 4 channels the block is not folded, with heads of 40 it is, unless it has
 * LayerScale, norms or rotary positions. The grid of 3 x 3 patches follows 3 other tokens. */
typedef struct attention_case {
    size_t head_dim;
    bool temperature, per_head, masked;
    double dropout;
    bool scaled; /* LayerScale */
    bool qk_norm, output_norm;
    sv_rotary_options rotary;
    bool rms;          /* the norms are root-mean-square norms */
    bool differential; /* differential attention */
} attention_case;

#define PER_HEAD .temperature = true, .per_head = true, .masked = true
#define GRID(word) .kind = SV_ROTARY_##word, .rows = 3, .columns = 3
static const attention_case ATTENTIONS[] = {
    {.head_dim = 4},
    {.head_dim = 4, PER_HEAD, .dropout = 0.25},
    {.head_dim = 4, .temperature = true},
    {.head_dim = 40, .dropout = 0.25},
    {.head_dim = 40, PER_HEAD},
    {.head_dim = 40, .temperature = true, .dropout = 0.25},
    {.head_dim = 4, .dropout = 0.25, .scaled = true},
    {.head_dim = 40, .scaled = true},
    {.head_dim = 8, .rotary = {GRID(AXIAL), .theta = 10, .offset = 1}},
    {.head_dim = 40,
     .rotary = {GRID(AXIAL), .theta = 10, .reference_rows = 7, .reference_columns = 5}},
    {.head_dim = 12, .rotary = {GRID(CENTRED), .theta = 100, .halves = true}},
    {.head_dim = 20,
     .dropout = 0.25,
     .rotary = {GRID(CENTRED), .theta = 100, .columns_first = true}},
    {.head_dim = 4, PER_HEAD, .rotary = {GRID(MIXED)}},
    {.head_dim = 36, .dropout = 0.25, .rotary = {GRID(MIXED), .columns_first = true}},
    {.head_dim = 40, .qk_norm = true},
    {.head_dim = 7, .output_norm = true, .dropout = 0.25},
    {.head_dim = 8, .scaled = true, .qk_norm = true, .output_norm = true, .rotary = {GRID(MIXED)}},
    {.head_dim = 16, .qk_norm = true, .rotary = {GRID(AXIAL), .theta = 3, .halves = true}},
    {.head_dim = 5, .dropout = 0.25, .qk_norm = true, .output_norm = true, .rms = true},
    {.head_dim = 4, .differential = true},
    {.head_dim = 40, .dropout = 0.25, .differential = true},
    {.head_dim = 6, .dropout = 0.5, .scaled = true, .rms = true, .differential = true},
};

static void add_difference(layer_check *check, int64_t d)
{
    static const char *const vectors[] = {"lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2"};
    for (size_t i = 0; i < 4; i++)
        layer_check_add(check, vectors[i], (const int64_t[5]){d / 2});
    layer_check_add(check, "head_norm.weight", (const int64_t[5]){d});
}

static void add_attention(layer_check *check, const attention_case *of, int64_t heads,
                          bool proj_bias)
{
    const int64_t c = (int64_t)SHAPE.channels, d = (int64_t)of->head_dim;
    add_norm(check, "norm.weight", of->rms ? NULL : "norm.bias", c);
    layer_check_add(check, "qkv.weight", (const int64_t[5]){3 * heads * d, c});
    layer_check_add(check, "proj.weight", (const int64_t[5]){c, heads * d});
    if (proj_bias)
        layer_check_add(check, "proj.bias", (const int64_t[5]){c});
    if (of->temperature)
        layer_check_add(check, "tau", (const int64_t[5]){of->per_head ? heads : 1});
    if (of->scaled)
        layer_check_add(check, "ls", (const int64_t[5]){c});
    if (of->qk_norm) {
        add_norm(check, "q_norm.weight", of->rms ? NULL : "q_norm.bias", d);
        add_norm(check, "k_norm.weight", of->rms ? NULL : "k_norm.bias", d);
    }
    if (of->output_norm)
        add_norm(check, "o_norm.weight", of->rms ? NULL : "o_norm.bias", heads * d);
    if (of->differential)
        add_difference(check, d);
    if (of->rotary.kind == SV_ROTARY_MIXED)
        layer_check_add(check, "frequencies", (const int64_t[5]){2, heads, d / 2});
}

static sv_attention_options attention_options(const attention_case *of, size_t heads)
{
    return (sv_attention_options){.shape = SHAPE,
                                  .heads = heads,
                                  .head_dim = of->head_dim,
                                  .per_head = of->per_head,
                                  .masked = of->masked,
                                  .eps = 1e-5,
                                  .dropout = of->dropout,
                                  .rotary = of->rotary,
                                  .lambda_init = of->differential ? 0.35 : 0,
                                  .output_eps = 1e-3,
                                  .names = {.norm = "norm",
                                            .qkv = "qkv",
                                            .proj = "proj",
                                            .temperature = "tau",
                                            .layer_scale = "ls",
                                            .query_norm = "q_norm",
                                            .key_norm = "k_norm",
                                            .attention_norm = "o_norm",
                                            .frequencies = "frequencies",
                                            .lambda = "lambda_",
                                            .output_norm = "head_norm"}};
}

START_TEST(test_attention_blocks)
{
    enum { HEADS = 2 };
    layer_check check = layer_check_open();
    const attention_case *of = &ATTENTIONS[_i];
    const sv_attention_options options = attention_options(of, HEADS);
    add_attention(&check, of, HEADS, true);
    check.layer = sv_attention_create(LAYER_SOURCE(check), &options);
    layer_check_run(&check, true);
    if (options.dropout > 0)
        layer_check_masks(&check);
    layer_check_close(&check);
}
END_TEST

/* Blocks whose MLP's backward is that of chunks and that of blocks of images, with one bias of both
 * outputs or two. */
typedef struct parallel_case {
    int64_t hidden;
    attention_case attention;
    bool fused;
    double drop_path;
} parallel_case;
static const parallel_case PARALLELS[] = {
    {20, {.head_dim = 4}, false, 0},
    {20, {.head_dim = 4, .dropout = 0.25, .qk_norm = true, .rms = true}, false, 0.25},
    {20, {.head_dim = 4, .dropout = 0.5, .scaled = true, .differential = true}, true, 0.25},
    {20, {.head_dim = 40, .dropout = 0.25}, true, 0.5},
    {20, {.head_dim = 4, .scaled = true, .rotary = {GRID(AXIAL), .theta = 10}}, true, 0},
    {LARGE, {.head_dim = 4, .dropout = 0.5, .scaled = true, .rms = true}, false, 0},
};

START_TEST(test_parallel_blocks)
{
    enum { HEADS = 2 };
    layer_check check = layer_check_open();
    const parallel_case *of = &PARALLELS[_i];
    const int64_t c = (int64_t)SHAPE.channels;
    sv_attention_options attention = attention_options(&of->attention, HEADS);
    const sv_mlp_options mlp = {.shape = SHAPE,
                                .hidden_channels = (size_t)of->hidden,
                                .eps = 1e-5,
                                .dropout = of->attention.dropout,
                                .drop_path = of->drop_path,
                                .names = {"norm", "fc1", "fc2", "ls", NULL}};
    attention.drop_path = of->drop_path;
    add_attention(&check, &of->attention, HEADS, !of->fused);
    layer_check_add(&check, "fc1.weight", (const int64_t[5]){of->hidden, c});
    layer_check_add(&check, "fc1.bias", (const int64_t[5]){of->hidden});
    layer_check_add(&check, "fc2.weight", (const int64_t[5]){c, of->hidden});
    layer_check_add(&check, "fc2.bias", (const int64_t[5]){c});
    check.layer = sv_parallel_create(LAYER_SOURCE(check), &attention, &mlp);
    layer_check_run(&check, true);
    if (mlp.dropout > 0)
        layer_check_masks(&check);
    layer_check_close(&check);
}
END_TEST

START_TEST(test_norms)
{
    layer_check check = layer_check_open();
    const sv_norm_options options = {SHAPE, "norm", _i == 1, 1e-5};
    add_norm(&check, "norm.weight", _i == 2 ? NULL : "norm.bias", (int64_t)SHAPE.channels);
    check.layer = sv_norm_create(LAYER_SOURCE(check), &options);
    layer_check_run(&check, true);
    layer_check_close(&check);
}
END_TEST

START_TEST(test_patches)
{
    layer_check check = layer_check_open();
    const sv_patch_options options = {
        .in = {5, 7, 4}, .size = 2, .channels_out = 6, .same_padding = _i == 1, .name = "patch"};
    layer_check_add(&check, "patch.weight", (const int64_t[5]){6, 4, 2, 2});
    layer_check_add(&check, "patch.bias", (const int64_t[5]){6});
    check.layer = sv_patch_create(LAYER_SOURCE(check), &options);
    layer_check_run(&check, true);
    layer_check_close(&check);
}
END_TEST

/* The layer computes no gradient of the image. */
START_TEST(test_shifted_patch_tokens)
{
    layer_check check = layer_check_open();
    const sv_shifted_options options = {{8, 12, 3}, 4, 6, _i == 1, 1e-5, "norm", "projection"};
    layer_check_add(&check, "norm.weight", (const int64_t[5]){240});
    layer_check_add(&check, "norm.bias", (const int64_t[5]){240});
    layer_check_add(&check, "projection.weight", (const int64_t[5]){6, 240});
    layer_check_add(&check, "projection.bias", (const int64_t[5]){6});
    check.layer = sv_shifted_tokens_create(LAYER_SOURCE(check), &options);
    layer_check_run(&check, true);
    layer_check_close(&check);
}
END_TEST

static const struct {
    sv_shape in;
    size_t heads;
} POOLS[] = {{{3, 4, 12}, 2}, {{1, 2, 6}, 3},  {{1, 7, 5}, 5},
             {{5, 7, 33}, 1}, {{2, 3, 48}, 3}, {{1, 2, 64}, 1}};

START_TEST(test_attention_pools)
{
    layer_check check = layer_check_open();
    const sv_attention_pool_options options = {POOLS[_i].in, POOLS[_i].heads, "latent", "q",
                                               "kv",         "proj"};
    const int64_t c = (int64_t)options.in.channels;
    layer_check_add(&check, "latent", (const int64_t[5]){1, 1, c});
    layer_check_add(&check, "q.weight", (const int64_t[5]){c, c});
    layer_check_add(&check, "q.bias", (const int64_t[5]){c});
    layer_check_add(&check, "kv.weight", (const int64_t[5]){2 * c, c});
    layer_check_add(&check, "kv.bias", (const int64_t[5]){2 * c});
    layer_check_add(&check, "proj.weight", (const int64_t[5]){c, c});
    layer_check_add(&check, "proj.bias", (const int64_t[5]){c});
    check.layer = sv_attention_pool_create(LAYER_SOURCE(check), &options);
    layer_check_run(&check, true);
    layer_check_close(&check);
}
END_TEST

/* Position embeddings: of patches alone; of a class token too; of all of a class token, a
 * distillation token and 3 registers; of all but the registers; of the patches behind them; of the
 * patches behind registers alone; and none. */
static const struct {
    int64_t positioned;
    bool class_token, distillation;
    int64_t registers;
} POSITIONS[] = {{0, false, false, 0}, {1, true, false, 0},  {5, true, true, 3},
                 {2, true, true, 3},   {0, true, false, 3},  {0, false, false, 2},
                 {-1, true, false, 3}, {-1, false, false, 1}};
enum { POSITION_COUNT = sizeof POSITIONS / sizeof *POSITIONS };

START_TEST(test_positions)
{
    layer_check check = layer_check_open();
    const int64_t c = (int64_t)SHAPE.channels, registers = POSITIONS[_i].registers;
    const bool none = POSITIONS[_i].positioned < 0;
    if (!none)
        layer_check_add(&check, "position", (const int64_t[5]){POSITIONS[_i].positioned + 12, c});
    if (POSITIONS[_i].class_token)
        layer_check_add(&check, "class", (const int64_t[5]){1, 1, c});
    if (POSITIONS[_i].distillation)
        layer_check_add(&check, "distillation", (const int64_t[5]){1, 1, c});
    if (registers > 0)
        layer_check_add(&check, "registers", (const int64_t[5]){1, registers, c});
    const sv_position_options options = {
        .in = SHAPE,
        .position = none ? NULL : "position",
        .class_token = POSITIONS[_i].class_token ? "class" : NULL,
        .distillation_token = POSITIONS[_i].distillation ? "distillation" : NULL,
        .register_tokens = "registers",
        .register_count = (size_t)registers,
        .positioned_prefix = none ? 0 : (size_t)POSITIONS[_i].positioned};
    check.layer = sv_position_create(LAYER_SOURCE(check), &options);
    layer_check_run(&check, true);
    layer_check_close(&check);
}
END_TEST

START_TEST(test_small_layers)
{
    layer_check check = layer_check_open();
    const int64_t c = (int64_t)SHAPE.channels;
    switch (_i) {
    case 0:
        layer_check_add(&check, "fc.weight", (const int64_t[5]){7, c});
        layer_check_add(&check, "fc.bias", (const int64_t[5]){7});
        check.layer = sv_dense_create(LAYER_SOURCE(check), SHAPE, 7, "fc");
        break;
    case 1:
        check.layer = sv_gelu_create(LAYER_SOURCE(check), SHAPE);
        break;
    case 2:
        check.layer = sv_dropout_create(LAYER_SOURCE(check), SHAPE, 0.5);
        break;
    case 3:
        check.layer = sv_mean_create(LAYER_SOURCE(check), SHAPE);
        break;
    case 4:
        check.layer = sv_first_tokens_create(LAYER_SOURCE(check), SHAPE, 2);
        break;
    case 5:
        layer_check_add(&check, "dw.weight", (const int64_t[5]){c, 1, 3, 3});
        layer_check_add(&check, "dw.bias", (const int64_t[5]){c});
        check.layer = sv_depthwise_create(LAYER_SOURCE(check), SHAPE, "dw");
        break;
    case 6:
    case 7:
        check.layer = sv_patch_mean_create(LAYER_SOURCE(check), SHAPE, 3, _i == 7);
        break;
    default:
        for (int head = 0; head < 2; head++) {
            layer_check_add(&check, head ? "b.weight" : "a.weight", (const int64_t[5]){7, c});
            layer_check_add(&check, head ? "b.bias" : "a.bias", (const int64_t[5]){7});
        }
        check.layer =
            sv_distilled_head_create(LAYER_SOURCE(check), (sv_shape){1, 2, c}, 7, "a", "b");
    }
    layer_check_run(&check, true);
    layer_check_close(&check);
}
END_TEST

static Suite *layers_suite(void)
{
    Suite *suite = suite_create("gradients of single layers");
    TCase *all = tcase_create("layers");
    tcase_add_loop_test(all, test_mlp_blocks, 0, 4 * MLP_COUNT);
    tcase_add_loop_test(all, test_attention_pools, 0, sizeof POOLS / sizeof *POOLS);
    tcase_add_loop_test(all, test_token_mlp_blocks, 0, sizeof TOKEN_MLPS / sizeof *TOKEN_MLPS);
    tcase_add_loop_test(all, test_attention_blocks, 0, sizeof ATTENTIONS / sizeof *ATTENTIONS);
    tcase_add_loop_test(all, test_parallel_blocks, 0, sizeof PARALLELS / sizeof *PARALLELS);
    tcase_add_loop_test(all, test_norms, 0, 3);
    tcase_add_loop_test(all, test_patches, 0, 2);
    tcase_add_loop_test(all, test_shifted_patch_tokens, 0, 2);
    tcase_add_loop_test(all, test_positions, 0, POSITION_COUNT);
    tcase_add_loop_test(all, test_small_layers, 0, 9);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(layers_suite)
