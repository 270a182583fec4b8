// Special functions, and pointwise functions that few programs use. Those of the list Special are bound in all forms,
// those of SpecialFunctions as functions alone: rushlight.special knows them without the prefix.
#pragma once
#include "pointwise/functor.h"

namespace rushlight::pointwise {

struct Frac {
  static constexpr auto schema = "frac(Tensor self) -> Tensor";
  static constexpr auto doc = "The fraction of each element, with its sign.";
  static constexpr auto saves = Saves::nothing;
  template <class V>
  V forward(V x) const {
    return x - trunc(x);
  }
  template <class V>
  V grad(V g, V) const {
    return g;
  }
};

struct Deg2Rad {
  static constexpr auto schema = "deg2rad(Tensor self) -> Tensor";
  static constexpr auto node_name = "Deg2RadBackward0";
  static constexpr auto doc = "Degrees as radians.";
  static constexpr auto layout = Layout::like_input;
  static constexpr auto saves = Saves::nothing;
  template <class V>
  V forward(V x) const {
    return x * 0.017453292519943295;
  }
  template <class V>
  V grad(V g, V) const {
    return g * 0.017453292519943295;
  }
};

struct Rad2Deg {
  static constexpr auto schema = "rad2deg(Tensor self) -> Tensor";
  static constexpr auto node_name = "Rad2DegBackward0";
  static constexpr auto doc = "Radians as degrees.";
  static constexpr auto layout = Layout::like_input;
  static constexpr auto saves = Saves::nothing;
  template <class V>
  V forward(V x) const {
    return x * 57.29577951308232;
  }
  template <class V>
  V grad(V g, V) const {
    return g * 57.29577951308232;
  }
};

struct Sinc {
  static constexpr auto schema = "sinc(Tensor self) -> Tensor";
  static constexpr auto doc = "sin(pi x) / (pi x), and 1 at 0.";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    const V y = x * 3.141592653589793;
    return select(x == 0.0, V(1.0), sin(y) / y);
  }
  template <class V>
  V grad(V g, V x) const {
    const V y = x * 3.141592653589793;
    return select(x == 0.0, zero_of(g), g * ((y * cos(y) - sin(y)) / (y * x)));
  }
};

struct Lgamma {
  static constexpr auto schema = "lgamma(Tensor self) -> Tensor";
  static constexpr auto doc = "The logarithm of the magnitude of the gamma function.";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return lgamma(x);
  }
  template <class V>
  V grad(V g, V x) const {
    return g * digamma(x);
  }
};

struct Digamma {
  static constexpr auto schema = "digamma(Tensor self) -> Tensor";
  static constexpr auto doc = "The derivative of lgamma().";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return digamma(x);
  }
  template <class V>
  V grad(V g, V x) const {
    return g * polygamma(1, x);
  }
};

struct Erfinv {
  static constexpr auto schema = "erfinv(Tensor self) -> Tensor";
  static constexpr auto doc = "The inverse of erf(), between -1 and 1.";
  static constexpr auto saves = Saves::output;
  template <class V>
  V forward(V x) const {
    return erfinv(x);
  }
  template <class V>
  V grad(V g, V y) const {
    return 0.886226925452758 * exp(y * y) * g;
  }
};

struct I0 {
  static constexpr auto schema = "i0(Tensor self) -> Tensor";
  static constexpr auto doc = "The modified Bessel function of the first kind of order 0.";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return i0(x);
  }
  template <class V>
  V grad(V g, V x) const {
    return g * i1(x);
  }
};

// Whether, as a mask.

struct SignBit {
  static constexpr auto schema = "signbit(Tensor self) -> Tensor";
  static constexpr auto doc = "Whether each element's sign is negative, as that of -0.0 is.";
  static constexpr auto types = Types::all;
  static constexpr bool predicate = true;
  template <class V>
  auto forward(V x) const {
    if constexpr (V::is_int) return x < V(0);
    else return signbit(x);
  }
};

struct IsPosInf {
  static constexpr auto schema = "isposinf(Tensor self) -> Tensor";
  static constexpr auto doc = "Whether each element is positive infinity.";
  static constexpr auto types = Types::all;
  static constexpr bool predicate = true;
  template <class V>
  auto forward(V x) const {
    if constexpr (V::is_int) return x != x;
    else return x == V::infinity();
  }
};

struct IsNegInf {
  static constexpr auto schema = "isneginf(Tensor self) -> Tensor";
  static constexpr auto doc = "Whether each element is negative infinity.";
  static constexpr auto types = Types::all;
  static constexpr bool predicate = true;
  template <class V>
  auto forward(V x) const {
    if constexpr (V::is_int) return x != x;
    else return x == -V::infinity();
  }
};

// Of rushlight.special alone.

struct I0e {
  static constexpr auto schema = "special_i0e(Tensor self) -> Tensor";
  static constexpr auto node_name = "SpecialI0EBackward0";
  static constexpr auto doc = "exp(-|x|) i0(x).";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return i0e(x);
  }
  template <class V>
  V grad(V g, V x) const {
    return g * (i1e(x) - sign(x) * i0e(x));
  }
};

