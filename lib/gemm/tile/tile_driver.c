/* The driver of the tile backend: it cuts c[m, n] = a[m, k] b[k, n] into K blocks and micropanels
 * of B, reuses each of them while it is in cache, and applies the epilogue. Elements of B narrower
 * than float32 are widened in registers, which costs little where reading them takes the time.
 * Plain reference: tests/reference/reference_matmul.c. */
#include "gemm/tile/tile_microkernel_list_impl.h"
#include "gemm/tile/tile_zero_skipping.h"

#include <assert.h>

enum {
    /* KC, the steps of k of a K block. The larger it is, the less often C is read and written. With
     * interleaved prefetch it is smaller, because a K block of a micropanel (36 KiB for 48 columns
     * of float32) shares the caches with the next one, which is prefetched. The bits are the same,
     * since the sums of a K block continue from those before. */
    KC = 768,
    KC_INTERLEAVED = 192,
    MC = 72 /* rows that go through the epilogue at once: a multiple of every MR; fits L1 */
};

TILE_MICROKERNELS(f32, SV_PACKED_F32)
TILE_COLUMN_MAJOR_MICROKERNELS(f32, SV_PACKED_F32)
#ifdef SV_LOW_PRECISION
TILE_WIDENING_MICROKERNELS(bf16, SV_PACKED_BF16)
#endif

/* By type of packed B, whether A is column-major, and number of vectors. A is row-major where B is
 * widened. */
static const tile_microkernels MICROKERNELS[][2][MAX_VECTORS + 1] = {
    [SV_PACKED_F32] = {TILE_MICROKERNEL_LIST(f32), TILE_COLUMN_MAJOR_LIST(f32)},
#ifdef SV_LOW_PRECISION
    [SV_PACKED_BF16] = {TILE_WIDENING_MICROKERNEL_LIST(bf16)},
    [SV_PACKED_F32_ROUNDED] = {TILE_MICROKERNEL_LIST(f32), TILE_COLUMN_MAJOR_LIST(f32)},
#endif
};

/* Bytes from one stream of an interleaved prefetch to the next, a whole number of cache lines. The
 * streams, PREFETCH_STREAMS for each vector of a micropanel, cover `bytes` bytes from `next` on, or
 * those up to `end` if they are fewer. */
static size_t stream_stride(const char *next, const char *end, size_t vectors, size_t bytes)
{
    const size_t streams = PREFETCH_STREAMS * vectors, left = (size_t)(end - next);
    bytes = bytes < left ? bytes : left;
    return (bytes + streams * LINE - 1) / (streams * LINE) * LINE;
}

/* When the epilogue is applied to C. */
typedef enum tile_epilogue {
    IN_REGISTERS, /* before the sums are stored, if it is a residual and nothing else */
    BY_STRIPE,    /* to MC rows of a column stripe, while they are in cache */
    BY_ROW        /* to whole rows after the matmul, if the epilogue reads or writes other matrices:
                     whole rows use the memory bandwidth better than stripes */
} tile_epilogue;

static tile_epilogue epilogue_place(const sv_epilogue *e)
{
    if (is_residual_only(e))
        return IN_REGISTERS;
    return e->save_pre_gelu || e->pre_gelu ? BY_ROW : BY_STRIPE;
}

/* Applies the epilogue to rows row.. and columns first.. of C. */
static void apply_epilogue(const sv_tile_matmul *matmul, size_t row, size_t rows, size_t first,
                           size_t count)
{
    SV_ISA(sv_apply_epilogue)(matmul->c, matmul->ldc, matmul->epilogue, row, rows, first, count);
}

/* One call of sv_tile_matmul: columns first..first+count-1 of C. */
typedef struct tile_call {
    const sv_tile_matmul *matmul;
    sv_packed_type type;
    tile_epilogue epilogue;
    size_t m, first, count;
    bool small_m;                 /* reading packed B from memory takes most of the time */
    tile_prefetch prefetch;       /* what the microkernels prefetch */
    const char *end;              /* end of packed B of these columns */
    tile_zero_skipping *skipping; /* of the current K block; NULL: none */
} tile_call;

/* A K block: steps p..p+depth-1 of k. */
typedef struct k_block {
    size_t p, depth;
    bool last;
} k_block;

