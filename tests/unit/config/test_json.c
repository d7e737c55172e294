/* Checks JSON: what is accepted and refused, what is read and written, and what happens without
 * memory. test_decimal.c checks its numbers. */
#include "fit.h"

#include "config/json.h"

#include <math.h>

static sv_allocator allocator;

static void setup(void)
{
    allocator = sv_allocator_default();
}

static const char *const accepted[] = {
    "null",
    " \t\r\n true ",
    "false",
    "0",
    "-0",
    "-1",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "1.5e300",
    "1E+2",
    "0.0",
    "1e-400",
    "\"\"",
    "\"a\\u0041\\n\\/\\b\\f\\r\\t\\\\\\\"\"",
    "\"\\ud83d\\ude00\\u00E9\\u20ac\\ue000\\uFFFF\"",
    "\"\xf0\x9f\x98\x80\xc3\xa9\xed\x9f\xbf\x7f\"",
    "[]",
    "[[],{},[1,2,3]]",
    "{}",
    "{\"a\":{\"a\":1},\"b\":[{\"a\":2}]}",
    "{\"\":1}",
};

START_TEST(test_json_is_accepted)
{
    sv_json *json = NULL;
    WORKS(sv_json_parse(&json, &allocator, accepted[_i], strlen(accepted[_i]), "text", err));
    sv_json_free(json);
}
END_TEST

static const struct {
    const char *text;
    const char *part; /* part of the message */
} refused[] = {
    {"", "the end of the text instead of a value at byte 0"},
    {" ", "at byte 1"},
    {"nul", "begins no value at byte 0"},
    {"True", "begins no value"},
    {"nulll", "something after the end of the value at byte 4"},
    {"1 2", "something after the end of the value at byte 2"},
    {"{}x", "something after the end of the value at byte 2"},
    {"\xef\xbb\xbf{}", "begins no value at byte 0"},
    {"NaN", "begins no value"},
    {"Infinity", "begins no value"},
    {"-", "a number that is not JSON's at byte 0"},
    {"-x", "a number that is not JSON's"},
    {"+1", "begins no value"},
    {".5", "begins no value"},
    {"01", "something after the end of the value at byte 1"},
    {"1.", "a number that is not JSON's"},
    {"1.e3", "a number that is not JSON's"},
    {"1e", "a number that is not JSON's"},
    {"1e+", "a number that is not JSON's"},
    {"0x10", "something after"},
    {"1,5", "something after"},
    {"18446744073709551616", "an integer outside of 64 bits"},
    {"-9223372036854775809", "an integer outside of 64 bits"},
    {"99999999999999999999999", "an integer outside of 64 bits"},
    {"1e309", "a number that no double holds"},
    {"-1.7976931348623159e308", "a number that no double holds"},
    {"\"", "a string without its end at byte 1"},
    {"\"abc", "a string without its end at byte 4"},
    {"\"a\nb\"", "a control character in a string at byte 2"},
    {"\"\x1f\"", "a control character"},
    {"\"\\x\"", "an escape that JSON does not have"},
    {"\"\\", "an escape that JSON does not have"},
    {"\"\\u12\"", "four hexadecimal digits"},
    {"\"\\u123g\"", "four hexadecimal digits"},
    {"\"\\u12G3\"", "four hexadecimal digits"},
    {"\"\\ud800\\ue000\"", "half of a surrogate pair"},
    {"\"\\u0000\"", "a NUL character"},
    {"\"\\ud800\"", "half of a surrogate pair"},
    {"\"\\ud800\\n\"", "half of a surrogate pair"},
    {"\"\\ud800\\ud800\"", "half of a surrogate pair"},
    {"\"\\udc00\"", "half of a surrogate pair"},
    {"\"\\udfff\"", "half of a surrogate pair"},
    {"\"\xff\"", "a byte that is not UTF-8 at byte 1"},
    {"\"\xc3\"", "not UTF-8"},
    {"\"\xc0\x80\"", "not UTF-8"},
    {"\"\xe0\x9f\xbf\"", "not UTF-8"},
    {"\"\xed\xa0\x80\"", "not UTF-8"},
    {"\"\xf0\x8f\xbf\xbf\"", "not UTF-8"},
    {"\"\xf4\x90\x80\x80\"", "not UTF-8"},
    {"\"\x80\"", "not UTF-8"},
    {"[", "the end of the text"},
    {"[1", "no ',' or ']' after an element at byte 2"},
    {"[1 2]", "no ',' or ']' after an element"},
    {"[1,]", "begins no value at byte 3"},
    {"[,1]", "begins no value"},
    {"[1}", "no ',' or ']'"},
    {"{", "no string for a key"},
    {"{1:2}", "no string for a key at byte 1"},
    {"{\"a\"}", "no ':' after a key"},
    {"{\"a\":}", "begins no value"},
    {"{\"a\":1", "no ',' or '}' after a member"},
    {"{\"a\":1,}", "no string for a key"},
    {"{\"a\":1 \"b\":2}", "no ',' or '}'"},
    {"{\"a\":1,\"b\":2,\"a\":3}", "an object with a key twice: 'a'"},
    {"{\"a\":1,\"\\u0061\":3}", "an object with a key twice: 'a'"},
    {"[1] // no", "something after"},
    {"['a']", "begins no value"},
};

