/* Texts from outside, file names say, made safe to print. */
#ifndef EXAMPLE_ESCAPE_H
#define EXAMPLE_ESCAPE_H

#include <stdio.h>

/* Prints `text` with \xHH for control characters and for bytes that are no UTF-8, so that a name
 * can neither break a line nor command a terminal. */
void escape_print(FILE *out, const char *text);

#endif
