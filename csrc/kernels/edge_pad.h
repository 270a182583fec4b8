// Padding with values from the tensor itself.
#pragma once
#include <cstdint>

#include "tensor/tensor.h"

namespace rushlight::kernels {

enum class Edge { reflect, replicate };

// How many elements stand before and after in the last one to three dimensions, the last first; negative ones crop.
struct EdgePad {
  Edge edge;
  int dims;
  int64_t widths[6];
};

// Both contiguous, of one dtype and the same leading dimensions; `to` has the padded shape.
void edge_pad(const EdgePad& p, const Tensor& from, const Tensor& to);
// Adds each element of g to that of gx which it was copied from. float32 or float64; gx starts as zeros.
void edge_pad_backward(const EdgePad& p, const Tensor& g, const Tensor& gx);

}  // namespace rushlight::kernels
