// New tensors made of others' elements: joined, reordered, repeated.
#include <cstring>

#include "base/size_math.h"
#include "base/thread_pool.h"
#include "base/unlocked.h"
#include "kernels/loops.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

// --- Joining ---------------------------------------------------------------------------------------------------------

DType common_type(std::span<const Tensor> ts) {
  DType d = ts[0].dtype();
  bool same = true;
  for (const Tensor& t : ts) same &= t.dtype() == d;
  if (same) return d;
  std::vector<const Tensor*> list;
  for (const Tensor& t : ts) list.push_back(&t);
  return result_type(list);
}

// Writes the parts side by side along `dim` of `out`.
void join_into(const Tensor& out, std::span<const Tensor> parts, int64_t dim) {
  if (out.is_meta() || out.numel() == 0) return;
  bool plain = out.is_contiguous();
  for (const Tensor& t : parts) plain &= t.is_contiguous() && t.dtype() == out.dtype();
  if (!plain) {
    int64_t at = out.offset();
    for (const Tensor& t : parts) {
      kernels::copy_into(alias(out, t.sizes(), out.strides(), at), t);
      at += t.sizes()[dim] * out.strides()[dim];
    }
    return;
  }
  // Rows: what lies together in memory from `dim` inwards.
  int64_t rows = product(IntSpan(out.sizes().data(), dim));
  int64_t out_row = out.numel() / rows * out.itemsize();
  Unlocked unlocked(out.numel());
  if (rows == 1) {
    char* to = out.bytes();
    for (const Tensor& t : parts) {
      int64_t bytes = t.numel() * t.itemsize();
      const char* from = t.bytes();
      char* begin = to;
      parallel_for(0, bytes, 1 << 18, [=](int64_t b, int64_t e) { std::memcpy(begin + b, from + b, e - b); });
      to += bytes;
    }
    return;
  }
  parallel_for(0, rows, std::max<int64_t>(1, (1 << 18) / out_row), [&](int64_t b, int64_t e) {
    for (int64_t r = b; r < e; r++) {
      char* to = out.bytes() + r * out_row;
      for (const Tensor& t : parts) {
        int64_t bytes = t.numel() / rows * t.itemsize();
        if (bytes) std::memcpy(to, t.bytes() + r * bytes, bytes);
        to += bytes;
      }
    }
  });
}

MemoryFormat common_format(std::span<const Tensor> ts) {
  for (MemoryFormat f : {MemoryFormat::ChannelsLast, MemoryFormat::ChannelsLast3d}) {
    bool all = true;
    for (const Tensor& t : ts) all &= !t.is_contiguous() && t.is_contiguous(f);
    if (all) return f;
  }
  return MemoryFormat::Contiguous;
}

Tensor target(const Ctx& ctx, IntSpan shape, DType dtype, const Tensor& like,
              MemoryFormat f = MemoryFormat::Contiguous) {
  if (f == MemoryFormat::Contiguous) return ctx.result(shape, dtype, like);
  return empty_strided(shape, contiguous_strides(shape, f), dtype, like.device());
}

void check_out_holds(const char* op, const Ctx& ctx, DType dtype) {
  RL_CHECK_KIND(!ctx.out || can_cast(dtype, ctx.out->dtype()), Type, op, ": the result is ", dtype,
                " and cannot be written into out, a tensor of ", ctx.out->dtype());
}

// Whether what is written to ctx.out may be read again through an input.
bool shares_memory(const Ctx& ctx, std::span<const Tensor> ts) {
  if (!ctx.out) return false;
  for (const Tensor& t : ts)
    if (t.storage() == ctx.out->storage()) return true;
  return false;
}

