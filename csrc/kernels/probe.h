// The vector math of the chosen instruction set, for tests (kernels/cpu/vec_math_probe.h).
#pragma once
#include <cstdint>

#include "base/macros.h"

namespace rushlight::kernels {

// False: no function of that name for that type. y is null for functions of one argument.
RL_API bool probe_vec_math(const char* name, const float* x, const float* y, float* out, int64_t n);
RL_API bool probe_vec_math(const char* name, const double* x, const double* y, double* out, int64_t n);
RL_API bool probe_vec_math(const char* name, const int64_t* x, const int64_t* y, int64_t* out, int64_t n);

}  // namespace rushlight::kernels
