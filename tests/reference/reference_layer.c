/* Calls the reference of a layer's kind. */
#include "reference_layer.h"

void reference_layer_forward(const reference_layer *l)
{
    const reference_epilogue epilogue = {.bias = l->bias, .pre_gelu = l->pre_gelu};
    switch (l->kind) {
    case REFERENCE_CONVOLUTION:
        reference_convolution(l->y, l->x, l->weight, l->bias, &l->patches, l->channels);
        break;
    case REFERENCE_SPT_COPIES:
        reference_spt_copies(l->y, l->x, &l->spt);
        break;
    case REFERENCE_PATCH_ROWS:
        reference_patch_rows(l->y, l->x, &l->patches);
        break;
    case REFERENCE_DENSE:
        reference_matmul(l->y, l->x, l->weight, &epilogue, l->images * l->tokens, l->channels,
                         l->in_channels);
        break;
    case REFERENCE_NORM:
        reference_norm(l->y, l->x, l->weight, l->bias, &l->norm);
        break;
    case REFERENCE_POSITION:
        reference_position(l->y, l->x, l->weight, l->bias, l->images, l->in_tokens, l->channels);
        break;
    case REFERENCE_BLOCK:
        reference_block(l->y, &l->block.saved, l->x, &l->block.parameters, &l->block.shape);
        break;
    case REFERENCE_TOKEN_MLP:
        reference_token_mlp(l->y, &l->token_mlp.saved, l->x, &l->token_mlp.parameters,
                            &l->token_mlp.shape);
        break;
    case REFERENCE_ATTENTION:
        reference_attention(l->y, &l->attention.saved, l->x, &l->attention.parameters,
                            &l->attention.shape);
        break;
    case REFERENCE_MEAN:
        reference_mean(l->y, l->x, l->images, l->in_tokens, l->pooled, l->channels);
        break;
    }
}

void reference_layer_backward(const reference_layer *l)
{
    const reference_epilogue epilogue = {.pre_gelu = l->pre_gelu};
    switch (l->kind) {
    case REFERENCE_CONVOLUTION:
        reference_convolution_backward(l->dx, l->dweight, l->dbias, l->dy, l->x, l->weight,
                                       &l->patches, l->channels);
        break;
    case REFERENCE_SPT_COPIES:
        reference_spt_copies_backward(l->dx, l->dy, &l->spt);
        break;
    case REFERENCE_PATCH_ROWS:
        reference_patch_rows_backward(l->dx, l->dy, &l->patches);
        break;
    case REFERENCE_DENSE:
        reference_matmul_backward(l->dx, l->dweight, l->dbias, NULL, l->dy, l->x, l->weight,
                                  &epilogue, l->images * l->tokens, l->channels, l->in_channels);
        break;
    case REFERENCE_NORM:
        reference_norm_backward(l->dx, l->dweight, l->dbias, l->dy, l->x, l->weight, &l->norm);
        break;
    case REFERENCE_POSITION:
        reference_position_backward(l->dx, l->dweight, l->dbias, l->dy, l->images, l->in_tokens,
                                    l->channels);
        break;
    case REFERENCE_BLOCK:
        reference_block_backward(l->dx, &l->block.gradients, &l->block.dsaved, l->dy,
                                 &l->block.saved, &l->block.parameters, &l->block.shape);
        break;
    case REFERENCE_TOKEN_MLP:
        reference_token_mlp_backward(l->dx, &l->token_mlp.gradients, &l->token_mlp.dsaved, l->dy,
                                     l->x, &l->token_mlp.saved, &l->token_mlp.parameters,
                                     &l->token_mlp.shape);
        break;
    case REFERENCE_ATTENTION:
        reference_attention_backward(l->dx, &l->attention.gradients, &l->attention.dsaved, l->dy,
                                     l->x, &l->attention.saved, &l->attention.parameters,
                                     &l->attention.shape);
        break;
    case REFERENCE_MEAN:
        reference_mean_backward(l->dx, l->dy, l->images, l->in_tokens, l->pooled, l->channels);
        break;
    }
}
