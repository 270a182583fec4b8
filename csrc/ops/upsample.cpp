// Interpolation of lines, images and volumes, one axis after another. It is linear: its gradient is its transpose.
#include <cmath>

#include "base/size_math.h"
#include "base/unlocked.h"
#include "kernels/cpu/resample.h"
#include "ops/layout.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

// Along one axis: output o is the sum of weight[k] * input[index[k]], start[o] <= k < start[o + 1].
struct ResampleAxis {
  int64_t inputs = 0, outputs = 0;
  std::vector<int64_t> start{0}, index;
  std::vector<double> weight;

  void add(int64_t i, double w) { index.push_back(std::clamp<int64_t>(i, 0, inputs - 1)), weight.push_back(w); }
  void end_output() { start.push_back(int64_t(index.size())); }
  bool changes() const {
    if (inputs != outputs || int64_t(index.size()) != outputs) return true;
    for (int64_t o = 0; o < outputs; o++)
      if (index[o] != o) return true;
    return false;
  }
};

enum class Filter { nearest, nearest_exact, linear, cubic, lanczos };

struct Resampling {
  std::vector<ResampleAxis> axes;
};

// Where outputs fall among the inputs is reckoned in R, the type that values are computed in: rounding decides which
// inputs are nearest.

template <class R>
R step_of(const ResampleAxis& a, bool align_corners, std::optional<double> scale) {
  if (align_corners) return a.outputs > 1 ? R(a.inputs - 1) / R(a.outputs - 1) : R(0);
  return scale && *scale > 0 ? R(1.0 / *scale) : R(a.inputs) / R(a.outputs);
}

template <class R>
void add_nearest(ResampleAxis& a, bool exact, std::optional<double> scale) {
  const R step = step_of<R>(a, false, scale);
  for (int64_t o = 0; o < a.outputs; o++) {
    const R at = step * (exact ? R(o) + R(0.5) : R(o));
    a.add(int64_t(std::floor(at)), 1), a.end_output();
  }
}

// Keys, "Cubic convolution interpolation for digital image processing" (1981); c is his free parameter.
template <class R>
R cubic(R x, R c) {
  x = std::abs(x);
  if (x <= 1) return ((c + 2) * x - (c + 3)) * x * x + 1;
  return x < 2 ? ((c * x - 5 * c) * x + 8 * c) * x - 4 * c : R(0);
}

template <class R>
R sinc(R x) {
  return x == 0 ? R(1) : std::sin(R(M_PI) * x) / (R(M_PI) * x);
}

template <class R>
void add_interpolated(ResampleAxis& a, Filter f, bool align_corners, std::optional<double> scale) {
  const R step = step_of<R>(a, align_corners, scale);
  for (int64_t o = 0; o < a.outputs; o++, a.end_output()) {
    R at = align_corners ? step * R(o) : step * (R(o) + R(0.5)) - R(0.5);
    if (f == Filter::linear && at < 0) at = 0;
    const R low = std::floor(at);
    const int64_t first = std::min(int64_t(low), a.inputs - 1);
    const R part = f == Filter::linear ? std::min(std::max(at - R(first), R(0)), R(1)) : at - low;
    if (f == Filter::linear) {
      a.add(first, 1 - part), a.add(first + 1, part);
    } else {
      for (int64_t t = -1; t <= 2; t++) a.add(int64_t(low) + t, cubic<R>(part - R(t), R(-0.75)));
    }
  }
}

// Filters as wide as an output: a smaller image takes all of the larger one into account.
template <class R>
void add_antialiased(ResampleAxis& a, Filter f, bool align_corners, std::optional<double> scale) {
  const R step = step_of<R>(a, align_corners, scale), wide = std::max(step, R(1));
  const R support = wide * (f == Filter::linear ? R(1) : f == Filter::cubic ? R(2) : R(3));
  for (int64_t o = 0; o < a.outputs; o++, a.end_output()) {
    const R center = step * (R(o) + R(0.5));
    const int64_t begin = std::max<int64_t>(0, int64_t(center - support + R(0.5)));
    const int64_t end = std::min(a.inputs, int64_t(center + support + R(0.5)));
    const size_t from = a.weight.size();
    R total = 0;
    for (int64_t i = begin; i < end; i++) {
      const R x = (R(i) - center + R(0.5)) / wide, distance = std::abs(x);
      const R w = f == Filter::linear  ? std::max(R(0), 1 - distance)
                  : f == Filter::cubic ? cubic<R>(x, R(-0.5))
                                       : (distance < 3 ? sinc(x) * sinc(x / 3) : R(0));
      a.add(i, w), total += w;
    }
    for (size_t k = from; total != 0 && k < a.weight.size(); k++) a.weight[k] = double(R(a.weight[k]) / total);
  }
}

