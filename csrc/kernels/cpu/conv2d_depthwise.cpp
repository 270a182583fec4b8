// Convolution with one channel, or very few, in each group: the lanes of a vector hold output channels of different
// groups, so each channel is convolved on its own, as many at a time as a vector holds.
#include "base/thread_pool.h"
#include "kernels/cpu/conv2d_window.h"

namespace rushlight::kernels::RL_ISA {
namespace {

constexpr int kPixels = 8;  // outputs, or taps of a gradient, held in registers

// out[p] += sum over taps t of x[tap[t] + p * step] * weight[t], p < Pixels; one vector of channels each
template <class T, int Pixels>
void add_taps(const T* x, int64_t step, const int64_t* tap, int64_t taps, const T* weight, T* out) {
  constexpr int lanes = kLanes<T>;
  Vec<T> sums[Pixels];
#pragma GCC unroll 8
  for (int p = 0; p < Pixels; ++p) sums[p] = Vec<T>::load(out + p * lanes);
  for (int64_t t = 0; t < taps; ++t) {
    const Vec<T> w = Vec<T>::load(weight + t * lanes);
#pragma GCC unroll 8
    for (int p = 0; p < Pixels; ++p) sums[p] = multiply_add(Vec<T>::load(x + tap[t] + p * step), w, sums[p]);
  }
#pragma GCC unroll 8
  for (int p = 0; p < Pixels; ++p) sums[p].store(out + p * lanes);
}

template <class T>
constexpr void (*kAddTaps[kPixels])(const T*, int64_t, const int64_t*, int64_t, const T*, T*) = {
    add_taps<T, 1>, add_taps<T, 2>, add_taps<T, 3>, add_taps<T, 4>,
    add_taps<T, 5>, add_taps<T, 6>, add_taps<T, 7>, add_taps<T, 8>};

// Fills lane l of out[height][width][lanes] with channel (first + l) / repeat * spread + offset of the image.
template <class T>
void copy_lanes(const ImageView<const T>& x, int64_t image, int64_t first, int64_t count, int64_t repeat,
                int64_t spread, int64_t offset, int64_t image_h, int64_t image_w, const WindowRange& r, T* out) {
  constexpr int64_t lanes = kLanes<T>;
  if (repeat == 1 && spread == 1) return copy_window(x, image, first, count, image_h, image_w, r, out, lanes);
  std::memset(out, 0, size_t(r.height * r.width * lanes) * sizeof(T));
  for (int64_t l = 0; l < count; ++l) {
    const int64_t channel = (first + l) / repeat * spread + offset;
    for (int64_t i = max_of(0, -r.row); i < min_of(r.height, image_h - r.row); ++i)
      for (int64_t j = max_of(0, -r.column); j < min_of(r.width, image_w - r.column); ++j)
        out[(i * r.width + j) * lanes + l] = *x.at(image, channel, r.row + i, r.column + j);
  }
}

// Taps x lanes for each block of output channels and each input channel of a group.
template <class T>
void pack_depthwise(const Convolution<T>& k, int64_t blocks, T* out) {
  constexpr int64_t lanes = kLanes<T>;
  const auto& w = k.weight;
  std::memset(out, 0, size_t(blocks * k.c_in * k.y.taps * k.x.taps * lanes) * sizeof(T));
  for (int64_t block = 0; block < blocks; ++block)
    for (int64_t c = 0; c < k.c_in; ++c)
      for (int64_t i = 0; i < k.y.taps; ++i)
        for (int64_t j = 0; j < k.x.taps; ++j, out += lanes)
          for (int64_t l = 0; l < min_of(lanes, k.groups * k.c_out - block * lanes); ++l) {
            const int64_t channel = block * lanes + l;
            out[l] = w.data[channel / k.c_out * w.group_step + channel % k.c_out * w.out_step + c * w.in_step +
                            k.y.element[i] * w.row_step + k.x.element[j] * w.column_step];
          }
}

}  // namespace

template <class T>
void convolve_depthwise(const Convolution<T>& k) {
  constexpr int64_t lanes = kLanes<T>;
  const int64_t channels = k.groups * k.c_out, blocks = divide_up(channels, lanes), taps = k.y.taps * k.x.taps;
  const int64_t window_width = (k.x.outputs - 1) * k.x.step + k.x.reach();
  const int64_t row_bytes = (window_width * k.y.step + k.x.outputs) * kVecBytes;
  const int64_t band_rows = min_of(k.y.outputs, max_of(max_of(1, kWindowBytes / row_bytes), k.y.reach() / k.y.step));
  const int64_t bands = divide_up(k.y.outputs, band_rows);
  Scratch<T> weights(blocks * k.c_in * taps * lanes);
  pack_depthwise(k, blocks, weights.get());

  const int64_t unit_work = band_rows * k.x.outputs * taps * k.c_in * lanes;
  parallel_for(0, k.images * blocks * bands, max_of(1, kParallelWork / unit_work), [&](int64_t begin, int64_t end) {
    Scratch<T> window(((band_rows - 1) * k.y.step + k.y.reach()) * window_width * lanes);
    Scratch<T> outputs(band_rows * k.x.outputs * lanes);
    Scratch<int64_t> tap(taps);
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t row = unit % bands * band_rows, rows = min_of(band_rows, k.y.outputs - row);
      const int64_t block = unit / bands % blocks, image = unit / bands / blocks;
      const int64_t channel = block * lanes, count = min_of(lanes, channels - channel);
      const WindowRange range{.row = row * k.y.step + k.y.lowest(),
                              .height = (rows - 1) * k.y.step + k.y.reach(),
                              .column = k.x.lowest(),
                              .width = window_width};
      const bool in_place = k.in.channel_step == 1 && count == lanes && k.c_in * k.c_out == 1 && range.row >= 0 &&
                            range.row + range.height <= k.y.inputs && range.column >= 0 &&
                            range.column + range.width <= k.x.inputs;
      const T* source = in_place ? k.in.at(image, channel, range.row, range.column) : window.get();
      const int64_t source_row = in_place ? k.in.row_step : window_width * lanes;
      const int64_t source_column = in_place ? k.in.column_step : lanes;
      for (int64_t t = 0; t < taps; ++t)
        tap.get()[t] = (k.y.offset[t / k.x.taps] - k.y.lowest()) * source_row +
                       (k.x.offset[t % k.x.taps] - k.x.lowest()) * source_column;

      const Vec<T> start = k.bias ? Vec<T>::load(k.bias + channel, int(count)) : Vec<T>(0);
      for (int64_t i = 0; i < rows * k.x.outputs; ++i) start.store(outputs.get() + i * lanes);
      for (int64_t c = 0; c < k.c_in; ++c) {
        if (!in_place)
          copy_lanes(k.in, image, channel, count, k.c_out, k.c_in, c, k.y.inputs, k.x.inputs, range, window.get());
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < k.x.outputs; j += kPixels) {
            const auto add = kAddTaps<T>[min_of(kPixels, k.x.outputs - j) - 1];
            add(source + i * k.y.step * source_row + j * k.x.step * source_column, k.x.step * source_column, tap.get(),
                taps, weights.get() + (block * k.c_in + c) * taps * lanes,
                outputs.get() + (i * k.x.outputs + j) * lanes);
          }
      }
      if (k.out.channel_step != 1) {
        put_outputs(k, outputs.get(), image, channel, count, row, rows, lanes);
        continue;
      }
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < k.x.outputs; ++j)
          Vec<T>::load(outputs.get() + (i * k.x.outputs + j) * lanes)
              .store(k.out.at(image, channel, k.y.first + (row + i) * k.y.out_step, k.x.first + j * k.x.out_step),
                     int(count));
    }
  });
}
template void convolve_depthwise(const Convolution<float>&);
template void convolve_depthwise(const Convolution<double>&);