struct CatName {
  static constexpr auto schema = "cat(Tensor[] tensors, int dim=0) -> Tensor";
};
struct ConcatName {
  static constexpr auto schema = "concat(Tensor[] tensors, int dim=0) -> Tensor";
};
struct ConcatenateName {
  static constexpr auto schema = "concatenate(Tensor[] tensors, int dim=0) -> Tensor";
};
template <class Names>
struct Cat {
  static constexpr auto schema = Names::schema;
  static constexpr auto node_name = "CatBackward0";
  static constexpr auto doc =
      "Tensors joined along a dimension they have; all other sizes must agree. The dtype is the smallest that holds "
      "all.";
  int64_t dim = 0;
  std::vector<int64_t> lengths;  // -1: skipped
  Tensor forward(Ctx& ctx, std::span<const Tensor> ts, int64_t d) {
    RL_CHECK_KIND(!ts.empty(), Value, "cat: expected a non-empty list of tensors");
    for (size_t i = 0; i < ts.size(); i++)
      RL_CHECK(ts[i].dim() > 0, "cat: tensor ", i, " has no dimensions, so it cannot be joined", hint("use stack()"));
    // An empty vector joins anything, as in PyTorch.
    auto skipped = [](const Tensor& t) { return t.dim() == 1 && t.numel() == 0; };
    std::vector<Tensor> parts;
    for (const Tensor& t : ts)
      if (!skipped(t)) parts.push_back(t);
    bool nothing = parts.empty();
    if (nothing) parts.push_back(ts[0]);
    const Tensor& first = parts[0];
    dim = wrap_dim(d, first.dim());
    Dims shape = first.sizes();
    shape[dim] = 0;
    for (const Tensor& t : parts) {
      RL_CHECK(t.dim() == first.dim(), "cat: all tensors must have the same number of dimensions, got ", first.sizes(),
               " and ", t.sizes());
      for (int64_t k = 0; k < t.dim(); k++)
        RL_CHECK(k == dim || t.sizes()[k] == shape[k], "cat: sizes must agree except in dimension ", dim, ", but ",
                 first.sizes(), " and ", t.sizes(), " differ in dimension ", k);
      shape[dim] = checked_add("cat", shape[dim], t.sizes()[dim]);
    }
    if (ctx.recording)
      for (const Tensor& t : ts) lengths.push_back(skipped(t) ? -1 : t.sizes()[dim]);
    bool fresh = shares_memory(ctx, ts);
    DType dtype = common_type(ts);
    check_out_holds("cat", ctx, dtype);
    Tensor out = fresh ? empty(shape, dtype, first.device()) : target(ctx, shape, dtype, first, common_format(parts));
    join_into(out, parts, dim);
    return out;
  }
  Grads backward(Ctx& ctx, Grads g) {
    Grads out;
    int64_t at = 0;
    for (size_t i = 0; i < lengths.size(); i++) {
      int64_t n = lengths[i];
      bool wanted = ctx.need(std::min<int>(i, 63));
      out.push_back(!wanted ? Tensor() : n >= 0 ? narrow(g[0], dim, at, n) : zeros({0}, g[0].dtype(), g[0].device()));
      at += std::max<int64_t>(n, 0);
    }
    return out;
  }
};
struct Stack {
  static constexpr auto schema = "stack(Tensor[] tensors, int dim=0) -> Tensor";
  static constexpr auto doc = "Tensors of one shape joined along a new dimension.";
  int64_t dim;
  Tensor forward(Ctx& ctx, std::span<const Tensor> ts, int64_t d) {
    RL_CHECK(!ts.empty(), "stack: expected a non-empty list of tensors");
    const Tensor& first = ts[0];
    dim = wrap_dim(d, first.dim() + 1);
    std::vector<Tensor> parts;
    parts.reserve(ts.size());
    for (size_t i = 0; i < ts.size(); i++) {
      const Tensor& t = ts[i];
      RL_CHECK(t.sizes() == first.sizes(), "stack: all tensors must have one shape, but tensor 0 has ", first.sizes(),
               " and tensor ", i, " has ", t.sizes());
      Dims sizes = t.sizes(), strides = t.strides();
      int64_t stride = dim < t.dim() ? wrapping_mul(sizes[dim], strides[dim]) : 1;
      sizes.insert(dim, 1), strides.insert(dim, stride);
      parts.push_back(alias(t, sizes, strides, t.offset()));
    }
    Dims shape = parts[0].sizes();
    shape[dim] = ts.size();
    DType dtype = common_type(ts);
    check_out_holds("stack", ctx, dtype);
    Tensor out = shares_memory(ctx, ts) ? empty(shape, dtype, first.device()) : ctx.result(shape, dtype, first);
    join_into(out, parts, dim);
    return out;
  }
  Grads backward(Ctx& ctx, Grads g) {
    Grads parts;
    for (size_t i = 0; i < ctx.node->next.size(); i++)
      parts.push_back(ctx.node->next[i] ? select_index(g[0], dim, i) : Tensor());
    return parts;
  }
};

