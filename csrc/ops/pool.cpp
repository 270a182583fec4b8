// Pooling of images, and of lines, which are images of height one.
#include "base/size_math.h"
#include "base/unlocked.h"
#include "kernels/cpu/pool2d.h"
#include "ops/layers.h"
#include "ops/pool_boxes.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

using kernels::Layout;
using kernels::Pool2dShape;

struct Pair {
  int64_t h, w;
};
Pair pair_of(const char* op, const char* what, IntSpan values) {
  RL_CHECK(values.size() == 1 || values.size() == 2, op, ": ", what, " must be one number or two, got ", values);
  return {values[0], values[values.size() - 1]};
}

struct Window {
  Pair size, stride, padding, dilation;
  bool ceil_mode;
};

// Of images x (N, C, H, W).
Pool2dShape pool_shape(const char* op, const Tensor& x, const Window& w) {
  const Dims& s = x.sizes();
  RL_CHECK(w.size.h > 0 && w.size.w > 0, op, ": kernel_size must be positive, got (", w.size.h, ", ", w.size.w, ")");
  RL_CHECK(w.stride.h > 0 && w.stride.w > 0, op, ": stride must be positive, got (", w.stride.h, ", ", w.stride.w, ")");
  RL_CHECK(w.dilation.h > 0 && w.dilation.w > 0, op, ": dilation must be positive, got (", w.dilation.h, ", ",
           w.dilation.w, ")");
  auto most_padding = [op](int64_t size, int64_t dilation) {
    return checked_add(op, checked_mul(op, size - 1, dilation), 1) / 2;
  };
  RL_CHECK(w.padding.h >= 0 && w.padding.w >= 0 && w.padding.h <= most_padding(w.size.h, w.dilation.h) &&
               w.padding.w <= most_padding(w.size.w, w.dilation.w),
           op, ": padding (", w.padding.h, ", ", w.padding.w, ") must be at least 0 and at most half of the kernel's (",
           w.size.h, ", ", w.size.w, ")");
  RL_CHECK(s[1] > 0 && s[2] > 0 && s[3] > 0, op, ": the images are empty: input has shape ", s);
  const int64_t h = pooled_size(op, s[2], w.size.h, w.stride.h, w.padding.h, w.dilation.h, w.ceil_mode);
  const int64_t width = pooled_size(op, s[3], w.size.w, w.stride.w, w.padding.w, w.dilation.w, w.ceil_mode);
  RL_CHECK(h > 0 && width > 0, op, ": images of (", s[2], ", ", s[3], ") are smaller than the kernel of (", w.size.h,
           ", ", w.size.w, "): the output would be (", h, ", ", width, ")");
  return {.n = s[0],
          .c = s[1],
          .h = s[2],
          .w = s[3],
          .kh = w.size.h,
          .kw = w.size.w,
          .stride_h = w.stride.h,
          .stride_w = w.stride.w,
          .pad_h = w.padding.h,
          .pad_w = w.padding.w,
          .dil_h = w.dilation.h,
          .dil_w = w.dilation.w,
          .h_out = h,
          .w_out = width};
}

void check_images(const char* op, const Tensor& x, ErrorKind kind = ErrorKind::Runtime) {
  if (x.dim() != 4 && x.dim() != 3) fail(kind, op, ": input must be (N, C, H, W) or (C, H, W), got shape ", x.sizes());
  RL_CHECK_KIND(x.is_floating(), NotImplemented, op, " is not implemented for ", x.dtype(),
                hint("convert with .float()"));
}

int64_t work_of(const Pool2dShape& s) { return saturating_product({s.n, s.c, s.h_out, s.w_out, s.kh, s.kw}) / 4; }
bool last(Layout layout) { return layout == Layout::channels_last; }

// A tensor laid out as a kernel wants it, in dtype d.
Tensor laid_out(const Tensor& t, DType d, Layout layout) {
  const MemoryFormat f = last(layout) ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous;
  const Tensor x = t.dtype() == d ? t : kernels::cast(t, d);
  return x.is_contiguous(f) ? x : kernels::clone(x, f);
}
Tensor empty_laid_out(IntSpan shape, DType d, Layout layout, Device device = {}) {
  return empty_strided(shape,
                       contiguous_strides(shape, last(layout) ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous),
                       d, device);
}

