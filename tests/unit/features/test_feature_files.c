/* Files of features: what is written is read back, and what is damaged is named. */
#include "data_support.h"

#include "base/numbers/byte_order.h"

#include <shiftvit/shiftvit.h>

static char path[64];

static void setup(void)
{
    snprintf(path, sizeof path, "/tmp/feature-files-%d.safetensors", (int)getpid());
}

static void teardown(void)
{
    unlink(path);
}

/* Writes a safetensors file of this header and data[bytes], which are numbers of `width` bytes. */
static void write_file(const char *header, const void *data, size_t bytes, unsigned width)
{
    unsigned char file[4096];
    const uint64_t length = strlen(header);
    for (int i = 0; i < 8; i++)
        file[i] = (unsigned char)(length >> 8 * i);
    memcpy(file + 8, header, length);
    memcpy(file + 8 + length, data, bytes);
    sv_little_endian(file + 8 + length, width, bytes / width);
    WORKS(svit_file_replace(path, file, 8 + length + bytes, err));
}

START_TEST(test_a_set_is_read_back)
{
    svit_context *context = context_open();
    svit_features *set = NULL, *back = NULL;
    const float values[] = {1, -2.5f, 3e-40f, 4, 5, 3e38f};
    const int32_t labels[] = {2, -1, 0};
    const char *const names[] = {"a \"b\"", "\xc3\xa4", ""};
    WORKS(svit_features_create(&set, context, values, labels, 3, 2, 3, names, err));
    WORKS(svit_features_save(set, path, err));
    WORKS(svit_features_load(&back, context, path, err));
    ck_assert_uint_eq(svit_features_count(back), 3);
    ck_assert_uint_eq(svit_features_channels(back), 2);
    ck_assert_uint_eq(svit_features_classes(back), 3);
    ck_assert_mem_eq(svit_features_values(back), values, sizeof values);
    ck_assert_mem_eq(svit_features_labels(back), labels, sizeof labels);
    for (size_t k = 0; k < 3; k++)
        ck_assert_str_eq(svit_features_class_name(back, k), names[k]);
    ck_assert_str_eq(svit_features_layer(back), "");
    FAILS(svit_features_save(set, "/nowhere/features", err), SVIT_E_IO, "/nowhere");
    svit_features_free(back);
    svit_features_free(set);
    svit_context_free(context);
}
END_TEST

#define VALUES "\"features\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]}"
#define LABELS(type, shape, end)                                                                   \
    ",\"labels\":{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":[8," end "]}"
#define I32_LABELS LABELS("I32", "[2]", "16")
#define META(fields) "\"__metadata__\":{\"format\":\"shiftvit-features\"," fields "},"

/* Files of other programs have no metadata; labels may be 64 bits wide or absent. */
START_TEST(test_files_without_metadata_are_read)
{
    svit_context *context = context_open();
    svit_features *set = NULL;
    /* The floats 1 and 2, and -1 and 4 of 64 bits. */
    static const uint32_t wide[] = {0x3f800000, 0x40000000, UINT32_MAX, UINT32_MAX, 4, 0};
    write_file("{" VALUES LABELS("I64", "[2]", "24") "}", wide, sizeof wide, 4);
    WORKS(svit_features_load(&set, context, path, err));
    ck_assert_uint_eq(svit_features_classes(set), 5);
    ck_assert_int_eq(svit_features_labels(set)[0], -1);
    ck_assert_int_eq(svit_features_labels(set)[1], 4);
    svit_features_free(set);
    write_file("{" VALUES "}", wide, 8, 4);
    WORKS(svit_features_load(&set, context, path, err));
    ck_assert_uint_eq(svit_features_classes(set), 0);
    ck_assert_int_eq(svit_features_labels(set)[1], -1);
    svit_features_free(set);
    svit_context_free(context);
}
END_TEST

