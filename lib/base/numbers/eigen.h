/* Eigenvalues and eigenvectors of small symmetric matrices. */
#ifndef SV_EIGEN_H
#define SV_EIGEN_H

#include <stdbool.h>
#include <stddef.h>

/* Diagonalises the symmetric matrix a[n, n], which is overwritten, by the cyclic Jacobi method
 * (Golub, Van Loan, section 8.5), as long as goes_on(user), which it asks before each row, is true;
 * returns whether it was. Directions whose eigenvalues are rounding errors of the largest are any
 * that are left. values[n] receives the eigenvalues from the largest on, and row i
 * of vectors[n, n] the unit eigenvector of values[i]. The sign of each row is such that its element
 * of largest magnitude is positive. */
bool sv_eigen_symmetric(double *a, size_t n, double *values, double *vectors,
                        bool (*goes_on)(void *user), void *user);

#endif
