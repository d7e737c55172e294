/* Chooses the segments of activation checkpointing. The segments share one piece of memory for
 * their saved activations, the region (segments.h), which must hold the largest of them; the bytes
 * outside it add up. For a given limit on the region, dynamic programming from the last layer to
 * the first finds the choice with the fewest bytes outside. The search repeats this with ever
 * smaller limits, each just below the region of the choice before. */
#include "session/segments.h"

#include "base/size.h"

#include <shiftvit/session.h>

/* Layers of the longest segment. Longer ones save memory only in models of thousands of layers. */
enum { SEGMENT_LAYERS_MAX = 64 };

/* The best choice for the layers from some index on, given by its first segment. */
typedef struct choice {
    size_t bytes;  /* of all these layers, outside the region; SIZE_MAX: there is no choice */
    size_t region; /* bytes that the first segment needs of the region */
    sv_segment segment;
} choice;

typedef struct search {
    const sv_layer_cost *costs;
    size_t layers, max_length;
    size_t limit;   /* on the bytes of the region */
    size_t *stored; /* [layers + 1]: bytes of the layers from i on if none is in the region */
    choice *best;   /* [layers + 1]: for the layers from i on, at least one of them in the region */
} search;

/* a + b, or SIZE_MAX if it does not fit. */
static size_t add(size_t a, size_t b)
{
    size_t sum;
    return sv_size_add(&sum, a, b) ? sum : SIZE_MAX;
}

/* Bytes to keep a layer's input for its backward. 0 for the first layer, whose input is the images:
 * choose_recomputed counts them, since only a recomputed segment needs a copy. */
static size_t input_bytes(const sv_layer_cost *costs, size_t layer)
{
    return costs[layer].keeps_input && layer > 0 ? costs[layer].input : 0;
}

/* The bytes of a segment, summed layer by layer. During recomputation, activations between layers
 * that are not saved are temporary: they alternate between two buffers. The gradient occupies one
 * of the session's two buffers, so every second temporary activation of a run needs a third one. */
typedef struct segment_bytes {
    size_t saved;
    size_t temporary; /* of the third buffer */
    size_t run;       /* temporary activations in direct succession */
} segment_bytes;

/* Adds the input of `layer`, which is within the segment or directly behind it. */
static void add_temporary(segment_bytes *bytes, const sv_layer_cost *costs, size_t layer)
{
    bytes->run = costs[layer].keeps_input ? 0 : bytes->run + 1;
    if (bytes->run > 0 && bytes->run % 2 == 0)
        bytes->temporary = sv_size_max(bytes->temporary, costs[layer].input);
}

static void add_layer(segment_bytes *bytes, const sv_layer_cost *costs, size_t first, size_t layer)
{
    bytes->saved = add(bytes->saved, costs[layer].saved);
    if (layer == first)
        return;
    bytes->saved = add(bytes->saved, input_bytes(costs, layer));
    add_temporary(bytes, costs, layer);
}

static void take_if_better(const search *self, choice *best, choice other)
{
    if (other.bytes < best->bytes && other.region <= self->limit)
        *best = other;
}

/* Layers first..end - 1 as the last segment in the region. */
static choice choose_last(const search *self, size_t first, size_t end, size_t saved)
{
    return (choice){.bytes = add(input_bytes(self->costs, first), self->stored[end]),
                    .region = saved,
                    .segment = {.first = first, .end = end, .in_region = true}};
}

/* The same layers as a recomputed segment. Its output is temporary too, unless the next segment is
 * recomputed and so keeps its input. */
static choice choose_recomputed(const search *self, size_t first, size_t end, segment_bytes bytes)
{
    const choice *next = &self->best[end];
    if (end < self->layers && !next->segment.recomputed)
        add_temporary(&bytes, self->costs, end);
    return (choice){.bytes = add(self->costs[first].input, next->bytes),
                    .region = add(bytes.saved, bytes.temporary),
                    .segment = {first, end, true, true, bytes.temporary}};
}

