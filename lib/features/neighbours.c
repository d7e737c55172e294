/* The search for nearest samples: every query is compared with every sample. A task compares a
 * block of queries with a part of the samples; then the lists of all parts are merged. */
#include "features/neighbours.h"

#include "base/numbers/finite.h"
#include "base/size.h"
#include "kernels/kernels.h"

#include <math.h>

/* Queries of a block share each sample while it is in cache. Parts have at least PART_SAMPLES, and
 * there are several only where the blocks are fewer than TASKS_OF_WORKER for each worker. */
enum { BLOCK = 32, PART_SAMPLES = 512, PARTS_MAX = 256, TASKS_OF_WORKER = 4 };

/* What a worker does between two questions whether to go on, at most: blocks, multiply-adds, and
 * neighbours that are held; at least a block, which is smaller for large k. */
enum { ROUND_BLOCKS = 4, ROUND_WORK = 1 << 30, ROUND_NEIGHBOURS = 1 << 18 };

typedef struct call {
    const sv_neighbour_search *search;
    size_t block;         /* queries of a whole block */
    size_t blocks, parts; /* of queries, of a round; of the samples */
    size_t part;          /* samples of a whole part */
    size_t room;          /* neighbours of a list: k, or `part` */
    sv_neighbour *lists;  /* [blocks, parts, block, room] */
    sv_neighbour *merged; /* [workers, k]; nothing if there is one part */
    float *rows;          /* [workers, block + 1, c]: queries and a sample, of length 1 */
    size_t first;         /* block that is the first of the round */
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

/* Inserts a neighbour into list[*found], which is sorted by falling closeness. Samples come in the
 * order of their indices, so that a later one stands behind those that are equal. */
static void insert(sv_neighbour *list, size_t *found, size_t room, sv_neighbour new)
{
    if (*found == room && new.closeness <= list[room - 1].closeness)
        return;
    size_t at = *found < room ? (*found)++ : room - 1;
    for (; at > 0 && list[at - 1].closeness < new.closeness; at--)
        list[at] = list[at - 1];
    list[at] = new;
}

/* closeness[q] = the cosine similarity of x and query q of length 1. A sample whose squares do not
 * add up to a float of full precision is made one of length 1 in `unit`. */
static void cosines(float *closeness, const sv_kernels *kernels, const float *x,
                    const float *queries, size_t count, size_t c, float *unit)
{
    float square;
    kernels->dots(&square, x, x, 1, c);
    const bool is_usual = square > 1e-30f && square < 1e30f;
    const float scale = is_usual ? 1 / sqrtf(square) : 1;
    if (!is_usual)
        normalise(unit, x, c);
    kernels->dots(closeness, is_usual ? x : unit, queries, count, c);
    for (size_t q = 0; q < count; q++)
        closeness[q] *= scale;
}

/* closeness[q] = -|x - query q|^2 */
static void distances(float *closeness, const sv_kernels *kernels, const float *x,
                      const float *queries, size_t count, size_t c)
{
    kernels->square_distances(closeness, x, queries, count, c);
    for (size_t q = 0; q < count; q++)
        closeness[q] = -closeness[q];
}

static void search_task(void *argument, size_t task, uint32_t worker)
{
    const call *self = argument;
    const sv_neighbour_search *search = self->search;
    const svit_features *reference = search->reference;
    const sv_kernels *kernels = reference->context->kernels;
    const size_t c = reference->channels, begin = task % self->parts * self->part;
    const size_t end = sv_size_min(begin + self->part, reference->count);
    const size_t query = (self->first + task / self->parts) * self->block;
    const size_t count = sv_size_min(self->block, search->n - query);
    const bool cosine = search->metric == SVIT_METRIC_COSINE;
    const float *queries = search->queries + query * c;
    float *rows = self->rows + worker * (self->block + 1) * c, closeness[BLOCK];
    sv_neighbour *lists = self->lists + task * self->block * self->room;
    size_t found[BLOCK] = {0};
    for (size_t q = 0; cosine && q < count; q++)
        normalise(rows + q * c, queries + q * c, c);
    for (size_t i = begin; i < end; i++) {
        const float *x = reference->values + i * c;
        if (cosine)
            cosines(closeness, kernels, x, rows, count, c, rows + self->block * c);
        else
            distances(closeness, kernels, x, queries, count, c);
        for (size_t q = 0; q < count; q++)
            insert(lists + q * self->room, &found[q], self->room, (sv_neighbour){closeness[q], i});
    }
}

/* merged[k] = the nearest of the lists of all parts; of equally near ones that of the first part.
 * `heads` are the next of each list. */
static void merge(const call *self, sv_neighbour *merged, const sv_neighbour *lists)
{
    const size_t stride = self->block * self->room, count = self->search->reference->count;
    size_t heads[PARTS_MAX] = {0};
    for (size_t j = 0; j < self->search->k; j++) {
        size_t best = self->parts;
        for (size_t part = 0; part < self->parts; part++)
            if (heads[part] < sv_size_min(self->room, count - part * self->part) &&
                (best == self->parts || lists[part * stride + heads[part]].closeness >
                                            lists[best * stride + heads[best]].closeness))
                best = part;
        merged[j] = lists[best * stride + heads[best]++];
    }
}

static void use_task(void *argument, size_t task, uint32_t worker)
{
    const call *self = argument;
    const size_t block = task / self->block, in_block = task % self->block;
    const sv_neighbour *nearest =
        self->lists + (block * self->parts * self->block + in_block) * self->room;
    if (self->parts > 1) {
        sv_neighbour *merged = self->merged + worker * self->search->k;
        merge(self, merged, nearest);
        nearest = merged;
    }
    self->search->use(self->search, self->first * self->block + task, nearest, worker);
}

static svit_status search_all(call *self, svit_error *err)
{
    const svit_context *context = self->search->reference->context;
    const size_t all = (self->search->n + self->block - 1) / self->block;
    for (; self->first < all; self->first += self->blocks) {
        const size_t blocks = sv_size_min(self->blocks, all - self->first);
        const size_t queries =
            sv_size_min(blocks * self->block, self->search->n - self->first * self->block);
        SVIT_TRY(sv_context_go_on(context, err));
        sv_pool_run(context->pool, search_task, self, blocks * self->parts);
        sv_pool_run(context->pool, use_task, self, queries);
    }
    return SVIT_OK;
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

/* Divides the work: into parts where there are fewer blocks than the workers need, and into rounds.
 */
static void plan(call *self)
{
    const sv_neighbour_search *search = self->search;
    const size_t count = search->reference->count, c = search->reference->channels;
    const size_t threads = sv_pool_threads(search->reference->context->pool);
    self->block = sv_size_max(ROUND_NEIGHBOURS / search->k, 1);
    self->block = sv_size_min(self->block, sv_size_min(BLOCK, search->n));
    const size_t all = search->n / self->block + (search->n % self->block != 0);
    const size_t wanted = threads > 1 ? threads * TASKS_OF_WORKER / all : 1;
    self->parts = sv_size_min(sv_size_min(wanted, count / PART_SAMPLES), PARTS_MAX);
    self->parts = sv_size_max(self->parts, 1);
    self->part = (count + self->parts - 1) / self->parts;
    self->parts = (count + self->part - 1) / self->part;
    self->room = sv_size_min(search->k, self->part);
    size_t blocks = sv_size_min(ROUND_WORK / (count * c) / self->block, ROUND_BLOCKS);
    blocks = sv_size_min(ROUND_NEIGHBOURS / (self->block * self->parts) / self->room, blocks);
    self->blocks = sv_size_min(threads * sv_size_max(blocks, 1), all);
}

svit_status sv_neighbours_find(const sv_neighbour_search *search, svit_error *err)
{
    const svit_features *reference = search->reference;
    const sv_allocator *allocator = &reference->context->allocator;
    const char *what = "the neighbours of queries";
    call self = {.search = search};
    plan(&self);
    const size_t workers = sv_pool_workers(reference->context->pool,
                                           self.blocks * sv_size_max(self.parts, self.block));
    const size_t lists[] = {self.blocks, self.parts, self.block, self.room};
    const size_t rows = workers * (self.block + 1), row = reference->channels * sizeof *self.rows;
    size_t count, merged;
    if (!sv_size_product(&count, lists, 4) ||
        !sv_size_multiply(&merged, self.parts > 1 ? workers : 0, search->k) ||
        !sv_size_add(&count, count, merged))
        return sv_fail_memory(err, SIZE_MAX, what);
    svit_status status = sv_allocate_uncleared(allocator, (void **)&self.lists, count,
                                               sizeof *self.lists, what, err);
    if (status == SVIT_OK)
        status = sv_allocate_uncleared(allocator, (void **)&self.rows, rows, row, what, err);
    if (status == SVIT_OK) {
        self.merged = self.lists + count - merged;
        status = search_all(&self, err);
    }
    sv_release(allocator, self.rows, rows * row);
    sv_release(allocator, self.lists, count * sizeof *self.lists);
    return status;
}
