// Padding: with a constant, or with values from the tensor itself. (Around the other end: nn.functional, in Python.)
#include "base/size_math.h"
#include "base/unlocked.h"
#include "kernels/edge_pad.h"
#include "ops/layout.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

using kernels::Edge;

struct ConstantPad {
  static constexpr auto schema = "constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor";
  static constexpr auto doc =
      "self surrounded by a constant; pad holds widths (before, after) of the last dimension, then of the one before "
      "it, and so on. Negative widths crop.";
  Dims widths;
  Tensor forward(Ctx&, const Tensor& x, IntSpan pad, Scalar value) {
    RL_CHECK(pad.size() % 2 == 0, "constant_pad_nd: widths come in pairs (before, after), got ", pad.size(),
             " of them");
    RL_CHECK(int64_t(pad.size()) <= 2 * x.dim(), "constant_pad_nd: ", pad.size() / 2,
             " dimensions are to be padded, but input has ", x.dim());
    widths = pad.dims();
    Dims shape = x.sizes();
    Tensor from = x;
    bool grows = false;
    for (size_t i = 0; i < pad.size() / 2; i++) {
      const int64_t d = x.dim() - 1 - int64_t(i), before = pad[2 * i], after = pad[2 * i + 1];
      const int64_t size = shape[d];
      shape[d] = checked_add("constant_pad_nd", checked_add("constant_pad_nd", size, before), after);
      RL_CHECK(shape[d] >= 0 && before >= -size && after >= -size, "constant_pad_nd: dimension ", d, " has size ", size,
               ", from which (", before, ", ", after, ") cannot be cropped");
      from = slice(from, d, std::max<int64_t>(-before, 0), x.sizes()[d] - std::max<int64_t>(-after, 0));
      grows |= before > 0 || after > 0;
    }
    if (!grows) return kernels::clone(from);
    const MemoryFormat format = prefers_channels_last(x) ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous;
    const Tensor y = empty_strided(shape, contiguous_strides(shape, format), x.dtype(), x.device());
    if (y.is_meta()) return y;
    kernels::fill(y, value);
    Tensor inside = y;
    for (size_t i = 0; i < pad.size() / 2; i++) {
      const int64_t d = x.dim() - 1 - int64_t(i);
      inside = narrow(inside, d, std::max<int64_t>(pad[2 * i], 0), from.sizes()[d]);
    }
    kernels::copy_into(inside, from);
    return y;
  }
  Grads backward(Ctx&, Grads g) {
    Dims back = widths;
    for (int64_t& w : back) w = -w;
    return {apply<ConstantPad>(g[0], IntSpan(back), Scalar(0))};
  }
};

constexpr const char* kSchemas[2][3] = {{"reflection_pad1d(Tensor self, int[2] padding) -> Tensor",
                                         "reflection_pad2d(Tensor self, int[4] padding) -> Tensor",
                                         "reflection_pad3d(Tensor self, int[6] padding) -> Tensor"},
                                        {"replication_pad1d(Tensor self, int[2] padding) -> Tensor",
                                         "replication_pad2d(Tensor self, int[4] padding) -> Tensor",
                                         "replication_pad3d(Tensor self, int[6] padding) -> Tensor"}};
constexpr const char* kNodes[2][3] = {
    {"ReflectionPad1DBackward0", "ReflectionPad2DBackward0", "ReflectionPad3DBackward0"},
    {"ReplicationPad1DBackward0", "ReplicationPad2DBackward0", "ReplicationPad3DBackward0"}};

// Linear in the gradient, whose own gradient is the padding of what comes.
template <Edge edge, int dims>
struct EdgePadBackward {
  static constexpr auto schema = "edge_pad_backward(Tensor grad, int[] padding) -> Tensor";
  kernels::EdgePad p;
  Tensor forward(Ctx&, const Tensor& grad, const kernels::EdgePad& pad, IntSpan shape);
  Grads backward(Ctx&, Grads g);
};

