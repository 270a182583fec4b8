// Forward, and the gradient of the input, which is a convolution too: of grad_y with the weights transposed. With a
// stride of s, an input row r receives from those rows of the weights only that hit it, the same ones for every s-th
// row; so the gradient falls into s * s dense convolutions of stride one.
#include "base/thread_pool.h"
#include "kernels/cpu/conv2d_window.h"

namespace rushlight::kernels::RL_ISA {
namespace {

constexpr int64_t kPanelBytes = 256 << 10;  // of one panel of weights, to stay in the second-level cache

// Panels of kTileCols output channels, each as taps x input channels x kTileCols, zeros beyond the last channel.
template <class T>
void pack_weights(const Convolution<T>& k, T* out) {
  constexpr int64_t width = kTileCols<T>;
  const int64_t panels = divide_up(k.c_out, width), taps = k.y.taps * k.x.taps;
  const auto& w = k.weight;
  const int64_t all_taps = w.rows * w.columns;  // those between two channels; a convolution may use fewer
  if (w.column_step == 1 && all_taps > 1) {
    // All taps of a panel of channels lie together: transpose them, pick those in use.
    const int64_t grain = max_of(1, 20000 / (taps * width));
    parallel_for(0, k.groups * panels * k.c_in, grain, [&](int64_t begin, int64_t end) {
      Scratch<T> by_tap(all_taps * width);
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t c = unit % k.c_in, panel = unit / k.c_in % panels, group = unit / k.c_in / panels;
        const int64_t first = panel * width, channels = min_of(width, k.c_out - first);
        const T* from = w.data + group * w.group_step + first * w.out_step + c * w.in_step;
        T* to = out + (unit / k.c_in * taps * k.c_in + c) * width;
        if (channels < width) std::memset(by_tap.get(), 0, size_t(all_taps * width) * sizeof(T));
        transpose(from, w.out_step, by_tap.get(), width, channels, all_taps);
        for (int64_t t = 0; t < taps; ++t, to += k.c_in * width) {
          const int64_t tap = k.y.element[t / k.x.taps] * w.columns + k.x.element[t % k.x.taps];
          std::memcpy(to, by_tap.get() + tap * width, size_t(width) * sizeof(T));
        }
      }
    });
    return;
  }
  parallel_for(0, k.groups * panels * taps, max_of(1, 20000 / (k.c_in * width)), [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t panel = unit / taps % panels, group = unit / taps / panels;
      const int64_t row = k.y.element[unit % taps / k.x.taps], column = k.x.element[unit % taps % k.x.taps];
      const int64_t first = panel * width, channels = min_of(width, k.c_out - first);
      const T* from = w.data + group * w.group_step + first * w.out_step + row * w.row_step + column * w.column_step;
      T* to = out + unit * k.c_in * width;
      if (channels < width) std::memset(to, 0, size_t(k.c_in * width) * sizeof(T));
      if (w.in_step == 1) {
        transpose(from, w.out_step, to, width, channels, k.c_in);
      } else {  // out_step == 1
        for (int64_t c = 0; c < k.c_in; ++c)
          std::memcpy(to + c * width, from + c * w.in_step, size_t(channels) * sizeof(T));
      }
    }
  });
}

// How the outputs are cut into units of work: bands of rows of an image whose window fits the cache, and groups of
// panels where there are too few bands for the threads.
struct Cut {
  int64_t bands, band_rows, panel_groups, group_panels;
};

template <class T>
Cut cut(const Convolution<T>& k, int64_t panels) {
  const int64_t wanted = divide_up(num_threads(), k.images * k.groups);
  Cut cut;
  cut.panel_groups = min_of(panels, wanted);
  cut.group_panels = divide_up(panels, cut.panel_groups);
  const int64_t window_width = (k.x.outputs - 1) * k.x.step + k.x.reach();
  const int64_t row_bytes = (k.y.step * window_width * k.c_in + k.x.outputs * kTileCols<T>)*int64_t(sizeof(T));
  const int64_t fitting = max_of(max_of(1, kWindowBytes / row_bytes), k.y.reach() / k.y.step);
  const int64_t bands = max_of(divide_up(k.y.outputs, fitting), divide_up(wanted, cut.panel_groups));
  cut.band_rows = divide_up(k.y.outputs, min_of(bands, k.y.outputs));
  cut.bands = divide_up(k.y.outputs, cut.band_rows);
  return cut;
}

