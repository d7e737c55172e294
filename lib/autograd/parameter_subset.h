/* Some of the parameters of a table. An array of a subset has the elements of these parameters
 * alone, one parameter behind the other: gradients and optimiser slots need no memory for what is
 * frozen. */
#ifndef SV_PARAMETER_SUBSET_H
#define SV_PARAMETER_SUBSET_H

#include "autograd/parameter.h"

/* Consecutive parameters of the subset, begin..end-1 in the flat arrays. */
typedef struct sv_subset_part {
    size_t begin, end;
    size_t place; /* index of the first of these elements in an array of the subset */
} sv_subset_part;

typedef struct sv_parameter_subset {
    sv_subset_part *parts; /* [count], in order; no two of them touch */
    size_t count;
    size_t elements; /* of an array of the subset */
} sv_parameter_subset;

/* A range of the flat arrays. */
typedef struct sv_range {
    size_t begin, elements;
} sv_range;

/* The place of an element that is not in the subset. */
#define SV_NO_PLACE SIZE_MAX

/* Makes the subset of the parameters for which `has` returns true. `user` is its last argument.
 * SVIT_E_MEMORY. */
svit_status sv_parameter_subset_make(sv_parameter_subset *subset, const sv_parameter_table *table,
                                     bool (*has)(const sv_parameter *parameter, const void *user),
                                     const void *user, svit_error *err);

void sv_parameter_subset_free(sv_parameter_subset *subset, const sv_allocator *allocator);

/* The index in an array of the subset of the element with this index in the flat arrays;
 * SV_NO_PLACE if the subset does not have it. */
size_t sv_subset_place(const sv_parameter_subset *subset, size_t index);

/* The elements of the subset whose index in the flat arrays is below `index`. */
size_t sv_subset_elements_below(const sv_parameter_subset *subset, size_t index);

/* The first range of begin..end-1 that the subset has; without elements if it has none there. The
 * next one is the first from its end on. The elements of a range follow each other in an array of
 * the subset too, and in one of any subset with these parameters. */
sv_range sv_subset_first(const sv_parameter_subset *subset, size_t begin, size_t end);

/* array[subset->elements] = the subset's elements of the flat array. */
void sv_subset_gather(const sv_parameter_subset *subset, real *array, const real *flat);

/* Gradients of some parameters. */
typedef struct sv_gradients {
    real *values; /* [subset.elements]; NULL in a session that does not train */
    sv_parameter_subset subset;
} sv_gradients;

/* The gradient of the element with this index in the flat arrays; NULL if there is none. */
static inline real *sv_gradients_at(const sv_gradients *gradients, size_t index)
{
    const size_t place = sv_subset_place(&gradients->subset, index);
    return place == SV_NO_PLACE ? NULL : gradients->values + place;
}

#endif
