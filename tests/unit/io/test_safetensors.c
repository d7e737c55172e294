/* Checks safetensors files: what is written reads back, and everything in a header is checked. */
#include "fit.h"

#include "base/numbers/byte_order.h"
#include "io/safetensors.h"

#include <math.h>

static sv_allocator allocator;
static fit_folder folder;
static char path[128];

static void setup(void)
{
    allocator = sv_allocator_default();
    folder = fit_folder_make();
    snprintf(path, sizeof path, "%s", fit_path(&folder, "model.safetensors"));
}

static void teardown(void)
{
    fit_folder_remove(&folder);
}

/* Writes a file of the header and `data_bytes` bytes that count up from 0. */
static void write_file(const char *header, size_t data_bytes)
{
    size_t length = strlen(header);
    unsigned char *file = calloc(1, 8 + length + data_bytes + 1);
    for (int i = 0; i < 8; i++)
        file[i] = (unsigned char)((uint64_t)length >> 8 * i);
    memcpy(file + 8, header, length);
    for (size_t i = 0; i < data_bytes; i++)
        file[8 + length + i] = (unsigned char)i;
    fit_write(path, file, 8 + length + data_bytes);
    free(file);
}

/* The file at `path` and the same bytes in memory are refused alike. */
static void check_refused(const char *part)
{
    size_t bytes;
    char *file_bytes = fit_read(path, &bytes), *memory = malloc(bytes ? bytes : 1);
    sv_safetensors *file = NULL;
    memcpy(memory, file_bytes, bytes);
    FAILS(sv_safetensors_open(&file, &allocator, path, err), SVIT_E_FORMAT, part);
    FAILS(sv_safetensors_open_memory(&file, &allocator, "model.safetensors", memory, bytes, err),
          SVIT_E_FORMAT, part);
    ck_assert_ptr_null(file);
    free(memory);
    free(file_bytes);
}

#define ONE(dtype, shape, offsets)                                                                 \
    "{\"t\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"
#define TWO(first, second)                                                                         \
    "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" first "},"                          \
    "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" second "}}"