// Rows [row, row + rows) of the output, panels [panel, end_panel).
template <class T>
void convolve_band(const Convolution<T>& k, int64_t image, int64_t group, int64_t row, int64_t rows, int64_t panel,
                   int64_t end_panel, const T* packed, T* window, T* outputs, int64_t* segment) {
  constexpr int64_t width = kTileCols<T>;
  const WindowRange range{.row = row * k.y.step + k.y.lowest(),
                          .height = (rows - 1) * k.y.step + k.y.reach(),
                          .column = k.x.lowest(),
                          .width = (k.x.outputs - 1) * k.x.step + k.x.reach()};
  // Where each pixel's channels lie together and nothing outside of the image is needed, it is read in place.
  const bool in_place = k.in.channel_step == 1 && range.row >= 0 && range.row + range.height <= k.y.inputs &&
                        range.column >= 0 && range.column + range.width <= k.x.inputs;
  const T* source = window;
  int64_t source_row = range.width * k.c_in, source_column = k.c_in;
  if (in_place) {
    source = k.in.at(image, group * k.c_in, range.row, range.column);
    source_row = k.in.row_step, source_column = k.in.column_step;
  } else {
    copy_window(k.in, image, group * k.c_in, k.c_in, k.y.inputs, k.x.inputs, range, window, k.c_in);
  }

  const int64_t taps = k.y.taps * k.x.taps;
  int64_t c_block = min_of(k.c_in, max_of(1, kPanelBytes / (taps * width * int64_t(sizeof(T)))));
  c_block = divide_up(k.c_in, divide_up(k.c_in, c_block));
  // Neighbouring taps in a row are one run of memory where pixels touch.
  const bool runs = c_block == k.c_in && source_column == k.c_in && k.x.reach() == k.x.taps;
  const int64_t row_segments = runs ? 1 : k.x.taps, segments = k.y.taps * row_segments,
                steps = runs ? k.x.taps * k.c_in : c_block;
  for (int64_t s = 0; s < segments; ++s) {
    const int64_t ty = s / row_segments, tx = s % row_segments;
    segment[s] = (k.y.offset[ty] - k.y.lowest()) * source_row + (k.x.offset[tx] - k.x.lowest()) * source_column;
  }

  // Outputs whose channels lie apart go through a buffer that is transposed into place.
  const bool buffered = k.out.channel_step != 1;
  const int64_t tile_rows = even_tile_rows(k.x.outputs);
  for (; panel < end_panel; ++panel) {
    const int64_t channel = panel * width, channels = min_of(width, k.c_out - channel);
    const T* weights = packed + panel * taps * k.c_in * width;
    for (int64_t c = 0; c < k.c_in; c += c_block) {
      TileInput<T> in{.a = nullptr,
                      .a_row = k.x.step * source_column,
                      .a_step = 1,
                      .segment = nullptr,
                      .segments = 0,
                      .steps = runs ? steps : min_of(steps, k.c_in - c),
                      .b = nullptr,
                      .b_step = width,
                      .b_segment = (runs ? k.x.taps : 1) * k.c_in * width};
      TileOutput<T> out{.c = nullptr,
                        .c_row = buffered ? width : k.x.out_step * k.out.column_step,
                        .cols = int(channels),
                        .alpha = 1,
                        .beta = T(c == 0 ? 0 : 1),
                        .col_bias = c == 0 && k.bias ? k.bias + group * k.c_out + channel : nullptr};
      for (int64_t i = 0; i < rows; ++i) {
        // Rows of taps in the padding above or below add nothing.
        int64_t first = 0, last = k.y.taps;
        const int64_t top = (row + i) * k.y.step;
        while (first < last && top + k.y.offset[first] < 0) ++first;
        while (first < last && top + k.y.offset[last - 1] >= k.y.inputs) --last;
        in.segment = segment + first * row_segments;
        in.segments = (last - first) * row_segments;
        in.b = weights + c * width + first * row_segments * in.b_segment;
        for (int64_t j = 0; j < k.x.outputs; j += tile_rows) {
          in.a = source + i * k.y.step * source_row + j * k.x.step * source_column + c;
          out.c = buffered ? outputs + (i * k.x.outputs + j) * width
                           : k.out.at(image, group * k.c_out + channel, k.y.first + (row + i) * k.y.out_step,
                                      k.x.first + j * k.x.out_step);
          tile(int(min_of(tile_rows, k.x.outputs - j)), int(divide_up(channels, kLanes<T>)), in, out);
        }
      }
    }
    if (buffered) put_outputs(k, outputs, image, group * k.c_out + channel, channels, row, rows, width);
  }
}

