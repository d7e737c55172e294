/* What every program shares: common options, a context, messages, the exit status. */
#ifndef EXAMPLE_PROGRAM_H
#define EXAMPLE_PROGRAM_H

#include <shiftvit/shiftvit.h>

#include <argp.h>
#include <stddef.h>
#include <stdint.h>

enum { STATUS_DONE = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

/* Common options and what is made from them. Start from PROGRAM_INIT; the parser fills the first
 * five fields, program_open the context. */
struct program {
    uint32_t threads; /* 0 = every core */
    const char *gemm; /* as in svit_context_config */
    uint64_t seed;
    int json;
    int quiet;
    svit_context *context;
    svit_error err; /* pass &program.err to the library; program_exit prints it */
};

#define PROGRAM_INIT                                                                               \
    {                                                                                              \
        .err = {.struct_size = sizeof(svit_error) }                                                \
    }

/* Stops a function at the first call that fails, and hands its status on. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        svit_status try_status = (call);                                                           \
        if (try_status != SVIT_OK)                                                                 \
            return try_status;                                                                     \
    } while (0)

/* A child parser for the common options; its input is a `struct program *`. */
extern const struct argp program_argp;

/* Parses the command line. Wrong arguments end the process here, with exit status 2. From here on
 * the process ends with exit status 1 where standard output could not be written. */
void program_parse(const struct argp *argp, int argc, char **argv, void *input);

/* Creates the context; what the library logs goes to stderr, but for --quiet. */
svit_status program_open(struct program *self);

/* Frees the context and turns a status into an exit status: 0 done; 2 where an argument was
 * refused; 1 where the work failed. Prints the message of the last two on stderr. */
int program_exit(struct program *self, svit_status status);

/* Fails with a message of the program's own. */
svit_status program_fail(struct program *self, svit_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Values of options. A text that is none of what is accepted is refused by name. */
uint64_t option_unsigned(const struct argp_state *state, const char *name, const char *text,
                         uint64_t least, uint64_t greatest);
double option_real(const struct argp_state *state, const char *name, const char *text, double least,
                   double greatest);

/* Checks the file name of a picture to draw, which must end in .png. Returns `text`. */
const char *option_png(const struct argp_state *state, const char *name, const char *text);

/* f32, bf16, int8, NULL: in the order of SVIT_COMPUTE_*. */
extern const char *const compute_names[];

/* The place of `text` among `choices`, which ends with NULL. */
int32_t option_choice(const struct argp_state *state, const char *name, const char *text,
                      const char *const *choices);

#endif
