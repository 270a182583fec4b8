#include "kernels/cpu/pool_boxes.h"

#include "base/thread_pool.h"
#include "kernels/cpu/tile.h"

namespace rushlight::kernels::RL_ISA {
namespace {

constexpr int64_t kGrain = 16384;  // elements read that make a piece worth a thread

// Calls run(row, first, count) for each row of a box: `row` counts rows of the volume, and the row's elements are
// first, first + step, ..., `count` of them.
template <class F>
RL_INLINE void for_each_run(const BoxPool& p, int64_t od, int64_t oh, int64_t ow, F run) {
  const int64_t first = p.w.begin[ow], count = divide_up(max_of(0, p.w.end[ow] - first), p.w.step);
  if (count == 0) return;
  for (int64_t d = p.d.begin[od]; d < p.d.end[od]; d += p.d.step)
    for (int64_t h = p.h.begin[oh]; h < p.h.end[oh]; h += p.h.step) run(d * p.h.inputs + h, first, count);
}

double divisor_of(const BoxPool& p, int64_t od, int64_t oh, int64_t ow) {
  if (p.divisor != 0) return double(p.divisor);
  return double(p.d.size[od]) * double(p.h.size[oh]) * double(p.w.size[ow]);
}

double most_taps(const BoxAxis& a) {
  int64_t most = 1;
  for (int64_t i = 0; i < a.outputs; ++i) most = max_of(most, (a.end[i] - a.begin[i]) / a.step);
  return double(most);
}

// Calls pixel(image, od, oh, ow, output) for all outputs, in parallel; output counts them.
template <class F>
void for_each_output(const BoxPool& p, F pixel) {
  const int64_t rows = p.d.outputs * p.h.outputs;
  const double row_work = double(p.w.outputs) * double(p.inner) * most_taps(p.d) * most_taps(p.h) * most_taps(p.w);
  parallel_for(0, p.outer * rows, max_of(1, int64_t(kGrain / (row_work + 1))), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      for (int64_t ow = 0; ow < p.w.outputs; ++ow)
        pixel(row / rows, row % rows / p.h.outputs, row % p.h.outputs, ow, row * p.w.outputs + ow);
  });
}

template <class T>
T sum_run(const T* x, int64_t count, int64_t step) {
  T total = 0;
  if (step == 1 && count >= kLanes<T>) {
    Vec<T> sums = T(0);
    for (; count >= kLanes<T>; count -= kLanes<T>, x += kLanes<T>) sums += Vec<T>::load(x);
    total = reduce_add(sums);
  }
  for (int64_t i = 0; i < count; ++i) total += x[i * step];
  return total;
}

template <class T>
void average(const BoxPool& p, const T* x, T* y) {
  const int64_t volume = p.d.inputs * p.h.inputs * p.w.inputs;
  for_each_output(p, [&](int64_t image, int64_t od, int64_t oh, int64_t ow, int64_t output) {
    const T* from = x + image * volume * p.inner;
    T* to = y + output * p.inner;
    bool any = false;
    if (p.inner == 1) {
      T total = 0;
      for_each_run(p, od, oh, ow, [&](int64_t row, int64_t first, int64_t count) {
        total += sum_run(from + row * p.w.inputs + first, count, p.w.step);
        any = true;
      });
      *to = any ? total / T(divisor_of(p, od, oh, ow)) : T(0);
      return;
    }
    std::memset(to, 0, size_t(p.inner) * sizeof(T));
    for_each_run(p, od, oh, ow, [&](int64_t row, int64_t first, int64_t count) {
      any = true;
      for (int64_t i = 0; i < count; ++i) {
        const T* pixel = from + (row * p.w.inputs + first + i * p.w.step) * p.inner;
        for (int64_t c = 0; c < p.inner; ++c) to[c] += pixel[c];
      }
    });
    const T divisor = T(divisor_of(p, od, oh, ow));
    for (int64_t c = 0; any && c < p.inner; ++c) to[c] /= divisor;
  });
}

template <class T>
void average_backward(const BoxPool& p, const T* grad_y, T* grad_x) {
  const int64_t volume = p.d.inputs * p.h.inputs * p.w.inputs, outputs = p.d.outputs * p.h.outputs * p.w.outputs;
  // A piece owns whole images, for boxes may overlap.
  parallel_for(0, p.outer, max_of(1, kGrain / max_of(1, volume * p.inner)), [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) {
      T* to = grad_x + image * volume * p.inner;
      const T* from = grad_y + image * outputs * p.inner;
      std::memset(to, 0, size_t(volume * p.inner) * sizeof(T));
      for (int64_t od = 0; od < p.d.outputs; ++od)
        for (int64_t oh = 0; oh < p.h.outputs; ++oh)
          for (int64_t ow = 0; ow < p.w.outputs; ++ow, from += p.inner) {
            const T divisor = T(divisor_of(p, od, oh, ow));
            if (p.inner == 1) {
              const T share = *from / divisor;
              for_each_run(p, od, oh, ow, [&](int64_t row, int64_t first, int64_t count) {
                T* pixel = to + row * p.w.inputs + first;
                for (int64_t i = 0; i < count; ++i) pixel[i * p.w.step] += share;
              });
              continue;
            }
            for_each_run(p, od, oh, ow, [&](int64_t row, int64_t first, int64_t count) {
              for (int64_t i = 0; i < count; ++i) {
                T* pixel = to + (row * p.w.inputs + first + i * p.w.step) * p.inner;
                for (int64_t c = 0; c < p.inner; ++c) pixel[c] += from[c] / divisor;
              }
            });
          }
    }
  });
}

