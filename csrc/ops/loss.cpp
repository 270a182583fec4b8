// Losses.
#include "kernels/cpu/loss.h"

#include "base/unlocked.h"
#include "kernels/cpu/softmax.h"
#include "ops/layout.h"
#include "ops/registry.h"
#include "ops/softmax.h"

namespace rushlight {
namespace ops {
namespace {

using kernels::ClassLoss;

enum Reduction : int64_t { none, mean, sum_ };

void check_reduction(const char* op, int64_t r) {
  RL_CHECK_KIND(r >= 0 && r <= 2, Value, op, ": reduction must be 0 (none), 1 (mean) or 2 (sum), got ", r);
}

// What a loss by class works on, checked, as its kernels take it: values (n, classes, inner), targets (n, inner).
struct Classes {
  Tensor target, weight;  // while the kernels run; weight undefined: 1
  Dims shape;             // of the input
  DType dtype, compute;
  int64_t dim;  // of the classes
  int64_t reduction, ignore_index;
  double smoothing;
  double total = 1;  // what the sum of losses was divided by

  // Saves target and weight first of all.
  void begin(Ctx& ctx, const char* op, const Tensor& x, const Tensor& to, const Tensor& w, int64_t how, int64_t ignore,
             double label_smoothing) {
    check_reduction(op, how);
    RL_CHECK(x.dim() > 0, op, ": input must be (C), (N, C) or (N, C, ...), got a tensor without dimensions");
    RL_CHECK_KIND(x.is_floating(), NotImplemented, op, " is not implemented for ", x.dtype(),
                  hint("convert with .float()"));
    RL_CHECK(!is_floating(to.dtype()) && to.dtype() != DType::Bool, op, ": target must hold class numbers, int64, not ",
             to.dtype(), hint("convert with .long(); or give probabilities of the input's shape to cross_entropy()"));
    shape = x.sizes(), dtype = x.dtype(), compute = float_of(x), dim = x.dim() == 1 ? 0 : 1;
    reduction = how, ignore_index = ignore, smoothing = label_smoothing;
    Dims expected = shape;
    expected.erase(dim);
    if (to.sizes() != expected) {
      const bool lengths = x.dim() > 1 && to.dim() > 0 && to.sizes()[0] != shape[0];
      fail(lengths ? ErrorKind::Value : ErrorKind::Runtime, op, ": input ", shape, " needs a target of shape ",
           expected, ", got ", to.sizes(),
           to.dim() == x.dim()
               ? hint("class numbers have no dimension for the classes: target.argmax(1) or target.squeeze(1)")
               : std::string());
    }
    RL_CHECK(!w || (w.dim() == 1 && w.sizes()[0] == shape[dim]), op, ": weight of shape ", w ? w.sizes() : Dims(),
             " does not fit ", shape[dim], " classes: it needs one value for each");
    ctx.save(to), ctx.save(w);
    if (!x.is_meta()) use(to, w);
  }
  void use(const Tensor& to, const Tensor& w) {
    target = kernels::contiguous(to.dtype() == DType::Int64 ? to : kernels::cast(to, DType::Int64));
    weight = w ? ready(w, compute) : w;
  }
  // The same for a backward, apart, as several threads may run it at once.
  Classes resumed(const Ctx& ctx) const {
    Classes c = *this;
    c.use(ctx.get(0), ctx.get(1));
    return c;
  }
  Tensor finish(const Tensor& y) {
    target.reset(), weight.reset();
    return y;
  }

  ClassLoss args() const {
    ClassLoss s{.n = 1,
                .classes = shape[dim],
                .inner = 1,
                .target = target.data<int64_t>(),
                .ignore_index = ignore_index,
                .smoothing = smoothing};
    for (int64_t d = 0; d < int64_t(shape.size()); d++)
      if (d != dim) (d < dim ? s.n : s.inner) *= shape[d];
    return s;
  }
  bool each() const { return reduction == none; }
  double scale() const { return reduction == mean ? 1 / total : 1; }
  template <class T>
  const T* weights() const {
    return weight ? weight.data<T>() : nullptr;
  }

