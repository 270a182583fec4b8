#include "kernels/cpu/loss.h"

#include "base/thread_pool.h"
#include "kernels/cpu/tile.h"
#include "kernels/cpu/vec_math.h"

namespace rushlight::kernels::RL_ISA {
namespace {

constexpr int64_t kBlock = 4096;     // elements whose losses are summed at once; the same for any number of threads
constexpr int64_t kGrain = 1 << 14;  // elements worth a thread of their own

template <class T>
double sum_of_weights(const ClassLoss& s, const T* weight) {
  if (!weight) return double(s.classes);
  double sum = 0;
  for (int64_t c = 0; c < s.classes; c++) sum += double(weight[c]);
  return sum;
}

template <class T>
LossSums block_of_losses(const ClassLoss& s, const T* logp, const T* weight, T* losses, int64_t begin, int64_t end) {
  LossSums sums{0, 0, -1};
  const double spread = s.smoothing / double(s.classes);
  for (int64_t i = begin; i < end; i++) {
    const int64_t t = s.target[i];
    if (t == s.ignore_index) {
      if (losses) losses[i] = 0;
      continue;
    }
    if (t < 0 || t >= s.classes) {
      sums.wrong = i;
      return sums;
    }
    const int64_t at = i / s.inner * s.classes * s.inner + i % s.inner;
    const double w = weight ? double(weight[t]) : 1.0;
    double loss = (1 - s.smoothing) * w * -double(logp[at + t * s.inner]);
    if (s.smoothing != 0) {
      double all = 0;
      for (int64_t c = 0; c < s.classes; c++)
        all -= double(logp[at + c * s.inner]) * (weight ? double(weight[c]) : 1.0);
      loss += spread * all;
    }
    if (losses) losses[i] = T(loss);
    sums.loss += loss;
    sums.weight += w;
  }
  return sums;
}

template <class T>
LossSums class_loss(const ClassLoss& s, const T* logp, const T* weight, T* losses) {
  const int64_t positions = s.positions(), blocks = divide_up(positions, kBlock);
  if (blocks <= 1) return block_of_losses(s, logp, weight, losses, 0, positions);
  Scratch<LossSums> parts(blocks);
  parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; b++)
      parts.get()[b] = block_of_losses(s, logp, weight, losses, b * kBlock, min_of(positions, (b + 1) * kBlock));
  });
  LossSums sums{0, 0, -1};
  for (int64_t b = 0; b < blocks; b++) {
    const LossSums& part = parts.get()[b];
    sums.loss += part.loss, sums.weight += part.weight;
    if (sums.wrong < 0) sums.wrong = part.wrong;
  }
  return sums;
}

// What every class of position i gets (times its weight), and what the right class gets beside.
template <class T>
struct Shares {
  int64_t target;  // -1: does not count
  T spread, right, total;
};
template <class T>
Shares<T> shares_of(const ClassLoss& s, const T* weight, double all_weights, const T* grad, bool each, double scale,
                    int64_t i) {
  const int64_t t = s.target[i];
  if (t == s.ignore_index || uint64_t(t) >= uint64_t(s.classes)) return {-1, 0, 0, 0};  // forward found none such
  const double g = scale * (grad ? double(grad[each ? i : 0]) : 1.0), spread = g * s.smoothing / double(s.classes);
  const double right = g * (1 - s.smoothing) * (weight ? double(weight[t]) : 1.0);
  return {t, T(spread), T(right), T(right + spread * all_weights)};
}

template <class T>
void class_loss_backward(const ClassLoss& s, const T* weight, const T* grad, bool each, double scale, T* out) {
  const double all_weights = sum_of_weights(s, weight);
  parallel_for(0, s.positions(), 1 + kGrain / s.classes, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const Shares<T> share = shares_of(s, weight, all_weights, grad, each, scale, i);
      T* to = out + i / s.inner * s.classes * s.inner + i % s.inner;
      for (int64_t c = 0; c < s.classes; c++) to[c * s.inner] = weight ? -share.spread * weight[c] : -share.spread;
      if (share.target >= 0) to[share.target * s.inner] -= share.right;
    }
  });
}

// The gradient by the logits: softmax * total - shares, where the shares sum to total.
template <class T>
void cross_entropy_row(const ClassLoss& s, const Shares<T>& share, const T* logp, const T* weight, T* out) {
  using V = Vec<T>;
  int64_t c = 0;
  for (; c + V::size <= s.classes; c += V::size) {
    V v = exp(V::load(logp + c)) * share.total;
    if (s.smoothing != 0) v -= weight ? V::load(weight + c) * share.spread : V(share.spread);
    v.store(out + c);
  }
  if (const int n = int(s.classes - c); n > 0) {
    V v = exp(V::load(logp + c, n)) * share.total;
    if (s.smoothing != 0) v -= weight ? V::load(weight + c, n) * share.spread : V(share.spread);
    v.store(out + c, n);
  }
  if (share.target >= 0) out[share.target] -= share.right;
}

