// Pooling works on lines: one tap of the window for a row of outputs (channels first), or for all channels of one
// output (channels last). Either way the loop over a line is innermost and vectorizes.
#include "kernels/cpu/pool2d.h"

#include <utility>

#include "base/thread_pool.h"
#include "kernels/cpu/tile.h"

namespace rushlight::kernels::RL_ISA {
namespace {

constexpr int64_t kGrain = 16384;  // elements read that make a piece worth a thread

// The outputs [begin, end) along an axis for which a tap lies inside of the image.
struct Reach {
  int64_t begin, end;
};
Reach reach(int64_t tap, int64_t dilation, int64_t stride, int64_t pad, int64_t inputs, int64_t outputs) {
  const int64_t offset = tap * dilation - pad;  // of the tap's input from output * stride
  const int64_t begin = offset >= 0 ? 0 : divide_up(-offset, stride);
  const int64_t end = inputs - offset <= 0 ? 0 : min_of(outputs, divide_up(inputs - offset, stride));
  return {begin, max_of(begin, end)};
}

// The taps [begin, end) that lie inside of the image for one output.
Reach taps_inside(int64_t output, int64_t taps, int64_t dilation, int64_t stride, int64_t pad, int64_t inputs) {
  const int64_t start = output * stride - pad;
  const int64_t begin = start >= 0 ? 0 : min_of(taps, divide_up(-start, dilation));
  const int64_t end = start >= inputs ? 0 : min_of(taps, divide_up(inputs - start, dilation));
  return {begin, max_of(begin, end)};
}

// The same for all outputs along a row: worked out once, used for every row.
class RowTaps {
 public:
  explicit RowTaps(const Pool2dShape& s) : taps_(s.w_out) {
    for (int64_t ox = 0; ox < s.w_out; ++ox) taps_.get()[ox] = taps_inside(ox, s.kw, s.dil_w, s.stride_w, s.pad_w, s.w);
  }
  const Reach& operator[](int64_t ox) const { return taps_.get()[ox]; }

