/* Checks files to be mapped: one that cannot be used in place is read instead, and a wrong one is
 * refused. */
#include "test_model_map_support.h"

#include <errno.h>
#include <sys/mman.h>

/* The linker redirects the library's calls of mmap here, under both names that headers may give it.
 */
typedef void *mapper(void *at, size_t bytes, int access, int kind, int descriptor, off_t offset);
mapper __real_mmap, __real_mmap64, __wrap_mmap, __wrap_mmap64;
static int refuse_call; /* number of the call that fails, counted from 1 */

static int is_refused(void)
{
    errno = ENOMEM;
    return refuse_call > 0 && --refuse_call == 0;
}

void *__wrap_mmap(void *at, size_t bytes, int access, int kind, int descriptor, off_t offset)
{
    return is_refused() ? MAP_FAILED : __real_mmap(at, bytes, access, kind, descriptor, offset);
}

void *__wrap_mmap64(void *at, size_t bytes, int access, int kind, int descriptor, off_t offset)
{
    return is_refused() ? MAP_FAILED : __real_mmap64(at, bytes, access, kind, descriptor, offset);
}

static size_t first_data(const char *file)
{
    return 8 + (size_t)sv_load_little(file, 8);
}

/* The saved file with `spaces` additional spaces in its header. */
static void widen_header(size_t spaces)
{
    size_t bytes;
    char *file = fit_read(path, &bytes), *wide = malloc(bytes + spaces);
    size_t data = first_data(file);
    sv_store_little(wide, data - 8 + spaces, 8);
    memcpy(wide + 8, file + 8, data - 8);
    memset(wide + data, ' ', spaces);
    memcpy(wide + data + spaces, file + data, bytes - data);
    fit_write(path, wide, bytes + spaces);
    free(file);
    free(wide);
}

START_TEST(test_a_file_may_end_with_its_page)
{
    size_t bytes, page = (size_t)sysconf(_SC_PAGESIZE);
    free(fit_read(path, &bytes));
    widen_header(page - bytes % page);
    svit_model *mapped = load(1);
    ck_assert(is_mapped_here(mapped) && fit_same(mapped, origin));
    assert_equal(ask_model(mapped), ask_model(origin));
    svit_model_free(mapped);
}
END_TEST

START_TEST(test_numbers_that_do_not_lie_aligned_are_read)
{
    widen_header((size_t)_i);
    svit_model *model = load(1);
    ck_assert_int_eq(is_mapped(model), SV_IS_LITTLE_ENDIAN && _i % 4 == 0);
    ck_assert(fit_same(model, origin));
    assert_equal(ask_model(model), ask_model(origin));
    svit_model_free(model);
}
END_TEST

/* Parameters whose size is no multiple of a vector are followed by the next one without padding. */
START_TEST(test_parameters_of_any_size_are_mapped)
{
    svit_model *odd = create(21, 1);
    WORKS(svit_model_save(odd, path, err));
    svit_model *model = load(1);
    ck_assert(is_mapped_here(model) && fit_same(model, odd));
    assert_equal(ask_model(model), ask_model(odd));
    svit_model_free(model);
    svit_model_free(odd);
}
END_TEST

/* Both names have the same length and occur once in the header. */
static void swap_in(char *text, const char *one, const char *other)
{
    char *a = strstr(text, one), *b = strstr(text, other);
    ck_assert(a && b && strlen(one) == strlen(other));
    memcpy(a, other, strlen(one));
    memcpy(b, one, strlen(one));
}

START_TEST(test_another_order_is_read)
{
    svit_model *two = create(16, 2);
    WORKS(svit_model_save(two, path, err));
    size_t bytes;
    char *file = fit_read(path, &bytes);
    swap_in(file + 8, "blocks.0.mlp.fc2.weight", "blocks.1.mlp.fc2.weight");
    fit_write(path, file, bytes);
    svit_model *model = load(1), *loaded = load(0);
    ck_assert(!is_mapped(model) && fit_same(model, loaded) && !fit_same(model, two));
    free(file);
    svit_model_free(model);
    svit_model_free(loaded);
    svit_model_free(two);
}
END_TEST

/* Makes the last tensor, head.bias, five float16 values of 1. */
START_TEST(test_half_precision_is_read)
{
    size_t bytes, data;
    char *file = fit_read(path, &bytes), offsets[64], shorter[64];
    data = bytes - first_data(file);
    snprintf(offsets, sizeof offsets, "F32\",\"shape\":[5],\"data_offsets\":[%zu,%zu]", data - 20,
             data);
    snprintf(shorter, sizeof shorter, "F16\",\"shape\":[5],\"data_offsets\":[%zu,%zu]", data - 20,
             data - 10);
    char *at = strstr(file + 8, offsets);
    ck_assert(at && strlen(offsets) == strlen(shorter));
    memcpy(at, shorter, strlen(shorter));
    for (size_t i = 0; i < CLASSES; i++)
        memcpy(file + bytes - 20 + 2 * i, "\x00\x3c", 2);
    fit_write(path, file, bytes - 10);
    svit_model *model = load(1);
    float bias[CLASSES];
    WORKS(svit_model_get_parameter(model, "head.bias", bias, CLASSES, err));
    for (size_t i = 0; i < CLASSES; i++)
        ck_assert_float_eq(bias[i], 1);
    ck_assert(!is_mapped(model));
    free(file);
    svit_model_free(model);
}
END_TEST

