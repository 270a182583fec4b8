// Rows of a table, looked up by number.
#include "kernels/cpu/embedding.h"

#include "base/unlocked.h"
#include "ops/layout.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

Tensor rows_of(const Tensor& weight, const Tensor& indices) {
  Dims shape = indices.sizes();
  shape.push_back(weight.sizes()[1]);
  Tensor y = empty(shape, weight.dtype(), weight.device());
  if (y.is_meta()) return y;
  const Tensor table = kernels::contiguous(weight), index = ready(indices, DType::Int64);
  int64_t wrong;
  {
    Unlocked unlocked(y.numel() / 8);
    wrong = kernels::gather_rows(table.bytes(), table.sizes()[0], table.sizes()[1] * table.itemsize(),
                                 index.data<int64_t>(), index.numel(), y.bytes());
  }
  RL_CHECK_KIND(wrong < 0, Index, "embedding: index ", index.data<int64_t>()[wrong], " is out of range for a table of ",
                table.sizes()[0], " rows (position ", wrong, " of the indices)");
  return y;
}

// How gradients come back to the table.
struct Spread {
  int64_t rows, skip;  // the row that gets none, or -1
  bool by_frequency;   // each row's sum is divided by how often it was looked up
};

// 1 / the number of times each row was looked up.
Tensor inverse_counts(const Spread& s, const Tensor& index, DType d) {
  Tensor factor = empty({s.rows}, d);
  kernels::fill(factor, 0);
  visit_float(d, [&](auto tag) {
    using T = decltype(tag);
    T* f = factor.data<T>();
    const int64_t* at = index.data<int64_t>();
    for (int64_t i = 0; i < index.numel(); i++)
      if (uint64_t(at[i]) < uint64_t(s.rows)) f[at[i]] += 1;
    for (int64_t r = 0; r < s.rows; r++) f[r] = 1 / std::max(f[r], T(1));
  });
  return factor;
}

// Linear in g; its gradient is a look-up again.
struct EmbeddingBackward {
  static constexpr auto schema = "embedding_backward(Tensor grad, Tensor indices) -> Tensor";
  Spread s;
  Tensor forward(Ctx& ctx, const Spread& spread, const Tensor& grad, const Tensor& indices) {
    s = spread;
    ctx.save(indices);
    const int64_t width = grad.sizes().back();
    if (grad.is_meta()) return empty({s.rows, width}, grad.dtype(), grad.device());
    const DType d = float_of(grad);
    const Tensor g = ready(grad, d), index = ready(indices, DType::Int64);
    const Tensor factor = s.by_frequency ? inverse_counts(s, index, d) : Tensor();
    Tensor out = empty({s.rows, width}, d);
    {
      Unlocked unlocked((g.numel() + out.numel()) / 8);
      RL_CALL_FLOAT(scatter_rows, d, g.data<T>(), index.data<int64_t>(), index.numel(), s.skip,
                    factor ? factor.data<T>() : nullptr, s.rows, width, out.data<T>())
    }
    return in_dtype_of(grad, out);
  }
  Grads backward(Ctx& ctx, Grads g);
};

struct Embedding {
  static constexpr auto schema =
      "embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) "
      "-> Tensor";
  static constexpr auto doc = "Rows of weight, looked up by number; see rushlight.nn.functional.embedding.";
  Spread s;
  Tensor forward(Ctx& ctx, const Tensor& weight, const Tensor& indices, int64_t padding, bool by_frequency,
                 bool sparse) {
    RL_CHECK(weight.dim() == 2, "embedding: weight must have 2 dimensions (rows, width), got shape ", weight.sizes());
    RL_CHECK(indices.dtype() == DType::Int64 || indices.dtype() == DType::Int32,
             "embedding: indices must be int64 or int32, not ", indices.dtype(), hint("convert with .long()"));
    RL_CHECK_KIND(!sparse, NotImplemented, "embedding: sparse gradients are not implemented",
                  hint("leave out sparse=True"));
    s = {weight.sizes()[0], padding, by_frequency};
    ctx.save(indices);
    return rows_of(weight, indices);
  }
  Grads backward(Ctx& ctx, Grads g) { return {apply<EmbeddingBackward>(s, g[0], ctx.get(0)), Tensor()}; }
};

Grads EmbeddingBackward::backward(Ctx& ctx, Grads g) {
  const Tensor indices = ctx.get(0);
  Tensor gg = apply<Embedding>(g[0], indices, s.skip, false, false);
  if (s.skip >= 0) gg = gg * to_dtype(unsqueeze(ne(indices, wrapped_number(s.skip)), -1), g[0].dtype());
  if (s.by_frequency && !indices.is_meta()) {
    const Tensor factor = inverse_counts(s, ready(indices, DType::Int64), float_of(g[0]));
    gg = gg * to_dtype(rows_of(unsqueeze(factor, 1), indices), g[0].dtype());
  }
  return {gg, Tensor()};
}

RL_BIND(Embedding, function)

}  // namespace
}  // namespace ops
}  // namespace rushlight
