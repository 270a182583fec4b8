// Matrices made of diagonals and blocks, and tensors with one part replaced.
#include "kernels/loops.h"
#include "ops/pointwise.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

struct DiagEmbed {
  static constexpr auto schema = "diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor";
  static constexpr auto doc = "Matrices, in the dimensions dim1 and dim2 of the result, with self on a diagonal.";
  int64_t offset, dim1, dim2;
  Tensor forward(Ctx&, const Tensor& x, int64_t o, int64_t d1, int64_t d2) {
    const int64_t ndim = x.dim() + 1;
    offset = o, dim1 = wrap_dim(d1, ndim), dim2 = wrap_dim(d2, ndim);
    RL_CHECK(dim1 != dim2, "diag_embed: dim1 and dim2 must differ, both are ", dim1);
    RL_CHECK(x.dim() > 0, "diag_embed: expects at least one dimension");
    RL_CHECK(offset > -INT32_MAX && offset < INT32_MAX, "diag_embed: offset ", offset, " is out of range");
    Dims shape = x.sizes();
    const int64_t n = shape.back() + std::abs(offset);
    shape.pop_back();
    for (int64_t d : {std::min(dim1, dim2), std::max(dim1, dim2)}) shape.insert(d, n);
    Tensor y = zeros(shape, x.dtype(), x.device());
    if (!x.is_meta()) kernels::copy_into(diagonal(y, offset, dim1, dim2), x);
    return y;
  }
  Grads backward(Ctx&, Grads g) { return {diagonal(g[0], offset, dim1, dim2)}; }
};

// A copy of a diagonal, as diag() gives it.
struct DiagonalCopy {
  static constexpr auto schema = "_diagonal_copy(Tensor self, int offset=0) -> Tensor";
  static constexpr auto node_name = "DiagonalBackward0_copy";
  Dims shape;
  int64_t offset;
  Tensor forward(Ctx&, const Tensor& x, int64_t o) {
    shape = x.sizes(), offset = o;
    return kernels::clone(diagonal(x, offset), MemoryFormat::Contiguous);
  }
  Grads backward(Ctx&, Grads g) {
    Tensor z = zeros(shape, g[0].dtype(), g[0].device());
    copy_(diagonal(z, offset), g[0]);
    return {z};
  }
};

// What of out= is called with one tensor too.
struct Diag {
  static constexpr auto schema = "diag(Tensor self, int diagonal=0) -> Tensor";
  static constexpr auto doc = "Of a vector the matrix that has it on a diagonal; of a matrix a copy of that diagonal.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx& ctx, const Tensor& x, int64_t offset) {
    check_out_dtype("diag", ctx, x.dtype());
    RL_CHECK(x.dim() == 1 || x.dim() == 2, "diag: expects a vector or a matrix, got shape ", x.sizes(),
             hint("diagonal() and diag_embed() take more dimensions"));
    return x.dim() == 1 ? apply<DiagEmbed>(x, offset, int64_t(0), int64_t(1)) : apply<DiagonalCopy>(x, offset);
  }
};

struct Diagflat {
  static constexpr auto schema = "diagflat(Tensor self, int offset=0) -> Tensor";
  static constexpr auto doc = "The matrix that has all elements of self, in order, on a diagonal.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, int64_t offset) {
    return apply<DiagEmbed>(reshape(x, {-1}), offset, int64_t(0), int64_t(1));
  }
};

struct Trace {
  static constexpr auto schema = "trace(Tensor self) -> Tensor";
  static constexpr auto doc = "The sum of a matrix' diagonal.";
  Dims shape;
  Tensor forward(Ctx& ctx, const Tensor& x) {
    RL_CHECK(x.dim() == 2, "trace: expects a matrix, got shape ", x.sizes(),
             hint("x.diagonal(dim1=-2, dim2=-1).sum(-1) takes batches"));
    check_out_dtype("trace", ctx, is_floating(x.dtype()) ? x.dtype() : DType::Int64);
    shape = x.sizes();
    return sum(diagonal(x));
  }
  Grads backward(Ctx&, Grads g) {
    Tensor eye = zeros(shape, g[0].dtype(), g[0].device());
    fill_(diagonal(eye), 1);
    return {g[0] * eye};
  }
};

// Matrices along the diagonal of one.
struct BlockDiag {
  static constexpr auto schema = "_block_diag(Tensor[] tensors) -> Tensor";
  static constexpr auto node_name = "BlockDiagBackward0";
  std::vector<Dims> shapes;
  static Dims matrix(const Dims& s) {
    const int64_t rows = s.size() == 2 ? s[0] : 1, cols = s.empty() ? 1 : s.back();
    return {rows, cols};
  }
  Tensor forward(Ctx&, std::span<const Tensor> ts) {
    DType d = ts.empty() ? default_dtype() : ts[0].dtype();
    int64_t rows = 0, cols = 0;
    for (const Tensor& t : ts) {
      RL_CHECK(t.dim() <= 2, "block_diag: expects matrices, vectors or single elements, got shape ", t.sizes());
      d = promote(d, t.dtype());
      shapes.push_back(t.sizes());
      rows += matrix(t.sizes())[0], cols += matrix(t.sizes())[1];
    }
    if (ts.empty()) return empty({1, 0}, d);
    Tensor y = zeros({rows, cols}, d, ts[0].device());
    if (y.is_meta()) return y;
    walk([&](size_t i, int64_t row, int64_t col) {
      kernels::copy_into(block(y, row, col, matrix(shapes[i])), reshape(ts[i], matrix(shapes[i])));
    });
    return y;
  }
  Grads backward(Ctx& ctx, Grads g) {
    Grads out;
    out.resize(shapes.size());
    walk([&](size_t i, int64_t row, int64_t col) {
      if (ctx.need(int(i))) out[i] = reshape(block(g[0], row, col, matrix(shapes[i])), shapes[i]);
    });
    return out;
  }

