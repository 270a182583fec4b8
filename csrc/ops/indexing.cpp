// Elements at the places that index tensors and masks name.
#include "kernels/indexing.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/loops.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

using kernels::Combine;
using kernels::IndexPlan;

Tensor zeros_shaped(const Dims& shape, const Tensor& like) { return zeros(shape, like.dtype(), like.device()); }

// A tensor without dimensions as a vector of one element, which is what operations along a dimension take it for.
Tensor vector_of(const Tensor& t) { return t.dim() ? t : alias(t, {1}, {1}, t.offset()); }

// What an operation of the kind "self changed at some places" writes to: self itself in place, else a copy.
Tensor changed(const char* op, const Ctx& ctx, const Tensor& x, MemoryFormat format = MemoryFormat::Preserve) {
  Tensor to = ctx.inplace ? *ctx.out : kernels::clone(x, format);
  kernels::check_writable(op, to);
  return to;
}

// --- x[indices] ------------------------------------------------------------------------------------------------------

bool is_mask(const Tensor& t) { return t.dtype() == DType::Bool || t.dtype() == DType::UInt8; }

// Which places a mask names is in its values, which a meta tensor does not have.
bool is_unknown(const Tensor& t) { return t && is_mask(t) && t.is_meta(); }

void check_mask(const Tensor& x, const Tensor& mask, int64_t from) {
  for (int64_t k = 0; k < mask.dim(); k++)
    RL_CHECK_KIND(from + k < x.dim() && x.sizes()[from + k] == mask.sizes()[k], Index, "a mask of shape ", mask.sizes(),
                  " does not match the indexed tensor of shape ", x.sizes(), " at dimension ", from + k);
}

