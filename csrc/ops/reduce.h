// What families of reductions share.
#pragma once
#include "autograd/apply.h"
#include "kernels/reduce.h"

namespace rushlight::ops {

struct Reduced {
  Dims shape;  // of the operand
  kernels::DimSet dims = 0;
  bool keepdim = false;
};

using OptDims = std::optional<IntSpan>;

// The fold of x as an operation's result: into ctx.out at once where that may be. parameter: as for kernels::reduce.
Tensor fold(Ctx& ctx, kernels::Fold f, const Tensor& x, const Reduced& r, DType compute, DType result,
            const Tensor* parameter = nullptr, kernels::Finish finish = {});
void divide_by_count(double* acc, const double* parameter, int64_t n, double count, double argument);  // a Finish
Dims dims_of(const Reduced& r);  // those that are reduced
// A result, or its gradient, with its reduced dimensions at size 1.
Tensor restore_dims(const Tensor& t, const Reduced& r);
// Zeros of n along `dim`, but g where `place` says; differentiable by g. Both have size 1 there.
Tensor place_along(const Tensor& g, const Tensor& place, int64_t dim, int64_t n);

// The p-norm over dimensions, recorded; no dimensions are all of them.
Tensor vector_norm(const Tensor& t, double p, IntSpan dims, bool keepdim = false);

}  // namespace rushlight::ops
