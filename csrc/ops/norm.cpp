// Batch and layer normalization. Backward is one fused pass, or, where it will be differentiated again, written over
// operations from the formula.
#include "kernels/cpu/norm.h"

#include "base/unlocked.h"
#include "ops/layout.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

using kernels::Channels;

struct BatchNorm {
  static constexpr auto schema =
      "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
      "bool training, float momentum, float eps, bool cudnn_enabled=True) -> Tensor";
  static constexpr auto doc = "Brings each channel to mean 0 and variance 1; see rushlight.nn.functional.batch_norm.";
  static constexpr auto node_name = "NativeBatchNormBackward0";
  bool training;
  double eps;
  Tensor mean, rest, rstd;  // of each channel, in the compute type; the mean is mean + rest

  // x as kernels read it; channels_last says which of the two layouts it has.
  struct Input {
    Tensor t;
    Channels s;
    Input(const Tensor& x, DType d, bool channels_last) : t(x.dtype() == d ? x : kernels::cast(x, d)) {
      const MemoryFormat f = channels_last ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous;
      if (!t.is_contiguous(f)) t = kernels::clone(t, f);
      s = {.n = x.sizes()[0], .channels = x.sizes()[1], .inner = 1};
      for (int64_t i = 2; i < x.dim(); i++) (channels_last ? s.n : s.inner) *= x.sizes()[i];
      if (x.numel() == 0) s.n = 0, s.inner = 1;
    }
  };

  static void check_channels(const char* what, const Tensor& t, int64_t channels) {
    RL_CHECK(!t || (t.dim() == 1 && t.sizes()[0] == channels), "batch_norm: ", what, " of shape ",
             t ? t.sizes() : Dims(), " does not fit ", channels, " channels: it needs one value for each");
  }

