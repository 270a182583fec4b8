// Vec<T>: as many T as one register of this instruction set holds (T = float, double, int64_t), with the operators and
// functions of a number, so that one template serves scalars and vectors; Mask<T>: one truth value for each of its
// lanes. Arithmetic is written with the compiler's vector extensions; intrinsics where those have no word for it.
// Nothing here rounds differently between sets: fma() is fused everywhere, if slowly where the CPU cannot.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/macros.h"
#ifdef __x86_64__
  // GCC 12 takes its own _mm512_undefined_*() for a mistake (GCC bug 105593).
  #pragma GCC diagnostic push
  #pragma GCC diagnostic ignored "-Wuninitialized"
  #pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
  #include <immintrin.h>
  #pragma GCC diagnostic pop
#endif

#ifndef RL_ISA
  #error "vec.h is for files compiled once per instruction set"
#endif

namespace rushlight::kernels::RL_ISA {

#if defined(RL_ISA_avx512)
constexpr int kVecBytes = 64;
#elif defined(RL_ISA_avx2)
constexpr int kVecBytes = 32;
// n elements before the middle start a mask of n lanes.
static constexpr int32_t kFirst32[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
static constexpr int64_t kFirst64[8] = {-1, -1, -1, -1};
#else
constexpr int kVecBytes = 16;
#endif

// The lane types of one register, and the integers of the same width that comparisons and bit tricks work on.
template <class T>
struct Lanes;
template <>
struct Lanes<float> {
  typedef float Native __attribute__((vector_size(kVecBytes)));
  typedef int32_t Ints __attribute__((vector_size(kVecBytes)));
  typedef uint32_t Unsigned __attribute__((vector_size(kVecBytes)));
  using Int = int32_t;
};
template <>
struct Lanes<double> {
  typedef double Native __attribute__((vector_size(kVecBytes)));
  typedef int64_t Ints __attribute__((vector_size(kVecBytes)));
  typedef uint64_t Unsigned __attribute__((vector_size(kVecBytes)));
  using Int = int64_t;
};
template <>
struct Lanes<int64_t> : Lanes<double> {
  typedef int64_t Native __attribute__((vector_size(kVecBytes)));
};

template <class T>
constexpr bool is_float = std::is_same_v<T, float>;
template <class T>
constexpr bool is_double = std::is_same_v<T, double>;

template <class T>
struct Vec;

// ---------------------------------------------------------------------------------------------------------- Mask

template <class T>
struct Mask {
  static constexpr int size = kVecBytes / int(sizeof(T));
#ifdef RL_ISA_avx512
  using Bits = std::conditional_t<size == 16, uint16_t, uint8_t>;  // one bit per lane
#else
  using Bits = typename Lanes<T>::Ints;  // all ones or all zeros per lane
#endif
  Bits m;

  Mask() = default;
  RL_INLINE Mask(Bits bits) : m(bits) {}
  RL_INLINE Mask(bool all) : m(everywhere(all)) {}
  friend RL_INLINE Mask operator&(Mask a, Mask b) { return Bits(a.m & b.m); }
  friend RL_INLINE Mask operator|(Mask a, Mask b) { return Bits(a.m | b.m); }
  friend RL_INLINE Mask operator^(Mask a, Mask b) { return Bits(a.m ^ b.m); }
  friend RL_INLINE Mask operator!(Mask a) { return Bits(~a.m); }
  // There is no short circuit to be had; these spare templates shared with scalars a second spelling.
  friend RL_INLINE Mask operator&&(Mask a, Mask b) { return a & b; }
  friend RL_INLINE Mask operator||(Mask a, Mask b) { return a | b; }

  // Lane i in bit i.
  RL_INLINE unsigned to_bits() const {
#if defined(RL_ISA_avx512)
    return m;
#elif defined(RL_ISA_avx2)
    if constexpr (size == 8) return unsigned(_mm256_movemask_ps((__m256)m));
    else return unsigned(_mm256_movemask_pd((__m256d)m));
#elif defined(__SSE2__)
    if constexpr (size == 4) return unsigned(_mm_movemask_ps((__m128)m));
    else return unsigned(_mm_movemask_pd((__m128d)m));
#else
    unsigned bits = 0;
    for (int i = 0; i < size; i++) bits |= unsigned(m[i] & 1) << i;
    return bits;
#endif
  }
  friend RL_INLINE bool any(Mask a) { return a.to_bits() != 0; }
  friend RL_INLINE bool all(Mask a) { return a.to_bits() == (1u << size) - 1; }

  // Bools as bytes: any byte but 0 reads as true; true writes 1. n <= size counts lanes, the rest read as false.
  static RL_INLINE Mask load_bool(const uint8_t* p) { return load_bool(p, size); }
  static RL_INLINE Mask load_bool(const uint8_t* p, int n) {
#ifdef RL_ISA_avx512
    const __m128i bytes = _mm_maskz_loadu_epi8(__mmask16((1u << n) - 1), p);
    return Bits(_mm_test_epi8_mask(bytes, bytes));
#else
    Bits bits{};
    if (n == size) {  // a fixed count unrolls
      for (int i = 0; i < size; i++) bits[i] = -(p[i] != 0);
    } else {
      for (int i = 0; i < n; i++) bits[i] = -(p[i] != 0);
    }
    return bits;
#endif
  }
  RL_INLINE void store_bool(uint8_t* p) const { store_bool(p, size); }
  RL_INLINE void store_bool(uint8_t* p, int n) const {
#ifdef RL_ISA_avx512
    _mm_mask_storeu_epi8(p, __mmask16((1u << n) - 1), _mm_maskz_set1_epi8(__mmask16(m), 1));
#else
    // Spread up to 8 bits over 8 bytes: the products of distinct bits never share a position, so nothing carries.
    const uint64_t b = to_bits();
    const uint64_t bytes = (((b & 127) * 0x0002040810204081) & 0x0101010101010101) | (b >> 7) << 56;
    if (n == size) std::memcpy(p, &bytes, size);
    else
      for (int i = 0; i < size; i++)
        if (i < n) p[i] = uint8_t(bytes >> 8 * i);
#endif
  }

  friend RL_INLINE Vec<T> select(Mask m, Vec<T> a, Vec<T> b) {
#ifdef RL_ISA_avx512
    if constexpr (is_float<T>) return _mm512_mask_blend_ps(m.m, b.v, a.v);
    else if constexpr (is_double<T>) return _mm512_mask_blend_pd(m.m, b.v, a.v);
    else return (typename Vec<T>::Native)_mm512_mask_blend_epi64(m.m, (__m512i)b.v, (__m512i)a.v);
#else
    return m.m ? a.v : b.v;
#endif
  }

 private:
  static RL_INLINE Bits everywhere(bool value) {
#ifdef RL_ISA_avx512
    return Bits(-int(value));
#else
    return Bits{} - typename Lanes<T>::Int(value);
#endif
  }
};

// ----------------------------------------------------------------------------------------------------------- Vec

// One comparison for all T: by predicate into mask registers, or by the compiler into lanes of ones and zeros.
#ifdef RL_ISA_avx512
  #define RL_COMPARE(op, float_predicate, int_predicate)                                                       \
    friend RL_INLINE Mask<T> operator op(Vec a, Vec b) {                                                       \
      if constexpr (is_float<T>) return Mask<T>(uint16_t(_mm512_cmp_ps_mask(a.v, b.v, float_predicate)));      \
      else if constexpr (is_double<T>) return Mask<T>(uint8_t(_mm512_cmp_pd_mask(a.v, b.v, float_predicate))); \
      else return Mask<T>(uint8_t(_mm512_cmp_epi64_mask((__m512i)a.v, (__m512i)b.v, int_predicate)));          \
    }
#else
  #define RL_COMPARE(op, float_predicate, int_predicate) \
    friend RL_INLINE Mask<T> operator op(Vec a, Vec b) { return Mask<T>((typename Mask<T>::Bits)(a.v op b.v)); }
#endif

template <class T>
struct Vec {
  using value_type = T;
  using Native = typename Lanes<T>::Native;
  using Ints = typename Lanes<T>::Ints;
  using Unsigned = typename Lanes<T>::Unsigned;
  static constexpr int size = kVecBytes / int(sizeof(T));
  static constexpr bool is_int = std::is_integral_v<T>;

  Native v;

  Vec() = default;
  RL_INLINE Vec(Native native) : v(native) {}
  // Broadcast. x - 0 is x for every x, -0 included, and compiles to the broadcast alone.
  template <class S>
    requires std::is_arithmetic_v<S>
  RL_INLINE Vec(S scalar) : v(T(scalar) - Native{}) {}

  static RL_INLINE Vec load(const T* p) {
    Vec r;
    std::memcpy(&r.v, p, sizeof(Native));
    return r;
  }
  RL_INLINE void store(T* p) const { std::memcpy(p, &v, sizeof(Native)); }

  // The first n <= size lanes alone touch memory; the others read as 0.
  static RL_INLINE Vec load(const T* p, int n) {
#if defined(RL_ISA_avx512)
    if constexpr (is_float<T>) return _mm512_maskz_loadu_ps(__mmask16((1u << n) - 1), p);
    else if constexpr (is_double<T>) return _mm512_maskz_loadu_pd(__mmask8((1u << n) - 1), p);
    else return (Native)_mm512_maskz_loadu_epi64(__mmask8((1u << n) - 1), p);
#elif defined(RL_ISA_avx2)
    if constexpr (is_float<T>) return _mm256_maskload_ps(p, (__m256i)first(n));
    else if constexpr (is_double<T>) return _mm256_maskload_pd(p, (__m256i)first(n));
    else return (Native)_mm256_maskload_epi64((const long long*)p, (__m256i)first(n));
#else
    Vec r{Native{}};
    for (int i = 0; i < size; i++)
      if (i < n) r.v[i] = p[i];
    return r;
#endif
  }
  RL_INLINE void store(T* p, int n) const {
#if defined(RL_ISA_avx512)
    if constexpr (is_float<T>) _mm512_mask_storeu_ps(p, __mmask16((1u << n) - 1), v);
    else if constexpr (is_double<T>) _mm512_mask_storeu_pd(p, __mmask8((1u << n) - 1), v);
    else _mm512_mask_storeu_epi64(p, __mmask8((1u << n) - 1), (__m512i)v);
#elif defined(RL_ISA_avx2)
    if constexpr (is_float<T>) _mm256_maskstore_ps(p, (__m256i)first(n), v);
    else if constexpr (is_double<T>) _mm256_maskstore_pd(p, (__m256i)first(n), v);
    else _mm256_maskstore_epi64((long long*)p, (__m256i)first(n), (__m256i)v);
#else
    for (int i = 0; i < size; i++)
      if (i < n) p[i] = v[i];
#endif
  }
  RL_INLINE T operator[](int i) const { return v[i]; }

  // Reinterpreted, not converted.
  RL_INLINE Ints bits() const { return (Ints)v; }
  static RL_INLINE Vec from_bits(Ints bits) { return (Native)bits; }

  // Integers wrap around, which only unsigned ones do in the language.
  friend RL_INLINE Vec operator+(Vec a, Vec b) {
    if constexpr (is_int) return (Native)((Unsigned)a.v + (Unsigned)b.v);
    else return a.v + b.v;
  }
  friend RL_INLINE Vec operator-(Vec a, Vec b) {
    if constexpr (is_int) return (Native)((Unsigned)a.v - (Unsigned)b.v);
    else return a.v - b.v;
  }
  friend RL_INLINE Vec operator*(Vec a, Vec b) {
    if constexpr (is_int) return (Native)((Unsigned)a.v * (Unsigned)b.v);
    else return a.v * b.v;
  }
  // Integers: toward zero, lane by lane (no set divides them); x / 0 is 0, not a trap.
  friend RL_INLINE Vec operator/(Vec a, Vec b) {
    if constexpr (is_int) {
      for (int i = 0; i < size; i++) {
        const T d = b.v[i];
        a.v[i] = d == 0 ? T(0) : d == -1 ? T(0 - std::make_unsigned_t<T>(a.v[i])) : T(a.v[i] / d);
      }
      return a;
    } else {
      return a.v / b.v;
    }
  }
  friend RL_INLINE Vec operator-(Vec a) {
    if constexpr (is_int) return (Native)(-(Unsigned)a.v);
    else return -a.v;
  }
  friend RL_INLINE Vec operator+(Vec a) { return a; }
  RL_INLINE Vec& operator+=(Vec b) { return *this = *this + b; }
  RL_INLINE Vec& operator-=(Vec b) { return *this = *this - b; }
  RL_INLINE Vec& operator*=(Vec b) { return *this = *this * b; }
  RL_INLINE Vec& operator/=(Vec b) { return *this = *this / b; }

  friend RL_INLINE Vec operator&(Vec a, Vec b) { return from_bits(a.bits() & b.bits()); }
  friend RL_INLINE Vec operator|(Vec a, Vec b) { return from_bits(a.bits() | b.bits()); }
  friend RL_INLINE Vec operator^(Vec a, Vec b) { return from_bits(a.bits() ^ b.bits()); }
  friend RL_INLINE Vec operator~(Vec a) { return from_bits(~a.bits()); }
  // Shifts by 64 or more shift everything out; a negative count is taken as huge.
  friend RL_INLINE Vec operator<<(Vec a, Vec b)
    requires is_int
  {
    const Vec r = (Native)((Unsigned)a.v << ((Unsigned)b.v & 63));
    return select((b >= 0) & (b < 64), r, Vec(0));
  }
  friend RL_INLINE Vec operator>>(Vec a, Vec b)
    requires is_int
  {
    b = select((b >= 0) & (b < 64), b, Vec(63));
    return a.v >> b.v;
  }

  RL_COMPARE(<, _CMP_LT_OQ, _MM_CMPINT_LT)
  RL_COMPARE(<=, _CMP_LE_OQ, _MM_CMPINT_LE)
  RL_COMPARE(>, _CMP_GT_OQ, _MM_CMPINT_NLE)
  RL_COMPARE(>=, _CMP_GE_OQ, _MM_CMPINT_NLT)
  RL_COMPARE(==, _CMP_EQ_OQ, _MM_CMPINT_EQ)
  RL_COMPARE(!=, _CMP_NEQ_UQ, _MM_CMPINT_NE)

  // The CPU's own maximum and minimum: b where either is NaN. One instruction; see maximum and fmax for better manners.
  friend RL_INLINE Vec raw_max(Vec a, Vec b) {
#if defined(RL_ISA_avx512)
    if constexpr (is_float<T>) return _mm512_max_ps(a.v, b.v);
    else if constexpr (is_double<T>) return _mm512_max_pd(a.v, b.v);
    else return (Native)_mm512_max_epi64((__m512i)a.v, (__m512i)b.v);
#elif defined(RL_ISA_avx2)
    if constexpr (is_float<T>) return _mm256_max_ps(a.v, b.v);
    else if constexpr (is_double<T>) return _mm256_max_pd(a.v, b.v);
    else return select(a > b, a, b);
#elif defined(__SSE2__)
    if constexpr (is_float<T>) return _mm_max_ps(a.v, b.v);
    else if constexpr (is_double<T>) return _mm_max_pd(a.v, b.v);
    else return select(a > b, a, b);
#else
    return select(a > b, a, b);
#endif
  }
  friend RL_INLINE Vec raw_min(Vec a, Vec b) {
#if defined(RL_ISA_avx512)
    if constexpr (is_float<T>) return _mm512_min_ps(a.v, b.v);
    else if constexpr (is_double<T>) return _mm512_min_pd(a.v, b.v);
    else return (Native)_mm512_min_epi64((__m512i)a.v, (__m512i)b.v);
#elif defined(RL_ISA_avx2)
    if constexpr (is_float<T>) return _mm256_min_ps(a.v, b.v);
    else if constexpr (is_double<T>) return _mm256_min_pd(a.v, b.v);
    else return select(a < b, a, b);
#elif defined(__SSE2__)
    if constexpr (is_float<T>) return _mm_min_ps(a.v, b.v);
    else if constexpr (is_double<T>) return _mm_min_pd(a.v, b.v);
    else return select(a < b, a, b);
#else
    return select(a < b, a, b);
#endif
  }
  // NaN if either is.
  friend RL_INLINE Vec maximum(Vec a, Vec b) {
    if constexpr (is_int) return raw_max(a, b);
    else return select(a == a, raw_max(a, b), a);
  }
  friend RL_INLINE Vec minimum(Vec a, Vec b) {
    if constexpr (is_int) return raw_min(a, b);
    else return select(a == a, raw_min(a, b), a);
  }
  // The other one where one is NaN.
  friend RL_INLINE Vec fmax(Vec a, Vec b) {
    if constexpr (is_int) return raw_max(a, b);
    else return select(b == b, raw_max(a, b), a);
  }
  friend RL_INLINE Vec fmin(Vec a, Vec b) {
    if constexpr (is_int) return raw_min(a, b);
    else return select(b == b, raw_min(a, b), a);
  }

  friend RL_INLINE Vec abs(Vec a) {
    if constexpr (is_int) return raw_max(a, -a);
    else return a & from_bits(~sign_bits());
  }
  friend RL_INLINE Vec square(Vec a) { return a * a; }
  friend RL_INLINE Vec sign(Vec a) {  // NaN gives 0
    return select(a > 0, Vec(1), select(a < 0, Vec(-1), Vec(0)));
  }

  // ------------------------------------------------------------------------ for floating point only, down to fma

  friend RL_INLINE Vec copysign(Vec magnitude, Vec sign) {
    const Ints s = sign_bits();
    return from_bits((magnitude.bits() & ~s) | (sign.bits() & s));
  }
  friend RL_INLINE Mask<T> signbit(Vec a) {
#ifdef RL_ISA_avx512
    if constexpr (is_float<T>) return Mask<T>(uint16_t(_mm512_movepi32_mask((__m512i)a.v)));
    else return Mask<T>(uint8_t(_mm512_movepi64_mask((__m512i)a.v)));
#else
    return Mask<T>((typename Mask<T>::Bits)(a.bits() < Ints{}));
#endif
  }
  friend RL_INLINE Mask<T> isnan(Vec a) { return a != a; }
  friend RL_INLINE Mask<T> isinf(Vec a) { return abs(a) == infinity(); }
  friend RL_INLINE Mask<T> isfinite(Vec a) { return abs(a) < infinity(); }
  static RL_INLINE Vec infinity() { return T(__builtin_inf()); }
  static RL_INLINE Vec nan() { return T(__builtin_nan("")); }

  friend RL_INLINE Vec sqrt(Vec a) {
#if defined(RL_ISA_avx512)
    if constexpr (is_float<T>) return _mm512_sqrt_ps(a.v);
    else return _mm512_sqrt_pd(a.v);
#elif defined(RL_ISA_avx2)
    if constexpr (is_float<T>) return _mm256_sqrt_ps(a.v);
    else return _mm256_sqrt_pd(a.v);
#elif defined(__SSE2__)
    if constexpr (is_float<T>) return _mm_sqrt_ps(a.v);
    else return _mm_sqrt_pd(a.v);
#else
    for (int i = 0; i < size; i++) a.v[i] = is_float<T> ? __builtin_sqrtf(a.v[i]) : __builtin_sqrt(a.v[i]);
    return a;
#endif
  }
  friend RL_INLINE Vec rsqrt(Vec a) { return 1 / sqrt(a); }
  friend RL_INLINE Vec reciprocal(Vec a) { return 1 / a; }

// To an integer in the given direction, the sign of zero kept.
#if defined(RL_ISA_avx512)
  #define RL_ROUND(name, mode)                                                               \
    friend RL_INLINE Vec name(Vec a) {                                                       \
      if constexpr (is_float<T>) return _mm512_roundscale_ps(a.v, mode | _MM_FROUND_NO_EXC); \
      else return _mm512_roundscale_pd(a.v, mode | _MM_FROUND_NO_EXC);                       \
    }
#elif defined(RL_ISA_avx2)
  #define RL_ROUND(name, mode)                                                          \
    friend RL_INLINE Vec name(Vec a) {                                                  \
      if constexpr (is_float<T>) return _mm256_round_ps(a.v, mode | _MM_FROUND_NO_EXC); \
      else return _mm256_round_pd(a.v, mode | _MM_FROUND_NO_EXC);                       \
    }
#endif
#ifdef RL_ROUND
  RL_ROUND(round, _MM_FROUND_TO_NEAREST_INT)
  RL_ROUND(floor, _MM_FROUND_TO_NEG_INF)
  RL_ROUND(ceil, _MM_FROUND_TO_POS_INF)
  RL_ROUND(trunc, _MM_FROUND_TO_ZERO)
  #undef RL_ROUND
#else
  friend RL_INLINE Vec round(Vec a) {
    // Adding 2^23 (2^52) leaves no bits for a fraction; what is as large has none.
    const Vec big = is_float<T> ? 0x1p23 : 0x1p52, magnitude = abs(a);
    return copysign(select(magnitude < big, (magnitude + big) - big, magnitude), a);
  }
  friend RL_INLINE Vec floor(Vec a) {
    const Vec r = round(a);
    return copysign(r - select(r > a, Vec(1), Vec(0)), a);
  }
  friend RL_INLINE Vec ceil(Vec a) {
    const Vec r = round(a);
    return copysign(r + select(r < a, Vec(1), Vec(0)), a);
  }
  friend RL_INLINE Vec trunc(Vec a) { return copysign(floor(abs(a)), a); }
#endif

  // a * b + c, rounded once, in every set.
  friend RL_INLINE Vec fma(Vec a, Vec b, Vec c) {
#if defined(RL_ISA_avx512)
    if constexpr (is_float<T>) return _mm512_fmadd_ps(a.v, b.v, c.v);
    else return _mm512_fmadd_pd(a.v, b.v, c.v);
#elif defined(RL_ISA_avx2)
    if constexpr (is_float<T>) return _mm256_fmadd_ps(a.v, b.v, c.v);
    else return _mm256_fmadd_pd(a.v, b.v, c.v);
#else
    for (int i = 0; i < size; i++) {
  #ifdef __FP_FAST_FMA
      if constexpr (is_float<T>) c.v[i] = __builtin_fmaf(a.v[i], b.v[i], c.v[i]);
      else c.v[i] = __builtin_fma(a.v[i], b.v[i], c.v[i]);
  #else
      // The product of two floats is exact in double; the sum is then rounded to 53 bits and to 24, which differs from
      // one rounding only in ties that 29 further bits fail to break.
      if constexpr (is_float<T>) c.v[i] = float(double(a.v[i]) * double(b.v[i]) + double(c.v[i]));
      else c.v[i] = __builtin_fma(a.v[i], b.v[i], c.v[i]);  // the C library's
  #endif
    }
    return c;
#endif
  }
  // a * b + c for polynomials: fused where that is fast.
  friend RL_INLINE Vec mul_add(Vec a, Vec b, Vec c) {
#if defined(RL_ISA_avx512) || defined(RL_ISA_avx2) || defined(__FP_FAST_FMA)
    return fma(a, b, c);
#else
    return a * b + c;
#endif
  }

  // --------------------------------------------------------------------------------------------- across the lanes

  friend RL_INLINE T reduce_add(Vec a) {
    return a.reduce([](T x, T y) { return T(x + y); });
  }
  friend RL_INLINE T reduce_max(Vec a) {  // NaN if any lane is
    return a.reduce([](T x, T y) { return x > y || x != x ? x : y; });
  }
  friend RL_INLINE T reduce_min(Vec a) {
    return a.reduce([](T x, T y) { return x < y || x != x ? x : y; });
  }
  template <class F>
  RL_INLINE T reduce(F combine) const {  // halves upon halves
    T lanes[size];
    store(lanes);
    for (int half = size / 2; half; half /= 2)
      for (int i = 0; i < half; i++) lanes[i] = combine(lanes[i], lanes[i + half]);
    return lanes[0];
  }

 private:
  static RL_INLINE Ints sign_bits() {
    return (Ints)(Unsigned{} + (std::make_unsigned_t<typename Lanes<T>::Int>(1) << (8 * sizeof(T) - 1)));
  }
#ifdef RL_ISA_avx2
  static RL_INLINE Ints first(int n) {  // a mask of the first n lanes
    Ints mask;
    if constexpr (sizeof(T) == 4) std::memcpy(&mask, kFirst32 + 8 - n, sizeof(mask));
    else std::memcpy(&mask, kFirst64 + 4 - n, sizeof(mask));
    return mask;
  }
#endif
};
#undef RL_COMPARE

// Floats as doubles, in two registers, and back.
struct DoublePair {
  Vec<double> low, high;
};
RL_INLINE DoublePair to_double(Vec<float> a) {
#if defined(RL_ISA_avx512)
  return {_mm512_cvtps_pd(_mm512_castps512_ps256(a.v)), _mm512_cvtps_pd(_mm512_extractf32x8_ps(a.v, 1))};
#elif defined(RL_ISA_avx2)
  return {_mm256_cvtps_pd(_mm256_castps256_ps128(a.v)), _mm256_cvtps_pd(_mm256_extractf128_ps(a.v, 1))};
#elif defined(__SSE2__)
  return {_mm_cvtps_pd(a.v), _mm_cvtps_pd(_mm_movehl_ps(a.v, a.v))};
#else
  DoublePair r;
  for (int i = 0; i < Vec<double>::size; i++) r.low.v[i] = a.v[i], r.high.v[i] = a.v[i + Vec<double>::size];
  return r;
#endif
}
RL_INLINE Vec<float> to_float(Vec<double> low, Vec<double> high) {
#if defined(RL_ISA_avx512)
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low.v)), _mm512_cvtpd_ps(high.v), 1);
#elif defined(RL_ISA_avx2)
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(low.v)), _mm256_cvtpd_ps(high.v), 1);
#elif defined(__SSE2__)
  return _mm_movelh_ps(_mm_cvtpd_ps(low.v), _mm_cvtpd_ps(high.v));
#else
  Vec<float> r;
  for (int i = 0; i < Vec<double>::size; i++) r.v[i] = low.v[i], r.v[i + Vec<double>::size] = high.v[i];
  return r;
#endif
}

}  // namespace rushlight::kernels::RL_ISA
