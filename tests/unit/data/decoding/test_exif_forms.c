/* Checks where the orientation is found and where not, byte by byte: segments of a JPEG, types of
 * values, directories, XMP and raw profiles. */
#include "suite.h"

#include "data/decoding/exif.h"

#include <string.h>

/* A string literal with NUL bytes. */
#define BYTES(text) (text), sizeof(text) - 1
/* A TIFF structure of one entry of orientation `o`, and the APP1 segment that holds it. */
#define TIFF(o) "MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0" o "\0\0"
#define SEGMENT(o)                                                                                 \
    "\xff\xe1\0\x1e"                                                                               \
    "Exif\0\0" TIFF(o)
#define XMP_SEGMENT(o)                                                                             \
    "\xff\xe1\0\x33"                                                                               \
    "http://ns.adobe.com/xap/1.0/\0"                                                               \
    "tiff:Orientation=\"" o "\""

typedef struct form {
    const char *bytes;
    size_t count;
    unsigned orientation;
} form;

static const form JPEGS[] = {
    {BYTES("\xff\xd8" SEGMENT("\x06")), 6},
    {BYTES("\xff\xd8" SEGMENT("\x06") SEGMENT("\x03")), 6},   /* the first one counts */
    {BYTES("\xff\xd8" XMP_SEGMENT("3") XMP_SEGMENT("5")), 5}, /* the last one counts */
    {BYTES("\xff\xd8" XMP_SEGMENT("3") SEGMENT("\x06")), 6},
    {BYTES("\xff\xd8\xff\xe1\0\x08"
           "Exif\0\0" XMP_SEGMENT("3")),
     3}, /* EXIF without data */
    {BYTES("\xff\xd8\xff\xe1\0\x04"
           "ab" SEGMENT("\x06")),
     6},
    {BYTES("\xff\xd8\xff\xe0\0\x02" SEGMENT("\x06")), 6}, /* an empty segment */
    {BYTES("\xff\xd8\xff\xe0\0\x01" SEGMENT("\x06")), 1}, /* shorter than its own length */
    {BYTES("\xff\xd8\xff\xe0\0\0" SEGMENT("\x06")), 1},
    {BYTES("\xff\xd8\xff\xe0\x01\0" SEGMENT("\x06")), 1}, /* longer than the file */
    {BYTES("\xff\xd8\xff\xe0\0"), 1},
    {BYTES("\xff\xd8\xff\xe0"), 1},
    {BYTES("\xff\xd8\xff"), 1},
    {BYTES(""), 1},
    {BYTES("\xff\xd8\xff\x01" SEGMENT("\x06")), 6}, /* TEM, RST0, RST7 and SOI have no length */
    {BYTES("\xff\xd8\xff\xd0\xff\xd7\xff\xd8" SEGMENT("\x06")), 6},
    {BYTES("\xff\xd8\xff\xd9" SEGMENT("\x06")), 1}, /* the end, and the image data */
    {BYTES("\xff\xd8\xff\xda\0\x02" SEGMENT("\x06")), 1},
    {BYTES("\xff\xd8\xff\xdb\0\x02" SEGMENT("\x06")), 6}, /* the markers beside those */
    {BYTES("\xff\xd8\xff\xcf\0\x02" SEGMENT("\x06")), 6},
    {BYTES("\xff\xd8"
           "abc"
           "\xff\xff\xff"
           "\xe1\0\x1e"
           "Exif\0\0" TIFF("\x06")),
     6},
    {BYTES("\xff\xd8"
           "\xff\0"
           "\xff\0" SEGMENT("\x06")),
     6},
};