  // The loss of log-probabilities, and `total`.
  Tensor loss(const char* op, const Tensor& logp) {
    Dims to;
    if (each()) to = target.sizes();
    Tensor y = empty(to, compute);
    const ClassLoss s = args();
    kernels::LossSums sums;
    {
      Unlocked unlocked(s.positions() * (smoothing != 0 ? s.classes : 8));
      if (compute == DType::Float32)
        sums = kernels::class_loss_f32(s, logp.data<float>(), weights<float>(), each() ? y.data<float>() : nullptr);
      else
        sums = kernels::class_loss_f64(s, logp.data<double>(), weights<double>(), each() ? y.data<double>() : nullptr);
    }
    RL_CHECK_KIND(sums.wrong < 0, Index, op, ": target ", target.data<int64_t>()[sums.wrong], " is out of bounds for ",
                  s.classes, " classes (position ", sums.wrong, " of the target)",
                  hint("classes are numbered from 0; ignore_index marks what does not count"));
    if (reduction == mean) total = sums.weight;
    if (each()) return y;
    const double value = reduction == mean ? sums.loss / sums.weight : sums.loss;
    visit_float(compute, [&](auto tag) { *y.data<decltype(tag)>() = decltype(tag)(value); });
    return y;
  }

  // The gradient by the log-probabilities for incoming gradient g; undefined: 1.
  Tensor gradient(const Tensor& g) const {
    Tensor out = empty(shape, compute);
    const ClassLoss s = args();
    const Tensor gy = g ? ready(g, compute) : g;
    Unlocked unlocked(out.numel() / 4);
    RL_CALL_FLOAT(class_loss_backward, compute, s, weights<T>(), gy ? gy.data<T>() : nullptr, each(), scale(),
                  out.data<T>())
    return out;
  }

