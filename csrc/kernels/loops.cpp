#include "kernels/loops.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/thread_pool.h"
#include "base/unlocked.h"

namespace rushlight::kernels {
namespace {

constexpr int kTile = 512;                          // elements; a few tiles of doubles fit the first-level cache
constexpr int64_t kGrain = 32768;                   // elements for one thread
constexpr int kMaxOperands = 5;                     // the output first
constexpr int64_t kStreamBytes = int64_t(8) << 20;  // results beyond the cache bypass it

struct Operand {
  char* data;
  DType dtype;
  Dims strides;  // bytes
};

struct Plan {
  int n = 0;  // operands
  Operand op[kMaxOperands];
  Dims shape;  // innermost first
  int64_t numel = 1;

  // Drops size-1 dimensions, sorts by the output's strides and merges what is contiguous for every operand.
  void simplify() {
    Dims order;
    for (size_t d = 0; d < shape.size(); d++)
      if (shape[d] != 1) order.push_back(d);
    auto less = [&](int64_t a, int64_t b) {
      for (int i = 0; i < n; i++) {
        int64_t x = std::abs(op[i].strides[a]), y = std::abs(op[i].strides[b]);
        if (x == 0 || y == 0 || x == y) continue;
        return x < y;
      }
      return false;
    };
    for (size_t i = 1; i < order.size(); i++)  // insertion sort: `less` is no strict order
      for (size_t j = i; j > 0 && less(order[j], order[j - 1]); j--) std::swap(order[j], order[j - 1]);
    Dims s;
    Dims st[kMaxOperands];
    for (int64_t d : order) {
      bool merges = !s.empty();
      for (int i = 0; i < n && merges; i++) merges = op[i].strides[d] == st[i].back() * s.back();
      if (merges) {
        s.back() *= shape[d];
        continue;
      }
      s.push_back(shape[d]);
      for (int i = 0; i < n; i++) st[i].push_back(op[i].strides[d]);
    }
    if (s.empty()) {
      s.push_back(1);
      for (int i = 0; i < n; i++) st[i].push_back(itemsize(op[i].dtype));
    }
    shape = std::move(s);
    for (int i = 0; i < n; i++) op[i].strides = std::move(st[i]);
  }
};

// Walks elements [begin, begin + count) of the plan's space for one operand in one-dimensional runs.
template <class F>
void walk(const Dims& shape, const Dims& strides, char* data, int64_t begin, int64_t count, F&& run) {
  size_t nd = shape.size();
  Dims at;
  at.resize(nd, 0);
  char* p = data;
  for (size_t d = 0, rest = begin; d < nd; d++) {
    at[d] = rest % shape[d];
    rest /= shape[d];
    p += at[d] * strides[d];
  }
  int64_t done = 0;
  while (true) {
    int64_t len = std::min(shape[0] - at[0], count - done);
    run(p, strides[0], len, done);
    done += len;
    if (done == count) return;
    p -= at[0] * strides[0];
    at[0] = 0;
    for (size_t d = 1; d < nd; d++) {
      p += strides[d];
      if (++at[d] < shape[d]) break;
      p -= at[d] * strides[d];
      at[d] = 0;
    }
  }
}

enum class Access { direct, splat, gather };

void execute(const Plan& plan, const Tiles& tiles, const void* functor, Compute compute) {
  TileFn fn = tiles.fn[compute];
  DType compute_dtype = compute == kF32 ? DType::Float32 : compute == kF64 ? DType::Float64 : DType::Int64;
  int unit = itemsize(compute_dtype), out_unit = tiles.predicate ? 1 : unit;
  Access access[kMaxOperands] = {};
  for (int i = 0; i < plan.n; i++) {
    const Operand& o = plan.op[i];
    DType want = i == 0 && tiles.predicate ? DType::Bool : compute_dtype;
    bool flat = plan.shape.size() == 1;
    if (i > 0 && std::all_of(o.strides.begin(), o.strides.end(), [](int64_t s) { return s == 0; }))
      access[i] = Access::splat;
    else if (flat && o.dtype == want && o.strides[0] == itemsize(want)) access[i] = Access::direct;
    else access[i] = Access::gather;
  }
  bool stream = access[0] == Access::direct && plan.numel * out_unit >= kStreamBytes &&
                (reinterpret_cast<uintptr_t>(plan.op[0].data) & 63) == 0;
  for (int i = 1; i < plan.n; i++) stream &= plan.op[i].data != plan.op[0].data;  // in place: it is in the cache anyway

  auto piece = [&](int64_t begin, int64_t end) {
    alignas(64) char buffer[kMaxOperands][kTile * 8];
    const void* in[kMaxOperands];
    for (int i = 1; i < plan.n; i++)
      if (access[i] == Access::splat) {
        load_tile(buffer[i], compute, plan.op[i].data, int(plan.op[i].dtype), 0, std::min<int64_t>(kTile, end - begin));
        in[i - 1] = buffer[i];
      }
    for (int64_t at = begin; at < end; at += kTile) {
      int64_t count = std::min<int64_t>(kTile, end - at);
      for (int i = 1; i < plan.n; i++) {
        const Operand& o = plan.op[i];
        if (access[i] == Access::direct) in[i - 1] = o.data + at * unit;
        else if (access[i] == Access::gather) {
          walk(plan.shape, o.strides, o.data, at, count, [&](char* p, int64_t stride, int64_t len, int64_t done) {
            load_tile(buffer[i] + done * unit, compute, p, int(o.dtype), stride, len);
          });
          in[i - 1] = buffer[i];
        }
      }
      const Operand& out = plan.op[0];
      if (access[0] == Access::direct && !stream) {
        fn(functor, count, out.data + at * out_unit, in);
        continue;
      }
      fn(functor, count, buffer[0], in);
      if (stream) {
        stream_copy(out.data + at * out_unit, buffer[0], count * out_unit);
        continue;
      }
      walk(plan.shape, out.strides, out.data, at, count, [&](char* p, int64_t stride, int64_t len, int64_t done) {
        store_tile(p, int(out.dtype), stride, buffer[0] + done * out_unit, compute, tiles.predicate, len);
      });
    }
  };
  Unlocked unlocked(plan.numel);
  // Pieces of whole tiles keep streaming stores aligned.
  int64_t blocks = (plan.numel + kTile - 1) / kTile;
  parallel_for(0, blocks, kGrain / kTile,
               [&](int64_t b, int64_t e) { piece(b * kTile, std::min(e * kTile, plan.numel)); });
}

// Strides in bytes of t seen as `shape`, 0 where it is broadcast; innermost dimension first.
Dims byte_strides(const Tensor& t, IntSpan shape) {
  Dims s;
  int64_t lead = shape.size() - t.dim();
  for (int64_t d = int64_t(shape.size()) - 1; d >= 0; d--) {
    int64_t own = d - lead;
    s.push_back(own < 0 || (t.sizes()[own] == 1 && shape[d] != 1) ? 0 : t.strides()[own] * t.itemsize());
  }
  return s;
}

Dims reversed(IntSpan s) {
  Dims r = s.dims();
  std::reverse(r.begin(), r.end());
  return r;
}

struct Range {
  const char *begin, *end;
};
Range memory_range(const Tensor& t) {
  int64_t low = 0, high = 0;
  for (int64_t d = 0; d < t.dim(); d++) (t.strides()[d] < 0 ? low : high) += (t.sizes()[d] - 1) * t.strides()[d];
  return {t.bytes() + low * t.itemsize(), t.bytes() + (high + 1) * t.itemsize()};
}
bool overlaps(const Tensor& a, const Tensor& b) {
  if (a.storage() != b.storage() || a.numel() == 0 || b.numel() == 0) return false;
  Range x = memory_range(a), y = memory_range(b);
  return x.begin < y.end && y.begin < x.end;
}
bool same_view(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && a.dtype() == b.dtype() && a.sizes() == b.sizes() && a.strides() == b.strides();
}

}  // namespace

bool shares_places(const Tensor& t) {
  if (t.numel() == 0) return false;
  for (int64_t d = 0; d < t.dim(); d++)
    if (t.strides()[d] == 0 && t.sizes()[d] > 1) return true;
  return false;
}

void check_writable(const char* op, const Tensor& out) {
  RL_CHECK(!shares_places(out), op_name(op),
           ": several elements of the tensor written to share one memory location (it was made by expand())",
           hint("clone() it first"));
}

void check_apart(const char* op, const Tensor& out, const Tensor& in) {
  if (in.storage() != out.storage() || out.is_meta()) return;
  RL_CHECK(same_view(in, out) || !overlaps(in, out) || !in.is_dense() || !out.is_dense(), op_name(op),
           ": an operand shares part of its memory with the tensor written to", hint("clone() the operand first"));
}

// The layout of a new result: that of the first operand whose strides tell, dimension by dimension.
Dims result_strides(std::span<const Tensor* const> in, IntSpan shape) {
  size_t n = shape.size();
  SmallVec<Dims, kMaxOperands> st;
  for (size_t i = 0; i < in.size(); i++) st.push_back(reversed(byte_strides(*in[i], shape)));
  Dims order;
  for (size_t d = n; d-- > 0;) order.push_back(d);
  auto compare = [&](int64_t a, int64_t b) {  // > 0: a belongs outside b
    for (size_t i = 0; i < in.size(); i++) {
      int64_t x = st[i][a], y = st[i][b];
      if (x == 0 || y == 0) continue;
      if (x != y) return x < y ? -1 : 1;
      if (shape[a] > shape[b]) return 1;
    }
    return 0;
  };
  for (size_t i = 1; i < n; i++) {
    size_t at = i;
    for (size_t j = i; j-- > 0;) {
      int c = compare(order[j], order[at]);
      if (c > 0) std::swap(order[j], order[at]), at = j;
      else if (c < 0) break;
    }
  }
  // Without elements the layout is PyTorch's all the same: that of a contiguous tensor, or 0 further out than size 0.
  if (std::is_sorted(order.begin(), order.end(), std::greater<int64_t>())) return contiguous_strides(shape);
  Dims strides;
  strides.resize(n, 1);
  int64_t s = 1;
  for (int64_t d : order) strides[d] = s, s *= shape[d];
  return strides;
}

Tensor run_tiles(const char* op, const Tiles& tiles, const void* functor, std::span<const Tensor* const> in,
                 DType compute, DType result, const Tensor* out, bool round_numbers) {
  Compute c = compute_of(compute);
  RL_CHECK_KIND(tiles.fn[c], NotImplemented, op_name(op), " is not defined for ", compute);
  const Tensor& first = *in[0];
  bool same = true;  // one shape, one contiguous layout
  Device device = first.device();
  for (const Tensor* t : in) {
    same &= t->impl()->contiguous && t->sizes() == first.sizes();
    if (t->is_meta()) device = t->device();  // beside a number, say
  }

  Tensor made;
  if (!out) {
    if (same) {
      made = empty(first.sizes(), result, device);
    } else {
      Dims shape = first.sizes();
      for (size_t i = 1; i < in.size(); i++)
        if (in[i]->sizes() != shape) shape = broadcast_shapes(shape, in[i]->sizes());
      made = empty_strided(shape, result_strides(in, shape), result, device);
    }
    out = &made;
  } else {
    Dims shape = first.sizes();
    for (size_t i = 1; i < in.size(); i++)
      if (in[i]->sizes() != shape) shape = broadcast_shapes(shape, in[i]->sizes());
    RL_CHECK(can_cast(result, out->dtype()), op_name(op), ": the result is ", result,
             " and cannot be written into a tensor of ", out->dtype(),
             hint("use the out-of-place form, or convert first"));
    if (out->sizes() != shape) {
      for (const Tensor* t : in)
        RL_CHECK(!t->is_same(*out), op_name(op), ": the result has shape ", shape, ", the tensor to write it to ",
                 out->sizes(), hint("use the out-of-place form"));
      resize_out(*out, shape);
    }
    if (compute < DType::Int64 && result == compute && out->dtype() != compute) {
      // Arithmetic ends within its own dtype, also when written into a wider one: true + true is true, not 2.
      copy_into(*out, run_tiles(op, tiles, functor, in, compute, result, nullptr, round_numbers));
      return *out;
    }
    check_writable(op, *out);
  }
  if (out->numel() == 0 || out->is_meta()) return *out;

  // A Python number takes the dtype of small integers and, mostly, half types that it meets.
  Tensor narrowed[kMaxOperands];
  const Tensor* operands[kMaxOperands];
  const bool small = compute < DType::Int64 && compute != DType::Bool;
  const bool half = round_numbers && (compute == DType::Float16 || compute == DType::BFloat16);
  if (small || half) {
    for (size_t i = 0; i < in.size(); i++) {
      operands[i] = in[i];
      if (in[i]->impl()->wrapped_number && (half || in[i]->dtype() == DType::Int64))
        operands[i] = &(narrowed[i] = cast(*in[i], compute));
    }
    in = {operands, in.size()};
  }

  if (out->numel() <= kTile && out->impl()->contiguous && out->dtype() == (tiles.predicate ? DType::Bool : compute)) {
    // Small and plain: no plan. Numbers among the operands are spread over a tile.
    const void* data[kMaxOperands];
    alignas(64) char spread[kMaxOperands][kTile * 8];
    bool plain = compute == DType::Float32 || compute == DType::Float64 || compute == DType::Int64;
    for (size_t i = 0; i < in.size() && plain; i++) {
      const Tensor& t = *in[i];
      data[i] = t.bytes();
      if (t.dtype() == compute && t.impl()->contiguous && t.sizes() == out->sizes()) continue;
      if (t.numel() == 1) {
        load_tile(spread[i], c, t.bytes(), int(t.dtype()), 0, out->numel());
        data[i] = spread[i];
      } else {
        plain = false;
      }
    }
    if (plain) {
      bool aliased = false;  // another view of the result's memory
      if (!made)
        for (const Tensor* t : in)
          aliased |= t->storage() == out->storage() && (t->bytes() != out->bytes() || t->numel() != out->numel());
      if (!aliased) {
        tiles.fn[c](functor, out->numel(), out->bytes(), data);
        return *out;
      }
    }
  }

  Plan plan;
  plan.n = int(in.size()) + 1;
  plan.shape = reversed(out->sizes());
  plan.numel = out->numel();
  plan.op[0] = {out->bytes(), out->dtype(), byte_strides(*out, out->sizes())};
  Tensor copies[kMaxOperands];
  for (size_t i = 0; i < in.size(); i++) {
    const Tensor* t = in[i];
    // What is read must not be overwritten before its turn: another view of the output's memory is copied.
    if (!made && !same_view(*t, *out) && overlaps(*t, *out)) {
      check_apart(op, *out, *t);
      t = &(copies[i] = clone(*t));
    }
    plan.op[i + 1] = {t->bytes(), t->dtype(), byte_strides(*t, out->sizes())};
  }
  plan.simplify();
  execute(plan, tiles, functor, c);
  return *out;
}

// --- Copies ---------------------------------------------------------------------------------------------------------

namespace {

template <class T>
void identity(const void*, int64_t n, void* out, const void* const* in) {
  std::memcpy(out, in[0], n * sizeof(T));
}
constexpr Tiles kIdentity{{identity<float>, identity<double>, identity<int64_t>}, false};

// The compute type through which a conversion loses nothing that its ends can hold.
Compute through(DType from, DType to) {
  if (!is_floating(from)) return is_floating(to) && to == DType::Float64 ? kF64 : kI64;
  return from == DType::Float64 ? kF64 : kF32;
}

// Same dtype: runs of bytes, and a blocked transpose where the two orders of memory differ.
void copy_same(Plan plan, int size) {
  if (plan.shape.size() == 1 && plan.op[0].strides[0] == size && plan.op[1].strides[0] == size) {
    char *to = plan.op[0].data, *from = plan.op[1].data;
    bool stream = plan.numel * size >= kStreamBytes && (reinterpret_cast<uintptr_t>(to) & 63) == 0;
    parallel_for(0, (plan.numel + 63) / 64, kGrain / 64, [&](int64_t b, int64_t e) {
      int64_t at = b * 64 * size, bytes = std::min(e * 64, plan.numel) * size - at;
      if (stream) stream_copy(to + at, from + at, bytes);
      else std::memcpy(to + at, from + at, bytes);
    });
    return;
  }
  Dims st = plan.op[0].strides, sf = plan.op[1].strides;
  if (plan.shape.size() >= 2 && sf[0] != size && sf[0] != 0) {
    // Find the dimension that is contiguous in the source and walk the two together in blocks.
    size_t d = 1;
    while (d < plan.shape.size() && sf[d] != size) d++;
    if (d < plan.shape.size()) {
      constexpr int64_t kBlock = 32;
      int64_t rows = plan.shape[0], cols = plan.shape[d];
      Dims shape, ost, osf;
      int64_t outer = 1;
      for (size_t k = 1; k < plan.shape.size(); k++)
        if (k != d) shape.push_back(plan.shape[k]), ost.push_back(st[k]), osf.push_back(sf[k]), outer *= plan.shape[k];
      int64_t blocks = (cols + kBlock - 1) / kBlock;
      parallel_for(0, outer * blocks, std::max<int64_t>(1, kGrain / (rows * kBlock)), [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; i++) {
          int64_t rest = i / blocks, c0 = i % blocks * kBlock, c1 = std::min(cols, c0 + kBlock);
          char *to = plan.op[0].data, *from = plan.op[1].data;
          for (size_t k = 0; k < shape.size(); k++) {
            int64_t at = rest % shape[k];
            rest /= shape[k];
            to += at * ost[k], from += at * osf[k];
          }
          for (int64_t r0 = 0; r0 < rows; r0 += kBlock)
            for (int64_t c = c0; c < c1; c++)
              copy_strided(to + c * st[d] + r0 * st[0], st[0], from + c * sf[d] + r0 * sf[0], sf[0], size,
                           std::min(kBlock, rows - r0));
        }
      });
      return;
    }
  }
  int64_t inner = plan.shape[0], runs = plan.numel / inner;
  Dims outer_shape(plan.shape.begin() + 1, plan.shape.end());
  parallel_for(0, runs, std::max<int64_t>(1, kGrain / inner), [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; i++) {
      char *to = plan.op[0].data, *from = plan.op[1].data;
      int64_t rest = i;
      for (size_t k = 0; k < outer_shape.size(); k++) {
        int64_t at = rest % outer_shape[k];
        rest /= outer_shape[k];
        to += at * st[k + 1], from += at * sf[k + 1];
      }
      copy_strided(to, st[0], from, sf[0], size, inner);
    }
  });
}

}  // namespace

