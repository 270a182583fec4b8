// What operations need to call kernels that take float32 or float64, and images in one of two layouts.
#pragma once
#include "autograd/apply.h"
#include "base/size_math.h"
#include "kernels/cpu/conv2d.h"
#include "kernels/loops.h"

// RL_CALL_FLOAT(softmax, d, x.data<T>(), ...) calls kernels::softmax_f32 or softmax_f64 with T to match.
#define RL_CALL_FLOAT(kernel, dtype, ...) \
  if ((dtype) == DType::Float32) {        \
    using T = float;                      \
    kernels::kernel##_f32(__VA_ARGS__);   \
  } else {                                \
    using T = double;                     \
    kernels::kernel##_f64(__VA_ARGS__);   \
  }

namespace rushlight::ops {

// The dtype that kernels compute in.
inline DType float_of(const Tensor& t) { return t.dtype() == DType::Float64 ? DType::Float64 : DType::Float32; }

// f(float()) or f(double()).
template <class F>
void visit_float(DType d, F&& f) {
  if (d == DType::Float32) f(float());
  else f(double());
}

// t in that dtype and contiguous: itself where it already is.
inline Tensor ready(const Tensor& t, DType compute) {
  return kernels::contiguous(t.dtype() == compute ? t : kernels::cast(t, compute));
}

inline bool prefers_channels_last(const Tensor& t) {
  return !t.is_contiguous() && t.is_contiguous(MemoryFormat::ChannelsLast);
}

// The layout that results made from t (N, C, H, W) or (N, C, D, H, W) have: with the channels last where t's strides
// ascend that way, also where it has gaps.
inline MemoryFormat suggested_format(const Tensor& t) {
  const Dims &sizes = t.sizes(), &strides = t.strides();
  int64_t least = 0;
  for (int64_t i = 0; i < t.dim(); i++) {
    const int64_t d = i == 0 ? 1 : i == t.dim() - 1 ? 0 : t.dim() - i;  // channels, width, height, ..., images
    if (sizes[d] == 0 || strides[d] == 0 || strides[d] < least) return MemoryFormat::Contiguous;
    if (d == 0 && least == strides[1]) return MemoryFormat::Contiguous;  // a pixel of one channel: it could be either
    least = wrapping_mul(strides[d], sizes[d]);
  }
  return t.dim() == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d;
}

// t (N, C, H, W) in the dtype and a layout that kernels read: itself where it already is, else a copy.
struct Image {
  Tensor t;
  kernels::Layout layout;
  Image(const Tensor& x, DType d)
      : t(x.dtype() == d ? x : kernels::cast(x, d)),
        layout(prefers_channels_last(t) ? kernels::Layout::channels_last : kernels::Layout::channels_first) {
    if (layout == kernels::Layout::channels_first) t = kernels::contiguous(t);
  }
  template <class T>
  T* data() const {
    return t.data<T>();
  }
};

inline Tensor empty_image(IntSpan shape, bool channels_last, const Tensor& like) {
  const DType d = like.is_meta() ? like.dtype() : float_of(like);
  if (!channels_last) return empty(shape, d, like.device());
  return empty_strided(shape, contiguous_strides(shape, MemoryFormat::ChannelsLast), d, like.device());
}

// (C, spatial...) as a batch of one, and back, without history.
inline Tensor as_batch(const Tensor& x, int64_t spatial) {
  if (x.dim() == spatial + 2) return x;
  Dims sizes = x.sizes(), strides = x.strides();
  sizes.insert(0, 1), strides.insert(0, wrapping_mul(sizes[1], strides[0]));
  return alias(x, sizes, strides, x.offset());
}
inline Tensor unbatch(const Tensor& batch, bool was_alone) {
  if (!was_alone) return batch;
  Dims sizes = batch.sizes(), strides = batch.strides();
  sizes.erase(0), strides.erase(0);
  return alias(batch, sizes, strides, batch.offset());
}

inline Tensor in_dtype_of(const Tensor& like, const Tensor& t) {
  return t.dtype() == like.dtype() ? t : kernels::cast(t, like.dtype());
}

}  // namespace rushlight::ops
