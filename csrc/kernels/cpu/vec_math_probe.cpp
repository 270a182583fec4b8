#include "kernels/cpu/vec_math_probe.h"

#include "kernels/cpu/vec_math.h"

namespace rushlight::kernels::RL_ISA {

template <class T, class F>
static void map(F f, const T* x, const T* y, T* out, int64_t n) {
  using V = Vec<T>;
  int64_t i = 0;
  for (; i + V::size <= n; i += V::size) {
    if constexpr (requires { f(V(), V()); })
      f(V::load(x + i), V::load(y + i)).store(out + i);
    else
      f(V::load(x + i)).store(out + i);
  }
  if (const int rest = int(n - i)) {
    if constexpr (requires { f(V(), V()); })
      f(V::load(x + i, rest), V::load(y + i, rest)).store(out + i, rest);
    else
      f(V::load(x + i, rest)).store(out + i, rest);
  }
}

// The name is looked up by running down the list.
#define RL_ONE(f)                                                                       \
  if (!std::strcmp(name, #f)) {                                                         \
    map<T>([](Vec<T> a) __attribute__((always_inline)) { return f(a); }, x, y, out, n); \
    return true;                                                                        \
  }
#define RL_TWO(f)                                                                                    \
  if (!std::strcmp(name, #f) && y) {                                                                 \
    map<T>([](Vec<T> a, Vec<T> b) __attribute__((always_inline)) { return f(a, b); }, x, y, out, n); \
    return true;                                                                                     \
  }

template <class T>
static bool probe(const char* name, const T* x, const T* y, T* out, int64_t n) {
  // clang-format off
  RL_ONE(exp)
  RL_ONE(exp2)
  RL_ONE(expm1)
  RL_ONE(sinh)
  RL_ONE(cosh)
  RL_ONE(tanh)
  RL_ONE(sigmoid)
  RL_ONE(log)
  RL_ONE(log2)
  RL_ONE(log10)
  RL_ONE(log1p)
  RL_ONE(asinh)
  RL_ONE(acosh)
  RL_ONE(atanh)
  RL_ONE(sin)
  RL_ONE(cos)
  RL_ONE(tan)
  RL_ONE(asin)
  RL_ONE(acos)
  RL_ONE(atan)
  RL_ONE(erf)
  RL_ONE(erfc)
  RL_ONE(erfinv)
  RL_ONE(lgamma)
  RL_ONE(digamma)
  RL_ONE(abs)
  RL_ONE(sqrt)
  RL_ONE(rsqrt)
  RL_ONE(reciprocal)
  RL_ONE(square)
  RL_ONE(sign)
  RL_ONE(floor)
  RL_ONE(ceil)
  RL_ONE(trunc)
  RL_ONE(round)
  RL_TWO(pow)
  RL_TWO(atan2)
  RL_TWO(hypot)
  RL_TWO(fmod)
  RL_TWO(remainder)
  RL_TWO(maximum)
  RL_TWO(minimum)
  RL_TWO(fmax)
  RL_TWO(fmin)
  RL_TWO(copysign)
  // clang-format on
  return false;
}

bool vec_math_probe_f32(const char* name, const float* x, const float* y, float* out, int64_t n) {
  return probe(name, x, y, out, n);
}
bool vec_math_probe_f64(const char* name, const double* x, const double* y, double* out, int64_t n) {
  return probe(name, x, y, out, n);
}

}  // namespace rushlight::kernels::RL_ISA
