#include "kernels/cpu/reduce.h"

#include "kernels/cpu/vec_math.h"

namespace rushlight::kernels::RL_ISA {
namespace {

template <class T>
using Acc = std::conditional_t<std::is_integral_v<T>, int64_t, double>;

// For single numbers what vec.h says of vectors.
template <class T>
  requires std::is_arithmetic_v<T>
RL_INLINE T maximum(T a, T b) {
  return a > b || a != a ? a : b;
}
template <class T>
  requires std::is_arithmetic_v<T>
RL_INLINE T minimum(T a, T b) {
  return a < b || a != a ? a : b;
}

template <class T>
constexpr T highest() {
  if constexpr (std::is_integral_v<T>) return T(~(uint64_t(1) << 63));
  else return T(__builtin_inf());
}
template <class T>
constexpr T lowest() {
  if constexpr (std::is_integral_v<T>) return T(uint64_t(1) << 63);
  else return T(-__builtin_inf());
}

// Integers wrap around; Vec sees to that itself, single ones are computed with as unsigned.
struct Sum {
  template <class T>
  static constexpr T identity = 0;
  template <class V>
  static RL_INLINE V join(V a, V b) {
    if constexpr (std::is_integral_v<V>) return V(std::make_unsigned_t<V>(a) + std::make_unsigned_t<V>(b));
    else return a + b;
  }
};
struct Product {
  template <class T>
  static constexpr T identity = 1;
  template <class V>
  static RL_INLINE V join(V a, V b) {
    if constexpr (std::is_integral_v<V>) return V(std::make_unsigned_t<V>(a) * std::make_unsigned_t<V>(b));
    else return a * b;
  }
};
struct Max {
  template <class T>
  static constexpr T identity = lowest<T>();
  template <class V>
  static RL_INLINE V join(V a, V b) {
    return maximum(a, b);
  }
};
struct Min {
  template <class T>
  static constexpr T identity = highest<T>();
  template <class V>
  static RL_INLINE V join(V a, V b) {
    return minimum(a, b);
  }
};

// zero: an element 0 contributes nothing, so that the unused lanes of a partial load may stay as they are.
#define RL_FOLD(Name, Join, zero, uses, floats, expression)                                \
  struct Name : Join {                                                                     \
    static constexpr bool zero_is_neutral = zero, parametric = uses, floats_only = floats; \
    template <class V>                                                                     \
    static RL_INLINE V map(V x, [[maybe_unused]] V p) {                                    \
      return expression;                                                                   \
    }                                                                                      \
  };
RL_FOLD(FoldSum, Sum, true, false, false, x)
RL_FOLD(FoldProduct, Product, false, false, false, x)
RL_FOLD(FoldMax, Max, false, false, false, x)
RL_FOLD(FoldMin, Min, false, false, false, x)
RL_FOLD(FoldAny, Max, false, false, false, select(x != V(0), V(1), V(0)))
RL_FOLD(FoldAll, Min, false, false, false, select(x != V(0), V(1), V(0)))
RL_FOLD(FoldCount, Sum, true, false, false, select(x != V(0), V(1), V(0)))
RL_FOLD(FoldSumAbs, Sum, true, false, true, abs(x))
RL_FOLD(FoldSumSquares, Sum, true, false, true, x* x)
RL_FOLD(FoldMaxAbs, Max, false, false, true, abs(x))
RL_FOLD(FoldMinAbs, Min, false, false, true, abs(x))
RL_FOLD(FoldSumPower, Sum, false, true, true, pow(abs(x), p))
RL_FOLD(FoldSumExp, Sum, false, true, true, exp(x - p))
RL_FOLD(FoldSumSquaredDeviation, Sum, false, true, true, square(x - p))
#undef RL_FOLD

// --- Along a row ----------------------------------------------------------------------------------------------------

constexpr int kDepth = 16;  // terms that are added one after another

template <class T>
constexpr int64_t kRun = 4 * kDepth * Vec<T>::size;

template <class F, class T>
RL_INLINE Vec<T> partial(const T* in, int n, Vec<T> p) {
  Vec<T> v = F::map(Vec<T>::load(in, n), p);
  if constexpr (F::zero_is_neutral) return v;
  T lanes[Vec<T>::size];
  v.store(lanes);
  for (int i = n; i < Vec<T>::size; i++) lanes[i] = F::template identity<T>;
  return Vec<T>::load(lanes);
}

template <class F, class T>
T fold_run(const T* in, int64_t n, T parameter) {
  using V = Vec<T>;
  constexpr int size = V::size;
  const V p = parameter;
  V a = F::template identity<T>;
  int64_t i = 0;
  if (n >= 4 * size) {
    V b = a, c = a, d = a;
    for (; i + 4 * size <= n; i += 4 * size) {
      a = F::join(a, F::map(V::load(in + i), p));
      b = F::join(b, F::map(V::load(in + i + size), p));
      c = F::join(c, F::map(V::load(in + i + 2 * size), p));
      d = F::join(d, F::map(V::load(in + i + 3 * size), p));
    }
    a = F::join(F::join(a, b), F::join(c, d));
  }
  for (; i + size <= n; i += size) a = F::join(a, F::map(V::load(in + i), p));
  if (i < n) a = F::join(a, partial<F, T>(in + i, int(n - i), p));
  return a.reduce([](T x, T y) { return F::join(x, y); });
}

template <class F, class T>
Acc<T> fold_pairwise(const T* in, int64_t n, T parameter) {
  if (n <= kRun<T>) return fold_run<F, T>(in, n, parameter);
  const int64_t half = (n / kRun<T> + 1) / 2 * kRun<T>;
  return F::join(fold_pairwise<F, T>(in, half, parameter), fold_pairwise<F, T>(in + half, n - half, parameter));
}

template <class F, class T>
void row(const void* in, int64_t n, void* acc, const double* parameter) {
  Acc<T>* a = static_cast<Acc<T>*>(acc);
  *a = F::join(*a, fold_pairwise<F, T>(static_cast<const T*>(in), n, F::parametric ? T(*parameter) : T(0)));
}

// --- Down columns ---------------------------------------------------------------------------------------------------

template <class T>
RL_INLINE Vec<T> load_parameters(const double* p) {
  if constexpr (is_float<T>) return to_float(Vec<double>::load(p), Vec<double>::load(p + Vec<double>::size));
  else if constexpr (is_double<T>) return Vec<T>::load(p);
  else return Vec<T>(0);
}

template <class F, class T>
RL_INLINE void join_into(Acc<T>* acc, Vec<T> v) {
  if constexpr (is_float<T>) {
    using D = Vec<double>;
    const DoublePair wide = to_double(v);
    F::join(D::load(acc), wide.low).store(acc);
    F::join(D::load(acc + D::size), wide.high).store(acc + D::size);
  } else {
    F::join(Vec<T>::load(acc), v).store(acc);
  }
}

template <class F, class T>
void columns(const void* input, int64_t stride, int64_t rows, int64_t cols, void* accumulators,
             const double* parameter) {
  using V = Vec<T>;
  constexpr int size = V::size;
  const T* in = static_cast<const T*>(input);
  Acc<T>* acc = static_cast<Acc<T>*>(accumulators);
  for (; rows > 0; in += kDepth * stride, rows -= kDepth) {
    const int64_t depth = rows < kDepth ? rows : kDepth;
    int64_t j = 0;
    for (; j + 2 * size <= cols; j += 2 * size) {
      V p = T(0), q = T(0);
      if constexpr (F::parametric) p = load_parameters<T>(parameter + j), q = load_parameters<T>(parameter + j + size);
      V a = F::map(V::load(in + j), p), b = F::map(V::load(in + j + size), q);
      for (int64_t r = 1; r < depth; r++) {
        a = F::join(a, F::map(V::load(in + r * stride + j), p));
        b = F::join(b, F::map(V::load(in + r * stride + j + size), q));
      }
      join_into<F, T>(acc + j, a);
      join_into<F, T>(acc + j + size, b);
    }
    for (; j < cols; j += size) {
      const int n = cols - j < size ? int(cols - j) : size;
      T lanes[size] = {};
      if constexpr (F::parametric)
        for (int k = 0; k < n; k++) lanes[k] = T(parameter[j + k]);
      const V p = V::load(lanes);
      V a = F::map(V::load(in + j, n), p);
      for (int64_t r = 1; r < depth; r++) a = F::join(a, F::map(V::load(in + r * stride + j, n), p));
      a.store(lanes);
      for (int k = 0; k < n; k++) acc[j + k] = F::join(acc[j + k], Acc<T>(lanes[k]));
    }
  }
}

template <class F, class T>
constexpr FoldKernels kernels_of() {
  if constexpr (F::floats_only && std::is_integral_v<T>) return {nullptr, nullptr};
  else return {row<F, T>, columns<F, T>};
}

template <class... F>
struct Table {
  static constexpr FoldKernels all[kFolds][kComputes] = {
      {kernels_of<F, float>(), kernels_of<F, double>(), kernels_of<F, int64_t>()}...};
};

// --- Places of extrema ----------------------------------------------------------------------------------------------

template <class T>
int64_t find(const T* in, int64_t n, T value) {
  using V = Vec<T>;
  const V v = value;
  const bool nan = value != value;
  int64_t i = 0;
  for (; i + V::size <= n; i += V::size) {
    const V x = V::load(in + i);
    if (const unsigned bits = (nan ? x != x : x == v).to_bits()) return i + __builtin_ctz(bits);
  }
  for (; i < n; i++)
    if (nan ? in[i] != in[i] : in[i] == value) return i;
  return n;
}

template <bool max, class T>
void extrema(const T* in, int64_t stride, int64_t first, int64_t rows, int64_t cols, T* __restrict best,
             int64_t* __restrict where) {
  for (int64_t r = 0; r < rows; r++, in += stride)
    for (int64_t j = 0; j < cols; j++) {
      const T x = in[j], b = best[j];
      const bool better = !(max ? x <= b : x >= b) & (b == b);
      best[j] = better ? x : b;
      where[j] = better ? first + r : where[j];
    }
}

}  // namespace

const FoldKernels* fold_kernels() {
  return Table<FoldSum, FoldProduct, FoldMax, FoldMin, FoldAny, FoldAll, FoldCount, FoldSumAbs, FoldSumSquares,
               FoldMaxAbs, FoldMinAbs, FoldSumPower, FoldSumExp, FoldSumSquaredDeviation>::all[0];
}

int64_t find_first(int compute, const void* in, int64_t n, const void* value) {
  if (compute == kF32) return find(static_cast<const float*>(in), n, *static_cast<const float*>(value));
  if (compute == kF64) return find(static_cast<const double*>(in), n, *static_cast<const double*>(value));
  return find(static_cast<const int64_t*>(in), n, *static_cast<const int64_t*>(value));
}

void find_extrema(bool max, int compute, const void* in, int64_t stride, int64_t first, int64_t rows, int64_t cols,
                  void* best, int64_t* where) {
  auto run = [&]<class T>(const T* from) __attribute__((always_inline)) {
    (max ? extrema<true, T> : extrema<false, T>)(from, stride, first, rows, cols, static_cast<T*>(best), where);
  };
  if (compute == kF32) run(static_cast<const float*>(in));
  else if (compute == kF64) run(static_cast<const double*>(in));
  else run(static_cast<const int64_t*>(in));
}

}  // namespace rushlight::kernels::RL_ISA
