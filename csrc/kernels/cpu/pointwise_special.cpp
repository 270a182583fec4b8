#include "kernels/cpu/special_tiles.h"
#include "kernels/cpu/tile_loops.h"
#include "kernels/cpu/vec_math_bessel.h"
#include "pointwise/special.h"

namespace rushlight::kernels::RL_ISA {

const TileRow* special_tiles() { return table_of<1>(Special()); }
const TileRow* special_function_tiles() { return table_of<1>(SpecialFunctions()); }
const TileRow* special_binary_tiles() { return table_of<2>(SpecialBinary()); }

}  // namespace rushlight::kernels::RL_ISA
