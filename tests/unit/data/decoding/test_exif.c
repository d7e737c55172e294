/* Checks EXIF orientations: all eight, in both byte orders, in JPEG and PNG files, and malformed
 * EXIF data. Regression: orientations are ignored, so that photographs of telephones lie on their
 * side. */
#include "data_support.h"
#include "jpeg_make.h"

#include "data/decoding/exif.h"

#include <shiftvit/image.h>

#include <fenv.h>

enum { TIFF_BYTES = 8 + 2 + 2 * 12 + 4 };

static void put(uint8_t *at, uint32_t value, size_t bytes, int little)
{
    for (size_t i = 0; i < bytes; i++)
        at[little ? i : bytes - 1 - i] = (uint8_t)(value >> 8 * i);
}

static void put_entry(uint8_t *at, uint32_t tag, uint32_t type, uint32_t count, uint32_t value,
                      int little)
{
    put(at, tag, 2, little);
    put(at + 2, type, 2, little);
    put(at + 4, count, 4, little);
    put(at + 8, value, type == 3 ? 2 : 4, little);
}

/* EXIF data with a directory of two entries at offset 8; the second one is the orientation. */
static void tiff_make(uint8_t tiff[TIFF_BYTES], uint32_t orientation, int little)
{
    memset(tiff, 0, TIFF_BYTES);
    memcpy(tiff, little ? "II" : "MM", 2);
    put(tiff + 2, 42, 2, little);
    put(tiff + 4, 8, 4, little);
    put(tiff + 8, 2, 2, little);
    put_entry(tiff + 10, 0x0100, 4, 1, 640, little);
    put_entry(tiff + 22, 0x0112, 3, 1, orientation, little);
}

/* The pixels of the stored image are ABC above DEF. */
static const struct {
    size_t height;
    size_t width;
    const char *pixels;
} UPRIGHT[] = {
    [1] = {2, 3, "ABCDEF"}, [2] = {2, 3, "CBAFED"}, [3] = {2, 3, "FEDCBA"}, [4] = {2, 3, "DEFABC"},
    [5] = {3, 2, "ADBECF"}, [6] = {3, 2, "DAEBFC"}, [7] = {3, 2, "FCEBDA"}, [8] = {3, 2, "CFBEAD"},
};

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

/* Returns a file with `bytes` bytes of `extra` inserted at `at`; the caller frees it. */
static uint8_t *put_in(const uint8_t *file, size_t *size, size_t at, const uint8_t *extra,
                       size_t bytes)
{
    uint8_t *out = malloc(*size + bytes);
    memcpy(out, file, at);
    memcpy(out + at, extra, bytes);
    memcpy(out + at + bytes, file + at, *size - at);
    *size += bytes;
    return out;
}

/* Returns `file` with an eXIf chunk after its IHDR. */
static uint8_t *png_with(const uint8_t *file, size_t *size, const uint8_t *exif, size_t bytes)
{
    enum { BEHIND_IHDR = 8 + 12 + 13 };
    uint8_t chunk[12 + 256];
    ck_assert_uint_le(bytes, 256);
    put(chunk, (uint32_t)bytes, 4, 0);
    memcpy(chunk + 4, "eXIf", 4);
    memcpy(chunk + 8, exif, bytes);
    put(chunk + 8 + bytes, crc(chunk + 4, 4 + bytes), 4, 0);
    return put_in(file, size, BEHIND_IHDR, chunk, 12 + bytes);
}

static uint8_t *png_make(svit_context *context, size_t *size)
{
    test_folder folder = folder_make();
    sv_allocator allocator = sv_allocator_default();
    uint8_t rgb[18];
    void *data = NULL;
    for (size_t i = 0; i < 18; i++)
        rgb[i] = (uint8_t)(10 * ("ABCDEF"[i / 3] - 'A') + i % 3);
    WORKS(svit_image_write_png(context, path_in(&folder, "p.png"), rgb, 2, 3, err));
    WORKS(sv_file_read(&data, size, &allocator, path_in(&folder, "p.png"), 1 << 20, err));
    folder_remove(&folder);
    return data;
}

