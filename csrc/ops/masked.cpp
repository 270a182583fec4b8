// Elements where a mask is true, and the places of what is not zero.
#include <algorithm>

#include "kernels/indexing.h"
#include "kernels/loops.h"
#include "ops/indexing.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

using kernels::Combine;
using kernels::IndexPlan;

template <bool tensor>
struct MaskedFill {
  static constexpr auto schema = tensor ? "masked_fill(Tensor self, Tensor mask, Tensor value) -> Tensor"
                                        : "masked_fill(Tensor self, Tensor mask, Scalar value) -> Tensor";
  static constexpr auto node_name = tensor ? "MaskedFillBackward1" : "MaskedFillBackward0";
  static constexpr auto doc = "value where mask is true, self elsewhere.";
  using Value = std::conditional_t<tensor, Tensor, Scalar>;
  Tensor forward(Ctx& ctx, const Tensor& x, const Tensor& mask, const Value& value) {
    RL_CHECK(mask.dtype() == DType::Bool, "masked_fill: the mask must be bool, not ", mask.dtype(),
             hint("use .bool()"));
    if constexpr (tensor)
      RL_CHECK(value.dim() == 0, "masked_fill: the value must be a number or a tensor without dimensions, got shape ",
               value.sizes(), hint("use where(mask, value, self) to fill with several values"));
    const Tensor with = filling(value, x);
    ctx.save(mask);
    Tensor out = ctx.inplace ? *ctx.out : Tensor();
    if (!out) {
      Dims shape = x.sizes() == mask.sizes() ? x.sizes() : broadcast_shapes(x.sizes(), mask.sizes());
      out = empty(shape, x.dtype(), x.device());
    }
    if (ctx.inplace && kernels::shares_places(out)) {  // made by expand(): written where any element's mask says so
      Tensor where = expand(mask, out.sizes());
      kernels::put_at(out, IndexPlan(out, unfolded(out, {&where, 1})), with, Combine::assign);
      return out;
    }
    return kernels::pointwise(schema, pointwise::Where(), 0, x.dtype(), &out, mask, with, x);
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor mask = ctx.get(0), self = ctx.need(0) ? masked_fill(g[0], mask, 0) : Tensor();
    if constexpr (tensor) return {self, Tensor(), ctx.need(2) ? sum(where(mask, g[0], wrapped_number(0.0))) : Tensor()};
    else return {self};
  }
};

// Both seen in their common shape.
std::pair<Tensor, Tensor> broadcast(const Tensor& a, const Tensor& b) {
  if (a.sizes() == b.sizes()) return {a, b};
  Dims shape = broadcast_shapes(a.sizes(), b.sizes());
  return {expand(a, shape), expand(b, shape)};
}

struct MaskedSelect {
  static constexpr auto schema = "masked_select(Tensor self, Tensor mask) -> Tensor";
  static constexpr auto doc = "The elements where mask is true, in order, in one dimension.";
  Dims shape;
  Tensor forward(Ctx& ctx, const Tensor& self, const Tensor& given) {
    RL_CHECK(given.dtype() == DType::Bool, "masked_select: the mask must be bool, not ", given.dtype(),
             hint("use .bool()"));
    check_out_dtype(schema, ctx, self.dtype());
    auto [x, mask] = broadcast(self, given);
    shape = x.sizes();
    ctx.save(given);
    x = flat(kernels::contiguous(x)), mask = flat(kernels::contiguous(mask));
    IndexPlan plan(x, unfolded(x, {&mask, 1}));
    Tensor out = empty(plan.shape, x.dtype(), x.device());
    kernels::take_into(out, x, plan);
    return out;
  }
  Grads backward(Ctx& ctx, Grads g) {
    return {masked_scatter(zeros_shaped(shape, g[0]), expand(ctx.get(0), shape), g[0])};
  }
};

struct MaskedScatter {
  static constexpr auto schema = "masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor";
  static constexpr auto doc = "self with the first elements of source, in order, where mask is true.";
  Dims source_shape;
  Tensor forward(Ctx& ctx, const Tensor& self, const Tensor& given, const Tensor& source) {
    RL_CHECK(given.dtype() == DType::Bool, "masked_scatter: the mask must be bool, not ", given.dtype(),
             hint("use .bool()"));
    RL_CHECK(source.dtype() == self.dtype(), "masked_scatter: the source is ", source.dtype(), ", the tensor ",
             self.dtype());
    source_shape = source.sizes();
    ctx.save(given);
    auto [x, mask] = broadcast(self, given);
    RL_CHECK(!ctx.inplace || x.sizes() == self.sizes(), "masked_scatter_: the mask of shape ", given.sizes(),
             " does not broadcast to ", self.sizes());
    Tensor to = ctx.inplace ? changed_apart(schema, ctx, self) : kernels::clone(x, MemoryFormat::Contiguous);
    if (to.is_meta()) return to;
    if (mask.dim() == 0) mask = vector_of(mask);
    IndexPlan plan(vector_of(to), unfolded(vector_of(to), {&mask, 1}));
    int64_t n = product(plan.shape);
    RL_CHECK(n <= source.numel(), "masked_scatter: the mask is true ", n, " times, the source has ", source.numel(),
             " elements");
    Tensor values = kernels::contiguous(source);
    kernels::put_at(vector_of(to), plan, alias(values, {n}, {1}, values.offset()), Combine::assign);
    return to;
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor mask = ctx.get(0), source;
    if (ctx.need(2)) source = reshape(padded(masked_select(g[0], mask), {product(source_shape)}), source_shape);
    return {ctx.need(0) ? masked_fill(g[0], mask, 0) : Tensor(), Tensor(), source};
  }
};

