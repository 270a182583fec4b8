// Functions of three tensors: choice, interpolation, bounds.
#include <limits>

#include "ops/pointwise.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

DType result_type(const Tensor& a, const Tensor& b, const Tensor& c) {
  if (a.dtype() == b.dtype() && b.dtype() == c.dtype()) return a.dtype();
  const Tensor* ts[] = {&a, &b, &c};
  return rushlight::result_type(ts);
}

// The derivatives by those of three saved tensors that need one.
template <class F>
Grads derivatives(const char* schema, Ctx& ctx, const Tensor& g, const F& f) {
  Tensor a = ctx.get(0), b = ctx.get(1), c = ctx.get(2), ga, gb, gc;
  if (ctx.need(0)) ga = derivative<1>(schema, f, g, a, b, c);
  if (ctx.need(1)) gb = derivative<2>(schema, f, g, a, b, c);
  if (ctx.need(2)) gc = derivative<3>(schema, f, g, a, b, c);
  return {ga, gb, gc};
}

// --- Choice ---------------------------------------------------------------------------------------------------------

struct Where {
  static constexpr auto schema = "where(Tensor condition, Number|Tensor self, Number|Tensor other) -> Tensor";
  static constexpr auto doc = "self where condition is true, other elsewhere.";
  Tensor forward(Ctx& ctx, const Tensor& c, const Tensor& a, const Tensor& b) {
    RL_CHECK(c.dtype() == DType::Bool || c.dtype() == DType::UInt8, "where: condition must be bool, got ", Describe{c},
             hint("compare it with something, for example condition != 0"));
    ctx.save(c);
    DType d = rushlight::result_type(a, b);
    check_out_dtype(schema, ctx, d);
    return kernels::pointwise(schema, pointwise::Where(), 0, d, ctx.out, c, a, b);
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor c = ctx.get(0), zero = wrapped_number(0.0);
    return {Tensor(), ctx.need(1) ? where(c, g[0], zero) : Tensor(), ctx.need(2) ? where(c, zero, g[0]) : Tensor()};
  }
};
RL_BIND(Where, function | out)  // the method, which takes the condition second, is written in Python

// --- Interpolation and fused products -------------------------------------------------------------------------------

// A weight without dimensions is as good as a number.
void check_lerp(const Tensor& a, const Tensor& b, const Tensor& w) {
  RL_CHECK(a.dtype() == b.dtype() && (a.dtype() == w.dtype() || w.dim() == 0), "lerp: dtypes of self (", a.dtype(),
           "), end (", b.dtype(), ") and weight (", w.dtype(), ") must be the same",
           hint("convert with .to(self.dtype)"));
  RL_CHECK_KIND(is_floating(a.dtype()), NotImplemented, "lerp is for floating point only, not ", a.dtype());
}

struct Lerp {
  static constexpr auto schema = "lerp(Tensor self, Tensor end, Tensor weight) -> Tensor";
  static constexpr auto node_name = "LerpBackward1";
  static constexpr auto doc = "self + weight * (end - self); weight may be a number.";
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b, const Tensor& w) {
    ctx.save(a), ctx.save(b), ctx.save(w);
    check_lerp(a, b, w);
    if (w.dim()) check_out_dtype(schema, ctx, a.dtype());
    return kernels::pointwise(schema, pointwise::Lerp(), 0, a.dtype(), ctx.out, a, b, w);
  }
  Grads backward(Ctx& ctx, Grads g) { return derivatives(schema, ctx, g[0], pointwise::Lerp()); }
};

struct LerpNumber {
  static constexpr auto schema = "lerp(Tensor self, Tensor end, Scalar weight) -> Tensor";
  double weight;
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b, Scalar s) {
    weight = s.to_double();
    Tensor w = wrapped_number(weight);
    check_lerp(a, b, w);
    return kernels::pointwise(schema, pointwise::Lerp(), 0, a.dtype(), ctx.out, a, b, w);
  }
  Grads backward(Ctx& ctx, Grads g) {
    return {ctx.need(0) ? g[0] * (1 - weight) : Tensor(), ctx.need(1) ? g[0] * weight : Tensor()};
  }
};

struct Addcmul {
  static constexpr auto schema = "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor";
  static constexpr auto doc = "self + value * tensor1 * tensor2.";
  double value;
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b, const Tensor& c, Scalar v) {
    ctx.save(a), ctx.save(b), ctx.save(c);
    value = v.to_double();
    return kernels::pointwise(schema, pointwise::Addcmul{value}, 0, result_type(a, b, c), ctx.out, a, b, c);
  }
  Grads backward(Ctx& ctx, Grads g) { return derivatives(schema, ctx, g[0], pointwise::Addcmul{value}); }
};

struct Addcdiv {
  static constexpr auto schema = "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor";
  static constexpr auto doc = "self + value * tensor1 / tensor2. For floating point.";
  double value;
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b, const Tensor& c, Scalar v) {
    ctx.save(a), ctx.save(b), ctx.save(c);
    value = v.to_double();
    RL_CHECK(is_floating(b.dtype()) || is_floating(c.dtype()), "addcdiv: division of ", b.dtype(), " by ", c.dtype(),
             " is not an integer in general",
             hint("use self + value * div(tensor1, tensor2), with a rounding_mode if meant"));
    return kernels::pointwise(schema, pointwise::Addcdiv{value}, 0, result_type(a, b, c), ctx.out, a, b, c);
  }
  Grads backward(Ctx& ctx, Grads g) { return derivatives(schema, ctx, g[0], pointwise::Addcdiv{value}); }
};

