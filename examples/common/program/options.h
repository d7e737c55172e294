/* The command line of a program: its options and arguments from tables, which also print --help and
 * --usage. Options may come before and after other arguments, "--" ends them, and a long option may
 * be shortened as far as it stays the only one. */
#ifndef EXAMPLE_OPTIONS_H
#define EXAMPLE_OPTIONS_H

#include <stddef.h>
#include <stdio.h>

/* An option. A key that is a letter is its short form, too. An option without `name` begins a group
 * whose title is `text`. A table ends with an option that has neither. */
struct option_line {
    const char *name;
    int key;
    const char *value; /* what stands for its value in the help; NULL: it has none */
    int is_optional;   /* 1: the value may be missing */
    const char *text;
};

struct option_state;

/* Takes an option with its value, which is NULL if it has none, or an argument, by `key`. Returns
 * 0, or OPTION_UNKNOWN if the key is none of its table. */
typedef int (*option_function)(int key, char *text, struct option_state *state);

/* Other keys than those of options. */
enum {
    OPTION_UNKNOWN = -1,
    OPTION_INIT = 0x1000000, /* before the first option; sets state->child_inputs */
    OPTION_ARGUMENT,         /* an argument that is no option */
    OPTION_ARGUMENTS,        /* all of them, from state->arguments on; instead of OPTION_ARGUMENT */
    OPTION_END               /* after the last one */
};

struct option_child;

/* A table, and what belongs to it. */
struct option_table {
    const struct option_line *lines;
    option_function take;
    const char *arguments; /* in the help; NULL: the program takes none */
    const char *text;      /* what the program does; behind '\v' what the help ends with */
    const struct option_child *children;   /* ends with one that has no table; may be NULL */
    void (*print_more)(const void *input); /* ends the help; may be NULL */
};

/* A table within another one. Its options follow under its title, or without one under the title
 * before. */
struct option_child {
    const struct option_table *table;
    const char *title;
};

enum { OPTION_CHILDREN = 8 };

/* What the functions see of the parser. */
struct option_state {
    void *input;         /* of the table */
    void **child_inputs; /* [OPTION_CHILDREN] those of its children, which OPTION_INIT sets */
    char **arguments;    /* the arguments that are no options */
    size_t argument_count;
};

/* The name of the program, without its folder and the ending .exe. */
extern const char *option_program_name;

/* Parses the command line. `version` is what --version prints behind the name. A wrong option ends
 * the program with exit status `failure`, and --help, --usage and --version end it with 0. The
 * order of argv changes: arguments that are no options come last. */
void options_parse(const struct option_table *table, int argc, char **argv, void *input,
                   const char *version, int failure);

/* Whether the command line that was parsed last has the option of this name; NULL never. */
int option_is_given(const char *name);

/* Prints a message, and where help is, on stderr, and ends the program with the exit status for a
 * wrong option. */
void option_error(const struct option_state *state, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));

/* An option that has an effect only with one of others, or only without another one. The names have
 * no "--". A table of rules ends with one without `option`. */
struct option_rule {
    const char *option;
    const char *with[3]; /* one of them is needed; the first is NULL: none is */
    const char *without; /* must not be there; may be NULL */
};

/* At OPTION_END: ends the program if an option of the command line has no effect by these rules. */
void option_check_rules(const struct option_state *state, const struct option_rule *rules);

/* Prints a text in lines of a terminal's width, from `column` on; all but the first line begin at
 * column `indent`. */
void option_wrap(FILE *stream, const char *text, size_t indent, size_t column);

#endif
