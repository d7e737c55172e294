/* Finds the orientation in EXIF data. By Exif 2.32, a header of 8 bytes gives the offset of an IFD
 * of 12-byte entries, and the orientation is tag 0x0112, one SHORT. */
#include "data/exif.h"

#include <stdbool.h>
#include <string.h>

typedef struct span {
    const uint8_t *at;
    size_t bytes;
} span;

static uint32_t read_integer(const uint8_t *at, size_t bytes, bool little)
{
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value = value << 8 | at[little ? bytes - 1 - i : i];
    return value;
}

/* The orientation in an entry, 0 if it has another tag or is malformed. */
static unsigned entry_orientation(const uint8_t *entry, bool little)
{
    enum { ORIENTATION = 0x0112, SHORT = 3 };
    if (read_integer(entry, 2, little) != ORIENTATION ||
        read_integer(entry + 2, 2, little) != SHORT || read_integer(entry + 4, 4, little) != 1)
        return 0;
    uint32_t value = read_integer(entry + 8, 2, little);
    return value >= SV_UPRIGHT && value <= SV_TURNED_LEFT ? value : 0;
}

unsigned sv_exif_orientation(const uint8_t *tiff, size_t bytes)
{
    enum { HEADER = 8, COUNT = 2, ENTRY = 12 };
    if (bytes < HEADER)
        return SV_UPRIGHT;
    bool little = memcmp(tiff, "II*\0", 4) == 0;
    if (!little && memcmp(tiff, "MM\0*", 4) != 0)
        return SV_UPRIGHT;
    size_t at = read_integer(tiff + 4, 4, little);
    if (at > bytes || bytes - at < COUNT)
        return SV_UPRIGHT;
    size_t entries = read_integer(tiff + at, 2, little);
    at += COUNT;
    for (; entries > 0 && bytes - at >= ENTRY; entries--, at += ENTRY) {
        unsigned orientation = entry_orientation(tiff + at, little);
        if (orientation != 0)
            return orientation;
    }
    return SV_UPRIGHT;
}

/* Takes the next segment of a JPEG's header, its marker and contents, from `rest`. Returns false at
 * the image data, at the end, and if the file is damaged. */
static bool next_segment(span *rest, uint8_t *marker, span *contents)
{
    enum { FILL = 0xff, TEM = 0x01, RST0 = 0xd0, SOI = 0xd8, EOI = 0xd9, SOS = 0xda };
    size_t at = 0;
    while (at < rest->bytes && rest->at[at] == FILL)
        at++;
    if (at == 0 || at == rest->bytes)
        return false;
    *marker = rest->at[at++];
    size_t length = 0;
    if (*marker == EOI || *marker == SOS)
        return false;
    if (*marker != TEM && (*marker < RST0 || *marker > SOI)) {
        if (rest->bytes - at < 2)
            return false;
        length = read_integer(rest->at + at, 2, false);
        if (length < 2 || length > rest->bytes - at)
            return false;
        at += 2;
        length -= 2;
    }
    *contents = (span){rest->at + at, length};
    *rest = (span){rest->at + at + length, rest->bytes - at - length};
    return true;
}

unsigned sv_exif_of_jpeg(const uint8_t *data, size_t bytes)
{
    enum { APP1 = 0xe1, NAME = 6 };
    span rest = {data, bytes};
    span contents;
    uint8_t marker;
    while (next_segment(&rest, &marker, &contents))
        if (marker == APP1 && contents.bytes >= NAME && memcmp(contents.at, "Exif\0\0", NAME) == 0)
            return sv_exif_orientation(contents.at + NAME, contents.bytes - NAME);
    return SV_UPRIGHT;
}

unsigned sv_exif_of_png(const uint8_t *data, size_t bytes)
{
    enum { SIGNATURE = 8, LENGTH = 4, NAME = 4, FRAME = 12 };
    size_t at = SIGNATURE;
    while (at <= bytes && bytes - at >= FRAME) {
        size_t length = read_integer(data + at, LENGTH, false);
        if (length > bytes - at - FRAME)
            break;
        if (memcmp(data + at + LENGTH, "eXIf", NAME) == 0)
            return sv_exif_orientation(data + at + LENGTH + NAME, length);
        if (memcmp(data + at + LENGTH, "IEND", NAME) == 0)
            break;
        at += FRAME + length;
    }
    return SV_UPRIGHT;
}
