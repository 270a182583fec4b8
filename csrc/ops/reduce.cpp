// Sums, products, extrema and truth over dimensions.
#include "ops/reduce.h"

#include "ops/layers.h"
#include "ops/pointwise.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {

Tensor fold(Ctx& ctx, kernels::Fold f, const Tensor& x, const Reduced& r, DType compute, DType result,
            const Tensor* parameter, kernels::Finish finish) {
  const Tensor* out = ctx.out;
  if (out && (out->dtype() != result || out->sizes() != kernels::reduced_shape(x.sizes(), r.dims, r.keepdim) ||
              out->storage() == x.storage()))
    out = nullptr;  // the result is copied there
  return kernels::reduce(f, x, r.dims, r.keepdim, compute, result, out, parameter, finish);
}

void divide_by_count(double* acc, const double*, int64_t n, double count, double) {
  for (int64_t i = 0; i < n; i++) acc[i] /= count;
}

Dims dims_of(const Reduced& r) {
  Dims dims;
  for (size_t d = 0; d < r.shape.size(); d++)
    if (r.dims >> d & 1) dims.push_back(d);
  return dims;
}

Tensor restore_dims(const Tensor& t, const Reduced& r) {
  if (r.keepdim || r.shape.empty()) return t;
  return reshape(t, kernels::reduced_shape(r.shape, r.dims, true));
}

