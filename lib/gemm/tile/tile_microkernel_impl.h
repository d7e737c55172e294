/* The microkernel: c[MR, NR] = bias + a[MR, k] b[k, NR] with all sums in registers. Each C file
 * that includes this header defines the microkernels that it needs, by the macros at the end. Goto,
 * van de Geijn 2008. Plain reference: tests/reference/reference_matmul.c. */
#ifndef SV_TILE_MICROKERNEL_IMPL_H
#define SV_TILE_MICROKERNEL_IMPL_H

#include "gemm/tile/tile_rows_impl.h"
#include "kernels/simd_int8.h"

/* MR_OF_v is MR for a micropanel of v vectors: the sums fill the registers that the v vectors of
 * packed B and one broadcast element of A leave. */
enum {
#if defined(SV_32_REGISTERS)
    MR_OF_4 = 6,
    MR_OF_3 = 8,
    SMALL_M_MR_OF_3 = 9, /* a ninth row: with a small M it saves reading packed B once more */
    MR_OF_2 = 8,
    MR_OF_1 = 8,
#elif defined(__AVX2__) && !defined(SV_INTEGER_SUMS)
    MR_OF_3 = 4,
    SMALL_M_MR_OF_3 = MR_OF_3,
    MR_OF_2 = 6,
    MR_OF_1 = 8,
#elif defined(__AVX2__)
    MR_OF_3 = 3, /* a product needs a register of its own before it is added */
    SMALL_M_MR_OF_3 = MR_OF_3,
    MR_OF_2 = 5,
    MR_OF_1 = 8,
#else
    MR_OF_3 = 2, /* likewise without FMA */
    SMALL_M_MR_OF_3 = MR_OF_3,
#if defined(__wasm_simd128__)
    MR_OF_2 = 4, /* of the widest micropanel there; numbers of tokens are often multiples of 4 */
#else
    MR_OF_2 = 3,
#endif
    MR_OF_1 = 4,
#endif
    MAX_MR = 9,
#if defined(__wasm__)
    HAS_PREFETCH = 0, /* WebAssembly has no instruction for it */
#else
    HAS_PREFETCH = 1,
#endif
    PREFETCH_A_AHEAD = 8,   /* columns of A that its prefetch is ahead of its use */
    PREFETCH_B_AHEAD = 8192 /* bytes that a sequential prefetch of packed B is ahead of its use,
                               farther than the hardware prefetchers go */
};

/* The sums of a microtile. */
#include "gemm/tile/tile_matrix_impl.h"

/* Which stride of A is 1. A constant stride saves address arithmetic in the inner loop. */
typedef enum a_layout {
    A_ROW_MAJOR,    /* column_stride */
    A_COLUMN_MAJOR, /* row_stride: A is the transpose of a row-major matrix */
    A_ANY           /* either one; both are read at run time */
} a_layout;

/* The parameters of a microkernel, all constants where the functions below are inlined. */
typedef struct tile_form {
    size_t rows, vectors;
    sv_packed_type type;
    a_layout layout;
    bool stores_registers; /* the sums are stored from registers by unrolled code; otherwise they go
                              through an array and one shared function, which is smaller and slower
                            */
} tile_form;

/* Loads LANES elements of one row of a micropanel, widened to reals. bf16 has two rows in one
 * vector; `second` selects the second of them. */
SV_INLINE vreal load_b(const char *from, const sv_packed_type type, const int second)
{
#ifndef SV_DOUBLE
    if (type == SV_PACKED_BF16)
        return second ? v_load_second(from) : v_load_first(from);
    if (type == SV_PACKED_INT8X2)
        return v_load_byte_pairs(from);
#endif
    (void)type;
    (void)second;
    return *(const vreal *)from;
}

/* sum + a * b. A lane of bf16x2, int8x2 or int8x4 holds 2 or 4 steps of k, whose dot product is
 * added. */
SV_INLINE vsums multiply_add(vsums sum, vreal a, vreal b, const sv_packed_type type)
{
#ifdef SV_INTEGER_SUMS
#if defined(__AVX512VNNI__)
    if (type == SV_PACKED_INT8X4)
        return (vsums)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
#elif defined(__ARM_FEATURE_DOTPROD)
    if (type == SV_PACKED_INT8X4_SIGNED)
        return (vsums)vdotq_s32((int32x4_t)sum, (int8x16_t)a, (int8x16_t)b);
#endif
    (void)type;
    return v_add_pair_products(sum, (vlane)a, (vlane)b);
#else
#if defined(__AVX512BF16__) && !defined(SV_DOUBLE)
    if (type == SV_PACKED_BF16X2)
        return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
#endif
    (void)type;
    return sum + a * b;
#endif
}

