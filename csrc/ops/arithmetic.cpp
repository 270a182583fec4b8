// Sums, products, quotients and powers of two tensors.
#include <utility>

#include "kernels/reduce.h"
#include "ops/pointwise.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

// --- Sums and products ----------------------------------------------------------------------------------------------

void check_alpha(const char* schema, DType d, const Scalar& alpha) {
  RL_CHECK(is_floating(d) || !alpha.is_floating(), op_name(schema),
           ": alpha must be an integer for integer tensors, got ", alpha);
  RL_CHECK(d == DType::Bool || !alpha.is_bool(), op_name(schema), ": alpha may be a bool for bool tensors only");
}

Tensor times(const Tensor& g, const Scalar& alpha) { return alpha == Scalar(1) ? g : mul(g, wrapped_number(alpha)); }

struct Add {
  static constexpr auto schema = "add(Tensor self, Number|Tensor other, *, Scalar alpha=1) -> Tensor";
  static constexpr auto doc = "self + alpha * other. Of bools, whether either is true.";
  Scalar alpha;
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b, Scalar s) {
    alpha = s;
    DType d = result_type(a, b);
    if (alpha == Scalar(1) && !alpha.is_bool())
      return kernels::pointwise(schema, pointwise::Add(), 0, d, ctx.out, a, b);
    check_alpha(schema, d, alpha);
    return kernels::pointwise(schema, pointwise::AddScaled{alpha.to_double()}, 0, d, ctx.out, a, b);
  }
  Grads backward(Ctx& ctx, Grads g) { return {g[0], ctx.need(1) ? times(g[0], alpha) : Tensor()}; }
};

struct Sub {
  static constexpr auto schema = "sub(Tensor self, Number|Tensor other, *, Scalar alpha=1) -> Tensor";
  static constexpr auto doc = "self - alpha * other.";
  Scalar alpha;
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b, Scalar s) {
    alpha = s;
    DType d = result_type(a, b);
    RL_CHECK(a.dtype() != DType::Bool && b.dtype() != DType::Bool, "sub: subtraction is not defined for bool tensors",
             hint("use logical_xor() (^), or ~ to invert a mask"));
    check_alpha(schema, d, alpha);
    if (alpha == Scalar(1)) return kernels::pointwise(schema, pointwise::Sub(), 0, d, ctx.out, a, b);
    return kernels::pointwise(schema, pointwise::AddScaled{-alpha.to_double()}, 0, d, ctx.out, a, b);
  }
  Grads backward(Ctx& ctx, Grads g) { return {g[0], ctx.need(1) ? neg(times(g[0], alpha)) : Tensor()}; }
};

struct Rsub {
  static constexpr auto schema = "rsub(Tensor self, Number|Tensor other, *, Scalar alpha=1) -> Tensor";
  static constexpr auto doc = "other - alpha * self.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& a, const Tensor& b, Scalar alpha) { return sub(b, a, alpha); }
};

struct Mul {
  static constexpr auto schema = "mul(Tensor self, Number|Tensor other) -> Tensor";
  static constexpr auto doc = "self * other. Of bools, whether both are true.";
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b) {
    ctx.save(ctx.need(1) ? a : Tensor());
    ctx.save(ctx.need(0) ? b : Tensor());
    return kernels::pointwise(schema, pointwise::Mul(), 0, result_type(a, b), ctx.out, a, b);
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor ga, gb;
    if (ctx.need(0)) ga = mul(g[0], ctx.get(1));
    if (ctx.need(1)) gb = mul(g[0], ctx.get(0));
    return {ga, gb};
  }
};

RL_BIND(Add, all_forms)
RL_BIND(Sub, all_forms)
RL_BIND(Rsub, both)
RL_BIND(Mul, all_forms)

// --- Quotients ------------------------------------------------------------------------------------------------------

// Integers have no infinity to give.
void check_divisor(const char* schema, DType d, const Tensor& a, const Tensor& b) {
  RL_CHECK_KIND(d != DType::Bool, NotImplemented, op_name(schema), " is not defined for bool tensors",
                hint("convert with .int() first"));
  if (is_floating(d) || b.is_meta() || a.numel() == 0 || b.numel() == 0) return;
  Tensor fine = b.impl()->wrapped_number  // a number may become zero in a small integer type
                    ? kernels::cast(kernels::cast(b, d), DType::Bool)
                    : kernels::reduce(kernels::Fold::all, b, kernels::dim_set(schema, {}, b.dim()), false, b.dtype(),
                                      DType::Bool);
  RL_CHECK(*fine.data<bool>(), op_name(schema), ": ZeroDivisionError: an integer divided by zero",
           hint("convert to floating point, where the result is infinite or NaN, or replace the zeros"));
}

