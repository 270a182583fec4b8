#include "kernels/loops.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

struct Sum {
  static constexpr auto schema = "sum(Tensor self, int[1]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor";
  static constexpr auto node_name = "SumBackward1";
  Dims shape, dims;
  bool keep;
  Tensor forward(Ctx& ctx, const Tensor& x, std::optional<IntSpan> dim, bool keepdim, std::optional<DType> dtype) {
    shape = x.sizes(), keep = keepdim;
    if (dim)
      for (int64_t d : *dim) dims.push_back(wrap_dim(d, x.dim()));
    if (dims.empty())
      for (int64_t d = 0; d < x.dim(); d++) dims.push_back(d);
    Dims kept = x.sizes();
    for (int64_t d : dims) if (x.dim()) kept[d] = 1;
    DType to = dtype.value_or(is_floating(x.dtype()) ? x.dtype() : DType::Int64);
    Tensor out = empty(kept, to, x.device());
    kernels::fill(out, 0);
    Dims out_strides = out.strides();
    for (int64_t d : dims) if (x.dim()) out_strides[d] = 0;
    Tensor c = kernels::contiguous(kernels::cast(x, to));
    visit(to, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < x.numel(); i++) {
        int64_t rest = i, at = 0;
        for (int64_t d = x.dim(); d-- > 0;) at += rest % shape[d] * out_strides[d], rest /= shape[d];
        if constexpr (!std::is_same_v<T, bool>) out.data<T>()[at] = T(out.data<T>()[at] + c.data<T>()[i]);
      }
    });
    if (keepdim || !x.dim()) return out;
    Dims fin;
    for (int64_t d = 0; d < x.dim(); d++)
      if (std::find(dims.begin(), dims.end(), d) == dims.end()) fin.push_back(kept[d]);
    (void)ctx;
    return alias(out, fin, contiguous_strides(fin), 0);
  }
  Grads backward(Ctx&, Grads g) {
    Tensor t = g[0];
    Dims kept = shape;
    for (int64_t d : dims) if (!shape.empty()) kept[d] = 1;
    return {expand(reshape(t, kept), shape)};
  }
};
RL_BIND(Sum, both)

}  // namespace
}  // namespace ops

Tensor sum(const Tensor& t) { return apply<ops::Sum>(t, std::optional<IntSpan>(), false, std::optional<DType>()); }
Tensor sum(const Tensor& t, IntSpan dims, bool keepdim) {
  return apply<ops::Sum>(t, std::optional<IntSpan>(dims), keepdim, std::optional<DType>());
}
Tensor sum_to(const Tensor& t, IntSpan shape) {
  Dims dims;
  int64_t lead = t.dim() - int64_t(shape.size());
  for (int64_t d = 0; d < t.dim(); d++)
    if (d < lead || (shape[d - lead] == 1 && t.sizes()[d] != 1)) dims.push_back(d);
  if (dims.empty()) return t;
  return reshape(sum(t, dims, true), shape);
}

}  // namespace rushlight
