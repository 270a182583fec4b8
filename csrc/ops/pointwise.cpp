// Functions of one element: the table of pointwise/unary.h as operations.
#include "ops/pointwise.h"

#include <limits>

#include "ops/registry.h"

namespace rushlight {

Tensor zero_of(const Tensor& g) { return zeros_like(g); }

#define RL_UNARY(name, F) \
  Tensor name(const Tensor& x) { return apply<ops::Unary<pointwise::F>>(x); }
RL_UNARY(neg, Neg)
RL_UNARY(abs, Abs)
RL_UNARY(sign, Sign)
RL_UNARY(square, Square)
RL_UNARY(exp, Exp)
RL_UNARY(exp2, Exp2)
RL_UNARY(expm1, Expm1)
RL_UNARY(log, Log)
RL_UNARY(log1p, Log1p)
RL_UNARY(sqrt, Sqrt)
RL_UNARY(rsqrt, Rsqrt)
RL_UNARY(reciprocal, Reciprocal)
RL_UNARY(sin, Sin)
RL_UNARY(cos, Cos)
RL_UNARY(sinh, Sinh)
RL_UNARY(cosh, Cosh)
RL_UNARY(tanh, Tanh)
RL_UNARY(floor, Floor)
RL_UNARY(trunc, Trunc)
RL_UNARY(sigmoid, Sigmoid)
RL_UNARY(erf, Erf)
RL_UNARY(relu, Relu)
RL_UNARY(logical_not, LogicalNot)
#undef RL_UNARY

namespace ops {
namespace {

struct Gelu {
  static constexpr auto schema = "gelu(Tensor self, *, str approximate='none') -> Tensor";
  static constexpr auto doc = "x * Phi(x), Phi the normal distribution function; approximate='tanh' approximates it.";
  bool tanh = false;
  Tensor forward(Ctx& ctx, const Tensor& x, std::string_view approximate) {
    RL_CHECK(approximate == "none" || approximate == "tanh", "gelu: approximate must be 'none' or 'tanh', not '",
             approximate, "'");
    tanh = approximate == "tanh";
    ctx.save(x);
    return tanh ? kernels::pointwise(schema, pointwise::GeluTanh(), 0, float_type(x.dtype()), ctx.out, x)
                : kernels::pointwise(schema, pointwise::Gelu(), 0, float_type(x.dtype()), ctx.out, x);
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor x = ctx.get(0);
    return {tanh ? derivative<1>(schema, pointwise::GeluTanh(), g[0], x)
                 : derivative<1>(schema, pointwise::Gelu(), g[0], x)};
  }
};

struct NanToNum {
  static constexpr auto schema =
      "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor";
  static constexpr auto doc =
      "NaN replaced by nan (0), infinities by posinf and neginf (the dtype's largest and smallest finite numbers).";
  pointwise::NanToNum f;
  Tensor forward(Ctx& ctx, const Tensor& x, std::optional<double> nan, std::optional<double> positive,
                 std::optional<double> negative) {
    ctx.save(x);
    check_out_dtype(schema, ctx, x.dtype());
    if (!is_floating(x.dtype())) return kernels::clone(x);
    double largest = x.dtype() == DType::Float64    ? 0x1.fffffffffffffp1023
                     : x.dtype() == DType::Float16  ? 65504
                     : x.dtype() == DType::BFloat16 ? 0x1.fep127
                                                    : 0x1.fffffep127;
    f = {nan.value_or(0), positive.value_or(largest), negative.value_or(-largest)};
    Tensor to = ctx.out ? *ctx.out : empty_like(x);
    return kernels::pointwise(schema, f, 0, x.dtype(), &to, x);
  }
  Grads backward(Ctx& ctx, Grads g) { return {derivative<1>(schema, f, g[0], ctx.get(0))}; }
};

struct Logit {
  static constexpr auto schema = "logit(Tensor self, float? eps=None) -> Tensor";
  static constexpr auto doc = "log(x / (1 - x)); with eps, x is first held between eps and 1 - eps.";
  pointwise::Logit f;
  Tensor forward(Ctx& ctx, const Tensor& x, std::optional<double> eps) {
    ctx.save(x);
    constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    f = eps ? pointwise::Logit{*eps, 1 - *eps, 0} : pointwise::Logit{-inf, inf, nan};
    return kernels::pointwise(schema, f, 0, float_type(x.dtype()), ctx.out, x);
  }
  Grads backward(Ctx& ctx, Grads g) { return {derivative<1>(schema, f, g[0], ctx.get(0))}; }
};

template <class... F>
int bind_table(pointwise::List<F...>) {
  (bind<Unary<F>>(function | method | inplace | out), ...);
  return 0;
}
const int bound_table = bind_table(pointwise::Unary());

}  // namespace

RL_BIND(Gelu, function)
RL_BIND(NanToNum, both | inplace | out)
RL_BIND(Logit, both | inplace | out)
using Threshold = Unary<pointwise::Threshold, double, double>;
RL_BIND(Threshold, function | inplace)
using Softplus = Unary<pointwise::Softplus, double, double>;
RL_BIND(Softplus, function)
RL_BIND(Unary<pointwise::Softsign>, function)
using LeakyRelu = Unary<pointwise::LeakyRelu, double>;
RL_BIND(LeakyRelu, function | inplace)
using Elu = Unary<pointwise::Elu, double>;
RL_BIND(Elu, function | inplace)
using Hardtanh = Unary<pointwise::Hardtanh, double, double>;
RL_BIND(Hardtanh, function | inplace)

}  // namespace ops
}  // namespace rushlight
