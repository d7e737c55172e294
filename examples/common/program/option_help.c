/* Prints --help and --usage from the tables of options. */
#include "program/option_list.h"

#include <stdlib.h>
#include <string.h>

/* Columns of a line, and where an option's text begins. */
enum { WIDTH = 79, TEXT_COLUMN = 29, GAP = 3, USAGE_COLUMN = 12, LABEL = 128 };

/* The pages of the manual are made of a help without breaks (docs/man/options.py). */
static size_t line_width(void)
{
    const char *wanted = getenv("SHIFTVIT_HELP_WIDTH");
    const unsigned long width = wanted ? strtoul(wanted, NULL, 10) : 0;
    return width > TEXT_COLUMN ? width : WIDTH;
}

/* The bytes of `text` that stand on a line from `column` on: all, or those before the last blank
 * that the line has room for, or else before the first one. */
static size_t line_length(const char *text, size_t column)
{
    const size_t length = strlen(text), width = line_width();
    size_t end = width > column ? width - column : 0;
    if (column + length < width)
        return length;
    if (end > length)
        end = length;
    while (end > 0 && text[end] != ' ')
        end--;
    if (end == 0)
        end = strcspn(text, " ");
    while (end > 0 && text[end - 1] == ' ')
        end--;
    return end;
}

void option_wrap(FILE *stream, const char *text, size_t indent, size_t column)
{
    for (;;) {
        const size_t length = line_length(text, column);
        fprintf(stream, "%.*s\n", (int)length, text);
        text += length;
        text += strspn(text, " ");
        if (!*text)
            return;
        fprintf(stream, "%*s", (int)indent, "");
        column = indent;
    }
}

char option_letter(const struct option_line *line)
{
    return line->key > ' ' && line->key < 127 ? (char)line->key : '\0';
}

/* By the section, and in it by the name. */
static int compare_places(const void *left, const void *right)
{
    const struct option_place *a = left, *b = right;
    if (a->section != b->section)
        return a->section < b->section ? -1 : 1;
    return strcmp(a->line->name, b->line->name);
}

static void sort(struct option_list *list)
{
    qsort(list->places, list->count, sizeof *list->places, compare_places);
}

/* Writes "--name=VALUE". */
static void long_form(char out[LABEL], const struct option_line *line)
{
    const char *before = !line->value ? "" : line->is_optional ? "[=" : "=";
    snprintf(out, LABEL, "--%s%s%s%s", line->name, before, line->value ? line->value : "",
             line->value && line->is_optional ? "]" : "");
}

static void print_option(const struct option_line *line)
{
    char label[LABEL], front[] = "      ";
    const char letter = option_letter(line);
    if (letter)
        snprintf(front, sizeof front, "  -%c, ", letter);
    long_form(label, line);
    size_t used = (size_t)printf("%s%s", front, label);
    /* A label that is longer by a little does not take a line of its own. */
    if (used > TEXT_COLUMN + GAP) {
        putchar('\n');
        used = 0;
    }
    const int blanks = used >= TEXT_COLUMN ? GAP : (int)(TEXT_COLUMN - used);
    printf("%*s", blanks, "");
    option_wrap(stdout, line->text, TEXT_COLUMN, used + (size_t)blanks);
}

/* Prints the text of what the program does, or what the help ends with. */
static void print_text(const char *text, size_t length)
{
    char *copy = malloc(length + 1);
    if (!copy)
        return;
    memcpy(copy, text, length);
    copy[length] = '\0';
    for (char *line = copy, *end; line; line = end) {
        end = strchr(line, '\n');
        if (end)
            *end++ = '\0';
        /* An indented line, such as a command, stays as it is. */
        if (*line == ' ')
            puts(line);
        else
            option_wrap(stdout, line, 0, 0);
    }
    free(copy);
}

void option_help(struct option_list *list)
{
    const struct option_table *table = list->parts[0].table;
    const char *end = table->text ? strchr(table->text, '\v') : NULL;
    size_t section = 0;
    printf("Usage: %s [OPTION...]%s%s\n", option_program_name, table->arguments ? " " : "",
           table->arguments ? table->arguments : "");
    if (table->text)
        print_text(table->text, end ? (size_t)(end - table->text) : strlen(table->text));
    sort(list);
    for (size_t i = 0; i < list->count; i++) {
        const struct option_place *place = &list->places[i];
        if (i == 0 || place->section != section) {
            putchar('\n');
            if (place->title)
                printf(" %s\n", place->title);
        }
        section = place->section;
        print_option(place->line);
    }
    putchar('\n');
    option_wrap(
        stdout,
        "Mandatory or optional arguments to long options are also mandatory or optional for "
        "any corresponding short options.",
        0, 0);
    if (end) {
        putchar('\n');
        print_text(end + 1, strlen(end + 1));
    }
    for (size_t i = 0; i < list->part_count; i++)
        if (list->parts[i].table->print_more) {
            putchar('\n');
            list->parts[i].table->print_more(list->parts[i].state.input);
        }
}

enum { USAGE = 8192 };

static void append(char text[USAGE], const char *word)
{
    const size_t used = strlen(text);
    snprintf(text + used, USAGE - used, "%s%s", used ? " " : "", word);
}

/* Words with spaces inside stay together. */
static void print_words(const char *text)
{
    const size_t width = line_width();
    size_t used = 0;
    while (*text) {
        size_t length = *text == '[' ? strcspn(text, "]") + 1 : strcspn(text, " ");
        length += strcspn(text + length, " ");
        const int has_blank = memchr(text, ' ', length) != NULL;
        /* One place is left behind a word with a blank, and behind the last one. */
        if (used > 0 && used + 1 + length + (has_blank || !text[length]) > width) {
            printf("\n%*s", USAGE_COLUMN, "");
            used = USAGE_COLUMN;
        } else if (used > 0) {
            putchar(' ');
            used++;
        }
        printf("%.*s", (int)length, text);
        used += length;
        text += length;
        text += *text == ' ';
    }
    putchar('\n');
}

void option_usage(struct option_list *list)
{
    char text[USAGE] = "", flags[OPTION_LINES] = "", word[LABEL + 8], form[LABEL];
    size_t flag_count = 0;
    const char *arguments = list->parts[0].table->arguments;
    sort(list);
    for (size_t i = 0; i < list->count; i++)
        if (option_letter(list->places[i].line) && !list->places[i].line->value)
            flags[flag_count++] = option_letter(list->places[i].line);
    snprintf(text, sizeof text, "Usage: %s [-%s]", option_program_name, flags);
    for (size_t i = 0; i < list->count; i++) {
        const struct option_line *line = list->places[i].line;
        if (!option_letter(line) || !line->value)
            continue;
        snprintf(word, sizeof word, "[-%c %s]", option_letter(line), line->value);
        append(text, word);
    }
    for (size_t i = 0; i < list->count; i++) {
        long_form(form, list->places[i].line);
        snprintf(word, sizeof word, "[%s]", form);
        append(text, word);
    }
    if (arguments)
        append(text, arguments);
    print_words(text);
}
