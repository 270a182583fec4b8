#include "kernels/scan.h"

#include <cmath>

#include "base/thread_pool.h"
#include "base/unlocked.h"

namespace rushlight::kernels {
namespace {

constexpr int64_t kGrain = 32768;  // elements for one thread
constexpr int64_t kStrip = 256;    // neighbouring lines walked together

// Lines of n elements that lie `inner` apart; neighbours are walked together so that memory is read in order.
template <class T, class Join>
void scan(const T* x, T* out, int64_t outer, int64_t n, int64_t inner, Join join) {
  using Acc = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
  const int64_t strips = (inner + kStrip - 1) / kStrip;
  parallel_for(0, outer * strips, std::max<int64_t>(1, kGrain / (n * std::min(inner, kStrip))),
               [&](int64_t b, int64_t e) {
                 Acc acc[kStrip];
                 for (int64_t i = b; i < e; i++) {
                   const int64_t first = i % strips * kStrip, width = std::min(kStrip, inner - first);
                   const T* from = x + i / strips * n * inner + first;
                   T* to = out + i / strips * n * inner + first;
                   for (int64_t j = 0; j < width; j++) acc[j] = Acc(element(from + j)), to[j] = T(acc[j]);
                   for (int64_t k = 1; k < n; k++) {
                     from += inner, to += inner;
                     for (int64_t j = 0; j < width; j++)
                       acc[j] = join(acc[j], Acc(element(from + j))), to[j] = T(acc[j]);
                   }
                 }
               });
}

struct Plus {
  int64_t operator()(int64_t a, int64_t b) const { return int64_t(uint64_t(a) + uint64_t(b)); }
  double operator()(double a, double b) const { return a + b; }
};
struct Times {
  int64_t operator()(int64_t a, int64_t b) const { return int64_t(uint64_t(a) * uint64_t(b)); }
  double operator()(double a, double b) const { return a * b; }
};

struct LogAddExp {
  int64_t operator()(int64_t a, int64_t) const { return a; }  // not called
  double operator()(double a, double b) const {
    if (a == b) return a + 0.6931471805599453;
    const double large = a > b ? a : b;
    return a != a || b != b ? a + b : large + std::log1p(std::exp(-std::abs(a - b)));
  }
};

// Calls f(first, step, n) for every line of elements, by its first place.
template <class F>
void for_lines(const Tensor& x, int64_t dim, F&& f) {
  if (x.is_meta() || x.numel() == 0) return;
  const int64_t n = x.dim() ? x.sizes()[dim] : 1, inner = x.dim() ? contiguous_strides(x.sizes())[dim] : 1;
  Unlocked unlocked(x.numel());
  parallel_for(0, x.numel() / n, std::max<int64_t>(1, kGrain / n), [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; i++) f(i / inner * n * inner + i % inner, inner, n);
  });
}

template <class Join>
void run(const Tensor& x, const Tensor& out, int64_t dim, Join join) {
  if (x.is_meta() || x.numel() == 0) return;
  int64_t n = x.dim() ? x.sizes()[dim] : 1, inner = x.dim() ? contiguous_strides(x.sizes())[dim] : 1;
  Unlocked unlocked(x.numel());
  visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    scan(x.data<T>(), out.data<T>(), x.numel() / (n * inner), n, inner, join);
  });
}

}  // namespace

void running_sum(const Tensor& x, const Tensor& out, int64_t dim) { run(x, out, dim, Plus()); }
void running_product(const Tensor& x, const Tensor& out, int64_t dim) { run(x, out, dim, Times()); }
void running_logsumexp(const Tensor& x, const Tensor& out, int64_t dim) { run(x, out, dim, LogAddExp()); }

void running_logsumexp_backward(const Tensor& g, const Tensor& x, const Tensor& y, const Tensor& out, int64_t dim) {
  auto lines = [&](auto tag) {
    using T = decltype(tag);
    for_lines(x, dim, [&](int64_t first, int64_t step, int64_t n) {
      const T *gs = g.data<T>() + first, *xs = x.data<T>() + first, *ys = y.data<T>() + first;
      T* to = out.data<T>() + first;
      // What comes from place i on, as a multiple of exp(-y[i]): y never falls, so no exponential overflows.
      double total = 0, above = 0;
      auto ratio = [](double a, double b) { return a == b ? 1.0 : std::exp(a - b); };  // also of infinities
      for (int64_t i = n; i-- > 0;) {
        const double here = ys[i * step];
        total = double(gs[i * step]) + (total == 0 ? 0 : total * ratio(here, above));
        above = here;
        const double v = xs[i * step];
        to[i * step] = T(std::isinf(v) && v < 0 ? 0.0 : ratio(v, here) * total);
      }
    });
  };
  if (x.dtype() == DType::Float64) lines(double());
  else lines(float());
}

void running_extremum(bool max, const Tensor& x, const Tensor& values, const Tensor& places, int64_t dim) {
  visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Number = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;
    for_lines(x, dim, [&](int64_t first, int64_t step, int64_t n) {
      const T* from = x.data<T>() + first;
      T* to = values.data<T>() + first;
      int64_t *at = places.data<int64_t>() + first, best = 0;
      for (int64_t i = 0; i < n; i++) {
        const Number v = element(from + i * step), so_far = element(from + best * step);
        if (v != v || (so_far == so_far && (max ? v >= so_far : v <= so_far))) best = i;
        to[i * step] = element(from + best * step), at[i * step] = best;
      }
    });
  });
}

}  // namespace rushlight::kernels
