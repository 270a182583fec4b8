// Sliding blocks of images as columns, and columns added up to images: each is the other's gradient.
#include "base/size_math.h"
#include "base/unlocked.h"
#include "ops/layout.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

struct Blocks {
  int64_t h, w, kh, kw, dil_h, dil_w, pad_h, pad_w, stride_h, stride_w;
  int64_t rows, columns;  // how many blocks fit
};

int64_t blocks_along(const char* op, int64_t extent, int64_t size, int64_t dilation, int64_t padding, int64_t stride) {
  const int64_t covers = checked_add(op, checked_mul(op, size - 1, dilation), 1);
  return floor_div(checked_add(op, checked_add(op, extent, checked_mul(op, padding, 2)), -covers), stride) + 1;
}

Blocks blocks_of(const char* op, int64_t h, int64_t w, IntSpan size, IntSpan dilation, IntSpan padding,
                 IntSpan stride) {
  for (int64_t i = 0; i < 2; i++) {
    RL_CHECK(size[i] > 0, op, ": kernel_size must be positive, got ", size);
    RL_CHECK(dilation[i] > 0, op, ": dilation must be positive, got ", dilation);
    RL_CHECK(padding[i] >= 0, op, ": padding must not be negative, got ", padding);
    RL_CHECK(stride[i] > 0, op, ": stride must be positive, got ", stride);
  }
  Blocks b{h,
           w,
           size[0],
           size[1],
           dilation[0],
           dilation[1],
           padding[0],
           padding[1],
           stride[0],
           stride[1],
           blocks_along(op, h, size[0], dilation[0], padding[0], stride[0]),
           blocks_along(op, w, size[1], dilation[1], padding[1], stride[1])};
  return b;
}

// A padded image (N, C, H, W) as its blocks (N, C, kh, kw, rows, columns).
Tensor view_of_blocks(const Blocks& b, const Tensor& padded) {
  const Dims &sizes = padded.sizes(), &strides = padded.strides();
  const Dims shape{sizes[0], sizes[1], b.kh, b.kw, b.rows, b.columns};
  const Dims steps{strides[0],
                   strides[1],
                   wrapping_mul(b.dil_h, strides[2]),
                   wrapping_mul(b.dil_w, strides[3]),
                   wrapping_mul(b.stride_h, strides[2]),
                   wrapping_mul(b.stride_w, strides[3])};
  return alias(padded, shape, steps, padded.offset());
}

Tensor padded_zeros(const Blocks& b, int64_t n, int64_t c, DType d) {
  Tensor t = empty({n, c, b.h + 2 * b.pad_h, b.w + 2 * b.pad_w}, d);
  kernels::fill(t, 0);
  return t;
}
Tensor inside_of(const Blocks& b, const Tensor& padded) {
  return narrow(narrow(padded, 2, b.pad_h, b.h), 3, b.pad_w, b.w);
}

Tensor im2col(const Blocks& b, const Tensor& input) {
  const Tensor x = as_batch(input, 2);
  const int64_t n = x.sizes()[0], c = x.sizes()[1];
  const Dims shape{n, c * b.kh * b.kw, b.rows * b.columns};
  if (x.is_meta()) return unbatch(empty(shape, x.dtype(), x.device()), input.dim() == 3);
  Tensor padded = x;
  if (b.pad_h || b.pad_w) {
    padded = padded_zeros(b, n, c, x.dtype());
    kernels::copy_into(inside_of(b, padded), x);
  }
  Tensor columns = kernels::clone(view_of_blocks(b, padded), MemoryFormat::Contiguous);
  return unbatch(alias(columns, shape, contiguous_strides(shape), 0), input.dim() == 3);
}

Tensor col2im(const Blocks& b, const Tensor& input) {
  const Tensor columns = kernels::contiguous(input.dim() == 2 ? as_batch(input, 1) : input);
  const int64_t n = columns.sizes()[0], c = columns.sizes()[1] / (b.kh * b.kw);
  if (input.is_meta()) return unbatch(empty({n, c, b.h, b.w}, input.dtype(), input.device()), input.dim() == 2);
  const Tensor padded = padded_zeros(b, n, c, input.dtype()), to = view_of_blocks(b, padded);
  const Tensor from = view(columns, {n, c, b.kh, b.kw, b.rows, b.columns});
  // Blocks overlap, the places of one element of the kernel do not.
  for (int64_t i = 0; i < b.kh; i++)
    for (int64_t j = 0; j < b.kw; j++)
      add_(select_index(select_index(to, 2, i), 2, j), select_index(select_index(from, 2, i), 2, j));
  Tensor y = b.pad_h || b.pad_w ? kernels::clone(inside_of(b, padded), MemoryFormat::Contiguous) : padded;
  return unbatch(y, input.dim() == 2);
}