START_TEST(test_where_nothing_can_be_mapped_the_file_is_read)
{
    if (!SV_IS_LITTLE_ENDIAN) {
        skip_check("a big-endian machine maps no weights");
        return;
    }
    refuse_call = _i;
    svit_model *model = load(1);
    ck_assert_int_eq(refuse_call, 0);
    ck_assert(!is_mapped(model) && fit_same(model, origin));
    assert_equal(ask_model(model), ask_model(origin));
    svit_model_free(model);
}
END_TEST

/* A bad file gives the status and the message of svit_model_load, and a good one the same model. */
static svit_status compare_with_load(void)
{
    svit_model *mapped = NULL, *loaded = NULL;
    svit_error map_error = {.struct_size = sizeof map_error};
    svit_error load_error = {.struct_size = sizeof load_error};
    svit_status status = svit_model_map(&mapped, context, path, &map_error);
    ck_assert_int_eq(status, svit_model_load(&loaded, context, path, &load_error));
    if (status == SVIT_OK) {
        ck_assert(fit_same(mapped, loaded));
    } else {
        ck_assert_str_eq(map_error.message, load_error.message);
        ck_assert(!mapped && !loaded);
    }
    svit_model_free(mapped);
    svit_model_free(loaded);
    return status;
}

START_TEST(test_every_cut_of_a_file_is_refused)
{
    size_t bytes;
    char *file = fit_read(path, &bytes);
    for (size_t length = 0; length < bytes; length += length < bytes - 300 ? 251 : 1) {
        fit_write(path, file, length);
        ck_assert_int_eq(compare_with_load(), SVIT_E_FORMAT);
    }
    free(file);
}
END_TEST

static const struct {
    uint32_t bits;
    double place; /* 0: the first value, 1: the last */
} bad_numbers[] = {
    {0x7fc00000, 0}, {0x7f800000, 0.3}, {0xff800000, 0.7}, {0xffffffff, 1}, {0x7f800001, 0.99}};

START_TEST(test_numbers_that_are_not_finite_are_refused)
{
    size_t bytes;
    char *file = fit_read(path, &bytes);
    size_t data = first_data(file), last = (bytes - data) / 4 - 1;
    size_t at = (size_t)((double)last * bad_numbers[_i].place);
    sv_store_little(file + data + 4 * at, bad_numbers[_i].bits, 4);
    fit_write(path, file, bytes);
    ck_assert_int_eq(compare_with_load(), SVIT_E_FORMAT);
    FAILS(svit_model_map(&(svit_model *){NULL}, context, path, err), SVIT_E_FORMAT, "not finite");
    free(file);
}
END_TEST

/* Text that replaces the header's first `{`, and the status that the file then gives. */
static const struct {
    const char *text;
    svit_status status;
} insertions[] = {
    {"{\"empty\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},", SVIT_E_FORMAT},
    {"{\"ema.empty\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},", SVIT_OK},
    {"{\"ema.a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]},", SVIT_E_FORMAT},
    {"{\"ema.a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[99999999,100000003]},",
     SVIT_E_FORMAT},
    {"{\"head.bias\":{\"dtype\":\"F32\",\"shape\":[5],\"data_offsets\":[0,20]},", SVIT_E_FORMAT},
    {"[{", SVIT_E_FORMAT},
};

START_TEST(test_hostile_headers_are_refused_as_by_load)
{
    size_t bytes, extra = strlen(insertions[_i].text) - 1;
    char *file = fit_read(path, &bytes), *hostile = malloc(bytes + extra);
    sv_store_little(hostile, first_data(file) - 8 + extra, 8);
    memcpy(hostile + 8, insertions[_i].text, extra + 1);
    memcpy(hostile + 8 + extra + 1, file + 9, bytes - 9);
    fit_write(path, hostile, bytes + extra);
    ck_assert_int_eq(compare_with_load(), insertions[_i].status);
    free(file);
    free(hostile);
}
END_TEST

START_TEST(test_any_changed_byte_gives_what_load_gives)
{
    size_t bytes;
    char *file = fit_read(path, &bytes);
    size_t header = first_data(file);
    uint32_t state = 12345;
    for (int round = 0; round < 600; round++) {
        state = state * 1664525u + 1013904223u;
        size_t at = (state >> 8) % (round % 4 ? header : bytes);
        char kept = file[at];
        file[at] = round % 2 ? (char)('0' + round % 10) : (char)(kept ^ 1 << round % 8);
        fit_write(path, file, bytes);
        compare_with_load();
        file[at] = kept;
    }
    free(file);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("files to be mapped");
    TCase *cases = tcase_create("files to be mapped");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, test_a_file_may_end_with_its_page);
    tcase_add_loop_test(cases, test_numbers_that_do_not_lie_aligned_are_read, 1, 9);
    tcase_add_test(cases, test_parameters_of_any_size_are_mapped);
    tcase_add_test(cases, test_another_order_is_read);
    tcase_add_test(cases, test_half_precision_is_read);
    tcase_add_loop_test(cases, test_where_nothing_can_be_mapped_the_file_is_read, 1, 2);
    tcase_add_test(cases, test_every_cut_of_a_file_is_refused);
    tcase_add_loop_test(cases, test_numbers_that_are_not_finite_are_refused, 0,
                        sizeof bad_numbers / sizeof *bad_numbers);
    tcase_add_loop_test(cases, test_hostile_headers_are_refused_as_by_load, 0,
                        sizeof insertions / sizeof *insertions);
    tcase_add_test(cases, test_any_changed_byte_gives_what_load_gives);
    suite_add_tcase(all, cases);
    return all;
}

TEST_MAIN(suite)
