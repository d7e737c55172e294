/* What the names and shapes of the tensors tell about a ViT. */
#include "models/open/open_internal.h"

#include "models/load/load_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DEPTH = 1000 };

/* Finds the tensors of a parameter, of which the match keeps the address. An adapter's own come
 * before the model's. */
static bool find(sv_name_match *match, const sv_open *open, const char *const *parameter)
{
    const sv_adapter *adapter = &open->adapter;
    return (adapter->file && sv_name_map_find(match, &adapter->map, adapter->file, parameter)) ||
           sv_name_map_find(match, &open->map, open->file, parameter);
}

bool sv_open_find(const sv_open *open, const char *parameter, sv_tensor_desc *shape)
{
    sv_name_match match;
    sv_tensor_desc found;
    if (!find(&match, open, &parameter) || !sv_name_match_shape(&found, &match) ||
        !sv_load_part_shape(&found, &match))
        return false;
    if (match.kind == SV_RULE_TRANSPOSED && found.rank == 2) {
        const int64_t rows = found.shape[0];
        found.shape[0] = found.shape[1];
        found.shape[1] = rows;
    }
    if (shape)
        *shape = found;
    return true;
}

bool sv_open_has(const sv_open *open, const char *parameter)
{
    return sv_open_find(open, parameter, NULL);
}

bool sv_open_is_named(const sv_open *open, const char *parameter, const char *name)
{
    sv_name_match match;
    if (!find(&match, open, &parameter) || match.count == 0)
        return false;
    const char *whole = sv_name_match_at(&match, 0)->name;
    const size_t length = strlen(whole), end = strlen(name);
    return length >= end && strcmp(whole + length - end, name) == 0 &&
           (length == end || whole[length - end - 1] == '.');
}

svit_status sv_open_state_shape(sv_open *open, const char *field, size_t value, svit_error *err)
{
    return sv_facts_state(&open->facts, field, (double)value, err, "%s", SV_OPEN_TENSORS);
}

/* The patch embedding: a convolution [dim, channels, size, size], or a map of flat patches whose
 * size only a configuration tells. */
static svit_status state_patches(sv_open *open, svit_error *err)
{
    sv_tensor_desc shape;
    if (!sv_open_find(open, "patch_embed.proj.weight", &shape) || shape.rank < 2)
        return sv_fail(err, SVIT_E_FORMAT, "%s: there is no patch embedding", open->weights);
    SVIT_TRY(sv_open_state_shape(open, "dim", (size_t)shape.shape[0], err));
    SVIT_TRY(
        sv_open_state_shape(open, "patch_bias", sv_open_has(open, "patch_embed.proj.bias"), err));
    if (shape.rank != 4)
        return SVIT_OK;
    if (shape.shape[2] != shape.shape[3])
        return sv_fail(err, SVIT_E_UNSUPPORTED,
                       "%s: patches of %lld x %lld pixels; square ones are accepted", open->weights,
                       (long long)shape.shape[2], (long long)shape.shape[3]);
    SVIT_TRY(sv_open_state_shape(open, "in_channels", (size_t)shape.shape[1], err));
    return sv_open_state_shape(open, "patch_size", (size_t)shape.shape[2], err);
}

static size_t count_blocks(const sv_open *open)
{
    size_t depth = 0;
    char name[64];
    do
        snprintf(name, sizeof name, "blocks.%zu.norm1.weight", depth);
    while (sv_open_has(open, name) && ++depth < MAX_DEPTH);
    return depth;
}

/* The first block's attention. Its heads are told by learnt frequencies or norms of queries. */
static svit_status state_attention(sv_open *open, svit_error *err)
{
    sv_tensor_desc shape;
    sv_name_match match;
    const char *bias = "blocks.0.attn.qkv.bias";
    if (!sv_open_find(open, "blocks.0.attn.qkv.weight", &shape) || shape.shape[0] % 3 != 0)
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: block 0 has no queries, keys and values of one width", open->weights);
    const size_t width = (size_t)shape.shape[0] / 3;
    const bool biased = sv_name_map_find(&match, &open->map, open->file, &bias);
    SVIT_TRY(sv_open_state_shape(open, "qkv_bias", biased, err));
    SVIT_TRY(
        sv_open_state_shape(open, "no_key_bias", biased && sv_name_match_has_zeros(&match), err));
    SVIT_TRY(sv_open_state_shape(open, "qk_norm", sv_open_has(open, "blocks.0.attn.q_norm.weight"),
                                 err));
    SVIT_TRY(sv_open_state_shape(open, "attention_norm",
                                 sv_open_has(open, "blocks.0.attn.norm.weight"), err));
    SVIT_TRY(sv_open_state_shape(open, "attention",
                                 sv_open_has(open, "blocks.0.attn.lambda_q1")
                                     ? SVIT_ATTENTION_DIFFERENTIAL
                                     : SVIT_ATTENTION_GLOBAL,
                                 err));
    size_t head = 0;
    if (sv_open_find(open, "blocks.0.attn.rope", &shape) && shape.rank == 3) {
        SVIT_TRY(sv_open_state_shape(open, "rope", SVIT_ROPE_MIXED, err));
        head = 2 * (size_t)shape.shape[2];
    } else if (sv_open_find(open, "blocks.0.attn.q_norm.weight", &shape) ||
               sv_open_find(open, "blocks.0.attn.sub_norm.weight", &shape)) {
        head = (size_t)shape.shape[0];
    }
    if (head > 0 && width % head == 0)
        SVIT_TRY(sv_open_state_shape(open, "heads", width / head, err));
    const double heads = sv_facts_value(&open->facts, "heads", 0);
    if (heads > 0 && fmod((double)width, heads) != 0)
        return sv_fail(err, SVIT_E_FORMAT, "%s: heads is %g by %s; the width of queries is %zu",
                       open->weights, heads, sv_facts_find(&open->facts, "heads")->from, width);
    return heads > 0 ? sv_open_state_shape(open, "head_dim", width / (size_t)heads, err) : SVIT_OK;
}

