/* Checks how matmuls are split into parts of their columns, each column once and only where gemm.h
 * allows it, and tokens into token blocks. */
#include "suite.h"

#include "layers/linear/linear.h"

enum { COLUMNS = 2500 };

static int may_begin_at(size_t first, size_t columns)
{
    return first % SV_GEMM_SPLIT_COLUMNS == 0 &&
           (first == 0 || columns % SV_GEMM_SPLIT_COLUMNS == 0 ||
            columns - first >= SV_GEMM_SPLIT_TAIL);
}

START_TEST(test_column_parts_are_all_columns_once)
{
    static const size_t LEAST[] = {96, 192};
    size_t least = LEAST[_i];
    for (size_t columns = 1; columns <= COLUMNS; columns++) {
        size_t parts = sv_column_partition_count(columns, least), next = 0;
        for (size_t part = 0; part < parts; part++) {
            sv_column_range here = sv_column_partition(columns, parts, part);
            ck_assert_uint_eq(here.first, next);
            ck_assert_msg(may_begin_at(here.first, columns), "a part of %zu columns begins at %zu",
                          columns, here.first);
            ck_assert_msg(parts == 1 || here.count >= least, "%zu of %zu columns", here.count,
                          columns);
            ck_assert_uint_lt(here.count, 2 * least + 2 * SV_GEMM_SPLIT_COLUMNS);
            next += here.count;
        }
        ck_assert_uint_eq(next, columns);
    }
}
END_TEST

/* The scratch of a session is planned for its largest batch, so smaller batches must not need more.
 */
START_TEST(test_token_blocks_fit_the_planned_scratch)
{
    const sv_run run = {.pass.training = _i == 0, .exec.serial = _i == 2};
    for (size_t tokens = 1, largest = 0; tokens <= COLUMNS; tokens++) {
        size_t tile = sv_token_block_size(&run, tokens, 192), tiles = sv_block_count(tokens, tile);
        largest = tile > largest ? tile : largest;
        ck_assert_uint_ge(tile, 1);
        ck_assert_uint_ge(sv_token_block_size_max(&run, tokens, 192), largest);
        ck_assert_uint_le(tiles, sv_token_block_count_max(tokens, tile));
        if (run.pass.training) /* dropout masks are words of 32 tokens */
            ck_assert_uint_eq(tile % 32, 0);
        if (!run.pass.training && !run.exec.serial && tokens > SV_SMALL_M_TOKENS && tokens < 256) {
            ck_assert_msg(tiles % 4 == 0, "%zu tokens in %zu tiles", tokens, tiles);
            ck_assert_uint_lt(tiles * tile - tokens, tiles);
        }
    }
}
END_TEST

static Suite *partition_suite(void)
{
    Suite *suite = suite_create("partition");
    TCase *all = tcase_create("columns");
    tcase_add_loop_test(all, test_column_parts_are_all_columns_once, 0, 2);
    tcase_add_loop_test(all, test_token_blocks_fit_the_planned_scratch, 0, 3);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(partition_suite)
