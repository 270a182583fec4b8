// Kernels in this folder are compiled once per instruction set, each time inside a namespace named after the set
// (RL_ISA). A header declares a kernel once:
//
//   RL_KERNEL(void, fill_f32, float* out, float value, int64_t n)
//
// Inside a per-set file this declares the function in that set's namespace. Elsewhere it also defines a function
// pointer kernels::fill_f32 that is set at load to the best version this CPU can run. Per-set files must not
// instantiate standard templates with external linkage: the linker could pick the copy compiled for the wider set.
#pragma once
#include <cstdint>

#include "base/macros.h"

namespace rushlight::kernels {

enum class Isa { portable, avx2, avx512 };
RL_API Isa current_isa();  // RUSHLIGHT_ISA=portable|avx2|avx512 lowers it, for tests

}  // namespace rushlight::kernels

#ifdef RL_ISA
  #define RL_KERNEL(Ret, name, ...) \
    namespace RL_ISA {              \
    Ret name(__VA_ARGS__);          \
    }
#elif defined(__x86_64__) && !defined(RL_PORTABLE_ONLY)
  #define RL_KERNEL(Ret, name, ...)                                                     \
    namespace portable {                                                                \
    Ret name(__VA_ARGS__);                                                              \
    }                                                                                   \
    namespace avx2 {                                                                    \
    Ret name(__VA_ARGS__);                                                              \
    }                                                                                   \
    namespace avx512 {                                                                  \
    Ret name(__VA_ARGS__);                                                              \
    }                                                                                   \
    inline Ret (*const name)(__VA_ARGS__) = current_isa() == Isa::avx512 ? avx512::name \
                                            : current_isa() == Isa::avx2 ? avx2::name   \
                                                                         : portable::name;
#else
  #define RL_KERNEL(Ret, name, ...) \
    namespace portable {            \
    Ret name(__VA_ARGS__);          \
    }                               \
    inline Ret (*const name)(__VA_ARGS__) = portable::name;
#endif
