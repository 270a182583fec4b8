#include "kernels/cpu/softmax.h"

#include "base/thread_pool.h"
#include "kernels/cpu/lanes.h"
#include "kernels/cpu/vec_math.h"

namespace rushlight::kernels::RL_ISA {
namespace {

constexpr int64_t kGrain = 1 << 13;  // elements worth a thread of their own

// One row of n elements that lie side by side.
template <class T, bool log_>
void softmax_row(const T* x, T* y, int64_t n) {
  using V = Vec<T>;
  const V lowest = -V::infinity();
  V most = lowest;
  for_vectors<V>(n, [&](int64_t i, auto lanes) { most = raw_max(most, filled(load<V>(x + i, lanes), lowest, lanes)); });
  const V top = reduce_max(most);  // a NaN that gets lost here comes back through exp
  V sum(0);
  for_vectors<V>(n, [&](int64_t i, auto lanes) {
    const V e = exp(load<V>(x + i, lanes) - top);
    sum += filled(e, V(0), lanes);
    if constexpr (!log_) store(e, y + i, lanes);
  });
  if constexpr (log_) {
    const V shift = log(V(reduce_add(sum)));
    for_vectors<V>(n, [&](int64_t i, auto lanes) { store(load<V>(x + i, lanes) - top - shift, y + i, lanes); });
  } else {
    const V total = reduce_add(sum);
    for_vectors<V>(n, [&](int64_t i, auto lanes) { store(load<V>(y + i, lanes) / total, y + i, lanes); });
  }
}

// `lanes` columns at a time, each of n elements `step` apart.
template <class T, bool log_, class L>
RL_INLINE void softmax_columns(const T* x, T* y, int64_t n, int64_t step, L lanes) {
  using V = Vec<T>;
  V top = load<V>(x, lanes);
  for (int64_t i = 1; i < n; i++) top = raw_max(top, load<V>(x + i * step, lanes));
  V sum(0);
  for (int64_t i = 0; i < n; i++) {
    const V e = exp(load<V>(x + i * step, lanes) - top);
    sum += e;
    if constexpr (!log_) store(e, y + i * step, lanes);
  }
  const V shift = log_ ? log(sum) : V(0);
  for (int64_t i = 0; i < n; i++) {
    if constexpr (log_) store(load<V>(x + i * step, lanes) - top - shift, y + i * step, lanes);
    else store(load<V>(y + i * step, lanes) / sum, y + i * step, lanes);
  }
}

template <class T, bool log_>
void backward_row(const T* gy, const T* y, T* gx, int64_t n) {
  using V = Vec<T>;
  V sum(0);
  for_vectors<V>(n, [&](int64_t i, auto lanes) {
    const V g = load<V>(gy + i, lanes);
    sum += log_ ? g : g * load<V>(y + i, lanes);  // lanes beyond the end read as 0
  });
  const V total = reduce_add(sum);
  for_vectors<V>(n, [&](int64_t i, auto lanes) {
    const V g = load<V>(gy + i, lanes), out = load<V>(y + i, lanes);
    store(log_ ? g - exp(out) * total : out * (g - total), gx + i, lanes);
  });
}

template <class T, bool log_, class L>
RL_INLINE void backward_columns(const T* gy, const T* y, T* gx, int64_t n, int64_t step, L lanes) {
  using V = Vec<T>;
  V total(0);
  for (int64_t i = 0; i < n; i++) {
    const V g = load<V>(gy + i * step, lanes);
    total += log_ ? g : g * load<V>(y + i * step, lanes);
  }
  for (int64_t i = 0; i < n; i++) {
    const V g = load<V>(gy + i * step, lanes), out = load<V>(y + i * step, lanes);
    store(log_ ? g - exp(out) * total : out * (g - total), gx + i * step, lanes);
  }
}

// Calls row(offset) for each row, or columns(offset, lanes) for bundles of columns.
template <class T, class Row, class Columns>
void walk(int64_t outer, int64_t n, int64_t inner, Row&& row, Columns&& columns) {
  if (n == 0 || outer == 0 || inner == 0) return;
  if (inner == 1) {
    parallel_for(0, outer, 1 + kGrain / n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) row(i * n);
    });
    return;
  }
  using V = Vec<T>;
  const int64_t bundles = (inner + V::size - 1) / V::size;
  parallel_for(0, outer * bundles, 1 + kGrain / (n * V::size), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const int64_t column = i % bundles * V::size, at = i / bundles * n * inner + column;
      if (column + V::size <= inner) columns(at, std::integral_constant<int, V::size>());
      else columns(at, int(inner - column));
    }
  });
}

template <class T, bool log_>
void softmax(const T* x, T* y, int64_t outer, int64_t n, int64_t inner) {
  walk<T>(
      outer, n, inner, [=](int64_t at) { softmax_row<T, log_>(x + at, y + at, n); },
      [=](int64_t at, auto lanes) { softmax_columns<T, log_>(x + at, y + at, n, inner, lanes); });
}

template <class T, bool log_>
void softmax_backward(const T* gy, const T* y, T* gx, int64_t outer, int64_t n, int64_t inner) {
  walk<T>(
      outer, n, inner, [=](int64_t at) { backward_row<T, log_>(gy + at, y + at, gx + at, n); },
      [=](int64_t at, auto lanes) { backward_columns<T, log_>(gy + at, y + at, gx + at, n, inner, lanes); });
}

}  // namespace

void softmax_f32(bool log, const float* x, float* y, int64_t outer, int64_t n, int64_t inner) {
  (log ? softmax<float, true> : softmax<float, false>)(x, y, outer, n, inner);
}
void softmax_f64(bool log, const double* x, double* y, int64_t outer, int64_t n, int64_t inner) {
  (log ? softmax<double, true> : softmax<double, false>)(x, y, outer, n, inner);
}
void softmax_backward_f32(bool log, const float* gy, const float* y, float* gx, int64_t outer, int64_t n,
                          int64_t inner) {
  (log ? softmax_backward<float, true> : softmax_backward<float, false>)(gy, y, gx, outer, n, inner);
}
void softmax_backward_f64(bool log, const double* gy, const double* y, double* gx, int64_t outer, int64_t n,
                          int64_t inner) {
  (log ? softmax_backward<double, true> : softmax_backward<double, false>)(gy, y, gx, outer, n, inner);
}

}  // namespace rushlight::kernels::RL_ISA
