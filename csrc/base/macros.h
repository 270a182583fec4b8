#pragma once

// Everything public in librushlight is marked; all else stays inside the library.
#define RL_API __attribute__((visibility("default")))

// Code that per-instruction-set files share with the rest must leave no copy of its own behind
// (kernels/cpu/dispatch.h).
#define RL_INLINE inline __attribute__((always_inline))