/* sum[rows, vectors] += a[rows, 1] b[1, vectors] */
SV_INLINE void add_step(vsums sum[MAX_MR][MAX_VECTORS], const real *a, size_t row_stride,
                        const char *panel, const tile_form form, const int second)
{
    vreal b[MAX_VECTORS];
    SV_REGISTERS
    for (size_t v = 0; v < form.vectors; v++)
        b[v] = load_b(panel + v * vector_bytes(form.type), form.type, second);
    SV_REGISTERS
    for (size_t r = 0; r < form.rows; r++) {
        vreal broadcast = v_set(a[r * row_stride]);
        SV_REGISTERS
        for (size_t v = 0; v < form.vectors; v++)
            sum[r][v] = multiply_add(sum[r][v], broadcast, b[v], form.type);
    }
}

/* The stride from one row of A to the next, a constant if the layout is known. */
SV_INLINE size_t row_stride(const tile_operands *operands, const tile_form form)
{
    return form.layout == A_COLUMN_MAJOR ? 1 : operands->row_stride;
}

/* The same from one column to the next. */
SV_INLINE size_t column_stride(const tile_operands *operands, const tile_form form)
{
    return form.layout == A_ROW_MAJOR ? rows_together(form.type) : operands->column_stride;
}

/* sum += a b for the steps of k that lie together in the micropanel. */
SV_INLINE void add_steps(vsums sum[MAX_MR][MAX_VECTORS], const real *a,
                         const tile_operands *operands, const char *panel, const tile_form form)
{
    if (rows_together(form.type) > 1) {
        matrix_add_step(sum, a, row_stride(operands, form), panel, form.rows, form.vectors,
                        form.type);
        return;
    }
    add_step(sum, a, row_stride(operands, form), panel, form, 0);
    if (steps_interleaved(form.type) > 1)
        add_step(sum, a + column_stride(operands, form), row_stride(operands, form), panel, form,
                 1);
}

/* Prefetches one cache line of each of `streams` streams, which are `stride` bytes apart. */
SV_INLINE void prefetch_streams(const char *from, size_t stride, size_t streams)
{
    SV_NOT_UNROLLED
    for (size_t i = 0; i < streams; i++, from += stride)
        __builtin_prefetch(from);
}

/* Prefetches as much as the next `steps` steps of k read: these are `bytes` bytes of packed B.
 * `at` is the offset in each stream of an interleaved prefetch. */
SV_INLINE void prefetch_ahead(const tile_operands *operands, const tile_form form, const real *a,
                              const char *panel, size_t steps, size_t bytes, size_t at)
{
    if (form.layout == A_COLUMN_MAJOR || operands->prefetch == PREFETCH_A) {
        a += PREFETCH_A_AHEAD * operands->column_stride;
        SV_NOT_UNROLLED
        for (size_t i = 0; i < steps; i++, a += operands->column_stride)
            __builtin_prefetch(a);
    } else if (operands->prefetch == PREFETCH_SEQUENTIAL) {
        SV_NOT_UNROLLED
        for (size_t i = 0; i < bytes; i += LINE)
            __builtin_prefetch(panel + PREFETCH_B_AHEAD + i, 0, 2);
    } else if (at < operands->stream_stride) {
        prefetch_streams(operands->next + at, operands->stream_stride,
                         PREFETCH_STREAMS * form.vectors);
    }
}

/* sum[rows, vectors] += a[rows, range] b[range, vectors], where range is a range of k. The loop is
 * unrolled in rounds: one prefetch, then `steps` steps of k. Single steps follow for what is left.
 */
