/* Checks the tables of fields with a struct that has a field of each kind: what is accepted from
 * JSON and from the caller, the texts of ranges, what is written, and which field differs. */
#include "fit.h"

#include "config/fields.h"

#include <float.h>
#include <math.h>

typedef struct kinds {
    uint32_t u32;
    uint64_t u64;
    int32_t word, flag;
    double real, pair[2], reals[3];
    uint32_t reals_count, list[4], list_count, set;
    const char *text;
    char chars[8];
} kinds;

static sv_words LETTERS = {"a", "b", "c", "d", "e", "f", "g", "h",
                           "i", "j", "k", "l", "m", "n", "o", "p"};

static const sv_field FIELDS[] = {
    {SV_FIELD(kinds, u32, U32), .min = 1, .max = 9},
    {SV_FIELD(kinds, u64, U64)},
    {SV_FIELD(kinds, word, WORD), .words = LETTERS},
    {SV_FIELD(kinds, flag, FLAG)},
    {SV_FIELD(kinds, real, REAL), .max = 1, .min_is_open = 1, .max_is_open = 1},
    {SV_FIELD(kinds, pair, PAIR), .min = -DBL_MAX, .max = DBL_MAX},
    {SV_FIELD(kinds, reals, REALS), .min = 0.5, .max = DBL_MAX, .count_name = "reals_count",
     .count_offset = offsetof(kinds, reals_count)},
    {SV_FIELD(kinds, list, LIST), .max = 5, .count_name = "list_count",
     .count_offset = offsetof(kinds, list_count), .min_count = 1, .max_count = 4},
    {SV_FIELD(kinds, set, SET), .words = LETTERS},
    {.name = "version", .kind = SV_FIELD_CONSTANT, .words = (sv_words){"one"}},
    {SV_FIELD(kinds, text, TEXT)},
    {SV_FIELD(kinds, chars, CHARS), .max_count = 8},
};
static const sv_field_table TABLE = {"kinds", "a struct of kinds", NULL, FIELDS,
                                     sizeof FIELDS / sizeof *FIELDS};
static const kinds GOOD = {.u32 = 3,
                           .real = 0.5,
                           .reals = {1, 2, 3},
                           .reals_count = 2,
                           .list = {1, 2},
                           .list_count = 2,
                           .chars = "abc"};

static sv_allocator allocator;

static svit_status read_kinds(kinds *out, const char *json, svit_error *err)
{
    const sv_field_struct one = {&TABLE, out};
    *out = GOOD;
    return sv_fields_of_structs_from_text(&one, 1, "kinds", json, err);
}

static const struct {
    const char *json, *part;
} REFUSED[] = {
    {"{\"u32\":0.5}", "u32"},
    {"{\"u32\":-1}", "u32"},
    {"{\"u64\":-1}", "u64 is not a whole number from 0 to 2^64 - 1"},
    {"{\"word\":1}", "word is not text; it is 'a' or 'b'"},
    {"{\"word\":\"q\"}", "word is 'q'; it is 'a' or 'b'"},
    {"{\"flag\":1}", "flag is not true or false"},
    {"{\"real\":\"1\"}", "real is not a number"},
    {"{\"pair\":1}", "pair is not an array of 2 numbers"},
    {"{\"pair\":[1]}", "pair is not an array of 2 numbers"},
    {"{\"pair\":[1,2,3]}", "pair is not an array of 2 numbers"},
    {"{\"pair\":[1,null]}", "pair"},
    {"{\"reals\":[1]}", "reals is not an array of 2 numbers, as many as reals_count"},
    {"{\"list\":[]}", "list is not an array of 1 to 4 whole numbers"},
    {"{\"list\":[1,2,3,4,5]}", "list is not an array of 1 to 4 whole numbers"},
    {"{\"list\":[1,2.5]}", "list"},
    {"{\"set\":\"a\"}", "set is not an array of words"},
    {"{\"set\":[\"a\",\"z\"]}", "set is 'z'"},
    {"{\"version\":\"two\"}", "version is 'two'; it is 'one'"},
    {"{\"text\":\"x\"}", "text is a string that the struct only points to"},
    {"{\"chars\":1}", "chars is not text"},
    {"{\"chars\":\"12345678\"}", "chars has 8 bytes; at most 7 are accepted"},
    {"{\"char\":\"x\"}", "chars"}, /* the most similar key */
};

