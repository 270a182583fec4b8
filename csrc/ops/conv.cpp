// Two-dimensional convolution. It and its two gradients are bilinear, and the gradients of each are among the three.
#include "base/size_math.h"
#include "base/unlocked.h"
#include "kernels/cpu/conv2d.h"
#include "kernels/loops.h"
#include "ops/layout.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

using kernels::Conv2dShape;
using kernels::Layout;

int64_t work_of(const Conv2dShape& s) {
  return saturating_product({s.n, s.c_out, s.h_out, s.w_out, s.c_in / s.groups, s.kh, s.kw}) / 16;
}

Tensor conv_forward(const Conv2dShape& s, const Tensor& input, const Tensor& w, const Tensor& b) {
  const bool last = prefers_channels_last(input) || prefers_channels_last(w);
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

Tensor conv_grad_input(const Conv2dShape& s, const Tensor& gy, const Tensor& w) {
  const bool last = prefers_channels_last(gy) || prefers_channels_last(w);
  Tensor gx = empty_image({s.n, s.c_in, s.h, s.w}, last, gy);
  if (gx.is_meta() || gx.numel() == 0) return in_dtype_of(gy, gx);
  if (gy.numel() == 0) return kernels::fill(gx, 0), in_dtype_of(gy, gx);
  const Image g(gy, gx.dtype()), weight(w, gx.dtype());
  const Layout to = last ? Layout::channels_last : Layout::channels_first;
  {
    Unlocked unlocked(work_of(s));
    RL_CALL_FLOAT(conv2d_grad_input, gx.dtype(), s, g.data<T>(), g.layout, weight.data<T>(), weight.layout,
                  gx.data<T>(), to)
  }
  return in_dtype_of(gy, gx);
}

Tensor conv_grad_weight(const Conv2dShape& s, const Tensor& input, const Tensor& gy) {
  const bool last = prefers_channels_last(input) || prefers_channels_last(gy);
  Tensor gw = empty_image({s.c_out, s.c_in / s.groups, s.kh, s.kw}, last, input);
  if (gw.is_meta() || gw.numel() == 0) return in_dtype_of(input, gw);
  if (gy.numel() == 0) return kernels::fill(gw, 0), in_dtype_of(input, gw);
  const Image x(input, gw.dtype()), g(gy, gw.dtype());
  const Layout to = last ? Layout::channels_last : Layout::channels_first;
  {
    Unlocked unlocked(work_of(s));
    RL_CALL_FLOAT(conv2d_grad_weight, gw.dtype(), s, x.data<T>(), x.layout, g.data<T>(), g.layout, gw.data<T>(), to)
  }
  return in_dtype_of(input, gw);
}

Tensor conv_grad_bias(const Conv2dShape& s, const Tensor& gy) {
  Tensor gb = empty({s.c_out}, float_of(gy), gy.device());
  if (gb.is_meta()) return gb;
  if (gy.numel() == 0) return kernels::fill(gb, 0), in_dtype_of(gy, gb);
  const Image g(gy, gb.dtype());
  {
    Unlocked unlocked(gy.numel() / 8);
    RL_CALL_FLOAT(conv2d_grad_bias, gb.dtype(), s, g.data<T>(), g.layout, gb.data<T>())
  }
  return in_dtype_of(gy, gb);
}

// The three as recorded operations.
Tensor convolved(const Conv2dShape& s, const Tensor& x, const Tensor& weight);
Tensor grad_input(const Conv2dShape& s, const Tensor& gy, const Tensor& weight);
Tensor grad_weight(const Conv2dShape& s, const Tensor& x, const Tensor& gy);

struct Convolution {
  static constexpr auto schema = "convolution(Tensor input, Tensor weight, Tensor? bias) -> Tensor";
  Conv2dShape s;
  Tensor forward(Ctx& ctx, const Conv2dShape& shape, const Tensor& x, const Tensor& weight, const Tensor& bias) {
    s = shape;
    ctx.save(ctx.need(1) ? x : Tensor()), ctx.save(ctx.need(0) ? weight : Tensor());
    return conv_forward(s, x, weight, bias);
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor gx, gw, gb;
    if (ctx.need(0)) gx = grad_input(s, g[0], ctx.get(1));
    if (ctx.need(1)) gw = grad_weight(s, ctx.get(0), g[0]);
    if (ctx.need(2)) gb = tls.grad_enabled ? sum(g[0], {0, 2, 3}) : conv_grad_bias(s, g[0]);
    return {gx, gw, gb};
  }
};

struct ConvolutionGradInput {
  static constexpr auto schema = "convolution_grad_input(Tensor grad, Tensor weight) -> Tensor";
  static constexpr auto node_name = "ConvolutionBackwardBackward0";
  Conv2dShape s;
  Tensor forward(Ctx& ctx, const Conv2dShape& shape, const Tensor& gy, const Tensor& weight) {
    s = shape;
    ctx.save(ctx.need(1) ? gy : Tensor()), ctx.save(ctx.need(0) ? weight : Tensor());
    return conv_grad_input(s, gy, weight);
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor ggy, gw;
    if (ctx.need(0)) ggy = convolved(s, g[0], ctx.get(1));
    if (ctx.need(1)) gw = grad_weight(s, g[0], ctx.get(0));
    return {ggy, gw};
  }
};

struct ConvolutionGradWeight {
  static constexpr auto schema = "convolution_grad_weight(Tensor input, Tensor grad) -> Tensor";
  static constexpr auto node_name = "ConvolutionBackwardBackward0";
  Conv2dShape s;
  Tensor forward(Ctx& ctx, const Conv2dShape& shape, const Tensor& x, const Tensor& gy) {
    s = shape;
    ctx.save(ctx.need(1) ? x : Tensor()), ctx.save(ctx.need(0) ? gy : Tensor());
    return conv_grad_weight(s, x, gy);
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor gx, ggy;
    if (ctx.need(0)) gx = grad_input(s, ctx.get(1), g[0]);
    if (ctx.need(1)) ggy = convolved(s, ctx.get(0), g[0]);
    return {gx, ggy};
  }
};

Tensor convolved(const Conv2dShape& s, const Tensor& x, const Tensor& weight) {
  return apply<Convolution>(s, x, weight, Tensor());
}
Tensor grad_input(const Conv2dShape& s, const Tensor& gy, const Tensor& weight) {
  return apply<ConvolutionGradInput>(s, gy, weight);
}
Tensor grad_weight(const Conv2dShape& s, const Tensor& x, const Tensor& gy) {
  return apply<ConvolutionGradWeight>(s, x, gy);
}

void check_positive(const char* what, IntSpan values) {
  for (int64_t v : values) RL_CHECK(v > 0, "conv2d: ", what, " must be positive, got ", values);
}

void check_images(const char* op, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  RL_CHECK(weight.dim() == 4, op, ": weight must have 4 dimensions (out, in / groups, height, width), got shape ",
           weight.sizes());
  RL_CHECK(x.dim() == 4 || x.dim() == 3, op, ": input must be (N, C, H, W) or (C, H, W), got shape ", x.sizes(),
           x.dim() == 2 ? hint("add the missing dimensions, as x[None, None]") : std::string());
  RL_CHECK(x.dtype() == weight.dtype() && (!bias || bias.dtype() == x.dtype()), op, ": input is ", x.dtype(),
           ", weight ", weight.dtype(), bias ? detail::concat(", bias ", bias.dtype()) : "", ": they must be the same",
           hint("convert the input with .to(weight.dtype), or the model with .to(dtype)"));
  RL_CHECK_KIND(x.is_floating(), NotImplemented, op, " is not implemented for ", x.dtype(),
                hint("convert with .float()"));
}

// What a kernel of `size` covers, and an image's extent with its padding.
int64_t reach(int64_t size, int64_t dilation) {
  return checked_add("conv2d", checked_mul("conv2d", size - 1, dilation), 1);
}
int64_t padded(int64_t extent, int64_t padding) {
  return checked_add("conv2d", extent, checked_mul("conv2d", padding, 2));
}

// Shape of a convolution of x (N, C, H, W) with weight; h_out and w_out not yet known.
Conv2dShape conv_shape(const Tensor& x, const Tensor& weight, IntSpan stride, IntSpan padding, IntSpan dilation,
                       int64_t groups) {
  const Dims &xs = x.sizes(), &ws = weight.sizes();
  return {.n = xs[0],
          .c_in = xs[1],
          .h = xs[2],
          .w = xs[3],
          .c_out = ws[0],
          .kh = ws[2],
          .kw = ws[3],
          .stride_h = stride[0],
          .stride_w = stride[1],
          .pad_h = padding[0],
          .pad_w = padding[1],
          .dil_h = dilation[0],
          .dil_w = dilation[1],
          .groups = groups,
          .h_out = 0,
          .w_out = 0};
}

struct Conv2d {
  static constexpr auto schema =
      "conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, int[2] padding=0, int[2] dilation=1, "
      "int groups=1) -> Tensor";
  static constexpr auto doc = "Two-dimensional convolution; see rushlight.nn.functional.conv2d.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& input, const Tensor& weight, const Tensor& bias, IntSpan stride, IntSpan padding,
                 IntSpan dilation, int64_t groups) {
    check_images("conv2d", input, weight, bias);
    if (input.dim() == 3) {
      return squeeze(batch(unsqueeze(input, 0), weight, bias, stride, padding, dilation, groups), 0);
    }
    return batch(input, weight, bias, stride, padding, dilation, groups);
  }
  static Tensor batch(const Tensor& x, const Tensor& weight, const Tensor& bias, IntSpan stride, IntSpan padding,
                      IntSpan dilation, int64_t groups) {
    check_positive("stride", stride), check_positive("dilation", dilation), check_positive("groups", {groups});
    RL_CHECK(padding[0] >= 0 && padding[1] >= 0, "conv2d: padding must not be negative, got ", padding);
    Conv2dShape s = conv_shape(x, weight, stride, padding, dilation, groups);
    const int64_t takes = checked_mul("conv2d", weight.sizes()[1], groups);
    RL_CHECK(s.c_in == takes, "conv2d: input ", x.sizes(), " has ", s.c_in, " channels; weight ", weight.sizes(),
             groups == 1 ? "" : detail::concat(" with groups=", groups), " takes ", takes,
             x.sizes()[3] == takes ? hint("the channels seem to be last: x.permute(0, 3, 1, 2) puts them second")
                                   : std::string());
    RL_CHECK(s.c_out % groups == 0, "conv2d: ", s.c_out, " output channels of weight ", weight.sizes(),
             " cannot be split into ", groups, " groups");
    RL_CHECK(!bias || (bias.dim() == 1 && bias.sizes()[0] == s.c_out), "conv2d: bias of shape ",
             bias ? bias.sizes() : Dims(), " does not fit weight ", weight.sizes(), ": it needs ", s.c_out, " values");
    RL_CHECK(s.kh > 0 && s.kw > 0, "conv2d: the kernel is empty: weight ", weight.sizes());
    const int64_t reach_h = reach(s.kh, s.dil_h), reach_w = reach(s.kw, s.dil_w);
    const int64_t room_h = padded(s.h, s.pad_h), room_w = padded(s.w, s.pad_w);
    RL_CHECK(reach_h <= room_h && reach_w <= room_w, "conv2d: the kernel reaches over (", reach_h, ", ", reach_w,
             "), more than the padded input's (", room_h, ", ", room_w, ")");
    s.h_out = (room_h - reach_h) / s.stride_h + 1;
    s.w_out = (room_w - reach_w) / s.stride_w + 1;
    // Kernels reckon with steps and padded images: steps that are never taken may be anything, the others are smaller.
    if (s.h_out == 1) s.stride_h = 1;
    if (s.w_out == 1) s.stride_w = 1;
    if (s.kh == 1) s.dil_h = 1;
    if (s.kw == 1) s.dil_w = 1;
    RL_CHECK(saturating_product({s.n, std::max<int64_t>(s.c_in, 1), room_h, room_w, 64}) < INT64_MAX, "conv2d: input ",
             x.sizes(), " with padding ", padding, " is larger than any memory");
    return apply<Convolution>(s, x, weight, bias);
  }
};

