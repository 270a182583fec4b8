// Functions of two or three elements. grad_a, grad_b, ... are derivatives by each argument, given all of them.
#pragma once
#include "pointwise/activation.h"
#include "pointwise/functor.h"

namespace rushlight::pointwise {

struct Add {
  static constexpr bool full_numbers = true;
  static constexpr auto types = Types::all;
  template <class V>
  V forward(V a, V b) const {
    return a + b;
  }
};

struct AddScaled {  // a + alpha b
  static constexpr bool full_numbers = true;
  static constexpr auto types = Types::all;
  double alpha = 1;
  template <class V>
  V forward(V a, V b) const {
    return a + b * V(alpha);
  }
};

struct Sub {
  static constexpr bool full_numbers = true;
  static constexpr auto types = Types::all;
  template <class V>
  V forward(V a, V b) const {
    return a - b;
  }
};

struct Mul {
  static constexpr bool full_numbers = true;
  static constexpr auto types = Types::all;
  template <class V>
  V forward(V a, V b) const {
    return a * b;
  }
};

struct Div {
  static constexpr bool linear = true;  // in a, which its own derivative does not ask for
  static constexpr bool full_numbers = true;
  template <class V>
  V forward(V a, V b) const {
    return a / b;
  }
  template <class V>
  V grad_a(V g, V, V b) const {
    return g / b;
  }
  template <class V>
  V grad_b(V g, V a, V b) const {
    return -g * ((a / b) / b);
  }
};

struct Pow {
  static constexpr auto types = Types::all;
  template <class V>
  V forward(V a, V b) const {
    if constexpr (V::is_int) {  // by squaring; 1 / a^-b, rounded to zero, for negative b
      const V odd = b & V(1);
      V r = 1, x = a, e = b;
      while (any(e > V(0))) {
        r = select((e & V(1)) != V(0), r * x, r);
        x = x * x;
        e = e >> V(1);
      }
      const V of_one = select(a == V(1), V(1), select(a == V(-1), V(1) - odd - odd, V(0)));
      return select(b < V(0), of_one, r);
    } else {
      return pow(a, b);
    }
  }
  template <class V>
  V grad_a(V g, V a, V b) const {
    return select(b == 0.0, zero_of(g), g * b * pow(a, b - 1.0));
  }
  template <class V>
  V grad_b(V g, V a, V b) const {  // the limit 0 at 0^b, b >= 0
    return select((a == 0.0) & (b >= 0.0), zero_of(g), g * pow(a, b) * log(a));
  }
};

struct Maximum {  // ties share the gradient
  static constexpr auto types = Types::all;
  template <class V>
  V forward(V a, V b) const {
    return maximum(a, b);
  }
  template <class V>
  V grad_a(V g, V a, V b) const {
    return select(a == b, 0.5 * g, select(a < b, zero_of(g), g));
  }
  template <class V>
  V grad_b(V g, V a, V b) const {
    return select(a == b, 0.5 * g, select(a > b, zero_of(g), g));
  }
};

struct Minimum {
  static constexpr auto types = Types::all;
  template <class V>
  V forward(V a, V b) const {
    return minimum(a, b);
  }
  template <class V>
  V grad_a(V g, V a, V b) const {
    return select(a == b, 0.5 * g, select(a > b, zero_of(g), g));
  }
  template <class V>
  V grad_b(V g, V a, V b) const {
    return select(a == b, 0.5 * g, select(a < b, zero_of(g), g));
  }
};

struct Fmax {  // the other one where one is NaN; of equals, the first takes the gradient
  static constexpr auto types = Types::all;
  template <class V>
  V forward(V a, V b) const {
    return fmax(a, b);
  }
  template <class V>
  V grad_a(V g, V a, V b) const {
    return select((a >= b) | (b != b), g, zero_of(g));
  }
  template <class V>
  V grad_b(V g, V a, V b) const {
    return select((a >= b) | (b != b), zero_of(g), g);
  }
};

struct Fmin {
  static constexpr auto types = Types::all;
  template <class V>
  V forward(V a, V b) const {
    return fmin(a, b);
  }
  template <class V>
  V grad_a(V g, V a, V b) const {
    return select((a <= b) | (b != b), g, zero_of(g));
  }
  template <class V>
  V grad_b(V g, V a, V b) const {
    return select((a <= b) | (b != b), zero_of(g), g);
  }
};

struct Hypot {  // the smaller side in units of the larger, so that squares do not overflow
  template <class V>
  V forward(V a, V b) const {
    V x = abs(a), y = abs(b), large = maximum(x, y), small = minimum(x, y), ratio = small / large;
    V r = select(large == 0.0, large, large * sqrt(1.0 + ratio * ratio));
    return select(isinf(x) | isinf(y), V(V::infinity()), r);
  }
  template <class V>
  V grad_a(V g, V a, V b) const {
    return g * (a / hypot(a, b));
  }
  template <class V>
  V grad_b(V g, V a, V b) const {
    return g * (b / hypot(a, b));
  }
};

struct Copysign {
  template <class V>
  V forward(V a, V b) const {
    return copysign(a, b);
  }
  template <class V>
  V grad_a(V g, V a, V b) const {
    return select(a == 0.0, zero_of(g), g * (copysign(a, b) / a));
  }
  template <class V>
  V grad_b(V g, V, V) const {
    return zero_of(g);
  }
};

struct LogAddExp {  // log(exp(a) + exp(b))
  template <class V>
  V forward(V a, V b) const {
    return select(a == b, a + 0.6931471805599453, maximum(a, b) + log1p(exp(-abs(a - b))));
  }
  template <class V>
  V grad_a(V g, V a, V b) const {
    return g * sigmoid(a - b);
  }
  template <class V>
  V grad_b(V g, V a, V b) const {
    return g * sigmoid(b - a);
  }
};

struct LogAddExp2 {  // log2(2^a + 2^b)
  template <class V>
  V forward(V a, V b) const {
    return select(a == b, a + 1.0, maximum(a, b) + log1p(exp2(-abs(a - b))) * 1.4426950408889634);
  }
  template <class V>
  V grad_a(V g, V a, V b) const {
    return g * sigmoid((a - b) * 0.6931471805599453);
  }
  template <class V>
  V grad_b(V g, V a, V b) const {
    return g * sigmoid((b - a) * 0.6931471805599453);
  }
};

struct Xlogy {  // a log b, and 0 where a is 0 unless b is NaN
  template <class V>
  V forward(V a, V b) const {
    return select((a == 0.0) & (b == b), zero_of(a), a * log(b));
  }
  template <class V>
  V grad_a(V g, V a, V b) const {
    return select((a == 0.0) & (b <= 0.0), zero_of(g), g * log(b));
  }
  template <class V>
  V grad_b(V g, V a, V b) const {
    return g * (a / b);
  }
};

struct Atan2 {
  template <class V>
  V forward(V a, V b) const {
    return atan2(a, b);
  }
  template <class V>
  V grad_a(V g, V a, V b) const {
    return g * b / (a * a + b * b);
  }
  template <class V>
  V grad_b(V g, V a, V b) const {
    return -g * a / (a * a + b * b);
  }
};

struct FloorDivide {
  static constexpr auto types = Types::all;
  template <class V>
  V forward(V a, V b) const {
    if constexpr (V::is_int) {
      V q = a / b;
      return q - select((q * b != a) & ((a < 0) ^ (b < 0)), V(1), V(0));
    } else {  // (a - a mod b) / b is a whole number up to rounding, which may be just below it
      V m = fmod(a, b);
      V q = (a - m) / b;
      q = select((m != 0.0) & ((b < 0.0) ^ (m < 0.0)), q - 1.0, q);
      V f = floor(q);
      f = select(q - f > 0.5, f + 1.0, f);
      return select(b == 0.0, a / b, select(q == 0.0, copysign(V(0.0), a / b), f));
    }
  }
  template <class V>
  V grad_a(V g, V, V) const {
    return zero_of(g);
  }
  template <class V>
  V grad_b(V g, V, V) const {
    return zero_of(g);
  }
};

struct Remainder {  // as Python: the sign of the divisor
  static constexpr auto types = Types::all;
  template <class V>
  V forward(V a, V b) const {
    if constexpr (V::is_int) {
      V m = a - (a / b) * b;
      return select((m != 0) & ((m < 0) ^ (b < 0)), m + b, m);
    } else {
      return remainder(a, b);
    }
  }
  template <class V>
  V grad_a(V g, V, V) const {
    return g;
  }
  template <class V>
  V grad_b(V g, V a, V b) const {
    return -g * floor(a / b);
  }
};

struct Fmod {  // as C: the sign of the dividend
  static constexpr auto types = Types::all;
  template <class V>
  V forward(V a, V b) const {
    if constexpr (V::is_int) return a - (a / b) * b;
    else return fmod(a, b);
  }
  template <class V>
  V grad_a(V g, V, V) const {
    return g;
  }
  template <class V>
  V grad_b(V g, V a, V b) const {
    return -g * trunc(a / b);
  }
};

struct TruncDivide {
  static constexpr auto types = Types::all;
  template <class V>
  V forward(V a, V b) const {
    if constexpr (V::is_int) return a / b;
    else return trunc(a / b);
  }
  template <class V>
  V grad_a(V g, V, V) const {
    return zero_of(g);
  }
  template <class V>
  V grad_b(V g, V, V) const {
    return zero_of(g);
  }
};

#define RL_COMPARISON(Name, op)               \
  struct Name {                               \
    static constexpr auto types = Types::all; \
    static constexpr bool predicate = true;   \
    template <class V>                        \
    auto forward(V a, V b) const {            \
      return a op b;                          \
    }                                         \
  };
RL_COMPARISON(Eq, ==)
RL_COMPARISON(Ne, !=)
RL_COMPARISON(Lt, <)
RL_COMPARISON(Le, <=)
RL_COMPARISON(Gt, >)
RL_COMPARISON(Ge, >=)
#undef RL_COMPARISON

#define RL_LOGICAL(Name, op)                       \
  struct Name {                                    \
    static constexpr auto types = Types::all;      \
    static constexpr bool predicate = true;        \
    template <class V>                             \
    auto forward(V a, V b) const {                 \
      const auto x = a != V(0.0), y = b != V(0.0); \
      return x op y;                               \
    }                                              \
  };
RL_LOGICAL(LogicalAnd, &)
RL_LOGICAL(LogicalOr, |)
RL_LOGICAL(LogicalXor, ^)
#undef RL_LOGICAL

#define RL_BITWISE(Name, op)                   \
  struct Name {                                \
    static constexpr auto types = Types::ints; \
    template <class V>                         \
    V forward(V a, V b) const {                \
      return a op b;                           \
    }                                          \
  };
RL_BITWISE(BitwiseAnd, &)
RL_BITWISE(BitwiseOr, |)
RL_BITWISE(BitwiseXor, ^)
#undef RL_BITWISE

struct ShiftLeft {
  static constexpr auto types = Types::ints;
  static constexpr bool no_bool = true;
  template <class V>
  V forward(V a, V b) const {
    return a << b;
  }
};

struct ShiftRight {
  static constexpr auto types = Types::ints;
  static constexpr bool no_bool = true;
  template <class V>
  V forward(V a, V b) const {
    return a >> b;
  }
};

// Three arguments.

struct Where {  // the condition comes as 0 or not 0 in the compute type
  static constexpr auto types = Types::all;
  template <class V>
  V forward(V condition, V a, V b) const {
    return select(condition != V(0.0), a, b);
  }
};

struct Lerp {  // a + weight (b - a), from the nearer end so that both ends are exact
  static constexpr bool full_numbers = true;
  template <class V>
  V forward(V a, V b, V w) const {
    return select(abs(w) < 0.5, a + w * (b - a), b - (b - a) * (1.0 - w));
  }
  template <class V>
  V grad_a(V g, V, V, V w) const {
    return g * (1.0 - w);
  }
  template <class V>
  V grad_b(V g, V, V, V w) const {
    return g * w;
  }
  template <class V>
  V grad_c(V g, V a, V b, V) const {
    return g * (b - a);
  }
};

struct Addcmul {
  static constexpr auto types = Types::all;
  double value = 1;
  template <class V>
  V forward(V a, V b, V c) const {
    return a + V(value) * b * c;
  }
  template <class V>
  V grad_a(V g, V, V, V) const {
    return g;
  }
  template <class V>
  V grad_b(V g, V, V, V c) const {
    return g * c * value;
  }
  template <class V>
  V grad_c(V g, V, V b, V) const {
    return g * b * value;
  }
};

struct Addcdiv {
  double value = 1;
  template <class V>
  V forward(V a, V b, V c) const {
    return a + V(value) * (b / c);
  }
  template <class V>
  V grad_a(V g, V, V, V) const {
    return g;
  }
  template <class V>
  V grad_b(V g, V, V, V c) const {
    return g * value / c;
  }
  template <class V>
  V grad_c(V g, V, V b, V c) const {
    return -g * value * (b / c) / c;
  }
};

struct Clamp {  // bounds as tensors or numbers; where low > high, high wins
  static constexpr auto types = Types::all;
  template <class V>
  V forward(V x, V low, V high) const {
    return minimum(maximum(x, low), high);
  }
  template <class V>
  V grad_a(V g, V x, V low, V high) const {
    return select((x >= low) & (x <= high), g, zero_of(g));
  }
  template <class V>
  V grad_b(V g, V x, V low, V high) const {
    return select((x < low) & (low < high), g, zero_of(g));
  }
  template <class V>
  V grad_c(V g, V x, V low, V high) const {
    return select((x > high) | (high < low), g, zero_of(g));
  }
};

using Binary = List<Add, AddScaled, Sub, Mul, Div, Pow, Maximum, Minimum, Fmax, Fmin, Atan2, Hypot, Copysign, LogAddExp,
                    LogAddExp2, Xlogy, FloorDivide, Remainder, Fmod, TruncDivide, Eq, Ne, Lt, Le, Gt, Ge, LogicalAnd,
                    LogicalOr, LogicalXor, BitwiseAnd, BitwiseOr, BitwiseXor, ShiftLeft, ShiftRight, Glu, Prelu>;
using Ternary = List<Where, Lerp, Addcmul, Addcdiv, Clamp>;

}  // namespace rushlight::pointwise
