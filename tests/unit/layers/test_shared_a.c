/* Checks where the parallel linear map packs A: once for several column partitions with few tokens,
 * and nowhere else, since its memory is for few tokens. */
#include "backends.h"
#include "guard.h"

#include "context/context.h"
#include "layers/linear/linear.h"

#if defined SV_LOW_PRECISION && !defined SV_DOUBLE
enum { MOST_TOKENS = 130, NARROW = 96, WIDE = 600 };

/* A weight of WIDE rows and columns has several column partitions, one of NARROW has one. */
static const struct {
    size_t width, tokens;
    bool is_shared;
} CASES[] = {{WIDE, 1, true},
             {WIDE, SV_SMALL_M_TOKENS, true},
             {WIDE, SV_SMALL_M_TOKENS + 1, false},
             {WIDE, MOST_TOKENS, false},
             {NARROW, 1, false},
             {NARROW, SV_SMALL_M_TOKENS, false},
             {NARROW, MOST_TOKENS, false}};

static void pack(const sv_run *run, sv_gemm_b *b, const real *weights)
{
    const sv_kernels *kernels = run->exec.context->kernels;
    const size_t bytes = run->exec.gemm->packed_b_bytes(kernels, b->k, b->n);
    b->b = weights;
    ck_assert_int_eq(posix_memalign(&b->packed, SV_ALIGNMENT, bytes), 0);
    run->exec.gemm->pack_b(kernels, b);
}

/* Memory for packed A that ends at a page, all bytes of which are 0xff. */
static uint8_t *memory_for(const sv_run *run, size_t width, size_t *bytes)
{
    *bytes = sv_packed_a_bytes(&run->exec, SV_SMALL_M_TOKENS, width);
    ck_assert_uint_gt(*bytes, 0);
    *bytes = (*bytes + SV_ALIGNMENT - 1) / SV_ALIGNMENT * SV_ALIGNMENT;
    return guard_copy(NULL, *bytes, 0);
}

static bool is_written(const uint8_t *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (memory[i] != 0xff)
            return true;
    return false;
}

START_TEST(test_a_is_packed_where_partitions_share_it)
{
    const size_t width = CASES[_i].width, tokens = CASES[_i].tokens;
    svit_context *context = NULL;
    ck_assert_int_eq(svit_context_create(&context, NULL, NULL), SVIT_OK);
    const matrix weights = make(width, width, false, 1), x = make(tokens, width, false, 2);
    const sv_run run = {.exec = {.context = context, .gemm = sv_gemm_int8(sv_cpu_isa())},
                        .weights = weights.x};
    real *wanted = malloc(tokens * width * sizeof *wanted), *y = malloc(tokens * width * sizeof *y);
    sv_linear linear;
    sv_linear_init(&linear, NULL, width, width, SV_NO_PARAMETER, SV_NO_PARAMETER);
    pack(&run, &linear.forward, weights.x);
    pack(&run, &linear.backward, weights.x);
    for (int backward = 0; backward < 2; backward++) {
        size_t bytes;
        uint8_t *memory = memory_for(&run, width, &bytes);
        (backward ? sv_linear_backward : sv_linear_forward)(&linear, &run, wanted, x.x, tokens,
                                                            NULL);
        (backward ? sv_linear_backward_parallel : sv_linear_forward_parallel)(&linear, &run, y, x.x,
                                                                              tokens, memory);
        ck_assert_mem_eq(y, wanted, tokens * width * sizeof *y);
        ck_assert_int_eq(is_written(memory, bytes), CASES[_i].is_shared);
    }
    free(linear.forward.packed);
    free(linear.backward.packed);
    free(weights.x);
    free(x.x);
    free(wanted);
    free(y);
    svit_context_free(context);
}
END_TEST
enum { CASE_COUNT = sizeof CASES / sizeof *CASES };
#else
START_TEST(test_a_is_packed_where_partitions_share_it)
{
    skip_check("no backend of this build lets a caller pack A");
}
END_TEST
enum { CASE_COUNT = 1 };
#endif

static Suite *shared_a_suite(void)
{
    Suite *suite = suite_create("shared_a");
    TCase *all = tcase_create("linear");
    tcase_add_loop_test(all, test_a_is_packed_where_partitions_share_it, 0, CASE_COUNT);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(shared_a_suite)
