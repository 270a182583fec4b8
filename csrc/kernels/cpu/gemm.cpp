// Four ways to multiply, chosen by shape:
//   vector   one of the matrices is a row or a column: bound by reading the other one once
//   dot      very few rows, and B transposed: both are read along k, as they lie
//   direct   few rows, or a small product: A is read in place, B too where that pays; every thread works for itself
//   blocked  everything else: both are packed into the order in which the tile loop reads them, so that each
//            stays in its cache; see Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008)
#include "kernels/cpu/gemm.h"

#include "base/thread_pool.h"
#include "kernels/cpu/tile.h"

namespace rushlight::kernels::RL_ISA {
namespace {

template <class T>
struct Product {
  int64_t m, n, k;
  T alpha;
  const T* a;
  int64_t a_row, a_step;  // element (i, p) is a[i * a_row + p * a_step]
  const T* b;
  int64_t b_step, b_col;  // element (p, j) is b[p * b_step + j * b_col]
  T beta;
  T* c;
  int64_t c_row;
  const T* bias;  // of each column; may be null
};

constexpr int64_t kSmallProduct = 448 * 448 * 448;  // to here the threads had better not wait for each other

// How many units of work make a piece worth a thread.
int64_t grain_of(int64_t work_per_unit) { return max_of(1, kParallelWork / max_of(1, work_per_unit)); }

template <class T>
TileOutput<T> output_at(const Product<T>& g, int64_t i, int64_t j, int cols, bool first, bool last) {
  return {.c = g.c + i * g.c_row + j,
          .c_row = g.c_row,
          .cols = cols,
          .alpha = g.alpha,
          .beta = first ? g.beta : T(1),
          .col_bias = last && g.bias ? g.bias + j : nullptr};
}

template <class T>
int vecs_for(int64_t cols) {
  return int(divide_up(cols, kLanes<T>));
}

// Writes columns [j, j + cols) and steps [p, p + steps) of B as steps x width, zeros to the right.
template <class T>
void pack_b(const Product<T>& g, int64_t p, int64_t steps, int64_t j, int64_t cols, int64_t width, T* out) {
  const T* src = g.b + p * g.b_step + j * g.b_col;
  if (g.b_col == 1 && cols == kTileCols<T>) {
    for (int64_t q = 0; q < steps; ++q)
      for (int v = 0; v < kTileVecs; ++v)
        Vec<T>::load(src + q * g.b_step + v * kLanes<T>).store(out + q * width + v * kLanes<T>);
    return;
  }
  for (int64_t q = 0; cols < width && q < steps; ++q)
    for (int64_t c = cols; c < width; ++c) out[q * width + c] = 0;
  if (g.b_col == 1) {
    for (int64_t q = 0; q < steps; ++q)
      for (int64_t c = 0; c < cols; ++c) out[q * width + c] = src[q * g.b_step + c];
  } else {
    transpose(src, g.b_col, out, width, cols, steps);
  }
}

// Writes rows [i, i + rows) and steps [p, p + steps) of A as steps x rows.
template <class T>
void pack_a(const Product<T>& g, int64_t i, int64_t rows, int64_t p, int64_t steps, T* out) {
  const T* src = g.a + i * g.a_row + p * g.a_step;
  if (g.a_step == 1) {
    transpose(src, g.a_row, out, rows, rows, steps);
  } else {
    for (int64_t q = 0; q < steps; ++q)
      for (int64_t r = 0; r < rows; ++r) out[q * rows + r] = src[q * g.a_step + r * g.a_row];
  }
}

// k cut into blocks of at most `most`, as even as possible.
struct Blocks {
  int64_t size, count;
  Blocks(int64_t k, int64_t most) {
    size = divide_up(divide_up(k, divide_up(k, most)), 4) * 4;
    count = divide_up(k, size);
  }
};

// Finishes one element whose sum of products is known.
template <class T>
void put(const Product<T>& g, int64_t i, int64_t j, T sum) {
  T* c = g.c + i * g.c_row + j;
  T x = g.alpha * sum;
  if (g.beta != 0) x += g.beta * *c;
  if (g.bias) x += g.bias[j];
  *c = x;
}

// Nothing to add up: k == 0 or alpha == 0.
template <class T>
void scale(Product<T> g) {
  g.alpha = 0;
  for (int64_t i = 0; i < g.m; ++i)
    for (int64_t j = 0; j < g.n; ++j) put(g, i, j, T(0));
}

// y[r] = dot of row r of a matrix whose rows are contiguous, with x; `Rows` rows at a time.
template <class T, int Rows>
void dot_rows(const T* mat, int64_t row, const T* x, int64_t k, T* y) {
  constexpr int lanes = kLanes<T>, unroll = Rows == 1 ? 4 : 1;
  Vec<T> acc[Rows][unroll];
  for (int r = 0; r < Rows; ++r)
    for (int u = 0; u < unroll; ++u) acc[r][u] = T(0);
  int64_t p = 0;
  for (; p + lanes * unroll <= k; p += lanes * unroll)
    for (int u = 0; u < unroll; ++u) {
      const Vec<T> xv = Vec<T>::load(x + p + u * lanes);
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r)
        acc[r][u] = multiply_add(Vec<T>::load(mat + r * row + p + u * lanes), xv, acc[r][u]);
    }
  for (int r = 0; r < Rows; ++r) {
    Vec<T> total = acc[r][0];
    for (int u = 1; u < unroll; ++u) total += acc[r][u];
    T s = reduce_add(total);
    for (int64_t q = p; q < k; ++q) s += mat[r * row + q] * x[q];
    y[r] = s;
  }
}

// y[j] = sum over p of x[p] * mat[p * row + j], j < n
template <class T>
void weighted_rows(const T* mat, int64_t row, const T* x, int64_t k, int64_t n, T* y) {
  constexpr int lanes = kLanes<T>, vecs = 8;
  int64_t j = 0;
  for (; j + vecs * lanes <= n; j += vecs * lanes) {
    Vec<T> acc[vecs];
    for (int v = 0; v < vecs; ++v) acc[v] = T(0);
    for (int64_t p = 0; p < k; ++p) {
      const Vec<T> xv = x[p];
#pragma GCC unroll 8
      for (int v = 0; v < vecs; ++v) acc[v] = multiply_add(xv, Vec<T>::load(mat + p * row + j + v * lanes), acc[v]);
    }
    for (int v = 0; v < vecs; ++v) acc[v].store(y + j + v * lanes);
  }
  for (; j + lanes <= n; j += lanes) {
    Vec<T> acc[4] = {T(0), T(0), T(0), T(0)};
    int64_t p = 0;
    for (; p + 4 <= k; p += 4)
#pragma GCC unroll 4
      for (int u = 0; u < 4; ++u)
        acc[u] = multiply_add(Vec<T>(x[p + u]), Vec<T>::load(mat + (p + u) * row + j), acc[u]);
    for (; p < k; ++p) acc[0] = multiply_add(Vec<T>(x[p]), Vec<T>::load(mat + p * row + j), acc[0]);
    ((acc[0] + acc[1]) + (acc[2] + acc[3])).store(y + j);
  }
  for (; j < n; ++j) {
    T s = 0;
    for (int64_t p = 0; p < k; ++p) s += x[p] * mat[p * row + j];
    y[j] = s;
  }
}

// m == 1 or n == 1. The matrix element for result r and step p is mat[r * mat_row + p * mat_step].
template <class T>
void vector_product(const Product<T>& g) {
  const bool column = g.n == 1;
  const int64_t count = column ? g.m : g.n;
  const T* mat = column ? g.a : g.b;
  const int64_t mat_row = column ? g.a_row : g.b_col, mat_step = column ? g.a_step : g.b_step;
  const T* x = column ? g.b : g.a;
  const int64_t x_step = column ? g.b_step : g.a_step;

  Scratch<T> packed_x(x_step == 1 ? 0 : g.k);
  if (x_step != 1) {
    for (int64_t p = 0; p < g.k; ++p) packed_x.get()[p] = x[p * x_step];
    x = packed_x.get();
  }
  auto finish = [&](int64_t r, T s) { put(g, column ? r : 0, column ? 0 : r, s); };
  const int64_t grain = max_of(16, grain_of(g.k * 4));  // bound by memory: fewer operations a thread are worth it
  parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
    if (mat_step == 1) {
      int64_t r = begin;
      T s[4];
      for (; r + 4 <= end; r += 4) {
        dot_rows<T, 4>(mat + r * mat_row, mat_row, x, g.k, s);
        for (int i = 0; i < 4; ++i) finish(r + i, s[i]);
      }
      for (; r < end; ++r) {
        dot_rows<T, 1>(mat + r * mat_row, mat_row, x, g.k, s);
        finish(r, s[0]);
      }
    } else {
      constexpr int64_t chunk = 1024;
      alignas(kVecBytes) T y[chunk];
      for (int64_t r = begin; r < end; r += chunk) {
        const int64_t rows = min_of(chunk, end - r);
        weighted_rows(mat + r, mat_step, x, g.k, rows, y);
        for (int64_t i = 0; i < rows; ++i) finish(r + i, y[i]);
      }
    }
  });
}

