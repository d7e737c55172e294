/* Checks WebP files chunk by chunk: where a frame lies on its canvas, frames that do not fit,
 * chunks that are cut, and which of them hold the orientation. */
#include "data_support.h"

#include <shiftvit/image.h>

#include <webp/encode.h>

enum {
    CANVAS_WIDTH = 8,
    CANVAS_HEIGHT = 6,
    WIDTH = 4,
    HEIGHT = 2,
    ANIMATED = 2,
    EXIF = 8,
    XMP = 4
};

typedef struct file {
    uint8_t data[1024];
    size_t bytes;
} file;

static void put_number(file *to, size_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        to->data[to->bytes++] = (uint8_t)(value >> 8 * i);
}

static void put(file *to, const void *data, size_t bytes)
{
    ck_assert_uint_le(to->bytes + bytes, sizeof to->data);
    memcpy(to->data + to->bytes, data, bytes);
    to->bytes += bytes;
}

/* A chunk; `says` is the size that its header gives. */
static void put_chunk(file *to, const char *name, const void *data, size_t bytes, size_t says)
{
    put(to, name, 4);
    put_number(to, says, 4);
    put(to, data, bytes);
    if (bytes % 2)
        put_number(to, 0, 1);
}

/* An extended file without its chunks, for seal. */
static file begin(int flags)
{
    file made = {.bytes = 0};
    put(&made, "RIFF\0\0\0\0WEBP", 12);
    put(&made, "VP8X\12\0\0\0", 8);
    put_number(&made, (size_t)flags, 4);
    put_number(&made, CANVAS_WIDTH - 1, 3);
    put_number(&made, CANVAS_HEIGHT - 1, 3);
    return made;
}

static void seal(file *made)
{
    const size_t end = made->bytes;
    made->bytes = 4;
    put_number(made, end - 8, 4);
    made->bytes = end;
}

/* The VP8L chunk of an image of one colour, (50, 100, 150). */
static file frame_make(int width, int height)
{
    uint8_t rgb[CANVAS_WIDTH * CANVAS_HEIGHT * 3], *data = NULL;
    file made = {.bytes = 0};
    for (int i = 0; i < width * height; i++)
        memcpy(rgb + 3 * i, "\x32\x64\x96", 3);
    const size_t bytes = WebPEncodeLosslessRGB(rgb, width, height, 3 * width, &data);
    ck_assert_uint_gt(bytes, 12);
    put(&made, data + 12, bytes - 12);
    WebPFree(data);
    return made;
}

/* A frame chunk, whose header says `x` and `y` in units of two pixels, and width and height. */
static void put_frame(file *to, size_t x, size_t y, size_t width, size_t height, const file *pixels)
{
    file frame = {.bytes = 0};
    put_number(&frame, x, 3);
    put_number(&frame, y, 3);
    put_number(&frame, width - 1, 3);
    put_number(&frame, height - 1, 3);
    put_number(&frame, 100, 4); /* the duration and the flags */
    put(&frame, pixels->data, pixels->bytes);
    put_chunk(to, "ANMF", frame.data, frame.bytes, frame.bytes);
}

static const struct {
    size_t x, y, width, height; /* as the header says */
    const char *part;           /* of the message; NULL: the frame is read */
} FRAMES[] = {
    {0, 0, WIDTH, HEIGHT, NULL},
    {1, 0, WIDTH, HEIGHT, NULL},
    {2, 2, WIDTH, HEIGHT, NULL}, /* it ends where the canvas ends */
    {3, 0, WIDTH, HEIGHT, "does not fit its canvas"},
    {0, 3, WIDTH, HEIGHT, "does not fit its canvas"},
    {5, 0, WIDTH, HEIGHT, "does not fit its canvas"},
    {0, 4, WIDTH, HEIGHT, "does not fit its canvas"},
    {0xffffff, 0, WIDTH, HEIGHT, "does not fit its canvas"},
    {0, 0xffffff, WIDTH, HEIGHT, "does not fit its canvas"},
    {0, 0, WIDTH - 1, HEIGHT, "does not fit its canvas"},
    {0, 0, WIDTH, HEIGHT + 1, "does not fit its canvas"},
};

