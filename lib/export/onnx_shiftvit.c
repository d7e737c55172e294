/* The ONNX graph of a ShiftViT; models/shiftvit/shiftvit_layers.c has the same parts. */
#include "base/size.h"
#include "export/onnx.h"
#include "export/onnx_ops.h"
#include "models/shiftvit/shiftvit.h"

#include <stdio.h>
#include <string.h>

/* The feature map that the next layer reads: its value [N, height, width, channels], and the height
 * and width, which paddings and shifts depend on. */
typedef struct shiftvit_graph {
    sv_onnx_graph *graph;
    const svit_model_config *config;
    sv_onnx_value x;
    size_t height, width;
} shiftvit_graph;

static void add_norm(shiftvit_graph *self, const char *name)
{
    self->x = self->config->norm == SVIT_NORM_GROUP
                  ? sv_onnx_group_norm(self->graph, &self->x, name)
                  : sv_onnx_layer_norm(self->graph, &self->x, name);
}

/* A convolution whose kernel size is its stride. SVIT_PADDING_SAME completes the last patches; the
 * line that two sides cannot share is below or right. */
static void add_patches(shiftvit_graph *self, const char *name, size_t size, int32_t padding)
{
    const size_t rows = sv_shiftvit_strided(self->height, size, padding);
    const size_t columns = sv_shiftvit_strided(self->width, size, padding);
    sv_onnx_convolution options = {.name = name, .stride = (int64_t)size, .groups = 1};
    if (padding == SVIT_PADDING_SAME) {
        const int64_t more_rows = (int64_t)(rows * size - self->height);
        const int64_t more_columns = (int64_t)(columns * size - self->width);
        options.padding[0] = more_rows / 2;
        options.padding[1] = more_columns / 2;
        options.padding[2] = more_rows - more_rows / 2;
        options.padding[3] = more_columns - more_columns / 2;
    }
    self->x = sv_onnx_convolve(self->graph, &self->x, &options);
    self->height = rows;
    self->width = columns;
}

static void add_stem(shiftvit_graph *self)
{
    const svit_model_config *config = self->config;
    sv_onnx_scope(self->graph, "%s", "patch_embed");
    if (config->stem == SVIT_STEM_CONV) {
        self->x = sv_onnx_conv_stem(self->graph, &self->x, config);
        self->height = sv_shiftvit_strided(self->height, config->patch_size, SVIT_PADDING_SAME);
        self->width = sv_shiftvit_strided(self->width, config->patch_size, SVIT_PADDING_SAME);
    } else if (config->stem == SVIT_STEM_WHITENED) {
        add_patches(self, SV_SHIFTVIT_WHITEN, config->patch_size, config->patch_padding);
        self->x = sv_onnx_gelu(self->graph, &self->x);
        self->x = sv_onnx_linear(self->graph, &self->x, SV_SHIFTVIT_EMBED);
    } else {
        add_patches(self, SV_SHIFTVIT_EMBED, config->patch_size, config->patch_padding);
    }
    if (config->patch_norm)
        add_norm(self, "patch_embed.norm");
}

/* The four groups of channels that shift: y[h, w] = x[h + down p, w + right p], zero outside. */
enum { GROUPS = 4 };
static const int DOWN[GROUPS] = {0, 0, 1, -1}, RIGHT[GROUPS] = {1, -1, 0, 0};

/* SVIT_SHIFT_TRUE: boxes of the map with zeros around it. */
static void shift(shiftvit_graph *self, sv_onnx_value parts[GROUPS], size_t group)
{
    const int64_t pixels = self->config->shift_pixel;
    const int64_t height = (int64_t)self->height, width = (int64_t)self->width;
    const int64_t rows = pixels < height ? pixels : height;
    const int64_t columns = pixels < width ? pixels : width;
    const sv_onnx_value padded = sv_onnx_pad(self->graph, &self->x, (size_t)rows, (size_t)columns);
    for (size_t i = 0; i < GROUPS; i++) {
        const int64_t top = rows + DOWN[i] * rows, left = columns + RIGHT[i] * columns;
        const int64_t begins[3] = {top, left, (int64_t)(i * group)};
        const int64_t ends[3] = {top + height, left + width, (int64_t)((i + 1) * group)};
        parts[i] = sv_onnx_slice_box(self->graph, &padded, begins, ends);
    }
}

/* A constant [lines, 1, 1] or [lines, 1] by `rank`: 0 for a line if the line that is shift_pixel
 * lines further in the direction `step` (1 or -1) lies outside, otherwise 1. `mask` is scratch for
 * `lines` floats. */
static sv_onnx_value border_mask(shiftvit_graph *self, size_t lines, int step, float *mask,
                                 size_t rank)
{
    const int64_t pixels = self->config->shift_pixel;
    const int64_t shape[3] = {(int64_t)lines, 1, 1};
    for (size_t i = 0; i < lines; i++) {
        const int64_t from = (int64_t)i + step * pixels;
        mask[i] = from >= 0 && from < (int64_t)lines;
    }
    return sv_onnx_tensor(self->graph, mask, shape, rank);
}

