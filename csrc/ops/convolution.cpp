#include "ops/convolution.h"

#include "base/unlocked.h"
#include "kernels/volume_slices.h"
#include "ops/functions.h"

namespace rushlight {
namespace ops {
namespace {

using kernels::Conv2dShape;
using kernels::Layout;

int64_t work_of(const Conv2dShape& s) {
  return saturating_product({s.n, s.c_out, s.h_out, s.w_out, s.c_in / s.groups, s.kh, s.kw}) / 16;
}

Tensor zeroed(const Tensor& t) {
  kernels::fill(t, 0);
  return t;
}

// Of images. Results have the channels last where an input has, unless it is a line.

bool gives_channels_last(bool line, const Tensor& a, const Tensor& b) {
  return !line && (prefers_channels_last(a) || prefers_channels_last(b));
}

Tensor image_forward(const Conv2dShape& s, const Tensor& input, const Tensor& w, const Tensor& b, bool line = false) {
  const bool last = gives_channels_last(line, input, w);
  Tensor y = empty_image({s.n, s.c_out, s.h_out, s.w_out}, last, input);
  if (y.is_meta() || y.numel() == 0) return in_dtype_of(input, y);
  const Image x(input, y.dtype()), weight(w, y.dtype());
  const Tensor bias = b ? ready(b, y.dtype()) : b;
  const Layout to = last ? Layout::channels_last : Layout::channels_first;
  {
    Unlocked unlocked(work_of(s));
    RL_CALL_FLOAT(conv2d_forward, y.dtype(), s, x.data<T>(), x.layout, weight.data<T>(), weight.layout,
                  bias ? bias.data<T>() : nullptr, y.data<T>(), to)
  }
  return in_dtype_of(input, y);
}

Tensor image_grad_input(const Conv2dShape& s, const Tensor& gy, const Tensor& w, const Tensor& b, bool line = false) {
  const bool last = gives_channels_last(line, gy, w);
  Tensor gx = empty_image({s.n, s.c_in, s.h, s.w}, last, gy);
  if (gx.is_meta() || gx.numel() == 0) return in_dtype_of(gy, gx);
  const Image g(gy, gx.dtype()), weight(w, gx.dtype());
  const Tensor bias = b ? ready(b, gx.dtype()) : b;
  const Layout to = last ? Layout::channels_last : Layout::channels_first;
  {
    Unlocked unlocked(work_of(s));
    RL_CALL_FLOAT(conv2d_grad_input, gx.dtype(), s, g.data<T>(), g.layout, weight.data<T>(), weight.layout,
                  bias ? bias.data<T>() : nullptr, gx.data<T>(), to)
  }
  return in_dtype_of(gy, gx);
}

Tensor image_grad_weight(const Conv2dShape& s, const Tensor& input, const Tensor& gy, bool line = false) {
  const bool last = gives_channels_last(line, input, gy);
  Tensor gw = empty_image({s.c_out, s.c_in / s.groups, s.kh, s.kw}, last, input);
  if (gw.is_meta() || gw.numel() == 0) return in_dtype_of(input, gw);
  if (gy.numel() == 0) return in_dtype_of(input, zeroed(gw));
  const Image x(input, gw.dtype()), g(gy, gw.dtype());
  const Layout to = last ? Layout::channels_last : Layout::channels_first;
  {
    Unlocked unlocked(work_of(s));
    RL_CALL_FLOAT(conv2d_grad_weight, gw.dtype(), s, x.data<T>(), x.layout, g.data<T>(), g.layout, gw.data<T>(), to)
  }
  return in_dtype_of(input, gw);
}

// Of a line: (N, C, L) as images of height one, and back.

Tensor image_of_line(const Tensor& t) {
  Dims sizes = t.sizes(), strides = t.strides();
  strides.insert(2, wrapping_mul(sizes[2], strides[2])), sizes.insert(2, 1);
  return alias(t, sizes, strides, t.offset());
}
Tensor line_of_image(const Tensor& t) {
  Dims sizes = t.sizes(), strides = t.strides();
  sizes.erase(2), strides.erase(2);
  return alias(t, sizes, strides, t.offset());
}

// Of volumes, a few at a time: every output slice is a convolution of the input slices that its kernel covers, whose
// weights are those of the volume as they lie in memory.

constexpr int64_t kSlicesBytes = 32 << 20;  // of slices gathered at a time

class Volumes {
 public:
  Volumes(const ConvGeometry& g, DType d) : shape(g.image), g_(g), dtype_(d) {
    shape.c_in = g.image.c_in * g.depth.kernel;
    slices = {.n = 1,
              .c = g.image.c_in,
              .d = g.depth.in,
              .plane = g.image.h * g.image.w,
              .kd = g.depth.kernel,
              .d_out = g.depth.out,
              .stride = g.depth.stride,
              .pad = g.depth.pad,
              .dilation = g.depth.dilation};
    const int64_t bytes = saturating_product({slices.c, slices.kd, slices.d_out, slices.plane, itemsize(d)});
    at_once_ = std::max<int64_t>(1, kSlicesBytes / std::max<int64_t>(1, bytes));
  }

