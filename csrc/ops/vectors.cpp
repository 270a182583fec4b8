// Products of vectors, and distances between them.
#include "kernels/distance.h"
#include "kernels/loops.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

void check_vector(const char* op, const char* which, const Tensor& t, int64_t dim) {
  RL_CHECK(t.dim() == dim, op, ": ", which, " must have ", dim, " dimension", dim == 1 ? "" : "s", ", got shape ",
           t.sizes());
}
void check_same_dtype(const char* op, const Tensor& a, const Tensor& b) {
  RL_CHECK(a.dtype() == b.dtype(), op, ": the dtypes differ: ", Describe{a}, " and ", Describe{b},
           hint("convert one of them, for example with .to(x.dtype)"));
}
void check_factors(const char* op, DType d, const Scalar& beta, const Scalar& alpha) {
  RL_CHECK_KIND(d != DType::Bool, NotImplemented, op, " is not implemented for bool",
                hint("convert with .float() or .int()"));
  RL_CHECK(is_floating(d) || !(beta.is_floating() || alpha.is_floating()), op, ": beta and alpha must be integers for ",
           d, " tensors, got ", beta, " and ", alpha);
}

void check_broadcast(const char* op, const Tensor& x, const Dims& shape) {
  RL_CHECK(broadcast_shapes(x.sizes(), shape) == shape, op, ": self of shape ", x.sizes(),
           " cannot be broadcast to the product's ", shape);
}

Tensor times(const Tensor& t, const Scalar& by) { return by == Scalar(1) ? t : mul(t, wrapped_number(by)); }
Tensor column(const Tensor& v) { return unsqueeze(v, 1); }
Tensor transposed(const Tensor& a) { return transpose(a, -2, -1); }

// beta * self + alpha * product. With beta 0 self is not looked at: it may hold NaN.
Tensor added(const Tensor& x, const Tensor& product, const Scalar& beta, const Scalar& alpha) {
  const Tensor y = times(product, alpha);
  return beta == Scalar(0) ? y : add(expand(times(x, beta), y.sizes()), y);
}

struct Addmv {
  static constexpr auto schema =
      "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor";
  static constexpr auto doc = "beta * self + alpha * (mat @ vec).";
  Scalar beta, alpha;
  Tensor forward(Ctx& ctx, const Tensor& x, const Tensor& a, const Tensor& v, Scalar be, Scalar al) {
    beta = be, alpha = al;
    check_out_dtype("addmv", ctx, x.dtype());
    check_vector("addmv", "mat", a, 2), check_vector("addmv", "vec", v, 1);
    RL_CHECK(a.sizes()[1] == v.sizes()[0], "addmv: shapes ", a.sizes(), " and ", v.sizes(), " do not fit");
    check_same_dtype("addmv", a, v), check_same_dtype("addmv", x, a);
    check_factors("addmv", x.dtype(), beta, alpha);
    const Dims shape = {a.sizes()[0]};
    check_broadcast("addmv", x, shape);
    ctx.save(ctx.need(2) ? a : Tensor()), ctx.save(ctx.need(1) ? v : Tensor());
    return added(x, matmul(a, v), beta, alpha);
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor gx, ga, gv;
    if (ctx.need(0)) gx = times(g[0], beta);
    if (ctx.need(1)) ga = times(column(g[0]) * ctx.get(1), alpha);
    if (ctx.need(2)) gv = times(matmul(transposed(ctx.get(0)), g[0]), alpha);
    return {gx, ga, gv};
  }
};

struct Addr {
  static constexpr auto schema =
      "addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor";
  static constexpr auto doc = "beta * self + alpha times the outer product of two vectors.";
  Scalar beta, alpha;
  Tensor forward(Ctx& ctx, const Tensor& x, const Tensor& a, const Tensor& b, Scalar be, Scalar al) {
    beta = be, alpha = al;
    check_vector("addr", "vec1", a, 1), check_vector("addr", "vec2", b, 1);
    const Tensor* all[] = {&x, &a, &b};
    check_factors("addr", result_type(all), beta, alpha);
    ctx.save(ctx.need(2) ? a : Tensor()), ctx.save(ctx.need(1) ? b : Tensor());
    const Dims shape = {a.sizes()[0], b.sizes()[0]};
    check_broadcast("addr", x, shape);
    return added(x, column(a) * b, beta, alpha);
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor gx, ga, gb;
    if (ctx.need(0)) gx = times(g[0], beta);
    if (ctx.need(1)) ga = times(matmul(g[0], ctx.get(1)), alpha);
    if (ctx.need(2)) gb = times(matmul(transposed(g[0]), ctx.get(0)), alpha);
    return {gx, ga, gb};
  }
};

