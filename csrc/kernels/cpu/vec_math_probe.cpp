#include "kernels/cpu/vec_math_probe.h"

#include "kernels/cpu/vec_math.h"

namespace rushlight::kernels::RL_ISA {

// n <= V::size elements; a Mask goes through its bytes and back.
template <class T, class F>
static RL_INLINE void map_one(F f, const T* x, const T* y, T* out, int n) {
  using V = Vec<T>;
  const auto finish = [=](auto result) {
    if constexpr (std::is_same_v<decltype(result), Mask<T>>) {
      uint8_t bools[V::size];
      result.store_bool(bools, n);
      select(Mask<T>::load_bool(bools, n), V(1), V(0)).store(out, n);
    } else {
      V(result).store(out, n);
    }
  };
  if constexpr (requires { f(V(), V()); }) finish(f(V::load(x, n), V::load(y, n)));
  else finish(f(V::load(x, n)));
}

template <class T, class F>
static void map(F f, const T* x, const T* y, T* out, int64_t n) {
  constexpr int size = Vec<T>::size;
  int64_t i = 0;
  for (; i + size <= n; i += size) map_one(f, x + i, y ? y + i : y, out + i, size);
  if (i < n) map_one(f, x + i, y ? y + i : y, out + i, int(n - i));
}

template <class T>
static RL_INLINE Mask<T> less(Vec<T> a, Vec<T> b) {
  return a < b;
}
template <class T>
static RL_INLINE Mask<T> less_equal(Vec<T> a, Vec<T> b) {
  return a <= b;
}
template <class T>
static RL_INLINE Mask<T> greater(Vec<T> a, Vec<T> b) {
  return a > b;
}
template <class T>
static RL_INLINE Mask<T> greater_equal(Vec<T> a, Vec<T> b) {
  return a >= b;
}
template <class T>
static RL_INLINE Mask<T> equal(Vec<T> a, Vec<T> b) {
  return a == b;
}
template <class T>
static RL_INLINE Mask<T> not_equal(Vec<T> a, Vec<T> b) {
  return a != b;
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

#define RL_OPERATOR(title, op)                                                                      \
  if (!std::strcmp(name, title) && y) {                                                             \
    map<T>([](Vec<T> a, Vec<T> b) __attribute__((always_inline)) { return a op b; }, x, y, out, n); \
    return true;                                                                                    \
  }

// clang-format off
template <class T>
static bool probe_all(const char* name, const T* x, const T* y, T* out, int64_t n) {
  RL_ONE(abs)
  RL_ONE(square)
  RL_ONE(sign)
  RL_ONE(reduce_add)
  RL_ONE(reduce_max)
  RL_ONE(reduce_min)
  RL_TWO(maximum)
  RL_TWO(minimum)
  RL_TWO(less)
  RL_TWO(less_equal)
  RL_TWO(greater)
  RL_TWO(greater_equal)
  RL_TWO(equal)
  RL_TWO(not_equal)
  RL_OPERATOR("add", +)
  RL_OPERATOR("subtract", -)
  RL_OPERATOR("multiply", *)
  RL_OPERATOR("divide", /)
  return false;
}

template <class T>
static bool probe_float(const char* name, const T* x, const T* y, T* out, int64_t n) {
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
  RL_ONE(sqrt)
  RL_ONE(rsqrt)
  RL_ONE(reciprocal)
  RL_ONE(floor)
  RL_ONE(ceil)
  RL_ONE(trunc)
  RL_ONE(round)
  RL_ONE(isnan)
  RL_ONE(isinf)
  RL_ONE(isfinite)
  RL_ONE(signbit)
  RL_TWO(pow)
  RL_TWO(atan2)
  RL_TWO(hypot)
  RL_TWO(fmod)
  RL_TWO(remainder)
  RL_TWO(fmax)
  RL_TWO(fmin)
  RL_TWO(copysign)
  return probe_all(name, x, y, out, n);
}

static bool probe_int(const char* name, const int64_t* x, const int64_t* y, int64_t* out, int64_t n) {
  using T = int64_t;
  RL_OPERATOR("bitwise_and", &)
  RL_OPERATOR("bitwise_or", |)
  RL_OPERATOR("bitwise_xor", ^)
  RL_OPERATOR("left_shift", <<)
  RL_OPERATOR("right_shift", >>)
  return probe_all(name, x, y, out, n);
}
// clang-format on

bool vec_math_probe_f32(const char* name, const float* x, const float* y, float* out, int64_t n) {
  return probe_float(name, x, y, out, n);
}
bool vec_math_probe_f64(const char* name, const double* x, const double* y, double* out, int64_t n) {
  return probe_float(name, x, y, out, n);
}
bool vec_math_probe_i64(const char* name, const int64_t* x, const int64_t* y, int64_t* out, int64_t n) {
  return probe_int(name, x, y, out, n);
}

}  // namespace rushlight::kernels::RL_ISA
