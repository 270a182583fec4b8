// Sampling images and volumes at the places of a grid, and grids from affine maps.
#include "kernels/grid_sample.h"

#include "base/size_math.h"
#include "base/unlocked.h"
#include "ops/layout.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

using kernels::GridShape;

struct Sampling {
  int64_t mode, padding;
  bool align_corners;
};

GridShape shape_of(const Sampling& s, const Tensor& x, const Tensor& grid) {
  GridShape g{.n = x.sizes()[0],
              .c = x.sizes()[1],
              .axes = x.dim() - 2,
              .points = 1,
              .inputs = {1, 1, 1},
              .mode = kernels::GridMode(s.mode),
              .padding = kernels::GridPadding(s.padding),
              .align_corners = s.align_corners};
  for (int64_t a = 0; a < g.axes; a++) g.inputs[a] = x.sizes()[a + 2], g.points *= grid.sizes()[a + 1];
  return g;
}

Tensor sample(const Sampling& how, const Tensor& x, const Tensor& grid) {
  Dims shape{x.sizes()[0], x.sizes()[1]};
  for (int64_t a = 1; a < grid.dim() - 1; a++) shape.push_back(grid.sizes()[a]);
  const DType d = x.is_meta() ? x.dtype() : float_of(x);
  Tensor y = empty(shape, d, x.device());
  if (y.is_meta() || y.numel() == 0) return in_dtype_of(x, y);
  const GridShape s = shape_of(how, x, grid);
  const Tensor from = ready(x, d), places = ready(grid, d);
  visit_float(d, [&](auto zero) {
    using T = decltype(zero);
    const T *in = from.data<T>(), *at = places.data<T>();
    T* out = y.data<T>();
    Unlocked unlocked(y.numel() * 4);
    kernels::grid_sample(s, in, at, out);
  });
  return in_dtype_of(x, y);
}

void check_grid(const char* op, const Tensor& x, const Tensor& grid, const Sampling& s) {
  RL_CHECK(x.dim() == 4 || x.dim() == 5, op, ": input must be (N, C, H, W) or (N, C, D, H, W), got shape ", x.sizes());
  RL_CHECK(grid.dim() == x.dim() && grid.sizes()[0] == x.sizes()[0] && grid.size(-1) == x.dim() - 2, op, ": grid ",
           grid.sizes(), " does not fit input ", x.sizes(), ": it must be (", x.sizes()[0], ", ",
           x.dim() == 4 ? "H, W, 2)" : "D, H, W, 3)");
  RL_CHECK_KIND(x.is_floating(), NotImplemented, op, " is not implemented for ", x.dtype(),
                hint("convert with .float()"));
  RL_CHECK(x.dtype() == grid.dtype(), op, ": input is ", x.dtype(), ", grid ", grid.dtype(), ": they must be the same",
           hint("convert the grid with .to(input.dtype)"));
  for (int64_t d = 2; d < x.dim(); d++)
    RL_CHECK(x.sizes()[d] > 0, op, ": the images are empty: input has shape ", x.sizes());
  RL_CHECK(s.mode >= 0 && s.mode <= 2, op, ": interpolation_mode must be 0, 1 or 2, got ", s.mode);
  RL_CHECK(s.padding >= 0 && s.padding <= 2, op, ": padding_mode must be 0, 1 or 2, got ", s.padding);
  RL_CHECK(x.dim() == 4 || s.mode != 2, op, ": mode 'bicubic' is for images (N, C, H, W), got shape ", x.sizes());
}

struct GridSamplerBackward {
  static constexpr auto schema = "grid_sampler_backward(Tensor grad, Tensor input, Tensor grid) -> (Tensor, Tensor)";
  std::tuple<Tensor, Tensor> forward(Ctx&, const Sampling& how, bool for_x, bool for_grid, const Tensor& gy,
                                     const Tensor& x, const Tensor& grid) {
    const DType d = x.is_meta() ? x.dtype() : float_of(x);
    Tensor gx = for_x ? empty(x.sizes(), d, x.device()) : Tensor();
    Tensor gg = for_grid ? empty(grid.sizes(), d, x.device()) : Tensor();
    if (x.is_meta()) return {gx, gg};
    if (gy.numel() == 0) {
      for (const Tensor* t : {&gx, &gg})
        if (*t) kernels::fill(*t, 0);
    } else {
      const GridShape s = shape_of(how, x, grid);
      const Tensor from = ready(gy, d), values = ready(x, d), places = ready(grid, d);
      visit_float(d, [&](auto zero) {
        using T = decltype(zero);
        const T *g = from.data<T>(), *in = values.data<T>(), *at = places.data<T>();
        T *to_x = gx ? gx.data<T>() : nullptr, *to_grid = gg ? gg.data<T>() : nullptr;
        Unlocked unlocked(from.numel() * 4);
        kernels::grid_sample_backward(s, g, in, at, to_x, to_grid);
      });
    }
    return {gx ? in_dtype_of(x, gx) : gx, gg ? in_dtype_of(x, gg) : gg};
  }
  Grads backward(Ctx&, Grads) { fail(ErrorKind::Runtime, "grid_sample has no second derivative"); }
};