struct I1 {
  static constexpr auto schema = "special_i1(Tensor self) -> Tensor";
  static constexpr auto node_name = "SpecialI1Backward0";
  static constexpr auto doc = "The modified Bessel function of the first kind of order 1.";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return i1(x);
  }
  template <class V>
  V grad(V g, V x) const {
    return g * select(x == 0.0, zero_of(g) + 0.5, i0(x) - i1(x) / x);
  }
};

struct I1e {
  static constexpr auto schema = "special_i1e(Tensor self) -> Tensor";
  static constexpr auto node_name = "SpecialI1EBackward0";
  static constexpr auto doc = "exp(-|x|) i1(x).";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return i1e(x);
  }
  template <class V>
  V grad(V g, V x) const {
    return g * select(x == 0.0, zero_of(g) + 0.5, i0e(x) - i1e(x) * (sign(x) + 1.0 / x));
  }
};

struct Erfcx {
  static constexpr auto schema = "special_erfcx(Tensor self) -> Tensor";
  static constexpr auto node_name = "SpecialErfcxBackward0";
  static constexpr auto doc = "exp(x ** 2) erfc(x), without overflow.";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return erfcx(x);
  }
  template <class V>
  V grad(V g, V x) const {
    return g * (2.0 * x * erfcx(x) - 1.1283791670955126);
  }
};

struct Ndtri {
  static constexpr auto schema = "special_ndtri(Tensor self) -> Tensor";
  static constexpr auto node_name = "SpecialNdtriBackward0";
  static constexpr auto doc = "The quantile of the normal distribution: the inverse of ndtr().";
  static constexpr auto saves = Saves::output;
  template <class V>
  V forward(V x) const {
    return select(abs(x - 0.5) < 0.4, erfinv(2.0 * x - 1.0) * 1.4142135623730951, ndtri(x));
  }
  template <class V>
  V grad(V g, V y) const {
    return g * 2.5066282746310002 * exp(0.5 * y * y);
  }
};

struct LogNdtr {
  static constexpr auto schema = "special_log_ndtr(Tensor self) -> Tensor";
  static constexpr auto node_name = "SpecialLogNdtrBackward0";
  static constexpr auto doc = "The logarithm of the normal distribution function.";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    const V z = x * 0.7071067811865476;
    return select(x < -1.0, log(erfcx(-z) * 0.5) - z * z, log1p(erfc(z) * -0.5));
  }
  template <class V>
  V grad(V g, V x) const {
    return g * (0.7978845608028654 / erfcx(x * -0.7071067811865476));
  }
};

struct Entr {
  static constexpr auto schema = "special_entr(Tensor self) -> Tensor";
  static constexpr auto node_name = "SpecialEntrBackward0";
  static constexpr auto doc = "-x log(x), 0 at 0 and -inf below.";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return select(x > 0.0, -x * log(x), select(x == 0.0, V(0.0), select(x < 0.0, -V::infinity(), x)));
  }
  template <class V>
  V grad(V g, V x) const {
    return g * (-log(x) - 1.0);
  }
};

struct Polygamma {
  static constexpr auto saves = Saves::input;
  double n = 0;
  template <class V>
  V forward(V x) const {
    return polygamma(n, x);
  }
  template <class V>
  V grad(V g, V x) const {
    return g * polygamma(n + 1, x);
  }
};

// Of two elements.

struct Heaviside {
  static constexpr auto types = Types::all;
  template <class V>
  V forward(V x, V at_zero) const {
    return select(x == V(0.0), at_zero, select(x > V(0.0), V(1.0), V(0.0)));
  }
};

struct NextAfter {
  template <class V>
  V forward(V x, V towards) const {
    return nextafter(x, towards);
  }
};

struct Gcd {
  static constexpr auto types = Types::ints;
  template <class V>
  V forward(V a, V b) const {
    return gcd(a, b);
  }
};

struct Lcm {
  static constexpr auto types = Types::ints;
  template <class V>
  V forward(V a, V b) const {
    return lcm(a, b);
  }
};

struct Xlog1py {  // a log(1 + b), and 0 where a is 0 unless b is NaN
  template <class V>
  V forward(V a, V b) const {
    return select((a == 0.0) & (b == b), zero_of(a), a * log1p(b));
  }
  template <class V>
  V grad_a(V g, V a, V b) const {
    return select((a == 0.0) & (b <= -1.0), zero_of(g), g * log1p(b));
  }
  template <class V>
  V grad_b(V g, V a, V b) const {
    return g * (a / (b + 1.0));
  }
};

struct Zeta {
  template <class V>
  V forward(V a, V b) const {
    return zeta(a, b);
  }
  template <class V>
  V grad_b(V g, V a, V b) const {
    return -g * a * zeta(a + 1.0, b);
  }
};

using Special = List<Frac, Deg2Rad, Rad2Deg, Sinc, Lgamma, Digamma, Erfinv, I0>;
using SpecialFunctions = List<SignBit, IsPosInf, IsNegInf, I0e, I1, I1e, Erfcx, Ndtri, LogNdtr, Entr, Polygamma>;
using SpecialBinary = List<Heaviside, NextAfter, Gcd, Lcm, Xlog1py, Zeta>;

}  // namespace rushlight::pointwise