  // g, one number or one for each position, as it meets an array of the input's shape.
  Tensor over_classes(const Tensor& g) const { return each() ? unsqueeze(g, dim) : g; }
  Tensor empty_result(const Tensor& x, const Tensor& to) const {
    Dims shape;
    if (each()) shape = to.sizes();
    return empty(shape, x.dtype(), x.device());
  }
};

// The node that PyTorch would show.
enum Named { flat, spatial, reshaped, smoothed };
constexpr const char* kNames[] = {"NllLossBackward0", "NllLoss2DBackward0", "ViewBackward0", "AddBackward0"};
Named name_of(const Tensor& x, int64_t reduction, double smoothing) {
  if (smoothing != 0) return smoothed;
  if (x.dim() <= 2) return flat;
  return x.dim() == 4 || reduction != none ? spatial : reshaped;
}

// Applies the member of the family Op<name> that name_of chooses.
template <template <Named> class Op, class... A>
Tensor apply_named(Named named, const A&... a) {
  switch (named) {
    case flat: return apply<Op<flat>>(a...);
    case spatial: return apply<Op<spatial>>(a...);
    case reshaped: return apply<Op<reshaped>>(a...);
    case smoothed: break;
  }
  return apply<Op<smoothed>>(a...);
}

template <Named named>
struct NllLossOf {
  static constexpr auto schema =
      "nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100) -> Tensor";
  static constexpr auto node_name = kNames[named];
  Classes saved;
  Tensor forward(Ctx& ctx, const Tensor& x, const Tensor& target, const Tensor& weight, int64_t reduction,
                 int64_t ignore_index) {
    saved.begin(ctx, "nll_loss", x, target, weight, reduction, ignore_index, 0);
    if (x.is_meta()) return saved.empty_result(x, target);
    return saved.finish(in_dtype_of(x, saved.loss("nll_loss", ready(x, saved.compute))));
  }
  Grads backward(Ctx& ctx, Grads g) {
    if (g[0].is_meta()) return {empty(saved.shape, saved.dtype, g[0].device()), Tensor(), Tensor()};
    const Classes c = saved.resumed(ctx);
    return {tls.grad_enabled ? c.gradient({}) * c.over_classes(g[0]) : c.gradient(g[0]), Tensor(), Tensor()};
  }
};

struct NllLoss {
  static constexpr auto schema = NllLossOf<flat>::schema;
  static constexpr auto doc = "The negative of self at the right classes; see rushlight.nn.functional.nll_loss.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, const Tensor& target, const Tensor& weight, int64_t reduction,
                 int64_t ignore_index) {
    return apply_named<NllLossOf>(name_of(x, reduction, 0), x, target, weight, reduction, ignore_index);
  }
};

// Of logits and class numbers: log_softmax and nll_loss in one, so that its gradient is one pass too.
template <Named named>
struct CrossEntropyOfClasses {
  static constexpr auto schema = "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight) -> Tensor";
  static constexpr auto node_name = kNames[named];
  Classes saved;
  Tensor forward(Ctx& ctx, const Tensor& x, const Tensor& target, const Tensor& weight, int64_t reduction,
                 int64_t ignore_index, double smoothing) {
    saved.begin(ctx, "cross_entropy_loss", x, target, weight, reduction, ignore_index, smoothing);
    ctx.save(x);
    if (x.is_meta()) return saved.empty_result(x, target);
    const Tensor from = ready(x, saved.compute);
    Tensor logp = empty(x.sizes(), saved.compute);
    const ClassLoss s = saved.args();
    {
      Unlocked unlocked(logp.numel());
      RL_CALL_FLOAT(softmax, saved.compute, true, from.data<T>(), logp.data<T>(), s.n, s.classes, s.inner)
    }
    ctx.save(logp);
    return saved.finish(in_dtype_of(x, saved.loss("cross_entropy_loss", logp)));
  }
  Grads backward(Ctx& ctx, Grads g) {
    if (g[0].is_meta()) return {empty(saved.shape, saved.dtype, g[0].device()), Tensor(), Tensor()};
    const Classes c = saved.resumed(ctx);
    if (tls.grad_enabled) {  // the gradient by logp is constant; through log_softmax it is what comes here
      const Tensor by_logp = c.gradient({}), x = to_dtype(ctx.get(2), c.compute);
      const Tensor all = sum(by_logp, {c.dim}, true);
      return {(by_logp - softmax(x, c.dim) * all) * c.over_classes(g[0]), Tensor(), Tensor()};
    }
    const Tensor logp = ctx.get(3), gy = ready(g[0], c.compute);
    Tensor gx = empty(c.shape, c.compute);
    const ClassLoss s = c.args();
    {
      Unlocked unlocked(gx.numel());
      RL_CALL_FLOAT(cross_entropy_backward, c.compute, s, logp.data<T>(), c.weights<T>(), gy.data<T>(), c.each(),
                    c.scale(), gx.data<T>())
    }
    return {gx, Tensor(), Tensor()};
  }
};

struct DividedBy {
  static constexpr auto schema = "div(Tensor self, float other) -> Tensor";
  static constexpr auto node_name = "DivBackward1";
  double by;
  Tensor forward(Ctx&, const Tensor& x, double other) {
    by = other;
    return x / by;
  }
  Grads backward(Ctx&, Grads g) { return {g[0] / by}; }
};

struct CrossEntropy {
  static constexpr auto schema =
      "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100, "
      "float label_smoothing=0.0) -> Tensor";
  static constexpr auto doc =
      "The negative log-likelihood of the right classes under softmax(self); see "
      "rushlight.nn.functional.cross_entropy.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, const Tensor& target, const Tensor& weight, int64_t reduction,
                 int64_t ignore_index, double smoothing) {
    RL_CHECK(smoothing >= 0 && smoothing <= 1, "cross_entropy_loss: label_smoothing must be between 0 and 1, got ",
             smoothing);
    check_reduction("cross_entropy_loss", reduction);
    if (target.sizes() != x.sizes())
      return apply_named<CrossEntropyOfClasses>(name_of(x, reduction, smoothing), x, target, weight, reduction,
                                                ignore_index, smoothing);
    RL_CHECK(x.dim() > 0 && target.is_floating(), "cross_entropy_loss: a target of the input's shape ", x.sizes(),
             " holds probabilities and must be floating point, not ", target.dtype(),
             hint("class numbers have no dimension for the classes"));
    RL_CHECK(ignore_index < 0, "cross_entropy_loss: ignore_index ", ignore_index, " means nothing for probabilities");
    const int64_t dim = x.dim() == 1 ? 0 : 1, classes = x.sizes()[dim];
    Tensor p = smoothing > 0 ? target * (1 - smoothing) + wrapped_number(smoothing / double(classes)) : target;
    if (weight) {
      RL_CHECK(weight.dim() == 1 && weight.sizes()[0] == classes, "cross_entropy_loss: weight of shape ",
               weight.sizes(), " does not fit ", classes, " classes: it needs one value for each");
      Dims shape;
      shape.resize(x.dim(), 1);
      shape[dim] = classes;
      p = p * reshape(weight, shape);
    }
    const Tensor products = log_softmax(x, dim) * p;
    if (reduction == none) return neg(sum(products, {dim}));
    const Tensor total = neg(sum(products));
    const int64_t positions = classes ? x.numel() / classes : 0;
    return reduction == mean ? apply<DividedBy>(total, double(positions)) : total;
  }
};

// Of two tensors of one shape and dtype.
struct SquaredError {
  static constexpr auto schema = "mse_loss(Tensor self, Tensor target) -> Tensor";
  int64_t reduction;
  Tensor forward(Ctx& ctx, const Tensor& x, const Tensor& y, int64_t how) {
    reduction = how;
    ctx.save(x), ctx.save(y);
    if (how == none) return square(x - y);  // not recorded here
    if (x.is_meta()) return empty({}, x.dtype(), x.device());
    const DType d = float_of(x);
    const Tensor a = ready(x, d), b = ready(y, d);
    Tensor out = empty({}, d);
    const int64_t n = x.numel();
    double total;
    {
      Unlocked unlocked(n / 4);
      total = d == DType::Float32 ? kernels::squared_error_f32(a.data<float>(), b.data<float>(), n)
                                  : kernels::squared_error_f64(a.data<double>(), b.data<double>(), n);
    }
    if (how == mean) total /= double(n);
    visit_float(d, [&](auto tag) { *out.data<decltype(tag)>() = decltype(tag)(total); });
    return in_dtype_of(x, out);
  }
  Grads backward(Ctx& ctx, Grads g) {
    const Tensor x = ctx.get(0), y = ctx.get(1);
    const double scale = reduction == mean ? 2 / double(x.numel()) : 2;
    if (tls.grad_enabled || reduction == none || x.is_meta()) {
      const Tensor gx = (x - y) * (g[0] * scale);
      return {gx, ctx.need(1) ? neg(gx) : Tensor()};
    }
    const DType d = float_of(x);
    const Tensor a = ready(x, d), b = ready(y, d);
    const double factor = g[0].item().to_double() * scale;
    auto gradient = [&](double by) {
      Tensor out = empty(x.sizes(), d);
      Unlocked unlocked(out.numel() / 4);
      RL_CALL_FLOAT(scaled_error, d, a.data<T>(), b.data<T>(), a.numel(), by, out.data<T>())
      return out;
    };
    return {ctx.need(0) ? gradient(factor) : Tensor(), ctx.need(1) ? gradient(-factor) : Tensor()};
  }
};

struct MseLoss {
  static constexpr auto schema = "mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor";
  static constexpr auto doc = "(self - target) ** 2 of each element, or its mean (reduction 1) or sum (2).";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, const Tensor& y, int64_t reduction) {
    check_reduction("mse_loss", reduction);
    const DType d = result_type(x, y);
    RL_CHECK_KIND(is_floating(d), NotImplemented, "mse_loss is not implemented for ", d, hint("convert with .float()"));
    const Tensor a = to_dtype(x, d), b = to_dtype(y, d);
    if (x.sizes() == y.sizes()) return apply<SquaredError>(a, b, reduction);
    const Dims shape = broadcast_shapes(x.sizes(), y.sizes());
    return apply<SquaredError>(expand(a, shape), expand(b, shape), reduction);
  }
};

RL_BIND(NllLoss, function)
RL_BIND(CrossEntropy, function)
RL_BIND(MseLoss, function)

}  // namespace
}  // namespace ops

Tensor mse_loss(const Tensor& x, const Tensor& y) { return apply<ops::MseLoss>(x, y, int64_t(ops::mean)); }

}  // namespace rushlight
