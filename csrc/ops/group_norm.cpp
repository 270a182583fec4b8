// Group and root-mean-square normalization. Backward is fused, or, where it will be differentiated again, written over
// operations from the formula.
#include "base/size_math.h"
#include "base/unlocked.h"
#include "kernels/cpu/norm.h"
#include "ops/layout.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

using kernels::Channels;

// The groups of one sample lie one after the other, so statistics are those of n * groups channels; what is applied
// differs by sample and channel, as it would for n * c channels.
struct GroupNorm {
  static constexpr auto schema =
      "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, "
      "bool cudnn_enabled=True) -> Tensor";
  static constexpr auto doc =
      "Brings each group of channels of each sample to mean 0 and variance 1; see "
      "rushlight.nn.functional.group_norm.";
  static constexpr auto node_name = "NativeGroupNormBackward0";
  int64_t n, c, inner, groups;
  double eps;
  Tensor mean, rest, rstd;  // of each sample's groups, in the compute type; the mean is mean + rest

  int64_t per_group() const { return c / groups * inner; }
  Channels by_group() const { return {1, n * groups, per_group()}; }
  Channels by_channel() const { return {1, n * c, inner}; }

  static void check_channels(const char* what, const Tensor& t, int64_t channels) {
    RL_CHECK(!t || (t.dim() == 1 && t.sizes()[0] == channels), "group_norm: ", what, " of shape ",
             t ? t.sizes() : Dims(), " does not fit ", channels, " channels: it needs one value for each");
  }

  Tensor forward(Ctx& ctx, const Tensor& x, int64_t num_groups, const Tensor& weight, const Tensor& bias,
                 double epsilon, bool) {
    RL_CHECK(x.dim() >= 2, "group_norm: input must be (N, C) or (N, C, ...), got shape ", x.sizes());
    n = x.sizes()[0], c = x.sizes()[1], groups = num_groups, eps = epsilon;
    RL_CHECK(groups > 0, "group_norm: num_groups must be at least 1, got ", groups);
    RL_CHECK(c % groups == 0, "group_norm: ", c, " channels are not divisible into ", groups, " groups");
    check_channels("weight", weight, c), check_channels("bias", bias, c);
    RL_CHECK_KIND(x.is_floating(), NotImplemented, "group_norm is not implemented for ", x.dtype(),
                  hint("convert with .float()"));
    inner = 1;
    for (int64_t d = 2; d < x.dim(); d++) inner = checked_mul("group_norm", inner, x.sizes()[d]);
    checked_mul("group_norm", n, c);
    ctx.save(x), ctx.save(weight);
    const MemoryFormat format = prefers_channels_last(x) ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous;
    if (x.is_meta()) return empty_strided(x.sizes(), contiguous_strides(x.sizes(), format), x.dtype(), x.device());

    const DType d = float_of(x);
    const Tensor in = ready(x, d), w = weight ? ready(weight, d) : weight, b = bias ? ready(bias, d) : bias;
    Tensor y = empty(x.sizes(), d), var = empty({n * groups}, d);
    mean = empty({n * groups}, d), rest = empty({n * groups}, d), rstd = empty({n * groups}, d);
    if (y.numel()) {
      Tensor centre = empty({n * c}, d), scale = empty({n * c}, d), shift = empty({n * c}, d);
      Unlocked unlocked(y.numel() / 2);
      RL_CALL_FLOAT(channel_moments, d, by_group(), in.data<T>(), mean.data<T>(), rest.data<T>(), var.data<T>())
      visit_float(d, [&](auto tag) {
        using T = decltype(tag);
        for (int64_t g = 0; g < n * groups; g++) rstd.data<T>()[g] = T(1 / std::sqrt(double(var.data<T>()[g]) + eps));
        for (int64_t i = 0; i < n * c; i++) {
          const int64_t g = i / (c / groups), ch = i % c;
          centre.data<T>()[i] = mean.data<T>()[g];
          scale.data<T>()[i] = w ? rstd.data<T>()[g] * w.data<T>()[ch] : rstd.data<T>()[g];
          shift.data<T>()[i] = (b ? b.data<T>()[ch] : T(0)) - rest.data<T>()[g] * scale.data<T>()[i];
        }
      });
      RL_CALL_FLOAT(channel_affine, d, by_channel(), in.data<T>(), centre.data<T>(), scale.data<T>(), shift.data<T>(),
                    y.data<T>())
    }
    const Tensor result = in_dtype_of(x, y);
    return format == MemoryFormat::Contiguous ? result : kernels::clone(result, format);
  }

