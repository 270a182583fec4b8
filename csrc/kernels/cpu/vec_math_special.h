// Error functions, gamma functions, remainders.
#pragma once
#include "kernels/cpu/vec_math_log.h"

namespace rushlight::kernels::RL_ISA {

// x + x P(x^2) up to 1.15; beyond, 1 - erfc, and erfc as the eighth power of a polynomial, which takes no exponential.
// What errors the power multiplies, the smallness of erfc (0.1 at most) takes back.
RL_INLINE Vec<float> erf(Vec<float> x) {
  using V = Vec<float>;
  const V a = raw_min(V(3.95f), abs(x)), z = x * x;  // 1 is nearest from 3.92 on
  const V small = mul_add(x,
                          polynomial(z, 1.283791512e-01f, -3.761253357e-01f, 1.128264591e-01f, -2.681881748e-02f,
                                     5.129210651e-03f, -7.547788555e-04f, 6.489812222e-05f),
                          x);
  V q = polynomial(a, 1.000692964e+00f, -1.442579776e-01f, -6.323556602e-02f, -9.230148047e-03f, 1.147031691e-02f,
                   -1.899884781e-03f, 3.032428867e-05f, 1.038690152e-05f);
  q = q * q, q = q * q;
  return select(a < 1.15, small, copysign(fma(-q, q, V(1)), x));
}
RL_INLINE Vec<double> erf(Vec<double> x) {
  return each_lane(x, [](double a) { return __builtin_erf(a); });
}
template <class T>
RL_INLINE Vec<T> erfc(Vec<T> x) {
  return each_lane(x, [](double a) { return __builtin_erfc(a); });
}

// The inverse of erf, by the rational functions of Wichura, Algorithm AS 241: The percentage points of the normal
// distribution (1988), which are given for the normal distribution: erfinv(x) = quantile((x + 1) / 2) / sqrt(2).
[[maybe_unused]] static double scalar_erfinv(double x) {
  constexpr double a[8] = {3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3,
                           1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                           3.3430575583588128105e+4, 2.5090809287301226727e+3};
  constexpr double b[8] = {1.0,
                           4.2313330701600911252e+1,
                           6.8718700749205790830e+2,
                           5.3941960214247511077e+3,
                           2.1213794301586595867e+4,
                           3.9307895800092710610e+4,
                           2.8729085735721942674e+4,
                           5.2264952788528545610e+3};
  constexpr double c[8] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                           3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                           2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr double d[8] = {1.0,
                           2.05319162663775882187e0,
                           1.67638483018380384940e0,
                           6.89767334985100004550e-1,
                           1.48103976427480074590e-1,
                           1.51986665636164571966e-2,
                           5.47593808499534494600e-4,
                           1.05075007164441684324e-9};
  constexpr double e[8] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                           2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                           2.71155556874348757815e-5, 2.01033439929228813265e-7};
  constexpr double f[8] = {1.0,
                           5.99832206555887937690e-1,
                           1.36929880922735805310e-1,
                           1.48753612908506148525e-2,
                           7.86869131145613259100e-4,
                           1.84631831751005468180e-5,
                           1.42151175831644588870e-7,
                           2.04426310338993978564e-15};
  const auto horner = [](const double* k, double t) {
    double s = k[7];
    for (int i = 6; i >= 0; i--) s = s * t + k[i];
    return s;
  };
  constexpr double root_half = 0.70710678118654752440;
  const double magnitude = __builtin_fabs(x);
  if (!(magnitude < 1)) return magnitude == 1 ? __builtin_copysign(__builtin_inf(), x) : __builtin_nan("");
  if (magnitude <= 0.85) {
    const double r = 0.180625 - 0.25 * x * x;
    return 0.5 * x * root_half * horner(a, r) / horner(b, r);
  }
  double r = __builtin_sqrt(-__builtin_log(0.5 * (1 - magnitude)));
  r = r <= 5 ? horner(c, r - 1.6) / horner(d, r - 1.6) : horner(e, r - 5) / horner(f, r - 5);
  return __builtin_copysign(r * root_half, x);
}
template <class T>
RL_INLINE Vec<T> erfinv(Vec<T> x) {
  return each_lane(x, scalar_erfinv);
}

// log |Gamma(x)|. The re-entrant form: the other writes a global variable.
template <class T>
RL_INLINE Vec<T> lgamma(Vec<T> x) {
  return each_lane(x, [](double a) {
    int sign;
    return __builtin_lgamma_r(a, &sign);
  });
}

// The derivative of lgamma: reflected for negative x, moved by recurrence to x >= 10, and there by its asymptotic
// series (Abramowitz and Stegun 6.3.7, 6.3.5, 6.3.18).
[[maybe_unused]] static double scalar_digamma(double x) {
  constexpr double pi = 3.14159265358979323846;
  if (x == 0) return __builtin_copysign(__builtin_inf(), -x);
  double result = 0;
  if (x < 0) {
    if (x == __builtin_floor(x)) return __builtin_nan("");
    const double fraction = x - __builtin_trunc(x);  // exact, and tan has this period
    result = -pi / __builtin_tan(pi * fraction);
    x = 1 - x;
  }
  while (x < 10) result -= 1 / x, x += 1;
  if (x == 10) return result + 2.25175258906672110764;
  const double z = 1 / (x * x);
  // B(2k) / 2k
  constexpr double series[7] = {1. / 12, -1. / 120, 1. / 252, -1. / 240, 1. / 132, -691. / 32760, 1. / 12};
  double s = 0;
  for (int k = 6; k >= 0; k--) s = (s + series[k]) * z;
  return result + __builtin_log(x) - 0.5 / x - s;
}
template <class T>
RL_INLINE Vec<T> digamma(Vec<T> x) {
  return each_lane(x, scalar_digamma);
}

RL_INLINE Vec<float> hypot(Vec<float> x, Vec<float> y) {
  const Vec<float> r = in_double(
      x, y, [](Vec<double> a, Vec<double> b) __attribute__((always_inline)) { return sqrt(mul_add(a, a, b * b)); });
  return select(isinf(x) | isinf(y), Vec<float>::infinity(), r);  // even beside NaN
}
RL_INLINE Vec<double> hypot(Vec<double> x, Vec<double> y) {
  return each_lane(x, y, [](double a, double b) { return __builtin_hypot(a, b); });
}

// x - n y for the integer n that leaves the sign of x and less than |y|, exactly. One step where n is small: the
// division may round n up by one, which the sign of what is left tells.
template <class T>
RL_INLINE Vec<T> fmod(Vec<T> x, Vec<T> y) {
  using V = Vec<T>;
  const V ax = abs(x), ay = abs(y), q = ax / ay;
  const V n = trunc(q);
  V r = fma(-n, ay, ax);
  r = select(r < 0, r + ay, r);
  r = copysign(r, x);
  // Tiny y: the product might have bits below the smallest subnormal. Infinite y would make 0 * infinity.
  const Mask<T> plain = (q < T(1 << 22)) & (ay < V::infinity());
  if (!all(plain)) [[unlikely]] {
    const V slow = each_lane(x, y, [](double a, double b) { return __builtin_fmod(a, b); });
    r = select(plain, r, slow);
  }
  return r;
}
// Python's: with the sign of y.
template <class T>
RL_INLINE Vec<T> remainder(Vec<T> x, Vec<T> y) {
  const Vec<T> r = fmod(x, y);
  return select((r != 0) & (signbit(r) ^ signbit(y)), r + y, r);
}

}  // namespace rushlight::kernels::RL_ISA
