// What operations on matrices share. They compute in float64 whatever the dtype and round once.
#pragma once
#include "base/thread_pool.h"
#include "base/unlocked.h"
#include "kernels/loops.h"
#include "kernels/matrix.h"
#include "ops/functions.h"
#include "ops/registry.h"

namespace rushlight::ops {

inline Tensor transposed(const Tensor& a) { return transpose(a, -2, -1); }

// kind: of the error for other dtypes.
inline void check_matrix(const char* op, const Tensor& a, ErrorKind kind = ErrorKind::Runtime, bool halves = false) {
  if (!a.is_floating())
    fail(kind, op, " is for floating point only, not ", a.dtype(), hint("convert with .float() first"));
  RL_CHECK(a.dim() >= 2, op, ": expects matrices in the last two dimensions, got shape ", a.sizes());
  RL_CHECK(halves || itemsize(a.dtype()) > 2, op, " is for float32 and float64 only, not ", a.dtype(),
           hint("convert with .float() first"));
}
inline void check_square(const char* op, const Tensor& a, ErrorKind kind = ErrorKind::Runtime, bool halves = false) {
  check_matrix(op, a, kind, halves);
  RL_CHECK(a.size(-1) == a.size(-2), op, ": expects square matrices, got shape ", a.sizes());
}
inline void check_alike(const char* op, const Tensor& a, const Tensor& b) {
  RL_CHECK(a.dtype() == b.dtype(), op, ": the dtypes differ: ", Describe{a}, " and ", Describe{b},
           hint("convert one of them, for example with .to(x.dtype)"));
}

inline Dims batch_of(const Tensor& a) { return Dims(a.sizes().begin(), a.sizes().end() - 2); }
inline Dims with_matrix(Dims batch, int64_t rows, int64_t cols) {
  batch.push_back(rows), batch.push_back(cols);
  return batch;
}
inline Dims with_vector(Dims batch, int64_t n) {
  batch.push_back(n);
  return batch;
}

// A copy in float64 whose matrices lie row by row.
inline Tensor in_double(const Tensor& a) {
  return a.dtype() == DType::Float64 ? kernels::clone(a, MemoryFormat::Contiguous)
                                     : kernels::cast(a, DType::Float64, MemoryFormat::Contiguous);
}
// New memory for matrices that lie column by column, as LAPACK leaves them and PyTorch's users see them.
inline Tensor empty_columns(IntSpan shape, DType d, Device device) {
  Dims strides = contiguous_strides(shape);
  const size_t n = shape.size();
  strides[n - 2] = 1, strides[n - 1] = std::max<int64_t>(1, shape[n - 2]);
  return empty_strided(shape, strides, d, device);
}
inline Tensor as_columns(const Tensor& t, DType d) {
  Tensor y = empty_columns(t.sizes(), d, t.device());
  if (!t.is_meta()) kernels::copy_into(y, t);
  return y;
}
inline Tensor as_dtype(const Tensor& t, DType d) { return t.dtype() == d ? t : kernels::cast(t, d); }

// f(i) for each of `count` matrices, each worth `work` multiplications.
template <class F>
void each_matrix(int64_t count, int64_t work, F&& f) {
  Unlocked unlocked(count * work);
  parallel_for(0, count, std::max<int64_t>(1, 20000 / std::max<int64_t>(1, work)), [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; i++) f(i);
  });
}

inline Tensor identity(int64_t n, const Tensor& like) {
  Tensor eye = zeros({n, n}, like.dtype(), like.device());
  fill_(diagonal(eye), 1);
  return eye;
}

// The solution of triangular systems, recorded; left: T x = b, else x T = b.
Tensor solve_triangular(const Tensor& t, const Tensor& b, bool upper, bool left = true, bool unit = false);

}  // namespace rushlight::ops
