// Special functions, and pointwise functions that few programs use: the table of pointwise/special.h as operations.
#include "pointwise/special.h"

#include "kernels/cpu/special_tiles.h"
#include "ops/pointwise.h"
#include "ops/registry.h"

namespace rushlight {

// Where kernels::pointwise finds the tile functions of these functors.
namespace kernels {

#define RL_ROW(F, list, tiles)                                               \
  template <>                                                                \
  const TileRow& tile_row<pointwise::F>() {                                  \
    constexpr int at = pointwise::index_of<pointwise::F>(pointwise::list()); \
    return tiles()[at];                                                      \
  }
RL_ROW(Frac, Special, special_tiles)
RL_ROW(Deg2Rad, Special, special_tiles)
RL_ROW(Rad2Deg, Special, special_tiles)
RL_ROW(Sinc, Special, special_tiles)
RL_ROW(Lgamma, Special, special_tiles)
RL_ROW(Digamma, Special, special_tiles)
RL_ROW(Erfinv, Special, special_tiles)
RL_ROW(I0, Special, special_tiles)
RL_ROW(SignBit, SpecialFunctions, special_function_tiles)
RL_ROW(IsPosInf, SpecialFunctions, special_function_tiles)
RL_ROW(IsNegInf, SpecialFunctions, special_function_tiles)
RL_ROW(I0e, SpecialFunctions, special_function_tiles)
RL_ROW(I1, SpecialFunctions, special_function_tiles)
RL_ROW(I1e, SpecialFunctions, special_function_tiles)
RL_ROW(Erfcx, SpecialFunctions, special_function_tiles)
RL_ROW(Ndtri, SpecialFunctions, special_function_tiles)
RL_ROW(LogNdtr, SpecialFunctions, special_function_tiles)
RL_ROW(Entr, SpecialFunctions, special_function_tiles)
RL_ROW(Polygamma, SpecialFunctions, special_function_tiles)
RL_ROW(Heaviside, SpecialBinary, special_binary_tiles)
RL_ROW(NextAfter, SpecialBinary, special_binary_tiles)
RL_ROW(Gcd, SpecialBinary, special_binary_tiles)
RL_ROW(Lcm, SpecialBinary, special_binary_tiles)
RL_ROW(Xlog1py, SpecialBinary, special_binary_tiles)
RL_ROW(Zeta, SpecialBinary, special_binary_tiles)
#undef RL_ROW

}  // namespace kernels

// What derivatives are written with.
static Tensor lgamma(const Tensor& x) { return apply<ops::Unary<pointwise::Lgamma>>(x); }
static Tensor digamma(const Tensor& x) { return apply<ops::Unary<pointwise::Digamma>>(x); }
static Tensor i0(const Tensor& x) { return apply<ops::Unary<pointwise::I0>>(x); }
static Tensor i0e(const Tensor& x) { return apply<ops::Unary<pointwise::I0e>>(x); }
static Tensor i1(const Tensor& x) { return apply<ops::Unary<pointwise::I1>>(x); }
static Tensor i1e(const Tensor& x) { return apply<ops::Unary<pointwise::I1e>>(x); }
static Tensor erfcx(const Tensor& x) { return apply<ops::Unary<pointwise::Erfcx>>(x); }
static Tensor polygamma(double n, const Tensor& x);
static Tensor zeta(const Tensor& s, const Tensor& q);

namespace ops {
namespace {

// What takes an out= of the result's dtype only.
template <class F>
struct Strict : Unary<F> {
  Tensor forward(Ctx& ctx, const Tensor& x) {
    check_out_dtype(F::schema, ctx, pointwise::is_predicate<F>() ? DType::Bool : x.dtype());
    return Unary<F>::forward(ctx, x);
  }
};
struct Frac : Strict<pointwise::Frac> {
  Tensor forward(Ctx& ctx, const Tensor& x) {
    RL_CHECK_KIND(x.is_floating(), NotImplemented, "frac is for floating point only, not ", x.dtype(),
                  hint("convert with .float() first"));
    return Strict::forward(ctx, x);
  }
};
RL_BIND(Frac, all_forms)
RL_BIND(Unary<pointwise::Deg2Rad>, all_forms)
RL_BIND(Unary<pointwise::Rad2Deg>, all_forms)
RL_BIND(Unary<pointwise::Sinc>, all_forms)
RL_BIND(Unary<pointwise::Lgamma>, all_forms)
RL_BIND(Unary<pointwise::Digamma>, all_forms)
RL_BIND(Unary<pointwise::Erfinv>, all_forms)
RL_BIND(Unary<pointwise::I0>, all_forms)
RL_BIND(Strict<pointwise::SignBit>, both | out)
RL_BIND(Strict<pointwise::IsPosInf>, both | out)
RL_BIND(Strict<pointwise::IsNegInf>, both | out)
RL_BIND(Unary<pointwise::I0e>, hidden | out)
RL_BIND(Unary<pointwise::I1>, hidden | out)
RL_BIND(Unary<pointwise::I1e>, hidden | out)
RL_BIND(Unary<pointwise::Erfcx>, hidden | out)
RL_BIND(Unary<pointwise::Ndtri>, hidden | out)
RL_BIND(Unary<pointwise::LogNdtr>, hidden | out)
RL_BIND(Unary<pointwise::Entr>, hidden | out)

// Python's polygamma(n, input) and x.polygamma(n) call this.
struct Polygamma {
  static constexpr auto schema = "_polygamma(Tensor self, int n) -> Tensor";
  static constexpr auto node_name = "PolygammaBackward0";
  pointwise::Polygamma f;
  Tensor forward(Ctx& ctx, const Tensor& x, int64_t n) {
    RL_CHECK(n >= 0, "polygamma: n must not be negative, got ", n);
    ctx.save(x);
    f.n = double(n);
    return kernels::pointwise("polygamma", f, 0, float_type(x.dtype()), ctx.out, x);
  }
  Grads backward(Ctx& ctx, Grads g) { return {derivative<1>("polygamma", f, g[0], ctx.get(0))}; }
};
RL_BIND(Polygamma, hidden | inplace | out)

// The sum of lgamma(x - j / 2) for j below p, and a constant.
struct Mvlgamma {
  static constexpr auto schema = "mvlgamma(Tensor self, int p) -> Tensor";
  static constexpr auto doc =
      "The logarithm of the multivariate gamma function of dimension p, for elements above (p - 1) / 2.";
  int64_t p;
  Tensor forward(Ctx& ctx, const Tensor& x, int64_t dimension) {
    p = dimension;
    RL_CHECK(p >= 1 && p <= 65536, "mvlgamma: p must lie between 1 and 65536, got ", p);
    ctx.save(x);
    constexpr double log_pi = 1.1447298858494002;
    Tensor y = lgamma(x) + 0.25 * double(p) * double(p - 1) * log_pi;
    for (int64_t j = 1; j < p; j++) y = y + lgamma(x - 0.5 * double(j));
    return ctx.out ? y : kernels::contiguous(y);
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor x = ctx.get(0), slope = digamma(x);
    for (int64_t j = 1; j < p; j++) slope = slope + digamma(x - 0.5 * double(j));
    return {g[0] * slope};
  }
};
RL_BIND(Mvlgamma, all_forms)

// --- Of two tensors -------------------------------------------------------------------------------------------------

struct Heaviside {
  static constexpr auto schema = "heaviside(Tensor self, Tensor values) -> Tensor";
  static constexpr auto doc = "0 where self is negative, 1 where it is positive, values where it is 0.";
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b) {
    RL_CHECK(a.dtype() == b.dtype(), "heaviside: the dtypes differ: ", Describe{a}, " and ", Describe{b},
             hint("convert one of them, for example with .to(x.dtype)"));
    check_out_dtype(schema, ctx, a.dtype());
    return binary<pointwise::Heaviside>(schema, ctx, a, b);
  }
};
RL_BIND(Heaviside, all_forms)

struct NextAfter {
  static constexpr auto schema = "nextafter(Tensor self, Tensor other) -> Tensor";
  static constexpr auto doc = "The next number that the dtype holds after self in the direction of other.";
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b) {
    const DType d = result_type(a, b);
    RL_CHECK_KIND(is_floating(d), NotImplemented, "nextafter is for floating point only, not ", d);
    if (d == DType::Float16) return of_halves<Half>(a, b);
    if (d == DType::BFloat16) return of_halves<BFloat16>(a, b);
    return binary<pointwise::NextAfter>(schema, ctx, a, b);
  }