// Index tensors as the kernels take them: masks unfolded into the indices of their true elements, all int64.
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
Tensor flat(const Tensor& t) { return alias(t, {t.numel()}, {1}, t.offset()); }

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
    Tensor to = ctx.inplace ? *ctx.out : kernels::clone(x);  // also where it was made by expand()
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
IndexPlan plan_along(const Tensor& x, int64_t dim, const Tensor& index) {
  std::vector<Tensor> indices(dim + 1);
  indices[dim] = index;
  return IndexPlan(x, indices);
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
    Tensor out = changed(schema, ctx, x, MemoryFormat::Contiguous), to = vector_of(out);
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
    Tensor out = changed(schema, ctx, x, MemoryFormat::Contiguous), to = vector_of(out);
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
    Tensor index = index_vector("index_fill", given, false), filling;
    if constexpr (tensor) {
      RL_CHECK(value.dim() == 0, "index_fill: the value must have no dimensions, got shape ", value.sizes());
      filling = kernels::cast(value, x.dtype());
    } else {
      filling = scalar_tensor(value, x.dtype(), x.device());
    }
    ctx.save(given);
    Tensor out = ctx.inplace ? *ctx.out : kernels::clone(x), to = vector_of(out);
    kernels::put_at(to, plan_along(to, dim, index), filling, Combine::assign);
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

// --- Along one dimension, an index for every element -----------------------------------------------------------------

Tensor element_index(const char* op, const Tensor& index) {
  RL_CHECK(index.dtype() == DType::Int64 || index.dtype() == DType::Int32, op,
           ": the index must be int64 or int32, not ", index.dtype());
  return vector_of(index.dtype() == DType::Int64 ? index : kernels::cast(index, DType::Int64));
}
void check_index_fits(const char* op, const Tensor& x, int64_t dim, const Tensor& index, const char* what) {
  if (index.numel() == 0) return;
  RL_CHECK(vector_of(index).dim() == vector_of(x).dim(), op, ": the index of shape ", index.sizes(),
           " must have as many dimensions as the ", what, " of shape ", x.sizes());
  Tensor i = vector_of(index), v = vector_of(x);
  for (int64_t d = 0; d < i.dim(); d++)
    RL_CHECK(d == dim || i.sizes()[d] <= v.sizes()[d], op, ": the index of shape ", index.sizes(),
             " is larger than the ", what, " of shape ", x.sizes(), " in dimension ", d);
}

struct Gather {
  static constexpr auto schema = "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor";
  static constexpr auto doc =
      "One element of self for each of index, at the same place but in `dim`, where the index says: for dim 0, "
      "out[i][j] = self[index[i][j]][j].";
  Dims shape;
  int64_t dim;
  Tensor forward(Ctx& ctx, const Tensor& x, int64_t d, const Tensor& given, bool) {
    shape = x.sizes(), dim = wrap_dim(d, x.dim());
    check_out_dtype(schema, ctx, x.dtype());
    Tensor index = element_index("gather", given);
    check_index_fits("gather", x, dim, given, "tensor");
    ctx.save(given);
    Tensor out = ctx.result(given.sizes(), x.dtype(), x);
    if (out.storage() == x.storage() || out.storage() == given.storage())
      out = empty(given.sizes(), x.dtype(), x.device());
    kernels::gather_into(vector_of(out), vector_of(x), dim, index);
    return out;
  }
  Grads backward(Ctx& ctx, Grads g) { return {scatter_add(zeros_shaped(shape, g[0]), dim, ctx.get(0), g[0])}; }
};

// What scatter writes into, checked; shared by all of its forms.
struct Scattering {
  int64_t dim;
  Tensor index, out, to;
  Scattering(const char* op, Ctx& ctx, const Tensor& x, int64_t d, const Tensor& given) {
    dim = wrap_dim(d, x.dim());
    std::string name = op_name(op);
    index = element_index(name.c_str(), given);
    check_index_fits(name.c_str(), x, dim, given, "tensor");
    ctx.save(given);
    check_out_dtype(op, ctx, x.dtype());
    out = changed(op, ctx, x, MemoryFormat::Contiguous);
    to = vector_of(out);
  }
};
void check_scatter_source(const char* op, const Tensor& x, const Tensor& index, const Tensor& src) {
  RL_CHECK(src.dtype() == x.dtype(), op, ": src is ", src.dtype(), ", the tensor ", x.dtype());
  check_index_fits(op, src, -1, index, "src");
}
// The gradient of a src that is larger than the index: zeros beyond it.
Tensor padded(const Tensor& g, const Dims& shape) {
  if (g.sizes() == shape) return g;
  Tensor z = zeros_shaped(shape, g), part = z;
  for (int64_t d = 0; d < g.dim(); d++) part = narrow(part, d, 0, g.sizes()[d]);
  copy_(part, g);
  return z;
}
Combine reduction(std::optional<std::string_view> reduce) {
  RL_CHECK(!reduce || *reduce == "add" || *reduce == "multiply", "scatter: reduce must be 'add' or 'multiply', got '",
           reduce.value_or(""), "'");
  return !reduce ? Combine::assign : *reduce == "add" ? Combine::add : Combine::multiply;
}
void check_no_reduction(Combine how) {
  RL_CHECK(how == Combine::assign, "the derivative of scatter with reduce is not defined",
           hint("use scatter_add() or scatter_reduce(), which have one"));
}

struct Scatter {
  static constexpr auto schema =
      "scatter(Tensor self, int dim, Tensor index, Tensor src, *, str? reduce=None) -> Tensor";
  static constexpr auto doc =
      "self with each element of src, or one value, written at its own place but in `dim`, where the index says: for "
      "dim 0, self[index[i][j]][j] = src[i][j]. reduce may be 'add' or 'multiply'.";
  int64_t dim;
  Dims src_shape;
  Combine how;
  Tensor forward(Ctx& ctx, const Tensor& x, int64_t d, const Tensor& index, const Tensor& src,
                 std::optional<std::string_view> reduce) {
    how = reduction(reduce), src_shape = src.sizes();
    check_scatter_source("scatter", x, index, src);
    Scattering s(schema, ctx, x, d, index);
    dim = s.dim;
    kernels::scatter_into(s.to, dim, s.index, vector_of(src), how);
    return s.out;
  }
  Grads backward(Ctx& ctx, Grads g) {
    check_no_reduction(how);
    Tensor index = ctx.get(0);
    return {ctx.need(0) ? scatter(g[0], dim, index, zeros_shaped(index.sizes(), g[0])) : Tensor(), Tensor(),
            ctx.need(2) ? padded(gather(g[0], dim, index), src_shape) : Tensor()};
  }
};
struct ScatterValue {
  static constexpr auto schema =
      "scatter(Tensor self, int dim, Tensor index, Scalar value, *, str? reduce=None) -> Tensor";
  static constexpr auto node_name = "ScatterBackward1";
  int64_t dim;
  Combine how;
  Tensor forward(Ctx& ctx, const Tensor& x, int64_t d, const Tensor& index, Scalar value,
                 std::optional<std::string_view> reduce) {
    how = reduction(reduce);
    Scattering s(schema, ctx, x, d, index);
    dim = s.dim;
    Tensor one = scalar_tensor(value, x.dtype(), x.device());
    Dims still(size_t(s.index.dim()), 0);
    kernels::scatter_into(s.to, dim, s.index, alias(one, s.index.sizes(), still, 0), how);
    return s.out;
  }
  Grads backward(Ctx& ctx, Grads g) {
    check_no_reduction(how);
    Tensor index = ctx.get(0);
    return {scatter(g[0], dim, index, zeros_shaped(index.sizes(), g[0]))};
  }
};

struct ScatterAdd {
  static constexpr auto schema = "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor";
  static constexpr auto doc = "As scatter(), adding to what is there: for dim 0, self[index[i][j]][j] += src[i][j].";
  int64_t dim;
  Dims src_shape;
  Tensor forward(Ctx& ctx, const Tensor& x, int64_t d, const Tensor& index, const Tensor& src) {
    src_shape = src.sizes();
    check_scatter_source("scatter_add", x, index, src);
    Scattering s(schema, ctx, x, d, index);
    dim = s.dim;
    kernels::scatter_into(s.to, dim, s.index, vector_of(src), Combine::add);
    return s.out;
  }
  Grads backward(Ctx& ctx, Grads g) {
    return {g[0], Tensor(), ctx.need(2) ? padded(gather(g[0], dim, ctx.get(0)), src_shape) : Tensor()};
  }
};

// --- scatter_reduce --------------------------------------------------------------------------------------------------

enum class Reduce { sum, prod, mean, amax, amin };

Reduce reduce_of(std::string_view name) {
  static constexpr const char* names[] = {"sum", "prod", "mean", "amax", "amin"};
  for (int i = 0; i < 5; i++)
    if (name == names[i]) return Reduce(i);
  fail(ErrorKind::Runtime, "scatter_reduce: reduce must be 'sum', 'prod', 'mean', 'amax' or 'amin', got '", name, "'");
}

// What combines with anything to that other thing.
Scalar neutral(Reduce how, DType d) {
  if (how == Reduce::sum || how == Reduce::mean) return 0;
  if (how == Reduce::prod) return 1;
  bool low = how == Reduce::amax;
  return visit(d, [&](auto tag) -> Scalar {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, bool>) return Scalar(!low);
    else if constexpr (std::is_integral_v<T>)
      return Scalar(int64_t(low ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max()));
    else return low ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  });
}