static const form EXIFS[] = {
    {BYTES(TIFF("\x08")), 8},
    {BYTES("Exif\0\0" TIFF("\x08")), 8},
    {BYTES("Exif\0\0Exif\0\0" TIFF("\x08")), 8},
    {BYTES("Exif\0\0Exif\0\0Exif\0\0" TIFF("\x08")), 0},
    {BYTES(TIFF("\x09")), 1},
    {BYTES(TIFF("\0")), 1},
    {BYTES("MM\x2a\0\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x05\0\0"),
     5}, /* the magic reversed */
    {BYTES("II\x2a\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x05\0\0\0"), 5},
    {BYTES("II\0\x2a\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x05\0\0\0"), 5},
    {BYTES("IM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x05\0\0"), 0},
    {BYTES("MM\0\x2a\0\0\0"), 0},
    {BYTES("MM\0\x2a\0\0\0\x08\0"), 0},   /* no count of entries */
    {BYTES("MM\0\x2a\0\0\0\x08\0\0"), 0}, /* no entry */
    {BYTES("MM\0\x2a\0\0\0\x0b\0\0"), 0}, /* a directory behind the end */
    {BYTES("MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x05\0"), 0}, /* an entry is cut */
    /* Types: BYTE is none, unknown ones have no bytes, and the others are numbers. */
    {BYTES("MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x01\0\0\0\x01\x05\0\0\0"), 1},
    {BYTES("MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x0e\0\0\0\x01\x05\0\0\0"), 0},
    {BYTES("MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x11\0\0\0\x01\x05\0\0\0"), 0},
    {BYTES("MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x04\0\0\0\x01\0\0\0\x05"), 5},
    {BYTES("MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x0d\0\0\0\x01\0\0\0\x05"), 5},
    {BYTES("MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x06\0\0\0\x01\x05\0\0\0"), 5},
    {BYTES("MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x08\0\0\0\x01\0\x05\0\0"), 5},
    {BYTES("MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x09\0\0\0\x01\0\0\0\x05"), 5},
    {BYTES("MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x0b\0\0\0\x01\x40\xa0\0\0"), 5}, /* 5.0f */
    {BYTES("MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x05\0\0\0\x01\0\0\0\x16\0\0\0\x0a\0\0\0\x02"), 5},
    {BYTES("MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x05\0\0\0\x01\0\0\0\x16\0\0\0\x0a\0\0\0\0"), 1},
    {BYTES("MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x0a\0\0\0\x01\0\0\0\x16\xff\xff\xff\xf6\xff\xff\xff"
           "\xfe"),
     5},
    {BYTES("MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x0c\0\0\0\x01\0\0\0\x16\x40\x14\0\0\0\0\0\0"), 5},
    {BYTES("MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x10\0\0\0\x01\0\0\0\x16\0\0\0\0\0\0\0\x05"), 5},
    /* Values that end behind the data end the directory; values of more bytes than the data do
     * not. */
    {BYTES("MM\0\x2a\0\0\0\x08\0\x02\x01\0\0\x04\0\0\0\x02\0\0\0\x21"
           "\x01\x12\0\x03\0\0\0\x01\0\x05\0\0"),
     0},
    {BYTES("MM\0\x2a\0\0\0\x08\0\x02\x01\0\0\x04\0\0\0\x02\0\0\0\x1a"
           "\x01\x12\0\x03\0\0\0\x01\0\x05\0\0"),
     5},
    {BYTES("MM\0\x2a\0\0\0\x08\0\x02\x01\0\0\x04\0\0\0\x02\0\0\0\x1b"
           "\x01\x12\0\x03\0\0\0\x01\0\x05\0\0"),
     0},
    {BYTES("MM\0\x2a\0\0\0\x08\0\x02\x01\0\0\x04\0\0\x01\0\0\0\0\x21"
           "\x01\x12\0\x03\0\0\0\x01\0\x05\0\0"),
     5},
};

static const form XMPS[] = {
    {BYTES("<x tiff:Orientation=\"6\"/>"), 6},
    {BYTES("<tiff:Orientation>6</tiff:Orientation>"), 6},
    {BYTES("tiff:Orientation tiff:Orientation=\"8\""), 8},
    {BYTES("tiff:Orientation=\"9\""), 1},
    {BYTES("tiff:Orientation=\"0\""), 1},
    {BYTES("tiff:Orientation=\"x\""), 0},
    {BYTES("tiff:Orientation=\"/\""), 0},
    {BYTES("tiff:Orientation=\":\""), 0},
    {BYTES("tiff:Orientation=\""), 0},
    {BYTES("tiff:Orientation>"), 0},
    {BYTES("tiff:Orientation="), 0},
    {BYTES("tiff:Orientation"), 0},
    {BYTES("tiff:Orientatio>6"), 0},
    {BYTES(""), 0},
};