 private:
  Scratch<Reach> taps_;
};

Reach column_taps(const Pool2dShape& s, int64_t oy) { return taps_inside(oy, s.kh, s.dil_h, s.stride_h, s.pad_h, s.h); }

// The row and column of the image that a tap of an output lies on.
int64_t row_of(const Pool2dShape& s, int64_t oy, int64_t tap) { return oy * s.stride_h - s.pad_h + tap * s.dil_h; }
int64_t column_of(const Pool2dShape& s, int64_t ox, int64_t tap) { return ox * s.stride_w - s.pad_w + tap * s.dil_w; }

// The columns of the window that are inside of the image for any output: of a huge window, mostly padding, a few.
// Further right, windows start further left of their taps.
Reach columns_used(const Pool2dShape& s, const RowTaps& row_taps) {
  const Reach r{row_taps[s.w_out - 1].begin, row_taps[0].end};
  return {r.begin, max_of(r.begin, r.end)};
}

constexpr float kLowest = -__builtin_inff();

// A maximum in progress for each lane, with where it was found as an offset from the window's corner. Offsets are kept
// as T, which is exact below kMostOffset and spares conversions between lanes of different widths.
constexpr int64_t kMostOffset = 1 << 24;

template <class T>
struct Maximum {
  Vec<T> best, offset;
  RL_INLINE void take(Vec<T> v, int64_t at) {
    const auto better = (v > best) | (v != v);
    best = select(better, v, best);
    offset = select(better, Vec<T>(T(at)), offset);
  }
};

// index[i] = first + i * step + offset[i], i < count <= kLanes<T>
template <class T>
RL_INLINE void store_index(Vec<T> offset, int64_t first, int64_t step, int64_t* index, int count) {
  constexpr int lanes = kLanes<T>, wide = Vec<int64_t>::size;
  typedef int32_t Narrow __attribute__((vector_size(lanes * 4)));
  typedef int32_t Part __attribute__((vector_size(wide * 4)));
  const Narrow offsets = __builtin_convertvector(offset.v, Narrow);
  Vec<int64_t> at;
  for (int i = 0; i < wide; ++i) at.v[i] = first + i * step;
  for (int i = 0; i < lanes && i < count; i += wide, at += Vec<int64_t>(wide * step)) {
    Part part;
    std::memcpy(&part, reinterpret_cast<const char*>(&offsets) + i * 4, sizeof(part));
    const Vec<int64_t> sum = at + Vec<int64_t>(__builtin_convertvector(part, Vec<int64_t>::Native));
    if (count - i >= wide) sum.store(index + i);
    else sum.store(index + i, count - i);
  }
}

// Lanes 0, 2, 4, ... of a and b, or 1, 3, 5, ...
template <int Odd, class V, int... I>
RL_INLINE V every_other(V a, V b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (2 * I + Odd)...);
}

// The most common window, 2 x 2 with stride 2, which touches no padding.
template <class T>
void max_pool_row_2x2(const T* x, int64_t w, int64_t w_out, int64_t first, T* y, int64_t* index) {
  constexpr int lanes = kLanes<T>;
  using Sequence = std::make_integer_sequence<int, lanes>;
  for (int64_t ox = 0; ox < w_out; ox += lanes) {
    const int count = int(min_of(lanes, w_out - ox));
    const int low = int(min_of(lanes, 2 * count)), high = 2 * count - low;
    const T *row0 = x + 2 * ox, *row1 = row0 + w;
    const auto a0 = Vec<T>::load(row0, low).v, a1 = Vec<T>::load(row1, low).v;
    auto b0 = a0, b1 = a1;
    if (high > 0) b0 = Vec<T>::load(row0 + lanes, high).v, b1 = Vec<T>::load(row1 + lanes, high).v;
    Maximum<T> m{every_other<0>(a0, b0, Sequence()), T(0)};
    m.take(every_other<1>(a0, b0, Sequence()), 1);
    m.take(every_other<0>(a1, b1, Sequence()), w);
    m.take(every_other<1>(a1, b1, Sequence()), w + 1);
    m.best.store(y + ox, count);
    if (index) store_index(m.offset, first + 2 * ox, 2, index + ox, count);
  }
}

template <class T, int Step>
void max_line(int64_t count, const T* x, int64_t step, T* best, int64_t* index, int64_t first, int64_t index_step) {
  if constexpr (Step != 0) step = Step;
  for (int64_t i = 0; i < count; ++i) {
    const T v = x[i * step], b = best[i];
    const bool better = (v > b) | (v != v);
    best[i] = better ? v : b;
    index[i] = better ? first + i * index_step : index[i];
  }
}

template <class T>
void max_pool_row(const Pool2dShape& s, const RowTaps& row_taps, const T* plane, int64_t oy, T* y, int64_t* index) {
  const Reach ky = column_taps(s, oy);
  const int64_t top = row_of(s, oy, ky.begin) * s.w;
  for (int64_t ox = 0; ox < s.w_out; ++ox) {
    const Reach kx = row_taps[ox];
    y[ox] = T(kLowest);
    index[ox] = ky.begin < ky.end && kx.begin < kx.end ? top + column_of(s, ox, kx.begin) : 0;
  }
  const Reach columns = columns_used(s, row_taps);
  for (int64_t i = ky.begin; i < ky.end; ++i)
    for (int64_t j = columns.begin; j < columns.end; ++j) {
      const Reach ox = reach(j, s.dil_w, s.stride_w, s.pad_w, s.w, s.w_out);
      const int64_t first = row_of(s, oy, i) * s.w + column_of(s, ox.begin, j);
      const int64_t count = ox.end - ox.begin;
      if (count <= 0) continue;
      if (s.stride_w == 1) max_line<T, 1>(count, plane + first, 1, y + ox.begin, index + ox.begin, first, 1);
      else if (s.stride_w == 2) max_line<T, 2>(count, plane + first, 2, y + ox.begin, index + ox.begin, first, 2);
      else max_line<T, 0>(count, plane + first, s.stride_w, y + ox.begin, index + ox.begin, first, s.stride_w);
    }
}

// All channels of output (oy, ox); image, y and index point at their first channel.
template <class T>
void max_pool_pixel(const Pool2dShape& s, const T* image, int64_t oy, Reach ky, int64_t ox, Reach kx, T* y,
                    int64_t* index) {
  const bool any = ky.begin < ky.end && kx.begin < kx.end;
  const int64_t start = any ? row_of(s, oy, ky.begin) * s.w + column_of(s, ox, kx.begin) : 0;  // the first tap inside
  if (index && any && (row_of(s, oy, ky.end - 1) + 1) * s.w - start >= kMostOffset) {
    for (int64_t c = 0; c < s.c; ++c) y[c] = T(kLowest), index[c] = start;
    for (int64_t i = ky.begin; i < ky.end; ++i)
      for (int64_t j = kx.begin; j < kx.end; ++j) {
        const int64_t at = row_of(s, oy, i) * s.w + column_of(s, ox, j);
        max_line<T, 1>(s.c, image + at * s.c, 1, y, index, at, 0);
      }
    return;
  }
  for (int64_t c = 0; c < s.c; c += kLanes<T>) {
    const int count = int(min_of(kLanes<T>, s.c - c));
    Maximum<T> m{T(kLowest), T(0)};
    for (int64_t i = ky.begin; i < ky.end; ++i)
      for (int64_t j = kx.begin; j < kx.end; ++j) {
        const int64_t at = row_of(s, oy, i) * s.w + column_of(s, ox, j);
        const T* p = image + at * s.c + c;
        m.take(count == kLanes<T> ? Vec<T>::load(p) : Vec<T>::load(p, count), at - start);
      }
    m.best.store(y + c, count);
    if (index) store_index(m.offset, start, 0, index + c, count);
  }
}

// Calls row(n * c + channel, oy) for all rows of planes, or pixel(n, oy, ox) for all pixels, in parallel.
template <class Row, class Pixel>
void for_each_line(const Pool2dShape& s, Layout layout, Row row, Pixel pixel) {
  const double taps = double(min_of(s.kh, s.h)) * double(min_of(s.kw, s.w));
  auto grain = [=](int64_t outputs) { return max_of(1, int64_t(kGrain / (double(outputs) * taps + 1))); };
  if (layout == Layout::channels_first) {
    parallel_for(0, s.n * s.c, grain(s.h_out * s.w_out), [&](int64_t b, int64_t e) {
      for (int64_t plane = b; plane < e; ++plane)
        for (int64_t oy = 0; oy < s.h_out; ++oy) row(plane, oy);
    });
  } else {
    parallel_for(0, s.n * s.h_out, grain(s.c * s.w_out), [&](int64_t b, int64_t e) {
      for (int64_t line = b; line < e; ++line)
        for (int64_t ox = 0; ox < s.w_out; ++ox) pixel(line / s.h_out, line % s.h_out, ox);
    });
  }
}

template <class T>
void max_pool(const Pool2dShape& s, Layout layout, const T* x, T* y, int64_t* indices) {
  const RowTaps row_taps(s);
  const bool two_by_two = s.kh == 2 && s.kw == 2 && s.stride_h == 2 && s.stride_w == 2 && s.pad_h == 0 &&
                          s.pad_w == 0 && s.dil_h == 1 && s.dil_w == 1 && s.h_out * 2 <= s.h && s.w_out * 2 <= s.w &&
                          s.w + 1 < kMostOffset;
  for_each_line(
      s, layout,
      [&](int64_t plane, int64_t oy) {
        const int64_t at = (plane * s.h_out + oy) * s.w_out;
        const T* from = x + plane * s.h * s.w;
        int64_t* index = indices ? indices + at : nullptr;
        if (two_by_two) {
          max_pool_row_2x2(from + 2 * oy * s.w, s.w, s.w_out, 2 * oy * s.w, y + at, index);
        } else if (index) {
          max_pool_row(s, row_taps, from, oy, y + at, index);
        } else {
          Scratch<int64_t> unused(s.w_out);
          max_pool_row(s, row_taps, from, oy, y + at, unused.get());
        }
      },
      [&](int64_t image, int64_t oy, int64_t ox) {
        const int64_t at = ((image * s.h_out + oy) * s.w_out + ox) * s.c;
        max_pool_pixel(s, x + image * s.h * s.w * s.c, oy, column_taps(s, oy), ox, row_taps[ox], y + at,
                       indices ? indices + at : nullptr);
      });
}

template <class T>
void max_pool_backward(const Pool2dShape& s, Layout layout, const T* grad_y, const int64_t* indices, T* grad_x) {
  const int64_t in_plane = s.h * s.w, out_plane = s.h_out * s.w_out;
  if (layout == Layout::channels_first) {
    parallel_for(0, s.n * s.c, max_of(1, kGrain / max_of(1, in_plane)), [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        T* to = grad_x + plane * in_plane;
        const T* from = grad_y + plane * out_plane;
        const int64_t* index = indices + plane * out_plane;
        std::memset(to, 0, size_t(in_plane) * sizeof(T));
        for (int64_t i = 0; i < out_plane; ++i)
          if (uint64_t(index[i]) < uint64_t(in_plane)) to[index[i]] += from[i];
      }
    });
    return;
  }
  // Windows may overlap, so a piece owns some channels of an image.
  constexpr int64_t block = 32;
  const int64_t blocks = divide_up(s.c, block);
  parallel_for(0, s.n * blocks, max_of(1, kGrain / max_of(1, in_plane * block)), [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t image = unit / blocks, first = unit % blocks * block, count = min_of(block, s.c - first);
      T* to = grad_x + image * in_plane * s.c + first;
      const T* from = grad_y + image * out_plane * s.c + first;
      const int64_t* index = indices + image * out_plane * s.c + first;
      for (int64_t i = 0; i < in_plane; ++i) std::memset(to + i * s.c, 0, size_t(count) * sizeof(T));
      for (int64_t i = 0; i < out_plane * s.c; i += s.c)
        for (int64_t c = 0; c < count; ++c)
          if (uint64_t(index[i + c]) < uint64_t(in_plane)) to[index[i + c] * s.c + c] += from[i + c];
    }
  });
}