START_TEST(test_what_is_not_json_is_refused_with_its_position)
{
    sv_json *json = NULL;
    FAILS(sv_json_parse(&json, &allocator, refused[_i].text, strlen(refused[_i].text), "text", err),
          SVIT_E_FORMAT, refused[_i].part);
    FAILS(sv_json_parse(&json, &allocator, refused[_i].text, strlen(refused[_i].text), "text", err),
          SVIT_E_FORMAT, "text is not JSON: ");
    ck_assert_ptr_null(json);
}
END_TEST

START_TEST(test_nul_bytes_are_refused)
{
    static const char *const texts[] = {"{}\0", "\0{}", "\"\0\"", "[\0]", "1\0", "{\"a\0\":1}"};
    static const size_t bytes[] = {3, 3, 3, 3, 2, 8};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        sv_json *json = NULL;
        FAILS(sv_json_parse(&json, &allocator, texts[i], bytes[i], "text", err), SVIT_E_FORMAT,
              "not JSON");
    }
}
END_TEST

START_TEST(test_depth_is_limited)
{
    for (size_t depth = SV_JSON_DEPTH; depth <= SV_JSON_DEPTH + 1; depth++) {
        char text[2 * SV_JSON_DEPTH + 8] = "";
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        sv_json *json = NULL;
        if (depth == SV_JSON_DEPTH)
            WORKS(sv_json_parse(&json, &allocator, text, strlen(text), "text", err));
        else
            FAILS(sv_json_parse(&json, &allocator, text, strlen(text), "text", err), SVIT_E_FORMAT,
                  "too many");
        sv_json_free(json);
        json = NULL;
    }
}
END_TEST

