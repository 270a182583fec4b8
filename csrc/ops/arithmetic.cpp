// Functions of two elements.
#include "ops/pointwise.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

struct Add {
  static constexpr auto schema = "add(Tensor self, Number|Tensor other, *, Scalar alpha=1) -> Tensor";
  static constexpr auto doc = "self + alpha * other.";
  Scalar alpha;
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b, Scalar s) {
    alpha = s;
    DType d = result_type(a, b);
    RL_CHECK(is_floating(d) || !alpha.is_floating(), "add: alpha must be an integer for integer tensors, got ", alpha);
    if (alpha == Scalar(1)) return kernels::pointwise(schema, pointwise::Add(), 0, d, ctx.out, a, b);
    return kernels::pointwise(schema, pointwise::AddScaled{alpha.to_double()}, 0, d, ctx.out, a, b);
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor second;
    if (ctx.need(1)) second = alpha == Scalar(1) ? g[0] : mul(g[0], wrapped_number(alpha));
    return {g[0], second};
  }
};

struct Sub {
  static constexpr auto schema = "sub(Tensor self, Number|Tensor other, *, Scalar alpha=1) -> Tensor";
  static constexpr auto doc = "self - alpha * other.";
  Scalar alpha;
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b, Scalar s) {
    alpha = s;
    DType d = result_type(a, b);
    RL_CHECK(a.dtype() != DType::Bool && b.dtype() != DType::Bool,
             "sub: subtraction is not defined for bool tensors", hint("use logical_xor() (^), or ~ to invert a mask"));
    RL_CHECK(is_floating(d) || !alpha.is_floating(), "sub: alpha must be an integer for integer tensors, got ", alpha);
    if (alpha == Scalar(1)) return kernels::pointwise(schema, pointwise::Sub(), 0, d, ctx.out, a, b);
    return kernels::pointwise(schema, pointwise::AddScaled{-alpha.to_double()}, 0, d, ctx.out, a, b);
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor second;
    if (ctx.need(1)) second = alpha == Scalar(1) ? neg(g[0]) : mul(g[0], wrapped_number(-alpha.to_double()));
    return {g[0], second};
  }
};

struct Mul {
  static constexpr auto schema = "mul(Tensor self, Number|Tensor other) -> Tensor";
  static constexpr auto doc = "self * other.";
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

#define RL_BINARY(Name, F, forms, text, docstring)                                   \
  struct Name##Names {                                                               \
    static constexpr auto schema = text "(Tensor self, Number|Tensor other) -> Tensor"; \
    static constexpr auto doc = docstring;                                           \
  };                                                                                 \
  using Name = Binary<pointwise::F, Name##Names>;                                    \
  RL_BIND(Name, forms)

RL_BIND(Add, both | inplace | out)
RL_BIND(Sub, both | inplace | out)
RL_BIND(Mul, both | inplace | out)
constexpr Forms all_forms = both | inplace | out;
RL_BINARY(Div, Div, all_forms, "div", "self / other, true division.")
RL_BINARY(Pow, Pow, all_forms, "pow", "self to the power of other.")
RL_BINARY(Maximum, Maximum, both | out, "maximum", "The larger of each pair of elements; NaN if either is.")
RL_BINARY(Minimum, Minimum, both | out, "minimum", "The smaller of each pair of elements; NaN if either is.")
RL_BINARY(Atan2, Atan2, all_forms, "atan2", "The angle of the point (other, self), in radians.")
RL_BINARY(Eq, Eq, all_forms, "eq", "Whether self == other, element by element.")
RL_BINARY(Ne, Ne, all_forms, "ne", "Whether self != other, element by element.")
RL_BINARY(Lt, Lt, all_forms, "lt", "Whether self < other, element by element.")
RL_BINARY(Le, Le, all_forms, "le", "Whether self <= other, element by element.")
RL_BINARY(Gt, Gt, all_forms, "gt", "Whether self > other, element by element.")
RL_BINARY(Ge, Ge, all_forms, "ge", "Whether self >= other, element by element.")
RL_BINARY(LogicalAnd, LogicalAnd, all_forms, "logical_and", "Whether both are nonzero.")
RL_BINARY(LogicalOr, LogicalOr, all_forms, "logical_or", "Whether either is nonzero.")
RL_BINARY(LogicalXor, LogicalXor, all_forms, "logical_xor", "Whether just one is nonzero.")
RL_BINARY(BitwiseAnd, BitwiseAnd, all_forms, "bitwise_and", "Bits that both have.")
RL_BINARY(BitwiseOr, BitwiseOr, all_forms, "bitwise_or", "Bits that either has.")
RL_BINARY(BitwiseXor, BitwiseXor, all_forms, "bitwise_xor", "Bits that just one has.")

