#include "kernels/cpu/norm.h"

#include "base/thread_pool.h"
#include "kernels/cpu/lanes.h"
#include "kernels/cpu/tile.h"

namespace rushlight::kernels::RL_ISA {
namespace {

constexpr int64_t kGrain = 1 << 13;    // elements worth a thread of their own
constexpr int64_t kBlockVectors = 64;  // vectors summed at once, so that rounding errors grow with their number only

template <class V>
struct TwoSums {
  V first, second;
};

// f(at, lanes, m) gives two values for each element, where m holds its channel's mean (0 if mean is null); calls
// done(channel, sum of the first, sum of the second) for each channel.
template <class T, class F, class Done>
void reduce_channels(const Channels& s, const T* mean, F f, Done done) {
  using V = Vec<T>;
  if (s.inner > 1) {
    parallel_for(0, s.channels, 1 + kGrain / (s.count() + 1), [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; c++) {
        const V m(mean ? mean[c] : T(0));
        double first = 0, second = 0;
        for (int64_t i = 0; i < s.n; i++) {
          const int64_t plane = (i * s.channels + c) * s.inner;
          for (int64_t j = 0; j < s.inner; j += kBlockVectors * V::size) {
            V a(0), b(0);
            for_vectors<V>(min_of(kBlockVectors * V::size, s.inner - j), [&](int64_t at, auto lanes) {
              const TwoSums<V> v = f(plane + j + at, lanes, m);
              a += filled(v.first, V(0), lanes), b += filled(v.second, V(0), lanes);
            });
            first += double(reduce_add(a)), second += double(reduce_add(b));
          }
        }
        done(c, first, second);
      }
    });
    return;
  }
  parallel_for(0, divide_up(s.channels, V::size), 1 + kGrain / (s.n * V::size + 1), [&](int64_t begin, int64_t end) {
    for_vectors<V>(min_of(end * V::size, s.channels) - begin * V::size, [&](int64_t offset, auto lanes) {
      const int64_t c = begin * V::size + offset;
      const V m = mean ? load<V>(mean + c, lanes) : V(0);
      double first[V::size] = {}, second[V::size] = {};
      for (int64_t r = 0; r < s.n; r += kBlockVectors) {
        V a(0), b(0);
        for (int64_t i = r; i < min_of(s.n, r + kBlockVectors); i++) {
          const TwoSums<V> v = f(i * s.channels + c, lanes, m);
          a += v.first, b += v.second;
        }
        for (int k = 0; k < V::size; k++) first[k] += double(a[k]), second[k] += double(b[k]);
      }
      for (int k = 0; k < int(lanes); k++) done(c + k, first[k], second[k]);
    });
  });
}

// Calls f(at, lanes, pick) for vectors that cover all elements; pick(p, otherwise) is the element's channel of p, or,
// where that is null, `otherwise`.
template <class T, class F>
void map_channels(const Channels& s, F f) {
  using V = Vec<T>;
  if (s.inner > 1) {
    parallel_for(0, s.n * s.channels, 1 + kGrain / s.inner, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; plane++) {
        auto pick = [c = plane % s.channels](const T* p, T otherwise) { return V(p ? p[c] : otherwise); };
        for_vectors<V>(s.inner, [&](int64_t j, auto lanes) { f(plane * s.inner + j, lanes, pick); });
      }
    });
    return;
  }
  parallel_for(0, s.n, 1 + kGrain / (s.channels + 1), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++)
      for_vectors<V>(s.channels, [&](int64_t c, auto lanes) {
        f(i * s.channels + c, lanes, [&](const T* p, T otherwise) { return p ? load<V>(p + c, lanes) : V(otherwise); });
      });
  });
}

// The second pass also sums what rounding of the first left over (Chan, Golub and LeVeque, "Algorithms for computing
// the sample variance", 1983).
template <class T>
void channel_moments(const Channels& s, const T* x, T* mean, T* rest, T* var) {
  using V = Vec<T>;
  const double count = double(s.count());
  reduce_channels<T>(
      s, nullptr, [=](int64_t at, auto lanes, V) { return TwoSums<V>{load<V>(x + at, lanes), V(0)}; },
      [=](int64_t c, double sum, double) { mean[c] = T(sum / count); });
  reduce_channels<T>(
      s, mean,
      [=](int64_t at, auto lanes, V m) {
        const V d = load<V>(x + at, lanes) - m;
        return TwoSums<V>{d, d * d};
      },
      [=](int64_t c, double sum, double squares) {
        const double exact = double(mean[c]) + sum / count;
        mean[c] = T(exact);
        rest[c] = T(exact - double(mean[c]));
        var[c] = T((squares - sum * sum / count) / count);
      });
}