Tensor as(const Tensor& mask, const Tensor& like) { return to_dtype(mask, like.dtype()); }

struct ScatterReduce {
  static constexpr auto schema =
      "scatter_reduce(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor";
  static constexpr auto doc =
      "As scatter(), with all elements of src that go to one place combined by 'sum', 'prod', 'mean', 'amax' or "
      "'amin', together with what was there if include_self.";
  int64_t dim;
  Reduce how;
  bool include;
  Tensor forward(Ctx& ctx, const Tensor& x, int64_t d, const Tensor& index, const Tensor& src, std::string_view reduce,
                 bool include_self) {
    how = reduce_of(reduce), include = include_self, dim = wrap_dim(d, x.dim());
    ctx.save(x), ctx.save(index), ctx.save(src);
    check_index_fits("scatter_reduce", x, dim, index, "tensor");
    check_scatter_source("scatter_reduce", x, index, src);
    Tensor out = include ? clone(x, MemoryFormat::Contiguous)
                         : scatter(x, dim, index, full(index.sizes(), neutral(how, x.dtype()), x.dtype(), x.device()));
    static constexpr Combine by[] = {Combine::add, Combine::multiply, Combine::add, Combine::maximum, Combine::minimum};
    kernels::scatter_into(vector_of(out), dim, element_index("scatter_reduce", index), vector_of(src), by[int(how)]);
    if (how == Reduce::mean) {
      Tensor n = count(x, index);
      out = x.is_floating() ? div(out, as(n, out)) : floor_divided(out, n);
    }
    ctx.save_output(out);
    return out;
  }

