// An optimizer's step over all parameters of a group, and clipping of all gradients: one call each. Nothing is
// recorded; versions are bumped, so that backward notices.
#pragma once
#include <span>

#include "kernels/cpu/optim_args.h"
#include "tensor/tensor.h"

namespace rushlight::kernels {

using TensorSpan = std::span<const Tensor>;

// buffers: one for each parameter, or none where momentum is 0.
RL_API void sgd_step(TensorSpan params, TensorSpan grads, TensorSpan buffers, const SgdArgs& args);

// steps count the steps of each parameter, in tensors of one number; max_exp_avg_sqs is empty but for amsgrad.
// The step size and the correction in args are worked out here.
RL_API void adam_step(TensorSpan params, TensorSpan grads, TensorSpan exp_avgs, TensorSpan exp_avg_sqs,
                      TensorSpan max_exp_avg_sqs, TensorSpan steps, AdamArgs args);

// Scales the gradients so that their norm, all taken as one vector, is at most max_norm; returns the norm before.
// norm_type is 2 or infinity.
RL_API Tensor clip_grad_norm_(TensorSpan grads, double max_norm, double norm_type);

}  // namespace rushlight::kernels