template <class T>
void channel_affine(const Channels& s, const T* x, const T* mean, const T* scale, const T* shift, T* y) {
  using V = Vec<T>;
  map_channels<T>(s, [=](int64_t at, auto lanes, auto pick) {
    const V d = load<V>(x + at, lanes) - pick(mean, 0);
    store(multiply_add(d, pick(scale, 1), pick(shift, 0)), y + at, lanes);
  });
}

template <class T>
void channel_sums(const Channels& s, const T* g, const T* x, const T* mean, T* sum_g, T* sum_gx) {
  using V = Vec<T>;
  reduce_channels<T>(
      s, mean,
      [=](int64_t at, auto lanes, V m) {
        const V v = load<V>(g + at, lanes);
        return TwoSums<V>{v, v * (load<V>(x + at, lanes) - m)};
      },
      [=](int64_t c, double sum, double product) { sum_g[c] = T(sum), sum_gx[c] = T(product); });
}

template <class T>
void channel_combine(const Channels& s, const T* g, const T* x, const T* mean, const T* a, const T* b, const T* c,
                     T* gx) {
  using V = Vec<T>;
  if (!b) {
    map_channels<T>(
        s, [=](int64_t at, auto lanes, auto pick) { store(load<V>(g + at, lanes) * pick(a, 1), gx + at, lanes); });
    return;
  }
  map_channels<T>(s, [=](int64_t at, auto lanes, auto pick) {
    const V d = load<V>(x + at, lanes) - pick(mean, 0);
    store(multiply_add(load<V>(g + at, lanes), pick(a, 1), multiply_add(d, pick(b, 0), pick(c, 0))), gx + at, lanes);
  });
}

template <class T, class F>
T mean_of(int64_t n, F f) {
  using V = Vec<T>;
  double total = 0;
  for (int64_t j = 0; j < n; j += kBlockVectors * V::size) {
    V sum(0);
    for_vectors<V>(min_of(kBlockVectors * V::size, n - j),
                   [&](int64_t at, auto lanes) { sum += filled(f(j + at, lanes), V(0), lanes); });
    total += double(reduce_add(sum));
  }
  return T(total / double(n));
}

// Not centred: the mean is taken to be 0, as in root-mean-square normalization.
template <bool centred, class T>
void row_norm(int64_t rows, int64_t n, const T* x, const T* weight, const T* bias, double eps, T* y, T* mean, T* rstd) {
  using V = Vec<T>;
  parallel_for(0, rows, 1 + kGrain / (n + 1), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; r++) {
      const T* in = x + r * n;
      T m(0);
      if constexpr (centred) {
        const T guess = mean_of<T>(n, [=](int64_t i, auto lanes) { return load<V>(in + i, lanes); });
        m = guess + mean_of<T>(n, [=](int64_t i, auto lanes) { return load<V>(in + i, lanes) - guess; });
        mean[r] = m;
      }
      const T var = mean_of<T>(n, [=](int64_t i, auto lanes) {
        const V d = load<V>(in + i, lanes) - m;
        return d * d;
      });
      const T factor = T(1 / __builtin_sqrt(double(var) + eps));
      rstd[r] = factor;
      for_vectors<V>(n, [&](int64_t i, auto lanes) {
        V v = (load<V>(in + i, lanes) - m) * factor;
        if (weight) v *= load<V>(weight + i, lanes);
        if (bias) v += load<V>(bias + i, lanes);
        store(v, y + r * n + i, lanes);
      });
    }
  });
}