namespace {

using kernels::DimSet;
using OptDType = std::optional<DType>;

// --- Sum and mean ---------------------------------------------------------------------------------------------------

DType sum_type(const Ctx& ctx, DType d, OptDType asked) {
  if (!asked && ctx.out) return ctx.out->dtype();
  return asked.value_or(is_floating(d) ? d : DType::Int64);
}

struct Sum {
  static constexpr auto schema = "sum(Tensor self, *, dtype? dtype=None) -> Tensor";
  static constexpr auto doc =
      "The sum of all elements, or over the dimensions `dim` (int or list of int; keepdim=True leaves them at size 1). "
      "Integers and bool are summed in int64 unless `dtype` says otherwise.";
  Dims shape;
  Tensor forward(Ctx& ctx, const Tensor& x, OptDType dtype) {
    shape = x.sizes();
    DType to = sum_type(ctx, x.dtype(), dtype);
    return fold(ctx, kernels::Fold::sum, x, {{}, kernels::dim_set(schema, {}, x.dim()), false}, to, to);
  }
  Grads backward(Ctx&, Grads g) { return {expand(g[0], shape)}; }
};

struct SumDim {
  static constexpr auto schema = "sum(Tensor self, int[1]? dim, bool keepdim=False, *, dtype? dtype=None) -> Tensor";
  static constexpr auto node_name = "SumBackward1";
  Reduced r;
  Tensor forward(Ctx& ctx, const Tensor& x, OptDims dims, bool keepdim, OptDType dtype) {
    r = {x.sizes(), kernels::dim_set(schema, dims, x.dim()), keepdim};
    DType to = sum_type(ctx, x.dtype(), dtype);
    return fold(ctx, kernels::Fold::sum, x, r, to, to);
  }
  Grads backward(Ctx&, Grads g) { return {expand(restore_dims(g[0], r), r.shape)}; }
};

DType mean_type(const Tensor& x, OptDType asked) {
  DType d = asked.value_or(x.dtype());
  RL_CHECK(rushlight::is_floating(d), "mean: the mean of ", d, " is not an integer in general",
           hint("give dtype=rushlight.float32, or convert with .float() first"));
  return d;
}

struct MeanDim {
  static constexpr auto schema = "mean(Tensor self, int[1]? dim, bool keepdim=False, *, dtype? dtype=None) -> Tensor";
  static constexpr auto node_name = "MeanBackward1";
  Reduced r;
  Tensor forward(Ctx& ctx, const Tensor& x, OptDims dims, bool keepdim, OptDType dtype) {
    r = {x.sizes(), kernels::dim_set(schema, dims, x.dim()), keepdim};
    DType to = mean_type(x, dtype);
    return fold(ctx, kernels::Fold::sum, x, r, to, to, nullptr, {divide_by_count});
  }
  Grads backward(Ctx&, Grads g) {
    double n = std::max<int64_t>(1, kernels::reduced_count(r.shape, r.dims));  // of an empty tensor nothing is left
    return {expand(restore_dims(g[0] / n, r), r.shape)};
  }
};

struct Mean {
  static constexpr auto schema = "mean(Tensor self, *, dtype? dtype=None) -> Tensor";
  static constexpr auto doc = "The mean of all elements, or over the dimensions `dim`. For floating point only.";
  MeanDim along;
  Tensor forward(Ctx& ctx, const Tensor& x, OptDType dtype) { return along.forward(ctx, x, {}, false, dtype); }
  Grads backward(Ctx& ctx, Grads g) { return along.backward(ctx, std::move(g)); }
};

// --- Products -------------------------------------------------------------------------------------------------------

// For every element along a dimension the product of the others, also where some are zero, and differentiable:
// products of a square whose diagonal is ones.
Tensor product_of_others(const Tensor& x, int64_t dim) {
  int64_t n = x.size(dim);
  Tensor place = arange(0, n, 1, DType::Int64);
  Tensor line = transpose(x, dim, -1);
  Tensor square = where(eq(unsqueeze(place, 1), place), wrapped_number(1.0), unsqueeze(line, -2));
  return transpose(prod(square, -1), dim, -1);
}

Tensor product_gradient(const Tensor& g, const Tensor& x, const Tensor& y, int64_t dim) {
  bool zeros = tls.grad_enabled || (!x.is_meta() && any(eq(x, wrapped_number(0.0))).item().to_int());
  return zeros ? g * product_of_others(x, dim) : g * y / x;
}

struct ProdDim {
  static constexpr auto schema = "prod(Tensor self, int dim, bool keepdim=False, *, dtype? dtype=None) -> Tensor";
  static constexpr auto node_name = "ProdBackward1";
  Reduced r;
  int64_t dim;
  Tensor forward(Ctx& ctx, const Tensor& x, int64_t d, bool keepdim, OptDType dtype) {
    ctx.save(x);
    dim = wrap_dim(d, x.dim());
    r = {x.sizes(), kernels::dim_set(schema, IntSpan(&dim, 1), x.dim()), keepdim};
    DType to = sum_type(ctx, x.dtype(), dtype);
    Tensor y = fold(ctx, kernels::Fold::product, x, r, to, to);
    ctx.save_output(y);
    return y;
  }
  Grads backward(Ctx& ctx, Grads g) {
    if (r.shape.empty()) return {g[0]};
    return {product_gradient(restore_dims(g[0], r), ctx.get(0), restore_dims(ctx.get(1), r), dim)};
  }
};

struct Prod {
  static constexpr auto schema = "prod(Tensor self, *, dtype? dtype=None) -> Tensor";
  static constexpr auto doc = "The product of all elements, or along one dimension.";
  Tensor forward(Ctx& ctx, const Tensor& x, OptDType dtype) {
    ctx.save(x);
    DType to = sum_type(ctx, x.dtype(), dtype);
    Tensor y = fold(ctx, kernels::Fold::product, x, {{}, kernels::dim_set(schema, {}, x.dim()), false}, to, to);
    ctx.save_output(y);
    return y;
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor x = ctx.get(0);
    return {reshape(product_gradient(g[0], reshape(x, {-1}), ctx.get(1), 0), x.sizes())};
  }
};

// --- Extrema --------------------------------------------------------------------------------------------------------

void check_elements(const char* schema, const Tensor& x, DimSet dims) {
  for (int64_t d = 0; d < x.dim(); d++)
    RL_CHECK_KIND(!(dims >> d & 1) || x.sizes()[d] != 0, Index, op_name(schema), ": dimension ", d, " of ", x.sizes(),
                  " is empty, and there is no extremum of nothing",
                  hint("name dimensions that have elements, or check numel() first"));
}

// Elements that equal the extremum share its gradient. same: where they do.
Tensor share_gradient(const Tensor& g, const Tensor& same, const Reduced& r) {
  Tensor ties = to_dtype(same, g.dtype());
  Dims dims = dims_of(r);
  Tensor count = dims.empty() ? ties : sum(ties, dims, true);
  return restore_dims(g, r) * ties / count;
}

template <bool max>
struct Amax {
  static constexpr auto schema = max ? "amax(Tensor self, int[1] dim=(), bool keepdim=False) -> Tensor"
                                     : "amin(Tensor self, int[1] dim=(), bool keepdim=False) -> Tensor";
  static constexpr auto doc =
      max ? "The largest element, of all or over the dimensions `dim`; NaN if any is. Equal elements share "
            "the gradient."
          : "The smallest element, of all or over the dimensions `dim`; NaN if any is. Equal elements share "
            "the gradient.";
  Reduced r;
  Tensor forward(Ctx& ctx, const Tensor& x, IntSpan dims, bool keepdim) {
    ctx.save(x);
    r = {x.sizes(), kernels::dim_set(schema, dims, x.dim()), keepdim};
    check_elements(schema, x, r.dims);
    check_out_dtype(schema, ctx, x.dtype());
    Tensor y = fold(ctx, max ? kernels::Fold::max : kernels::Fold::min, x, r, x.dtype(), x.dtype());
    ctx.save_output(y);
    return y;
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor x = ctx.get(0);
    return {share_gradient(g[0], eq(x, restore_dims(ctx.get(1), r)), r)};
  }
};

struct Aminmax {
  static constexpr auto schema =
      "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)";
  static constexpr auto doc = "(min, max) of all elements or along one dimension, as amin() and amax().";
  Reduced r;
  std::tuple<Tensor, Tensor> forward(Ctx& ctx, const Tensor& x, OptInt dim, bool keepdim) {
    ctx.save(x);
    Dims dims;
    if (dim) dims.push_back(*dim);
    RL_CHECK(dim || x.numel() > 0, "aminmax: a tensor of shape ", x.sizes(), " has no elements");
    r = {x.sizes(), kernels::dim_set(schema, IntSpan(dims), x.dim()), keepdim};
    Tensor least = amin(x, dims, keepdim), most = amax(x, dims, keepdim);
    ctx.save_output(least, 0), ctx.save_output(most, 1);
    return {least, most};
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor x = ctx.get(0);
    auto part = [&](int i) { return share_gradient(g[i], eq(x, restore_dims(ctx.get(i + 1), r)), r); };
    return {part(0) + part(1)};
  }
};

template <bool max>
struct MaxAll {
  static constexpr auto schema = max ? "max(Tensor self) -> Tensor" : "min(Tensor self) -> Tensor";
  static constexpr auto node_name = max ? "MaxBackward1" : "MinBackward1";
  static constexpr auto doc =
      max ? "max(self): the largest of all elements; max(self, dim, keepdim): (values, indices) along a dimension; "
            "max(self, other): the larger of each pair."
          : "min(self): the smallest of all elements; min(self, dim, keepdim): (values, indices) along a dimension; "
            "min(self, other): the smaller of each pair.";
  Reduced r;
  Tensor forward(Ctx& ctx, const Tensor& x) {
    ctx.save(x);
    RL_CHECK(x.numel() > 0, op_name(schema), ": a tensor of shape ", x.sizes(), " has no elements to choose from",
             hint("check numel() first"));
    r = {x.sizes(), kernels::dim_set(schema, {}, x.dim()), false};
    Tensor y = fold(ctx, max ? kernels::Fold::max : kernels::Fold::min, x, r, x.dtype(), x.dtype());
    ctx.save_output(y);
    return y;
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor x = ctx.get(0), y = ctx.get(1);
    bool nan = !y.is_meta() && std::isnan(y.item().to_double());
    return {share_gradient(g[0], nan ? ne(x, x) : eq(x, y), r)};
  }
};

struct MaxOf {
  static constexpr auto schema = "max(Tensor self, Tensor other) -> Tensor";
  static constexpr auto node_name = "MaximumBackward0";
};
struct MinOf {
  static constexpr auto schema = "min(Tensor self, Tensor other) -> Tensor";
  static constexpr auto node_name = "MinimumBackward0";
};

template <bool max>
struct MaxDim {
  static constexpr auto schema =
      max ? "max(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"
          : "min(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)";
  Reduced r;
  int64_t dim;
  std::tuple<Tensor, Tensor> forward(Ctx& ctx, const Tensor& x, int64_t d, bool keepdim) {
    dim = wrap_dim(d, x.dim());
    r = {x.sizes(), kernels::dim_set(schema, IntSpan(&dim, 1), x.dim()), keepdim};
    check_elements(schema, x, r.dims);
    kernels::Extremum e = kernels::extremum(max, x, dim, keepdim);
    ctx.save(e.place);
    return {e.value, e.place};
  }
  Grads backward(Ctx& ctx, Grads g) {
    if (r.shape.empty()) return {g[0]};
    return {place_along(restore_dims(g[0], r), restore_dims(ctx.get(0), r), dim, r.shape[dim])};
  }
};

template <bool max>
struct Argmax {
  static constexpr auto schema = max ? "argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor"
                                     : "argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor";
  static constexpr auto doc =
      "The place of the extremum along a dimension, or in the flattened tensor; the first of equals. NaN counts as it.";
  Tensor forward(Ctx& ctx, const Tensor& x, OptInt d, bool keepdim) {
    check_out_dtype(schema, ctx, DType::Int64);
    if (d || x.dim() == 0) {
      int64_t dim = wrap_dim(d.value_or(0), x.dim());
      check_elements(schema, x, DimSet(1) << dim);
      return kernels::extremum(max, x, dim, keepdim).place;
    }
    check_elements(schema, x, x.numel() ? 0 : ~DimSet(0));
    Tensor line = kernels::contiguous(x);
    Tensor place = kernels::extremum(max, alias(line, {line.numel()}, {1}, line.offset()), 0, false).place;
    if (!keepdim) return place;
    Dims ones;
    ones.resize(x.dim(), 1);
    return alias(place, ones, ones, 0);
  }
};

// --- Truth and counts -----------------------------------------------------------------------------------------------

DType truth_type(DType d) { return d == DType::UInt8 ? d : DType::Bool; }  // masks were uint8 before there was bool

#define RL_TRUTH(Name, fold_name, text, docstring)                                                  \
  struct Name {                                                                                     \
    static constexpr auto schema = text "(Tensor self) -> Tensor";                                  \
    static constexpr auto doc = docstring;                                                          \
    Tensor forward(Ctx& ctx, const Tensor& x) {                                                     \
      Reduced r{x.sizes(), kernels::dim_set(schema, {}, x.dim()), false};                           \
      return fold(ctx, kernels::Fold::fold_name, x, r, x.dtype(), truth_type(x.dtype()));           \
    }                                                                                               \
  };                                                                                                \
  struct Name##Dim {                                                                                \
    static constexpr auto schema = text "(Tensor self, int[1]? dim, bool keepdim=False) -> Tensor"; \
    Tensor forward(Ctx& ctx, const Tensor& x, OptDims dims, bool keepdim) {                         \
      Reduced r{x.sizes(), kernels::dim_set(schema, dims, x.dim()), keepdim};                       \
      check_out_dtype(schema, ctx, truth_type(x.dtype()));                                          \
      return fold(ctx, kernels::Fold::fold_name, x, r, x.dtype(), truth_type(x.dtype()));           \
    }                                                                                               \
  };
