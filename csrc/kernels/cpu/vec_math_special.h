// Error functions, gamma functions, remainders.
#pragma once
#include "kernels/cpu/vec_math_log.h"
#include "kernels/cpu/vec_math_trig.h"

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

// erf x = x + x P(x^2) for |x| <= 0.85, relative error 2^-54.
RL_INLINE Vec<double> small_erf(Vec<double> x) {
  return mul_add(
      x,
      polynomial(x * x, 0.12837916709551256, -0.37612638903183315, 0.11283791670931097, -0.0268661706399904,
                 0.005223977568879618, -0.000854832338281084, 0.00012055186425463012, -1.4921845147400533e-05,
                 1.6398218462764512e-06, -1.5691188499033424e-07, 1.0659186101033904e-08),
      x);
}
// erfc a for a >= 0.5 as e^(-a^2) / (1 + 2a) times a polynomial in (a - k) / (a + k), after Schonfelder, Chebyshev
// expansions for the error and related functions (1978). Relative error 2^-60; or 2^-28, and a <= 11, for the sake of
// float. Rounding a^2 would show, so what it loses is put back.
template <bool brief>
RL_INLINE Vec<double> large_erfc(Vec<double> a) {
  using V = Vec<double>;
  constexpr double k = brief ? 3 : 3.5;
  a = raw_min(V(brief ? 11 : 28), a);  // 0 beyond
  const V t = (a - k) / (a + k), a2 = a * a, lost = fma(a, a, -a2);
  V p;
  if constexpr (brief)
    p = polynomial(t, 1.253008057547883, -0.13562103994271246, -0.04756220783741921, 0.1296424668222134,
                   -0.11927568028782108, 0.06833813249879567, -0.02375185259399525, 0.0023975096269489037,
                   0.0018145230900157537, -0.0005479297941496336);
  else
    p = polynomial(t, 1.2423492448711544, -0.14000918013761943, -0.010555596332218342, 0.09751909515325892,
                   -0.11508959816018859, 0.08798315382485221, -0.0488233258279798, 0.019099330942695364,
                   -0.004215019906965247, -0.00030226788113685423, 0.0005643844134734632, -0.00012151239317314122,
                   -4.278222178463699e-05, 2.4260805989522114e-05, 2.32830739117364e-06, -3.8140495526978298e-06,
                   -4.4265949129335394e-08, 5.996392653119458e-07, -7.885897905157209e-09, -9.258736446930157e-08,
                   5.519432785675847e-10, 1.024785669791421e-08);
  const V y = p / (1 + 2 * a);
  return exp(-a2) * mul_add(-lost, y, y);
}
template <bool brief>
RL_INLINE Vec<double> erfc_in_double(Vec<double> x) {
  const Vec<double> a = abs(x), large = large_erfc<brief>(raw_max(Vec<double>(0.5), a));
  return select(a < 0.5, 1 - small_erf(x), select(x < 0, 2 - large, large));
}
RL_INLINE Vec<double> erf(Vec<double> x) {
  const Vec<double> a = abs(x), large = large_erfc<false>(raw_max(Vec<double>(0.5), a));
  return select(a < 0.85, small_erf(x), copysign(1 - large, x));
}
RL_INLINE Vec<double> erfc(Vec<double> x) { return erfc_in_double<false>(x); }
RL_INLINE Vec<float> erfc(Vec<float> x) {
  return in_double(x, [](Vec<double> a) __attribute__((always_inline)) { return erfc_in_double<true>(a); });
}

// The normal distribution function. For float the chance of exceeding |x| is the fourth power of a polynomial with a
// root at 5.6, from where on it is taken to be 0; absolute error 2^-22.
RL_INLINE Vec<float> normal_cdf(Vec<float> x) {
  using V = Vec<float>;
  const V a = raw_min(V(5.6f), abs(x));
  V q = (5.6f - a) * polynomial(a, 1.50160071e-01f, -3.13806400e-03f, -9.52509717e-03f, -8.68498499e-04f,
                                5.20056561e-04f, 8.83812302e-05f, -3.97846035e-05f, 3.45409611e-06f);
  q *= q;
  return 0.5f + copysign(fma(-q, q, V(0.5f)), x);
}
RL_INLINE Vec<double> normal_cdf(Vec<double> x) { return 0.5 * erfc(-0.70710678118654752440 * x); }

