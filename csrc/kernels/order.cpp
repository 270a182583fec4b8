#include "kernels/order.h"

#include <algorithm>
#include <numeric>

#include "base/thread_pool.h"
#include "base/unlocked.h"

namespace rushlight::kernels {

namespace {

// Elements as numbers that compare: half types as float.
template <class T>
auto number(T v) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return float(v);
  else return v;
}

// The first place in a line whose element is not before v; NaN is after everything.
template <class T>
int64_t place_of(const T* line, const int64_t* order, int64_t n, T v, bool right) {
  const auto x = number(v);
  int64_t low = 0, high = n;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const auto here = number(line[order ? order[middle] : middle]);
    if (right ? !(here > x) : !(here >= x)) low = middle + 1;
    else high = middle;
  }
  return low;
}

}  // namespace

void search(const Tensor& sorted, const Tensor* order, const Tensor& values, bool right, const Tensor& out) {
  if (values.numel() == 0) return;
  const int64_t n = sorted.dim() ? sorted.sizes().back() : 1;
  const bool one_line = sorted.dim() <= 1;
  const int64_t width = one_line ? values.numel() : values.sizes().back();
  Unlocked unlocked(values.numel() * 20);
  visit(sorted.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *lines = sorted.data<T>(), *wanted = values.data<T>();
    const int64_t* by = order ? order->data<int64_t>() : nullptr;
    int64_t* to = out.data<int64_t>();
    parallel_for(0, values.numel(), 2048, [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; i++) {
        const int64_t line = one_line ? 0 : i / width * n;
        to[i] = place_of(lines + line, by ? by + line : nullptr, n, wanted[i], right);
        if (by) to[i] = std::clamp<int64_t>(to[i], 0, n);
      }
    });
  });
}

void mode(const Tensor& sorted, const Tensor& order, const Tensor& values, const Tensor& places) {
  if (values.numel() == 0) return;
  const int64_t n = sorted.dim() ? sorted.sizes().back() : 1;
  visit(sorted.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t line = 0; line < values.numel(); line++) {
      const T* x = sorted.data<T>() + line * n;
      int64_t best = 0, longest = 0, start = 0;  // best: the last element of the longest run
      for (int64_t i = 0; i < n; i++) {
        if (i > 0 && !(number(element(x + i)) == number(element(x + i - 1)))) start = i;
        if (i - start + 1 > longest) longest = i - start + 1, best = i;
      }
      values.data<T>()[line] = element(x + best);
      places.data<int64_t>()[line] = order.data<int64_t>()[line * n + best];
    }
  });
}

std::vector<int64_t> runs(const Tensor& x, const Tensor& groups) {
  std::vector<int64_t> starts;
  visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* p = x.numel() ? x.data<T>() : nullptr;
    int64_t* to = groups.defined() && x.numel() ? groups.data<int64_t>() : nullptr;
    for (int64_t i = 0; i < x.numel(); i++) {
      if (i == 0 || !(number(element(p + i)) == number(element(p + i - 1)))) starts.push_back(i);
      if (to) to[i] = int64_t(starts.size()) - 1;
    }
  });
  return starts;
}

namespace {

template <class T>
int compare_rows(const T* a, const T* b, int64_t n) {
  for (int64_t k = 0; k < n; k++) {
    const auto x = number(element(a + k)), y = number(element(b + k));
    if (x < y) return -1;
    if (y < x) return 1;
    if (x != x || y != y) {  // NaN is after everything
      const int order = int(x != x) - int(y != y);
      if (order) return order;
    }
  }
  return 0;
}

template <class T>
bool equal_rows(const T* a, const T* b, int64_t n) {
  for (int64_t k = 0; k < n; k++)
    if (!(number(element(a + k)) == number(element(b + k)))) return false;
  return true;
}

}  // namespace

std::vector<int64_t> runs_of_rows(const Tensor& x, const Tensor& order, const Tensor& groups) {
  std::vector<int64_t> starts;
  const int64_t rows = x.sizes()[0], n = x.sizes()[1];
  visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* p = x.numel() ? x.data<T>() : nullptr;
    auto row = [&](int64_t i) { return p + (order ? order.data<int64_t>()[i] : i) * n; };
    for (int64_t i = 0; i < rows; i++) {
      if (i == 0 || !equal_rows(row(i - 1), row(i), n)) starts.push_back(i);
      if (groups) groups.data<int64_t>()[order ? order.data<int64_t>()[i] : i] = int64_t(starts.size()) - 1;
    }
  });
  return starts;
}

Tensor order_of_rows(const Tensor& x) {
  const int64_t rows = x.sizes()[0], n = x.sizes()[1];
  Tensor order = empty({rows}, DType::Int64);
  if (rows == 0) return order;
  int64_t* o = order.data<int64_t>();
  std::iota(o, o + rows, 0);
  if (n == 0) return order;
  visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* p = x.data<T>();
    std::stable_sort(o, o + rows, [&](int64_t a, int64_t b) { return compare_rows(p + a * n, p + b * n, n) < 0; });
  });
  return order;
}

void histogram(const Tensor& x, double low, double high, const Tensor& counts) {
  const int64_t bins = counts.numel();
  double* to = counts.data<double>();
  std::fill(to, to + bins, 0.0);
  if (x.numel() == 0) return;
  visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* p = x.data<T>();
    for (int64_t i = 0; i < x.numel(); i++) {
      const double v = double(number(element(p + i)));
      if (!(v >= low && v <= high)) continue;
      to[std::min(bins - 1, int64_t((v - low) / (high - low) * double(bins)))]++;
    }
  });
}

}  // namespace rushlight::kernels
