/* The holes that public advisories name in other loaders of models and images, each as the bytes
 * that reach it. Every file is refused by a message that names the thing. The bytes are at the end
 * of an allocation of their size, so that the address sanitizer sees a read behind them. */
#include "fit.h"

#include "config/json.h"
#include "data/decoding/exif.h"
#include "io/safetensors.h"

#include <shiftvit/image.h>

/* A copy of data[bytes] in an allocation of that size. */
static uint8_t *copy_of(const void *data, size_t bytes)
{
    uint8_t *copy = malloc(bytes ? bytes : 1);
    ck_assert_ptr_nonnull(copy);
    if (bytes)
        memcpy(copy, data, bytes);
    return copy;
}

/* The bytes of a file are refused with `part` in the message. */
static void check_file_refused(const void *data, size_t bytes, const char *part)
{
    const sv_allocator allocator = sv_allocator_default();
    sv_safetensors *file = NULL;
    uint8_t *copy = copy_of(data, bytes);
    FAILS(sv_safetensors_open_memory(&file, &allocator, "hole", copy, bytes, err), SVIT_E_FORMAT,
          part);
    ck_assert_ptr_null(file);
    free(copy);
}

/* Bytes of a safetensors file: `stated` as the length of the header, the header, zeros. */
static uint8_t *make_file(size_t *bytes, uint64_t stated, const char *header, size_t header_bytes,
                          size_t data_bytes)
{
    *bytes = 8 + header_bytes + data_bytes;
    uint8_t *file = calloc(1, *bytes);
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < 8; i++)
        file[i] = (uint8_t)(stated >> 8 * i);
    memcpy(file + 8, header, header_bytes);
    return file;
}

#define T(name, dtype, shape, offsets)                                                             \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static const struct {
    const char *header;
    size_t data_bytes;
    const char *part;
} headers[] = {
    /* The product of a shape wraps to 0 or to the few bytes that the file has. GGUF readers trusted
     * it (CVE-2024-21802), and later counted elements with a stride that wrapped: 2^42 + 1 rows. */
    {"{" T("wrap", "U8", "[4294967296,4294967296]", "[0,0]") "}", 0, "'wrap': the product"},
    {"{" T("wrap", "F32", "[4611686018427387905]", "[0,4]") "}", 4,
     BY_SIZE("'wrap': the product", "'wrap' has 4611686018427387905 elements of 32 bits")},
    {"{" T("wrap", "F64", "[4398046511105,4194304]", "[0,8]") "}", 8, "'wrap': the product"},
    {"{" T("wrap", "U8", "[3,6148914691236517206]", "[0,2]") "}", 2, "'wrap': the product"},
    {"{" T("wrap", "U8", "[9223372036854775807,3,0]", "[0,0]") "}", 0, "'wrap': the product"},
    /* Offsets that end before they begin, behind the file, in another tensor, or elsewhere than the
     * shape says. */
    {"{" T("back", "U8", "[4]", "[4,0]") "}", 4, "'back': data_offsets [4, 0]"},
    {"{" T("back", "U8", "[4]", "[-4,0]") "}", 4,
     "'back': data_offsets is not an array of two whole numbers from 0"},
    {"{" T("far", "U8", "[4]", "[4,8]") "}", 4, "'far' ends at byte 8 of the data, which has 4"},
    {"{" T("far", "U8", "[4]", "[9223372036854775803,9223372036854775807]") "}", 4,
     "'far' ends at byte 9223372036854775807"},
    {"{" T("far", "U8", "[4]", "[18446744073709551612,18446744073709551616]") "}", 4,
     "'far': data_offsets is not an array of two whole numbers from 0"},
    {"{" T("a", "U8", "[4]", "[0,4]") "," T("b", "U8", "[4]", "[2,6]") "}", 6,
     "'b' overlaps tensor 'a'"},
    {"{" T("short", "F32", "[2]", "[0,4]") "}", 4, "'short' has 2 elements of 32 bits, but 4"},
    {"{" T("long", "F32", "[1]", "[0,8]") "}", 8, "'long' has 1 elements of 32 bits, but 8"},
    /* One name twice, so that entries are counted and stored differently. */
    {"{" T("twin", "U8", "[1]", "[0,1]") "," T("twin", "U8", "[1]", "[1,2]") "}", 2,
     "a key twice: 'twin'"},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "a key twice: '__metadata__'"},
    /* No dimension, a dimension of 0 with data, types that are none. */
    {"{" T("none", "F32", "[]", "[0,0]") "}", 0, "'none' has 1 elements of 32 bits, but 0"},
    {"{" T("zero", "F32", "[0]", "[0,4]") "}", 4, "'zero' has 0 elements of 32 bits, but 4"},
    {"{" T("type", "Q4_0", "[1]", "[0,1]") "}", 1, "'type' has dtype 'Q4_0', which is unknown"},
    {"{" T("type", "", "[1]", "[0,1]") "}", 1, "'type' has dtype '', which is unknown"},
    {"{\"type\":{\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,1]}}", 1, "'type' has dtype"},
};

