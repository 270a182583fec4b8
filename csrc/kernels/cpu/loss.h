// Losses, and their gradients, in one pass each.
#pragma once
#include <cstdint>

#include "kernels/cpu/dispatch.h"

namespace rushlight::kernels {

// Log-probabilities (n, classes, inner) and the right classes (n, inner).
struct ClassLoss {
  int64_t n, classes, inner;
  const int64_t* target;
  int64_t ignore_index;  // a target that does not count
  double smoothing;      // the share of each position's weight that is spread over all classes
  int64_t positions() const { return n * inner; }
};

struct LossSums {
  double loss, weight;
  int64_t wrong;  // the first position whose target is no class, or -1
};

// losses[i] = (1 - smoothing) * w[t] * -logp[t] + smoothing / classes * sum over c of w[c] * -logp[c], for t the target
// at position i; 0 where that is ignored. losses and weight may be null; a null weight is 1 everywhere.
RL_KERNEL(LossSums, class_loss_f32, const ClassLoss& s, const float* logp, const float* weight, float* losses)
RL_KERNEL(LossSums, class_loss_f64, const ClassLoss& s, const double* logp, const double* weight, double* losses)

// gradient by logp, times `scale` and by grad: one number, or, with each, one for each position. grad may be null: 1.
RL_KERNEL(void, class_loss_backward_f32, const ClassLoss& s, const float* weight, const float* grad, bool each,
          double scale, float* out)
RL_KERNEL(void, class_loss_backward_f64, const ClassLoss& s, const double* weight, const double* grad, bool each,
          double scale, double* out)

// The same by what log_softmax made logp of.
RL_KERNEL(void, cross_entropy_backward_f32, const ClassLoss& s, const float* logp, const float* weight,
          const float* grad, bool each, double scale, float* out)
RL_KERNEL(void, cross_entropy_backward_f64, const ClassLoss& s, const double* logp, const double* weight,
          const double* grad, bool each, double scale, double* out)

// The sum of (x - y)^2; and scale * (x - y).
RL_KERNEL(double, squared_error_f32, const float* x, const float* y, int64_t n)
RL_KERNEL(double, squared_error_f64, const double* x, const double* y, int64_t n)
RL_KERNEL(void, scaled_error_f32, const float* x, const float* y, int64_t n, double scale, float* out)
RL_KERNEL(void, scaled_error_f64, const double* x, const double* y, int64_t n, double scale, double* out)

}  // namespace rushlight::kernels
