// Distances between vectors.
#pragma once
#include "tensor/tensor.h"

namespace rushlight::kernels {

// out[..., i, j] = the p-norm of a[..., i, :] - b[..., j, :]; all contiguous, of float32 or float64, with equal leading
// dimensions.
void distances(const Tensor& a, const Tensor& b, const Tensor& out, double p);

}  // namespace rushlight::kernels
