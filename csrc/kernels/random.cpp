#include "kernels/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <type_traits>
#include <vector>

#include "kernels/cpu/random_fill.h"

namespace rushlight::kernels {
namespace {

constexpr int64_t chunk = 512;

// out[i] = f(word) for words of 32 or 64 bits.
template <class Word, class T, class F>
void from_words(Mt19937& mt, T* out, int64_t n, F f) {
  constexpr int parts = sizeof(Word) / sizeof(uint32_t);
  uint32_t words[parts * chunk];
  for (int64_t at = 0; at < n; at += chunk) {
    int64_t count = std::min(chunk, n - at);
    fill_raw(mt, words, parts * count);
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (parts == 1) out[at + i] = f(words[i]);
      else out[at + i] = f(uint64_t(words[2 * i]) << 32 | words[2 * i + 1]);
    }
  }
}

// out[i] = f(i, u) for uniforms of type U.
template <class U, class T, class F>
void from_uniform(Mt19937& mt, T* out, int64_t n, F f) {
  U u[chunk];
  for (int64_t at = 0; at < n; at += chunk) {
    int64_t count = std::min(chunk, n - at);
    if constexpr (std::is_same_v<U, float>) fill_uniform_f32(mt, u, count, 0, 1);
    else fill_uniform_f64(mt, u, count, 0, 1);
    for (int64_t i = 0; i < count; ++i) out[at + i] = T(f(at + i, u[i]));
  }
}

// The remainder of a division by the same number again and again: D. Lemire, O. Kaser, N. Kurz, "Faster remainder by
// direct computation", Software: Practice and Experience 49(6), 2019.
class Remainder {
 public:
  explicit Remainder(uint32_t divisor) : divisor_(divisor), inverse_(UINT64_MAX / divisor + 1) {}
  uint32_t operator()(uint32_t x) const { return uint32_t((unsigned __int128)(inverse_ * x) * divisor_ >> 64); }

 private:
  uint64_t divisor_, inverse_;
};

template <class T>
void draw_normal(Generator& g, T* out, int64_t n, double mean, double std, bool skip_rest) {
  if (n < 16) {
    for (int64_t i = 0; i < n; ++i) out[i] = T(g.normal(mean, std));
    return;
  }
  auto fill = [&](T* to, int64_t count) {
    if constexpr (std::is_same_v<T, float>) fill_normal_f32(g.mt, to, count, float(mean), float(std));
    else fill_normal_f64(g.mt, to, count, mean, std);
  };
  int64_t rest = n % 16;
  fill(out, n - rest);
  if (!rest) return;
  // A last block that is not full is drawn, and dropped for a block that ends with the array.
  for (int64_t i = 0; skip_rest && i < rest * int64_t(sizeof(T) / sizeof(float)); ++i) g.random32();
  fill(out + n - 16, 16);
}

// Inversion, here and below.
double exponential(double u, double rate) { return -1 / rate * std::log1p(-u); }

// Multiplies uniforms until their product is below exp(-rate): D. E. Knuth, TAOCP 2, 3.4.1. For rates from 10 on the
// transformed rejection PTRS: W. Hörmann, "The transformed rejection method for generating Poisson random variables",
// Insurance: Mathematics and Economics 12, 1993.
double poisson(Generator& g, double rate) {
  if (!(rate > 0)) return 0;
  if (rate < 10) {
    double limit = std::exp(-rate), product = 1;
    for (double k = 0;; ++k) {
      product *= g.uniform();
      if (product <= limit) return k;
    }
  }
  double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  double log_inverse_alpha = std::log(1.1239 + 1.1328 / (b - 3.4)), v_r = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    double u = g.uniform() - 0.5, v = g.uniform();
    double s = 0.5 - std::fabs(u), k = std::floor((2 * a / s + b) * u + rate + 0.43);
    if (s >= 0.07 && v <= v_r) return k;
    if (k < 0 || (s < 0.013 && v > s)) continue;
    if (std::log(v) + log_inverse_alpha - std::log(a / (s * s) + b) <= -rate + k * std::log(rate) - std::lgamma(k + 1))
      return k;
  }
}

