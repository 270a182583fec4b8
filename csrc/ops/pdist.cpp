// Distances between all rows of a matrix.
#include "base/size_math.h"
#include "ops/layout.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

struct Pdist {
  static constexpr auto schema = "pdist(Tensor self, float p=2) -> Tensor";
  static constexpr auto doc =
      "The p-norm distance between every two of n rows: n * (n - 1) / 2 of them, row 0 to 1, 0 to 2, ..., 1 to 2, ...";
  double p;

  // The numbers of both rows of each pair.
  struct Pairs {
    Tensor first, second;
    Pairs(int64_t n, Device device) : first(empty({n * (n - 1) / 2}, DType::Int64, device)), second(empty_like(first)) {
      if (first.is_meta()) return;
      int64_t *a = first.data<int64_t>(), *b = second.data<int64_t>();
      for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) *a++ = i, *b++ = j;
    }
  };

  template <class T>
  double distance(const T* a, const T* b, int64_t width) const {
    double total = 0;
    for (int64_t i = 0; i < width; i++) {
      const double d = std::abs(double(a[i]) - double(b[i]));
      if (p == 2) total += d * d;
      else if (p == 1) total += d;
      else if (p == 0) total += d != 0;
      else if (std::isinf(p)) total = d > total || std::isnan(d) ? d : total;
      else total += std::pow(d, p);
    }
    if (p == 2) return std::sqrt(total);
    return p == 0 || p == 1 || std::isinf(p) ? total : std::pow(total, 1 / p);
  }

  Tensor forward(Ctx& ctx, const Tensor& x, double order) {
    p = order;
    RL_CHECK(x.dim() == 2, "pdist: input must be a matrix of rows, got shape ", x.sizes());
    RL_CHECK(x.is_floating(), "pdist is for floating point only, not ", x.dtype(), hint("convert with .float()"));
    RL_CHECK(p >= 0, "pdist: p must not be negative, got ", p);
    ctx.save(x);
    const int64_t n = x.sizes()[0], width = x.sizes()[1];
    const Dims shape{checked_mul("pdist", n, n - 1) / 2};
    if (x.is_meta()) return empty(shape, x.dtype(), x.device());
    const DType d = float_of(x);
    const Tensor in = ready(x, d);
    Tensor y = empty(shape, d);
    visit_float(d, [&](auto tag) {
      using T = decltype(tag);
      const T* rows = in.data<T>();
      T* out = y.data<T>();
      for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) *out++ = T(distance(rows + i * width, rows + j * width, width));
    });
    const Tensor result = in_dtype_of(x, y);
    ctx.save_output(result);
    return result;
  }

  // Where a distance is 0 it has no slope, and gets the gradient 0.
  Grads backward(Ctx& ctx, Grads g) {
    const Tensor x = ctx.get(0), zero = wrapped_number(0.0);
    const int64_t n = x.sizes()[0];
    if (p == 0 || n < 2) return {zeros_like(x)};
    const Pairs pairs(n, x.device());
    const Tensor apart = index_select(x, 0, pairs.first) - index_select(x, 0, pairs.second), size = abs(apart);
    const Tensor y = unsqueeze(ctx.get(1), 1), gy = unsqueeze(g[0], 1);
    Tensor slope;
    if (p == 1) slope = gy * sign(apart);
    else if (p == 2) slope = apart * where(eq(y, zero), zero, gy / y);
    else if (std::isinf(p)) slope = gy * sign(apart) * to_dtype(eq(size, y), x.dtype());
    else
      slope =
          where(eq(apart, zero), zero, sign(apart) * pow(size, p - 1)) * where(eq(y, zero), zero, gy / pow(y, p - 1));
    const Tensor one = index_add(zeros_like(x), 0, pairs.first, slope);
    return {index_add(one, 0, pairs.second, neg(slope))};
  }
};

RL_BIND(Pdist, function)

}  // namespace
}  // namespace ops
}  // namespace rushlight