// The gradient of the maxima goes to where they were.
Tensor scatter_max(const Pool2dShape& s, Layout layout, const Tensor& grad, const Tensor& places) {
  const Dims shape{s.n, s.c, s.h, s.w};
  if (grad.is_meta()) return empty_laid_out(shape, grad.dtype(), layout, grad.device());
  const Tensor gy = laid_out(grad, float_of(grad), layout), indices = laid_out(places, DType::Int64, layout);
  Tensor gx = empty_laid_out(shape, gy.dtype(), layout);
  if (gx.numel()) {
    Unlocked unlocked(gx.numel());
    RL_CALL_FLOAT(max_pool2d_backward, gy.dtype(), s, layout, gy.data<T>(), indices.data<int64_t>(), gx.data<T>())
  }
  return in_dtype_of(grad, gx);
}

// The elements of x that were the maxima of their windows.
Tensor gather_max(const Pool2dShape& s, Layout layout, const Tensor& x, const Tensor& places) {
  Tensor y = empty_laid_out({s.n, s.c, s.h_out, s.w_out}, x.dtype(), layout, x.device());
  if (x.is_meta()) return y;
  const Tensor from = laid_out(x, x.dtype(), layout), indices = laid_out(places, DType::Int64, layout);
  const int64_t planes = last(layout) ? s.n : s.n * s.c, channels = last(layout) ? s.c : 1;
  const int64_t* index = indices.data<int64_t>();
  visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = from.data<T>();
    T* out = y.data<T>();
    for (int64_t p = 0; p < planes; p++, in += s.h * s.w * channels)
      for (int64_t i = 0; i < s.h_out * s.w_out; i++)
        for (int64_t c = 0; c < channels; c++) *out++ = in[*index++ * channels + c];
  });
  return y;
}

struct MaxPoolPlaces {  // what the gradients of max_pool2d need to know
  Pool2dShape s;
  Layout layout;
};
struct MaxPool2dBackward;
struct MaxPool2dGather {
  static constexpr auto schema = "max_pool2d_gather(Tensor self, Tensor indices) -> Tensor";
  MaxPoolPlaces p;
  Tensor forward(Ctx& ctx, const MaxPoolPlaces& places, const Tensor& x, const Tensor& indices) {
    p = places;
    ctx.save(indices);
    return gather_max(p.s, p.layout, x, indices);
  }
  Grads backward(Ctx& ctx, Grads g);
};
struct MaxPool2dBackward {
  static constexpr auto schema = "max_pool2d_with_indices_backward(Tensor grad, Tensor indices) -> Tensor";
  static constexpr auto node_name = "MaxPool2DWithIndicesBackwardBackward0";
  MaxPoolPlaces p;
  Tensor forward(Ctx& ctx, const MaxPoolPlaces& places, const Tensor& gy, const Tensor& indices) {
    p = places;
    ctx.save(indices);
    return scatter_max(p.s, p.layout, gy, indices);
  }
  Grads backward(Ctx& ctx, Grads g) { return {apply<MaxPool2dGather>(p, g[0], ctx.get(0)), Tensor()}; }
};
Grads MaxPool2dGather::backward(Ctx& ctx, Grads g) { return {apply<MaxPool2dBackward>(p, g[0], ctx.get(0)), Tensor()}; }

using OptInts = std::optional<IntSpan>;

Window window_of(const char* op, IntSpan size, const OptInts& stride, IntSpan padding, IntSpan dilation,
                 bool ceil_mode) {
  Window w{pair_of(op, "kernel_size", size),
           {},
           pair_of(op, "padding", padding),
           pair_of(op, "dilation", dilation),
           ceil_mode};
  w.stride = !stride || stride->empty() ? w.size : pair_of(op, "stride", *stride);
  return w;
}

struct MaxPool2dWithIndices {
  static constexpr auto schema =
      "max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2]? stride=None, int[2] padding=0, "
      "int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)";
  static constexpr auto doc = "The largest value in each window, and where in its (H, W) plane it was.";
  static constexpr auto node_name = "MaxPool2DWithIndicesBackward0";
  static constexpr bool wants_undefined = true;  // no zeros for the indices
  MaxPoolPlaces p;
  std::tuple<Tensor, Tensor> forward(Ctx& ctx, const Tensor& input, IntSpan size, const OptInts& stride,
                                     IntSpan padding, IntSpan dilation, bool ceil_mode) {
    check_images("max_pool2d", input);
    const Tensor batch = as_batch(input, 2);
    p.s = pool_shape("max_pool2d", batch, window_of("max_pool2d", size, stride, padding, dilation, ceil_mode));
    p.layout = prefers_channels_last(batch) ? Layout::channels_last : Layout::channels_first;
    const Dims shape{p.s.n, p.s.c, p.s.h_out, p.s.w_out};
    const DType d = input.is_meta() ? input.dtype() : float_of(input);
    Tensor y = empty_laid_out(shape, d, p.layout, input.device());
    Tensor indices = empty_laid_out(shape, DType::Int64, p.layout, input.device());
    if (!input.is_meta() && y.numel()) {
      const Image x(batch, d);
      Unlocked unlocked(work_of(p.s));
      RL_CALL_FLOAT(max_pool2d, d, p.s, p.layout, x.data<T>(), y.data<T>(), indices.data<int64_t>())
    }
    ctx.save(indices);
    y = in_dtype_of(input, y);
    return {unbatch(y, input.dim() == 3), unbatch(indices, input.dim() == 3)};
  }
  Grads backward(Ctx& ctx, Grads g) {
    if (!g[0]) return {Tensor()};
    const bool unbatched = g[0].dim() == 3;
    const Tensor gy = unbatched ? unsqueeze(g[0], 0) : g[0];
    const Tensor gx =
        tls.grad_enabled ? apply<MaxPool2dBackward>(p, gy, ctx.get(0)) : scatter_max(p.s, p.layout, gy, ctx.get(0));
    return {unbatched ? squeeze(gx, 0) : gx};
  }
};

