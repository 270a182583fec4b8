#include <cstdlib>
#include <cstring>

#include "kernels/cpu/dispatch.h"

namespace rushlight::kernels {

static Isa detect() {
  Isa best = Isa::portable;
#if defined(__x86_64__) && !defined(RL_PORTABLE_ONLY)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) {
    best = Isa::avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
      best = Isa::avx512;
  }
#endif
  const char* wish = std::getenv("RUSHLIGHT_ISA");
  if (!wish) return best;
  Isa asked = !std::strcmp(wish, "portable") ? Isa::portable : !std::strcmp(wish, "avx2") ? Isa::avx2 : Isa::avx512;
  return asked < best ? asked : best;
}

Isa current_isa() {
  static const Isa isa = detect();
  return isa;
}

}  // namespace rushlight::kernels