START_TEST(test_values_are_those_of_the_text)
{
    const char *text = "{\"b\":[1,[2,3],-4.5],\"a\":\"\\u00e9\\ud83d\\ude00\",\"c\":"
                       "{\"x\":true},\"big\":18446744073709551615,\"small\":-9223372036854775808}";
    sv_json *json = NULL;
    WORKS(sv_json_parse_object(&json, &allocator, text, strlen(text), "text", err));
    const sv_json_value *root = sv_json_root(json);
    ck_assert_uint_eq(root->count, 5);
    ck_assert_str_eq(sv_json_text(sv_json_get(root, "a")), "\xc3\xa9\xf0\x9f\x98\x80");
    const sv_json_value *list = sv_json_get(root, "b"), *element = list + 1;
    uint64_t u64 = 0;
    double number = 0;
    ck_assert(sv_json_u64(element, &u64) && u64 == 1);
    element = element->after;
    ck_assert(element->kind == SV_JSON_ARRAY && element->count == 2);
    element = element->after;
    ck_assert(!sv_json_u64(element, &u64) && sv_json_number(element, &number) && number == -4.5);
    ck_assert_int_eq(sv_json_get(sv_json_get(root, "c"), "x")->kind, SV_JSON_TRUE);
    ck_assert(sv_json_u64(sv_json_get(root, "big"), &u64) && u64 == UINT64_MAX);
    const sv_json_value *small = sv_json_get(root, "small");
    ck_assert(!sv_json_u64(small, &u64) && sv_json_number(small, &number) && number == -0x1p63);
    ck_assert_ptr_null(sv_json_get(root, "d"));
    ck_assert_ptr_null(sv_json_get(list, "a"));
    ck_assert_ptr_null(sv_json_get(NULL, "a"));
    sv_json_free(json);
    FAILS(sv_json_parse_object(&json, &allocator, "[]", 2, "text", err), SVIT_E_FORMAT,
          "not a JSON object");
}
END_TEST

/* Makes an object of many members. If `again`, the last name repeats the first. */
static char *make_wide(size_t members, int again)
{
    char *text = malloc(24 * members + 32), *end = text;
    *end++ = '{';
    for (size_t i = 0; i < members; i++)
        end += sprintf(end, "%s\"member %zu\":%zu", i ? "," : "", i * 7919 % members, i);
    strcpy(end, again ? ",\"member 0\":1}" : "}");
    return text;
}

START_TEST(test_an_object_of_many_members_is_searched_and_has_each_once)
{
    enum { MEMBERS = 50000 };
    sv_json *json = NULL;
    char *text = make_wide(MEMBERS, 0);
    WORKS(sv_json_parse(&json, &allocator, text, strlen(text), "text", err));
    for (size_t i = 0; i < MEMBERS; i++) {
        char key[32];
        snprintf(key, sizeof key, "member %zu", i * 7919 % MEMBERS);
        uint64_t value = UINT64_MAX;
        ck_assert(sv_json_u64(sv_json_get(sv_json_root(json), key), &value));
        ck_assert_uint_eq(value, i);
    }
    sv_json_free(json);
    free(text);
    text = make_wide(MEMBERS, 1);
    FAILS(sv_json_parse(&json, &allocator, text, strlen(text), "text", err), SVIT_E_FORMAT,
          "'member 0'");
    free(text);
}
END_TEST

/* An allocator whose n-th call fails, with `always` every later one, too; it counts the blocks that
 * are not released. */
typedef struct ledger {
    size_t calls, fail_at, live;
    int for_ever;
} ledger;

static void *ledger_allocate(void *user, size_t bytes, size_t alignment)
{
    ledger *book = user;
    book->calls++;
    if (book->calls == book->fail_at || (book->for_ever && book->calls > book->fail_at))
        return NULL;
    void *memory = NULL;
    book->live += bytes;
    return posix_memalign(&memory, alignment, bytes) == 0 ? memory : NULL;
}

static void ledger_release(void *user, void *memory, size_t bytes)
{
    ledger *book = user;
    book->live -= bytes;
    free(memory);
}

static void put_all(sv_json_writer *writer)
{
    sv_json_begin(writer, '{');
    sv_json_put_key(writer, "text\n");
    sv_json_put_text(writer, "a\"\\\b\f\r\t\x01\x7f\xc3\xa9/");
    sv_json_put_key(writer, "numbers");
    sv_json_begin(writer, '[');
    sv_json_put_i64(writer, INT64_MIN);
    sv_json_put_u64(writer, UINT64_MAX);
    sv_json_put_real(writer, 0.2);
    sv_json_begin(writer, '[');
    sv_json_end(writer, ']');
    sv_json_put_flag(writer, true);
    sv_json_put_flag(writer, false);
    sv_json_end(writer, ']');
    for (int i = 0; i < 200; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i);
        sv_json_put_key(writer, key);
        sv_json_put_text(writer, "a value that makes the text grow");
    }
    sv_json_end(writer, '}');
}

