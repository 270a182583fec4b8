// Gradients of the weights and of the bias. The sum over a band of output pixels is the tile loop again: rows are
// consecutive elements of a pixel's neighbourhood, columns output channels, steps pixels, segments rows of the image.
// Each thread adds up the images of its share; the shares are then added in order, so results do not vary.
#include "base/thread_pool.h"
#include "kernels/cpu/conv2d_window.h"

namespace rushlight::kernels::RL_ISA {
namespace {

template <class T>
struct WeightGradient {
  const Conv2dShape& s;
  ImageView<const T> x, grad_y;
  int64_t c_in, c_out, padded_out;  // channels of one group
  int64_t band_rows, window_width, window_height;
  int64_t rows_a_sum;      // of pixels, which are added up before they join the whole
  int64_t images_at_once;  // more than one where small images fit the cache together
  // Rows of the sum come in runs that are contiguous in a window of x: one for each row of taps, or for each tap.
  int64_t runs, run_length;

  int64_t sums_size() const { return s.kh * s.kw * c_in * padded_out; }  // of one group, as taps x c_in x padded_out
};

template <class T>
WeightGradient<T> weight_gradient(const Conv2dShape& s, const T* x, Layout x_layout, const T* grad_y,
                                  Layout grad_y_layout) {
  WeightGradient<T> g{.s = s,
                      .x = {x, x_layout, s.c_in, s.h, s.w},
                      .grad_y = {grad_y, grad_y_layout, s.c_out, s.h_out, s.w_out},
                      .c_in = s.c_in / s.groups,
                      .c_out = s.c_out / s.groups,
                      .padded_out = 0,
                      .band_rows = 0,
                      .window_width = (s.w_out - 1) * s.stride_w + (s.kw - 1) * s.dil_w + 1,
                      .window_height = 0,
                      .rows_a_sum = 1,
                      .images_at_once = 1,
                      .runs = 0,
                      .run_length = 0};
  g.padded_out = divide_up(g.c_out, kLanes<T>) * kLanes<T>;
  const int64_t row_bytes = (s.stride_h * g.window_width * g.c_in + s.w_out * g.padded_out) * int64_t(sizeof(T));
  g.band_rows = min_of(s.h_out, max_of(max_of(1, kWindowBytes / row_bytes), (s.kh - 1) * s.dil_h / s.stride_h));
  g.window_height = (g.band_rows - 1) * s.stride_h + (s.kh - 1) * s.dil_h + 1;
  if (g.band_rows == s.h_out) {
    const int64_t image_bytes =
        (g.window_height * g.window_width * g.c_in + s.h_out * s.w_out * g.padded_out) * int64_t(sizeof(T));
    g.images_at_once = min_of(s.n, max_of(1, 4 * kWindowBytes / image_bytes));
  }
  // Rounding errors grow with the number of terms: least where a sum and the sum of sums are about as long.
  while (g.rows_a_sum * s.w_out < 32 || g.rows_a_sum * s.w_out * g.rows_a_sum < s.n * s.h_out) g.rows_a_sum++;
  const bool touching = s.dil_w == 1;
  g.runs = touching ? s.kh : s.kh * s.kw;
  g.run_length = touching ? s.kw * g.c_in : g.c_in;
  return g;
}

// Adds the contribution of images [image, image + images), at most images_at_once, to the rows [begin, end) of the
// tiles of sums; `first` overwrites them.
template <class T>
void add_images(const WeightGradient<T>& g, int64_t image, int64_t images, int64_t group, int64_t begin, int64_t end,
                bool first, T* window, T* pixels, int64_t* segment, T* sums) {
  const auto& s = g.s;
  const int64_t tile_rows = even_tile_rows(g.run_length), run_tiles = divide_up(g.run_length, tile_rows);
  const int64_t window_row = g.window_width * g.c_in;
  for (int64_t row = 0; row < s.h_out; row += g.band_rows) {
    const int64_t rows = min_of(g.band_rows, s.h_out - row);
    const WindowRange in{.row = row * s.stride_h - s.pad_h,
                         .height = (rows - 1) * s.stride_h + (s.kh - 1) * s.dil_h + 1,
                         .column = -s.pad_w,
                         .width = g.window_width};
    const WindowRange out{.row = row, .height = rows, .column = 0, .width = s.w_out};
    for (int64_t i = 0; i < images; ++i) {
      T* to = window + i * g.window_height * window_row;
      copy_window(g.x, image + i, group * g.c_in, g.c_in, s.h, s.w, in, to, g.c_in);
      copy_window(g.grad_y, image + i, group * g.c_out, g.c_out, s.h_out, s.w_out, out,
                  pixels + i * rows * s.w_out * g.padded_out, g.padded_out);
      for (int64_t r = 0; r < rows; ++r) segment[i * rows + r] = (i * g.window_height + r * s.stride_h) * window_row;
    }

    for (int64_t o = 0; o < g.padded_out; o += kTileCols<T>) {
      const int64_t cols = min_of(kTileCols<T>, g.padded_out - o);
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t run = unit / run_tiles, offset = unit % run_tiles * tile_rows;
        if (offset >= g.run_length) continue;
        const int64_t taps_a_run = g.run_length / g.c_in;
        const int64_t tap_row = run * taps_a_run / s.kw, tap_column = run * taps_a_run % s.kw;
        for (int64_t piece = 0; piece < images * rows; piece += g.rows_a_sum) {
          const TileInput<T> input{
              .a = window + tap_row * s.dil_h * window_row + tap_column * s.dil_w * g.c_in + offset,
              .a_row = 1,
              .a_step = s.stride_w * g.c_in,
              .segment = segment + piece,
              .segments = min_of(g.rows_a_sum, images * rows - piece),
              .steps = s.w_out,
              .b = pixels + piece * s.w_out * g.padded_out + o,
              .b_step = g.padded_out,
              .b_segment = s.w_out * g.padded_out};
          const TileOutput<T> output{.c = sums + (run * g.run_length + offset) * g.padded_out + o,
                                     .c_row = g.padded_out,
                                     .cols = int(cols),
                                     .alpha = 1,
                                     .beta = T(first && row == 0 && piece == 0 ? 0 : 1),
                                     .col_bias = nullptr};
          tile(int(min_of(tile_rows, g.run_length - offset)), int(divide_up(cols, kLanes<T>)), input, output);
        }
      }
    }
  }
}

// Adds the shares' sums in order and writes them in the weights' layout, a block of channels at a time.
template <class T>
void collect(const WeightGradient<T>& g, T* sums, int64_t shares, const ImageView<T>& out) {
  constexpr int64_t out_block = kTileCols<T>, in_block = 64;
  const auto& s = g.s;
  const int64_t taps = s.kh * s.kw, group_size = g.sums_size(), share_size = s.groups * group_size;
  const int64_t out_blocks = divide_up(g.c_out, out_block), in_blocks = divide_up(g.c_in, in_block);
  const int64_t grain = max_of(1, 16384 / (taps * min_of(in_block, g.c_in) * out_block * shares));
  parallel_for(0, s.groups * out_blocks * in_blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t first_in = unit % in_blocks * in_block, c_in = min_of(in_block, g.c_in - first_in);
      const int64_t first_out = unit / in_blocks % out_blocks * out_block,
                    c_out = min_of(out_block, g.c_out - first_out);
      const int64_t group = unit / in_blocks / out_blocks;
      T* from = sums + group * group_size + first_in * g.padded_out + first_out;  // [tap][c_in][c_out]
      for (int64_t share = 1; share < shares; ++share)
        for (int64_t t = 0; t < taps; ++t)
          for (int64_t c = 0; c < c_in; ++c) {
            T* to = from + (t * g.c_in + c) * g.padded_out;
            for (int64_t o = 0; o < c_out; ++o) to[o] += to[share * share_size + o];
          }
      T* to = out.at(group * g.c_out + first_out, first_in, 0, 0);
      if (out.channel_step == 1) {
        for (int64_t t = 0; t < taps; ++t)
          transpose(from + t * g.c_in * g.padded_out, g.padded_out, to + t * out.column_step, out.image_step, c_in,
                    c_out);
      } else {
        for (int64_t c = 0; c < c_in; ++c)
          transpose(from + c * g.padded_out, g.c_in * g.padded_out, to + c * out.channel_step, out.image_step, taps,
                    c_out);
      }
    }
  });
}

