// Logarithms and what is made of them.
#pragma once
#include "kernels/cpu/vec_math_exp.h"

namespace rushlight::kernels::RL_ISA {

// x = 2^e (1 + f), and log(1 + f) = f + rest.
template <class T>
struct LogReduced {
  Vec<T> e, f, rest;
};

// 1 + f starts at 2/3 for float, so that the polynomial's interval is symmetric; at sqrt(1/2) for double.
template <class T>
constexpr typename Lanes<T>::Int kLowestMantissa = is_float<T> ? 0x3f2aaaab : 0x3fe6a09e667f3bcd;

// e of a positive normal x, as a number. Of others, whose bits wrap around here, it is of no use, and not used.
template <class T>
RL_INLINE Vec<T> log_exponent(Vec<T> x) {
  using V = Vec<T>;
  using Unsigned = typename V::Unsigned;
  constexpr auto one = typename Lanes<T>::Int(Format<T>::bias) << Format<T>::mantissa_bits;
  constexpr std::make_unsigned_t<typename Lanes<T>::Int> up = one - kLowestMantissa<T>;
  const auto biased = ((Unsigned)x.v + up) >> Format<T>::mantissa_bits;
  const V to_integer = Format<T>::to_integer;  // its low bits are free to take the exponent
  return V::from_bits(to_integer.bits() + (typename V::Ints)biased) - (to_integer + T(Format<T>::bias));
}

// rest of log(1 + f); relative error 2^-27 for float, 2^-59 for double.
template <class T>
RL_INLINE Vec<T> log_rest(Vec<T> f) {
  if constexpr (is_float<T>) {
    const Vec<T> p = polynomial(f, 3.333321512e-01f, -2.499979585e-01f, 2.001045495e-01f, -1.668055505e-01f,
                                1.400496513e-01f, -1.218319759e-01f, 1.398932785e-01f, -1.289682835e-01f);
    const Vec<T> f2 = f * f;
    return f2 * mul_add(f, p, Vec<T>(-0.5));
  } else {
    // With s = f / (2 + f), log(1 + f) = 2 atanh s = 2s + s R(s^2), and 2s = f - s f.
    const Vec<T> s = f / (f + 2), z = s * s, half_square = 0.5 * f * f;
    const Vec<T> r = z * polynomial(z, 0.6666666666666735, 0.39999999999407615, 0.2857142874410459, 0.22222198382900593,
                                    0.18183574907481714, 0.15313762984373294, 0.14798988286988302);
    return s * (half_square + r) - half_square;
  }
}

template <class T>
RL_INLINE Vec<T> log_from(LogReduced<T> a) {
  return mul_add(a.e, Vec<T>(kLn2Hi<T>), a.f + mul_add(a.e, Vec<T>(kLn2Lo<T>), a.rest));
}

// e and f of x > 0. `normal` tells that no lane is subnormal, which spares scaling those.
template <class T>
RL_INLINE LogReduced<T> reduce_log(Vec<T> x, bool normal) {
  using V = Vec<T>;
  V shift = 0;
  if (!normal) [[unlikely]] {
    const Mask<T> small = x < Format<T>::smallest_normal;
    shift = select(small, V(-Format<T>::mantissa_bits), V(0));
    x = select(small, x * T(1ll << Format<T>::mantissa_bits), x);
  }
  const V e = log_exponent(x);
  using Unsigned = typename V::Unsigned;
  const auto scale = (Unsigned)(e + Format<T>::to_integer).v << Format<T>::mantissa_bits;
  const V f = V::from_bits((typename V::Ints)((Unsigned)x.v - scale)) - 1;
  return {e + shift, f, V(0)};
}

// A logarithm, made by `finish` of the parts of x, mended where x is not positive.
template <class T, class F>
RL_INLINE Vec<T> log_with(Vec<T> given, F finish) {
  using V = Vec<T>;
  const Mask<T> plain = (given >= Format<T>::smallest_normal) & (given < V::infinity());
  LogReduced<T> a = reduce_log(given, all(plain));
  a.rest = log_rest(a.f);
  V y = finish(a);
  if (!all(plain)) [[unlikely]] {
    y = select(given == 0, -V::infinity(), y);
    y = select((given == V::infinity()) | isnan(given), given, y);
    y = select(given < 0, V::nan(), y);
  }
  return y;
}

template <class T>
RL_INLINE Vec<T> log(Vec<T> x) {
  return log_with(x, [](LogReduced<T> a) __attribute__((always_inline)) { return log_from(a); });
}

// 1 / log 2 and 1 / log 10 in two parts, and log10 2 as log 2 is above.
template <class T>
RL_INLINE Vec<T> log2(Vec<T> x) {
  constexpr T hi = T(1.4426950408889634074),
              lo = is_float<T> ? T(1.4426950408889634074 - double(hi)) : T(2.0355273740931033e-17);
  return log_with(x, [](LogReduced<T> a) __attribute__((always_inline)) {
    return a.e + fma(a.f, Vec<T>(hi), mul_add(a.rest, Vec<T>(hi), a.f * lo));
  });
}
template <class T>
RL_INLINE Vec<T> log10(Vec<T> x) {
  constexpr T hi = T(0.43429448190325182765),
              lo = is_float<T> ? T(0.43429448190325182765 - double(hi)) : T(1.098319650216765e-17);
  constexpr T two_hi = is_float<T> ? T(0x1.344p-2) : T(0x1.34413509p-2);
  constexpr T two_lo = is_float<T> ? T(0.30102999566398119521 - double(two_hi)) : T(0x1.ef3fde623e256p-35);
  return log_with(x, [](LogReduced<T> a) __attribute__((always_inline)) {
    const Vec<T> small = mul_add(a.e, Vec<T>(two_lo), mul_add(a.rest, Vec<T>(hi), a.f * lo));
    return mul_add(a.e, Vec<T>(two_hi), fma(a.f, Vec<T>(hi), small));
  });
}

template <class T>
RL_INLINE Vec<T> log1p(Vec<T> x) {
  using V = Vec<T>;
  // 1 + x = 2^e (1 + f) with f = 2^-e x + (2^-e - 1), rounded once though 1 + x is rounded to find e.
  const Mask<T> plain = (x > -1) & (x < 0x1p100);
  const V e = log_exponent(x + 1), scale = power_of_two(-e), f = mul_add(x, scale, scale - 1);
  V y = copysign(log_from(LogReduced<T>{e, f, log_rest(f)}), x);  // x = -0 needs its sign back
  if (!all(plain)) [[unlikely]] {
    y = select(x >= 0x1p100, log(x), y);
    y = select(x == -1, -V::infinity(), y);
    y = select((x < -1) | isnan(x), V::nan(), y);
  }
  return y;
}

// ------------------------------------------------------------------------------------------ inverse hyperbolic ones

RL_INLINE Vec<double> asinh(Vec<double> x) {
  const Vec<double> a = abs(x), a2 = a * a;
  const Vec<double> y = log1p(a + a2 / (sqrt(a2 + 1) + 1));
  return copysign(select(a > 0x1p28, log(a) + 0.69314718055994530942, y), x);
}
RL_INLINE Vec<double> acosh(Vec<double> x) {
  const Vec<double> t = x - 1;
  const Vec<double> y = log1p(t + sqrt(t * (t + 2)));
  return select(x > 0x1p28, log(x) + 0.69314718055994530942, select(x < 1, Vec<double>::nan(), y));
}
RL_INLINE Vec<double> atanh(Vec<double> x) {
  const Vec<double> a = abs(x);
  return copysign(0.5 * log1p((a + a) / (1 - a)), x);
}
RL_INLINE Vec<float> asinh(Vec<float> x) {
  return in_double(x, [](Vec<double> a) __attribute__((always_inline)) { return asinh(a); });
}
RL_INLINE Vec<float> acosh(Vec<float> x) {
  return in_double(x, [](Vec<double> a) __attribute__((always_inline)) { return acosh(a); });
}
RL_INLINE Vec<float> atanh(Vec<float> x) {
  return in_double(x, [](Vec<double> a) __attribute__((always_inline)) { return atanh(a); });
}

}  // namespace rushlight::kernels::RL_ISA