static const struct {
    const char *text, *bytes; /* NULL: it is malformed */
} PROFILES[] = {
    {"\nexif\n 3\n4d4D2a\n", "MM*"},
    {"a\nb\nc\n 4 d", NULL},
    {"a\nb\nc\n4d 4\n", NULL},
    {"a\nb\nc\n4d4", NULL},
    {"a\nb\nc\n4g", NULL},
    {"a\nb\nc\n/0", NULL},
    {"a\nb\nc\n:0", NULL},
    {"a\nb\nc\n@0", NULL},
    {"a\nb\nc\nG0", NULL},
    {"a\nb\nc\n`0", NULL},
    {"a\nb", NULL},
    {"a\nb\nc", NULL},
    {"a\nb\nc\n", ""},
    {"a\nb\nc\n \t\r\v\f4A\n", "J"},
    {"", NULL},
    {"a\nb\nc\n\x0e"
     "4A",
     NULL},
    {"a\nb\nc\n\x08"
     "4A",
     NULL},
};

#define EACH(table) for (size_t i = 0; i < sizeof(table) / sizeof *(table); i++)

START_TEST(test_segments_of_a_jpeg)
{
    EACH(JPEGS)
    {
        const unsigned found = sv_exif_of_jpeg((const uint8_t *)JPEGS[i].bytes, JPEGS[i].count);
        ck_assert_msg(found == JPEGS[i].orientation, "file %zu has orientation %u, not %u", i,
                      found, JPEGS[i].orientation);
    }
}
END_TEST

static void check(unsigned find(sv_span), const form *of, size_t i)
{
    const unsigned found = find((sv_span){(const uint8_t *)of->bytes, of->count});
    ck_assert_msg(found == of->orientation, "text %zu has orientation %u, not %u", i, found,
                  of->orientation);
}

START_TEST(test_entries_of_exif)
{
    EACH(EXIFS)
    check(sv_exif_orientation, &EXIFS[i], i);
}
END_TEST

START_TEST(test_words_of_xmp)
{
    EACH(XMPS)
    check(sv_xmp_orientation, &XMPS[i], i);
}
END_TEST

START_TEST(test_digits_of_raw_profiles)
{
    EACH(PROFILES)
    {
        char text[64];
        strcpy(text, PROFILES[i].text);
        const sv_span found = sv_raw_profile(text, strlen(text));
        const char *wanted = PROFILES[i].bytes;
        ck_assert_msg((found.at != NULL) == (wanted != NULL), "profile %zu", i);
        ck_assert_uint_eq(found.bytes, wanted ? strlen(wanted) : 0);
        if (wanted)
            ck_assert_mem_eq(found.at, wanted, found.bytes);
    }
}
END_TEST

/* Chunks of a PNG behind its signature; the last one of EXIF counts, and none behind IEND. */
START_TEST(test_chunks_of_a_png)
{
#define CHUNK(length, name, data) "\0\0\0" length name data "crcs"
    static const struct {
        const char *bytes;
        size_t count;
        const char *found; /* NULL: none */
    } cases[] = {
        {BYTES("12345678" CHUNK("\1", "eXIf", "a")), "a"},
        {BYTES("12345678" CHUNK("\1", "eXIf", "a") CHUNK("\2", "eXIf", "bc")), "bc"},
        {BYTES("12345678" CHUNK("\0", "tEXt", "") CHUNK("\1", "eXIf", "a") CHUNK("\0", "IEND", "")),
         "a"},
        {BYTES("12345678" CHUNK("\0", "IEND", "") CHUNK("\1", "eXIf", "a")), NULL},
        {BYTES("12345678" CHUNK("\2", "eXIf", "a")), NULL}, /* it is cut */
        {BYTES("12345678" CHUNK("\1", "exIf", "a")), NULL},
        {BYTES("12345678"
               "\0\0\0\1"
               "eXIf"),
         NULL},
        {BYTES("12345678"), NULL},
        {BYTES("1234567"), NULL},
    };
    EACH(cases)
    {
        const sv_span found = sv_exif_of_png((const uint8_t *)cases[i].bytes, cases[i].count);
        ck_assert_msg((found.at != NULL) == (cases[i].found != NULL), "file %zu", i);
        ck_assert_uint_eq(found.bytes, cases[i].found ? strlen(cases[i].found) : 0);
        if (cases[i].found)
            ck_assert_mem_eq(found.at, cases[i].found, found.bytes);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("exif_forms");
    TCase *c = tcase_create("exif_forms");
    tcase_add_test(c, test_segments_of_a_jpeg);
    tcase_add_test(c, test_entries_of_exif);
    tcase_add_test(c, test_words_of_xmp);
    tcase_add_test(c, test_digits_of_raw_profiles);
    tcase_add_test(c, test_chunks_of_a_png);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
