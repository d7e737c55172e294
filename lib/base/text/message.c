/* Cleans messages. A name from a file may contain terminal escape sequences, and "%.64s" in a
 * format may cut a UTF-8 character. Both are repaired here for all messages. */
#include "base/text/message.h"

#include "base/text/utf8.h"
#include "base/threads/fp_env.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char ELLIPSIS[] = "\xe2\x80\xa6";

/* C0, DEL, and C1, which some terminals also interpret in UTF-8. */
static bool is_control(const unsigned char *text, size_t length)
{
    if (length == 1)
        return text[0] < 0x20 || text[0] == 0x7f;
    return length == 2 && text[0] == 0xC2 && text[1] < 0xA0;
}

/* Returns the bytes of a character whose last bytes were cut off before a quote or the end, 0 if
 * the text does not begin with one. */
static size_t cut_length(const unsigned char *text)
{
    size_t wanted = text[0] >= 0xF0 ? 4 : text[0] >= 0xE0 ? 3 : 2, length = 1;
    if (text[0] < 0xC2 || text[0] > 0xF4)
        return 0;
    while (length < wanted && (text[length] & 0xC0) == 0x80)
        length++;
    unsigned char next = text[length];
    return length < wanted && (next == '\'' || next == '"' || next == '\0') ? length : 0;
}

static void escape(char printable[SV_PRINTABLE], const unsigned char *text, size_t length)
{
    const char *known = strchr("\nn\rr\tt", text[0]);
    if (length == 1 && known && text[0] < 0x20) {
        snprintf(printable, SV_PRINTABLE, "\\%c", known[1]);
        return;
    }
    for (size_t i = 0; i < length; i++)
        snprintf(printable + 4 * i, SV_PRINTABLE - 4 * i, "\\x%02X", text[i]);
}

size_t sv_message_character(char printable[SV_PRINTABLE], const char *text)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t length = sv_utf8_length(text, strnlen(text, 4));
    if (length == 0) {
        size_t cut = cut_length(bytes);
        if (cut)
            strcpy(printable, ELLIPSIS);
        else
            escape(printable, bytes, 1);
        return cut ? cut : 1;
    }
    if (is_control(bytes, length)) {
        escape(printable, bytes, length);
        return length;
    }
    memcpy(printable, text, length);
    printable[length] = '\0';
    return length;
}

void sv_message_clean(char *out, size_t capacity, const char *text)
{
    size_t used = 0, room = 0; /* an ellipsis still fits at out + room */
    while (*text) {
        char printable[SV_PRINTABLE];
        text += sv_message_character(printable, text);
        size_t length = strlen(printable);
        if (used + sizeof ELLIPSIS <= capacity)
            room = used;
        if (used + length + 1 > capacity) {
            strcpy(out + room, ELLIPSIS);
            return;
        }
        memcpy(out + used, printable, length);
        used += length;
    }
    out[used] = '\0';
}

const char *sv_message_last(const char *text, size_t room)
{
    const size_t bytes = strlen(text);
    if (bytes <= room)
        return text;
    for (text += bytes - room; (*text & 0xC0) == 0x80; text++)
        ;
    return text;
}

/* Returns the quote that ends the name behind an opening one, NULL if there is none. An apostrophe
 * within a word is part of the name. */
static char *closing_quote(char *name)
{
    char *quote = strchr(name, '\'');
    while (quote && quote[1] && !strchr(" :;,.)", quote[1]))
        quote = strchr(quote + 1, '\'');
    return quote;
}

/* Returns the longest name between quotes and writes its end, the closing quote, to *end; `text`
 * itself, of no length, if it has none. */
static char *longest_name(char *text, char **end)
{
    char *longest = *end = text;
    for (char *quote = strchr(text, '\''); quote; quote = strchr(quote + 1, '\'')) {
        if (quote != text && quote[-1] != ' ' && quote[-1] != '(')
            continue;
        char *name = quote + 1;
        quote = closing_quote(name);
        if (!quote)
            break;
        if (quote - name >= *end - longest) {
            longest = name;
            *end = quote;
        }
    }
    return longest;
}

/* Returns the end of a path with which the text begins, as in "my data/a.bin is a text" and
 * "a.bin: why"; the text itself if it begins with none. A path is one word, or has a slash and no
 * comma. */
static char *path_end(char *text)
{
    static const char *const separators[] = {": ", " is ", " has ", " holds "};
    char *first = NULL;
    for (size_t i = 0; i < sizeof separators / sizeof *separators; i++) {
        char *found = strstr(text, separators[i]);
        first = found && (!first || found < first) ? found : first;
    }
    const size_t length = first ? (size_t)(first - text) : 0;
    const bool is_word = !memchr(text, ' ', length);
    const bool has_slash = memchr(text, '/', length) && !memchr(text, ',', length);
    return is_word || has_slash ? text + length : text;
}

void sv_message_shorten(char *text, size_t most)
{
    enum { LEAST = 40, MARK = sizeof ELLIPSIS - 1 };
    const size_t length = strlen(text);
    if (length <= most)
        return;
    char *end, *name = longest_name(text, &end), *path = path_end(text);
    const bool is_within = name != text && name < path;
    if (!is_within && path - text > end - name) {
        name = text;
        end = path;
    }
    const size_t bytes = (size_t)(end - name), over = length - most + MARK;
    if (bytes <= LEAST + MARK)
        return;
    const char last = *end;
    *end = '\0';
    const char *kept = sv_message_last(name, bytes > LEAST + over ? bytes - over : LEAST);
    *end = last;
    memcpy(name, ELLIPSIS, MARK);
    memmove(name + MARK, kept, strlen(kept) + 1);
}

/* Bytes of a text before it is shortened: of most, and of one with a path of 4,096 bytes, the
 * longest of Linux. Only those threads have the larger array on their stacks whose message needs
 * it. */
enum { USUAL = 1024, WITH_PATH = USUAL + 4096 };

/* The C library prints numbers by the rounding mode. */
static int print(char *text, size_t capacity, const char *format, va_list arguments)
{
    SV_DEFAULT_FP_ENV;
    return vsnprintf(text, capacity, format, arguments);
}

static void finish(char *out, size_t capacity, char *text)
{
    sv_message_shorten(text, capacity - 1);
    sv_message_clean(out, capacity, text);
}

__attribute__((noinline)) static void format_with_path(char *out, size_t capacity,
                                                       const char *format, va_list arguments)
{
    char text[WITH_PATH];
    print(text, sizeof text, format, arguments);
    finish(out, capacity, text);
}

/* Formats beside `out`, of which an argument may be a part. */
void sv_message_format(char *out, size_t capacity, const char *format, va_list arguments)
{
    char text[USUAL];
    va_list again;
    va_copy(again, arguments);
    const int length = print(text, sizeof text, format, arguments);
    if (length >= USUAL)
        format_with_path(out, capacity, format, again);
    else if (length >= 0)
        finish(out, capacity, text);
    else
        sv_message_clean(out, capacity, format);
    va_end(again);
}
