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

/* One pass over a batch, as all layers see it. */
typedef struct sv_run {
    svit_context *context;
    const struct sv_gemm *gemm; /* of all products */
    const real *weights;        /* flat arrays of the model's parameter table */
    real *gradients;
    size_t n; /* images */
    int training;
    uint64_t seed;    /* of dropout and DropPath */
    uint64_t counter; /* of training forwards */
    int few;          /* the layer's products have few rows, in all that the session infers */
    int alone;        /* one worker takes these images through by itself: tasks are done in turn */
    char *shared;     /* scratch of the layer that is running */
    char *worker;     /* scratch of worker w at worker + w * worker_bytes */
    size_t worker_bytes;
    real *attention; /* where the layer number attention_layer leaves its attention weights
                        [n, heads, T, T]; NULL: nowhere */
    uint32_t attention_layer;
    /* Is told which weight, by its place in the flat arrays, has just been packed; NULL: nobody
     * asks. Any worker. */
    void (*packed)(const void *argument, size_t weight);
    const void *packed_argument;
} sv_run;

/* Does tasks 0..count-1, on the context's pool or, alone, on this thread as worker 0. */
void sv_run_tasks(const sv_run *run, sv_task task, void *argument, size_t count);

/* What a layer needs for n images, in bytes. */
typedef struct sv_layer_memory {
    size_t saved; /* from forward to backward */
    size_t shared;
    size_t worker;
    bool overflow;
} sv_layer_memory;

typedef struct sv_layer_class {
    const char *name;
    int keeps_input;   /* backward reads x: nobody writes over it before */
    int training_only; /* y = x in inference */

    /* Numbers of the weights that the layer makes of the model's before they are packed, 0 for
     * none; and the making of them, on this thread with a worker's scratch, in `memory` that stays.
     * Tells run->packed of what it has read. Both NULL: all its weights are the model's. */
    size_t (*made_elements)(const sv_layer *layer);
    void (*make_weights)(sv_layer *layer, const sv_run *run, real *memory, char *scratch);

    /* For run->n images at the most; NULL: the layer needs no memory. */
    void (*measure)(const sv_layer *layer, const sv_run *run, sv_layer_memory *memory);

    /* y[n, out] of x[n, in]. `saved` is NULL where nothing is kept (inference). */
    void (*forward)(const sv_layer *layer, const sv_run *run, void *saved, real *y, const real *x);

    /* dx[n, in] of dy[n, out], and += the parameters' gradients; dx NULL: not wanted. x is what
     * forward got where the class keeps it, else NULL. */
    void (*backward)(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                     const real *dy, const real *x);
} sv_layer_class;

/* What the layer needs for run->n images; and into *most the most of shared and of worker scratch
 * that any of several layers needs. */
sv_layer_memory sv_layer_measure(const sv_layer *layer, const sv_run *run);
void sv_layer_memory_most(sv_layer_memory *most, const sv_layer_memory *memory);

/* The most products with weights that a layer has. */
enum { SV_LAYER_LINEARS = 2 };

/* The head of every layer's own struct. */
struct sv_layer {
    const sv_layer_class *class;
    sv_map in, out;
    size_t bytes;    /* of the whole struct, to release it */
    uint32_t number; /* in its model: its random numbers are its own */
    size_t rows;     /* of an image in its products, where they are more than in `out`; else 0 */
    struct sv_linear *linears[SV_LAYER_LINEARS]; /* its products with weights, in its own struct;
                                                    NULL past the last */
};

#endif
