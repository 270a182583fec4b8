// Matrix products. Every one comes down to kernels::product, which reads transposed matrices in place, so that a
// gradient is one call too.
#include "ops/linalg.h"

#include "kernels/loops.h"
#include "kernels/product.h"
#include "ops/layout.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

void check_dtypes(const char* op, const Tensor& a, const Tensor& b) {
  RL_CHECK(a.dtype() == b.dtype(), op, ": the dtypes differ: ", Describe{a}, " and ", Describe{b},
           hint("convert one of them, for example with .to(x.dtype)"));
  RL_CHECK_KIND(a.dtype() != DType::Bool, NotImplemented, op, " is not implemented for bool",
                hint("convert with .float() or .int()"));
}

void check_inner(const char* op, const Tensor& a, int64_t inner_a, const Tensor& b, int64_t inner_b) {
  RL_CHECK(inner_a == inner_b, op, ": shapes ", a.sizes(), " and ", b.sizes(), " do not fit: ", inner_a,
           " columns of the first meet ", inner_b, " rows of the second",
           a.dim() == 2 && a.sizes() == b.sizes() ? hint("multiply by b.t(), or did you mean a * b?") : std::string());
}

void check_dim(const char* op, const char* which, const Tensor& t, int64_t dim) {
  RL_CHECK(t.dim() == dim, op, ": ", which, " must have ", dim, " dimension", dim == 1 ? "" : "s", ", got shape ",
           t.sizes(), dim == 1 ? std::string() : hint("matmul() takes any number of dimensions"));
}

Tensor flip(const Tensor& t) { return transpose(t, -2, -1); }

// op(a) @ op(b) for a gradient: composed where it may be differentiated again.
Tensor times(const Tensor& a, bool trans_a, const Tensor& b, bool trans_b);

struct Mm {
  static constexpr auto schema = "mm(Tensor self, Tensor mat2) -> Tensor";
  static constexpr auto doc = "The product of two matrices, (m, k) and (k, n).";
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b) {
    check_out_dtype("mm", ctx, a.dtype());
    check_dim("mm", "self", a, 2), check_dim("mm", "mat2", b, 2);
    check_inner("mm", a, a.sizes()[1], b, b.sizes()[0]);
    check_dtypes("mm", a, b);
    ctx.save(ctx.need(1) ? a : Tensor()), ctx.save(ctx.need(0) ? b : Tensor());
    return kernels::product(a, false, b, false);
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor ga, gb;
    if (ctx.need(0)) ga = times(g[0], false, ctx.get(1), true);
    if (ctx.need(1)) gb = times(ctx.get(0), true, g[0], false);
    return {ga, gb};
  }
};

// The last two dimensions are matrices, the others, equal in both, count them. The result is seen as `shape`.
enum Named { bmm, unsafe_view, cloned };  // which node PyTorch would show
template <Named named>
struct MatmulOfBatches {
  static constexpr auto schema = "_matmul_of_batches(Tensor self, Tensor other, int[] shape) -> Tensor";
  static constexpr auto node_name = named == bmm           ? "BmmBackward0"
                                    : named == unsafe_view ? "UnsafeViewBackward0"
                                                           : "CloneBackward0";
  Dims product_shape;
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b, const Dims& shape) {
    ctx.save(ctx.need(1) ? a : Tensor()), ctx.save(ctx.need(0) ? b : Tensor());
    Tensor y = kernels::product(a, false, b, false);
    product_shape = y.sizes();
    return y.sizes() == shape ? y : alias(y, shape, contiguous_strides(shape), 0);
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor ga, gb;
    const Tensor gy = g[0].sizes() == product_shape ? g[0] : reshape(g[0], product_shape);
    if (ctx.need(0)) ga = times(gy, false, ctx.get(1), true);
    if (ctx.need(1)) gb = times(ctx.get(0), true, gy, false);
    return {ga, gb};
  }
};

