// Two-dimensional pooling. Layout is defined with convolution.
#pragma once
#include <cstdint>

#include "kernels/cpu/conv2d.h"

namespace rushlight::kernels {

// x (n, c, h, w), y (n, c, h_out, w_out); h_out and w_out say whether ceil_mode was used. dil_* are 1 for averages.
struct Pool2dShape {
  int64_t n, c, h, w, kh, kw;
  int64_t stride_h, stride_w, pad_h, pad_w, dil_h, dil_w;
  int64_t h_out, w_out;
};

// indices, in the layout of y, receives row * w + column of each maximum; it may be null. Of equal values the first
// wins; a NaN wins over numbers, and the last one over the others. A window without any element gives -inf, index 0.
RL_KERNEL(void, max_pool2d_f32, const Pool2dShape& s, Layout layout, const float* x, float* y, int64_t* indices)
RL_KERNEL(void, max_pool2d_f64, const Pool2dShape& s, Layout layout, const double* x, double* y, int64_t* indices)

// Adds grad_y to grad_x at the indices; grad_x is overwritten. Indices outside of the plane are ignored.
RL_KERNEL(void, max_pool2d_backward_f32, const Pool2dShape& s, Layout layout, const float* grad_y,
          const int64_t* indices, float* grad_x)
RL_KERNEL(void, max_pool2d_backward_f64, const Pool2dShape& s, Layout layout, const double* grad_y,
          const int64_t* indices, double* grad_x)

// Divides by divisor where it is not 0, else by the number of elements in the window: those in the image, or, with
// count_padding, those in the padding too.
RL_KERNEL(void, avg_pool2d_f32, const Pool2dShape& s, Layout layout, bool count_padding, int64_t divisor,
          const float* x, float* y)
RL_KERNEL(void, avg_pool2d_f64, const Pool2dShape& s, Layout layout, bool count_padding, int64_t divisor,
          const double* x, double* y)
RL_KERNEL(void, avg_pool2d_backward_f32, const Pool2dShape& s, Layout layout, bool count_padding, int64_t divisor,
          const float* grad_y, float* grad_x)
RL_KERNEL(void, avg_pool2d_backward_f64, const Pool2dShape& s, Layout layout, bool count_padding, int64_t divisor,
          const double* grad_y, double* grad_x)

}  // namespace rushlight::kernels