// The largest weight / exponential wins with probability in proportion to the weight; the `count` largest are a sample
// without replacement: P. S. Efraimidis, P. G. Spirakis, "Weighted random sampling with a reservoir", 2006.
template <class T>
void race(Mt19937& mt, int64_t* out, const T* weights, int64_t rows, int64_t categories, int64_t count) {
  std::vector<T> key(size_t(rows * categories));
  from_uniform<double>(mt, key.data(), rows * categories, [](int64_t, double u) { return exponential(u, 1); });
  for (size_t i = 0; i < key.size(); ++i) key[i] = weights[i] / key[i];
  std::vector<int64_t> order(static_cast<size_t>(categories));
  for (int64_t r = 0; r < rows; ++r, out += count) {
    const T* k = key.data() + r * categories;
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + count, order.end(),
                      [k](int64_t a, int64_t b) { return k[a] != k[b] ? k[a] > k[b] : a < b; });
    std::copy_n(order.begin(), count, out);
  }
}

}  // namespace

template <class T>
void random_uniform(Generator& g, T* out, int64_t n, double from, double to) {
  std::lock_guard hold(g.mutex);
  if constexpr (std::is_same_v<T, float>) fill_uniform_f32(g.mt, out, n, float(from), float(to));
  else fill_uniform_f64(g.mt, out, n, from, to);
}

template <class T>
void random_normal(Generator& g, T* out, int64_t n, double mean, double std) {
  std::lock_guard hold(g.mutex);
  draw_normal(g, out, n, mean, std, true);
}

void random_normal_half(Generator& g, float* out, int64_t n, double mean, double std) {
  std::lock_guard hold(g.mutex);
  draw_normal(g, out, n, mean, std, false);
}

template <class T>
void random_integer(Generator& g, T* out, int64_t n, int64_t lo, uint64_t range) {
  std::lock_guard hold(g.mutex);
  auto value = [lo](uint64_t draw) { return T(int64_t(uint64_t(lo) + draw)); };
  if (range == 0) {
    from_words<uint64_t>(g.mt, out, n, [](uint64_t w) { return T(int64_t(w)); });
  } else if (range < uint64_t(1) << 28) {
    Remainder remainder{uint32_t(range)};
    from_words<uint32_t>(g.mt, out, n, [&](uint32_t w) { return value(remainder(w)); });
  } else {
    from_words<uint64_t>(g.mt, out, n, [&](uint64_t w) { return value(w % range); });
  }
}

template <class T>
void random_whole(Generator& g, T* out, int64_t n) {
  std::lock_guard hold(g.mutex);
  if constexpr (std::is_same_v<T, bool>) {
    from_words<uint32_t>(g.mt, out, n, [](uint32_t w) { return bool(w & 1); });
  } else if constexpr (std::is_integral_v<T>) {
    using Word = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    from_words<Word>(g.mt, out, n, [](Word w) { return T(w & Word(std::numeric_limits<T>::max())); });
  } else {
    using Word = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    constexpr Word range = (Word(1) << std::numeric_limits<T>::digits) + 1;
    from_words<Word>(g.mt, out, n, [](Word w) { return T(w % range); });
  }
}

void random_permutation(Generator& g, int64_t* out, int64_t n) {
  std::lock_guard hold(g.mutex);
  std::iota(out, out + n, int64_t(0));
  uint32_t words[chunk];
  for (int64_t at = 0; at < n - 1; at += chunk) {
    int64_t count = std::min(chunk, n - 1 - at);
    fill_raw(g.mt, words, count);
    for (int64_t i = at; i < at + count; ++i) std::swap(out[i], out[i + words[i - at] % (n - i)]);
  }
}

template <class T>
void random_bernoulli(Generator& g, T* out, int64_t n, double p) {
  std::lock_guard hold(g.mutex);
  uint64_t threshold = uint64_t(std::ceil(p * 0x1p53));
  if constexpr (sizeof(T) == 1) return fill_below(g.mt, reinterpret_cast<uint8_t*>(out), n, threshold);
  uint8_t below[chunk];
  for (int64_t at = 0; at < n; at += chunk) {
    int64_t count = std::min(chunk, n - at);
    fill_below(g.mt, below, count, threshold);
    for (int64_t i = 0; i < count; ++i) out[at + i] = T(below[i]);
  }
}

