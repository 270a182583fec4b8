// Functions of one element. One struct and its name in the list at the end is all that a new one needs.
#pragma once
#include "pointwise/activation.h"

namespace rushlight::pointwise {

struct Neg {
  static constexpr auto schema = "neg(Tensor self) -> Tensor";
  static constexpr auto bool_hint = "use logical_not() (~) to invert a mask";
  static constexpr auto doc = "The negative of each element.";
  static constexpr auto saves = Saves::nothing;
  static constexpr auto types = Types::all;
  template <class V>
  V forward(V x) const {
    return -x;
  }
  template <class V>
  V grad(V g, V) const {
    return -g;
  }
};

struct Abs {
  static constexpr auto schema = "abs(Tensor self) -> Tensor";
  static constexpr auto doc = "The absolute value of each element.";
  static constexpr auto saves = Saves::input;
  static constexpr auto types = Types::all;
  template <class V>
  V forward(V x) const {
    return abs(x);
  }
  template <class V>
  V grad(V g, V x) const {
    return g * sign(x);
  }
};

struct Sign {
  static constexpr auto schema = "sign(Tensor self) -> Tensor";
  static constexpr auto doc = "-1, 0 or 1 as each element is negative, zero or positive.";
  static constexpr auto saves = Saves::nothing;
  static constexpr auto types = Types::all;
  template <class V>
  V forward(V x) const {
    return sign(x);
  }
  template <class V>
  V grad(V g, V) const {
    return zero_of(g);
  }
};

struct Square {
  static constexpr auto schema = "square(Tensor self) -> Tensor";
  static constexpr auto node_name = "PowBackward0";
  static constexpr auto doc = "The square of each element.";
  static constexpr bool no_bool = true;  // it would be int64, which no other function of one element makes of bools
  static constexpr auto saves = Saves::input;
  static constexpr auto types = Types::all;
  template <class V>
  V forward(V x) const {
    return x * x;
  }
  template <class V>
  V grad(V g, V x) const {
    return 2.0 * g * x;
  }
};

struct Exp {
  static constexpr auto schema = "exp(Tensor self) -> Tensor";
  static constexpr auto doc = "e to the power of each element.";
  static constexpr auto saves = Saves::output;
  template <class V>
  V forward(V x) const {
    return exp(x);
  }
  template <class V>
  V grad(V g, V y) const {
    return g * y;
  }
};

struct Exp2 {
  static constexpr auto schema = "exp2(Tensor self) -> Tensor";
  static constexpr auto doc = "2 to the power of each element.";
  static constexpr auto saves = Saves::output;
  template <class V>
  V forward(V x) const {
    return exp2(x);
  }
  template <class V>
  V grad(V g, V y) const {
    return g * y * 0.6931471805599453;
  }
};

struct Expm1 {
  static constexpr auto schema = "expm1(Tensor self) -> Tensor";
  static constexpr auto doc = "exp(x) - 1, exact also near zero.";
  static constexpr auto saves = Saves::output;
  template <class V>
  V forward(V x) const {
    return expm1(x);
  }
  template <class V>
  V grad(V g, V y) const {
    return g * (y + 1.0);
  }
};

struct Log {
  static constexpr auto schema = "log(Tensor self) -> Tensor";
  static constexpr auto doc = "The natural logarithm of each element.";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return log(x);
  }
  template <class V>
  V grad(V g, V x) const {
    return g / x;
  }
};

struct Log2 {
  static constexpr auto schema = "log2(Tensor self) -> Tensor";
  static constexpr auto doc = "The logarithm to base 2 of each element.";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return log2(x);
  }
  template <class V>
  V grad(V g, V x) const {
    return g / (x * 0.6931471805599453);
  }
};

struct Log10 {
  static constexpr auto schema = "log10(Tensor self) -> Tensor";
  static constexpr auto doc = "The logarithm to base 10 of each element.";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return log10(x);
  }
  template <class V>
  V grad(V g, V x) const {
    return g / (x * 2.302585092994046);
  }
};

struct Log1p {
  static constexpr auto schema = "log1p(Tensor self) -> Tensor";
  static constexpr auto node_name = "Log1PBackward0";
  static constexpr auto doc = "log(1 + x), exact also near zero.";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return log1p(x);
  }
  template <class V>
  V grad(V g, V x) const {
    return g / (x + 1.0);
  }
};

