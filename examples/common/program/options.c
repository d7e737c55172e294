/* Parses the command line of a program by getopt_long. */
#include "program/option_list.h"
#include "program/shown.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *option_program_name = "";
static int failure_status;
static struct option_list all; /* the options of the command line that is being parsed */

static const struct option_line STANDARD[] = {
    {"help", OPTION_HELP, NULL, 0, "Give this help list"},
    {"usage", OPTION_USAGE, NULL, 0, "Give a short usage message"},
    {"version", OPTION_VERSION, NULL, 0, "Print program version"},
};

/* The folder in front and the ending .exe go. */
static void set_program_name(char *path)
{
    char *name = path;
    for (char *at = path; *at; at++)
        if (*at == '/' || *at == '\\')
            name = at + 1;
    const size_t length = strlen(name);
    if (length > 4 && strcmp(name + length - 4, ".exe") == 0)
        name[length - 4] = '\0';
    option_program_name = name;
}

/* Says on stderr where help is, and ends the program. */
static _Noreturn void fail_with_hint(void)
{
    char hint[512];
    snprintf(hint, sizeof hint, "Try `%s --help' or `%s --usage' for more information.",
             option_program_name, option_program_name);
    option_wrap(stderr, hint, 0, 0);
    exit(failure_status);
}

void option_error(const struct option_state *state, const char *format, ...)
{
    (void)state;
    char message[SHOWN_CAPACITY], shown[SHOWN_CAPACITY];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s: %s\n", option_program_name, shown_text(shown, message));
    fail_with_hint();
}

static void add_place(struct option_list *list, struct option_part *part,
                      const struct option_line *line, const char *title)
{
    if (list->count == OPTION_LINES)
        abort();
    list->places[list->count++] = (struct option_place){line, part, title, list->sections, 0};
}

/* Adds the options of a table, and of those within it. `title` is that of the section in which they
 * begin. */
static void add_table(struct option_list *list, const struct option_table *table, void *input,
                      const char *title)
{
    if (list->part_count == OPTION_PARTS)
        abort();
    struct option_part *part = &list->parts[list->part_count++];
    part->table = table;
    part->state = (struct option_state){.input = input, .child_inputs = part->child_inputs};
    table->take(OPTION_INIT, NULL, &part->state);
    for (const struct option_line *line = table->lines; line->name || line->text; line++) {
        if (line->name) {
            add_place(list, part, line, title);
        } else {
            title = line->text;
            list->sections++;
        }
    }
    for (size_t i = 0; table->children && table->children[i].table; i++) {
        const struct option_child *child = &table->children[i];
        if (child->title) {
            title = child->title;
            list->sections++;
        }
        add_table(list, child->table, part->child_inputs[i], title);
    }
}

static void take_option(struct option_list *list, struct option_place *place, char *value,
                        const char *version)
{
    place->is_given = 1;
    if (place->part) {
        place->part->table->take(place->line->key, value, &place->part->state);
        return;
    }
    if (place->line->key == OPTION_HELP)
        option_help(list);
    else if (place->line->key == OPTION_USAGE)
        option_usage(list);
    else
        printf("%s %s\n", option_program_name, version);
    exit(0);
}

/* Bytes of the letters, and what getopt_long returns for the first long option: no letter. Each has
 * its own, or getopt_long would take some of them for the same where a name is shortened. */
enum { SHORT = 2 * OPTION_LINES + 2, OPTION_LONG = 0x1000200 };

/* What getopt_long takes: the long options, in the order of the list, and the letters behind a
 * colon, by which it tells a value that is missing. */
static void describe(struct option known[OPTION_LINES + 1], char letters[SHORT],
                     const struct option_list *list)
{
    size_t used = 0;
    letters[used++] = ':';
    for (size_t i = 0; i < list->count; i++) {
        const struct option_line *line = list->places[i].line;
        const int has_value = !line->value        ? no_argument
                              : line->is_optional ? optional_argument
                                                  : required_argument;
        known[i] = (struct option){line->name, has_value, NULL, OPTION_LONG + (int)i};
        if (!option_letter(line))
            continue;
        letters[used++] = option_letter(line);
        if (has_value == required_argument)
            letters[used++] = ':';
    }
    known[list->count] = (struct option){0};
    letters[used] = '\0';
}

static struct option_place *find_letter(struct option_list *list, int letter)
{
    for (size_t i = 0; i < list->count; i++)
        if (option_letter(list->places[i].line) == letter)
            return &list->places[i];
    return NULL;
}

/* Prints "PROGRAM: TEXT" on stderr, where each part is safe to print. */
static void print_wrong(const char *before, const char *given, const char *behind)
{
    char shown[SHOWN_CAPACITY];
    fprintf(stderr, "%s: %s%s%s", option_program_name, before, shown_text(shown, given), behind);
}

/* Fails for a long option that is none of the list, or the beginning of several, which are named.
 * One that resembles an unknown one is named too. */