static const struct {
    const char *header;
    size_t data_bytes;
    const char *part; /* part of the message */
} hostile[] = {
    {"", 0, "not JSON"},
    {"{", 0, "not JSON"},
    {"[]", 0, "not a JSON object"},
    {"{\"a\":1,\"a\":2}", 0, "not JSON"},
    {"{\"t\":1}", 0, "not an object"},
    {"{\"t\":{\"dtype\":\"F32\",\"shape\":[]}}", 0, "data_offsets"},
    {"{\"__metadata__\":[]}", 0, "__metadata__"},
    {"{\"__metadata__\":{\"k\":1}}", 0, "'k' is not text"},
    {ONE("F31", "[1]", "[0,4]"), 4, "F31"},
    {ONE("F32", "1", "[0,4]"), 4, "shape is not an array"},
    {ONE("F32", "[-1]", "[0,4]"), 4, "dimension 0"},
    {ONE("F32", "[1.5]", "[0,4]"), 4, "dimension 0"},
    {ONE("F32", "[4294967296,4294967296]", "[0,4]"), 4, "product"},
    {ONE("F32", "[4611686018427387905]", "[0,4]"), 4,
     BY_SIZE("product", "4611686018427387905 elements")},
    {ONE("F32", "[1]", "[0]"), 4, "data_offsets"},
    {ONE("F32", "[1]", "[0,4.0]"), 4, "data_offsets"},
    {"{\"t\":{\"dtype\":\"F32\",\"shape\":[1],\"offsets\":[0,4]}}", 4, "data_offsets"},
    {ONE("F32", "[1]", "\"04\""), 4, "data_offsets"},
    {ONE("F32", "[1]", "[null,4]"), 4, "data_offsets"},
    {ONE("F32", "[1]", "[0,18446744073709551615]"), 4, "ends at byte"},
    {"{\"t\":{\"type\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "'(no text)'"},
    {"{\"t\":{\"dtype\":\"F32\",\"size\":[1],\"data_offsets\":[0,4]}}", 4, "shape is not an array"},
    {"{}", 1, "1 bytes at the end"},
    {ONE("F32", "[1]", "[-4,0]"), 4, "whole numbers from 0"},
    {ONE("F32", "[1]", "[4,0]"), 4, "do not ascend"},
    {ONE("F32", "[2]", "[0,8]"), 4, "ends at byte 8"},
    {ONE("F32", "[1]", "[0,9223372036854775807]"), 4, "ends at byte"},
    {ONE("F32", "[1]", "[0,92233720368547758070]"), 4, "data_offsets"},
    {ONE("F32", "[2]", "[0,4]"), 4, "2 elements"},
    {ONE("F32", "[1]", "[0,4]"), 5, "1 bytes at the end"},
    {ONE("F32", "[1]", "[4,8]"), 8, "belong to no tensor"},
    {TWO("[0,4]", "[2,6]"), 6, "overlaps"},
    {TWO("[0,4]", "[5,9]"), 9, "belong to no tensor"},
    {TWO("[0,4]", "[0,4]"), 4, "overlaps"},
    {TWO("[0,4]", "[4,8]"), 7, "ends at byte 8"},
};

START_TEST(test_hostile_headers_are_refused_by_name)
{
    write_file(hostile[_i].header, hostile[_i].data_bytes);
    check_refused(hostile[_i].part);
}
END_TEST

START_TEST(test_lengths_that_lie_are_refused)
{
    static const struct {
        unsigned char bytes[10];
        size_t count;
        const char *part;
    } cases[] = {
        {{0}, 0, "no safetensors file"},
        {{2, 0, 0, 0, 0, 0, 0}, 7, "no safetensors file"},
        {{3, 0, 0, 0, 0, 0, 0, 0, '{', '}'}, 10, "cut short"},
        {{0, 0, 0, 0, 1, 0, 0, 0, '{', '}'}, 10, "at most"},
        {{255, 255, 255, 255, 255, 255, 255, 255, '{', '}'}, 10, "at most"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fit_write(path, cases[i].bytes, cases[i].count);
        check_refused(cases[i].part);
    }
}
END_TEST

static const struct {
    const char *start;
    size_t bytes;
    const char *part;
} kinds[] = {
    {"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16,
     "model.safetensors is a PNG image, not a safetensors file"},
    {"\xff\xd8\xff\xe0\0\x10JFIF", 10, "is a JPEG image"},
    {"PK\3\4\x14\0\0\0\0\0", 10, "is a zip archive"},
    {"\x89HDF\r\n\x1a\n\0\0", 10, "is an HDF5 file"},
    {"GGUF\3\0\0\0\0\0\0\0", 12, "is a GGUF file"},
    {"\x80\2}q\0X\4\0\0\0", 10, "is a Python pickle"},
    {"\x80\4\x95\x1c\0\0\0\0\0\0\0", 11, "is a Python pickle"},
    {"\x93NUMPY\1\0v\0", 10, "is a NumPy array"},
    {"\x1f\x8b\x08\x08\x11\x22\x33\x44\0\3", 10, "is a gzip archive"},
    {"version https://git-lfs.github.com/spec/v1\n", 43, "is a Git LFS pointer"},
    {"<!DOCTYPE html><html>", 21, "is an HTML page"},
    {" \n{\"dim\": 96}", 13, "is a JSON text"},
    {"{}", 2, "is a JSON text"},
    {"[1, 2, 3, 4]", 12, "is a JSON text"},
    {"epoch,loss\n1,2\n", 15, "is a text"},
    {" \t\r\n     \n", 10, "is a text"},
    {" \t\r\n[     ", 10, "is a JSON text"},
    {"\xff\xff\xff\xff\1\2\3\4\5\6", 10, "at most"},
};

START_TEST(test_files_of_other_kinds_are_named)
{
    fit_write(path, kinds[_i].start, kinds[_i].bytes);
    check_refused(kinds[_i].part);
}
END_TEST

START_TEST(test_a_file_without_tensors_finds_none)
{
    static const char *const headers[] = {"{}", "{\"__metadata__\":{\"k\":\"v\"}}"};
    for (size_t i = 0; i < 2; i++) {
        sv_safetensors *file = NULL;
        char text[SV_PREFIX_HINT];
        write_file(headers[i], 0);
        WORKS(sv_safetensors_open(&file, &allocator, path, err));
        ck_assert_uint_eq(sv_safetensors_count(file), 0);
        ck_assert_ptr_null(sv_safetensors_find(file, "t"));
        ck_assert_ptr_null(sv_safetensors_at(file, 0));
        ck_assert_str_eq(sv_safetensors_prefix_hint(text, file, "t"), "");
        sv_safetensors_close(file);
    }
}
END_TEST

/* The part up to a dot that all names begin with, if the wanted name does not. */
START_TEST(test_a_prefix_of_all_names_is_said)
{
    static const struct {
        const char *first, *last, *wanted, *hint;
    } cases[] = {{"net.a", "net.b", "a", "; the names of all its tensors begin with 'net.'"},
                 {"net.a", "net.b", "net.c", ""},
                 {"net.a.x", "net.a", "a", "; the names of all its tensors begin with 'net.'"},
                 {"net_a", "net_b", "a", ""},
                 {"a.x", "b.x", "x", ""},
                 {"m.l.a", "m.l.ab", "a", "; the names of all its tensors begin with 'm.l.'"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sv_safetensors *file = NULL;
        char header[512], text[SV_PREFIX_HINT];
        snprintf(header, sizeof header,
                 "{\"%s\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                 "\"%s\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[1,1]}}",
                 cases[i].first, cases[i].last);
        write_file(header, 1);
        WORKS(sv_safetensors_open(&file, &allocator, path, err));
        ck_assert_str_eq(sv_safetensors_prefix_hint(text, file, cases[i].wanted), cases[i].hint);
        sv_safetensors_close(file);
    }
}
END_TEST

/* Memory cannot be mapped, and has no bytes beyond its end. */
START_TEST(test_memory_is_read_within_its_bounds)
{
    static const struct {
        uint64_t offset;
        size_t bytes;
        int inside;
    } cases[] = {{0, 4, 1}, {4, 0, 1}, {3, 1, 1},          {0, 5, 0},
                 {5, 0, 0}, {4, 1, 0}, {UINT64_MAX, 2, 0}, {1, SIZE_MAX, 0}};
    const sv_byte_source source = sv_byte_source_memory("abcd", 4);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[8] = "";
        if (cases[i].inside) {
            WORKS(sv_byte_source_read(&source, cases[i].offset, out, cases[i].bytes, err));
            ck_assert_mem_eq(out, &"abcd"[cases[i].offset], cases[i].bytes);
        } else {
            FAILS(sv_byte_source_read(&source, cases[i].offset, out, cases[i].bytes, err),
                  SVIT_E_FORMAT, "do not lie in memory of 4 bytes");
        }
    }
    static const char bytes[] = "\2\0\0\0\0\0\0\0{}";
    sv_safetensors *file = NULL;
    sv_mapping mapping;
    WORKS(sv_safetensors_open_memory(&file, &allocator, "a name", bytes, 10, err));
    FAILS(sv_safetensors_map(file, &mapping, err), SVIT_E_UNSUPPORTED, "a name cannot be mapped");
    sv_safetensors_close(file);
}
END_TEST

START_TEST(test_every_cut_of_a_file_is_refused)
{
    write_file(TWO("[0,4]", "[4,8]"), 8);
    size_t bytes;
    char *whole = fit_read(path, &bytes);
    for (size_t length = 0; length < bytes; length++) {
        fit_write(path, whole, length);
        check_refused("model");
    }
    free(whole);
}
END_TEST

START_TEST(test_a_missing_file_is_an_io_error_with_its_path)
{
    sv_safetensors *file = NULL;
    FAILS(sv_safetensors_open(&file, &allocator, "/nowhere/at/all", err), SVIT_E_IO,
          "/nowhere/at/all");
}
END_TEST

START_TEST(test_half_and_bfloat16_are_read_as_float32)
{
    static const uint16_t halves[] = {0x0000, 0x8000, 0x3c00, 0xc000, 0x7bff,
                                      0x0001, 0x83ff, 0x7c00, 0x3555};
    static const float of_half[] = {0.0f,     -0.0f,         1.0f,     -2.0f,      65504.0f,
                                    0x1p-24f, -0x1.ff8p-15f, INFINITY, 0x1.554p-2f};
    static const uint16_t brains[] = {0x3f80, 0xc049, 0x0001};
    static const float of_brain[] = {1.0f, -3.140625f, 0x1p-133f};
    const char *header = "{\"h\":{\"dtype\":\"F16\",\"shape\":[9],\"data_offsets\":[0,18]},"
                         "\"b\":{\"dtype\":\"BF16\",\"shape\":[3],\"data_offsets\":[18,24]}}";
    size_t length = strlen(header);
    unsigned char bytes[256] = {(unsigned char)length};
    memcpy(bytes + 8, header, length);
    memcpy(bytes + 8 + length, halves, 18);
    memcpy(bytes + 8 + length + 18, brains, 6);
    sv_little_endian(bytes + 8 + length, 2, 12);
    fit_write(path, bytes, 8 + length + 24);
    sv_safetensors *file = NULL;
    WORKS(sv_safetensors_open(&file, &allocator, path, err));
    float h[9], b[3];
    WORKS(sv_safetensors_read_f32(file, sv_safetensors_find(file, "h"), h, err));
    WORKS(sv_safetensors_read_f32(file, sv_safetensors_find(file, "b"), b, err));
    ck_assert_mem_eq(h, of_half, sizeof h);
    ck_assert_mem_eq(b, of_brain, sizeof b);
    sv_safetensors_close(file);
}
END_TEST

static void fill(float *out, const sv_safetensors_tensor *tensor, void *user)
{
    (void)user;
    memcpy(out, tensor->source, tensor->desc->elements * sizeof *out);
}

START_TEST(test_a_written_file_reads_back_to_the_bit_and_is_aligned)
{
    static const float first[] = {1, -2, 3.5f, 0x1p-149f, 1e38f, 0};
    static const sv_tensor_desc matrix = {.rank = 2, .shape = {2, 3}, .elements = 6};
    static const sv_tensor_desc empty = {.rank = 1, .shape = {0}, .elements = 0};
    static const sv_tensor_desc scalar = {.rank = 0, .elements = 1};
    sv_safetensors_tensor tensors[] = {
        {"z.first", &matrix, first}, {"none", &empty, first}, {"a", &scalar, first}};
    const char *metadata = "{\"format\":\"pt\",\"name\":\"\xc3\xa9\"}";
    WORKS(sv_safetensors_write(&allocator, path, metadata, tensors, 3, fill, NULL, err));

    size_t bytes;
    char *raw = fit_read(path, &bytes);
    uint64_t header = (unsigned char)raw[0] | (uint64_t)(unsigned char)raw[1] << 8;
    ck_assert_uint_eq(header % 8, 0);
    ck_assert_uint_eq(bytes, 8 + header + 28);
    free(raw);

    sv_safetensors *file = NULL;
    WORKS(sv_safetensors_open(&file, &allocator, path, err));
    ck_assert_uint_eq(sv_safetensors_count(file), 3);
    ck_assert_ptr_null(sv_safetensors_at(file, 3));
    ck_assert_ptr_null(sv_safetensors_find(file, "b"));
    ck_assert_str_eq(sv_safetensors_metadata(file, "name"), "\xc3\xa9");
    ck_assert_ptr_null(sv_safetensors_metadata(file, "names"));
    const sv_safetensors_entry *entry = sv_safetensors_find(file, "z.first");
    ck_assert_uint_eq(entry->desc.rank, 2);
    ck_assert_int_eq(entry->desc.shape[1], 3);
    float back[6];
    WORKS(sv_safetensors_read_f32(file, entry, back, err));
    ck_assert_mem_eq(back, first, sizeof back);
    ck_assert_uint_eq(sv_safetensors_find(file, "none")->desc.elements, 0);
    ck_assert_uint_eq(sv_safetensors_find(file, "a")->desc.rank, 0);
    sv_safetensors_close(file);
}
END_TEST

/* A file that could not be loaded is not written, and the old file stays. */
START_TEST(test_a_header_that_does_not_read_back_replaces_nothing)
{
    static const float values[] = {1};
    static const sv_tensor_desc one = {.rank = 1, .shape = {1}, .elements = 1};
    static const sv_tensor_desc two = {.rank = 1, .shape = {2}, .elements = 1}; /* a wrong count */
    static const sv_safetensors_tensor good = {"a", &one, values};
    static const struct {
        sv_safetensors_tensor tensor; /* besides "a" */
        const char *metadata;
        svit_status status;
        const char *part;
    } cases[] = {
        {{"a", &one, values}, "{}", SVIT_E_FORMAT, "a key twice: 'a'"},
        {{"\xff", &one, values}, "{}", SVIT_E_ARGUMENT, "not UTF-8"},
        {{"b", &two, values}, "{}", SVIT_E_FORMAT, "tensor 'b'"},
        {{"b", &one, values}, "{\"k\":1}", SVIT_E_FORMAT, "'k' is not text"},
        {{"b", &one, values}, "{", SVIT_E_FORMAT, "not JSON"},
        {{"b", &one, values}, "{},\"c\":1", SVIT_E_FORMAT, "does not read back"},
    };
    fit_write(path, "old", 3);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sv_safetensors_tensor tensors[] = {good, cases[i].tensor};
        FAILS(
            sv_safetensors_write(&allocator, path, cases[i].metadata, tensors, 2, fill, NULL, err),
            cases[i].status, cases[i].part);
        size_t bytes;
        char *file = fit_read(path, &bytes);
        ck_assert_uint_eq(bytes, 3);
        free(file);
    }
}
END_TEST

/* What is written can be opened: the limit of a header counts the spaces behind it. */
START_TEST(test_a_header_near_the_limit_is_written_if_it_can_be_read)
{
    enum { LIMIT = 100000000 };
    static const float values[] = {1};
    static const sv_tensor_desc one = {.rank = 1, .shape = {1}, .elements = 1};
    static const sv_safetensors_tensor tensor = {"a", &one, values};
    static const struct {
        int over; /* characters of the header's text beyond the limit, without spaces */
        svit_status status;
    } cases[] = {{-72, SVIT_OK},        {-9, SVIT_OK},        {-8, SVIT_OK},
                 {-7, SVIT_E_ARGUMENT}, {0, SVIT_E_ARGUMENT}, {1, SVIT_E_ARGUMENT}};
    const size_t frame =
        strlen("{\"__metadata__\":{\"k\":\"\"},\"a\":{\"dtype\":\"F32\",\"shape\":[1],"
               "\"data_offsets\":[0,4]}}");
    char *metadata = malloc(LIMIT + 64);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t fill_count = (size_t)(LIMIT + cases[i].over) - frame;
        strcpy(metadata, "{\"k\":\"");
        memset(metadata + 6, 'x', fill_count);
        strcpy(metadata + 6 + fill_count, "\"}");
        fit_write(path, "old", 3);
        svit_status status =
            sv_safetensors_write(&allocator, path, metadata, &tensor, 1, fill, NULL, NULL);
        ck_assert_msg(status == cases[i].status, "%d over: %d", cases[i].over, status);
        sv_safetensors *file = NULL;
        status = sv_safetensors_open(&file, &allocator, path, NULL);
        ck_assert_int_eq(status == SVIT_OK, cases[i].status == SVIT_OK);
        sv_safetensors_close(file);
        size_t bytes;
        free(fit_read(path, &bytes));
        ck_assert_int_eq(bytes == 3, cases[i].status != SVIT_OK);
    }
    free(metadata);
}
END_TEST