START_TEST(test_wrong_values_of_json_are_named)
{
    kinds out;
    FAILS(read_kinds(&out, REFUSED[_i].json, err), SVIT_E_ARGUMENT, REFUSED[_i].part);
}
END_TEST

START_TEST(test_every_kind_is_read_and_written)
{
    static const char ALL[] =
        "{\"u32\":9,\"u64\":18446744073709551615,\"word\":\"p\",\"flag\":true,\"real\":0.25,"
        "\"pair\":"
        "[-1.5,2.0],\"reals\":[0.5,7.0],\"list\":[5,0,1],\"set\":[\"a\",\"p\"],\"version\":\"one\","
        "\"chars\":\"1234567\"}";
    kinds out, again;
    char text[1024];
    size_t needed = 0;
    WORKS(read_kinds(&out, ALL, err));
    ck_assert_uint_eq(out.u32, 9);
    ck_assert(out.u64 == UINT64_MAX);
    ck_assert_int_eq(out.word, 15);
    ck_assert_int_eq(out.flag, 1);
    ck_assert_double_eq(out.pair[0], -1.5);
    ck_assert_double_eq(out.reals[1], 7);
    ck_assert_uint_eq(out.list_count, 3);
    ck_assert_uint_eq(out.set, 0x8001);
    ck_assert_str_eq(out.chars, "1234567");
    WORKS(sv_fields_check(&TABLE, &out, err));
    const sv_field_struct one = {&TABLE, &out};
    WORKS(sv_fields_of_structs_to_buffer(&one, 1, "kinds", text, sizeof text, &needed, err));
    ck_assert_str_eq(text, ALL);
    ck_assert_uint_eq(needed, sizeof ALL);
    out.text = "said";
    WORKS(sv_fields_of_structs_to_buffer(&one, 1, "kinds", text, sizeof text, &needed, err));
    ck_assert_str_eq(text, ALL); /* a text that the caller owns is no field of the JSON object */
    WORKS(read_kinds(&again, text, err));
    FAILS(read_kinds(&again, "{\"text\": \"said\"}", err), SVIT_E_ARGUMENT, "text");
}
END_TEST

/* A caller's struct with one field changed. */
static const struct {
    size_t offset, bytes;
    union {
        uint32_t u32;
        double real;
        char chars[8];
    } value;
    const char *part;
} WRONG[] = {
#define U32(member, number)                                                                        \
    offsetof(kinds, member), 4,                                                                    \
    {                                                                                              \
        .u32 = number                                                                              \
    }
#define REAL(member, number)                                                                       \
    offsetof(kinds, member), 8,                                                                    \
    {                                                                                              \
        .real = number                                                                             \
    }
    {U32(u32, 0), "u32 is 0; it is in [1, 9]"},
    {U32(u32, 10), "u32 is 10"},
    {U32(word, 16), "word is 16; it is 0..15: 'a' or 'b'"},
    {U32(word, UINT32_MAX), "word is -1"},
    {U32(flag, 2), "flag is 2; it is 0..1"},
    {U32(set, 0x10000), "set is 65536; it is 0..65535"},
    {REAL(real, 0), "real is 0; it is in (0, 1)"},
    {REAL(real, 1), "real is 1; it is in (0, 1)"},
    {REAL(real, NAN), "real is nan"},
    {REAL(pair[1], INFINITY), "pair[1] is inf; it is a finite number"},
    {REAL(reals[1], 0.25), "reals[1] is 0.25; it is a finite number from 0.5"},
    {U32(list_count, 0), "list_count is 0; it is 1..4"},
    {U32(list_count, 5), "list_count is 5; it is 1..4"},
    {U32(list[1], 6), "list[1] is 6; it is in [0, 5]"},
    {offsetof(kinds, chars),
     8,
     {.chars = {'1', '2', '3', '4', '5', '6', '7', '8'}},
     "chars has no end; it is a text of at most 7 bytes"},
};

START_TEST(test_wrong_fields_of_a_struct_are_named)
{
    kinds config = GOOD;
    WORKS(sv_fields_check(&TABLE, &config, err));
    memcpy((char *)&config + WRONG[_i].offset, &WRONG[_i].value, WRONG[_i].bytes);
    FAILS(sv_fields_check(&TABLE, &config, err), SVIT_E_ARGUMENT, WRONG[_i].part);
}
END_TEST

