/* Checks that messages are printable UTF-8 whatever they quote. */
#include "fit.h"

#include "base/status.h"
#include "base/text/message.h"
#include "base/text/utf8.h"

static const struct {
    const char *text, *shown;
} cases[] = {
    {"", ""},
    {"dim is 0; it is 1..65536", "dim is 0; it is 1..65536"},
    {"'h\xc3\xa4user' \xe2\x82\xac \xf0\x9f\x98\x80",
     "'h\xc3\xa4user' \xe2\x82\xac \xf0\x9f\x98\x80"},
    {"'a\x1b[31mred\x1b[0m'", "'a\\x1B[31mred\\x1B[0m'"},
    {"'a\nb\rc\td\x07\x7f'", "'a\\nb\\rc\\td\\x07\\x7F'"},
    {"'\xc2\x9b"
     "31m'",
     "'\\xC2\\x9B31m'"},
    {"'\xc2\xa0'", "'\xc2\xa0'"},
    {"'cut\xc3'", "'cut\xe2\x80\xa6'"},
    {"'cut\xe2\x82'", "'cut\xe2\x80\xa6'"},
    {"'cut\xf0\x9f\x98'", "'cut\xe2\x80\xa6'"},
    {"cut\xf0\x9f", "cut\xe2\x80\xa6"},
    {"'caf\xe9.png'", "'caf\\xE9.png'"},
    {"'\xff\xfe\x80'", "'\\xFF\\xFE\\x80'"},
    {"'\xed\xa0\x80'", "'\\xED\\xA0\\x80'"},
    {"\\n", "\\n"},
};

START_TEST(test_messages_are_cleaned)
{
    char shown[64];
    sv_message_clean(shown, sizeof shown, cases[_i].text);
    ck_assert_str_eq(shown, cases[_i].shown);
}
END_TEST

START_TEST(test_what_does_not_fit_is_cut_between_characters)
{
    static const struct {
        size_t capacity;
        const char *text, *shown;
    } cuts[] = {
        {9, "12345678", "12345678"},
        {9, "123456789", "12345\xe2\x80\xa6"},
        {9,
         "12345\xc3\xa4"
         "8",
         "12345\xc3\xa4"
         "8"},
        {9,
         "12345\xc3\xa4"
         "89",
         "12345\xe2\x80\xa6"},
        {9,
         "1234\xc3\xa4"
         "789",
         "1234\xe2\x80\xa6"},
        {9, "1234567\x1b", "12345\xe2\x80\xa6"},
        {8, "\x1b\x1b", "\\x1B\xe2\x80\xa6"},
    };
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        char shown[16];
        memset(shown, '#', sizeof shown);
        sv_message_clean(shown, cuts[i].capacity, cuts[i].text);
        ck_assert_str_eq(shown, cuts[i].shown);
        ck_assert_int_eq(shown[cuts[i].capacity], '#');
    }
}
END_TEST

/* Puts every byte at every position of a long text with characters of all lengths. */
START_TEST(test_messages_are_utf8_for_any_bytes)
{
    uint64_t state = 3;
    for (int round = 0; round < 20000; round++) {
        char text[40], shown[24];
        for (size_t i = 0; i + 1 < sizeof text; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            text[i] = (char)(state >> 56 ? state >> 56 : 1);
        }
        text[sizeof text - 1] = '\0';
        sv_message_clean(shown, sizeof shown, text);
        ck_assert(sv_utf8_valid(shown));
        for (const char *c = shown; *c; c++)
            ck_assert((unsigned char)*c >= 0x20 && *c != 0x7f);
    }
}
END_TEST

