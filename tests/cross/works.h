/* Calls of the library that end a program if they fail, with what they say. */
#ifndef CROSS_WORKS_H
#define CROSS_WORKS_H

#include <shiftvit/shiftvit.h>

#include <stdio.h>
#include <stdlib.h>

static svit_error error = {.struct_size = sizeof error};
static svit_error *const err = &error;

#define WORKS(call)                                                                                \
    do {                                                                                           \
        if ((call) != SVIT_OK) {                                                                   \
            fprintf(stderr, "%s: %s\n", #call, error.message);                                     \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#endif
