/* Makes texts from files and arguments safe to print, and finds the nearest known word. */
#include "program/shown.h"

#include <stdio.h>
#include <string.h>

/* Returns the bytes of the UTF-8 character at `text`, or 0 if it is invalid or a control character
 * (below U+0020, or U+007F to U+009F). */
static size_t printable_length(const unsigned char *text)
{
    static const unsigned min[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = text[0] < 0x80           ? 1
                    : (text[0] >> 5) == 0x06 ? 2
                    : (text[0] >> 4) == 0x0e ? 3
                    : (text[0] >> 3) == 0x1e ? 4
                                             : 0;
    unsigned value = length == 1 ? text[0] : text[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (text[i] & 0x3f);
    }
    if (length == 0 || value < min[length] || value > 0x10ffff)
        return 0;
    if (value < 0x20 || (value >= 0x7f && value < 0xa0) || (value >= 0xd800 && value < 0xe000))
        return 0;
    return length;
}

/* Writes the printable form of the next character to piece[5] and returns its bytes in `text`. */
static size_t show_character(char *piece, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t length = printable_length(at);
    if (length > 0)
        snprintf(piece, 5, "%.*s", (int)length, text);
    else if (*at == '\n' || *at == '\t')
        snprintf(piece, 5, "%s", *at == '\n' ? "\\n" : "\\t");
    else
        snprintf(piece, 5, "\\x%02X", *at);
    return length > 0 ? length : 1;
}

const char *shown_text(char *shown, const char *text)
{
    size_t used = 0;
    while (*text) {
        char piece[5];
        text += show_character(piece, text);
        size_t bytes = strlen(piece);
        if (used + bytes + sizeof "..." > SHOWN_CAPACITY) {
            strcpy(shown + used, "...");
            return shown;
        }
        memcpy(shown + used, piece, bytes);
        used += bytes;
    }
    shown[used] = '\0';
    return shown;
}

const char *shown_word(char *shown, const char *text)
{
    static const char PLAIN[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_-./:,@%+=";
    static const char QUOTE[] = "'\\''"; /* ends the quotes, and begins them again */
    char plain[SHOWN_CAPACITY];
    size_t used = 0;
    shown_text(plain, text);
    if (text[0] && text[strspn(text, PLAIN)] == '\0')
        return strcpy(shown, plain);
    shown[used++] = '\'';
    for (const char *c = plain; *c && used + sizeof QUOTE + 1 < SHOWN_CAPACITY; c++) {
        const size_t bytes = *c == '\'' ? strlen(QUOTE) : 1;
        memcpy(shown + used, *c == '\'' ? QUOTE : c, bytes);
        used += bytes;
    }
    strcpy(shown + used, "'");
    return shown;
}

const char *text_cut(char *cut, size_t capacity, const char *text)
{
    size_t length = strlen(text);
    if (length >= capacity) {
        length = capacity - 1;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
            length--;
    }
    memcpy(cut, text, length);
    cut[length] = '\0';
    return cut;
}

enum { WORD_MAX = 64 };

static size_t least_of(size_t a, size_t b, size_t c)
{
    size_t min = a < b ? a : b;
    return min < c ? min : c;
}

/* Returns the edit distance (Levenshtein 1966): the fewest insertions, deletions and replacements
 * of bytes. */
static size_t edits_between(const char *a, const char *b)
{
    size_t row[WORD_MAX + 1];
    size_t columns = strlen(b);
    for (size_t j = 0; j <= columns; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            size_t above = row[j];
            row[j] = least_of(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[columns];
}

const char *nearest_word(const char *text, const char *const *words)
{
    size_t length = strlen(text);
    size_t min = (length == 5 ? 2 : length / 3) + 1;
    const char *nearest = NULL;
    for (size_t i = 0; words[i]; i++) {
        if (strlen(words[i]) > WORD_MAX)
            continue;
        size_t edits = edits_between(text, words[i]);
        if (edits < min) {
            min = edits;
            nearest = words[i];
        }
    }
    return nearest;
}
