/* Approximate orthogonalisation of a matrix by Newton-Schulz steps, as Muon uses it. */
#ifndef SV_NEWTON_SCHULZ_H
#define SV_NEWTON_SCHULZ_H

#include "base/real.h"
#include "context/context.h"

/* Bytes of workspace for a matrix of rows * columns elements; 0 if they overflow. */
size_t sv_newton_schulz_bytes(const svit_context *context, size_t rows, size_t columns);

/* Where the caller writes the matrix: an array [rows, columns] in the workspace. */
real *sv_newton_schulz_input(void *workspace);

/* Replaces the singular values of the matrix in the workspace by values near 1 and returns it,
 * [rows, columns], also in the workspace. Beginning with X = G / (|G| + 1e-7), |G| the Frobenius
 * norm of the matrix G, each of `steps` steps computes
 *   A = X X^T;  X = 3.4445 X + (-4.7750 A + 2.0315 A A) X
 * with the coefficients of Jordan et al. 2024. A tall matrix is transposed meanwhile. A zero matrix
 * stays zero. It runs on the calling thread. */
real *sv_newton_schulz(const svit_context *context, void *workspace, size_t rows, size_t columns,
                       size_t steps);

#endif
