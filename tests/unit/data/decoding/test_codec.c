/* Checks decoders and the encoder without memory: every allocation inside the image libraries fails
 * in turn. Regression: this is reported as a damaged file. Also checks interlaced PNG files.
 */
#include "data_support.h"
#include "jpeg_make.h"

#include <shiftvit/image.h>

#include <errno.h>
#include <png.h>
#ifdef SV_HAVE_WEBP
#include <webp/encode.h>
#endif

/* The allocator of the C library, under the names that glibc keeps for programs that replace it.
 * Sanitizers replace it themselves, so with them no allocation fails. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define INTERPOSED 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define INTERPOSED 0
#endif
#endif
#ifndef INTERPOSED
#define INTERPOSED 1
#endif

/* Allocations that still succeed; negative: all do. */
static long long left = -1;
static long long asked;

#if INTERPOSED
#define VISIBLE __attribute__((visibility("default")))
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
VISIBLE void *malloc(size_t bytes);
VISIBLE void *calloc(size_t count, size_t bytes);
VISIBLE void *realloc(void *memory, size_t bytes);
VISIBLE int posix_memalign(void **memory, size_t alignment, size_t bytes);

static int fails(void)
{
    asked++;
    if (left < 0 || left-- != 0)
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t bytes)
{
    return fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    return fails() ? NULL : __libc_realloc(memory, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    void *given = fails() ? NULL : __libc_memalign(alignment, bytes);
    if (given)
        *memory = given;
    return given ? 0 : ENOMEM;
}

/* False where a tool has taken the place of these functions, in the image libraries at least. */
static bool allocations_fail(void)
{
    const char *preloaded = getenv("LD_PRELOAD");
    if (!preloaded || !strstr(preloaded, "vgpreload"))
        return true;
    skip_check("no allocation of the image libraries fails under valgrind");
    return false;
}
#endif

enum { HEIGHT = 40, WIDTH = 33 };

typedef struct file {
    uint8_t data[1 << 18];
    size_t bytes;
} file;

static void png_append(png_structp png, png_bytep data, size_t bytes)
{
    file *to = png_get_io_ptr(png);
    ck_assert_uint_le(to->bytes + bytes, sizeof to->data);
    memcpy(to->data + to->bytes, data, bytes);
    to->bytes += bytes;
}

static void png_flush_nothing(png_structp png)
{
    (void)png;
}

/* PNG chunks for which libpng allocates memory besides the pixels. */
static void add_chunks(png_structp png, png_infop info)
{
    static char key[] = "Comment";
    static char words[] = "of no importance";
    png_text text = {.compression = PNG_TEXT_COMPRESSION_NONE, .key = key, .text = words};
    png_set_text(png, info, &text, 1);
    png_set_gAMA_fixed(png, info, 100000);
    png_byte exif[16] = "MM\0*\0\0\0\x08\0\0\0\0\0\0";
    png_set_eXIf_1(png, info, 14, exif);
}

static void png_make(file *out, int type, int depth, int interlace, int chunks)
{
    static uint8_t pixels[HEIGHT * WIDTH * 4 * 2];
    size_t channels = type == PNG_COLOR_TYPE_RGB ? 3 : type == PNG_COLOR_TYPE_RGB_ALPHA ? 4 : 1;
    png_color palette[256];
    png_byte alpha[256];
    bytes_fill(pixels, sizeof pixels, 8);
    bytes_fill((uint8_t *)palette, sizeof palette, 9);
    bytes_fill(alpha, sizeof alpha, 10);
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    out->bytes = 0;
    png_set_write_fn(png, out, png_append, png_flush_nothing);
    png_set_IHDR(png, info, WIDTH, HEIGHT, depth, type, interlace, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    if (type == PNG_COLOR_TYPE_PALETTE) {
        png_set_PLTE(png, info, palette, 256);
        png_set_tRNS(png, info, alpha, 256, NULL);
    }
    if (chunks)
        add_chunks(png, info);
    png_bytep rows[HEIGHT];
    for (size_t y = 0; y < HEIGHT; y++)
        rows[y] = pixels + y * WIDTH * channels * (size_t)depth / 8;
    png_write_info(png, info);
    png_write_image(png, rows);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
}

static void jpeg_put(file *out, int channels, int luma, int progressive)
{
    static uint8_t pixels[HEIGHT * WIDTH * 4];
    bytes_fill(pixels, sizeof pixels, 11);
    jpeg_file made = jpeg_make(
        pixels, HEIGHT, WIDTH,
        (jpeg_options){
            .channels = channels, .luma = luma, .quality = 90, .progressive = progressive});
    ck_assert_uint_le(made.bytes, sizeof out->data);
    memcpy(out->data, made.data, made.bytes);
    out->bytes = made.bytes;
    free(made.data);
}

#if defined(SV_HAVE_WEBP) && INTERPOSED
static void webp_make(file *out, int lossless)
{
    static uint8_t pixels[HEIGHT * WIDTH * 4];
    uint8_t *data = NULL;
    bytes_fill(pixels, sizeof pixels, 13);
    out->bytes = lossless ? WebPEncodeLosslessRGBA(pixels, WIDTH, HEIGHT, 4 * WIDTH, &data)
                          : WebPEncodeRGBA(pixels, WIDTH, HEIGHT, 4 * WIDTH, 80, &data);
    ck_assert(out->bytes > 0 && out->bytes <= sizeof out->data);
    memcpy(out->data, data, out->bytes);
    WebPFree(data);
}
#endif

static void make(file *out, int which)
{
    switch (which) {
    case 0:
        png_make(out, PNG_COLOR_TYPE_RGB, 8, PNG_INTERLACE_NONE, 0);
        return;
    case 1:
        png_make(out, PNG_COLOR_TYPE_RGB_ALPHA, 8, PNG_INTERLACE_NONE, 0);
        return;
    case 2:
        png_make(out, PNG_COLOR_TYPE_PALETTE, 8, PNG_INTERLACE_NONE, 0);
        return;
    case 3:
        png_make(out, PNG_COLOR_TYPE_RGB, 8, PNG_INTERLACE_ADAM7, 0);
        return;
    case 4:
        png_make(out, PNG_COLOR_TYPE_PALETTE, 8, PNG_INTERLACE_ADAM7, 1);
        return;
    case 5:
        png_make(out, PNG_COLOR_TYPE_GRAY, 8, PNG_INTERLACE_NONE, 1);
        return;
    case 6:
        jpeg_put(out, 3, 1, 0);
        return;
    case 7:
        jpeg_put(out, 3, 2, 0);
        return;
    case 8:
        jpeg_put(out, 4, 1, 0);
        return;
    default:
        jpeg_put(out, 3, 2, 1);
    }
}
enum { FILES = 10, MOST = 2000 };

/* Makes the n-th allocation fail, for n = 0, 1, ..., until the call needs fewer. */
START_TEST(test_a_decoder_without_memory_says_so)
{
    static file in;
    svit_context *context = context_open();
    svit_image *whole = NULL;
    make(&in, _i);
    WORKS(svit_image_decode(&whole, context, in.data, in.bytes, "image", 3, err));
    svit_status status = SVIT_E_MEMORY;
    long long n = 0;
    for (; status != SVIT_OK && n < MOST; n++) {
        svit_error error = ERROR_RECORD;
        svit_image *image = NULL;
        left = n;
        status = svit_image_decode(&image, context, in.data, in.bytes, "image", 3, &error);
        int was_asked = left < 0;
        left = -1;
        if (status == SVIT_OK) {
            ck_assert_mem_eq(svit_image_pixels(image), svit_image_pixels(whole),
                             HEIGHT * WIDTH * 3);
            svit_image_free(image);
            status = was_asked ? SVIT_E_MEMORY
                               : SVIT_OK; /* the call has succeeded in spite of the failure */
            continue;
        }
        ck_assert_msg(status == SVIT_E_MEMORY, "file %d, allocation %lld: %d (%s)", _i, n, status,
                      error.message);
        ck_assert_ptr_null(image);
    }
    ck_assert_int_eq(status, SVIT_OK);
    if (asked > 0)
        ck_assert_int_gt(n, 3);
    svit_image_free(whole);
    svit_context_free(context);
}
END_TEST

/* Only the canvas and the question whether there is memory can fail: libwebp 1.2.4 does not survive
 * all failures of its own allocations. */
/* Makes a PNG with 12 texts of 7.9 MB, which take about 8 KB each in the file. */
static void png_make_swollen(file *out)
{
    enum { LENGTH = 7900000, TEXTS = 12 };
    static char key[] = "Comment";
    static uint8_t row[3 * WIDTH];
    char *words = malloc(LENGTH + 1);
    memset(words, 'a', LENGTH);
    words[LENGTH] = '\0';
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    out->bytes = 0;
    png_set_write_fn(png, out, png_append, png_flush_nothing);
    png_set_IHDR(png, info, WIDTH, 1, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_text text = {.compression = PNG_TEXT_COMPRESSION_zTXt, .key = key, .text = words};
    for (int i = 0; i < TEXTS; i++)
        png_set_text(png, info, &text, 1);
    png_write_info(png, info);
    png_write_row(png, row);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    free(words);
}

static void *limited_allocate(void *user, size_t bytes, size_t alignment)
{
    ck_assert_int_le(*(atomic_llong *)user + (long long)bytes, 80 << 20);
    return counting_allocate(user, bytes, alignment);
}

/* Regression: compressed text, of which only an orientation matters, may fill the memory. */
START_TEST(test_text_of_a_png_takes_little_memory)
{
    static file in;
    atomic_llong held = 0;
    svit_context_config config = {.struct_size = sizeof config,
                                  .threads = 1,
                                  .allocate = limited_allocate,
                                  .release = counting_release,
                                  .allocator_user = &held};
    svit_context *context = NULL;
    svit_image *image = NULL;
    png_make_swollen(&in);
    WORKS(svit_context_create(&context, &config, err));
    WORKS(svit_image_decode(&image, context, in.data, in.bytes, "image", 3, err));
    ck_assert_uint_eq(svit_image_width(image), WIDTH);
    svit_image_free(image);
    svit_context_free(context);
    ck_assert_int_eq(held, 0);
}
END_TEST

START_TEST(test_a_webp_decoder_without_memory_says_so)
{
#if defined(SV_HAVE_WEBP) && INTERPOSED
    static file in;
    if (!allocations_fail())
        return;
    svit_context *context = context_open();
    svit_image *image = NULL;
    webp_make(&in, _i);
    for (long long n = 0; n < 2; n++) {
        svit_error error = ERROR_RECORD;
        left = n;
        svit_status status =
            svit_image_decode(&image, context, in.data, in.bytes, "image", 3, &error);
        left = -1;
        ck_assert_msg(status == SVIT_E_MEMORY, "%lld: %d (%s)", n, status, error.message);
    }
    WORKS(svit_image_decode(&image, context, in.data, in.bytes, "image", 3, err));
    svit_image_free(image);
    svit_context_free(context);
#else
    skip_check("this build has no WebP, or no allocation fails");
#endif
}
END_TEST

START_TEST(test_an_encoder_without_memory_says_so)
{
    static uint8_t rgb[HEIGHT * WIDTH * 3];
    svit_context *context = context_open();
    test_folder folder = folder_make();
    const char *path = path_in(&folder, "p.png");
    bytes_fill(rgb, sizeof rgb, 12);
    svit_status status = SVIT_E_MEMORY;
    for (long long n = 0; status != SVIT_OK && n < MOST; n++) {
        svit_error error = ERROR_RECORD;
        left = n;
        status = svit_image_write_png(context, path, rgb, HEIGHT, WIDTH, &error);
        left = -1;
        ck_assert_msg(status == SVIT_OK || status == SVIT_E_MEMORY, "allocation %lld: %d (%s)", n,
                      status, error.message);
    }
    ck_assert_int_eq(status, SVIT_OK);
    svit_image *image = NULL;
    WORKS(svit_image_read(&image, context, path, 3, err));
    ck_assert_mem_eq(svit_image_pixels(image), rgb, sizeof rgb);
    svit_image_free(image);
    folder_remove(&folder);
    svit_context_free(context);
}
END_TEST

/* Regression: the simplified interface of libpng gives other pixels for 16 bits a channel. */
START_TEST(test_interlacing_changes_no_pixel)
{
    static const int TYPES[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
    static file in;
    svit_context *context = context_open();
    for (size_t i = 0; i < 3; i++)
        for (int depth = 8; depth <= 16; depth += 8)
            for (int chunks = 0; chunks < 2; chunks++) {
                svit_image *images[2] = {NULL, NULL};
                for (int interlace = 0; interlace < 2; interlace++) {
                    png_make(&in, TYPES[i], depth, interlace, chunks);
                    WORKS(svit_image_decode(&images[interlace], context, in.data, in.bytes, "png",
                                            3, err));
                }
                ck_assert_mem_eq(svit_image_pixels(images[0]), svit_image_pixels(images[1]),
                                 HEIGHT * WIDTH * 3);
                svit_image_free(images[0]);
                svit_image_free(images[1]);
            }
    svit_context_free(context);
}
END_TEST

/* The luma of a pixel as Pillow's convert("L") computes it. */
static uint8_t luma(const uint8_t *rgb)
{
    return (uint8_t)((19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16);
}

START_TEST(test_grey_and_rgb_follow_from_rgba)
{
    static const int TYPES[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
    static const size_t CHANNELS[] = {1, 3, 4};
    static file in;
    svit_context *context = context_open();
    for (int depth = 8; depth <= 16; depth += 8) {
        const uint8_t *pixels[3];
        svit_image *images[3] = {NULL, NULL, NULL};
        png_make(&in, TYPES[_i], depth, 0, 0);
        for (size_t k = 0; k < 3; k++) {
            WORKS(
                svit_image_decode(&images[k], context, in.data, in.bytes, "png", CHANNELS[k], err));
            ck_assert_uint_eq(svit_image_channels(images[k]), CHANNELS[k]);
            pixels[k] = svit_image_pixels(images[k]);
        }
        int transparent = 0;
        for (size_t i = 0; i < (size_t)HEIGHT * WIDTH; i++) {
            const uint8_t *rgba = pixels[2] + 4 * i;
            transparent |= rgba[3] != 255;
            ck_assert_uint_eq(pixels[0][i], luma(rgba));
            for (size_t c = 0; c < 3; c++)
                ck_assert_uint_eq(pixels[1][3 * i + c], (rgba[c] * rgba[3] + 127) / 255);
        }
        ck_assert_int_eq(transparent, TYPES[_i] == PNG_COLOR_TYPE_RGB_ALPHA);
        for (size_t k = 0; k < 3; k++)
            svit_image_free(images[k]);
    }
    svit_context_free(context);
}
END_TEST

static Suite *codec_suite(void)
{
    Suite *suite = suite_create("codec");
    TCase *cases = tcase_create("all");
    tcase_add_loop_test(cases, test_a_decoder_without_memory_says_so, 0, FILES);
    tcase_add_loop_test(cases, test_a_webp_decoder_without_memory_says_so, 0, 2);
    tcase_add_test(cases, test_an_encoder_without_memory_says_so);
    tcase_add_test(cases, test_text_of_a_png_takes_little_memory);
    tcase_add_test(cases, test_interlacing_changes_no_pixel);
    tcase_add_loop_test(cases, test_grey_and_rgb_follow_from_rgba, 0, 3);
    suite_add_tcase(suite, cases);
    return suite;
}

TEST_MAIN(codec_suite)
