// Pooling over boxes that lie anywhere in an image or volume: adaptive pooling, and pooling in three dimensions.
#pragma once
#include <cstdint>

#include "kernels/cpu/dispatch.h"

namespace rushlight::kernels {

// Along one axis, output i is made from inputs begin[i], begin[i] + step, ... below end[i]; a mean divides by size[i].
struct BoxAxis {
  int64_t inputs, outputs, step;
  const int64_t *begin, *end, *size;
};

// x (outer, inputs of the three axes..., inner), y likewise with outputs; inner holds the channels where they are last.
struct BoxPool {
  int64_t outer, inner;
  BoxAxis d, h, w;
  int64_t divisor;  // 0: the product of the sizes
};

// A box without elements gives 0.
RL_KERNEL(void, box_average_f32, const BoxPool& p, const float* x, float* y)
RL_KERNEL(void, box_average_f64, const BoxPool& p, const double* x, double* y)
// grad_x is overwritten.
RL_KERNEL(void, box_average_backward_f32, const BoxPool& p, const float* grad_y, float* grad_x)
RL_KERNEL(void, box_average_backward_f64, const BoxPool& p, const double* grad_y, double* grad_x)

// indices receives (d * H + h) * W + w of each maximum. Of equal values the first wins; a NaN wins over numbers, and
// the last one over the others. A box without elements gives -inf, index 0.
RL_KERNEL(void, box_max_f32, const BoxPool& p, const float* x, float* y, int64_t* indices)
RL_KERNEL(void, box_max_f64, const BoxPool& p, const double* x, double* y, int64_t* indices)

}  // namespace rushlight::kernels
