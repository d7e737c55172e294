/* Checks that the antialiased resize treats each channel alike: an image of 3 or 4 channels has the
 * bytes of its channels alone, for all filters, orders and ratios, and nothing is read or written
 * beyond the arrays. */
#include "fit.h"
#include "guard.h"

#include "data/resampling/antialias.h"

enum { MOST = 23 };

static const struct {
    size_t height, width, out_height, out_width;
} SIZES[] = {{1, 1, 1, 1}, {7, 5, 3, 2}, {23, 17, 4, 9},  {5, 7, 11, 13}, {9, 4, 5, 8},
             {4, 9, 8, 5}, {1, 9, 6, 1}, {23, 23, 1, 23}, {2, 23, 23, 2}};

static void resize(const sv_antialias_options *options, const uint8_t *pixels, uint8_t *out)
{
    const sv_allocator allocator = sv_allocator_default();
    WORKS(sv_antialias_resize(&allocator, options, pixels, out, err));
}

START_TEST(test_each_channel_is_resized_as_if_alone)
{
    static uint8_t pixels[MOST * MOST * 4];
    uint32_t random = 1;
    for (size_t i = 0; i < sizeof pixels; i++) {
        random = random * 1664525u + 1013904223u;
        pixels[i] = (uint8_t)(random >> 24);
    }
    for (size_t s = 0; s < sizeof SIZES / sizeof *SIZES; s++)
        for (int form = 0; form < 16; form++) {
            sv_antialias_options options = {
                .height = SIZES[s].height,
                .width = SIZES[s].width,
                .channels = form & 1 ? 4 : 3,
                .out_height = SIZES[s].out_height,
                .out_width = SIZES[s].out_width,
                .seen_height = SIZES[s].out_height,
                .seen_width = SIZES[s].out_width,
                .cover = form >> 1 & 1,
                .filter = form & 4 ? SV_ANTIALIAS_BICUBIC : SV_ANTIALIAS_BILINEAR,
                .across_first = form >> 3 & 1,
            };
            const size_t channels = options.channels, count = options.height * options.width,
                         out_count = options.out_height * options.out_width;
            uint8_t *out = guard_copy(NULL, out_count * channels, 0), plane[MOST * MOST];
            resize(&options, guard_copy(pixels, count * channels, form & 1), out);
            options.channels = 1;
            for (size_t c = 0; c < channels; c++) {
                for (size_t i = 0; i < count; i++)
                    plane[i] = pixels[i * channels + c];
                uint8_t *alone = guard_copy(NULL, out_count, 1);
                resize(&options, guard_copy(plane, count, 0), alone);
                for (size_t i = 0; i < out_count; i++)
                    ck_assert_msg(out[i * channels + c] == alone[i],
                                  "size %zu, form %d: channel %zu of pixel %zu is %d, not %d", s,
                                  form, c, i, out[i * channels + c], alone[i]);
            }
        }
}
END_TEST

/* One colour stays that colour. */
START_TEST(test_one_colour_stays)
{
    static uint8_t pixels[MOST * MOST * 3], out[MOST * MOST * 3];
    for (int value = 0; value < 256; value += 51)
        for (size_t s = 0; s < sizeof SIZES / sizeof *SIZES; s++) {
            sv_antialias_options options = {.height = SIZES[s].height,
                                            .width = SIZES[s].width,
                                            .channels = 3,
                                            .out_height = SIZES[s].out_height,
                                            .out_width = SIZES[s].out_width,
                                            .filter = SV_ANTIALIAS_BICUBIC};
            memset(pixels, value, sizeof pixels);
            resize(&options, pixels, out);
            for (size_t i = 0; i < options.out_height * options.out_width * 3; i++)
                ck_assert_int_eq(out[i], value);
        }
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("antialias_channels");
    TCase *c = tcase_create("antialias_channels");
    tcase_add_test(c, test_each_channel_is_resized_as_if_alone);
    tcase_add_test(c, test_one_colour_stays);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
