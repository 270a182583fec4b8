// Running sums, products and extrema along one dimension.
#pragma once
#include "tensor/tensor.h"

namespace rushlight::kernels {

// x and out are contiguous, of the same shape and dtype, and may be the same memory. Floats are accumulated in double.
void running_sum(const Tensor& x, const Tensor& out, int64_t dim);
void running_product(const Tensor& x, const Tensor& out, int64_t dim);
void running_logsumexp(const Tensor& x, const Tensor& out, int64_t dim);  // of floats
// The gradient of that by x: out[j] = sum of g[i] exp(x[j] - y[i]) over i >= j. All contiguous and of one dtype.
void running_logsumexp_backward(const Tensor& g, const Tensor& x, const Tensor& y, const Tensor& out, int64_t dim);
// The largest or smallest element so far, and where it is: the last one of equals. NaN beats every number. All
// contiguous, places of int64.
void running_extremum(bool max, const Tensor& x, const Tensor& values, const Tensor& places, int64_t dim);

}  // namespace rushlight::kernels
