// Elementary and special functions of Vec<float> and Vec<double>, the same in every instruction set to within rounding.
//
// float: at most 2 ULP everywhere, subnormal numbers, signed zeros, infinities and NaN included. double: at most 2 ULP
// for exp, log, sin, cos, tanh, sigmoid, erf; 4 for the rest; 1e-14 relative for lgamma, digamma, erfinv away from
// zeros. Vectorized but for these, which go lane by lane: erfinv, lgamma, digamma, erfc; in double also erf, pow,
// hypot; large arguments of sin, cos, tan and large quotients in fmod and remainder. tests/test_vec_math.py holds them
// to this.
#pragma once
#include "kernels/cpu/vec_math_exp.h"
#include "kernels/cpu/vec_math_log.h"
#include "kernels/cpu/vec_math_special.h"
#include "kernels/cpu/vec_math_trig.h"
