/* Finds the orientation in EXIF data and in XMP. By Exif 2.32, a header of 8 bytes gives the offset
 * of an IFD of 12-byte entries, and the orientation is tag 0x0112, one SHORT. Cameras and programs
 * write other types, too. */
#include "data/decoding/exif.h"

#include <stdbool.h>
#include <string.h>

/* The types of entries. */
enum {
    BYTE = 1,
    ASCII = 2,
    SHORT = 3,
    LONG = 4,
    RATIONAL = 5,
    SBYTE = 6,
    UNDEFINED = 7,
    SSHORT = 8,
    SLONG = 9,
    SRATIONAL = 10,
    FLOAT = 11,
    DOUBLE = 12,
    IFD = 13,
    LONG8 = 16
};

/*@ requires \valid_read(at + (0 .. bytes - 1));
    assigns \nothing;
    ensures bytes == 4 ==> \result <= 0xFFFFFFFF; */
static uint64_t read_integer(const uint8_t *at, size_t bytes, bool little)
{
    uint64_t value = 0;
    /*@ loop invariant i <= bytes;
        loop invariant bytes == 4 ==> value <= (i == 0 ? 0 : i == 1 ? 0xFF : i == 2 ? 0xFFFF :
                                                i == 3 ? 0xFFFFFF : 0xFFFFFFFF);
        loop assigns i, value; */
    for (size_t i = 0; i < bytes; i++)
        value = 256 * value + at[little ? bytes - 1 - i : i];
    return value;
}

/* Bytes of one value; 0 for an unknown type. */
/*@ logic integer bytes_of(integer type) =
        type == BYTE || type == ASCII || type == SBYTE || type == UNDEFINED ? 1 :
        type == SHORT || type == SSHORT ? 2 :
        type == LONG || type == SLONG || type == FLOAT || type == IFD ? 4 :
        type == RATIONAL || type == SRATIONAL || type == DOUBLE || type == LONG8 ? 8 : 0; */
/*@ assigns \nothing;
    ensures \result == bytes_of(type); */
static size_t type_bytes(unsigned type)
{
    static const uint8_t BYTES[] = {
        [BYTE] = 1,  [ASCII] = 1,     [SHORT] = 2,  [LONG] = 4,  [RATIONAL] = 8,
        [SBYTE] = 1, [UNDEFINED] = 1, [SSHORT] = 2, [SLONG] = 4, [SRATIONAL] = 8,
        [FLOAT] = 4, [DOUBLE] = 8,    [IFD] = 4,    [LONG8] = 8};
    return type < sizeof BYTES ? BYTES[type] : 0;
}

/*@ requires \valid_read(at + (0 .. 3));
    assigns \nothing; */
