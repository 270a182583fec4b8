// Losses that ask for a margin between scores.
#include "ops/layout.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

enum Reduction : int64_t { none, mean, sum_ };

void check_scores(const char* op, const Tensor& x, int64_t reduction) {
  RL_CHECK_KIND(reduction >= 0 && reduction <= 2, Value, op, ": reduction must be 0 (none), 1 (mean) or 2 (sum), got ",
                reduction);
  RL_CHECK_KIND(x.is_floating(), NotImplemented, op, " is not implemented for ", x.dtype(),
                hint("convert with .float()"));
}
void check_classes(const char* op, const Tensor& target) {
  RL_CHECK(target.dtype() == DType::Int64, op, ": target must hold class numbers, int64, not ", target.dtype(),
           hint("convert with .long()"));
}
// The range that class numbers must be in, where there are any to look at.
void check_range(const char* op, const Tensor& target, int64_t least, int64_t classes) {
  if (target.is_meta()) return;
  const Tensor t = kernels::contiguous(target);
  for (int64_t i = 0; i < t.numel(); i++) {
    const int64_t at = t.data<int64_t>()[i];
    RL_CHECK(at >= least && at < classes, op, ": target ", at, " is out of range for ", classes, " classes (position ",
             i, " of the target)");
  }
}

Tensor reduced(const Tensor& losses, int64_t reduction) {
  return reduction == none ? losses : reduction == mean ? rushlight::mean(losses) : sum(losses);
}
// The gradient of each loss for that of the reduced one.
Tensor spread(const Tensor& g, int64_t reduction, int64_t losses) { return reduction == mean ? g / double(losses) : g; }

struct SoftMarginLoss {
  static constexpr auto schema = "soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor";
  static constexpr auto doc = "log(1 + exp(-target * self)) of each element, or its mean (reduction 1) or sum (2).";
  int64_t reduction;
  Tensor forward(Ctx& ctx, const Tensor& x, const Tensor& target, int64_t how) {
    check_scores("soft_margin_loss", x, reduction = how);
    RL_CHECK(broadcast_shapes(x.sizes(), target.sizes()) == x.sizes(), "soft_margin_loss: target of shape ",
             target.sizes(), " does not fit self of shape ", x.sizes(), hint("give both one shape"));
    ctx.save(x), ctx.save(target);
    const Tensor z = neg(x * to_dtype(target, x.dtype()));
    return reduced(relu(z) + log1p(exp(neg(abs(z)))), reduction);
  }
  Grads backward(Ctx& ctx, Grads g) {
    const Tensor x = ctx.get(0), t = to_dtype(ctx.get(1), x.dtype());
    return {neg(spread(g[0], reduction, x.numel()) * (t * sigmoid(neg(x * t)))), Tensor()};
  }
};

// Seen as (N, C) and (N), whether there is a batch or not.
struct MultiMarginLoss {
  static constexpr auto schema =
      "multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, "
      "int reduction=1) -> Tensor";
  static constexpr auto doc =
      "For each row of scores, the mean over all other classes of max(0, margin - self[target] + self[class]) ** p, "
      "times the target's weight; reduced by mean (reduction 1) or sum (2).";
  int64_t reduction, n = 1, classes = 1;
  double p, margin;

  // What is not negative counts: the distance by which each class comes too near; the target's own is 0.
  Tensor excess(const Tensor& x, const Tensor& index) const {
    const Tensor z = relu((x - gather(x, 1, index)) + wrapped_number(margin));
    return scatter(z, 1, index, zeros(index.sizes(), z.dtype(), z.device()));
  }
  // The weight of each row, divided by the number of classes.
  Tensor factor(const Tensor& x, const Tensor& weight, const Tensor& index) const {
    if (!weight) return full({}, 1 / double(classes), x.dtype(), x.device());
    return to_dtype(index_select(weight, 0, reshape(index, {n})), x.dtype()) / double(classes);
  }

