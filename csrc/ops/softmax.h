#pragma once
#include "ops/functions.h"

namespace rushlight {

Tensor softmax(const Tensor& x, int64_t dim);
Tensor log_softmax(const Tensor& x, int64_t dim);

}  // namespace rushlight