template <class T>
void grad_weight(const Conv2dShape& s, const T* x, Layout x_layout, const T* grad_y, Layout grad_y_layout, T* grad_w,
                 Layout grad_w_layout) {
  const int64_t weights = s.c_out * (s.c_in / s.groups) * s.kh * s.kw;
  if (weights == 0) return;
  if (s.n * s.h_out * s.w_out == 0) {
    std::memset(grad_w, 0, size_t(weights) * sizeof(T));
    return;
  }
  if (is_depthwise(s.groups, s.c_in / s.groups, s.c_out / s.groups) && s.c_in == s.groups)
    return grad_weight_depthwise(s, ImageView<const T>(x, x_layout, s.c_in, s.h, s.w),
                                 ImageView<const T>(grad_y, grad_y_layout, s.c_out, s.h_out, s.w_out),
                                 ImageView<T>(grad_w, grad_w_layout, 1, s.kh, s.kw));
  const auto g = weight_gradient(s, x, x_layout, grad_y, grad_y_layout);
  const int64_t tiles = g.runs * divide_up(g.run_length, even_tile_rows(g.run_length));
  const int64_t work = s.n * s.h_out * s.w_out * weights;
  const int64_t threads = work < 2 * kParallelWork ? 1 : num_threads();
  // Shares of the images first; where they do not suffice, the tiles of the sums are split too.
  const int64_t shares = min_of(threads, s.n);
  const int64_t parts = min_of(tiles, divide_up(threads, shares * s.groups));
  Scratch<T> sums(shares * s.groups * g.sums_size());
  const int64_t units = shares * s.groups * parts;
  parallel_for(0, units, threads == 1 ? units : 1, [&](int64_t begin, int64_t end) {
    Scratch<T> window(g.images_at_once * g.window_height * g.window_width * g.c_in);
    const int64_t pixels_size = g.images_at_once * g.band_rows * s.w_out * g.padded_out;
    Scratch<T> pixels(pixels_size);
    Scratch<int64_t> segment(g.images_at_once * g.band_rows);
    // The padding of the channels is never written, and must not hold NaN.
    std::memset(pixels.get(), 0, size_t(pixels_size) * sizeof(T));
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t part = unit % parts, group = unit / parts % s.groups, share = unit / (parts * s.groups);
      const int64_t first = share * s.n / shares, last = (share + 1) * s.n / shares;
      for (int64_t image = first; image < last; image += g.images_at_once)
        add_images(g, image, min_of(g.images_at_once, last - image), group, part * tiles / parts,
                   (part + 1) * tiles / parts, image == first, window.get(), pixels.get(), segment.get(),
                   sums.get() + (share * s.groups + group) * g.sums_size());
    }
  });
  collect(g, sums.get(), shares, ImageView<T>(grad_w, grad_w_layout, g.c_in, s.kh, s.kw));
}