START_TEST(test_what_is_written_reads_back)
{
    sv_json_writer writer = sv_json_writer_make(&allocator);
    put_all(&writer);
    WORKS(sv_json_writer_status(&writer, "all", err));
    const char *start =
        "{\"text\\n\":\"a\\\"\\\\\\b\\f\\r\\t\\u0001\x7f\xc3\xa9/\",\"numbers\":"
        "[-9223372036854775808,18446744073709551615,0.2,[],true,false],\"k0\":\"a value";
    ck_assert_msg(strncmp(writer.text, start, strlen(start)) == 0, "%.200s", writer.text);
    ck_assert_uint_eq(writer.length, strlen(writer.text));
    sv_json *json = NULL;
    WORKS(sv_json_parse(&json, &allocator, writer.text, writer.length, "text", err));
    ck_assert_str_eq(sv_json_text(sv_json_get(sv_json_root(json), "text\n")),
                     "a\"\\\b\f\r\t\x01\x7f\xc3\xa9/");
    sv_json_free(json);
    sv_json_writer_free(&writer);
}
END_TEST

START_TEST(test_what_json_cannot_hold_fails_once_and_for_all)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        sv_json_writer writer = sv_json_writer_make(&allocator);
        sv_json_begin(&writer, '[');
        sv_json_put_real(&writer, odd[i]);
        sv_json_put_real(&writer, 1);
        sv_json_end(&writer, ']');
        FAILS(sv_json_writer_finish(&writer, "a list", NULL, 0, NULL, err), SVIT_E_NUMERIC,
              "a list: a number is not finite");
    }
    sv_json_writer writer = sv_json_writer_make(&allocator);
    sv_json_put_text(&writer, "\xc3");
    FAILS(sv_json_writer_finish(&writer, "a name", NULL, 0, NULL, err), SVIT_E_ARGUMENT,
          "a name: a text is not UTF-8");
}
END_TEST

START_TEST(test_any_allocation_may_fail)
{
    sv_json_writer whole = sv_json_writer_make(&allocator);
    put_all(&whole);
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        svit_status status = SVIT_E_MEMORY;
        size_t n = 1;
        for (; status != SVIT_OK; n++) {
            ledger book = {.fail_at = n, .for_ever = for_ever};
            sv_allocator failing = {ledger_allocate, ledger_release, &book};
            sv_json_writer writer = sv_json_writer_make(&failing);
            sv_json *json = NULL;
            put_all(&writer);
            status = sv_json_writer_status(&writer, "all", NULL);
            if (status == SVIT_OK) {
                ck_assert_str_eq(writer.text, whole.text);
                status = sv_json_parse(&json, &failing, writer.text, writer.length, "all", NULL);
            }
            ck_assert(status == SVIT_OK || status == SVIT_E_MEMORY);
            sv_json_free(json);
            sv_json_writer_free(&writer);
            ck_assert_uint_eq(book.live, 0);
        }
        ck_assert_uint_gt(n, 7);
    }
    sv_json_writer_free(&whole);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("json");
    TCase *c = tcase_create("json");
    tcase_add_checked_fixture(c, setup, NULL);
    tcase_add_loop_test(c, test_json_is_accepted, 0, sizeof accepted / sizeof *accepted);
    tcase_add_loop_test(c, test_what_is_not_json_is_refused_with_its_position, 0,
                        sizeof refused / sizeof *refused);
    tcase_add_test(c, test_nul_bytes_are_refused);
    tcase_add_test(c, test_depth_is_limited);
    tcase_add_test(c, test_values_are_those_of_the_text);
    tcase_add_test(c, test_an_object_of_many_members_is_searched_and_has_each_once);
    tcase_add_test(c, test_what_is_written_reads_back);
    tcase_add_test(c, test_what_json_cannot_hold_fails_once_and_for_all);
    tcase_add_test(c, test_any_allocation_may_fail);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