struct Addbmm {
  static constexpr auto schema =
      "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor";
  static constexpr auto doc = "beta * self + alpha times the sum of the products of matrices in two batches.";
  Scalar beta, alpha;
  Tensor forward(Ctx& ctx, const Tensor& x, const Tensor& a, const Tensor& b, Scalar be, Scalar al) {
    beta = be, alpha = al;
    check_out_dtype("addbmm", ctx, x.dtype());
    check_vector("addbmm", "batch1", a, 3), check_vector("addbmm", "batch2", b, 3);
    RL_CHECK(a.sizes()[0] == b.sizes()[0] && a.sizes()[2] == b.sizes()[1], "addbmm: shapes ", a.sizes(), " and ",
             b.sizes(), " do not fit");
    check_same_dtype("addbmm", a, b), check_same_dtype("addbmm", x, a);
    check_factors("addbmm", x.dtype(), beta, alpha);
    const Dims shape = {a.sizes()[1], b.sizes()[2]};
    check_broadcast("addbmm", x, shape);
    ctx.save(ctx.need(2) ? a : Tensor()), ctx.save(ctx.need(1) ? b : Tensor());
    // The batch becomes part of the inner dimension: one product.
    const int64_t inner = a.sizes()[0] * a.sizes()[2];
    const Tensor left = reshape(permute(a, Dims{1, 0, 2}), {shape[0], inner}), right = reshape(b, {inner, shape[1]});
    return kernels::contiguous(added(x, matmul(left, right), beta, alpha));
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor gx, ga, gb;
    if (ctx.need(0)) gx = times(g[0], beta);
    if (ctx.need(1)) ga = times(matmul(g[0], transposed(ctx.get(1))), alpha);
    if (ctx.need(2)) gb = times(matmul(transposed(ctx.get(0)), g[0]), alpha);
    return {gx, ga, gb};
  }
};

struct Vdot {
  static constexpr auto schema = "vdot(Tensor self, Tensor other) -> Tensor";
  static constexpr auto doc = "As dot(): the sum of the products of two equally long vectors' elements.";
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b) {
    check_out_dtype("vdot", ctx, a.dtype());
    check_vector("vdot", "self", a, 1), check_vector("vdot", "other", b, 1);
    RL_CHECK(a.sizes() == b.sizes(), "vdot: the vectors have different lengths, ", a.sizes()[0], " and ", b.sizes()[0]);
    check_same_dtype("vdot", a, b);
    ctx.save(ctx.need(1) ? a : Tensor()), ctx.save(ctx.need(0) ? b : Tensor());
    return matmul(a, b);
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor ga, gb;
    if (ctx.need(0)) ga = g[0] * ctx.get(1);
    if (ctx.need(1)) gb = g[0] * ctx.get(0);
    return {ga, gb};
  }
};

// What kron() computes has twice the dimensions of its result.
struct Merged {
  static constexpr auto schema = "_merged(Tensor self, int[] size) -> Tensor";
  static constexpr auto node_name = "UnsafeViewBackward0";
  Dims shape;
  Tensor forward(Ctx&, const Tensor& x, IntSpan size) {
    shape = x.sizes();
    const Tensor c = kernels::contiguous(x);
    return alias(c, size, contiguous_strides(size), c.offset());
  }
  Grads backward(Ctx&, Grads g) { return {reshape(g[0], shape)}; }
};

struct Kron {
  static constexpr auto schema = "kron(Tensor self, Tensor other) -> Tensor";
  static constexpr auto doc = "Kronecker's product: every element of self times other, as blocks.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& a, const Tensor& b) {
    const int64_t n = std::max(a.dim(), b.dim());
    Dims left, right, shape;
    for (int64_t d = 0; d < n; d++) {
      const int64_t i = d - (n - a.dim()), j = d - (n - b.dim()), p = i < 0 ? 1 : a.sizes()[i],
                    q = j < 0 ? 1 : b.sizes()[j];
      left.push_back(p), left.push_back(1), right.push_back(1), right.push_back(q), shape.push_back(p * q);
    }
    return apply<Merged>(reshape(a, left) * reshape(b, right), IntSpan(shape));
  }
};

