/* Checks image files: what is written reads back, and damaged files are refused. */
#include "data_support.h"
#include "jpeg_make.h"

#include "data/checks.h"
#include "data/decoding/decoders.h"

#include <shiftvit/dataset.h>
#include <shiftvit/image.h>
#include <shiftvit/pipeline.h>

START_TEST(test_png_is_read_as_it_was_written)
{
    atomic_llong bytes = 0;
    svit_context *context = context_counting(&bytes);
    test_folder folder = folder_make();
    static uint8_t rgb[13 * 9 * 3];
    bytes_fill(rgb, sizeof rgb, 5);
    WORKS(svit_image_write_png(context, path_in(&folder, "a.png"), rgb, 13, 9, err));
    svit_image *image = NULL;
    WORKS(svit_image_read(&image, context, path_in(&folder, "a.png"), 3, err));
    ck_assert_uint_eq(svit_image_height(image), 13);
    ck_assert_uint_eq(svit_image_width(image), 9);
    ck_assert_mem_eq(svit_image_pixels(image), rgb, sizeof rgb);
    svit_context_free(context); /* the image keeps the context alive */
    svit_image_free(image);
    ck_assert_int_eq(bytes, 0);
    folder_remove(&folder);
}
END_TEST

/* 2 x 1 pixels, RGBA: (200, 100, 50, 130) and (255, 255, 255, 0). */
static const uint8_t PNG_ALPHA[] = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44,
    0x52, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x01, 0x08, 0x06, 0x00, 0x00, 0x00, 0xf4,
    0x22, 0x7f, 0x8a, 0x00, 0x00, 0x00, 0x11, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0x38,
    0x91, 0x62, 0xd4, 0xf4, 0xff, 0xff, 0x7f, 0x06, 0x00, 0x15, 0xb2, 0x04, 0xde, 0x89, 0xf0,
    0xcb, 0xf7, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};

/* 2 x 1 pixels, grey: 7 and 250. */
static const uint8_t PNG_GREY[] = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48,
    0x44, 0x52, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x00, 0x00,
    0x00, 0xd1, 0x49, 0x20, 0x56, 0x00, 0x00, 0x00, 0x0b, 0x49, 0x44, 0x41, 0x54, 0x78,
    0x9c, 0x63, 0x60, 0xff, 0x05, 0x00, 0x01, 0x0b, 0x01, 0x02, 0xc7, 0x5d, 0xfb, 0x23,
    0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};

START_TEST(test_png_alpha_is_laid_on_black_and_grey_becomes_rgb)
{
    svit_context *context = context_open();
    svit_image *image = NULL;
    WORKS(svit_image_decode(&image, context, PNG_ALPHA, sizeof PNG_ALPHA, NULL, 3, err));
    const uint8_t laid[6] = {102, 51, 25, 0, 0, 0};
    ck_assert_mem_eq(svit_image_pixels(image), laid, sizeof laid);
    svit_image_free(image);
    WORKS(svit_image_decode(&image, context, PNG_GREY, sizeof PNG_GREY, NULL, 3, err));
    const uint8_t grey[6] = {7, 7, 7, 250, 250, 250};
    ck_assert_mem_eq(svit_image_pixels(image), grey, sizeof grey);
    svit_image_free(image);
    svit_context_free(context);
}
END_TEST

START_TEST(test_png_becomes_grey_or_rgba)
{
    static const struct {
        const uint8_t *file;
        size_t bytes, channels;
        uint8_t pixels[8];
    } CASES[] = {
        {PNG_ALPHA, sizeof PNG_ALPHA, 1, {124, 255}}, /* 8172318 >> 16; the alpha does not count */
        {PNG_ALPHA, sizeof PNG_ALPHA, 4, {200, 100, 50, 130, 255, 255, 255, 0}},
        {PNG_GREY, sizeof PNG_GREY, 1, {7, 250}},
        {PNG_GREY, sizeof PNG_GREY, 4, {7, 7, 7, 255, 250, 250, 250, 255}},
    };
    svit_context *context = context_open();
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        svit_image *image = NULL;
        WORKS(svit_image_decode(&image, context, CASES[i].file, CASES[i].bytes, NULL,
                                CASES[i].channels, err));
        ck_assert_uint_eq(svit_image_channels(image), CASES[i].channels);
        ck_assert_mem_eq(svit_image_pixels(image), CASES[i].pixels, 2 * CASES[i].channels);
        svit_image_free(image);
    }
    svit_context_free(context);
}
END_TEST

