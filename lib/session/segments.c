/* The choice of segments. Bytes outside the region add up, and the region is as large as its
 * largest segment; so for a limit on the region the least sum is found from the last layer to the
 * first, and the limits tried are the sizes that a region can have, from the largest down. */
#include "session/segments.h"

#include "base/size.h"

#include <shiftvit/session.h>

/* A longer run would pay for itself only in a model of many thousands of layers. */
enum { LONGEST = 64 };

/* The first segment of the layers from some number on. */
typedef struct choice {
    size_t bytes;  /* outside the region, of all those layers; SIZE_MAX: impossible */
    size_t region; /* of the segment alone */
    sv_segment segment;
} choice;

typedef struct search {
    const sv_layer_cost *costs;
    size_t layers, longest;
    size_t limit;   /* on the region */
    size_t *single; /* [layers + 1]: bytes of the layers from i on, where none shares */
    choice *best;   /* [layers + 1]: where at least one does */
} search;

static size_t add(size_t a, size_t b)
{
    size_t sum;
    return sv_size_add(&sum, a, b) ? sum : SIZE_MAX;
}

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The image is kept only to run the first layer again. */
static size_t needed_input(const sv_layer_cost *costs, size_t layer)
{
    return costs[layer].keeps_input && layer > 0 ? costs[layer].input : 0;
}

/* What a segment holds, layer by layer. Maps that nobody keeps go through a session's two buffers.
 * In the backward the gradient has one of them, and every other map of a chain needs a third. */
typedef struct sum {
    size_t saved, passing;
    size_t chain; /* maps in passing, one after another, up to here */
} sum;

/* The map that `layer` reads, within the segment or right after it. */
static void pass_input(sum *of, const sv_layer_cost *costs, size_t layer)
{
    of->chain = costs[layer].keeps_input ? 0 : of->chain + 1;
    if (of->chain > 0 && of->chain % 2 == 0)
        of->passing = most(of->passing, costs[layer].input);
}

static void add_layer(sum *of, const sv_layer_cost *costs, size_t first, size_t layer)
{
    of->saved = add(of->saved, costs[layer].saved);
    if (layer == first)
        return;
    of->saved = add(of->saved, needed_input(costs, layer));
    pass_input(of, costs, layer);
}

static void consider(const search *self, choice *best, choice other)
{
    if (other.bytes < best->bytes && other.region <= self->limit)
        *best = other;
}

/* The segment first..end-1, as the last shared one. */
static choice as_last(const search *self, size_t first, size_t end, size_t saved)
{
    return (choice){
        add(needed_input(self->costs, first), self->single[end]), saved, {first, end, 1, 0, 0}};
}

/* The same, with shared ones after it. Its own output passes too, unless the next is run again. */
static choice as_again(const search *self, size_t first, size_t end, sum of)
{
    const choice *next = &self->best[end];
    if (end < self->layers && !next->segment.again)
        pass_input(&of, self->costs, end);
    return (choice){add(self->costs[first].input, next->bytes),
                    add(of.saved, of.passing),
                    {first, end, 1, 1, of.passing}};
}

/* A segment is run again where that spares at least half of what it would take by itself: less is
 * not worth the time. */
static choice best_from(const search *self, size_t first)
{
    const sv_layer_cost *costs = self->costs;
    sum of = {0};
    size_t input = needed_input(costs, first), alone = add(input, costs[first].saved);
    choice best = {add(alone, self->best[first + 1].bytes), 0, {first, first + 1, 0, 0, 0}};
    for (size_t end = first + 1; end <= self->layers && end - first <= self->longest; end++) {
        add_layer(&of, costs, first, end - 1);
        if (of.saved > self->limit)
            break;
        consider(self, &best, as_last(self, first, end, of.saved));
        if (add(input, of.saved) / 2 >= costs[first].input)
            consider(self, &best, as_again(self, first, end, of));
    }
    return best;
}

static int is_last_shared(const sv_segment *segment)
{
    return segment->shared && !segment->again;
}

/* What the region needs, by `best` from the first layer on. */
static size_t region_bytes(const search *self)
{
    size_t region = 0;
    const choice *at = &self->best[0];
    for (; !is_last_shared(&at->segment); at = &self->best[at->segment.end])
        region = most(region, at->region);
    return most(region, at->region);
}

/* After the last shared segment every layer keeps for itself. */
static void write_best(const search *self, sv_segments *out)
{
    size_t first = 0;
    out->count = 0;
    do {
        out->list[out->count] = self->best[first].segment;
        first = out->list[out->count].end;
    } while (!is_last_shared(&out->list[out->count++]));
    if (first < self->layers)
        out->list[out->count++] = (sv_segment){.first = first, .end = self->layers};
}

static void find_best(search *self)
{
    self->best[self->layers] = (choice){.bytes = SIZE_MAX};
    for (size_t first = self->layers; first-- > 0;)
        self->best[first] = best_from(self, first);
}

static void find_segments(search *self, sv_segments *out)
{
    const sv_layer_cost *costs = self->costs;
    size_t region = SIZE_MAX;
    self->single[self->layers] = 0;
    for (size_t i = self->layers; i-- > 0;)
        self->single[i] = add(self->single[i + 1], add(costs[i].saved, needed_input(costs, i)));
    for (size_t least = self->single[0]; region > 0;) {
        self->limit = region - 1;
        find_best(self);
        if (self->best[0].bytes == SIZE_MAX)
            return;
        region = region_bytes(self);
        if (add(self->best[0].bytes, region) >= least)
            continue;
        least = add(self->best[0].bytes, region);
        write_best(self, out);
    }
}

svit_status sv_segments_choose(sv_segments *out, const svit_context *context,
                               const sv_layer_cost *costs, size_t layers, int32_t memory,
                               svit_error *err)
{
    const sv_allocator *allocator = &context->allocator;
    void *list, *single, *best;
    SVIT_TRY(sv_allocate_array(allocator, &list, layers, sizeof *out->list, "segments", err));
    *out = (sv_segments){list, 1, layers};
    out->list[0] = (sv_segment){.end = layers};
    if (memory == SVIT_MEMORY_STORE)
        return SVIT_OK;
    SVIT_TRY(sv_allocate_array(allocator, &single, layers + 1, sizeof(size_t), "a choice", err));
    svit_status status =
        sv_allocate_array(allocator, &best, layers + 1, sizeof(choice), "a choice", err);
    if (status == SVIT_OK) {
        search self = {.costs = costs,
                       .layers = layers,
                       .longest = memory == SVIT_MEMORY_RECOMPUTE_BLOCKS ? 1 : LONGEST,
                       .single = single,
                       .best = best};
        find_segments(&self, out);
        sv_release(allocator, best, (layers + 1) * sizeof(choice));
    }
    sv_release(allocator, single, (layers + 1) * sizeof(size_t));
    return status;
}

void sv_segments_free(const svit_context *context, sv_segments *segments)
{
    if (segments->list)
        sv_release(&context->allocator, segments->list,
                   segments->capacity * sizeof *segments->list);
    *segments = (sv_segments){0};
}
