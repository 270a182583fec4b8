#include "kernels/cpu/tile_loops.h"
#include "pointwise/unary.h"

namespace rushlight::kernels::RL_ISA {

const TileRow* unary_tiles() { return table_of<1>(Unary()); }

}  // namespace rushlight::kernels::RL_ISA
