// Powers.
#pragma once
#include "kernels/cpu/vec_math_log.h"

namespace rushlight::kernels::RL_ISA {

// |x|^y given, the signs and exceptions of IEEE 754's pow added.
template <class T>
RL_INLINE Vec<T> finish_pow(Vec<T> x, Vec<T> y, Vec<T> r) {
  using V = Vec<T>;
  const Mask<T> negative = signbit(x);
  if (any(negative)) {
    const V half = y * T(0.5);
    const Mask<T> integer = y == trunc(y), odd = integer & (half != trunc(half));
    r = select(negative & odd, -r, r);
    r = select((x < 0) & isfinite(x) & !integer, V::nan(), r);
  }
  return select((y == 0) | (x == 1) | ((abs(x) == 1) & isinf(y)), V(1), r);
}

// e^(y log x) for positive x out of float's range, finite and not 0: the logarithm to 2^-33, the exponential to 2^-34.
RL_INLINE Vec<double> brief_pow(Vec<double> x, Vec<double> y) {
  using V = Vec<double>;
  const LogReduced<double> a = reduce_log(x, true);
  const V p = polynomial(a.f, -0.5000000028477637, 0.3333333198098799, -0.2499993800291654, 0.20000096459169317,
                         -0.1667033275151865, 0.14285704087407924, -0.12412562072602815, 0.11020928277918704,
                         -0.10870882018925435, 0.10728156921513748, -0.05994771461896895);
  const V log_x = mul_add(a.e, V(0.69314718055994530942), mul_add(a.f * a.f, p, a.f));
  // beyond, float has 0 and infinity
  const auto [n, r] = reduce_exp(raw_max(V(-110), raw_min(V(90), y * log_x)));
  const V q = polynomial(r, 0.500000006773941, 0.1666666586800317, 0.041666294734686415, 0.00833349721255178,
                         0.0013944675706168553, 0.0001979030810507612);
  return (mul_add(r * r, q, r) + 1) * power_of_two(n);
}
RL_INLINE Vec<float> pow(Vec<float> x, Vec<float> y) {
  using V = Vec<float>;
  const V a = abs(x);
  V r = in_double(a, y, [](Vec<double> u, Vec<double> v) __attribute__((always_inline)) { return brief_pow(u, v); });
  const Mask<float> zero = a == 0, plain = (a < V::infinity()) & !zero;
  if (!all(plain)) [[unlikely]] {
    r = select(plain, r, select(zero ^ (y < 0), V(0), V::infinity()));
    r = select(isnan(a) | isnan(y), V::nan(), r);
  }
  return finish_pow(x, y, r);
}

// For double the logarithm needs another dozen bits, as the exponential makes relative errors of absolute ones and its
// argument reaches 745. So it is the sum of two doubles, high + low (Dekker, A floating-point technique for extending
// the available precision, 1971), good to 2^-64 or so.
RL_INLINE Vec<double> pow(Vec<double> x, Vec<double> y) {
  using V = Vec<double>;
  const V base = abs(x);
  const LogReduced<double> a = reduce_log(base, all(base >= Format<double>::smallest_normal));

  // s = f / (2 + f), all in two parts
  const V f = a.f, sum = f + 2, sum_low = f - (sum - 2), inverse = 1 / sum;
  const V s = f * inverse, s_low = fma(-s, sum_low, fma(-s, sum, f)) * inverse;
  const V z = s * s, z_low = mul_add(s + s, s_low, fma(s, s, -z));
  const V cube = s * z, cube_low = mul_add(s, z_low, mul_add(s_low, z, fma(s, z, -cube)));

  // log(1 + f) = 2s + s^3 (2/3 + z Q(z)), relative error 2^-65
  constexpr double two_thirds = 2. / 3, two_thirds_low = 3.700743415417188e-17;
  const V q = z * polynomial(z, 0.40000000000002284, 0.28571428570084273, 0.222222225227838, 0.1818178410637142,
                             0.1538676978568127, 0.13256518172442386, 0.13199191785697417);
  const V factor = q + two_thirds, factor_low = (two_thirds - factor) + q + two_thirds_low;
  const V tail = cube * factor;
  const V tail_low = mul_add(cube, factor_low, mul_add(cube_low, factor, fma(cube, factor, -tail)));

  // e log 2 + 2s + tail, the largest first
  const V two_s = s + s, e_part = a.e * kLn2Hi<double>;
  const V first = e_part + two_s, first_low = (e_part - first) + two_s;
  const V second = first + tail, second_low = (first - second) + tail;
  const V low = (first_low + second_low) + mul_add(a.e, V(kLn2Lo<double>), mul_add(V(2), s_low, tail_low));
  V log_high = second + low;
  const V log_low = (second - log_high) + low;
  log_high = select(base == 0, -V::infinity(), select(base < V::infinity(), log_high, base));

  // y times that, and the exponential of high + low = n log 2 + (r + low)
  const V high = y * log_high, rest = mul_add(y, log_low, fma(y, log_high, -high));
  const auto [n, r] = reduce_exp(clamp_exp(high));
  const V power = exp_polynomial(r + select(abs(high) < 750, rest, V(0))) + 1;
  return finish_pow(x, y, scale_by_power_of_two(power, n));
}

}  // namespace rushlight::kernels::RL_ISA