struct Col2Im;
struct Im2Col {
  static constexpr auto schema =
      "im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor";
  static constexpr auto doc = "Sliding blocks of images as columns; see rushlight.nn.functional.unfold.";
  static constexpr auto node_name = "Im2ColBackward0";
  Blocks b;
  Tensor forward(Ctx&, const Tensor& x, IntSpan size, IntSpan dilation, IntSpan padding, IntSpan stride) {
    RL_CHECK(x.dim() == 4 || x.dim() == 3, "unfold: input must be (N, C, H, W) or (C, H, W), got shape ", x.sizes());
    RL_CHECK_KIND(x.is_floating() || x.dtype() == DType::Bool, NotImplemented, "unfold is not implemented for ",
                  x.dtype(), hint("convert with .float()"));
    for (int64_t d = x.dim() - 3; d < x.dim(); d++)
      RL_CHECK(x.sizes()[d] > 0, "unfold: the images are empty: input has shape ", x.sizes());
    b = blocks_of("unfold", x.size(-2), x.size(-1), size, dilation, padding, stride);
    RL_CHECK(b.rows > 0 && b.columns > 0, "unfold: images of (", b.h, ", ", b.w, ") are smaller than the kernel of ",
             size, " with dilation ", dilation, " and padding ", padding);
    const auto product = [](int64_t m, int64_t n) { return checked_mul("unfold", m, n); };
    product(product(x.size(-3), product(b.kh, b.kw)), product(b.rows, b.columns));
    return im2col(b, x);
  }
  Grads backward(Ctx& ctx, Grads g);
};
struct Col2Im {
  static constexpr auto schema =
      "col2im(Tensor self, int[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> "
      "Tensor";
  static constexpr auto doc = "Columns added up to images; see rushlight.nn.functional.fold.";
  static constexpr auto node_name = "Col2ImBackward0";
  Blocks b;
  Tensor forward(Ctx&, const Tensor& x, IntSpan output, IntSpan size, IntSpan dilation, IntSpan padding,
                 IntSpan stride) {
    RL_CHECK(x.dim() == 3 || x.dim() == 2, "fold: input must be (N, columns, blocks) or (columns, blocks), got shape ",
             x.sizes());
    RL_CHECK_KIND(x.is_floating() || x.dtype() == DType::Bool, NotImplemented, "fold is not implemented for ",
                  x.dtype(), hint("convert with .float()"));
    b = blocks_of("fold", output[0], output[1], size, dilation, padding, stride);
    const int64_t block = checked_mul("fold", b.kh, b.kw);
    RL_CHECK(x.size(-2) > 0 && x.size(-2) % block == 0, "fold: a column of input ", x.sizes(), " has ", x.size(-2),
             " elements, no multiple of the kernel's ", block);
    const int64_t wanted = b.rows > 0 && b.columns > 0 ? checked_mul("fold", b.rows, b.columns) : 0;
    RL_CHECK(output[0] > 0 && output[1] > 0 && wanted > 0 && x.size(-1) == wanted, "fold: input ", x.sizes(), " has ",
             x.size(-1), " blocks, an output of ", output, " takes ", wanted, " (", b.rows, " * ", b.columns, ")");
    return col2im(b, x);
  }
  Grads backward(Ctx&, Grads g) {
    return {apply<Im2Col>(g[0], Dims{b.kh, b.kw}, Dims{b.dil_h, b.dil_w}, Dims{b.pad_h, b.pad_w},
                          Dims{b.stride_h, b.stride_w})};
  }
};
Grads Im2Col::backward(Ctx&, Grads g) {
  return {apply<Col2Im>(g[0], Dims{b.h, b.w}, Dims{b.kh, b.kw}, Dims{b.dil_h, b.dil_w}, Dims{b.pad_h, b.pad_w},
                        Dims{b.stride_h, b.stride_w})};
}

RL_BIND(Im2Col, hidden)
RL_BIND(Col2Im, hidden)

}  // namespace
}  // namespace ops
}  // namespace rushlight