static _Noreturn void fail_to_find(const struct option_list *list, const char *given)
{
    const char *names[OPTION_LINES + 1] = {NULL};
    char option[SHOWN_CAPACITY];
    const char *name = option + 2; /* behind "--" */
    size_t begun = 0;
    text_cut(option, sizeof option, given);
    option[strcspn(option, "=")] = '\0';
    for (size_t i = 0; i < list->count; i++) {
        names[i] = list->places[i].line->name;
        begun += strncmp(names[i], name, strlen(name)) == 0;
    }
    print_wrong(begun ? "option '" : "unrecognized option '", option,
                begun ? "' is ambiguous; possibilities:" : "'\n");
    for (size_t i = 0; begun && i < list->count; i++)
        if (strncmp(names[i], name, strlen(name)) == 0)
            fprintf(stderr, " '--%s'", names[i]);
    const char *nearest = begun || !name[0] ? NULL : nearest_word(name, names);
    if (begun)
        fputc('\n', stderr);
    if (nearest)
        fprintf(stderr, "%s: did you mean '--%s'?\n", option_program_name, nearest);
    fail_with_hint();
}

/* Fails for what getopt_long has not taken: `key` is ':' where a value is missing, and in some
 * libraries where a long option has one that it does not take. */
static _Noreturn void fail_to_take(const struct option_list *list, int key, const char *given)
{
    const char letter[] = {(char)optopt, '\0'};
    if (optopt == 0)
        fail_to_find(list, given);
    const struct option_line *line =
        optopt < OPTION_LONG ? NULL : list->places[optopt - OPTION_LONG].line;
    if (!line)
        print_wrong(key == ':' ? "option requires an argument -- '" : "invalid option -- '", letter,
                    "'\n");
    else
        print_wrong("option '--", line->name,
                    line->value ? "' requires an argument\n" : "' doesn't allow an argument\n");
    fail_with_hint();
}

/* Takes the options, and brings the other arguments behind them, to argv[optind]. getopt_long
 * returns '?' for an option that is wrong, as for the letter '?', with which optopt stays 0. */
static void take_options(struct option_list *list, int argc, char **argv, const char *version)
{
    struct option known[OPTION_LINES + 1];
    char letters[SHORT];
    describe(known, letters, list);
    optind = 0; /* anew: a run that is resumed has a second command line */
    opterr = 0; /* its messages would have the bytes of the arguments as they are */
    for (;;) {
        optopt = 0;
        const int key = getopt_long(argc, argv, letters, known, NULL);
        if (key == -1)
            return;
        if (key == ':' || (key == '?' && (optopt != 0 || strncmp(argv[optind - 1], "--", 2) == 0)))
            fail_to_take(list, key, argv[optind - 1]);
        take_option(list,
                    key >= OPTION_LONG ? &list->places[key - OPTION_LONG] : find_letter(list, key),
                    optarg, version);
    }
}

/* Gives the arguments that are no options to the first table that takes them. */
static void take_arguments(struct option_list *list, char **arguments, size_t count)
{
    for (size_t k = 0; k < list->part_count; k++) {
        list->parts[k].state.arguments = arguments;
        list->parts[k].state.argument_count = count;
    }
    for (size_t i = 0; i < count; i++) {
        int is_taken = 0, is_last = 0;
        for (size_t k = 0; k < list->part_count && !is_taken; k++) {
            struct option_part *part = &list->parts[k];
            is_taken = part->table->take(OPTION_ARGUMENT, arguments[i], &part->state) == 0;
            if (!is_taken && i == 0)
                is_last = is_taken = part->table->take(OPTION_ARGUMENTS, NULL, &part->state) == 0;
        }
        if (!is_taken)
            option_error(NULL, "'%s': too many arguments", arguments[i]);
        if (is_last)
            return;
    }
}

int option_is_given(const char *name)
{
    for (size_t i = 0; name && i < all.count; i++)
        if (all.places[i].is_given && strcmp(all.places[i].line->name, name) == 0)
            return 1;
    return 0;
}

void option_check_rules(const struct option_state *state, const struct option_rule *rules)
{
    for (; rules->option; rules++) {
        const char *const *with = rules->with;
        if (!option_is_given(rules->option))
            continue;
        if (option_is_given(rules->without))
            option_error(state, "--%s has no effect with --%s", rules->option, rules->without);
        if (with[0] && !option_is_given(with[0]) && !option_is_given(with[1]) &&
            !option_is_given(with[2]))
            option_error(state, "--%s belongs to --%s%s%s%s%s", rules->option, with[0],
                         with[1] ? " or --" : "", with[1] ? with[1] : "", with[2] ? " or --" : "",
                         with[2] ? with[2] : "");
    }
}

void options_parse(const struct option_table *table, int argc, char **argv, void *input,
                   const char *version, int failure)
{
    struct option_list *list = &all;
    *list = (struct option_list){.sections = 0};
    failure_status = failure;
    set_program_name(argv[0]);
    add_table(list, table, input, NULL);
    list->sections++;
    for (size_t i = 0; i < sizeof STANDARD / sizeof *STANDARD; i++)
        add_place(list, NULL, &STANDARD[i], NULL);
    take_options(list, argc, argv, version);
    take_arguments(list, argv + optind, (size_t)(argc - optind));
    for (size_t i = list->part_count; i > 0; i--)
        list->parts[i - 1].table->take(OPTION_END, NULL, &list->parts[i - 1].state);
}
