// Many draws of a Mersenne Twister at once. Each takes exactly the words it needs, in order.
#pragma once
#include "base/mt19937.h"
#include "kernels/cpu/dispatch.h"

namespace rushlight::kernels {

RL_KERNEL(void, fill_raw, Mt19937& g, uint32_t* out, int64_t n)

// from + u * (to - from), u in [0, 1): 24 bits of one word, or 53 bits of two. What rounds to `to` becomes `from`.
RL_KERNEL(void, fill_uniform_f32, Mt19937& g, float* out, int64_t n, float from, float to)
RL_KERNEL(void, fill_uniform_f64, Mt19937& g, double* out, int64_t n, double from, double to)

// Box-Muller in blocks of 16, whose first eight uniforms are paired with the last eight; n is a multiple of 16.
RL_KERNEL(void, fill_normal_f32, Mt19937& g, float* out, int64_t n, float mean, float std)
RL_KERNEL(void, fill_normal_f64, Mt19937& g, double* out, int64_t n, double mean, double std)

// 1 where a 53-bit integer (of two words) is below `threshold`, else 0.
RL_KERNEL(void, fill_below, Mt19937& g, uint8_t* out, int64_t n, uint64_t threshold)

}  // namespace rushlight::kernels
