// Products and layers that other operations are written with.
#pragma once
#include "ops/functions.h"

namespace rushlight {

Tensor mm(const Tensor& a, const Tensor& b);
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);  // bias may be undefined

}  // namespace rushlight
