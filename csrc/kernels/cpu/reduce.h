// Folds of many elements into one: along contiguous rows, and down the columns of a matrix.
#pragma once
#include "kernels/cpu/tiles.h"

namespace rushlight::kernels {

// What each element contributes, and how contributions are joined.
enum class Fold : uint8_t {
  sum,
  product,
  max,  // NaN where any element is
  min,
  any,  // 1 if any element is nonzero, else 0
  all,
  count,  // of nonzero elements
  sum_abs,
  sum_squares,
  max_abs,
  min_abs,
  sum_power,              // |x| ** parameter
  sum_exp,                // exp(x - parameter)
  sum_squared_deviation,  // (x - parameter) ** 2
};
constexpr int kFolds = 14;

// Accumulators are double for floating-point elements and int64 for integers. Float sums are kept in registers for some
// sixteen terms only and joined pairwise in double beyond, which bounds the error by about 1e-6 of the sum of absolute
// values whatever the length (Higham, "The Accuracy of Floating Point Summation", 1993).
// parameter: one for a row, one for each column; null where the fold has none.
struct FoldKernels {
  // *acc = join(*acc, in[0], ... in[n - 1])
  void (*row)(const void* in, int64_t n, void* acc, const double* parameter);
  // acc[j] = join(acc[j], in[j], in[stride + j], ... in[(rows - 1) * stride + j]) for every j < cols
  void (*columns)(const void* in, int64_t stride, int64_t rows, int64_t cols, void* acc, const double* parameter);
};
// The kernels of fold f and compute type c stand at [f * kComputes + c]; null where there are none.
RL_KERNEL(const FoldKernels*, fold_kernels, )

// The first place of `value` (the bytes of one element; NaN finds NaN), or n.
RL_KERNEL(int64_t, find_first, int compute, const void* in, int64_t n, const void* value)

// Down columns: best[j] and where[j] hold the extremum so far and its row; rows are numbered from `first` on. The
// earliest of equals wins, and the first NaN above all. best is of the compute type.
RL_KERNEL(void, find_extrema, bool max, int compute, const void* in, int64_t stride, int64_t first, int64_t rows,
          int64_t cols, void* best, int64_t* where)

}  // namespace rushlight::kernels
