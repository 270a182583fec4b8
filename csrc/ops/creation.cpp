// New tensors. Python's creation functions come here with shape, dtype and device worked out.
#include "base/size_math.h"
#include "kernels/loops.h"
#include "ops/registry.h"

namespace rushlight {

Tensor full(IntSpan shape, const Scalar& value, DType dtype, Device device) {
  Tensor t = empty(shape, dtype, device);
  kernels::fill(t, value);
  return t;
}
Tensor zeros(IntSpan shape, DType dtype, Device device) { return full(shape, 0, dtype, device); }
Tensor ones(IntSpan shape, DType dtype, Device device) { return full(shape, 1, dtype, device); }
Tensor zeros_like(const Tensor& t) {
  Tensor z = empty_like(t);
  kernels::fill(z, 0);
  return z;
}
Tensor ones_like(const Tensor& t) {
  Tensor z = empty_like(t);
  kernels::fill(z, 1);
  return z;
}

namespace ops {
namespace {

// Sequences are made in double, or in int64 for integer dtypes, and stored in the dtype asked for.
template <class F>
Tensor sequence(int64_t n, DType dtype, F&& value) {
  Tensor t = empty({n}, dtype);
  visit(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* p = t.data<T>();
    for (int64_t i = 0; i < n; i++) {
      auto v = value(i);
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) p[i] = T(float(v));
      else p[i] = T(v);
    }
  });
  return t;
}

struct Arange {
  static constexpr auto schema = "_arange(Scalar start, Scalar end, Scalar step, dtype dtype) -> Tensor";
  Tensor forward(Ctx&, Scalar start, Scalar end, Scalar step, DType d) {
    double a = start.to_double(), b = end.to_double(), s = step.to_double();
    RL_CHECK(s != 0, "arange: step must not be 0");
    RL_CHECK(std::isfinite(a) && std::isfinite(b), "arange: start and end must be finite, got ", start, " and ", end);
    RL_CHECK((s > 0) == (b >= a) || a == b, "arange: from ", start, " to ", end, " with step ", step, " never arrives",
             hint("the step must point from start to end"));
    bool whole = !start.is_floating() && !end.is_floating() && !step.is_floating();
    const __int128 by = whole ? step.to_int() : 1, span = whole ? __int128(end.to_int()) - start.to_int() : 0;
    double count = whole ? double((span + by - (s > 0 ? 1 : -1)) / by) : std::ceil((b - a) / s);
    RL_CHECK(count < 9e15, "arange: ", count, " elements are more than any memory holds");
    if (is_integral(d)) {
      int64_t first = start.to<int64_t>(), by = step.to<int64_t>();
      end.to<int64_t>();  // raises where it does not fit
      return sequence(int64_t(count), d, [=](int64_t i) { return wrapping_add(first, wrapping_mul(i, by)); });
    }
    return sequence(int64_t(count), d, [=](int64_t i) { return a + double(i) * s; });
  }
};

struct Linspace {
  static constexpr auto schema = "_linspace(Scalar start, Scalar end, int steps, dtype dtype) -> Tensor";
  Tensor forward(Ctx&, Scalar start, Scalar end, int64_t n, DType d) {
    RL_CHECK(n >= 0, "linspace: steps must not be negative, got ", n);
    double a = start.to_double(), b = end.to_double(), step = n > 1 ? (b - a) / double(n - 1) : 0;
    if (d == DType::Float32) step = float(step);
    visit(d, [&](auto tag) {  // raise where they do not fit
      using T = typename decltype(tag)::type;
      if constexpr (std::is_integral_v<T>) start.to<T>(), end.to<T>();
    });
    // From both ends, so that both are exact.
    return sequence(
        n, d, [=](int64_t i) { return i < n / 2 || n == 1 ? a + double(i) * step : b - double(n - 1 - i) * step; });
  }
};

RL_BIND(Arange, hidden)
RL_BIND(Linspace, hidden)

}  // namespace
}  // namespace ops

Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, DType d) {
  return apply<ops::Arange>(start, end, step, d);
}

}  // namespace rushlight
