// Convolutions as users call them: what fits what, and the output's size.
#include "base/size_math.h"
#include "ops/convolution.h"
#include "ops/layers.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

struct ConvArguments {
  const char* op;
  int64_t spatial;
  IntSpan stride, padding, dilation, output_padding;  // the last one of transposed convolutions only
  int64_t groups;
  bool transposed;
};

void check_positive(const char* op, const char* what, IntSpan values) {
  for (int64_t v : values) RL_CHECK(v > 0, op, ": ", what, " must be positive, got ", values);
}

void check_inputs(const ConvArguments& a, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  static constexpr const char *images[] = {"(N, C, L) or (C, L)", "(N, C, H, W) or (C, H, W)",
                                           "(N, C, D, H, W) or (C, D, H, W)"},
                              *kernels[] = {"length", "height, width", "depth, height, width"};
  const int64_t n = a.spatial;
  for (auto [what, values] : {std::pair("stride", a.stride), std::pair("padding", a.padding),
                              std::pair("dilation", a.dilation), std::pair("output_padding", a.output_padding)})
    RL_CHECK(int64_t(values.size()) == n || (what[0] == 'o' && !a.transposed), a.op, ": ", what, " must have ", n,
             n == 1 ? " number" : " numbers", ", got ", values);
  RL_CHECK(weight.dim() == n + 2, a.op, ": weight must have ", n + 2, " dimensions (",
           a.transposed ? "in, out / groups, " : "out, in / groups, ", kernels[n - 1], "), got shape ", weight.sizes());
  RL_CHECK(x.dim() == n + 2 || x.dim() == n + 1, a.op, ": input must be ", images[n - 1], ", got shape ", x.sizes(),
           n == 2 && x.dim() == 2 ? hint("add the missing dimensions, as x[None, None]") : std::string());
  RL_CHECK(x.dtype() == weight.dtype() && (!bias || bias.dtype() == x.dtype()), a.op, ": input is ", x.dtype(),
           ", weight ", weight.dtype(), bias ? detail::concat(", bias ", bias.dtype()) : "", ": they must be the same",
           hint("convert the input with .to(weight.dtype), or the model with .to(dtype)"));
  RL_CHECK_KIND(x.is_floating(), NotImplemented, a.op, " is not implemented for ", x.dtype(),
                hint("convert with .float()"));
}

void check_channels(const ConvArguments& a, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Dims& w = weight.sizes();
  const int64_t channels = x.sizes()[1], takes = a.transposed ? w[0] : checked_mul(a.op, w[1], a.groups);
  std::string mend;
  if (x.sizes()[x.dim() - 1] == takes && a.spatial == 2)
    mend = hint("the channels seem to be last: x.permute(0, 3, 1, 2) puts them second");
  RL_CHECK(channels == takes, a.op, ": input ", x.sizes(), " has ", channels, " channels; weight ", w,
           a.groups == 1 ? "" : detail::concat(" with groups=", a.groups), " takes ", takes, mend);
  RL_CHECK(w[0] % a.groups == 0, a.op, ": ", w[0], a.transposed ? " input" : " output", " channels of weight ", w,
           " cannot be split into ", a.groups, " groups");
  const int64_t gives = a.transposed ? checked_mul(a.op, w[1], a.groups) : w[0];
  RL_CHECK(!bias || (bias.dim() == 1 && bias.sizes()[0] == gives), a.op, ": bias of shape ",
           bias ? bias.sizes() : Dims(), " does not fit weight ", w, ": it needs ", gives, " values");
}

// What a kernel of `size` covers.
int64_t reach(const char* op, int64_t size, int64_t dilation) {
  return checked_add(op, checked_mul(op, size - 1, dilation), 1);
}

// One dimension, where `in` gives `out` in the direction that is not transposed.
struct ConvAxis {
  int64_t in = 1, kernel = 1, stride = 1, pad = 0, dilation = 1, out = 1;
};