// A few rows of A with many of a transposed B: both are read along k, a vector of partial sums for each pair of rows.
template <class T, int Rows>
void dot_tile(const Product<T>& g, int64_t i, int64_t j, int cols) {
  constexpr int most = 4, lanes = kLanes<T>;
  Vec<T> sums[Rows][most];
  const T *a[Rows], *b[most];
  for (int r = 0; r < Rows; ++r)
    for (int c = 0; c < most; ++c) sums[r][c] = T(0);
  for (int r = 0; r < Rows; ++r) a[r] = g.a + (i + r) * g.a_row;
  for (int c = 0; c < most; ++c) b[c] = g.b + (j + (c < cols ? c : 0)) * g.b_col;
  int64_t p = 0;
  for (; p + lanes <= g.k; p += lanes) {
    Vec<T> bv[most];
#pragma GCC unroll 4
    for (int c = 0; c < most; ++c) bv[c] = Vec<T>::load(b[c] + p);
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
      const Vec<T> av = Vec<T>::load(a[r] + p);
#pragma GCC unroll 4
      for (int c = 0; c < most; ++c) sums[r][c] = multiply_add(av, bv[c], sums[r][c]);
    }
  }
  if (const int rest = int(g.k - p); rest > 0)
    for (int r = 0; r < Rows; ++r)
      for (int c = 0; c < most; ++c)
        sums[r][c] = multiply_add(Vec<T>::load(a[r] + p, rest), Vec<T>::load(b[c] + p, rest), sums[r][c]);
  for (int r = 0; r < Rows; ++r)
    for (int c = 0; c < cols; ++c) put(g, i + r, j + c, reduce_add(sums[r][c]));
}

