// Variances, norms and log-sum-exp over dimensions: folds whose elements are first compared with a number each result
// has.
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

using kernels::Fold;

// --- Variance -------------------------------------------------------------------------------------------------------

template <bool root>
void variance_of_sum(double* acc, const double*, int64_t n, double count, double correction) {
  for (int64_t i = 0; i < n; i++) {
    double v = acc[i] / std::max(0.0, count - correction);
    acc[i] = root ? std::sqrt(v) : v;
  }
}

struct Moments {
  Tensor mean, spread;  // the mean in float64
};
// In two passes, and in double: what is far from zero and close together would lose its differences in float.
template <bool root>
Moments moments(Ctx& ctx, const Tensor& x, const Reduced& r, double correction) {
  constexpr DType wide = DType::Float64;
  Tensor mean = kernels::reduce(Fold::sum, x, r.dims, r.keepdim, wide, wide, nullptr, nullptr, {divide_by_count});
  return {mean,
          fold(ctx, Fold::sum_squared_deviation, x, r, wide, x.dtype(), &mean, {variance_of_sum<root>, correction})};
}

double correction_of(bool unbiased, const std::optional<Scalar>& correction) {
  return correction ? correction->to_double() : unbiased;
}
Reduced check_variance(const char* schema, const Tensor& x, OptDims dims, bool keepdim) {
  RL_CHECK(is_floating(x.dtype()), op_name(schema), " is for floating point only, not ", x.dtype(),
           hint("convert with .float() first"));
  return {x.sizes(), kernels::dim_set(schema, dims, x.dim()), keepdim};
}

Tensor variance_gradient(const Tensor& g, const Tensor& x, const Reduced& r, double correction) {
  double freedom = std::max(0.0, double(kernels::reduced_count(r.shape, r.dims)) - correction);
  Tensor centred = r.shape.empty() ? x - x : x - mean(x, dims_of(r), true);
  return restore_dims(g, r) * (2 / freedom) * centred;
}
Tensor deviation_to_variance(const Tensor& g, const Tensor& y) {  // d std / d var, 0 where all elements are equal
  return where(eq(y, wrapped_number(0.0)), wrapped_number(0.0), g / (2.0 * y));
}

template <bool root>
struct Variance {
  static constexpr auto schema = root ? "std(Tensor self, int[1]? dim=None, bool unbiased=True, bool keepdim=False, *, "
                                        "Scalar? correction=None) -> Tensor"
                                      : "var(Tensor self, int[1]? dim=None, bool unbiased=True, bool keepdim=False, *, "
                                        "Scalar? correction=None) -> Tensor";
  static constexpr auto doc =
      root ? "The standard deviation, of all elements or over the dimensions `dim`: the root of var()."
           : "The variance, of all elements or over the dimensions `dim`: the sum of squared deviations from the mean "
             "over (count - correction). correction is 1 unless given; unbiased=False means 0.";
  Reduced r;
  double correction;
  Tensor forward(Ctx& ctx, const Tensor& x, OptDims dims, bool unbiased, bool keepdim, std::optional<Scalar> given) {
    ctx.save(x);
    r = check_variance(schema, x, dims, keepdim);
    correction = correction_of(unbiased, given);
    Tensor y = moments<root>(ctx, x, r, correction).spread;
    if (root) ctx.save_output(y);
    return y;
  }
  Grads backward(Ctx& ctx, Grads g) {
    return {variance_gradient(root ? deviation_to_variance(g[0], ctx.get(1)) : g[0], ctx.get(0), r, correction)};
  }
};
template <bool root>
struct VarianceMean {
  static constexpr auto schema =
      root ? "std_mean(Tensor self, int[1]? dim=None, bool unbiased=True, bool keepdim=False, *, "
             "Scalar? correction=None) -> (Tensor, Tensor)"
           : "var_mean(Tensor self, int[1]? dim=None, bool unbiased=True, bool keepdim=False, *, "
             "Scalar? correction=None) -> (Tensor, Tensor)";
  static constexpr auto doc =
      root ? "(std, mean), in two passes over the elements." : "(var, mean), in two passes over the elements.";
  Reduced r;
  double correction;
  std::tuple<Tensor, Tensor> forward(Ctx& ctx, const Tensor& x, OptDims dims, bool unbiased, bool keepdim,
                                     std::optional<Scalar> given) {
    ctx.save(x);
    r = check_variance(schema, x, dims, keepdim);
    correction = correction_of(unbiased, given);
    Moments m = moments<root>(ctx, x, r, correction);
    if (root) ctx.save_output(m.spread);
    return {m.spread, kernels::cast(m.mean, x.dtype())};
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor of_spread =
        variance_gradient(root ? deviation_to_variance(g[0], ctx.get(1)) : g[0], ctx.get(0), r, correction);
    return {of_spread + restore_dims(g[1], r) / double(kernels::reduced_count(r.shape, r.dims))};
  }
};

