/* Checks the benchmark of matmuls: every form on every backend has a speed, and wrong arguments are
 * named. No speed is asserted. */
#include "gemms.h"
#include "suite.h"

#include <shiftvit/shiftvit.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static svit_error err = {.struct_size = sizeof err};
static size_t live_blocks;
static int refuses;

#define OK(call) ck_assert_msg((call) == SVIT_OK, "%s", err.message)
#define FAILS(status, text, call)                                                                  \
    do {                                                                                           \
        memset(err.message, 0, sizeof err.message);                                                \
        ck_assert_int_eq(call, status);                                                            \
        ck_assert_msg(strstr(err.message, text) != NULL, "'%s' is not in '%s'", text,              \
                      err.message);                                                                \
    } while (0)

enum { BYTES_LIMIT = 1 << 30 };

static void *allocate(void *user, size_t bytes, size_t alignment)
{
    void *memory = NULL;
    (void)user;
    if (refuses || bytes > BYTES_LIMIT || posix_memalign(&memory, alignment, bytes) != 0)
        return NULL;
    live_blocks++;
    return memory;
}

static void release(void *user, void *memory, size_t bytes)
{
    (void)user;
    (void)bytes;
    live_blocks--;
    free(memory);
}

static svit_context *open_context(const char *gemm, uint32_t threads)
{
    svit_context_config config;
    svit_context *made = NULL;
    OK(svit_context_config_init(&config, sizeof config));
    config.gemm = gemm;
    config.threads = threads;
    config.allocate = allocate;
    config.release = release;
    OK(svit_context_create(&made, &config, &err));
    return made;
}

static svit_matmul product_of(int32_t form, uint32_t m, uint32_t n, uint32_t k, uint32_t heads)
{
    svit_matmul product;
    OK(svit_matmul_init(&product, sizeof product));
    product.form = form;
    product.m = m;
    product.n = n;
    product.k = k;
    product.heads = heads;
    return product;
}

/* The smallest sizes; odd sizes; a weight that is split by columns; more rows than one task takes.
 */
static const uint32_t SHAPES[][3] = {{1, 1, 1}, {17, 37, 5}, {33, 700, 301}, {3000, 48, 65}};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES };

static void check_speeds(svit_context *context, svit_matmul product)
{
    for (product.compute = SVIT_COMPUTE_F32; product.compute <= SVIT_COMPUTE_BF16;
         product.compute++) {
        double gflops = -1;
        OK(svit_benchmark_matmul(context, &product, 0, &gflops, &err));
        ck_assert_msg(isfinite(gflops) && gflops > 0, "form %d of %u x %u x %u: %g", product.form,
                      product.m, product.n, product.k, gflops);
    }
}

START_TEST(test_every_matmul_has_a_speed)
{
    GEMM(name, _i);
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        svit_context *context = open_context(name, threads);
        size_t before = live_blocks;
        for (int32_t form = 0; form <= SVIT_MATMUL_WEIGHT_GRADIENT; form++)
            for (size_t shape = 0; shape < SHAPE_COUNT; shape++)
                for (uint32_t heads = 0; heads < 8; heads += 7)
                    check_speeds(context, product_of(form, SHAPES[shape][0], SHAPES[shape][1],
                                                     SHAPES[shape][2], heads));
        ck_assert_uint_eq(live_blocks, before);
        svit_context_free(context);
    }
    ck_assert_uint_eq(live_blocks, 0);
}
END_TEST

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

START_TEST(test_seconds_are_taken)
{
    svit_context *context = open_context("tile", 1);
    svit_matmul product = product_of(SVIT_MATMUL_FORWARD, 8, 8, 8, 0);
    double gflops = 0;
    const double begin = seconds_now();
    OK(svit_benchmark_matmul(context, &product, 0.01, &gflops, &err));
    ck_assert_double_ge(seconds_now() - begin, 0.01);
    ck_assert(isfinite(gflops) && gflops > 0);
    svit_context_free(context);
}
END_TEST