template <Edge edge, int dims>
struct EdgePad {
  static constexpr auto schema = kSchemas[int(edge)][dims - 1];
  static constexpr auto node_name = kNodes[int(edge)][dims - 1];
  static constexpr auto doc = edge == Edge::reflect ? "self continued by its mirror image at either end."
                                                    : "self continued by its outermost elements.";
  kernels::EdgePad p;
  Dims from;
  Tensor forward(Ctx&, const Tensor& x, IntSpan padding) {
    const std::string op = op_name(schema);
    RL_CHECK(int64_t(padding.size()) == 2 * dims, op, ": expects ", 2 * dims, " widths, got ", padding.size());
    RL_CHECK(x.dim() == dims + 1 || x.dim() == dims + 2, op, ": input must have ", dims + 1, " or ", dims + 2,
             " dimensions, got shape ", x.sizes());
    p.edge = edge, p.dims = dims;
    std::copy(padding.begin(), padding.end(), p.widths);
    from = x.sizes();
    Dims shape = from;
    for (int i = 0; i < dims; i++) {
      const int64_t d = x.dim() - 1 - i, before = padding[2 * i], after = padding[2 * i + 1];
      RL_CHECK(from[d] > 0, op, ": dimension ", d, " of ", from, " is empty and cannot be continued");
      RL_CHECK(edge == Edge::replicate || (before < from[d] && after < from[d]), op, ": padding (", before, ", ", after,
               ") must be less than the size of dimension ", d, " of input ", from);
      shape[d] = checked_add(schema, checked_add(schema, from[d], before), after);
      RL_CHECK(shape[d] > 0, op, ": dimension ", d, " has size ", from[d], ", padded by (", before, ", ", after,
               ") nothing would be left");
    }
    for (int64_t d = x.dim() - dims - 1; d < x.dim() - dims; d++)
      RL_CHECK(from[d] > 0 || (d == 0 && x.dim() == dims + 2), op, ": input ", from, " has no channels");
    RL_CHECK_KIND(x.dtype() != DType::Bool, NotImplemented, op, " is not implemented for bool",
                  hint("convert with .to(uint8)"));
    const MemoryFormat format = prefers_channels_last(x) ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous;
    if (x.is_meta()) return empty_strided(shape, contiguous_strides(shape, format), x.dtype(), x.device());
    const Tensor in = kernels::contiguous(x);
    Tensor y = empty(shape, x.dtype());
    {
      Unlocked unlocked(y.numel());
      kernels::edge_pad(p, in, y);
    }
    return format == MemoryFormat::Contiguous ? y : kernels::clone(y, format);
  }
  Grads backward(Ctx&, Grads g) { return {apply<EdgePadBackward<edge, dims>>(g[0], p, IntSpan(from))}; }
};

template <Edge edge, int dims>
Tensor EdgePadBackward<edge, dims>::forward(Ctx&, const Tensor& grad, const kernels::EdgePad& pad, IntSpan shape) {
  p = pad;
  if (grad.is_meta()) return empty(shape, grad.dtype(), grad.device());
  const DType d = float_of(grad);
  const Tensor g = ready(grad, d);
  Tensor gx = zeros(shape, d);
  {
    Unlocked unlocked(g.numel());
    kernels::edge_pad_backward(p, g, gx);
  }
  return in_dtype_of(grad, gx);
}
template <Edge edge, int dims>
Grads EdgePadBackward<edge, dims>::backward(Ctx&, Grads g) {
  return {apply<EdgePad<edge, dims>>(g[0], IntSpan(p.widths, 2 * dims))};
}

RL_BIND(ConstantPad, function)
using Reflect1 = EdgePad<Edge::reflect, 1>;
RL_BIND(Reflect1, hidden)
using Reflect2 = EdgePad<Edge::reflect, 2>;
RL_BIND(Reflect2, hidden)
using Reflect3 = EdgePad<Edge::reflect, 3>;
RL_BIND(Reflect3, hidden)
using Replicate1 = EdgePad<Edge::replicate, 1>;
RL_BIND(Replicate1, hidden)
using Replicate2 = EdgePad<Edge::replicate, 2>;
RL_BIND(Replicate2, hidden)
using Replicate3 = EdgePad<Edge::replicate, 3>;
RL_BIND(Replicate3, hidden)

}  // namespace
}  // namespace ops
}  // namespace rushlight