SV_INLINE void add_range(vsums sum[MAX_MR][MAX_VECTORS], const tile_operands *operands,
                         const tile_form form, const tile_range *range)
{
    const size_t interleaved = steps_interleaved(form.type);
    const size_t bytes = form.vectors * vector_bytes(form.type);
    const size_t rounds = UNROLL * LANES * sizeof(real) / vector_bytes(form.type);
    const size_t steps = rounds * interleaved;
    const size_t unroll = rounds < UNROLL || element_bytes(form.type) < 4 ? 1 : UNROLL;
    const size_t stride = column_stride(operands, form);
    const real *a = operands->a + range->first * stride;
    const char *panel = operands->panel + range->first / interleaved * bytes;
    size_t rest = range->count;
    for (size_t at = 0; rest >= steps; rest -= steps, at += LINE) {
        if (HAS_PREFETCH && (form.layout == A_COLUMN_MAJOR ||
                             __builtin_expect(operands->prefetch != PREFETCH_NOTHING, 0)))
            prefetch_ahead(operands, form, a, panel, steps, rounds * bytes, at);
        SV_NOT_UNROLLED
        for (size_t i = 0; i < rounds; i += unroll) {
            SV_UNROLLED(UNROLL)
            for (size_t u = 0; u < unroll; u++, a += interleaved * stride, panel += bytes)
                add_steps(sum, a, operands, panel, form);
        }
    }
    SV_NOT_UNROLLED
    for (; rest >= interleaved; rest -= interleaved, a += interleaved * stride, panel += bytes)
        add_steps(sum, a, operands, panel, form);
    if (form.type == SV_PACKED_BF16 && rest)
        add_step(sum, a, row_stride(operands, form), panel, form, 0);
}

static const real ZEROS[MAX_VECTORS * LANES];

/* before + the sum of row r and vector v as reals: an integer, less the zero point of an int8x4,
 * times the scales of column and row. The last step rounds once on every CPU, so that int8 has one
 * result. */
SV_INLINE vreal add_sums(vreal before, vsums sum, const tile_operands *operands,
                         const sv_packed_type type, size_t r, size_t v)
{
#ifdef SV_INTEGER_SUMS
    vlane whole = sum;
    if (type == SV_PACKED_INT8X4)
        whole -= *(const vlane *)(const void *)(operands->zero_points + v * LANES);
    vreal value = __builtin_convertvector(whole, vreal) * v_load(operands->scales + v * LANES);
    return v_multiply_add_once(value, v_set(operands->row_scales[r]), before);
#else
    (void)operands;
    (void)type;
    (void)r;
    (void)v;
    return before + sum;
#endif
}

/* Whether sums need no scale and no other order at the end, so that they can start at the bias or
 * at C instead of 0. */
SV_INLINE int starts_at_before(const sv_packed_type type)
{
#ifdef SV_INTEGER_SUMS
    (void)type;
    return 0;
#else
    return rows_together(type) == 1;
#endif
}

/* c = before + the sum of row r and vector v + residual, for the lanes `some`. */
SV_INLINE void store_vector(real *c, const real *before, const real *residual, vsums sum,
                            const tile_operands *operands, const sv_packed_type type, size_t r,
                            size_t v, vsome some)
{
    vreal value = add_sums(v_load_lanes(before, some), sum, operands, type, r, v);
    if (residual)
        value += v_load_lanes(residual, some);
    v_store_lanes(c, value, some);
}

/* c[rows, width] = before[rows, width] + sum[rows, vectors] + residual, from registers. Without
 * masks of lanes `width` is that of all vectors. */
SV_INLINE void store_registers(real *c, size_t ldc, vsums sum[MAX_MR][MAX_VECTORS],
                               const tile_operands *operands, const tile_form form, size_t width,
                               const real *before, size_t before_stride, const real *residual)
{
    vsome some[MAX_VECTORS];
    SV_REGISTERS
    for (size_t v = 0; v < form.vectors; v++)
        some[v] = v_some(SV_HAS_LANE_MASKS ? width - v * LANES : LANES);
    SV_UNROLLED(MAX_MR)
    for (size_t r = 0; r < form.rows; r++, c += ldc, before += before_stride) {
        SV_UNROLLED(MAX_VECTORS)
        for (size_t v = 0; v < form.vectors; v++)
            store_vector(c + v * LANES, before + v * LANES,
                         residual ? residual + r * ldc + v * LANES : NULL, sum[r][v], operands,
                         form.type, r, v, some[v]);
    }
}

/* The same for sums in memory: the shared function for all microkernels that do not store from
 * registers. */
static SV_NOT_INLINED void store_array(real *c, size_t ldc, const vsums *sum,
                                       const tile_operands *operands, tile_form form, size_t width,
                                       const real *before, size_t before_stride)
{
    const real *residual = operands->residual;
    for (size_t r = 0; r < form.rows; r++, c += ldc, before += before_stride)
        for (size_t v = 0; v < form.vectors; v++, sum++)
            store_vector(c + v * LANES, before + v * LANES,
                         residual ? residual + r * ldc + v * LANES : NULL, *sum, operands,
                         form.type, r, v, v_some(width - v * LANES));
}

