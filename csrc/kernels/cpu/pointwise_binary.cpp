#include "kernels/cpu/tile_loops.h"
#include "pointwise/binary.h"

namespace rushlight::kernels::RL_ISA {

const TileRow* binary_tiles() { return table_of<2>(Binary()); }

}  // namespace rushlight::kernels::RL_ISA
