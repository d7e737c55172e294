/* What all programs share: common options, a context, messages and the exit status. */
#ifndef EXAMPLE_PROGRAM_H
#define EXAMPLE_PROGRAM_H

#include "program/options.h"

#include <shiftvit/shiftvit.h>

#include <stddef.h>
#include <stdint.h>

enum { STATUS_DONE = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

/* The common options and the context. Start from PROGRAM_INIT. The parser fills the options and
 * program_open creates the context. */
struct program {
    uint32_t threads; /* 0: one for each CPU */
    int pin;          /* as in svit_context_config */
    const char *gemm; /* as in svit_context_config */
    uint64_t seed;
    int seed_given; /* 1: --seed was given */
    int json;
    int quiet;
    svit_stop_function stop; /* as in svit_context_config; NULL: no call is stopped */
    int is_mute;             /* 1: another process of the job prints the failures */
    svit_context *context;
    svit_error err;     /* pass &program.err to the library; program_exit prints it */
    char message[1024]; /* the last one of program_fail, which err may have cut */
};

#define PROGRAM_INIT                                                                               \
    {                                                                                              \
        .err = {.struct_size = sizeof(svit_error) }                                                \
    }

/* Returns the status of a call from the enclosing function if the call fails. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        svit_status try_status = (call);                                                           \
        if (try_status != SVIT_OK)                                                                 \
            return try_status;                                                                     \
    } while (0)

/* The common options; the input is a `struct program *`. */
extern const struct option_table program_table;

/* Parses the command line. Wrong arguments end the process with exit status 2. From then on, the
 * process ends with exit status 1 if standard output could not be written. */
void program_parse(const struct option_table *table, int argc, char **argv, void *input);

/* Creates the context. The library's log goes to stderr, unless --quiet is given. */
svit_status program_open(struct program *self);

/* Frees the context and returns the exit status: 0 for SVIT_OK, 2 for SVIT_E_ARGUMENT, 1 for all
 * other failures, whose message is printed on stderr. */
int program_exit(struct program *self, svit_status status);

/* Sets a formatted error message and returns `status`. */
svit_status program_fail(struct program *self, svit_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Warns, unless --quiet is given, that an option or a setting has no effect. */
void program_note_unused(const struct program *self, const char *name, const char *why);

/* Parses the integer value of option `name`. A text that is not in min..max ends the
 * process. */
uint64_t option_unsigned(const struct option_state *state, const char *name, const char *text,
                         uint64_t min, uint64_t max);

/* Reads a decimal number: digits with a point and an exponent, or without, and a minus before them.
 * Returns 0 if the text is none, or if a double holds it as infinite or, unless it is 0, as 0. */
int decimal_read(double *value, const char *text);

/* Parses the real value of option `name`. A text that is not in min..max ends the
 * process. */
double option_real(const struct option_state *state, const char *name, const char *text, double min,
                   double max);

/* Whether the file's name has the ending, such as ".png", in either case. */
int has_ending(const char *path, const char *ending);

/* Checks the file name of a picture to draw, which must end in .png. Returns `text`. */
const char *option_png(const struct option_state *state, const char *name, const char *text);

/* Checks that a file name ends in one of two endings; `other` may be NULL. Returns `text`. */
const char *option_ending(const struct option_state *state, const char *name, const char *text,
                          const char *ending, const char *other);

/* "f32", "bf16", "int8", NULL: the names of SVIT_COMPUTE_*. */
extern const char *const compute_names[];

/* "none", "flip", "flip-shift", NULL: the names of SVIT_TTA_*. */
extern const char *const tta_names[];

/* Returns the index of `text` in `choices`, which ends with NULL. Another text ends the process. */
int32_t option_choice(const struct option_state *state, const char *name, const char *text,
                      const char *const *choices);

#endif
