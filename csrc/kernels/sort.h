// Order along a dimension. NaN is larger than any number; equal elements keep their order.
#pragma once
#include "tensor/tensor.h"

namespace rushlight::kernels {

// values and indices have x's shape; any strides.
void sort_into(const Tensor& values, const Tensor& indices, const Tensor& x, int64_t dim, bool descending);
// values and indices have x's shape but k along dim: the first k places of the sorted order.
void topk_into(const Tensor& values, const Tensor& indices, const Tensor& x, int64_t dim, int64_t k, bool largest);
// values and indices have x's shape but 1 along dim: place k of the sorted order. With nan_first a NaN anywhere in the
// line is taken instead (the first one).
void kth_into(const Tensor& values, const Tensor& indices, const Tensor& x, int64_t dim, int64_t k, bool nan_first);

}  // namespace rushlight::kernels
