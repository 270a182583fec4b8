#include "kernels/indexing.h"

#include <algorithm>
#include <cstring>

#include "base/thread_pool.h"
#include "base/unlocked.h"
#include "kernels/loops.h"

namespace rushlight::kernels {
namespace {

constexpr int64_t kGrain = 16384;  // elements for one thread

[[noreturn, gnu::cold, gnu::noinline]] void out_of_bounds(ErrorKind kind, int64_t i, int64_t dim, int64_t size) {
  fail(kind, "index ", i, " is out of bounds for dimension ", dim, " with size ", size);
}

void check_device(const Tensor& a, const Tensor& b) {
  RL_CHECK(a.device() == b.device(), "all tensors must be on one device, got ", a.device(), " and ", b.device());
}

// Calls f(Tag<T>()) with an unsigned integer of the size of a dtype's elements: for what only moves them.
template <class F>
void visit_size(DType d, F&& f) {
  switch (itemsize(d)) {
    case 1: return f(Tag<uint8_t>());
    case 2: return f(Tag<uint16_t>());
    case 4: return f(Tag<uint32_t>());
    default: return f(Tag<uint64_t>());
  }
}

template <Combine how, class T>
T combined(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) return how == Combine::add || how == Combine::maximum ? (a || b) : (a && b);
  // Integers wrap around.
  else if constexpr (how == Combine::add && std::is_integral_v<T>) return T(uint64_t(a) + uint64_t(b));
  else if constexpr (how == Combine::multiply && std::is_integral_v<T>) return T(uint64_t(a) * uint64_t(b));
  else if constexpr (how == Combine::add) return T(a + b);
  else if constexpr (how == Combine::multiply) return T(a * b);
  else if constexpr (how == Combine::minimum) return b != b || b < a ? b : a;
  else return b != b || b > a ? b : a;
}
// Calls f(write) with a function of two elements that says what is written; not for `assign`.
template <class F>
void visit_combine(Combine how, F&& f) {
  switch (how) {
    case Combine::multiply: return f([](auto a, auto b) { return combined<Combine::multiply>(a, b); });
    case Combine::minimum: return f([](auto a, auto b) { return combined<Combine::minimum>(a, b); });
    case Combine::maximum: return f([](auto a, auto b) { return combined<Combine::maximum>(a, b); });
    default: return f([](auto a, auto b) { return combined<Combine::add>(a, b); });
  }
}

// Dimensions of two operands with those of size 1 dropped and neighbours merged; innermost last.
struct Pair {
  Dims sizes, a, b;
  void add(int64_t size, int64_t sa, int64_t sb) {
    if (size == 1) return;
    if (!sizes.empty() && a.back() == size * sa && b.back() == size * sb) {
      sizes.back() *= size, a.back() = sa, b.back() = sb;
      return;
    }
    sizes.push_back(size), a.push_back(sa), b.push_back(sb);
  }
  int64_t numel() const {
    int64_t n = 1;
    for (int64_t s : sizes) n *= s;
    return n;
  }
  void locate(int64_t i, int64_t& at_a, int64_t& at_b) const {
    at_a = at_b = 0;
    for (size_t d = sizes.size(); d-- > 0;) {
      int64_t k = i % sizes[d];
      i /= sizes[d];
      at_a += k * a[d], at_b += k * b[d];
    }
  }
};

// The memory of x seen through an IndexPlan, beside a tensor of the result's shape ("other").
struct Places {
  Pair plain;                   // dimensions that are taken whole: x's and values' strides
  std::vector<int64_t> places;  // of x
  std::vector<int64_t> other;
  int64_t inner = 1, inner_x = 0, inner_other = 0;  // the innermost plain dimension, apart

  Places(const IndexPlan& p, const Tensor& values) {
    Dims strides = values.strides();
    for (size_t d = 0; d < p.shape.size(); d++)
      if (values.sizes()[d] == 1) strides[d] = 0;
    places = p.offsets();
    Pair along;
    for (size_t d = p.at; d < p.at + p.n; d++) along.add(p.shape[d], 0, strides[d]);
    other.resize(places.size());
    for (size_t i = 0, n = places.size(); i < n; i++) {
      int64_t none;
      along.locate(i, none, other[i]);
    }
    for (size_t d = 0; d < p.shape.size(); d++)
      if (d < p.at || d >= p.at + p.n) plain.add(p.shape[d], p.own_strides[d], strides[d]);
    if (!plain.sizes.empty()) {
      inner = plain.sizes.back(), inner_x = plain.a.back(), inner_other = plain.b.back();
      plain.sizes.pop_back(), plain.a.pop_back(), plain.b.pop_back();
    }
  }
};

template <class T>
void copy_run(T* to, int64_t ts, const T* from, int64_t fs, int64_t n) {
  if (ts == 1 && fs == 1) {
    std::memcpy(to, from, n * sizeof(T));
  } else {
    for (int64_t i = 0; i < n; i++) to[i * ts] = from[i * fs];
  }
}

}  // namespace

