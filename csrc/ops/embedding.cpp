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

// Sums, means or maxima of bags of rows, without the rows in between.
struct EmbeddingBag {
  static constexpr auto schema =
      "_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, int mode, bool scale_grad_by_freq=False, "
      "Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> Tensor";
  static constexpr auto doc = "See rushlight.nn.functional.embedding_bag; mode is 0 (sum), 1 (mean) or 2 (max).";
  static constexpr auto node_name = "EmbeddingBagBackward0";
  enum Mode : int64_t { total, average, largest };
  Spread s;
  int64_t mode;

  // Where each bag begins, and one place more: where the last one ends.
  static Tensor starts(const Tensor& offsets, int64_t indices, bool include_last) {
    const Tensor given = ready(offsets, DType::Int64);
    const int64_t n = given.numel(), bags = include_last ? n - 1 : n;
    RL_CHECK(bags >= 0, "embedding_bag: include_last_offset needs at least one offset");
    Tensor all = empty({bags + 1}, DType::Int64);
    int64_t* to = all.data<int64_t>();
    std::copy(given.data<int64_t>(), given.data<int64_t>() + bags, to);
    to[bags] = indices;
    RL_CHECK(n == 0 || given.data<int64_t>()[0] == 0, "embedding_bag: offsets[0] must be 0, got ",
             n ? given.data<int64_t>()[0] : 0, hint("the first bag begins with the first index"));
    for (int64_t b = 0; b < bags; b++)
      RL_CHECK(to[b] <= to[b + 1], "embedding_bag: offsets must rise and not go beyond the ", indices,
               " indices: ", to[b], " is followed by ", to[b + 1]);
    return all;
  }
  // The number of the bag that each index is in.
  static Tensor bags_of(const Tensor& start, int64_t indices) {
    Tensor bag = empty({indices}, DType::Int64);
    for (int64_t b = 0; b + 1 < start.numel(); b++)
      std::fill(bag.data<int64_t>() + start.data<int64_t>()[b], bag.data<int64_t>() + start.data<int64_t>()[b + 1], b);
    return bag;
  }
  // 1 / the number of rows that count in each bag.
  Tensor shares(const Tensor& start, const Tensor& index, DType d) const {
    Tensor share = empty({start.numel() - 1}, d);
    visit_float(d, [&](auto tag) {
      using T = decltype(tag);
      for (int64_t b = 0; b < share.numel(); b++) {
        int64_t count = 0;
        for (int64_t i = start.data<int64_t>()[b]; i < start.data<int64_t>()[b + 1]; i++)
          count += index.data<int64_t>()[i] != s.skip;
        share.data<T>()[b] = T(1) / T(std::max<int64_t>(count, 1));
      }
    });
    return share;
  }

  Tensor forward(Ctx& ctx, const Tensor& weight, const Tensor& indices, const Tensor& offsets, int64_t how,
                 bool by_frequency, const Tensor& sample_weights, bool include_last, int64_t padding) {
    RL_CHECK(weight.dim() == 2 && weight.is_floating(),
             "embedding_bag: weight must be floating point with 2 dimensions (rows, width), got ", weight.dtype(), " ",
             weight.sizes());
    for (const Tensor* t : {&indices, &offsets})
      RL_CHECK(t->dtype() == DType::Int64 || t->dtype() == DType::Int32,
               "embedding_bag: indices and offsets must be int64 or int32, not ", t->dtype(),
               hint("convert with .long()"));
    mode = how;
    const int64_t rows = weight.sizes()[0], width = weight.sizes()[1], n = indices.numel();
    s = {rows, padding, by_frequency};
    if (weight.is_meta()) {
      const int64_t bags = offsets.numel() - include_last;
      for (int i = 0; i < 4; i++) ctx.save(Tensor());
      return empty({bags, width}, weight.dtype(), weight.device());
    }
    const DType d = float_of(weight);
    const Tensor table = ready(weight, d), index = ready(indices, DType::Int64);
    for (int64_t i = 0; i < n; i++)
      RL_CHECK(uint64_t(index.data<int64_t>()[i]) < uint64_t(rows), "embedding_bag: index ", index.data<int64_t>()[i],
               " is out of range for a table of ", rows, " rows (position ", i, " of the indices)");
    const Tensor start = starts(offsets, n, include_last);
    const Tensor factor = sample_weights ? ready(sample_weights, d) : Tensor();
    const kernels::Bags bags{start.numel() - 1, s.skip, start.data<int64_t>(), index.data<int64_t>()};
    Tensor y = empty({bags.count, width}, d), from, share;
    if (mode == average) share = shares(start, index, d);
    if (mode == largest) from = empty({bags.count, width}, DType::Int64);
    {
      Unlocked unlocked(n * width / 4);
      if (mode == largest) {
        RL_CALL_FLOAT(max_bags, d, bags, table.data<T>(), width, y.data<T>(), from.data<int64_t>())
      } else {
        RL_CALL_FLOAT(sum_bags, d, bags, table.data<T>(), width, factor ? factor.data<T>() : nullptr,
                      share ? share.data<T>() : nullptr, y.data<T>())
      }
    }
    ctx.save(index), ctx.save(mode == largest ? from : ctx.recording ? bags_of(start, n) : Tensor());
    ctx.save(sample_weights ? sample_weights : share), ctx.save(ctx.need(3) ? weight : Tensor());
    return in_dtype_of(weight, y);
  }

  Grads backward(Ctx& ctx, Grads g) {
    const Tensor index = ctx.get(0), place = ctx.get(1), factor = ctx.get(2), table = ctx.get(3);
    const int64_t width = g[0].sizes()[1];
    if (!index) return {empty({s.rows, width}, g[0].dtype(), g[0].device()), Tensor(), Tensor(), Tensor()};
    if (mode == largest) {  // a bag without rows gives nothing
      const Tensor some = to_dtype(place >= 0.0, g[0].dtype()), at = where(place >= 0.0, place, zeros_like(place));
      return {scatter_add(zeros({s.rows, width}, g[0].dtype()), 0, at, g[0] * some)};
    }
    Tensor each = index_select(g[0], 0, place), by_factor;
    if (ctx.need(3)) {
      by_factor = sum(each * index_select(table, 0, index), {1});
      if (s.skip >= 0) by_factor = by_factor * to_dtype(ne(index, wrapped_number(s.skip)), by_factor.dtype());
    }
    if (!ctx.need(0)) return {Tensor(), Tensor(), Tensor(), by_factor};
    if (factor)
      each = each * to_dtype(unsqueeze(mode == average ? index_select(factor, 0, place) : factor, 1), each.dtype());
    return {apply<EmbeddingBackward>(s, each, index), Tensor(), Tensor(), by_factor};
  }
};

RL_BIND(Embedding, function)
RL_BIND(EmbeddingBag, hidden)

}  // namespace
}  // namespace ops
}  // namespace rushlight
