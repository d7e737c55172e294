/* Lists of class names that belong to a handle. */
#ifndef SV_NAMES_H
#define SV_NAMES_H

#include "base/memory.h"
#include "base/status.h"

#include <stddef.h>

/* Copies names[count]; *out is NULL if `names` is NULL or empty. The caller frees *out with
 * sv_names_free. SVIT_E_ARGUMENT for a name that is NULL or not UTF-8, with a message that names
 * `argument` and its index. */
svit_status sv_names_copy(char ***out, const sv_allocator *allocator, const char *const *names,
                          size_t count, const char *argument, svit_error *err);

/* The number of leading names that a[a_count] and b[b_count] have in common: the index of the first
 * that differs. NULL has no name, whatever its count. */
size_t sv_names_common(const char *const *a, size_t a_count, const char *const *b, size_t b_count);

/* SVIT_E_ARGUMENT if two classes of one name would become one; `of` has the classes, for the
 * message: "the dataset". */
svit_status sv_names_check_distinct(const char *const *names, size_t count, const char *of,
                                    const sv_allocator *allocator, svit_error *err);

/* SVIT_E_ARGUMENT if a class of names[count], which `of` has, is one of old[count], the model's,
 * under another label: its classifier would learn against what it has learnt. */
svit_status sv_names_check_moved(const char *const *names, const char *const *old, size_t count,
                                 const char *of, const sv_allocator *allocator, svit_error *err);

/* Frees names[count]. NULL is allowed. */
void sv_names_free(const sv_allocator *allocator, char **names, size_t count);

#endif