  // f(first, count) for all images; within it, shape and slices describe that many of them.
  template <class F>
  void for_each_part(F f) {
    for (int64_t first = 0; first < g_.image.n; first += at_once_) {
      slices.n = std::min(at_once_, g_.image.n - first);
      shape.n = slices.n * g_.depth.out;
      f(first, slices.n);
    }
  }

  Dims slices_shape() const { return {shape.n, shape.c_in, shape.h, shape.w}; }
  Dims weight_shape() const { return {shape.c_out, shape.c_in / shape.groups, shape.kh, shape.kw}; }
  Tensor gather(const Tensor& x) const {  // of contiguous volumes
    Tensor t = empty(slices_shape(), dtype_);
    visit_float(dtype_, [&](auto zero) {
      using T = decltype(zero);
      const T* from = x.data<T>();
      T* to = t.data<T>();
      Unlocked unlocked(t.numel());
      kernels::gather_slices(slices, from, to);
    });
    return t;
  }
  void add(const Tensor& from, const Tensor& bias, const Tensor& volumes) const {
    visit_float(dtype_, [&](auto zero) {
      using T = decltype(zero);
      const T *slice = from.data<T>(), *b = bias ? bias.data<T>() : nullptr;
      T* to = volumes.data<T>();
      Unlocked unlocked(from.numel());
      kernels::add_slices(slices, slice, b, to);
    });
  }
  // Outputs (n, c_out, d_out, h, w) as the slices' images (n * d_out, c_out, h, w), and back.
  Tensor images_of(const Tensor& y) const {
    return view(kernels::contiguous(permute(y, {0, 2, 1, 3, 4})), {shape.n, shape.c_out, shape.h_out, shape.w_out});
  }
  Tensor volumes_of(const Tensor& images) const {
    return permute(view(images, {slices.n, g_.depth.out, shape.c_out, shape.h_out, shape.w_out}), {0, 2, 1, 3, 4});
  }

  Conv2dShape shape;
  kernels::Slices slices;

