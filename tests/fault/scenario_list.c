/* The list of all scenarios. */
#include "scenario.h"

#include <stdlib.h>
#include <string.h>

scenario *all_scenarios;

static int compare(const void *a, const void *b)
{
    const scenario *x = *(const scenario *const *)a, *y = *(const scenario *const *)b;
    const int order = strcmp(x->function, y->function);
    return order ? order : strcmp(x->variant, y->variant);
}

int list_scenarios(const scenario **out)
{
    int count = 0;
    for (const scenario *one = all_scenarios; one; one = one->next)
        if (count < MOST_SCENARIOS)
            out[count++] = one;
    qsort(out, (size_t)count, sizeof *out, compare);
    return count;
}
