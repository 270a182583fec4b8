// What the convolution kernels share: where the elements of an image lie, and windows, copies of a part of an image
// with zeros for its padding and the channels innermost, which the tile loop then reads in place: there is no
// "im2col" buffer. Only per-set files include this header.
#pragma once
#include "kernels/cpu/conv2d.h"
#include "kernels/cpu/tile.h"

namespace rushlight::kernels::RL_ISA {

// Element (image, channel, row, column) is data[image * image_step + channel * channel_step + ...].
template <class T>
struct ImageView {
  T* data;
  int64_t image_step, channel_step, row_step, column_step;

  ImageView(T* data, Layout layout, int64_t channels, int64_t height, int64_t width)
      : data(data), image_step(channels * height * width) {
    const bool last = layout == Layout::channels_last;
    channel_step = last ? 1 : height * width;
    row_step = last ? width * channels : width;
    column_step = last ? channels : 1;
  }
  T* at(int64_t image, int64_t channel, int64_t row, int64_t column) const {
    return data + image * image_step + channel * channel_step + row * row_step + column * column_step;
  }
};

// Along one axis, output i is made from inputs i * step + offset[0 .. taps), and lies at first + i * out_step.
struct Axis {
  int64_t outputs, inputs, step, taps;
  const int64_t* offset;   // ascending
  const int64_t* element;  // which row or column of the weights each tap is
  int64_t first, out_step;

  int64_t lowest() const { return offset[0]; }
  int64_t reach() const { return offset[taps - 1] - offset[0] + 1; }  // inputs one output spans
};

// Element (output channel, input channel, row, column) of a group's weights, as seen by the convolution at hand.
template <class T>
struct WeightView {
  const T* data;
  int64_t group_step, out_step, in_step, row_step, column_step;
  int64_t rows, columns;
};

template <class T>
struct Convolution {
  int64_t images, groups, c_in, c_out;  // channels of one group
  Axis y, x;
  ImageView<const T> in;
  WeightView<T> weight;
  const T* bias;
  ImageView<T> out;
};

constexpr int64_t kWindowBytes = 256 << 10;  // of windows in use at a time, to stay in the second-level cache

// Rows [row, row + height) and columns [column, column + width) of one image, in whole or in part outside of it.
struct WindowRange {
  int64_t row, height, column, width;
};

// Copies the window to out[height][width][out_channels]; only the first `channels` of out_channels are written.
template <class T>
void copy_window(const ImageView<const T>& x, int64_t image, int64_t first_channel, int64_t channels, int64_t image_h,
                 int64_t image_w, const WindowRange& r, T* out, int64_t out_channels) {
  const int64_t top = min_of(max_of(r.row, 0), image_h), bottom = max_of(min_of(r.row + r.height, image_h), top);
  const int64_t left = min_of(max_of(r.column, 0), image_w), right = max_of(min_of(r.column + r.width, image_w), left);
  const bool covered = r.row >= 0 && r.row + r.height <= image_h && r.column >= 0 && r.column + r.width <= image_w;
  if (!covered) std::memset(out, 0, size_t(r.height * r.width * out_channels) * sizeof(T));
  if (left >= right) return;
  if (x.channel_step != 1 && left == 0 && right == image_w && r.width == image_w && x.row_step == image_w) {
    // Whole rows: one long transposition.
    if (bottom > top)
      transpose(x.at(image, first_channel, top, 0), x.channel_step, out + (top - r.row) * r.width * out_channels,
                out_channels, channels, (bottom - top) * image_w);
    return;
  }
  for (int64_t row = top; row < bottom; ++row) {
    T* to = out + ((row - r.row) * r.width + left - r.column) * out_channels;
    const T* from = x.at(image, first_channel, row, left);
    if (x.channel_step != 1) {
      transpose(from, x.channel_step, to, out_channels, channels, right - left);
    } else if (x.column_step == channels && out_channels == channels) {
      std::memcpy(to, from, size_t((right - left) * channels) * sizeof(T));
    } else {
      for (int64_t column = left; column < right; ++column, to += out_channels, from += x.column_step) {
        int64_t c = 0;
        for (; c + kLanes<T> <= channels; c += kLanes<T>) Vec<T>::load(from + c).store(to + c);
        if (c < channels) Vec<T>::load(from + c, int(channels - c)).store(to + c, int(channels - c));
      }
    }
  }
}

// Moves a band of outputs of some channels from a buffer of pixels x width to where they belong.
template <class T>
void put_outputs(const Convolution<T>& k, const T* from, int64_t image, int64_t channel, int64_t channels, int64_t row,
                 int64_t rows, int64_t width) {
  T* to = k.out.at(image, channel, k.y.first + row * k.y.out_step, k.x.first);
  if (k.y.out_step == 1 && k.x.out_step == 1)
    return transpose(from, width, to, k.out.channel_step, rows * k.x.outputs, channels);
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < k.x.outputs; ++j)
        to[c * k.out.channel_step + i * k.y.out_step * k.out.row_step + j * k.x.out_step] =
            from[(i * k.x.outputs + j) * width + c];
}

// Groups so small that a vector had better hold different groups than different channels of one.
inline bool is_depthwise(int64_t groups, int64_t c_in, int64_t c_out) {
  return groups > 1 && (c_in == 1 || c_out == 1) && c_in * c_out <= 4;
}
template <class T>
void convolve_depthwise(const Convolution<T>& k);
extern template void convolve_depthwise(const Convolution<float>&);
extern template void convolve_depthwise(const Convolution<double>&);

// With one input channel in each group.
template <class T>
void grad_weight_depthwise(const Conv2dShape& s, const ImageView<const T>& x, const ImageView<const T>& grad_y,
                           const ImageView<T>& grad_weight);
extern template void grad_weight_depthwise(const Conv2dShape&, const ImageView<const float>&,
                                           const ImageView<const float>&, const ImageView<float>&);
extern template void grad_weight_depthwise(const Conv2dShape&, const ImageView<const double>&,
                                           const ImageView<const double>&, const ImageView<double>&);

}  // namespace rushlight::kernels::RL_ISA
