// Decompositions of single matrices, in double and row by row; batches are run by csrc/ops. The algorithms are those of
// Golub and Van Loan, Matrix Computations (4th edition); sections are named.
#pragma once
#include <cstdint>

namespace rushlight::kernels {

// P A = L U with partial pivoting (3.4.5), in place: L below the diagonal, which is 1, and U. Row i was exchanged with
// row pivots[i] in turn. Returns 0, or i + 1 for the first pivot i that is zero; the rest is then worked all the same.
int64_t lu_factor(double* a, int64_t rows, int64_t cols, int32_t* pivots);
// b (n, cols) becomes the solution of A x = b for that.
void lu_solve(const double* lu, const int32_t* pivots, int64_t n, double* b, int64_t cols);

// A = L L^T (4.2.5), in place, of the lower triangle; the upper one becomes zero. Returns 0, or i + 1 where the first
// leading minor that is not positive ends.
int64_t cholesky(double* a, int64_t n);

// b (n, cols) becomes the solution of T x = b (3.1.2). Only one triangle of t is read, without the diagonal if `unit`.
void solve_triangular(const double* t, int64_t n, bool upper, bool unit, double* b, int64_t cols);

// A = Q R by Householder's reflections (5.2.2): q (rows, columns of Q), r in place of A (rows, cols). Q has
// min(rows, cols) columns, or `rows`; none is made if q is null.
void householder_qr(double* a, int64_t rows, int64_t cols, double* q, int64_t q_cols);

// The eigenvalues of a symmetric matrix, ascending, and its eigenvectors in the columns of v, by Jacobi's rotations
// (8.5.5). a is destroyed. False if it does not converge, as for what is not finite.
bool symmetric_eigen(double* a, int64_t n, double* values, double* v);

// A = U diag(s) V^T, s descending, by one-sided rotations (8.6.4): a (rows, cols) with rows >= cols becomes U; v is
// (cols, cols), or null. From column rank on, those of U are zero, as their singular values are up to rounding; see
// complete_columns. False as above.
bool jacobi_svd(double* a, int64_t rows, int64_t cols, double* s, double* v, int64_t& rank);

// u (rows, cols): columns from `known` on are made orthonormal to each other and to those before.
void complete_columns(double* u, int64_t rows, int64_t cols, int64_t known);

}  // namespace rushlight::kernels
