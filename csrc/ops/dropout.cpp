// Dropout, with PyTorch's draws: one for each element, in the order of memory.
#include "base/unlocked.h"
#include "kernels/cpu/mask_scale.h"
#include "kernels/random.h"
#include "ops/layout.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

// 1 / keep as the dtype's own division rounds it.
double inverse(double keep, DType d) {
  return visit(d, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, double>) return 1 / keep;
    else return double(T(1.0f / float(keep)));
  });
}

// x times mask times scale, laid out as the mask.
Tensor masked(const Tensor& input, const Tensor& mask, double scale) {
  const DType d = float_of(input);
  Tensor x = input.dtype() == d ? input : kernels::cast(input, d);
  Tensor y = empty_strided(mask.sizes(), mask.strides(), d);
  if (x.strides() != mask.strides()) kernels::copy_into(y, x), x = y;
  {
    Unlocked unlocked(y.numel() / 4);
    RL_CALL_FLOAT(mask_scale, d, x.data<T>(), mask.data<bool>(), scale, y.data<T>(), y.numel())
  }
  return in_dtype_of(input, y);
}

template <bool native>
struct DropoutOf {
  static constexpr auto schema = "native_dropout(Tensor input, float p, bool? train=True) -> (Tensor, Tensor)";
  static constexpr auto doc = "The result of dropout, and a bool tensor of what was kept.";
  static constexpr auto node_name = native ? "NativeDropoutBackward0" : "MulBackward0";
  static constexpr bool wants_undefined = true;  // no zeros for the mask
  double scale;
  std::tuple<Tensor, Tensor> forward(Ctx& ctx, const Tensor& x, double p, std::optional<bool> train) {
    RL_CHECK(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
    RL_CHECK_KIND(x.is_floating(), NotImplemented, "dropout is not implemented for ", x.dtype(),
                  hint("convert with .float()"));
    const Dims strides = dense_strides_like(x);
    Tensor mask = empty_strided(x.sizes(), strides, DType::Bool, x.device());
    scale = 1;
    if (x.is_meta()) {
      ctx.save(mask);
      return {empty_strided(x.sizes(), strides, x.dtype(), x.device()), mask};
    }
    if (train.value_or(true)) {
      scale = p == 1 ? 0 : inverse(1 - p, x.dtype());
      Unlocked unlocked(x.numel());
      kernels::random_bernoulli(default_generator(), mask.data<bool>(), x.numel(), 1 - p);
    } else {
      kernels::fill(mask, true);
    }
    ctx.save(mask);
    return {masked(x, mask, scale), mask};
  }
  Grads backward(Ctx& ctx, Grads g) {
    if (!g[0]) return {Tensor()};
    const Tensor mask = ctx.get(0);
    if (!tls.grad_enabled && !g[0].is_meta()) return {masked(g[0], mask, scale)};
    return {g[0] * (to_dtype(mask, g[0].dtype()) * scale)};
  }
};

using NativeDropout = DropoutOf<true>;

struct Dropout {
  static constexpr auto schema = "dropout(Tensor input, float p, bool train) -> Tensor";
  static constexpr auto doc =
      "In training, zeroes each element with probability p and scales the others by 1 / (1 - p).";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, double p, bool train) {
    RL_CHECK(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
    if (p == 0 || !train || x.numel() == 0) return x;
    if (p == 1) return x * 0.0;  // draws nothing
    return std::get<0>(apply<DropoutOf<false>>(x, p, std::optional<bool>(true)));
  }
};

RL_BIND(NativeDropout, function)
RL_BIND(Dropout, function)

}  // namespace
}  // namespace ops
}  // namespace rushlight
