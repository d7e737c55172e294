/* Checks how frames of a program become arrays of the library. */
#include "data_support.h"

#include <shiftvit/image.h>

enum { HEIGHT = 5, WIDTH = 7, MOST = 4, ROW = WIDTH * MOST, FORMATS = 5 };

/* The bytes of a pixel of each format, and where it has red, green, blue and alpha. */
static const struct {
    size_t bytes;
    int place[4]; /* -1: 255 */
} formats[FORMATS] = {{1, {0, 0, 0, -1}},
                      {3, {0, 1, 2, -1}},
                      {3, {2, 1, 0, -1}},
                      {4, {0, 1, 2, 3}},
                      {4, {2, 1, 0, 3}}};

static svit_context *context;

static void setup(void)
{
    WORKS(svit_context_create(&context, NULL, err));
}

static void teardown(void)
{
    svit_context_free(context);
}

/* What svit_image_read writes of channel c of a pixel. */
static unsigned wanted(const unsigned rgba[4], size_t channels, size_t c)
{
    if (channels == 1)
        return (19595 * rgba[0] + 38470 * rgba[1] + 7471 * rgba[2] + 32768) >> 16;
    if (channels == 3)
        return (2 * rgba[c] * rgba[3] + 255) / 510; /* to the nearest */
    return rgba[c];
}

/* Every format to every number of channels, in frames with bytes between the rows and without. */
START_TEST(test_every_format_becomes_every_number_of_channels)
{
    static const size_t gaps[] = {0, 1, 9}, channel_counts[] = {1, 3, 4};
    for (int32_t format = 0; format < FORMATS; format++)
        for (size_t g = 0; g < 3; g++)
            for (size_t k = 0; k < 3; k++) {
                uint8_t in[HEIGHT * (ROW + 9)], out[HEIGHT * ROW + 1];
                const size_t bytes = formats[format].bytes, channels = channel_counts[k];
                const size_t stride = WIDTH * bytes + gaps[g];
                for (size_t i = 0; i < sizeof in; i++)
                    in[i] = (uint8_t)(i * 89 + i / 7 * 31);
                memset(out, 0xA5, sizeof out);
                WORKS(svit_pixels_convert(in, format, HEIGHT, WIDTH, gaps[g] ? stride : 0, out,
                                          channels, err));
                for (size_t i = 0; i < HEIGHT * WIDTH; i++) {
                    const uint8_t *pixel = in + i / WIDTH * stride + i % WIDTH * bytes;
                    unsigned rgba[4];
                    for (size_t c = 0; c < 4; c++)
                        rgba[c] =
                            formats[format].place[c] < 0 ? 255 : pixel[formats[format].place[c]];
                    for (size_t c = 0; c < channels; c++)
                        ck_assert_uint_eq(out[i * channels + c], wanted(rgba, channels, c));
                }
                ck_assert_uint_eq(out[HEIGHT * WIDTH * channels], 0xA5);
            }
}
END_TEST

/* A frame is what the file with its pixels becomes. */
START_TEST(test_a_frame_is_like_its_file)
{
    static const size_t channel_counts[] = {1, 3, 4};
    test_folder folder = folder_make();
    uint8_t rgb[HEIGHT * WIDTH * 3], bgr[sizeof rgb], out[HEIGHT * ROW];
    for (size_t i = 0; i < sizeof rgb; i++) {
        rgb[i] = (uint8_t)(i * 113 + 5);
        bgr[i / 3 * 3 + 2 - i % 3] = rgb[i];
    }
    svit_error error = ERROR_RECORD;
    const svit_status written =
        svit_image_write_png(context, path_in(&folder, "a.png"), rgb, HEIGHT, WIDTH, &error);
    for (size_t k = 0; k < 3 && written != SVIT_E_UNSUPPORTED; k++) {
        svit_image *image = NULL;
        WORKS(svit_image_read(&image, context, path_in(&folder, "a.png"), channel_counts[k], err));
        WORKS(svit_pixels_convert(bgr, SVIT_PIXELS_BGR, HEIGHT, WIDTH, 0, out, channel_counts[k],
                                  err));
        ck_assert_mem_eq(out, svit_image_pixels(image), HEIGHT * WIDTH * channel_counts[k]);
        svit_image_free(image);
    }
    folder_remove(&folder);
}
END_TEST

/* The last row of a part of a frame has no bytes behind it. */
START_TEST(test_no_byte_behind_the_last_pixel_is_read)
{
    uint8_t out[2 * 2 * 3];
    uint8_t *in = malloc(10 + 2 * 3);
    ck_assert_ptr_nonnull(in);
    memset(in, 9, 10 + 2 * 3);
    WORKS(svit_pixels_convert(in, SVIT_PIXELS_RGB, 2, 2, 10, out, 3, err));
    ck_assert_uint_eq(out[11], 9);
    free(in);
}
END_TEST

START_TEST(test_what_is_out_of_range_is_named)
{
    uint8_t in[64] = {0}, out[64];
    const struct {
        int32_t format;
        size_t height, width, stride, channels;
        const char *part;
    } wrong[] = {{-1, 2, 2, 0, 3, "format is -1"},
                 {5, 2, 2, 0, 3, "format is 5"},
                 {0, 0, 2, 0, 3, "height is 0"},
                 {0, 2, 16385, 0, 3, "width is 16385"},
                 {SVIT_PIXELS_BGR, 2, 2, 5, 3, "stride is 5; 6.."},
                 {0, 2, 2, SIZE_MAX, 3, "stride is"},
                 {0, 2, 2, 0, 2, "channels is 2"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        FAILS(svit_pixels_convert(in, wrong[i].format, wrong[i].height, wrong[i].width,
                                  wrong[i].stride, out, wrong[i].channels, err),
              SVIT_E_ARGUMENT, wrong[i].part);
    FAILS(svit_pixels_convert(in, SVIT_PIXELS_RGB, 2, 2, 0, in, 4, err), SVIT_E_ARGUMENT,
          "same array");
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("pixels");
    TCase *c = tcase_create("pixels");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_every_format_becomes_every_number_of_channels);
    tcase_add_test(c, test_a_frame_is_like_its_file);
    tcase_add_test(c, test_no_byte_behind_the_last_pixel_is_read);
    tcase_add_test(c, test_what_is_out_of_range_is_named);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
