// One optimizer step over the memory of one parameter: gradients and state are walked once, in place.
// All arrays have n elements in the same order and do not overlap. Scalars are doubles, rounded to the element type
// where they meet an element, as PyTorch's operations do.
#pragma once
#include <cstdint>

#include "kernels/cpu/dispatch.h"
#include "kernels/cpu/optim_args.h"

namespace rushlight::kernels {

// buf may be null where momentum is 0.
RL_KERNEL(void, sgd_step_f32, float* param, const float* grad, float* buf, int64_t n, const SgdArgs& args)
RL_KERNEL(void, sgd_step_f64, double* param, const double* grad, double* buf, int64_t n, const SgdArgs& args)

// max_exp_avg_sq is null but for amsgrad.
RL_KERNEL(void, adam_step_f32, float* param, const float* grad, float* exp_avg, float* exp_avg_sq,
          float* max_exp_avg_sq, int64_t n, const AdamArgs& args)
RL_KERNEL(void, adam_step_f64, double* param, const double* grad, double* exp_avg, double* exp_avg_sq,
          double* max_exp_avg_sq, int64_t n, const AdamArgs& args)

// For clipping gradients by their norm. NaNs come through.
RL_KERNEL(double, sum_of_squares_f32, const float* x, int64_t n)
RL_KERNEL(double, sum_of_squares_f64, const double* x, int64_t n)
RL_KERNEL(double, max_abs_f32, const float* x, int64_t n)
RL_KERNEL(double, max_abs_f64, const double* x, int64_t n)
RL_KERNEL(void, scale_f32, float* x, int64_t n, double factor)
RL_KERNEL(void, scale_f64, double* x, int64_t n, double factor)

}  // namespace rushlight::kernels