Dims product_shape(const Tensor& a, const Tensor& b) {
  Dims shape = a.sizes();
  shape.back() = b.sizes().back();
  return shape;
}

Tensor times(const Tensor& a, bool trans_a, const Tensor& b, bool trans_b) {
  if (!tls.grad_enabled) return kernels::product(a, trans_a, b, trans_b);
  const Tensor x = trans_a ? flip(a) : a, y = trans_b ? flip(b) : b;
  return x.dim() == 2 ? apply<Mm>(x, y) : apply<MatmulOfBatches<bmm>>(x, y, product_shape(x, y));
}

struct Bmm {
  static constexpr auto schema = "bmm(Tensor self, Tensor mat2) -> Tensor";
  static constexpr auto doc = "The products of matrices in two equally long batches, (b, m, k) and (b, k, n).";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b) {
    check_out_dtype("bmm", ctx, a.dtype());
    check_dim("bmm", "self", a, 3), check_dim("bmm", "mat2", b, 3);
    RL_CHECK(a.sizes()[0] == b.sizes()[0], "bmm: the batches have different lengths: ", a.sizes(), " and ", b.sizes(),
             hint("matmul() broadcasts batches"));
    check_inner("bmm", a, a.sizes()[2], b, b.sizes()[1]);
    check_dtypes("bmm", a, b);
    return apply<MatmulOfBatches<bmm>>(a, b, product_shape(a, b));
  }
};

// Without history, as a matrix of one column or row.
Tensor as_column(const Tensor& v) { return alias(v, {v.sizes()[0], 1}, {v.strides()[0], 0}, v.offset()); }
Tensor as_row(const Tensor& v) { return alias(v, {1, v.sizes()[0]}, {0, v.strides()[0]}, v.offset()); }

struct Mv {
  static constexpr auto schema = "mv(Tensor self, Tensor vec) -> Tensor";
  static constexpr auto doc = "The product of a matrix (m, k) and a vector (k).";
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& v) {
    check_out_dtype("mv", ctx, a.dtype());
    check_dim("mv", "self", a, 2), check_dim("mv", "vec", v, 1);
    check_inner("mv", a, a.sizes()[1], v, v.sizes()[0]);
    check_dtypes("mv", a, v);
    ctx.save(ctx.need(1) ? a : Tensor()), ctx.save(ctx.need(0) ? v : Tensor());
    Tensor y = kernels::product(a, false, as_column(v), false);
    return alias(y, {a.sizes()[0]}, {1}, 0);
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor ga, gv;
    if (ctx.need(0)) ga = unsqueeze(g[0], 1) * ctx.get(1);
    if (ctx.need(1)) gv = apply<Mv>(flip(ctx.get(0)), g[0]);
    return {ga, gv};
  }
};

// A vector times a matrix.
struct Vm {
  static constexpr auto schema = "_vm(Tensor self, Tensor mat) -> Tensor";
  static constexpr auto node_name = "SqueezeBackward4";
  Tensor forward(Ctx& ctx, const Tensor& v, const Tensor& b) {
    check_inner("matmul", v, v.sizes()[0], b, b.sizes()[0]);
    check_dtypes("matmul", v, b);
    ctx.save(ctx.need(1) ? v : Tensor()), ctx.save(ctx.need(0) ? b : Tensor());
    Tensor y = kernels::product(as_row(v), false, b, false);
    return alias(y, {b.sizes()[1]}, {1}, 0);
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor gv, gb;
    if (ctx.need(0)) gv = apply<Mv>(ctx.get(1), g[0]);
    if (ctx.need(1)) gb = unsqueeze(ctx.get(0), 1) * g[0];
    return {gv, gb};
  }
};