namespace {

// sums[t] += sum over a band of pixels of x[tap[t] + pixel] * grad[pixel], t < Taps; one vector of channels each. Every
// row of pixels is added up by itself, which keeps the rounding of long sums down.
template <class T, int Taps>
void add_pixels(const T* x, int64_t row_step, int64_t column_step, const int64_t* tap, const T* grad, int64_t rows,
                int64_t columns, T* sums) {
  constexpr int lanes = kLanes<T>;
  for (int64_t i = 0; i < rows; ++i) {
    Vec<T> total[Taps];
#pragma GCC unroll 8
    for (int t = 0; t < Taps; ++t) total[t] = Vec<T>(T(0));
    for (int64_t j = 0; j < columns; ++j, grad += lanes) {
      const Vec<T> g = Vec<T>::load(grad);
      const T* at = x + i * row_step + j * column_step;
#pragma GCC unroll 8
      for (int t = 0; t < Taps; ++t) total[t] = multiply_add(Vec<T>::load(at + tap[t]), g, total[t]);
    }
#pragma GCC unroll 8
    for (int t = 0; t < Taps; ++t) (Vec<T>::load(sums + t * lanes) + total[t]).store(sums + t * lanes);
  }
}

template <class T>
constexpr void (*kAddPixels[kPixels])(const T*, int64_t, int64_t, const int64_t*, const T*, int64_t, int64_t, T*) = {
    add_pixels<T, 1>, add_pixels<T, 2>, add_pixels<T, 3>, add_pixels<T, 4>,
    add_pixels<T, 5>, add_pixels<T, 6>, add_pixels<T, 7>, add_pixels<T, 8>};

}  // namespace

