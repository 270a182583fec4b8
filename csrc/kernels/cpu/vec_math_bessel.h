// Functions that are rare enough to go lane by lane, for pointwise_special.cpp alone: modified Bessel functions, zeta
// and polygamma, erfcx, quantiles; and what integers have.
#pragma once
#include "kernels/cpu/vec_math_special.h"

namespace rushlight::kernels::RL_ISA {

// I_n(x) for n 0 or 1 and x >= 0, times exp(-x) where `scaled`: by its power series (Abramowitz and Stegun 9.6.10), all
// of whose terms are positive, and for large x by Hankel's (9.7.1).
template <int n, bool scaled>
RL_INLINE double bessel_i(double x) {
  if (x == __builtin_inf()) return scaled ? 0 : __builtin_nan("");  // as PyTorch and SciPy have it
  if (x < 30) {
    const double q = 0.25 * x * x;
    double term = n == 0 ? 1 : 0.5 * x, sum = term;
    for (int k = 1; k < 100 && term > 1e-17 * sum; k++) term *= q / (k * double(k + n)), sum += term;
    return scaled ? sum * __builtin_exp(-x) : sum;
  }
  double term = 1, sum = 1;
  for (int k = 1; k < 25; k++) {
    const double odd = 2 * k - 1;
    term *= (odd * odd - 4 * n * n) / (8 * k * x), sum += term;
  }
  sum /= __builtin_sqrt(6.283185307179586 * x);
  const double half = __builtin_exp(0.5 * x);  // exp(x) overflows before the product does
  return scaled ? sum : half * sum * half;
}
template <int n, bool scaled, class T>
RL_INLINE Vec<T> bessel_i(Vec<T> x) {
  return each_lane(x, [](double a) {
    const double y = a != a ? a : bessel_i<n, scaled>(__builtin_fabs(a));
    return n == 1 && a < 0 ? -y : y;
  });
}
template <class T>
RL_INLINE Vec<T> i0(Vec<T> x) {
  return bessel_i<0, false>(x);
}
template <class T>
RL_INLINE Vec<T> i0e(Vec<T> x) {
  return bessel_i<0, true>(x);
}
template <class T>
RL_INLINE Vec<T> i1(Vec<T> x) {
  return bessel_i<1, false>(x);
}
template <class T>
RL_INLINE Vec<T> i1e(Vec<T> x) {
  return bessel_i<1, true>(x);
}

// exp(x^2) erfc(x). The rounding of x^2 would show, so what it loses is put back.
template <class T>
RL_INLINE Vec<T> erfcx(Vec<T> x) {
  return each_lane(x, [](double a) {
    const double square = a * a, power = __builtin_exp(square) * (1 + __builtin_fma(a, a, -square)),
                 m = __builtin_fabs(a);
    if (m < 20) return power * __builtin_erfc(a);
    if (a < 0) return a < -27 ? __builtin_inf() : 2 * power;
    double term = 1, sum = 1;  // Abramowitz and Stegun 7.1.23
    for (int k = 1; k < 10; k++) term *= -(2 * k - 1) / (2 * square), sum += term;
    return sum / a * 0.5641895835477563;
  });
}

// The quantile of the normal distribution for p far from 1/2: Abramowitz and Stegun's 26.2.22, made exact by Newton's
// steps on the logarithm of the tail.
template <class T>
RL_INLINE Vec<T> ndtri(Vec<T> x) {
  return each_lane(x, [](double p) {
    if (!(p > 0 && p < 1)) return p == 0 ? -__builtin_inf() : p == 1 ? __builtin_inf() : __builtin_nan("");
    const double tail = p > 0.5 ? 1 - p : p, t = __builtin_sqrt(-2 * __builtin_log(tail));
    double y = t - (2.30753 + 0.27061 * t) / (1 + (0.99229 + 0.04481 * t) * t);
    for (int k = 0; k < 4; k++) {
      const double chance = 0.5 * __builtin_erfc(y * 0.7071067811865476),
                   density = 0.3989422804014327 * __builtin_exp(-0.5 * y * y);
      y += chance / density * __builtin_log(chance / tail);
    }
    return p > 0.5 ? y : -y;
  });
}

// The zeta function of Hurwitz, the sum of (q + k)^-s, by the formula of Euler and Maclaurin (Olver et al., NIST
// Handbook of Mathematical Functions, 25.11.5).
RL_INLINE double hurwitz_zeta(double s, double q) {
  constexpr double far = -1e5;  // more summands than anyone would wait for
  if (s == 1) return __builtin_inf();
  if (!(s > 1)) return __builtin_nan("");
  if (q <= 0) {
    if (q == __builtin_floor(q)) return __builtin_inf();
    if (s != __builtin_floor(s) || q < far) return __builtin_nan("");
  }
  if (q == __builtin_inf()) return 0;
  double sum = 0;
  for (; q < 10; q += 1) sum += __builtin_pow(q, -s);
  double power = __builtin_pow(q, -s);
  sum += power * (q / (s - 1) + 0.5);
  constexpr double bernoulli[] = {1. / 12,          -1. / 720,
                                  1. / 30240,       -1. / 1209600,
                                  1. / 47900160,    -691. / 1307674368000,
                                  1. / 74724249600, -3617. / 10670622842880000};  // B_2k / (2k)!
  double rising = s / q;  // s (s + 1) ... (s + 2k - 2) / q^(2k - 1)
  for (int k = 0; k < 8; k++) {
    sum += bernoulli[k] * rising * power;
    rising *= (s + 2 * k + 1) / q * ((s + 2 * k + 2) / q);
  }
  return sum;
}
template <class T>
RL_INLINE Vec<T> zeta(Vec<T> s, Vec<T> q) {
  return each_lane(s, q, [](double a, double b) { return hurwitz_zeta(a, b); });
}

// The n-th derivative of digamma (Abramowitz and Stegun 6.4.10, 6.4.7).
RL_INLINE double polygamma_of(int64_t n, double x) {
  constexpr double pi = 3.14159265358979323846;
  if (n == 1 && x < 0) {
    const double fraction = x - __builtin_floor(x);
    if (fraction == 0) return __builtin_inf();
    const double r = pi / __builtin_sin(pi * fraction);
    return r * r - hurwitz_zeta(2, 1 - x);
  }
  const double z = hurwitz_zeta(double(n + 1), x), sign = n % 2 ? 1 : -1;
  if (n < 100) return sign * __builtin_tgamma(double(n + 1)) * z;
  int ignored;
  return sign * __builtin_exp(__builtin_lgamma_r(double(n + 1), &ignored) + __builtin_log(z));
}
template <class T>
RL_INLINE Vec<T> polygamma(double n, Vec<T> x) {
  if (n == 0) return digamma(x);
  return each_lane(x, [n](double a) { return polygamma_of(int64_t(n), a); });
}

// f(T, T) lane by lane, in T itself.
template <class T, class F>
RL_INLINE Vec<T> each_pair(Vec<T> x, Vec<T> y, F f) {
  T a[Vec<T>::size], b[Vec<T>::size];
  x.store(a), y.store(b);
#pragma GCC unroll 1
  for (int i = 0; i < Vec<T>::size; i++) a[i] = f(a[i], b[i]);
  return Vec<T>::load(a);
}

RL_INLINE Vec<float> nextafter(Vec<float> x, Vec<float> y) {
  return each_pair(x, y, [](float a, float b) { return __builtin_nextafterf(a, b); });
}
RL_INLINE Vec<double> nextafter(Vec<double> x, Vec<double> y) {
  return each_pair(x, y, [](double a, double b) { return __builtin_nextafter(a, b); });
}

// Euclid's algorithm, on magnitudes: that of the least int64 has no sign to spare.
RL_INLINE uint64_t gcd_of(int64_t a, int64_t b) {
  uint64_t x = a < 0 ? -uint64_t(a) : uint64_t(a), y = b < 0 ? -uint64_t(b) : uint64_t(b);
  while (y) {
    const uint64_t rest = x % y;
    x = y, y = rest;
  }
  return x;
}
RL_INLINE Vec<int64_t> gcd(Vec<int64_t> x, Vec<int64_t> y) {
  return each_pair(x, y, [](int64_t a, int64_t b) { return int64_t(gcd_of(a, b)); });
}
RL_INLINE Vec<int64_t> lcm(Vec<int64_t> x, Vec<int64_t> y) {
  return each_pair(x, y, [](int64_t a, int64_t b) {
    const uint64_t g = gcd_of(a, b);
    if (g == 0) return int64_t(0);
    const uint64_t x = a < 0 ? -uint64_t(a) : uint64_t(a), y = b < 0 ? -uint64_t(b) : uint64_t(b);
    return int64_t(x / g * y);
  });
}

}  // namespace rushlight::kernels::RL_ISA
