#include <cstring>
#ifdef __x86_64__
  #pragma GCC diagnostic push
  #pragma GCC diagnostic ignored "-Wuninitialized"
  #pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
  #include <immintrin.h>
  #pragma GCC diagnostic pop
#endif

#include "base/dtype.h"
#include "kernels/cpu/tiles.h"

namespace rushlight::kernels::RL_ISA {
namespace {

template <class T>
RL_INLINE T read(const char* p) {
  if constexpr (std::is_same_v<T, bool>)
    return *reinterpret_cast<const unsigned char*>(p) != 0;  // any byte, see element()
  T v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

template <class To, class From>
RL_INLINE To convert(From v) {
  if constexpr (std::is_same_v<To, bool>) return v != From(0.0f);
  else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) return To(float(v));
  else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) return To(float(v));
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // Through int64, as C leaves what does not fit undefined; NaN and the like give the CPU's answer.
    return To(int64_t(v));
  } else {
    return To(v);
  }
}

template <class From, class To>
void load(To* to, const char* from, int64_t stride, int64_t n) {
  if (stride == int64_t(sizeof(From)))
    for (int64_t i = 0; i < n; i++) to[i] = convert<To>(read<From>(from + i * int64_t(sizeof(From))));
  else if (stride == 0) {
    To v = convert<To>(read<From>(from));
    for (int64_t i = 0; i < n; i++) to[i] = v;
  } else
    for (int64_t i = 0; i < n; i++) to[i] = convert<To>(read<From>(from + i * stride));
}

template <class To, class From>
void store(char* to, const From* from, int64_t stride, int64_t n) {
  if (stride == int64_t(sizeof(To)))
    for (int64_t i = 0; i < n; i++) {
      To v = convert<To>(from[i]);
      __builtin_memcpy(to + i * int64_t(sizeof(To)), &v, sizeof v);
    }
  else
    for (int64_t i = 0; i < n; i++) {
      To v = convert<To>(from[i]);
      __builtin_memcpy(to + i * stride, &v, sizeof v);
    }
}

template <class T>
void copy_items(char* to, int64_t ts, const char* from, int64_t fs, int64_t n) {
  for (int64_t i = 0; i < n; i++) __builtin_memcpy(to + i * ts, from + i * fs, sizeof(T));
}

}  // namespace

void load_tile(void* tile, int compute, const char* from, int dtype, int64_t stride, int64_t n) {
  visit(DType(dtype), [&](auto tag) {
    using From = typename decltype(tag)::type;
    if (compute == kF32) load<From>(static_cast<float*>(tile), from, stride, n);
    else if (compute == kF64) load<From>(static_cast<double*>(tile), from, stride, n);
    else load<From>(static_cast<int64_t*>(tile), from, stride, n);
  });
}

void store_tile(char* to, int dtype, int64_t stride, const void* tile, int compute, bool predicate, int64_t n) {
  visit(DType(dtype), [&](auto tag) {
    using To = typename decltype(tag)::type;
    if (predicate) store<To>(to, static_cast<const bool*>(tile), stride, n);
    else if (compute == kF32) store<To>(to, static_cast<const float*>(tile), stride, n);
    else if (compute == kF64) store<To>(to, static_cast<const double*>(tile), stride, n);
    else store<To>(to, static_cast<const int64_t*>(tile), stride, n);
  });
}

void stream_copy(void* to, const void* from, int64_t bytes) {
  char* t = static_cast<char*>(to);
  const char* f = static_cast<const char*>(from);
  int64_t i = 0;
#if defined(RL_ISA_avx512)
  for (; i + 64 <= bytes; i += 64) _mm512_stream_si512((__m512i*)(t + i), _mm512_loadu_si512((const void*)(f + i)));
  _mm_sfence();
#elif defined(RL_ISA_avx2)
  for (; i + 32 <= bytes; i += 32) _mm256_stream_si256((__m256i*)(t + i), _mm256_loadu_si256((const __m256i*)(f + i)));
  _mm_sfence();
#endif
  __builtin_memcpy(t + i, f + i, bytes - i);
}

void copy_strided(char* to, int64_t ts, const char* from, int64_t fs, int itemsize, int64_t n) {
  if (ts == itemsize && fs == itemsize) {
    __builtin_memcpy(to, from, n * itemsize);
    return;
  }
  switch (itemsize) {
    case 1: return copy_items<uint8_t>(to, ts, from, fs, n);
    case 2: return copy_items<uint16_t>(to, ts, from, fs, n);
    case 4: return copy_items<uint32_t>(to, ts, from, fs, n);
    default: return copy_items<uint64_t>(to, ts, from, fs, n);
  }
}

}  // namespace rushlight::kernels::RL_ISA