// How many elements an output divides by; 0 for a window that lies outside of the image and its padding.
double window_size(const Pool2dShape& s, bool count_padding, int64_t divisor, int64_t oy, int64_t ox) {
  if (divisor != 0) return double(divisor);
  const int64_t top = oy * s.stride_h - s.pad_h, left = ox * s.stride_w - s.pad_w;
  const int64_t bottom = min_of(top + s.kh, s.h + s.pad_h), right = min_of(left + s.kw, s.w + s.pad_w);
  if (count_padding) return double(bottom - top) * double(right - left);
  return double(min_of(bottom, s.h) - max_of(top, 0)) * double(min_of(right, s.w) - max_of(left, 0));
}

template <class T>
void add_line(int64_t count, const T* x, int64_t step, T* sums) {
  if (step == 1) {
    for (int64_t i = 0; i < count; ++i) sums[i] += x[i];
  } else if (step == 2) {
    for (int64_t i = 0; i < count; ++i) sums[i] += x[2 * i];
  } else {
    for (int64_t i = 0; i < count; ++i) sums[i] += x[i * step];
  }
}

template <class T>
void avg_pool(const Pool2dShape& s, Layout layout, bool count_padding, int64_t divisor, const T* x, T* y) {
  const RowTaps row_taps(s);
  const Reach columns = columns_used(s, row_taps);
  for_each_line(
      s, layout,
      [&](int64_t plane, int64_t oy) {
        T* sums = y + (plane * s.h_out + oy) * s.w_out;
        const T* image = x + plane * s.h * s.w;
        std::memset(sums, 0, size_t(s.w_out) * sizeof(T));
        const Reach ky = column_taps(s, oy);
        for (int64_t i = ky.begin; i < ky.end; ++i)
          for (int64_t j = columns.begin; j < columns.end; ++j) {
            const Reach ox = reach(j, 1, s.stride_w, s.pad_w, s.w, s.w_out);
            if (ox.begin < ox.end)
              add_line(ox.end - ox.begin, image + row_of(s, oy, i) * s.w + column_of(s, ox.begin, j), s.stride_w,
                       sums + ox.begin);
          }
        if (ky.begin == ky.end) return;
        for (int64_t ox = 0; ox < s.w_out; ++ox) {
          const double size = window_size(s, count_padding, divisor, oy, ox);
          if (size != 0) sums[ox] /= T(size);
        }
      },
      [&](int64_t image, int64_t oy, int64_t ox) {
        T* sums = y + ((image * s.h_out + oy) * s.w_out + ox) * s.c;
        std::memset(sums, 0, size_t(s.c) * sizeof(T));
        const Reach ky = column_taps(s, oy), kx = row_taps[ox];
        for (int64_t i = ky.begin; i < ky.end; ++i)
          for (int64_t j = kx.begin; j < kx.end; ++j) {
            const int64_t at = row_of(s, oy, i) * s.w + column_of(s, ox, j);
            add_line(s.c, x + (image * s.h * s.w + at) * s.c, 1, sums);
          }
        if (ky.begin == ky.end || kx.begin == kx.end) return;
        const T size = T(window_size(s, count_padding, divisor, oy, ox));
        for (int64_t c = 0; c < s.c; ++c) sums[c] /= size;
      });
}

