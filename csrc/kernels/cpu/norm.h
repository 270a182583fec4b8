// Normalization: statistics, the result, and gradients.
#pragma once
#include <cstdint>

#include "kernels/cpu/dispatch.h"

namespace rushlight::kernels {

// (n, channels, inner), contiguous. Memory with channels innermost is the same with inner = 1.
struct Channels {
  int64_t n, channels, inner;
  int64_t count() const { return n * inner; }  // values per channel
};

// The mean and the biased variance of each channel. rest: what rounding took from the mean, which counts where values
// are far from zero and close together.
RL_KERNEL(void, channel_moments_f32, const Channels& s, const float* x, float* mean, float* rest, float* var)
RL_KERNEL(void, channel_moments_f64, const Channels& s, const double* x, double* mean, double* rest, double* var)

// y = (x - mean) * scale + shift, by channel; scale and shift may be null (1, 0).
RL_KERNEL(void, channel_affine_f32, const Channels& s, const float* x, const float* mean, const float* scale,
          const float* shift, float* y)
RL_KERNEL(void, channel_affine_f64, const Channels& s, const double* x, const double* mean, const double* scale,
          const double* shift, double* y)

// sum_g = sum of g, sum_gx = sum of g * (x - mean), by channel.
RL_KERNEL(void, channel_sums_f32, const Channels& s, const float* g, const float* x, const float* mean, float* sum_g,
          float* sum_gx)
RL_KERNEL(void, channel_sums_f64, const Channels& s, const double* g, const double* x, const double* mean,
          double* sum_g, double* sum_gx)

// gx = g * a + (x - mean) * b + c, by channel; b and c may both be null.
RL_KERNEL(void, channel_combine_f32, const Channels& s, const float* g, const float* x, const float* mean,
          const float* a, const float* b, const float* c, float* gx)
RL_KERNEL(void, channel_combine_f64, const Channels& s, const double* g, const double* x, const double* mean,
          const double* a, const double* b, const double* c, double* gx)

// Rows of n values: y = (x - mean) * rstd * weight + bias, with each row's own mean and rstd = 1 / sqrt(variance +
// eps), which are kept. weight and bias (n) may be null.
RL_KERNEL(void, layer_norm_f32, int64_t rows, int64_t n, const float* x, const float* weight, const float* bias,
          double eps, float* y, float* mean, float* rstd)
RL_KERNEL(void, layer_norm_f64, int64_t rows, int64_t n, const double* x, const double* weight, const double* bias,
          double eps, double* y, double* mean, double* rstd)

// Any of gx (rows, n), gw (n) and gb (n) may be null. The same for any number of threads.
RL_KERNEL(void, layer_norm_backward_f32, int64_t rows, int64_t n, const float* g, const float* x, const float* weight,
          const float* mean, const float* rstd, float* gx, float* gw, float* gb)
RL_KERNEL(void, layer_norm_backward_f64, int64_t rows, int64_t n, const double* g, const double* x,
          const double* weight, const double* mean, const double* rstd, double* gx, double* gw, double* gb)

// y = x * rstd * weight, with each row's own rstd = 1 / sqrt(mean of squares + eps), which is kept.
RL_KERNEL(void, rms_norm_f32, int64_t rows, int64_t n, const float* x, const float* weight, double eps, float* y,
          float* rstd)
RL_KERNEL(void, rms_norm_f64, int64_t rows, int64_t n, const double* x, const double* weight, double eps, double* y,
          double* rstd)
RL_KERNEL(void, rms_norm_backward_f32, int64_t rows, int64_t n, const float* g, const float* x, const float* weight,
          const float* rstd, float* gx, float* gw)
RL_KERNEL(void, rms_norm_backward_f64, int64_t rows, int64_t n, const double* g, const double* x, const double* weight,
          const double* rstd, double* gx, double* gw)

}  // namespace rushlight::kernels