struct Dot {
  static constexpr auto schema = "dot(Tensor self, Tensor tensor) -> Tensor";
  static constexpr auto doc = "The sum of the products of two equally long vectors' elements.";
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b) {
    check_out_dtype("dot", ctx, a.dtype());
    check_dim("dot", "self", a, 1), check_dim("dot", "tensor", b, 1);
    RL_CHECK(a.sizes() == b.sizes(), "dot: the vectors have different lengths, ", a.sizes()[0], " and ", b.sizes()[0]);
    check_dtypes("dot", a, b);
    ctx.save(ctx.need(1) ? a : Tensor()), ctx.save(ctx.need(0) ? b : Tensor());
    return alias(kernels::product(as_row(a), false, as_column(b), false), {}, {}, 0);
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor ga, gb;
    if (ctx.need(0)) ga = g[0] * ctx.get(1);
    if (ctx.need(1)) gb = g[0] * ctx.get(0);
    return {ga, gb};
  }
};

struct Matmul {
  static constexpr auto schema = "matmul(Tensor self, Tensor other) -> Tensor";
  static constexpr auto doc =
      "The matrix product. Of two vectors it is a number; a matrix and a vector give a vector; more dimensions are "
      "batches of matrices, and are broadcast.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx& ctx, const Tensor& a, const Tensor& b) {
    check_out_dtype("matmul", ctx, a.dtype());
    const int64_t da = a.dim(), db = b.dim();
    RL_CHECK(da > 0 && db > 0, "matmul: both tensors must have at least one dimension, got shapes ", a.sizes(), " and ",
             b.sizes(), hint("use a * b to multiply by a number"));
    if (da == 2 && db == 2) return apply<Mm>(a, b);
    if (da == 1 && db == 1) return apply<Dot>(a, b);
    if (da == 2 && db == 1) return apply<Mv>(a, b);
    if (da == 1 && db == 2) return apply<Vm>(a, b);
    check_inner("matmul", a, a.sizes()[da - 1], b, b.sizes()[db == 1 ? 0 : db - 2]);
    check_dtypes("matmul", a, b);
    if (db <= 2) {  // the batch is one tall matrix
      Dims shape = a.sizes();
      shape.pop_back();
      const Tensor rows = reshape(a, {product(shape), a.sizes()[da - 1]});
      if (db == 2) shape.push_back(b.sizes()[1]);
      return apply<MatmulOfBatches<unsafe_view>>(rows, db == 1 ? unsqueeze(b, 1) : b, shape);
    }
    const Tensor x = da == 1 ? unsqueeze(a, 0) : a;
    auto leading = [](const Tensor& t) { return IntSpan(t.sizes().data(), t.sizes().size() - 2); };
    const Dims batch = broadcast_shapes(leading(x), leading(b));
    auto grown = [&](const Tensor& t) {
      if (leading(t) == IntSpan(batch)) return t;
      Dims shape = batch;
      shape.push_back(t.size(-2)), shape.push_back(t.size(-1));
      return expand(t, shape);
    };
    Dims shape = batch;
    if (da > 1) shape.push_back(x.size(-2));
    shape.push_back(b.size(-1));
    if (da == 2) return apply<MatmulOfBatches<cloned>>(grown(x), grown(b), shape);
    return apply<MatmulOfBatches<unsafe_view>>(grown(x), grown(b), shape);
  }
};

