/* Lists of distinct texts, such as the names of classes. */
#ifndef SV_UNIQUE_H
#define SV_UNIQUE_H

#include <stddef.h>

/* Brings texts[count] into byte order without repetitions. Returns how many are left. */
size_t sv_texts_unique(const char **texts, size_t count);

/* The place of `text` among texts[count], which are in byte order and have it. */
size_t sv_texts_find(const char *const *texts, size_t count, const char *text);

#endif
