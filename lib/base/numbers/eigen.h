/* Eigenvalues and eigenvectors of small symmetric matrices. */
#ifndef SV_EIGEN_H
#define SV_EIGEN_H

#include <stdbool.h>
#include <stddef.h>

/* Diagonalises the symmetric matrix a[n, n], which is overwritten, by the cyclic Jacobi method
 * (Golub, Van Loan, section 8.5). values[n] receives the eigenvalues from the largest on, and row i
 * of vectors[n, n] the unit eigenvector of values[i]. The sign of each row is such that its element
 * of largest magnitude is positive. Eigenvectors whose eigenvalues are rounding errors of the
 * largest element are any orthonormal ones.
 *
 * goes_on(user) is asked before each row of rotations. Returns false if it returned false; `values`
 * and `vectors` are then undefined. */
bool sv_eigen_symmetric(double *a, size_t n, double *values, double *vectors,
                        bool (*goes_on)(void *user), void *user);

#endif