ResampleAxis axis_of(int64_t inputs, int64_t outputs, Filter f, bool align_corners, bool antialias,
                     std::optional<double> scale, bool doubles) {
  ResampleAxis a;
  a.inputs = inputs, a.outputs = outputs;
  auto fill = [&](auto zero) {
    using R = decltype(zero);
    if (f == Filter::nearest || f == Filter::nearest_exact) add_nearest<R>(a, f == Filter::nearest_exact, scale);
    // Of one size there is nothing to do, whatever the scale.
    else if (inputs == outputs && (antialias || f == Filter::linear)) add_nearest<R>(a, false, {});
    else if (antialias) add_antialiased<R>(a, f, align_corners, scale);
    else add_interpolated<R>(a, f, align_corners, scale);
  };
  visit_float(doubles ? DType::Float64 : DType::Float32, fill);
  return a;
}

// Axes in the order that keeps what lies between them small.
std::vector<size_t> order_of(const Resampling& r, bool transposed) {
  std::vector<size_t> order;
  for (size_t i = r.axes.size(); i-- > 0;)
    if (r.axes[i].changes()) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const ResampleAxis &x = r.axes[a], &y = r.axes[b];
    return double(x.outputs) * double(y.inputs) < double(y.outputs) * double(x.inputs);
  });
  if (transposed) std::reverse(order.begin(), order.end());
  return order;
}

// x (N, C, spatial...), interpolated, or the transpose of that.
Tensor resample(const Resampling& r, const Tensor& x, bool transposed) {
  const MemoryFormat f = x.dim() == 3 ? MemoryFormat::Contiguous : suggested_format(x);
  const bool last = f != MemoryFormat::Contiguous;
  const DType d = x.is_meta() ? x.dtype() : float_of(x);
  Dims shape = x.sizes();
  for (size_t i = 0; i < r.axes.size(); i++) shape[i + 2] = transposed ? r.axes[i].inputs : r.axes[i].outputs;
  if (x.is_meta() || product(shape) == 0 || x.numel() == 0) {
    Tensor y = empty_strided(shape, contiguous_strides(shape, f), x.dtype(), x.device());
    if (!y.is_meta()) kernels::fill(y, 0);
    return y;
  }
  Tensor t = x.dtype() == d ? x : kernels::cast(x, d);
  if (!t.is_contiguous(f)) t = kernels::clone(t, f);
  const std::vector<size_t> order = order_of(r, transposed);
  if (order.empty()) return in_dtype_of(x, t.is_same(x) ? kernels::clone(t) : t);
  for (size_t i : order) {
    const ResampleAxis& a = r.axes[i];
    Dims to = t.sizes();
    to[i + 2] = transposed ? a.inputs : a.outputs;
    Tensor y = empty_strided(to, contiguous_strides(to, f), d);
    kernels::ResampleShape s{.outer = last ? to[0] : to[0] * to[1],
                             .inputs = a.inputs,
                             .outputs = a.outputs,
                             .inner = last ? to[1] : 1,
                             .start = a.start.data(),
                             .index = a.index.data()};
    for (size_t j = 0; j < r.axes.size(); j++)
      if (j != i) (j < i ? s.outer : s.inner) *= to[j + 2];
    visit_float(d, [&](auto zero) {
      using T = decltype(zero);
      const std::vector<T> weight(a.weight.begin(), a.weight.end());
      const T* from = t.data<T>();
      T* into = y.data<T>();
      Unlocked unlocked(saturating_product({s.outer, s.inner, int64_t(weight.size())}) / 4);
      if constexpr (std::is_same_v<T, float>)
        (transposed ? kernels::resample_backward_f32 : kernels::resample_f32)(s, weight.data(), from, into);
      else (transposed ? kernels::resample_backward_f64 : kernels::resample_f64)(s, weight.data(), from, into);
    });
    t = std::move(y);
  }
  return in_dtype_of(x, t);
}

// The operations, by what PyTorch calls them.
struct Variant {
  const char *mode, *schema, *node_name, *backward_schema, *backward_node_name;
  Filter filter;
  int64_t spatial;
  bool antialias;
};
#define RL_UPSAMPLE(mode, schema, node, filter, spatial, antialias)                                      \
  Variant {                                                                                              \
    mode, schema "(Tensor self) -> Tensor", node "Backward0", schema "_backward(Tensor grad) -> Tensor", \
        node "BackwardBackward0", Filter::filter, spatial, antialias                                     \
  }
