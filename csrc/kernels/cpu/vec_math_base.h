// What the vec_math_*.h share: polynomials, powers of two, detours through double and through the C library.
//
// Coefficients are minimax fits by Remez' exchange in 40 digits, weighted by the relative error of the function they
// serve, then rounded to the type; where plain rounding cost more than a bit, one by one, refitting those still free.
#pragma once
#include "kernels/cpu/vec.h"

namespace rushlight::kernels::RL_ISA {

// c0 + c1 x + c2 x^2 + ..., by Horner's rule.
template <class T>
RL_INLINE Vec<T> polynomial(Vec<T>, T c) {
  return c;
}
template <class T, class... C>
RL_INLINE Vec<T> polynomial(Vec<T> x, T c, C... rest) {
  return mul_add(x, polynomial(x, T(rest)...), Vec<T>(c));
}

template <class T>
struct Format;
template <>
struct Format<float> {
  static constexpr int mantissa_bits = 23, bias = 127;
  static constexpr float to_integer =
      0x1.8p23f;  // x + this - this rounds |x| < 2^22; the sum's low bits are the integer
  static constexpr float smallest_normal = 0x1p-126f;
};
template <>
struct Format<double> {
  static constexpr int mantissa_bits = 52, bias = 1023;
  static constexpr double to_integer = 0x1.8p52;
  static constexpr double smallest_normal = 0x1p-1022;
};

// 2^n for an integral n that keeps the result normal.
template <class T>
RL_INLINE Vec<T> power_of_two(Vec<T> n) {
  return Vec<T>::from_bits(((n + Format<T>::to_integer).bits() + Format<T>::bias) << Format<T>::mantissa_bits);
}

// x * 2^n, rounded once even where the result is subnormal, for an integral |n| up to twice the exponent's range.
template <class T>
RL_INLINE Vec<T> scale_by_power_of_two(Vec<T> x, Vec<T> n) {
#ifdef RL_ISA_avx512
  if constexpr (is_float<T>) return _mm512_scalef_ps(x.v, n.v);
  else return _mm512_scalef_pd(x.v, n.v);
#else
  const Vec<T> half = (n * 0.5 + Format<T>::to_integer) - Format<T>::to_integer;
  return x * power_of_two(half) * power_of_two(n - half);
#endif
}

// f on doubles, for floats.
template <class F>
RL_INLINE Vec<float> in_double(Vec<float> x, F f) {
  const DoublePair a = to_double(x);
  return to_float(f(a.low), f(a.high));
}
template <class F>
RL_INLINE Vec<float> in_double(Vec<float> x, Vec<float> y, F f) {
  const DoublePair a = to_double(x), b = to_double(y);
  return to_float(f(a.low, b.low), f(a.high, b.high));
}

// f(double) lane by lane, for what is rare: all lanes, or those in the mask, the others from `otherwise`.
template <class T, class F>
RL_INLINE Vec<T> each_lane(Vec<T> x, F f) {
  T lanes[Vec<T>::size];
  x.store(lanes);
#pragma GCC unroll 1
  for (int i = 0; i < Vec<T>::size; i++) lanes[i] = T(f(double(lanes[i])));
  return Vec<T>::load(lanes);
}
template <class T, class F>
RL_INLINE Vec<T> each_lane(Vec<T> x, Vec<T> y, F f) {
  T lanes[Vec<T>::size], other[Vec<T>::size];
  x.store(lanes), y.store(other);
#pragma GCC unroll 1
  for (int i = 0; i < Vec<T>::size; i++) lanes[i] = T(f(double(lanes[i]), double(other[i])));
  return Vec<T>::load(lanes);
}
template <class T, class F>
RL_INLINE Vec<T> each_lane_of(Mask<T> mask, Vec<T> x, Vec<T> otherwise, F f) {
  T lanes[Vec<T>::size], result[Vec<T>::size];
  x.store(lanes), otherwise.store(result);
  const unsigned bits = mask.to_bits();
#pragma GCC unroll 1
  for (int i = 0; i < Vec<T>::size; i++)
    if (bits >> i & 1) result[i] = T(f(double(lanes[i])));
  return Vec<T>::load(result);
}

}  // namespace rushlight::kernels::RL_ISA
