// Pooling of volumes, and what undoes max pooling.
#include "base/size_math.h"
#include "base/unlocked.h"
#include "ops/pool_boxes.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

using OptInts = std::optional<IntSpan>;

Dims triple_of(const char* op, const char* what, IntSpan values) {
  RL_CHECK(values.size() == 1 || values.size() == 3, op, ": ", what, " must be one number or three, got ", values);
  return values.size() == 3 ? values.dims() : Dims(3, values[0]);
}

struct Window3d {
  Dims size, stride, padding, dilation;
  bool ceil_mode;
};

Window3d window_of(const char* op, IntSpan size, const OptInts& stride, IntSpan padding, IntSpan dilation,
                   bool ceil_mode) {
  return {triple_of(op, "kernel_size", size), triple_of(op, "stride", !stride || stride->empty() ? size : *stride),
          triple_of(op, "padding", padding), triple_of(op, "dilation", dilation), ceil_mode};
}

// The windows of one axis: those parts of them that lie inside.
Boxes::Axis axis_of(const char* op, int64_t extent, const Window3d& w, size_t i, bool count_padding) {
  const int64_t size = w.size[i], stride = w.stride[i], padding = w.padding[i], dilation = w.dilation[i];
  const int64_t covers = checked_add(op, checked_mul(op, size - 1, dilation), 1);
  RL_CHECK(padding >= 0 && padding <= covers / 2, op, ": padding ", w.padding,
           " must be at least 0 and at most half of the kernel's ", w.size);
  const int64_t outputs = pooled_size(op, extent, size, stride, padding, dilation, w.ceil_mode);
  RL_CHECK(outputs > 0, op, ": a dimension of ", extent, " is smaller than the kernel's ", size,
           ": the output would have ", outputs);
  RL_CHECK(outputs < int64_t(1) << 31, op, ": the output is larger than any memory");
  Boxes::Axis axis;
  axis.inputs = extent, axis.step = dilation;
  for (int64_t o = 0; o < outputs; o++) {
    const int64_t start = o * stride - padding, end = std::min(start + covers, extent);
    const int64_t begin = start >= 0 ? start : start + ceil_div(-start, dilation) * dilation;
    axis.begin.push_back(begin), axis.end.push_back(end);
    axis.size.push_back(count_padding ? std::min(start + covers, extent + padding) - start : end - begin);
  }
  return axis;
}

Boxes boxes_of(const char* op, const Tensor& x, const Window3d& w, bool count_padding = false) {
  RL_CHECK(x.dim() == 5 || x.dim() == 4, op, ": input must be (N, C, D, H, W) or (C, D, H, W), got shape ", x.sizes());
  RL_CHECK_KIND(x.is_floating(), NotImplemented, op, " is not implemented for ", x.dtype(),
                hint("convert with .float()"));
  for (size_t i = 0; i < 3; i++) {
    RL_CHECK(w.size[i] > 0, op, ": kernel_size must be positive, got ", w.size);
    RL_CHECK(w.stride[i] > 0, op, ": stride must be positive, got ", w.stride);
    RL_CHECK(w.dilation[i] > 0, op, ": dilation must be positive, got ", w.dilation);
  }
  for (int64_t d = x.dim() - 4; d < x.dim(); d++)
    RL_CHECK(x.sizes()[d] > 0, op, ": the volumes are empty: input has shape ", x.sizes());
  Boxes b;
  for (size_t i = 0; i < 3; i++) b.axes.push_back(axis_of(op, x.sizes()[x.dim() - 3 + i], w, i, count_padding));
  return b;
}

struct Max3d {
  static constexpr auto schema = "max_pool3d_with_indices(Tensor self) -> (Tensor, Tensor)";
  static constexpr auto node_name = "MaxPool3DWithIndicesBackward0";
};
struct Average3d {
  static constexpr auto schema = "avg_pool3d(Tensor self) -> Tensor";
  static constexpr auto node_name = "AvgPool3DBackward0";
  static constexpr auto backward_schema = "avg_pool3d_backward(Tensor grad) -> Tensor";
  static constexpr auto backward_node_name = "AvgPool3DBackwardBackward0";
};

struct MaxPool3dWithIndices {
  static constexpr auto schema =
      "max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3]? stride=None, int[3] padding=0, "
      "int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)";
  static constexpr auto doc = "The largest value in each box, and where in its (D, H, W) volume it was.";
  static constexpr Kind kind = Kind::composite;
  std::tuple<Tensor, Tensor> forward(Ctx&, const Tensor& x, IntSpan size, const OptInts& stride, IntSpan padding,
                                     IntSpan dilation, bool ceil_mode) {
    Boxes b = boxes_of("max_pool3d", x, window_of("max_pool3d", size, stride, padding, dilation, ceil_mode));
    b.channels_last_3d = true;
    return apply<BoxMax<Max3d>>(b, x);
  }
};

struct MaxPool3d {
  static constexpr auto schema =
      "max_pool3d(Tensor self, int[3] kernel_size, int[3]? stride=None, int[3] padding=0, int[3] dilation=1, "
      "bool ceil_mode=False) -> Tensor";
  static constexpr auto doc = "The largest value in each box.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, IntSpan size, const OptInts& stride, IntSpan padding, IntSpan dilation,
                 bool ceil_mode) {
    return std::get<0>(apply<MaxPool3dWithIndices>(x, size, stride, padding, dilation, ceil_mode));
  }
};

