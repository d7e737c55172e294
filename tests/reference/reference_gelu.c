/* GELU in its exact form. Hendrycks, Gimpel 2016. Compared with it: the GELU of the GEMM epilogues,
 * on every instruction set, forward and backward (test_reference_matmul), and of whole models. */
#include "reference.h"

#include <math.h>

/* Phi(u), the distribution function of the standard normal distribution. */
static double normal_distribution(double u)
{
    return erfc(-u / sqrt(2)) / 2;
}

/* gelu(u) = u Phi(u) */
double reference_gelu(double u)
{
    return u * normal_distribution(u);
}

/* gelu'(u) = Phi(u) + u phi(u);  phi is the density of the standard normal distribution. */
double reference_gelu_derivative(double u)
{
    const double pi = acos(-1);
    return normal_distribution(u) + u * exp(-u * u / 2) / sqrt(2 * pi);
}
