/* The nearest samples of a feature set, and the samples that stand for all others. */
#include "base/numbers/finite.h"
#include "base/size.h"
#include "base/threads/fp_env.h"
#include "features/neighbours.h"
#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

/* Where the neighbours go. */
typedef struct answer {
    size_t *indices;  /* [n, k] */
    float *distances; /* [n, k] */
} answer;

/* Rounding may leave the cosine of parallel vectors a little above 1. NaN stays NaN. */
static float cosine(float closeness)
{
    return closeness > 1 ? 1 : closeness < -1 ? -1 : closeness;
}

static void take(const sv_neighbour_search *search, size_t query, const sv_neighbour *list,
                 uint32_t worker)
{
    (void)worker;
    const answer *to = search->user;
    const size_t k = search->k;
    for (size_t j = 0; j < k; j++) {
        to->indices[query * k + j] = list[j].index;
        to->distances[query * k + j] = search->metric == SVIT_METRIC_COSINE
                                           ? cosine(list[j].closeness)
                                           : sqrtf(-list[j].closeness);
    }
}

SVIT_API svit_status svit_features_nearest(const svit_features *reference, const float *queries,
                                           size_t n, size_t k, int32_t metric, size_t *indices,
                                           float *distances, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(reference);
    SV_REQUIRE(queries);
    SV_REQUIRE(indices);
    SV_REQUIRE(distances);
    SVIT_TRY(sv_neighbours_check(reference, queries, n, k, err));
    if (k > reference->count)
        return sv_fail(err, SVIT_E_ARGUMENT, "k is %zu; the reference has %zu samples", k,
                       reference->count);
    if (metric != SVIT_METRIC_COSINE && metric != SVIT_METRIC_EUCLIDEAN)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "metric is %d; SVIT_METRIC_COSINE (0) and SVIT_METRIC_EUCLIDEAN (1) are "
                       "accepted",
                       (int)metric);
    answer to = {indices, distances};
    const sv_neighbour_search search = {.reference = reference,
                                        .queries = queries,
                                        .n = n,
                                        .k = k,
                                        .metric = metric,
                                        .use = take,
                                        .user = &to};
    SVIT_TRY(sv_neighbours_find(&search, err));
    const size_t bad = sv_first_not_finite(distances, n * k);
    if (bad < n * k)
        return sv_fail(err, SVIT_E_NUMERIC,
                       "the distance of query %zu to sample %zu does not fit a float", bad / k,
                       indices[bad]);
    return SVIT_OK;
}

enum { ROW_BLOCK = 256 };

/* A selection. The distance of a sample that has been selected is -1. */
typedef struct selection {
    const svit_features *from;
    float *distances; /* [count]: the square of the distance to the nearest selected sample */
    size_t newest;    /* the sample that was selected last */
} selection;

static void approach(void *argument, size_t task, uint32_t worker)
{
    const selection *self = argument;
    const svit_features *from = self->from;
    const size_t c = from->channels, first = task * ROW_BLOCK;
    const size_t end = sv_size_min(first + ROW_BLOCK, from->count);
    const float *newest = from->values + self->newest * c;
    (void)worker;
    float distances[ROW_BLOCK];
    from->context->kernels->square_distances(distances, newest, from->values + first * c,
                                             end - first, c);
    for (size_t i = first; i < end; i++)
        if (distances[i - first] < self->distances[i])
            self->distances[i] = distances[i - first];
}

static size_t farthest(const selection *self)
{
    size_t best = 0;
    for (size_t i = 1; i < self->from->count; i++)
        if (self->distances[i] > self->distances[best])
            best = i;
    return best;
}

/* Copies the samples one after the other as they are selected. */
static svit_status select_samples(selection *self, svit_features *out, svit_error *err)
{
    const svit_features *from = self->from;
    const size_t c = from->channels;
    for (size_t i = 0; i < from->count; i++)
        self->distances[i] = INFINITY;
    for (size_t done = 0; done < out->count; done++) {
        SVIT_TRY(sv_context_go_on(from->context, err));
        self->newest = farthest(self);
        if (done > 0 && self->distances[self->newest] == INFINITY)
            return sv_fail(err, SVIT_E_NUMERIC,
                           "the distance of sample %zu to those before it is not finite",
                           self->newest);
        memcpy(out->values + done * c, from->values + self->newest * c, c * sizeof *out->values);
        out->labels[done] = from->labels[self->newest];
        sv_pool_run(from->context->pool, approach, self, (from->count + ROW_BLOCK - 1) / ROW_BLOCK);
        self->distances[self->newest] = -1;
    }
    return SVIT_OK;
}

static svit_status fill(svit_features *out, const svit_features *from, svit_error *err)
{
    const sv_allocator *allocator = &from->context->allocator;
    selection self = {.from = from};
    out->tokens = from->tokens;
    out->grid_height = from->grid_height;
    out->grid_width = from->grid_width;
    SVIT_TRY(sv_features_set_text(out, &out->layer, from->layer, err));
    SVIT_TRY(sv_features_set_text(out, &out->model, from->model, err));
    SVIT_TRY(sv_features_set_names(out, (const char *const *)from->names, err));
    SVIT_TRY(sv_allocate_array(allocator, (void **)&self.distances, from->count,
                               sizeof *self.distances, "the distances of features", err));
    const svit_status status = select_samples(&self, out, err);
    sv_release(allocator, self.distances, from->count * sizeof *self.distances);
    return status;
}

SVIT_API svit_status svit_features_coreset(svit_features **out, const svit_features *features,
                                           size_t count, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(out);
    SV_REQUIRE(features);
    if (count < 1 || count > features->count)
        return sv_fail(err, SVIT_E_ARGUMENT, "count is %zu; it is 1..%zu, the samples of the set",
                       count, features->count);
    SVIT_TRY(svit_context_check(features->context, err));
    svit_features *made;
    SVIT_TRY(sv_features_open(&made, features->context, count, features->channels,
                              features->classes, err));
    svit_status status = fill(made, features, err);
    if (status == SVIT_OK)
        *out = made;
    else
        svit_features_free(made);
    return status;
}
