// What cells of recurrent layers do once their products are made: one step for `rows` states of n values each.
// Matrices are contiguous; gates lie side by side in a row.
#pragma once
#include <cstdint>

#include "kernels/cpu/dispatch.h"

namespace rushlight::kernels {

// gates (rows, 4 n): i, f, g, o before their functions. act (rows, 4 n), after them; may be null.
RL_KERNEL(void, lstm_cell_f32, int64_t rows, int64_t n, const float* gates, const float* c, float* act, float* new_h,
          float* new_c)
RL_KERNEL(void, lstm_cell_f64, int64_t rows, int64_t n, const double* gates, const double* c, double* act,
          double* new_h, double* new_c)

// grad_h and grad_c, of the new state, may be null (zero).
RL_KERNEL(void, lstm_cell_backward_f32, int64_t rows, int64_t n, const float* act, const float* c, const float* new_c,
          const float* grad_h, const float* grad_c, float* grad_gates, float* grad_old_c)
RL_KERNEL(void, lstm_cell_backward_f64, int64_t rows, int64_t n, const double* act, const double* c,
          const double* new_c, const double* grad_h, const double* grad_c, double* grad_gates, double* grad_old_c)

// x, y (rows, 3 n): the products of input and state, r, z, n. act (rows, 3 n), after their functions; may be null.
RL_KERNEL(void, gru_cell_f32, int64_t rows, int64_t n, const float* x, const float* y, const float* h, float* act,
          float* new_h)
RL_KERNEL(void, gru_cell_f64, int64_t rows, int64_t n, const double* x, const double* y, const double* h, double* act,
          double* new_h)

RL_KERNEL(void, gru_cell_backward_f32, int64_t rows, int64_t n, const float* act, const float* y, const float* h,
          const float* grad, float* grad_x, float* grad_y, float* grad_h)
RL_KERNEL(void, gru_cell_backward_f64, int64_t rows, int64_t n, const double* act, const double* y, const double* h,
          const double* grad, double* grad_x, double* grad_y, double* grad_h)

}  // namespace rushlight::kernels
