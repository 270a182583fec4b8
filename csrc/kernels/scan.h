// Running sums and products along one dimension.
#pragma once
#include "tensor/tensor.h"

namespace rushlight::kernels {

// x and out are contiguous, of the same shape and dtype, and may be the same memory. Floats are accumulated in double.
void running_sum(const Tensor& x, const Tensor& out, int64_t dim);
void running_product(const Tensor& x, const Tensor& out, int64_t dim);

}  // namespace rushlight::kernels
