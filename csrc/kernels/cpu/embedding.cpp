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

// Calls f(b) for every bag, in threads.
template <class F>
void for_bags(const Bags& s, int64_t width, F f) {
  const int64_t rows = s.count ? (s.start[s.count] - s.start[0]) / s.count : 0;
  parallel_for(0, s.count, 1 + (1 << 15) / ((rows + 1) * width + 1), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; b++) f(b);
  });
}

template <class T>
void sum_bags(const Bags& s, const T* table, int64_t width, const T* weight, const T* scale, T* out) {
  for_bags(s, width, [&](int64_t b) {
    T* to = out + b * width;
    std::memset(static_cast<void*>(to), 0, size_t(width) * sizeof(T));
    for (int64_t i = s.start[b]; i < s.start[b + 1]; i++) {
      if (s.index[i] == s.skip) continue;
      const T* row = table + s.index[i] * width;
      const T w = weight ? weight[i] : T(1);
      for (int64_t j = 0; j < width; j++) to[j] += w * row[j];
    }
    if (scale)
      for (int64_t j = 0; j < width; j++) to[j] *= scale[b];
  });
}

template <class T>
void max_bags(const Bags& s, const T* table, int64_t width, T* out, int64_t* from) {
  for_bags(s, width, [&](int64_t b) {
    T* to = out + b * width;
    int64_t* source = from + b * width;
    for (int64_t j = 0; j < width; j++) to[j] = 0, source[j] = -1;
    for (int64_t i = s.start[b]; i < s.start[b + 1]; i++) {
      if (s.index[i] == s.skip) continue;
      const T* row = table + s.index[i] * width;
      for (int64_t j = 0; j < width; j++)
        if (source[j] < 0 || row[j] > to[j]) to[j] = row[j], source[j] = s.index[i];
    }
  });
}

}  // namespace

void sum_bags_f32(const Bags& s, const float* table, int64_t width, const float* weight, const float* scale,
                  float* out) {
  sum_bags(s, table, width, weight, scale, out);
}
void sum_bags_f64(const Bags& s, const double* table, int64_t width, const double* weight, const double* scale,
                  double* out) {
  sum_bags(s, table, width, weight, scale, out);
}
void max_bags_f32(const Bags& s, const float* table, int64_t width, float* out, int64_t* from) {
  max_bags(s, table, width, out, from);
}
void max_bags_f64(const Bags& s, const double* table, int64_t width, double* out, int64_t* from) {
  max_bags(s, table, width, out, from);
}

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
