#include "ops/pool_boxes.h"

#include "base/size_math.h"
#include "base/unlocked.h"
#include "kernels/cpu/pool2d.h"
#include "kernels/cpu/pool_boxes.h"
#include "ops/functions.h"

namespace rushlight::ops {
namespace {

MemoryFormat format_of(const Boxes& b, const Tensor& x) {
  return b.spatial() == 2 || b.channels_last_3d ? suggested_format(x) : MemoryFormat::Contiguous;
}

Tensor laid_out(const Tensor& x, DType d, MemoryFormat f) {
  const Tensor t = x.dtype() == d ? x : kernels::cast(x, d);
  return t.is_contiguous(f) ? t : kernels::clone(t, f);
}

kernels::BoxAxis axis_of(const Boxes::Axis& a) {
  return {.inputs = a.inputs,
          .outputs = int64_t(a.begin.size()),
          .step = a.step,
          .begin = a.begin.data(),
          .end = a.end.data(),
          .size = a.size.data()};
}

kernels::BoxPool pool_of(const Boxes& b, int64_t n, int64_t c, MemoryFormat f) {
  static constexpr int64_t zero = 0, one = 1;
  kernels::BoxPool p{.outer = f == MemoryFormat::Contiguous ? n * c : n,
                     .inner = f == MemoryFormat::Contiguous ? 1 : c,
                     .d = {1, 1, 1, &zero, &one, &one},
                     .h = axis_of(b.axes[b.axes.size() - 2]),
                     .w = axis_of(b.axes.back()),
                     .divisor = b.divisor};
  if (b.spatial() == 3) p.d = axis_of(b.axes[0]);
  return p;
}

// Elements read, as an estimate of work.
int64_t work_of(const Boxes& b, int64_t planes) {
  int64_t work = planes;
  for (const Boxes::Axis& a : b.axes) {
    int64_t taps = 1;
    for (size_t i = 0; i < a.begin.size(); i++) taps = std::max(taps, (a.end[i] - a.begin[i]) / a.step);
    work = saturating_product({work, int64_t(a.begin.size()), taps});
  }
  return work / 4;
}

Dims shape_with(const Boxes& b, int64_t n, int64_t c, bool outputs) {
  Dims shape{n, c};
  for (const Boxes::Axis& a : b.axes) shape.push_back(outputs ? int64_t(a.begin.size()) : a.inputs);
  return shape;
}

Tensor empty_in(IntSpan shape, DType d, MemoryFormat f, Device device) {
  return empty_strided(shape, contiguous_strides(shape, f), d, device);
}

}  // namespace

int64_t pooled_size(const char* op, int64_t extent, int64_t size, int64_t stride, int64_t padding, int64_t dilation,
                    bool ceil_mode) {
  const int64_t room = checked_add(op, extent, 2 * padding - dilation * (size - 1)) - 1;
  int64_t out = (ceil_mode ? ceil_div(room, stride) : floor_div(room, stride)) + 1;
  if (ceil_mode && out > ceil_div(checked_add(op, extent, padding), stride)) out--;  // each window starts in the image
  return out;
}

Tensor box_average(const Boxes& b, const Tensor& input) {
  const Tensor batch = as_batch(input, b.spatial());
  const int64_t n = batch.sizes()[0], c = batch.sizes()[1];
  const MemoryFormat f = format_of(b, batch);
  const DType d = input.is_meta() ? input.dtype() : float_of(input);
  Tensor y = empty_in(shape_with(b, n, c, true), d, f, input.device());
  if (!y.is_meta() && y.numel()) {
    const Tensor x = laid_out(batch, d, f);
    const kernels::BoxPool p = pool_of(b, n, c, f);
    Unlocked unlocked(work_of(b, n * c));
    RL_CALL_FLOAT(box_average, d, p, x.data<T>(), y.data<T>())
  }
  return unbatch(in_dtype_of(input, y), input.dim() == b.spatial() + 1);
}

Tensor box_average_backward(const Boxes& b, const Tensor& grad) {
  const Tensor batch = as_batch(grad, b.spatial());
  const int64_t n = batch.sizes()[0], c = batch.sizes()[1];
  const MemoryFormat f = format_of(b, batch);
  const DType d = grad.is_meta() ? grad.dtype() : float_of(grad);
  Tensor gx = empty_in(shape_with(b, n, c, false), d, f, grad.device());
  if (!gx.is_meta() && gx.numel()) {
    const Tensor gy = laid_out(batch, d, f);
    const kernels::BoxPool p = pool_of(b, n, c, f);
    Unlocked unlocked(work_of(b, n * c));
    RL_CALL_FLOAT(box_average_backward, d, p, gy.data<T>(), gx.data<T>())
  }
  return unbatch(in_dtype_of(grad, gx), grad.dim() == b.spatial() + 1);
}

std::tuple<Tensor, Tensor> box_max(const Boxes& b, const Tensor& input) {
  const Tensor batch = as_batch(input, b.spatial());
  const int64_t n = batch.sizes()[0], c = batch.sizes()[1];
  const MemoryFormat f = format_of(b, batch);
  const DType d = input.is_meta() ? input.dtype() : float_of(input);
  const Dims shape = shape_with(b, n, c, true);
  Tensor y = empty_in(shape, d, f, input.device()), indices = empty_in(shape, DType::Int64, f, input.device());
  if (!y.is_meta() && y.numel()) {
    const Tensor x = laid_out(batch, d, f);
    const kernels::BoxPool p = pool_of(b, n, c, f);
    Unlocked unlocked(work_of(b, n * c));
    RL_CALL_FLOAT(box_max, d, p, x.data<T>(), y.data<T>(), indices.data<int64_t>())
  }
  const bool alone = input.dim() == b.spatial() + 1;
  return {unbatch(in_dtype_of(input, y), alone), unbatch(indices, alone)};
}

Tensor box_max_backward(const Boxes& b, const Tensor& grad, const Tensor& places) {
  const Tensor batch = as_batch(grad, b.spatial()), index_batch = as_batch(places, b.spatial());
  const int64_t n = batch.sizes()[0], c = batch.sizes()[1];
  const MemoryFormat f = format_of(b, index_batch);
  const DType d = grad.is_meta() ? grad.dtype() : float_of(grad);
  Tensor gx = empty_in(shape_with(b, n, c, false), d, f, grad.device());
  if (!gx.is_meta() && gx.numel()) {
    const Tensor gy = laid_out(batch, d, f), indices = laid_out(index_batch, DType::Int64, f);
    // As far as indices go, a volume is one column.
    const kernels::Pool2dShape s{.n = n,
                                 .c = c,
                                 .h = gx.numel() / (n * c),
                                 .w = 1,
                                 .kh = 1,
                                 .kw = 1,
                                 .stride_h = 1,
                                 .stride_w = 1,
                                 .pad_h = 0,
                                 .pad_w = 0,
                                 .dil_h = 1,
                                 .dil_w = 1,
                                 .h_out = gy.numel() / (n * c),
                                 .w_out = 1};
    const auto layout =
        f == MemoryFormat::Contiguous ? kernels::Layout::channels_first : kernels::Layout::channels_last;
    Unlocked unlocked(gx.numel());
    RL_CALL_FLOAT(max_pool2d_backward, d, s, layout, gy.data<T>(), indices.data<int64_t>(), gx.data<T>())
  }
  return unbatch(in_dtype_of(grad, gx), grad.dim() == b.spatial() + 1);
}

Tensor scatter_to_places(const Tensor& gy, const Tensor& indices, IntSpan volume) {
  const int64_t at = gy.dim() - int64_t(volume.size());
  Dims flat = gy.sizes(), shape = gy.sizes();
  flat.resize(at), shape.resize(at);
  flat.push_back(product(volume));
  for (int64_t v : volume) shape.push_back(v);
  if (product(flat) == 0) return reshape(gy, shape);  // as empty
  return view(scatter_add(zeros(flat, gy.dtype(), gy.device()), -1, flatten(indices, at), flatten(gy, at)), shape);
}

}  // namespace rushlight::ops