struct Where {
  static constexpr auto schema = "where(Tensor condition, Number|Tensor self, Number|Tensor other) -> Tensor";
  static constexpr auto doc = "self where condition is true, other elsewhere.";
  Tensor forward(Ctx& ctx, const Tensor& c, const Tensor& a, const Tensor& b) {
    ctx.save(c);
    return kernels::pointwise(schema, pointwise::Where(), 0, result_type(a, b), ctx.out, c, a, b);
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor c = ctx.get(0), zero = wrapped_number(0.0);
    return {Tensor(), ctx.need(1) ? where(c, g[0], zero) : Tensor(), ctx.need(2) ? where(c, zero, g[0]) : Tensor()};
  }
};
RL_BIND(Where, function | out)

}  // namespace
}  // namespace ops

Tensor add(const Tensor& a, const Tensor& b, const Scalar& s) { return apply<ops::Add>(a, b, s); }
Tensor sub(const Tensor& a, const Tensor& b, const Scalar& s) { return apply<ops::Sub>(a, b, s); }
Tensor mul(const Tensor& a, const Tensor& b) { return apply<ops::Mul>(a, b); }
Tensor div(const Tensor& a, const Tensor& b) { return apply<ops::Div>(a, b); }
Tensor pow(const Tensor& a, const Tensor& b) { return apply<ops::Pow>(a, b); }
Tensor maximum(const Tensor& a, const Tensor& b) { return apply<ops::Maximum>(a, b); }
Tensor minimum(const Tensor& a, const Tensor& b) { return apply<ops::Minimum>(a, b); }
Tensor where(const Tensor& c, const Tensor& a, const Tensor& b) { return apply<ops::Where>(c, a, b); }
Tensor add_(const Tensor& a, const Tensor& b, const Scalar& s) { return apply_inplace<ops::Add>(a, b, s); }
Tensor sub_(const Tensor& a, const Tensor& b, const Scalar& s) { return apply_inplace<ops::Sub>(a, b, s); }
Tensor mul_(const Tensor& a, const Tensor& b) { return apply_inplace<ops::Mul>(a, b); }
Tensor div_(const Tensor& a, const Tensor& b) { return apply_inplace<ops::Div>(a, b); }
Tensor eq(const Tensor& a, const Tensor& b) { return apply<ops::Eq>(a, b); }
Tensor ne(const Tensor& a, const Tensor& b) { return apply<ops::Ne>(a, b); }
Tensor lt(const Tensor& a, const Tensor& b) { return apply<ops::Lt>(a, b); }
Tensor le(const Tensor& a, const Tensor& b) { return apply<ops::Le>(a, b); }
Tensor gt(const Tensor& a, const Tensor& b) { return apply<ops::Gt>(a, b); }
Tensor ge(const Tensor& a, const Tensor& b) { return apply<ops::Ge>(a, b); }
Tensor logical_and(const Tensor& a, const Tensor& b) { return apply<ops::LogicalAnd>(a, b); }
Tensor logical_or(const Tensor& a, const Tensor& b) { return apply<ops::LogicalOr>(a, b); }

}  // namespace rushlight