// --- Indexing by several tensors -------------------------------------------------------------------------------------

IndexPlan::IndexPlan(const Tensor& x, std::span<const Tensor> given) {
  RL_CHECK_KIND(int64_t(given.size()) <= x.dim(), Index, "too many indices: ", given.size(), " for a tensor of ",
                x.dim(), " dimension", x.dim() == 1 ? "" : "s");
  Dims broadcast;
  int64_t first = -1, last = -1;
  bool adjacent = true;
  for (size_t d = 0; d < given.size(); d++) {
    if (!given[d]) continue;
    check_device(x, given[d]);
    if (first < 0) first = d;
    else adjacent &= last + 1 == int64_t(d);
    last = d;
    try {
      broadcast = broadcast_shapes(broadcast, given[d].sizes());
    } catch (const Error&) {
      std::string shapes;
      for (const Tensor& t : given)
        if (t) shapes += (shapes.empty() ? "" : ", ") + detail::concat(t.sizes());
      fail(ErrorKind::Index, "the shapes of the indices, ", shapes, ", do not broadcast together",
           hint("to take all combinations, index with a[:, None] and b"));
    }
    dims.push_back(d), sizes.push_back(x.sizes()[d]), strides.push_back(x.strides()[d]);
  }
  for (const Tensor& t : given) {
    if (!t) continue;
    Dims steps;
    int64_t lead = broadcast.size() - t.dim();
    for (size_t d = 0; d < broadcast.size(); d++) {
      int64_t own = int64_t(d) - lead;
      steps.push_back(own < 0 || (t.sizes()[own] == 1 && broadcast[d] != 1) ? 0 : t.strides()[own]);
    }
    indices.push_back(alias(t, broadcast, steps, t.offset()));
  }
  n = broadcast.size();
  at = adjacent ? std::max<int64_t>(first, 0) : 0;
  for (int64_t d = 0; d <= x.dim(); d++) {
    bool here = adjacent ? d == std::max<int64_t>(first, 0) : d == 0;
    if (here)
      for (int64_t s : broadcast) shape.push_back(s), own_strides.push_back(0);
    if (d == x.dim() || (size_t(d) < given.size() && given[d])) continue;
    shape.push_back(x.sizes()[d]), own_strides.push_back(x.strides()[d]);
  }
  // An index into nothing is an error unless nothing is asked for.
  if (product(broadcast) > 0)
    for (int64_t s : sizes)
      RL_CHECK_KIND(s > 0 || product(shape) == 0, Index, "index is out of bounds for a dimension of size 0");
}

std::vector<int64_t> IndexPlan::offsets() const {
  int64_t count = n ? product(IntSpan(shape.data() + at, n)) : 1;
  std::vector<int64_t> out(count, 0);
  if (indices.empty()) return out;
  for (size_t k = 0; k < indices.size(); k++) {
    const Tensor& t = indices[k];
    Pair walk;
    for (int64_t d = 0; d < t.dim(); d++) walk.add(t.sizes()[d], t.strides()[d], 0);
    const int64_t* p = t.data<int64_t>();
    int64_t size = sizes[k], stride = strides[k];
    bool flat = walk.sizes.size() <= 1;
    int64_t step = walk.sizes.empty() ? 0 : walk.a[0];
    parallel_for(0, count, kGrain, [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; i++) {
        int64_t place = i * step, none;
        if (!flat) walk.locate(i, place, none);
        int64_t v = p[place], w = v < 0 && wrap ? v + size : v;
        if (uint64_t(w) >= uint64_t(size)) [[unlikely]]
          out_of_bounds(error, v, dims[k], size);
        out[i] += w * stride;
      }
    });
  }
  return out;
}

