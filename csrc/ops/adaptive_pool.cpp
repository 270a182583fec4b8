// Adaptive pooling: the output's size is given, and the boxes follow from it.
#include "base/size_math.h"
#include "ops/pool_boxes.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

// Output i covers inputs from i * in / out, rounded down, to (i + 1) * in / out, rounded up.
Boxes adaptive_boxes(const char* op, const Tensor& x, IntSpan size) {
  Boxes b;
  for (size_t i = 0; i < size.size(); i++) {
    const int64_t in = x.sizes()[x.dim() - int64_t(size.size() - i)], out = size[i];
    RL_CHECK(out < int64_t(1) << 31, op, ": output_size ", size, " is larger than any memory");
    checked_mul(op, in, out + 1);
    Boxes::Axis axis;
    axis.inputs = in;
    for (int64_t o = 0; o < out; o++) {
      const int64_t begin = o * in / out, end = ceil_div((o + 1) * in, out);
      axis.begin.push_back(begin), axis.end.push_back(end), axis.size.push_back(end - begin);
    }
    b.axes.push_back(std::move(axis));
  }
  return b;
}

void check_adaptive(const char* op, int64_t spatial, const Tensor& x, IntSpan size) {
  RL_CHECK(int64_t(size.size()) == spatial, op, ": output_size must have ", spatial,
           spatial == 1 ? " number" : " numbers", ", got ", size);
  static constexpr const char* wanted[] = {"(N, C, L) or (C, L)", "(N, C, H, W) or (C, H, W)",
                                           "(N, C, D, H, W) or (C, D, H, W)"};
  RL_CHECK(x.dim() == spatial + 1 || x.dim() == spatial + 2, op, ": input must be ", wanted[spatial - 1],
           ", got shape ", x.sizes());
  RL_CHECK_KIND(x.is_floating(), NotImplemented, op, " is not implemented for ", x.dtype(),
                hint("convert with .float()"));
  for (int64_t s : size) RL_CHECK(s >= 0, op, ": output_size must not be negative, got ", size);
  for (int64_t d = x.dim() - spatial; d < x.dim(); d++)
    RL_CHECK(x.sizes()[d] > 0, op, ": dimension ", d, " of the input is empty: shape ", x.sizes());
}

struct Average2d {
  static constexpr auto schema = "adaptive_avg_pool2d(Tensor self) -> Tensor";
  static constexpr auto node_name = "AdaptiveAvgPool2DBackward0";
  static constexpr auto backward_schema = "adaptive_avg_pool2d_backward(Tensor grad) -> Tensor";
  static constexpr auto backward_node_name = "AdaptiveAvgPool2DBackwardBackward0";
};
struct Average3d {
  static constexpr auto schema = "adaptive_avg_pool3d(Tensor self) -> Tensor";
  static constexpr auto node_name = "AdaptiveAvgPool3DBackward0";
  static constexpr auto backward_schema = "adaptive_avg_pool3d_backward(Tensor grad) -> Tensor";
  static constexpr auto backward_node_name = "AdaptiveAvgPool3DBackwardBackward0";
};
struct Max2d {
  static constexpr auto schema = "adaptive_max_pool2d(Tensor self) -> (Tensor, Tensor)";
  static constexpr auto node_name = "AdaptiveMaxPool2DBackward0";
};
struct Max3d {
  static constexpr auto schema = "adaptive_max_pool3d(Tensor self) -> (Tensor, Tensor)";
  static constexpr auto node_name = "AdaptiveMaxPool3DBackward0";
};

template <class Named>
Tensor adaptive_average(const char* op, const Tensor& x, IntSpan size) {
  Dims all;
  for (size_t i = 1; i <= size.size(); i++) all.push_back(-int64_t(i));
  if (product(size) == 1) return mean(x, all, true);
  return apply<BoxAverage<Named>>(adaptive_boxes(op, x, size), x);
}