struct MaxPool2d {
  static constexpr auto schema =
      "max_pool2d(Tensor self, int[2] kernel_size, int[2]? stride=None, int[2] padding=0, int[2] dilation=1, "
      "bool ceil_mode=False) -> Tensor";
  static constexpr auto doc = "The largest value in each window.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, IntSpan size, const OptInts& stride, IntSpan padding, IntSpan dilation,
                 bool ceil_mode) {
    return std::get<0>(apply<MaxPool2dWithIndices>(x, size, stride, padding, dilation, ceil_mode));
  }
};

struct Averaging {
  Pool2dShape s;
  bool count_padding;
  int64_t divisor;
};

Tensor average(const Averaging& a, const Tensor& input) {
  const Layout layout = prefers_channels_last(input) ? Layout::channels_last : Layout::channels_first;
  Tensor y = empty_image({a.s.n, a.s.c, a.s.h_out, a.s.w_out}, last(layout), input);
  if (y.is_meta() || y.numel() == 0) return in_dtype_of(input, y);
  const Image x(input, y.dtype());
  {
    Unlocked unlocked(work_of(a.s));
    RL_CALL_FLOAT(avg_pool2d, y.dtype(), a.s, x.layout, a.count_padding, a.divisor, x.data<T>(), y.data<T>())
  }
  return in_dtype_of(input, y);
}

Tensor spread(const Averaging& a, const Tensor& grad) {
  const Layout layout = prefers_channels_last(grad) ? Layout::channels_last : Layout::channels_first;
  Tensor gx = empty_image({a.s.n, a.s.c, a.s.h, a.s.w}, last(layout), grad);
  if (gx.is_meta() || gx.numel() == 0) return in_dtype_of(grad, gx);
  const Image gy(grad, gx.dtype());
  {
    Unlocked unlocked(work_of(a.s));
    RL_CALL_FLOAT(avg_pool2d_backward, gx.dtype(), a.s, gy.layout, a.count_padding, a.divisor, gy.data<T>(),
                  gx.data<T>())
  }
  return in_dtype_of(grad, gx);
}

// Linear, as is its gradient; each is the other's gradient.
struct AvgPool2dBackward;
struct AvgPool2dOfBatch {
  static constexpr auto schema = "avg_pool2d(Tensor self) -> Tensor";
  static constexpr auto node_name = "AvgPool2DBackward0";
  Averaging a;
  Tensor forward(Ctx&, const Averaging& how, const Tensor& x) {
    a = how;
    return unbatch(average(a, as_batch(x, 2)), x.dim() == 3);
  }
  Grads backward(Ctx& ctx, Grads g);
};
struct AvgPool2dBackward {
  static constexpr auto schema = "avg_pool2d_backward(Tensor grad) -> Tensor";
  static constexpr auto node_name = "AvgPool2DBackwardBackward0";
  Averaging a;
  Tensor forward(Ctx&, const Averaging& how, const Tensor& gy) {
    a = how;
    return unbatch(spread(a, as_batch(gy, 2)), gy.dim() == 3);
  }
  Grads backward(Ctx&, Grads g) { return {apply<AvgPool2dOfBatch>(a, g[0])}; }
};
Grads AvgPool2dOfBatch::backward(Ctx&, Grads g) { return {apply<AvgPool2dBackward>(a, g[0])}; }

