// Elements at the places that index tensors and masks name.
#include "kernels/indexing.h"

#include <algorithm>

#include "kernels/loops.h"
#include "ops/indexing.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {

void check_mask(const Tensor& x, const Tensor& mask, int64_t from) {
  for (int64_t k = 0; k < mask.dim(); k++)
    RL_CHECK_KIND(from + k < x.dim() && x.sizes()[from + k] == mask.sizes()[k], Index, "a mask of shape ", mask.sizes(),
                  " does not match the indexed tensor of shape ", x.sizes(), " at dimension ", from + k);
}

std::vector<Tensor> unfolded(const Tensor& x, std::span<const Tensor> indices) {
  std::vector<Tensor> out;
  for (const Tensor& t : indices) {
    if (!t) {
      out.emplace_back();
      continue;
    }
    if (is_mask(t)) {
      check_mask(x, t, int64_t(out.size()));
      Tensor places = kernels::nonzero(t);
      for (int64_t k = 0; k < t.dim(); k++)
        out.push_back(alias(places, {places.sizes()[0]}, {1}, k * places.strides()[1]));
      continue;
    }
    RL_CHECK_KIND(t.dtype() == DType::Int64 || t.dtype() == DType::Int32, Index,
                  "tensors used as indices must be int64, int32, uint8 or bool, not ", t.dtype(),
                  hint("convert with .long(), or compare to get a bool mask"));
    out.push_back(t.dtype() == DType::Int64 ? t : kernels::cast(t, DType::Int64));
  }
  return out;
}

namespace {

using kernels::Combine;
using kernels::IndexPlan;

// --- x[indices] ------------------------------------------------------------------------------------------------------

// Which places a mask names is in its values, which a meta tensor does not have.
bool is_unknown(const Tensor& t) { return t && is_mask(t) && t.is_meta(); }

// Saves unfolded indices, and behind them what they were unfolded from, only to see that it was not modified.
void save_indices(Ctx& ctx, std::span<const Tensor> unfolded, std::span<const Tensor> given) {
  for (const Tensor& t : unfolded) ctx.save(t);
  for (const Tensor& t : given)
    if (t && t.dtype() != DType::Int64) ctx.save(t);
}
std::vector<Tensor> saved_indices(const Ctx& ctx, size_t unfolded) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < ctx.saved.size(); i++)
    if (Tensor t = ctx.get(i); i < unfolded) out.push_back(std::move(t));
  return out;
}

// Whether one mask picks single elements of a tensor in order: then both may be flat.
bool picks_in_order(const Tensor& x, std::span<const Tensor> indices) {
  return indices.size() == 1 && indices[0] && is_mask(indices[0]) && indices[0].sizes() == x.sizes() &&
         x.is_contiguous() && indices[0].is_contiguous() && x.dim() > 1;
}

struct Index {
  static constexpr auto schema = "index(Tensor self, Tensor?[] indices) -> Tensor";
  static constexpr auto doc = "self[indices]: int64 tensors or masks, None where a dimension is taken whole.";
  Dims shape;
  bool flattened;
  size_t dims;  // indexed
  Tensor forward(Ctx& ctx, const Tensor& self, std::span<const Tensor> indices) {
    shape = self.sizes(), flattened = picks_in_order(self, indices);
    Tensor x = flattened ? flat(self) : self;
    std::vector<Tensor> at = flattened ? unfolded(x, std::vector<Tensor>{flat(indices[0])}) : unfolded(x, indices);
    save_indices(ctx, at, indices);
    dims = at.size();
    IndexPlan plan(x, at);
    Tensor out = empty_strided(plan.shape, plan.result_strides(x), x.dtype(), x.device());
    kernels::take_into(out, x, plan);
    return out;
  }
  Grads backward(Ctx& ctx, Grads g) {
    const std::vector<Tensor> at = saved_indices(ctx, dims);
    if (!flattened) return {index_put_(zeros_shaped(shape, g[0]), at, g[0], true)};
    return {reshape(index_put_(zeros_shaped({product(shape)}, g[0]), at, g[0], true), shape)};
  }
};