/* Makes a JPEG of a smooth image of 24 x 16 pixels. */
static jpeg_file smooth_make(int channels, int luma)
{
    static uint8_t pixels[24 * 16 * 4];
    for (int y = 0; y < 16; y++)
        for (int x = 0; x < 24; x++)
            for (int c = 0; c < channels; c++)
                pixels[(y * 24 + x) * channels + c] = (uint8_t)(40 + 5 * x + 3 * y + 20 * c);
    return jpeg_make(pixels, 16, 24,
                     (jpeg_options){.channels = channels, .luma = luma, .quality = 98});
}

START_TEST(test_jpeg_is_read)
{
    svit_context *context = context_open();
    svit_image *image = NULL;
    jpeg_file colour = smooth_make(3, 1);
    WORKS(svit_image_decode(&image, context, colour.data, colour.bytes, "colour", 3, err));
    ck_assert_uint_eq(svit_image_height(image), 16);
    ck_assert_uint_eq(svit_image_width(image), 24);
    for (int y = 0; y < 16; y++)
        for (int x = 0; x < 24; x++)
            for (int c = 0; c < 3; c++) {
                int wanted = 40 + 5 * x + 3 * y + 20 * c;
                int got = svit_image_pixels(image)[(y * 24 + x) * 3 + c];
                ck_assert_int_le(abs(got - wanted), 4);
            }
    svit_image_free(image);
    free(colour.data);
    jpeg_file grey = smooth_make(1, 1);
    WORKS(svit_image_decode(&image, context, grey.data, grey.bytes, "grey", 3, err));
    const uint8_t *p = svit_image_pixels(image);
    for (int i = 0; i < 24 * 16; i++)
        ck_assert(p[3 * i] == p[3 * i + 1] && p[3 * i] == p[3 * i + 2]);
    ck_assert_int_le(abs(p[0] - 40), 3);
    svit_image_free(image);
    free(grey.data);
    svit_context_free(context);
}
END_TEST