  // How many elements each place combines; at least 1.
  Tensor count(const Tensor& x, const Tensor& index) const {
    Tensor n = scatter_add(full(x.sizes(), include ? 1 : 0, DType::Int64, x.device()), dim, index,
                           ones(index.sizes(), DType::Int64, index.device()));
    return maximum(n, wrapped_number(1));
  }

  Grads backward(Ctx& ctx, Grads grads) {
    Tensor g = grads[0], x = ctx.get(0), index = ctx.get(1), src = ctx.get(2), out = ctx.get(3), gx, gs;
    Dims src_shape = src.sizes();
    for (int64_t d = 0; d < index.dim() && src.dim() == index.dim(); d++) src = narrow(src, d, 0, index.sizes()[d]);
    auto kept = [&](const Tensor& t) { return include ? t : scatter(t, dim, index, zeros(index.sizes(), t.dtype())); };
    switch (how) {
      case Reduce::sum: gx = kept(g), gs = gather(g, dim, index); break;
      case Reduce::mean: {
        Tensor each = div(g, as(count(x, index), g));
        gx = kept(each), gs = gather(each, dim, index);
        break;
      }
      case Reduce::amax:
      case Reduce::amin: {  // shared by all that reach the extreme
        Tensor own = kept(as(eq(x.detach(), out.detach()), g));
        Tensor hit = as(eq(src.detach(), gather(out.detach(), dim, index)), g);
        Tensor each = div(g, maximum(scatter_add(own, dim, index, hit), wrapped_number(1)));
        gx = mul(each, own), gs = mul(gather(each, dim, index), hit);
        break;
      }
      case Reduce::prod: {
        // The product of the others: out / element, but where the element is 0 the product of all that are not, if it
        // is the only 0.
        Tensor one = wrapped_number(1.0), zero = wrapped_number(0.0);
        Tensor xz = eq(x, zero), sz = eq(src, zero);
        Tensor zeros_here = scatter_add(kept(as(xz, g)), dim, index, as(sz, g));
        Tensor others =
            apply<ScatterReduce>(where(xz, one, x), dim, index, where(sz, one, src), std::string_view("prod"), include);
        Tensor single = where(eq(zeros_here, one), mul(g, others), zero), g_out = mul(g, out);
        gx = kept(where(xz, single, div(g_out, where(xz, one, x))));
        gs = where(sz, gather(single, dim, index), div(gather(g_out, dim, index), where(sz, one, src)));
        break;
      }
    }
    return {gx, Tensor(), padded(gs, src_shape)};
  }