START_TEST(test_every_failing_call_is_covered)
{
    svit_error err = {.struct_size = sizeof err};
    char message[2000];
    memset(message, 0xc3, sizeof message);
    message[sizeof message - 1] = '\0';
    svit_error_set(&err, SVIT_E_IO, message);
    ck_assert(sv_utf8_valid(err.message));
    ck_assert_uint_le(strlen(err.message), sizeof err.message - 1);

    char name[80] = "a name that is cut at its 64th byte, which is in the middle of \xe2\x82\xac";
    svit_model_config config;
    snprintf(message, sizeof message, "{\"%s\":1}", name);
    ck_assert_int_eq(svit_model_config_from_json(&config, sizeof config, message, &err),
                     SVIT_E_ARGUMENT);
    ck_assert(sv_utf8_valid(err.message));
    ck_assert_ptr_nonnull(strstr(err.message, "middle of \xe2\x80\xa6'"));
    ck_assert_int_eq(
        svit_model_config_from_json(&config, sizeof config, "{\"\\u001b[2J\":1}", &err),
        SVIT_E_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(err.message, "'\\x1B[2J'"));

    ck_assert_int_eq(svit_training_preset("no\x1b\n\xc3", NULL, 0, NULL, 0, NULL, 0, &err),
                     SVIT_E_ARGUMENT);
    ck_assert(sv_utf8_valid(err.message));
    ck_assert_ptr_null(strchr(err.message, '\x1b'));
}
END_TEST

/* Of a path that is too long the end is kept, whose file the reason is about. */
START_TEST(test_a_long_place_leaves_the_reason)
{
    static const char ELLIPSIS[] = "\xe2\x80\xa6";
    for (size_t reason = 0; reason < 240; reason += 3)
        for (size_t bytes = 1; bytes < 1200; bytes += bytes < 300 ? 1 : 97) {
            svit_error err = {.struct_size = sizeof err};
            char where[1200] = "", why[256] = "";
            memset(where, 'z', bytes);
            for (size_t i = 0; i + 2 < bytes; i += 2)
                memcpy(where + i, "\xc3\xa4", 2);
            memset(why, 'w', reason);
            sv_fail(&err, SVIT_E_IO, "%s", why);
            ck_assert_int_eq(sv_fail_in(&err, SVIT_E_FORMAT, where), SVIT_E_FORMAT);
            ck_assert(sv_utf8_valid(err.message));
            const char *colon = strstr(err.message, "z: ");
            ck_assert_msg(colon, "%zu, %zu: %s", bytes, reason, err.message);
            const size_t kept = (size_t)(colon + 1 - err.message);
            if (bytes + 6 + reason <= sizeof err.message) {
                ck_assert_uint_eq(kept, bytes);
                ck_assert_str_eq(colon + 3, why);
            } else if (bytes > 48) {
                ck_assert_int_eq(strncmp(err.message, ELLIPSIS, 3), 0);
                ck_assert_uint_ge(kept, 40);
                if (reason <= 200)
                    ck_assert_str_eq(colon + 3, why);
            }
        }
}
END_TEST

/* The same for a path that a message quotes, wherever it stands. */
START_TEST(test_a_long_quoted_name_leaves_the_reason)
{
    static const char *const forms[] = {
        "'%s': a regular file is needed",
        "cannot open '%s': No such file or directory",
        "the list's line 3 ('%s') is of no class; 'cat', 'dog' are accepted",
        "--model: the folder '%s' holds no model.safetensors",
    };
    for (size_t form = 0; form < sizeof forms / sizeof *forms; form++) {
        size_t shortened = 0;
        for (size_t bytes = 1; bytes < 900; bytes++) {
            svit_error err = {.struct_size = sizeof err};
            char path[900], whole[1024];
            for (size_t i = 0; i < bytes; i++)
                path[i] = "/\xc3\xa4'Bob's"[i % 9];
            memcpy(path + (bytes > 4 ? bytes - 4 : 0), "/end", bytes > 4 ? 4 : 0);
            path[bytes > 4 ? bytes : 0] = '\0';
            if (!sv_utf8_valid(path))
                continue;
            snprintf(whole, sizeof whole, forms[form], path);
            sv_fail(&err, SVIT_E_IO, "%s", whole);
            ck_assert(sv_utf8_valid(err.message));
            const char *reason = strstr(forms[form], "%s'") + 2;
            const size_t length = strlen(err.message);
            ck_assert_str_eq(err.message + length - strlen(reason), reason);
            if (strlen(whole) < sizeof err.message)
                ck_assert_str_eq(err.message, whole);
            else {
                ck_assert_ptr_nonnull(strstr(err.message, "'\xe2\x80\xa6"));
                ck_assert_ptr_nonnull(strstr(err.message, "/end'"));
                ck_assert_uint_ge(length, sizeof err.message - 4);
                shortened++;
            }
        }
        ck_assert_uint_gt(shortened, 500);
    }
}
END_TEST

