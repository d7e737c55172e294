/* Makes texts from files and arguments safe to print, and finds the nearest known word. */
#ifndef EXAMPLE_SHOWN_H
#define EXAMPLE_SHOWN_H

#include <stddef.h>

enum { SHOWN_CAPACITY = 1024 };

/* Copies `text` to shown[SHOWN_CAPACITY] as one line without terminal commands: control characters
 * and bytes that are not UTF-8 become \n, \t or \xNN. A text that is too long ends in "...".
 * Returns `shown`. Messages of svit_error need none of this: the library has cleaned them. */
const char *shown_text(char *shown, const char *text);

/* Does that so that a shell reads the text as one word: quoted, unless its characters need no
 * quotes. */
const char *shown_word(char *shown, const char *text);

/* Copies the beginning of `text` to cut[capacity], with its NUL: as much as there is room for,
 * without a part of a UTF-8 character at the end. Returns `cut`. */
const char *text_cut(char *cut, size_t capacity, const char *text);

/* Returns the word of `words` (NULL at the end) with the smallest edit distance to `text`, or NULL
 * if all are farther than a third of its length, or 2 edits of five letters. */
const char *nearest_word(const char *text, const char *const *words);

#endif
