/* The parameters of a ShiftViT, with the names, shapes and order of the state dict of the paper's
 * code. */
#include "models/architecture.h"
#include "models/parts/conv_stem.h"
#include "models/shiftvit/shiftvit.h"

#include <stdio.h>

static svit_status add_patch_embedding(const sv_scope *in, const svit_model_config *config)
{
    if (config->stem == SVIT_STEM_WHITENED) {
        const size_t whitened_channels = sv_shiftvit_whitened_channels(config);
        SVIT_TRY(sv_scope_convolution(in, SV_SHIFTVIT_WHITEN, whitened_channels,
                                      config->in_channels, config->patch_size, true));
        SVIT_TRY(
            sv_scope_convolution(in, SV_SHIFTVIT_EMBED, config->dim, whitened_channels, 1, true));
    } else if (config->stem == SVIT_STEM_CONV) {
        SVIT_TRY(sv_conv_stem_parameters(in, config));
    } else {
        SVIT_TRY(sv_scope_convolution(in, SV_SHIFTVIT_EMBED, config->dim, config->in_channels,
                                      config->patch_size, true));
    }
    return config->patch_norm ? sv_scope_norm(in, "patch_embed.norm", config->dim) : SVIT_OK;
}

static svit_status add_block(const sv_scope *in, size_t c, size_t hidden, bool depthwise)
{
    if (depthwise)
        SVIT_TRY(sv_scope_convolution(in, "dwconv", c, 1, 3, true));
    SVIT_TRY(sv_scope_norm(in, "norm2", c));
    SVIT_TRY(sv_scope_convolution(in, "mlp.fc1", hidden, c, 1, true));
    return sv_scope_convolution(in, "mlp.fc2", c, hidden, 1, true);
}

/* Patch merging. The file has the reduction before its norm, although it is applied after it. */
static svit_status add_merge(const sv_scope *in, size_t c)
{
    SVIT_TRY(sv_scope_convolution(in, "downsample.reduction", 2 * c, c, 2, false));
    return sv_scope_norm(in, "downsample.norm", c);
}

/* *depth is that of the stage's first block, and becomes that of the next stage's, to which the
 * patch merging belongs. */
static svit_status add_stage(const sv_scope *in, const svit_model_config *config, uint32_t stage,
                             uint32_t *depth)
{
    char prefix[48];
    sv_scope inner = {in->table, prefix, in->err, *depth, false};
    size_t c = sv_shiftvit_stage_channels(config, stage);
    for (uint32_t block = 0; block < config->blocks[stage]; block++, inner.depth++) {
        snprintf(prefix, sizeof prefix, "layers.%u.blocks.%u.", stage, block);
        SVIT_TRY(add_block(&inner, c, sv_shiftvit_stage_hidden(config, stage),
                           config->mixer == SVIT_MIXER_DEPTHWISE));
    }
    *depth = inner.depth;
    if (stage + 1 == config->stages)
        return SVIT_OK;
    snprintf(prefix, sizeof prefix, "layers.%u.", stage);
    return add_merge(&inner, c);
}

static svit_status add_head(const sv_scope *in, const svit_model_config *config)
{
    size_t c = sv_shiftvit_stage_channels(config, config->stages - 1);
    if (config->final_norm)
        SVIT_TRY(sv_scope_norm(in, "norm", c));
    return config->classifier ? sv_scope_classifier(in, "head", config->num_classes, c) : SVIT_OK;
}

svit_status sv_shiftvit_parameters(sv_scope *top, const svit_model_config *config)
{
    uint32_t depth = 1;
    SVIT_TRY(add_patch_embedding(top, config));
    for (uint32_t stage = 0; stage < config->stages; stage++)
        SVIT_TRY(add_stage(top, config, stage, &depth));
    top->depth = top->table->depths;
    return add_head(top, config);
}
