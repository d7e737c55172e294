/* A matmul of few rows has a small M, as those of one image in the late stages have: reading B, the
 * weights, then takes most of the time. What "few" is, for each decision that depends on it. */
#ifndef SV_SMALL_M_H
#define SV_SMALL_M_H

enum {
    /* Rows of one matmul: with at most so many, the microkernels prefetch packed B. */
    SV_SMALL_M_KERNEL_ROWS = 64,
    /* Tokens of a pass of inference: with at most so many, the workers split the columns of a
     * matmul and not its tokens, so that each weight is read once. */
    SV_SMALL_M_TOKENS = 64,
    /* Rows of the largest batch of a session: with at most so many in a layer, its matmuls use the
     * backend for a small M. */
    SV_SMALL_M_BACKEND_ROWS = 64,
    /* max_batch of a session that infers: up to it, that backend may be another one than that of
     * training. With more, its logits have the same bits as those of a session that trains. */
    SV_SMALL_M_MAX_BATCH = 8,
    /* Images of a pass of inference: with at most so many, the workers split the heads of
     * attention. With more, one image a task keeps them busy. */
    SV_SMALL_M_HEADS_IMAGES = 3
};

#endif
