/* Cleans messages. A name in a file may hold a terminal's escape sequences, and a "%.64s" in a
 * format cuts bytes, not characters: both are mended here, once for all messages. */
#include "base/message.h"

#include "base/utf8.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char ELLIPSIS[] = "\xe2\x80\xa6";

enum { PIECE = 12 };

/* C0, DEL, and C1, which some terminals obey in UTF-8, too. */
static bool is_control(const unsigned char *text, size_t length)
{
    if (length == 1)
        return text[0] < 0x20 || text[0] == 0x7f;
    return length == 2 && text[0] == 0xC2 && text[1] < 0xA0;
}

/* The bytes of a character that lost its last ones before a quote or the end; 0 if there is none.
 */
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

static void escape(char piece[PIECE], const unsigned char *text, size_t length)
{
    const char *known = strchr("\nn\rr\tt", text[0]);
    if (length == 1 && known && text[0] < 0x20) {
        snprintf(piece, PIECE, "\\%c", known[1]);
        return;
    }
    for (size_t i = 0; i < length; i++)
        snprintf(piece + 4 * i, PIECE - 4 * i, "\\x%02X", text[i]);
}

/* What the text begins with, as it is to be shown. Returns the bytes that this is made of. */
static size_t read_piece(char piece[PIECE], const char *text)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t length = sv_utf8_length(text, strnlen(text, 4));
    if (length == 0) {
        size_t cut = cut_length(bytes);
        if (cut)
            strcpy(piece, ELLIPSIS);
        else
            escape(piece, bytes, 1);
        return cut ? cut : 1;
    }
    if (is_control(bytes, length)) {
        escape(piece, bytes, length);
        return length;
    }
    memcpy(piece, text, length);
    piece[length] = '\0';
    return length;
}

void sv_message_clean(char *out, size_t capacity, const char *text)
{
    size_t used = 0, room = 0; /* up to `room` an ellipsis still fits */
    while (*text) {
        char piece[PIECE];
        text += read_piece(piece, text);
        size_t length = strlen(piece);
        if (used + sizeof ELLIPSIS <= capacity)
            room = used;
        if (used + length + 1 > capacity) {
            strcpy(out + room, ELLIPSIS);
            return;
        }
        memcpy(out + used, piece, length);
        used += length;
    }
    out[used] = '\0';
}