template <bool centred, class T>
void row_norm_backward(int64_t rows, int64_t n, const T* g, const T* x, const T* weight, const T* mean, const T* rstd,
                       T* gx, T* gw, T* gb) {
  using V = Vec<T>;
  if (gx)
    parallel_for(0, rows, 1 + kGrain / (n + 1), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; r++) {
        const T *in = x + r * n, *grad = g + r * n, m = centred ? mean[r] : T(0), factor = rstd[r];
        auto scaled = [=](int64_t i, auto lanes) {
          const V v = load<V>(grad + i, lanes);
          return weight ? v * load<V>(weight + i, lanes) : v;
        };
        auto normal = [=](int64_t i, auto lanes) { return (load<V>(in + i, lanes) - m) * factor; };
        const T part = centred ? mean_of<T>(n, scaled) : T(0);
        const T along = mean_of<T>(n, [=](int64_t i, auto lanes) { return scaled(i, lanes) * normal(i, lanes); });
        for_vectors<V>(n, [&](int64_t i, auto lanes) {
          store((scaled(i, lanes) - part - normal(i, lanes) * along) * factor, gx + r * n + i, lanes);
        });
      }
    });
  if (!gw && !gb) return;
  parallel_for(0, divide_up(n, V::size), 1 + kGrain / (rows * V::size + 1), [&](int64_t begin, int64_t end) {
    for_vectors<V>(min_of(end * V::size, n) - begin * V::size, [&](int64_t offset, auto lanes) {
      const int64_t i = begin * V::size + offset;
      V total_w(0), total_b(0);
      for (int64_t first = 0; first < rows; first += kBlockVectors) {
        V sum_w(0), sum_b(0);
        for (int64_t r = first; r < min_of(rows, first + kBlockVectors); r++) {
          const V v = load<V>(g + r * n + i, lanes);
          sum_b += v;
          sum_w += v * ((load<V>(x + r * n + i, lanes) - (centred ? mean[r] : T(0))) * rstd[r]);
        }
        total_w += sum_w, total_b += sum_b;
      }
      if (gw) store(total_w, gw + i, lanes);
      if (gb) store(total_b, gb + i, lanes);
    });
  });
}

}  // namespace

#define RL_NORM(T, suffix)                                                                                           \
  void channel_moments_##suffix(const Channels& s, const T* x, T* mean, T* rest, T* var) {                           \
    channel_moments(s, x, mean, rest, var);                                                                          \
  }                                                                                                                  \
  void channel_affine_##suffix(const Channels& s, const T* x, const T* mean, const T* scale, const T* shift, T* y) { \
    channel_affine(s, x, mean, scale, shift, y);                                                                     \
  }                                                                                                                  \
  void channel_sums_##suffix(const Channels& s, const T* g, const T* x, const T* mean, T* sum_g, T* sum_gx) {        \
    channel_sums(s, g, x, mean, sum_g, sum_gx);                                                                      \
  }                                                                                                                  \
  void channel_combine_##suffix(const Channels& s, const T* g, const T* x, const T* mean, const T* a, const T* b,    \
                                const T* c, T* gx) {                                                                 \
    channel_combine(s, g, x, mean, a, b, c, gx);                                                                     \
  }                                                                                                                  \
  void layer_norm_##suffix(int64_t rows, int64_t n, const T* x, const T* weight, const T* bias, double eps, T* y,    \
                           T* mean, T* rstd) {                                                                       \
    row_norm<true>(rows, n, x, weight, bias, eps, y, mean, rstd);                                                    \
  }                                                                                                                  \
  void layer_norm_backward_##suffix(int64_t rows, int64_t n, const T* g, const T* x, const T* weight, const T* mean, \
                                    const T* rstd, T* gx, T* gw, T* gb) {                                            \
    row_norm_backward<true>(rows, n, g, x, weight, mean, rstd, gx, gw, gb);                                          \
  }                                                                                                                  \
  void rms_norm_##suffix(int64_t rows, int64_t n, const T* x, const T* weight, double eps, T* y, T* rstd) {          \
    row_norm<false, T>(rows, n, x, weight, nullptr, eps, y, nullptr, rstd);                                          \
  }                                                                                                                  \
  void rms_norm_backward_##suffix(int64_t rows, int64_t n, const T* g, const T* x, const T* weight, const T* rstd,   \
                                  T* gx, T* gw) {                                                                    \
    row_norm_backward<false, T>(rows, n, g, x, weight, nullptr, rstd, gx, gw, nullptr);                              \
  }
RL_NORM(float, f32)
RL_NORM(double, f64)

}  // namespace rushlight::kernels::RL_ISA
