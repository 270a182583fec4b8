#include "kernels/cpu/mask_scale.h"

#include "base/thread_pool.h"

namespace rushlight::kernels::RL_ISA {
namespace {

template <class T>
void mask_scale(const T* x, const bool* mask, double scale, T* y, int64_t n) {
  const T f = T(scale);
  parallel_for(0, n, 1 << 14, [=](int64_t begin, int64_t end) {
    const uint8_t* kept = reinterpret_cast<const uint8_t*>(mask);
    for (int64_t i = begin; i < end; i++) y[i] = x[i] * (T(kept[i]) * f);
  });
}

}  // namespace

void mask_scale_f32(const float* x, const bool* mask, double scale, float* y, int64_t n) {
  mask_scale(x, mask, scale, y, n);
}
void mask_scale_f64(const double* x, const bool* mask, double scale, double* y, int64_t n) {
  mask_scale(x, mask, scale, y, n);
}

}  // namespace rushlight::kernels::RL_ISA