// padding="same" or "valid".
struct Conv2dPaddedByName {
  static constexpr auto schema =
      "conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, str padding=\"valid\", "
      "int[2] dilation=1, int groups=1) -> Tensor";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx& ctx, const Tensor& input, const Tensor& weight, const Tensor& bias, IntSpan stride,
                 std::string_view padding, IntSpan dilation, int64_t groups) {
    if (padding == "valid") return Conv2d().forward(ctx, input, weight, bias, stride, {0, 0}, dilation, groups);
    RL_CHECK(padding == "same", "conv2d: padding is '", padding, "'", hint("use 'valid', 'same' or numbers"));
    RL_CHECK(stride[0] == 1 && stride[1] == 1, "padding='same' is not supported for strided convolutions (stride is ",
             stride, ")", hint("give the padding in numbers"));
    check_images("conv2d", input, weight, bias);
    check_positive("dilation", dilation);
    const int64_t total[] = {reach(weight.sizes()[2], dilation[0]) - 1, reach(weight.sizes()[3], dilation[1]) - 1};
    // Of an odd total the larger half belongs at the end: pad both sides by it and drop what comes of it at the start.
    const int64_t pad[] = {ceil_div(total[0], 2), ceil_div(total[1], 2)};
    Tensor y = Conv2d().forward(ctx, input, weight, bias, stride, IntSpan(pad, 2), dilation, groups);
    for (int64_t i = 0; i < 2; i++)
      if (total[i] % 2) y = narrow(y, i - 2, 1, y.size(i - 2) - 1);
    return y;
  }
};

RL_BIND(Conv2d, function)
RL_BIND(Conv2dPaddedByName, function)

}  // namespace
}  // namespace ops
}  // namespace rushlight