 private:
  // Kernels would compute in float32, whose neighbours are not those of T. T is a sign and a magnitude, whose next
  // number is one more.
  template <class T>
  static Tensor of_halves(const Tensor& a, const Tensor& b) {
    const Dims shape = broadcast_shapes(a.sizes(), b.sizes());
    Tensor y = empty(shape, dtype_of<T>(), a.device());
    if (y.is_meta()) return y;
    const Tensor from = kernels::contiguous(expand(to_dtype(a, y.dtype()), shape)),
                 toward = kernels::contiguous(expand(to_dtype(b, y.dtype()), shape));
    for (int64_t i = 0; i < y.numel(); i++) {
      T x = from.data<T>()[i];
      const T to = toward.data<T>()[i];
      if (x != x || to != to) x = T(float(x) + float(to));
      else if (x == to) x = to;
      else if (x == 0) x.bits = (to.bits & 0x8000) | 1;
      else x.bits += (to > x) == (x > 0) ? 1 : -1;
      y.data<T>()[i] = x;
    }
    return y;
  }
};
RL_BIND(NextAfter, all_forms)

struct GcdNames {
  static constexpr auto schema = "gcd(Tensor self, Tensor other) -> Tensor";
  static constexpr auto doc = "The greatest common divisor of integers; not negative.";
};
struct LcmNames {
  static constexpr auto schema = "lcm(Tensor self, Tensor other) -> Tensor";
  static constexpr auto doc = "The least common multiple of integers; not negative.";
};
template <class F, class Names>
struct OfIntegers : Names {
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b) {
    RL_CHECK_KIND(result_type(a, b) != DType::Bool, NotImplemented, op_name(Names::schema), " is not for bool");
    return binary<F>(Names::schema, ctx, a, b);
  }
};
using Gcd = OfIntegers<pointwise::Gcd, GcdNames>;
using Lcm = OfIntegers<pointwise::Lcm, LcmNames>;
RL_BIND(Gcd, all_forms)
RL_BIND(Lcm, all_forms)

