#include "kernels/cpu/embedding.h"

#include <cstring>

#include "base/thread_pool.h"

namespace rushlight::kernels::RL_ISA {
namespace {

template <class T>
void scatter_rows(const T* g, const int64_t* index, int64_t count, int64_t skip, const T* factor, int64_t rows,
                  int64_t width, T* out) {
  // Each thread owns a range of the table and looks through all indices: no two write to one row.
  const int64_t work = count * width / (rows + 1) + width;  // for one row of the table
  parallel_for(0, rows, 1 + (1 << 15) / (work + 1), [=](int64_t begin, int64_t end) {
    std::memset(static_cast<void*>(out + begin * width), 0, size_t((end - begin) * width) * sizeof(T));
    for (int64_t i = 0; i < count; i++) {
      const int64_t row = index[i];
      if (row < begin || row >= end || row == skip) continue;
      const T* from = g + i * width;
      T* to = out + row * width;
      const T f = factor ? factor[row] : T(1);
      for (int64_t j = 0; j < width; j++) to[j] += f * from[j];
    }
  });
}

}  // namespace

int64_t gather_rows(const char* table, int64_t rows, int64_t row_bytes, const int64_t* index, int64_t count,
                    char* out) {
  for (int64_t i = 0; i < count; i++)
    if (index[i] < 0 || index[i] >= rows) return i;
  parallel_for(0, count, 1 + (1 << 16) / (row_bytes + 1), [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++)
      std::memcpy(out + i * row_bytes, table + index[i] * row_bytes, size_t(row_bytes));
  });
  return -1;
}

void scatter_rows_f32(const float* g, const int64_t* index, int64_t count, int64_t skip, const float* factor,
                      int64_t rows, int64_t width, float* out) {
  scatter_rows(g, index, count, skip, factor, rows, width, out);
}
void scatter_rows_f64(const double* g, const int64_t* index, int64_t count, int64_t skip, const double* factor,
                      int64_t rows, int64_t width, double* out) {
  scatter_rows(g, index, count, skip, factor, rows, width, out);
}

}  // namespace rushlight::kernels::RL_ISA