// x.var(False)
#define RL_UNBIASED(Op, text, Result)                                           \
  struct Op##Unbiased {                                                         \
    static constexpr auto schema = text;                                        \
    static constexpr Kind kind = Kind::composite;                               \
    Result forward(Ctx&, const Tensor& x, bool unbiased) {                      \
      return apply<Op>(x, OptDims(), unbiased, false, std::optional<Scalar>()); \
    }                                                                           \
  };                                                                            \
  RL_BIND(Op##Unbiased, both)                                                   \
  RL_BIND(Op, both | out)
using Var = Variance<false>;
using Std = Variance<true>;
using VarMean = VarianceMean<false>;
using StdMean = VarianceMean<true>;
using TwoTensors = std::tuple<Tensor, Tensor>;
RL_UNBIASED(Var, "var(Tensor self, bool unbiased) -> Tensor", Tensor)
RL_UNBIASED(Std, "std(Tensor self, bool unbiased) -> Tensor", Tensor)
RL_UNBIASED(VarMean, "var_mean(Tensor self, bool unbiased) -> (Tensor, Tensor)", TwoTensors)
RL_UNBIASED(StdMean, "std_mean(Tensor self, bool unbiased) -> (Tensor, Tensor)", TwoTensors)

// --- Log-sum-exp ----------------------------------------------------------------------------------------------------

void zero_if_infinite(double* acc, const double*, int64_t n, double, double) {
  for (int64_t i = 0; i < n; i++)
    if (std::isinf(acc[i])) acc[i] = 0;
}
void log_and_add(double* acc, const double* largest, int64_t n, double, double) {
  for (int64_t i = 0; i < n; i++) acc[i] = std::log(acc[i]) + largest[i];
}

struct Logsumexp {
  static constexpr auto schema = "logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor";
  static constexpr auto doc = "log(sum(exp(self))) over the dimensions `dim`, without overflow.";
  Reduced r;
  Tensor forward(Ctx& ctx, const Tensor& x, IntSpan dims, bool keepdim) {
    ctx.save(x);
    DType d = float_type(x.dtype());
    r = {x.sizes(), kernels::dim_set(schema, dims, x.dim()), keepdim};
    Tensor largest =
        kernels::reduce(Fold::max, x, r.dims, keepdim, d, DType::Float64, nullptr, nullptr, {zero_if_infinite});
    Tensor y = fold(ctx, Fold::sum_exp, x, r, d, d, &largest, {log_and_add});
    ctx.save_output(y);
    return y;
  }
  Grads backward(Ctx& ctx, Grads g) { return {restore_dims(g[0], r) * exp(ctx.get(0) - restore_dims(ctx.get(1), r))}; }
};
RL_BIND(Logsumexp, both | out)

// --- Norms ----------------------------------------------------------------------------------------------------------

void square_root(double* acc, const double*, int64_t n, double, double) {
  for (int64_t i = 0; i < n; i++) acc[i] = std::sqrt(acc[i]);
}
void root(double* acc, const double*, int64_t n, double, double order) {
  for (int64_t i = 0; i < n; i++) acc[i] = std::pow(acc[i], 1 / order);
}

struct LinalgVectorNorm {
  static constexpr auto schema =
      "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> "
      "Tensor";
  static constexpr auto doc =
      "sum(|x| ** ord) ** (1 / ord), of all elements or over the dimensions `dim`; for ord inf the largest |x|, for "
      "-inf the smallest, for 0 how many are nonzero.";
  Reduced r;
  double order;
  Tensor forward(Ctx& ctx, const Tensor& x, Scalar ord, OptDims dims, bool keepdim, std::optional<DType> dtype) {
    ctx.save(x);
    DType d = dtype.value_or(x.dtype());
    RL_CHECK(is_floating(x.dtype()) && is_floating(d), "linalg.vector_norm is for floating point only, not ", x.dtype(),
             hint("convert with .float() first"));
    r = {x.sizes(), kernels::dim_set(schema, dims, x.dim()), keepdim};
    order = ord.to_double();
    Tensor y;
    if (std::isinf(order)) {
      RL_CHECK(x.numel() > 0 || kernels::reduced_count(x.sizes(), r.dims) > 0, "linalg.vector_norm of order ", order,
               " of no elements (shape ", x.sizes(), ")", hint("reduce dimensions that have elements"));
      y = fold(ctx, order > 0 ? Fold::max_abs : Fold::min_abs, x, r, d, d);
    } else if (order == 0 || order == 1 || order == 2) {
      Fold f = order == 0 ? Fold::count : order == 1 ? Fold::sum_abs : Fold::sum_squares;
      y = fold(ctx, f, x, r, d, d, nullptr, order == 2 ? kernels::Finish{square_root} : kernels::Finish{});
    } else {
      Tensor power = empty(kernels::reduced_shape(x.sizes(), r.dims, keepdim), DType::Float64, x.device());
      kernels::fill(power, order);
      y = fold(ctx, Fold::sum_power, x, r, d, d, &power, {root, order});
    }
    ctx.save_output(y);
    return y;
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor x = ctx.get(0), y = restore_dims(ctx.get(1), r), dy = restore_dims(g[0], r), zero = wrapped_number(0.0);
    if (order == 0) return {Tensor()};
    if (order == 1) return {dy * sign(x)};
    if (order == 2) return {x * where(eq(y, zero), zero, dy / y)};
    if (std::isinf(order)) {  // elements that reach the extremum share the gradient
      Tensor ties = to_dtype(eq(abs(x), y), x.dtype());
      Tensor count = r.shape.empty() ? ties : sum(ties, dims_of(r), true);
      return {dy * sign(x) * ties / count};
    }
    Tensor slope = where(eq(y, zero), zero, dy / pow(y, order - 1));
    if (order > 2 || order == std::floor(order)) return {sign(x) * pow(abs(x), order - 1) * slope};
    return {where(eq(x, zero), zero, sign(x) * pow(abs(x), order - 1) * slope)};
  }
};
RL_BIND(LinalgVectorNorm, hidden | out)

struct Norm : LinalgVectorNorm {  // what distances are made of
  static constexpr auto schema = "_norm(Tensor self, Scalar p, int[1]? dim, bool keepdim=False) -> Tensor";
  static constexpr auto node_name = "NormBackward1";
  Tensor forward(Ctx& ctx, const Tensor& x, Scalar p, OptDims dims, bool keepdim) {
    return LinalgVectorNorm::forward(ctx, x, p, dims, keepdim, {});
  }
};
RL_BIND(Norm, hidden)

}  // namespace

Tensor vector_norm(const Tensor& t, double p, IntSpan dims, bool keepdim) {
  return apply<LinalgVectorNorm>(t, Scalar(p), std::optional<IntSpan>(dims), keepdim, std::optional<DType>());
}

}  // namespace ops

}  // namespace rushlight
