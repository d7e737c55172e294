/* UTF-8 against its definition: the code point that the bits of the bytes give, and its range. */
#include "suite.h"

#include "base/text/utf8.h"

#include <stdint.h>

/* Bytes at the borders of what a later byte is compared with. */
static const unsigned char BORDERS[] = {0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF};
enum { BORDER_COUNT = sizeof BORDERS };

/* The bytes of the character at the start of a text, 0 if there is none, by RFC 3629: the first
 * byte begins with as many ones as there are bytes, the others with 10, and the remaining bits are
 * a code point that needs that many bytes. */
static size_t defined_length(const unsigned char *text, size_t bytes)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (bytes == 0)
        return 0;
    if (text[0] < 0x80)
        return 1;
    size_t length = 0;
    while (length < 8 && text[0] & 0x80 >> length)
        length++;
    if (length < 2 || length > 4 || bytes < length)
        return 0;
    uint32_t point = text[0] & (0xFFu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if (text[i] >> 6 != 2)
            return 0;
        point = point << 6 | (text[i] & 0x3Fu);
    }
    if (point < least[length] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF))
        return 0;
    return length;
}

START_TEST(test_every_first_two_bytes_and_the_borders_of_two_more)
{
    size_t whole = 0;
    for (unsigned first = 0; first < 0x10000; first++)
        for (size_t third = 0; third < BORDER_COUNT; third++)
            for (size_t fourth = 0; fourth < BORDER_COUNT; fourth++) {
                const unsigned char text[4] = {(unsigned char)(first >> 8),
                                               (unsigned char)(first & 0xFF), BORDERS[third],
                                               BORDERS[fourth]};
                for (size_t bytes = 0; bytes <= 4; bytes++) {
                    const size_t length = sv_utf8_length((const char *)text, bytes);
                    if (length != defined_length(text, bytes))
                        ck_abort_msg("%zu bytes, %02x %02x %02x %02x: %zu", bytes, text[0], text[1],
                                     text[2], text[3], length);
                    whole += bytes == 4 && length == 4;
                }
            }
    /* The first bytes F1 to F3, parts of F0 and F4; 6 of the borders are later bytes. */
    ck_assert_uint_eq(whole, (3 * 64 + 48 + 16) * 6 * 6);
}
END_TEST

START_TEST(test_texts_are_valid_if_each_of_their_characters_is)
{
    static const struct {
        const char *text;
        bool valid;
    } cases[] = {
        {"", true},
        {"plain", true},
        {"\xC3\xA9t\xC3\xA9", true},
        {"\xE2\x82\xAC \xF0\x9F\x8C\xBF", true},
        {"cut \xE2\x82", false},
        {"\xE2\x82\xAC\xAC", false},
        {"overlong \xC0\xAF", false},
        {"surrogate \xED\xA0\x80", false},
        {"latin 1 \xE9t\xE9", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(sv_utf8_valid(cases[i].text) == cases[i].valid, "case %zu", i);
}
END_TEST

static Suite *utf8_suite(void)
{
    Suite *suite = suite_create("utf8");
    TCase *cases = tcase_create("utf8");
    tcase_add_test(cases, test_every_first_two_bytes_and_the_borders_of_two_more);
    tcase_add_test(cases, test_texts_are_valid_if_each_of_their_characters_is);
    suite_add_tcase(suite, cases);
    return suite;
}

TEST_MAIN(utf8_suite)
