/* Sorts texts and finds them by binary search. */
#include "base/text/unique.h"

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