// beta * self + alpha * a @ b, where self is broadcast; of matrices or of batches of them.
struct AddProduct {
  Scalar beta, alpha;
  Tensor run(const char* op, Ctx& ctx, const Tensor& x, const Tensor& a, const Tensor& b, Scalar be, Scalar al) {
    beta = be, alpha = al;
    check_out_dtype(op, ctx, x.dtype());
    check_dtypes(op, a, b), check_dtypes(op, x, a);
    RL_CHECK(is_floating(x.dtype()) || !(beta.is_floating() || alpha.is_floating()), op,
             ": beta and alpha must be integers for ", x.dtype(), " tensors, got ", beta, " and ", alpha);
    Dims shape = a.sizes();
    shape.back() = b.sizes().back();
    RL_CHECK(broadcast_shapes(x.sizes(), shape) == shape, op, ": self of shape ", x.sizes(),
             " cannot be broadcast to the product's ", shape);
    ctx.save(ctx.need(2) ? a : Tensor()), ctx.save(ctx.need(1) ? b : Tensor());
    Tensor y = empty(shape, x.dtype(), x.device());
    if (!(beta == Scalar(0))) kernels::copy_into(y, x);
    kernels::add_product(y, beta, a, b, alpha);
    return y;
  }
  static Tensor scaled(const Tensor& t, const Scalar& by) { return by == Scalar(1) ? t : mul(t, wrapped_number(by)); }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor gx, ga, gb;
    if (ctx.need(0)) gx = scaled(g[0], beta);
    if (ctx.need(1)) ga = scaled(times(g[0], false, ctx.get(1), true), alpha);
    if (ctx.need(2)) gb = scaled(times(ctx.get(0), true, g[0], false), alpha);
    return {gx, ga, gb};
  }
};

struct Addmm : AddProduct {
  static constexpr auto schema =
      "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor";
  static constexpr auto doc = "beta * self + alpha * (mat1 @ mat2), for matrices.";
  Tensor forward(Ctx& ctx, const Tensor& x, const Tensor& a, const Tensor& b, Scalar be, Scalar al) {
    check_dim("addmm", "mat1", a, 2), check_dim("addmm", "mat2", b, 2);
    check_inner("addmm", a, a.sizes()[1], b, b.sizes()[0]);
    return run("addmm", ctx, x, a, b, be, al);
  }
};
struct Baddbmm : AddProduct {
  static constexpr auto schema =
      "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor";
  static constexpr auto doc = "beta * self + alpha * (batch1 @ batch2), for batches of matrices.";
  Tensor forward(Ctx& ctx, const Tensor& x, const Tensor& a, const Tensor& b, Scalar be, Scalar al) {
    check_dim("baddbmm", "batch1", a, 3), check_dim("baddbmm", "batch2", b, 3);
    RL_CHECK(a.sizes()[0] == b.sizes()[0], "baddbmm: the batches have different lengths: ", a.sizes(), " and ",
             b.sizes());
    check_inner("baddbmm", a, a.sizes()[2], b, b.sizes()[1]);
    return run("baddbmm", ctx, x, a, b, be, al);
  }
};

// x @ weight.T + bias; the rows of x are all its dimensions but the last.
template <bool with_bias, bool flat>
struct Linear {
  static constexpr auto schema = "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor";
  static constexpr auto node_name =
      flat ? (with_bias ? "AddmmBackward0" : "MmBackward0") : (with_bias ? "ViewBackward0" : "UnsafeViewBackward0");