RL_TRUTH(All, all, "all", "Whether all elements are nonzero, of the whole tensor or over the dimensions `dim`.")
RL_TRUTH(Any, any, "any", "Whether any element is nonzero, of the whole tensor or over the dimensions `dim`.")

struct CountNonzero {
  static constexpr auto schema = "count_nonzero(Tensor self, int[1]? dim=None) -> Tensor";
  static constexpr auto doc = "How many elements are nonzero (int64), of all or over the dimensions `dim`.";
  Tensor forward(Ctx& ctx, const Tensor& x, OptDims dims) {
    Reduced r{x.sizes(), kernels::dim_set(schema, dims, x.dim()), false};
    return fold(ctx, kernels::Fold::count, x, r, x.dtype(), DType::Int64);
  }
};

RL_BIND(Sum, both)
RL_BIND(SumDim, both | out)
RL_BIND(Mean, both)
RL_BIND(MeanDim, both | out)
RL_BIND(Prod, both)
RL_BIND(ProdDim, both | out)
RL_BIND(Amax<true>, both | out)
RL_BIND(Amax<false>, both | out)
RL_BIND(Aminmax, both | out)
RL_BIND(MaxAll<true>, both | out)
RL_BIND(MaxAll<false>, both | out)
using MaxPair = Binary<pointwise::Maximum, MaxOf>;
RL_BIND(MaxPair, both | out)
using MinPair = Binary<pointwise::Minimum, MinOf>;
RL_BIND(MinPair, both | out)
RL_BIND(MaxDim<true>, both | out)
RL_BIND(MaxDim<false>, both | out)
RL_BIND(Argmax<true>, both | out)
RL_BIND(Argmax<false>, both | out)
RL_BIND(All, both)
RL_BIND(AllDim, both | out)
RL_BIND(Any, both)
RL_BIND(AnyDim, both | out)
RL_BIND(CountNonzero, both)

}  // namespace

