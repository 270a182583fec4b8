// Resampling along one axis: interpolation of images and volumes is done an axis at a time.
#pragma once
#include <cstdint>

#include "kernels/cpu/dispatch.h"

namespace rushlight::kernels {

// x (outer, inputs, inner), y (outer, outputs, inner): y[o] is the sum of weight[k] * x[index[k]] over k from start[o]
// to start[o + 1].
struct ResampleShape {
  int64_t outer, inputs, outputs, inner;
  const int64_t *start, *index;
};

RL_KERNEL(void, resample_f32, const ResampleShape& s, const float* weight, const float* x, float* y)
RL_KERNEL(void, resample_f64, const ResampleShape& s, const double* weight, const double* x, double* y)
// grad_x is overwritten.
RL_KERNEL(void, resample_backward_f32, const ResampleShape& s, const float* weight, const float* grad_y, float* grad_x)
RL_KERNEL(void, resample_backward_f64, const ResampleShape& s, const double* weight, const double* grad_y,
          double* grad_x)

}  // namespace rushlight::kernels
