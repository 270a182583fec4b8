// OpenBLAS, for its LAPACK, from the Python package scipy-openblas32: loaded at first use, one thread.
// Matrix products do not come from here; those of kernels/cpu/gemm.h are as fast at every size.
#pragma once
#include <string>

#include "base/macros.h"

namespace rushlight::kernels {

// Says where the shared library is. Python installs one that asks the package; without it, or when it returns an empty
// string, the environment variable RUSHLIGHT_OPENBLAS is used.
using OpenblasLocator = std::string (*)();
RL_API void set_openblas_locator(OpenblasLocator locator);

// The address of scipy_<name>, e.g. openblas_symbol("dgetrf_"). Loads the library at first use. Throws an Error that
// says what was missing. Keep the result in a function-local static.
void* openblas_symbol(const char* name);

}  // namespace rushlight::kernels