// Quotients of whole numbers. Names: schema, doc.
template <class F, class Names>
struct Whole : Binary<F, Names> {
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b) {
    check_divisor(Names::schema, result_type(a, b), a, b);
    return Binary<F, Names>::forward(ctx, a, b);
  }
};
// The same by a number.
template <class Op, class Names>
struct ByNumber : Names {
  Op op;
  Tensor forward(Ctx& ctx, const Tensor& a, Scalar s) { return op.forward(ctx, a, wrapped_number(s)); }
  Grads backward(Ctx& ctx, Grads g) { return {op.backward(ctx, std::move(g))[0]}; }
};

#define RL_WHOLE(Name, F, text, node, docstring)        \
  struct Name##Names {                                  \
    static constexpr auto schema = text;                \
    static constexpr auto node_name = node "Backward1"; \
    static constexpr auto doc = docstring;              \
  };                                                    \
  using Name = Whole<pointwise::F, Name##Names>;

RL_WHOLE(FloorDivide, FloorDivide, "floor_divide(Number|Tensor self, Number|Tensor other) -> Tensor", "FloorDivide",
         "self / other, rounded down.")
RL_WHOLE(Remainder, Remainder, "remainder(Number|Tensor self, Tensor other) -> Tensor", "Remainder",
         "What is left of self when divided by other, with other's sign, as Python's %.")
RL_WHOLE(Fmod, Fmod, "fmod(Tensor self, Tensor other) -> Tensor", "Fmod",
         "What is left of self when divided by other, with self's sign, as C's fmod.")
struct RemainderNumber {
  static constexpr auto schema = "remainder(Tensor self, Scalar other) -> Tensor";
};
struct FmodNumber {
  static constexpr auto schema = "fmod(Tensor self, Scalar other) -> Tensor";
};

struct DivRoundedNames {
  static constexpr auto schema = "div(Tensor self, Tensor other)";
  static constexpr auto node_name = "DivBackward2";
};
using DivExact = Binary<pointwise::Div, DivRoundedNames>;
using DivFloor = Whole<pointwise::FloorDivide, DivRoundedNames>;
using DivTrunc = Whole<pointwise::TruncDivide, DivRoundedNames>;

struct DivMode {
  static constexpr auto schema = "div(Tensor self, Number|Tensor other, *, str? rounding_mode) -> Tensor";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& a, const Tensor& b, std::optional<std::string_view> mode) {
    if (!mode) return apply<DivExact>(a, b);
    RL_CHECK(*mode == "floor" || *mode == "trunc", "div: rounding_mode must be None, 'floor' or 'trunc', not '", *mode,
             "'");
    return *mode == "floor" ? apply<DivFloor>(a, b) : apply<DivTrunc>(a, b);
  }
};

RL_BINARY(Div, "div(Tensor self, Number|Tensor other) -> Tensor", all_forms,
          "self / other; rounding_mode='floor' or 'trunc' rounds the quotient to a whole number.")
RL_BIND(DivMode, all_forms)
RL_BIND(FloorDivide, all_forms)
RL_BIND(Remainder, all_forms)
using RemainderByNumber = ByNumber<Remainder, RemainderNumber>;
RL_BIND(RemainderByNumber, all_forms)
RL_BIND(Fmod, all_forms)
using FmodByNumber = ByNumber<Fmod, FmodNumber>;
RL_BIND(FmodByNumber, all_forms)

// --- Powers ---------------------------------------------------------------------------------------------------------

void check_power(DType d) {
  RL_CHECK_KIND(d != DType::Bool, NotImplemented, "pow is not defined for bool tensors",
                hint("use & for a product of bools"));
}

struct PowNames {
  static constexpr auto schema = "pow(Tensor self, Tensor exponent) -> Tensor";
  static constexpr auto node_name = "PowBackward1";
  static constexpr auto doc =
      "self to the power of exponent; either may be a number. Integers stay integers, and a negative number cannot be "
      "their exponent.";
};
struct Pow : Binary<pointwise::Pow, PowNames> {
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b) {
    check_power(result_type(a, b));
    return Binary::forward(ctx, a, b);
  }
};

// Integers and half types take the exponent as a number of their own, which must hold it.
void check_exponent(DType d, const Scalar& e) {
  visit(d, [&](auto tag) {
    using T = typename decltype(tag)::type;
    bool fits = true;
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) fits = std::in_range<T>(e.to_int());
    else if constexpr (sizeof(T) == 2) fits = std::isfinite(float(e.to<T>())) || !std::isfinite(e.to_double());
    RL_CHECK(fits, "pow: the exponent ", e, " does not fit ", d, hint("convert the tensor to a wider dtype first"));
  });
}

