// Channels rearranged: among themselves, or into pixels and back.
#include "base/size_math.h"
#include "kernels/loops.h"
#include "ops/layout.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

// A copy of x seen as `split`, permuted, as `shape`, in x's memory format.
Tensor rearranged(const Tensor& x, IntSpan split, IntSpan order, IntSpan shape) {
  const MemoryFormat format = prefers_channels_last(x) ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous;
  const Tensor y = reshape(kernels::clone(permute(reshape(x, split), order), MemoryFormat::Contiguous), shape);
  return format == MemoryFormat::Contiguous ? y : kernels::clone(y, format);
}

// x's shape with the last three sizes replaced, and how many of them lie one after another.
struct Images {
  Dims shape;
  int64_t count = 1;
  Images(const char* op, const Tensor& x, std::initializer_list<int64_t> last) : shape(x.sizes()) {
    shape.resize(x.dim() - 3);
    for (int64_t n : shape) count = checked_mul(op, count, n);
    for (int64_t n : last) shape.push_back(n);
  }
};

struct PixelUnshuffle {
  static constexpr auto schema = "pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor";
  static constexpr auto doc =
      "The pixels of each r x r square as channels, r the factor: (..., C, H, W) to (..., C * r * r, H / r, W / r). "
      "Undoes pixel_shuffle.";
  int64_t r;
  Tensor forward(Ctx&, const Tensor& x, int64_t factor);
  Grads backward(Ctx&, Grads g);
};

struct PixelShuffle {
  static constexpr auto schema = "pixel_shuffle(Tensor self, int upscale_factor) -> Tensor";
  static constexpr auto doc =
      "Each r * r channels as the pixels of an r x r square, r the factor: (..., C * r * r, H, W) to "
      "(..., C, H * r, W * r) (Shi et al., 2016).";
  int64_t r;
  Tensor forward(Ctx&, const Tensor& x, int64_t factor) {
    r = factor;
    RL_CHECK(x.dim() >= 3, "pixel_shuffle: input must be (..., C, H, W), got shape ", x.sizes());
    RL_CHECK(r > 0, "pixel_shuffle: upscale_factor must be positive, got ", r);
    const char* op = "pixel_shuffle";
    const int64_t c = x.size(-3), h = x.size(-2), w = x.size(-1), square = checked_mul(op, r, r);
    RL_CHECK(c % square == 0, op, ": ", c, " channels (input ", x.sizes(), ") are not divisible by ", r, " * ", r);
    const Images to(op, x, {c / square, checked_mul(op, h, r), checked_mul(op, w, r)});
    return rearranged(x, {to.count, c / square, r, r, h, w}, {0, 1, 4, 2, 5, 3}, to.shape);
  }
  Grads backward(Ctx&, Grads g) { return {apply<PixelUnshuffle>(g[0], r)}; }
};

Tensor PixelUnshuffle::forward(Ctx&, const Tensor& x, int64_t factor) {
  r = factor;
  RL_CHECK(x.dim() >= 3, "pixel_unshuffle: input must be (..., C, H, W), got shape ", x.sizes());
  RL_CHECK(r > 0, "pixel_unshuffle: downscale_factor must be positive, got ", r);
  const char* op = "pixel_unshuffle";
  const int64_t c = x.size(-3), h = x.size(-2), w = x.size(-1);
  RL_CHECK(h % r == 0 && w % r == 0, op, ": height ", h, " and width ", w, " (input ", x.sizes(),
           ") must be divisible by ", r);
  const Images to(op, x, {checked_mul(op, c, checked_mul(op, r, r)), h / r, w / r});
  return rearranged(x, {to.count, c, h / r, r, w / r, r}, {0, 1, 3, 5, 2, 4}, to.shape);
}
Grads PixelUnshuffle::backward(Ctx&, Grads g) { return {apply<PixelShuffle>(g[0], r)}; }

struct ChannelShuffle {
  static constexpr auto schema = "channel_shuffle(Tensor self, int groups) -> Tensor";
  static constexpr auto doc =
      "The channels of (N, C, ...) dealt out anew: the first of each group, then the second of each, and so on (Zhang "
      "et al., 2017).";
  int64_t groups;
  Tensor forward(Ctx&, const Tensor& x, int64_t g) {
    groups = g;
    RL_CHECK(x.dim() > 2, "channel_shuffle: input must be (N, C, ...) with 3 dimensions or more, got shape ",
             x.sizes());
    RL_CHECK(g > 0, "channel_shuffle: groups must be positive, got ", g);
    const int64_t n = x.sizes()[0], c = x.sizes()[1];
    RL_CHECK(c % g == 0, "channel_shuffle: ", c, " channels are not divisible into ", g, " groups");
    int64_t inner = 1;
    for (int64_t d = 2; d < x.dim(); d++) inner = checked_mul("channel_shuffle", inner, x.sizes()[d]);
    return rearranged(x, {n, g, c / g, inner}, {0, 2, 1, 3}, x.sizes());
  }
  Grads backward(Ctx&, Grads g) {
    const int64_t c = g[0].sizes()[1];
    return {apply<ChannelShuffle>(g[0], c ? c / groups : int64_t(1))};
  }
};

RL_BIND(PixelShuffle, function)
RL_BIND(PixelUnshuffle, function)
RL_BIND(ChannelShuffle, function)

}  // namespace
}  // namespace ops
}  // namespace rushlight