/* A micropanel of packed B: columns first..first+width-1, for all k. */
typedef struct tile_panel {
    const char *elements;
    size_t first, width, vectors;
} tile_panel;

/* What the microkernels get for one micropanel and one K block. `range` is the whole K block. */
static tile_operands operands_of(const tile_call *call, const k_block *block,
                                 const tile_panel *panel, const tile_range *range)
{
    const sv_tile_matmul *matmul = call->matmul;
    const sv_epilogue *e = matmul->epilogue;
    const size_t lanes = panel->vectors * LANES, step = lanes * element_bytes(call->type);
    const bool residual = e && e->residual && call->epilogue == IN_REGISTERS && block->last;
    tile_operands operands = {.a = matmul->a + block->p * matmul->column_stride,
                              .row_stride = matmul->row_stride,
                              .column_stride = matmul->column_stride,
                              .panel = panel->elements + panel_bytes(call->type, 0, lanes) +
                                       block->p * step,
                              .ranges = range,
                              .range_count = 1,
                              .bias = matmul->bias ? matmul->bias + panel->first : NULL,
                              .residual = residual ? e->residual + panel->first : NULL,
                              .scales = (const real *)(const void *)panel->elements,
                              .c_not_in_cache = e && e->not_in_cache && block->p == 0,
                              .prefetch = call->prefetch};
    operands.next = operands.panel + block->depth * step;
    if (call->prefetch == PREFETCH_INTERLEAVED)
        operands.stream_stride =
            stream_stride(operands.next, call->end, panel->vectors, KC_INTERLEAVED * step);
    return operands;
}

/* Computes the column stripe of one micropanel, for all m rows. If the epilogue is applied by
 * stripe, the last K block takes MC rows at a time and applies it to them at once. */
static void multiply_panel(const tile_call *call, const k_block *block, const tile_panel *panel)
{
    const sv_tile_matmul *matmul = call->matmul;
    const tile_zero_skipping *skipping = call->skipping;
    const tile_microkernels *kernels =
        &MICROKERNELS[call->type][matmul->column_stride != 1][panel->vectors];
    const tile_range range = {0, block->depth};
    tile_operands operands = operands_of(call, block, panel, &range);
    const bool corrects = skipping && skipping->zeros->correction && block->p == 0;
    const bool ends = call->epilogue == BY_STRIPE && block->last;
    const size_t mc =
        skipping && skipping->period ? SV_ISA(sv_zero_skipping_rows)(skipping, MC) : MC;
    const size_t most = ends ? mc : call->m;
    tile_stripe stripe = {.c = matmul->c + panel->first,
                          .ldc = matmul->ldc,
                          .first = panel->first,
                          .width = panel->width,
                          .before = block->p > 0                     ? TILE_CONTINUE
                                    : matmul->accumulate || corrects ? TILE_ADD
                                                                     : TILE_REPLACE,
                          .adds_correction = corrects};
    for (; stripe.row < call->m; stripe.row += stripe.rows) {
        stripe.rows = call->m - stripe.row < most ? call->m - stripe.row : most;
        if (skipping)
            SV_ISA(sv_zero_skipping_multiply)(skipping, kernels, &stripe, &operands);
        else
            multiply_rows(kernels, call->small_m, stripe.c, stripe.ldc, &operands, stripe.rows,
                          stripe.width, stripe.before);
        if (ends)
            apply_epilogue(matmul, stripe.row, stripe.rows, stripe.first, stripe.width);
        stripe.c += stripe.rows * stripe.ldc;
        advance_rows(&operands, stripe.rows, stripe.ldc);
    }
}

/* The steps of k of a K block. It is the same on all CPUs if the sums of the first are added to C
 * instead of starting there. */
static size_t steps_of_k(const tile_call *call)
{
    const sv_tile_matmul *matmul = call->matmul;
    const bool adds =
        matmul->accumulate || (call->skipping && call->skipping->zeros->correction != NULL);
    return matmul->interleaved_prefetch && !adds ? KC_INTERLEAVED : KC;
}

