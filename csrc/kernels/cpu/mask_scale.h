// What dropout does to each element.
#pragma once
#include <cstdint>

#include "kernels/cpu/dispatch.h"

namespace rushlight::kernels {

// y[i] = x[i] * (mask[i] ? scale : 0); mask holds zeros and ones.
RL_KERNEL(void, mask_scale_f32, const float* x, const bool* mask, double scale, float* y, int64_t n)
RL_KERNEL(void, mask_scale_f64, const double* x, const bool* mask, double scale, double* y, int64_t n)

}  // namespace rushlight::kernels
