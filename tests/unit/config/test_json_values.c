/* Checks what the values of JSON are asked for, and the decimals that they are written as. */
#include "fit.h"

#include "config/decimal.h"
#include "config/json.h"

#include <math.h>

static sv_allocator allocator;

static void setup(void)
{
    allocator = sv_allocator_default();
}

/* What is asked of no value, or of a value of another kind, is not there. */
START_TEST(test_no_value_is_of_no_kind)
{
    static const struct {
        const char *text;
        int u64, number;
    } cases[] = {{NULL, 0, 0},  {"\"1\"", 0, 0}, {"true", 0, 0},
                 {"[1]", 0, 0}, {"1.5", 0, 1},   {"1", 1, 1},
                 {"-1", 0, 1},  {"-0", 1, 1},    {"9223372036854775808", 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sv_json *json = NULL;
        const char *text = cases[i].text;
        uint64_t natural;
        double number;
        if (text)
            WORKS(sv_json_parse(&json, &allocator, text, strlen(text), "text", err));
        const sv_json_value *value = json ? sv_json_root(json) : NULL;
        ck_assert_int_eq(sv_json_u64(value, &natural), cases[i].u64);
        ck_assert_int_eq(sv_json_number(value, &number), cases[i].number);
        if (text && strcmp(text, "-0") == 0)
            ck_assert(number == 0 && !signbit(number));
        ck_assert_ptr_null(sv_json_get(value, "key"));
        sv_json_free(json);
    }
}
END_TEST

/* What Python writes for numbers that are not finite is null where its JSON is read, and no JSON
 * everywhere else. */
START_TEST(test_numbers_that_are_not_finite_are_those_of_python)
{
    static const char *const texts[] = {"{\"a\":NaN}", "{\"a\": Infinity}", "{\"a\":-Infinity}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        sv_json *json = NULL;
        const size_t bytes = strlen(texts[i]);
        WORKS(sv_json_parse_python(&json, &allocator, texts[i], bytes, "text", err));
        ck_assert(sv_json_is(sv_json_get(sv_json_root(json), "a"), SV_JSON_NULL));
        sv_json_free(json);
        json = NULL;
        FAILS(sv_json_parse(&json, &allocator, texts[i], bytes, "text", err), SVIT_E_FORMAT,
              "is not JSON");
        FAILS(sv_json_parse_tolerant(&json, &allocator, texts[i], bytes, "text", err),
              SVIT_E_FORMAT, "is not JSON");
        ck_assert_ptr_null(json);
    }
}
END_TEST

/* Escapes become UTF-8 of one to four bytes. */
START_TEST(test_escapes_become_utf_8)
{
    static const struct {
        const char *text, *value;
    } cases[] = {
        {"\"\\u0001\\u007f\"", "\x01\x7f"},
        {"\"\\u0080\\u07ff\"", "\xc2\x80\xdf\xbf"},
        {"\"\\u0800\\uD7FF\\ue000\\uffff\"", "\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"},
        {"\"\\ud800\\udc00\\uDBFF\\uDFFF\"", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sv_json *json = NULL;
        WORKS(sv_json_parse(&json, &allocator, cases[i].text, strlen(cases[i].text), "text", err));
        ck_assert_str_eq(sv_json_text(sv_json_root(json)), cases[i].value);
        sv_json_free(json);
    }
}
END_TEST

/* As many digits as are needed, at most 17, and the shortest exponent. */
START_TEST(test_decimals_have_the_shortest_form)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{1, "1.0"},
                 {-0.5, "-0.5"},
                 {1e22, "1e22"},
                 {1e-5, "1e-5"},
                 {1e100, "1e100"},
                 {2.5e-300, "2.5e-300"},
                 {0.1 + 0.2, "0.30000000000000004"},
                 {5e-324, "4.94065645841247e-324"},
                 {1.7976931348623157e308, "1.7976931348623157e308"},
                 {100000000000000000.0, "1e17"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[SV_DECIMAL_TEXT];
        double back = 0;
        ck_assert_str_eq(sv_decimal_text(text, cases[i].value), cases[i].text);
        ck_assert(sv_decimal_read(&back, text, strlen(text)));
        ck_assert_double_eq(back, cases[i].value);
    }
}
END_TEST

/* A number of more digits than any double needs is refused, whatever it is. */
START_TEST(test_a_decimal_has_a_length)
{
    char text[SV_DECIMAL_MAX_LENGTH + 2];
    double value = 0;
    memset(text, '0', sizeof text);
    memcpy(text, "1.", 2);
    ck_assert(sv_decimal_read(&value, text, SV_DECIMAL_MAX_LENGTH));
    ck_assert_double_eq(value, 1);
    ck_assert(!sv_decimal_read(&value, text, SV_DECIMAL_MAX_LENGTH + 1));
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("json_values");
    TCase *c = tcase_create("json_values");
    tcase_add_checked_fixture(c, setup, NULL);
    tcase_add_test(c, test_no_value_is_of_no_kind);
    tcase_add_test(c, test_numbers_that_are_not_finite_are_those_of_python);
    tcase_add_test(c, test_escapes_become_utf_8);
    tcase_add_test(c, test_decimals_have_the_shortest_form);
    tcase_add_test(c, test_a_decimal_has_a_length);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
