// What networks are built from, for C++ programs; in Python these stand in rushlight.nn.functional.
#pragma once
#include "ops/functions.h"

namespace rushlight {

// input (*, in), weight (out, in), bias (out) or undefined: (*, out).
RL_API Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias);

// input (N, C, H, W) or (C, H, W), weight (out, C / groups, kernel height, kernel width), bias (out) or undefined.
RL_API Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntSpan stride = {1, 1},
                     IntSpan padding = {0, 0}, IntSpan dilation = {1, 1}, int64_t groups = 1);

// The largest value in each window of input, (N, C, H, W) or (C, H, W). The windows touch unless a stride is given.
RL_API Tensor max_pool2d(const Tensor& input, IntSpan kernel_size, IntSpan stride = {}, IntSpan padding = {0, 0});

RL_API Tensor argmax(const Tensor& input, OptInt dim = {}, bool keepdim = false);

}  // namespace rushlight
