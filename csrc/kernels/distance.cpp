#include "kernels/distance.h"

#include <algorithm>
#include <cmath>

#include "base/thread_pool.h"
#include "base/unlocked.h"

namespace rushlight::kernels {
namespace {

// Sums are in double, as those of other reductions.
template <class T>
double norm_of_difference(const T* a, const T* b, int64_t n, double p) {
  double sum = 0;
  if (p == 2) {
    for (int64_t k = 0; k < n; k++) sum += (double(a[k]) - b[k]) * (double(a[k]) - b[k]);
    return std::sqrt(sum);
  }
  if (p == 1) {
    for (int64_t k = 0; k < n; k++) sum += std::abs(double(a[k]) - b[k]);
    return sum;
  }
  if (p == 0) {
    for (int64_t k = 0; k < n; k++) sum += a[k] != b[k];
    return sum;
  }
  if (std::isinf(p)) {
    for (int64_t k = 0; k < n; k++) {
      const double d = std::abs(double(a[k]) - b[k]);
      if (d > sum || d != d) sum = d;
      if (d != d) break;
    }
    return sum;
  }
  for (int64_t k = 0; k < n; k++) sum += std::pow(std::abs(double(a[k]) - b[k]), p);
  return std::pow(sum, 1 / p);
}

template <class T>
void run(const Tensor& a, const Tensor& b, const Tensor& out, double p) {
  const int64_t rows = a.size(-2), cols = b.size(-2), n = a.size(-1);
  const T *x = a.data<T>(), *y = b.data<T>();
  T* to = out.data<T>();
  Unlocked unlocked(out.numel() * std::max<int64_t>(n, 1));
  parallel_for(0, out.numel() / cols, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, cols * n)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; i++)
                   for (int64_t j = 0; j < cols; j++)
                     to[i * cols + j] = T(norm_of_difference(x + i * n, y + (i / rows * cols + j) * n, n, p));
               });
}

}  // namespace

void distances(const Tensor& a, const Tensor& b, const Tensor& out, double p) {
  if (out.numel() == 0) return;
  if (out.dtype() == DType::Float32) run<float>(a, b, out, p);
  else run<double>(a, b, out, p);
}

}  // namespace rushlight::kernels