static svit_context *context;
static svit_image *image;

START_TEST(test_the_first_frame_lies_on_its_canvas)
{
    const file pixels = frame_make(WIDTH, HEIGHT);
    for (size_t i = 0; i < sizeof FRAMES / sizeof *FRAMES; i++) {
        file animation = begin(ANIMATED);
        put_chunk(&animation, "ANIM", "\0\0\0\0\0\0", 6, 6);
        put_frame(&animation, FRAMES[i].x, FRAMES[i].y, FRAMES[i].width, FRAMES[i].height, &pixels);
        seal(&animation);
        if (FRAMES[i].part) {
            FAILS(svit_image_decode(&image, context, animation.data, animation.bytes, NULL, 3, err),
                  SVIT_E_FORMAT, FRAMES[i].part);
            continue;
        }
        WORKS(svit_image_decode(&image, context, animation.data, animation.bytes, NULL, 3, err));
        ck_assert_uint_eq(svit_image_width(image), CANVAS_WIDTH);
        ck_assert_uint_eq(svit_image_height(image), CANVAS_HEIGHT);
        for (size_t y = 0; y < CANVAS_HEIGHT; y++)
            for (size_t x = 0; x < CANVAS_WIDTH; x++) {
                const size_t left = 2 * FRAMES[i].x, top = 2 * FRAMES[i].y;
                const int inside = x >= left && x < left + WIDTH && y >= top && y < top + HEIGHT;
                ck_assert_mem_eq(svit_image_pixels(image) + 3 * (y * CANVAS_WIDTH + x),
                                 inside ? "\x32\x64\x96" : "\0\0\0", 3);
            }
        svit_image_free(image);
    }
}
END_TEST

START_TEST(test_animations_without_a_whole_frame_are_refused)
{
    const file pixels = frame_make(WIDTH, HEIGHT), larger = frame_make(WIDTH + 1, HEIGHT);
    file none = begin(ANIMATED), small = begin(ANIMATED), empty = begin(ANIMATED),
         cut = begin(ANIMATED), other = begin(ANIMATED), torn = begin(ANIMATED);
    const struct {
        file *file;
        const char *part;
    } cases[] = {{&none, "it has no whole frame"},
                 {&small, "it has no whole frame"},
                 {&empty, "the header of its first frame is not whole"},
                 {&cut, "it has no whole frame"},
                 {&other, "does not fit its canvas"},
                 {&torn, "its pixels are not whole"}};
    put_chunk(&none, "ANIM", "\0\0\0\0\0\0", 6, 6);
    put_chunk(&small, "ANMF", pixels.data, 15, 15);
    put_frame(&empty, 0, 0, WIDTH, HEIGHT, &(file){.bytes = 0});
    put_chunk(&cut, "ANMF", pixels.data, 20, 400); /* it ends behind the file */
    put_frame(&other, 0, 0, WIDTH, HEIGHT, &larger);
    file half = pixels;
    half.bytes = 8 + 6; /* of the header of VP8L one byte more than its features */
    put_frame(&torn, 0, 0, WIDTH, HEIGHT, &half);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        seal(cases[i].file);
        FAILS(svit_image_decode(&image, context, cases[i].file->data, cases[i].file->bytes, NULL, 3,
                                err),
              SVIT_E_FORMAT, cases[i].part);
    }
}
END_TEST

/* As one channel an image is its luma, as four it is opaque where it has pixels. */
START_TEST(test_channels_of_a_still)
{
    static const uint8_t LUMA = 91; /* 0.299 * 50 + 0.587 * 100 + 0.114 * 150 */
    const file pixels = frame_make(CANVAS_WIDTH, CANVAS_HEIGHT);
    file still = begin(0);
    put(&still, pixels.data, pixels.bytes);
    seal(&still);
    for (int32_t channels = 1; channels <= 4; channels += channels == 1 ? 2 : 1) {
        const uint8_t *wanted = channels == 1 ? &LUMA : (const uint8_t *)"\x32\x64\x96\xff";
        WORKS(svit_image_decode(&image, context, still.data, still.bytes, NULL, channels, err));
        ck_assert_uint_eq(svit_image_channels(image), (size_t)channels);
        for (size_t i = 0; i < CANVAS_WIDTH * CANVAS_HEIGHT; i++)
            ck_assert_mem_eq(svit_image_pixels(image) + i * (size_t)channels, wanted,
                             (size_t)channels);
        svit_image_free(image);
    }
}
END_TEST

