/* The tile backends, one for each storage type of packed B. */
#include "gemm/gemm.h"
#include "gemm/tile/tile_kernels.h"
#include "kernels/isa.h"

#define TILE_KERNELS_DECLARATION(suffix, isa) extern const sv_tile_kernels sv_tile_kernels_##suffix;
SV_ISA_LIST(TILE_KERNELS_DECLARATION)

const sv_tile_kernels *sv_tile_kernels_of(const sv_kernels *kernels)
{
#define TILE_KERNELS_ENTRY(suffix, isa) [isa] = &sv_tile_kernels_##suffix,
    static const sv_tile_kernels *const TILE_KERNELS[] = {SV_ISA_LIST(TILE_KERNELS_ENTRY)};
    return TILE_KERNELS[kernels->isa];
}

/* The micropanels of the group that starts at column `first`. */
static char *group_panels(sv_packed_type type, const sv_kernels *kernels, const sv_gemm_b *b,
                          size_t first)
{
    return (char *)b->packed + sv_tile_kernels_of(kernels)->packed_b_bytes(type, b->k, first);
}

static void pack_as(sv_packed_type type, const sv_kernels *kernels, const sv_gemm_b *b)
{
    size_t group = sv_gemm_split_columns(b);
    for (size_t j = 0; j < b->n; j += group)
        sv_tile_kernels_of(kernels)->pack_b(group_panels(type, kernels, b, j), type,
                                            b->b + j * b->column_stride, b->row_stride,
                                            b->column_stride, b->k, group);
}

/* The epilogue of the columns from `first` on. */
static sv_epilogue epilogue_from(const sv_epilogue *all, size_t first)
{
    sv_epilogue e = *all;
    e.dropout.mask = all->dropout.mask ? all->dropout.mask + first : NULL;
    e.save_pre_gelu = all->save_pre_gelu ? all->save_pre_gelu + first : NULL;
    e.residual = all->residual ? all->residual + first : NULL;
    e.pre_gelu = all->pre_gelu ? all->pre_gelu + first : NULL;
    e.hidden = all->hidden ? all->hidden + first : NULL;
    return e;
}

/* The matmul of columns first..first+count-1, group by group. */
static void matmul_as(sv_packed_type type, const sv_kernels *kernels, const sv_gemm_c *c,
                      const sv_gemm_a *a, const sv_gemm_b *b, size_t m, size_t first, size_t count)
{
    size_t group = sv_gemm_split_columns(b);
    for (size_t end = first + count, columns; first < end; first += columns) {
        size_t offset = first % group, start = first - offset;
        columns = sv_size_min(end - first, group - offset);
        sv_epilogue epilogue = {0};
        if (c->epilogue)
            epilogue = epilogue_from(c->epilogue, start);
        sv_tile_matmul matmul = {.c = c->c + start,
                                 .ldc = c->ldc,
                                 .accumulate = c->accumulate,
                                 .bias = c->bias ? c->bias + start : NULL,
                                 .a = a->a,
                                 .row_stride = a->row_stride,
                                 .column_stride = a->column_stride,
                                 .packed = group_panels(type, kernels, b, start),
                                 .k = b->k,
                                 .epilogue = c->epilogue ? &epilogue : NULL,
                                 .interleaved_prefetch = sv_cpu_prefers_interleaved_reads()};
        sv_tile_kernels_of(kernels)->matmul(&matmul, type, m, offset, columns);
    }
}

#define TILE_BACKEND(symbol, text, type, corrects)                                                 \
    static size_t symbol##_packed_b_bytes(const sv_kernels *kernels, size_t k, size_t n)           \
    {                                                                                              \
        return sv_tile_kernels_of(kernels)->packed_b_bytes(type, k, n);                            \
    }                                                                                              \
    static void symbol##_pack_b(const sv_kernels *kernels, const sv_gemm_b *b)                     \
    {                                                                                              \
        pack_as(type, kernels, b);                                                                 \
    }                                                                                              \
    static void symbol##_matmul(const sv_kernels *kernels, const sv_gemm_c *c, const sv_gemm_a *a, \
                                const sv_gemm_b *b, size_t m, size_t first, size_t count)          \
    {                                                                                              \
        matmul_as(type, kernels, c, a, b, m, first, count);                                        \
    }                                                                                              \
    const sv_gemm symbol = {                                                                       \
        .name = text,                                                                              \
        .packed_b_bytes = symbol##_packed_b_bytes,                                                 \
        .pack_b = symbol##_pack_b,                                                                 \
        .matmul = symbol##_matmul,                                                                 \
        .activations = &sv_gemm_tile,                                                              \
        .adds_correction = corrects,                                                               \
    }

TILE_BACKEND(sv_gemm_tile, "tile", SV_PACKED_F32, true);
#ifdef SV_LOW_PRECISION
TILE_BACKEND(sv_gemm_tile_bf16, "tile-bf16", SV_PACKED_BF16, false);
TILE_BACKEND(sv_gemm_tile_bf16_as_f32, "tile-bf16", SV_PACKED_F32_ROUNDED, false);
#endif
