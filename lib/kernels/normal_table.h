/* Mills' ratio R(m) = Q(m) / phi(m) of the normal distribution as a polynomial in
 * t = 1 / (1 + MILLS_A m), highest power first: a minimax fit of the relative error over
 * 0 <= m <= 13.25, 3.3e-08 at most before the rounding of float32's operations. */
#ifndef SV_NORMAL_TABLE_H
#define SV_NORMAL_TABLE_H

#define MILLS_A 0.294999987f

static const float MILLS[] = {0.09956765f, -0.46313536f, 0.6858535f,  -0.3003374f,  0.42120555f,
                              0.21070735f, 0.30545872f,  0.29394874f, 4.544461e-05f};

/* 2^r 2 / sqrt(2 pi) for |r| <= 1/2, highest power first: v_exp2_negative's, times a factor. */
static const float PHI[] = {0.00105930923f, 0.00771996565f, 0.0442882814f,
                            0.191668794f,   0.553051233f,   0.797884643f};

#endif