struct Sqrt {
  static constexpr auto schema = "sqrt(Tensor self) -> Tensor";
  static constexpr auto doc = "The square root of each element.";
  static constexpr auto saves = Saves::output;
  template <class V>
  V forward(V x) const {
    return sqrt(x);
  }
  template <class V>
  V grad(V g, V y) const {
    return g / (2.0 * y);
  }
};

struct Rsqrt {
  static constexpr auto schema = "rsqrt(Tensor self) -> Tensor";
  static constexpr auto doc = "1 over the square root of each element.";
  static constexpr auto saves = Saves::output;
  template <class V>
  V forward(V x) const {
    return rsqrt(x);
  }
  template <class V>
  V grad(V g, V y) const {
    return -0.5 * g * y * y * y;
  }
};

struct Reciprocal {
  static constexpr auto schema = "reciprocal(Tensor self) -> Tensor";
  static constexpr auto doc = "1 over each element.";
  static constexpr auto saves = Saves::output;
  template <class V>
  V forward(V x) const {
    return reciprocal(x);
  }
  template <class V>
  V grad(V g, V y) const {
    return -g * y * y;
  }
};

struct Sin {
  static constexpr auto schema = "sin(Tensor self) -> Tensor";
  static constexpr auto doc = "The sine of each element, in radians.";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return sin(x);
  }
  template <class V>
  V grad(V g, V x) const {
    return g * cos(x);
  }
};

struct Cos {
  static constexpr auto schema = "cos(Tensor self) -> Tensor";
  static constexpr auto doc = "The cosine of each element, in radians.";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return cos(x);
  }
  template <class V>
  V grad(V g, V x) const {
    return -g * sin(x);
  }
};

struct Tan {
  static constexpr auto schema = "tan(Tensor self) -> Tensor";
  static constexpr auto doc = "The tangent of each element, in radians.";
  static constexpr auto saves = Saves::output;
  template <class V>
  V forward(V x) const {
    return tan(x);
  }
  template <class V>
  V grad(V g, V y) const {
    return g * (1.0 + y * y);
  }
};

struct Asin {
  static constexpr auto schema = "asin(Tensor self) -> Tensor";
  static constexpr auto doc = "The arcsine of each element, in radians.";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return asin(x);
  }
  template <class V>
  V grad(V g, V x) const {
    return g * rsqrt(1.0 - x * x);
  }
};

struct Acos {
  static constexpr auto schema = "acos(Tensor self) -> Tensor";
  static constexpr auto doc = "The arccosine of each element, in radians.";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return acos(x);
  }
  template <class V>
  V grad(V g, V x) const {
    return -g * rsqrt(1.0 - x * x);
  }
};

struct Atan {
  static constexpr auto schema = "atan(Tensor self) -> Tensor";
  static constexpr auto doc = "The arctangent of each element, in radians.";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return atan(x);
  }
  template <class V>
  V grad(V g, V x) const {
    return g / (x * x + 1.0);
  }
};

struct Sinh {
  static constexpr auto schema = "sinh(Tensor self) -> Tensor";
  static constexpr auto doc = "The hyperbolic sine of each element.";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return sinh(x);
  }
  template <class V>
  V grad(V g, V x) const {
    return g * cosh(x);
  }
};

struct Cosh {
  static constexpr auto schema = "cosh(Tensor self) -> Tensor";
  static constexpr auto doc = "The hyperbolic cosine of each element.";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return cosh(x);
  }
  template <class V>
  V grad(V g, V x) const {
    return g * sinh(x);
  }
};

struct Tanh {
  static constexpr auto schema = "tanh(Tensor self) -> Tensor";
  static constexpr auto doc = "The hyperbolic tangent of each element.";
  static constexpr auto saves = Saves::output;
  template <class V>
  V forward(V x) const {
    return tanh(x);
  }
  template <class V>
  V grad(V g, V y) const {
    return g * (1.0 - y * y);
  }
};