/* So do paths with which messages begin. */
START_TEST(test_a_long_path_at_the_begin_leaves_the_reason)
{
    static const char *const reasons[] = {
        " is a text, not a safetensors file", ": tensor 'stem.proj.weight' is missing",
        " has no entry 'a'", " holds no optimiser; give NULL for it"};
    static const char *const paths[] = {"my data/%0*d/end", "%0*d/end", "%0*dend"};
    const char *reason = reasons[_i / 3], *form = paths[_i % 3];
    for (int bytes = 1; bytes < 700; bytes++) {
        svit_error err = {.struct_size = sizeof err};
        char path[900], whole[1024];
        snprintf(path, sizeof path, form, bytes, 0);
        snprintf(whole, sizeof whole, "%s%s", path, reason);
        sv_fail(&err, SVIT_E_FORMAT, "%s", whole);
        if (strlen(whole) < sizeof err.message) {
            ck_assert_str_eq(err.message, whole);
            continue;
        }
        const char *found = strstr(err.message, reason);
        ck_assert_ptr_nonnull(found);
        ck_assert_str_eq(found, reason);
        ck_assert_int_eq(strncmp(found - 3, "end", 3), 0);
        ck_assert_int_eq(strncmp(err.message, "\xe2\x80\xa6", 3), 0);
        ck_assert_uint_ge(strlen(err.message), sizeof err.message - 4);
    }
}
END_TEST

/* Up to the longest path of Linux, whose message is longer than most. */
START_TEST(test_the_longest_paths_leave_the_reason)
{
    for (int bytes = 900; bytes <= 4090; bytes += 29) {
        svit_error err = {.struct_size = sizeof err};
        sv_fail(&err, SVIT_E_IO, "cannot open '%0*d/end': %s", bytes, 0, "Permission denied");
        ck_assert_ptr_nonnull(strstr(err.message, "/end': Permission denied"));
        ck_assert_uint_ge(strlen(err.message), sizeof err.message - 4);
        char again[sizeof err.message];
        strcpy(again, err.message);
        sv_fail(&err, SVIT_E_IO, "%s", err.message);
        ck_assert_str_eq(err.message, again);
        sv_fail(&err, SVIT_E_IO, "%0*d/end: damaged", bytes, 0);
        ck_assert_ptr_nonnull(strstr(err.message, "0/end: damaged"));
    }
}
END_TEST

/* Names that no quote ends, or that are short already, stay as they are. */
START_TEST(test_what_cannot_be_shortened_is_cut)
{
    char whole[600], shown[600];
    memset(whole, 'x', sizeof whole - 1);
    whole[sizeof whole - 1] = '\0';
    whole[0] = '\'';
    memcpy(shown, whole, sizeof whole);
    sv_message_shorten(shown, 247);
    ck_assert_str_eq(shown, whole);
    memcpy(whole, "timeout for the key 0", 21);
    memcpy(whole + 100, ", and/or its copy: ", 19);
    memcpy(shown, whole, sizeof whole);
    sv_message_shorten(shown, 247);
    ck_assert_str_eq(shown, whole);
    memcpy(whole + 200, " 'a short name' ", 16);
    whole[0] = 'x';
    memcpy(shown, whole, sizeof whole);
    sv_message_shorten(shown, 247);
    ck_assert_str_eq(shown, whole);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("messages");
    TCase *c = tcase_create("messages");
    tcase_add_loop_test(c, test_messages_are_cleaned, 0, sizeof cases / sizeof *cases);
    tcase_add_test(c, test_what_does_not_fit_is_cut_between_characters);
    tcase_add_test(c, test_messages_are_utf8_for_any_bytes);
    tcase_add_test(c, test_a_long_place_leaves_the_reason);
    tcase_add_test(c, test_a_long_quoted_name_leaves_the_reason);
    tcase_add_loop_test(c, test_a_long_path_at_the_begin_leaves_the_reason, 0, 12);
    tcase_add_test(c, test_the_longest_paths_leave_the_reason);
    tcase_add_test(c, test_what_cannot_be_shortened_is_cut);
    tcase_add_test(c, test_every_failing_call_is_covered);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
