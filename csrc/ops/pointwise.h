// Turns pointwise functors into operations: forward as one kernel; backward as one fused kernel, or, where it will be
// differentiated again, composed from operations by the same formula.
#pragma once
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
    RL_CHECK_KIND(!is_floating(d), NotImplemented, op_name(op), " is for integers and bools, not ", d);
  if constexpr (requires { F::no_bool; })
    RL_CHECK_KIND(d != DType::Bool, NotImplemented, op_name(op), " is not defined for bool tensors",
                  hint("convert with .int() first"));
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

// The dtype of a tensor's arithmetic with a Python number.
inline DType with_number(DType d, const Scalar& s) {
  if (is_floating(d)) return d;
  if (s.is_floating()) return default_dtype();
  return d == DType::Bool && !s.is_bool() ? DType::Int64 : d;
}

// A name for the node where the schema's would differ from PyTorch's.
template <class F>
struct NodeName {};
template <class F>
  requires requires { F::node_name; }
struct NodeName<F> {
  static constexpr auto node_name = F::node_name;
};

template <class F, class... A>
struct Unary : NodeName<F> {
  static constexpr auto schema = F::schema;
  F f;
  Tensor forward(Ctx& ctx, const Tensor& x, A... a) {
    f = F{a...};
    if constexpr (requires { F::saves; })
      if constexpr (F::saves == Saves::input) ctx.save(x);
    check_types<F>(schema, x.dtype());
    if constexpr (requires { F::bool_hint; })
      RL_CHECK(x.dtype() != DType::Bool, op_name(schema), " is not defined for bool tensors", hint(F::bool_hint));
    if constexpr (requires { F::of_integers; })
      if (!is_floating(x.dtype()) && !ctx.out) {
        Tensor y = empty_like(x, DType::Bool);
        kernels::fill(y, F::of_integers);
        return y;
      }
    if constexpr (requires { typename F::for_bool; })
      if (x.dtype() == DType::Bool) {
        check_out_dtype(schema, ctx, DType::Bool);
        return kernels::pointwise(schema, typename F::for_bool(), 0, DType::Bool, ctx.out, x);
      }
    if constexpr (pointwise::types_of<F>() != Types::floats && !pointwise::is_predicate<F>() &&
                  !std::is_same_v<F, pointwise::Square>)
      check_out_dtype(schema, ctx, x.dtype());
    const DType d = compute_type<F>(x.dtype());
    const Tensor* to = ctx.out;
    Tensor made;
    if constexpr (requires { F::layout; })
      if (!to) {
        constexpr bool contiguous = F::layout == pointwise::Layout::contiguous;
        made = empty_like(x, d, contiguous ? MemoryFormat::Contiguous : MemoryFormat::Preserve);
        to = &made;
      }
    Tensor y = kernels::pointwise(schema, f, 0, d, to, x);
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

template <class F>
Tensor binary(const char* op, Ctx& ctx, const Tensor& a, const Tensor& b, const F& f = {}) {
  DType d = result_type(a, b);
  check_types<F>(op, d);
  return kernels::pointwise(op, f, 0, compute_type<F>(d), ctx.out, a, b);
}

// A function of two tensors from its functor. Names: schema, doc, and node_name if it needs one.
template <class F, class Names>
struct Binary : Names {
  using Names::schema;
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b) {
    constexpr bool linear = requires { F::linear; };
    ctx.save(!linear || ctx.need(1) ? a : Tensor());
    ctx.save(b);
    return binary<F>(schema, ctx, a, b);
  }
  Grads backward(Ctx& ctx, Grads g)
    requires requires(F f, Tensor t) { f.grad_a(t, t, t); }
  {
    Tensor a = ctx.get(0), b = ctx.get(1), ga, gb;
    if (!a) a = b;  // not looked at
    if (ctx.need(0)) ga = derivative<1>(schema, F(), g[0], a, b);
    if (ctx.need(1)) gb = derivative<2>(schema, F(), g[0], a, b);
    return {ga, gb};
  }
};

// RL_BINARY(Hypot, "hypot(Tensor self, Tensor other) -> Tensor", both | out, "The length of ...")
// binds pointwise::Hypot as ops::Hypot.
#define RL_BINARY(F, text, forms, docstring) \
  struct F##Names {                          \
    static constexpr auto schema = text;     \
    static constexpr auto doc = docstring;   \
  };                                         \
  using F = Binary<pointwise::F, F##Names>;  \
  RL_BIND(F, forms)

}  // namespace rushlight::ops