template <class T, class P>
void random_bernoulli(Generator& g, T* out, int64_t n, const P* p) {
  std::lock_guard hold(g.mutex);
  from_uniform<P>(g.mt, out, n, [p](int64_t i, P u) { return u < p[i]; });
}

template <class T>
void random_exponential(Generator& g, T* out, int64_t n, double rate) {
  std::lock_guard hold(g.mutex);
  from_uniform<double>(g.mt, out, n, [rate](int64_t, double u) { return exponential(u, rate); });
}

template <class T>
void random_cauchy(Generator& g, T* out, int64_t n, double median, double scale) {
  std::lock_guard hold(g.mutex);
  from_uniform<double>(
      g.mt, out, n, [=](int64_t, double u) { return std::fma(scale, std::tan(std::numbers::pi * (u - 0.5)), median); });
}

template <class T>
void random_log_normal(Generator& g, T* out, int64_t n, double mean, double std) {
  std::lock_guard hold(g.mutex);
  for (int64_t i = 0; i < n; ++i) out[i] = T(std::exp(g.normal() * std + mean));
}

template <class T>
void random_poisson(Generator& g, T* out, int64_t n, const T* rate) {
  std::lock_guard hold(g.mutex);
  for (int64_t i = 0; i < n; ++i) out[i] = T(poisson(g, double(rate[i])));
}

template <class T>
void random_geometric(Generator& g, T* out, int64_t n, double p) {
  std::lock_guard hold(g.mutex);
  from_uniform<double>(g.mt, out, n, [scale = std::log1p(-p)](int64_t, double u) {
    double trials = std::ceil(std::log(u) / scale);
    if constexpr (std::is_integral_v<T>) return std::min(trials, double(std::numeric_limits<T>::max()) / 2);
    return trials;
  });
}

template <class T>
void random_multinomial(Generator& g, int64_t* out, const T* weights, int64_t rows, int64_t categories, int64_t count,
                        bool replacement) {
  std::lock_guard hold(g.mutex);
  if (!replacement || count == 1) return race(g.mt, out, weights, rows, categories, count);
  std::vector<T> below(static_cast<size_t>(categories));  // the probability of this category or one before it
  for (int64_t r = 0; r < rows; ++r, out += count, weights += categories) {
    std::partial_sum(weights, weights + categories, below.begin());
    for (const T total = below.back(); T& b : below) b /= total;
    below.back() = 1;
    from_uniform<double>(g.mt, out, count, [&](int64_t, double u) {
      return std::lower_bound(below.begin(), below.end(), u) - below.begin();
    });
  }
}

#define RL_FOR_FLOATS(T)                                                    \
  template void random_uniform(Generator&, T*, int64_t, double, double);    \
  template void random_normal(Generator&, T*, int64_t, double, double);     \
  template void random_exponential(Generator&, T*, int64_t, double);        \
  template void random_cauchy(Generator&, T*, int64_t, double, double);     \
  template void random_log_normal(Generator&, T*, int64_t, double, double); \
  template void random_poisson(Generator&, T*, int64_t, const T*);          \
  template void random_multinomial(Generator&, int64_t*, const T*, int64_t, int64_t, int64_t, bool);
#define RL_FOR_NUMBERS(T)                                                   \
  template void random_integer(Generator&, T*, int64_t, int64_t, uint64_t); \
  template void random_whole(Generator&, T*, int64_t);                      \
  template void random_bernoulli(Generator&, T*, int64_t, double);          \
  template void random_bernoulli(Generator&, T*, int64_t, const float*);    \
  template void random_bernoulli(Generator&, T*, int64_t, const double*);   \
  template void random_geometric(Generator&, T*, int64_t, double);

RL_FOR_FLOATS(float)
RL_FOR_FLOATS(double)
RL_FOR_NUMBERS(float)
RL_FOR_NUMBERS(double)
RL_FOR_NUMBERS(int64_t)
RL_FOR_NUMBERS(int32_t)
RL_FOR_NUMBERS(int16_t)
RL_FOR_NUMBERS(int8_t)
RL_FOR_NUMBERS(uint8_t)
RL_FOR_NUMBERS(uint16_t)
RL_FOR_NUMBERS(uint32_t)
RL_FOR_NUMBERS(uint64_t)
RL_FOR_NUMBERS(bool)

}  // namespace rushlight::kernels