/* Features of 16 bits, of which the first is 1.5 and the second -2. */
START_TEST(test_features_of_16_bits_are_read)
{
    static const struct {
        const char *dtype;
        uint16_t values[2];
    } cases[] = {{"F16", {0x3e00, 0xc000}}, {"BF16", {0x3fc0, 0xc000}}};
    svit_context *context = context_open();
    svit_features *set = NULL;
    char header[128];
    snprintf(header, sizeof header,
             "{\"features\":{\"dtype\":\"%s\",\"shape\":[2,1],\"data_offsets\":[0,4]}}",
             cases[_i].dtype);
    write_file(header, cases[_i].values, 4, 2);
    WORKS(svit_features_load(&set, context, path, err));
    ck_assert_uint_eq(svit_features_count(set), 2);
    ck_assert_float_eq(svit_features_values(set)[0], 1.5f);
    ck_assert_float_eq(svit_features_values(set)[1], -2);
    svit_features_free(set);
    svit_context_free(context);
}
END_TEST

/* One channel more than a set may have. */
START_TEST(test_channels_have_a_limit)
{
    enum { CHANNELS = (1 << 20) + 1 };
    svit_context *context = context_open();
    svit_features *set = NULL;
    char header[128] = "";
    char *data = calloc(1, 8 + 256 + 4 * (size_t)CHANNELS);
    snprintf(header, sizeof header,
             "{\"features\":{\"dtype\":\"F32\",\"shape\":[1,%d],\"data_offsets\":[0,%d]}}",
             CHANNELS, 4 * CHANNELS);
    data[0] = (char)strlen(header);
    memcpy(data + 8, header, strlen(header));
    WORKS(svit_file_replace(path, data, 8 + strlen(header) + 4 * (size_t)CHANNELS, err));
    FAILS(svit_features_load(&set, context, path, err), SVIT_E_FORMAT,
          "'features' is [1, 1048577]");
    free(data);
    svit_context_free(context);
}
END_TEST

/* The data are two floats and two labels of 32 bits, or one of 64. */
static const struct {
    const char *header;
    uint32_t data[4];
    size_t bytes;
    const char *message;
} DAMAGED[] = {
    {"{\"labels\":{\"dtype\":\"I32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
     {0},
     8,
     "tensor 'features' is missing"},
    {"{\"features\":{\"dtype\":\"I32\",\"shape\":[2,1],\"data_offsets\":[0,8]}}",
     {0},
     8,
     "'features' is I32"},
    {"{\"features\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
     {0},
     8,
     "'features' is [2]"},
    {"{\"features\":{\"dtype\":\"F32\",\"shape\":[0,4],\"data_offsets\":[0,0]}}",
     {0},
     0,
     "'features' is [0, 4]"},
    {"{\"features\":{\"dtype\":\"F32\",\"shape\":[2,0],\"data_offsets\":[0,0]}}",
     {0},
     0,
     "'features' is [2, 0]"},
    {"{" VALUES LABELS("F32", "[2]", "16") "}", {0}, 16, "'labels' is F32"},
    {"{" VALUES LABELS("I32", "[1,2]", "16") "}", {0}, 16, "'labels' is [1, 2]"},
    {"{" VALUES LABELS("I32", "[2,1]", "16") "}", {0}, 16, "'labels' is [2, 1]"},
    {"{" VALUES LABELS("I64", "[1]", "16") "}", {0}, 16, "'labels' is [1]"},
    {"{" VALUES I32_LABELS "}", {0, 0x7fc00000}, 16, "features[1, 0] is nan"},
    {"{" VALUES I32_LABELS "}", {0, 0, 0, (uint32_t)-2}, 16, "labels[1] is -2; -1 to 1048575"},
    {"{" VALUES I32_LABELS "}", {0, 0, 1 << 20}, 16, "labels[0] is 1048576"},
    {"{" META("\"format_version\":\"2\"") VALUES I32_LABELS "}", {0}, 16, "format_version is '2'"},
    {"{" META("\"format_version\":\"1\",\"class_count\":\"1\"") VALUES I32_LABELS "}",
     {0, 0, 0, 1},
     16,
     "labels[1] is 1; -1 to 0"},
    {"{" META("\"format_version\":\"1\",\"class_count\":\"-1\"") VALUES "}",
     {0},
     8,
     "class_count is '-1'"},
    {"{" META("\"format_version\":\"1\",\"class_count\":\"99999999999999999999999\"") VALUES "}",
     {0},
     8,
     "class_count is '9999"},
    {"{" META("\"format_version\":\"1\",\"class_count\":\"1048577\"") VALUES "}",
     {0},
     8,
     "class_count is '1048577'; it is 0..1048576"},
    {"{" META("\"format_version\":\"1\",\"class_count\":\"1/\"") VALUES "}",
     {0},
     8,
     "class_count is '1/'"},
    {"{" META("\"format_version\":\"1\",\"class_count\":\"1:\"") VALUES "}",
     {0},
     8,
     "class_count is '1:'"},
    {"{" META("\"format_version\":\"1\",\"class_count\":\"2\",\"classes\":\"[1]\"") VALUES "}",
     {0},
     8,
     "classes is not an array of 2"},
    {"{" META("\"format_version\":\"1\",\"class_count\":\"1\",\"classes\":\"[1]\"") VALUES "}",
     {0},
     8,
     "the name of class 0 is not text"},
    {"{" META("\"format_version\":\"1\",\"class_count\":\"1\",\"classes\":\"[\"") VALUES "}",
     {0},
     8,
     "entry 'classes' is not JSON"},
    {"{" META(
         "\"format_version\":\"1\",\"class_count\":\"1\",\"classes\":\"{\\\"a\\\":\\\"b\\\"}\"")
         VALUES "}",
     {0},
     8,
     "classes is not an array of 1"},
    {"{\"features\":{\"dtype\":\"F64\",\"shape\":[1,1],\"data_offsets\":[0,8]}}",
     {0},
     8,
     "'features' is F64; F32, F16 and BF16 are read"},
    {"{" VALUES "}", {0}, 4, "features"},
};

