// Matrix products on row-major memory.
#pragma once
#include <cstdint>

#include "kernels/cpu/dispatch.h"

namespace rushlight::kernels {

// What is added to each element on its way to memory: row_bias[i] + col_bias[j], then max(., 0). Null adds nothing.
template <class T>
struct GemmEpilogue {
  const T* row_bias = nullptr;  // m values
  const T* col_bias = nullptr;  // n values
  bool relu = false;
};

// c = alpha * op(a) @ op(b) + beta * c, with op(a) (m, k), op(b) (k, n), c (m, n); op transposes where the flag is set.
// lda, ldb and ldc are the distances between rows as stored: a is (m, k), or (k, m) when transposed.
// c must not overlap a or b. With beta == 0, c is not read; with k == 0 or alpha == 0, a and b are not.
RL_KERNEL(void, gemm_f32, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
          int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc)
RL_KERNEL(void, gemm_f64, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha, const double* a,
          int64_t lda, const double* b, int64_t ldb, double beta, double* c, int64_t ldc)
RL_KERNEL(void, gemm_i64, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, int64_t alpha, const int64_t* a,
          int64_t lda, const int64_t* b, int64_t ldb, int64_t beta, int64_t* c, int64_t ldc)

// The same with an epilogue.
RL_KERNEL(void, gemm_fused_f32, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha,
          const float* a, int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc,
          const GemmEpilogue<float>& epilogue)
RL_KERNEL(void, gemm_fused_f64, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha,
          const double* a, int64_t lda, const double* b, int64_t ldb, double beta, double* c, int64_t ldc,
          const GemmEpilogue<double>& epilogue)

// `batch` products whose matrices lie stride_a, stride_b and stride_c elements apart; stride_a or stride_b may be 0.
RL_KERNEL(void, gemm_batched_f32, bool trans_a, bool trans_b, int64_t batch, int64_t m, int64_t n, int64_t k,
          float alpha, const float* a, int64_t lda, int64_t stride_a, const float* b, int64_t ldb, int64_t stride_b,
          float beta, float* c, int64_t ldc, int64_t stride_c)
RL_KERNEL(void, gemm_batched_f64, bool trans_a, bool trans_b, int64_t batch, int64_t m, int64_t n, int64_t k,
          double alpha, const double* a, int64_t lda, int64_t stride_a, const double* b, int64_t ldb, int64_t stride_b,
          double beta, double* c, int64_t ldc, int64_t stride_c)

}  // namespace rushlight::kernels
