// What families of reductions share.
#pragma once
#include "autograd/apply.h"

namespace rushlight::ops {

struct Reduced {
  Dims shape;         // of the operand
  uint64_t dims = 0;  // bit d: dimension d is reduced
  bool keepdim = false;
};

// ctx.out where a reduction of x may write its result at once; null: the result is copied there.
const Tensor* reduce_target(const Ctx& ctx, IntSpan shape, DType dtype, const Tensor& x);
// A result, or its gradient, with its reduced dimensions at size 1.
Tensor restore_dims(const Tensor& t, const Reduced& r);
// Zeros of n along `dim`, but g where `place` says; differentiable by g. Both have size 1 there.
Tensor place_along(const Tensor& g, const Tensor& place, int64_t dim, int64_t n);

}  // namespace rushlight::ops
