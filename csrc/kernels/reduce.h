// Reductions over any set of dimensions of a tensor in any layout.
#pragma once
#include "kernels/cpu/reduce.h"
#include "kernels/loops.h"

namespace rushlight::kernels {

// A set of dimensions: bit d stands for dimension d.
using DimSet = uint64_t;
// An absent or empty list means all dimensions. Raises on repetition.
RL_API DimSet dim_set(const char* op, std::optional<IntSpan> dims, int64_t ndim);
RL_API Dims reduced_shape(IntSpan sizes, DimSet reduced, bool keepdim);
RL_API int64_t reduced_count(IntSpan sizes, DimSet reduced);  // elements behind each result

// Turns float accumulators into results: parameter as in Fold; count: elements behind each result.
struct Finish {
  void (*run)(double* acc, const double* parameter, int64_t n, double count, double argument) = nullptr;
  double argument = 0;
};

// Folds the elements of x, converted to `compute`, over the dimensions `reduced`. `out`, where given, has the shape and
// dtype of the result and shares no memory with x. `parameter`: contiguous float64, one for each result.
// How the work is cut depends on the shape alone, so the same input gives the same bits with any number of threads.
RL_API Tensor reduce(Fold fold, const Tensor& x, DimSet reduced, bool keepdim, DType compute, DType result,
                     const Tensor* out = nullptr, const Tensor* parameter = nullptr, Finish finish = {});

// The place (int64) and value of the extremum along one dimension of at least one element; the first of equals.
struct Extremum {
  Tensor value, place;
};
RL_API Extremum extremum(bool max, const Tensor& x, int64_t dim, bool keepdim);

}  // namespace rushlight::kernels