Tensor place_along(const Tensor& g, const Tensor& place, int64_t dim, int64_t n) {
  Dims line;
  line.resize(g.dim(), 1);
  line[dim] = n;
  Tensor here = eq(reshape(arange(0, n, 1, DType::Int64), line), place);
  return where(here, g, wrapped_number(0.0));
}

}  // namespace ops

Tensor sum(const Tensor& t) { return apply<ops::Sum>(t, ops::OptDType()); }
Tensor sum(const Tensor& t, IntSpan dims, bool keepdim) {
  return apply<ops::SumDim>(t, ops::OptDims(dims), keepdim, ops::OptDType());
}
Tensor mean(const Tensor& t) { return apply<ops::Mean>(t, ops::OptDType()); }
Tensor mean(const Tensor& t, IntSpan dims, bool keepdim) {
  return apply<ops::MeanDim>(t, ops::OptDims(dims), keepdim, ops::OptDType());
}
Tensor prod(const Tensor& t, int64_t dim, bool keepdim) {
  return apply<ops::ProdDim>(t, dim, keepdim, ops::OptDType());
}
Tensor amax(const Tensor& t, IntSpan dims, bool keepdim) { return apply<ops::Amax<true>>(t, dims, keepdim); }
Tensor amin(const Tensor& t, IntSpan dims, bool keepdim) { return apply<ops::Amax<false>>(t, dims, keepdim); }
Tensor argmax(const Tensor& input, OptInt dim, bool keepdim) { return apply<ops::Argmax<true>>(input, dim, keepdim); }
Tensor any(const Tensor& t) { return apply<ops::Any>(t); }
Tensor all(const Tensor& t) { return apply<ops::All>(t); }

Tensor sum_to(const Tensor& t, IntSpan shape) {
  Dims dims;
  int64_t lead = t.dim() - int64_t(shape.size());
  for (int64_t d = 0; d < t.dim(); d++)
    if (d < lead || (shape[d - lead] == 1 && t.sizes()[d] != 1)) dims.push_back(d);
  if (dims.empty()) return t;
  if (!tls.grad_enabled || !requires_grad(t)) {  // the result has one element for each of `shape`, in that order
    Tensor out = empty(shape, t.dtype(), t.device());
    kernels::DimSet set = kernels::dim_set("sum_to", IntSpan(dims), t.dim());
    Dims kept_shape = kernels::reduced_shape(t.sizes(), set, true);
    Tensor kept = alias(out, kept_shape, contiguous_strides(kept_shape), 0);
    kernels::reduce(kernels::Fold::sum, t, set, true, t.dtype(), t.dtype(), &kept);
    return out;
  }
  return reshape(sum(t, dims, true), shape);
}

}  // namespace rushlight
