/* Compares antialiased resizes of random sizes with Pillow 13 and with Pillow 12, each by the order
 * of its directions. make_resizes.py describes the golden file. */
#include "data_support.h"

#include "data/resampling/antialias.h"
#include "io/safetensors.h"

#include <shiftvit/image.h>
#include <shiftvit/pipeline.h>

static sv_safetensors *file;

static void setup(void)
{
    sv_allocator allocator = sv_allocator_default();
    WORKS(sv_safetensors_open(&file, &allocator, GOLDEN_FOLDER "/images/resizes.safetensors", err));
}

static void teardown(void)
{
    sv_safetensors_close(file);
}

static uint8_t *tensor_read(const char *name, size_t *rows)
{
    const sv_safetensors_entry *entry = sv_safetensors_find(file, name);
    ck_assert_ptr_nonnull(entry);
    uint8_t *data = malloc(entry->bytes);
    WORKS(sv_safetensors_read_bytes(file, entry, data, err));
    *rows = (size_t)entry->desc.shape[0];
    return data;
}

static uint64_t little_endian(const uint8_t *at, size_t bytes)
{
    uint64_t value = 0;
    while (bytes-- > 0)
        value = value << 8 | at[bytes];
    return value;
}

static uint64_t fnv1a(const uint8_t *data, size_t bytes)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ data[i]) * 0x100000001B3u;
    return hash;
}

/* The image, its sides and those of the output. */
typedef struct sizes {
    uint8_t *rgb;
    size_t height, width, out_height, out_width;
} sizes;

static sizes sizes_make(const uint8_t *at)
{
    sizes s = {NULL, little_endian(at, 2), little_endian(at + 2, 2), little_endian(at + 4, 2),
               little_endian(at + 6, 2)};
    s.rgb = malloc(s.height * s.width * 3);
    bytes_fill(s.rgb, s.height * s.width * 3, (uint32_t)(1000 * s.height + s.width));
    return s;
}

/* The hash of an image that is brought to its output size by this filter of a pipeline. */
static uint64_t cover(svit_context *context, const sizes *s, const char *filter, uint8_t *out)
{
    char json[256];
    svit_pipeline_config config;
    snprintf(json, sizeof json,
             "{\"source_height\": %zu, \"source_width\": %zu, \"resize_height\": %zu, "
             "\"resize_width\": %zu, \"output_height\": 1, \"output_width\": 1, "
             "\"source_filter\": \"%s\"}",
             s->out_height, s->out_width, s->out_height, s->out_width, filter);
    WORKS(svit_pipeline_config_from_json(&config, sizeof config, json, err));
    WORKS(svit_pipeline_apply_source(context, &config, s->rgb, s->height, s->width, out, err));
    return fnv1a(out, s->out_height * s->out_width * 3);
}

static uint64_t stretch(svit_context *context, const sizes *s, bool across_first, uint8_t *out)
{
    const sv_antialias_options options = {.height = s->height,
                                          .width = s->width,
                                          .channels = 3,
                                          .out_height = s->out_height,
                                          .out_width = s->out_width,
                                          .seen_height = s->out_height,
                                          .seen_width = s->out_width,
                                          .filter = SV_ANTIALIAS_BILINEAR,
                                          .across_first = across_first};
    if (!across_first)
        WORKS(svit_resize_antialias_u8(context, s->rgb, s->height, s->width, out, s->out_height,
                                       s->out_width, err));
    else
        WORKS(sv_antialias_resize(&context->allocator, &options, s->rgb, out, err));
    return fnv1a(out, s->out_height * s->out_width * 3);
}

static const struct {
    const char *tensor;
    const char *filter; /* of a pipeline; NULL: each axis has its own scale */
    bool across_first;
} KINDS[] = {
    {"stretch-13", NULL, false},
    {"stretch-12", NULL, true},
    {"cover-13", "shorter-side", false},
    {"cover-12", "shorter-side-pillow-12", true},
    {"cover-bicubic-13", "bicubic", false},
    {"cover-bicubic-12", "bicubic-pillow-12", true},
};

START_TEST(test_random_sizes_have_the_bytes_of_pillow)
{
    size_t count = 0, rows = 0;
    uint8_t *cases = tensor_read("sizes", &count), *wanted = tensor_read(KINDS[_i].tensor, &rows);
    svit_context *context = context_open();
    ck_assert_uint_ge(count, 400);
    ck_assert_uint_eq(rows, count);
    for (size_t i = 0; i < count; i++) {
        sizes s = sizes_make(cases + 8 * i);
        uint8_t *out = malloc(s.out_height * s.out_width * 3);
        uint64_t hash = KINDS[_i].filter ? cover(context, &s, KINDS[_i].filter, out)
                                         : stretch(context, &s, KINDS[_i].across_first, out);
        ck_assert_msg(hash == little_endian(wanted + 8 * i, 8),
                      "%s: %zu x %zu to %zu x %zu has other bytes", KINDS[_i].tensor, s.height,
                      s.width, s.out_height, s.out_width);
        free(out);
        free(s.rgb);
    }
    printf("%s: %zu sizes\n", KINDS[_i].tensor, count);
    svit_context_free(context);
    free(wanted);
    free(cases);
}
END_TEST

static Suite *resizes_suite(void)
{
    Suite *suite = suite_create("resizes_golden");
    TCase *cases = tcase_create("all");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_loop_test(cases, test_random_sizes_have_the_bytes_of_pillow, 0,
                        sizeof KINDS / sizeof *KINDS);
    suite_add_tcase(suite, cases);
    return suite;
}

TEST_MAIN(resizes_suite)
