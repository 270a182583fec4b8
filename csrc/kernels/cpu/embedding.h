// Rows of a table by number.
#pragma once
#include <cstdint>

#include "kernels/cpu/dispatch.h"

namespace rushlight::kernels {

// out[i] = table[index[i]], for rows of row_bytes. Gives the first i whose index is not in [0, rows), or -1.
RL_KERNEL(int64_t, gather_rows, const char* table, int64_t rows, int64_t row_bytes, const int64_t* index, int64_t count,
          char* out)

// out[index[i]] += factor[index[i]] * g[i], for rows of `width`; out (rows, width) is overwritten. Indices equal to
// `skip` do not count; factor may be null. Each row is summed in the order of i.
RL_KERNEL(void, scatter_rows_f32, const float* g, const int64_t* index, int64_t count, int64_t skip,
          const float* factor, int64_t rows, int64_t width, float* out)
RL_KERNEL(void, scatter_rows_f64, const double* g, const int64_t* index, int64_t count, int64_t skip,
          const double* factor, int64_t rows, int64_t width, double* out)

// Bag b holds the indices from start[b] up to start[b + 1], but for those equal to `skip`; all must be in the table.
struct Bags {
  int64_t count, skip;
  const int64_t *start, *index;
};
// out[b] = the sum of each bag's rows, times scale[b] and each by its weight; either may be null.
RL_KERNEL(void, sum_bags_f32, const Bags& s, const float* table, int64_t width, const float* weight, const float* scale,
          float* out)
RL_KERNEL(void, sum_bags_f64, const Bags& s, const double* table, int64_t width, const double* weight,
          const double* scale, double* out)
// The largest value in each column of each bag's rows, and the row it stands in; 0 and -1 for a bag without rows.
RL_KERNEL(void, max_bags_f32, const Bags& s, const float* table, int64_t width, float* out, int64_t* from)
RL_KERNEL(void, max_bags_f64, const Bags& s, const double* table, int64_t width, double* out, int64_t* from)

}  // namespace rushlight::kernels