/* EXIF data of orientation 8, which turns an image left: its sides change places. */
static const uint8_t LEFT[] = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1,
                               18,  0,   3, 0,  0, 0, 1, 0, 8, 0, 0};
static const char XMP_LEFT[] = "tiff:Orientation=\"8\"";

START_TEST(test_the_orientation_is_in_the_chunks_that_the_header_announces)
{
    const file pixels = frame_make(CANVAS_WIDTH, CANVAS_HEIGHT);
    const struct {
        int flags;
        const char *before;     /* a chunk of one byte and its padding before the others, or NULL */
        const char *exif, *xmp; /* their names, or NULL */
        size_t cut;             /* bytes that the chunk of EXIF says above those that it has */
        int turned;
    } cases[] = {
        {EXIF, NULL, "EXIF", NULL, 0, 1},     {EXIF, "ODD ", "EXIF", NULL, 0, 1},
        {0, NULL, "EXIF", NULL, 0, 0},        {XMP, NULL, "EXIF", NULL, 0, 0},
        {XMP, NULL, NULL, "XMP ", 0, 1},      {EXIF, NULL, NULL, "XMP ", 0, 0},
        {EXIF | XMP, NULL, NULL, NULL, 0, 0}, {EXIF, NULL, "EXIF", NULL, 100, 0},
        {EXIF, "LAST", NULL, NULL, 0, 0},     {EXIF | XMP, NULL, "EXIF", "XMP ", 100, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        file still = begin(cases[i].flags);
        put(&still, pixels.data, pixels.bytes);
        if (cases[i].before)
            put_chunk(&still, cases[i].before, "", 1, 1);
        if (cases[i].before && cases[i].before[0] == 'L')
            still.bytes--; /* without the padding */
        if (cases[i].exif)
            put_chunk(&still, cases[i].exif, LEFT, sizeof LEFT, sizeof LEFT + cases[i].cut);
        if (cases[i].xmp)
            put_chunk(&still, cases[i].xmp, XMP_LEFT, sizeof XMP_LEFT - 1, sizeof XMP_LEFT - 1);
        seal(&still);
        WORKS(svit_image_decode(&image, context, still.data, still.bytes, NULL, 3, err));
        ck_assert_msg(svit_image_width(image) == (cases[i].turned ? CANVAS_HEIGHT : CANVAS_WIDTH),
                      "case %zu has width %zu", i, svit_image_width(image));
        svit_image_free(image);
    }
}
END_TEST

/* Sides beyond the limit of the library, which libwebp reads from the header alone. */
START_TEST(test_a_canvas_has_a_limit)
{
    file large = begin(ANIMATED);
    large.bytes = 24;
    put_number(&large, 0xffffff, 3);
    put_number(&large, 0, 3);
    put_chunk(&large, "ANIM", "\0\0\0\0\0\0", 6, 6);
    seal(&large);
    FAILS(svit_image_decode(&image, context, large.data, large.bytes, NULL, 3, err), SVIT_E_FORMAT,
          "the image is 16777216 x 1; 1..");
}
END_TEST

static void setup(void)
{
    context = context_open();
    image = NULL;
}

static void teardown(void)
{
    svit_context_free(context);
}

static Suite *suite(void)
{
    Suite *all = suite_create("webp");
    TCase *c = tcase_create("webp");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_channels_of_a_still);
    tcase_add_test(c, test_the_first_frame_lies_on_its_canvas);
    tcase_add_test(c, test_animations_without_a_whole_frame_are_refused);
    tcase_add_test(c, test_the_orientation_is_in_the_chunks_that_the_header_announces);
    tcase_add_test(c, test_a_canvas_has_a_limit);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
