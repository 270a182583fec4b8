#include "kernels/volume_slices.h"

#include <algorithm>
#include <cstring>

#include "base/thread_pool.h"

namespace rushlight::kernels {
namespace {
constexpr int64_t kGrain = 16384;  // elements that make a piece worth a thread
}

template <class T>
void gather_slices(const Slices& s, const T* x, T* slices) {
  const int64_t outer = s.n * s.d_out,
                grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, s.c * s.kd * s.plane));
  parallel_for(0, outer, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const int64_t image = i / s.d_out, first = i % s.d_out * s.stride - s.pad;
      T* to = slices + i * s.c * s.kd * s.plane;
      for (int64_t c = 0; c < s.c; c++)
        for (int64_t k = 0; k < s.kd; k++, to += s.plane) {
          const int64_t depth = first + k * s.dilation;
          if (depth < 0 || depth >= s.d) std::memset(to, 0, size_t(s.plane) * sizeof(T));
          else std::memcpy(to, x + ((image * s.c + c) * s.d + depth) * s.plane, size_t(s.plane) * sizeof(T));
        }
    }
  });
}

template <class T>
void add_slices(const Slices& s, const T* slices, const T* bias, T* x) {
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, s.d_out * s.kd * s.plane));
  parallel_for(0, s.n * s.c, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const int64_t image = i / s.c, c = i % s.c;
      T* volume = x + i * s.d * s.plane;
      std::fill(volume, volume + s.d * s.plane, bias ? bias[c] : T(0));
      for (int64_t o = 0; o < s.d_out; o++)
        for (int64_t k = 0; k < s.kd; k++) {
          const int64_t depth = o * s.stride - s.pad + k * s.dilation;
          if (depth < 0 || depth >= s.d) continue;
          const T* from = slices + (((image * s.d_out + o) * s.c + c) * s.kd + k) * s.plane;
          T* to = volume + depth * s.plane;
          for (int64_t j = 0; j < s.plane; j++) to[j] += from[j];
        }
    }
  });
}

template void gather_slices(const Slices&, const float*, float*);
template void gather_slices(const Slices&, const double*, double*);
template void add_slices(const Slices&, const float*, const float*, float*);
template void add_slices(const Slices&, const double*, const double*, double*);

}  // namespace rushlight::kernels