START_TEST(test_the_first_field_that_differs_is_named)
{
    static const struct {
        size_t offset;
        const char *name;
    } cases[] = {{offsetof(kinds, u32), "u32"},
                 {offsetof(kinds, u64), "u64"},
                 {offsetof(kinds, word), "word"},
                 {offsetof(kinds, real), "real"},
                 {offsetof(kinds, pair[1]), "pair"},
                 {offsetof(kinds, reals[1]), "reals"},
                 {offsetof(kinds, reals[2]), NULL},
                 {offsetof(kinds, list[1]), "list"},
                 {offsetof(kinds, list_count), "list"},
                 {offsetof(kinds, list[3]), NULL},
                 {offsetof(kinds, reals_count), "reals"},
                 {offsetof(kinds, chars[7]), "chars"},
                 {offsetof(kinds, text), NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kinds other = GOOD;
        ((unsigned char *)&other)[cases[i].offset] ^= 1;
        const char *name = sv_fields_difference(&TABLE, &GOOD, &other);
        ck_assert_msg(cases[i].name ? name && strcmp(name, cases[i].name) == 0 : !name,
                      "case %zu: %s", i, name ? name : "none");
    }
}
END_TEST

/* Beside an open end come the normal numbers of float32, in which layers and optimisers compute. */
START_TEST(test_bounds_and_their_texts)
{
    double min, max;
    char text[SV_FIELD_RANGE_TEXT];
    sv_field_bounds(&FIELDS[4], &min, &max);
    ck_assert_double_eq(min, (double)FLT_MIN);
    ck_assert_double_eq(max, 1 - 0x1p-24);
    sv_field_bounds(&FIELDS[0], &min, &max);
    ck_assert_double_eq(min, 1);
    ck_assert_double_eq(max, 9);
    static const sv_field above = {
        .name = "x", .kind = SV_FIELD_REAL, .max = DBL_MAX, .min_is_open = 1};
    ck_assert_str_eq(sv_field_range_text(&above, text), "it is a finite number above 0");
    static const struct {
        double value;
        const char *text;
    } numbers[] = {{1, "1"}, {-0.5, "-0.5"}, {1e22, "1e22"}, {INFINITY, "inf"}, {0, "0"}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        ck_assert_str_eq(sv_field_number_text(text, numbers[i].value), numbers[i].text);
}
END_TEST

START_TEST(test_fields_are_described)
{
    sv_json_writer writer = sv_json_writer_make(&allocator);
    sv_json_begin(&writer, '[');
    sv_fields_describe(&TABLE, &GOOD, &writer);
    sv_json_end(&writer, ']');
    WORKS(sv_json_writer_status(&writer, "the fields", err));
    static const char *const parts[] = {
        "{\"name\":\"u32\",\"type\":\"",
        "\"accepted\":\"in [1, 9]\",\"default\":3}",
        "\"accepted\":\"0..2^64 - 1\"",
        "\"accepted\":\"true or false\",\"default\":false}",
        "\"accepted\":\"in (0, 1)\",\"default\":0.5}",
        "\"accepted\":\"at least 0.5\",\"default\":[1.0,2.0]}",
        "\"accepted\":\"a finite number\"",
        "\"accepted\":\"'one'\",\"default\":\"one\"}",
        "\"name\":\"chars\",\"type\":\"text\",\"accepted\":\"a text\",\"default\":\"abc\"}"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        ck_assert_msg(strstr(writer.text, parts[i]) != NULL, "%s is not in %s", parts[i],
                      writer.text);
    ck_assert_ptr_null(strstr(writer.text, "\"name\":\"text\"")); /* JSON cannot set it */
    sv_json_writer_free(&writer);
}
END_TEST

static void setup(void)
{
    allocator = sv_allocator_default();
}

static Suite *suite(void)
{
    Suite *all = suite_create("fields");
    TCase *c = tcase_create("fields");
    tcase_add_checked_fixture(c, setup, NULL);
    tcase_add_loop_test(c, test_wrong_values_of_json_are_named, 0,
                        sizeof REFUSED / sizeof *REFUSED);
    tcase_add_test(c, test_every_kind_is_read_and_written);
    tcase_add_loop_test(c, test_wrong_fields_of_a_struct_are_named, 0,
                        sizeof WRONG / sizeof *WRONG);
    tcase_add_test(c, test_the_first_field_that_differs_is_named);
    tcase_add_test(c, test_bounds_and_their_texts);
    tcase_add_test(c, test_fields_are_described);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
