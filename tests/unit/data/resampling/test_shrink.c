/* Checks the antialiased reduction of floats against that of bytes, which is Pillow's. */
#include "fit.h"
#include "guard.h"

#include "data/resampling/antialias.h"
#include "data/resampling/shrink.h"

enum { MOST = 23 };

static const struct {
    size_t height, width, out_height, out_width;
} SIZES[] = {{1, 1, 1, 1},    {7, 5, 3, 2},   {23, 17, 4, 9},   {9, 8, 5, 4},  {4, 9, 4, 5},
             {23, 23, 1, 23}, {23, 2, 22, 2}, {23, 23, 23, 23}, {23, 23, 1, 1}};
enum { COUNT = sizeof SIZES / sizeof *SIZES };

static uint8_t pixels[MOST * MOST * 4];

static void setup(void)
{
    uint32_t random = 1;
    for (size_t i = 0; i < sizeof pixels; i++) {
        random = random * 1664525u + 1013904223u;
        pixels[i] = (uint8_t)(random >> 24);
    }
}

static sv_shrink *plan_of(size_t s, size_t channels)
{
    static sv_allocator allocator; /* which the plan keeps */
    allocator = sv_allocator_default();
    sv_shrink *plan = NULL;
    WORKS(sv_shrink_create(&plan, &allocator, SIZES[s].height, SIZES[s].width, channels,
                           SIZES[s].out_height, SIZES[s].out_width, err));
    return plan;
}

/* Pillow rounds to bytes after each direction, by at most a half: what the first rounding adds is a
 * mean of halves, so both make at most 1. */
START_TEST(test_floats_shrink_as_bytes_do)
{
    const sv_allocator allocator = sv_allocator_default();
    const size_t s = (size_t)_i / 3, channels = (size_t[]){1, 3, 4}[_i % 3];
    const size_t count = SIZES[s].height * SIZES[s].width * channels;
    const size_t out_count = SIZES[s].out_height * SIZES[s].out_width * channels;
    const sv_antialias_options options = {.height = SIZES[s].height,
                                          .width = SIZES[s].width,
                                          .channels = channels,
                                          .out_height = SIZES[s].out_height,
                                          .out_width = SIZES[s].out_width,
                                          .filter = SV_ANTIALIAS_BILINEAR};
    uint8_t bytes[MOST * MOST * 4];
    WORKS(sv_antialias_resize(&allocator, &options, pixels, bytes, err));
    float in[MOST * MOST * 4];
    for (size_t i = 0; i < count; i++)
        in[i] = pixels[i];
    float *out = guard_copy(NULL, out_count * sizeof *out, 0);
    sv_shrink *plan = plan_of(s, channels);
    sv_shrink_run(plan, out, guard_copy(in, count * sizeof *in, 1));
    sv_shrink_free(plan);
    for (size_t i = 0; i < out_count; i++)
        ck_assert_msg(out[i] - bytes[i] <= 1 && bytes[i] - out[i] <= 1,
                      "size %zu, element %zu: %g, Pillow %d", s, i, (double)out[i], bytes[i]);
}
END_TEST

/* In place, one image after another towards the front of the array, and equal sizes change
 * nothing. */
START_TEST(test_a_batch_shrinks_in_place)
{
    enum { IMAGES = 3, FLOATS = 9 * 8 * 3, SMALL = 5 * 4 * 3 };
    float batch[IMAGES * FLOATS], apart[IMAGES * SMALL];
    for (size_t i = 0; i < IMAGES * FLOATS; i++)
        batch[i] = (float)pixels[i] - 100;
    sv_shrink *plan = plan_of(3, 3), *same = plan_of(7, 1);
    for (size_t i = 0; i < IMAGES; i++)
        sv_shrink_run(plan, apart + i * SMALL, batch + i * FLOATS);
    for (size_t i = 0; i < IMAGES; i++)
        sv_shrink_run(plan, batch + i * SMALL, batch + i * FLOATS);
    ck_assert_mem_eq(batch, apart, sizeof apart);
    float whole[MOST * MOST], copy[MOST * MOST];
    for (size_t i = 0; i < MOST * MOST; i++)
        whole[i] = (float)pixels[i] / 7;
    sv_shrink_run(same, copy, whole);
    ck_assert_mem_eq(copy, whole, sizeof whole);
    sv_shrink_free(plan);
    sv_shrink_free(same);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("shrink");
    TCase *c = tcase_create("shrink");
    tcase_add_checked_fixture(c, setup, NULL);
    tcase_add_loop_test(c, test_floats_shrink_as_bytes_do, 0, 3 * COUNT);
    tcase_add_test(c, test_a_batch_shrinks_in_place);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