  Grads backward(Ctx& ctx, Grads g) {
    const Tensor x = ctx.get(0), weight = ctx.get(1);
    if (tls.grad_enabled || x.is_meta()) return composed(ctx, g[0], x, weight);
    const DType d = float_of(x);
    const Tensor in = ready(x, d), gy = ready(g[0], d), w = weight ? ready(weight, d) : weight;
    Tensor gx = ctx.need(0) ? empty(x.sizes(), d) : Tensor(), gw = zeros({c}, d), gb = zeros({c}, d);
    if (x.numel()) {
      Tensor centre = empty({n * c}, d), sum_g = empty({n * c}, d), sum_gx = empty({n * c}, d);
      Tensor by = empty({n * c}, d), along = empty({n * c}, d), constant = empty({n * c}, d);
      Unlocked unlocked(x.numel());
      visit_float(d, [&](auto tag) {
        using T = decltype(tag);
        for (int64_t i = 0; i < n * c; i++) centre.data<T>()[i] = mean.data<T>()[i / (c / groups)];
      });
      RL_CALL_FLOAT(channel_sums, d, by_channel(), gy.data<T>(), in.data<T>(), centre.data<T>(), sum_g.data<T>(),
                    sum_gx.data<T>())
      visit_float(d, [&](auto tag) {
        using T = decltype(tag);
        coefficients(sum_g.data<T>(), sum_gx.data<T>(), w ? w.data<T>() : nullptr, gw.data<T>(), gb.data<T>(),
                     by.data<T>(), along.data<T>(), constant.data<T>());
      });
      if (gx) {
        RL_CALL_FLOAT(channel_combine, d, by_channel(), gy.data<T>(), in.data<T>(), centre.data<T>(), by.data<T>(),
                      along.data<T>(), constant.data<T>(), gx.data<T>())
      }
    }
    return {gx, weight ? gw : Tensor(), gb};
  }

  // From each sample's and channel's sums of g and of g * (x - mean): the gradients by weight and bias, and
  // gx = g * by + (x - mean) * along + constant.
  template <class T>
  void coefficients(const T* sum_g, const T* sum_gx, const T* w, T* gw, T* gb, T* by, T* along, T* constant) const {
    const int64_t width = c / groups;
    const double count = double(per_group());
    for (int64_t g = 0; g < n * groups; g++) {
      const double r = double(rstd.data<T>()[g]), left = double(rest.data<T>()[g]);
      double total = 0, total_x = 0;
      for (int64_t i = g * width; i < (g + 1) * width; i++) {
        const double weight = w ? double(w[i % c]) : 1.0, sg = double(sum_g[i]), sgx = double(sum_gx[i]) - left * sg;
        gw[i % c] += T(sgx * r), gb[i % c] += T(sg);
        total += weight * sg, total_x += weight * sgx;
        by[i] = T(weight * r);
      }
      const double slope = -r * r * r * total_x / count;
      for (int64_t i = g * width; i < (g + 1) * width; i++)
        along[i] = T(slope), constant[i] = T(-r * total / count - slope * left);
    }
  }

  Grads composed(const Ctx& ctx, const Tensor& gy, const Tensor& input, const Tensor& weight) const {
    const DType d = input.is_meta() ? input.dtype() : float_of(input);
    const Dims grouped{n, groups, per_group()}, split{n, c, inner}, by_channel{1, c, 1};
    const Tensor x = reshape(to_dtype(input, d), grouped), g = reshape(to_dtype(gy, d), split);
    auto average = [&](const Tensor& t) { return sum(t, {2}, true) / double(std::max<int64_t>(per_group(), 1)); };
    const Tensor centred = x - average(x), r = rsqrt(average(square(centred)) + wrapped_number(eps));
    const Tensor normal = centred * r;
    Tensor gx, gw, gb;
    if (ctx.need(0)) {
      const Tensor gn = reshape(weight ? g * to_dtype(reshape(weight, by_channel), d) : g, grouped);
      gx = reshape(r * (gn - average(gn) - normal * average(gn * normal)), input.sizes());
    }
    if (ctx.need(1)) gw = sum(g * reshape(normal, split), {0, 2});
    if (ctx.need(2)) gb = sum(g, {0, 2});
    return {gx, gw, gb};
  }
};

