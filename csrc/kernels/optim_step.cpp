#include "kernels/optim_step.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/unlocked.h"
#include "kernels/cpu/optim_step.h"
#include "kernels/loops.h"

namespace rushlight::kernels {
namespace {

void check_count(const char* what, size_t count, size_t params) {
  RL_CHECK(count == params, "optimizer step: ", count, " ", what, " for ", params, " parameters");
}

DType kernel_dtype(DType d) { return d == DType::Float64 ? DType::Float64 : DType::Float32; }
bool has_kernel(const Tensor& t) { return t.dtype() == kernel_dtype(t.dtype()) && t.is_dense(); }

// The tensors a kernel takes as arrays, in one order of memory and one dtype: the first says which. Where they differ,
// contiguous copies of a kernel's dtype take their place, and store() writes the results back.
class Arrays {
 public:
  explicit Arrays(std::span<const Tensor* const> tensors) : originals_(tensors) {
    std::copy(tensors.begin(), tensors.end(), used_);
    const Tensor& first = *tensors[0];
    bool direct = has_kernel(first);
    for (const Tensor* t : tensors) {
      RL_CHECK(t->numel() == first.numel() && t->device() == first.device(), "optimizer step: a parameter is ",
               Describe{first}, ", its gradient or state ", Describe{*t},
               hint("state_dicts must be loaded into the same model on the same device"));
      direct = direct && t->dtype() == first.dtype() &&
               (t->is_contiguous() ? first.is_contiguous() : t->strides() == first.strides());
    }
    if (direct) return;
    copies_.reserve(tensors.size());
    for (size_t i = 0; i < tensors.size(); i++) {
      copies_.push_back(empty(tensors[i]->sizes(), kernel_dtype(first.dtype()), tensors[i]->device()));
      copy_into(copies_[i], *tensors[i]);
      used_[i] = &copies_[i];
    }
  }

  DType dtype() const { return used_[0]->dtype(); }
  int64_t size() const { return used_[0]->numel(); }
  template <class T>
  T* data(size_t i) const {
    return used_[i] ? used_[i]->data<T>() : nullptr;
  }

  // Of all but the gradient, which is tensor 1.
  void store() const {
    for (size_t i = 0; i < originals_.size(); i++) {
      if (i == 1) continue;
      if (!copies_.empty()) copy_into(*originals_[i], copies_[i]);
      originals_[i]->bump_version();
    }
  }

 private:
  std::span<const Tensor* const> originals_;
  const Tensor* used_[5] = {};
  std::vector<Tensor> copies_;
};

double count_step(const Tensor& step) {
  step.bump_version();
  if (step.dtype() == DType::Float32 && step.numel() == 1) return *step.data<float>() += 1;
  const double count = step.item().to_double() + 1;
  fill(step, count);
  return count;
}

}  // namespace

void sgd_step(TensorSpan params, TensorSpan grads, TensorSpan buffers, const SgdArgs& args) {
  check_count("gradients", grads.size(), params.size());
  if (args.momentum != 0) check_count("momentum buffers", buffers.size(), params.size());
  for (size_t i = 0; i < params.size(); i++) {
    if (params[i].is_meta()) continue;
    const Tensor* tensors[] = {&params[i], &grads[i], args.momentum != 0 ? &buffers[i] : nullptr};
    Arrays a({tensors, args.momentum != 0 ? size_t(3) : size_t(2)});
    {
      Unlocked unlocked(4 * a.size());
      if (a.dtype() == DType::Float32)
        sgd_step_f32(a.data<float>(0), a.data<float>(1), a.data<float>(2), a.size(), args);
      else sgd_step_f64(a.data<double>(0), a.data<double>(1), a.data<double>(2), a.size(), args);
    }
    a.store();
  }
}

void adam_step(TensorSpan params, TensorSpan grads, TensorSpan exp_avgs, TensorSpan exp_avg_sqs,
               TensorSpan max_exp_avg_sqs, TensorSpan steps, AdamArgs args) {
  check_count("gradients", grads.size(), params.size());
  check_count("averages", exp_avgs.size(), params.size());
  check_count("averages of squares", exp_avg_sqs.size(), params.size());
  check_count("step counts", steps.size(), params.size());
  const bool amsgrad = !max_exp_avg_sqs.empty();
  if (amsgrad) check_count("largest averages of squares", max_exp_avg_sqs.size(), params.size());
  double last_count = 0;  // mostly all parameters have taken the same number of steps
  for (size_t i = 0; i < params.size(); i++) {
    if (params[i].is_meta()) continue;
    const Tensor* tensors[] = {&params[i], &grads[i], &exp_avgs[i], &exp_avg_sqs[i],
                               amsgrad ? &max_exp_avg_sqs[i] : nullptr};
    Arrays a({tensors, amsgrad ? size_t(5) : size_t(4)});
    const double count = count_step(steps[i]);
    if (count != last_count) {
      args.step_size = args.lr / (1 - std::pow(args.beta1, count));
      args.bias_correction2_sqrt = std::sqrt(1 - std::pow(args.beta2, count));
      last_count = count;
    }
    {
      Unlocked unlocked(10 * a.size());
      if (a.dtype() == DType::Float32)
        adam_step_f32(a.data<float>(0), a.data<float>(1), a.data<float>(2), a.data<float>(3), a.data<float>(4),
                      a.size(), args);
      else
        adam_step_f64(a.data<double>(0), a.data<double>(1), a.data<double>(2), a.data<double>(3), a.data<double>(4),
                      a.size(), args);
    }
    a.store();
  }
}

Tensor clip_grad_norm_(TensorSpan grads, double max_norm, double norm_type) {
  RL_CHECK(!grads.empty(), "clip_grad_norm_: no gradients");
  const bool largest = std::isinf(norm_type);
  double total = 0;  // the largest value, or the sum of squares
  for (const Tensor& g : grads) {
    if (g.is_meta()) continue;
    const Tensor flat = has_kernel(g) ? g : cast(g, kernel_dtype(g.dtype()), MemoryFormat::Contiguous);
    const int64_t n = flat.numel();
    const bool f32 = flat.dtype() == DType::Float32;
    Unlocked unlocked(4 * n);
    if (largest) {
      const double m = f32 ? max_abs_f32(flat.data<float>(), n) : max_abs_f64(flat.data<double>(), n);
      if (m > total || m != m) total = m;
    } else {
      total += f32 ? sum_of_squares_f32(flat.data<float>(), n) : sum_of_squares_f64(flat.data<double>(), n);
    }
  }
  if (!largest) total = std::sqrt(total);
  const Tensor result = scalar_tensor(total, grads[0].dtype(), grads[0].device());
  const double factor = max_norm / (result.is_meta() ? 1 : result.item().to_double() + 1e-6);
  if (factor >= 1) return result;
  for (const Tensor& g : grads) {
    if (g.is_meta()) continue;
    const Tensor flat = has_kernel(g) ? g : cast(g, kernel_dtype(g.dtype()), MemoryFormat::Contiguous);
    {
      Unlocked unlocked(2 * flat.numel());
      if (flat.dtype() == DType::Float32) scale_f32(flat.data<float>(), flat.numel(), factor);
      else scale_f64(flat.data<double>(), flat.numel(), factor);
    }
    if (!flat.is_same(g)) copy_into(g, flat);
    g.bump_version();
  }
  return result;
}

}  // namespace rushlight::kernels