struct LinalgCross {
  static constexpr auto schema = "linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor";
  static constexpr auto doc = "The cross product of vectors of three elements, which lie along dimension `dim`.";
  int64_t dim;
  static Tensor product(const Tensor& a, const Tensor& b, int64_t dim) {
    auto from = [&](const Tensor& t, int64_t shift) { return roll(t, IntSpan(&shift, 1), IntSpan(&dim, 1)); };
    return from(a, -1) * from(b, -2) - from(a, -2) * from(b, -1);
  }
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b, int64_t d) {
    RL_CHECK(a.dim() == b.dim(), "linalg.cross: both tensors must have equally many dimensions, got shapes ", a.sizes(),
             " and ", b.sizes());
    dim = wrap_dim(d, a.dim());
    RL_CHECK(a.dim() > 0 && a.sizes()[dim] == 3 && b.sizes()[dim] == 3, "linalg.cross: dimension ", d,
             " must have size 3, got shapes ", a.sizes(), " and ", b.sizes());
    const DType dtype = result_type(a, b);
    RL_CHECK_KIND(dtype != DType::Bool, NotImplemented, "linalg.cross is not implemented for bool");
    check_out_dtype("linalg.cross", ctx, dtype);
    ctx.save(ctx.need(1) ? a : Tensor()), ctx.save(ctx.need(0) ? b : Tensor());
    const Dims shape = broadcast_shapes(a.sizes(), b.sizes());
    return product(expand(a, shape), expand(b, shape), dim);
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor ga, gb;
    if (ctx.need(0)) ga = product(expand(ctx.get(1), g[0].sizes()), g[0], dim);
    if (ctx.need(1)) gb = product(g[0], expand(ctx.get(0), g[0].sizes()), dim);
    return {ga, gb};
  }
};

RL_BIND(Addmv, all_forms)
RL_BIND(Addr, all_forms)
RL_BIND(Addbmm, all_forms)
RL_BIND(Vdot, both | out)
RL_BIND(Kron, both | out)
RL_BIND(LinalgCross, hidden | out)

// --- Distances ------------------------------------------------------------------------------------------------------

// How the p-norm of vectors along `dim` (all of a tensor, without) moves with each of their elements. norm: of size 1
// along dim. 0 where it is 0.
Tensor slope_of_norm(const Tensor& x, const Tensor& norm, double p, OptInt dim) {
  const Tensor zero = wrapped_number(0.0);
  if (p == 0) return zeros_like(x);
  if (p == 1) return sign(x);
  if (p == 2) return where(eq(norm, zero), zero, x / norm);
  if (std::isinf(p)) {  // elements that reach the extremum share
    const Tensor ties = to_dtype(eq(abs(x), norm), x.dtype());
    const int64_t d = dim.value_or(0);
    return sign(x) * ties / (dim ? sum(ties, IntSpan(&d, 1), true) : sum(ties));
  }
  const Tensor slope = sign(x) * pow(abs(x), p - 1) * pow(norm, 1 - p);
  return where(eq(norm, zero), zero, p < 1 ? where(eq(x, zero), zero, slope) : slope);
}

struct Dist {
  static constexpr auto schema = "dist(Tensor self, Tensor other, Scalar p=2) -> Tensor";
  static constexpr auto doc = "The p-norm of self - other.";
  double p;
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b, Scalar order) {
    p = order.to_double();
    RL_CHECK(is_floating(result_type(a, b)), "dist is for floating point only, not ", result_type(a, b),
             hint("convert with .float() first"));
    RL_CHECK(p >= 0, "dist: p must not be negative, got ", p);
    ctx.save(a), ctx.save(b);
    Tensor y = vector_norm(a - b, p, {});
    ctx.save_output(y);
    return y;
  }
  Grads backward(Ctx& ctx, Grads g) {
    const Tensor slope = g[0] * slope_of_norm(ctx.get(0) - ctx.get(1), ctx.get(2), p, {});
    return {slope, -slope};
  }
};

