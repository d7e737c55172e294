/* Lists of distinct texts, such as the names of classes. */
#ifndef SV_UNIQUE_H
#define SV_UNIQUE_H

#include "base/memory.h"
#include "base/status.h"

#include <stddef.h>

/* Brings texts[count] into byte order without repetitions. Returns how many are left. */
size_t sv_texts_unique(const char **texts, size_t count);

/* The place of `text` among texts[count], which are in byte order and have it. */
size_t sv_texts_find(const char *const *texts, size_t count, const char *text);

/* Finds two equal texts among texts[count], of which there may be millions: twice[0] < twice[1] are
 * their places, both 0 if there are none. SVIT_E_MEMORY. */
svit_status sv_texts_find_twice(size_t twice[2], const char *const *texts, size_t count,
                                const sv_allocator *allocator, svit_error *err);

/* Finds texts[n] among among[count]: places[i] is the place of texts[i], of equal ones the first,
 * `count` if it is none of them. SVIT_E_MEMORY. */
svit_status sv_texts_match(size_t *places, const char *const *texts, size_t n,
                           const char *const *among, size_t count, const sv_allocator *allocator,
                           svit_error *err);

/* Appends to texts[*count], which has room for them, those of more[n] that it lacks, and adds their
 * number to *count. places[n] are the places of all of them. Texts of `more` that are equal are
 * appended as often as they occur. SVIT_E_MEMORY. */
svit_status sv_texts_append(const char **texts, size_t *count, size_t *places,
                            const char *const *more, size_t n, const sv_allocator *allocator,
                            svit_error *err);

#endif
