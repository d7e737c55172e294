/* The rows of every file. */
#ifndef NUMBERS_ROWS_H
#define NUMBERS_ROWS_H

#include "numbers.h"

typedef struct numbers_rows {
    const numbers_row *rows;
    size_t count;
} numbers_rows;

extern const numbers_rows numbers_norm, numbers_rotary, numbers_activations, numbers_softmax,
    numbers_sums, numbers_copies, numbers_matmuls, numbers_losses, numbers_updates;

/* Defines the rows of a file from its array. */
#define NUMBERS_ROWS(name, array) const numbers_rows name = {array, sizeof array / sizeof *array}

#endif
