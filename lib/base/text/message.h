/* Makes messages safe to print on a terminal, whatever names from files and callers they quote. */
#ifndef SV_MESSAGE_H
#define SV_MESSAGE_H

#include <stddef.h>

/* Copies `text` to out[capacity] as UTF-8 without control characters. `capacity` is at least
 * 8. Control characters and invalid bytes become \n, \r, \t or \xNN. A character that a
 * "%.64s" has cut before a quote or the end becomes an ellipsis. So does the rest of a text
 * that does not fit. */
void sv_message_clean(char *out, size_t capacity, const char *text);

#endif
