#include "kernels/cpu/sum_rows.h"

#include "base/thread_pool.h"
#include "kernels/cpu/vec.h"

namespace rushlight::kernels::RL_ISA {
namespace {

constexpr int64_t kBlock = 64;  // rows summed at once, so that rounding errors grow with the number of blocks

template <class T>
void columns(const T* x, int64_t rows, int64_t cols, int64_t j, int n, T* out) {
  using V = Vec<T>;
  V total(0);
  for (int64_t r = 0; r < rows; r += kBlock) {
    const int64_t end = r + kBlock < rows ? r + kBlock : rows;
    const T* p = x + r * cols + j;
    V even(0), odd(0);
    int64_t i = r;
    if (n == V::size) {
      for (; i + 2 <= end; i += 2, p += 2 * cols) even += V::load(p), odd += V::load(p + cols);
      if (i < end) even += V::load(p);
    } else {
      for (; i < end; i++, p += cols) even += V::load(p, n);
    }
    total += even + odd;
  }
  if (n == V::size) total.store(out + j);
  else total.store(out + j, n);
}

template <class T>
void sum_rows(const T* x, int64_t rows, int64_t cols, T* out) {
  constexpr int64_t lanes = Vec<T>::size;
  const int64_t vecs = (cols + lanes - 1) / lanes, grain = 1 + (1 << 15) / (rows * lanes + 1);
  parallel_for(0, vecs, grain, [=](int64_t begin, int64_t end) {
    for (int64_t v = begin; v < end; v++) {
      const int64_t left = cols - v * lanes;
      columns(x, rows, cols, v * lanes, int(left < lanes ? left : lanes), out);
    }
  });
}

}  // namespace

void sum_rows_f32(const float* x, int64_t rows, int64_t cols, float* out) { sum_rows(x, rows, cols, out); }
void sum_rows_f64(const double* x, int64_t rows, int64_t cols, double* out) { sum_rows(x, rows, cols, out); }

}  // namespace rushlight::kernels::RL_ISA
