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
      if (o.row_bias) x += Vec<T>(o.row_bias[r]);
      if (o.col_bias) x += col_bias;
      if (o.relu) x = select(x < Vec<T>(0), Vec<T>(0), x);  // NaN stays
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

  const bool plain = out.alpha == 1 && !out.row_bias && !out.col_bias && !out.relu;
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

template <class T>
void transpose(const T* src, int64_t src_row, T* dst, int64_t dst_row, int64_t rows, int64_t cols) {
  typedef T Four __attribute__((vector_size(4 * sizeof(T)), aligned(alignof(T)), may_alias));
  const int64_t rows4 = rows & ~int64_t(3), cols4 = cols & ~int64_t(3);
  for (int64_t r = 0; r < rows4; r += 4) {
    const T* s = src + r * src_row;
    T* d = dst + r;
    int64_t c = 0;
    for (; c < cols4; c += 4) {
      typedef T Wide __attribute__((vector_size(4 * sizeof(T))));
      Wide x0 = *reinterpret_cast<const Four*>(s + c), x1 = *reinterpret_cast<const Four*>(s + src_row + c);
      Wide x2 = *reinterpret_cast<const Four*>(s + 2 * src_row + c);
      Wide x3 = *reinterpret_cast<const Four*>(s + 3 * src_row + c);
      Wide lo01 = __builtin_shufflevector(x0, x1, 0, 4, 1, 5), hi01 = __builtin_shufflevector(x0, x1, 2, 6, 3, 7);
      Wide lo23 = __builtin_shufflevector(x2, x3, 0, 4, 1, 5), hi23 = __builtin_shufflevector(x2, x3, 2, 6, 3, 7);
      T* out = d + c * dst_row;
      *reinterpret_cast<Four*>(out) = __builtin_shufflevector(lo01, lo23, 0, 1, 4, 5);
      *reinterpret_cast<Four*>(out + dst_row) = __builtin_shufflevector(lo01, lo23, 2, 3, 6, 7);
      *reinterpret_cast<Four*>(out + 2 * dst_row) = __builtin_shufflevector(hi01, hi23, 0, 1, 4, 5);
      *reinterpret_cast<Four*>(out + 3 * dst_row) = __builtin_shufflevector(hi01, hi23, 2, 3, 6, 7);
    }
    for (; c < cols; ++c)
      for (int64_t i = 0; i < 4; ++i) d[c * dst_row + i] = s[i * src_row + c];
  }
  for (int64_t c = 0; c < cols; ++c)
    for (int64_t r = rows4; r < rows; ++r) dst[c * dst_row + r] = src[r * src_row + c];
}
template void transpose(const float*, int64_t, float*, int64_t, int64_t, int64_t);
template void transpose(const double*, int64_t, double*, int64_t, int64_t, int64_t);

}  // namespace rushlight::kernels::RL_ISA