// What is left where no tap reaches an output, or there are no channels to read.
template <class T>
void fill_bias(const Convolution<T>& k) {
  for (int64_t image = 0; image < k.images; ++image)
    for (int64_t c = 0; c < k.groups * k.c_out; ++c)
      for (int64_t i = 0; i < k.y.outputs; ++i)
        for (int64_t j = 0; j < k.x.outputs; ++j)
          *k.out.at(image, c, k.y.first + i * k.y.out_step, k.x.first + j * k.x.out_step) = k.bias ? k.bias[c] : T(0);
}

template <class T>
void convolve(const Convolution<T>& k) {
  if (k.images * k.groups * k.c_out * k.y.outputs * k.x.outputs == 0) return;
  if (k.c_in * k.y.taps * k.x.taps == 0) return fill_bias(k);
  if (is_depthwise(k.groups, k.c_in, k.c_out)) return convolve_depthwise(k);
  constexpr int64_t width = kTileCols<T>;
  const int64_t taps = k.y.taps * k.x.taps, panels = divide_up(k.c_out, width);
  Scratch<T> packed(k.groups * panels * taps * k.c_in * width);
  pack_weights(k, packed.get());

  const Cut cut = RL_ISA::cut(k, panels);
  const int64_t window_width = (k.x.outputs - 1) * k.x.step + k.x.reach();
  const int64_t window_height = (cut.band_rows - 1) * k.y.step + k.y.reach();
  const int64_t unit_work = cut.band_rows * k.x.outputs * cut.group_panels * width * taps * k.c_in;
  parallel_for(0, k.images * k.groups * cut.bands * cut.panel_groups, max_of(1, kParallelWork / unit_work),
               [&](int64_t begin, int64_t end) {
                 Scratch<T> window(window_height * window_width * k.c_in);
                 Scratch<T> outputs(k.out.channel_step == 1 ? 0 : cut.band_rows * k.x.outputs * width);
                 Scratch<int64_t> segment(taps);
                 for (int64_t unit = begin; unit < end; ++unit) {
                   const int64_t panel = unit % cut.panel_groups * cut.group_panels;
                   const int64_t row = unit / cut.panel_groups % cut.bands * cut.band_rows;
                   const int64_t group = unit / (cut.panel_groups * cut.bands) % k.groups;
                   const int64_t image = unit / (cut.panel_groups * cut.bands * k.groups);
                   convolve_band(k, image, group, row, min_of(cut.band_rows, k.y.outputs - row), panel,
                                 min_of(panels, panel + cut.group_panels),
                                 packed.get() + group * panels * taps * k.c_in * width, window.get(), outputs.get(),
                                 segment.get());
                 }
               });
}

// The weights' own view: steps of (output channel, input channel in its group, row, column).
template <class T>
ImageView<const T> weights_of(const Conv2dShape& s, const T* weight, Layout layout) {
  return {weight, layout, s.c_in / s.groups, s.kh, s.kw};
}

template <class T>
void forward(const Conv2dShape& s, const T* x, Layout x_layout, const T* weight, Layout weight_layout, const T* bias,
             T* y, Layout y_layout) {
  Scratch<int64_t> lists(2 * (s.kh + s.kw));
  int64_t *rows = lists.get(), *row_offset = rows + s.kh, *columns = row_offset + s.kh, *column_offset = columns + s.kw;
  for (int64_t i = 0; i < s.kh; ++i) rows[i] = i, row_offset[i] = i * s.dil_h - s.pad_h;
  for (int64_t i = 0; i < s.kw; ++i) columns[i] = i, column_offset[i] = i * s.dil_w - s.pad_w;
  const auto w = weights_of(s, weight, weight_layout);
  const int64_t c_in = s.c_in / s.groups, c_out = s.c_out / s.groups;
  convolve(Convolution<T>{
      .images = s.n,
      .groups = s.groups,
      .c_in = c_in,
      .c_out = c_out,
      .y = {s.h_out, s.h, s.stride_h, s.kh, row_offset, rows, 0, 1},
      .x = {s.w_out, s.w, s.stride_w, s.kw, column_offset, columns, 0, 1},
      .in = {x, x_layout, s.c_in, s.h, s.w},
      .weight = {w.data, c_out * w.image_step, w.image_step, w.channel_step, w.row_step, w.column_step, s.kh, s.kw},
      .bias = bias,
      .out = {y, y_layout, s.c_out, s.h_out, s.w_out}});
}

