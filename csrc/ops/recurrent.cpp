// Cells of recurrent layers, from the products of input and state on. Backward is one fused pass, or, where it will be
// differentiated again, written over operations.
#include "kernels/cpu/recurrent.h"

#include "base/unlocked.h"
#include "ops/layout.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

void check_cell(const char* op, const Tensor& products, const Tensor& state, int64_t gates) {
  RL_CHECK(products.dim() == 2 && state.dim() == 2 && products.sizes()[0] == state.sizes()[0] &&
               products.sizes()[1] == gates * state.sizes()[1],
           op, ": products of shape ", products.sizes(), " do not fit a state of shape ", state.sizes(),
           ": they must be (batch, ", gates, " * size) and (batch, size)");
  RL_CHECK_KIND(products.is_floating(), NotImplemented, op, " is not implemented for ", products.dtype(),
                hint("convert with .float()"));
  RL_CHECK(products.dtype() == state.dtype(), op, ": the dtypes differ: ", products.dtype(), " and ", state.dtype(),
           hint("convert one of them, for example with .to(x.dtype)"));
}

struct LstmCell {
  static constexpr auto schema = "_lstm_cell(Tensor gates, Tensor c) -> (Tensor, Tensor)";
  static constexpr auto doc =
      "h' and c' of an LSTM from its gates (N, 4 * size), in the order i, f, g, o, and c (N, size).";
  static constexpr auto node_name = "LstmCellBackward0";
  static constexpr bool wants_undefined = true;

  std::tuple<Tensor, Tensor> forward(Ctx& ctx, const Tensor& gates, const Tensor& c) {
    check_cell("lstm_cell", gates, c, 4);
    ctx.save(gates), ctx.save(c);
    if (c.is_meta()) {
      const auto out = [&] { return empty(c.sizes(), c.dtype(), c.device()); };
      return {out(), out()};
    }
    const DType d = float_of(gates);
    const Tensor in = ready(gates, d), old = ready(c, d);
    const Tensor h = empty(c.sizes(), d), next = empty(c.sizes(), d);
    Tensor act;
    if (ctx.recording) act = empty(gates.sizes(), d);
    {
      Unlocked unlocked(gates.numel());
      RL_CALL_FLOAT(lstm_cell, d, c.sizes()[0], c.sizes()[1], in.data<T>(), old.data<T>(),
                    act ? act.data<T>() : nullptr, h.data<T>(), next.data<T>())
    }
    ctx.save(act), ctx.save(next);
    return {in_dtype_of(c, h), in_dtype_of(c, next)};
  }

  Grads backward(Ctx& ctx, Grads g) {
    const Tensor gates = ctx.get(0), c = ctx.get(1);
    if (tls.grad_enabled || c.is_meta()) return composed(gates, c, g[0], g[1]);
    const Tensor act = ctx.get(2), next = ctx.get(3);
    const DType d = act.dtype();
    const Tensor old = ready(c, d), gh = g[0] ? ready(g[0], d) : g[0], gc = g[1] ? ready(g[1], d) : g[1];
    Tensor grad_gates = empty(gates.sizes(), d), grad_c = empty(c.sizes(), d);
    Unlocked unlocked(gates.numel());
    RL_CALL_FLOAT(lstm_cell_backward, d, c.sizes()[0], c.sizes()[1], act.data<T>(), old.data<T>(), next.data<T>(),
                  gh ? gh.data<T>() : nullptr, gc ? gc.data<T>() : nullptr, grad_gates.data<T>(), grad_c.data<T>())
    return {grad_gates, grad_c};
  }

  static Grads composed(const Tensor& gates, const Tensor& c, const Tensor& grad_h, const Tensor& grad_c) {
    const Tensors parts = chunk(gates, 4, 1);
    const Tensor i = sigmoid(parts[0]), f = sigmoid(parts[1]), n = tanh(parts[2]), o = sigmoid(parts[3]);
    const Tensor t = tanh(f * c + i * n);
    const Tensor gh = grad_h ? grad_h : zeros_like(c);
    Tensor gc = gh * o * (1.0 - t * t);
    if (grad_c) gc = gc + grad_c;
    const Tensor grads[] = {gc * n * i * (1.0 - i), gc * c * f * (1.0 - f), gc * i * (1.0 - n * n),
                            gh * t * o * (1.0 - o)};
    return {cat(grads, 1), gc * f};
  }
};

struct GruCell {
  static constexpr auto schema = "_gru_cell(Tensor x, Tensor y, Tensor h) -> Tensor";
  static constexpr auto doc =
      "h' of a GRU from the products (N, 3 * size) of its input x and its state y, in the order r, z, n, and h (N, "
      "size).";
  static constexpr auto node_name = "GruCellBackward0";

  Tensor forward(Ctx& ctx, const Tensor& x, const Tensor& y, const Tensor& h) {
    check_cell("gru_cell", x, h, 3), check_cell("gru_cell", y, h, 3);
    ctx.save(x), ctx.save(y), ctx.save(h);
    if (h.is_meta()) return empty(h.sizes(), h.dtype(), h.device());
    const DType d = float_of(x);
    const Tensor in = ready(x, d), own = ready(y, d), old = ready(h, d), next = empty(h.sizes(), d);
    Tensor act;
    if (ctx.recording) act = empty(x.sizes(), d);
    {
      Unlocked unlocked(x.numel());
      RL_CALL_FLOAT(gru_cell, d, h.sizes()[0], h.sizes()[1], in.data<T>(), own.data<T>(), old.data<T>(),
                    act ? act.data<T>() : nullptr, next.data<T>())
    }
    ctx.save(act);
    return in_dtype_of(h, next);
  }

  Grads backward(Ctx& ctx, Grads g) {
    const Tensor x = ctx.get(0), y = ctx.get(1), h = ctx.get(2);
    if (tls.grad_enabled || h.is_meta()) return composed(x, y, h, g[0]);
    const Tensor act = ctx.get(3);
    const DType d = act.dtype();
    const Tensor own = ready(y, d), old = ready(h, d), grad = ready(g[0], d);
    Tensor grad_x = empty(x.sizes(), d), grad_y = empty(x.sizes(), d), grad_h = empty(h.sizes(), d);
    Unlocked unlocked(x.numel());
    RL_CALL_FLOAT(gru_cell_backward, d, h.sizes()[0], h.sizes()[1], act.data<T>(), own.data<T>(), old.data<T>(),
                  grad.data<T>(), grad_x.data<T>(), grad_y.data<T>(), grad_h.data<T>())
    return {grad_x, grad_y, grad_h};
  }

  static Grads composed(const Tensor& x, const Tensor& y, const Tensor& h, const Tensor& grad) {
    const Tensors a = chunk(x, 3, 1), b = chunk(y, 3, 1);
    const Tensor r = sigmoid(a[0] + b[0]), z = sigmoid(a[1] + b[1]), n = tanh(a[2] + r * b[2]);
    const Tensor gn = grad * (1.0 - z) * (1.0 - n * n);
    const Tensor gr = gn * b[2] * r * (1.0 - r), gz = grad * (h - n) * z * (1.0 - z);
    const Tensor of_x[] = {gr, gz, gn}, of_y[] = {gr, gz, gn * r};
    return {cat(of_x, 1), cat(of_y, 1), grad * z};
  }
};

RL_BIND(LstmCell, hidden)
RL_BIND(GruCell, hidden)

}  // namespace
}  // namespace ops
}  // namespace rushlight
