/* Makes messages safe to print on a terminal, whatever names from files and callers they quote. */
#ifndef SV_MESSAGE_H
#define SV_MESSAGE_H

#include <stddef.h>

/* Copies `text` to out[capacity] as UTF-8 without control characters. `capacity` is at least
 * 8. Control characters and invalid bytes become \n, \r, \t or \xNN. A character that a
 * "%.64s" has cut before a quote or the end becomes an ellipsis. So does the rest of a text
 * that does not fit. */
void sv_message_clean(char *out, size_t capacity, const char *text);

/* Bytes of the longest printable form of one character, with its NUL: two "\xNN" for the two UTF-8
 * bytes of a C1 control character need 9. */
enum { SV_PRINTABLE = 12 };

/* Writes the first character of the text, which is not empty, in its printable form. Returns the
 * bytes that it occupies in the text. */
size_t sv_message_character(char printable[SV_PRINTABLE], const char *text);

#endif
