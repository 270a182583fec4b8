// Sines, tangents and their inverses.
#pragma once
#include "kernels/cpu/vec_math_base.h"

namespace rushlight::kernels::RL_ISA {

// pi in three parts, each a T. Products with an integer (or half of an odd one) are taken with fma: the first leaves no
// error for |x| up to the bound below, so the sum keeps its relative accuracy near multiples of pi.
template <class T>
constexpr T kPiParts[3] = {T(3.141592653589793), T(1.2246467991473532e-16), T(-2.9947698097183397e-33)};
template <>
inline constexpr float kPiParts<float>[3] = {0x1.921fb6p+1f, -0x1.777a5cp-24f, -0x1.ee59dap-49f};
template <class T>
constexpr T kLargestReduced = is_float<T> ? T(0x1p17) : T(0x1p25);

// (-1)^k sin(x - k pi), k being the nearest integer to x / pi (sin), or nearest with a half added (cos: a quarter of a
// turn later, with the sign of the sine beginning there).
template <bool cosine, class T>
RL_INLINE Vec<T> sine(Vec<T> x) {
  using V = Vec<T>;
  constexpr T inverse_pi = T(0.31830988618379067154), to_integer = Format<T>::to_integer;
  const V shifted = mul_add(x, V(inverse_pi), V(cosine ? T(-0.5) : T(0))) + to_integer;
  const V n = shifted - to_integer, k = cosine ? n + 0.5 : n;
  V r = fma(k, V(-kPiParts<T>[0]), x);
  r = fma(k, V(-kPiParts<T>[1]), r);
  r = fma(k, V(-kPiParts<T>[2]), r);
  const V z = r * r;
  V p;
  if constexpr (is_float<T>)
    p = polynomial(z, -1.666665971e-01f, 8.333069272e-03f, -1.980976813e-04f, 2.606053158e-06f);
  else
    p = polynomial(z, -0.16666666666666666, 0.008333333333333193, -0.00019841269841208494, 2.75573192110095e-06,
                   -2.5052106860803518e-08, 1.6058939088528308e-10, -7.642975071343123e-13, 2.720998562694991e-15);
  V y = fma(r * z, p, r);
  // n is odd where the sum's last bit is set; cos x = -sin(x - pi / 2).
  const auto flip = shifted.bits() << (8 * int(sizeof(T)) - 1);
  y = V::from_bits(y.bits() ^ flip);
  if constexpr (cosine) y = -y;
  else y = select(x == 0, x, y);  // -0
  return y;
}

template <class T>
RL_INLINE Vec<T> sin(Vec<T> x) {
  const Vec<T> y = sine<false>(x);
  const Mask<T> large = !(abs(x) <= kLargestReduced<T>);
  if (any(large)) [[unlikely]]
    return each_lane_of(large, x, y, [](double a) { return __builtin_sin(a); });
  return y;
}
template <class T>
RL_INLINE Vec<T> cos(Vec<T> x) {
  const Vec<T> y = sine<true>(x);
  const Mask<T> large = !(abs(x) <= kLargestReduced<T>);
  if (any(large)) [[unlikely]]
    return each_lane_of(large, x, y, [](double a) { return __builtin_cos(a); });
  return y;
}
RL_INLINE Vec<double> tan(Vec<double> x) { return sin(x) / cos(x); }

// ------------------------------------------------------------------------------------------------------- inverses

// The angle of (x, y). Folded to the first half quadrant, v / w with v <= w, and from there, where v / w > tan(pi / 8),
// turned back by pi / 4: one division, whose result t has |t| <= tan(pi / 8). Each fold back is one from a multiple of
// pi / 4, so that in the end the angle is that multiple plus or minus atan t.
template <class T>
RL_INLINE Vec<T> angle_of(Vec<T> y, Vec<T> x) {
  using V = Vec<T>;
  constexpr T tan_eighth = T(0.41421356237309504880), quarter_pi = T(0.78539816339744830962);
  constexpr T quarter_pi_low = is_float<T> ? T(0.78539816339744830962 - double(quarter_pi)) : T(3.061616997868383e-17);
  V ay = abs(y), ax = abs(x);
  const Mask<T> both_infinite = (ay == V::infinity()) & (ax == V::infinity());
  ay = select(both_infinite, V(1), ay), ax = select(both_infinite, V(1), ax);
  const Mask<T> steep = ay > ax, left = signbit(x);
  V v = select(steep, ax, ay), w = select(steep, ay, ax);
  const Mask<T> huge = w > (is_float<T> ? T(0x1p120) : T(0x1p1000));  // their sum might overflow
  v = select(huge, v * T(0.25), v), w = select(huge, w * T(0.25), w);
  const Mask<T> turned = v > w * tan_eighth;
  V t = select(turned, v - w, v) / select(turned, v + w, w);
  t = select((v == 0) & (w == 0), V(0), t);
  t = select(steep ^ left, -t, t);
  V multiple = select(turned, V(1), V(0));
  multiple = select(steep, 2 - multiple, multiple);
  multiple = select(left, 4 - multiple, multiple);
  const V z = t * t;
  V p;
  if constexpr (is_float<T>)
    p = polynomial(z, -3.333331645e-01f, 1.999852508e-01f, -1.424429715e-01f, 1.059826538e-01f, -6.087337807e-02f);
  else
    p = polynomial(z, -0.3333333333333319, 0.19999999999952406, -0.1428571428007774, 0.11111110777533992,
                   -0.09090897587744944, 0.07692057197049854, -0.06663069781716904, 0.058476400086517104,
                   -0.05038180772194716, 0.03803597292288377, -0.017875854434287356);
  const V angle = mul_add(multiple, V(quarter_pi), t + mul_add(t * z, p, multiple * quarter_pi_low));
  return copysign(angle, y);
}
RL_INLINE Vec<float> atan2(Vec<float> y, Vec<float> x) { return angle_of(y, x); }
RL_INLINE Vec<double> atan2(Vec<double> y, Vec<double> x) { return angle_of(y, x); }
template <class T>
RL_INLINE Vec<T> atan(Vec<T> x) {
  return angle_of(x, Vec<T>(1));
}
RL_INLINE Vec<double> asin(Vec<double> x) { return atan2(x, sqrt((1 - x) * (1 + x))); }
RL_INLINE Vec<double> acos(Vec<double> x) { return atan2(sqrt((1 - x) * (1 + x)), x); }

// For floats through double.
RL_INLINE Vec<float> tan(Vec<float> x) {
  return in_double(x, [](Vec<double> a) __attribute__((always_inline)) { return tan(a); });
}
RL_INLINE Vec<float> asin(Vec<float> x) {
  return in_double(x, [](Vec<double> a) __attribute__((always_inline)) { return asin(a); });
}
RL_INLINE Vec<float> acos(Vec<float> x) {
  return in_double(x, [](Vec<double> a) __attribute__((always_inline)) { return acos(a); });
}

}  // namespace rushlight::kernels::RL_ISA