struct Renorm {
  static constexpr auto schema = "renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor";
  static constexpr auto doc = "self with the slices along `dim` whose p-norm exceeds maxnorm scaled down to it.";
  double p, largest;
  Dims others;
  Tensor factor(const Tensor& norm) const {
    return where(gt(norm, wrapped_number(largest)), largest / (norm + 1e-7), wrapped_number(1.0));
  }
  Tensor forward(Ctx& ctx, const Tensor& x, Scalar order, int64_t d, Scalar maxnorm) {
    p = order.to_double(), largest = maxnorm.to_double();
    RL_CHECK(p > 0, "renorm: p must be positive, got ", p);
    RL_CHECK(largest >= 0, "renorm: maxnorm must not be negative, got ", largest);
    RL_CHECK(x.dim() > 1, "renorm: expects at least two dimensions, got shape ", x.sizes());
    RL_CHECK_KIND(is_floating(x.dtype()), Runtime, "renorm is for floating point only, not ", x.dtype());
    check_out_dtype("renorm", ctx, x.dtype());
    const int64_t dim = wrap_dim(d, x.dim());
    for (int64_t i = 0; i < x.dim(); i++)
      if (i != dim) others.push_back(i);
    ctx.save(x);
    return kernels::contiguous(x * factor(vector_norm(x, p, others, true)));
  }
  Grads backward(Ctx& ctx, Grads g) {
    const Tensor x = ctx.get(0);
    const Tensor norm = vector_norm(x, p, others, true);
    const Tensor over = gt(norm, wrapped_number(largest)), below = norm + 1e-7, zero = wrapped_number(0.0);
    const Tensor moved = where(over, -largest / (below * below), zero);  // of the factor, with the norm
    return {g[0] * factor(norm) + sum(g[0] * x, others, true) * moved * slope(x, norm)};
  }

 private:
  Tensor slope(const Tensor& x, const Tensor& norm) const {
    if (!std::isinf(p)) return slope_of_norm(x, norm, p, {});
    const Tensor ties = to_dtype(eq(abs(x), norm), x.dtype());
    return sign(x) * ties / sum(ties, others, true);
  }
};

// (..., P, M) and (..., R, M) with equal leading dimensions.
struct Cdist {
  static constexpr auto schema = "_cdist(Tensor x1, Tensor x2, float p) -> Tensor";
  static constexpr auto node_name = "CdistBackward0";
  double p;
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b, double order) {
    p = order;
    ctx.save(a), ctx.save(b);
    Dims shape = a.sizes();
    shape.back() = b.size(-2);
    Tensor y = empty(shape, a.dtype(), a.device());
    if (!y.is_meta()) kernels::distances(kernels::contiguous(a), kernels::contiguous(b), y, p);
    ctx.save_output(y);
    return y;
  }
  Grads backward(Ctx& ctx, Grads g) {
    const Tensor a = ctx.get(0), b = ctx.get(1), y = ctx.get(2), zero = wrapped_number(0.0);
    if (p == 2) {  // sums of differences over distances are products
      const Tensor w = where(eq(y, zero), zero, g[0] / y);
      return {a * sum(w, {-1}, true) - matmul(w, b), b * transposed(sum(w, {-2}, true)) - matmul(transposed(w), a)};
    }
    const Tensor difference = unsqueeze(a, -2) - unsqueeze(b, -3);
    const Tensor slope = unsqueeze(g[0], -1) * slope_of_norm(difference, unsqueeze(y, -1), p, -1);
    return {sum(slope, {-2}), -sum(slope, {-3})};
  }
};

// The same for p = 2 and many vectors, from squares and one matrix product.
struct EuclideanDist {
  static constexpr auto schema = "_euclidean_dist(Tensor x1, Tensor x2) -> Tensor";
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b) {
    ctx.save(a), ctx.save(b);
    const Tensor squares = sum(a * a, {-1}, true) + transposed(sum(b * b, {-1}, true));
    Tensor y = sqrt(maximum(squares - 2.0 * matmul(a, transposed(b)), wrapped_number(0.0)));
    ctx.save_output(y);
    return y;
  }
  Grads backward(Ctx& ctx, Grads g) {
    const Tensor a = ctx.get(0), b = ctx.get(1), y = ctx.get(2), zero = wrapped_number(0.0);
    const Tensor w = where(eq(y, zero), zero, g[0] / y);
    return {a * sum(w, {-1}, true) - matmul(w, b), b * transposed(sum(w, {-2}, true)) - matmul(transposed(w), a)};
  }
};

RL_BIND(Dist, both)
RL_BIND(Renorm, all_forms)
RL_BIND(Cdist, hidden)
RL_BIND(EuclideanDist, hidden)

}  // namespace
}  // namespace ops
}  // namespace rushlight
