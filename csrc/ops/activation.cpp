// Activation functions that are more than a formula of one element.
#include "ops/layout.h"
#include "ops/pointwise.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

struct Celu : Unary<pointwise::Celu, double> {
  Tensor forward(Ctx& ctx, const Tensor& x, double alpha) {
    RL_CHECK(alpha != 0, "celu: alpha cannot be 0, by which x is divided");
    return Unary::forward(ctx, x, alpha);
  }
};

struct Softshrink : Unary<pointwise::Softshrink, double> {
  Tensor forward(Ctx& ctx, const Tensor& x, double bound) {
    RL_CHECK(bound >= 0, "softshrink: lambd must not be negative, got ", bound);
    return Unary::forward(ctx, x, bound);
  }
};

struct Hardshrink : Unary<pointwise::Hardshrink, double> {
  Tensor forward(Ctx& ctx, const Tensor& x, double bound) {
    check_out_dtype(schema, ctx, float_type(x.dtype()));
    return Unary::forward(ctx, x, bound);
  }
};

struct Glu {
  static constexpr auto schema = "glu(Tensor self, int dim=-1) -> Tensor";
  static constexpr auto doc = "a * sigmoid(b) for the two halves a and b along a dimension (Dauphin et al., 2016).";
  int64_t dim;
  struct Halves {
    Tensor a, b;
  };
  Halves halves(const Tensor& x) const {
    const int64_t half = x.sizes()[dim] / 2;
    return {narrow(x, dim, 0, half), narrow(x, dim, half, half)};
  }
  Tensor forward(Ctx& ctx, const Tensor& x, int64_t d) {
    RL_CHECK(x.dim() > 0, "glu: a tensor without dimensions cannot be halved");
    dim = x.wrap(d);
    RL_CHECK(x.sizes()[dim] % 2 == 0, "glu: dimension ", dim, " of ", x.sizes(), " is to be halved, but is odd");
    RL_CHECK_KIND(x.is_floating(), NotImplemented, "glu is not implemented for ", x.dtype(),
                  hint("convert with .float()"));
    ctx.save(x);
    const Halves h = halves(x);
    return kernels::pointwise(schema, pointwise::Glu(), 0, x.dtype(), ctx.out, h.a, h.b);
  }
  Grads backward(Ctx& ctx, Grads g) {
    const Tensor x = ctx.get(0);
    const Halves h = halves(x);
    if (tls.grad_enabled) {
      const pointwise::Glu f;
      const Tensor parts[] = {f.grad_a(g[0], h.a, h.b), f.grad_b(g[0], h.a, h.b)};
      return {cat(parts, dim)};
    }
    const Tensor gx = empty_strided(x.sizes(), dense_strides_like(x), x.dtype(), x.device());
    const Halves to = halves(gx);
    kernels::pointwise(schema, pointwise::Glu(), 1, x.dtype(), &to.a, g[0], h.a, h.b);
    kernels::pointwise(schema, pointwise::Glu(), 2, x.dtype(), &to.b, g[0], h.a, h.b);
    return {gx};
  }
};

struct PreluKernel {
  static constexpr auto schema = "_prelu_kernel(Tensor self, Tensor weight) -> Tensor";
  Tensor forward(Ctx& ctx, const Tensor& x, const Tensor& weight) {
    ctx.save(x), ctx.save(weight);
    return kernels::pointwise(schema, pointwise::Prelu(), 0, x.dtype(), ctx.out, x, weight);
  }
  Grads backward(Ctx& ctx, Grads g) {
    const Tensor x = ctx.get(0), weight = ctx.get(1);
    Tensor gx, gw;
    if (ctx.need(0)) gx = derivative<1>(schema, pointwise::Prelu(), g[0], x, weight);
    if (ctx.need(1)) gw = derivative<2>(schema, pointwise::Prelu(), g[0], x, weight);
    return {gx, gw};
  }
};

