// Elements along one dimension, at places that an index gives for every element.
#include <limits>

#include "kernels/indexing.h"
#include "kernels/loops.h"
#include "ops/indexing.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

using kernels::Combine;

Tensor element_index(const char* op, const Tensor& index) {
  RL_CHECK(index.dtype() == DType::Int64 || index.dtype() == DType::Int32, op,
           ": the index must be int64 or int32, not ", index.dtype());
  return vector_of(index.dtype() == DType::Int64 ? index : kernels::cast(index, DType::Int64));
}
void check_index_fits(const char* op, const Tensor& x, int64_t dim, const Tensor& index, const char* what) {
  if (index.numel() == 0) return;
  RL_CHECK(vector_of(index).dim() == vector_of(x).dim(), op, ": the index of shape ", index.sizes(),
           " must have as many dimensions as the ", what, " of shape ", x.sizes());
  Tensor i = vector_of(index), v = vector_of(x);
  for (int64_t d = 0; d < i.dim(); d++)
    RL_CHECK(d == dim || i.sizes()[d] <= v.sizes()[d], op, ": the index of shape ", index.sizes(),
             " is larger than the ", what, " of shape ", x.sizes(), " in dimension ", d);
}

struct Gather {
  static constexpr auto schema = "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor";
  static constexpr auto doc =
      "One element of self for each of index, at the same place but in `dim`, where the index says: for dim 0, "
      "out[i][j] = self[index[i][j]][j].";
  Dims shape;
  int64_t dim;
  Tensor forward(Ctx& ctx, const Tensor& x, int64_t d, const Tensor& given, bool) {
    shape = x.sizes(), dim = wrap_dim(d, x.dim());
    check_out_dtype(schema, ctx, x.dtype());
    Tensor index = element_index("gather", given);
    check_index_fits("gather", x, dim, given, "tensor");
    ctx.save(given);
    Tensor out = ctx.result(given.sizes(), x.dtype(), x);
    if (out.storage() == x.storage() || out.storage() == given.storage())
      out = empty(given.sizes(), x.dtype(), x.device());
    kernels::gather_into(vector_of(out), vector_of(x), dim, index);
    return out;
  }
  Grads backward(Ctx& ctx, Grads g) { return {scatter_add(zeros_shaped(shape, g[0]), dim, ctx.get(0), g[0])}; }
};

// What scatter writes into, checked; shared by all of its forms.
struct Scattering {
  int64_t dim;
  Tensor index, out, to;
  Scattering(const char* op, Ctx& ctx, const Tensor& x, int64_t d, const Tensor& given) {
    dim = wrap_dim(d, x.dim());
    std::string name = op_name(op);
    index = element_index(name.c_str(), given);
    check_index_fits(name.c_str(), x, dim, given, "tensor");
    ctx.save(given);
    check_out_dtype(op, ctx, x.dtype());
    out = changed_apart(op, ctx, x, MemoryFormat::Contiguous);
    to = vector_of(out);
  }
};
void check_scatter_source(const char* op, const Tensor& x, const Tensor& index, const Tensor& src) {
  RL_CHECK(src.dtype() == x.dtype(), op, ": src is ", src.dtype(), ", the tensor ", x.dtype());
  check_index_fits(op, src, -1, index, "src");
}
Combine reduction(std::optional<std::string_view> reduce) {
  RL_CHECK(!reduce || *reduce == "add" || *reduce == "multiply", "scatter: reduce must be 'add' or 'multiply', got '",
           reduce.value_or(""), "'");
  return !reduce ? Combine::assign : *reduce == "add" ? Combine::add : Combine::multiply;
}
void check_no_reduction(Combine how) {
  RL_CHECK(how == Combine::assign, "the derivative of scatter with reduce is not defined",
           hint("use scatter_add() or scatter_reduce(), which have one"));
}