struct Asinh {
  static constexpr auto schema = "asinh(Tensor self) -> Tensor";
  static constexpr auto doc = "The inverse hyperbolic sine of each element.";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return asinh(x);
  }
  template <class V>
  V grad(V g, V x) const {
    return g * rsqrt(x * x + 1.0);
  }
};

struct Acosh {
  static constexpr auto schema = "acosh(Tensor self) -> Tensor";
  static constexpr auto doc = "The inverse hyperbolic cosine of each element.";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return acosh(x);
  }
  template <class V>
  V grad(V g, V x) const {
    return g * rsqrt(x * x - 1.0);
  }
};

struct Atanh {
  static constexpr auto schema = "atanh(Tensor self) -> Tensor";
  static constexpr auto doc = "The inverse hyperbolic tangent of each element.";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return atanh(x);
  }
  template <class V>
  V grad(V g, V x) const {
    return g / (1.0 - x * x);
  }
};

struct Sigmoid {
  static constexpr auto schema = "sigmoid(Tensor self) -> Tensor";
  static constexpr auto doc = "1 / (1 + exp(-x)).";
  static constexpr auto saves = Saves::output;
  template <class V>
  V forward(V x) const {
    return sigmoid(x);
  }
  template <class V>
  V grad(V g, V y) const {
    return g * (1.0 - y) * y;
  }
};

struct Erf {
  static constexpr auto schema = "erf(Tensor self) -> Tensor";
  static constexpr auto doc = "The error function of each element.";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return erf(x);
  }
  template <class V>
  V grad(V g, V x) const {
    return 1.1283791670955126 * exp(-(x * x)) * g;
  }
};

struct Erfc {
  static constexpr auto schema = "erfc(Tensor self) -> Tensor";
  static constexpr auto doc = "1 - erf(x).";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return erfc(x);
  }
  template <class V>
  V grad(V g, V x) const {
    return -1.1283791670955126 * exp(-(x * x)) * g;
  }
};

struct Floor {
  static constexpr auto schema = "floor(Tensor self) -> Tensor";
  static constexpr auto doc = "The largest integer not above each element.";
  static constexpr auto saves = Saves::nothing;
  static constexpr auto types = Types::all;
  template <class V>
  V forward(V x) const {
    if constexpr (V::is_int) return x;
    else return floor(x);
  }
  template <class V>
  V grad(V g, V) const {
    return zero_of(g);
  }
};

struct Ceil {
  static constexpr auto schema = "ceil(Tensor self) -> Tensor";
  static constexpr auto doc = "The smallest integer not below each element.";
  static constexpr auto saves = Saves::nothing;
  static constexpr auto types = Types::all;
  template <class V>
  V forward(V x) const {
    if constexpr (V::is_int) return x;
    else return ceil(x);
  }
  template <class V>
  V grad(V g, V) const {
    return zero_of(g);
  }
};

struct Round {
  static constexpr auto schema = "round(Tensor self) -> Tensor";
  static constexpr auto doc = "The nearest integer; halves go to the even one.";
  static constexpr auto saves = Saves::nothing;
  static constexpr auto types = Types::all;
  template <class V>
  V forward(V x) const {
    if constexpr (V::is_int) return x;
    else return round(x);
  }
  template <class V>
  V grad(V g, V) const {
    return zero_of(g);
  }
};

struct Trunc {
  static constexpr auto schema = "trunc(Tensor self) -> Tensor";
  static constexpr auto doc = "Each element without its fraction.";
  static constexpr auto saves = Saves::nothing;
  static constexpr auto types = Types::all;
  template <class V>
  V forward(V x) const {
    if constexpr (V::is_int) return x;
    else return trunc(x);
  }
  template <class V>
  V grad(V g, V) const {
    return zero_of(g);
  }
};

struct IsNan {
  static constexpr auto schema = "isnan(Tensor self) -> Tensor";
  static constexpr auto doc = "Whether each element is NaN.";
  static constexpr auto types = Types::all;
  static constexpr bool predicate = true;
  template <class V>
  auto forward(V x) const {
    if constexpr (V::is_int) return x != x;
    else return isnan(x);
  }
};

struct IsInf {
  static constexpr auto schema = "isinf(Tensor self) -> Tensor";
  static constexpr auto doc = "Whether each element is infinite.";
  static constexpr bool of_integers = false;
  static constexpr auto types = Types::all;
  static constexpr bool predicate = true;
  template <class V>
  auto forward(V x) const {
    if constexpr (V::is_int) return x != x;
    else return isinf(x);
  }
};

