// Elementary and special functions of Vec<float> and Vec<double>, the same in every instruction set to within rounding.
//
// float: at most 2 ULP everywhere, subnormal numbers, signed zeros, infinities and NaN included. double: at most 2 ULP
// for exp, log, sin, cos, tanh, sigmoid, erf; 4 for the rest; 1e-14 relative for lgamma, digamma, erfinv away from
// zeros. Lane by lane go only: lgamma in double; sin, cos, tan of arguments beyond 2^17 (2^25 in double); fmod and
// remainder of quotients beyond 2^22. tests/test_vec_math.py holds them to this.
#pragma once
#include "kernels/cpu/vec_math_exp.h"
#include "kernels/cpu/vec_math_log.h"
#include "kernels/cpu/vec_math_pow.h"
#include "kernels/cpu/vec_math_special.h"
#include "kernels/cpu/vec_math_trig.h"
