// Two-dimensional convolution (cross-correlation, as everywhere in deep learning) and its gradients.
#pragma once
#include <cstdint>

#include "kernels/cpu/dispatch.h"

namespace rushlight::kernels {

// x (n, c_in, h, w), weight (c_out, c_in / groups, kh, kw), y (n, c_out, h_out, w_out). The caller has checked that
// groups divides c_in and c_out and that h_out, w_out follow from the rest.
struct Conv2dShape {
  int64_t n, c_in, h, w, c_out, kh, kw;
  int64_t stride_h, stride_w, pad_h, pad_w, dil_h, dil_w;
  int64_t groups, h_out, w_out;
};

// How a dense four-dimensional array lies in memory: in the order of its dimensions, or with the channels innermost.
// For weights, "image" is the output channel.
enum class Layout { channels_first, channels_last };

// bias (c_out) may be null.
RL_KERNEL(void, conv2d_forward_f32, const Conv2dShape& s, const float* x, Layout x_layout, const float* weight,
          Layout weight_layout, const float* bias, float* y, Layout y_layout)
RL_KERNEL(void, conv2d_forward_f64, const Conv2dShape& s, const double* x, Layout x_layout, const double* weight,
          Layout weight_layout, const double* bias, double* y, Layout y_layout)

// Also the transposed convolution, for which bias (c_in) may be given.
RL_KERNEL(void, conv2d_grad_input_f32, const Conv2dShape& s, const float* grad_y, Layout grad_y_layout,
          const float* weight, Layout weight_layout, const float* bias, float* grad_x, Layout grad_x_layout)
RL_KERNEL(void, conv2d_grad_input_f64, const Conv2dShape& s, const double* grad_y, Layout grad_y_layout,
          const double* weight, Layout weight_layout, const double* bias, double* grad_x, Layout grad_x_layout)

// The same result every time for a given number of threads.
RL_KERNEL(void, conv2d_grad_weight_f32, const Conv2dShape& s, const float* x, Layout x_layout, const float* grad_y,
          Layout grad_y_layout, float* grad_weight, Layout grad_weight_layout)
RL_KERNEL(void, conv2d_grad_weight_f64, const Conv2dShape& s, const double* x, Layout x_layout, const double* grad_y,
          Layout grad_y_layout, double* grad_weight, Layout grad_weight_layout)

RL_KERNEL(void, conv2d_grad_bias_f32, const Conv2dShape& s, const float* grad_y, Layout grad_y_layout, float* grad_bias)
RL_KERNEL(void, conv2d_grad_bias_f64, const Conv2dShape& s, const double* grad_y, Layout grad_y_layout,
          double* grad_bias)

}  // namespace rushlight::kernels
