// Comparisons, logic, bits, and the larger or smaller of two.
#include "ops/pointwise.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

RL_BINARY(Eq, "eq(Tensor self, Number|Tensor other) -> Tensor", all_forms, "Whether self == other, element by element.")
RL_BINARY(Ne, "ne(Tensor self, Number|Tensor other) -> Tensor", all_forms, "Whether self != other, element by element.")
RL_BINARY(Lt, "lt(Tensor self, Number|Tensor other) -> Tensor", all_forms, "Whether self < other, element by element.")
RL_BINARY(Le, "le(Tensor self, Number|Tensor other) -> Tensor", all_forms, "Whether self <= other, element by element.")
RL_BINARY(Gt, "gt(Tensor self, Number|Tensor other) -> Tensor", all_forms, "Whether self > other, element by element.")
RL_BINARY(Ge, "ge(Tensor self, Number|Tensor other) -> Tensor", all_forms, "Whether self >= other, element by element.")

RL_BINARY(LogicalAnd, "logical_and(Tensor self, Tensor other) -> Tensor", all_forms, "Whether both are nonzero.")
RL_BINARY(LogicalOr, "logical_or(Tensor self, Tensor other) -> Tensor", all_forms, "Whether either is nonzero.")
RL_BINARY(LogicalXor, "logical_xor(Tensor self, Tensor other) -> Tensor", all_forms, "Whether just one is nonzero.")

RL_BINARY(BitwiseAnd, "bitwise_and(Number|Tensor self, Number|Tensor other) -> Tensor", all_forms,
          "Bits that both have.")
RL_BINARY(BitwiseOr, "bitwise_or(Number|Tensor self, Number|Tensor other) -> Tensor", all_forms,
          "Bits that either has.")
RL_BINARY(BitwiseXor, "bitwise_xor(Number|Tensor self, Number|Tensor other) -> Tensor", all_forms,
          "Bits that just one has.")
RL_BINARY(ShiftLeft, "bitwise_left_shift(Number|Tensor self, Number|Tensor other) -> Tensor", all_forms,
          "Bits moved up by other places.")
RL_BINARY(ShiftRight, "bitwise_right_shift(Number|Tensor self, Number|Tensor other) -> Tensor", all_forms,
          "Bits moved down by other places; the sign stays.")

RL_BINARY(Maximum, "maximum(Tensor self, Tensor other) -> Tensor", both | out,
          "The larger of each pair of elements; NaN if either is. Equal ones share the gradient.")
RL_BINARY(Minimum, "minimum(Tensor self, Tensor other) -> Tensor", both | out,
          "The smaller of each pair of elements; NaN if either is. Equal ones share the gradient.")
RL_BINARY(Fmax, "fmax(Tensor self, Tensor other) -> Tensor", both | out,
          "The larger of each pair of elements; the other one where one is NaN.")
RL_BINARY(Fmin, "fmin(Tensor self, Tensor other) -> Tensor", both | out,
          "The smaller of each pair of elements; the other one where one is NaN.")

struct IsClose {
  static constexpr auto schema =
      "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor";
  static constexpr auto doc = "Whether |self - other| <= atol + rtol * |other|; infinities are close to their like.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
    RL_CHECK(a.dtype() == b.dtype(), "isclose: dtypes ", a.dtype(), " and ", b.dtype(), " differ",
             hint("convert one, for example with .to(other.dtype)"));
    RL_CHECK(rtol >= 0 && atol >= 0, "isclose: tolerances must not be negative, got rtol=", rtol, ", atol=", atol);
    NoGradGuard guard;
    Tensor close = eq(a, b);
    if (equal_nan && a.is_floating()) close = close | (ne(a, a) & ne(b, b));
    if (rtol == 0 && atol == 0) return close;
    DType d = float_type(a.dtype());
    Tensor x = to_dtype(a, d), y = to_dtype(b, d), gap = abs(x - y);
    return close | ((gap <= atol + rtol * abs(y)) & (gap < std::numeric_limits<double>::infinity()));
  }
};

struct AllClose {
  static constexpr auto schema =
      "allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool";
  static constexpr auto doc = "Whether isclose() holds for all elements.";
  static constexpr Kind kind = Kind::composite;
  bool forward(Ctx&, const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
    return all(apply<IsClose>(a, b, rtol, atol, equal_nan)).item().to_int();
  }
};

struct Equal {
  static constexpr auto schema = "equal(Tensor self, Tensor other) -> bool";
  static constexpr auto doc = "Whether shapes and all elements are equal; NaN equals nothing.";
  static constexpr Kind kind = Kind::composite;
  bool forward(Ctx&, const Tensor& a, const Tensor& b) {
    return a.sizes() == b.sizes() && all(eq(a, b)).item().to_int();
  }
};

RL_BIND(IsClose, both)
RL_BIND(AllClose, both)
RL_BIND(Equal, both)

}  // namespace
}  // namespace ops

Tensor maximum(const Tensor& a, const Tensor& b) { return apply<ops::Maximum>(a, b); }
Tensor minimum(const Tensor& a, const Tensor& b) { return apply<ops::Minimum>(a, b); }
Tensor eq(const Tensor& a, const Tensor& b) { return apply<ops::Eq>(a, b); }
Tensor ne(const Tensor& a, const Tensor& b) { return apply<ops::Ne>(a, b); }
Tensor lt(const Tensor& a, const Tensor& b) { return apply<ops::Lt>(a, b); }
Tensor le(const Tensor& a, const Tensor& b) { return apply<ops::Le>(a, b); }
Tensor gt(const Tensor& a, const Tensor& b) { return apply<ops::Gt>(a, b); }
Tensor ge(const Tensor& a, const Tensor& b) { return apply<ops::Ge>(a, b); }
Tensor logical_and(const Tensor& a, const Tensor& b) { return apply<ops::LogicalAnd>(a, b); }
Tensor logical_or(const Tensor& a, const Tensor& b) { return apply<ops::LogicalOr>(a, b); }

}  // namespace rushlight
