#include "ops/softmax.h"

#include "base/unlocked.h"
#include "kernels/cpu/softmax.h"
#include "kernels/loops.h"
#include "ops/layout.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

struct Rows {  // a contiguous tensor as (outer, n, inner) around one of its dimensions
  int64_t outer = 1, n = 1, inner = 1;
  Rows(IntSpan sizes, int64_t dim) {
    for (int64_t d = 0; d < int64_t(sizes.size()); d++) (d < dim ? outer : d == dim ? n : inner) *= sizes[d];
  }
  int64_t work() const { return outer * n * inner; }
};

template <bool log>
Tensor softmax_forward(const Tensor& input, int64_t dim, DType to) {
  const DType compute = to == DType::Float64 ? to : DType::Float32;
  if (input.is_meta()) return empty(input.sizes(), to, input.device());
  const Tensor x = ready(input, compute);
  Tensor y = empty(x.sizes(), compute);
  const Rows r(x.sizes(), dim);
  {
    Unlocked unlocked(r.work());
    RL_CALL_FLOAT(softmax, compute, log, x.data<T>(), y.data<T>(), r.outer, r.n, r.inner)
  }
  return compute == to ? y : kernels::cast(y, to);
}

template <bool log>
Tensor softmax_backward(const Tensor& grad, const Tensor& result, int64_t dim) {
  if (grad.is_meta()) return empty_like(grad);
  const DType compute = float_of(result);
  const Tensor g = ready(grad, compute), y = ready(result, compute);
  Tensor gx = empty(y.sizes(), compute);
  const Rows r(y.sizes(), dim);
  {
    Unlocked unlocked(r.work());
    RL_CALL_FLOAT(softmax_backward, compute, log, g.data<T>(), y.data<T>(), gx.data<T>(), r.outer, r.n, r.inner)
  }
  return in_dtype_of(result, gx);
}

template <bool log>
struct SoftmaxOf {
  static constexpr auto schema = log ? "log_softmax(Tensor self, int dim, dtype? dtype=None) -> Tensor"
                                     : "softmax(Tensor self, int dim, dtype? dtype=None) -> Tensor";
  static constexpr auto doc = log ? "log(softmax(self, dim)), without overflow."
                                  : "exp(self) divided by its sum along a dimension; converted to dtype first.";
  int64_t dim;
  Tensor forward(Ctx& ctx, const Tensor& x, int64_t along, std::optional<DType> dtype) {
    dim = wrap_dim(along, x.dim());
    const DType to = dtype.value_or(x.dtype());
    RL_CHECK_KIND(is_floating(to), NotImplemented, log ? "log_softmax" : "softmax", " is not implemented for ", to,
                  hint("convert with .float(), or pass dtype=rushlight.float32"));
    check_out_dtype(log ? "log_softmax" : "softmax", ctx, to);
    Tensor y = softmax_forward<log>(x, dim, to);
    ctx.save_output(y);
    return y;
  }
  Grads backward(Ctx& ctx, Grads g) {
    const Tensor y = ctx.get(0);
    if (!tls.grad_enabled) return {softmax_backward<log>(g[0], y, dim)};
    if (y.dim() == 0) return {zero_of(g[0])};
    if (log) return {g[0] - exp(y) * sum(g[0], {dim}, true)};
    return {y * (g[0] - sum(g[0] * y, {dim}, true))};
  }
};
using Softmax = SoftmaxOf<false>;
using LogSoftmax = SoftmaxOf<true>;

RL_BIND(Softmax, both | out)
RL_BIND(LogSoftmax, both | out)

}  // namespace
}  // namespace ops

Tensor softmax(const Tensor& x, int64_t dim) { return apply<ops::Softmax>(x, dim, std::optional<DType>()); }
Tensor log_softmax(const Tensor& x, int64_t dim) { return apply<ops::LogSoftmax>(x, dim, std::optional<DType>()); }

}  // namespace rushlight
