/* Classification by the k nearest neighbours in cosine similarity. */
#include "base/numbers/finite.h"
#include "base/size.h"
#include "base/threads/fp_env.h"
#include "features/features.h"

#include <math.h>
#include <string.h>

/* Queries of one task, which share each row of the reference while it is in cache. */
enum { QUERY_BLOCK = 8, LANES = 16 };

/* A neighbour of a query. */
typedef struct neighbour {
    float similarity;
    int32_t label;
} neighbour;

/* One call. A worker's scratch holds the neighbours and the unit vectors of QUERY_BLOCK queries. */
typedef struct search {
    const svit_features *reference;
    const float *queries, *units; /* units [count, c]: the reference's rows of length 1 */
    float *probabilities;
    size_t n, k;
    double temperature;
    neighbour *neighbours; /* [threads, QUERY_BLOCK, k] */
    float *query_units;    /* [threads, QUERY_BLOCK, c] */
} search;

/* out = x / |x|, or 0 if x is 0. Squares are summed in double, which has room for those of all
 * floats. */
static void normalise(float *out, const float *x, size_t c)
{
    double sum = 0;
    for (size_t i = 0; i < c; i++)
        sum += (double)x[i] * (double)x[i];
    const double scale = sum > 0 ? 1 / sqrt(sum) : 0;
    for (size_t i = 0; i < c; i++)
        out[i] = (float)((double)x[i] * scale);
}

/* The dot product of two vectors: LANES partial sums, which are added in the order of their
 * indices. */
static float dot(const float *a, const float *b, size_t c)
{
    float sums[LANES] = {0}, total = 0;
    size_t i = 0;
    for (; i + LANES <= c; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            sums[j] += a[i + j] * b[i + j];
    for (; i < c; i++)
        total += a[i] * b[i];
    for (size_t j = 0; j < LANES; j++)
        total += sums[j];
    return total;
}

/* Inserts a neighbour into list[*found], which is sorted by falling similarity. Rows come in the
 * order of their indices, so that a later one stands behind those that are equal. */
static void insert(neighbour *list, size_t *found, size_t k, neighbour new)
{
    if (*found == k && new.similarity <= list[k - 1].similarity)
        return;
    size_t at = *found < k ? (*found)++ : k - 1;
    for (; at > 0 && list[at - 1].similarity < new.similarity; at--)
        list[at] = list[at - 1];
    list[at] = new;
}

/* out[classes] = the votes over their sum. The largest exponent is 0, so none overflows. */
static void vote(float *out, const search *self, const neighbour *list, size_t found)
{
    const size_t classes = self->reference->classes;
    double sum = 0;
    for (size_t j = 0; j < found; j++)
        sum += exp(((double)list[j].similarity - (double)list[0].similarity) / self->temperature);
    memset(out, 0, classes * sizeof *out);
    for (size_t j = 0; j < found; j++)
        out[list[j].label] +=
            (float)(exp(((double)list[j].similarity - (double)list[0].similarity) /
                        self->temperature) /
                    sum);
}

static void classify_block(void *argument, size_t task, uint32_t worker)
{
    const search *self = argument;
    const svit_features *reference = self->reference;
    const size_t c = reference->channels, first = task * QUERY_BLOCK;
    const size_t rows = sv_size_min(QUERY_BLOCK, self->n - first);
    neighbour *lists = self->neighbours + worker * QUERY_BLOCK * self->k;
    float *units = self->query_units + worker * QUERY_BLOCK * c;
    size_t found[QUERY_BLOCK] = {0};
    for (size_t q = 0; q < rows; q++)
        normalise(units + q * c, self->queries + (first + q) * c, c);
    for (size_t i = 0; i < reference->count; i++)
        for (size_t q = 0; q < rows; q++)
            insert(lists + q * self->k, &found[q], self->k,
                   (neighbour){dot(units + q * c, self->units + i * c, c), reference->labels[i]});
    for (size_t q = 0; q < rows; q++)
        vote(self->probabilities + (first + q) * reference->classes, self, lists + q * self->k,
             found[q]);
}

static void run(search *self, float *units)
{
    const svit_features *reference = self->reference;
    for (size_t i = 0; i < reference->count; i++)
        normalise(units + i * reference->channels, reference->values + i * reference->channels,
                  reference->channels);
    self->units = units;
    sv_pool_run(reference->context->pool, classify_block, self,
                (self->n + QUERY_BLOCK - 1) / QUERY_BLOCK);
}

static svit_status check(const svit_features *reference, const float *queries, size_t n, size_t k,
                         double temperature, svit_error *err)
{
    size_t elements;
    if (n < 1 || !sv_size_multiply(&elements, n, reference->channels))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "n is %zu; it is at least 1, and the queries fit memory", n);
    if (k < 1)
        return sv_fail(err, SVIT_E_ARGUMENT, "k is 0; it is at least 1");
    if (!isfinite(temperature) || temperature <= 0)
        return sv_fail(err, SVIT_E_ARGUMENT, "temperature is %g; it is above 0", temperature);
    for (size_t i = 0; i < reference->count; i++)
        if (reference->labels[i] < 0)
            return sv_fail(err, SVIT_E_ARGUMENT,
                           "labels[%zu] of the reference is -1; every sample needs a label", i);
    const size_t bad = sv_first_not_finite(queries, elements);
    if (bad < elements)
        return sv_fail(err, SVIT_E_ARGUMENT, "queries[%zu, %zu] is %g; all must be finite",
                       bad / reference->channels, bad % reference->channels, (double)queries[bad]);
    return svit_context_check(reference->context, err);
}