struct Prelu {
  static constexpr auto schema = "prelu(Tensor self, Tensor weight) -> Tensor";
  static constexpr auto doc =
      "x where it is positive, weight * x elsewhere (He et al., 2015). weight has one value, or one for each channel, "
      "which is dimension 1.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, const Tensor& weight) {
    RL_CHECK(x.dtype() == weight.dtype(), "prelu: input is ", x.dtype(), " but weight is ", weight.dtype(),
             hint("convert one with .to(other.dtype)"));
    RL_CHECK_KIND(x.is_floating(), NotImplemented, "prelu is not implemented for ", x.dtype(),
                  hint("convert with .float()"));
    Dims shape;
    shape.resize(x.dim(), 1);
    if (weight.numel() != 1) {
      const int64_t channels = x.dim() > 1 ? x.sizes()[1] : 1;
      RL_CHECK(x.dim() > 0, "prelu: a tensor without dimensions has one channel, but weight has ", weight.numel());
      RL_CHECK(weight.numel() == channels && weight.dim() == 1, "prelu: weight of shape ", weight.sizes(),
               " does not fit ", channels, " channels (input ", x.sizes(), "): it needs one value, or one for each");
      shape[x.dim() > 1 ? 1 : 0] = channels;
    }
    return apply<PreluKernel>(x, reshape(weight, shape));
  }
};

struct Rrelu {
  static constexpr auto schema =
      "rrelu(Tensor self, float lower=0.125, float upper=0.3333333333333333, bool training=False, "
      "Generator? generator=None) -> Tensor";
  static constexpr auto node_name = "RreluWithNoiseBackward0";
  static constexpr auto doc =
      "x where it is positive, a * x elsewhere: in training with an a drawn for each element between lower and upper, "
      "else with their mean (Xu et al., 2015).";
  pointwise::LeakyRelu mean;
  bool training = false;

  // The factors, 1 where x is positive; only for the others is drawn.
  static Tensor factors(const Tensor& x, double lower, double upper, Generator* g) {
    const DType d = float_of(x);
    const Tensor in = ready(x, d);
    Tensor factor = empty(x.sizes(), d);
    const std::lock_guard<std::mutex> lock(g->mutex);
    visit_float(d, [&](auto tag) {
      using T = decltype(tag);
      const T* from = in.data<T>();
      T* to = factor.data<T>();
      for (int64_t i = 0; i < in.numel(); i++) to[i] = from[i] <= 0 ? T(lower + g->uniform() * (upper - lower)) : T(1);
    });
    return in_dtype_of(x, factor);
  }

  Tensor forward(Ctx& ctx, const Tensor& x, double lower, double upper, bool train, Generator* generator) {
    RL_CHECK(lower <= upper, "rrelu: lower, ", lower, ", is above upper, ", upper);
    RL_CHECK_KIND(x.is_floating(), NotImplemented, "rrelu is not implemented for ", x.dtype(),
                  hint("convert with .float()"));
    training = train, mean.slope = (lower + upper) / 2;
    const Tensor fresh = ctx.out ? *ctx.out : empty(x.sizes(), x.dtype(), x.device());
    if (!training) {
      ctx.save(x);
      return kernels::pointwise(schema, mean, 0, x.dtype(), &fresh, x);
    }
    const Tensor factor = x.is_meta() ? empty(x.sizes(), x.dtype(), x.device()) : factors(x, lower, upper, generator);
    ctx.save(factor);
    return kernels::pointwise(schema, pointwise::Mul(), 0, x.dtype(), &fresh, x, factor);
  }
  Grads backward(Ctx& ctx, Grads g) {
    return {training ? g[0] * ctx.get(0) : derivative<1>(schema, mean, g[0], ctx.get(0))};
  }
};

RL_BIND(Celu, function | inplace)
using Selu = Unary<pointwise::Selu>;
RL_BIND(Selu, function | inplace)
RL_BIND(Hardshrink, both | out)
RL_BIND(Softshrink, function)
RL_BIND(Glu, function)
RL_BIND(Prelu, both)
RL_BIND(Rrelu, function | inplace)

}  // namespace
}  // namespace ops
}  // namespace rushlight