static svit_status state_mlp(sv_open *open, svit_error *err)
{
    sv_tensor_desc fc1, fc2;
    if (!sv_open_find(open, "blocks.0.mlp.fc1.weight", &fc1) ||
        !sv_open_find(open, "blocks.0.mlp.fc2.weight", &fc2) || fc1.rank < 2 || fc2.rank < 2)
        return sv_fail(err, SVIT_E_FORMAT, "%s: block 0 has no MLP of two layers", open->weights);
    const size_t hidden = (size_t)fc2.shape[1], rows = (size_t)fc1.shape[0];
    if (rows != hidden && rows != 2 * hidden)
        return sv_fail(err, SVIT_E_UNSUPPORTED,
                       "%s: the MLP's first layer has %zu outputs and its second %zu inputs; equal "
                       "numbers or, for SwiGLU, twice as many outputs are accepted",
                       open->weights, rows, hidden);
    /* Of a gate a ratio means one half or both, by the function that made the model. */
    const double dim = sv_facts_value(&open->facts, "dim", 0);
    const sv_fact *stated = sv_facts_find(&open->facts, "mlp_dim");
    if (open->mlp_ratio > 0 && rows == hidden && !(stated && stated->is_final) &&
        fabs(dim * open->mlp_ratio - (double)hidden) > 1)
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: mlp_ratio is %g by config.json, but the MLP of the tensors has %zu "
                       "channels, %g times the model's",
                       open->weights, open->mlp_ratio, hidden, (double)hidden / dim);
    SVIT_TRY(sv_open_state_shape(open, "mlp_dim", hidden, err));
    SVIT_TRY(
        sv_open_state_shape(open, "mlp", rows == hidden ? SVIT_MLP_PLAIN : SVIT_MLP_SWIGLU, err));
    SVIT_TRY(
        sv_open_state_shape(open, "mlp_norm", sv_open_has(open, "blocks.0.mlp.norm.weight"), err));
    return sv_open_state_shape(open, "layer_scale", sv_open_has(open, "blocks.0.ls1.gamma"), err);
}

/* Passes over the tensors of parameters, if the file has them. The list ends with NULL. */
static void pass(sv_open *open, const char *const *parameters)
{
    sv_name_match match;
    for (; *parameters; parameters++)
        if (sv_name_map_find(&match, &open->map, open->file, parameters) &&
            sv_name_match_at(&match, 0))
            sv_open_pass(open, sv_name_match_at(&match, 0)->name);
}

static const char *const HEAD_NORM[] = {"fc_norm.weight", "fc_norm.bias", NULL};

static svit_status state_norms(sv_open *open, svit_error *err)
{
    const bool pre_norm = sv_open_has(open, "norm_pre.weight");
    SVIT_TRY(sv_open_state_shape(open, "pre_norm", pre_norm, err));
    if (!pre_norm && !sv_open_has(open, "patch_embed.proj.bias") &&
        strcmp(open->map.name, "openclip") != 0)
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: a tensor is missing: patches have neither a bias nor a norm before the "
                       "blocks, of which ViTs have one",
                       open->weights);
    const bool rms_norm = !sv_open_has(open, "blocks.0.norm1.bias"),
               final_norm = sv_open_has(open, "norm.weight"),
               head_norm = sv_open_has(open, "fc_norm.weight"),
               is_one = strcmp(open->map.name, "openclip") == 0;
    if (!final_norm && !head_norm && !sv_facts_find(&open->facts, "final_norm"))
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: a tensor is missing: there is no norm behind the blocks, where ViTs "
                       "have one; the field final_norm, false, says that this one has none",
                       open->weights);
    /* The distilled models of timm have a norm of the pooled features that they do not apply. */
    const bool is_unused = head_norm && sv_open_has(open, "dist_token");
    if (is_unused)
        pass(open, HEAD_NORM);
    SVIT_TRY(sv_open_state_shape(open, "rms_norm", rms_norm, err));
    SVIT_TRY(sv_open_state_shape(
        open, "block",
        sv_open_has(open, "blocks.0.out_proj.weight")  ? SVIT_BLOCK_PARALLEL_FUSED
        : sv_open_has(open, "blocks.0.in_proj.weight") ? SVIT_BLOCK_PARALLEL
                                                       : SVIT_BLOCK_SEQUENTIAL,
        err));
    sv_facts_assume(&open->facts, "final_norm", final_norm, SV_OPEN_TENSORS);
    /* OpenCLIP's one norm is the final one unless its configuration has it after the pooling. */
    const bool is_final = is_one && sv_facts_value(&open->facts, "final_norm", 0) != 0;
    return sv_open_state_shape(open, "head_norm", head_norm && !is_final && !is_unused, err);
}

