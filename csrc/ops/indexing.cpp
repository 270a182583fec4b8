// Elements at the places that index tensors and masks name.
#include "kernels/indexing.h"

#include "kernels/loops.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

// Index tensors as the kernels take them: masks unfolded into the indices of their true elements, all int64.
std::vector<Tensor> unfolded(const char* op, const Tensor& x, std::span<const Tensor> indices) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < indices.size(); i++) {
    const Tensor& t = indices[i];
    if (!t) {
      out.emplace_back();
      continue;
    }
    DType d = t.dtype();
    if (d == DType::Bool || d == DType::UInt8) {
      for (int64_t k = 0; k < t.dim(); k++) {
        int64_t dim = int64_t(out.size()) + k;
        RL_CHECK_KIND(dim < x.dim() && x.sizes()[dim] == t.sizes()[k], Index, op, ": a mask of shape ", t.sizes(),
                      " does not match the tensor of shape ", x.sizes(), " at dimension ", dim);
      }
      Tensor places = kernels::nonzero(t);
      for (int64_t k = 0; k < t.dim(); k++)
        out.push_back(alias(places, {places.sizes()[0]}, {places.strides()[0]}, k * places.strides()[1]));
      continue;
    }
    RL_CHECK_KIND(d == DType::Int64 || d == DType::Int32, Index,
                  "tensors used as indices must be int64, int32, uint8 or bool, not ", d,
                  hint("convert with .long(), or compare to get a bool mask"));
    out.push_back(d == DType::Int64 ? t : kernels::cast(t, DType::Int64));
  }
  return out;
}

struct Index {
  static constexpr auto schema = "index(Tensor self, Tensor?[] indices) -> Tensor";
  static constexpr auto doc = "self[indices]: int64 tensors or masks, None where a dimension is taken whole.";
  Dims shape;
  Tensor forward(Ctx& ctx, const Tensor& x, std::span<const Tensor> indices) {
    shape = x.sizes();
    std::vector<Tensor> at = unfolded("index", x, indices);
    for (const Tensor& t : at) ctx.save(t);
    return kernels::take_at(schema, x, at);
  }
  Grads backward(Ctx& ctx, Grads g) {
    std::vector<Tensor> at;
    for (size_t i = 0; i < ctx.saved.size(); i++) at.push_back(ctx.get(i));
    return {index_put_(zeros(shape, g[0].dtype(), g[0].device()), at, g[0], true)};
  }
};

struct IndexPut {
  static constexpr auto schema =
      "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor";
  static constexpr auto doc =
      "self[indices] = values, or += where accumulate; of equal indices the last is kept, or all are added.";
  bool accumulate;
  size_t given;
  Tensor forward(Ctx& ctx, const Tensor& x, std::span<const Tensor> indices, const Tensor& values, bool add) {
    accumulate = add, given = indices.size();
    RL_CHECK(values.dtype() == x.dtype(), "index_put: the values are ", values.dtype(), ", the tensor ", x.dtype(),
             hint(detail::concat("convert them with .to(rushlight.", x.dtype(), ")")));
    std::vector<Tensor> at = unfolded("index_put", x, indices);
    for (Tensor& t : at) {
      if (t && ctx.inplace && t.storage() == ctx.out->storage()) t = kernels::clone(t);
      ctx.save(t);
    }
    Tensor to = ctx.inplace ? *ctx.out : kernels::clone(x);
    kernels::check_writable(schema, to);
    kernels::put_at(schema, to, at, values, add ? kernels::Combine::add : kernels::Combine::assign);
    return to;
  }
  Grads backward(Ctx& ctx, Grads g) {
    std::vector<Tensor> at;
    for (size_t i = 0; i < ctx.saved.size(); i++) at.push_back(ctx.get(i));
    Grads out(given + 2);
    if (ctx.need(0)) {
      if (accumulate)
        out[0] = g[0];
      else
        out[0] = index_put(g[0], at, zeros({}, g[0].dtype(), g[0].device()));
    }
    if (ctx.need(int(given) + 1)) out[given + 1] = index(g[0], at);
    return out;
  }
};

struct MaskedFill {
  static constexpr auto schema = "masked_fill(Tensor self, Tensor mask, Number|Tensor value) -> Tensor";
  static constexpr auto doc = "value where mask is true, self elsewhere.";
  Tensor forward(Ctx& ctx, const Tensor& x, const Tensor& mask, const Tensor& value) {
    RL_CHECK(mask.dtype() == DType::Bool, "masked_fill: the mask must be bool, not ", mask.dtype(),
             hint("use .bool()"));
    RL_CHECK(value.dim() == 0, "masked_fill: the value must be a number or a tensor without dimensions, got shape ",
             value.sizes(), hint("use where(mask, value, self) to fill with several values"));
    ctx.save(mask);
    Tensor out = ctx.inplace ? *ctx.out : Tensor();
    if (!out) {
      Dims shape = x.sizes() == mask.sizes() ? x.sizes() : broadcast_shapes(x.sizes(), mask.sizes());
      out = empty(shape, x.dtype(), x.device());
    }
    return kernels::pointwise(schema, pointwise::Where(), 0, x.dtype(), &out, mask, value, x);
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor mask = ctx.get(0), zero = wrapped_number(0.0);
    return {ctx.need(0) ? masked_fill(g[0], mask, zero) : Tensor(), Tensor(),
            ctx.need(2) ? sum(where(mask, g[0], zero)) : Tensor()};
  }
};

RL_BIND(Index, hidden)
RL_BIND(IndexPut, both | inplace)
RL_BIND(MaskedFill, both | inplace)

}  // namespace
}  // namespace ops

Tensor index(const Tensor& t, std::span<const Tensor> indices) { return apply<ops::Index>(t, indices); }
Tensor index_put(const Tensor& t, std::span<const Tensor> indices, const Tensor& values, bool accumulate) {
  return apply<ops::IndexPut>(t, indices, values, accumulate);
}
Tensor index_put_(const Tensor& t, std::span<const Tensor> indices, const Tensor& values, bool accumulate) {
  return apply_inplace<ops::IndexPut>(t, indices, values, accumulate);
}
Tensor index_select(const Tensor& t, int64_t d, const Tensor& at) {
  std::vector<Tensor> indices(wrap_dim(d, t.dim()) + 1);
  indices.back() = at;
  return index(t, indices);
}
Tensor masked_fill(const Tensor& t, const Tensor& mask, const Tensor& value) {
  return apply<ops::MaskedFill>(t, mask, value);
}
Tensor masked_fill_(const Tensor& t, const Tensor& mask, const Tensor& value) {
  return apply_inplace<ops::MaskedFill>(t, mask, value);
}

}  // namespace rushlight
