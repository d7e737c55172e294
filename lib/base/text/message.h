/* Makes messages safe to print on a terminal, whatever names from files and callers they quote. */
#ifndef SV_MESSAGE_H
#define SV_MESSAGE_H

#include <stdarg.h>
#include <stddef.h>

/* Formats a message as by vsnprintf into out[capacity], shortened and clean. An argument may be
 * `out` itself. */
void sv_message_format(char *out, size_t capacity, const char *format, va_list arguments);

/* Copies `text` to out[capacity] as UTF-8 without control characters. `capacity` is at least
 * 8. Control characters and invalid bytes become \n, \r, \t or \xNN. A character that a
 * "%.64s" has cut before a quote or the end becomes an ellipsis. So does the rest of a text
 * that does not fit. */
void sv_message_clean(char *out, size_t capacity, const char *text);

/* Returns the end of a text that has at most `room` bytes and begins with a character, or all of
 * it. */
const char *sv_message_last(const char *text, size_t room);

/* Takes bytes from the begin of the longest quoted name, or of a longer path with which the text
 * begins, and puts an ellipsis there, until the text has at most `most` bytes or the name 40: what
 * follows the name says why. */
void sv_message_shorten(char *text, size_t most);

/* Bytes of the longest printable form of one character, with its NUL: two "\xNN" for the two UTF-8
 * bytes of a C1 control character need 9. */
enum { SV_PRINTABLE = 12 };

/* Writes the first character of the text, which is not empty, in its printable form. Returns the
 * bytes that it occupies in the text. */
size_t sv_message_character(char printable[SV_PRINTABLE], const char *text);

#endif