static const char *const CLASSIFIER[] = {"head.fc1.weight", "head.fc1.bias", "head_dist.weight",
                                         "head_dist.bias", NULL};

/* The classifier. A class of models that has one is no other model because its file lost it. */
static svit_status state_classifier(sv_open *open, svit_error *err)
{
    sv_tensor_desc shape;
    const sv_fact *stated = sv_facts_find(&open->facts, "classifier");
    if (!sv_open_find(open, "head.fc1.weight", &shape)) {
        const bool is_wanted = stated ? stated->value != 0 : open->classes > 0;
        if (is_wanted && !(stated && stated->is_final))
            return sv_fail(err, SVIT_E_FORMAT,
                           "%s: a tensor is missing: there is no classifier, which %s has; the "
                           "field classifier, false, opens the model without one",
                           open->weights, stated ? stated->from : open->classes_from);
        sv_facts_assume(&open->facts, "classifier", 0, "the tensors, which have no classifier");
        return SVIT_OK;
    }
    sv_facts_assume(&open->facts, "classifier", 1, SV_OPEN_TENSORS);
    if (sv_facts_value(&open->facts, "classifier", 0) == 0) {
        pass(open, CLASSIFIER);
        return SVIT_OK;
    }
    const size_t classes = (size_t)shape.shape[0];
    const sv_fact *wanted = sv_facts_find(&open->facts, "num_classes");
    /* An adapter brings a classifier of its own, whose classes are not those of the model. */
    if (open->classes > 0 && open->classes != (double)classes && !open->adapter.file &&
        !(wanted && wanted->is_final))
        return sv_fail(err, SVIT_E_FORMAT, "%s: num_classes is %g by %s, but %zu by the tensors",
                       open->weights, open->classes, open->classes_from, classes);
    return sv_open_state_shape(open, "num_classes", classes, err);
}

/* The pooling, as far as parameters tell, and the classifier. */
static svit_status state_head(sv_open *open, svit_error *err)
{
    sv_tensor_desc shape;
    const bool pools = sv_open_find(open, "attn_pool.mlp.fc1.weight", &shape);
    if (pools)
        sv_facts_assume(&open->facts, "pool", SVIT_POOL_ATTENTION, SV_OPEN_TENSORS);
    const sv_fact *pool = sv_facts_find(&open->facts, "pool");
    if (!pools && pool && pool->value == SVIT_POOL_ATTENTION)
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: a tensor is missing: there is no attention pooling, which %s states",
                       open->weights, pool->from);
    const bool attends = pools && sv_facts_value(&open->facts, "pool", 0) == SVIT_POOL_ATTENTION;
    const double prefix =
        sv_facts_value(&open->facts, "register_tokens", 0) +
        (sv_facts_value(&open->facts, "class_token", 0) == SVIT_CLASS_TOKEN_PRESENT);
    /* timm's VisionTransformer pools the patches alone unless told otherwise. Its Eva, which
     * rotates, pools every token. */
    if (attends && prefix > 0 && open->pools_prefix <= 0 &&
        sv_facts_value(&open->facts, "rope", 0) == SVIT_ROPE_NONE)
        return sv_fail(err, SVIT_E_UNSUPPORTED,
                       "%s: attention pooling of the patches without the %g tokens before them is "
                       "not computed",
                       open->weights, prefix);
    if (attends)
        SVIT_TRY(sv_open_state_shape(open, "pool_mlp_dim", (size_t)shape.shape[0], err));
    return state_classifier(open, err);
}

svit_status sv_open_from_tensors(sv_open *open, svit_error *err)
{
    const size_t depth = count_blocks(open);
    if (depth == 0)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s%s: there is no transformer block", open->weights,
                       open->config || open->openclip
                           ? ""
                           : " holds weights without a configuration, which are no ViT's");
    SVIT_TRY(state_patches(open, err));
    SVIT_TRY(sv_open_state_shape(open, "depth", depth, err));
    SVIT_TRY(state_attention(open, err));
    SVIT_TRY(state_mlp(open, err));
    SVIT_TRY(state_norms(open, err));
    SVIT_TRY(sv_open_state_positions(open, err));
    return state_head(open, err);
}