// --- Reordering ------------------------------------------------------------------------------------------------------

struct Flip {
  static constexpr auto schema = "flip(Tensor self, int[]* dims) -> Tensor";
  static constexpr auto doc = "The order of the given dimensions reversed, in a copy.";
  Dims dims;
  Tensor forward(Ctx&, const Tensor& x, IntSpan which) {
    Dims strides = x.strides();
    int64_t at = x.offset();
    SmallVec<bool, 8> seen(size_t(std::max<int64_t>(x.dim(), 1)), false);
    for (int64_t d : which) {
      int64_t k = wrap_dim(d, x.dim());
      RL_CHECK(!seen[k], "flip: dimension ", k, " appears twice in ", which);
      seen[k] = true;
      dims.push_back(k);
      if (!x.dim() || x.numel() == 0) continue;
      at += (x.sizes()[k] - 1) * strides[k];
      strides[k] = -strides[k];
    }
    Tensor out = empty_like(x);
    if (!out.is_meta()) kernels::copy_into(out, alias(x, x.sizes(), strides, at));
    return out;
  }
  Grads backward(Ctx&, Grads g) { return {flip(g[0], dims)}; }
};
struct Fliplr {
  static constexpr auto schema = "fliplr(Tensor self) -> Tensor";
  static constexpr auto doc = "flip(1): left to right.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x) {
    RL_CHECK(x.dim() >= 2, "fliplr: expects at least 2 dimensions, got shape ", x.sizes());
    return flip(x, {1});
  }
};
struct Flipud {
  static constexpr auto schema = "flipud(Tensor self) -> Tensor";
  static constexpr auto doc = "flip(0): upside down.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x) {
    RL_CHECK(x.dim() >= 1, "flipud: expects at least 1 dimension, got shape ", x.sizes());
    return flip(x, {0});
  }
};

struct Roll {
  static constexpr auto schema = "roll(Tensor self, int[1] shifts, int[1] dims=()) -> Tensor";
  static constexpr auto doc =
      "Elements moved by `shifts` places along `dims`, those that fall off one end coming back at the other; over all "
      "elements in order where no dims are given.";
  Dims shifts, dims;
  Tensor forward(Ctx&, const Tensor& x, IntSpan by, IntSpan along) {
    shifts.resize(by.size(), 0), dims = along.dims();
    RL_CHECK(!by.empty(), "roll: shifts must not be empty");
    RL_CHECK(by.size() == along.size() || (along.empty() && by.size() == 1), "roll: ", by.size(), " shifts ", by,
             " but ", along.size(), " dims ", along);
    if (x.numel() == 0) return kernels::clone(x);
    Tensor from = kernels::contiguous(x), out = empty(x.sizes(), x.dtype(), x.device());
    Dims sizes = along.empty() ? Dims{x.numel()} : x.sizes();
    Dims total(sizes.size(), 0);
    for (size_t i = 0; i < by.size(); i++) {
      int64_t d = along.empty() ? 0 : wrap_dim(along[i], x.dim());
      if (sizes.empty() || sizes[d] == 0) continue;
      shifts[i] = by[i] % sizes[d];
      total[d] = ((total[d] + shifts[i]) % sizes[d] + sizes[d]) % sizes[d];
    }
    if (out.is_meta()) return out;
    Dims strides = contiguous_strides(sizes);
    move(alias(from, sizes, strides, from.offset()), alias(out, sizes, strides, 0), total, 0);
    return out;
  }
  // The two parts of dimension d change places.
  static void move(const Tensor& from, const Tensor& to, const Dims& by, size_t d) {
    while (d < by.size() && by[d] == 0) d++;
    if (d == by.size()) return kernels::copy_into(to, from);
    auto part = [&](const Tensor& t, int64_t at, int64_t n) {
      Dims sizes = t.sizes();
      sizes[d] = n;
      return alias(t, sizes, t.strides(), t.offset() + at * t.strides()[d]);
    };
    int64_t n = from.sizes()[d], k = by[d];
    move(part(from, 0, n - k), part(to, k, n - k), by, d + 1);
    move(part(from, n - k, k), part(to, 0, k), by, d + 1);
  }
  Grads backward(Ctx&, Grads g) {
    Dims back;
    for (int64_t s : shifts) back.push_back(-s);
    return {roll(g[0], back, dims)};
  }
};

