/* Patterns of names. */
#include "base/text/pattern.h"

#include <stddef.h>

bool sv_pattern_matches(const char *pattern, const char *name)
{
    const char *star = NULL, *retry = NULL; /* the last *, and where its rest is tried next */
    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            retry = name;
        } else if (*pattern == '?' || *pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star + 1;
            name = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}
