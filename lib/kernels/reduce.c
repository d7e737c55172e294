/* Global average pooling. */
#include "kernels/local.h"

/* y[n,c] = mean over t of x[n,t,c] */
void SV_ISA(sv_mean_tokens)(real *y, const real *x, size_t images, size_t tokens, size_t c)
{
    for (size_t n = 0; n < images; n++, y += c, x += tokens * c)
        for (size_t i = 0; i < c; i += LANES) {
            size_t count = c - i;
            vreal sum = {0};
            for (size_t t = 0; t < tokens; t++)
                sum += v_load_some(x + t * c + i, count);
            v_store_some(y + i, sum * v_set(1 / (real)tokens), count);
        }
}

/* dx[n,t,c] = dy[n,c] / tokens */
void SV_ISA(sv_mean_tokens_backward)(real *dx, const real *dy, size_t images, size_t tokens,
                                     size_t c)
{
    for (size_t n = 0; n < images; n++, dy += c)
        for (size_t t = 0; t < tokens; t++, dx += c)
            for (size_t i = 0; i < c; i += LANES)
                v_store_some(dx + i, v_load_some(dy + i, c - i) * v_set(1 / (real)tokens), c - i);
}
