// Reading and writing at places that integer tensors name. Every index is checked where it is used, so that none,
// however it came about, reaches outside a tensor. Results do not depend on the number of threads.
#pragma once
#include <span>

#include "tensor/tensor.h"

namespace rushlight::kernels {

// How writing combines with what is there.
enum class Combine { assign, add, multiply, minimum, maximum };

// x[indices]: int64 tensors that broadcast to one shape, undefined where a dimension is taken whole. The dimensions of
// that shape stand where the indexed ones were if these are neighbours, else first.
struct IndexPlan {
  IndexPlan(const Tensor& x, std::span<const Tensor> indices);
  Dims shape;                            // of the result
  Dims own_strides;                      // of x in the result's dimensions, in elements; 0 along those of the indices
  size_t at = 0, n = 0;                  // the indices' dimensions are shape[at ... at + n)
  std::vector<Tensor> indices;           // broadcast against each other
  Dims dims, sizes, strides;             // x's indexed dimensions
  bool wrap = true;                      // negative indices count from the end
  ErrorKind error = ErrorKind::Index;    // raised for an index out of bounds
  std::vector<int64_t> offsets() const;  // in elements of x, for every place of the indices
  Dims result_strides(const Tensor& x) const;  // of a new result: as x and the indices lie in memory
};

void take_into(const Tensor& out, const Tensor& x, const IndexPlan& plan);  // out = x[indices], of the plan's shape
// x[indices] (how)= values, which broadcast to the plan's shape and have x's dtype. Of several values for one place the
// last is assigned; all are added.
void put_at(const Tensor& x, const IndexPlan& plan, const Tensor& values, Combine how);

// Along one dimension: out[i][j] = x[index[i][j]][j], and x[index[i][j]][j] (how)= src[i][j], for dim 0. The index is
// int64, has the number of dimensions of the others and is nowhere larger than they are (but x along dim).
void gather_into(const Tensor& out, const Tensor& x, int64_t dim, const Tensor& index);
void scatter_into(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src, Combine how);

Tensor nonzero(const Tensor& x);  // (count, x.dim()) of int64, in order; laid out column by column

}  // namespace rushlight::kernels