  static Tensor rows_of(const Tensor& x) {  // without history
    if (x.dim() == 2) return x;
    const int64_t cols = x.sizes().back(), rows = x.numel() / std::max<int64_t>(cols, 1);
    Tensor c = kernels::contiguous(x);
    return alias(c, {rows, cols}, {cols, 1}, c.offset());
  }
  Tensor forward(Ctx& ctx, const Tensor& x, const Tensor& weight, const Tensor& bias) {
    ctx.save(ctx.need(1) ? x : Tensor()), ctx.save(ctx.need(0) ? weight : Tensor());
    if (x.dim() == 2) return kernels::product(x, false, weight, true, bias);
    Dims shape = x.sizes();
    shape.back() = weight.sizes()[0];
    if (x.numel() == 0 && shape.back() != 0 && x.sizes().back() == 0) {  // no columns: the bias alone
      Tensor y = zeros(shape, x.dtype(), x.device());
      if (bias) kernels::copy_into(y, bias);
      return y;
    }
    Tensor y = kernels::product(rows_of(x), false, weight, true, bias);
    return alias(y, shape, contiguous_strides(shape), 0);
  }
  Grads backward(Ctx& ctx, Grads g) {
    const Tensor &gy = g[0], x = ctx.get(0), weight = ctx.get(1);
    Tensor gx, gw, gb;
    const int64_t n = gy.sizes().back();
    if (tls.grad_enabled || n == 0) {
      Tensor rows = gy.dim() == 2 ? gy : reshape(gy, {n ? gy.numel() / n : 0, n});
      if (ctx.need(0)) {
        Dims shape = gy.sizes();
        shape.back() = weight.sizes()[1];
        gx = reshape(apply<Mm>(rows, weight), shape);
      }
      if (ctx.need(1)) gw = apply<Mm>(flip(rows), reshape(x, {rows.sizes()[0], x.sizes().back()}));
      if (with_bias && ctx.need(2)) gb = sum(rows, {0});
      return {gx, gw, gb};
    }
    const Tensor rows = rows_of(kernels::contiguous(gy));
    if (ctx.need(0)) {
      gx = kernels::product(rows, false, weight, false);
      if (gy.dim() != 2) {
        Dims shape = gy.sizes();
        shape.back() = weight.sizes()[1];
        gx = alias(gx, shape, contiguous_strides(shape), 0);
      }
    }
    if (ctx.need(1)) gw = kernels::product(rows, true, rows_of(x), false);
    if (with_bias && ctx.need(2)) gb = kernels::sum_rows(rows);
    return {gx, gw, gb};
  }
};

struct LinearChecked {
  static constexpr auto schema = "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor";
  static constexpr auto doc =
      "input @ weight.T + bias: input (*, in), weight (out, in), bias (out) or None; the result is (*, out).";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, const Tensor& weight, const Tensor& bias) {
    RL_CHECK(weight.dim() == 2, "linear: weight must have 2 dimensions (out, in), got shape ", weight.sizes());
    RL_CHECK(x.dim() > 0, "linear: input must have at least one dimension");
    RL_CHECK(
        x.sizes().back() == weight.sizes()[1], "linear: input ", x.sizes(), " does not fit weight ", weight.sizes(),
        ": the last dimension is ", x.sizes().back(), ", the weight takes ", weight.sizes()[1],
        x.dim() > 2 && x.numel() && x.numel() / x.sizes()[0] == weight.sizes()[1]
            ? hint("flatten the input first: x.flatten(1) has that many")
            : hint("make the layer with in_features=" + std::to_string(x.sizes().back()) + ", or reshape the input"));
    check_dtypes("linear", x, weight);
    const bool flat = x.dim() == 2;
    if (!bias) return flat ? apply<Linear<false, true>>(x, weight, bias) : apply<Linear<false, false>>(x, weight, bias);
    RL_CHECK(bias.dim() == 1 && bias.sizes()[0] == weight.sizes()[0], "linear: bias of shape ", bias.sizes(),
             " does not fit weight ", weight.sizes(), ": it needs ", weight.sizes()[0], " values");
    check_dtypes("linear", x, bias);
    return flat ? apply<Linear<true, true>>(x, weight, bias) : apply<Linear<true, false>>(x, weight, bias);
  }
};

RL_BIND(Mm, both | out)
RL_BIND(Bmm, both | out)
RL_BIND(Mv, both | out)
RL_BIND(Dot, both | out)
RL_BIND(Matmul, both | out)
RL_BIND(Addmm, both | inplace | out)
RL_BIND(Baddbmm, both | inplace | out)
RL_BIND(LinearChecked, function)

}  // namespace
}  // namespace ops

Tensor mm(const Tensor& a, const Tensor& b) { return apply<ops::Mm>(a, b); }
Tensor matmul(const Tensor& a, const Tensor& b) { return apply<ops::Matmul>(a, b); }
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return apply<ops::LinearChecked>(x, weight, bias);
}

}  // namespace rushlight