RL_BIND(Lerp, all_forms)
RL_BIND(LerpNumber, all_forms)
RL_BIND(Addcmul, all_forms)
RL_BIND(Addcdiv, all_forms)

// --- Bounds ---------------------------------------------------------------------------------------------------------

Tensor bound_of(const std::optional<Scalar>& s) { return s ? wrapped_number(*s) : Tensor(); }

// x held between low and high, either of which may be missing.
Tensor clamp(const char* schema, Ctx& ctx, const Tensor& x, const Tensor& low, const Tensor& high) {
  ctx.save(x), ctx.save(low), ctx.save(high);
  RL_CHECK(low || high, op_name(schema), ": neither min nor max is given", hint("give at least one of them"));
  DType d = !low ? rushlight::result_type(x, high) : !high ? rushlight::result_type(x, low) : result_type(x, low, high);
  check_out_dtype(schema, ctx, d);
  if (!low) return kernels::pointwise(schema, pointwise::Minimum(), 0, d, ctx.out, x, high);
  if (!high) return kernels::pointwise(schema, pointwise::Maximum(), 0, d, ctx.out, x, low);
  return kernels::pointwise(schema, pointwise::Clamp(), 0, d, ctx.out, x, low, high);
}
Grads clamp_gradients(const char* schema, Ctx& ctx, const Tensor& g) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  Tensor x = ctx.get(0), low = ctx.get(1), high = ctx.get(2), gx, gl, gh;
  if (!low) low = wrapped_number(-inf);
  if (!high) high = wrapped_number(inf);
  pointwise::Clamp f;
  if (ctx.need(0)) gx = derivative<1>(schema, f, g, x, low, high);
  if (ctx.need(1)) gl = derivative<2>(schema, f, g, x, low, high);
  if (ctx.need(2)) gh = derivative<3>(schema, f, g, x, low, high);
  return {gx, gl, gh};
}

struct Clamp {
  static constexpr auto schema = "clamp(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor";
  static constexpr auto doc =
      "self, held between min and max; either may be None, a number or a tensor. Where min > max, max wins.";
  Tensor forward(Ctx& ctx, const Tensor& x, const Tensor& low, const Tensor& high) {
    return clamp(schema, ctx, x, low, high);
  }
  Grads backward(Ctx& ctx, Grads g) { return clamp_gradients(schema, ctx, g[0]); }
};
struct ClampNumber {
  static constexpr auto schema = "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor";
  static constexpr auto node_name = "ClampBackward1";
  Tensor forward(Ctx& ctx, const Tensor& x, std::optional<Scalar> low, std::optional<Scalar> high) {
    return clamp(schema, ctx, x, bound_of(low), bound_of(high));
  }
  Grads backward(Ctx& ctx, Grads g) { return {clamp_gradients(schema, ctx, g[0])[0]}; }
};

// One-sided clamps. Of equals, x takes the gradient.
template <bool max>
struct ClampOne {
  static constexpr auto schema =
      max ? "clamp_max(Tensor self, Tensor max) -> Tensor" : "clamp_min(Tensor self, Tensor min) -> Tensor";
  static constexpr auto node_name = max ? "ClampMaxBackward1" : "ClampMinBackward1";
  static constexpr auto doc =
      max ? "The smaller of self and max, a number or a tensor." : "The larger of self and min, a number or a tensor.";
  Tensor forward(Ctx& ctx, const Tensor& x, const Tensor& bound) {
    return clamp(schema, ctx, x, max ? Tensor() : bound, max ? bound : Tensor());
  }
  Grads backward(Ctx& ctx, Grads g) {
    // Saved as x, low, high; the bound is forward's second argument whichever it is.
    Tensor x = ctx.get(0), bound = ctx.get(max ? 2 : 1), gx, gb;
    Tensor inside = max ? le(x, bound) : ge(x, bound), zero = wrapped_number(0.0);
    if (ctx.need(0)) gx = where(inside, g[0], zero);
    if (ctx.need(1)) gb = where(inside, zero, g[0]);
    return {gx, gb};
  }
};
template <bool max>
struct ClampOneNumber {
  static constexpr auto schema =
      max ? "clamp_max(Tensor self, Scalar max) -> Tensor" : "clamp_min(Tensor self, Scalar min) -> Tensor";
  ClampOne<max> of;
  Tensor forward(Ctx& ctx, const Tensor& x, Scalar bound) { return of.forward(ctx, x, wrapped_number(bound)); }
  Grads backward(Ctx& ctx, Grads g) { return {of.backward(ctx, std::move(g))[0]}; }
};

RL_BIND(Clamp, all_forms)
RL_BIND(ClampNumber, all_forms)
RL_BIND(ClampOne<false>, all_forms)
RL_BIND(ClampOneNumber<false>, all_forms)
RL_BIND(ClampOne<true>, all_forms)
RL_BIND(ClampOneNumber<true>, all_forms)

}  // namespace
}  // namespace ops

Tensor where(const Tensor& c, const Tensor& a, const Tensor& b) { return apply<ops::Where>(c, a, b); }

}  // namespace rushlight
