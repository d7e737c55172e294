/* The options of a table and of those within it, for options.c and option_help.c. */
#ifndef EXAMPLE_OPTION_LIST_H
#define EXAMPLE_OPTION_LIST_H

#include "program/options.h"

/* A table with its input. */
struct option_part {
    const struct option_table *table;
    struct option_state state;
    void *child_inputs[OPTION_CHILDREN];
};

enum { OPTION_PARTS = 16, OPTION_LINES = 128 };

/* An option where the help has it: in the section with this number, whose title may be NULL. */
struct option_place {
    const struct option_line *line;
    struct option_part *part; /* NULL: --help, --usage or --version */
    const char *title;
    size_t section;
    int is_given; /* 1: the command line has it */
};

struct option_list {
    struct option_part parts[OPTION_PARTS];
    size_t part_count;
    struct option_place places[OPTION_LINES]; /* in the order of the tables */
    size_t count;
    size_t sections;
};

/* The keys of the options that every program has. */
enum { OPTION_HELP = '?', OPTION_VERSION = 'V', OPTION_USAGE = 0x1000100 };

/* The short form of an option; 0: it has none. */
char option_letter(const struct option_line *line);

/* Prints --help or --usage. The list is sorted. */
void option_help(struct option_list *list);
void option_usage(struct option_list *list);

#endif
