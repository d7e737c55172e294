/* The search for the nearest samples of a feature set, which svit_features_knn and
 * svit_features_nearest share. */
#ifndef SV_NEIGHBOURS_H
#define SV_NEIGHBOURS_H

#include "features/features.h"

/* A sample of the reference, as a query sees it. */
typedef struct sv_neighbour {
    float closeness; /* the cosine similarity, or minus the square of the Euclidean distance */
    size_t index;
} sv_neighbour;

typedef struct sv_neighbour_search sv_neighbour_search;

/* Takes the k nearest samples of query number `query`, the nearest first. Any worker of the
 * reference's context calls it. */
typedef void (*sv_neighbours_use)(const sv_neighbour_search *search, size_t query,
                                  const sv_neighbour *list, uint32_t worker);

/* What is searched. */
struct sv_neighbour_search {
    const svit_features *reference;
    const float *queries; /* [n, channels], finite */
    size_t n, k;          /* k is 1..reference->count */
    int32_t metric;       /* SVIT_METRIC_* */
    sv_neighbours_use use;
    void *user;
};

/* SVIT_E_ARGUMENT unless queries[n, channels] are at least one and finite, and k is not 0. */
svit_status sv_neighbours_check(const svit_features *reference, const float *queries, size_t n,
                                size_t k, svit_error *err);

/* Searches. Of samples that are equally near the first is taken. The result does not depend on the
 * number of threads. SVIT_E_MEMORY. */
svit_status sv_neighbours_find(const sv_neighbour_search *search, svit_error *err);

#endif