START_TEST(test_jpeg_becomes_grey_or_rgba)
{
    static const int CHANNELS[] = {1, 3, 4};
    svit_context *context = context_open();
    jpeg_file file = smooth_make(CHANNELS[_i], 2);
    svit_image *images[5] = {NULL};
    for (size_t channels = 1; channels <= 4; channels += channels == 1 ? 2 : 1)
        WORKS(svit_image_decode(&images[channels], context, file.data, file.bytes, "jpeg", channels,
                                err));
    const uint8_t *grey = svit_image_pixels(images[1]), *rgb = svit_image_pixels(images[3]),
                  *rgba = svit_image_pixels(images[4]);
    for (size_t i = 0; i < 24 * 16; i++, rgb += 3, rgba += 4) {
        ck_assert_uint_eq(grey[i], (19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16);
        ck_assert_mem_eq(rgba, rgb, 3);
        ck_assert_uint_eq(rgba[3], 255);
    }
    for (size_t i = 0; i < 5; i++)
        svit_image_free(images[i]);
    free(file.data);
    svit_context_free(context);
}
END_TEST

START_TEST(test_a_jpeg_cut_anywhere_is_refused)
{
    svit_context *context = context_open();
    svit_image *image = NULL;
    jpeg_file whole = smooth_make(3, 2);
    for (size_t bytes = 0; bytes < whole.bytes; bytes++)
        FAILS(svit_image_decode(&image, context, whole.data, bytes, "cut.jpg", 3, err),
              SVIT_E_FORMAT, "cut.jpg");
    ck_assert_ptr_null(image);
    free(whole.data);
    svit_context_free(context);
}
END_TEST

static uint8_t *file_bytes(const char *path, size_t *bytes)
{
    sv_allocator allocator = sv_allocator_default();
    void *data = NULL;
    WORKS(sv_file_read(&data, bytes, &allocator, path, 1 << 20, err));
    return data;
}

/* IEND and the checksum before it do not matter. */
/* Each coefficient gets a scan for each of its lowest bits: `bits` scans for each of the 63 that
 * are not the mean. */
static jpeg_file jpeg_of_scans(int bits)
{
    static jpeg_scan_info scans[1 + 63 * 14];
    static const uint8_t grey[8 * 8] = {100, 120, 140, 160, 180, 200, 220, 240};
    int count = 0;
    scans[count++] = (jpeg_scan_info){.comps_in_scan = 1};
    for (int k = 1; k < 64; k++)
        for (int bit = bits - 1; bit >= 0; bit--)
            scans[count++] = (jpeg_scan_info){.comps_in_scan = 1,
                                              .Ss = k,
                                              .Se = k,
                                              .Ah = bit == bits - 1 ? 0 : bit + 1,
                                              .Al = bit};
    return jpeg_make(
        grey, 8, 8,
        (jpeg_options){
            .channels = 1, .quality = 90, .progressive = 1, .scans = scans, .scan_count = count});
}

/* Each scan may take the time of a whole image, though it has only some bytes. */
START_TEST(test_the_scans_of_a_jpeg_are_limited)
{
    svit_context *context = context_open();
    svit_image *image = NULL;
    jpeg_file few = jpeg_of_scans(7), many = jpeg_of_scans(8); /* 442 and 505 scans */
    WORKS(svit_image_decode(&image, context, few.data, few.bytes, NULL, 1, err));
    ck_assert_int_gt(svit_image_pixels(image)[7], svit_image_pixels(image)[0] + 100);
    svit_image_free(image);
    FAILS(svit_image_decode(&image, context, many.data, many.bytes, NULL, 1, err), SVIT_E_FORMAT,
          "more than 500 scans");
    ck_assert_int_eq(sv_jpeg_scan_limit(2000, 2000), 500);
    ck_assert_int_eq(sv_jpeg_scan_limit(4096, 4096), 128);
    ck_assert_int_eq(sv_jpeg_scan_limit(8000, 8000), 33);
    free(few.data);
    free(many.data);
    svit_context_free(context);
}
END_TEST

START_TEST(test_a_png_cut_before_its_last_pixels_is_refused)
{
    atomic_llong held = 0;
    svit_context *context = context_counting(&held);
    test_folder folder = folder_make();
    uint8_t rgb[11 * 5 * 3];
    bytes_fill(rgb, sizeof rgb, 9);
    WORKS(svit_image_write_png(context, path_in(&folder, "a.png"), rgb, 11, 5, err));
    size_t whole = 0;
    uint8_t *data = file_bytes(path_in(&folder, "a.png"), &whole);
    svit_image *image = NULL;
    for (size_t bytes = 0; bytes < whole - 16; bytes++)
        FAILS(svit_image_decode(&image, context, data, bytes, "cut.png", 3, err), SVIT_E_FORMAT,
              "cut.png");
    for (size_t bytes = whole - 16; bytes <= whole; bytes++) {
        WORKS(svit_image_decode(&image, context, data, bytes, "cut.png", 3, err));
        ck_assert_mem_eq(svit_image_pixels(image), rgb, sizeof rgb);
        svit_image_free(image);
    }
    /* One bit flipped in the middle of the pixels. */
    data[whole / 2] ^= 4;
    FAILS(svit_image_decode(&image, context, data, whole, "cut.png", 3, err), SVIT_E_FORMAT,
          "damaged");
    sv_allocator allocator = sv_allocator_default();
    sv_release(&allocator, data, whole + 1);
    svit_context_free(context);
    ck_assert_int_eq(held, 0);
    folder_remove(&folder);
}
END_TEST

/* An allocator that refuses more than 1 MiB: the size in a header must be checked before memory is
 * allocated for it. */
static void *small_allocate(void *user, size_t bytes, size_t alignment)
{
    (void)user;
    ck_assert_uint_le(bytes, 1 << 20);
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void small_release(void *user, void *memory, size_t bytes)
{
    (void)user;
    (void)bytes;
    free(memory);
}

START_TEST(test_the_sides_and_the_pixels_of_an_image_are_limited)
{
    static const struct {
        size_t height, width;
        int accepted;
    } cases[] = {{1, 1, 1},
                 {0, 1, 0},
                 {1, 0, 0},
                 {SV_SIDE_LIMIT, 1, 1},
                 {1, SV_SIDE_LIMIT, 1},
                 {SV_SIDE_LIMIT + 1, 1, 0},
                 {1, SV_SIDE_LIMIT + 1, 0},
                 {SV_PIXEL_LIMIT / SV_SIDE_LIMIT, SV_SIDE_LIMIT, 1},
                 {SV_PIXEL_LIMIT / SV_SIDE_LIMIT + 1, SV_SIDE_LIMIT, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (cases[i].accepted)
            WORKS(
                sv_codec_check_size(cases[i].height, cases[i].width, SV_PIXEL_LIMIT, "image", err));
        else
            FAILS(
                sv_codec_check_size(cases[i].height, cases[i].width, SV_PIXEL_LIMIT, "image", err),
                SVIT_E_FORMAT, "pixels a side");
}
END_TEST

START_TEST(test_sizes_are_checked_before_memory_is_taken)
{
    svit_context_config config = {.struct_size = sizeof config,
                                  .threads = 1,
                                  .allocate = small_allocate,
                                  .release = small_release};
    svit_context *context = NULL;
    WORKS(svit_context_create(&context, &config, err));
    svit_image *image = NULL;
    jpeg_file bomb = smooth_make(3, 1);
    size_t frame = 0;
    for (size_t i = 0; i + 1 < bomb.bytes && !frame; i++)
        if (bomb.data[i] == 0xff && bomb.data[i + 1] == 0xc0)
            frame = i;
    ck_assert_uint_gt(frame, 0);
    const struct {
        unsigned height, width;
    } sizes[] = {{16385, 8}, {8, 16385}, {8001, 8000}, {16384, 16384}, {65500, 65500}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint8_t *at = bomb.data + frame + 5;
        at[0] = (uint8_t)(sizes[i].height >> 8);
        at[1] = (uint8_t)sizes[i].height;
        at[2] = (uint8_t)(sizes[i].width >> 8);
        at[3] = (uint8_t)sizes[i].width;
        FAILS(svit_image_decode(&image, context, bomb.data, bomb.bytes, "bomb", 3, err),
              SVIT_E_FORMAT, "16384");
    }
    free(bomb.data);
    svit_context_free(context);
}
END_TEST

static svit_context *context_of_pixels(uint32_t pixels)
{
    const svit_context_config config = {
        .struct_size = sizeof config, .threads = 1, .max_image_pixels = pixels};
    svit_context *context = NULL;
    WORKS(svit_context_create(&context, &config, err));
    return context;
}

/* A context may accept fewer pixels: so do its images and its datasets. */
START_TEST(test_a_context_limits_the_pixels_of_an_image)
{
    svit_context *enough = context_of_pixels(117), *fewer = context_of_pixels(116);
    svit_dataset *dataset = NULL;
    svit_image *image = NULL;
    test_folder folder = folder_make();
    subfolder_make(&folder, "a");
    static const uint8_t rgb[13 * 9 * 3];
    uint8_t pixels[4 * 4 * 3];
    int32_t label;
    jpeg_file jpeg = smooth_make(3, 1);
    WORKS(svit_image_write_png(enough, path_in(&folder, "a/a.png"), rgb, 13, 9, err));
    WORKS(svit_image_read(&image, enough, path_in(&folder, "a/a.png"), 3, err));
    svit_image_free(image);
    FAILS(svit_image_read(&image, fewer, path_in(&folder, "a/a.png"), 3, err), SVIT_E_FORMAT,
          "9 x 13; 1..16384 pixels a side and at most 116 in all");
    FAILS(svit_image_decode(&image, fewer, jpeg.data, jpeg.bytes, "photo", 3, err), SVIT_E_FORMAT,
          "at most 116 in all");
    WORKS(
        svit_dataset_folder(&dataset, fewer, folder.path, 4, 4, 3, SVIT_SOURCE_SHORTER_SIDE, err));
    FAILS(svit_dataset_sample(dataset, 0, pixels, &label, err), SVIT_E_FORMAT, "at most 116");
    svit_dataset_free(dataset);
    free(jpeg.data);
    svit_context_free(fewer);
    svit_context_free(enough);
    folder_remove(&folder);
}
END_TEST

#define BYTES(text) text, sizeof text - 1

START_TEST(test_other_formats_are_refused_by_name)
{
    static const struct {
        const char *data;
        size_t bytes;
        const char *kind;
    } CASES[] = {{BYTES("BM0123456789"), "a BMP file"},
                 {BYTES("GIF89a012345"), "a GIF file"},
                 {BYTES("GIF87a012345"), "a GIF file"},
                 {BYTES("II*\0\x08\0\0\0\0\0\0\0"), "a TIFF file"},
                 {BYTES("MM\0*\0\0\0\x08\0\0\0\0"), "a TIFF file"},
                 {BYTES("\0\0\0\030ftypheic\0\0\0\0mif1heic"), "a HEIC file"},
                 {BYTES("\0\0\0\030ftypheix\0\0\0\0mif1heix"), "a HEIC file"},
                 {BYTES("\0\0\0\030ftypmif1\0\0\0\0mif1heic"), "a HEIF file"},
                 {BYTES("\0\0\0\034ftypavif\0\0\0\0avifmif1"), "an AVIF file"},
                 {BYTES("<!DOCTYPE html><html>"), "an HTML page"},
                 {BYTES("version https://git-lfs.github.com/spec/v1\n"), "a Git LFS pointer, "},
                 {BYTES("hello, world\n"), "a text"},
                 {BYTES("RIFF\0\0\0\0WAVE"), "12 bytes that begin as no image"},
                 {BYTES("\0\0\0\030ftypisom"), "12 bytes that begin as no image"}};
    svit_context *context = context_open();
    svit_image *image = NULL;
    char start[80];
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        snprintf(start, sizeof start, "other.jpg: %s", CASES[i].kind);
        FAILS(
            svit_image_decode(&image, context, CASES[i].data, CASES[i].bytes, "other.jpg", 3, err),
            SVIT_E_FORMAT, start);
    }
    svit_context_free(context);
}
END_TEST

START_TEST(test_what_is_no_image_is_refused)
{
    svit_context *context = context_open();
    test_folder folder = folder_make();
    svit_image *image = NULL;
    file_write(&folder, "empty.jpg", "", 0);
    file_write(&folder, "text.png", "hello, world", 12);
    FAILS(svit_image_read(&image, context, path_in(&folder, "empty.jpg"), 3, err), SVIT_E_FORMAT,
          "empty.jpg");
    FAILS(svit_image_read(&image, context, path_in(&folder, "text.png"), 3, err), SVIT_E_FORMAT,
          "JPEG, PNG and WebP are accepted");
    FAILS(svit_image_read(&image, context, path_in(&folder, "none.png"), 3, err), SVIT_E_IO,
          "none.png");
    FAILS(svit_image_read(&image, context, folder.path, 3, err), SVIT_E_IO, folder.path);
    ck_assert_ptr_null(image);
    folder_remove(&folder);
    svit_context_free(context);
}
END_TEST

START_TEST(test_wrong_arguments_of_images_are_named)
{
    svit_context *context = context_open();
    svit_image *image = NULL;
    uint8_t rgb[12] = {0};
    FAILS(svit_image_read(NULL, context, "a", 3, err), SVIT_E_ARGUMENT, "out");
    FAILS(svit_image_read(&image, NULL, "a", 3, err), SVIT_E_ARGUMENT, "context");
    FAILS(svit_image_read(&image, context, NULL, 3, err), SVIT_E_ARGUMENT, "path");
    FAILS(svit_image_read(&image, context, "a", 2, err), SVIT_E_ARGUMENT,
          "channels is 2; files give images of 1 (grey), 3 (RGB) and 4 (RGBA)");
    FAILS(svit_image_decode(&image, context, rgb, 1, NULL, 0, err), SVIT_E_ARGUMENT,
          "channels is 0");
    FAILS(svit_image_decode(NULL, context, rgb, 1, NULL, 3, err), SVIT_E_ARGUMENT, "out");
    FAILS(svit_image_decode(&image, NULL, rgb, 1, NULL, 3, err), SVIT_E_ARGUMENT, "context");
    FAILS(svit_image_decode(&image, context, NULL, 1, NULL, 3, err), SVIT_E_ARGUMENT, "data");
    FAILS(svit_image_decode(&image, context, NULL, 0, NULL, 3, err), SVIT_E_FORMAT, "0 bytes");
    FAILS(svit_image_decode(&image, context, rgb, 0, NULL, 3, err), SVIT_E_FORMAT, "image");
    FAILS(svit_image_write_png(NULL, "a", rgb, 1, 1, err), SVIT_E_ARGUMENT, "context");
    FAILS(svit_image_write_png(context, NULL, rgb, 1, 1, err), SVIT_E_ARGUMENT, "path");
    FAILS(svit_image_write_png(context, "a", NULL, 1, 1, err), SVIT_E_ARGUMENT, "rgb");
    FAILS(svit_image_write_png(context, "a", rgb, 0, 1, err), SVIT_E_ARGUMENT, "height is 0");
    FAILS(svit_image_write_png(context, "a", rgb, 1, 16385, err), SVIT_E_ARGUMENT,
          "width is 16385");
    FAILS(svit_image_write_png(context, "a", rgb, 16384, 16384, err), SVIT_E_ARGUMENT, "64000000");
    FAILS(svit_image_write_png(context, "/no/such/folder/a.png", rgb, 2, 2, err), SVIT_E_IO,
          "/no/such/folder");
    ck_assert_uint_eq(svit_image_height(NULL), 0);
    ck_assert_uint_eq(svit_image_width(NULL), 0);
    ck_assert_uint_eq(svit_image_channels(NULL), 0);
    ck_assert_ptr_null(svit_image_pixels(NULL));
    svit_image_free(NULL);
    svit_context_free(context);
}
END_TEST

static Suite *image_suite(void)
{
    Suite *suite = suite_create("image");
    TCase *files = tcase_create("files");
    tcase_add_test(files, test_png_is_read_as_it_was_written);
    tcase_add_test(files, test_png_alpha_is_laid_on_black_and_grey_becomes_rgb);
    tcase_add_test(files, test_jpeg_is_read);
    tcase_add_test(files, test_png_becomes_grey_or_rgba);
    tcase_add_loop_test(files, test_jpeg_becomes_grey_or_rgba, 0, 3);
    tcase_add_test(files, test_a_jpeg_cut_anywhere_is_refused);
    tcase_add_test(files, test_the_scans_of_a_jpeg_are_limited);
    tcase_add_test(files, test_a_png_cut_before_its_last_pixels_is_refused);
    tcase_add_test(files, test_the_sides_and_the_pixels_of_an_image_are_limited);
    tcase_add_test(files, test_sizes_are_checked_before_memory_is_taken);
    tcase_add_test(files, test_a_context_limits_the_pixels_of_an_image);
    tcase_add_test(files, test_other_formats_are_refused_by_name);
    tcase_add_test(files, test_what_is_no_image_is_refused);
    tcase_add_test(files, test_wrong_arguments_of_images_are_named);
    suite_add_tcase(suite, files);
    return suite;
}

TEST_MAIN(image_suite)
