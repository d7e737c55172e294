/* The cyclic Jacobi method: rotations zero one pair of off-diagonal elements after the other, until
 * all of them are negligible. */
#include "base/numbers/eigen.h"

#include <math.h>
#include <stdbool.h>

/* A matrix whose off-diagonal part is not negligible after so many sweeps is not symmetric or not
 * finite. */
enum { MAX_SWEEPS = 60 };

/* The part of a number that rounding takes or leaves. */
static const double ROUNDING = 1e-16;

/* Rotates rows p and q of m[n, n] by the angle with cosine c and sine s. */
static void rotate_rows(double *m, size_t n, size_t p, size_t q, double c, double s)
{
    for (size_t k = 0; k < n; k++) {
        double x = m[p * n + k], y = m[q * n + k];
        m[p * n + k] = c * x - s * y;
        m[q * n + k] = s * x + c * y;
    }
}

static void rotate_columns(double *m, size_t n, size_t p, size_t q, double c, double s)
{
    for (size_t k = 0; k < n; k++) {
        double x = m[k * n + p], y = m[k * n + q];
        m[k * n + p] = c * x - s * y;
        m[k * n + q] = s * x + c * y;
    }
}

/* Zeroes a[p, q] and a[q, p]. The rows of `vectors` collect the rotations. */
static void rotate(double *a, double *vectors, size_t n, size_t p, size_t q)
{
    double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
    double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;
    rotate_rows(a, n, p, q, c, s);
    rotate_columns(a, n, p, q, c, s);
    rotate_rows(vectors, n, p, q, c, s);
}

/* A search for eigenvalues. */
typedef struct search {
    double floor; /* off the diagonal, elements of at most this magnitude are rounding errors of the
                     largest one on it */
    bool (*goes_on)(void *user);
    void *user;
    bool stopped;
} search;

/* Rotates row p with each row behind it. Returns whether there was anything to rotate. */
static bool sweep_row(double *a, double *vectors, size_t n, size_t p, double floor)
{
    bool rotated = false;
    for (size_t q = p + 1; q < n; q++) {
        const double scale = sqrt(fabs(a[p * n + p] * a[q * n + q])), element = fabs(a[p * n + q]);
        if (!(element > ROUNDING * scale) || element <= floor)
            continue;
        rotate(a, vectors, n, p, q);
        rotated = true;
    }
    return rotated;
}

/* Does one rotation for every pair. Returns whether there was anything to rotate. */
static bool sweep(double *a, double *vectors, size_t n, search *self)
{
    bool rotated = false;
    for (size_t p = 0; p < n && !self->stopped; p++) {
        self->stopped = !self->goes_on(self->user);
        rotated |= !self->stopped && sweep_row(a, vectors, n, p, self->floor);
    }
    return rotated && !self->stopped;
}

static void swap_rows(double *values, double *vectors, size_t n, size_t i, size_t j)
{
    double value = values[i];
    values[i] = values[j];
    values[j] = value;
    for (size_t k = 0; k < n; k++) {
        double element = vectors[i * n + k];
        vectors[i * n + k] = vectors[j * n + k];
        vectors[j * n + k] = element;
    }
}

/* Makes the element of largest magnitude positive. */
static void fix_sign(double *vector, size_t n)
{
    size_t largest = 0;
    for (size_t k = 1; k < n; k++)
        if (fabs(vector[k]) > fabs(vector[largest]))
            largest = k;
    double sign = vector[largest] < 0 ? -1 : 1;
    for (size_t k = 0; k < n; k++)
        vector[k] *= sign;
}

bool sv_eigen_symmetric(double *a, size_t n, double *values, double *vectors,
                        bool (*goes_on)(void *user), void *user)
{
    search self = {.goes_on = goes_on, .user = user};
    for (size_t i = 0; i < n * n; i++)
        vectors[i] = i / n == i % n;
    for (size_t i = 0; i < n; i++)
        self.floor = fmax(self.floor, ROUNDING * fabs(a[i * n + i]));
    for (int i = 0; i < MAX_SWEEPS && sweep(a, vectors, n, &self); i++)
        ;
    if (self.stopped)
        return false;
    for (size_t i = 0; i < n; i++)
        values[i] = a[i * n + i];
    for (size_t i = 0; i < n; i++) {
        size_t largest = i;
        for (size_t j = i + 1; j < n; j++)
            largest = values[j] > values[largest] ? j : largest;
        if (largest != i)
            swap_rows(values, vectors, n, i, largest);
        fix_sign(vectors + i * n, n);
    }
    return true;
}
