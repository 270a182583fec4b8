#include "kernels/product.h"

#include "base/unlocked.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/sum_rows.h"
#include "kernels/loops.h"

namespace rushlight::kernels {
namespace {

// Integers are multiplied as int64, 16-bit floats as float32.
DType product_type(DType d) {
  if (!is_floating(d)) return DType::Int64;
  return d == DType::Float64 ? d : DType::Float32;
}

// A stack of matrices as gemm reads them: rows `ld` apart, or columns where `trans` is set.
struct Operand {
  Tensor t;
  bool trans;
  int64_t ld;

  Operand(const Tensor& x, bool transposed, DType compute) : t(x.dtype() == compute ? x : cast(x, compute)) {
    if (!reads_in_place()) {
      t = clone(t, MemoryFormat::Contiguous);
      reads_in_place();
    }
    trans ^= transposed;
  }
  int64_t batch_stride(size_t d) const { return t.strides()[d]; }

 private:
  bool reads_in_place() {
    const size_t n = t.sizes().size();
    const int64_t rows = t.sizes()[n - 2], cols = t.sizes()[n - 1], row = t.strides()[n - 2], col = t.strides()[n - 1];
    if (col == 1 || cols == 1) {
      trans = false, ld = rows == 1 ? std::max<int64_t>(cols, 1) : row;
      return true;
    }
    trans = true, ld = cols == 1 ? std::max<int64_t>(rows, 1) : col;
    return row == 1 || rows == 1;
  }
};

struct Size {
  int64_t m, n, k;
  int64_t work() const { return m * n * k / 16; }
};

void gemm(const Size& s, const Operand& a, const Operand& b, const float* x, const float* y, float* c, float alpha,
          float beta, const float* bias) {
  gemm_f32(a.trans, b.trans, s.m, s.n, s.k, alpha, x, a.ld, y, b.ld, beta, c, s.n, bias);
}
void gemm(const Size& s, const Operand& a, const Operand& b, const double* x, const double* y, double* c, double alpha,
          double beta, const double* bias) {
  gemm_f64(a.trans, b.trans, s.m, s.n, s.k, alpha, x, a.ld, y, b.ld, beta, c, s.n, bias);
}
void gemm(const Size& s, const Operand& a, const Operand& b, const int64_t* x, const int64_t* y, int64_t* c,
          int64_t alpha, int64_t beta, const int64_t*) {
  gemm_i64(a.trans, b.trans, s.m, s.n, s.k, alpha, x, a.ld, y, b.ld, beta, c, s.n);
}

void gemm_batch(const Size& s, const Operand& a, const Operand& b, int64_t batch, int64_t stride_a, int64_t stride_b,
                const float* x, const float* y, float* c, float alpha, float beta) {
  gemm_batched_f32(a.trans, b.trans, batch, s.m, s.n, s.k, alpha, x, a.ld, stride_a, y, b.ld, stride_b, beta, c, s.n,
                   s.m * s.n);
}
void gemm_batch(const Size& s, const Operand& a, const Operand& b, int64_t batch, int64_t stride_a, int64_t stride_b,
                const double* x, const double* y, double* c, double alpha, double beta) {
  gemm_batched_f64(a.trans, b.trans, batch, s.m, s.n, s.k, alpha, x, a.ld, stride_a, y, b.ld, stride_b, beta, c, s.n,
                   s.m * s.n);
}
void gemm_batch(const Size& s, const Operand& a, const Operand& b, int64_t batch, int64_t stride_a, int64_t stride_b,
                const int64_t* x, const int64_t* y, int64_t* c, int64_t alpha, int64_t beta) {
  for (int64_t i = 0; i < batch; i++)
    gemm(s, a, b, x + i * stride_a, y + i * stride_b, c + i * s.m * s.n, alpha, beta, nullptr);
}

template <class T>
void multiply(const Size& s, const Operand& a, const Operand& b, const Tensor& c, T alpha, T beta, const Tensor& bias) {
  const T *x = a.t.data<T>(), *y = b.t.data<T>(), *add = bias ? bias.data<T>() : nullptr;
  T* to = c.data<T>();
  const size_t batch_dims = c.sizes().size() - 2;
  if (batch_dims == 0) {
    Unlocked unlocked(s.work());
    return gemm(s, a, b, x, y, to, alpha, beta, add);
  }
  // The innermost dimensions of the batch that both operands walk in equal steps go to the kernel at once.
  const Dims& sizes = c.sizes();
  size_t inner = batch_dims - 1;
  int64_t count = sizes[inner];
  while (inner > 0 && a.batch_stride(inner - 1) == a.batch_stride(inner) * sizes[inner] &&
         b.batch_stride(inner - 1) == b.batch_stride(inner) * sizes[inner])
    count *= sizes[--inner];
  const int64_t stride_a = a.batch_stride(batch_dims - 1), stride_b = b.batch_stride(batch_dims - 1);
  int64_t outer = 1;
  for (size_t d = 0; d < inner; d++) outer *= sizes[d];
  Unlocked unlocked(s.work() * count * outer);
  for (int64_t i = 0; i < outer; i++) {
    int64_t rest = i, at_a = 0, at_b = 0;
    for (size_t d = inner; d-- > 0; rest /= sizes[d]) {
      at_a += rest % sizes[d] * a.batch_stride(d);
      at_b += rest % sizes[d] * b.batch_stride(d);
    }
    gemm_batch(s, a, b, count, stride_a, stride_b, x + at_a, y + at_b, to + i * count * s.m * s.n, alpha, beta);
  }
}

void multiply(const Tensor& c, const Scalar& beta, const Operand& a, const Operand& b, const Scalar& alpha,
              const Tensor& bias, int64_t k) {
  if (c.numel() == 0) return;
  const size_t n = c.sizes().size();
  const Size s{c.sizes()[n - 2], c.sizes()[n - 1], k};
  switch (c.dtype()) {
    case DType::Float32: return multiply<float>(s, a, b, c, alpha.to<float>(), beta.to<float>(), bias);
    case DType::Float64: return multiply<double>(s, a, b, c, alpha.to<double>(), beta.to<double>(), bias);
    default: return multiply<int64_t>(s, a, b, c, alpha.to<int64_t>(), beta.to<int64_t>(), bias);
  }
}

}  // namespace

Tensor product(const Tensor& a, bool trans_a, const Tensor& b, bool trans_b, const Tensor& bias) {
  const size_t n = a.sizes().size();
  Dims shape = a.sizes();
  if (trans_a) shape[n - 2] = shape[n - 1];
  shape[n - 1] = b.sizes()[trans_b ? n - 2 : n - 1];
  if (a.is_meta()) return empty(shape, a.dtype(), a.device());
  const DType compute = product_type(a.dtype());
  Tensor c = empty(shape, compute, a.device());
  Tensor add = !bias || (bias.dtype() == compute && bias.is_contiguous()) ? bias : contiguous(cast(bias, compute));
  multiply(c, 0, Operand(a, trans_a, compute), Operand(b, trans_b, compute), 1, add,
           a.sizes()[trans_a ? n - 2 : n - 1]);
  return compute == a.dtype() ? c : cast(c, a.dtype());
}

void add_product(const Tensor& c, const Scalar& beta, const Tensor& a, const Tensor& b, const Scalar& alpha) {
  if (c.is_meta()) return;
  const DType compute = product_type(c.dtype());
  Tensor sum = c.dtype() == compute ? c : cast(c, compute);
  multiply(sum, beta, Operand(a, false, compute), Operand(b, false, compute), alpha, {}, a.sizes().back());
  if (!sum.is_same(c)) copy_into(c, sum);
}

Tensor sum_rows(const Tensor& matrix) {
  const int64_t rows = matrix.sizes()[0], cols = matrix.sizes()[1];
  if (matrix.is_meta()) return empty({cols}, matrix.dtype(), matrix.device());
  const DType compute = matrix.dtype() == DType::Float64 ? DType::Float64 : DType::Float32;
  Tensor x = matrix.dtype() == compute ? matrix : cast(matrix, compute), out = empty({cols}, compute, matrix.device());
  {
    Unlocked unlocked(rows * cols / 4);
    if (compute == DType::Float32) sum_rows_f32(x.data<float>(), rows, cols, out.data<float>());
    else sum_rows_f64(x.data<double>(), rows, cols, out.data<double>());
  }
  return compute == matrix.dtype() ? out : cast(out, matrix.dtype());
}

}  // namespace rushlight::kernels