static void check_image(const svit_image *image, unsigned orientation)
{
    size_t width = UPRIGHT[orientation].width;
    ck_assert_uint_eq(svit_image_height(image), UPRIGHT[orientation].height);
    ck_assert_uint_eq(svit_image_width(image), width);
    for (size_t i = 0; i < 18; i++)
        ck_assert_msg(
            svit_image_pixels(image)[i] == 10 * (UPRIGHT[orientation].pixels[i / 3] - 'A') + i % 3,
            "orientation %u, byte %zu is %d", orientation, i, svit_image_pixels(image)[i]);
}

START_TEST(test_all_orientations_of_a_png)
{
    atomic_llong held = 0;
    svit_context *context = context_counting(&held);
    size_t plain_size = 0;
    uint8_t *plain = png_make(context, &plain_size);
    for (unsigned orientation = 1; orientation <= 8; orientation++)
        for (int little = 0; little < 2; little++) {
            uint8_t tiff[TIFF_BYTES];
            size_t size = plain_size;
            tiff_make(tiff, orientation, little);
            uint8_t *file = png_with(plain, &size, tiff, sizeof tiff);
            svit_image *image = NULL;
            WORKS(svit_image_decode(&image, context, file, size, "png", 3, err));
            check_image(image, orientation);
            svit_image_free(image);
            free(file);
        }
    free(plain);
    svit_context_free(context);
    ck_assert_int_eq(held, 0);
}
END_TEST

enum { HIGH = 70, WIDE = 133 };

/* Makes a JPEG of stripes and gradients, larger than the blocks in which images are turned. */
static uint8_t *stripes_make(size_t *size)
{
    static uint8_t rgb[HIGH * WIDE * 3];
    for (size_t y = 0; y < HIGH; y++)
        for (size_t x = 0; x < WIDE; x++) {
            rgb[(y * WIDE + x) * 3] = (uint8_t)(x + y);
            rgb[(y * WIDE + x) * 3 + 1] = (uint8_t)(3 * y);
            rgb[(y * WIDE + x) * 3 + 2] = (uint8_t)(255 - x);
        }
    jpeg_file file = jpeg_make(rgb, HIGH, WIDE, (jpeg_options){.channels = 3, .quality = 95});
    *size = file.bytes;
    return file.data;
}

/* Returns `file` with an APP1 segment of EXIF data after its first two bytes, behind a segment of
 * another kind. */
static uint8_t *jpeg_with(const uint8_t *file, size_t *size, const uint8_t *tiff, size_t bytes)
{
    uint8_t segments[12 + 10 + 256] = {0xff, 0xe1, 0, 10, 'h', 't', 't', 'p', ':', '/', '/', 0};
    uint8_t *exif = segments + 12;
    ck_assert_uint_le(bytes, 256);
    exif[0] = 0xff;
    exif[1] = 0xe1;
    put(exif + 2, (uint32_t)(2 + 6 + bytes), 2, 0);
    memcpy(exif + 4, "Exif\0\0", 6);
    memcpy(exif + 10, tiff, bytes);
    return put_in(file, size, 2, segments, 12 + 10 + bytes);
}

/* Returns where pixel (y, x) of the upright image is in the stored one, as the EXIF standard
 * defines it. */
static size_t stored_pixel(unsigned orientation, size_t y, size_t x)
{
    size_t bottom = HIGH - 1;
    size_t right = WIDE - 1;
    const size_t rows[] = {0, y, y, bottom - y, bottom - y, x, bottom - x, bottom - x, x};
    const size_t columns[] = {0, x, right - x, right - x, x, y, y, right - y, right - y};
    return rows[orientation] * WIDE + columns[orientation];
}