template <class T>
void dot_product(const Product<T>& g) {
  constexpr int rows = kVecBytes == 64 ? 4 : 2;  // as the registers allow
  parallel_for(0, divide_up(g.n, 4), grain_of(4 * g.m * g.k), [&](int64_t begin, int64_t end) {
    for (int64_t j = begin * 4; j < min_of(end * 4, g.n); j += 4) {
      const int cols = int(min_of(4, g.n - j));
      int64_t i = 0;
      for (; i + rows <= g.m; i += rows) dot_tile<T, rows>(g, i, j, cols);
      for (; i < g.m; ++i) dot_tile<T, 1>(g, i, j, cols);
    }
  });
}

template <class T>
void direct_product(const Product<T>& g) {
  constexpr int64_t width = kTileCols<T>;
  const int64_t panels = divide_up(g.n, width);
  const int64_t tile_rows = even_tile_rows(g.m), tiles = divide_up(g.m, tile_rows);
  const Blocks blocks(g.k, 512);
  // A unit is a group of tiles under one panel of B. Groups larger than one tile share the packing of B.
  const int64_t threads = num_threads();
  const int64_t groups = panels >= 2 * threads ? 1 : min_of(tiles, divide_up(2 * threads, panels));
  const int64_t group_tiles = divide_up(tiles, groups);
  const int64_t grain = grain_of(group_tiles * tile_rows * width * g.k);

  parallel_for(0, panels * groups, grain, [&](int64_t begin, int64_t end) {
    // Packing a panel of B pays where many tiles read it.
    const bool pack_all = g.b_col != 1 || group_tiles >= 8, pack_last = g.n % width && end > (panels - 1) * groups;
    Scratch<T> packed(pack_all || pack_last ? blocks.size * width : 0);
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t j = unit / groups * width, cols = min_of(width, g.n - j);
      const int64_t first_tile = unit % groups * group_tiles, end_tile = min_of(tiles, first_tile + group_tiles);
      for (int64_t block = 0; block < blocks.count; ++block) {
        const int64_t p = block * blocks.size, steps = min_of(blocks.size, g.k - p);
        TileInput<T> in{.a = nullptr,
                        .a_row = g.a_row,
                        .a_step = g.a_step,
                        .segment = kOneSegment,
                        .segments = 1,
                        .steps = steps,
                        .b = g.b + p * g.b_step + j,
                        .b_step = g.b_step,
                        .b_segment = 0};
        if (pack_all || cols < width) {
          const int64_t packed_width = vecs_for<T>(cols) * kLanes<T>;
          pack_b(g, p, steps, j, cols, packed_width, packed.get());
          in.b = packed.get(), in.b_step = packed_width;
        }
        for (int64_t t = first_tile; t < end_tile; ++t) {
          const int64_t i = t * tile_rows, rows = min_of(tile_rows, g.m - i);
          if (rows <= 0) break;
          in.a = g.a + i * g.a_row + p * g.a_step;
          tile(int(rows), vecs_for<T>(cols), in, output_at(g, i, j, int(cols), block == 0, block + 1 == blocks.count));
        }
      }
    }
  });
}