 private:
  static Tensor block(const Tensor& t, int64_t row, int64_t col, const Dims& size) {
    return narrow(narrow(t, 0, row, size[0]), 1, col, size[1]);
  }
  template <class F>
  void walk(F&& f) const {
    int64_t row = 0, col = 0;
    for (size_t i = 0; i < shapes.size(); i++) {
      const Dims size = matrix(shapes[i]);
      f(i, row, col);
      row += size[0], col += size[1];
    }
  }
};

RL_BIND(DiagEmbed, both)
RL_BIND(DiagonalCopy, hidden)
RL_BIND(Diag, both | out)
RL_BIND(Diagflat, both)
RL_BIND(Trace, both | out)
RL_BIND(BlockDiag, hidden)

// --- One part replaced ----------------------------------------------------------------------------------------------

// `part` finds what is replaced in a tensor of self's shape.
template <class Part>
struct Replaced {
  Part part;
  Tensor run(const char* op, const Tensor& x, const Tensor& src) {
    const Tensor y = as_it_lies(x);
    const Tensor to = part(y);
    RL_CHECK(to.sizes() == src.sizes(), op, ": src of shape ", src.sizes(), " does not fit the part of shape ",
             to.sizes(), " that it is to replace");
    if (!y.is_meta()) kernels::copy_into(to, src);
    return y;
  }
  Grads backward(Ctx& ctx, Grads g) {
    Tensor gx, gs;
    if (ctx.need(0)) {
      gx = clone(g[0]);
      zero_(part(gx));
    }
    if (ctx.need(1)) gs = part(g[0]);
    return {gx, gs};
  }

 private:
  // A copy with the strides and the offset of x: of all its storage, what x does not show included.
  static Tensor as_it_lies(const Tensor& x) {
    if (kernels::shares_places(x)) return kernels::clone(x);
    const Tensor all = alias(x, {int64_t(x.storage()->nbytes) / x.itemsize()}, {1}, 0);
    return alias(kernels::clone(all), x.sizes(), x.strides(), x.offset());
  }
};

struct SelectPart {
  int64_t dim, index;
  Tensor operator()(const Tensor& t) const { return select_index(t, dim, index); }
};
struct SelectScatter : Replaced<SelectPart> {
  static constexpr auto schema = "select_scatter(Tensor self, Tensor src, int dim, int index) -> Tensor";
  static constexpr auto doc = "A copy of self in which src stands for select(dim, index).";
  Tensor forward(Ctx&, const Tensor& x, const Tensor& src, int64_t dim, int64_t index) {
    part = {dim, index};
    return run("select_scatter", x, src);
  }
};

struct SlicePart {
  int64_t dim;
  OptInt start, end;
  int64_t step;
  Tensor operator()(const Tensor& t) const { return slice(t, dim, start, end, step); }
};
struct SliceScatter : Replaced<SlicePart> {
  static constexpr auto schema =
      "slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor";
  static constexpr auto doc = "A copy of self in which src stands for the slice start:end:step of a dimension.";
  Tensor forward(Ctx&, const Tensor& x, const Tensor& src, int64_t dim, OptInt start, OptInt end, int64_t step) {
    part = {dim, start, end, step};
    return run("slice_scatter", x, src);
  }
};

struct DiagonalPart {
  int64_t offset, dim1, dim2;
  Tensor operator()(const Tensor& t) const { return diagonal(t, offset, dim1, dim2); }
};
struct DiagonalScatter : Replaced<DiagonalPart> {
  static constexpr auto schema =
      "diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor";
  static constexpr auto doc = "A copy of self in which src stands for a diagonal.";
  Tensor forward(Ctx&, const Tensor& x, const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2) {
    part = {offset, dim1, dim2};
    return run("diagonal_scatter", x, src);
  }
};

RL_BIND(SelectScatter, both | out)
RL_BIND(SliceScatter, both | out)
RL_BIND(DiagonalScatter, both | out)

// --- Steps that PyTorch's graphs show by other names ----------------------------------------------------------------

// What functions written in Python end with where they were given out=.
struct Written {
  static constexpr auto schema = "_written(Tensor self, bool same_dtype=False) -> Tensor";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx& ctx, const Tensor& x, bool same_dtype) {
    if (same_dtype) check_out_dtype("out=", ctx, x.dtype());
    return x;
  }
};
RL_BIND(Written, hidden | out)

template <bool by>
struct WithNumber {
  static constexpr auto schema =
      by ? "_div_number(Tensor self, Scalar other) -> Tensor" : "_mul_number(Tensor self, Scalar other) -> Tensor";
  static constexpr auto node_name = by ? "DivBackward1" : "MulBackward1";
  Scalar number;
  Tensor run(const Tensor& x) const {
    const Tensor n = wrapped_number(number);
    return by ? div(x, n) : mul(x, n);
  }
  Tensor forward(Ctx&, const Tensor& x, Scalar s) {
    number = s;
    return run(x);
  }
  Grads backward(Ctx&, Grads g) { return {run(g[0])}; }
};

RL_BIND(WithNumber<false>, hidden)
RL_BIND(WithNumber<true>, hidden)

}  // namespace
}  // namespace ops
}  // namespace rushlight
