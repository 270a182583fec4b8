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
      for (int64_t c = left; c < right; ++c, to += out_channels, from += x.column_step)
        std::memcpy(to, from, size_t(channels) * sizeof(T));
    }
  }
}

}  // namespace rushlight::kernels::RL_ISA