/* The first values of the sums: the bias or C where they can start there, else 0. */
SV_INLINE void start_sums(vsums sum[MAX_MR][MAX_VECTORS], const real *c, size_t ldc,
                          const tile_operands *operands, const tile_form form, size_t width,
                          tile_before before)
{
    const size_t together = rows_together(form.type);
    const size_t rows = (form.rows + together - 1) / together * together;
    const bool starts = starts_at_before(form.type);
    if (starts && __builtin_expect(before == TILE_CONTINUE, 0)) {
        SV_UNROLLED(MAX_MR)
        for (size_t r = 0; r < rows; r++)
            SV_UNROLLED(MAX_VECTORS)
        for (size_t v = 0; v < form.vectors; v++)
            sum[r][v] = (vsums)v_load_lanes(c + r * ldc + v * LANES, v_some(width - v * LANES));
        return;
    }
    SV_UNROLLED(MAX_VECTORS)
    for (size_t v = 0; v < form.vectors; v++) {
        vsums first = {0};
        if (starts && before == TILE_REPLACE && operands->bias)
            first = (vsums)v_load_lanes(operands->bias + v * LANES, v_some(width - v * LANES));
        SV_UNROLLED(MAX_MR)
        for (size_t r = 0; r < rows; r++)
            sum[r][v] = first;
    }
}

/* c[rows, width] = sum[rows, vectors] + residual, and the bias or C where sums could not start
 * there. */
SV_INLINE void store_microtile(real *c, size_t ldc, vsums sum[MAX_MR][MAX_VECTORS],
                               const tile_operands *operands, const tile_form form, size_t width,
                               tile_before what)
{
    const bool starts = starts_at_before(form.type);
    const bool adds = starts ? what == TILE_ADD : what != TILE_REPLACE;
    const real *bias = starts ? NULL : operands->bias;
    const real *before = adds ? c : bias ? bias : ZEROS;
    const size_t stride = adds ? ldc : 0;
    const bool registers =
        form.stores_registers && (SV_HAS_LANE_MASKS || width == form.vectors * LANES);
    if (registers && operands->residual) {
        store_registers(c, ldc, sum, operands, form, width, before, stride, operands->residual);
        return;
    }
    if (registers) {
        store_registers(c, ldc, sum, operands, form, width, before, stride, NULL);
        return;
    }
    vsums copy[MAX_MR * MAX_VECTORS];
    SV_UNROLLED(MAX_MR)
    for (size_t r = 0; r < form.rows; r++) {
        SV_UNROLLED(MAX_VECTORS)
        for (size_t v = 0; v < form.vectors; v++)
            copy[r * form.vectors + v] = sum[r][v];
    }
    store_array(c, ldc, copy, operands, form, width, before, stride);
}

/* Prefetches c[rows, columns] for writing. Without it the stores at the end would miss the cache
 * one after the other. */
static SV_NOT_INLINED void prefetch_c(const real *c, size_t ldc, size_t rows, size_t columns)
{
    for (size_t r = 0; r < rows; r++, c += ldc)
        for (size_t j = 0; j < columns; j += LINE / sizeof(real))
            __builtin_prefetch(c + j, 1);
}

/* c[rows, width] = bias + (or c +) a[rows, k] b[k, width] + residual, over the steps of k in
 * operands->ranges. */
SV_INLINE void multiply_microtile(real *c, size_t ldc, const tile_operands *operands,
                                  const tile_form form, size_t width, tile_before before)
{
    vsums sum[MAX_MR][MAX_VECTORS];
    if (HAS_PREFETCH && operands->c_not_in_cache)
        prefetch_c(c, ldc, form.rows, width);
    start_sums(sum, c, ldc, operands, form, width, before);
    const tile_range *end = operands->ranges + operands->range_count;
    for (const tile_range *range = operands->ranges; range < end; range++)
        add_range(sum, operands, form, range);
    if (rows_together(form.type) > 1)
        matrix_order_sums(sum, form.rows, form.vectors);
    store_microtile(c, ldc, sum, operands, form, width, before);
}

/* Defines one microkernel. It is a function of its own, so that compilers keep all sums in
 * registers. */
#define TILE_MICROKERNEL(name, rows, vectors, type, layout, stores_registers)                      \
    static void name(real *c, size_t ldc, const tile_operands *operands, size_t width,             \
                     tile_before before)                                                           \
    {                                                                                              \
        const tile_form form = {rows, vectors, type, layout, stores_registers};                    \
        multiply_microtile(c, ldc, operands, form, width, before);                                 \
    }

#endif
