// The one inner loop that matrix products and convolutions share: a small tile of the output is held in registers
// while products of a few rows of A with a short, contiguous row of B are added to it. Walking A by a list of
// segments turns the same loop into a convolution that reads the image in place; see Georganas et al., "Harnessing
// Deep Learning via a Single Building Block" (2020). Only per-set files include this header.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/allocator.h"
#include "kernels/cpu/vec.h"

namespace rushlight::kernels::RL_ISA {

// Tiles are as large as the registers allow: rows x 2 vectors of sums, 2 vectors of B and one broadcast element of A.
#if defined(RL_ISA_avx512)
constexpr int kTileRows = 14;
#elif defined(RL_ISA_avx2)
constexpr int kTileRows = 6;
#elif defined(__aarch64__)
constexpr int kTileRows = 12;
#else
constexpr int kTileRows = 4;
#endif
constexpr int kTileVecs = 2;

template <class T>
constexpr int kLanes = Vec<T>::size;
template <class T>
constexpr int kTileCols = kTileVecs * kLanes<T>;

// a * b + c, fused where the set has the instruction.
template <class T>
RL_INLINE Vec<T> multiply_add(Vec<T> a, Vec<T> b, Vec<T> c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return fma(a, b, c);
#else
  return a * b + c;
#endif
}

inline int64_t min_of(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t max_of(int64_t a, int64_t b) { return a > b ? a : b; }
// Rounded up, for b > 0; a + b need not fit.
inline int64_t divide_up(int64_t a, int64_t b) { return a / b + (a % b > 0); }

constexpr int64_t kParallelWork = 200'000;  // multiply-adds a thread should have to do, some 5 µs

// Memory for the duration of a call.
template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t count) : bytes_(size_t(count) * sizeof(T)), data_(static_cast<T*>(allocate(bytes_))) {}
  ~Scratch() { deallocate(data_, bytes_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* get() const { return data_; }

 private:
  size_t bytes_;
  T* data_;
};

// sum(r, j) = over segments s and steps p:  a[segment[s] + r * a_row + p * a_step] * b[s * b_segment + p * b_step + j].
// b is read in whole vectors.
template <class T>
struct TileInput {
  const T* a;
  int64_t a_row, a_step;
  const int64_t* segment;
  int64_t segments, steps;
  const T* b;
  int64_t b_step, b_segment;
};

// c(r, j) = alpha * sum + beta * c + col_bias[j]. With beta == 0, c is not read. A null bias counts as zero.
template <class T>
struct TileOutput {
  T* c;
  int64_t c_row;
  int cols;  // more than (vecs - 1) * kLanes<T>, at most vecs * kLanes<T>
  T alpha, beta;
  const T* col_bias;
};

// 1 <= rows <= kTileRows, 1 <= vecs <= kTileVecs
template <class T>
void tile(int rows, int vecs, const TileInput<T>& in, const TileOutput<T>& out);
extern template void tile(int, int, const TileInput<float>&, const TileOutput<float>&);
extern template void tile(int, int, const TileInput<double>&, const TileOutput<double>&);

constexpr int64_t kOneSegment[1] = {0};

// The rows of each piece when `rows` are cut into as few pieces of at most kTileRows as possible, as evenly as
// possible: the loop hides more latency with 13 + 13 rows than with 14 + 12.
inline int64_t even_tile_rows(int64_t rows) { return divide_up(rows, divide_up(rows, kTileRows)); }

// dst[c * dst_row + r] = src[r * src_row + c]
template <class T>
void transpose(const T* src, int64_t src_row, T* dst, int64_t dst_row, int64_t rows, int64_t cols);
extern template void transpose(const float*, int64_t, float*, int64_t, int64_t, int64_t);
extern template void transpose(const double*, int64_t, double*, int64_t, int64_t, int64_t);

}  // namespace rushlight::kernels::RL_ISA