// Each channel is summed over rows of pixels in vectors, then over images.
template <class T>
void grad_bias(const Conv2dShape& s, const T* grad_y, Layout layout, T* grad_b) {
  const int64_t plane = s.h_out * s.w_out;
  if (layout == Layout::channels_first) {
    parallel_for(0, s.c_out, max_of(1, 32768 / max_of(1, s.n * plane)), [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        T total = 0;
        for (int64_t image = 0; image < s.n; ++image) {
          const T* p = grad_y + (image * s.c_out + c) * plane;
          Vec<T> sums[4] = {T(0), T(0), T(0), T(0)};
          int64_t i = 0;
          for (; i + 4 * kLanes<T> <= plane; i += 4 * kLanes<T>)
            for (int u = 0; u < 4; ++u) sums[u] += Vec<T>::load(p + i + u * kLanes<T>);
          for (; i < plane; i += kLanes<T>) sums[0] += Vec<T>::load(p + i, int(min_of(kLanes<T>, plane - i)));
          total += reduce_add((sums[0] + sums[1]) + (sums[2] + sums[3]));
        }
        grad_b[c] = total;
      }
    });
    return;
  }
  // Channels innermost: each piece takes a few vectors of channels through all pixels, an image's sum at a time.
  const int64_t blocks = divide_up(s.c_out, kLanes<T>);
  parallel_for(0, blocks, max_of(1, 32768 / max_of(1, s.n * plane * kLanes<T>)), [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t c = block * kLanes<T>;
      const int count = int(min_of(kLanes<T>, s.c_out - c));
      Vec<T> total = T(0);
      for (int64_t image = 0; image < s.n; ++image) {
        Vec<T> sums[4] = {T(0), T(0), T(0), T(0)};
        for (int64_t i = 0; i < plane; ++i)
          sums[i % 4] += Vec<T>::load(grad_y + (image * plane + i) * s.c_out + c, count);
        total += (sums[0] + sums[1]) + (sums[2] + sums[3]);
      }
      total.store(grad_b + c, count);
    }
  });
}

}  // namespace

void conv2d_grad_weight_f32(const Conv2dShape& s, const float* x, Layout x_layout, const float* grad_y,
                            Layout grad_y_layout, float* grad_weight, Layout grad_weight_layout) {
  RL_ISA::grad_weight(s, x, x_layout, grad_y, grad_y_layout, grad_weight, grad_weight_layout);
}
void conv2d_grad_weight_f64(const Conv2dShape& s, const double* x, Layout x_layout, const double* grad_y,
                            Layout grad_y_layout, double* grad_weight, Layout grad_weight_layout) {
  RL_ISA::grad_weight(s, x, x_layout, grad_y, grad_y_layout, grad_weight, grad_weight_layout);
}
void conv2d_grad_bias_f32(const Conv2dShape& s, const float* grad_y, Layout grad_y_layout, float* grad_bias) {
  RL_ISA::grad_bias(s, grad_y, grad_y_layout, grad_bias);
}
void conv2d_grad_bias_f64(const Conv2dShape& s, const double* grad_y, Layout grad_y_layout, double* grad_bias) {
  RL_ISA::grad_bias(s, grad_y, grad_y_layout, grad_bias);
}

}  // namespace rushlight::kernels::RL_ISA