struct IsFinite {
  static constexpr auto schema = "isfinite(Tensor self) -> Tensor";
  static constexpr auto doc = "Whether each element is neither infinite nor NaN.";
  static constexpr bool of_integers = true;
  static constexpr auto types = Types::all;
  static constexpr bool predicate = true;
  template <class V>
  auto forward(V x) const {
    if constexpr (V::is_int) return x == x;
    else return isfinite(x);
  }
};

struct LogicalNot {
  static constexpr auto schema = "logical_not(Tensor self) -> Tensor";
  static constexpr auto doc = "Whether each element is zero.";
  static constexpr auto types = Types::all;
  static constexpr bool predicate = true;
  template <class V>
  auto forward(V x) const {
    return x == V(0.0);
  }
};

struct BitwiseNot {
  static constexpr auto schema = "bitwise_not(Tensor self) -> Tensor";
  static constexpr auto doc = "Each integer with its bits inverted; for bool, logical not.";
  using for_bool = LogicalNot;
  static constexpr auto types = Types::ints;
  template <class V>
  V forward(V x) const {
    return ~x;
  }
};

// Functions with parameters.

struct NanToNum {
  static constexpr auto saves = Saves::input;
  double nan = 0, positive = 0, negative = 0;
  template <class V>
  V forward(V x) const {
    return select(x != x, V(nan), select(x - x == V(0.0), x, select(x > V(0.0), V(positive), V(negative))));
  }
  template <class V>
  V grad(V g, V x) const {
    return select(x - x == 0.0, g, zero_of(g));
  }
};

struct Logit {  // log(x / (1 - x)), x held between low and high; outside: the derivative beyond them and beyond [0, 1]
  static constexpr auto saves = Saves::input;
  double low = 0, high = 0, outside = 0;
  template <class V>
  V forward(V x) const {
    V z = minimum(maximum(x, V(low)), V(high));
    return log(z / (1.0 - z));
  }
  template <class V>
  V grad(V g, V x) const {
    V slope = x * (1.0 - x);
    return select((x < low) | (x > high) | (slope < 0.0), zero_of(g) + outside, g / slope);
  }
};

// Powers by a number. Few are worth calling pow() for.

struct Cube {
  static constexpr auto saves = Saves::input;
  static constexpr auto types = Types::all;
  template <class V>
  V forward(V x) const {
    return x * x * x;
  }
  template <class V>
  V grad(V g, V x) const {
    return 3.0 * g * (x * x);
  }
};

struct SquareRoot {
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return sqrt(x);
  }
  template <class V>
  V grad(V g, V x) const {
    return 0.5 * g / sqrt(x);
  }
};

struct Inverse {
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return 1.0 / x;
  }
  template <class V>
  V grad(V g, V x) const {
    return -g / (x * x);
  }
};

struct Power {
  static constexpr auto saves = Saves::input;
  double exponent = 1;
  template <class V>
  V forward(V x) const {
    return pow(x, V(exponent));
  }
  template <class V>
  V grad(V g, V x) const {
    return g * exponent * pow(x, exponent - 1.0);
  }
};

// Bound from here, without parameters.
using Unary =
    List<Neg, Abs, Sign, Square, Exp, Exp2, Expm1, Log, Log2, Log10, Log1p, Sqrt, Rsqrt, Reciprocal, Sin, Cos, Tan,
         Asin, Acos, Atan, Sinh, Cosh, Tanh, Asinh, Acosh, Atanh, Sigmoid, Erf, Erfc, Floor, Ceil, Round, Trunc, Relu,
         Silu, Mish, LogSigmoid, Hardsigmoid, Hardswish, IsNan, IsInf, IsFinite, LogicalNot, BitwiseNot>;
using UnaryWithParameters = List<Gelu, GeluTanh, Softplus, Softsign, LeakyRelu, Elu, Celu, Selu, Hardshrink, Softshrink,
                                 Hardtanh, Threshold, NanToNum, Logit, Cube, SquareRoot, Inverse, Power>;

}  // namespace rushlight::pointwise