START_TEST(test_integers_are_not_read_as_floats)
{
    write_file(ONE("I32", "[2]", "[0,8]"), 8);
    sv_safetensors *file = NULL;
    WORKS(sv_safetensors_open(&file, &allocator, path, err));
    float out[2];
    FAILS(sv_safetensors_read_f32(file, sv_safetensors_at(file, 0), out, err), SVIT_E_FORMAT,
          "'t'");
    int32_t integers[2];
    WORKS(sv_safetensors_read_bytes(file, sv_safetensors_at(file, 0), integers, err));
    sv_little_endian(integers, sizeof *integers, 2);
    ck_assert_int_eq(integers[1], 0x07060504);
    sv_safetensors_close(file);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("safetensors");
    TCase *c = tcase_create("safetensors");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_hostile_headers_are_refused_by_name, 0,
                        sizeof hostile / sizeof *hostile);
    tcase_add_test(c, test_lengths_that_lie_are_refused);
    tcase_add_loop_test(c, test_files_of_other_kinds_are_named, 0, sizeof kinds / sizeof *kinds);
    tcase_add_test(c, test_a_file_without_tensors_finds_none);
    tcase_add_test(c, test_a_prefix_of_all_names_is_said);
    tcase_add_test(c, test_memory_is_read_within_its_bounds);
    tcase_add_test(c, test_every_cut_of_a_file_is_refused);
    tcase_add_test(c, test_a_missing_file_is_an_io_error_with_its_path);
    tcase_add_test(c, test_half_and_bfloat16_are_read_as_float32);
    tcase_add_test(c, test_a_written_file_reads_back_to_the_bit_and_is_aligned);
    tcase_add_test(c, test_a_header_that_does_not_read_back_replaces_nothing);
    tcase_add_test(c, test_a_header_near_the_limit_is_written_if_it_can_be_read);
    tcase_add_test(c, test_integers_are_not_read_as_floats);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