struct AdaptiveAvgPool1d {
  static constexpr auto schema = "adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor";
  static constexpr auto doc = "Means of as many windows as asked for; see rushlight.nn.functional.adaptive_avg_pool2d.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, IntSpan size) {
    check_adaptive("adaptive_avg_pool1d", 1, x, size);
    const int64_t shape[] = {1, size[0]};
    return squeeze(adaptive_average<Average2d>("adaptive_avg_pool1d", unsqueeze(x, -2), IntSpan(shape, 2)), -2);
  }
};
struct AdaptiveAvgPool2d {
  static constexpr auto schema = "adaptive_avg_pool2d(Tensor input, int[2] output_size) -> Tensor";
  static constexpr auto doc = "Means of as many windows as asked for; see rushlight.nn.functional.adaptive_avg_pool2d.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, IntSpan size) {
    check_adaptive("adaptive_avg_pool2d", 2, x, size);
    return adaptive_average<Average2d>("adaptive_avg_pool2d", x, size);
  }
};
struct AdaptiveAvgPool3d {
  static constexpr auto schema = "adaptive_avg_pool3d(Tensor input, int[3] output_size) -> Tensor";
  static constexpr auto doc = "Means of as many boxes as asked for; see rushlight.nn.functional.adaptive_avg_pool2d.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, IntSpan size) {
    check_adaptive("adaptive_avg_pool3d", 3, x, size);
    return adaptive_average<Average3d>("adaptive_avg_pool3d", x, size);
  }
};

struct AdaptiveMaxPool1d {
  static constexpr auto schema = "adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)";
  static constexpr auto doc = "The largest value of each of as many windows as asked for, and where it was.";
  static constexpr Kind kind = Kind::composite;
  std::tuple<Tensor, Tensor> forward(Ctx&, const Tensor& x, IntSpan size) {
    check_adaptive("adaptive_max_pool1d", 1, x, size);
    const int64_t shape[] = {1, size[0]};
    const Tensor images = unsqueeze(x, -2);
    auto [y, indices] = apply<BoxMax<Max2d>>(adaptive_boxes("adaptive_max_pool1d", images, IntSpan(shape, 2)), images);
    return {squeeze(y, -2), squeeze(indices, -2)};
  }
};
struct AdaptiveMaxPool2d {
  static constexpr auto schema = "adaptive_max_pool2d(Tensor input, int[2] output_size) -> (Tensor, Tensor)";
  static constexpr auto doc = "The largest value of each of as many windows as asked for, and where it was.";
  static constexpr Kind kind = Kind::composite;
  std::tuple<Tensor, Tensor> forward(Ctx&, const Tensor& x, IntSpan size) {
    check_adaptive("adaptive_max_pool2d", 2, x, size);
    return apply<BoxMax<Max2d>>(adaptive_boxes("adaptive_max_pool2d", x, size), x);
  }
};
struct AdaptiveMaxPool3d {
  static constexpr auto schema = "adaptive_max_pool3d(Tensor input, int[3] output_size) -> (Tensor, Tensor)";
  static constexpr auto doc = "The largest value of each of as many boxes as asked for, and where it was.";
  static constexpr Kind kind = Kind::composite;
  std::tuple<Tensor, Tensor> forward(Ctx&, const Tensor& x, IntSpan size) {
    check_adaptive("adaptive_max_pool3d", 3, x, size);
    return apply<BoxMax<Max3d>>(adaptive_boxes("adaptive_max_pool3d", x, size), x);
  }
};

RL_BIND(AdaptiveAvgPool1d, function)
RL_BIND(AdaptiveAvgPool2d, function)
RL_BIND(AdaptiveAvgPool3d, function)
RL_BIND(AdaptiveMaxPool1d, function)
RL_BIND(AdaptiveMaxPool2d, function)
RL_BIND(AdaptiveMaxPool3d, function)

}  // namespace
}  // namespace ops
}  // namespace rushlight
