/* Compares the reader of safetensors headers with the format's reference implementation, whose
 * verdicts make_safetensors_headers.py wrote to safetensors_headers.txt. */
#include "fit.h"

#include "io/safetensors.h"

/* A line of that file. */
typedef struct header_case {
    bool reads;        /* the reference reads it, and so do we */
    size_t data_bytes; /* behind the header */
    const char
        *tensors; /* fields of four for each: name, type, shape, bytes; or why we refuse it */
    char *file;   /* length and header, with room for the data */
    size_t file_bytes;
} header_case;

/* Turns an escaped field into bytes, in place. Returns their number. */
static size_t unescape(char *field)
{
    size_t out = 0;
    for (size_t at = 0; field[at]; at++) {
        unsigned byte = (unsigned char)field[at];
        if (byte == '\\') {
            ck_assert_int_eq(sscanf(field + at + 1, "%2x", &byte), 1);
            at += 2;
        }
        field[out++] = (char)byte;
    }
    field[out] = '\0';
    return out;
}

/* The next field of *line, which ends with a NUL byte from now on. NULL at the end. */
static char *next_field(char **line)
{
    char *field = *line;
    if (field) {
        *line = strchr(field, '\t');
        if (*line)
            *(*line)++ = '\0';
    }
    return field;
}

static header_case read_case(char *line)
{
    header_case made = {.reads = strcmp(next_field(&line), "read") == 0};
    made.data_bytes = strtoul(next_field(&line), NULL, 10);
    char *header = next_field(&line);
    made.tensors = line;
    const size_t bytes = unescape(header);
    made.file_bytes = 8 + bytes + made.data_bytes;
    made.file = calloc(1, made.file_bytes);
    for (int i = 0; i < 8; i++)
        made.file[i] = (char)((uint64_t)bytes >> 8 * i);
    memcpy(made.file + 8, header, bytes);
    return made;
}

/* The tensors of an open file are those of the line. */
static void check_tensors(const sv_safetensors *file, char *line)
{
    size_t count = 0;
    for (char *name; (name = next_field(&line)); count++) {
        char text[SV_SHAPE_TEXT];
        unescape(name);
        const sv_safetensors_entry *entry = sv_safetensors_find(file, name);
        ck_assert_msg(entry != NULL, "no tensor '%s'", name);
        ck_assert_str_eq(sv_dtype_name(entry->desc.dtype), next_field(&line));
        ck_assert_str_eq(sv_tensor_desc_text(text, &entry->desc), next_field(&line));
        ck_assert_uint_eq(entry->bytes, strtoul(next_field(&line), NULL, 10));
    }
    ck_assert_uint_eq(sv_safetensors_count(file), count);
}

/* A tensor of a type or a shape that is not held is refused by its name and what it is, before its
 * bytes are read; others are read. */
static size_t check_reading(const sv_safetensors *file)
{
    size_t refused = 0;
    for (size_t i = 0; i < sv_safetensors_count(file); i++) {
        const sv_safetensors_entry *entry = sv_safetensors_at(file, i);
        char shape[SV_SHAPE_TEXT], type[16], said[192];
        snprintf(type, sizeof type, " %s ", sv_dtype_name(entry->desc.dtype));
        const bool held = !strstr(sv_tensor_desc_text(shape, &entry->desc), "...");
        float *out = calloc(entry->desc.elements + 1, sizeof *out);
        if (held && strstr(" F32 F16 BF16 F64 I8 ", type)) {
            WORKS(sv_safetensors_read_f32(file, entry, out, err));
        } else {
            snprintf(said, sizeof said, "' is%s%s; F32, F16, BF16, F64 and I8 of up to 8", type,
                     shape);
            FAILS(sv_safetensors_read_f32(file, entry, out, err), SVIT_E_FORMAT, said);
            FAILS(sv_safetensors_check_f32(file, entry, err), SVIT_E_FORMAT, said);
            refused++;
        }
        free(out);
    }
    return refused;
}

START_TEST(test_headers_are_read_as_the_reference_reads_them)
{
    const sv_allocator allocator = sv_allocator_default();
    size_t bytes, cases = 0, read = 0, refused = 0;
    char *text = fit_read(GOLDEN_FOLDER "/safetensors_headers.txt", &bytes), *next = text;
    for (char *line; (line = strsep(&next, "\n")) && *line; cases++) {
        header_case one = read_case(line);
        sv_safetensors *file = NULL;
        svit_error error = {.struct_size = sizeof error};
        const svit_status status = sv_safetensors_open_memory(&file, &allocator, "a header",
                                                              one.file, one.file_bytes, &error);
        /* Only the reference of 64 bits reads shapes whose product has more, even if it is 0. */
        const bool fits = BY_SIZE(!strstr(error.message, "does not fit memory"), true);
        ck_assert_msg(status == (one.reads && fits ? SVIT_OK : SVIT_E_FORMAT),
                      "line %zu: %d (%s), and the reference %s it: %.200s", cases + 1, (int)status,
                      error.message, one.reads ? "reads" : "refuses", one.file + 8);
        if (file) {
            check_tensors(file, (char *)one.tensors);
            refused += check_reading(file);
            read++;
        }
        sv_safetensors_close(file);
        free(one.file);
    }
    free(text);
    ck_assert_uint_ge(cases, 690);
    ck_assert_uint_ge(read, BY_SIZE(200, 250));
    ck_assert_uint_ge(refused, BY_SIZE(100, 150));
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("safetensors_golden");
    TCase *c = tcase_create("safetensors_golden");
    tcase_add_test(c, test_headers_are_read_as_the_reference_reads_them);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
