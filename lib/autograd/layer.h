/* What a layer is to the tape and to the session: shapes, memory, forward, backward. */
#ifndef SV_LAYER_H
#define SV_LAYER_H

#include "base/real.h"
#include "context/context.h"
#include "tensor/arena.h"
#include "tensor/shape.h"

typedef struct sv_layer sv_layer;
struct sv_gemm;
struct sv_linear;

/* What executes a pass: the same for every layer and every batch of a session, the workspace apart.
 */
typedef struct sv_exec {
    svit_context *context;
    const struct sv_gemm *gemm; /* backend of every matmul */
    bool small_m;               /* the session only infers, and few images: matmuls have few rows */
    bool serial;          /* tasks run one after the other on the calling thread, as worker 0 */
    char *workspace;      /* of the layer that is running */
    char *worker_scratch; /* of worker 0; worker w's begins worker_bytes * w later */
    size_t worker_bytes;
    /* Is told that the packed copy of the weight at this offset of the flat arrays is up to date;
     * NULL: nobody asks. Called by any worker. */
    void (*packed)(const void *argument, size_t weight);
    const void *packed_argument;
} sv_exec;

/* What is computed: one pass over a batch of images. */
typedef struct sv_pass {
    size_t n; /* images */
    bool training;
    uint64_t seed;    /* of dropout and DropPath */
    uint64_t counter; /* number of the training forward, which makes its random numbers its own */
    /* Where layer attention_layer writes its attention weights [n, heads, T, T]; NULL: nowhere. */
    real *attention;
    uint32_t attention_layer;
} sv_pass;

/* One pass over a batch, as every layer sees it. */
typedef struct sv_run {
    sv_exec exec;
    sv_pass pass;
    const real *weights; /* flat arrays of the model's parameter table */
    real *gradients;
} sv_run;

/* Runs tasks 0 to count - 1, on the context's workers unless exec->serial, and returns when all
 * have ended. */
void sv_run_tasks(const sv_exec *exec, sv_task task, void *argument, size_t count);

/* What a layer needs for n images, in bytes. */
typedef struct sv_layer_memory {
    size_t saved; /* from forward to backward */
    size_t workspace;
    size_t worker_scratch;
    bool overflow;
} sv_layer_memory;

typedef struct sv_layer_ops {
    const char *name;
    int keeps_input;   /* backward reads x: nobody writes over it before */
    int training_only; /* y = x in inference */

    /* Numbers of the weights that the layer makes of the model's before they are packed, 0 for
     * none; and the making of them, on this thread with a worker's scratch, in `memory` that stays.
     * Tells run->packed of what it has read. Both NULL: all its weights are the model's. */
    size_t (*derived_elements)(const sv_layer *layer);
    void (*derive_weights)(sv_layer *layer, const sv_run *run, real *memory, char *scratch);

    /* For run->n images at the most; NULL: the layer needs no memory. */
    void (*plan_workspace)(const sv_layer *layer, const sv_run *run, sv_layer_memory *memory);

    /* y[n, out] of x[n, in]. `saved` is NULL where nothing is kept (inference). */
    void (*forward)(const sv_layer *layer, const sv_run *run, void *saved, real *y, const real *x);

    /* dx[n, in] of dy[n, out], and += the parameters' gradients; dx NULL: not wanted. x is what
     * forward got where the class keeps it, else NULL. */
    void (*backward)(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                     const real *dy, const real *x);
} sv_layer_ops;

/* What the layer needs for run->n images; and into *most the most of shared and of worker scratch
 * that any of several layers needs. */
sv_layer_memory sv_layer_plan_workspace(const sv_layer *layer, const sv_run *run);
void sv_layer_memory_max(sv_layer_memory *most, const sv_layer_memory *memory);

/* The most products with weights that a layer has. */
enum { SV_LAYER_LINEARS = 2 };

/* The head of every layer's own struct. */
struct sv_layer {
    const sv_layer_ops *ops;
    sv_shape in, out;
    size_t bytes;    /* of the whole struct, to release it */
    uint32_t number; /* in its model: its random numbers are its own */
    size_t rows;     /* of an image in its products, where they are more than in `out`; else 0 */
    struct sv_linear *linears[SV_LAYER_LINEARS]; /* its products with weights, in its own struct;
                                                    NULL past the last */
};

#endif