// Columns [j0, j0 + n) of the product.
template <class T>
void blocked_columns(const Product<T>& g, int64_t j0, int64_t n, const Blocks& blocks, T* packed_b) {
  constexpr int64_t width = kTileCols<T>;
  constexpr int64_t most_tiles = kTileRows > 8 ? 10 : 16;  // rows of packed A that stay in the second-level cache
  const int64_t panels = divide_up(n, width);
  auto panel_of = [&](int64_t block, int64_t steps, int64_t panel) {
    return packed_b + (block * blocks.size * panels + panel * steps) * width;
  };
  parallel_for(0, panels * blocks.count, grain_of(blocks.size * width * 4), [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t block = unit / panels, panel = unit % panels, p = block * blocks.size;
      const int64_t steps = min_of(blocks.size, g.k - p), j = panel * width;
      pack_b(g, p, steps, j0 + j, min_of(width, n - j), width, panel_of(block, steps, panel));
    }
  });

  const int64_t tile_rows = even_tile_rows(g.m), tiles = divide_up(g.m, tile_rows);
  const int64_t threads = num_threads();
  const int64_t groups = threads == 1 || tiles >= 4 * threads ? 1 : min_of(panels, divide_up(4 * threads, tiles));
  const int64_t group_panels = divide_up(panels, groups);
  parallel_for(0, tiles * groups, grain_of(tile_rows * group_panels * width * g.k), [&](int64_t begin, int64_t end) {
    Scratch<T> packed_a(most_tiles * tile_rows * blocks.size);
    for (int64_t unit = begin; unit < end;) {
      const int64_t group = unit / tiles, first_tile = unit % tiles;
      const int64_t run = min_of(end - unit, tiles - first_tile);
      const int64_t chunk = min_of(run, divide_up(run, divide_up(run, most_tiles)));
      const int64_t end_tile = first_tile + chunk;
      unit += chunk;
      const int64_t first_panel = group * group_panels, end_panel = min_of(panels, first_panel + group_panels);
      for (int64_t block = 0; block < blocks.count; ++block) {
        const int64_t p = block * blocks.size, steps = min_of(blocks.size, g.k - p);
        for (int64_t t = first_tile; t < end_tile; ++t) {
          const int64_t i = t * tile_rows, rows = min_of(tile_rows, g.m - i);
          if (rows > 0) pack_a(g, i, rows, p, steps, packed_a.get() + (t - first_tile) * tile_rows * steps);
        }
        for (int64_t panel = first_panel; panel < end_panel; ++panel) {
          const int64_t j = panel * width, cols = min_of(width, n - j);
          for (int64_t t = first_tile; t < end_tile; ++t) {
            const int64_t i = t * tile_rows, rows = min_of(tile_rows, g.m - i);
            if (rows <= 0) break;
            const TileInput<T> in{.a = packed_a.get() + (t - first_tile) * tile_rows * steps,
                                  .a_row = 1,
                                  .a_step = rows,
                                  .segment = kOneSegment,
                                  .segments = 1,
                                  .steps = steps,
                                  .b = panel_of(block, steps, panel),
                                  .b_step = width,
                                  .b_segment = 0};
            tile(int(rows), vecs_for<T>(cols), in,
                 output_at(g, i, j0 + j, int(cols), block == 0, block + 1 == blocks.count));
          }
        }
      }
    }
  });
}

