// Fills contiguous memory with random numbers, in memory order: the values and the number of draws taken from the
// generator are PyTorch's. Each call locks the generator. float16 and bfloat16 are drawn as floats and rounded, except
// where said.
#pragma once
#include <cstdint>

#include "base/generator.h"

namespace rushlight::kernels {

// T: float, double. [from, to)
template <class T>
void random_uniform(Generator& g, T* out, int64_t n, double from, double to);

// T: float, double. Fewer than 16 come one by one (as all do in memory that is not contiguous: call g.normal(mean, std)
// with g.mutex locked); more in blocks of 16, without touching the spare normal.
template <class T>
void random_normal(Generator& g, T* out, int64_t n, double mean, double std);
// The same for floats that are to be rounded to a 16-bit type.
void random_normal_half(Generator& g, float* out, int64_t n, double mean, double std);

// T: float, double and every integer type, bool included, here and below unless said. lo + draw % range; the
// draw has 32 bits where the range is below 2^28, else 64. Range 0 stands for 2^64: the draw itself, whatever lo is.
template <class T>
void random_integer(Generator& g, T* out, int64_t n, int64_t lo, uint64_t range);
// random_() without bounds: from 0 to the type's largest value, or to 2^24 and 2^53 for float and double. float16 and
// bfloat16: random_integer of range 2^11 + 1 and 2^8 + 1.
template <class T>
void random_whole(Generator& g, T* out, int64_t n);

void random_permutation(Generator& g, int64_t* out, int64_t n);  // of 0..n-1

// 1 with probability p. A dropout mask is random_bernoulli(g, mask, n, 1 - p).
template <class T>
void random_bernoulli(Generator& g, T* out, int64_t n, double p);
// 1 with probability p[i]; P: float, double, and the draw has that type.
template <class T, class P>
void random_bernoulli(Generator& g, T* out, int64_t n, const P* p);

// T: float, double
template <class T>
void random_exponential(Generator& g, T* out, int64_t n, double rate);
template <class T>
void random_cauchy(Generator& g, T* out, int64_t n, double median, double scale);
template <class T>
void random_log_normal(Generator& g, T* out, int64_t n, double mean, double std);
template <class T>
void random_poisson(Generator& g, T* out, int64_t n, const T* rate);

// The number of trials up to the first success, each of probability p.
template <class T>
void random_geometric(Generator& g, T* out, int64_t n, double p);

// Draws `count` categories for each row of weights (rows x categories; not negative, with a positive sum in each row).
// Without replacement, count <= the number of positive weights. T: float, double.
template <class T>
void random_multinomial(Generator& g, int64_t* out, const T* weights, int64_t rows, int64_t categories, int64_t count,
                        bool replacement);

}  // namespace rushlight::kernels
