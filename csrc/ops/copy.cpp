// Copies: between dtypes and layouts, and into tensors.
#include "autograd/needs.h"
#include "kernels/loops.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

struct ToCopy {
  static constexpr auto schema = "_to_copy(Tensor self, dtype dtype, memory_format? memory_format=None) -> Tensor";
  Tensor forward(Ctx&, const Tensor& x, DType d, std::optional<MemoryFormat> f) {
    return kernels::cast(x, d, f.value_or(MemoryFormat::Preserve));
  }
  Grads backward(Ctx&, Grads g) { return {g[0]}; }  // the engine casts it back
};

struct Clone {
  static constexpr auto schema = "clone(Tensor self, *, memory_format? memory_format=None) -> Tensor";
  static constexpr auto doc = "A copy with memory of its own; gradients pass on to self.";
  Tensor forward(Ctx&, const Tensor& x, std::optional<MemoryFormat> f) {
    return kernels::clone(x, f.value_or(MemoryFormat::Preserve));
  }
  Grads backward(Ctx&, Grads g) { return {g[0]}; }
};

struct Contiguous {
  static constexpr auto schema = "contiguous(Tensor self, *, memory_format? memory_format=None) -> Tensor";
  static constexpr auto doc = "self if its elements already lie in order, else a copy where they do.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, std::optional<MemoryFormat> f) {
    MemoryFormat format = f.value_or(MemoryFormat::Contiguous);
    RL_CHECK(format != MemoryFormat::Preserve, "contiguous: preserve_format says nothing here",
             hint("use contiguous_format or channels_last"));
    return x.is_contiguous(format) ? x : rushlight::clone(x, format);
  }
};

// self is written over: its own history ends, that of the source goes on.
struct Copy {
  static constexpr auto schema = "copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor";
  static constexpr auto doc = "Writes src, broadcast and converted, over self.";
  static constexpr auto node_name = "CopyBackwards";
  Tensor forward(Ctx& ctx, const Tensor& self, const Tensor& from, bool) {
    if (!ctx.out) {
      Tensor to = empty_like(self);
      kernels::copy_into(to, from);
      return to;
    }
    kernels::check_apart(schema, *ctx.out, from);
    kernels::copy_into(*ctx.out, from);
    return *ctx.out;
  }
  Grads backward(Ctx& ctx, Grads g) { return {ctx.need(0) ? zeros_like(g[0]) : Tensor(), g[0]}; }
};

struct Fill {
  static constexpr auto schema = "fill(Tensor self, Scalar value) -> Tensor";
  static constexpr auto doc = "Every element set to value.";
  static constexpr auto node_name = "FillBackward2";
  Tensor forward(Ctx& ctx, const Tensor& self, Scalar value) {
    Tensor to = ctx.out ? *ctx.out : empty_like(self);
    kernels::fill(to, value);
    return to;
  }
  Grads backward(Ctx&, Grads g) { return {zeros_like(g[0])}; }
};
struct FillTensor {
  static constexpr auto schema = "fill(Tensor self, Tensor value) -> Tensor";
  static constexpr auto node_name = "FillBackward3";
  Tensor forward(Ctx& ctx, const Tensor& self, const Tensor& value) {
    RL_CHECK(value.dim() == 0, "fill_: the value must have no dimensions, got shape ", value.sizes());
    Tensor to = ctx.out ? *ctx.out : empty_like(self);
    kernels::copy_into(to, value);
    return to;
  }
  Grads backward(Ctx& ctx, Grads g) { return {zeros_like(g[0]), ctx.need(1) ? sum(g[0]) : Tensor()}; }
};
struct Zero {
  static constexpr auto schema = "zero(Tensor self) -> Tensor";
  static constexpr auto doc = "Every element set to 0.";
  Tensor forward(Ctx& ctx, const Tensor& self) {
    Tensor to = ctx.out ? *ctx.out : empty_like(self);
    kernels::fill(to, 0);
    return to;
  }
  Grads backward(Ctx&, Grads g) { return {zeros_like(g[0])}; }
};

RL_BIND(ToCopy, hidden)
RL_BIND(Clone, both)
RL_BIND(Contiguous, method)
RL_BIND(Copy, inplace)
RL_BIND(FillTensor, inplace | function)  // first: a tensor without dimensions would pass for a number
RL_BIND(Fill, inplace | function)
RL_BIND(Zero, inplace)

}  // namespace
}  // namespace ops

Tensor to_dtype(const Tensor& t, DType d) {
  return t.dtype() == d ? t : apply<ops::ToCopy>(t, d, std::optional<MemoryFormat>());
}
Tensor clone(const Tensor& t, MemoryFormat f) { return apply<ops::Clone>(t, std::optional<MemoryFormat>(f)); }
Tensor contiguous(const Tensor& t, MemoryFormat f) { return t.is_contiguous(f) ? t : clone(t, f); }
Tensor copy_(const Tensor& self, const Tensor& from) { return apply_inplace<ops::Copy>(self, from, false); }
Tensor fill_(const Tensor& self, const Scalar& v) { return apply_inplace<ops::Fill>(self, v); }
Tensor zero_(const Tensor& self) { return apply_inplace<ops::Zero>(self); }

Tensor Tensor::to(DType d) const { return to_dtype(*this, d); }
Tensor Tensor::contiguous() const { return rushlight::contiguous(*this); }
Tensor Tensor::clone() const { return rushlight::clone(*this); }

namespace needs {
Tensor add(const Tensor& a, const Tensor& b) { return rushlight::add(a, b); }
void add_(const Tensor& a, const Tensor& b) {
  NoGradGuard guard;
  rushlight::add_(a, b);
}
Tensor sum_to(const Tensor& g, IntSpan shape) { return rushlight::sum_to(g, shape); }
Tensor cast(const Tensor& g, DType dtype) { return to_dtype(g, dtype); }
Tensor zeros(IntSpan shape, DType dtype, Device device) { return rushlight::zeros(shape, dtype, device); }
Tensor ones_like(const Tensor& t) { return rushlight::ones_like(t); }
Tensor clone(const Tensor& t) { return rushlight::clone(t); }
Tensor clone_contiguous(const Tensor& t) { return rushlight::clone(t, MemoryFormat::Contiguous); }
Tensor clone_as(const Tensor& t, const Tensor& like) {
  if (t.strides() == like.strides() || !like.is_dense()) return rushlight::clone(t);
  Tensor to = empty_strided(like.sizes(), like.strides(), t.dtype(), t.device());
  rushlight::copy_(to, t);
  return to;
}
void copy_(const Tensor& to, const Tensor& from) { rushlight::copy_(to, from); }
}  // namespace needs

}  // namespace rushlight