struct Rot90 {
  static constexpr auto schema = "rot90(Tensor self, int k=1, int[] dims=(0, 1)) -> Tensor";
  static constexpr auto doc =
      "Turned k times by 90 degrees in the plane of two dimensions, from the first towards the second.";
  int64_t turns;
  Dims plane;
  Tensor forward(Ctx&, const Tensor& x, int64_t k, IntSpan dims) {
    turns = (k % 4 + 4) % 4, plane = dims.dims();
    RL_CHECK(dims.size() == 2, "rot90: expects two dimensions, got ", dims);
    RL_CHECK(x.dim() >= 2, "rot90: expects at least 2 dimensions, got shape ", x.sizes());
    int64_t a = wrap_dim(dims[0], x.dim()), b = wrap_dim(dims[1], x.dim());
    RL_CHECK(a != b, "rot90: the two dimensions must differ, got ", dims);
    if (turns == 0) return kernels::clone(x, MemoryFormat::Contiguous);
    if (turns == 2) return flip(x, {a, b});
    Tensor y = flip(x, {turns == 1 ? b : a});
    Dims sizes = y.sizes(), strides = y.strides();
    std::swap(sizes[a], sizes[b]), std::swap(strides[a], strides[b]);
    return alias(y, sizes, strides, y.offset());
  }
  Grads backward(Ctx&, Grads g) { return {apply<Rot90>(g[0], -turns, IntSpan(plane))}; }
};

// --- Repeating -------------------------------------------------------------------------------------------------------

struct Repeat {
  static constexpr auto schema = "repeat(Tensor self, int[]* repeats) -> Tensor";
  static constexpr auto doc =
      "Copies side by side: so many along each dimension, leading ones added where self has fewer.";
  Dims shape, times;
  Tensor forward(Ctx&, const Tensor& x, IntSpan repeats) {
    RL_CHECK(int64_t(repeats.size()) >= x.dim(), "repeat: ", repeats,
             " has fewer numbers than the tensor has dimensions (", x.dim(), ")",
             hint("use tile(), which takes fewer"));
    times = repeats.dims();
    for (size_t d = 0; d + x.dim() < repeats.size(); d++) shape.push_back(1);
    for (int64_t s : x.sizes()) shape.push_back(s);
    // Seen with two dimensions for each: how many times, and the size; the first is a broadcast.
    Dims sizes, split, strides;
    for (size_t d = 0; d < times.size(); d++) {
      RL_CHECK(times[d] >= 0, "repeat: numbers of copies must not be negative, got ", repeats);
      int64_t own = int64_t(d) - (int64_t(times.size()) - x.dim());
      sizes.push_back(product({times[d], shape[d]}));
      split.push_back(times[d]), strides.push_back(0);
      split.push_back(shape[d]), strides.push_back(own < 0 ? 0 : x.strides()[own]);
    }
    Tensor out = empty(sizes, x.dtype(), x.device());
    if (out.is_meta() || out.numel() == 0) return out;
    kernels::copy_into(alias(out, split, contiguous_strides(split), 0), alias(x, split, strides, x.offset()));
    return out;
  }
  Grads backward(Ctx&, Grads g) {
    if (times.empty()) return {g[0]};
    Dims split, copies;
    for (size_t d = 0; d < times.size(); d++) {
      copies.push_back(split.size());
      split.push_back(times[d]), split.push_back(shape[d]);
    }
    return {sum(reshape(g[0], split), copies)};  // the engine sums leading dimensions of size 1 away
  }
};
struct Tile {
  static constexpr auto schema = "tile(Tensor self, int[]* dims) -> Tensor";
  static constexpr auto doc = "repeat() that takes fewer numbers than there are dimensions: leading ones are 1.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, IntSpan times) {
    Dims all;
    for (int64_t d = times.size(); d < x.dim(); d++) all.push_back(1);
    for (int64_t n : times) all.push_back(n);
    return repeat(x, all);
  }
};