template <class T>
void maximum(const BoxPool& p, const T* x, T* y, int64_t* indices) {
  const int64_t volume = p.d.inputs * p.h.inputs * p.w.inputs;
  for_each_output(p, [&](int64_t image, int64_t od, int64_t oh, int64_t ow, int64_t output) {
    const T* from = x + image * volume * p.inner;
    T* best = y + output * p.inner;
    int64_t* index = indices + output * p.inner;
    bool any = false;
    if (p.inner == 1) {
      T most = T(-__builtin_inff());
      int64_t where = -1;
      for_each_run(p, od, oh, ow, [&](int64_t row, int64_t first, int64_t count) {
        const int64_t start = row * p.w.inputs + first;
        if (where < 0) where = start;
        for (int64_t i = 0; i < count; ++i) {
          const T v = from[start + i * p.w.step];
          const bool better = (v > most) | (v != v);
          most = better ? v : most;
          where = better ? start + i * p.w.step : where;
        }
      });
      *best = most, *index = max_of(where, 0);
      return;
    }
    for (int64_t c = 0; c < p.inner; ++c) best[c] = T(-__builtin_inff()), index[c] = 0;
    for_each_run(p, od, oh, ow, [&](int64_t row, int64_t first, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t at = row * p.w.inputs + first + i * p.w.step;
        const T* pixel = from + at * p.inner;
        if (!any)
          for (int64_t c = 0; c < p.inner; ++c) index[c] = at;
        any = true;
        for (int64_t c = 0; c < p.inner; ++c) {
          const T v = pixel[c];
          const bool better = (v > best[c]) | (v != v);
          best[c] = better ? v : best[c];
          index[c] = better ? at : index[c];
        }
      }
    });
  });
}

}  // namespace

void box_average_f32(const BoxPool& p, const float* x, float* y) { average(p, x, y); }
void box_average_f64(const BoxPool& p, const double* x, double* y) { average(p, x, y); }
void box_average_backward_f32(const BoxPool& p, const float* grad_y, float* grad_x) {
  average_backward(p, grad_y, grad_x);
}
void box_average_backward_f64(const BoxPool& p, const double* grad_y, double* grad_x) {
  average_backward(p, grad_y, grad_x);
}
void box_max_f32(const BoxPool& p, const float* x, float* y, int64_t* indices) { maximum(p, x, y, indices); }
void box_max_f64(const BoxPool& p, const double* x, double* y, int64_t* indices) { maximum(p, x, y, indices); }

}  // namespace rushlight::kernels::RL_ISA