struct Nonzero {
  static constexpr auto schema = "nonzero(Tensor self) -> Tensor";
  static constexpr auto doc = "The indices of all elements that are not zero, one row each.";
  Tensor forward(Ctx& ctx, const Tensor& x) {
    check_out_dtype(schema, ctx, DType::Int64);
    Tensor found = kernels::nonzero(x);
    if (ctx.out && ctx.out->sizes() != found.sizes()) {  // made to fit, it takes the result's layout too
      resize_out(*ctx.out, found.sizes());
      ctx.out->impl()->strides = found.strides();
      ctx.out->impl()->refresh();
    }
    return found;
  }
};
struct Argwhere {
  static constexpr auto schema = "argwhere(Tensor self) -> Tensor";
  static constexpr auto doc = "nonzero() by its NumPy name.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x) { return kernels::nonzero(x); }
};
struct WhereNonzero {
  static constexpr auto schema = "where(Tensor condition) -> Tensor[]";
  static constexpr auto doc = "The indices of all elements that are not zero, one tensor for each dimension.";
  static constexpr Kind kind = Kind::composite;
  Tensors forward(Ctx&, const Tensor& x) { return unbind(kernels::nonzero(vector_of(x)), 1); }
};

struct Bincount {
  static constexpr auto schema = "bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor";
  static constexpr auto doc = "How often 0, 1, 2, ... occur in a vector of integers, or the sums of their weights.";
  Tensor forward(Ctx&, const Tensor& x, const Tensor& weights, int64_t minlength) {
    bool whole = !x.is_floating() && x.dtype() != DType::Bool;
    RL_CHECK_KIND(whole, NotImplemented, "bincount: is for integers, not ", x.dtype());
    RL_CHECK(x.dim() == 1, "bincount: expects one dimension, got shape ", x.sizes());
    RL_CHECK(minlength >= 0, "bincount: minlength must not be negative, got ", minlength);
    RL_CHECK(!weights || weights.sizes() == x.sizes(), "bincount: weights must have the input's shape, ", x.sizes());
    RL_CHECK_KIND(!x.is_meta(), NotImplemented, "bincount: the size of the result depends on values");
    Tensor c = kernels::contiguous(kernels::cast(x, DType::Int64));
    const int64_t* p = c.data<int64_t>();
    int64_t top = -1;
    for (int64_t i = 0; i < c.numel(); i++) {
      RL_CHECK(p[i] >= 0, "bincount: expects no negative numbers, got ", p[i], " at ", i);
      top = std::max(top, p[i]);
    }
    DType d = !weights ? DType::Int64 : weights.dtype() == DType::Float32 ? DType::Float32 : DType::Float64;
    Tensor out = zeros({std::max(minlength, top + 1)}, d, x.device());
    Tensor amounts = weights ? kernels::cast(weights, d) : full({}, 1, d, x.device());
    kernels::put_at(out, plan_along(out, 0, c), amounts, Combine::add);
    return out;
  }
};

RL_BIND(MaskedFill<true>, both | inplace)  // first: a tensor without dimensions would pass for a number
RL_BIND(MaskedFill<false>, both | inplace)
RL_BIND(MaskedSelect, both | out)
RL_BIND(MaskedScatter, both | inplace)
RL_BIND(Nonzero, hidden | out)
RL_BIND(Argwhere, both)
RL_BIND(WhereNonzero, function)
RL_BIND(Bincount, both)

}  // namespace
}  // namespace ops

Tensor masked_fill(const Tensor& t, const Tensor& mask, const Scalar& v) {
  return apply<ops::MaskedFill<false>>(t, mask, v);
}
Tensor masked_fill_(const Tensor& t, const Tensor& mask, const Tensor& v) {
  return apply_inplace<ops::MaskedFill<true>>(t, mask, v);
}
Tensor masked_select(const Tensor& t, const Tensor& mask) { return apply<ops::MaskedSelect>(t, mask); }
Tensor masked_scatter(const Tensor& t, const Tensor& mask, const Tensor& source) {
  return apply<ops::MaskedScatter>(t, mask, source);
}
Tensor nonzero(const Tensor& t) { return kernels::nonzero(t); }

}  // namespace rushlight