constexpr Variant kKinds[] = {
    RL_UPSAMPLE("nearest", "upsample_nearest1d", "UpsampleNearest1D", nearest, 1, false),
    RL_UPSAMPLE("nearest", "upsample_nearest2d", "UpsampleNearest2D", nearest, 2, false),
    RL_UPSAMPLE("nearest", "upsample_nearest3d", "UpsampleNearest3D", nearest, 3, false),
    RL_UPSAMPLE("nearest-exact", "upsample_nearest_exact1d", "UpsampleNearestExact1D", nearest_exact, 1, false),
    RL_UPSAMPLE("nearest-exact", "upsample_nearest_exact2d", "UpsampleNearestExact2D", nearest_exact, 2, false),
    RL_UPSAMPLE("nearest-exact", "upsample_nearest_exact3d", "UpsampleNearestExact3D", nearest_exact, 3, false),
    RL_UPSAMPLE("linear", "upsample_linear1d", "UpsampleLinear1D", linear, 1, false),
    RL_UPSAMPLE("bilinear", "upsample_bilinear2d", "UpsampleBilinear2D", linear, 2, false),
    RL_UPSAMPLE("trilinear", "upsample_trilinear3d", "UpsampleTrilinear3D", linear, 3, false),
    RL_UPSAMPLE("bicubic", "upsample_bicubic2d", "UpsampleBicubic2D", cubic, 2, false),
    RL_UPSAMPLE("bilinear", "upsample_bilinear2d_aa", "UpsampleBilinear2DAa", linear, 2, true),
    RL_UPSAMPLE("bicubic", "upsample_bicubic2d_aa", "UpsampleBicubic2DAa", cubic, 2, true),
    RL_UPSAMPLE("lanczos", "upsample_lanczos2d_aa", "UpsampleLanczos2DAa", lanczos, 2, true),
};

template <size_t I>
struct UpsampleBackward;
template <size_t I>
struct Upsample {
  static constexpr auto schema = kKinds[I].schema;
  static constexpr auto node_name = kKinds[I].node_name;
  Resampling r;
  Tensor forward(Ctx&, const Resampling& how, const Tensor& x) {
    r = how;
    return resample(r, x, false);
  }
  Grads backward(Ctx&, Grads g) { return {apply<UpsampleBackward<I>>(r, g[0])}; }
};
template <size_t I>
struct UpsampleBackward {
  static constexpr auto schema = kKinds[I].backward_schema;
  static constexpr auto node_name = kKinds[I].backward_node_name;
  Resampling r;
  Tensor forward(Ctx&, const Resampling& how, const Tensor& gy) {
    r = how;
    return resample(r, gy, true);
  }
  Grads backward(Ctx&, Grads g) { return {apply<Upsample<I>>(r, g[0])}; }
};

template <size_t... I>
Tensor apply_kind(size_t kind, const Resampling& r, const Tensor& x, std::index_sequence<I...>) {
  using Apply = Tensor (*)(const Resampling&, const Tensor&);
  static constexpr Apply all[] = {[](const Resampling& how, const Tensor& t) { return apply<Upsample<I>>(how, t); }...};
  return all[kind](r, x);
}

struct Interpolate {
  static constexpr auto schema =
      "_interpolate(Tensor input, int[] size, str mode, bool align_corners=False, bool antialias=False, "
      "float? scale_d=None, float? scale_h=None, float? scale_w=None) -> Tensor";
  static constexpr auto doc =
      "Resizes input (N, C, spatial...) to size; see rushlight.nn.functional.interpolate. The scales, where given, say "
      "how far apart outputs are, instead of the two sizes.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, IntSpan size, std::string_view mode, bool align_corners, bool antialias,
                 std::optional<double> scale_d, std::optional<double> scale_h, std::optional<double> scale_w) {
    const int64_t spatial = x.dim() - 2;
    RL_CHECK(spatial == int64_t(size.size()), "interpolate: size ", size, " does not fit input ", x.sizes());
    size_t k = 0;
    while (k < std::size(kKinds) &&
           (kKinds[k].mode != mode || kKinds[k].spatial != spatial || kKinds[k].antialias != antialias))
      k++;
    RL_CHECK_KIND(k < std::size(kKinds), NotImplemented, "interpolate: mode '", mode, "'",
                  antialias ? " with antialias" : "", " does not take input of ", x.dim(), " dimensions: shape ",
                  x.sizes());
    const Filter f = kKinds[k].filter;
    const bool bytes = x.dtype() == DType::UInt8 && (f == Filter::nearest || f == Filter::nearest_exact);
    RL_CHECK_KIND(x.is_floating() || bytes, NotImplemented, "interpolate is not implemented for ", x.dtype(),
                  " in mode '", mode, "'", hint("convert with .float()"));
    RL_CHECK(x.sizes()[1] > 0, "interpolate: the input has no channels: shape ", x.sizes());
    const std::optional<double> scales[] = {scale_d, scale_h, scale_w};
    Resampling r;
    for (int64_t i = 0; i < spatial; i++) {
      RL_CHECK(x.sizes()[i + 2] > 0 && size[i] > 0, "interpolate: sizes must be above 0, the input's shape is ",
               x.sizes(), ", size is ", size);
      RL_CHECK(size[i] < int64_t(1) << 31, "interpolate: size ", size, " is larger than any memory");
      r.axes.push_back(axis_of(x.sizes()[i + 2], size[i], f, align_corners, antialias, scales[3 - spatial + i],
                               x.dtype() == DType::Float64));
    }
    return apply_kind(k, r, x, std::make_index_sequence<std::size(kKinds)>());
  }
};
RL_BIND(Interpolate, hidden)

}  // namespace
}  // namespace ops
}  // namespace rushlight