template <class T>
void grad_weight_depthwise(const Conv2dShape& s, const ImageView<const T>& x, const ImageView<const T>& grad_y,
                           const ImageView<T>& grad_weight) {
  constexpr int64_t lanes = kLanes<T>;
  const int64_t blocks = divide_up(s.c_out, lanes), taps = s.kh * s.kw;
  const int64_t window_width = (s.w_out - 1) * s.stride_w + (s.kw - 1) * s.dil_w + 1;
  const int64_t row_bytes = (window_width * s.stride_h + s.w_out) * kVecBytes;
  const int64_t reach = (s.kh - 1) * s.dil_h + 1;
  const int64_t band_rows = min_of(s.h_out, max_of(max_of(1, kWindowBytes / row_bytes), reach / s.stride_h));
  const int64_t threads = num_threads();
  const int64_t shares = blocks >= threads ? 1 : min_of(s.n, divide_up(threads, blocks));  // of the images
  Scratch<T> sums(shares * blocks * taps * lanes);
  Scratch<int64_t> tap(taps);
  for (int64_t t = 0; t < taps; ++t) tap.get()[t] = (t / s.kw * s.dil_h * window_width + t % s.kw * s.dil_w) * lanes;

  const int64_t unit_work = s.n / shares * s.h_out * s.w_out * taps * lanes;
  parallel_for(0, shares * blocks, max_of(1, kParallelWork / max_of(1, unit_work)), [&](int64_t begin, int64_t end) {
    Scratch<T> window(((band_rows - 1) * s.stride_h + reach) * window_width * lanes);
    Scratch<T> pixels(band_rows * s.w_out * lanes);
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t share = unit / blocks, channel = unit % blocks * lanes, count = min_of(lanes, s.c_out - channel);
      T* total = sums.get() + unit * taps * lanes;
      std::memset(total, 0, size_t(taps * lanes) * sizeof(T));
      for (int64_t image = share * s.n / shares; image < (share + 1) * s.n / shares; ++image)
        for (int64_t row = 0; row < s.h_out; row += band_rows) {
          const int64_t rows = min_of(band_rows, s.h_out - row);
          const WindowRange in{.row = row * s.stride_h - s.pad_h,
                               .height = (rows - 1) * s.stride_h + reach,
                               .column = -s.pad_w,
                               .width = window_width};
          copy_lanes(x, image, channel, count, s.c_out / s.groups, 1, 0, s.h, s.w, in, window.get());
          const WindowRange out{.row = row, .height = rows, .column = 0, .width = s.w_out};
          copy_window(grad_y, image, channel, count, s.h_out, s.w_out, out, pixels.get(), lanes);
          for (int64_t t = 0; t < taps; t += kPixels) {
            const auto add = kAddPixels<T>[min_of(kPixels, taps - t) - 1];
            add(window.get(), s.stride_h * window_width * lanes, s.stride_w * lanes, tap.get() + t, pixels.get(), rows,
                s.w_out, total + t * lanes);
          }
        }
    }
  });
  for (int64_t channel = 0; channel < s.c_out; ++channel)
    for (int64_t t = 0; t < taps; ++t) {
      T total = 0;
      for (int64_t share = 0; share < shares; ++share)
        total += sums.get()[((share * blocks + channel / lanes) * taps + t) * lanes + channel % lanes];
      *grad_weight.at(channel, 0, t / s.kw, t % s.kw) = total;
    }
}
template void grad_weight_depthwise(const Conv2dShape&, const ImageView<const float>&, const ImageView<const float>&,
                                    const ImageView<float>&);
template void grad_weight_depthwise(const Conv2dShape&, const ImageView<const double>&, const ImageView<const double>&,
                                    const ImageView<double>&);

}  // namespace rushlight::kernels::RL_ISA
