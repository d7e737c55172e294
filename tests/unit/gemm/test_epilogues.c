/* Checks that every backend on every instruction set gives the same bits with an epilogue as a
 * plain matmul followed by each operation of the epilogue over the whole result. Compiled once more
 * in double, for the backends that exist there. */
#include "backends.h"

/* More rows, columns and depth than an epilogue, a K block or an int8 block takes at once. */
enum { ROWS = 83, COLUMNS = 400, DEPTH = 1100, TOKEN = 64, IMAGE_TOKENS = 7 };
enum {
    MASK_WORDS = ((TOKEN + ROWS) / 32 + 1) * COLUMNS,
    IMAGES = (TOKEN + ROWS) / IMAGE_TOKENS + 1
};

/* All arrays that an epilogue may read and write. */
typedef struct operands {
    matrix x, u;     /* the residual and the input of GELU, [ROWS, COLUMNS] */
    uint32_t *words; /* the dropout mask, [token blocks, COLUMNS] */
    real path[IMAGES];
    real *c, *extra; /* the result, and the second output of the epilogue */
    real *wanted, *wanted_extra;
} operands;

static matrix whole_matrix(uint32_t seed)
{
    matrix made = make(ROWS, COLUMNS - MARGIN, false, seed);
    ck_assert_uint_eq(made.row, COLUMNS);
    return made;
}

static operands make_operands(void)
{
    operands made = {.x = whole_matrix(3), .u = whole_matrix(4)};
    made.words = malloc(MASK_WORDS * sizeof *made.words);
    for (uint32_t i = 0; i < MASK_WORDS; i++)
        made.words[i] = i * 2654435761u ^ i << 7;
    for (size_t i = 0; i < IMAGES; i++)
        made.path[i] = i % 3 ? (real)1.25 : 0;
    real **const results[] = {&made.c, &made.extra, &made.wanted, &made.wanted_extra};
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        *results[i] = calloc(ROWS * COLUMNS, sizeof(real));
    return made;
}

static void free_operands(operands *made)
{
    free(made->x.x);
    free(made->u.x);
    free(made->words);
    free(made->c);
    free(made->extra);
    free(made->wanted);
    free(made->wanted_extra);
}

/* The epilogues that layers ask for. */
typedef enum form {
    UP,
    UP_INFERRING,
    DOWN,
    DOWN_GELU,
    DOWN_INFERRING,
    PROJECTION,
    BACKWARD,
    FORMS
} form;

static sv_epilogue epilogue_of(const operands *o, form which)
{
    const sv_dropout dropped = {o->words, (real)1.5};
    switch (which) {
    case UP:
        return (sv_epilogue){
            .dropout = dropped, .first_token = TOKEN, .gelu = true, .save_pre_gelu = o->extra};
    case UP_INFERRING:
        return (sv_epilogue){.gelu = true};
    case DOWN:
        return (sv_epilogue){.dropout = dropped,
                             .first_token = TOKEN,
                             .residual = o->x.x,
                             .drop_path_scale = o->path,
                             .image_tokens = IMAGE_TOKENS};
    case DOWN_GELU:
        return (sv_epilogue){.dropout = dropped,
                             .first_token = TOKEN,
                             .gelu = true,
                             .save_pre_gelu = o->extra,
                             .residual = o->x.x,
                             .drop_path_scale = o->path,
                             .image_tokens = IMAGE_TOKENS};
    case DOWN_INFERRING:
        return (sv_epilogue){.residual = o->x.x};
    case PROJECTION:
        return (sv_epilogue){.first_token = TOKEN,
                             .residual = o->x.x,
                             .drop_path_scale = o->path,
                             .image_tokens = IMAGE_TOKENS};
    default:
        return (sv_epilogue){
            .dropout = dropped, .first_token = TOKEN, .pre_gelu = o->u.x, .hidden = o->extra};
    }
}