  static void update(const Tensor& running, const Tensor& value, double momentum, double factor) {
    if (!running) return;
    visit(running.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* to = running.data<T>();
      for (int64_t c = 0; c < running.numel(); c++, to += running.strides()[0]) {
        const double v = value.dtype() == DType::Float32 ? value.data<float>()[c] : value.data<double>()[c];
        *to = T((1 - momentum) * double(*to) + momentum * factor * v);
      }
    });
    running.bump_version();
  }

  Tensor forward(Ctx& ctx, const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                 const Tensor& running_var, bool train, double momentum, double epsilon, bool) {
    RL_CHECK(x.dim() >= 2, "batch_norm: input must be (N, C) or (N, C, ...), got shape ", x.sizes());
    RL_CHECK_KIND(x.is_floating(), NotImplemented, "batch_norm is not implemented for ", x.dtype(),
                  hint("convert with .float()"));
    RL_CHECK(train || (running_mean && running_var),
             "batch_norm: running_mean and running_var must be given when not training");
    const int64_t channels = x.sizes()[1];
    check_channels("weight", weight, channels), check_channels("bias", bias, channels);
    check_channels("running_mean", running_mean, channels), check_channels("running_var", running_var, channels);
    training = train, eps = epsilon;
    ctx.save(x), ctx.save(weight);
    if (x.is_meta()) return empty_like(x);

    const DType d = float_of(x);
    const bool last = prefers_channels_last(x);
    const Input in(x, d, last);
    Tensor y = empty_like(in.t);
    Tensor scale = empty({channels}, d), shift = empty({channels}, d), var;
    rest = zeros({channels}, d);
    if (train) {
      mean = empty({channels}, d), var = empty({channels}, d);
      {
        Unlocked unlocked(x.numel() / 2);
        RL_CALL_FLOAT(channel_moments, d, in.s, in.t.data<T>(), mean.data<T>(), rest.data<T>(), var.data<T>())
      }
      const double count = double(in.s.count());
      update(running_mean, mean, momentum, 1), update(running_var, var, momentum, count / (count - 1));
    } else {
      mean = kernels::clone(ready(running_mean, d)), var = ready(running_var, d);  // the running ones may move on
    }
    rstd = empty({channels}, d);
    const Tensor w = weight ? ready(weight, d) : weight, b = bias ? ready(bias, d) : bias;
    visit_float(d, [&](auto tag) {
      using T = decltype(tag);
      for (int64_t c = 0; c < channels; c++) {
        rstd.data<T>()[c] = T(1 / std::sqrt(double(var.data<T>()[c]) + eps));
        scale.data<T>()[c] = w ? rstd.data<T>()[c] * w.data<T>()[c] : rstd.data<T>()[c];
        shift.data<T>()[c] = (b ? b.data<T>()[c] : T(0)) - rest.data<T>()[c] * scale.data<T>()[c];
      }
    });
    {
      Unlocked unlocked(x.numel() / 4);
      RL_CALL_FLOAT(channel_affine, d, in.s, in.t.data<T>(), mean.data<T>(), scale.data<T>(), shift.data<T>(),
                    y.data<T>())
    }
    return in_dtype_of(x, y);
  }

  Grads backward(Ctx& ctx, Grads g) {
    const Tensor x = ctx.get(0), weight = ctx.get(1);
    if (tls.grad_enabled || x.is_meta()) return composed(ctx, g[0], x, weight);
    const DType d = float_of(x);
    const bool last = prefers_channels_last(x);
    const Input in(x, d, last), gy(g[0], d, last);
    const int64_t channels = in.s.channels;
    const double count = double(in.s.count());
    const Tensor w = weight ? ready(weight, d) : weight;
    Tensor sum_g = empty({channels}, d), sum_gx = empty({channels}, d), gx;
    {
      Unlocked unlocked(x.numel() / 2);
      RL_CALL_FLOAT(channel_sums, d, in.s, gy.t.data<T>(), in.t.data<T>(), mean.data<T>(), sum_g.data<T>(),
                    sum_gx.data<T>())
    }
    Tensor gw = empty({channels}, d), a = empty({channels}, d), b = empty({channels}, d), c = empty({channels}, d);
    visit_float(d, [&](auto tag) {
      using T = decltype(tag);
      for (int64_t i = 0; i < channels; i++) {
        const double r = double(rstd.data<T>()[i]), by = r * (w ? double(w.data<T>()[i]) : 1.0);
        const double sg = double(sum_g.data<T>()[i]), left = double(rest.data<T>()[i]);
        const double sgx = double(sum_gx.data<T>()[i]) - left * sg;
        gw.data<T>()[i] = T(sgx * r);
        a.data<T>()[i] = T(by);
        b.data<T>()[i] = T(-by * r * r * sgx / count);
        c.data<T>()[i] = T(-by * sg / count - double(b.data<T>()[i]) * left);
      }
    });
    if (ctx.need(0)) {
      gx = empty_like(in.t);
      Unlocked unlocked(x.numel() / 4);
      RL_CALL_FLOAT(channel_combine, d, in.s, gy.t.data<T>(), in.t.data<T>(), mean.data<T>(), a.data<T>(),
                    training ? b.data<T>() : nullptr, training ? c.data<T>() : nullptr, gx.data<T>())
    }
    return {gx, weight ? gw : Tensor(), sum_g, Tensor(), Tensor()};
  }

  Grads composed(const Ctx& ctx, const Tensor& gy, const Tensor& input, const Tensor& weight) const {
    const DType d = input.is_meta() ? input.dtype() : float_of(input);
    const Tensor x = to_dtype(input, d), g = to_dtype(gy, d);
    Dims per_channel, dims;
    per_channel.resize(x.dim(), 1);
    per_channel[1] = x.sizes()[1];
    for (int64_t i = 0; i < x.dim(); i++)
      if (i != 1) dims.push_back(i);
    const double count = double(x.numel()) / double(std::max<int64_t>(x.sizes()[1], 1));
    auto average = [&](const Tensor& t) { return sum(t, dims, true) / count; };

    Tensor centred, r;
    if (training) {
      centred = x - average(x);
      r = rsqrt(average(square(centred)) + wrapped_number(eps));
    } else {
      centred = x - (mean ? reshape(mean, per_channel) : zeros(per_channel, d, x.device()));
      r = rstd ? reshape(rstd, per_channel) : ones(per_channel, d, x.device());
    }
    const Tensor normal = centred * r;
    Tensor gx, gw, gb;
    if (ctx.need(0)) {
      const Tensor gn = weight ? g * to_dtype(reshape(weight, per_channel), d) : g;
      gx = training ? r * (gn - average(gn) - normal * average(gn * normal)) : gn * r;
    }
    if (ctx.need(1)) gw = sum(g * normal, dims);
    if (ctx.need(2)) gb = sum(g, dims);
    return {gx, gw, gb, Tensor(), Tensor()};
  }
};

struct LayerNorm {
  static constexpr auto schema =
      "layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, "
      "bool cudnn_enable=True) -> Tensor";
  static constexpr auto doc =
      "Brings the values of the last dimensions, normalized_shape, to mean 0 and variance 1 (Ba et al. 2016), then "
      "multiplies by weight and adds bias, both of that shape.";
  static constexpr auto node_name = "NativeLayerNormBackward0";
  int64_t rows = 1, n = 1;
  double eps;
  Dims inner;
  Tensor mean, rstd;

