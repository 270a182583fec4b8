#include "kernels/cpu/random_fill.h"

#include "kernels/cpu/vec_math_log.h"
#include "kernels/cpu/vec_math_trig.h"

namespace rushlight::kernels::RL_ISA {
namespace {

constexpr int chunk = 512;  // results worked on at a time, in buffers that stay in the first-level cache
constexpr uint64_t mask53 = (uint64_t(1) << 53) - 1;

// Calls f(offset, count) for chunk after chunk of n.
template <class F>
RL_INLINE void by_chunks(int64_t n, F f) {
  for (int64_t i = 0; i < n; i += chunk) f(i, int(n - i < chunk ? n - i : chunk));
}

void draw(Mt19937& g, uint32_t* __restrict out, int64_t n) {
  while (n > 0) {
    if (g.next == g.size) mt_twist(g);
    const int m = int(n < g.size - g.next ? n : g.size - g.next);
    const uint32_t* __restrict s = g.state + g.next;
    for (int i = 0; i < m; ++i) out[i] = mt_temper(s[i]);
    g.next += m;
    out += m;
    n -= m;
  }
}

// The first word is the upper half.
void draw(Mt19937& g, uint64_t* __restrict out, int64_t n) {
  draw(g, reinterpret_cast<uint32_t*>(out), 2 * n);
  for (int64_t i = 0; i < n; ++i) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    out[i] = out[i] << 32 | out[i] >> 32;
#endif
  }
}

RL_INLINE float to_unit(uint32_t word) { return float(int32_t(word & 0xffffff)) * 0x1p-24f; }

// 53 bits as a double, exactly, with integer operations alone, which every set has in vectors: each half is put into
// the low bits of a double with a known exponent (2^52, 2^84), which is then taken off again.
RL_INLINE double to_unit(uint64_t word) {
  const uint64_t low = 0x4330000000000000 | (word & 0xffffffff), high = 0x4530000000000000 | (word & mask53) >> 32;
  return ((__builtin_bit_cast(double, high) - 0x1.00000001p84) + __builtin_bit_cast(double, low)) * 0x1p-53;
}

// Rounded once in every set, as PyTorch's are where there is such an instruction.
RL_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
RL_INLINE double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }

template <class Word, class T>
RL_INLINE void fill_uniform(Mt19937& g, T* __restrict out, int64_t n, T from, T to) {
  alignas(64) Word words[chunk];
  const T width = to - from;
  by_chunks(n, [&](int64_t at, int count) {
    draw(g, words, count);
    T* __restrict o = out + at;
    if (from == 0 && to == 1) {
      for (int i = 0; i < count; ++i) o[i] = to_unit(words[i]);
    } else {
      for (int i = 0; i < count; ++i) {
        const T x = fused(to_unit(words[i]), width, from);
        o[i] = x == to ? from : x;
      }
    }
  });
}

template <class Word, class T>
RL_INLINE void fill_normal(Mt19937& g, T* __restrict out, int64_t n, T mean, T std) {
  constexpr int half = chunk / 2;
  alignas(64) Word words[chunk];
  alignas(64) T u[half], v[half];  // the two uniforms of each pair, then its two normals
  by_chunks(n, [&](int64_t at, int count) {
    draw(g, words, count);
    for (int b = 0; b < count / 16; ++b)
      for (int j = 0; j < 8; ++j) {
        u[8 * b + j] = 1 - to_unit(words[16 * b + j]);
        v[8 * b + j] = to_unit(words[16 * b + j + 8]);
      }
    for (int i = count / 2; i % Vec<T>::size; ++i) u[i] = v[i] = 1;
    for (int i = 0; i < count / 2; i += Vec<T>::size) {
      const Vec<T> radius = sqrt(log(Vec<T>::load(u + i)) * T(-2)) * std;
      const Vec<T> angle = Vec<T>::load(v + i) * T(6.283185307179586476925);
      (radius * cos(angle) + mean).store(u + i);
      (radius * sin(angle) + mean).store(v + i);
    }
    T* __restrict o = out + at;
    for (int b = 0; b < count / 16; ++b)
      for (int j = 0; j < 8; ++j) {
        o[16 * b + j] = u[8 * b + j];
        o[16 * b + j + 8] = v[8 * b + j];
      }
  });
}

}  // namespace

void fill_raw(Mt19937& g, uint32_t* out, int64_t n) { draw(g, out, n); }

void fill_uniform_f32(Mt19937& g, float* out, int64_t n, float from, float to) {
  fill_uniform<uint32_t>(g, out, n, from, to);
}
void fill_uniform_f64(Mt19937& g, double* out, int64_t n, double from, double to) {
  fill_uniform<uint64_t>(g, out, n, from, to);
}

void fill_normal_f32(Mt19937& g, float* out, int64_t n, float mean, float std) {
  fill_normal<uint32_t>(g, out, n, mean, std);
}
void fill_normal_f64(Mt19937& g, double* out, int64_t n, double mean, double std) {
  fill_normal<uint64_t>(g, out, n, mean, std);
}

void fill_below(Mt19937& g, uint8_t* out, int64_t n, uint64_t threshold) {
  alignas(64) uint64_t words[chunk];
  by_chunks(n, [&](int64_t at, int count) {
    draw(g, words, count);
    // The difference is negative just where the word is below, and its sign costs less than a comparison.
    for (int i = 0; i < count; ++i) words[i] = ((words[i] & mask53) - threshold) >> 63;
    for (int i = 0; i < count; ++i) out[at + i] = uint8_t(words[i]);
  });
}

}  // namespace rushlight::kernels::RL_ISA
