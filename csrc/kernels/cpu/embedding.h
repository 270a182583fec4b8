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

}  // namespace rushlight::kernels
