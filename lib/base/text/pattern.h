/* Patterns of names, such as those of parameters. */
#ifndef SV_PATTERN_H
#define SV_PATTERN_H

#include <stdbool.h>

/* Whether `name` as a whole matches `pattern`, in which * stands for any characters and ? for
 * one. */
bool sv_pattern_matches(const char *pattern, const char *name);

#endif
