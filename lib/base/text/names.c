/* Copies lists of class names, which come from outside. */
#include "base/text/names.h"

#include "base/text/unique.h"
#include "base/text/utf8.h"

#include <string.h>

void sv_names_free(const sv_allocator *allocator, char **names, size_t count)
{
    for (size_t i = 0; names && i < count; i++)
        sv_release_text(allocator, names[i]);
    sv_release(allocator, names, count * sizeof *names);
}

static svit_status copy_name(char **out, const sv_allocator *allocator, const char *name,
                             const char *argument, size_t index, svit_error *err)
{
    if (!name)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s[%zu] is NULL; a name is needed", argument, index);
    if (!sv_utf8_valid(name))
        return sv_fail(err, SVIT_E_ARGUMENT, "%s[%zu] is '%.64s', which is not UTF-8", argument,
                       index, name);
    *out = sv_copy_text(allocator, name);
    return *out ? SVIT_OK : sv_fail_memory(err, strlen(name) + 1, "a class name");
}

svit_status sv_names_copy(char ***out, const sv_allocator *allocator, const char *const *names,
                          size_t count, const char *argument, svit_error *err)
{
    char **copies = NULL;
    if (!names || count == 0) {
        *out = NULL;
        return SVIT_OK;
    }
    SVIT_TRY(
        sv_allocate_array(allocator, (void **)&copies, count, sizeof *copies, "class names", err));
    svit_status status = SVIT_OK;
    for (size_t i = 0; i < count && status == SVIT_OK; i++)
        status = copy_name(&copies[i], allocator, names[i], argument, i, err);
    if (status == SVIT_OK)
        *out = copies;
    else
        sv_names_free(allocator, copies, count);
    return status;
}

size_t sv_names_common(const char *const *a, size_t a_count, const char *const *b, size_t b_count)
{
    size_t k = 0;
    while (a && b && k < a_count && k < b_count && strcmp(a[k], b[k]) == 0)
        k++;
    return k;
}

svit_status sv_names_check_distinct(const char *const *names, size_t count, const char *of,
                                    const sv_allocator *allocator, svit_error *err)
{
    size_t twice[2];
    SVIT_TRY(sv_texts_find_twice(twice, names, count, allocator, err));
    if (twice[1] == 0)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "classes %zu and %zu of %s are '%.60s'; different names are needed", twice[0],
                   twice[1], of, names[twice[1]]);
}

svit_status sv_names_check_moved(const char *const *names, const char *const *old, size_t count,
                                 const char *of, const sv_allocator *allocator, svit_error *err)
{
    size_t *places, k = 0;
    SVIT_TRY(sv_allocate_array(allocator, (void **)&places, count, sizeof *places,
                               "the places of class names", err));
    svit_status status = sv_texts_match(places, names, count, old, count, allocator, err);
    if (status == SVIT_OK)
        while (k < count && (places[k] == count || strcmp(names[k], old[k]) == 0))
            k++;
    if (status == SVIT_OK && k < count)
        status = sv_fail(err, SVIT_E_ARGUMENT,
                         "class %zu of %s is '%.60s', which is class %zu of the model; "
                         "svit_dataset_match_classes takes the model's order, "
                         "svit_model_replace_head a new classifier",
                         k, of, names[k], places[k]);
    sv_release(allocator, places, count * sizeof *places);
    return status;
}
