/* The normal distribution by piecewise polynomials. Every instruction set has the same ones, so
 * that GELU has the same bits wherever there are fused multiply-adds. */
#ifndef SV_NORMAL_PIECES_H
#define SV_NORMAL_PIECES_H

#include "kernels/simd.h"
#include "kernels/transpose.h"

enum { PIECES = 16, PIECE_TERMS = 6 };
#define PIECES_PER_UNIT 2.5f /* a piece is 0.4 wide */

/* The center of the last piece, whose polynomials are 0. */
#define PIECES_END 6.0f

/* Q(m) and phi(m). Line j of SV_TAIL_PIECES, and column j of DENSITY, is the polynomial of piece j
 * in r = PIECES_PER_UNIT * m - j, |r| <= 1/2, highest power first: a minimax fit of the relative
 * error. The relative error is below 1e-7 for m <= 1.8, below 1e-6 for m <= 3.4 and at most 6e-5;
 * the absolute error is below 1.5e-8 for Q and 2e-8 for phi. */
#define SV_TAIL_PIECES(P)                                                                          \
    P(-9.93202484e-05f, -2.13678663e-06f, 0.00425601937f, -8.13995129e-08f, -0.159576908f, 0.5f)   \
    P(-6.38283309e-05f, -0.000442064571f, 0.00329944165f, 0.0117842555f, -0.147308037f,            \
      0.344578266f)                                                                                \
    P(1.10737801e-05f, -0.000578984094f, 0.0011122193f, 0.0185398497f, -0.115876608f,              \
      0.211855412f)                                                                                \
    P(5.87117174e-05f, -0.000386424741f, -0.0009113712f, 0.0186417382f, -0.0776744187f,            \
      0.115069672f)                                                                                \
    P(5.42125454e-05f, -8.47889532e-05f, -0.00184554537f, 0.0141980024f, -0.0443683453f,           \
      0.0547992885f)                                                                               \
    P(2.24813175e-05f, 0.000113150076f, -0.00172752305f, 0.00863873959f, -0.0215963982f,           \
      0.0227501299f)                                                                               \
    P(-3.25489623e-06f, 0.000157171176f, -0.00113695743f, 0.00429984601f, -0.00895781815f,         \
      0.00819753483f)                                                                              \
    P(-1.16768142e-05f, 0.00011432774f, -0.000577518949f, 0.00177306985f, -0.00316618057f,         \
      0.00255513028f)                                                                              \
    P(-9.29208636e-06f, 5.91874523e-05f, -0.000235018917f, 0.000610303017f, -0.000953632756f,      \
      0.000687138236f)                                                                             \
    P(-4.76142031e-06f, 2.36421238e-05f, -7.80982227e-05f, 0.00017620709f, -0.000244758528f,       \
      0.000159108822f)                                                                             \
    P(-1.81158623e-06f, 7.54345365e-06f, -2.14314296e-05f, 4.2815409e-05f, -5.35309082e-05f,       \
      3.16713558e-05f)                                                                             \
    P(-5.39039718e-07f, 1.9585043e-06f, -4.89177773e-06f, 8.77611274e-06f, -9.97653751e-06f,       \
      5.41258305e-06f)                                                                             \
    P(-1.28701885e-07f, 4.18437452e-07f, -9.33336992e-07f, 1.5201515e-06f, -1.58438752e-06f,       \
      7.93338302e-07f)                                                                             \
    P(-2.50295145e-08f, 7.41152206e-08f, -1.49387674e-07f, 2.22806946e-07f, -2.14410747e-07f,      \
      9.96463214e-08f)                                                                             \
    P(-4.00322797e-09f, 1.0939722e-08f, -2.01118713e-08f, 2.76614145e-08f, -2.47247502e-08f,       \
      1.07179225e-08f)                                                                             \
    P(0, 0, 0, 0, 0, 0)

/* Vectors of four lanes have no permutation of 16 floats, except in NEON. There, a row of the table
 * has the terms of a piece, filled up to whole vectors; otherwise a term of all pieces. */
#if SV_LANES == 4 && !defined(__aarch64__)
#define SV_ROWS_ARE_PIECES
enum { TABLE_TERMS = 2 * SV_LANES };
typedef float table_row[TABLE_TERMS];
#define SV_ROW(a, b, c, d, e, f) {a, b, c, d, e, f},
static const table_row TAIL[PIECES] = {SV_TAIL_PIECES(SV_ROW)};
#else
enum { TABLE_TERMS = PIECE_TERMS };
typedef float table_row[PIECES];
#define SV_TERM_0(a, b, c, d, e, f) a,
#define SV_TERM_1(a, b, c, d, e, f) b,
#define SV_TERM_2(a, b, c, d, e, f) c,
#define SV_TERM_3(a, b, c, d, e, f) d,
#define SV_TERM_4(a, b, c, d, e, f) e,
#define SV_TERM_5(a, b, c, d, e, f) f,
static const table_row TAIL[PIECE_TERMS] = {
    {SV_TAIL_PIECES(SV_TERM_0)}, {SV_TAIL_PIECES(SV_TERM_1)}, {SV_TAIL_PIECES(SV_TERM_2)},
    {SV_TAIL_PIECES(SV_TERM_3)}, {SV_TAIL_PIECES(SV_TERM_4)}, {SV_TAIL_PIECES(SV_TERM_5)}};
#endif

