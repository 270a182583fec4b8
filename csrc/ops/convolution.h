// Convolution in one to three dimensions. It and its two gradients are bilinear, and the gradients of each are among
// the three; a transposed convolution is the input's gradient under another name.
#pragma once
#include "ops/layout.h"

namespace rushlight::ops {

// x (n, c_in, spatial...) gives y (n, c_out, spatial...). One dimension is an image of height one; of a volume,
// `image` describes the slices, and `depth` where they lie.
struct ConvGeometry {
  kernels::Conv2dShape image;
  struct {
    int64_t in = 1, kernel = 1, stride = 1, pad = 0, dilation = 1, out = 1;
  } depth;
  int64_t spatial = 2;
};

// Recorded as ConvolutionBackward0. Transposed, x has the shape of the geometry's y and the result that of its x; the
// weight's shape is the same either way: (channels of y, channels of x / groups, kernel...). bias may be undefined.
Tensor convolution(const ConvGeometry& g, bool transposed, const Tensor& x, const Tensor& weight, const Tensor& bias);

}  // namespace rushlight::ops