// The inverse of erf, by the rational functions of Wichura, Algorithm AS 241: The percentage points of the normal
// distribution (1988), which are given for the normal distribution: erfinv(x) = quantile((x + 1) / 2) / sqrt(2).
RL_INLINE Vec<double> erfinv(Vec<double> x) {
  using V = Vec<double>;
  const V m = abs(x), r = 0.180625 - 0.25 * x * x, s = sqrt(-log(0.5 * (1 - m))), u = s - 1.6;
  const V center = polynomial(r, 3.3871328727963666080e0, 1.3314166789178437745e+2, 1.9715909503065514427e+3,
                              1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                              3.3430575583588128105e+4, 2.5090809287301226727e+3);
  const V center_below = polynomial(r, 1.0, 4.2313330701600911252e+1, 6.8718700749205790830e+2,
                                    5.3941960214247511077e+3, 2.1213794301586595867e+4, 3.9307895800092710610e+4,
                                    2.8729085735721942674e+4, 5.2264952788528545610e+3);
  const V tail = polynomial(u, 1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
                            3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
                            2.27238449892691845833e-2, 7.74545014278341407640e-4);
  const V tail_below = polynomial(u, 1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
                                  1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
                                  1.05075007164441684324e-9);
  const Mask<double> central = m <= 0.85, far = s > 5;
  V above = select(central, 0.5 * m * center, tail), below = select(central, center_below, tail_below);
  if (any(far & !central)) [[unlikely]] {
    const V w = s - 5;
    const V end = polynomial(w, 6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
                             2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                             2.71155556874348757815e-5, 2.01033439929228813265e-7);
    const V end_below = polynomial(w, 1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1,
                                   1.48753612908506148525e-2, 7.86869131145613259100e-4, 1.84631831751005468180e-5,
                                   1.42151175831644588870e-7, 2.04426310338993978564e-15);
    above = select(far, end, above), below = select(far, end_below, below);
  }
  const V y = copysign(0.70710678118654752440 * above / below, x);
  return select(m < 1, y, select(m == 1, copysign(V::infinity(), x), V::nan()));
}
RL_INLINE Vec<float> erfinv(Vec<float> x) {
  return in_double(x, [](Vec<double> a) __attribute__((always_inline)) { return erfinv(a); });
}

// ------------------------------------------------------------------------------------------------ gamma functions

// log |Gamma(x)| for float: by Stirling's series (Abramowitz and Stegun 6.1.41) from 10 up, moved there by recurrence,
// and reflected (6.1.17) for negative x. In double the differences near the roots at 1 and 2 keep enough digits.
RL_INLINE Vec<double> lgamma_for_float(Vec<double> x) {
  using V = Vec<double>;
  constexpr double pi = 3.14159265358979323846;
  const V a = abs(x);
  const Mask<double> low = a < 10;
  V product = a;
  for (int k = 1; k < 10; k++) product *= a + double(k);
  const V z = select(low, a + 10, a), inverse = 1 / z;
  const V series =
      polynomial(inverse * inverse, 1. / 12, -1. / 360, 1. / 1260, -1. / 1680, 1. / 1188, -691. / 360360, 1. / 156);
  V y = (z - 0.5) * log(z) - z + (0.91893853320467274178 + inverse * series);
  y -= log(select(low, product, V(1)));
  y = select((a == 1) | (a == 2), V(0), y);  // where rounding errors would be all there is
  if (any(x < 0)) {
    const V fraction = a - round(a);
    y = select(x < 0, log(pi / (a * abs(sin(pi * fraction)))) - y, y);
  }
  return select(isinf(x), V::infinity(), y);
}
RL_INLINE Vec<float> lgamma(Vec<float> x) {
  return in_double(x, [](Vec<double> a) __attribute__((always_inline)) { return lgamma_for_float(a); });
}
// The C library's re-entrant form: the other writes a global variable.
RL_INLINE Vec<double> lgamma(Vec<double> x) {
  return each_lane(x, [](double a) {
    int sign;
    return __builtin_lgamma_r(a, &sign);
  });
}

// The derivative of lgamma, likewise (6.3.18, 6.3.5, 6.3.7).
RL_INLINE Vec<double> digamma(Vec<double> x) {
  using V = Vec<double>;
  constexpr double pi = 3.14159265358979323846;
  const V a = select(x < 0, 1 - x, x);
  const Mask<double> low = a < 10;
  const V b = select(low, a, V(1));
  V steps = 0;
  for (int k = 8; k >= 0; k -= 2) steps += 1 / (b + double(k)) + 1 / (b + double(k + 1));
  const V z = select(low, a + 10, a), inverse = 1 / z, z2 = inverse * inverse;
  const V series = polynomial(z2, 1. / 12, -1. / 120, 1. / 252, -1. / 240, 1. / 132, -691. / 32760, 1. / 12);
  V y = log(z) - mul_add(z2, series, 0.5 * inverse) - select(low, steps, V(0));
  if (any(x <= 0)) {
    const V fraction = x - round(x);
    y = select(x < 0, select(fraction == 0, V::nan(), y - pi / tan(pi * fraction)), y);
    y = select(x == 0, -copysign(V::infinity(), x), y);
  }
  return y;
}
RL_INLINE Vec<float> digamma(Vec<float> x) {
  return in_double(x, [](Vec<double> a) __attribute__((always_inline)) { return digamma(a); });
}

// ------------------------------------------------------------------------------------- lengths and remainders

RL_INLINE Vec<float> hypot(Vec<float> x, Vec<float> y) {
  const Vec<float> r = in_double(
      x, y, [](Vec<double> a, Vec<double> b) __attribute__((always_inline)) { return sqrt(mul_add(a, a, b * b)); });
  return select(isinf(x) | isinf(y), Vec<float>::infinity(), r);  // even beside NaN
}
RL_INLINE Vec<double> hypot(Vec<double> x, Vec<double> y) {
  using V = Vec<double>;
  const V m = fmax(abs(x), abs(y));
  const Mask<double> large = m > 0x1p500, small = m < 0x1p-500;  // the squares might overflow, or lose their ends
  const V scale = select(large, V(0x1p-600), select(small, V(0x1p600), V(1)));
  const V unscale = select(large, V(0x1p600), select(small, V(0x1p-600), V(1)));
  const V a = x * scale, b = y * scale;
  return select(isinf(x) | isinf(y), V::infinity(), sqrt(mul_add(a, a, b * b)) * unscale);
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
