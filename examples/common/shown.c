/* Texts from outside as they are shown to a person, and the nearest of known words. */
#include "shown.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the UTF-8 character at `text`; 0 where it is none, or a control character. */
static size_t printable_length(const unsigned char *text)
{
    unsigned char lead = text[0];
    if (lead < 0x80)
        return lead >= 0x20 && lead != 0x7f;
    size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    int overlong = (lead == 0xe0 && text[1] < 0xa0) || (lead == 0xf0 && text[1] < 0x90);
    int surrogate = lead == 0xed && text[1] >= 0xa0;
    int beyond = lead == 0xf4 && text[1] >= 0x90;
    int control = lead == 0xc2 && text[1] < 0xa0; /* U+0080 to U+009F */
    return overlong || surrogate || beyond || control ? 0 : length;
}

const char *shown_text(char *shown, const char *text)
{
    const unsigned char *from = (const unsigned char *)text;
    size_t used = 0;
    while (*from) {
        char piece[8];
        size_t length = printable_length(from);
        if (length)
            memcpy(piece, from, length);
        else if (*from == '\n' || *from == '\t')
            memcpy(piece, *from == '\n' ? "\\n" : "\\t", 2);
        else
            snprintf(piece, sizeof piece, "\\x%02x", *from);
        size_t bytes = length ? length : *from == '\n' || *from == '\t' ? 2 : 4;
        if (used + bytes + sizeof "..." > SHOWN_CAPACITY) {
            memcpy(shown + used, "...", 3);
            used += 3;
            break;
        }
        memcpy(shown + used, piece, bytes);
        used += bytes;
        from += length ? length : 1;
    }
    shown[used] = '\0';
    return shown;
}

enum { WORD_MOST = 64 };

static size_t least_of(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Levenshtein 1966: the fewest insertions, deletions and replacements of single bytes. */
static size_t edits_between(const char *a, const char *b)
{
    size_t row[WORD_MOST + 1];
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
    size_t least = length / 3 > 2 ? length / 3 + 1 : 3;
    const char *nearest = NULL;
    for (size_t i = 0; words[i]; i++) {
        if (strlen(words[i]) > WORD_MOST)
            continue;
        size_t edits = edits_between(text, words[i]);
        if (edits < least) {
            least = edits;
            nearest = words[i];
        }
    }
    return nearest;
}
