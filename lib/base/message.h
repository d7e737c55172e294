/* Messages that are fit for a terminal, whatever names from files and callers they quote. */
#ifndef SV_MESSAGE_H
#define SV_MESSAGE_H

#include <stddef.h>

/* Copies `text` to out[capacity], capacity at least 8, as UTF-8 without control characters: these,
 * and bytes that are not UTF-8, become \n, \r, \t or \xNN. A character that was cut in its middle
 * before a quote or the end becomes an ellipsis, and so does what does not fit. */
void sv_message_clean(char *out, size_t capacity, const char *text);

#endif