#if defined(__AVX512F__)
static const table_row DENSITY[PIECE_TERMS] = {
    {-5.03450719e-05f, -0.000166990969f, -0.000175930443f, -5.19507521e-05f, 6.09814742e-05f,
     8.18444314e-05f, 4.23200036e-05f, 3.3449985e-06f, -1.12842299e-05f, -9.85663792e-06f,
     -4.95114045e-06f, -1.78391974e-06f, -4.94000233e-07f, -1.0857292e-07f, -1.92856486e-08f, 0},
    {0.0013047395f, 0.000805006188f, -0.000128161322f, -0.000729810097f, -0.000682592683f,
     -0.000289167889f, 3.57285535e-05f, 0.000145436032f, 0.000117770171f, 6.11106516e-05f,
     2.35291172e-05f, 7.08655216e-06f, 1.71356623e-06f, 3.37719001e-07f, 5.47777788e-08f, 0},
    {-7.26285271e-06f, 0.00446224492f, 0.00583358388f, 0.00387709378f, 0.000832832709f,
     -0.00115159282f, -0.00158202194f, -0.00114406552f, -0.000589161937f, -0.00023407847f,
     -7.42718476e-05f, -1.91716463e-05f, -4.07156176e-06f, -7.16754073e-07f, -1.05139229e-07f, 0},
    {-0.0319145322f, -0.0247471519f, -0.00834356621f, 0.00683452003f, 0.013842511f, 0.0129579408f,
     0.00852810126f, 0.00433148816f, 0.00176234276f, 0.000585443748f, 0.000160573923f,
     3.66249042e-05f, 6.98107306e-06f, 1.11594227e-06f, 1.49993809e-07f, 0},
    {-3.69289666e-08f, -0.0589232184f, -0.0927012786f, -0.0932092816f, -0.0709893256f,
     -0.0431927852f, -0.0214987677f, -0.0088653164f, -0.00305163395f, -0.000881135988f,
     -0.00021412583f, -4.38974748e-05f, -7.60524244e-06f, -1.11497377e-06f, -1.38465012e-07f, 0},
    {0.398942292f, 0.368270129f, 0.289691567f, 0.194186062f, 0.110920839f, 0.0539909638f,
     0.0223945267f, 0.00791544933f, 0.00238408777f, 0.000611902215f, 0.000133830486f,
     2.49425884e-05f, 3.96133601e-06f, 5.36112168e-07f, 6.18277909e-08f, 0},
};
#endif

#if defined(SV_ROWS_ARE_PIECES)
/* The terms of each lane's piece, whose number is in the lowest four bits of the lane. */
SV_INLINE void select_terms(vreal terms[TABLE_TERMS], const table_row *table, vreal index)
{
    const vlane piece = (vlane)index & (PIECES - 1);
    SV_REGISTERS
    for (size_t i = 0; i < LANES; i++) {
        terms[i] = v_load(table[piece[i]]);
        terms[LANES + i] = v_load(table[piece[i]] + LANES);
    }
    v_transpose(terms);
    v_transpose(terms + LANES);
}
#else
/* Each lane's element of the row, whose index is in the lowest four bits of the lane. */
SV_INLINE vreal v_select_piece(const table_row row, vreal index)
{
#if defined(__AVX512F__)
    return _mm512_permutexvar_ps((__m512i)index, v_load(row));
#elif defined(__AVX2__)
    vreal lower = _mm256_permutevar8x32_ps(v_load(row), (__m256i)index);
    vreal upper = _mm256_permutevar8x32_ps(v_load(row + LANES), (__m256i)index);
    return _mm256_blendv_ps(lower, upper, (vreal)((vlane)index << 28));
#else
    vlane bytes = ((vlane)index & (PIECES - 1)) * 0x04040404 + 0x03020100;
    return (vreal)vqtbl4q_u8(vld1q_u8_x4((const uint8_t *)row), (uint8x16_t)bytes);
#endif
}

SV_INLINE void select_terms(vreal terms[TABLE_TERMS], const table_row *table, vreal index)
{
#if defined(__AVX2__) && !defined(__AVX512F__)
    /* All lanes are mostly in the first half of the pieces, a vector of each row. */
    if (_mm256_movemask_ps((vreal)((vlane)index << 28)) == 0) {
        SV_REGISTERS
        for (size_t i = 0; i < PIECE_TERMS; i++)
            terms[i] = _mm256_permutevar8x32_ps(v_load(table[i]), (__m256i)index);
        return;
    }
#endif
    SV_REGISTERS
    for (size_t i = 0; i < PIECE_TERMS; i++)
        terms[i] = v_select_piece(table[i], index);
}
#endif

/* The polynomials at min(m, PIECES_END), NaN where m is NaN. The index of a lane's piece is in the
 * lowest bits of `shifted`. */
SV_INLINE vreal polynomial_in_pieces(const table_row *table, vreal m)
{
    const vreal round = v_set(SV_ROUND_TO_INTEGER), scale = v_set(PIECES_PER_UNIT);
    vreal within = v_min(v_set(PIECES_END), m);
    vreal shifted = v_multiply_add(within, scale, round);
    vreal r = v_multiply_add(within, scale, round - shifted);
    vreal terms[TABLE_TERMS];
    select_terms(terms, table, shifted);
    vreal y = terms[0];
    SV_REGISTERS
    for (size_t i = 1; i < PIECE_TERMS; i++)
        y = v_multiply_add(y, r, terms[i]);
    return y;
}

/* Q(m), 0 from m = 5.8 on, where it is below 3.4e-9. */
SV_INLINE vreal upper_tail(vreal m)
{
    return polynomial_in_pieces(TAIL, m);
}

#if defined(__AVX512F__)
/* phi(m), 0 from m = 5.8 on too. */
SV_INLINE vreal normal_density(vreal m)
{
    return polynomial_in_pieces(DENSITY, m);
}
#endif

#endif
