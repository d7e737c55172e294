/* The search for nearest samples: every query is compared with every sample. */
#include "features/neighbours.h"

#include "base/numbers/finite.h"
#include "base/size.h"

#include <math.h>
#include <string.h>

/* Queries of one task, which share each row of the reference while it is in cache. */
enum { QUERY_BLOCK = 8, LANES = 16 };

/* One call. A worker's scratch holds the neighbours and the rows of QUERY_BLOCK queries. */
typedef struct call {
    const sv_neighbour_search *search;
    const float *rows;        /* [count, c]: the reference, of length 1 for the cosine */
    float *units;             /* [count, c]: memory for those rows; NULL: none is needed */
    sv_neighbour *neighbours; /* [workers, QUERY_BLOCK, k] */
    float *query_rows;        /* [workers, QUERY_BLOCK, c] */
    size_t first;             /* block that is task 0 */
} call;

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

float sv_square_distance(const float *a, const float *b, size_t c)
{
    float sums[LANES] = {0}, total = 0;
    size_t i = 0;
    for (; i + LANES <= c; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            sums[j] += (a[i + j] - b[i + j]) * (a[i + j] - b[i + j]);
    for (; i < c; i++)
        total += (a[i] - b[i]) * (a[i] - b[i]);
    for (size_t j = 0; j < LANES; j++)
        total += sums[j];
    return total;
}

/* Inserts a neighbour into list[*found], which is sorted by falling closeness. Rows come in the
 * order of their indices, so that a later one stands behind those that are equal. */
static void insert(sv_neighbour *list, size_t *found, size_t k, sv_neighbour new)
{
    if (*found == k && new.closeness <= list[k - 1].closeness)
        return;
    size_t at = *found < k ? (*found)++ : k - 1;
    for (; at > 0 && list[at - 1].closeness < new.closeness; at--)
        list[at] = list[at - 1];
    list[at] = new;
}

static void search_block(void *argument, size_t task, uint32_t worker)
{
    const call *self = argument;
    const sv_neighbour_search *search = self->search;
    const bool cosine = search->metric == SVIT_METRIC_COSINE;
    const size_t c = search->reference->channels, k = search->k,
                 first = (self->first + task) * QUERY_BLOCK;
    const size_t queries = sv_size_min(QUERY_BLOCK, search->n - first);
    sv_neighbour *lists = self->neighbours + worker * QUERY_BLOCK * k;
    float *rows = self->query_rows + worker * QUERY_BLOCK * c;
    size_t found[QUERY_BLOCK] = {0};
    if (cosine)
        for (size_t q = 0; q < queries; q++)
            normalise(rows + q * c, search->queries + (first + q) * c, c);
    else
        memcpy(rows, search->queries + first * c, queries * c * sizeof *rows);
    for (size_t i = 0; i < search->reference->count; i++)
        for (size_t q = 0; q < queries; q++) {
            const float *a = rows + q * c, *b = self->rows + i * c;
            const float closeness = cosine ? dot(a, b, c) : -sv_square_distance(a, b, c);
            insert(lists + q * k, &found[q], k, (sv_neighbour){closeness, i});
        }
    for (size_t q = 0; q < queries; q++)
        search->use(search, first + q, lists + q * k);
}

/* Blocks that the workers share between two questions whether to go on. */
enum { BLOCKS_OF_WORKER = 16 };

static size_t blocks_of(const sv_neighbour_search *search)
{
    return search->n / QUERY_BLOCK + (search->n % QUERY_BLOCK != 0);
}

static svit_status search_all(call *self, svit_error *err)
{
    const svit_context *context = self->search->reference->context;
    const size_t most = BLOCKS_OF_WORKER * sv_pool_threads(context->pool);
    const size_t blocks = blocks_of(self->search);
    for (; self->first < blocks; self->first += most) {
        SVIT_TRY(sv_context_go_on(context, err));
        sv_pool_run(context->pool, search_block, self, sv_size_min(most, blocks - self->first));
    }
    return SVIT_OK;
}

static svit_status run(call *self, svit_error *err)
{
    const svit_features *reference = self->search->reference;
    const size_t c = reference->channels;
    if (self->units)
        for (size_t i = 0; i < reference->count; i++)
            normalise(self->units + i * c, reference->values + i * c, c);
    self->rows = self->units ? self->units : reference->values;
    return search_all(self, err);
}

svit_status sv_neighbours_check(const svit_features *reference, const float *queries, size_t n,
                                size_t k, svit_error *err)
{
    size_t elements;
    if (n < 1 || !sv_size_multiply(&elements, n, reference->channels))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "n is %zu; it is at least 1, and the queries fit memory", n);
    if (k < 1)
        return sv_fail(err, SVIT_E_ARGUMENT, "k is 0; it is at least 1");
    const size_t bad = sv_first_not_finite(queries, elements);
    if (bad < elements)
        return sv_fail(err, SVIT_E_ARGUMENT, "queries[%zu, %zu] is %g; all must be finite",
                       bad / reference->channels, bad % reference->channels, (double)queries[bad]);
    return svit_context_check(reference->context, err);
}

/* Allocates and runs. `lists` and `vectors` are the elements of the workers' scratch. */
static svit_status allocate_and_run(call *self, size_t lists, size_t vectors, svit_error *err)
{
    const svit_features *reference = self->search->reference;
    const sv_allocator *allocator = &reference->context->allocator;
    const size_t elements =
        self->search->metric == SVIT_METRIC_COSINE ? reference->count * reference->channels : 0;
    svit_status status =
        sv_allocate_uncleared(allocator, (void **)&self->neighbours, lists,
                              sizeof *self->neighbours, "the neighbours of queries", err);
    if (status == SVIT_OK)
        status = sv_allocate_uncleared(allocator, (void **)&self->query_rows, vectors,
                                       sizeof *self->query_rows, "queries", err);
    if (status == SVIT_OK && elements > 0)
        status = sv_allocate_array(allocator, (void **)&self->units, elements, sizeof *self->units,
                                   "the unit vectors of features", err);
    if (status == SVIT_OK)
        status = run(self, err);
    sv_release(allocator, self->units, elements * sizeof *self->units);
    sv_release(allocator, self->query_rows, vectors * sizeof *self->query_rows);
    sv_release(allocator, self->neighbours, lists * sizeof *self->neighbours);
    return status;
}

svit_status sv_neighbours_find(const sv_neighbour_search *search, svit_error *err)
{
    const svit_features *reference = search->reference;
    const size_t workers = sv_pool_workers(reference->context->pool, blocks_of(search));
    const size_t factors[] = {workers, QUERY_BLOCK, search->k},
                 vectors[] = {workers, QUERY_BLOCK, reference->channels};
    size_t lists, elements;
    if (!sv_size_product(&lists, factors, 3) || !sv_size_product(&elements, vectors, 3))
        return sv_fail(err, SVIT_E_MEMORY, "the neighbours of queries do not fit memory");
    return allocate_and_run(&(call){.search = search}, lists, elements, err);
}
