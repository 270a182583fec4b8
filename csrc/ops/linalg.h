// Products and layers that other operations are written with.
#pragma once
#include "ops/layers.h"

namespace rushlight {

Tensor mm(const Tensor& a, const Tensor& b);

}  // namespace rushlight
