// Order along a dimension.
#include "kernels/sort.h"

#include "kernels/loops.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

using Pair = std::tuple<Tensor, Tensor>;

// The gradient of elements that were selected by index along a dimension.
struct Selected {
  Dims shape;
  int64_t dim;
  Tensor back(const Tensor& g, const Tensor& index) const {
    return scatter_add(zeros(shape, g.dtype(), g.device()), dim, index, g);
  }
};

template <bool with_stable>
struct Sort : Selected {
  static constexpr auto schema =
      with_stable
          ? "sort(Tensor self, int dim=-1, bool descending=False, *, bool? stable) -> (Tensor values, Tensor indices)"
          : "sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)";
  static constexpr auto node_name = with_stable ? "SortBackward1" : "SortBackward0";
  static constexpr auto doc =
      "The elements along a dimension in ascending or descending order, and where they were. NaN is larger than any "
      "number; equal elements keep their order.";
  Pair run(Ctx& ctx, const Tensor& x, int64_t d, bool descending) {
    shape = x.sizes(), dim = wrap_dim(d, x.dim());
    Tensor values = empty_like(x), indices = empty_like(x, DType::Int64);
    if (x.dim() == 0) kernels::fill(indices, 0);
    kernels::sort_into(values, indices, x, dim, descending);
    ctx.save(alias(indices));
    return {values, indices};
  }
  Grads backward(Ctx& ctx, Grads g) { return {back(g[0], ctx.get(0))}; }
};
struct SortPlain : Sort<false> {
  Pair forward(Ctx& ctx, const Tensor& x, int64_t d, bool descending) { return run(ctx, x, d, descending); }
};
struct SortStable : Sort<true> {
  Pair forward(Ctx& ctx, const Tensor& x, int64_t d, bool descending, std::optional<bool>) {
    return run(ctx, x, d, descending);
  }
};

struct Argsort {
  static constexpr auto schema = "argsort(Tensor self, int dim=-1, bool descending=False, bool stable=False) -> Tensor";
  static constexpr auto doc = "The indices that sort() returns: where the elements in order are.";
  Tensor forward(Ctx&, const Tensor& x, int64_t d, bool descending, bool) {
    Tensor values = empty_like(x), indices = empty_like(x, DType::Int64);
    if (x.dim() == 0) kernels::fill(indices, 0);
    kernels::sort_into(values, indices, x, wrap_dim(d, x.dim()), descending);
    return indices;
  }
};

struct Msort {
  static constexpr auto schema = "msort(Tensor self) -> Tensor";
  static constexpr auto doc = "The elements in ascending order along the first dimension.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x) { return std::get<0>(apply<SortPlain>(x, int64_t(0), false)); }
};

struct Topk : Selected {
  static constexpr auto schema =
      "topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)";
  static constexpr auto doc = "The k largest or smallest elements along a dimension, in order, and where they were.";
  Pair forward(Ctx& ctx, const Tensor& x, int64_t k, int64_t d, bool largest, bool) {
    shape = x.sizes(), dim = wrap_dim(d, x.dim());
    int64_t n = x.dim() ? shape[dim] : 1;
    RL_CHECK(x.dtype() != DType::Bool, "topk: is not defined for bool tensors");
    RL_CHECK(k >= 0 && k <= n, "topk: k is ", k, ", dimension ", dim, " has size ", n);
    Dims result = shape;
    if (x.dim()) result[dim] = k;
    Tensor values = empty(result, x.dtype(), x.device()), indices = empty(result, DType::Int64, x.device());
    if (k > 0) kernels::topk_into(values, indices, x, dim, k, largest);
    else if (x.dim() == 0) kernels::copy_into(values, x), kernels::fill(indices, 0);
    ctx.save(alias(indices));
    return {values, indices};
  }
  Grads backward(Ctx& ctx, Grads g) { return {back(g[0], ctx.get(0))}; }
};