/* All K blocks of a call. Each micropanel's K block is used by all rows while it is in cache. */
static void multiply_panels(const tile_call *call)
{
    const sv_tile_matmul *matmul = call->matmul;
    const size_t k = matmul->k, kc = steps_of_k(call);
    for (size_t p = 0; p < k; p += kc) {
        const size_t depth = k - p < kc ? k - p : kc;
        const k_block block = {p, depth, p + depth == k};
        if (call->skipping)
            SV_ISA(sv_zero_skipping_find)(call->skipping, p, depth);
        tile_panel panel = {(const char *)matmul->packed + panel_bytes(call->type, k, call->first),
                            call->first, 0, 0};
        for (size_t left = call->count; left > 0; left -= panel.width) {
            panel.vectors = panel_vectors(left);
            const size_t lanes = panel.vectors * LANES;
            panel.width = left < lanes ? left : lanes;
            multiply_panel(call, &block, &panel);
            panel.elements += panel_bytes(call->type, k, lanes);
            panel.first += panel.width;
        }
    }
}

/* Prefetches the first K block of the first micropanel, in as many streams as the microkernel of
 * the widest micropanel does. */
static void prefetch_first(const char *from, const char *end)
{
    const size_t stride =
        stream_stride(from, end, MAX_VECTORS, KC_INTERLEAVED * MAX_VECTORS * SV_VECTOR_BYTES);
    for (size_t at = 0; at < stride; at += LINE)
        prefetch_streams(from + at, stride, PREFETCH_STREAMS * MAX_VECTORS);
}

/* With a small M, all K blocks of one micropanel come before the next micropanel, so that packed B
 * is read in order of address. */
static void multiply_small_m(const tile_call *call)
{
    const sv_tile_matmul *matmul = call->matmul;
    const size_t end = call->first + call->count;
    tile_call panel = *call;
    if (matmul->interleaved_prefetch)
        prefetch_first((const char *)matmul->packed +
                           panel_bytes(call->type, matmul->k, call->first),
                       call->end);
    for (; panel.first < end; panel.first += panel.count) {
        const size_t lanes = panel_vectors(end - panel.first) * LANES;
        panel.count = lanes < end - panel.first ? lanes : end - panel.first;
        multiply_panels(&panel);
    }
}

/* Each element of C is summed in the order of k, whatever m, first and count are. */
void SV_ISA(sv_tile_matmul)(const sv_tile_matmul *matmul, sv_packed_type type, size_t m,
                            size_t first, size_t count)
{
    const size_t past = (first + count + LANES - 1) / LANES * LANES;
    const char *from = (const char *)matmul->packed + panel_bytes(type, matmul->k, first);
    const char *end = (const char *)matmul->packed + panel_bytes(type, matmul->k, past);
    const size_t bytes = (size_t)(end - from);
    const bool interleaved = matmul->interleaved_prefetch;
    const sv_epilogue *epilogue = matmul->epilogue;
    assert(matmul->column_stride == 1 || element_bytes(type) == sizeof(real));
    tile_call call = {.matmul = matmul,
                      .type = type,
                      .epilogue = epilogue_place(epilogue),
                      .m = m,
                      .first = first,
                      .count = count,
                      .small_m = matmul->column_stride == 1 && m <= SV_SMALL_M_KERNEL_ROWS &&
                                 bytes > B_IN_CACHE,
                      .end = end};
    if (matmul->column_stride != 1)
        call.prefetch = PREFETCH_A;
    else if (prefetches_sequentially(m, bytes, interleaved))
        call.prefetch = PREFETCH_SEQUENTIAL;
    if (call.small_m && interleaved)
        call.prefetch = PREFETCH_INTERLEAVED;
    tile_zero_skipping skipping;
    if (epilogue && epilogue->zeros) {
        const bool can_skip =
            call.prefetch != PREFETCH_A && !call.small_m && element_bytes(type) == sizeof(real);
        SV_ISA(sv_zero_skipping_plan)
        (&skipping, epilogue->zeros, m, epilogue->first_token, can_skip);
        call.skipping = &skipping;
    }
    if (call.small_m)
        multiply_small_m(&call);
    else
        multiply_panels(&call);
    if (call.epilogue == BY_ROW)
        apply_epilogue(matmul, 0, m, first, count);
}
