#include "kernels/cpu/tile.h"

namespace rushlight::kernels::RL_ISA {
namespace {

// The general way to store a tile: at the right edge, and where more is asked for than the sums.
template <class T, int Vecs>
[[gnu::noinline]] void finish(const T* sums, int rows, const TileOutput<T>& o) {
  for (int v = 0; v < Vecs; ++v) {
    const int done = v * kLanes<T>, count = int(min_of(kLanes<T>, o.cols - done));
    const Vec<T> col_bias = o.col_bias ? Vec<T>::load(o.col_bias + done, count) : Vec<T>(0);
    for (int r = 0; r < rows; ++r) {
      T* c = o.c + r * o.c_row + done;
      Vec<T> x = Vec<T>::load(sums + (r * Vecs + v) * kLanes<T>) * Vec<T>(o.alpha);
      if (o.beta != 0) x += Vec<T>::load(c, count) * Vec<T>(o.beta);
      if (o.col_bias) x += col_bias;
      x.store(c, count);
    }
  }
}

template <class T, int Rows, int Vecs>
void tile_of(const TileInput<T>& in, const TileOutput<T>& out) {
  constexpr int lanes = kLanes<T>;
  Vec<T> acc[Rows][Vecs];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < Vecs; ++v) acc[r][v] = T(0);
  const int64_t row = in.a_row, a_step = in.a_step, b_step = in.b_step;
  for (int64_t s = 0; s < in.segments; ++s) {
    const T* b = in.b + s * in.b_segment;
    // One pointer for five rows: x86 reaches p, p + s, p + 2s, p + 4s and p + 3s with two registers beside it.
    const T* base[3];
    base[0] = in.a + in.segment[s];
    base[1] = base[0] + 5 * row;
    base[2] = base[0] + 10 * row;
    for (int64_t p = in.steps; p > 0; --p) {
      Vec<T> bv[Vecs];
#pragma GCC unroll 4
      for (int v = 0; v < Vecs; ++v) bv[v] = Vec<T>::load(b + v * lanes);
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) {
        const Vec<T> x = Vec<T>(base[r / 5][r % 5 * row]);
#pragma GCC unroll 4
        for (int v = 0; v < Vecs; ++v) acc[r][v] = multiply_add(x, bv[v], acc[r][v]);
      }
      base[0] += a_step, base[1] += a_step, base[2] += a_step;
      b += b_step;
    }
  }

  const bool plain = out.alpha == 1 && !out.col_bias;
  if (plain && out.cols == Vecs * lanes && (out.beta == 0 || out.beta == 1)) {
    T* c = out.c;
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r, c += out.c_row)
#pragma GCC unroll 4
      for (int v = 0; v < Vecs; ++v)
        (out.beta == 0 ? acc[r][v] : acc[r][v] + Vec<T>::load(c + v * lanes)).store(c + v * lanes);
    return;
  }
  alignas(kVecBytes) T sums[Rows * Vecs * lanes];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < Vecs; ++v) acc[r][v].store(sums + (r * Vecs + v) * lanes);
  finish<T, Vecs>(sums, Rows, out);
}

template <class T>
using TileFn = void (*)(const TileInput<T>&, const TileOutput<T>&);

template <class T>
constexpr TileFn<T> kTiles[][kTileVecs] = {
    {tile_of<T, 1, 1>, tile_of<T, 1, 2>},   {tile_of<T, 2, 1>, tile_of<T, 2, 2>},
    {tile_of<T, 3, 1>, tile_of<T, 3, 2>},   {tile_of<T, 4, 1>, tile_of<T, 4, 2>},
#if !defined(RL_ISA_portable) || defined(__aarch64__)
    {tile_of<T, 5, 1>, tile_of<T, 5, 2>},   {tile_of<T, 6, 1>, tile_of<T, 6, 2>},
#endif
#if defined(RL_ISA_avx512) || defined(__aarch64__)
    {tile_of<T, 7, 1>, tile_of<T, 7, 2>},   {tile_of<T, 8, 1>, tile_of<T, 8, 2>},
    {tile_of<T, 9, 1>, tile_of<T, 9, 2>},   {tile_of<T, 10, 1>, tile_of<T, 10, 2>},
    {tile_of<T, 11, 1>, tile_of<T, 11, 2>}, {tile_of<T, 12, 1>, tile_of<T, 12, 2>},
#endif
#if defined(RL_ISA_avx512)
    {tile_of<T, 13, 1>, tile_of<T, 13, 2>}, {tile_of<T, 14, 1>, tile_of<T, 14, 2>},
#endif
};

}  // namespace

