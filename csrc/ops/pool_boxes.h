// Pooling over boxes that lie anywhere: what adaptive pooling and pooling of volumes have in common.
#pragma once
#include <vector>

#include "ops/layout.h"

namespace rushlight::ops {

// The boxes along each of the two or three spatial dimensions; see kernels/cpu/pool_boxes.h.
struct Boxes {
  struct Axis {
    int64_t inputs = 0, step = 1;
    std::vector<int64_t> begin, end, size;
  };
  std::vector<Axis> axes;
  int64_t divisor = 0;
  bool channels_last_3d = false;  // volumes with the channels last give such results

  int64_t spatial() const { return int64_t(axes.size()); }
};

// How many windows fit along an axis. The padding is at most half of a window.
int64_t pooled_size(const char* op, int64_t extent, int64_t size, int64_t stride, int64_t padding, int64_t dilation,
                    bool ceil_mode);

// x is (N, C, spatial...) or (C, spatial...), and so is the result.
Tensor box_average(const Boxes& b, const Tensor& x);
Tensor box_average_backward(const Boxes& b, const Tensor& gy);
// Values, and where in its plane or volume each of them was.
std::tuple<Tensor, Tensor> box_max(const Boxes& b, const Tensor& x);
Tensor box_max_backward(const Boxes& b, const Tensor& gy, const Tensor& indices);

// Adds gy (N, C, places) to zeros (N, C, volume) at the indices, recorded; leading dimensions may be missing.
Tensor scatter_to_places(const Tensor& gy, const Tensor& indices, IntSpan volume);

// Recorded; Named says what the operation is called.
template <class Named>
struct BoxAverageBackward;
template <class Named>
struct BoxAverage {
  static constexpr auto schema = Named::schema;
  static constexpr auto node_name = Named::node_name;
  Boxes b;
  Tensor forward(Ctx&, const Boxes& boxes, const Tensor& x) {
    b = boxes;
    return box_average(b, x);
  }
  Grads backward(Ctx&, Grads g) { return {apply<BoxAverageBackward<Named>>(b, g[0])}; }
};
template <class Named>
struct BoxAverageBackward {  // linear: the average is its gradient
  static constexpr auto schema = Named::backward_schema;
  static constexpr auto node_name = Named::backward_node_name;
  Boxes b;
  Tensor forward(Ctx&, const Boxes& boxes, const Tensor& gy) {
    b = boxes;
    return box_average_backward(b, gy);
  }
  Grads backward(Ctx&, Grads g) { return {apply<BoxAverage<Named>>(b, g[0])}; }
};

template <class Named>
struct BoxMax {
  static constexpr auto schema = Named::schema;
  static constexpr auto node_name = Named::node_name;
  static constexpr bool wants_undefined = true;  // no zeros for the indices
  Boxes b;
  std::tuple<Tensor, Tensor> forward(Ctx& ctx, const Boxes& boxes, const Tensor& x) {
    b = boxes;
    auto result = box_max(b, x);
    ctx.save(std::get<1>(result));
    return result;
  }
  Grads backward(Ctx& ctx, Grads g) {
    if (!g[0]) return {Tensor()};
    if (!tls.grad_enabled) return {box_max_backward(b, g[0], ctx.get(0))};
    Dims volume;
    for (const auto& axis : b.axes) volume.push_back(axis.inputs);
    return {scatter_to_places(g[0], ctx.get(0), volume)};
  }
};

}  // namespace rushlight::ops