 private:
  static Tensor floor_divided(const Tensor& a, const Tensor& n) {
    if (a.is_meta()) return a;
    Tensor q = a.contiguous().clone();
    Tensor c = n.contiguous();
    visit(q.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
        for (int64_t i = 0; i < q.numel(); i++) {
          int64_t v = int64_t(q.data<T>()[i]), by = c.data<int64_t>()[i];
          q.data<T>()[i] = T(v / by - (v % by < 0));
        }
    });
    return q;
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

struct TakeAlongDim {
  static constexpr auto schema = "take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor";
  static constexpr auto doc =
      "gather() that broadcasts self and indices against each other; over all elements without dim.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, const Tensor& indices, OptInt d) {
    RL_CHECK(indices.dtype() == DType::Int64, "take_along_dim: the indices must be int64, not ", indices.dtype());
    if (!d) return gather(reshape(x, {-1}), 0, reshape(indices, {-1}));
    RL_CHECK(x.dim() == indices.dim(), "take_along_dim: tensor and indices must have equally many dimensions, got ",
             x.sizes(), " and ", indices.sizes());
    int64_t dim = wrap_dim(*d, x.dim());
    Dims a = x.sizes(), b = indices.sizes();
    if (x.dim()) b[dim] = a[dim];
    Dims both = broadcast_shapes(a, b), own = both;
    if (x.dim()) both[dim] = indices.sizes()[dim];
    return gather(expand(x, own), dim, expand(indices, both));
  }
};

// --- Masks -----------------------------------------------------------------------------------------------------------

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
    Tensor filling;
    if constexpr (tensor) {
      RL_CHECK(value.dim() == 0, "masked_fill: the value must be a number or a tensor without dimensions, got shape ",
               value.sizes(), hint("use where(mask, value, self) to fill with several values"));
      filling = kernels::cast(value, x.dtype());  // a copy: it may be an element of self
    } else {
      filling = scalar_tensor(value, x.dtype(), x.device());
    }
    ctx.save(mask);
    Tensor out = ctx.inplace ? *ctx.out : Tensor();
    if (!out) {
      Dims shape = x.sizes() == mask.sizes() ? x.sizes() : broadcast_shapes(x.sizes(), mask.sizes());
      out = empty(shape, x.dtype(), x.device());
    }
    if (ctx.inplace && kernels::shares_places(out)) {  // made by expand(): written where any element's mask says so
      Tensor where = expand(mask, out.sizes());
      kernels::put_at(out, IndexPlan(out, unfolded(out, {&where, 1})), filling, Combine::assign);
      return out;
    }
    return kernels::pointwise(schema, pointwise::Where(), 0, x.dtype(), &out, mask, filling, x);
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
    Tensor to = ctx.inplace ? changed(schema, ctx, self) : kernels::clone(x, MemoryFormat::Contiguous);
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

RL_BIND(Index, hidden)
RL_BIND(IndexPut, both | inplace)
RL_BIND(IndexSelect, both | out)
RL_BIND(IndexAdd, both | inplace | out)
RL_BIND(IndexCopy, both | inplace | out)
RL_BIND(IndexFill<true>, both | inplace)
RL_BIND(IndexFill<false>, both | inplace)
RL_BIND(Gather, both | out)
RL_BIND(Scatter, both | inplace | out)
RL_BIND(ScatterValue, both | inplace | out)
RL_BIND(ScatterAdd, both | inplace | out)
RL_BIND(ScatterReduce, both | inplace)
RL_BIND(Take, both)
RL_BIND(TakeAlongDim, both)
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
Tensor gather(const Tensor& t, int64_t d, const Tensor& at) { return apply<ops::Gather>(t, d, at, false); }
Tensor scatter(const Tensor& t, int64_t d, const Tensor& at, const Tensor& src) {
  return apply<ops::Scatter>(t, d, at, src, std::optional<std::string_view>());
}
Tensor scatter_add(const Tensor& t, int64_t d, const Tensor& at, const Tensor& src) {
  return apply<ops::ScatterAdd>(t, d, at, src);
}
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
