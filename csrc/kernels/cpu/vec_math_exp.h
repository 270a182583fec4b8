// Exponentials and what is made of them.
#pragma once
#include "kernels/cpu/vec_math_base.h"

namespace rushlight::kernels::RL_ISA {

template <class T>
constexpr T kLog2e = T(1.4426950408889634074);
// log 2 in two parts (Cody and Waite, Software Manual for the Elementary Functions, 1980): the first has enough zeros
// at its end for its product with any exponent to be exact, fused or not.
template <class T>
constexpr T kLn2Hi = is_float<T> ? T(0.693359375) : T(0x1.62e42feep-1);
template <class T>
constexpr T kLn2Lo = is_float<T> ? T(-2.12194440054690583e-4) : T(1.90821492927058770002e-10);

// x = n log 2 + r, |r| <= log 2 / 2.
template <class T>
struct ExpReduced {
  Vec<T> n, r;
};
template <class T>
RL_INLINE ExpReduced<T> reduce_exp(Vec<T> x) {
  const Vec<T> n = mul_add(x, Vec<T>(kLog2e<T>), Vec<T>(Format<T>::to_integer)) - Format<T>::to_integer;
  return {n, mul_add(n, Vec<T>(-kLn2Lo<T>), mul_add(n, Vec<T>(-kLn2Hi<T>), x))};
}

// e^r - 1 = r + r^2 Q(r) for |r| <= log 2 / 2; `relative` to e^r (relative error 2^-28, 2^-56) or to e^r - 1 (2^-26,
// 2^-54) itself.
template <class T>
RL_INLINE Vec<T> exp_polynomial(Vec<T> r) {
  Vec<T> q;
  if constexpr (is_float<T>)
    q = polynomial(r, 4.999999404e-01f, 1.666652113e-01f, 4.166838899e-02f, 8.36872682e-03f, 1.381461509e-03f);
  else
    q = polynomial(r, 0.5000000000000011, 0.16666666666666413, 0.04166666666653001, 0.00833333333349465,
                   0.0013888888943675705, 0.00019841269506275735, 2.480149304630383e-05, 2.7557586543457496e-06,
                   2.7630268840595496e-07, 2.5000041260506146e-08);
  return mul_add(r * r, q, r);
}
template <class T>
RL_INLINE Vec<T> expm1_polynomial(Vec<T> r) {
  Vec<T> q;
  if constexpr (is_float<T>)
    q = polynomial(r, 0.5f, 1.666666567e-01f, 4.166636243e-02f, 8.333389647e-03f, 1.394064282e-03f, 1.984588307e-04f);
  else
    q = polynomial(r, 0.5, 0.16666666666666677, 0.04166666666666651, 0.008333333333321678, 0.001388888888896251,
                   0.00019841269886005356, 2.480158717233178e-05, 2.755724433018134e-06, 2.7557402762686285e-07,
                   2.5108995594691243e-08, 2.0875309799422557e-09);
  return mul_add(r * r, q, r);
}

// x held to where e^x is neither 0 nor infinite for certain; NaN stays.
template <class T>
RL_INLINE Vec<T> clamp_exp(Vec<T> x) {
  return raw_max(Vec<T>(is_float<T> ? -105.0 : -747.0), raw_min(Vec<T>(is_float<T> ? 90.0 : 711.0), x));
}

// 2^k e^x without overflow in between.
template <class T>
RL_INLINE Vec<T> exp_scaled(Vec<T> x, int k) {
  const auto [n, r] = reduce_exp(clamp_exp(x));
  return scale_by_power_of_two(exp_polynomial(r) + 1, k ? n + k : n);
}
template <class T>
RL_INLINE Vec<T> exp(Vec<T> x) {
  return exp_scaled(x, 0);
}

template <class T>
RL_INLINE Vec<T> exp2(Vec<T> x) {
  x = raw_max(Vec<T>(is_float<T> ? -151.0 : -1076.0), raw_min(Vec<T>(is_float<T> ? 129.0 : 1025.0), x));
  const Vec<T> n = round(x);
  return scale_by_power_of_two(exp_polynomial((x - n) * T(0.69314718055994530942)) + 1, n);
}

// e^x - 1 = 2^n (e^r - 1) + (2^n - 1), for x where 2^n is normal.
template <class T>
RL_INLINE Vec<T> expm1_unguarded(Vec<T> x) {
  const auto [n, r] = reduce_exp(x);
  const Vec<T> scale = power_of_two(n);
  return mul_add(scale, expm1_polynomial(r), scale - 1);
}
template <class T>
RL_INLINE Vec<T> expm1(Vec<T> x) {
  // Below -18 (-38) the result is -1. The largest n, whose power of two overflows, is lowered by one and made up for.
  const Vec<T> held = raw_max(Vec<T>(is_float<T> ? -18.0 : -38.0), raw_min(Vec<T>(is_float<T> ? 90.0 : 711.0), x));
  auto [n, r] = reduce_exp(held);
  const Mask<T> high = n > T(Format<T>::bias);
  const Vec<T> scale = power_of_two(select(high, Vec<T>(Format<T>::bias), n));
  const Vec<T> y = mul_add(scale, expm1_polynomial(r), scale - 1);
  // x = -0 needs its sign back.
  return copysign(y * select(high, power_of_two(n - Format<T>::bias), Vec<T>(1)), x);
}

// tanh x = h / (1 + h) with h = (e^2x - 1) / 2. Where h is small, the same as h - h (h / (1 + h)): there the errors of
// the sum and of the division shrink with h.
template <class T>
RL_INLINE Vec<T> tanh(Vec<T> x) {
  const Vec<T> a = raw_min(Vec<T>(is_float<T> ? 9.1 : 19.1), abs(x));  // beyond, 1 is nearest
  const Vec<T> h = 0.5 * expm1_unguarded(a + a), y = h / (1 + h);
  return copysign(select(a < 0.3, fma(-h, y, h), y), x);
}

// With e = e^-|x|, which never overflows and keeps the small results of very negative x: y = e / (1 + e) for x < 0 and
// 1 - y for others; and the former as e - e y, for the reason above.
template <class T>
RL_INLINE Vec<T> sigmoid(Vec<T> x) {
  const Vec<T> e = exp(-abs(x)), y = e / (e + 1), base = select(x < 0, e, Vec<T>(1));
  return fma(-base, y, base);
}

template <class T>
RL_INLINE Vec<T> sinh(Vec<T> x) {
  const Vec<T> a = abs(x);
  const Vec<T> z = expm1_unguarded(raw_min(Vec<T>(1), a)), half = exp_scaled(a, -1);
  return copysign(select(a < 1, fma(-0.5 * z, z / (z + 1), z), half - 0.25 / half), x);
}
template <class T>
RL_INLINE Vec<T> cosh(Vec<T> x) {
  const Vec<T> half = exp_scaled(abs(x), -1);
  return half + 0.25 / half;
}

}  // namespace rushlight::kernels::RL_ISA