struct Scatter {
  static constexpr auto schema =
      "scatter(Tensor self, int dim, Tensor index, Tensor src, *, str? reduce=None) -> Tensor";
  static constexpr auto doc =
      "self with each element of src, or one value, written at its own place but in `dim`, where the index says: for "
      "dim 0, self[index[i][j]][j] = src[i][j]. reduce may be 'add' or 'multiply'.";
  int64_t dim;
  Dims src_shape;
  Combine how;
  Tensor forward(Ctx& ctx, const Tensor& x, int64_t d, const Tensor& index, const Tensor& src,
                 std::optional<std::string_view> reduce) {
    how = reduction(reduce), src_shape = src.sizes();
    check_scatter_source("scatter", x, index, src);
    Scattering s(schema, ctx, x, d, index);
    dim = s.dim;
    kernels::scatter_into(s.to, dim, s.index, vector_of(src), how);
    return s.out;
  }
  Grads backward(Ctx& ctx, Grads g) {
    check_no_reduction(how);
    Tensor index = ctx.get(0);
    return {ctx.need(0) ? scatter(g[0], dim, index, zeros_shaped(index.sizes(), g[0])) : Tensor(), Tensor(),
            ctx.need(2) ? padded(gather(g[0], dim, index), src_shape) : Tensor()};
  }
};
struct ScatterValue {
  static constexpr auto schema =
      "scatter(Tensor self, int dim, Tensor index, Scalar value, *, str? reduce=None) -> Tensor";
  static constexpr auto node_name = "ScatterBackward1";
  int64_t dim;
  Combine how;
  Tensor forward(Ctx& ctx, const Tensor& x, int64_t d, const Tensor& index, Scalar value,
                 std::optional<std::string_view> reduce) {
    how = reduction(reduce);
    Scattering s(schema, ctx, x, d, index);
    dim = s.dim;
    Tensor one = filling(value, x);
    Dims still(size_t(s.index.dim()), 0);
    kernels::scatter_into(s.to, dim, s.index, alias(one, s.index.sizes(), still, 0), how);
    return s.out;
  }
  Grads backward(Ctx& ctx, Grads g) {
    check_no_reduction(how);
    Tensor index = ctx.get(0);
    return {scatter(g[0], dim, index, zeros_shaped(index.sizes(), g[0]))};
  }
};

struct ScatterAdd {
  static constexpr auto schema = "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor";
  static constexpr auto doc = "As scatter(), adding to what is there: for dim 0, self[index[i][j]][j] += src[i][j].";
  int64_t dim;
  Dims src_shape;
  Tensor forward(Ctx& ctx, const Tensor& x, int64_t d, const Tensor& index, const Tensor& src) {
    src_shape = src.sizes();
    check_scatter_source("scatter_add", x, index, src);
    Scattering s(schema, ctx, x, d, index);
    dim = s.dim;
    kernels::scatter_into(s.to, dim, s.index, vector_of(src), Combine::add);
    return s.out;
  }
  Grads backward(Ctx& ctx, Grads g) {
    return {g[0], Tensor(), ctx.need(2) ? padded(gather(g[0], dim, ctx.get(0)), src_shape) : Tensor()};
  }
};

// --- scatter_reduce --------------------------------------------------------------------------------------------------

enum class Reduce { sum, prod, mean, amax, amin };

Reduce reduce_of(std::string_view name) {
  static constexpr const char* names[] = {"sum", "prod", "mean", "amax", "amin"};
  for (int i = 0; i < 5; i++)
    if (name == names[i]) return Reduce(i);
  fail(ErrorKind::Runtime, "scatter_reduce: reduce must be 'sum', 'prod', 'mean', 'amax' or 'amin', got '", name, "'");
}

// What combines with anything to that other thing.
Scalar neutral(Reduce how, DType d) {
  if (how == Reduce::sum || how == Reduce::mean) return 0;
  if (how == Reduce::prod) return 1;
  bool low = how == Reduce::amax;
  return visit(d, [&](auto tag) -> Scalar {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, bool>) return Scalar(!low);
    else if constexpr (std::is_integral_v<T>)
      return Scalar(int64_t(low ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max()));
    else return low ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  });
}

Tensor as(const Tensor& mask, const Tensor& like) { return to_dtype(mask, like.dtype()); }

struct ScatterReduce {
  static constexpr auto schema =
      "scatter_reduce(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor";
  static constexpr auto doc =
      "As scatter(), with all elements of src that go to one place combined by 'sum', 'prod', 'mean', 'amax' or "
      "'amin', together with what was there if include_self.";
  int64_t dim;
  Reduce how;
  bool include;
  Tensor forward(Ctx& ctx, const Tensor& x, int64_t d, const Tensor& index, const Tensor& src, std::string_view reduce,
                 bool include_self) {
    how = reduce_of(reduce), include = include_self, dim = wrap_dim(d, x.dim());
    ctx.save(x), ctx.save(index), ctx.save(src);
    check_index_fits("scatter_reduce", x, dim, index, "tensor");
    check_scatter_source("scatter_reduce", x, index, src);
    Tensor out = include ? clone(x, MemoryFormat::Contiguous)
                         : scatter(x, dim, index, full(index.sizes(), neutral(how, x.dtype()), x.dtype(), x.device()));
    static constexpr Combine by[] = {Combine::add, Combine::multiply, Combine::add, Combine::maximum, Combine::minimum};
    kernels::scatter_into(vector_of(out), dim, element_index("scatter_reduce", index), vector_of(src), by[int(how)]);
    if (how == Reduce::mean) {
      Tensor n = count(x, index);
      out = x.is_floating() ? div(out, as(n, out)) : floor_divided(out, n);
    }
    ctx.save_output(out);
    return out;
  }