static double read_float(const uint8_t *at, bool little)
{
    uint32_t bits = (uint32_t)read_integer(at, sizeof bits, little);
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

/*@ requires \valid_read(at + (0 .. 7));
    assigns \nothing; */
static double read_double(const uint8_t *at, bool little)
{
    uint64_t bits = read_integer(at, sizeof bits, little);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* 0, which is no orientation, where the file has a denominator of 0. */
/*@ assigns \nothing; */
static double quotient(double numerator, double denominator)
{
    return denominator == 0 ? 0 : numerator / denominator;
}

/* A value as a number; 0, which is no orientation, for types that are none. */
/*@ requires \valid_read(at + (0 .. bytes_of(type) - 1)) && bytes_of(type) > 0;
    assigns \nothing; */
static double read_value(const uint8_t *at, unsigned type, bool little)
{
    switch (type) {
    case SHORT:
    case LONG:
    case IFD:
    case LONG8:
        return (double)read_integer(at, type_bytes(type), little);
    case SBYTE:
        return (double)(int8_t)at[0];
    case SSHORT:
        return (double)(int16_t)read_integer(at, 2, little);
    case SLONG:
        return (double)(int32_t)read_integer(at, 4, little);
    case RATIONAL:
        return quotient((double)read_integer(at, 4, little),
                        (double)read_integer(at + 4, 4, little));
    case SRATIONAL:
        return quotient((double)(int32_t)read_integer(at, 4, little),
                        (double)(int32_t)read_integer(at + 4, 4, little));
    case FLOAT:
        return read_float(at, little);
    case DOUBLE:
        return read_double(at, little);
    default:
        return 0;
    }
}

/* The orientation that a value of the tag stands for. */
/*@ assigns \nothing;
    ensures 1 <= \result <= 8; */
static unsigned to_orientation(double value)
{
    /*@ loop invariant 1 <= i <= 9;
        loop assigns i; */
    for (unsigned i = SV_UPRIGHT; i <= SV_TURNED_LEFT; i++)
        if (value == (double)i)
            return i;
    return SV_UPRIGHT;
}

/* Reads the entries of a directory. As in Pillow, an entry whose values are outside the data ends
 * the directory, and values that are longer in all than the data are passed over. */
/*@ requires in_span(tiff);
    assigns \nothing;
    ensures \result <= 8; */
static unsigned directory_orientation(sv_span tiff, size_t at, bool little)
{
    enum { ORIENTATION = 0x0112, COUNT = 2, ENTRY = 12, INSIDE = 4 };
    uint64_t total = 0;
    if (at > tiff.bytes || tiff.bytes - at < COUNT)
        return SV_NO_ORIENTATION;
    size_t entries = (size_t)read_integer(tiff.at + at, COUNT, little);
    at += COUNT;
    /*@ loop invariant at <= tiff.bytes;
        loop assigns at, entries, total; */
    for (; entries > 0 && tiff.bytes - at >= ENTRY; entries--, at += ENTRY) {
        const uint8_t *entry = tiff.at + at, *values = entry + 8;
        unsigned type = (unsigned)read_integer(entry + 2, 2, little);
        uint64_t bytes = read_integer(entry + 4, 4, little) * type_bytes(type);
        if (bytes > INSIDE) {
            uint64_t offset = read_integer(entry + 8, 4, little);
            total += bytes;
            if (total > tiff.bytes)
                continue;
            if (offset > tiff.bytes || tiff.bytes - offset < bytes)
                return SV_NO_ORIENTATION;
            values = tiff.at + offset;
        }
        if (bytes > 0 && read_integer(entry, 2, little) == ORIENTATION)
            return to_orientation(read_value(values, type, little));
    }
    return SV_NO_ORIENTATION;
}

/*@ requires in_span(data) && \valid_read(bytes + (0 .. count - 1));
    assigns \nothing;
    ensures \result ==> data.bytes >= count; */
static bool begins_with(sv_span data, const char *bytes, size_t count)
{
    return data.bytes >= count && memcmp(data.at, bytes, count) == 0;
}

/*@ requires in_span(data) && count <= data.bytes;
    assigns \nothing;
    ensures in_span(\result) && \result.bytes == data.bytes - count;
    ensures \result.at == data.at + count; */
static sv_span behind(sv_span data, size_t count)
{
    return (sv_span){data.at + count, data.bytes - count};
}

unsigned sv_exif_orientation(sv_span exif)
{
    enum { HEADER = 8, PREFIX = 6, MAGIC = 4 };
    /*@ loop invariant in_span(exif) && 0 <= i <= 2;
        loop assigns exif, i; */
    for (int i = 0; i < 2 && begins_with(exif, "Exif\0\0", PREFIX); i++)
        exif = behind(exif, PREFIX);
    if (exif.bytes < HEADER)
        return SV_NO_ORIENTATION;
    /* Some programs write the magic number in the wrong byte order. */
    const bool little = begins_with(exif, "II*\0", MAGIC) || begins_with(exif, "II\0*", MAGIC);
    if (!little && !begins_with(exif, "MM\0*", MAGIC) && !begins_with(exif, "MM*\0", MAGIC))
        return SV_NO_ORIENTATION;
    return directory_orientation(exif, (size_t)read_integer(exif.at + 4, 4, little), little);
}

unsigned sv_xmp_orientation(sv_span xmp)
{
    static const char KEY[] = "tiff:Orientation";
    enum { LENGTH = sizeof KEY - 1 };
    /*@ loop invariant in_span(xmp);
        loop assigns xmp; */
    for (; xmp.bytes > LENGTH; xmp = behind(xmp, 1)) {
        const uint8_t *found = memchr(xmp.at, KEY[0], xmp.bytes);
        if (!found)
            break;
        xmp = behind(xmp, (size_t)(found - xmp.at));
        if (!begins_with(xmp, KEY, LENGTH))
            continue;
        sv_span rest = behind(xmp, LENGTH);
        size_t skipped = begins_with(rest, "=\"", 2) ? 2 : begins_with(rest, ">", 1) ? 1 : 0;
        if (skipped > 0 && rest.bytes > skipped && rest.at[skipped] >= '0' &&
            rest.at[skipped] <= '9')
            return to_orientation((double)(rest.at[skipped] - '0'));
    }
    return SV_NO_ORIENTATION;
}

unsigned sv_orientation(sv_span exif, sv_span xmp)
{
    unsigned orientation = sv_exif_orientation(exif);
    if (orientation == SV_NO_ORIENTATION)
        orientation = sv_xmp_orientation(xmp);
    return orientation == SV_NO_ORIENTATION ? SV_UPRIGHT : orientation;
}

/*@ assigns \nothing;
    ensures -1 <= \result <= 15; */
static int digit_value(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

sv_span sv_raw_profile(char *text, size_t bytes)
{
    const sv_span none = {NULL, 0};
    size_t count = 0, at = 0;
    /*@ loop invariant at <= bytes && 0 <= lines <= 3;
        loop assigns at, lines; */
    for (int lines = 3; lines > 0; lines--) {
        const char *end = memchr(text + at, '\n', bytes - at);
        if (!end)
            return none;
        at = (size_t)(end - text) + 1;
    }
    /*@ loop invariant count <= at <= bytes;
        loop assigns at, count, text[0 .. bytes - 1]; */
    while (at < bytes) {
        if (text[at] == ' ' || (text[at] >= '\t' && text[at] <= '\r')) {
            at++;
            continue;
        }
        int high = digit_value(text[at]), low = at + 1 < bytes ? digit_value(text[at + 1]) : -1;
        if (high < 0 || low < 0)
            return none;
        text[count++] = (char)(16 * high + low);
        at += 2;
    }
    return (sv_span){(const uint8_t *)text, count};
}

/* Takes the next segment of a JPEG's header, its marker and contents, from `rest`. Bytes between
 * segments are passed over. Returns false at the image data, at the end, and if the file is
 * damaged. */
/*@ requires \valid(rest) && \valid(marker) && \valid(contents) && in_span(*rest);
    requires \separated(rest, marker, contents, rest->at + (0 .. rest->bytes - 1));
    assigns *rest, *marker, *contents;
    ensures \result ==> in_span(*rest) && in_span(*contents);
    ensures \result ==> rest->bytes < \old(rest->bytes); */
static bool next_segment(sv_span *rest, uint8_t *marker, sv_span *contents)
{
    enum { FILL = 0xff, TEM = 0x01, RST0 = 0xd0, SOI = 0xd8, EOI = 0xd9, SOS = 0xda };
    size_t at = 0, length = 0;
    /*@ loop invariant at <= rest->bytes;
        loop assigns at; */
    do {
        /*@ loop invariant at <= rest->bytes;
            loop assigns at; */
        while (at < rest->bytes && rest->at[at] != FILL)
            at++;
        /*@ loop invariant at <= rest->bytes;
            loop assigns at; */
        while (at < rest->bytes && rest->at[at] == FILL)
            at++;
    } while (at < rest->bytes && rest->at[at] == 0);
    if (at == rest->bytes)
        return false;
    *marker = rest->at[at++];
    if (*marker == EOI || *marker == SOS)
        return false;
    if (*marker != TEM && (*marker < RST0 || *marker > SOI)) {
        if (rest->bytes - at < 2)
            return false;
        length = (size_t)read_integer(rest->at + at, 2, false);
        if (length < 2 || length > rest->bytes - at)
            return false;
        at += 2;
        length -= 2;
    }
    *contents = (sv_span){rest->at + at, length};
    *rest = behind(*rest, at + length);
    return true;
}

unsigned sv_exif_of_jpeg(const uint8_t *data, size_t bytes)
{
    static const char XMP[] = "http://ns.adobe.com/xap/1.0/";
    enum { APP1 = 0xe1, NAME = 6 };
    sv_span rest = {data, bytes}, exif = {NULL, 0}, xmp = {NULL, 0}, contents;
    uint8_t marker;
    /*@ loop invariant in_span(rest) && in_span(exif) && in_span(xmp);
        loop assigns rest, exif, xmp, contents, marker; */
    while (next_segment(&rest, &marker, &contents)) {
        if (marker != APP1)
            continue;
        if (!exif.at && begins_with(contents, "Exif\0\0", NAME))
            exif = contents;
        else if (begins_with(contents, XMP, sizeof XMP))
            xmp = behind(contents, sizeof XMP);
    }
    return sv_orientation(exif, xmp);
}

sv_span sv_exif_of_png(const uint8_t *data, size_t bytes)
{
    enum { SIGNATURE = 8, LENGTH = 4, NAME = 4, FRAME = 12 };
    sv_span found = {NULL, 0};
    /*@ loop invariant in_span(found);
        loop assigns at, found; */
    for (size_t at = SIGNATURE; at <= bytes && bytes - at >= FRAME;) {
        size_t length = (size_t)read_integer(data + at, LENGTH, false);
        if (length > bytes - at - FRAME || memcmp(data + at + LENGTH, "IEND", NAME) == 0)
            break;
        if (memcmp(data + at + LENGTH, "eXIf", NAME) == 0)
            found = (sv_span){data + at + LENGTH + NAME, length};
        at += FRAME + length;
    }
    return found;
}
