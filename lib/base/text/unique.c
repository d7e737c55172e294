/* Sorts texts and finds them by binary search. */
#include "base/text/unique.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t sv_texts_unique(const char **texts, size_t count)
{
    size_t kept = 0;
    if (count > 0)
        qsort(texts, count, sizeof *texts, compare_texts);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || strcmp(texts[i], texts[kept - 1]) != 0)
            texts[kept++] = texts[i];
    return kept;
}

size_t sv_texts_find(const char *const *texts, size_t count, const char *text)
{
    const char *const *found = bsearch(&text, texts, count, sizeof text, compare_texts);
    return (size_t)(found - texts);
}

/* Equal texts are in the order of their places. */
static int compare_places(const void *a, const void *b)
{
    const char *const *first = *(const char *const *const *)a;
    const char *const *second = *(const char *const *const *)b;
    const int order = strcmp(*first, *second);
    return order ? order : (first > second) - (first < second);
}

/* Creates the places of texts[count], in the order of the texts. The caller releases *out. */
static svit_status sort_places(const char *const ***out, const char *const *texts, size_t count,
                               const sv_allocator *allocator, svit_error *err)
{
    void *memory = NULL;
    SVIT_TRY(sv_allocate_array(allocator, &memory, count, sizeof texts, "the order of names", err));
    *out = memory;
    for (size_t i = 0; i < count; i++)
        (*out)[i] = texts + i;
    qsort(memory, count, sizeof texts, compare_places);
    return SVIT_OK;
}

svit_status sv_texts_find_twice(size_t twice[2], const char *const *texts, size_t count,
                                const sv_allocator *allocator, svit_error *err)
{
    const char *const **places;
    SVIT_TRY(sort_places(&places, texts, count, allocator, err));
    twice[0] = twice[1] = 0;
    for (size_t i = 1; twice[1] == 0 && i < count; i++)
        if (strcmp(*places[i], *places[i - 1]) == 0) {
            twice[0] = (size_t)(places[i - 1] - texts);
            twice[1] = (size_t)(places[i] - texts);
        }
    sv_release(allocator, places, count * sizeof *places);
    return SVIT_OK;
}

/* The first of order[count], which is sorted, that is not before `text`. */
static size_t lower_bound(const char *const *const *order, size_t count, const char *text)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(*order[middle], text) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

svit_status sv_texts_match(size_t *places, const char *const *texts, size_t n,
                           const char *const *among, size_t count, const sv_allocator *allocator,
                           svit_error *err)
{
    const char *const **order;
    SVIT_TRY(sort_places(&order, among, count, allocator, err));
    for (size_t i = 0; i < n; i++) {
        const size_t at = lower_bound(order, count, texts[i]);
        const bool found = at < count && strcmp(*order[at], texts[i]) == 0;
        places[i] = found ? (size_t)(order[at] - among) : count;
    }
    sv_release(allocator, order, count * sizeof *order);
    return SVIT_OK;
}

svit_status sv_texts_append(const char **texts, size_t *count, size_t *places,
                            const char *const *more, size_t n, const sv_allocator *allocator,
                            svit_error *err)
{
    const size_t known = *count;
    SVIT_TRY(sv_texts_match(places, more, n, texts, known, allocator, err));
    for (size_t i = 0; i < n; i++) {
        if (places[i] < known)
            continue;
        texts[*count] = more[i];
        places[i] = (*count)++;
    }
    return SVIT_OK;
}