/* Applies the operations of a form one after another, each to all of `wanted`. */
static void apply_one_by_one(const sv_kernels *k, operands *o, form which)
{
    const sv_dropout dropped = {o->words, (real)1.5}, whole = {NULL, 1};
    const sv_rows rows = {TOKEN, ROWS, COLUMNS, COLUMNS};
    real *y = o->wanted;
    if (which == UP || which == DOWN_GELU)
        k->gelu(y, o->wanted_extra, y, dropped, rows);
    if (which == UP_INFERRING)
        k->gelu(y, NULL, y, whole, rows);
    if (which == DOWN)
        k->residual(y, o->x.x, y, dropped, o->path, IMAGE_TOKENS, rows);
    if (which == DOWN_GELU || which == PROJECTION)
        k->residual(y, o->x.x, y, whole, o->path, IMAGE_TOKENS, rows);
    if (which == DOWN_INFERRING)
        k->residual(y, o->x.x, y, whole, NULL, 0, rows);
    if (which == BACKWARD)
        k->gelu_backward(o->wanted_extra, y, o->u.x, dropped, rows);
}

/* Multiplies `m` rows with one B in two calls, each for a part of its columns. */
static void multiply(const subject *of, const sv_kernels *k, const sv_gemm_c *c, const sv_gemm_a *a,
                     const sv_gemm_b *b, size_t m)
{
    const size_t cut = b->split ? b->split : 2 * SV_GEMM_SPLIT_COLUMNS;
    of->gemm->matmul(k, c, a, b, m, 0, cut);
    of->gemm->matmul(k, c, a, b, m, cut, b->n - cut);
}

static void check_forms(const subject *of, const sv_kernels *k, size_t m, size_t depth,
                        size_t group)
{
    operands o = make_operands();
    matrix a = make(ROWS, depth, false, 1), b = make(depth, COLUMNS, true, 2);
    sv_gemm_b right = {b.x,  depth, COLUMNS, b.row, b.column, packed_memory(of, k, depth, COLUMNS),
                       group};
    sv_gemm_a left = {a.x, a.row, 1, NULL};
    of->gemm->pack_b(k, &right);
    for (form which = 0; which < FORMS; which++) {
        const sv_epilogue epilogue = epilogue_of(&o, which);
        const sv_gemm_c plain = {o.wanted, COLUMNS, 0, o.x.x, NULL},
                        finished = {o.c, COLUMNS, 0, o.x.x, &epilogue};
        const size_t bytes = m * COLUMNS * sizeof(real);
        memset(o.c, 0, ROWS * COLUMNS * sizeof(real));
        multiply(of, k, &plain, &left, &right, m);
        apply_one_by_one(k, &o, which);
        multiply(of, k, &finished, &left, &right, m);
        ck_assert_msg(memcmp(o.c, o.wanted, bytes) == 0, "%s, form %d, %zu rows: c differs",
                      of->gemm->name, which, m);
        ck_assert_msg(memcmp(o.extra, o.wanted_extra, bytes) == 0,
                      "%s, form %d, %zu rows: what is kept, or a, differs", of->gemm->name, which,
                      m);
        for (size_t i = m * COLUMNS; i < ROWS * COLUMNS; i++)
            if (o.c[i] != 0)
                ck_abort_msg("a row past the matmul was written");
    }
    free(right.packed);
    free(a.x);
    free(b.x);
    free_operands(&o);
}

START_TEST(test_epilogues_have_the_bits_of_single_operations)
{
    SUBJECT(of, k);
    check_forms(of, k, ROWS, 40, 0);
    check_forms(of, k, ROWS, DEPTH, 0);
    check_forms(of, k, 9, DEPTH, 0);
}
END_TEST

/* The same with a B whose columns are packed in groups. */
START_TEST(test_epilogues_of_column_groups_have_the_bits_of_single_operations)
{
    SUBJECT(of, k);
    check_forms(of, k, ROWS, 40, COLUMNS / 5);
}
END_TEST

static Suite *epilogues_suite(void)
{
    Suite *suite = suite_create("epilogues");
    TCase *all = tcase_create("backends");
    tcase_add_loop_test(all, test_epilogues_have_the_bits_of_single_operations, 0, SUBJECT_COUNT);
    tcase_add_loop_test(all, test_epilogues_of_column_groups_have_the_bits_of_single_operations, 0,
                        SUBJECT_COUNT);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(epilogues_suite)
