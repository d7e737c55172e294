/* Patterns of names: *, ? and sets of characters. */
#ifndef EXAMPLE_WINDOWS_FNMATCH_H
#define EXAMPLE_WINDOWS_FNMATCH_H

enum { FNM_NOMATCH = 1, FNM_PERIOD = 4 };

int fnmatch(const char *pattern, const char *text, int flags);

#endif