START_TEST(test_wrong_arguments_are_named)
{
    svit_context *context = open_context("tile", 1);
    const svit_matmul good = product_of(SVIT_MATMUL_FORWARD, 2, 3, 4, 0);
    double gflops = 7;
    svit_matmul bytes = good;
    bytes.compute = SVIT_COMPUTE_INT8;
    FAILS(SVIT_E_ARGUMENT, "compute is 2; SVIT_COMPUTE_F32 or SVIT_COMPUTE_BF16 is accepted",
          svit_benchmark_matmul(context, &bytes, 0, &gflops, &err));
    FAILS(SVIT_E_ARGUMENT, "context", svit_benchmark_matmul(NULL, &good, 0, &gflops, &err));
    FAILS(SVIT_E_ARGUMENT, "matmul", svit_benchmark_matmul(context, NULL, 0, &gflops, &err));
    FAILS(SVIT_E_ARGUMENT, "gflops", svit_benchmark_matmul(context, &good, 0, NULL, &err));
    FAILS(SVIT_E_ARGUMENT, "seconds is -1",
          svit_benchmark_matmul(context, &good, -1, &gflops, &err));
    FAILS(SVIT_E_ARGUMENT, "seconds is 3601",
          svit_benchmark_matmul(context, &good, 3601, &gflops, &err));
    FAILS(SVIT_E_ARGUMENT, "seconds is nan",
          svit_benchmark_matmul(context, &good, NAN, &gflops, &err));
    const struct {
        const char *text;
        svit_matmul product;
    } wrong[] = {
        {"form is 3", product_of(3, 1, 1, 1, 0)},
        {"form is -1", product_of(-1, 1, 1, 1, 0)},
        {"m is 0; 1 to 268435456", product_of(0, 0, 1, 1, 0)},
        {"n is 268435457", product_of(0, 1, 268435457, 1, 0)},
        {"k is 4294967295", product_of(0, 1, 1, UINT32_MAX, 0)},
        {"heads is 268435457; 0 to 268435456", product_of(0, 1, 1, 1, 268435457)},
        {"struct_size of svit_matmul is 3", {.struct_size = 3}},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        FAILS(SVIT_E_ARGUMENT, wrong[i].text,
              svit_benchmark_matmul(context, &wrong[i].product, 0, &gflops, &err));
    ck_assert_int_eq(svit_matmul_init(NULL, sizeof good), SVIT_E_ARGUMENT);
    ck_assert_int_eq(svit_benchmark_matmul(NULL, NULL, 0, NULL, NULL), SVIT_E_ARGUMENT);
    ck_assert_double_eq(gflops, 7);
    OK(svit_benchmark_matmul(context, &good, 0, &gflops, &err));
    svit_context_free(context);
}
END_TEST

START_TEST(test_no_memory_is_a_status)
{
    svit_context *context = open_context("tile", 2);
    svit_matmul small = product_of(SVIT_MATMUL_FORWARD, 2, 3, 4, 0);
    svit_matmul huge = product_of(SVIT_MATMUL_FORWARD, 1 << 28, 1 << 28, 1 << 28, 1);
    size_t before = live_blocks;
    double gflops = 7;
    FAILS(SVIT_E_MEMORY, "matmul", svit_benchmark_matmul(context, &huge, 0, &gflops, &err));
    refuses = 1;
    FAILS(SVIT_E_MEMORY, "a matmul", svit_benchmark_matmul(context, &small, 0, &gflops, &err));
    refuses = 0;
    ck_assert_double_eq(gflops, 7);
    ck_assert_uint_eq(live_blocks, before);
    svit_context_free(context);
}
END_TEST

static Suite *measure_suite(void)
{
    Suite *suite = suite_create("measure");
    TCase *all = tcase_create("products");
    tcase_add_loop_test(all, test_every_matmul_has_a_speed, 0, GEMM_COUNT);
    tcase_add_test(all, test_seconds_are_taken);
    tcase_add_test(all, test_wrong_arguments_are_named);
    tcase_add_test(all, test_no_memory_is_a_status);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(measure_suite)
