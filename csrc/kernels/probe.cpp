#include "kernels/probe.h"

#include "kernels/cpu/vec_math_probe.h"

namespace rushlight::kernels {

bool probe_vec_math(const char* name, const float* x, const float* y, float* out, int64_t n) {
  return vec_math_probe_f32(name, x, y, out, n);
}
bool probe_vec_math(const char* name, const double* x, const double* y, double* out, int64_t n) {
  return vec_math_probe_f64(name, x, y, out, n);
}
bool probe_vec_math(const char* name, const int64_t* x, const int64_t* y, int64_t* out, int64_t n) {
  return vec_math_probe_i64(name, x, y, out, n);
}

}  // namespace rushlight::kernels