template <int Axes>
struct GridSampler {
  static constexpr auto schema = "grid_sampler(Tensor input, Tensor grid) -> Tensor";
  static constexpr auto node_name = Axes == 2 ? "GridSampler2DBackward0" : "GridSampler3DBackward0";
  Sampling s;
  Tensor forward(Ctx& ctx, const Sampling& how, const Tensor& x, const Tensor& grid) {
    s = how;
    ctx.save(x), ctx.save(grid);
    return sample(s, x, grid);
  }
  Grads backward(Ctx& ctx, Grads g) {
    auto [gx, gg] = apply<GridSamplerBackward>(s, ctx.need(0), ctx.need(1), g[0], ctx.get(0), ctx.get(1));
    return {gx, gg};
  }
};

struct GridSample {
  static constexpr auto schema =
      "grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor";
  static constexpr auto doc =
      "Values of input at the places of grid; see rushlight.nn.functional.grid_sample. The modes are 0 bilinear, "
      "1 nearest, 2 bicubic, and 0 zeros, 1 border, 2 reflection.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, const Tensor& grid, int64_t mode, int64_t padding, bool align_corners) {
    const Sampling s{mode, padding, align_corners};
    check_grid("grid_sample", x, grid, s);
    return x.dim() == 4 ? apply<GridSampler<2>>(s, x, grid) : apply<GridSampler<3>>(s, x, grid);
  }
};

// n places from -1 to 1: of the outermost pixels' centers, or of their edges.
Tensor places_along(int64_t n, bool align_corners, DType d) {
  Tensor t = empty({n}, d);
  visit_float(d, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < n; i++)
      t.data<T>()[i] = n == 1          ? T(0)
                       : align_corners ? T(double(2 * i) / double(n - 1) - 1)
                                       : T(double(2 * i + 1) / double(n) - 1);
  });
  return t;
}

// The places of all points (d * h * w, axes + 1): the coordinates, the last axis first, and a one.
Tensor all_places(IntSpan spatial, bool align_corners, DType d) {
  const int64_t axes = int64_t(spatial.size());
  Dims shape = spatial.dims();
  shape.push_back(axes + 1);
  Tensor t = empty(shape, d);
  kernels::fill(t, 1);
  for (int64_t a = 0; a < axes; a++) {
    Dims line(axes, 1);
    line[a] = spatial[a];
    kernels::copy_into(select_index(t, axes, axes - 1 - a), view(places_along(spatial[a], align_corners, d), line));
  }
  return view(t, {product(spatial), axes + 1});
}

struct AffineGrid {
  static constexpr auto schema = "affine_grid_generator(Tensor theta, int[] size, bool align_corners) -> Tensor";
  static constexpr auto doc = "The grid of an affine map; see rushlight.nn.functional.affine_grid.";
  static constexpr auto node_name = "AffineGridGeneratorBackward0";
  Dims spatial;
  bool align;
  Tensor forward(Ctx&, const Tensor& theta, IntSpan size, bool align_corners) {
    RL_CHECK(size.size() == 4 || size.size() == 5, "affine_grid: size must be (N, C, H, W) or (N, C, D, H, W), got ",
             size);
    const int64_t axes = int64_t(size.size()) - 2;
    RL_CHECK_KIND(theta.is_floating(), NotImplemented, "affine_grid is not implemented for ", theta.dtype());
    RL_CHECK(theta.sizes() == Dims({size[0], axes, axes + 1}), "affine_grid: theta of shape ", theta.sizes(),
             " does not fit size ", size, ": it must be (", size[0], ", ", axes, ", ", axes + 1, ")");
    Dims shape{size[0]};
    spatial.clear(), align = align_corners;
    for (size_t i = 2; i < size.size(); i++) {
      RL_CHECK(size[i] > 0, "affine_grid: sizes must be above 0, got ", size);
      spatial.push_back(size[i]), shape.push_back(size[i]);
    }
    shape.push_back(axes);
    product(shape);
    if (theta.is_meta()) return empty(shape, theta.dtype(), theta.device());
    const DType d = float_of(theta);
    const Tensor maps = theta.dtype() == d ? theta : kernels::cast(theta, d);
    return in_dtype_of(theta, view(matmul(all_places(spatial, align, d), transpose(maps, 1, 2)), shape));
  }
  Grads backward(Ctx&, Grads g) {
    const Tensor& gy = g[0];
    const int64_t axes = int64_t(spatial.size());
    const DType d = gy.is_meta() ? gy.dtype() : float_of(gy);
    if (gy.is_meta()) return {empty({gy.sizes()[0], axes, axes + 1}, d, gy.device())};
    const Tensor points = reshape(gy.dtype() == d ? gy : to_dtype(gy, d), {gy.sizes()[0], product(spatial), axes});
    return {matmul(transpose(points, 1, 2), all_places(spatial, align, d))};
  }
};

RL_BIND(GridSample, function)
RL_BIND(AffineGrid, function)

}  // namespace
}  // namespace ops
}  // namespace rushlight