ConvAxis axis_of(const ConvArguments& a, int64_t size, int64_t kernel, int64_t i) {
  ConvAxis axis{
      .in = size, .kernel = kernel, .stride = a.stride[i], .pad = a.padding[i], .dilation = a.dilation[i], .out = size};
  const int64_t covers = reach(a.op, kernel, axis.dilation), both = checked_mul(a.op, axis.pad, 2);
  if (a.transposed) {
    const int64_t extra = a.output_padding[i];
    RL_CHECK(extra >= 0, a.op, ": output_padding must not be negative, got ", a.output_padding);
    RL_CHECK(extra < std::max(axis.stride, axis.dilation), a.op, ": output_padding ", a.output_padding,
             " must be smaller than the stride ", a.stride, " or the dilation ", a.dilation);
    axis.in = checked_add(a.op, checked_mul(a.op, size - 1, axis.stride), checked_add(a.op, covers, extra)) - both;
  } else {
    const int64_t room = checked_add(a.op, size, both);
    axis.out = covers > room ? 0 : (room - covers) / axis.stride + 1;
  }
  // Kernels reckon with steps and padded images: steps that are never taken may be anything, the others are smaller.
  if (axis.out == 1) axis.stride = 1;
  if (axis.kernel == 1) axis.dilation = 1;
  return axis;
}

Tensor convolve_batch(const ConvArguments& a, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const int64_t n = a.spatial;
  check_positive(a.op, "stride", a.stride), check_positive(a.op, "dilation", a.dilation);
  check_positive(a.op, "groups", {a.groups});
  for (int64_t p : a.padding) RL_CHECK(p >= 0, a.op, ": padding must not be negative, got ", a.padding);
  check_channels(a, x, weight, bias);
  const Dims &xs = x.sizes(), &ws = weight.sizes();
  for (int64_t i = 2; i < n + 2; i++) RL_CHECK(ws[i] > 0, a.op, ": the kernel is empty: weight ", ws);

  ConvAxis axes[3];  // depth, height, width
  Dims reaches, padded, results;
  int64_t volume = 1;
  for (int64_t i = 0; i < n; i++) {
    ConvAxis& axis = axes[3 - n + i] = axis_of(a, xs[i + 2], ws[i + 2], i);
    reaches.push_back(reach(a.op, axis.kernel, axis.dilation));
    padded.push_back(checked_add(a.op, axis.in, checked_mul(a.op, axis.pad, 2)));
    results.push_back(a.transposed ? axis.in : axis.out);
    volume = saturating_product({volume, std::max<int64_t>(0, padded.back())});
  }
  for (int64_t i = 0; i < n; i++) {
    if (!a.transposed)
      RL_CHECK(results[i] > 0, a.op, ": the kernel reaches over ", reaches, ", more than the padded input's ", padded);
    RL_CHECK(results[i] > 0, a.op, ": an input of ", IntSpan(xs.data() + 2, n), " would give ", results,
             hint("less padding, or more output_padding, gives a larger output"));
  }
  const int64_t c_x = a.transposed ? checked_mul(a.op, ws[1], a.groups) : xs[1];
  RL_CHECK(saturating_product({xs[0], std::max<int64_t>(c_x, 1), volume, 64}) < INT64_MAX, a.op, ": input ", xs,
           " with padding ", a.padding, " is larger than any memory");

  const ConvAxis &h = axes[1], &w = axes[2];
  ConvGeometry g{.image = {.n = xs[0],
                           .c_in = c_x,
                           .h = h.in,
                           .w = w.in,
                           .c_out = ws[0],
                           .kh = h.kernel,
                           .kw = w.kernel,
                           .stride_h = h.stride,
                           .stride_w = w.stride,
                           .pad_h = h.pad,
                           .pad_w = w.pad,
                           .dil_h = h.dilation,
                           .dil_w = w.dilation,
                           .groups = a.groups,
                           .h_out = h.out,
                           .w_out = w.out},
                 .depth = {axes[0].in, axes[0].kernel, axes[0].stride, axes[0].pad, axes[0].dilation, axes[0].out},
                 .spatial = n};
  return convolution(g, a.transposed, x, weight, bias);
}

Tensor convolve(const ConvArguments& a, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_inputs(a, x, weight, bias);
  if (x.dim() == a.spatial + 1) return squeeze(convolve_batch(a, unsqueeze(x, 0), weight, bias), 0);
  return convolve_batch(a, x, weight, bias);
}