struct Ldexp {
  static constexpr auto schema = "ldexp(Tensor self, Tensor other) -> Tensor";
  static constexpr auto doc = "self * 2 ** other.";
  static Tensor power(const Tensor& e) { return pow(wrapped_number(2.0), e); }
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b) {
    ctx.save(ctx.need(1) ? a : Tensor()), ctx.save(b);
    const Tensor y = mul(a, power(b));
    return is_floating(a.dtype()) && !is_floating(b.dtype()) ? to_dtype(y, a.dtype()) : y;
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor ga, gb, p = power(ctx.get(1));
    if (ctx.need(0)) ga = g[0] * p;
    if (ctx.need(1)) gb = g[0] * ctx.get(0) * p * 0.6931471805599453;
    return {ga, gb};
  }
};
RL_BIND(Ldexp, all_forms)

struct Xlog1pyNames {
  static constexpr auto schema = "special_xlog1py(Number|Tensor self, Number|Tensor other) -> Tensor";
  static constexpr auto node_name = "SpecialXlog1PyBackward0";
  static constexpr auto doc = "self * log1p(other), and 0 where self is 0.";
};
using Xlog1py = Binary<pointwise::Xlog1py, Xlog1pyNames>;
RL_BIND(Xlog1py, hidden | out)

struct Zeta {
  static constexpr auto schema = "special_zeta(Number|Tensor self, Number|Tensor other) -> Tensor";
  static constexpr auto node_name = "SpecialZetaBackward0";
  static constexpr auto doc =
      "The zeta function of Hurwitz: the sum of (other + k) ** -self over k = 0, 1, ... Differentiable by other.";
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b) {
    ctx.save(a), ctx.save(b);
    return binary<pointwise::Zeta>(schema, ctx, a, b);
  }
  Grads backward(Ctx& ctx, Grads g) {
    RL_CHECK_KIND(!ctx.need(0), NotImplemented, "special.zeta has no derivative by its first argument");
    return {Tensor(), derivative<2>(schema, pointwise::Zeta(), g[0], ctx.get(0), ctx.get(1))};
  }
};
RL_BIND(Zeta, hidden | out)

}  // namespace
}  // namespace ops

static Tensor polygamma(double n, const Tensor& x) { return apply<ops::Polygamma>(x, int64_t(n)); }
static Tensor zeta(const Tensor& s, const Tensor& q) { return apply<ops::Zeta>(s, q); }

}  // namespace rushlight