template <class T>
void avg_pool_backward(const Pool2dShape& s, Layout layout, bool count_padding, int64_t divisor, const T* grad_y,
                       T* grad_x) {
  const int64_t in_plane = s.h * s.w, out_plane = s.h_out * s.w_out;
  const bool last = layout == Layout::channels_last;
  // A piece owns whole planes, or whole images where the channels are innermost: `count` values for each pixel.
  const int64_t units = last ? s.n : s.n * s.c, count = last ? s.c : 1;
  const RowTaps row_taps(s);
  parallel_for(0, units, max_of(1, kGrain / max_of(1, in_plane * count)), [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      T* to = grad_x + unit * in_plane * count;
      const T* from = grad_y + unit * out_plane * count;
      std::memset(to, 0, size_t(in_plane * count) * sizeof(T));
      for (int64_t oy = 0; oy < s.h_out; ++oy) {
        const Reach ky = column_taps(s, oy);
        for (int64_t ox = 0; ox < s.w_out; ++ox, from += count) {
          const Reach kx = row_taps[ox];
          if (ky.begin >= ky.end || kx.begin >= kx.end) continue;
          const T size = T(window_size(s, count_padding, divisor, oy, ox));
          for (int64_t i = ky.begin; i < ky.end; ++i)
            for (int64_t j = kx.begin; j < kx.end; ++j) {
              T* pixel = to + (row_of(s, oy, i) * s.w + column_of(s, ox, j)) * count;
              for (int64_t c = 0; c < count; ++c) pixel[c] += from[c] / size;
            }
        }
      }
    }
  });
}

}  // namespace