struct IndexPut {
  static constexpr auto schema =
      "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor";
  static constexpr auto doc =
      "self[indices] = values, or += with accumulate: of several values for one place the last is kept, or all are "
      "added.";
  bool accumulate;
  size_t given, dims;  // indices given, dimensions indexed
  Tensor forward(Ctx& ctx, const Tensor& x, std::span<const Tensor> indices, const Tensor& values, bool add) {
    accumulate = add, given = indices.size();
    RL_CHECK(values.dtype() == x.dtype(), "the values to write are ", values.dtype(), ", the tensor is ", x.dtype(),
             hint(detail::concat("convert them with .to(rushlight.", x.dtype(), ")")));
    const bool unknown = x.is_meta() && std::any_of(indices.begin(), indices.end(), is_unknown);
    std::vector<Tensor> at = unknown ? std::vector<Tensor>(indices.begin(), indices.end()) : unfolded(x, indices);
    save_indices(ctx, at, indices);
    dims = at.size();
    Tensor to = changed(ctx, x);  // also where it was made by expand()
    if (unknown) {
      int64_t dim = 0;
      for (const Tensor& t : indices) {
        if (t && is_mask(t)) check_mask(x, t, dim);
        dim += t && is_mask(t) ? t.dim() : 1;
      }
      return to;
    }
    kernels::put_at(to, IndexPlan(to, at), values, add ? Combine::add : Combine::assign);
    return to;
  }
  Grads backward(Ctx& ctx, Grads g) {
    const std::vector<Tensor> at = saved_indices(ctx, dims);
    Grads out(given + 2);
    int values = int(given) + 1;
    if (ctx.need(0)) out[0] = accumulate ? g[0] : index_put(g[0], at, zeros_shaped({}, g[0]));
    if (ctx.need(values)) out[values] = index(g[0], at);
    return out;
  }
};

// --- Along one dimension, one index for a whole slice ----------------------------------------------------------------

// The index vector of index_select and its kin, as int64.
Tensor index_vector(const char* op, const Tensor& index, bool int32) {
  RL_CHECK(index.dtype() == DType::Int64 || (int32 && index.dtype() == DType::Int32), op, ": the index must be int64",
           int32 ? " or int32" : "", ", not ", index.dtype());
  RL_CHECK_KIND(index.dim() <= 1, Index, op, ": the index must be a vector, got shape ", index.sizes());
  return vector_of(index.dtype() == DType::Int64 ? index : kernels::cast(index, DType::Int64));
}

struct IndexSelect {
  static constexpr auto schema = "index_select(Tensor self, int dim, Tensor index) -> Tensor";
  static constexpr auto doc = "The slices of a dimension at the places in a vector of indices, in their order.";
  Dims shape;
  int64_t dim;
  Tensor forward(Ctx& ctx, const Tensor& self, int64_t d, const Tensor& given) {
    shape = self.sizes(), dim = wrap_dim(d, self.dim());
    check_out_dtype(schema, ctx, self.dtype());
    ctx.save(given);
    Tensor x = vector_of(self), index = index_vector("index_select", given, true);
    IndexPlan plan = plan_along(x, dim, index);
    plan.wrap = false;
    RL_CHECK(self.dim() > 0 || index.numel() == 1,
             "index_select: of a tensor without dimensions one element can be taken, not ", index.numel());
    Dims result = self.dim() ? plan.shape : Dims();
    Tensor out = ctx.result(result, x.dtype(), x);
    if (out.storage() == x.storage() || out.storage() == given.storage()) out = empty(result, x.dtype(), x.device());
    kernels::take_into(vector_of(out), x, plan);
    return out;
  }
  Grads backward(Ctx& ctx, Grads g) { return {index_add(zeros_shaped(shape, g[0]), dim, ctx.get(0), g[0])}; }
};

