/* Newton-Schulz orthogonalisation by the library's GEMM. */
#include "optim/newton_schulz.h"

#include "layers/linear/small_matmul.h"
#include "tensor/arena.h"

#include <math.h>
#include <string.h>

/* The memory for a matrix whose sides are m <= n; a tall matrix is transposed to [m, n]. */
typedef struct workspace {
    real *input;   /* [rows, columns]: G */
    real *x, *y;   /* [m, n]: X before and after a step */
    real *a, *sum; /* [m, m]: A, and -4.7750 A + 2.0315 A A */
    void *scratch; /* of sv_add_matmul */
} workspace;

/* Lays the memory out; an arena without memory measures it. */
static workspace lay_out(sv_arena *arena, const sv_exec *exec, size_t m, size_t n)
{
    workspace w;
    w.input = sv_arena_reals(arena, m, n);
    w.x = sv_arena_reals(arena, m, n);
    w.y = sv_arena_reals(arena, m, n);
    w.a = sv_arena_reals(arena, m, m);
    w.sum = sv_arena_reals(arena, m, m);
    size_t bytes =
        sv_size_max(sv_small_matmul_bytes(exec, n, m), sv_small_matmul_bytes(exec, m, n));
    bytes = sv_size_max(bytes, sv_small_matmul_bytes(exec, m, m));
    w.scratch = sv_arena_take(arena, bytes, 1, 1);
    return w;
}

size_t sv_newton_schulz_bytes(const svit_context *context, size_t rows, size_t columns)
{
    sv_exec exec = {.context = (svit_context *)context};
    sv_arena arena = {0};
    lay_out(&arena, &exec, sv_size_min(rows, columns), sv_size_max(rows, columns));
    return arena.overflow ? 0 : arena.bytes;
}

real *sv_newton_schulz_input(void *memory)
{
    return memory;
}

/* x[m, n] = G / (|G| + 1e-7), or its transpose if G[rows, columns] is tall. */
static void normalise(real *x, const real *g, size_t rows, size_t columns)
{
    double squares = 0;
    for (size_t i = 0; i < rows * columns; i++)
        squares += (double)g[i] * (double)g[i];
    /* Near the end of the floats the scale would be subnormal, which is 0 here. */
    const double norm = sqrt(squares), shrink = norm > 0x1p100 ? 0x1p-64 : 1;
    const real small = (real)shrink, scale = (real)(1 / (norm * shrink + 1e-7));
    bool tall = rows > columns;
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++)
            x[tall ? c * rows + r : r * columns + c] = scale * (small * g[r * columns + c]);
}

/* c[m, n] = a[m, k] b, where b is a matrix with the given strides. */
static void matmul(const sv_exec *exec, const workspace *w, real *c, const real *a, sv_matrix b,
                   size_t m, size_t n, size_t k)
{
    memset(c, 0, m * n * sizeof *c);
    sv_small_matmul product = {.c = c, .ldc = n, .a = {a, k, 1}, .b = b, .m = m, .k = k, .n = n};
    sv_add_matmul(exec, &product, w->scratch);
}

/* One step from w->x to w->y, which then change places. */
static void step(const sv_exec *exec, workspace *w, size_t m, size_t n)
{
    const real c1 = (real)3.4445, c3 = (real)-4.7750, c5 = (real)2.0315;
    matmul(exec, w, w->a, w->x, (sv_matrix){w->x, 1, n}, m, m, n);
    matmul(exec, w, w->sum, w->a, (sv_matrix){w->a, m, 1}, m, m, m);
    for (size_t i = 0; i < m * m; i++)
        w->sum[i] = c3 * w->a[i] + c5 * w->sum[i];
    matmul(exec, w, w->y, w->sum, (sv_matrix){w->x, n, 1}, m, n, m);
    for (size_t i = 0; i < m * n; i++)
        w->y[i] += c1 * w->x[i];
    real *x = w->x;
    w->x = w->y;
    w->y = x;
}

real *sv_newton_schulz(const svit_context *context, void *memory, size_t rows, size_t columns,
                       size_t steps)
{
    sv_exec exec = {.context = (svit_context *)context};
    sv_arena arena = {.base = memory};
    size_t m = sv_size_min(rows, columns), n = sv_size_max(rows, columns);
    workspace w = lay_out(&arena, &exec, m, n);
    normalise(w.x, w.input, rows, columns);
    for (size_t i = 0; i < steps; i++)
        step(&exec, &w, m, n);
    if (rows <= columns)
        return w.x;
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++)
            w.y[r * columns + c] = w.x[c * rows + r];
    return w.y;
}
