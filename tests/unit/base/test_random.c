/* Compares Philox with its published vectors, and checks the sequences made of it. */
#include "suite.h"

#include "base/numbers/random.h"

#include <math.h>
#include <string.h>

/* From the known-answer file of Random123 (Salmon et al. 2011), philox4x32, 10 rounds. */
static const struct {
    uint32_t counter[4], key[2], wanted[4];
} VECTORS[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

START_TEST(test_philox_gives_the_published_vectors)
{
    uint32_t out[4];
    sv_philox(out, VECTORS[_i].counter, VECTORS[_i].key);
    ck_assert_mem_eq(out, VECTORS[_i].wanted, sizeof out);
}
END_TEST

START_TEST(test_sequences_differ_by_each_of_their_names)
{
    static const struct {
        uint64_t seed;
        uint32_t use;
        uint64_t a;
        uint32_t b;
    } NAMES[] = {{1, 1, 1, 1},
                 {2, 1, 1, 1},
                 {1, 2, 1, 1},
                 {1, 1, 2, 1},
                 {1, 1, 1, 2},
                 {1, 1, 1 + (1ull << 40), 1},
                 {1 + (1ull << 40), 1, 1, 1}};
    enum { COUNT = sizeof NAMES / sizeof *NAMES };
    uint32_t first[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        sv_random random;
        sv_random_start(&random, NAMES[i].seed, NAMES[i].use, NAMES[i].a, NAMES[i].b);
        first[i] = sv_random_u32(&random);
        for (size_t j = 0; j < i; j++)
            ck_assert_uint_ne(first[i], first[j]);
    }
}
END_TEST

START_TEST(test_below_is_uniform)
{
    enum { BOUND = 7, DRAWS = 70000 };
    size_t counts[BOUND] = {0};
    sv_random random;
    sv_random_start(&random, 42, 1, 0, 0);
    for (size_t i = 0; i < DRAWS; i++) {
        uint32_t value = sv_random_below(&random, BOUND);
        ck_assert_uint_lt(value, BOUND);
        counts[value]++;
    }
    double chi = 0;
    for (size_t i = 0; i < BOUND; i++)
        chi += pow((double)counts[i] - DRAWS / BOUND, 2) / (DRAWS / BOUND);
    ck_assert_double_lt(
        chi, 22.5); /* chi squared for 6 degrees of freedom and a probability of 1 in 1000 */
}
END_TEST

START_TEST(test_normal_has_its_moments)
{
    enum { DRAWS = 100000 };
    double sum = 0, square = 0;
    sv_random random;
    sv_random_start(&random, 5, 1, 0, 0);
    for (size_t i = 0; i < DRAWS; i++) {
        double value = sv_random_normal(&random);
        ck_assert(isfinite(value));
        sum += value;
        square += value * value;
    }
    ck_assert_double_lt(fabs(sum / DRAWS), 0.0104); /* 3.3 standard deviations of the mean */
    ck_assert_double_lt(fabs(square / DRAWS - 1), 0.0148);
}
END_TEST

static Suite *random_suite(void)
{
    Suite *suite = suite_create("random");
    TCase *all = tcase_create("philox");
    tcase_add_loop_test(all, test_philox_gives_the_published_vectors, 0,
                        sizeof VECTORS / sizeof *VECTORS);
    tcase_add_test(all, test_sequences_differ_by_each_of_their_names);
    tcase_add_test(all, test_below_is_uniform);
    tcase_add_test(all, test_normal_has_its_moments);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(random_suite)