void check_source(const char* op, const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                  ErrorKind kind) {
  RL_CHECK(source.dtype() == x.dtype(), op, ": the source is ", source.dtype(), ", the tensor ", x.dtype());
  RL_CHECK_KIND(source.dim() == x.dim() || source.dim() == 0 || x.dim() == 0, Index, op, ": the source has shape ",
                source.sizes(), ", the tensor ", x.sizes());
  Tensor s = vector_of(source);
  if (x.dim() > 0 && s.dim() == x.dim() && s.sizes()[dim] != index.numel())
    fail(kind, op, ": ", index.numel(), " indices, but the source has size ", s.sizes()[dim], " in dimension ", dim);
  for (int64_t d = 0; d < x.dim(); d++)
    RL_CHECK(d == dim || s.dim() != x.dim() || s.sizes()[d] == x.sizes()[d], op,
             ": source and tensor must agree except in dimension ", dim, ", got ", source.sizes(), " and ", x.sizes());
}

struct IndexAdd {
  static constexpr auto schema =
      "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor";
  static constexpr auto doc = "alpha times the slices of source added to self's slices at the places in index.";
  int64_t dim;
  Scalar alpha;
  Tensor forward(Ctx& ctx, const Tensor& x, int64_t d, const Tensor& given, const Tensor& source, Scalar a) {
    dim = wrap_dim(d, x.dim()), alpha = a;
    Tensor index = index_vector("index_add", given, true);
    check_source("index_add", x, dim, index, source, ErrorKind::Runtime);
    RL_CHECK(x.is_floating() || !alpha.is_floating(), "index_add: alpha must be an integer for integer tensors, got ",
             alpha);
    ctx.save(given);
    Tensor values = alpha == Scalar(1) ? source : mul(source, wrapped_number(alpha));
    check_out_dtype(schema, ctx, x.dtype());
    Tensor out = changed_apart(schema, ctx, x, MemoryFormat::Contiguous), to = vector_of(out);
    IndexPlan plan = plan_along(to, dim, index);
    plan.wrap = false, plan.error = x.dim() > 1 ? ErrorKind::Runtime : ErrorKind::Index;  // as PyTorch
    kernels::put_at(to, plan, vector_of(values), Combine::add);
    return out;
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor source;
    if (ctx.need(2)) {
      source = index_select(g[0], dim, ctx.get(0));
      if (!(alpha == Scalar(1))) source = mul(source, wrapped_number(alpha));
    }
    return {g[0], Tensor(), source};
  }
};

struct IndexCopy {
  static constexpr auto schema = "index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor";
  static constexpr auto doc = "self with the slices of source at the places in index.";
  int64_t dim;
  Tensor forward(Ctx& ctx, const Tensor& x, int64_t d, const Tensor& given, const Tensor& source) {
    dim = wrap_dim(d, x.dim());
    Tensor index = index_vector("index_copy", given, false);
    check_source("index_copy", x, dim, index, source, ErrorKind::Index);
    ctx.save(given);
    check_out_dtype(schema, ctx, x.dtype());
    Tensor out = changed_apart(schema, ctx, x, MemoryFormat::Contiguous), to = vector_of(out);
    IndexPlan plan = plan_along(to, dim, index);
    plan.wrap = false;
    kernels::put_at(to, plan, vector_of(source), Combine::assign);
    return out;
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor index = ctx.get(0);
    return {ctx.need(0) ? index_fill(g[0], dim, index, 0) : Tensor(), Tensor(),
            ctx.need(2) ? index_select(g[0], dim, index) : Tensor()};
  }
};

