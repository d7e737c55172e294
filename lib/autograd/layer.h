/* What a layer is to the tape and to a session: its shapes, its memory, its forward and backward.
 */
#ifndef SV_LAYER_H
#define SV_LAYER_H

#include "autograd/parameter_subset.h"
#include "base/real.h"
#include "context/context.h"
#include "tensor/arena.h"
#include "tensor/shape.h"

typedef struct sv_layer sv_layer;
struct sv_gemm;
struct sv_linear;

/* What executes a pass. A session may give each layer other memory, and a layer with few rows
 * another backend and small_m. */
typedef struct sv_exec {
    svit_context *context;
    const struct sv_gemm *gemm; /* backend of this layer's matmuls with weights; matmuls of two
                                   activations use gemm->activations */
    bool small_m;         /* this layer's matmuls have few rows in every pass of the session */
    bool serial;          /* tasks run one after the other on the calling thread, as worker 0 */
    char *workspace;      /* of the layer that is running, shared by its tasks */
    char *worker_scratch; /* of worker 0; worker w's begins worker_bytes * w later */
    size_t worker_bytes;
    /* Called by any worker when the packed copies of the weight at this offset of the flat arrays
     * are complete, so that nothing reads the weight itself; NULL: not wanted. */
    void (*on_packed)(const void *argument, size_t weight);
    const void *packed_argument; /* of on_packed */
    /* What an MLP block adds its branch to, in the backward the gradient of its branch. NULL: its
     * input, in the backward dy. */
    const real *residual;
} sv_exec;

/* What is computed: one pass over a batch of images. */
typedef struct sv_pass {
    size_t n; /* images */
    bool training;
    uint64_t seed;    /* of dropout and DropPath */
    uint64_t counter; /* index of the training forward: each one has its own random numbers */
    /* Where layer attention_layer writes its attention weights [n, heads, T, T]; NULL: nowhere. */
    real *attention;
    uint32_t attention_layer;
} sv_pass;

/* One pass over a batch, as every layer sees it. */
typedef struct sv_run {
    sv_exec exec;
    sv_pass pass;
    const real *weights;                /* flat array of the model's parameter table */
    const sv_parameter_subset *trained; /* what has gradients */
    real *gradients;        /* an array of this subset, from the element `gradients_first` on */
    size_t gradients_first; /* index in an array of the subset */
} sv_run;

/* Where the gradient of the element with this index in the flat arrays is added up; those of the
 * same parameter follow. NULL if the parameter is frozen, or is SV_NO_PARAMETER. */
static inline real *sv_gradient(const sv_run *run, size_t index)
{
    const size_t place = sv_subset_place(run->trained, index);
    return place == SV_NO_PLACE ? NULL : run->gradients + (place - run->gradients_first);
}

/* Adds the sum of rows[count, elements] to the gradient of the parameter at `offset`. Does nothing
 * if it has none. */
void sv_add_rows_to_gradient(const sv_run *run, size_t offset, const real *rows, size_t count,
                             size_t elements);

/* The same with one row. */
static inline void sv_add_to_gradient(const sv_run *run, size_t offset, const real *values,
                                      size_t elements)
{
    sv_add_rows_to_gradient(run, offset, values, 1, elements);
}

/* Runs tasks 0 to count - 1 on the context's workers, or on this thread if exec->serial, and
 * returns when all have ended. */
void sv_run_tasks(const sv_exec *exec, sv_task task, void *argument, size_t count);

/* The scratch of one worker: exec->worker_bytes bytes, aligned for any type. */
static inline char *sv_worker_scratch(const sv_exec *exec, uint32_t worker)
{
    return exec->worker_scratch + worker * exec->worker_bytes;
}

/* Takes [rows, columns] elements from an arena; NULL from one that only measures how much memory a
 * layout needs (arena.h). */
static inline real *sv_arena_reals(sv_arena *arena, size_t rows, size_t columns)
{
    return sv_arena_take(arena, rows, columns, sizeof(real));
}

/* Bytes that a layer needs for a pass. */
typedef struct sv_layer_memory {
    size_t saved;          /* kept from the forward to the backward */
    size_t workspace;      /* shared by the layer's tasks */
    size_t worker_scratch; /* of each worker */
    bool overflow;         /* the bytes do not fit a size_t */
} sv_layer_memory;

/* The operations of one kind of layer. */
typedef struct sv_layer_ops {
    const char *name;
    bool keeps_input;   /* the backward reads x, so it must stay unchanged until then */
    bool training_only; /* y = x in inference */
    bool draws; /* differs in training, so that it is recorded even if all below is frozen */

    /* Elements of the weights that the layer derives from parameters before they are packed. This
     * and the next two are NULL if none are derived. */
    size_t (*derived_elements)(const sv_layer *layer);

    /* Tells the layer where its derived weights are. */
    void (*place_derived)(sv_layer *layer, const real *memory);

    /* Derives the weights on this thread into `memory`, which stays, with one worker's scratch.
     * They depend on the layer, the parameters and the GEMM backend alone. Reports to
     * exec->on_packed the parameters that nothing else reads. */
    void (*derive_weights)(const sv_layer *layer, const sv_run *run, real *memory, char *scratch);

    /* Sets *memory, which is cleared, for up to run->pass.n images; NULL: the layer needs none. */
    void (*plan_workspace)(const sv_layer *layer, const sv_run *run, sv_layer_memory *memory);

    /* y[n, out] of x[n, in]. `saved` is NULL in inference. */
    void (*forward)(const sv_layer *layer, const sv_run *run, void *saved, real *y, const real *x);

    /* dx[n, in] of dy[n, out]; adds to the gradients of those parameters that are not frozen. dx is
     * NULL if it is not wanted, which only a trained layer sees (tape.c). x is the forward's input
     * if the layer keeps it, otherwise NULL. */
    void (*backward)(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                     const real *dy, const real *x);
} sv_layer_ops;

/* The memory that a layer needs for run->pass.n images. */
sv_layer_memory sv_layer_plan_workspace(const sv_layer *layer, const sv_run *run);

/* Raises the workspace and the worker scratch of *max to at least those of *memory. */
void sv_layer_memory_max(sv_layer_memory *max, const sv_layer_memory *memory);

/* The most linear maps with packed weights that a layer has. */
enum { SV_LAYER_LINEARS = 4 };

/* The head of every layer's own struct. */
struct sv_layer {
    const sv_layer_ops *ops;
    sv_shape in, out;
    size_t bytes;    /* of the layer's whole struct */
    uint32_t number; /* its index in the model, which gives it random numbers of its own */
    size_t end;  /* index in the training graph of the layer after it, or after those it fuses */
    size_t rows; /* sv_layer_rows; 0: the tokens of `out` */
    uint64_t activation_multiply_adds;           /* per image, of its matmuls of two activations */
    uint64_t shared_multiply_adds;               /* of weights that all images multiply once */
    struct sv_linear *linears[SV_LAYER_LINEARS]; /* within the layer's struct; NULL past the last */
    sv_layer *parts[2]; /* layers within the struct that run as parts of it, under its number */
    size_t heads;       /* of attention weights that it writes to pass.attention; 0: none */
    char name[32];      /* of its output as features (svit_forward_features); "": none */
    bool trained;       /* one of its parameters at least is not frozen */
    size_t parameters_first, parameters_end; /* its range of the flat arrays; 0, 0: no parameter */
};

/* Rows per image of the layer's matmuls with weights. */
static inline size_t sv_layer_rows(const sv_layer *layer)
{
    return layer->rows ? layer->rows : sv_shape_tokens(layer->out);
}

#endif
