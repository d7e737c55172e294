/* Overflow-checked arithmetic on sizes. */
#include "base/size.h"

bool sv_size_multiply(size_t *out, size_t a, size_t b)
{
    if (b != 0 && a > SIZE_MAX / b)
        return false;
    *out = a * b;
    return true;
}

bool sv_size_add(size_t *out, size_t a, size_t b)
{
    if (a > SIZE_MAX - b)
        return false;
    *out = a + b;
    return true;
}

bool sv_size_product(size_t *out, const size_t *factors, size_t count)
{
    size_t product = 1;
    /*@ loop invariant i <= count;
        loop assigns i, product; */
    for (size_t i = 0; i < count; i++)
        if (!sv_size_multiply(&product, product, factors[i]))
            return false;
    *out = product;
    return true;
}