START_TEST(test_a_header_that_lies_about_a_tensor)
{
    const size_t length = strlen(headers[_i].header);
    size_t bytes;
    uint8_t *file = make_file(&bytes, length, headers[_i].header, length, headers[_i].data_bytes);
    check_file_refused(file, bytes, headers[_i].part);
    free(file);
}
END_TEST

/* A length of the header that wraps when the 8 bytes in front are added, or exceeds the file. */
START_TEST(test_a_header_length_that_wraps)
{
    static const struct {
        uint64_t stated;
        const char *part;
    } cases[] = {
        {UINT64_MAX, "header of 18446744073709551615 bytes; a safetensors header has at most"},
        {UINT64_MAX - 7, "header of 18446744073709551608 bytes"},
        {UINT64_MAX - 5, "header of 18446744073709551610 bytes"},
        {(uint64_t)1 << 63, "header of 9223372036854775808 bytes"},
        {3, "header of 3 bytes in a file of 10: cut short"},
        {100000000, "header of 100000000 bytes in a file of 10: cut short"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t bytes;
        uint8_t *file = make_file(&bytes, cases[i].stated, "{}", 2, 0);
        check_file_refused(file, bytes, cases[i].part);
        free(file);
    }
}
END_TEST

/* Arrays and objects within each other until the stack of a recursive reader ends. */
START_TEST(test_nesting_without_an_end)
{
    enum { TIMES = 2000000 };
    static const char *const parts[] = {"[", "{\"a\":", "[{\"a\":"};
    const sv_allocator allocator = sv_allocator_default();
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const size_t length = strlen(parts[i]), bytes = length * TIMES;
        char *text = malloc(bytes);
        sv_json *json = NULL;
        ck_assert_ptr_nonnull(text);
        for (size_t k = 0; k < TIMES; k++)
            memcpy(text + k * length, parts[i], length);
        FAILS(sv_json_parse(&json, &allocator, text, bytes, "deep", err), SVIT_E_FORMAT,
              "deep is not JSON: too many arrays and objects within each other");
        size_t file_bytes;
        uint8_t *file = make_file(&file_bytes, bytes, text, bytes, 0);
        check_file_refused(file, file_bytes, "hole is not JSON: too many arrays and objects");
        free(file);
        free(text);
    }
}
END_TEST

/* A name as long as the text, whose escapes end where the text does, and as many values as fit in
 * its bytes. Other formats state such lengths and counts, whose product with a size wrapped in
 * readers of GGUF (CVE-2024-21836, CVE-2024-23605, CVE-2025-53630); here they are counted. */
START_TEST(test_names_and_counts_that_fill_the_heap)
{
    enum { BYTES = 1 << 20 };
    static const struct {
        const char *begin, *fill;
    } cases[] = {
        {"[\"", "\\u0041"},        {"[\"", "\\"}, {"[\"", "\\u004"}, {"[\"", "\xf0\x9f\x98\x80"},
        {"[\"", "\\ud83d\\ude00"}, {"[1", ",1"},  {"[[]", ",[]"},    {"{\"\":1", ",\"\":1"},
        {"{\"", "a\":1,\""},       {"-", "1"},    {"1.", "1"},
    };
    const sv_allocator allocator = sv_allocator_default();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t bytes = BYTES; bytes < BYTES + 7; bytes++) {
            const size_t begin = strlen(cases[i].begin), fill = strlen(cases[i].fill);
            char *text = malloc(bytes);
            sv_json *json = NULL;
            ck_assert_ptr_nonnull(text);
            memcpy(text, cases[i].begin, begin);
            for (size_t at = begin; at < bytes; at++)
                text[at] = cases[i].fill[(at - begin) % fill];
            FAILS(sv_json_parse(&json, &allocator, text, bytes, "long", err), SVIT_E_FORMAT,
                  "long is not JSON: ");
            free(text);
        }
}
END_TEST

static void put(uint8_t *at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[bytes - 1 - i] = (uint8_t)(value >> 8 * i);
}

/* Directories of EXIF data that lead behind its end or back to themselves (CVE-2018-20030,
 * CVE-2023-0645), and values whose size wraps in 32 bits. They count as no orientation. */
