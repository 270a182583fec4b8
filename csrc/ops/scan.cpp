// Running sums and products.
#include "kernels/scan.h"

#include "kernels/loops.h"
#include "ops/pointwise.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

using OptDType = std::optional<DType>;

// What is scanned, as the result's dtype; the scan then runs in place where the conversion made a copy.
template <class Run>
Tensor scan(const char* schema, const Ctx& ctx, const Tensor& x, OptDType asked, int64_t dim, Run run) {
  RL_CHECK(!ctx.inplace || !asked || *asked == x.dtype(), op_name(schema), "_: dtype is ", *asked, ", the tensor ",
           x.dtype(), hint("use the out-of-place form, which may change the dtype"));
  if (ctx.out && !asked) asked = ctx.out->dtype();
  DType to = asked.value_or(is_floating(x.dtype()) ? x.dtype() : DType::Int64);
  RL_CHECK_KIND(to != DType::Bool || x.dim() == 0 || x.numel() == 0, NotImplemented, op_name(schema),
                " into bool is not defined", hint("give dtype=rushlight.int64"));
  Tensor from = x.dtype() == to ? kernels::contiguous(x) : kernels::cast(x, to, MemoryFormat::Contiguous);
  Tensor out = from.storage() == x.storage() ? empty(x.sizes(), to, x.device()) : from;
  run(from, out, dim);
  return out;
}

// The other way: out[i] = x[i] + x[i + 1] + ...
Tensor sum_from_end(const Tensor& x, int64_t dim);

struct Cumsum {
  static constexpr auto schema = "cumsum(Tensor self, int dim, *, dtype? dtype=None) -> Tensor";
  static constexpr auto doc = "Running sums along a dimension. Integers and bool are summed in int64.";
  int64_t dim;
  Tensor forward(Ctx& ctx, const Tensor& x, int64_t d, OptDType dtype) {
    dim = wrap_dim(d, x.dim());
    return scan(schema, ctx, x, dtype, dim, kernels::running_sum);
  }
  Grads backward(Ctx&, Grads g) { return {sum_from_end(g[0], dim)}; }
};
Tensor sum_from_end(const Tensor& x, int64_t dim) {
  if (x.dim() == 0) return x;
  const int64_t dims[] = {dim};
  IntSpan along(dims, 1);
  return flip(apply<Cumsum>(flip(x, along), dim, OptDType()), along);
}

struct Cumprod {
  static constexpr auto schema = "cumprod(Tensor self, int dim, *, dtype? dtype=None) -> Tensor";
  static constexpr auto doc = "Running products along a dimension. Integers and bool are multiplied in int64.";
  int64_t dim;
  Tensor forward(Ctx& ctx, const Tensor& x, int64_t d, OptDType dtype) {
    ctx.save(x);
    dim = wrap_dim(d, x.dim());
    Tensor y = scan(schema, ctx, x, dtype, dim, kernels::running_product);
    ctx.save_output(y);
    return y;
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor x = ctx.get(0), y = ctx.get(1);
    if (x.dim() == 0) return {g[0]};
    bool plain = !tls.grad_enabled && !x.is_meta() && !any(eq(x, wrapped_number(0.0))).item().to_int();
    if (plain) return {sum_from_end(g[0] * y, dim) / x};
    // Zeros, or to be differentiated again: for every i, products of a line whose element i is 1, from i on.
    int64_t n = x.size(dim);
    Tensor place = arange(0, n, 1, DType::Int64), row = unsqueeze(place, 1);
    Tensor line = unsqueeze(transpose(x, dim, -1), -2), one = wrapped_number(1.0), zero = wrapped_number(0.0);
    Tensor others = apply<Cumprod>(where(eq(row, place), one, line), int64_t(-1), OptDType());
    Tensor by_place = where(ge(place, row), unsqueeze(transpose(g[0], dim, -1), -2) * others, zero);
    return {transpose(sum(by_place, {-1}), dim, -1)};
  }
};

RL_BIND(Cumsum, both | inplace | out)
RL_BIND(Cumprod, both | inplace | out)

}  // namespace
}  // namespace ops
}  // namespace rushlight
