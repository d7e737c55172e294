/* Checks the search for NaN and infinities: the first one is found wherever it is, and none beyond
 * the end. */
#include "suite.h"

#include "base/numbers/finite.h"

#include <math.h>

enum { CHUNK = 4096, MOST = 3 * CHUNK };

START_TEST(test_the_first_value_that_is_not_finite_is_found)
{
    static const size_t counts[] = {0, 1, 2, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, MOST - 1};
    static const size_t places[] = {0, 1, CHUNK - 2, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK - 1};
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    static float values[MOST];
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        for (size_t p = 0; p < sizeof places / sizeof *places; p++)
            for (size_t b = 0; b < 3; b++) {
                const size_t count = counts[c], place = places[p];
                values[place] = bad[b];
                values[count] = NAN; /* behind the end */
                ck_assert_uint_eq(sv_first_not_finite(values, count),
                                  place < count ? place : count);
                values[place] = values[count] = 3e38f;
            }
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("finite");
    TCase *c = tcase_create("finite");
    tcase_add_test(c, test_the_first_value_that_is_not_finite_is_found);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
