/* Checks that doubles are written and read to the bit, in any locale and rounding mode, alone and
 * as numbers of JSON. */
#include "fit.h"

#include "config/decimal.h"
#include "config/json.h"

#include <fenv.h>
#include <float.h>
#include <locale.h>
#include <math.h>

static sv_allocator allocator;

static void setup(void)
{
    allocator = sv_allocator_default();
}

static uint64_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33 ^ *state << 31;
}

static void check_round_trip(double value)
{
    char text[SV_DECIMAL_TEXT];
    double back;
    sv_decimal_text(text, value);
    sv_json *json = NULL;
    WORKS(sv_json_parse(&json, &allocator, text, strlen(text), "text", err));
    ck_assert_int_eq(sv_json_root(json)->kind, SV_JSON_REAL);
    ck_assert(sv_json_number(sv_json_root(json), &back));
    ck_assert_msg(memcmp(&back, &value, sizeof back) == 0, "%a reads back as %a from %s", value,
                  back, text);
    sv_json_free(json);
}

static void check_round_trips(size_t count)
{
    static const double special[] = {
        0.0, -0.0, DBL_MAX, -DBL_MAX, DBL_MIN,   0x1p-1074,          0.1,
        0.2, 1e22, 1e23,    1.0 / 3,  1.0 / 255, 9007199254740993.0, 5e-324};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        check_round_trip(special[i]);
    uint64_t state = 11;
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = draw(&state);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value) && takes_case((int)i))
            check_round_trip(value);
    }
}

START_TEST(test_doubles_read_back_to_the_bit)
{
    check_round_trips(30000);
}
END_TEST

START_TEST(test_doubles_read_back_to_the_bit_for_any_rounding)
{
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (size_t i = 0; i < 3; i++) {
        fesetround(modes[i]);
        check_round_trips(2000);
        ck_assert_int_eq(fegetround(), modes[i]);
        fesetround(FE_TONEAREST);
    }
}
END_TEST

static const struct {
    double value;
    const char *text;
} shortest[] = {
    {0, "0.0"},           {-0.0, "-0.0"},
    {0.2, "0.2"},         {0.1 + 0.2, "0.30000000000000004"},
    {1, "1.0"},           {1e22, "1e22"},
    {1e-5, "1e-5"},       {-1e-300, "-1e-300"},
    {255, "255.0"},       {1e15, "1e15"},
    {123456, "123456.0"}, {5e-324, "4.94065645841247e-324"},
    {2.5, "2.5"},         {1.0 / 255, "0.00392156862745098"},
};

START_TEST(test_doubles_are_written_with_the_fewest_digits)
{
    char text[SV_DECIMAL_TEXT];
    ck_assert_str_eq(sv_decimal_text(text, shortest[_i].value), shortest[_i].text);
}
END_TEST

START_TEST(test_halfway_cases_round_to_even)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"9007199254740993.0", 9007199254740992.0},
        {"9007199254740993.00000000000000000000000000000000001", 9007199254740994.0},
        {"2.4703282292062327208e-324", 0},
        {"2.4703282292062328e-324", 0x1p-1074},
        {"1e-400", 0},
        {"0.1000000000000000055511151231257827021181583404541015625", 0.1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = -1;
        ck_assert(sv_decimal_read(&value, cases[i].text, strlen(cases[i].text)));
        ck_assert_msg(value == cases[i].value, "%s is %a", cases[i].text, value);
    }
}
END_TEST

static const struct {
    const char *source, *half; /* the text of 0.5 by "%.1f" */
} locales[] = {{"de_DE", "0,5"}, {"ps_AF", "0\xd9\xab\x35"}};

/* In the program's locale, in which 0.5 is `half`. The locale is "C" again afterwards. */
static void check_decimal_comma(const char *half)
{
    char text[SV_DECIMAL_TEXT];
    snprintf(text, sizeof text, "%.1f", 0.5);
    ck_assert_str_eq(text, half);
    check_round_trips(2000);
    ck_assert_str_eq(sv_decimal_text(text, 0.5), "0.5");
    setlocale(LC_ALL, "C");
}

START_TEST(test_a_locale_with_a_decimal_comma_changes_nothing)
{
#ifdef _WIN32
    if (_i > 0) {
        skip_check("the C library has no decimal comma beyond ASCII");
        return;
    }
    ck_assert_ptr_nonnull(setlocale(LC_ALL, "German"));
    check_decimal_comma(locales[_i].half);
#else
    char command[512], name[128];
    fit_folder folder = fit_folder_make();
    snprintf(name, sizeof name, "%s/made", folder.path);
    snprintf(command, sizeof command, "localedef --no-archive -i %s -f UTF-8 %s >/dev/null 2>&1",
             locales[_i].source, name);
    const int is_made = system(command) == 0;
    if (is_made)
        ck_assert_int_eq(setenv("LOCPATH", folder.path, 1), 0);
    if (is_made && setlocale(LC_ALL, "made") && strcmp(localeconv()->decimal_point, ".") != 0) {
        check_decimal_comma(locales[_i].half);
    } else {
#if defined(__GLIBC__) && defined(__x86_64__) /* the machine that localedef makes locales for */
        ck_assert(!is_made);
#endif
        skip_check("localedef makes no locale for this machine or C library");
    }
    snprintf(command, sizeof command, "rm -rf %s", name);
    ck_assert_int_eq(system(command), 0);
    fit_folder_remove(&folder);
#endif
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("decimal");
    TCase *c = tcase_create("decimal");
    tcase_add_checked_fixture(c, setup, NULL);
    tcase_add_test(c, test_doubles_read_back_to_the_bit);
    tcase_add_test(c, test_doubles_read_back_to_the_bit_for_any_rounding);
    tcase_add_loop_test(c, test_doubles_are_written_with_the_fewest_digits, 0,
                        sizeof shortest / sizeof *shortest);
    tcase_add_test(c, test_halfway_cases_round_to_even);
    tcase_add_loop_test(c, test_a_locale_with_a_decimal_comma_changes_nothing, 0, 2);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