  // How many elements each place combines; at least 1.
  Tensor count(const Tensor& x, const Tensor& index) const {
    Tensor n = scatter_add(full(x.sizes(), include ? 1 : 0, DType::Int64, x.device()), dim, index,
                           ones(index.sizes(), DType::Int64, index.device()));
    return maximum(n, wrapped_number(1));
  }

  Grads backward(Ctx& ctx, Grads grads) {
    Tensor g = grads[0], x = ctx.get(0), index = ctx.get(1), src = ctx.get(2), out = ctx.get(3), gx, gs;
    Dims src_shape = src.sizes();
    for (int64_t d = 0; d < index.dim() && src.dim() == index.dim(); d++) src = narrow(src, d, 0, index.sizes()[d]);
    auto kept = [&](const Tensor& t) { return include ? t : scatter(t, dim, index, zeros(index.sizes(), t.dtype())); };
    switch (how) {
      case Reduce::sum: gx = kept(g), gs = gather(g, dim, index); break;
      case Reduce::mean: {
        Tensor each = div(g, as(count(x, index), g));
        gx = kept(each), gs = gather(each, dim, index);
        break;
      }
      case Reduce::amax:
      case Reduce::amin: {  // shared by all that reach the extreme
        Tensor own = kept(as(eq(x.detach(), out.detach()), g));
        Tensor hit = as(eq(src.detach(), gather(out.detach(), dim, index)), g);
        Tensor each = div(g, maximum(scatter_add(own, dim, index, hit), wrapped_number(1)));
        gx = mul(each, own), gs = mul(gather(each, dim, index), hit);
        break;
      }
      case Reduce::prod: {
        // The product of the others: out / element, but where the element is 0 the product of all that are not, if it
        // is the only 0.
        Tensor one = wrapped_number(1.0), zero = wrapped_number(0.0);
        Tensor xz = eq(x, zero), sz = eq(src, zero);
        Tensor zeros_here = scatter_add(kept(as(xz, g)), dim, index, as(sz, g));
        Tensor others =
            apply<ScatterReduce>(where(xz, one, x), dim, index, where(sz, one, src), std::string_view("prod"), include);
        Tensor single = where(eq(zeros_here, one), mul(g, others), zero), g_out = mul(g, out);
        gx = kept(where(xz, single, div(g_out, where(xz, one, x))));
        gs = where(sz, gather(single, dim, index), div(gather(g_out, dim, index), where(sz, one, src)));
        break;
      }
    }
    return {gx, Tensor(), padded(gs, src_shape)};
  }

 private:
  static Tensor floor_divided(const Tensor& a, const Tensor& n) {
    if (a.is_meta()) return a;
    Tensor q = a.contiguous().clone();
    Tensor c = n.contiguous();
    visit(q.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
        for (int64_t i = 0; i < q.numel(); i++) {
          int64_t v = int64_t(q.data<T>()[i]), by = c.data<int64_t>()[i];
          q.data<T>()[i] = T(v / by - (v % by < 0));
        }
    });
    return q;
  }
};
struct TakeAlongDim {
  static constexpr auto schema = "take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor";
  static constexpr auto doc =
      "gather() that broadcasts self and indices against each other; over all elements without dim.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, const Tensor& indices, OptInt d) {
    RL_CHECK(indices.dtype() == DType::Int64, "take_along_dim: the indices must be int64, not ", indices.dtype());
    if (!d) return gather(reshape(x, {-1}), 0, reshape(indices, {-1}));
    RL_CHECK(x.dim() == indices.dim(), "take_along_dim: tensor and indices must have equally many dimensions, got ",
             x.sizes(), " and ", indices.sizes());
    int64_t dim = wrap_dim(*d, x.dim());
    Dims a = x.sizes(), b = indices.sizes();
    if (x.dim()) b[dim] = a[dim];
    Dims both = broadcast_shapes(a, b), own = both;
    if (x.dim()) both[dim] = indices.sizes()[dim];
    return gather(expand(x, own), dim, expand(indices, both));
  }
};

RL_BIND(Gather, both | out)
RL_BIND(Scatter, both | inplace | out)
RL_BIND(ScatterValue, both | inplace | out)
RL_BIND(ScatterAdd, both | inplace | out)
RL_BIND(ScatterReduce, both | inplace)
RL_BIND(TakeAlongDim, both)

}  // namespace
}  // namespace ops

Tensor gather(const Tensor& t, int64_t d, const Tensor& at) { return apply<ops::Gather>(t, d, at, false); }
Tensor scatter(const Tensor& t, int64_t d, const Tensor& at, const Tensor& src) {
  return apply<ops::Scatter>(t, d, at, src, std::optional<std::string_view>());
}
Tensor scatter_add(const Tensor& t, int64_t d, const Tensor& at, const Tensor& src) {
  return apply<ops::ScatterAdd>(t, d, at, src);
}

}  // namespace rushlight