static const size_t CHANNELS[] = {1, 3, 4};

START_TEST(test_all_orientations_of_a_jpeg)
{
    const size_t channels = CHANNELS[_i];
    svit_context *context = context_open();
    size_t plain_size = 0;
    uint8_t *plain = stripes_make(&plain_size);
    svit_image *stored = NULL;
    WORKS(svit_image_decode(&stored, context, plain, plain_size, "jpeg", channels, err));
    for (unsigned orientation = 1; orientation <= 8; orientation++) {
        uint8_t tiff[TIFF_BYTES];
        size_t size = plain_size;
        svit_image *image = NULL;
        tiff_make(tiff, orientation, orientation % 2);
        uint8_t *file = jpeg_with(plain, &size, tiff, sizeof tiff);
        WORKS(svit_image_decode(&image, context, file, size, "jpeg", channels, err));
        size_t height = orientation > 4 ? WIDE : HIGH;
        size_t width = orientation > 4 ? HIGH : WIDE;
        ck_assert_uint_eq(svit_image_height(image), height);
        ck_assert_uint_eq(svit_image_width(image), width);
        for (size_t y = 0; y < height; y++)
            for (size_t x = 0; x < width; x++)
                ck_assert_mem_eq(svit_image_pixels(image) + channels * (y * width + x),
                                 svit_image_pixels(stored) +
                                     channels * stored_pixel(orientation, y, x),
                                 channels);
        svit_image_free(image);
        free(file);
    }
    svit_image_free(stored);
    free(plain);
    svit_context_free(context);
}
END_TEST

/* Regression: a file whose orientation is a quotient by 0, or a float that signals, ended a program
 * that traps exceptions. */
START_TEST(test_odd_orientations_trap_nothing)
{
    enum { SRATIONAL = 10, RATIONAL = 5, FLOAT = 11 };
    static const struct {
        uint32_t type, first, second;
        unsigned orientation;
    } cases[] = {{RATIONAL, 12, 2, 6},      {RATIONAL, 6, 0, 1},      {RATIONAL, 0, 0, 1},
                 {SRATIONAL, 12, 2, 6},     {SRATIONAL, 6, 0, 1},     {SRATIONAL, 0, 0, 1},
                 {FLOAT, 0x40c00000, 0, 6}, {FLOAT, 0x7fa00000, 0, 1}};
    svit_context *context = context_open();
    size_t plain_size = 0;
    uint8_t *plain = png_make(context, &plain_size);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t tiff[TIFF_BYTES + 8];
        size_t size = plain_size;
        svit_image *image = NULL;
        tiff_make(tiff, 0, 1);
        put_entry(tiff + 22, 0x0112, cases[i].type, 1,
                  cases[i].type == FLOAT ? cases[i].first : TIFF_BYTES, 1);
        put(tiff + TIFF_BYTES, cases[i].first, 4, 1);
        put(tiff + TIFF_BYTES + 4, cases[i].second, 4, 1);
        uint8_t *file = png_with(plain, &size, tiff, sizeof tiff);
        fenv_t before;
        fegetenv(&before);
#ifdef __GLIBC__
        feclearexcept(FE_ALL_EXCEPT);
        feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW | FE_UNDERFLOW);
#endif
        if (cases[i].type != FLOAT) /* what divides looks at the divisor, whoever calls it */
            (void)sv_exif_orientation((sv_span){tiff, sizeof tiff});
        const svit_status status = svit_image_decode(&image, context, file, size, "png", 3, NULL);
        fesetenv(&before);
        ck_assert_int_eq(status, SVIT_OK);
        check_image(image, cases[i].orientation);
        svit_image_free(image);
        free(file);
    }
    free(plain);
    svit_context_free(context);
}
END_TEST

/* The data are in memory of exactly their size, so that a sanitizer sees a read past the end. */
static unsigned orientation_of(const uint8_t *tiff, size_t bytes)
{
    uint8_t *exact = malloc(bytes ? bytes : 1);
    memcpy(exact, tiff, bytes);
    unsigned found = sv_exif_orientation((sv_span){exact, bytes});
    free(exact);
    return found;
}

