// How an operation is run and recorded. An operation is a struct:
//
//   struct Softplus {
//     static constexpr auto schema = "softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor";
//     double beta, threshold;                                   // plain attributes, kept with the node
//     Tensor forward(Ctx& ctx, const Tensor& x, double b, double t);
//     Grads backward(Ctx& ctx, Grads g);                        // one gradient for each Tensor among forward's inputs
//   };
//
// forward runs with grad mode off and must call ctx.save before it writes anything; it returns a Tensor, a std::tuple
// or a std::vector of them. `static constexpr Kind kind` is pure unless said otherwise:
//   pure       returns new tensors; in-place and out= forms come for free (ctx.out says where the result is wanted;
//              a forward that ignores it has its result copied there)
//   view       its first argument's memory seen through another geometry
//   composite  written over other operations, which record themselves
// An Op without backward is not differentiable.
#pragma once
#include <tuple>
#include <utility>

#include "autograd/autocast.h"
#include "autograd/meta.h"
#include "autograd/mode.h"
#include "autograd/profile.h"

namespace rushlight {

enum class Kind { pure, view, composite };

struct Saved {
  Tensor tensor;
  uint32_t version = 0;
  int32_t own_output = -1;  // >= 0: an output of this very node, kept without its history so that no cycle forms
  bool has_history = false;
};

struct RL_API Ctx {
  bool recording = false;
  bool inplace = false;  // out is the operation's first argument
  Node* node = nullptr;
  uint64_t needs = 0;           // bit i: Tensor input i needs a gradient
  const Tensor* out = nullptr;  // where the result is wanted, for in-place and out= forms
  SmallVec<Saved, 2> saved;

