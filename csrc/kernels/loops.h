// The planner of elementwise work: broadcast, reorder and merge dimensions, split across threads, and hand contiguous
// tiles of one compute type to a tile function. Half types, mixed dtypes and strided operands are converted tile by
// tile in the cache, so that tile functions exist for compute types only.
#pragma once
#include <span>

#include "kernels/cpu/tiles.h"
#include "pointwise/binary.h"
#include "pointwise/unary.h"
#include "tensor/tensor.h"

namespace rushlight::kernels {

// The compute type of a dtype.
inline Compute compute_of(DType d) { return d == DType::Float64 ? kF64 : is_floating(d) ? kF32 : kI64; }

// Applies a tile function to in..., broadcast against each other. `result` is the dtype of a new result; `compute`
// that of the arithmetic; `out`, where given, must have the broadcast shape and takes the result. `round_numbers`: a
// Python number is rounded to the half type of the tensors it meets.
RL_API Tensor run_tiles(const char* op, const Tiles& tiles, const void* functor, std::span<const Tensor* const> in,
                        DType compute, DType result, const Tensor* out, bool round_numbers);

// The layout of a new result of elementwise work over `in`, all broadcast to `shape`.
Dims result_strides(std::span<const Tensor* const> in, IntSpan shape);

// Whether several elements share a place, as expand() makes them; check_writable raises there.
bool shares_places(const Tensor& t);
void check_writable(const char* op, const Tensor& out);
// Raises where `in` shares a part of out's memory, or all of it in another order, as far as that is seen at once.
void check_apart(const char* op, const Tensor& out, const Tensor& in);

// Copies with conversion and broadcasting; overlapping memory is handled.
RL_API void copy_into(const Tensor& to, const Tensor& from);
RL_API void fill(const Tensor& t, const Scalar& value);
RL_API Tensor cast(const Tensor& t, DType dtype, MemoryFormat f = MemoryFormat::Preserve);
RL_API Tensor clone(const Tensor& t, MemoryFormat f = MemoryFormat::Preserve);
inline Tensor contiguous(const Tensor& t) {
  return t.is_contiguous() ? t : kernels::clone(t, MemoryFormat::Contiguous);
}

template <class F>
const TileRow& tile_row() {
  using namespace pointwise;
  constexpr int one = index_of<F>(Unary()), parameter = index_of<F>(UnaryWithParameters()), two = index_of<F>(Binary());
  if constexpr (one >= 0) return unary_tiles()[one];
  else if constexpr (parameter >= 0) return unary_parameter_tiles()[parameter];
  else if constexpr (two >= 0) return binary_tiles()[two];
  else return ternary_tiles()[index_of<F>(Ternary())];
}

// part 0: forward; 1, 2, 3: the derivative by each argument.
template <class F, class... T>
Tensor pointwise(const char* op, const F& f, int part, DType compute, const Tensor* out, const T&... in) {
  const Tensor* ts[] = {&in...};
  const Tiles& tiles = tile_row<F>().part[part];
  return run_tiles(op, tiles, &f, ts, compute, tiles.predicate ? DType::Bool : compute, out,
                   pointwise::rounds_numbers<F>());
}

}  // namespace rushlight::kernels
