// Turns pointwise functors into operations: forward as one kernel; backward as one fused kernel, or, where it will be
// differentiated again, composed from operations by the same formula.
#pragma once
#include <cstring>

#include "autograd/apply.h"
#include "kernels/loops.h"
#include "ops/functions.h"

namespace rushlight::ops {

using pointwise::Saves;
using pointwise::Types;

// The dtype that a function of floats computes integers in.
inline DType float_type(DType d) { return is_floating(d) ? d : default_dtype(); }

template <class F>
DType compute_type(DType inputs) {
  return pointwise::types_of<F>() == Types::floats ? float_type(inputs) : inputs;
}

template <class F>
void check_types(const char* op, DType d) {
  if constexpr (pointwise::types_of<F>() == Types::ints)
    RL_CHECK_KIND(!is_floating(d), NotImplemented, std::string(op, strcspn(op, "(")), " is for integers and bools, not ", d);
}

// Fused where the result is final, composed where it may be differentiated.
template <int part, class F, class... T>
Tensor derivative(const char* op, const F& f, const Tensor& g, const T&... in) {
  if (tls.grad_enabled) {
    if constexpr (requires { F::saves; }) return f.grad(g, in...);
    else if constexpr (part == 1) return f.grad_a(g, in...);
    else if constexpr (part == 2) return f.grad_b(g, in...);
    else return f.grad_c(g, in...);
  }
  return kernels::pointwise(op, f, part, g.dtype(), nullptr, g, in...);
}

template <class F, class... A>
struct Unary {
  static constexpr auto schema = F::schema;
  F f;
  Tensor forward(Ctx& ctx, const Tensor& x, A... a) {
    f = F{a...};
    if constexpr (requires { F::saves; })
      if constexpr (F::saves == Saves::input) ctx.save(x);
    check_types<F>(schema, x.dtype());
    Tensor y = kernels::pointwise(schema, f, 0, compute_type<F>(x.dtype()), ctx.out, x);
    if constexpr (requires { F::saves; })
      if constexpr (F::saves == Saves::output) ctx.save_output(y);
    return y;
  }
  Grads backward(Ctx& ctx, Grads g)
    requires requires { F::saves; }
  {
    if constexpr (F::saves == Saves::nothing) return {derivative<1>(schema, f, g[0], g[0])};
    else return {derivative<1>(schema, f, g[0], ctx.get(0))};
  }
};

// An operation of two tensors without a derivative.
template <class F>
Tensor binary(const char* op, Ctx& ctx, const Tensor& a, const Tensor& b, const F& f = {}) {
  DType d = result_type(a, b);
  check_types<F>(op, d);
  return kernels::pointwise(op, f, 0, compute_type<F>(d), ctx.out, a, b);
}

// Two-argument functions whose derivatives are pointwise functors. Names: schema and doc.
template <class F, class Names>
struct Binary : Names {
  using Names::schema;
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b) {
    ctx.save(a);
    ctx.save(b);
    return binary<F>(schema, ctx, a, b);
  }
  Grads backward(Ctx& ctx, Grads g)
    requires requires(F f, Tensor t) { f.grad_a(t, t, t); }
  {
    Tensor a = ctx.get(0), b = ctx.get(1), ga, gb;
    if (ctx.need(0)) ga = derivative<1>(schema, F(), g[0], a, b);
    if (ctx.need(1)) gb = derivative<2>(schema, F(), g[0], a, b);
    return {ga, gb};
  }
};

}  // namespace rushlight::ops
