// What the operations on elements at named places share.
#pragma once
#include "autograd/apply.h"
#include "kernels/indexing.h"
#include "kernels/loops.h"
#include "ops/functions.h"

namespace rushlight::ops {

inline Tensor zeros_shaped(const Dims& shape, const Tensor& like) { return zeros(shape, like.dtype(), like.device()); }

// A tensor without dimensions as a vector of one element, which is what operations along a dimension take it for.
inline Tensor vector_of(const Tensor& t) { return t.dim() ? t : alias(t, {1}, {1}, t.offset()); }

// The elements of a contiguous tensor as a vector.
inline Tensor flat(const Tensor& t) { return alias(t, {t.numel()}, {1}, t.offset()); }

// What an operation of the kind "self changed at some places" writes to: self itself in place, else a copy.
inline Tensor changed(const Ctx& ctx, const Tensor& x, MemoryFormat format = MemoryFormat::Preserve) {
  return ctx.inplace ? *ctx.out : kernels::clone(x, format);
}
// The same, where elements that share a place cannot be told apart.
inline Tensor changed_apart(const char* op, const Ctx& ctx, const Tensor& x,
                            MemoryFormat format = MemoryFormat::Preserve) {
  Tensor to = changed(ctx, x, format);
  kernels::check_writable(op, to);
  return to;
}

// The number, or tensor of one, to fill places of x with, in its dtype. A copy: it may be an element of x.
inline Tensor filling(const Scalar& value, const Tensor& x) { return scalar_tensor(value, x.dtype(), x.device()); }
inline Tensor filling(const Tensor& value, const Tensor& x) {
  return value.is_meta() || x.is_meta() ? kernels::cast(value, x.dtype()) : filling(value.item(), x);
}

inline bool is_mask(const Tensor& t) { return t.dtype() == DType::Bool || t.dtype() == DType::UInt8; }

// Raises unless the mask has the sizes of x from a dimension on.
void check_mask(const Tensor& x, const Tensor& mask, int64_t from);

// Index tensors as the kernels take them: masks unfolded into the indices of their true elements, all int64.
std::vector<Tensor> unfolded(const Tensor& x, std::span<const Tensor> indices);

inline kernels::IndexPlan plan_along(const Tensor& x, int64_t dim, const Tensor& index) {
  std::vector<Tensor> indices(dim + 1);
  indices[dim] = index;
  return kernels::IndexPlan(x, indices);
}

// The gradient of a source of which a part was used: zeros beyond it.
inline Tensor padded(const Tensor& g, const Dims& shape) {
  if (g.sizes() == shape) return g;
  Tensor z = zeros_shaped(shape, g), part = z;
  for (int64_t d = 0; d < g.dim(); d++) part = narrow(part, d, 0, g.sizes()[d]);
  copy_(part, g);
  return z;
}

}  // namespace rushlight::ops