/* The best choice for the layers from `first` on. */
static choice choose_from(const search *self, size_t first)
{
    const sv_layer_cost *costs = self->costs;
    segment_bytes bytes = {0};
    size_t input = input_bytes(costs, first), stored = add(input, costs[first].saved);
    choice best = {.bytes = add(stored, self->best[first + 1].bytes),
                   .segment = {.first = first, .end = first + 1}};
    for (size_t end = first + 1; end <= self->layers && end - first <= self->max_length; end++) {
        add_layer(&bytes, costs, first, end - 1);
        if (bytes.saved > self->limit)
            break;
        take_if_better(self, &best, choose_last(self, first, end, bytes.saved));
        /* Recomputation must save at least half of what the segment needs without it. */
        if (add(input, bytes.saved) / 2 >= costs[first].input)
            take_if_better(self, &best, choose_recomputed(self, first, end, bytes));
    }
    return best;
}

static bool is_last_in_region(const sv_segment *segment)
{
    return segment->in_region && !segment->recomputed;
}

/* Bytes of the region for the best choice of all layers. */
static size_t region_bytes(const search *self)
{
    size_t region = 0;
    const choice *at = &self->best[0];
    for (; !is_last_in_region(&at->segment); at = &self->best[at->segment.end])
        region = sv_size_max(region, at->region);
    return sv_size_max(region, at->region);
}

/* Writes the best choice of all layers. The layers behind the last segment in the region form one
 * segment outside it. */
static void write_best(const search *self, sv_segments *out)
{
    size_t first = 0;
    out->count = 0;
    do {
        out->list[out->count] = self->best[first].segment;
        first = out->list[out->count].end;
    } while (!is_last_in_region(&out->list[out->count++]));
    if (first < self->layers)
        out->list[out->count++] = (sv_segment){.first = first, .end = self->layers};
}

/* Computes best[i], the cheapest segments of the layers from i on whose region has at most
 * self->limit bytes, from the last layer down. */
static void find_best(search *self)
{
    self->best[self->layers] = (choice){.bytes = SIZE_MAX};
    for (size_t end = self->layers; end > 0; end--)
        self->best[end - 1] = choose_from(self, end - 1);
}

/* Tries one limit after another and writes the choice with the fewest bytes, if it needs fewer than
 * storing everything. */
static void find_segments(search *self, sv_segments *out)
{
    const sv_layer_cost *costs = self->costs;
    size_t region = SIZE_MAX;
    self->stored[self->layers] = 0;
    for (size_t i = self->layers; i > 0; i--)
        self->stored[i - 1] =
            add(self->stored[i], add(costs[i - 1].saved, input_bytes(costs, i - 1)));
    for (size_t min_bytes = self->stored[0]; region > 0;) {
        self->limit = region - 1;
        find_best(self);
        if (self->best[0].bytes == SIZE_MAX)
            return;
        region = region_bytes(self);
        if (add(self->best[0].bytes, region) >= min_bytes)
            continue;
        min_bytes = add(self->best[0].bytes, region);
        write_best(self, out);
    }
}

svit_status sv_segments_choose(sv_segments *out, const svit_context *context,
                               const sv_layer_cost *costs, size_t layers, int32_t memory,
                               svit_error *err)
{
    const sv_allocator *allocator = &context->allocator;
    void *list, *stored, *best;
    SVIT_TRY(sv_allocate_array(allocator, &list, layers, sizeof *out->list, "segments", err));
    *out = (sv_segments){list, 1, layers};
    out->list[0] = (sv_segment){.end = layers};
    if (memory == SVIT_MEMORY_STORE)
        return SVIT_OK;
    SVIT_TRY(sv_allocate_array(allocator, &stored, layers + 1, sizeof(size_t),
                               "the choice of segments", err));
    svit_status status = sv_allocate_array(allocator, &best, layers + 1, sizeof(choice),
                                           "the choice of segments", err);
    if (status == SVIT_OK) {
        search self = {.costs = costs,
                       .layers = layers,
                       .max_length =
                           memory == SVIT_MEMORY_RECOMPUTE_BLOCKS ? 1 : SEGMENT_LAYERS_MAX,
                       .stored = stored,
                       .best = best};
        find_segments(&self, out);
        sv_release(allocator, best, (layers + 1) * sizeof(choice));
    }
    sv_release(allocator, stored, (layers + 1) * sizeof(size_t));
    return status;
}

void sv_segments_free(const svit_context *context, sv_segments *segments)
{
    if (segments->list)
        sv_release(&context->allocator, segments->list,
                   segments->capacity * sizeof *segments->list);
    *segments = (sv_segments){0};
}