struct RmsNorm {
  static constexpr auto schema =
      "rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor";
  static constexpr auto doc =
      "Divides by the root of the mean square over the last dimensions, normalized_shape (Zhang and Sennrich 2019), "
      "then multiplies by weight, of that shape. eps is added to the mean square: the dtype's own unless given.";
  static constexpr auto node_name = "MulBackward0";
  int64_t rows = 1, n = 1;
  double eps;
  Dims inner;
  Tensor rstd;

  Tensor forward(Ctx& ctx, const Tensor& x, IntSpan shape, const Tensor& weight, std::optional<double> epsilon) {
    RL_CHECK(!shape.empty(), "rms_norm: normalized_shape must have at least one dimension");
    const int64_t lead = x.dim() - int64_t(shape.size());
    bool fits = lead >= 0;
    for (size_t d = 0; fits && d < shape.size(); d++) fits = x.sizes()[lead + d] == shape[d];
    RL_CHECK(fits, "rms_norm: the last dimensions of input ", x.sizes(), " are not normalized_shape ", shape);
    RL_CHECK(!weight || IntSpan(weight.sizes()) == shape, "rms_norm: weight has shape ",
             weight ? weight.sizes() : Dims(), ", normalized_shape is ", shape);
    RL_CHECK_KIND(x.is_floating(), NotImplemented, "rms_norm is not implemented for ", x.dtype(),
                  hint("convert with .float()"));
    inner = shape.dims();
    eps = epsilon.value_or(x.dtype() == DType::Float64 ? 0x1p-52 : 0x1p-23);
    for (int64_t d = 0; d < x.dim(); d++) (d < lead ? rows : n) *= x.sizes()[d];
    ctx.save(x), ctx.save(weight);
    if (x.is_meta()) return empty(x.sizes(), x.dtype(), x.device());
    const DType d = float_of(x);
    const Tensor in = ready(x, d), w = weight ? ready(weight, d) : weight;
    Tensor y = empty(x.sizes(), d);
    rstd = empty({rows}, d);
    if (y.numel()) {
      Unlocked unlocked(y.numel() / 3);
      RL_CALL_FLOAT(rms_norm, d, rows, n, in.data<T>(), w ? w.data<T>() : nullptr, eps, y.data<T>(), rstd.data<T>())
    }
    return in_dtype_of(x, y);
  }

  Grads backward(Ctx& ctx, Grads g) {
    const Tensor x = ctx.get(0), weight = ctx.get(1);
    if (tls.grad_enabled || x.is_meta()) return composed(ctx, g[0], x, weight);
    const DType d = float_of(x);
    const Tensor in = ready(x, d), gy = ready(g[0], d), w = weight ? ready(weight, d) : weight;
    Tensor gx, gw;
    if (ctx.need(0)) gx = empty(x.sizes(), d);
    if (ctx.need(1)) gw = zeros(inner, d);
    if (x.numel()) {
      Unlocked unlocked(x.numel());
      RL_CALL_FLOAT(rms_norm_backward, d, rows, n, gy.data<T>(), in.data<T>(), w ? w.data<T>() : nullptr,
                    rstd.data<T>(), gx ? gx.data<T>() : nullptr, gw ? gw.data<T>() : nullptr)
    }
    return {gx, gw};
  }

  Grads composed(const Ctx& ctx, const Tensor& gy, const Tensor& input, const Tensor& weight) const {
    const DType d = input.is_meta() ? input.dtype() : float_of(input);
    const Tensor x = reshape(to_dtype(input, d), {rows, n}), g = reshape(to_dtype(gy, d), {rows, n});
    auto average = [&](const Tensor& t) { return sum(t, {1}, true) / double(n); };
    const Tensor r = rsqrt(average(square(x)) + wrapped_number(eps)), normal = x * r;
    Tensor gx, gw;
    if (ctx.need(0)) {
      const Tensor gn = weight ? g * to_dtype(reshape(weight, {n}), d) : g;
      gx = reshape(r * (gn - normal * average(gn * normal)), input.sizes());
    }
    if (ctx.need(1)) gw = reshape(sum(g * normal, {0}), inner);
    return {gx, gw};
  }
};

RL_BIND(GroupNorm, function)
RL_BIND(RmsNorm, function)

}  // namespace
}  // namespace ops
}  // namespace rushlight
