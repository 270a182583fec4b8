// The settings of an optimizer's step.
#pragma once

namespace rushlight::kernels {

struct SgdArgs {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, maximize;
  bool first;  // the momentum buffer holds nothing yet: it becomes the gradient
};

struct AdamArgs {
  double lr, beta1, beta2, eps, weight_decay;
  double step_size, bias_correction2_sqrt;  // lr / (1 - beta1^t) and sqrt(1 - beta2^t)
  bool maximize;
  bool decoupled;  // weight decay shrinks the parameter (AdamW) rather than adding to the gradient
};

}  // namespace rushlight::kernels