void max_pool2d_f32(const Pool2dShape& s, Layout layout, const float* x, float* y, int64_t* indices) {
  max_pool(s, layout, x, y, indices);
}
void max_pool2d_f64(const Pool2dShape& s, Layout layout, const double* x, double* y, int64_t* indices) {
  max_pool(s, layout, x, y, indices);
}
void max_pool2d_backward_f32(const Pool2dShape& s, Layout layout, const float* grad_y, const int64_t* indices,
                             float* grad_x) {
  max_pool_backward(s, layout, grad_y, indices, grad_x);
}
void max_pool2d_backward_f64(const Pool2dShape& s, Layout layout, const double* grad_y, const int64_t* indices,
                             double* grad_x) {
  max_pool_backward(s, layout, grad_y, indices, grad_x);
}
void avg_pool2d_f32(const Pool2dShape& s, Layout layout, bool count_padding, int64_t divisor, const float* x,
                    float* y) {
  avg_pool(s, layout, count_padding, divisor, x, y);
}
void avg_pool2d_f64(const Pool2dShape& s, Layout layout, bool count_padding, int64_t divisor, const double* x,
                    double* y) {
  avg_pool(s, layout, count_padding, divisor, x, y);
}
void avg_pool2d_backward_f32(const Pool2dShape& s, Layout layout, bool count_padding, int64_t divisor,
                             const float* grad_y, float* grad_x) {
  avg_pool_backward(s, layout, count_padding, divisor, grad_y, grad_x);
}
void avg_pool2d_backward_f64(const Pool2dShape& s, Layout layout, bool count_padding, int64_t divisor,
                             const double* grad_y, double* grad_x) {
  avg_pool_backward(s, layout, count_padding, divisor, grad_y, grad_x);
}

}  // namespace rushlight::kernels::RL_ISA
