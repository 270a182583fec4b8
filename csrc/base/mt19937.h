// MT19937: M. Matsumoto, T. Nishimura, "Mersenne Twister: a 623-dimensionally equidistributed uniform pseudorandom
// number generator", ACM TOMACS 8(1), 1998. Internal linkage throughout, since kernels compiled per instruction set use
// it too.
#pragma once
#include <cstdint>

namespace rushlight {

struct Mt19937 {
  static constexpr int size = 624, shift = 397;
  uint32_t state[size];
  int next;    // the word to hand out next; at `size`, twist first
  bool fresh;  // not drawn from since it was seeded
};

static inline void mt_seed(Mt19937& g, uint32_t seed) {
  g.state[0] = seed;
  for (int i = 1; i < g.size; ++i) g.state[i] = 1812433253u * (g.state[i - 1] ^ g.state[i - 1] >> 30) + uint32_t(i);
  g.next = g.size;
  g.fresh = true;
}

static inline uint32_t mt_mix(uint32_t upper, uint32_t lower) {
  return ((upper & 0x80000000u) | (lower & 0x7fffffffu)) >> 1 ^ ((0u - (lower & 1)) & 0x9908b0dfu);
}

// Three loops, because each word depends on one 227 before it, far enough for the compiler to vectorize.
static inline void mt_twist(Mt19937& g) {
  constexpr int n = g.size, m = g.shift;
  uint32_t* s = g.state;
  for (int i = 0; i < n - m; ++i) s[i] = s[i + m] ^ mt_mix(s[i], s[i + 1]);
  for (int i = n - m; i < n - 1; ++i) s[i] = s[i + m - n] ^ mt_mix(s[i], s[i + 1]);
  s[n - 1] = s[m - 1] ^ mt_mix(s[n - 1], s[0]);
  g.next = 0;
  g.fresh = false;
}

static inline uint32_t mt_temper(uint32_t x) {
  x ^= x >> 11;
  x ^= (x << 7) & 0x9d2c5680u;
  x ^= (x << 15) & 0xefc60000u;
  return x ^ x >> 18;
}

}  // namespace rushlight
