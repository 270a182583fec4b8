// Connectionist temporal classification.
#include "base/thread_pool.h"
#include "base/unlocked.h"
#include "kernels/ctc.h"
#include "ops/layout.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

struct CtcLoss {
  static constexpr auto schema =
      "_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, "
      "bool zero_infinity=False) -> Tensor";
  static constexpr auto doc = "The loss of each sample; see rushlight.nn.functional.ctc_loss.";
  static constexpr auto node_name = "CtcLossBackward0";
  Dims moments, counts, begins;  // of each sample; where its targets begin
  int64_t blank;
  bool forgiving;  // infinite losses are taken to be 0

  template <class T>
  kernels::CtcSample<T> sample(const Tensor& log_probs, const Tensor& targets, int64_t i) const {
    const int64_t n = log_probs.sizes()[1], classes = log_probs.sizes()[2];
    return {log_probs.data<T>() + i * classes,   n * classes, moments[i], classes,
            targets.data<int64_t>() + begins[i], counts[i],   blank};
  }

  Tensor forward(Ctx& ctx, const Tensor& x, const Tensor& targets, IntSpan input_lengths, IntSpan target_lengths,
                 int64_t empty_label, bool zero_infinity) {
    RL_CHECK(x.dim() == 3, "ctc_loss: log_probs must be (T, N, C) or (T, C), got shape ", x.sizes());
    RL_CHECK_KIND(x.dtype() == DType::Float32 || x.dtype() == DType::Float64, NotImplemented,
                  "ctc_loss is not implemented for ", x.dtype(), hint("convert with .float()"));
    const int64_t most = x.sizes()[0], n = x.sizes()[1], classes = x.sizes()[2];
    RL_CHECK(int64_t(input_lengths.size()) == n && int64_t(target_lengths.size()) == n, "ctc_loss: a batch of ", n,
             " needs as many input_lengths and target_lengths, got ", input_lengths.size(), " and ",
             target_lengths.size());
    RL_CHECK(empty_label >= 0 && empty_label < classes, "ctc_loss: blank ", empty_label, " is none of the ", classes,
             " classes");
    RL_CHECK(targets.dim() == 1 || (targets.dim() == 2 && targets.sizes()[0] == n),
             "ctc_loss: targets must be (N, S) for N = ", n, ", or one after another in one dimension, got shape ",
             targets.sizes());
    blank = empty_label, forgiving = zero_infinity;
    moments = input_lengths.dims(), counts = target_lengths.dims();
    int64_t total = 0;
    for (int64_t i = 0; i < n; i++) {
      RL_CHECK(moments[i] >= 0 && moments[i] <= most, "ctc_loss: input_lengths must be between 0 and ", most,
               ", the length of log_probs, got ", moments[i]);
      RL_CHECK(counts[i] >= 0 && counts[i] <= targets.numel(), "ctc_loss: target_lengths must be between 0 and ",
               targets.numel(), ", the number of targets, got ", counts[i]);
      begins.push_back(targets.dim() == 1 ? total : i * targets.sizes()[1]);
      total += counts[i];
      RL_CHECK(targets.dim() == 1 || counts[i] <= targets.sizes()[1], "ctc_loss: target_lengths[", i, "] is ",
               counts[i], ", but targets of shape ", targets.sizes(), " hold at most ",
               targets.dim() == 2 ? targets.sizes()[1] : 0);
    }
    RL_CHECK(targets.dim() == 2 || total == targets.sizes()[0], "ctc_loss: target_lengths add up to ", total,
             ", but there are ", targets.dim() ? targets.sizes()[0] : 1, " targets");
    if (x.is_meta()) return empty({n}, x.dtype(), x.device());
    const Tensor in = kernels::contiguous(x), labels = ready(targets, DType::Int64);
    for (int64_t i = 0; i < n; i++)
      for (int64_t k = 0; k < counts[i]; k++) {
        const int64_t label = labels.data<int64_t>()[begins[i] + k];
        RL_CHECK(label >= 0 && label < classes, "ctc_loss: target ", label, " of sample ", i, " is none of the ",
                 classes, " classes");
      }
    ctx.save(x), ctx.save(labels);
    Tensor y = empty({n}, x.dtype());
    for_samples(in, labels, [&](const auto& s, int64_t i) {
      using T = std::remove_cvref_t<decltype(*s.log_probs)>;
      const double loss = kernels::ctc_loss(s);
      y.data<T>()[i] = T(forgiving && std::isinf(loss) ? 0 : loss);
    });
    return y;
  }

  Grads backward(Ctx& ctx, Grads g) {
    RL_CHECK_KIND(!tls.grad_enabled, NotImplemented, "ctc_loss has no second derivative",
                  hint("leave out create_graph=True"));
    const Tensor x = ctx.get(0), labels = ctx.get(1), in = kernels::contiguous(x), gy = kernels::contiguous(g[0]);
    const Tensor gx = zeros(x.sizes(), x.dtype());
    for_samples(in, labels, [&](const auto& s, int64_t i) {
      using T = std::remove_cvref_t<decltype(*s.log_probs)>;
      if (forgiving && std::isinf(kernels::ctc_loss(s))) return;
      kernels::ctc_loss_backward(s, double(gy.data<T>()[i]), gx.data<T>() + i * s.classes);
    });
    return {gx, Tensor()};
  }

  template <class F>
  void for_samples(const Tensor& x, const Tensor& labels, F f) const {
    Unlocked unlocked(x.numel() * 16);
    visit_float(x.dtype(), [&](auto tag) {
      parallel_for(0, x.sizes()[1], 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) f(sample<decltype(tag)>(x, labels, i), i);
      });
    });
  }
};

RL_BIND(CtcLoss, hidden)

}  // namespace
}  // namespace ops
}  // namespace rushlight
