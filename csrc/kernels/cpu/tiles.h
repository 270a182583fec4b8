// Pointwise functions as loops over tiles: contiguous arrays of one compute type (float, double, int64).
#pragma once
#include <cstdint>

#include "kernels/cpu/dispatch.h"

namespace rushlight::kernels {

enum Compute : uint8_t { kF32, kF64, kI64, kComputes };

// f: the functor; out: n of T or, for predicates, of bool; in: for each argument a pointer to n of T.
using TileFn = void (*)(const void* f, int64_t n, void* out, const void* const* in);

// One function for every compute type; null where it does not exist.
struct Tiles {
  TileFn fn[kComputes];
  bool predicate;
};
// For every functor of a list: forward, then the derivative by each argument.
constexpr int kParts = 4;
struct TileRow {
  Tiles part[kParts];
};

RL_KERNEL(const TileRow*, unary_tiles, )
RL_KERNEL(const TileRow*, unary_parameter_tiles, )
RL_KERNEL(const TileRow*, binary_tiles, )
RL_KERNEL(const TileRow*, ternary_tiles, )

// Conversion between memory and tiles. Strides in bytes; dtype numbers are base/dtype.h's.
RL_KERNEL(void, load_tile, void* tile, int compute, const char* from, int dtype, int64_t stride, int64_t n)
RL_KERNEL(void, store_tile, char* to, int dtype, int64_t stride, const void* tile, int compute, bool predicate,
          int64_t n)
RL_KERNEL(void, stream_copy, void* to, const void* from, int64_t bytes)  // past the cache; both aligned to 64 bytes
RL_KERNEL(void, copy_strided, char* to, int64_t to_stride, const char* from, int64_t from_stride, int itemsize,
          int64_t n)

}  // namespace rushlight::kernels