/* SVIT_SHIFT_KERAS: nothing moves, and what would have come from outside becomes zero. */
static void clear_borders(shiftvit_graph *self, sv_onnx_value parts[GROUPS], size_t group)
{
    const sv_allocator *allocator = self->graph->nodes.allocator;
    const size_t bytes = sv_size_max(self->height, self->width) * sizeof(float);
    float *mask = sv_allocate(allocator, bytes);
    if (!mask) {
        self->graph->nodes.status = SVIT_E_MEMORY;
        return;
    }
    for (size_t i = 0; i < GROUPS; i++) {
        const sv_onnx_value keep = DOWN[i] ? border_mask(self, self->height, DOWN[i], mask, 3)
                                           : border_mask(self, self->width, RIGHT[i], mask, 2);
        parts[i] = sv_onnx_slice(self->graph, &self->x, 3, i * group, (i + 1) * group);
        parts[i] = sv_onnx_binary(self->graph, "Mul", &parts[i], &keep);
    }
    sv_release(allocator, mask, bytes);
}

static void add_shift(shiftvit_graph *self, size_t stage)
{
    const size_t group = sv_shiftvit_stage_group(self->config, stage);
    const size_t channels = sv_shiftvit_stage_channels(self->config, stage);
    sv_onnx_value parts[GROUPS + 1];
    size_t count = GROUPS;
    if (group == 0 || self->config->shift_pixel == 0)
        return;
    memset(parts, 0, sizeof parts);
    if (self->config->shift == SVIT_SHIFT_KERAS)
        clear_borders(self, parts, group);
    else
        shift(self, parts, group);
    if (GROUPS * group < channels)
        parts[count++] = sv_onnx_slice(self->graph, &self->x, 3, GROUPS * group, channels);
    self->x = sv_onnx_concat(self->graph, parts, count, 3);
}

/* x + conv(x), a convolution of each channel by itself. */
static void add_depthwise(shiftvit_graph *self, const char *name, size_t stage)
{
    const sv_onnx_convolution options = {
        .name = name,
        .stride = 1,
        .padding = {1, 1, 1, 1},
        .groups = (int64_t)sv_shiftvit_stage_channels(self->config, stage)};
    const sv_onnx_value y = sv_onnx_convolve(self->graph, &self->x, &options);
    self->x = sv_onnx_binary(self->graph, "Add", &self->x, &y);
}

/* x = mixer(x);  x + fc2(gelu(fc1(norm(x)))) */
static void add_block(shiftvit_graph *self, size_t stage, size_t block)
{
    char prefix[48], name[64];
    snprintf(prefix, sizeof prefix, "layers.%zu.blocks.%zu", stage, block);
    sv_onnx_scope(self->graph, "%s", prefix);
    snprintf(name, sizeof name, "%s.dwconv", prefix);
    if (self->config->mixer == SVIT_MIXER_DEPTHWISE)
        add_depthwise(self, name, stage);
    else
        add_shift(self, stage);
    const sv_onnx_value residual = self->x;
    snprintf(name, sizeof name, "%s.norm2", prefix);
    add_norm(self, name);
    snprintf(name, sizeof name, "%s.mlp.fc1", prefix);
    self->x = sv_onnx_linear(self->graph, &self->x, name);
    self->x = sv_onnx_gelu(self->graph, &self->x);
    snprintf(name, sizeof name, "%s.mlp.fc2", prefix);
    self->x = sv_onnx_linear(self->graph, &self->x, name);
    self->x = sv_onnx_binary(self->graph, "Add", &residual, &self->x);
}

/* Patch merging: a norm, then patches of 2 x 2 pixels. */
static void add_merge(shiftvit_graph *self, size_t stage)
{
    char name[64];
    sv_onnx_scope(self->graph, "layers.%zu.downsample", stage);
    snprintf(name, sizeof name, "layers.%zu.downsample.norm", stage);
    add_norm(self, name);
    snprintf(name, sizeof name, "layers.%zu.downsample.reduction", stage);
    add_patches(self, name, 2, self->config->merge_padding);
}

sv_onnx_value sv_shiftvit_onnx(sv_onnx_graph *graph, const sv_onnx_value *images)
{
    const svit_model_config *config = &graph->model->config;
    const int64_t tokens[3] = {0, -1, (int64_t)sv_shiftvit_features(config)};
    shiftvit_graph self = {graph, config, *images, graph->height, graph->width};
    add_stem(&self);
    for (size_t stage = 0; stage < config->stages; stage++) {
        for (size_t block = 0; block < config->blocks[stage]; block++)
            add_block(&self, stage, block);
        if (stage + 1 < config->stages)
            add_merge(&self, stage);
    }
    sv_onnx_scope(graph, "%s", "head");
    if (config->final_norm)
        add_norm(&self, "norm");
    self.x = sv_onnx_reshape(graph, &self.x, tokens, 3);
    self.x = sv_onnx_mean_tokens(graph, &self.x);
    return config->classifier ? sv_onnx_linear(graph, &self.x, "head") : self.x;
}
