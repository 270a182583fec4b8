// Elements are sorted as unsigned keys of the same order, together with their indices; values are fetched at the end.
#include "kernels/sort.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "base/unlocked.h"

namespace rushlight::kernels {
namespace {

template <class T>
constexpr bool kFloat = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16> || std::is_floating_point_v<T>;

// Up to 32 bits a key and an index share a word; beyond, they lie side by side.
struct Wide {
  uint64_t key;
  uint64_t index;
  bool operator<(const Wide& o) const { return key != o.key ? key < o.key : index < o.index; }
};
template <class T>
using Item = std::conditional_t<sizeof(T) == 8, Wide, uint64_t>;

template <class T>
auto key_of(T v) {
  if constexpr (std::is_same_v<T, bool>) {
    return uint32_t(v);
  } else if constexpr (kFloat<T>) {
    // Positive floats order as their bits do, negative ones the other way round. -0 equals 0, all NaNs are one.
    auto order = [](auto bits, auto sign) { return bits & sign ? decltype(bits)(~bits) : decltype(bits)(bits | sign); };
    if constexpr (sizeof(T) == 8) {
      if (v != v) return ~uint64_t(0);
      return order(std::bit_cast<uint64_t>(v == 0 ? 0.0 : v), uint64_t(1) << 63);
    } else {
      float f = v;
      if (f != f) return ~uint32_t(0);
      return order(std::bit_cast<uint32_t>(f == 0 ? 0.0f : f), uint32_t(1) << 31);
    }
  } else if constexpr (sizeof(T) == 8) {
    return std::is_signed_v<T> ? uint64_t(v) ^ (uint64_t(1) << 63) : uint64_t(v);
  } else {
    return std::is_signed_v<T> ? uint32_t(int32_t(v)) ^ (uint32_t(1) << 31) : uint32_t(v);
  }
}
template <class T>
Item<T> item_of(T v, int64_t index, bool descending) {
  auto key = key_of(v);
  if (descending) key = ~key;
  if constexpr (sizeof(T) == 8) return {key, uint64_t(index)};
  else return uint64_t(key) << 32 | uint32_t(index);
}
int64_t index_of(uint64_t item) { return uint32_t(item); }
int64_t index_of(const Wide& item) { return item.index; }
uint64_t key_bits(uint64_t item) { return item >> 32; }
uint64_t key_bits(const Wide& item) { return item.key; }

// Least significant byte first; bytes that all keys share cost one look.
template <class I>
void radix_sort(I* a, I* spare, int64_t n) {
  constexpr int kBytes = sizeof(I) == 8 ? 4 : 8;
  std::vector<int64_t> counts(kBytes * 256, 0);
  for (int64_t i = 0; i < n; i++) {
    uint64_t k = key_bits(a[i]);
    for (int b = 0; b < kBytes; b++) counts[b * 256 + (k >> 8 * b & 255)]++;
  }
  I *from = a, *to = spare;
  for (int b = 0; b < kBytes; b++) {
    int64_t* c = counts.data() + b * 256;
    if (c[key_bits(from[0]) >> 8 * b & 255] == n) continue;
    int64_t at = 0;
    for (int d = 0; d < 256; d++) at += std::exchange(c[d], at);
    for (int64_t i = 0; i < n; i++) to[c[key_bits(from[i]) >> 8 * b & 255]++] = from[i];
    std::swap(from, to);
  }
  if (from != a) std::memcpy(static_cast<void*>(a), from, n * sizeof(I));
}

// For every line of x along dim: arrange(items, spare, n) orders its items, then the first `keep` of those from `first`
// on are written.
template <class T, class F>
void lines(const Tensor& values, const Tensor& indices, const Tensor& x, int64_t dim, int64_t first, int64_t keep,
           bool descending, F&& arrange) {
  int64_t n = x.dim() ? x.sizes()[dim] : 1, count = x.numel() / n;
  auto step = [&](const Tensor& t) { return t.dim() ? t.strides()[dim] : 1; };
  int64_t xs = step(x), vs = step(values), is = step(indices);
  RL_CHECK(sizeof(T) == 8 || n <= int64_t(UINT32_MAX), "sort: a dimension of ", n, " elements of ", x.dtype(),
           " is too long");
  Unlocked unlocked(x.numel() * 8);
  parallel_for(0, count, std::max<int64_t>(1, 4096 / n), [&](int64_t b, int64_t e) {
    std::unique_ptr<Item<T>[]> items(new Item<T>[2 * n]);
    for (int64_t line = b; line < e; line++) {
      int64_t xo = 0, vo = 0, io = 0, rest = line;
      for (int64_t d = x.dim(); d-- > 0;) {
        if (d == dim) continue;
        int64_t k = rest % x.sizes()[d];
        rest /= x.sizes()[d];
        xo += k * x.strides()[d], vo += k * values.strides()[d], io += k * indices.strides()[d];
      }
      const T* from = x.data<T>() + xo;
      for (int64_t i = 0; i < n; i++) items[i] = item_of(element(from + i * xs), i, descending);
      arrange(items.get(), items.get() + n, n);
      T* to = values.data<T>() + vo;
      int64_t* at = indices.data<int64_t>() + io;
      for (int64_t i = 0; i < keep; i++) {
        int64_t k = index_of(items[first + i]);
        to[i * vs] = element(from + k * xs);
        at[i * is] = k;
      }
    }
  });
}

template <class I>
void sort_items(I* a, I* spare, int64_t n) {
  if (n > 1024) radix_sort(a, spare, n);
  else std::sort(a, a + n);
}

}  // namespace

void sort_into(const Tensor& values, const Tensor& indices, const Tensor& x, int64_t dim, bool descending) {
  if (x.numel() == 0 || x.is_meta()) return;
  visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    int64_t n = x.dim() ? x.sizes()[dim] : 1;
    lines<T>(values, indices, x, dim, 0, n, descending,
             [](auto* a, auto* spare, int64_t n) { sort_items(a, spare, n); });
  });
}