/* Allocates and runs. `lists` and `vectors` are the elements of the workers' scratch. */
static svit_status allocate_and_run(search *self, size_t lists, size_t vectors, svit_error *err)
{
    const svit_features *reference = self->reference;
    const sv_allocator *allocator = &reference->context->allocator;
    const size_t elements = reference->count * reference->channels;
    float *units = NULL;
    svit_status status =
        sv_allocate_uncleared(allocator, (void **)&self->neighbours, lists,
                              sizeof *self->neighbours, "the neighbours of queries", err);
    if (status == SVIT_OK)
        status = sv_allocate_uncleared(allocator, (void **)&self->query_units, vectors,
                                       sizeof *self->query_units, "queries", err);
    if (status == SVIT_OK)
        status = sv_allocate_array(allocator, (void **)&units, elements, sizeof *units,
                                   "the unit vectors of features", err);
    if (status == SVIT_OK)
        run(self, units);
    sv_release(allocator, units, elements * sizeof *units);
    sv_release(allocator, self->query_units, vectors * sizeof *self->query_units);
    sv_release(allocator, self->neighbours, lists * sizeof *self->neighbours);
    return status;
}

SVIT_API svit_status svit_features_knn(const svit_features *reference, const float *queries,
                                       size_t n, size_t k, double temperature, float *probabilities,
                                       svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(reference);
    SV_REQUIRE(queries);
    SV_REQUIRE(probabilities);
    SVIT_TRY(check(reference, queries, n, k, temperature, err));
    search self = {.reference = reference,
                   .queries = queries,
                   .probabilities = probabilities,
                   .n = n,
                   .k = sv_size_min(k, reference->count),
                   .temperature = temperature};
    const size_t threads = sv_pool_threads(reference->context->pool);
    const size_t factors[] = {threads, QUERY_BLOCK, self.k},
                 vectors[] = {threads, QUERY_BLOCK, reference->channels};
    size_t lists, elements;
    if (!sv_size_product(&lists, factors, 3) || !sv_size_product(&elements, vectors, 3))
        return sv_fail(err, SVIT_E_MEMORY, "the neighbours of queries do not fit memory");
    return allocate_and_run(&self, lists, elements, err);
}