// The outputs first, first + stride, ... along one axis of the input's gradient, and the taps that reach them.
Axis phase(int64_t first, int64_t size, int64_t grad_size, int64_t taps, int64_t stride, int64_t pad, int64_t dilation,
           int64_t* element, int64_t* offset) {
  Axis a{.outputs = divide_up(size - first, stride),
         .inputs = grad_size,
         .step = 1,
         .taps = 0,
         .offset = offset,
         .element = element,
         .first = first,
         .out_step = stride};
  for (int64_t i = taps - 1; i >= 0; --i) {
    const int64_t distance = first + pad - i * dilation;
    if (distance % stride != 0) continue;
    element[a.taps] = i;
    offset[a.taps++] = distance / stride;
  }
  return a;
}

template <class T>
void grad_input(const Conv2dShape& s, const T* grad_y, Layout grad_y_layout, const T* weight, Layout weight_layout,
                const T* bias, T* grad_x, Layout grad_x_layout) {
  Scratch<int64_t> lists(2 * (s.kh + s.kw));
  int64_t *rows = lists.get(), *row_offset = rows + s.kh, *columns = row_offset + s.kh, *column_offset = columns + s.kw;
  const auto w = weights_of(s, weight, weight_layout);
  const int64_t c_in = s.c_in / s.groups, c_out = s.c_out / s.groups;
  for (int64_t i = 0; i < min_of(s.stride_h, s.h); ++i)
    for (int64_t j = 0; j < min_of(s.stride_w, s.w); ++j) {
      convolve(Convolution<T>{
          .images = s.n,
          .groups = s.groups,
          .c_in = c_out,
          .c_out = c_in,
          .y = phase(i, s.h, s.h_out, s.kh, s.stride_h, s.pad_h, s.dil_h, rows, row_offset),
          .x = phase(j, s.w, s.w_out, s.kw, s.stride_w, s.pad_w, s.dil_w, columns, column_offset),
          .in = {grad_y, grad_y_layout, s.c_out, s.h_out, s.w_out},
          .weight = {w.data, c_out * w.image_step, w.channel_step, w.image_step, w.row_step, w.column_step, s.kh, s.kw},
          .bias = bias,
          .out = {grad_x, grad_x_layout, s.c_in, s.h, s.w}});
    }
}

}  // namespace

void conv2d_forward_f32(const Conv2dShape& s, const float* x, Layout x_layout, const float* weight,
                        Layout weight_layout, const float* bias, float* y, Layout y_layout) {
  forward(s, x, x_layout, weight, weight_layout, bias, y, y_layout);
}
void conv2d_forward_f64(const Conv2dShape& s, const double* x, Layout x_layout, const double* weight,
                        Layout weight_layout, const double* bias, double* y, Layout y_layout) {
  forward(s, x, x_layout, weight, weight_layout, bias, y, y_layout);
}
void conv2d_grad_input_f32(const Conv2dShape& s, const float* grad_y, Layout grad_y_layout, const float* weight,
                           Layout weight_layout, const float* bias, float* grad_x, Layout grad_x_layout) {
  grad_input(s, grad_y, grad_y_layout, weight, weight_layout, bias, grad_x, grad_x_layout);
}
void conv2d_grad_input_f64(const Conv2dShape& s, const double* grad_y, Layout grad_y_layout, const double* weight,
                           Layout weight_layout, const double* bias, double* grad_x, Layout grad_x_layout) {
  grad_input(s, grad_y, grad_y_layout, weight, weight_layout, bias, grad_x, grad_x_layout);
}

}  // namespace rushlight::kernels::RL_ISA