struct AvgPool3d {
  static constexpr auto schema =
      "avg_pool3d(Tensor input, int[3] kernel_size, int[3]? stride=None, int[3] padding=0, bool ceil_mode=False, "
      "bool count_include_pad=True, int? divisor_override=None) -> Tensor";
  static constexpr auto doc = "The mean of each box of input, (N, C, D, H, W) or (C, D, H, W); see avg_pool2d.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, IntSpan size, const OptInts& stride, IntSpan padding, bool ceil_mode,
                 bool count_padding, OptInt divisor) {
    RL_CHECK(!divisor || *divisor != 0, "avg_pool3d: divisor_override must not be 0");
    Boxes b =
        boxes_of("avg_pool3d", x, window_of("avg_pool3d", size, stride, padding, {1, 1, 1}, ceil_mode), count_padding);
    b.divisor = divisor.value_or(0);
    return apply<BoxAverage<Average3d>>(b, x);
  }
};

// Puts each value at its index in a plane or volume of zeros; of several at one place the last one stays.
Tensor unpool(const char* op, const Tensor& x, const Tensor& indices, IntSpan size) {
  const int64_t spatial = int64_t(size.size());
  RL_CHECK(x.dim() == spatial + 1 || x.dim() == spatial + 2, op, ": input must have ", spatial + 1, " or ", spatial + 2,
           " dimensions, got shape ", x.sizes());
  RL_CHECK(indices.dtype() == DType::Int64, op, ": indices must be int64, got ", indices.dtype());
  RL_CHECK(indices.sizes() == x.sizes(), op, ": indices of shape ", indices.sizes(), " do not fit input ", x.sizes());
  RL_CHECK_KIND(x.is_floating(), NotImplemented, op, " is not implemented for ", x.dtype(),
                hint("convert with .float()"));
  Dims shape = x.sizes();
  shape.resize(x.dim() - spatial);
  const int64_t planes = product(shape);
  for (int64_t s : size) {
    RL_CHECK(s >= 0, op, ": output_size must not be negative, got ", size);
    shape.push_back(s);
  }
  Tensor y = empty(shape, x.dtype(), x.device());
  if (y.is_meta()) return y;
  kernels::fill(y, 0);
  if (x.numel() == 0) return y;
  const int64_t from = x.numel() / planes, to = y.numel() / planes;
  const Tensor values = kernels::contiguous(x), places = kernels::contiguous(indices);
  const int64_t* index = places.data<int64_t>();
  for (int64_t i = 0; i < x.numel(); i++)
    RL_CHECK(index[i] >= 0 && index[i] < to, op, ": index ", index[i], " is outside of an output of ", size,
             hint("give the output_size that the pooling had as its input"));
  visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* v = values.data<T>();
    T* out = y.data<T>();
    for (int64_t p = 0; p < planes; p++, out += to, index += from, v += from)
      for (int64_t i = 0; i < from; i++) out[index[i]] = v[i];
  });
  return y;
}

Grads unpool_backward(Ctx& ctx, const Tensor& gy, int64_t spatial) {
  const Tensor indices = ctx.get(0);
  if (indices.numel() == 0) return {zeros(indices.sizes(), gy.dtype(), gy.device()), Tensor()};
  return {view(gather(flatten(gy, -spatial), -1, flatten(indices, -spatial)), indices.sizes()), Tensor()};
}

struct MaxUnpool2d {
  static constexpr auto schema = "max_unpool2d(Tensor self, Tensor indices, int[2] output_size) -> Tensor";
  static constexpr auto node_name = "MaxUnpool2DBackward0";
  static constexpr auto doc = "Puts values back where max pooling took them from; see nn.functional.max_unpool2d.";
  Tensor forward(Ctx& ctx, const Tensor& x, const Tensor& indices, IntSpan size) {
    ctx.save(indices);
    RL_CHECK(size.size() == 2, "max_unpool2d: output_size must be two numbers, got ", size);
    return unpool("max_unpool2d", x, indices, size);
  }
  Grads backward(Ctx& ctx, Grads g) { return unpool_backward(ctx, g[0], 2); }
};
struct MaxUnpool3d {
  static constexpr auto schema = "max_unpool3d(Tensor self, Tensor indices, int[3] output_size) -> Tensor";
  static constexpr auto node_name = "MaxUnpool3DBackward0";
  static constexpr auto doc = "Puts values back where max pooling took them from; see nn.functional.max_unpool2d.";
  Tensor forward(Ctx& ctx, const Tensor& x, const Tensor& indices, IntSpan size) {
    ctx.save(indices);
    RL_CHECK(size.size() == 3, "max_unpool3d: output_size must be three numbers, got ", size);
    return unpool("max_unpool3d", x, indices, size);
  }
  Grads backward(Ctx& ctx, Grads g) { return unpool_backward(ctx, g[0], 3); }
};

RL_BIND(MaxPool3dWithIndices, function)
RL_BIND(MaxPool3d, function)
RL_BIND(AvgPool3d, function)
RL_BIND(MaxUnpool2d, function)
RL_BIND(MaxUnpool3d, function)

}  // namespace
}  // namespace ops
}  // namespace rushlight