struct Kth : Selected {
  bool keepdim;
  Pair select(Ctx& ctx, const Tensor& x, int64_t k, bool keep, bool nan_first) {
    keepdim = keep;
    Dims result = shape;
    if (x.dim()) result[dim] = 1;
    Tensor values = empty(result, x.dtype(), x.device()), indices = empty(result, DType::Int64, x.device());
    kernels::kth_into(values, indices, x, dim, k, nan_first);
    ctx.save(alias(indices));
    if (keep || !x.dim()) return {values, indices};
    result.erase(dim);
    auto dropped = [&](const Tensor& t) { return alias(t, result, contiguous_strides(result), 0); };
    return {dropped(values), dropped(indices)};
  }
  Grads backward(Ctx& ctx, Grads g) {
    return {back(keepdim || shape.empty() ? g[0] : unsqueeze(g[0], dim), ctx.get(0))};
  }
};
struct Kthvalue : Kth {
  static constexpr auto schema =
      "kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)";
  static constexpr auto doc = "The k-th smallest element along a dimension (1 is the smallest), and where it was.";
  Pair forward(Ctx& ctx, const Tensor& x, int64_t k, int64_t d, bool keep) {
    shape = x.sizes(), dim = wrap_dim(d, x.dim());
    int64_t n = x.dim() ? shape[dim] : 1;
    RL_CHECK_KIND(n > 0, Index, "kthvalue: dimension ", dim, " is empty");
    RL_CHECK(k >= 1 && k <= n, "kthvalue: k is ", k, ", dimension ", dim, " has size ", n, hint("k counts from 1"));
    return select(ctx, x, k - 1, keep, false);
  }
};
struct MedianDim : Kth {
  static constexpr auto schema = "median(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)";
  static constexpr auto doc =
      "The middle element in order, the lower one of two; of all elements, or along a dimension with where it was. "
      "NaN if any is.";
  static constexpr auto node_name = "MedianBackward1";
  Pair forward(Ctx& ctx, const Tensor& x, int64_t d, bool keep) {
    shape = x.sizes(), dim = wrap_dim(d, x.dim());
    int64_t n = x.dim() ? shape[dim] : 1;
    RL_CHECK_KIND(n > 0, Index, "median: dimension ", dim, " is empty");
    return select(ctx, x, (n - 1) / 2, keep, true);
  }
};
struct Median {
  static constexpr auto schema = "median(Tensor self) -> Tensor";
  Tensor forward(Ctx& ctx, const Tensor& x) {
    ctx.save(x);
    int64_t n = x.numel();
    Tensor c = kernels::contiguous(x), flat = alias(c, {n}, {1}, c.offset());
    if (n == 0) {
      Tensor none = full({}, x.is_floating() ? Scalar(std::nan("")) : Scalar(INT64_MIN), x.dtype(), x.device());
      ctx.save_output(none);
      return none;
    }
    Tensor value = empty({1}, x.dtype(), x.device()), index = empty({1}, DType::Int64, x.device());
    kernels::kth_into(value, index, flat, 0, (n - 1) / 2, true);
    Tensor out = alias(value, {}, {}, 0);
    ctx.save_output(out);
    return out;
  }
  Grads backward(Ctx& ctx, Grads g) {  // shared by all elements that equal the median
    Tensor x = ctx.get(0).detach(), y = ctx.get(1).detach();
    Tensor mask = to_dtype(logical_or(eq(x, y), logical_and(ne(x, x), ne(y, y))), g[0].dtype());
    return {mul(mask, div(g[0], sum(mask)))};
  }
};

RL_BIND(SortPlain, both | out)
RL_BIND(SortStable, both | out)
RL_BIND(Argsort, both)
RL_BIND(Msort, both)
RL_BIND(Topk, both | out)
RL_BIND(Kthvalue, both | out)
RL_BIND(Median, both)
RL_BIND(MedianDim, both | out)

}  // namespace
}  // namespace ops
}  // namespace rushlight