// padding="same" or "valid".
Tensor convolve_padded(const char* op, int64_t spatial, const Tensor& x, const Tensor& weight, const Tensor& bias,
                       IntSpan stride, std::string_view padding, IntSpan dilation, int64_t groups) {
  const Dims none(spatial, 0);
  ConvArguments a{op, spatial, stride, none, dilation, none, groups, false};
  if (padding == "valid") return convolve(a, x, weight, bias);
  RL_CHECK(padding == "same", op, ": padding is '", padding, "'", hint("use 'valid', 'same' or numbers"));
  for (int64_t s : stride)
    RL_CHECK(s == 1, "padding='same' is not supported for strided convolutions (stride is ", stride, ")",
             hint("give the padding in numbers"));
  check_inputs(a, x, weight, bias);
  check_positive(op, "dilation", dilation);
  // Of an odd total the larger half belongs at the end: pad both sides by it and drop what comes of it at the start.
  Dims total, pad;
  for (int64_t i = 0; i < spatial; i++) {
    total.push_back(reach(op, weight.sizes()[i + 2], dilation[i]) - 1);
    pad.push_back(ceil_div(total[i], 2));
  }
  a.padding = pad;
  Tensor y = convolve(a, x, weight, bias);
  for (int64_t i = 0; i < spatial; i++)
    if (total[i] % 2) y = narrow(y, i - spatial, 1, y.size(i - spatial) - 1);
  return y;
}

#define RL_CONV_SCHEMA(n)                                                                     \
  "conv" #n "d(Tensor input, Tensor weight, Tensor? bias=None, int[" #n "] stride=1, int[" #n \
  "] padding=0, "                                                                             \
  "int[" #n "] dilation=1, int groups=1) -> Tensor"
#define RL_CONV_BY_NAME_SCHEMA(n)                                                                                    \
  "conv" #n "d(Tensor input, Tensor weight, Tensor? bias=None, int[" #n "] stride=1, str padding=\"valid\", int[" #n \
  "] dilation=1, int groups=1) -> Tensor"
#define RL_CONV_TRANSPOSE_SCHEMA(n)                                                                     \
  "conv_transpose" #n "d(Tensor input, Tensor weight, Tensor? bias=None, int[" #n "] stride=1, int[" #n \
  "] padding=0, int[" #n "] output_padding=0, int groups=1, int[" #n "] dilation=1) -> Tensor"

constexpr const char *kConv[] = {"conv1d", "conv2d", "conv3d"},
                     *kConvSchema[] = {RL_CONV_SCHEMA(1), RL_CONV_SCHEMA(2), RL_CONV_SCHEMA(3)},
                     *kByNameSchema[] = {RL_CONV_BY_NAME_SCHEMA(1), RL_CONV_BY_NAME_SCHEMA(2),
                                         RL_CONV_BY_NAME_SCHEMA(3)},
                     *kTransposed[] = {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"},
                     *kTransposedSchema[] = {RL_CONV_TRANSPOSE_SCHEMA(1), RL_CONV_TRANSPOSE_SCHEMA(2),
                                             RL_CONV_TRANSPOSE_SCHEMA(3)};

template <int N>
struct Conv {
  static constexpr auto schema = kConvSchema[N - 1];
  static constexpr auto doc = "Convolution; see rushlight.nn.functional.conv2d.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, const Tensor& weight, const Tensor& bias, IntSpan stride, IntSpan padding,
                 IntSpan dilation, int64_t groups) {
    return convolve({kConv[N - 1], N, stride, padding, dilation, {}, groups, false}, x, weight, bias);
  }
};

template <int N>
struct ConvPaddedByName {
  static constexpr auto schema = kByNameSchema[N - 1];
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, const Tensor& weight, const Tensor& bias, IntSpan stride,
                 std::string_view padding, IntSpan dilation, int64_t groups) {
    return convolve_padded(kConv[N - 1], N, x, weight, bias, stride, padding, dilation, groups);
  }
};

template <int N>
struct ConvTranspose {
  static constexpr auto schema = kTransposedSchema[N - 1];
  static constexpr auto doc = "Transposed convolution; see rushlight.nn.functional.conv_transpose2d.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, const Tensor& weight, const Tensor& bias, IntSpan stride, IntSpan padding,
                 IntSpan output_padding, int64_t groups, IntSpan dilation) {
    return convolve({kTransposed[N - 1], N, stride, padding, dilation, output_padding, groups, true}, x, weight, bias);
  }
};

RL_BIND(Conv<1>, function)
RL_BIND(ConvPaddedByName<1>, function)
RL_BIND(Conv<2>, function)
RL_BIND(ConvPaddedByName<2>, function)
RL_BIND(Conv<3>, function)
RL_BIND(ConvPaddedByName<3>, function)
RL_BIND(ConvTranspose<1>, function)
RL_BIND(ConvTranspose<2>, function)
RL_BIND(ConvTranspose<3>, function)

}  // namespace
}  // namespace ops

Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntSpan stride, IntSpan padding,
              IntSpan dilation, int64_t groups) {
  return apply<ops::Conv<2>>(input, weight, bias, stride, padding, dilation, groups);
}

}  // namespace rushlight