  Tensor forward(Ctx& ctx, const Tensor& x, const Tensor& target, Scalar power, Scalar least, const Tensor& weight,
                 int64_t how) {
    check_scores("multi_margin_loss", x, reduction = how);
    check_classes("multi_margin_loss", target);
    p = power.to_double(), margin = least.to_double();
    RL_CHECK_KIND(p == 1 || p == 2, Value, "multi_margin_loss: p must be 1 or 2, got ", p);
    RL_CHECK(x.dim() <= 2, "multi_margin_loss: input must be (N, C) or (C), got shape ", x.sizes());
    if (x.dim() == 2) n = x.sizes()[0];
    if (x.dim()) classes = x.sizes().back();
    RL_CHECK(classes > 0, "multi_margin_loss: input ", x.sizes(), " has no classes");
    RL_CHECK(target.dim() <= 1 && target.numel() == n, "multi_margin_loss: input ", x.sizes(),
             " needs a target of shape (", n, "), got ", target.sizes());
    RL_CHECK(!weight || (weight.dim() <= 1 && weight.numel() == classes), "multi_margin_loss: weight of shape ",
             weight ? weight.sizes() : Dims(), " does not fit ", classes, " classes: it needs one value for each");
    check_range("multi_margin_loss", target, 0, classes);
    ctx.save(x), ctx.save(target), ctx.save(weight);
    const DType d = x.is_meta() ? x.dtype() : float_of(x);
    const Tensor scores = reshape(to_dtype(x, d), {n, classes}), index = reshape(target, {n, 1});
    const Tensor z = excess(scores, index);
    const Tensor losses = sum(p == 1 ? z : square(z), {1}) * factor(scores, weight, index);
    const Tensor y = reduced(reduction == none ? reshape(losses, target.sizes()) : losses, reduction);
    return to_dtype(y, x.dtype());
  }
  Grads backward(Ctx& ctx, Grads g) {
    const Tensor x = ctx.get(0);
    const DType d = x.is_meta() ? x.dtype() : float_of(x);
    const Tensor scores = reshape(to_dtype(x, d), {n, classes}), index = reshape(ctx.get(1), {n, 1});
    const Tensor z = excess(scores, index), each = spread(to_dtype(g[0], d), reduction, n);
    const Tensor rows = (reduction == none ? reshape(each, {n}) : each) * factor(scores, ctx.get(2), index);
    const Tensor slope = (p == 1 ? to_dtype(z > 0.0, d) : z * 2.0) * (rows.dim() ? unsqueeze(rows, 1) : rows);
    return {reshape(scatter(slope, 1, index, neg(sum(slope, {1}, true))), x.sizes()), Tensor(), Tensor()};
  }
};

struct MultilabelMarginLoss {
  static constexpr auto schema = "multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor";
  static constexpr auto doc =
      "For each row of scores, the sum over its labels and all other classes of max(0, 1 - self[label] + self[class]), "
      "divided by the number of classes. A row of target holds its labels; what follows a -1 does not count.";
  int64_t reduction, n = 1, classes = 1;

  // Of each row, the loss into losses, or its derivatives into slopes; either may be null.
  template <class T>
  void rows(const T* x, const int64_t* target, T* losses, T* slopes) const {
    std::vector<char> is_label(static_cast<size_t>(classes));
    for (int64_t r = 0; r < n; r++, x += classes, target += classes) {
      std::fill(is_label.begin(), is_label.end(), 0);
      int64_t labels = 0;
      while (labels < classes && target[labels] >= 0) is_label[size_t(target[labels++])] = 1;
      double total = 0;
      T* slope = slopes ? slopes + r * classes : nullptr;
      if (slope) std::fill(slope, slope + classes, T(0));
      for (int64_t k = 0; k < labels; k++)
        for (int64_t c = 0; c < classes; c++) {
          const T z = 1 - x[target[k]] + x[c];
          if (is_label[size_t(c)] || !(z > 0)) continue;
          total += double(z);
          if (slope) slope[c] += T(1) / T(classes), slope[target[k]] -= T(1) / T(classes);
        }
      if (losses) losses[r] = T(total / double(classes));
    }
  }

  Tensor forward(Ctx& ctx, const Tensor& x, const Tensor& target, int64_t how) {
    check_scores("multilabel_margin_loss", x, reduction = how);
    check_classes("multilabel_margin_loss", target);
    RL_CHECK(x.dim() <= 2, "multilabel_margin_loss: input must be (N, C) or (C), got shape ", x.sizes());
    RL_CHECK(target.sizes() == x.sizes(), "multilabel_margin_loss: target must have the input's shape ", x.sizes(),
             ", got ", target.sizes(), hint("fill rows with fewer labels up with -1"));
    if (x.dim() == 2) n = x.sizes()[0];
    if (x.dim()) classes = x.sizes().back();
    check_range("multilabel_margin_loss", target, -1, classes);
    ctx.save(x), ctx.save(target);
    Dims shape;
    if (x.dim() == 2 && reduction == none) shape.push_back(n);
    if (x.is_meta()) return empty(shape, x.dtype(), x.device());
    const DType d = float_of(x);
    const Tensor in = ready(x, d), labels = kernels::contiguous(target);
    Tensor losses = empty({n}, d);
    visit_float(d, [&](auto tag) {
      using T = decltype(tag);
      rows<T>(in.data<T>(), labels.data<int64_t>(), losses.data<T>(), nullptr);
    });
    return in_dtype_of(x, reshape(reduced(losses, reduction), shape));
  }
  Grads backward(Ctx& ctx, Grads g) {  // piecewise linear: the slopes are constants
    const Tensor x = ctx.get(0), target = ctx.get(1);
    const DType d = x.is_meta() ? x.dtype() : float_of(x);
    Tensor slopes = empty(x.sizes(), d, x.device());
    if (!x.is_meta()) {
      const Tensor in = ready(x, d), labels = kernels::contiguous(target);
      visit_float(d, [&](auto tag) {
        using T = decltype(tag);
        rows<T>(in.data<T>(), labels.data<int64_t>(), nullptr, slopes.data<T>());
      });
    }
    const Tensor each = spread(to_dtype(g[0], d), reduction, n);
    return {slopes * (each.dim() ? unsqueeze(each, 1) : each), Tensor()};
  }
};

RL_BIND(SoftMarginLoss, function)
RL_BIND(MultiMarginLoss, function)
RL_BIND(MultilabelMarginLoss, function)

}  // namespace
}  // namespace ops
}  // namespace rushlight