void copy_into(const Tensor& to, const Tensor& from) {
  Dims shape = to.sizes() == from.sizes() ? to.sizes() : broadcast_shapes(to.sizes(), from.sizes());
  RL_CHECK(to.sizes() == shape, "copy_: a source of shape ", from.sizes(), " does not broadcast to ", to.sizes());
  if (to.numel() == 0 || (!to.is_meta() && !from.is_meta() && same_view(to, from))) return;
  check_writable("copy_", to);
  if (to.is_meta()) return;
  RL_CHECK_KIND(!from.is_meta(), NotImplemented, "cannot copy out of a tensor on the meta device: it has no values");
  Tensor source = overlaps(to, from) ? clone(from) : from;
  Plan plan;
  plan.n = 2;
  plan.shape = reversed(to.sizes());
  plan.numel = to.numel();
  plan.op[0] = {to.bytes(), to.dtype(), byte_strides(to, to.sizes())};
  plan.op[1] = {source.bytes(), source.dtype(), byte_strides(source, to.sizes())};
  plan.simplify();
  if (to.dtype() == source.dtype()) {
    Unlocked unlocked(plan.numel);
    copy_same(std::move(plan), to.itemsize());
  } else {
    execute(plan, kIdentity, nullptr, through(source.dtype(), to.dtype()));
  }
}

