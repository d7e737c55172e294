/* Mills' ratio R(x) = Q(x) / phi(x) of the normal distribution as a polynomial in
 * t = 1 / (1 + MILLS_A x), highest power first: a minimax fit of the relative error over
 * 0 <= x <= 76, 8.1e-08 at most before rounding to float32. */
#ifndef SV_NORMAL_TABLE_H
#define SV_NORMAL_TABLE_H

#define MILLS_A 0.36f

static const float MILLS[] = {-0.077018875f,   0.354967215f,   -0.570043125f, 0.278644964f,
                              -0.00663818244f, 0.242812514f,   0.310379341f,  0.360218188f,
                              0.359991893f,    1.15449991e-07f};

#endif
