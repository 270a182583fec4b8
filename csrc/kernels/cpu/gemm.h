// Matrix products on row-major memory.
#pragma once
#include <cstdint>

#include "kernels/cpu/dispatch.h"

namespace rushlight::kernels {

// c = alpha * op(a) @ op(b) + beta * c + bias, with op(a) (m, k), op(b) (k, n), c (m, n) and bias (n), which may be
// null; op transposes where the flag is set.
// lda, ldb and ldc are the distances between rows as stored: a is (m, k), or (k, m) when transposed.
// c must not overlap a or b. With beta == 0, c is not read; with k == 0 or alpha == 0, a and b are not.
RL_KERNEL(void, gemm_f32, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
          int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc, const float* bias)
RL_KERNEL(void, gemm_f64, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha, const double* a,
          int64_t lda, const double* b, int64_t ldb, double beta, double* c, int64_t ldc, const double* bias)
// Without a bias. Overflow wraps, as elsewhere in integer arithmetic.
RL_KERNEL(void, gemm_i64, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, int64_t alpha, const int64_t* a,
          int64_t lda, const int64_t* b, int64_t ldb, int64_t beta, int64_t* c, int64_t ldc)

// `batch` products whose matrices lie stride_a, stride_b and stride_c elements apart; stride_a or stride_b may be 0.
RL_KERNEL(void, gemm_batched_f32, bool trans_a, bool trans_b, int64_t batch, int64_t m, int64_t n, int64_t k,
          float alpha, const float* a, int64_t lda, int64_t stride_a, const float* b, int64_t ldb, int64_t stride_b,
          float beta, float* c, int64_t ldc, int64_t stride_c)
RL_KERNEL(void, gemm_batched_f64, bool trans_a, bool trans_b, int64_t batch, int64_t m, int64_t n, int64_t k,
          double alpha, const double* a, int64_t lda, int64_t stride_a, const double* b, int64_t ldb, int64_t stride_b,
          double beta, double* c, int64_t ldc, int64_t stride_c)

}  // namespace rushlight::kernels
