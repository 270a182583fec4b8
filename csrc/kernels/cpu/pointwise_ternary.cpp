#include "kernels/cpu/tile_loops.h"
#include "pointwise/binary.h"

namespace rushlight::kernels::RL_ISA {

const TileRow* ternary_tiles() { return table_of<3>(Ternary()); }

}  // namespace rushlight::kernels::RL_ISA
