/* Comparison of texts without regard to the case of ASCII letters. */
#include "suite.h"

#include "base/text/ascii.h"
#include "data/decoding/image_formats.h"

#include <stdint.h>
#include <strings.h>

#ifdef __GLIBC__
/* The C library's functions as Turkish has them, whose "I" is no capital of "i". They are those of
 * this program also for the library's code, which must not need them. */
static int turkish(char byte)
{
    return byte >= 'A' && byte <= 'Z' && byte != 'I' ? byte + ('a' - 'A') : byte;
}

int strncasecmp(const char *a, const char *b, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (turkish(a[i]) != turkish(b[i]) || a[i] == '\0')
            return turkish(a[i]) - turkish(b[i]);
    }
    return 0;
}

int strcasecmp(const char *a, const char *b)
{
    return strncasecmp(a, b, SIZE_MAX);
}
#endif

START_TEST(test_letters_of_ascii_alone_have_two_cases)
{
    static const char LOWER[] = "abcdefghijklmnopqrstuvwxyz",
                      UPPER[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (int a = 1; a < 256; a++)
        for (int b = 1; b < 256; b++) {
            const char texts[2][2] = {{(char)a}, {(char)b}};
            bool wanted = a == b;
            for (int k = 0; k < 26; k++)
                wanted |= (a == LOWER[k] && b == UPPER[k]) || (a == UPPER[k] && b == LOWER[k]);
            if (sv_ascii_equal(texts[0], texts[1], SIZE_MAX) != wanted)
                ck_abort_msg("bytes %d and %d", a, b);
        }
}
END_TEST

START_TEST(test_a_length_bounds_what_is_compared)
{
    ck_assert(sv_ascii_equal("", "", SIZE_MAX));
    ck_assert(sv_ascii_equal("jpg", "JPG", SIZE_MAX));
    ck_assert(!sv_ascii_equal("jpg", "jpeg", SIZE_MAX));
    ck_assert(!sv_ascii_equal("jp", "jpg", SIZE_MAX));
    ck_assert(!sv_ascii_equal("jpg", "jp", SIZE_MAX));
    ck_assert(sv_ascii_equal("jpg png", "JPG", 3));
    ck_assert(!sv_ascii_equal("jpg png", "JPG", 4));
    ck_assert(sv_ascii_equal("a", "b", 0));
}
END_TEST

START_TEST(test_image_names_do_not_follow_the_locale)
{
    static const char *const NAMES[] = {"a.jfif", "a.JFIF", "a.JfIf", "a.PNG", "a.png"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        ck_assert_msg(sv_is_image_name(NAMES[i]), "%s", NAMES[i]);
    ck_assert(!sv_is_image_name("a.\xC4\xB0"));
}
END_TEST

static Suite *ascii_suite(void)
{
    Suite *suite = suite_create("ascii");
    TCase *cases = tcase_create("ascii");
    tcase_add_test(cases, test_letters_of_ascii_alone_have_two_cases);
    tcase_add_test(cases, test_a_length_bounds_what_is_compared);
    tcase_add_test(cases, test_image_names_do_not_follow_the_locale);
    suite_add_tcase(suite, cases);
    return suite;
}

TEST_MAIN(ascii_suite)