START_TEST(test_exif_data_cut_anywhere_is_upright)
{
    svit_context *context = context_open();
    size_t plain_size = 0;
    uint8_t *plain = stripes_make(&plain_size);
    for (int little = 0; little < 2; little++) {
        uint8_t tiff[TIFF_BYTES];
        tiff_make(tiff, 6, little);
        for (size_t bytes = 0; bytes <= sizeof tiff; bytes++) {
            unsigned wanted = bytes >= 8 + 2 + 2 * 12 ? 6 : 0;
            ck_assert_uint_eq(orientation_of(tiff, bytes), wanted);
            size_t size = plain_size;
            uint8_t *file = jpeg_with(plain, &size, tiff, bytes);
            svit_image *image = NULL;
            WORKS(svit_image_decode(&image, context, file, size, "jpeg", 3, err));
            ck_assert_uint_eq(svit_image_height(image), wanted == 6 ? WIDE : HIGH);
            svit_image_free(image);
            for (size_t cut = 0; cut < size; cut++) { /* whole data, cut */
                uint8_t *exact = malloc(cut ? cut : 1);
                memcpy(exact, file, cut);
                ck_assert_uint_le(sv_exif_of_jpeg(exact, cut), 8);
                free(exact);
                cut += cut > 300 ? 97 : 0;
            }
            free(file);
        }
    }
    free(plain);
    svit_context_free(context);
}
END_TEST

/* orientations.safetensors has malformed data of all kinds. Here each byte of whole data has each
 * value in turn, so that a sanitizer sees whether an offset is not checked. */
START_TEST(test_exif_data_with_any_byte_is_some_orientation)
{
    for (size_t at = 0; at < TIFF_BYTES; at++)
        for (unsigned value = 0; value < 256; value++) {
            uint8_t tiff[TIFF_BYTES];
            tiff_make(tiff, 6, value % 2);
            tiff[at] = (uint8_t)value;
            ck_assert_uint_le(orientation_of(tiff, sizeof tiff), 8);
        }
}
END_TEST

START_TEST(test_noise_is_some_orientation)
{
    for (uint32_t seed = 0; seed < 20000; seed++) {
        uint8_t tiff[64];
        size_t bytes = seed % (sizeof tiff + 1);
        bytes_fill(tiff, sizeof tiff, seed);
        memcpy(tiff, seed % 2 ? "II*\0" : "MM\0*", 4);
        put(tiff + 4, tiff[4] % 70, 4, seed % 2);
        ck_assert_uint_le(orientation_of(tiff, bytes), 8);
        unsigned found = sv_exif_of_jpeg(tiff, bytes);
        ck_assert(found >= 1 && found <= 8);
        ck_assert_uint_le(sv_exif_of_png(tiff, bytes).bytes, bytes);
        ck_assert_uint_le(sv_xmp_orientation((sv_span){tiff, bytes}), 8);
        ck_assert_uint_le(sv_raw_profile((char *)tiff, bytes).bytes, bytes);
    }
}
END_TEST

static Suite *exif_suite(void)
{
    Suite *suite = suite_create("exif");
    TCase *cases = tcase_create("all");
    tcase_add_test(cases, test_all_orientations_of_a_png);
    tcase_add_loop_test(cases, test_all_orientations_of_a_jpeg, 0, 3);
    tcase_add_test(cases, test_odd_orientations_trap_nothing);
    tcase_add_test(cases, test_exif_data_cut_anywhere_is_upright);
    tcase_add_test(cases, test_exif_data_with_any_byte_is_some_orientation);
    tcase_add_test(cases, test_noise_is_some_orientation);
    suite_add_tcase(suite, cases);
    return suite;
}

TEST_MAIN(exif_suite)
