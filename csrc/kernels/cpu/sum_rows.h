// The sum of the rows of a row-major matrix: the gradient of a bias.
#pragma once
#include <cstdint>

#include "kernels/cpu/dispatch.h"

namespace rushlight::kernels {

// out has `cols` values.
RL_KERNEL(void, sum_rows_f32, const float* x, int64_t rows, int64_t cols, float* out)
RL_KERNEL(void, sum_rows_f64, const double* x, int64_t rows, int64_t cols, double* out)

}  // namespace rushlight::kernels