template <bool tensor>
struct IndexFill {
  static constexpr auto schema = tensor ? "index_fill(Tensor self, int dim, Tensor index, Tensor value) -> Tensor"
                                        : "index_fill(Tensor self, int dim, Tensor index, Scalar value) -> Tensor";
  static constexpr auto node_name = tensor ? "IndexFillBackward1" : "IndexFillBackward0";
  static constexpr auto doc = "self with one value in all slices at the places in index.";
  using Value = std::conditional_t<tensor, Tensor, Scalar>;
  int64_t dim;
  Tensor forward(Ctx& ctx, const Tensor& x, int64_t d, const Tensor& given, const Value& value) {
    dim = wrap_dim(d, x.dim());
    Tensor index = index_vector("index_fill", given, false);
    if constexpr (tensor)
      RL_CHECK(value.dim() == 0, "index_fill: the value must have no dimensions, got shape ", value.sizes());
    ctx.save(given);
    Tensor out = changed(ctx, x), to = vector_of(out);
    kernels::put_at(to, plan_along(to, dim, index), filling(value, x), Combine::assign);
    return out;
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor index = ctx.get(0), self = ctx.need(0) ? index_fill(g[0], dim, index, 0) : Tensor();
    if constexpr (tensor) return {self, Tensor(), ctx.need(2) ? sum(at(g[0], index)) : Tensor()};
    else return {self};
  }

 private:
  Tensor at(const Tensor& g, const Tensor& index) const {  // as index_select, but negative indices count from the end
    std::vector<Tensor> indices(g.dim() ? dim + 1 : 0);
    if (indices.empty()) return g;
    indices[dim] = index;
    return rushlight::index(g, indices);
  }
};

// --- Counted through all elements ------------------------------------------------------------------------------------

struct Take {
  static constexpr auto schema = "take(Tensor self, Tensor index) -> Tensor";
  static constexpr auto doc = "The elements at places counted through all of self in order.";
  Dims shape;
  Tensor forward(Ctx& ctx, const Tensor& x, const Tensor& index) {
    RL_CHECK(index.dtype() == DType::Int64, "take: the index must be int64, not ", index.dtype());
    RL_CHECK_KIND(x.numel() > 0 || index.numel() == 0, Index, "take: there is nothing to take from an empty tensor");
    shape = x.sizes();
    ctx.save(index);
    Tensor c = kernels::contiguous(x);
    Tensor out = empty(index.sizes(), x.dtype(), x.device());
    kernels::take_into(out, flat(c), plan_along(flat(c), 0, index));
    return out;
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor index = ctx.get(0);
    return {reshape(index_put_(zeros_shaped({product(shape)}, g[0]), {&index, 1}, g[0], true), shape)};
  }
};

RL_BIND(Index, hidden)
RL_BIND(IndexPut, both | inplace)
RL_BIND(IndexSelect, both | out)
RL_BIND(IndexAdd, both | inplace | out)
RL_BIND(IndexCopy, both | inplace | out)
RL_BIND(IndexFill<true>, both | inplace)
RL_BIND(IndexFill<false>, both | inplace)
RL_BIND(Take, both)

}  // namespace
}  // namespace ops

Tensor index(const Tensor& t, std::span<const Tensor> at) { return apply<ops::Index>(t, at); }
Tensor index_put(const Tensor& t, std::span<const Tensor> at, const Tensor& values, bool accumulate) {
  return apply<ops::IndexPut>(t, at, values, accumulate);
}
Tensor index_put_(const Tensor& t, std::span<const Tensor> at, const Tensor& values, bool accumulate) {
  return apply_inplace<ops::IndexPut>(t, at, values, accumulate);
}
Tensor index_select(const Tensor& t, int64_t d, const Tensor& at) { return apply<ops::IndexSelect>(t, d, at); }
Tensor index_add(const Tensor& t, int64_t d, const Tensor& at, const Tensor& source, const Scalar& alpha) {
  return apply<ops::IndexAdd>(t, d, at, source, alpha);
}
Tensor index_fill(const Tensor& t, int64_t d, const Tensor& at, const Scalar& v) {
  return apply<ops::IndexFill<false>>(t, d, at, v);
}

}  // namespace rushlight
