/* Compares the chosen checkpointing segments with every possible division of short lists of layers.
 */
#include "fit.h"

#include "session/segments.h"

enum { LAYERS = 7, LISTS = 300 };

typedef struct division {
    sv_segment list[LAYERS];
    size_t count;
} division;

/* Bytes of a layer's input if it is saved for the backward. The first layer's input, the image, is
 * needed only by the forward. */
static size_t needed(const sv_layer_cost *costs, size_t layer)
{
    return layer > 0 && costs[layer].keeps_input ? costs[layer].input : 0;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Bytes of temporary feature maps while a segment is recomputed: those that nobody saves alternate
 * between a buffer of the session and a third buffer. */
static size_t third_place(const division *of, size_t at, const sv_layer_cost *costs)
{
    const sv_segment *segment = &of->list[at];
    size_t bytes = 0;
    int in_buffer = 0;
    for (size_t i = segment->first + 1; i <= segment->end; i++) {
        int kept = costs[i].keeps_input || (i == segment->end && of->list[at + 1].recomputed);
        if (!kept && in_buffer)
            bytes = larger(bytes, costs[i].input);
        in_buffer = !kept && !in_buffer;
    }
    return bytes;
}

/* All bytes of a division; SIZE_MAX if it recomputes a segment that saves too little. */
static size_t bytes_of(const division *of, const sv_layer_cost *costs)
{
    size_t outside = 0, region = 0;
    for (size_t at = 0; at < of->count; at++) {
        const sv_segment *segment = &of->list[at];
        size_t saved = 0, input = needed(costs, segment->first);
        for (size_t i = segment->first; i < segment->end; i++)
            saved += costs[i].saved + (i > segment->first ? needed(costs, i) : 0);
        if (segment->recomputed && (saved + input) / 2 < costs[segment->first].input)
            return SIZE_MAX;
        outside += segment->recomputed ? costs[segment->first].input : input;
        if (segment->recomputed)
            region = larger(region, saved + third_place(of, at, costs));
        else if (segment->in_region)
            region = larger(region, saved);
        else
            outside += saved;
    }
    return outside + region;
}

/* Marks which segments in the region are recomputed and returns the bytes of the division. */
static size_t finish(division *of, const sv_layer_cost *costs)
{
    int later = 0;
    for (size_t at = of->count; at-- > 0;) {
        of->list[at].recomputed = of->list[at].in_region && later;
        later = later || of->list[at].in_region;
    }
    return bytes_of(of, costs);
}

static size_t least_of(division *of, const sv_layer_cost *costs, size_t layers, size_t longest)
{
    size_t first = of->count ? of->list[of->count - 1].end : 0, least = SIZE_MAX;
    if (first == layers)
        return finish(of, costs);
    of->count++;
    for (size_t end = first + 1; end <= layers && end - first <= longest; end++)
        for (int in_region = 0; in_region <= 1; in_region++) {
            of->list[of->count - 1] =
                (sv_segment){.first = first, .end = end, .in_region = in_region};
            size_t bytes = least_of(of, costs, layers, longest);
            least = bytes < least ? bytes : least;
        }
    of->count--;
    return least;
}

static uint32_t random_below(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

static void draw_costs(sv_layer_cost costs[LAYERS + 1], size_t layers, uint32_t *state)
{
    memset(costs, 0, (LAYERS + 1) * sizeof *costs);
    for (size_t i = 0; i < layers; i++)
        costs[i] = (sv_layer_cost){random_below(state, 40), 1 + random_below(state, 15),
                                   random_below(state, 2) == 0};
}

/* Checks that the segments are all layers in order and that their fields are right. Returns their
 * bytes. */
static size_t check(const sv_segments *chosen, const sv_layer_cost *costs, size_t layers)
{
    division copy = {.count = chosen->count};
    size_t next = 0;
    for (size_t i = 0; i < chosen->count; i++) {
        ck_assert_uint_eq(chosen->list[i].first, next);
        next = chosen->list[i].end;
        copy.list[i] = chosen->list[i];
    }
    ck_assert_uint_eq(next, layers);
    size_t bytes = finish(&copy, costs);
    for (size_t i = 0; i < chosen->count; i++) {
        ck_assert_int_eq(copy.list[i].recomputed, chosen->list[i].recomputed);
        if (chosen->list[i].recomputed)
            ck_assert_uint_eq(third_place(&copy, i, costs), chosen->list[i].temporary);
    }
    return bytes;
}

/* The search decides at the end of a segment whether it needs a third buffer, before it compares
 * the choices after it. Rarely this misses the least memory. */
START_TEST(test_the_chosen_segments_need_the_least_memory)
{
    uint32_t state = 1;
    size_t missed = 0;
    svit_context *context = fit_context(1);
    for (size_t list = 0; list < LISTS; list++) {
        sv_layer_cost costs[LAYERS + 1];
        size_t layers = 1 + random_below(&state, LAYERS), before = SIZE_MAX;
        draw_costs(costs, layers, &state);
        for (int32_t memory = 0; memory < 3; memory++) {
            static const size_t longest[] = {0, 1, LAYERS};
            sv_segments chosen = {0};
            division begun = {.count = 0};
            WORKS(sv_segments_choose(&chosen, context, costs, layers, memory, err));
            size_t bytes = check(&chosen, costs, layers);
            size_t least = memory ? least_of(&begun, costs, layers, longest[memory]) : bytes;
            ck_assert_msg(bytes <= before, "list %zu, memory %d: %zu bytes after %zu", list, memory,
                          bytes, before);
            ck_assert_msg(bytes <= least + least / 20, "list %zu, memory %d: %zu bytes, not %zu",
                          list, memory, bytes, least);
            missed += bytes > least;
            before = bytes;
            sv_segments_free(context, &chosen);
        }
    }
    ck_assert_uint_le(missed * 100, LISTS);
    svit_context_free(context);
}
END_TEST

static Suite *segments_suite(void)
{
    Suite *suite = suite_create("segments");
    TCase *all = tcase_create("choice");
    tcase_add_test(all, test_the_chosen_segments_need_the_least_memory);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(segments_suite)