template <class T>
void blocked_product(const Product<T>& g) {
  constexpr int64_t width = kTileCols<T>;
  constexpr int64_t most_packed = (32 << 20) / int64_t(sizeof(T));  // elements of packed B held at a time
  const Blocks blocks(g.k, 1024 / int64_t(sizeof(T)));
  const int64_t chunk = max_of(width, min_of(divide_up(g.n, width) * width, most_packed / g.k / width * width));
  Scratch<T> packed_b(g.k * chunk);
  for (int64_t j = 0; j < g.n; j += chunk) blocked_columns(g, j, min_of(chunk, g.n - j), blocks, packed_b.get());
}

template <class T>
void multiply(const Product<T>& g) {
  if (g.m == 0 || g.n == 0) return;
  if (g.k == 0 || g.alpha == 0) return scale(g);
  if (g.m == 1 || g.n == 1) return vector_product(g);
  if (g.m <= 8 && g.b_step == 1 && g.a_step == 1 && g.k >= 4 * kLanes<T>) return dot_product(g);
  if (g.m <= 3 * kTileRows || g.n <= 2 * kTileCols<T> || g.m * g.n * g.k <= kSmallProduct) return direct_product(g);
  blocked_product(g);
}

template <class T>
Product<T> product_of(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
                      const T* b, int64_t ldb, T beta, T* c, int64_t ldc, const T* bias = nullptr) {
  return {.m = m,
          .n = n,
          .k = k,
          .alpha = alpha,
          .a = a,
          .a_row = trans_a ? 1 : lda,
          .a_step = trans_a ? lda : 1,
          .b = b,
          .b_step = trans_b ? 1 : ldb,
          .b_col = trans_b ? ldb : 1,
          .beta = beta,
          .c = c,
          .c_row = ldc,
          .bias = bias};
}

template <class T>
void multiply_batch(int64_t batch, int64_t stride_a, int64_t stride_b, int64_t stride_c, const Product<T>& first) {
  auto one = [&](int64_t i) {
    Product<T> g = first;
    g.a += i * stride_a, g.b += i * stride_b, g.c += i * stride_c;
    multiply(g);
  };
  const int64_t work = first.m * first.n * first.k;
  if (batch < num_threads() && work > 2 * kParallelWork) {
    for (int64_t i = 0; i < batch; ++i) one(i);  // each product is split across the threads
    return;
  }
  parallel_for(0, batch, grain_of(work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) one(i);
  });
}

}  // namespace

void gemm_f32(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a, int64_t lda,
              const float* b, int64_t ldb, float beta, float* c, int64_t ldc, const float* bias) {
  multiply(product_of(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, bias));
}

void gemm_f64(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha, const double* a, int64_t lda,
              const double* b, int64_t ldb, double beta, double* c, int64_t ldc, const double* bias) {
  multiply(product_of(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, bias));
}

void gemm_batched_f32(bool trans_a, bool trans_b, int64_t batch, int64_t m, int64_t n, int64_t k, float alpha,
                      const float* a, int64_t lda, int64_t stride_a, const float* b, int64_t ldb, int64_t stride_b,
                      float beta, float* c, int64_t ldc, int64_t stride_c) {
  multiply_batch(batch, stride_a, stride_b, stride_c,
                 product_of(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc));
}

void gemm_batched_f64(bool trans_a, bool trans_b, int64_t batch, int64_t m, int64_t n, int64_t k, double alpha,
                      const double* a, int64_t lda, int64_t stride_a, const double* b, int64_t ldb, int64_t stride_b,
                      double beta, double* c, int64_t ldc, int64_t stride_c) {
  multiply_batch(batch, stride_a, stride_b, stride_c,
                 product_of(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc));
}

void gemm_i64(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, int64_t alpha, const int64_t* a, int64_t lda,
              const int64_t* b, int64_t ldb, int64_t beta, int64_t* c, int64_t ldc) {
  const int64_t a_row = trans_a ? 1 : lda, a_step = trans_a ? lda : 1;
  const int64_t b_step = trans_b ? 1 : ldb, b_col = trans_b ? ldb : 1;
  parallel_for(0, m, grain_of(n * k * 4), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      auto* out = reinterpret_cast<uint64_t*>(c + i * ldc);
      for (int64_t j = 0; j < n; ++j) out[j] = beta == 0 ? 0 : uint64_t(beta) * out[j];
      for (int64_t p = 0; p < k; ++p) {
        const uint64_t x = uint64_t(alpha) * uint64_t(a[i * a_row + p * a_step]);
        for (int64_t j = 0; j < n; ++j) out[j] += x * uint64_t(b[p * b_step + j * b_col]);
      }
    }
  });
}

}  // namespace rushlight::kernels::RL_ISA
