// What sorted elements are good for: searching, counting, finding equal ones.
#pragma once
#include "tensor/tensor.h"

namespace rushlight::kernels {

// out (int64, the shape of values): where values would be inserted in the lines of `sorted`, after equal ones if
// `right`. `sorted` is one line, or has a line for each line of values. All contiguous and of one dtype; order, where
// given, has the shape of `sorted` and says where its elements in order are.
void search(const Tensor& sorted, const Tensor* order, const Tensor& values, bool right, const Tensor& out);

// For every line of `sorted`, along the last of its dimensions, the most frequent element (the least of several) and
// the last of its places, which `order` (int64, a stable one) names. All contiguous; values and places have one element
// a line.
void mode(const Tensor& sorted, const Tensor& order, const Tensor& values, const Tensor& places);

// Runs of equal elements in a vector: `starts` has the place of each run's first element; groups, where defined, the
// number of each element's run. All contiguous.
std::vector<int64_t> runs(const Tensor& x, const Tensor& groups);
// The same for the rows of a matrix, in the given order (int64), or as they stand where it is not defined.
std::vector<int64_t> runs_of_rows(const Tensor& x, const Tensor& order, const Tensor& groups);
// The order of a matrix' rows as words in a dictionary, equal ones as they stand.
Tensor order_of_rows(const Tensor& x);

// How many elements lie in each of the intervals of equal length that `counts` (float64) has room for between low and
// high; others are left out. x is contiguous.
void histogram(const Tensor& x, double low, double high, const Tensor& counts);

}  // namespace rushlight::kernels