struct RepeatIndices {
  static constexpr auto schema = "repeat_interleave(Tensor repeats, *, int? output_size=None) -> Tensor";
  static constexpr auto doc = "Each index i, repeats[i] times.";
  Tensor forward(Ctx&, const Tensor& repeats, OptInt total) {
    RL_CHECK(repeats.dim() == 1, "repeat_interleave: repeats must be one-dimensional, got shape ", repeats.sizes());
    RL_CHECK(repeats.dtype() == DType::Int64 || repeats.dtype() == DType::Int32,
             "repeat_interleave: repeats must be int32 or int64, not ", repeats.dtype());
    RL_CHECK_KIND(!repeats.is_meta(), NotImplemented, "repeat_interleave: the size of the result depends on values");
    Tensor r = kernels::contiguous(kernels::cast(repeats, DType::Int64));
    int64_t n = 0;
    for (int64_t i = 0; i < r.numel(); i++) {
      int64_t times = r.data<int64_t>()[i];
      RL_CHECK(times >= 0, "repeat_interleave: repeats must not be negative, got ", times, " at ", i);
      RL_CHECK(!__builtin_add_overflow(n, times, &n), "repeat_interleave: the result is larger than any memory");
    }
    RL_CHECK(!total || *total == n, "repeat_interleave: output_size is ", total.value_or(0), ", repeats add up to ", n);
    Tensor out = empty({n}, repeats.dtype(), repeats.device());
    visit(repeats.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* p = out.data<T>();
      for (int64_t i = 0; i < r.numel(); i++)
        for (int64_t k = r.data<int64_t>()[i]; k > 0; k--) *p++ = T(i);
    });
    return out;
  }
};
struct RepeatInterleave {
  static constexpr auto schema =
      "repeat_interleave(Tensor self, int repeats, int? dim=None, *, int? output_size=None) -> Tensor";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& self, int64_t times, OptInt d, OptInt total) {
    RL_CHECK(times >= 0, "repeat_interleave: repeats must not be negative, got ", times);
    Tensor x = d ? self : flatten(self);
    if (x.dim() == 0) x = reshape(x, {1});
    int64_t dim = wrap_dim(d.value_or(0), x.dim());
    Dims wide = x.sizes(), shape = x.sizes();
    wide.insert(dim + 1, times), shape[dim] = checked_mul("repeat_interleave", shape[dim], times);
    RL_CHECK(!total || *total == shape[dim], "repeat_interleave: output_size is ", total.value_or(0),
             ", the result has ", shape[dim]);
    return view(clone(expand(unsqueeze(x, dim + 1), wide), MemoryFormat::Contiguous), shape);
  }
};
struct RepeatInterleaveTensor {
  static constexpr auto schema =
      "repeat_interleave(Tensor self, Tensor repeats, int? dim=None, *, int? output_size=None) -> Tensor";
  static constexpr auto doc =
      "Each element of a dimension repeated in place, all as often or each by its number in a vector; of all elements "
      "in order without dim.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& self, const Tensor& repeats, OptInt d, OptInt total) {
    Tensor x = d ? self : flatten(self);
    if (x.dim() == 0) x = reshape(x, {1});
    int64_t dim = wrap_dim(d.value_or(0), x.dim()), n = x.sizes()[dim];
    Tensor r = repeats;
    if (r.dim() == 0 || (r.dim() == 1 && r.numel() == 1)) r = expand(reshape(r, {1}), {n});
    RL_CHECK(r.dim() == 1 && r.numel() == n, "repeat_interleave: repeats has shape ", repeats.sizes(), ", dimension ",
             dim, " has size ", n);
    return index_select(x, dim, apply<RepeatIndices>(r, total));
  }
};