void topk_into(const Tensor& values, const Tensor& indices, const Tensor& x, int64_t dim, int64_t k, bool largest) {
  if (values.numel() == 0 || x.is_meta()) return;
  visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    lines<T>(values, indices, x, dim, 0, k, largest, [k](auto* a, auto* spare, int64_t n) {
      if (k > n / 4) return sort_items(a, spare, n);
      if (k > 256) {
        std::nth_element(a, a + k - 1, a + n);
        std::sort(a, a + k);
        return;
      }
      std::make_heap(a, a + k);  // the last of the k best so far is in front; few elements get past it
      for (auto* item = a + k; item != a + n; item++) {
        if (!(*item < a[0])) continue;
        std::pop_heap(a, a + k);
        a[k - 1] = *item;
        std::push_heap(a, a + k);
      }
      std::sort_heap(a, a + k);
    });
  });
}

void kth_into(const Tensor& values, const Tensor& indices, const Tensor& x, int64_t dim, int64_t k, bool nan_first) {
  if (values.numel() == 0 || x.is_meta()) return;
  visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    lines<T>(values, indices, x, dim, k, 1, false, [=](auto* a, auto*, int64_t n) {
      std::nth_element(a, a + k, a + n);
      if constexpr (kFloat<T>) {
        if (!nan_first) return;
        auto top = key_bits(item_of(T(std::numeric_limits<float>::quiet_NaN()), 0, false));
        auto found = std::min_element(a + k, a + n, [&](const auto& p, const auto& q) {
          bool np = key_bits(p) == top, nq = key_bits(q) == top;
          return np != nq ? np : p < q;
        });
        if (key_bits(*found) == top) std::swap(a[k], *found);
      }
    });
  });
}

}  // namespace rushlight::kernels