  void save(const Tensor& t);  // does nothing unless recording
  void save_output(const Tensor& t, int nr = 0);
  Tensor get(size_t i) const;  // raises when it was modified since, or freed by an earlier backward
  bool need(int i) const { return needs >> i & 1; }
  Tensor result(IntSpan shape, DType dtype, const Tensor& like) const;  // ctx.out made to fit, or a new tensor
};

// For operations whose out= must have the very dtype of the result.
RL_API void check_out_dtype(const char* op, const Ctx& ctx, DType result);

template <class Op>
constexpr Kind kind_of() {
  if constexpr (requires { Op::kind; }) return Op::kind;
  return Kind::pure;
}
template <class Op>
concept Differentiable = requires(Op op, Ctx& ctx, Grads g) { op.backward(ctx, std::move(g)); };

RL_API std::string node_name_of_schema(const char* schema);  // "log_softmax(..." -> "LogSoftmaxBackward0"

template <class Op>
const char* node_name() {
  if constexpr (requires { Op::node_name; }) return Op::node_name;
  static const std::string s = node_name_of_schema(Op::schema);
  return s.c_str();
}

template <class Op>
struct NodeOf final : Node {
  Ctx ctx;
  Op op;
  Grads run(Grads&& g) override {
    check_not_released();
    return op.backward(ctx, std::move(g));
  }
  const char* name() const override { return node_name<Op>(); }
  void release_saved() override {
    for (const Saved& s : ctx.saved) released |= s.tensor.defined();
    ctx.saved.clear();
  }
  bool wants_undefined() const override {
    return requires { Op::wants_undefined; };
  }
  void for_each_saved(void (*f)(const Tensor&, void*), void* c) const override {
    for (const Saved& s : ctx.saved)
      if (s.tensor) f(s.tensor, c);
  }
};

namespace detail {

// Calls f on every Tensor among the arguments, in order; absent optional ones count (as undefined tensors).
template <class F, class A>
void visit_tensors(F&& f, const A& a) {
  if constexpr (std::is_same_v<A, Tensor>) f(a);
  else if constexpr (std::is_convertible_v<A, std::span<const Tensor>>)
    for (const Tensor& t : std::span<const Tensor>(a)) f(t);
}

template <class F, class R>
void visit_outputs(F&& f, R& r) {
  if constexpr (std::is_same_v<R, Tensor>) f(r);
  else if constexpr (std::is_same_v<R, std::vector<Tensor>>)
    for (Tensor& t : r) f(t);
  else std::apply([&](auto&... t) { (f(t), ...); }, r);
}

RL_API void prepare(Node* node, Ctx& ctx);
RL_API void add_input(Node* node, Ctx& ctx, const Tensor& t);
RL_API void finish_target(Ctx& ctx, const Tensor& result, const char* op);  // copies into ctx.out if need be
RL_API void check_out(const Tensor& out, bool any_requires_grad, const char* op);

}  // namespace detail

enum class Target : uint8_t { fresh, self, out };

// Runs Op on a..., recording it where a gradient is wanted.
template <class Op, class... A>
auto run_and_record(Target target, const Tensor* out, const A&... a) {
  using R = decltype(std::declval<Op&>().forward(std::declval<Ctx&>(), a...));
  if constexpr (kind_of<Op>() == Kind::composite) {
    Ctx ctx;
    Op op;
    if constexpr (std::is_same_v<R, Tensor>) {
      if (target != Target::fresh) {
        bool any = false;
        auto note = [&](const Tensor& t) { any |= t.defined() && requires_grad(t); };
        (detail::visit_tensors(note, a), ...);
        if (target == Target::out) detail::check_out(*out, any && tls.grad_enabled, Op::schema);
        ctx.out = out;
        ctx.inplace = target == Target::self;
        detail::finish_target(ctx, op.forward(ctx, a...), Op::schema);
        return *out;
      }
    }
    return op.forward(ctx, a...);
  } else {
    bool any = false;
    auto note = [&](const Tensor& t) { any |= t.defined() && requires_grad(t); };
    (detail::visit_tensors(note, a), ...);
    if (target == Target::self) check_inplace(*out, any && tls.grad_enabled, Op::schema);
    else if (target == Target::out) detail::check_out(*out, any && tls.grad_enabled, Op::schema);
    bool recording = any && tls.grad_enabled && Differentiable<Op>;

    auto finish = [&](Ctx& ctx, R& r) {
      if (!ctx.out) return;
      if constexpr (std::is_same_v<R, Tensor>) {
        NoGradGuard guard;  // the node stands for the copy too
        detail::finish_target(ctx, r, Op::schema);
        out->bump_version();
        for (Saved& s : ctx.saved)
          if (s.own_output >= 0) s.tensor = alias(*out), s.version = out->version();
        r = *out;
      }
    };
    auto mark_views = [&](R& r) {
      if constexpr (kind_of<Op>() == Kind::view) {
        const Tensor& base = std::get<0>(std::tie(a...));
        ViewMadeBy by = !std::is_same_v<R, Tensor> ? ViewMadeBy::MultiOutput
                        : tls.grad_enabled         ? ViewMadeBy::Operation
                                                   : ViewMadeBy::NoGrad;
        detail::visit_outputs([&](Tensor& t) { mark_view(t, base, by); }, r);
      }
    };

    if (!recording) {
      Ctx ctx;
      ctx.out = out;
      ctx.inplace = target == Target::self;
      Op op;
      R r = [&] {
        NoGradGuard guard;
        return op.forward(ctx, a...);
      }();
      finish(ctx, r);
      mark_views(r);
      return r;
    }
    if constexpr (Differentiable<Op>) {
      auto node = Ref<NodeOf<Op>>::adopt(new NodeOf<Op>);
      Ctx& ctx = node->ctx;
      ctx.out = out;
      ctx.inplace = target == Target::self;
      detail::prepare(node.get(), ctx);
      // Edges are taken before forward: an in-place operation needs the old one.
      auto input = [&](const Tensor& t) { detail::add_input(node.get(), ctx, t); };
      (detail::visit_tensors(input, a), ...);
      R r = [&] {
        NoGradGuard guard;
        return node->op.forward(ctx, a...);
      }();
      finish(ctx, r);
      ctx.out = nullptr;
      if (target == Target::self) {
        rebase_history(*out, node);
      } else {
        mark_views(r);
        detail::visit_outputs([&](Tensor& t) { set_history(t, node); }, r);
      }
      return r;
    } else {
      __builtin_unreachable();
    }
  }
}

// The same in the precision that autocast chooses.
template <class Op, class... A>
auto run_in_precision(Target target, const Tensor* out, const A&... a) {
  constexpr Precision precision = precision_of(Op::schema);
  if constexpr (precision != Precision::as_given)
    if (target == Target::fresh && autocasts()) {
      const DType dtype = detail::autocast_dtype(precision, a...);
      return [&](const auto&... cast) {
        AutocastOff off;
        return run_and_record<Op>(target, out, cast...);
      }(detail::autocast_argument(a, dtype)...);
    }
  if constexpr (precision == Precision::as_given && kind_of<Op>() == Kind::composite) {
    return run_and_record<Op>(target, out, a...);
  } else {
    AutocastOff off;
    return run_and_record<Op>(target, out, a...);
  }
}

// The same under the eyes of autocast and the profiler.
template <class Op, class... A>
[[gnu::noinline, gnu::cold]] auto run_in_modes(Target target, const Tensor* out, const A&... a) {
  const ProfiledArg args[] = {ProfiledArg(a)..., ProfiledArg()};  // one more: there may be none
  Profiled seen(Op::schema, target == Target::self, {args, sizeof...(A)});
  return run_in_precision<Op>(target, out, a...);
}

// Runs Op on a...; `target` says whether the result goes into a new tensor, the first argument, or *out.
template <class Op, class... A>
auto run_op(Target target, const Tensor* out, const A&... a) {
  if (seen_operations()) [[unlikely]]
    return run_in_modes<Op>(target, out, a...);
  return run_and_record<Op>(target, out, a...);
}

template <class Op, class... A>
auto apply(const A&... a) {
  return run_op<Op>(Target::fresh, nullptr, a...);
}
template <class Op, class... A>
Tensor apply_inplace(const Tensor& self, const A&... a) {
  return run_op<Op>(Target::self, &self, self, a...);
}
template <class Op, class... A>
Tensor apply_out(const Tensor& out, const A&... a) {
  return run_op<Op>(Target::out, &out, a...);
}

}  // namespace rushlight