START_TEST(test_damaged_files_are_named)
{
    svit_context *context = context_open();
    svit_features *set = NULL;
    write_file(DAMAGED[_i].header, DAMAGED[_i].data, DAMAGED[_i].bytes, 4);
    FAILS(svit_features_load(&set, context, path, err), SVIT_E_FORMAT, DAMAGED[_i].message);
    ck_assert_ptr_null(set);
    svit_context_free(context);
}
END_TEST

START_TEST(test_a_file_that_is_absent_is_named)
{
    svit_context *context = context_open();
    svit_features *set = NULL;
    FAILS(svit_features_load(&set, context, "/nowhere/f", err), SVIT_E_IO, "/nowhere/f");
    FAILS(svit_features_load(&set, context, NULL, err), SVIT_E_ARGUMENT, "path is NULL");
    svit_context_free(context);
}
END_TEST

START_TEST(test_as_many_classes_as_are_accepted_are_read)
{
    svit_context *context = context_open();
    svit_features *set = NULL;
    const uint32_t data[4] = {0, 0, (1 << 20) - 1, (uint32_t)-1};
    write_file("{" META("\"format_version\":\"1\",\"class_count\":\"1048576\"") VALUES I32_LABELS
               "}",
               data, 16, 4);
    WORKS(svit_features_load(&set, context, path, err));
    ck_assert_uint_eq(svit_features_classes(set), 1 << 20);
    ck_assert_int_eq(svit_features_labels(set)[0], (1 << 20) - 1);
    svit_features_free(set);
    svit_context_free(context);
}
END_TEST

static Suite *feature_files_suite(void)
{
    Suite *suite = suite_create("feature files");
    TCase *tests = tcase_create("core");
    tcase_add_loop_test(tests, test_features_of_16_bits_are_read, 0, 2);
    tcase_add_test(tests, test_channels_have_a_limit);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, test_a_set_is_read_back);
    tcase_add_test(tests, test_files_without_metadata_are_read);
    tcase_add_loop_test(tests, test_damaged_files_are_named, 0,
                        (int)(sizeof DAMAGED / sizeof *DAMAGED));
    tcase_add_test(tests, test_as_many_classes_as_are_accepted_are_read);
    tcase_add_test(tests, test_a_file_that_is_absent_is_named);
    suite_add_tcase(suite, tests);
    return suite;
}

TEST_MAIN(feature_files_suite)