  Tensor forward(Ctx& ctx, const Tensor& x, IntSpan shape, const Tensor& weight, const Tensor& bias, double epsilon,
                 bool) {
    RL_CHECK(!shape.empty(), "layer_norm: normalized_shape must have at least one dimension");
    const int64_t lead = x.dim() - int64_t(shape.size());
    bool fits = lead >= 0;
    for (size_t d = 0; fits && d < shape.size(); d++) fits = x.sizes()[lead + d] == shape[d];
    RL_CHECK(fits, "layer_norm: the last dimensions of input ", x.sizes(), " are not normalized_shape ", shape);
    RL_CHECK(!weight || IntSpan(weight.sizes()) == shape, "layer_norm: weight has shape ",
             weight ? weight.sizes() : Dims(), ", normalized_shape is ", shape);
    RL_CHECK(!bias || IntSpan(bias.sizes()) == shape, "layer_norm: bias has shape ", bias ? bias.sizes() : Dims(),
             ", normalized_shape is ", shape);
    RL_CHECK_KIND(x.is_floating(), NotImplemented, "layer_norm is not implemented for ", x.dtype(),
                  hint("convert with .float()"));
    inner = shape.dims(), eps = epsilon;
    for (int64_t d = 0; d < x.dim(); d++) (d < lead ? rows : n) *= x.sizes()[d];
    ctx.save(x), ctx.save(weight);
    if (x.is_meta()) return empty(x.sizes(), x.dtype(), x.device());
    const DType d = float_of(x);
    const Tensor in = ready(x, d), w = weight ? ready(weight, d) : weight, b = bias ? ready(bias, d) : bias;
    Tensor y = empty(x.sizes(), d);
    mean = empty({rows}, d), rstd = empty({rows}, d);
    if (y.numel()) {
      Unlocked unlocked(y.numel() / 2);
      RL_CALL_FLOAT(layer_norm, d, rows, n, in.data<T>(), w ? w.data<T>() : nullptr, b ? b.data<T>() : nullptr, eps,
                    y.data<T>(), mean.data<T>(), rstd.data<T>())
    }
    return in_dtype_of(x, y);
  }

  Grads backward(Ctx& ctx, Grads g) {
    const Tensor x = ctx.get(0), weight = ctx.get(1);
    if (tls.grad_enabled || x.is_meta()) return composed(ctx, g[0], x, weight);
    const DType d = float_of(x);
    const Tensor in = ready(x, d), gy = ready(g[0], d), w = weight ? ready(weight, d) : weight;
    Tensor gx, gw, gb;
    if (ctx.need(0)) gx = empty(x.sizes(), d);
    if (ctx.need(1)) gw = zeros(inner, d);
    if (ctx.need(2)) gb = zeros(inner, d);
    if (x.numel()) {
      Unlocked unlocked(x.numel());
      RL_CALL_FLOAT(layer_norm_backward, d, rows, n, gy.data<T>(), in.data<T>(), w ? w.data<T>() : nullptr,
                    mean.data<T>(), rstd.data<T>(), gx ? gx.data<T>() : nullptr, gw ? gw.data<T>() : nullptr,
                    gb ? gb.data<T>() : nullptr)
    }
    return {gx, gw, gb};
  }

  Grads composed(const Ctx& ctx, const Tensor& gy, const Tensor& input, const Tensor& weight) const {
    const DType d = input.is_meta() ? input.dtype() : float_of(input);
    const Tensor x = reshape(to_dtype(input, d), {rows, n}), g = reshape(to_dtype(gy, d), {rows, n});
    auto average = [&](const Tensor& t) { return sum(t, {1}, true) / double(n); };
    const Tensor centred = x - average(x), r = rsqrt(average(square(centred)) + wrapped_number(eps));
    const Tensor normal = centred * r;
    Tensor gx, gw, gb;
    if (ctx.need(0)) {
      const Tensor gn = weight ? g * to_dtype(reshape(weight, {n}), d) : g;
      gx = reshape(r * (gn - average(gn) - normal * average(gn * normal)), input.sizes());
    }
    if (ctx.need(1)) gw = reshape(sum(g * normal, {0}), inner);
    if (ctx.need(2)) gb = reshape(sum(g, {0}), inner);
    return {gx, gw, gb};
  }
};

RL_BIND(BatchNorm, function)
RL_BIND(LayerNorm, function)

}  // namespace
}  // namespace ops
}  // namespace rushlight