struct PowNumber {
  static constexpr auto schema = "pow(Tensor self, Scalar exponent) -> Tensor";
  double exponent;
  // Calls f with the functor that computes this power of floats with least work.
  template <class F>
  Tensor with_functor(F&& f) const {
    if (exponent == 2) return f(pointwise::Square());
    if (exponent == 3) return f(pointwise::Cube());
    if (exponent == 0.5) return f(pointwise::SquareRoot());
    if (exponent == -1) return f(pointwise::Inverse());
    return f(pointwise::Power{exponent});
  }
  Tensor forward(Ctx& ctx, const Tensor& x, Scalar e) {
    ctx.save(x);
    exponent = e.to_double();
    DType d = with_number(x.dtype(), e);
    if (exponent == 1) return kernels::cast(x, d);
    check_power(d);
    if (!is_floating(d)) {
      RL_CHECK(exponent >= 0, "pow: integers cannot be raised to the negative power ", e,
               hint("convert to floating point first, for example with .float()"));
      check_exponent(d, e);
      return exponent == 2 ? kernels::pointwise(schema, pointwise::Square(), 0, d, ctx.out, x)
                           : kernels::pointwise(schema, pointwise::Pow(), 0, d, ctx.out, x, wrapped_number(e));
    }
    check_exponent(d, e);
    return with_functor([&](auto f) { return kernels::pointwise(schema, f, 0, d, ctx.out, x); });
  }
  Grads backward(Ctx& ctx, Grads g) {
    if (exponent == 0) return {zeros_like(g[0])};
    if (exponent == 1) return {g[0]};
    Tensor x = ctx.get(0);
    return {with_functor([&](auto f) { return derivative<1>(schema, f, g[0], x); })};
  }
};

struct PowOfNumber {
  static constexpr auto schema = "pow(Scalar self, Tensor exponent) -> Tensor";
  static constexpr auto node_name = "PowBackward2";
  Scalar base;
  Tensor forward(Ctx& ctx, Scalar b, const Tensor& e) {
    base = b;
    ctx.save(e);
    Tensor number = wrapped_number(b);
    DType d = result_type(number, e);
    check_power(d);
    return kernels::pointwise(schema, pointwise::Pow(), 0, d, ctx.out, number, e);
  }
  Grads backward(Ctx& ctx, Grads g) {
    return {derivative<2>(schema, pointwise::Pow(), g[0], wrapped_number(base.to_double()), ctx.get(0))};
  }
};

RL_BIND(Pow, all_forms)
RL_BIND(PowNumber, all_forms)
RL_BIND(PowOfNumber, function | out)

// --- Functions of two real numbers ----------------------------------------------------------------------------------

RL_BINARY(Atan2, "atan2(Tensor self, Tensor other) -> Tensor", all_forms,
          "The angle of the point (other, self), in radians.")
RL_BINARY(Hypot, "hypot(Tensor self, Tensor other) -> Tensor", all_forms,
          "sqrt(self ** 2 + other ** 2), without overflow.")
RL_BINARY(Copysign, "copysign(Tensor self, Tensor other) -> Tensor", all_forms, "self with the sign of other.")
struct CopysignNumber {
  static constexpr auto schema = "copysign(Tensor self, Scalar other) -> Tensor";
  static constexpr auto node_name = "CopysignBackward1";
};
using CopysignByNumber = ByNumber<Copysign, CopysignNumber>;
RL_BIND(CopysignByNumber, all_forms)
RL_BINARY(LogAddExp, "logaddexp(Tensor self, Tensor other) -> Tensor", both | out, "log(exp(self) + exp(other)).")
RL_BINARY(LogAddExp2, "logaddexp2(Tensor self, Tensor other) -> Tensor", both | out, "log2(2 ** self + 2 ** other).")
RL_BINARY(Xlogy, "xlogy(Number|Tensor self, Number|Tensor other) -> Tensor", all_forms,
          "self * log(other), and 0 where self is 0.")

}  // namespace
}  // namespace ops

Tensor add(const Tensor& a, const Tensor& b, const Scalar& s) { return apply<ops::Add>(a, b, s); }
Tensor sub(const Tensor& a, const Tensor& b, const Scalar& s) { return apply<ops::Sub>(a, b, s); }
Tensor mul(const Tensor& a, const Tensor& b) { return apply<ops::Mul>(a, b); }
Tensor div(const Tensor& a, const Tensor& b) { return apply<ops::Div>(a, b); }
Tensor pow(const Tensor& a, const Tensor& b) {
  if (b.impl()->wrapped_number) return apply<ops::PowNumber>(a, b.item());
  if (a.impl()->wrapped_number) return apply<ops::PowOfNumber>(a.item(), b);
  return apply<ops::Pow>(a, b);
}
Tensor pow(const Tensor& a, double b) { return apply<ops::PowNumber>(a, Scalar(b)); }
Tensor hypot(const Tensor& a, const Tensor& b) { return apply<ops::Hypot>(a, b); }
Tensor copysign(const Tensor& a, const Tensor& b) { return apply<ops::Copysign>(a, b); }
Tensor add_(const Tensor& a, const Tensor& b, const Scalar& s) { return apply_inplace<ops::Add>(a, b, s); }
Tensor sub_(const Tensor& a, const Tensor& b, const Scalar& s) { return apply_inplace<ops::Sub>(a, b, s); }
Tensor mul_(const Tensor& a, const Tensor& b) { return apply_inplace<ops::Mul>(a, b); }
Tensor div_(const Tensor& a, const Tensor& b) { return apply_inplace<ops::Div>(a, b); }

}  // namespace rushlight
