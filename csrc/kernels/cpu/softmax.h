// Softmax and its logarithm along the middle dimension of an (outer, n, inner) array.
#pragma once
#include <cstdint>

#include "kernels/cpu/dispatch.h"

namespace rushlight::kernels {

// y = softmax(x), or its logarithm; y may be x. The largest element is subtracted first, so nothing overflows.
RL_KERNEL(void, softmax_f32, bool log, const float* x, float* y, int64_t outer, int64_t n, int64_t inner)
RL_KERNEL(void, softmax_f64, bool log, const double* x, double* y, int64_t outer, int64_t n, int64_t inner)

// gx from gy and y, the result of softmax or of its logarithm.
RL_KERNEL(void, softmax_backward_f32, bool log, const float* gy, const float* y, float* gx, int64_t outer, int64_t n,
          int64_t inner)
RL_KERNEL(void, softmax_backward_f64, bool log, const double* gy, const double* y, double* gx, int64_t outer, int64_t n,
          int64_t inner)

}  // namespace rushlight::kernels
