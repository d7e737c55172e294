/* Texts from outside as they are shown to a person, and the nearest of known words. */
#ifndef EXAMPLE_SHOWN_H
#define EXAMPLE_SHOWN_H

#include <stddef.h>

enum { SHOWN_CAPACITY = 1024 };

/* Copies `text` into shown[SHOWN_CAPACITY] as one line that a terminal cannot take for commands:
 * control characters, those of Unicode included, and bytes that are not UTF-8 become \n, \t or
 * \xNN, a backslash stays as it is. Too long a text ends in "...". Returns `shown`. */
const char *shown_text(char *shown, const char *text);

/* The word of `words` (NULL at the end) that takes the fewest single-character edits to become
 * `text`; NULL where none is within a third of its length, or 2. */
const char *nearest_word(const char *text, const char *const *words);

#endif