void fill(const Tensor& t, const Scalar& value) {
  if (t.numel() == 0 || t.is_meta()) return;
  if (t.is_dense() && (value == Scalar(0.0) && !std::signbit(value.to_double()))) {
    Unlocked unlocked(t.numel());
    char* p = t.bytes();
    parallel_for(0, t.numel(), kGrain,
                 [&](int64_t b, int64_t e) { std::memset(p + b * t.itemsize(), 0, (e - b) * t.itemsize()); });
    return;
  }
  if (t.numel() == 1) {
    Tensor one = scalar_tensor(value, t.dtype());
    std::memcpy(t.bytes(), one.bytes(), t.itemsize());
    return;
  }
  Dims sizes = t.sizes();
  for (int64_t d = 0; d < t.dim(); d++)
    if (t.strides()[d] == 0) sizes[d] = 1;  // made by expand(): one place, filled once
  copy_into(alias(t, sizes, t.strides(), t.offset()), scalar_tensor(value, t.dtype()));
}

Tensor cast(const Tensor& t, DType dtype, MemoryFormat f) {
  Tensor out = empty_like(t, dtype, f);
  copy_into(out, t);
  return out;
}

Tensor clone(const Tensor& t, MemoryFormat f) { return cast(t, t.dtype(), f); }

}  // namespace rushlight::kernels
