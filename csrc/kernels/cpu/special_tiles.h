// The tile functions of pointwise/special.h, whose lists only csrc/ops/special.cpp knows.
#pragma once
#include "kernels/cpu/tiles.h"

namespace rushlight::kernels {

RL_KERNEL(const TileRow*, special_tiles, )
RL_KERNEL(const TileRow*, special_function_tiles, )
RL_KERNEL(const TileRow*, special_binary_tiles, )

}  // namespace rushlight::kernels
