// Reading and writing at places that integer tensors name. Everything is checked where it is used: no index, however it
// came about, reaches outside a tensor. Results do not depend on the number of threads.
#pragma once
#include <span>

#include "tensor/tensor.h"

namespace rushlight::kernels {

// How writing combines with what is there.
enum class Combine { assign, add, multiply, minimum, maximum };

// x[indices]: int64 tensors that broadcast to one shape, undefined where a dimension is taken whole. The dimensions of
// that shape stand where the indexed ones were if these are neighbours, else first.
struct IndexPlan {
  IndexPlan(const char* op, const Tensor& x, std::span<const Tensor> indices);
  Dims shape;                             // of the result
  Dims own_strides;                       // of x in the result's dimensions, in elements; 0 along those of the indices
  size_t at = 0, n = 0;                   // the indices' dimensions are shape[at ... at + n)
  std::vector<Tensor> indices;            // broadcast against each other
  Dims dims, index_sizes, index_strides;  // x's indexed dimensions
  std::vector<int64_t> offsets() const;   // in elements of x, for every place of the indices; raises IndexError
};

Tensor take_at(const char* op, const Tensor& x, std::span<const Tensor> indices);
// x[indices] (assign or add) values, in place; values broadcast to the result's shape and have x's dtype.
void put_at(const char* op, const Tensor& x, std::span<const Tensor> indices, const Tensor& values, Combine how);

// Along one dimension: out[i][j] = x[index[i][j]][j], and x[index[i][j]][j] (how)= src[i][j] for dim 0.
void gather_into(const Tensor& out, const Tensor& x, int64_t dim, const Tensor& index);
void scatter_into(const char* op, const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src, Combine how);

Tensor nonzero(const Tensor& x);  // (count, x.dim()), of int64, in order
int64_t count_nonzero(const Tensor& x);

// values and indices of x sorted along a dimension; NaN is larger than any number.
void sort_into(const Tensor& values, const Tensor& indices, const Tensor& x, int64_t dim, bool descending);
// The k largest or smallest along a dimension, sorted; indices along the last dimension of contiguous results.
void topk_into(const Tensor& values, const Tensor& indices, const Tensor& x, int64_t dim, int64_t k, bool largest);

}  // namespace rushlight::kernels
