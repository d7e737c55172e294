/* Products of bytes by the vector unit's dot products of four. The sums are exact, so their bits
 * are those of AMX. */
#define SV_INTEGER_SUMS
#include "gemm/avx512/dot_backend_impl.h"
#include "gemm/avx512/int8.h"

enum { QUAD = 4 };

TILE_MICROKERNELS(int8x4, SV_PACKED_INT8X4)
static const tile_microkernels MICROKERNELS[] = TILE_MICROKERNEL_LIST(int8x4);

/* 16 columns from number `first` of a panel. */
static void put_columns(const dot_panel *panel, size_t first, const unit_rows *units, size_t count,
                        const float factors[UNIT], const int32_t offsets[UNIT])
{
    float *to = panel->words + first;
    memcpy(to, factors, UNIT * sizeof *factors);
    memcpy(to + panel->lanes, offsets, UNIT * sizeof *offsets);
    for (size_t s = 0; s < count; s++)
        for (size_t q = 0; q < UNIT; q++)
            _mm512_storeu_si512(to + (2 + s * UNIT + q) * panel->lanes, units[s].rows[q]);
}

static void pack_quads(const dot_panel *panel, const sv_gemm_b *b, size_t first, size_t p)
{
    unit_rows units[CUT_UNITS];
    float factors[UNIT];
    int32_t offsets[UNIT];
    size_t depth = sv_size_min(b->k - p, CUT), count = (depth + UNIT_BYTES - 1) / UNIT_BYTES;
    for (size_t j = 0; j < panel->lanes; j += UNIT) {
        size_t width = j < panel->width ? panel->width - j : 0;
        unit_source from = {b->b + (first + j) * b->column_stride + p * b->row_stride,
                            b->column_stride, b->row_stride, width, depth};
        int8_make_columns(units, factors, offsets, &from);
        put_columns(panel, j, units, count, factors, offsets);
    }
}

/* The bytes of a row side by side, whole units of k. */
static dot_left make_quads(float *lanes, float *factors, const sv_gemm_a *a, const dot_part *part,
                           size_t k)
{
    dot_left left = {lanes, factors, dot_rounded(part->depth, UNIT_BYTES) / QUAD, 1, part->rows};
    for (size_t p = 0; p < part->depth; p += CUT, factors += part->rows)
        for (size_t i = 0; i < part->rows; i += UNIT) {
            size_t at = part->p + p, count = sv_size_min(part->rows - i, UNIT);
            unit_source from = {a->a + (part->i + i) * a->row_stride + at * a->column_stride,
                                a->row_stride, a->column_stride, count, k - at};
            int8_place place = {(char *)(lanes + i * left.row) + p, left.row * QUAD, UNIT_BYTES};
            float made[UNIT];
            int8_make(place, made, &from, 0x80);
            memcpy(factors + i, made, count * sizeof *made);
        }
    return left;
}

static const dot_kind QUADS = {.numbers = QUAD,
                               .whole = UNIT,
                               .cut = CUT / QUAD,
                               .header = 2,
                               .pack = pack_quads,
                               .make = make_quads,
                               .microkernels = MICROKERNELS};

SV_DOT_BACKEND_FUNCTIONS(vnni_int8, QUADS)

static size_t packed_a_bytes(size_t m, size_t k)
{
    return dot_left_bytes(&QUADS, m, k);
}

static void pack_a(const sv_gemm_a *a, size_t m, size_t k, void *made)
{
    dot_make_left(&QUADS, a, m, k, made);
}

const sv_gemm sv_gemm_vnni_int8 = {
    "vnni-int8",   vnni_int8_bytes, vnni_int8_pack, vnni_int8_multiply,
    &sv_gemm_tile, packed_a_bytes,  pack_a,         false};
