/* Classification by the k nearest neighbours in cosine similarity. */
#include "base/arrays.h"
#include "base/size.h"
#include "base/threads/fp_env.h"
#include "features/neighbours.h"

#include <math.h>
#include <string.h>

/* Where the votes go. */
typedef struct ballot {
    double temperature;
    double *votes;        /* [workers, classes] */
    float *probabilities; /* [n, classes] */
} ballot;

/* The largest exponent, of the nearest neighbour, is 0, so none overflows. */
static double weight(const sv_neighbour *of, const sv_neighbour *nearest, double temperature)
{
    return exp(((double)of->closeness - (double)nearest->closeness) / temperature);
}

/* A row of probabilities = the votes over their sum. They are divided last: at a high temperature
 * they are ones, which add up exactly. */
static void vote(const sv_neighbour_search *search, size_t query, const sv_neighbour *list,
                 uint32_t worker)
{
    const ballot *to = search->user;
    const size_t classes = search->reference->classes;
    const int32_t *labels = search->reference->labels;
    double *votes = to->votes + worker * classes, sum = 0;
    memset(votes, 0, classes * sizeof *votes);
    for (size_t j = 0; j < search->k; j++) {
        const double each = weight(&list[j], list, to->temperature);
        votes[labels[list[j].index]] += each;
        sum += each;
    }
    for (size_t c = 0; c < classes; c++)
        to->probabilities[query * classes + c] = (float)(votes[c] / sum);
}

static svit_status check(const svit_features *reference, double temperature, svit_error *err)
{
    /* The threads of the search flush subnormal values to zero, and 0 / 0 is no vote. */
    if (!isnormal(temperature) || temperature < 0)
        return sv_fail(err, SVIT_E_ARGUMENT, "temperature is %g; it is a normal number above 0",
                       temperature);
    for (size_t i = 0; i < reference->count; i++)
        if (reference->labels[i] < 0)
            return sv_fail(err, SVIT_E_ARGUMENT,
                           "labels[%zu] of the reference is -1; every sample needs a label", i);
    return SVIT_OK;
}

SVIT_API svit_status svit_features_knn(const svit_features *reference, const float *queries,
                                       size_t n, size_t k, double temperature, float *probabilities,
                                       svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(reference);
    SV_REQUIRE(queries);
    SV_REQUIRE(probabilities);
    SVIT_TRY(sv_neighbours_check(reference, queries, n, k, err));
    SVIT_TRY(check(reference, temperature, err));
    svit_context *context = reference->context;
    ballot to = {.temperature = temperature, .probabilities = probabilities};
    const sv_neighbour_search search = {.reference = reference,
                                        .queries = queries,
                                        .n = n,
                                        .k = sv_size_min(k, reference->count),
                                        .metric = SVIT_METRIC_COSINE,
                                        .use = vote,
                                        .user = &to};
    sv_arrays arrays = {.allocator = &context->allocator};
    svit_status status = sv_arrays_add(&arrays, &to.votes, svit_context_threads(context),
                                       reference->classes * sizeof *to.votes, "votes", err);
    if (status == SVIT_OK)
        status = sv_neighbours_find(&search, err);
    sv_arrays_free(&arrays);
    return status;
}
