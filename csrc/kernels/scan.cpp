#include "kernels/scan.h"

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

}  // namespace rushlight::kernels