Dims IndexPlan::result_strides(const Tensor& x) const {
  std::vector<Tensor> operands{alias(x, shape, own_strides, x.offset())};
  for (const Tensor& t : indices) {
    Dims wide(shape.size(), 1);
    for (size_t d = 0; d < n; d++) wide[at + d] = t.sizes()[d];
    Dims steps = view_strides(t.sizes(), t.strides(), wide).value_or(Dims(shape.size(), 0));
    for (size_t d = 0; d < shape.size(); d++)
      if ((d < at || d >= at + n) && shape[d] != 1) steps[d] = 0;
    operands.push_back(alias(x, shape, steps, x.offset()));
  }
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : operands) pointers.push_back(&t);
  return kernels::result_strides(pointers, shape);
}

void take_into(const Tensor& out, const Tensor& x, const IndexPlan& plan) {
  if (out.is_meta()) return;
  if (out.numel() == 0) {
    plan.offsets();
    return;
  }
  Unlocked unlocked(out.numel());
  Places s(plan, out);
  int64_t outer = s.plain.numel(), count = s.places.size();
  visit_size(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = x.data<T>();
    T* to = out.data<T>();
    // Calls f(run, from index, to index) on the pieces of [b, e), which counts runs of `count` places each.
    auto pieces = [&](int64_t b, int64_t e, auto&& f) {
      for (int64_t i = b; i < e;) {
        int64_t k = i % count, stop = std::min(count, k + e - i);
        f(i / count, k, stop);
        i += stop - k;
      }
    };
    if (s.inner_other != 1 || s.inner == 1) {  // x[:, index]: row by row
      parallel_for(0, outer * s.inner * count, kGrain, [&](int64_t b, int64_t e) {
        pieces(b, e, [&](int64_t run, int64_t k, int64_t stop) {
          int64_t ax, ao;
          s.plain.locate(run / s.inner, ax, ao);
          const T* f = from + ax + run % s.inner * s.inner_x;
          T* t = to + ao + run % s.inner * s.inner_other;
          for (; k < stop; k++) t[s.other[k]] = f[s.places[k]];
        });
      });
      return;
    }
    parallel_for(0, outer * count, std::max<int64_t>(1, kGrain / s.inner), [&](int64_t b, int64_t e) {
      pieces(b, e, [&](int64_t run, int64_t k, int64_t stop) {
        int64_t ax, ao;
        s.plain.locate(run, ax, ao);
        for (; k < stop; k++)
          copy_run(to + ao + s.other[k], s.inner_other, from + ax + s.places[k], s.inner_x, s.inner);
      });
    });
  });
}

void put_at(const Tensor& x, const IndexPlan& plan, const Tensor& values, Combine how) {
  check_device(x, values);
  Dims shape = values.sizes() == plan.shape ? plan.shape : broadcast_shapes(plan.shape, values.sizes());
  RL_CHECK(shape == plan.shape, "values of shape ", values.sizes(), " do not broadcast to the indexed shape ",
           plan.shape);
  if (x.is_meta()) return;
  if (product(shape) == 0) {
    plan.offsets();
    return;
  }
  Tensor v = values.storage() == x.storage() ? clone(values) : values;
  Dims strides(shape.size(), 0);
  int64_t lead = int64_t(shape.size()) - v.dim();
  for (int64_t d = 0; d < v.dim(); d++)
    if (v.sizes()[d] != 1) strides[lead + d] = v.strides()[d];
  v = alias(v, shape, strides, v.offset());
  Unlocked unlocked(v.numel());
  Places s(plan, v);
  int64_t outer = s.plain.numel(), count = s.places.size();
  // Calls write(offset in x, offset in values) for every run. Writes to one place keep their order: threads share the
  // plain dimensions among them, or the range of places.
  auto rows = [&](auto&& write) {
    if (outer > 1 || s.inner < 4 || count * s.inner < 2 * kGrain || num_threads() == 1) {
      parallel_for(0, outer, std::max<int64_t>(1, kGrain / (count * s.inner)), [&](int64_t b, int64_t e) {
        for (int64_t o = b; o < e; o++) {
          int64_t ax, ao;
          s.plain.locate(o, ax, ao);
          for (int64_t k = 0; k < count; k++) write(ax + s.places[k], ao + s.other[k]);
        }
      });
      return;
    }
    auto [low, high] = std::minmax_element(s.places.begin(), s.places.end());
    int64_t first = *low, span = *high - *low + 1, parts = std::min<int64_t>(span, num_threads());
    parallel_for(0, parts, 1, [&](int64_t b, int64_t e) {
      auto edge = [&](int64_t i) { return first + span / parts * i + std::min(i, span % parts); };
      for (int64_t k = 0; k < count; k++)
        if (s.places[k] >= edge(b) && s.places[k] < edge(e)) write(s.places[k], s.other[k]);
    });
  };
  if (how == Combine::assign) {
    visit_size(x.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* to = x.data<T>();
      const T* from = v.data<T>();
      rows([&](int64_t a, int64_t b) { copy_run(to + a, s.inner_x, from + b, s.inner_other, s.inner); });
    });
    return;
  }
  visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = x.data<T>();
    const T* from = v.data<T>();
    visit_combine(how, [&](auto write) {
      rows([&](int64_t a, int64_t b) {
        T* t = to + a;
        const T* f = from + b;
        if (s.inner_x == 1 && s.inner_other == 1) {
          for (int64_t i = 0; i < s.inner; i++) t[i] = write(element(t + i), element(f + i));
        } else {
          for (int64_t i = 0; i < s.inner; i++)
            t[i * s.inner_x] = write(element(t + i * s.inner_x), element(f + i * s.inner_other));
        }
      });
    });
  });
}

