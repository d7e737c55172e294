/* Compares the gradients of one layer, without a model around it, with central differences. */
#ifndef LAYER_CHECK_H
#define LAYER_CHECK_H

#include "layers/layers.h"

/* A layer that is checked, its context and its parameters. */
typedef struct layer_check {
    svit_context *context;
    sv_parameter_table table;
    sv_layer *layer; /* set by the test between layer_check_open and layer_check_run */
} layer_check;

/* Where the creator of the layer takes memory and parameters from. */
#define LAYER_SOURCE(check) (&(sv_layer_source){(check).context, &(check).table, "", NULL})

/* Creates a context of two threads and an empty table. */
layer_check layer_check_open(void);

/* Adds a parameter `name` of up to four dimensions; a 0 ends `shape`. */
void layer_check_add(layer_check *check, const char *name, const int64_t shape[5]);

/* Fails the test unless dx and the gradient of every parameter equal difference quotients of a
 * random projection of the output, for a batch of random elements. A layer that computes no dx
 * (has_input_gradient false) is checked for its parameters alone. */
void layer_check_run(layer_check *check, bool has_input_gradient);

/* Fails the test if a layer with dropout computes the same for two equal images of a batch: each
 * image has its own mask. */
void layer_check_masks(layer_check *check);

/* Frees everything. */
void layer_check_close(layer_check *check);

#endif