START_TEST(test_exif_offsets_that_lead_astray)
{
    enum { BYTES = 8 + 2 + 12 + 4 };
    static const struct {
        uint32_t directory, entries, type, count, value;
        unsigned orientation;
    } cases[] = {
        {8, 1, 3, 1, 6u << 16, 6},                          /* a right one */
        {0, 1, 3, 1, 6u << 16, SV_NO_ORIENTATION},          /* the header as a directory */
        {BYTES, 1, 3, 1, 6u << 16, SV_NO_ORIENTATION},      /* at the end */
        {BYTES - 1, 1, 3, 1, 6u << 16, SV_NO_ORIENTATION},  /* one byte before it */
        {BYTES - 3, 1, 3, 1, 6u << 16, SV_NO_ORIENTATION},  /* cut in an entry */
        {0xffffffff, 1, 3, 1, 6u << 16, SV_NO_ORIENTATION}, /* wraps with its count */
        {0xfffffffe, 1, 3, 1, 6u << 16, SV_NO_ORIENTATION}, /* wraps with its entry */
        {8, 0xffff, 0, 1, 0, SV_NO_ORIENTATION},            /* more entries than bytes */
        {8, 1, 3, 4, 0xfffffffc, SV_NO_ORIENTATION},        /* the end of the value wraps */
        {8, 1, 3, 4, BYTES - 7, SV_NO_ORIENTATION},         /* the value is cut */
        {8, 1, 5, 0x20000001, 8, SV_NO_ORIENTATION},        /* 8 bytes in 32 bits */
        {8, 1, 5, 0xffffffff, 8, SV_NO_ORIENTATION},        /* most values */
        {8, 1, 0xffff, 1, 6u << 16, SV_NO_ORIENTATION},     /* a type that is none */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t tiff[BYTES];
        memset(tiff, 0, sizeof tiff);
        memcpy(tiff, "MM\0*", 4);
        put(tiff + 4, cases[i].directory, 4);
        put(tiff + 8, cases[i].entries, 2);
        put(tiff + 10, 0x0112, 2);
        put(tiff + 12, cases[i].type, 2);
        put(tiff + 14, cases[i].count, 4);
        put(tiff + 18, cases[i].value, 4);
        put(tiff + 22, 8, 4); /* the next directory is this one */
        uint8_t *copy = copy_of(tiff, sizeof tiff);
        ck_assert_msg(sv_exif_orientation((sv_span){copy, BYTES}) == cases[i].orientation,
                      "case %zu", i);
        free(copy);
    }
}
END_TEST

static uint32_t crc(const uint8_t *data, size_t bytes)
{
    uint32_t value = 0xffffffffu;
    for (size_t i = 0; i < bytes; i++) {
        value ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            value = value >> 1 ^ (value & 1 ? 0xedb88320u : 0);
    }
    return ~value;
}

/* A PNG that states its size and has no pixels. Returns its bytes. */
static size_t make_png(uint8_t out[64], uint32_t width, uint32_t height)
{
    memcpy(out, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
    put(out + 16, width, 4);
    put(out + 20, height, 4);
    memcpy(out + 24, "\x08\x06\0\0\0", 5);
    put(out + 29, crc(out + 12, 17), 4);
    memcpy(out + 33, "\0\0\0\0IDAT", 8);
    put(out + 41, crc(out + 37, 4), 4);
    return 45;
}

/* Sides whose product wraps in 32 bits, or with its channels, or needs more memory than there
 * is. */
START_TEST(test_image_sizes_whose_product_wraps)
{
    static const struct {
        uint32_t width, height;
        const char *part;
    } cases[] = {
        {65536, 65536, "the image is 65536 x 65536"},
        {65537, 65536, "the image is 65537 x 65536"},
        {16384, 16384, "the image is 16384 x 16384"},
        {16385, 1, "the image is 16385 x 1"},
        {1, 999999, "the image is 1 x 999999"},
        {0x40000001, 4, "hole"},
        {0, 1, "hole"},
        {1, 0, "hole"},
        {0x80000000, 2, "hole"},
        {0xffffffff, 0xffffffff, "hole"},
    };
    svit_context *context = NULL;
    WORKS(svit_context_create(&context, NULL, err));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t png[64];
        const size_t bytes = make_png(png, cases[i].width, cases[i].height);
        uint8_t *copy = copy_of(png, bytes);
        svit_image *image = NULL;
        FAILS(svit_image_decode(&image, context, copy, bytes, "hole", 3, err), SVIT_E_FORMAT,
              cases[i].part);
        ck_assert_ptr_null(image);
        free(copy);
    }
    svit_context_free(context);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("known_holes");
    TCase *tests = tcase_create("holes");
    tcase_add_loop_test(tests, test_a_header_that_lies_about_a_tensor, 0,
                        sizeof headers / sizeof *headers);
    tcase_add_test(tests, test_a_header_length_that_wraps);
    tcase_add_test(tests, test_nesting_without_an_end);
    tcase_add_test(tests, test_names_and_counts_that_fill_the_heap);
    tcase_add_test(tests, test_exif_offsets_that_lead_astray);
    tcase_add_test(tests, test_image_sizes_whose_product_wraps);
    suite_add_tcase(suite, tests);
    return suite;
}

TEST_MAIN(suite)