// --- Along one dimension ---------------------------------------------------------------------------------------------

namespace {

// Walks an index tensor with x and a third tensor of the index's layout of dimensions ("other"). Calls
// line(x, index, other, x step, index step, other step, count) with offsets and steps in elements; x's offset leaves
// `dim` out. Lines that meet the same places of x are called in order and by one thread.
template <class F>
void along(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& other, F&& line) {
  constexpr int64_t kChunk = 64;
  int64_t nd = index.dim(), last = dim == nd - 1 ? -1 : nd - 1;  // lines run along the last dimension
  int64_t length = index.sizes()[dim], width = last < 0 ? 1 : index.sizes()[last];
  int64_t chunks = (width + kChunk - 1) / kChunk, units = chunks;
  for (int64_t d = 0; d < nd; d++)
    if (d != dim && d != last) units *= index.sizes()[d];
  int64_t is = index.strides()[dim], os = other.strides()[dim];
  parallel_for(0, units, std::max<int64_t>(1, kGrain / (length * std::min(width, kChunk))), [&](int64_t b, int64_t e) {
    for (int64_t u = b; u < e; u++) {
      int64_t c = u % chunks * kChunk, rest = u / chunks, xo = 0, io = 0, oo = 0;
      for (int64_t d = nd; d-- > 0;) {
        if (d == dim || d == last) continue;
        int64_t k = rest % index.sizes()[d];
        rest /= index.sizes()[d];
        xo += k * x.strides()[d], io += k * index.strides()[d], oo += k * other.strides()[d];
      }
      if (last < 0) {
        line(xo, io, oo, 0, is, os, length);
        continue;
      }
      int64_t xl = x.strides()[last], il = index.strides()[last], ol = other.strides()[last];
      for (int64_t k = 0; k < length; k++)
        line(xo + c * xl, io + c * il + k * is, oo + c * ol + k * os, xl, il, ol, std::min(kChunk, width - c));
    }
  });
}

// An index that was expanded, so that it names whole slices of dimension `dim`: as index_select() has it.
bool names_slices(const Tensor& index, int64_t dim) {
  for (int64_t d = 0; d < index.dim(); d++)
    if (d != dim && index.sizes()[d] > 1 && index.strides()[d] != 0) return false;
  return index.numel() > index.sizes()[dim];
}
IndexPlan slices(const Tensor& part, int64_t dim, const Tensor& index) {
  std::vector<Tensor> indices(dim + 1);
  indices[dim] = alias(index, {index.sizes()[dim]}, {index.strides()[dim]}, index.offset());
  IndexPlan plan(part, indices);
  plan.wrap = false, plan.error = ErrorKind::Runtime;
  return plan;
}
// x cut to the sizes of the index in all dimensions but dim.
Tensor cut(const Tensor& x, int64_t dim, const Tensor& index) {
  Dims sizes = index.sizes();
  if (dim >= 0) sizes[dim] = x.sizes()[dim];
  return alias(x, sizes, x.strides(), x.offset());
}

}  // namespace

