#include "kernels/cpu/optim_step.h"

#include <cmath>

#include "base/thread_pool.h"

namespace rushlight::kernels::RL_ISA {
namespace {

constexpr int64_t kGrain = 1 << 14;  // elements worth a thread of their own

// a * b + c, rounded once where the set has such an instruction. PyTorch's operations are compiled so; SGD agrees with
// its in every bit; Adam nearly: PyTorch's square roots are not all rounded correctly, and we divide once, not twice.
template <class T>
inline T multiply_add(T a, T b, T c) {
#ifdef __FMA__
  if constexpr (sizeof(T) == 4) return __builtin_fmaf(a, b, c);
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

// The flags do not change within a loop: the compiler makes a loop of each combination and vectorizes it.
template <class T>
void sgd_range(T* __restrict param, const T* __restrict grad, T* __restrict buf, int64_t begin, int64_t end,
               const SgdArgs& a) {
  const bool decays = a.weight_decay != 0, has_momentum = buf != nullptr, first = a.first, nesterov = a.nesterov;
  const T sign = a.maximize ? T(-1) : T(1), weight_decay = T(a.weight_decay), keep = T(a.momentum),
          add = T(1 - a.dampening), step = T(-a.lr);
  for (int64_t i = begin; i < end; i++) {
    T g = sign * grad[i];
    if (decays) g = multiply_add(weight_decay, param[i], g);
    if (has_momentum) {
      T b = first ? g : multiply_add(add, g, buf[i] * keep);
      buf[i] = b;
      g = nesterov ? multiply_add(keep, b, g) : b;
    }
    param[i] = multiply_add(step, g, param[i]);
  }
}

template <class T>
void sgd(T* param, const T* grad, T* buf, int64_t n, const SgdArgs& a) {
  parallel_for(0, n, kGrain, [=, &a](int64_t begin, int64_t end) { sgd_range(param, grad, buf, begin, end, a); });
}

template <class T, bool decays, bool amsgrad>
void adam_range(T* __restrict param, const T* __restrict grad, T* __restrict exp_avg, T* __restrict exp_avg_sq,
                T* __restrict max_exp_avg_sq, int64_t begin, int64_t end, const AdamArgs& a) {
  const T sign = a.maximize ? T(-1) : T(1), weight_decay = T(a.weight_decay);
  const T shrink = a.decoupled ? T(1 - a.lr * a.weight_decay) : T(1);
  const T weight1 = T(1 - a.beta1), beta2 = T(a.beta2), weight2 = T(1 - a.beta2);
  const T correction = T(1 / a.bias_correction2_sqrt), eps = T(a.eps), step = T(-a.step_size);
  for (int64_t i = begin; i < end; i++) {
    T g = sign * grad[i], p = param[i] * shrink;
    if constexpr (decays) g = multiply_add(weight_decay, p, g);
    T m = multiply_add(weight1, g - exp_avg[i], exp_avg[i]);
    T v = multiply_add(weight2 * g, g, exp_avg_sq[i] * beta2);
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    if constexpr (amsgrad) {
      T largest = max_exp_avg_sq[i];
      v = largest > v || largest != largest ? largest : v;  // keeps a NaN of either
      max_exp_avg_sq[i] = v;
    }
    param[i] = p + step * m / multiply_add(std::sqrt(v), correction, eps);
  }
}

template <class T>
void adam(T* param, const T* grad, T* exp_avg, T* exp_avg_sq, T* max_exp_avg_sq, int64_t n, const AdamArgs& a) {
  const bool decays = a.weight_decay != 0 && !a.decoupled, amsgrad = max_exp_avg_sq != nullptr;
  auto range = decays ? (amsgrad ? adam_range<T, true, true> : adam_range<T, true, false>)
                      : (amsgrad ? adam_range<T, false, true> : adam_range<T, false, false>);
  parallel_for(0, n, kGrain, [=, &a](int64_t begin, int64_t end) {
    range(param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq, begin, end, a);
  });
}

template <class T>
double sum_of_squares(const T* x, int64_t n) {
  constexpr int lanes = 8;
  double sums[lanes] = {};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (int j = 0; j < lanes; j++) sums[j] += double(x[i + j]) * double(x[i + j]);
  for (; i < n; i++) sums[0] += double(x[i]) * double(x[i]);
  double sum = 0;
  for (double s : sums) sum += s;
  return sum;
}

template <class T>
double max_abs(const T* x, int64_t n) {
  constexpr int lanes = 16;
  T largest[lanes] = {};
  auto take = [&](T value, int j) {
    value = value < 0 ? -value : value;
    largest[j] = largest[j] >= value || largest[j] != largest[j] ? largest[j] : value;  // once NaN, it stays
  };
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (int j = 0; j < lanes; j++) take(x[i + j], j);
  for (; i < n; i++) take(x[i], 0);
  for (int j = 1; j < lanes; j++) take(largest[j], 0);
  return double(largest[0]);
}

template <class T>
void scale(T* x, int64_t n, double factor) {
  const T f = T(factor);
  parallel_for(0, n, kGrain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) x[i] *= f;
  });
}

}  // namespace

void sgd_step_f32(float* param, const float* grad, float* buf, int64_t n, const SgdArgs& args) {
  sgd(param, grad, buf, n, args);
}
void sgd_step_f64(double* param, const double* grad, double* buf, int64_t n, const SgdArgs& args) {
  sgd(param, grad, buf, n, args);
}
void adam_step_f32(float* param, const float* grad, float* exp_avg, float* exp_avg_sq, float* max_exp_avg_sq, int64_t n,
                   const AdamArgs& args) {
  adam(param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq, n, args);
}
void adam_step_f64(double* param, const double* grad, double* exp_avg, double* exp_avg_sq, double* max_exp_avg_sq,
                   int64_t n, const AdamArgs& args) {
  adam(param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq, n, args);
}
double sum_of_squares_f32(const float* x, int64_t n) { return sum_of_squares(x, n); }
double sum_of_squares_f64(const double* x, int64_t n) { return sum_of_squares(x, n); }
double max_abs_f32(const float* x, int64_t n) { return max_abs(x, n); }
double max_abs_f64(const double* x, int64_t n) { return max_abs(x, n); }
void scale_f32(float* x, int64_t n, double factor) { scale(x, n, factor); }
void scale_f64(double* x, int64_t n, double factor) { scale(x, n, factor); }

}  // namespace rushlight::kernels::RL_ISA