template <class T>
void cross_entropy_columns(const ClassLoss& s, const Shares<T>* shares, int lanes, const T* logp, const T* weight,
                           T* out) {
  using V = Vec<T>;
  T total[V::size] = {}, spread[V::size] = {};
  for (int i = 0; i < lanes; i++) total[i] = shares[i].total, spread[i] = shares[i].spread;
  const V totals = V::load(total), spreads = V::load(spread);
  for (int64_t c = 0; c < s.classes; c++) {
    V v = exp(V::load(logp + c * s.inner, lanes)) * totals;
    if (s.smoothing != 0) v -= weight ? spreads * weight[c] : spreads;
    v.store(out + c * s.inner, lanes);
  }
  for (int i = 0; i < lanes; i++)
    if (shares[i].target >= 0) out[shares[i].target * s.inner + i] -= shares[i].right;
}

template <class T>
void cross_entropy_backward(const ClassLoss& s, const T* logp, const T* weight, const T* grad, bool each, double scale,
                            T* out) {
  const double all_weights = sum_of_weights(s, weight);
  auto share = [&](int64_t i) { return shares_of(s, weight, all_weights, grad, each, scale, i); };
  if (s.inner == 1) {
    parallel_for(0, s.n, 1 + kGrain / (4 * s.classes), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++)
        cross_entropy_row(s, share(i), logp + i * s.classes, weight, out + i * s.classes);
    });
    return;
  }
  constexpr int64_t width = Vec<T>::size;
  const int64_t bundles = divide_up(s.inner, width);
  parallel_for(0, s.n * bundles, 1 + kGrain / (4 * s.classes * width), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; b++) {
      const int64_t n = b / bundles, column = b % bundles * width, at = n * s.classes * s.inner + column;
      const int lanes = int(min_of(width, s.inner - column));
      Shares<T> shares[width];
      for (int i = 0; i < lanes; i++) shares[i] = share(n * s.inner + column + i);
      cross_entropy_columns(s, shares, lanes, logp + at, weight, out + at);
    }
  });
}

template <class T>
double squared_error_block(const T* x, const T* y, int64_t n) {
  constexpr int lanes = 16;
  T sums[lanes] = {};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (int j = 0; j < lanes; j++) sums[j] += (x[i + j] - y[i + j]) * (x[i + j] - y[i + j]);
  for (; i < n; i++) sums[0] += (x[i] - y[i]) * (x[i] - y[i]);
  double sum = 0;
  for (T s : sums) sum += double(s);
  return sum;
}

template <class T>
double squared_error(const T* x, const T* y, int64_t n) {
  const int64_t blocks = divide_up(n, kBlock);
  if (blocks <= 1) return squared_error_block(x, y, n);
  Scratch<double> parts(blocks);
  parallel_for(0, blocks, kGrain / kBlock, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; b++)
      parts.get()[b] = squared_error_block(x + b * kBlock, y + b * kBlock, min_of(kBlock, n - b * kBlock));
  });
  double sum = 0;
  for (int64_t b = 0; b < blocks; b++) sum += parts.get()[b];
  return sum;
}

template <class T>
void scaled_error(const T* x, const T* y, int64_t n, double scale, T* out) {
  const T f = T(scale);
  parallel_for(0, n, kGrain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) out[i] = f * (x[i] - y[i]);
  });
}

}  // namespace

#define RL_LOSSES(T, suffix)                                                                                         \
  LossSums class_loss_##suffix(const ClassLoss& s, const T* logp, const T* weight, T* losses) {                      \
    return class_loss(s, logp, weight, losses);                                                                      \
  }                                                                                                                  \
  void class_loss_backward_##suffix(const ClassLoss& s, const T* weight, const T* grad, bool each, double scale,     \
                                    T* out) {                                                                        \
    class_loss_backward(s, weight, grad, each, scale, out);                                                          \
  }                                                                                                                  \
  void cross_entropy_backward_##suffix(const ClassLoss& s, const T* logp, const T* weight, const T* grad, bool each, \
                                       double scale, T* out) {                                                       \
    cross_entropy_backward(s, logp, weight, grad, each, scale, out);                                                 \
  }                                                                                                                  \
  double squared_error_##suffix(const T* x, const T* y, int64_t n) { return squared_error(x, y, n); }                \
  void scaled_error_##suffix(const T* x, const T* y, int64_t n, double scale, T* out) {                              \
    scaled_error(x, y, n, scale, out);                                                                               \
  }
RL_LOSSES(float, f32)
RL_LOSSES(double, f64)

}  // namespace rushlight::kernels::RL_ISA
