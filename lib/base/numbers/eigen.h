/* Eigenvalues and eigenvectors of small symmetric matrices. */
#ifndef SV_EIGEN_H
#define SV_EIGEN_H

#include <stddef.h>

/* Diagonalises the symmetric matrix a[n, n], which is overwritten, by the cyclic Jacobi method
 * (Golub, Van Loan, section 8.5). values[n] receives the eigenvalues from the largest on, and row i
 * of vectors[n, n] the unit eigenvector of values[i]. The sign of each row is such that its element
 * of largest magnitude is positive. */
void sv_eigen_symmetric(double *a, size_t n, double *values, double *vectors);

#endif