// --- Triangles -------------------------------------------------------------------------------------------------------

template <bool upper>
Tensor triangle(const char* op, const Ctx& ctx, const Tensor& x, int64_t diagonal) {
  check_out_dtype(op, ctx, x.dtype());
  RL_CHECK(x.dim() >= 2, op, ": expects at least 2 dimensions, got shape ", x.sizes());
  Tensor from = kernels::contiguous(x), out = empty(x.sizes(), x.dtype(), x.device());
  if (out.is_meta() || out.numel() == 0) return out;
  int64_t cols = x.size(-1), rows = x.size(-2), size = x.itemsize();
  diagonal = std::clamp(diagonal, -rows - 1, cols + 1);
  const char* p = from.bytes();
  char* q = out.bytes();
  Unlocked unlocked(out.numel());
  parallel_for(0, out.numel() / cols, std::max<int64_t>(1, 32768 / cols), [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; i++) {
      // Columns below `cut` belong to the lower part of this row.
      int64_t cut = std::clamp<int64_t>(i % rows + diagonal + (upper ? 0 : 1), 0, cols);
      int64_t at = i * cols * size, k = cut * size, all = cols * size;
      if (upper) std::memset(q + at, 0, k), std::memcpy(q + at + k, p + at + k, all - k);
      else std::memcpy(q + at, p + at, k), std::memset(q + at + k, 0, all - k);
    }
  });
  return out;
}
struct Tril {
  static constexpr auto schema = "tril(Tensor self, int diagonal=0) -> Tensor";
  static constexpr auto doc = "The lower triangles of matrices, zeros above the given diagonal.";
  int64_t k;
  Tensor forward(Ctx& ctx, const Tensor& x, int64_t diagonal) { return triangle<false>("tril", ctx, x, k = diagonal); }
  Grads backward(Ctx&, Grads g) { return {tril(g[0], k)}; }
};
struct Triu {
  static constexpr auto schema = "triu(Tensor self, int diagonal=0) -> Tensor";
  static constexpr auto doc = "The upper triangles of matrices, zeros below the given diagonal.";
  int64_t k;
  Tensor forward(Ctx& ctx, const Tensor& x, int64_t diagonal) { return triangle<true>("triu", ctx, x, k = diagonal); }
  Grads backward(Ctx&, Grads g) { return {triu(g[0], k)}; }
};

RL_BIND(Cat<CatName>, function | out)
RL_BIND(Cat<ConcatName>, function | out)
RL_BIND(Cat<ConcatenateName>, function | out)
RL_BIND(Stack, function | out)
RL_BIND(Flip, both)
RL_BIND(Fliplr, both)
RL_BIND(Flipud, both)
RL_BIND(Roll, both)
RL_BIND(Rot90, both)
RL_BIND(Repeat, method)
RL_BIND(Tile, both)
RL_BIND(RepeatInterleaveTensor, both)
RL_BIND(RepeatInterleave, both)
RL_BIND(RepeatIndices, function)
RL_BIND(Tril, both | inplace | out)
RL_BIND(Triu, both | inplace | out)

}  // namespace
}  // namespace ops

Tensor cat(std::span<const Tensor> ts, int64_t dim) { return apply<ops::Cat<ops::CatName>>(ts, dim); }
Tensor stack(std::span<const Tensor> ts, int64_t dim) { return apply<ops::Stack>(ts, dim); }
Tensor flip(const Tensor& t, IntSpan dims) { return apply<ops::Flip>(t, dims); }
Tensor roll(const Tensor& t, IntSpan shifts, IntSpan dims) { return apply<ops::Roll>(t, shifts, dims); }
Tensor repeat(const Tensor& t, IntSpan times) { return apply<ops::Repeat>(t, times); }
Tensor tril(const Tensor& t, int64_t k) { return apply<ops::Tril>(t, k); }
Tensor triu(const Tensor& t, int64_t k) { return apply<ops::Triu>(t, k); }

}  // namespace rushlight
