// Steps of optimizers and gradient clipping, over lists of Tensors.
#include "kernels/optim_step.h"
#include "python/common.h"

namespace rushlight::python {
namespace {

std::vector<Tensor> tensors_of(nb::list list) {
  std::vector<Tensor> r;
  r.reserve(nb::len(list));
  for (nb::handle h : list) r.push_back(unwrap(h.ptr()));
  return r;
}

// Runs a step under the profiler's eyes, by the name that PyTorch's fused steps have.
template <class F>
auto seen_step(const char* name, const std::vector<Tensor>& params, const std::vector<Tensor>& grads, F&& step) {
  const ProfiledArg args[] = {ProfiledArg(std::span(params)), ProfiledArg(std::span(grads))};
  Profiled seen(name, false, args);
  return step();
}

}  // namespace

void bind_optimizers(nb::module_& m) {
  m.def("_sgd_step", [](nb::list params, nb::list grads, nb::list buffers, double lr, double momentum, double dampening,
                        double weight_decay, bool nesterov, bool maximize, bool first) {
    auto p = tensors_of(params), g = tensors_of(grads), b = tensors_of(buffers);
    seen_step("_fused_sgd_", p, g,
              [&] { kernels::sgd_step(p, g, b, {lr, momentum, dampening, weight_decay, nesterov, maximize, first}); });
  });
  m.def("_adam_step", [](nb::list params, nb::list grads, nb::list exp_avgs, nb::list exp_avg_sqs,
                         nb::list max_exp_avg_sqs, nb::list steps, double lr, double beta1, double beta2, double eps,
                         double weight_decay, bool amsgrad, bool maximize, bool decoupled) {
    auto p = tensors_of(params), g = tensors_of(grads);
    seen_step(decoupled ? "_fused_adamw_" : "_fused_adam_", p, g, [&] {
      kernels::adam_step(p, g, tensors_of(exp_avgs), tensors_of(exp_avg_sqs),
                         amsgrad ? tensors_of(max_exp_avg_sqs) : std::vector<Tensor>(), tensors_of(steps),
                         {lr, beta1, beta2, eps, weight_decay, 0, 0, maximize, decoupled});
    });
  });
  m.def("_clip_grad_norm_", [](nb::list grads, double max_norm, double norm_type) {
    auto g = tensors_of(grads);
    return seen_step("clip_grad_norm_", {}, g, [&] { return kernels::clip_grad_norm_(g, max_norm, norm_type); });
  });
}

}  // namespace rushlight::python
