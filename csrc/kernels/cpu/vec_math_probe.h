// The functions of vec.h and vec_math.h by name, so that tests can reach them in every instruction set. y may be null
// for functions of one argument; comparisons give 0 and 1; reductions their result over each vector in all its lanes.
// False for a name it does not know, or where y is missing.
#pragma once
#include "kernels/cpu/dispatch.h"

namespace rushlight::kernels {

RL_KERNEL(bool, vec_math_probe_f32, const char* name, const float* x, const float* y, float* out, int64_t n)
RL_KERNEL(bool, vec_math_probe_f64, const char* name, const double* x, const double* y, double* out, int64_t n)
RL_KERNEL(bool, vec_math_probe_i64, const char* name, const int64_t* x, const int64_t* y, int64_t* out, int64_t n)

}  // namespace rushlight::kernels
