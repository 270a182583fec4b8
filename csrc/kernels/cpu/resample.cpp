#include "kernels/cpu/resample.h"

#include "base/thread_pool.h"
#include "kernels/cpu/tile.h"

namespace rushlight::kernels::RL_ISA {
namespace {

constexpr int64_t kGrain = 16384;  // elements written that make a piece worth a thread

// One line, whose elements lie together: gathers. Most often every output is made from as many inputs.
template <class T, int Taps>
void gather_line(const ResampleShape& s, const T* weight, const T* x, T* y) {
  for (int64_t o = 0; o < s.outputs; ++o) {
    T sum = 0;
    for (int t = 0; t < Taps; ++t) sum += weight[o * Taps + t] * x[s.index[o * Taps + t]];
    y[o] = sum;
  }
}
template <class T>
void gather_line(const ResampleShape& s, int64_t taps, const T* weight, const T* x, T* y) {
  if (taps == 1) {
    for (int64_t o = 0; o < s.outputs; ++o) y[o] = x[s.index[o]];  // one tap weighs 1
  } else if (taps == 2) {
    gather_line<T, 2>(s, weight, x, y);
  } else if (taps == 4) {
    gather_line<T, 4>(s, weight, x, y);
  } else {
    for (int64_t o = 0; o < s.outputs; ++o) {
      T sum = 0;
      for (int64_t k = s.start[o]; k < s.start[o + 1]; ++k) sum += weight[k] * x[s.index[k]];
      y[o] = sum;
    }
  }
}

// How many taps every output has, or 0 where they differ.
int64_t common_taps(const ResampleShape& s) {
  const int64_t taps = s.start[1] - s.start[0];
  for (int64_t o = 1; o < s.outputs; ++o)
    if (s.start[o + 1] - s.start[o] != taps) return 0;
  return taps;
}

template <class T>
void resample(const ResampleShape& s, const T* weight, const T* x, T* y) {
  const int64_t taps = common_taps(s);
  if (s.inner == 1) {
    parallel_for(0, s.outer, max_of(1, kGrain / (s.outputs * max_of(1, taps))), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) gather_line(s, taps, weight, x + i * s.inputs, y + i * s.outputs);
    });
    return;
  }
  // Rows, of which one loop adds two: with two taps a row is written once.
  parallel_for(0, s.outer * s.outputs, max_of(1, kGrain / (s.inner * max_of(1, taps))),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t o = i % s.outputs;
                   const T* from = x + i / s.outputs * s.inputs * s.inner;
                   T* to = y + i * s.inner;
                   int64_t k = s.start[o];
                   const int64_t last = s.start[o + 1];
                   if (last - k == 1) {
                     std::memcpy(to, from + s.index[k] * s.inner, size_t(s.inner) * sizeof(T));
                     continue;
                   }
                   if (last == k) std::memset(to, 0, size_t(s.inner) * sizeof(T));
                   for (bool first = true; k < last; k += 2, first = false) {
                     const bool two = k + 1 < last;  // never one alone at first
                     const T *a = from + s.index[k] * s.inner, *b = two ? from + s.index[k + 1] * s.inner : a;
                     const T wa = weight[k], wb = two ? weight[k + 1] : T(0);
                     if (first) {
                       for (int64_t j = 0; j < s.inner; ++j) to[j] = wa * a[j] + wb * b[j];
                     } else if (two) {
                       for (int64_t j = 0; j < s.inner; ++j) to[j] += wa * a[j] + wb * b[j];
                     } else {
                       for (int64_t j = 0; j < s.inner; ++j) to[j] += wa * a[j];
                     }
                   }
                 }
               });
}

template <class T>
void resample_backward(const ResampleShape& s, const T* weight, const T* grad_y, T* grad_x) {
  parallel_for(0, s.outer, max_of(1, kGrain / (s.outputs * s.inner)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T* to = grad_x + i * s.inputs * s.inner;
      const T* from = grad_y + i * s.outputs * s.inner;
      std::memset(to, 0, size_t(s.inputs * s.inner) * sizeof(T));
      for (int64_t o = 0; o < s.outputs; ++o, from += s.inner)
        for (int64_t k = s.start[o]; k < s.start[o + 1]; ++k) {
          T* row = to + s.index[k] * s.inner;
          const T w = weight[k];
          for (int64_t j = 0; j < s.inner; ++j) row[j] += w * from[j];
        }
    }
  });
}

}  // namespace

void resample_f32(const ResampleShape& s, const float* weight, const float* x, float* y) { resample(s, weight, x, y); }
void resample_f64(const ResampleShape& s, const double* weight, const double* x, double* y) {
  resample(s, weight, x, y);
}
void resample_backward_f32(const ResampleShape& s, const float* weight, const float* grad_y, float* grad_x) {
  resample_backward(s, weight, grad_y, grad_x);
}
void resample_backward_f64(const ResampleShape& s, const double* weight, const double* grad_y, double* grad_x) {
  resample_backward(s, weight, grad_y, grad_x);
}

}  // namespace rushlight::kernels::RL_ISA