template <class T>
void tile(int rows, int vecs, const TileInput<T>& in, const TileOutput<T>& out) {
  static_assert(sizeof(kTiles<T>) / sizeof(kTiles<T>[0]) == kTileRows);
  kTiles<T>[rows - 1][vecs - 1](in, out);
}
template void tile(int, int, const TileInput<float>&, const TileOutput<float>&);
template void tile(int, int, const TileInput<double>&, const TileOutput<double>&);

namespace {

template <class T, int N>
struct BlockRow {
  typedef T type __attribute__((vector_size(N * sizeof(T))));
};

// Transposes a block of N x N in registers: pairs of elements, then pairs of pairs, then halves.
template <class T>
RL_INLINE void transpose_4x4(const T* src, int64_t src_row, T* dst, int64_t dst_row) {
  typename BlockRow<T, 4>::type x[4], pair[4];
  for (int i = 0; i < 4; ++i) std::memcpy(&x[i], src + i * src_row, sizeof(x[i]));
  for (int i = 0; i < 4; i += 2) {
    pair[i] = __builtin_shufflevector(x[i], x[i + 1], 0, 4, 1, 5);
    pair[i + 1] = __builtin_shufflevector(x[i], x[i + 1], 2, 6, 3, 7);
  }
  for (int i = 0; i < 2; ++i) {
    x[2 * i] = __builtin_shufflevector(pair[i], pair[i + 2], 0, 1, 4, 5);
    x[2 * i + 1] = __builtin_shufflevector(pair[i], pair[i + 2], 2, 3, 6, 7);
  }
  for (int i = 0; i < 4; ++i) std::memcpy(dst + i * dst_row, &x[i], sizeof(x[i]));
}

template <class T>
RL_INLINE void transpose_8x8(const T* src, int64_t src_row, T* dst, int64_t dst_row) {
  typename BlockRow<T, 8>::type x[8], y[8];
  for (int i = 0; i < 8; ++i) std::memcpy(&x[i], src + i * src_row, sizeof(x[i]));
  for (int i = 0; i < 8; i += 2) {
    y[i] = __builtin_shufflevector(x[i], x[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    y[i + 1] = __builtin_shufflevector(x[i], x[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int i = 0; i < 8; i += 4)
    for (int j = 0; j < 2; ++j) {
      x[i + 2 * j] = __builtin_shufflevector(y[i + j], y[i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      x[i + 2 * j + 1] = __builtin_shufflevector(y[i + j], y[i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  for (int i = 0; i < 4; ++i) {
    y[i] = __builtin_shufflevector(x[i], x[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    y[i + 4] = __builtin_shufflevector(x[i], x[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  for (int i = 0; i < 8; ++i) std::memcpy(dst + i * dst_row, &y[i], sizeof(y[i]));
}

}  // namespace

template <class T>
void transpose(const T* src, int64_t src_row, T* dst, int64_t dst_row, int64_t rows, int64_t cols) {
  constexpr int64_t block = sizeof(T) == 4 && kVecBytes >= 32 ? 8 : 4;
  int64_t r = 0;
  for (; r + block <= rows; r += block) {
    const T* s = src + r * src_row;
    T* d = dst + r;
    int64_t c = 0;
    for (; c + block <= cols; c += block) {
      if constexpr (block == 8) transpose_8x8(s + c, src_row, d + c * dst_row, dst_row);
      else transpose_4x4(s + c, src_row, d + c * dst_row, dst_row);
    }
    for (; block == 8 && c + 4 <= cols; c += 4)
      for (int i = 0; i < 8; i += 4) transpose_4x4(s + i * src_row + c, src_row, d + i + c * dst_row, dst_row);
    for (; c < cols; ++c)
      for (int64_t i = 0; i < block; ++i) d[c * dst_row + i] = s[i * src_row + c];
  }
  for (; r + 4 <= rows; r += 4) {
    int64_t c = 0;
    for (; c + 4 <= cols; c += 4) transpose_4x4(src + r * src_row + c, src_row, dst + r + c * dst_row, dst_row);
    for (; c < cols; ++c)
      for (int64_t i = r; i < r + 4; ++i) dst[c * dst_row + i] = src[i * src_row + c];
  }
  for (int64_t c = 0; c < cols; ++c)
    for (int64_t i = r; i < rows; ++i) dst[c * dst_row + i] = src[i * src_row + c];
}
template void transpose(const float*, int64_t, float*, int64_t, int64_t, int64_t);
template void transpose(const double*, int64_t, double*, int64_t, int64_t, int64_t);

}  // namespace rushlight::kernels::RL_ISA