void gather_into(const Tensor& out, const Tensor& x, int64_t dim, const Tensor& index) {
  check_device(x, index);
  if (out.numel() == 0 || out.is_meta()) return;
  if (names_slices(index, dim)) {
    Tensor part = cut(x, dim, index);
    return take_into(out, part, slices(part, dim, index));
  }
  int64_t size = x.sizes()[dim], stride = x.strides()[dim];
  const int64_t* at = index.data<int64_t>();
  Unlocked unlocked(index.numel());
  visit_size(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = x.data<T>();
    T* to = out.data<T>();
    along(x, dim, index, out, [&](int64_t xo, int64_t io, int64_t oo, int64_t xs, int64_t is, int64_t os, int64_t n) {
      for (int64_t i = 0; i < n; i++) {
        int64_t k = at[io + i * is];
        if (uint64_t(k) >= uint64_t(size)) [[unlikely]]
          out_of_bounds(ErrorKind::Runtime, k, dim, size);
        to[oo + i * os] = from[xo + i * xs + k * stride];
      }
    });
  });
}

void scatter_into(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src, Combine how) {
  check_device(x, index), check_device(x, src);
  if (index.numel() == 0 || x.is_meta()) return;
  if (names_slices(index, dim)) {
    Tensor part = cut(x, dim, index);
    return put_at(part, slices(part, dim, index), cut(src, -1, index), how);
  }
  int64_t size = x.sizes()[dim], stride = x.strides()[dim];
  Tensor copy = src.storage() == x.storage() ? clone(src) : src;
  Tensor places = index.storage() == x.storage() ? clone(index) : index;
  const int64_t* at = places.data<int64_t>();
  Unlocked unlocked(index.numel());
  auto run = [&](auto tag, auto&& write) {
    using T = typename decltype(tag)::type;
    T* to = x.data<T>();
    const T* from = copy.data<T>();
    along(x, dim, places, copy, [&](int64_t xo, int64_t io, int64_t oo, int64_t xs, int64_t is, int64_t os, int64_t n) {
      for (int64_t i = 0; i < n; i++) {
        int64_t k = at[io + i * is];
        if (uint64_t(k) >= uint64_t(size)) [[unlikely]]
          out_of_bounds(ErrorKind::Runtime, k, dim, size);
        T* place = to + xo + i * xs + k * stride;
        *place = write(element(place), element(from + oo + i * os));
      }
    });
  };
  if (how == Combine::assign) visit_size(x.dtype(), [&](auto tag) { run(tag, [](auto, auto b) { return b; }); });
  else
    visit(x.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      visit_combine(how, [&](auto write) { run(tag, [write](T a, T b) -> T { return write(a, b); }); });
    });
}

// --- Where elements are not zero -------------------------------------------------------------------------------------

namespace {

// Calls f(b, e, part) on equal parts of [0, n): the same parts each time, so that counts of one pass place the next.
constexpr int64_t kPart = 1 << 15;
template <class F>
void in_parts(int64_t n, F&& f) {
  parallel_for(0, (n + kPart - 1) / kPart, 1, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; i++) f(i * kPart, std::min(n, (i + 1) * kPart), i);
  });
}

template <class T>
std::vector<int64_t> count_parts(const T* p, int64_t n) {
  std::vector<int64_t> counts((n + kPart - 1) / kPart, 0);
  in_parts(n, [&](int64_t b, int64_t e, int64_t part) {
    int64_t c = 0;
    for (int64_t i = b; i < e; i++) c += element(p + i) != T(0);
    counts[part] = c;
  });
  return counts;
}

}  // namespace

Tensor nonzero(const Tensor& x) {
  RL_CHECK_KIND(!x.is_meta(), NotImplemented,
                "nonzero: how many elements are not zero is unknown without their values");
  Tensor c = contiguous(x);
  return visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* p = c.data<T>();
    std::vector<int64_t> counts = count_parts(p, c.numel()), starts;
    int64_t total = 0;
    for (int64_t n : counts) starts.push_back(total), total += n;
    // One column after another, as its parts are used one by one.
    Tensor out = empty_strided({total, x.dim()}, {1, total}, DType::Int64, x.device());
    int64_t* to = out.data<int64_t>();
    Unlocked unlocked(c.numel());
    in_parts(c.numel(), [&](int64_t b, int64_t e, int64_t part) {
      int64_t k = starts[part];
      Dims at(size_t(x.dim()), 0);
      for (int64_t d = x.dim() - 1, rest = b; d >= 0; d--) at[d] = rest % x.sizes()[d], rest /= x.sizes()[d];
      for (int64_t i = b; i < e; i++) {
        if (element(p + i) != T(0)) {
          for (int64_t d = 0; d < x.dim(); d++) to[k + d * total] = at[d];
          k++;
        }
        for (int64_t d = x.dim() - 1; d >= 0 && ++at[d] == x.sizes()[d]; d--) at[d] = 0;
      }
    });
    return out;
  });
}

}  // namespace rushlight::kernels