struct AvgPool2d {
  static constexpr auto schema =
      "avg_pool2d(Tensor input, int[2] kernel_size, int[2]? stride=None, int[2] padding=0, bool ceil_mode=False, "
      "bool count_include_pad=True, int? divisor_override=None) -> Tensor";
  static constexpr auto doc =
      "The mean of each window of input, (N, C, H, W) or (C, H, W). The stride is the kernel's size unless given; "
      "zeros of the padding count unless count_include_pad is false; divisor_override divides instead of the count.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, IntSpan size, const OptInts& stride, IntSpan padding, bool ceil_mode,
                 bool count_padding, OptInt divisor) {
    check_images("avg_pool2d", x, ErrorKind::Index);
    RL_CHECK(!divisor || *divisor != 0, "avg_pool2d: divisor_override must not be 0");
    const Window w = window_of("avg_pool2d", size, stride, padding, {1, 1}, ceil_mode);
    const Averaging a{pool_shape("avg_pool2d", as_batch(x, 2), w), count_padding, divisor.value_or(0)};
    return apply<AvgPool2dOfBatch>(a, x);
  }
};

// (N, C, L) or (C, L).
void check_line(const char* op, const Tensor& x, std::initializer_list<std::pair<const char*, IntSpan>> arguments) {
  RL_CHECK(x.dim() == 2 || x.dim() == 3, op, ": input must be (N, C, L) or (C, L), got shape ", x.sizes());
  RL_CHECK_KIND(x.is_floating(), NotImplemented, op, " is not implemented for ", x.dtype(),
                hint("convert with .float()"));
  for (const auto& [name, values] : arguments)
    RL_CHECK(values.size() == 1, op, ": ", name, " must be one number, got ", values);
}

struct MaxPool1dWithIndices {
  static constexpr auto schema =
      "max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1]? stride=None, int[1] padding=0, "
      "int[1] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)";
  static constexpr auto doc = "The largest value in each window of a sequence, and where it was.";
  static constexpr Kind kind = Kind::composite;
  std::tuple<Tensor, Tensor> forward(Ctx&, const Tensor& x, IntSpan size, const OptInts& stride, IntSpan padding,
                                     IntSpan dilation, bool ceil_mode) {
    const IntSpan step = !stride || stride->empty() ? size : *stride;
    check_line("max_pool1d", x,
               {{"kernel_size", size}, {"stride", step}, {"padding", padding}, {"dilation", dilation}});
    auto [y, indices] = apply<MaxPool2dWithIndices>(unsqueeze(x, -2), Dims{1, size[0]}, OptInts(Dims{1, step[0]}),
                                                    Dims{0, padding[0]}, Dims{1, dilation[0]}, ceil_mode);
    return {squeeze(y, -2), squeeze(indices, -2)};
  }
};

struct MaxPool1d {
  static constexpr auto schema =
      "max_pool1d(Tensor self, int[1] kernel_size, int[1]? stride=None, int[1] padding=0, int[1] dilation=1, "
      "bool ceil_mode=False) -> Tensor";
  static constexpr auto doc = "The largest value in each window of a sequence.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, IntSpan size, const OptInts& stride, IntSpan padding, IntSpan dilation,
                 bool ceil_mode) {
    return std::get<0>(apply<MaxPool1dWithIndices>(x, size, stride, padding, dilation, ceil_mode));
  }
};

struct AvgPool1d {
  static constexpr auto schema =
      "avg_pool1d(Tensor self, int[1] kernel_size, int[1]? stride=None, int[1] padding=0, bool ceil_mode=False, "
      "bool count_include_pad=True) -> Tensor";
  static constexpr auto doc = "The mean of each window of a sequence, (N, C, L) or (C, L); otherwise as avg_pool2d.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, IntSpan size, const OptInts& stride, IntSpan padding, bool ceil_mode,
                 bool count_padding) {
    const IntSpan step = !stride || stride->empty() ? size : *stride;
    check_line("avg_pool1d", x, {{"kernel_size", size}, {"stride", step}, {"padding", padding}});
    return squeeze(apply<AvgPool2d>(unsqueeze(x, -2), Dims{1, size[0]}, OptInts(Dims{1, step[0]}), Dims{0, padding[0]},
                                    ceil_mode, count_padding, OptInt()),
                   -2);
  }
};

RL_BIND(MaxPool1dWithIndices, function)
RL_BIND(MaxPool1d, function)
RL_BIND(AvgPool1d, function)
RL_BIND(MaxPool2dWithIndices, function)
RL_BIND(MaxPool2d, function)
RL_BIND(AvgPool2d, function)

}  // namespace
}  // namespace ops

Tensor max_pool2d(const Tensor& input, IntSpan kernel_size, IntSpan stride, IntSpan padding) {
  return apply<ops::MaxPool2d>(input, kernel_size, ops::OptInts(stride.empty() ? kernel_size : stride), padding,
                               IntSpan({1, 1}), false);
}

}  // namespace rushlight