 private:
  const ConvGeometry& g_;
  DType dtype_;
  int64_t at_once_;
};

Dims input_shape(const ConvGeometry& g) { return {g.image.n, g.image.c_in, g.depth.in, g.image.h, g.image.w}; }
Dims output_shape(const ConvGeometry& g) {
  return {g.image.n, g.image.c_out, g.depth.out, g.image.h_out, g.image.w_out};
}

MemoryFormat format_of(const Tensor& a, const Tensor& b) {
  return suggested_format(a) == MemoryFormat::Contiguous ? suggested_format(b) : suggested_format(a);
}
Tensor empty_volumes(IntSpan shape, DType d, const Tensor& a, const Tensor& b) {
  return empty_strided(shape, contiguous_strides(shape, format_of(a, b)), d, a.device());
}
Tensor in_format(const Tensor& t, MemoryFormat f) { return t.is_contiguous(f) ? t : kernels::clone(t, f); }

Tensor volume_forward(const ConvGeometry& g, const Tensor& input, const Tensor& w, const Tensor& b) {
  const DType d = input.is_meta() ? input.dtype() : float_of(input);
  Tensor y = empty_volumes(output_shape(g), d, input, w);
  if (y.is_meta() || y.numel() == 0) return in_dtype_of(input, y);
  const Tensor x = ready(input, d), bias = b ? ready(b, d) : b;
  Volumes v(g, d);
  const Tensor weight = view(ready(w, d), v.weight_shape());
  v.for_each_part([&](int64_t first, int64_t count) {
    const Tensor part = v.gather(narrow(x, 0, first, count));
    kernels::copy_into(narrow(y, 0, first, count), v.volumes_of(image_forward(v.shape, part, weight, bias)));
  });
  return in_dtype_of(input, y);
}

Tensor volume_grad_input(const ConvGeometry& g, const Tensor& grad, const Tensor& w, const Tensor& b) {
  const DType d = grad.is_meta() ? grad.dtype() : float_of(grad);
  if (grad.is_meta()) return empty_volumes(input_shape(g), d, grad, w);
  Tensor gx = empty(input_shape(g), d);
  if (gx.numel()) {
    const Tensor bias = b ? ready(b, d) : b;
    Volumes v(g, d);
    const Tensor weight = view(ready(w, d), v.weight_shape());
    v.for_each_part([&](int64_t first, int64_t count) {
      const Tensor part = v.images_of(ready(narrow(grad, 0, first, count), d));
      v.add(image_grad_input(v.shape, part, weight, {}), bias, narrow(gx, 0, first, count));
    });
  }
  return in_dtype_of(grad, in_format(gx, format_of(grad, w)));
}

Tensor volume_grad_weight(const ConvGeometry& g, const Tensor& input, const Tensor& grad) {
  const Conv2dShape& s = g.image;
  const DType d = input.is_meta() ? input.dtype() : float_of(input);
  const Dims shape{s.c_out, s.c_in / s.groups, g.depth.kernel, s.kh, s.kw};
  const MemoryFormat f = format_of(input, grad);
  if (input.is_meta()) return empty_volumes(shape, d, input, grad);
  Volumes v(g, d);
  Tensor gw = zeroed(empty(v.weight_shape(), d));
  if (gw.numel() && grad.numel()) {
    const Tensor x = ready(input, d);
    v.for_each_part([&](int64_t first, int64_t count) {
      const Tensor part = v.gather(narrow(x, 0, first, count));
      add_(gw, image_grad_weight(v.shape, part, v.images_of(ready(narrow(grad, 0, first, count), d))));
    });
  }
  return in_dtype_of(input, in_format(view(gw, shape), f));
}

// Of all three.

Tensor conv_forward(const ConvGeometry& g, const Tensor& x, const Tensor& w, const Tensor& bias) {
  if (g.spatial == 1) return line_of_image(image_forward(g.image, image_of_line(x), image_of_line(w), bias, true));
  return g.spatial == 2 ? image_forward(g.image, x, w, bias) : volume_forward(g, x, w, bias);
}
Tensor conv_grad_input(const ConvGeometry& g, const Tensor& gy, const Tensor& w, const Tensor& bias) {
  if (g.spatial == 1) return line_of_image(image_grad_input(g.image, image_of_line(gy), image_of_line(w), bias, true));
  return g.spatial == 2 ? image_grad_input(g.image, gy, w, bias) : volume_grad_input(g, gy, w, bias);
}
Tensor conv_grad_weight(const ConvGeometry& g, const Tensor& x, const Tensor& gy) {
  if (g.spatial == 1) return line_of_image(image_grad_weight(g.image, image_of_line(x), image_of_line(gy), true));
  return g.spatial == 2 ? image_grad_weight(g.image, x, gy) : volume_grad_weight(g, x, gy);
}

// The sum over all but the channels.
Tensor conv_grad_bias(const Tensor& gy) {
  Tensor gb = empty({gy.sizes()[1]}, gy.is_meta() ? gy.dtype() : float_of(gy), gy.device());
  if (gb.is_meta()) return gb;
  if (gy.numel() == 0) return in_dtype_of(gy, zeroed(gb));
  const Image g(gy.dim() == 3 ? image_of_line(gy) : gy.dim() == 4 ? gy : flatten(ready(gy, gb.dtype()), 3), gb.dtype());
  const Conv2dShape s{.n = g.t.sizes()[0],
                      .c_in = 1,
                      .h = 1,
                      .w = 1,
                      .c_out = g.t.sizes()[1],
                      .kh = 1,
                      .kw = 1,
                      .stride_h = 1,
                      .stride_w = 1,
                      .pad_h = 0,
                      .pad_w = 0,
                      .dil_h = 1,
                      .dil_w = 1,
                      .groups = 1,
                      .h_out = g.t.sizes()[2],
                      .w_out = g.t.sizes()[3]};
  {
    Unlocked unlocked(gy.numel() / 8);
    RL_CALL_FLOAT(conv2d_grad_bias, gb.dtype(), s, g.data<T>(), g.layout, gb.data<T>())
  }
  return in_dtype_of(gy, gb);
}

// The three as recorded operations.
Tensor grad_input(const ConvGeometry& g, const Tensor& gy, const Tensor& weight);
Tensor grad_weight(const ConvGeometry& g, const Tensor& x, const Tensor& gy);

struct Convolution {
  static constexpr auto schema = "convolution(Tensor input, Tensor weight, Tensor? bias) -> Tensor";
  ConvGeometry g;
  bool transposed;
  Tensor forward(Ctx& ctx, const ConvGeometry& geometry, bool is_transposed, const Tensor& x, const Tensor& weight,
                 const Tensor& bias) {
    g = geometry, transposed = is_transposed;
    ctx.save(ctx.need(1) ? x : Tensor()), ctx.save(ctx.need(0) ? weight : Tensor());
    return transposed ? conv_grad_input(g, x, weight, bias) : conv_forward(g, x, weight, bias);
  }
  Grads backward(Ctx& ctx, Grads gy) {
    Tensor gx, gw, gb;
    if (ctx.need(0)) gx = transposed ? convolution(g, false, gy[0], ctx.get(1), {}) : grad_input(g, gy[0], ctx.get(1));
    if (ctx.need(1)) gw = transposed ? grad_weight(g, gy[0], ctx.get(0)) : grad_weight(g, ctx.get(0), gy[0]);
    if (ctx.need(2)) {
      Dims all{0};
      for (int64_t d = 2; d < gy[0].dim(); d++) all.push_back(d);
      gb = tls.grad_enabled ? sum(gy[0], all) : conv_grad_bias(gy[0]);
    }
    return {gx, gw, gb};
  }
};

struct ConvolutionGradInput {
  static constexpr auto schema = "convolution_grad_input(Tensor grad, Tensor weight) -> Tensor";
  static constexpr auto node_name = "ConvolutionBackwardBackward0";
  ConvGeometry g;
  Tensor forward(Ctx& ctx, const ConvGeometry& geometry, const Tensor& gy, const Tensor& weight) {
    g = geometry;
    ctx.save(ctx.need(1) ? gy : Tensor()), ctx.save(ctx.need(0) ? weight : Tensor());
    return conv_grad_input(g, gy, weight, {});
  }
  Grads backward(Ctx& ctx, Grads gx) {
    Tensor ggy, gw;
    if (ctx.need(0)) ggy = convolution(g, false, gx[0], ctx.get(1), {});
    if (ctx.need(1)) gw = grad_weight(g, gx[0], ctx.get(0));
    return {ggy, gw};
  }
};

struct ConvolutionGradWeight {
  static constexpr auto schema = "convolution_grad_weight(Tensor input, Tensor grad) -> Tensor";
  static constexpr auto node_name = "ConvolutionBackwardBackward0";
  ConvGeometry g;
  Tensor forward(Ctx& ctx, const ConvGeometry& geometry, const Tensor& x, const Tensor& gy) {
    g = geometry;
    ctx.save(ctx.need(1) ? x : Tensor()), ctx.save(ctx.need(0) ? gy : Tensor());
    return conv_grad_weight(g, x, gy);
  }
  Grads backward(Ctx& ctx, Grads gw) {
    Tensor gx, ggy;
    if (ctx.need(0)) gx = grad_input(g, ctx.get(1), gw[0]);
    if (ctx.need(1)) ggy = convolution(g, false, ctx.get(0), gw[0], {});
    return {gx, ggy};
  }
};

Tensor grad_input(const ConvGeometry& g, const Tensor& gy, const Tensor& weight) {
  return apply<ConvolutionGradInput>(g, gy, weight);
}
Tensor grad_weight(const ConvGeometry& g, const Tensor& x, const Tensor& gy) {
  return apply<ConvolutionGradWeight>(g, x, gy);
}

}  // namespace

Tensor convolution(const ConvGeometry& g, bool transposed, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return apply<Convolution>(g, transposed, x, weight, bias);
}

}  // namespace ops
}  // namespace rushlight
