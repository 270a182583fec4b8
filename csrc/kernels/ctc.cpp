#include "kernels/ctc.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace rushlight::kernels {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// log(exp(a) + exp(b) + exp(c)).
double log_sum(double a, double b, double c = kNever) {
  const double high = std::max(a, std::max(b, c));
  return high == kNever ? kNever : high + std::log(std::exp(a - high) + std::exp(b - high) + std::exp(c - high));
}

// The labels with a blank before, between and after them, through which an alignment goes: at each moment it stays, or
// moves on by one, or by two from one label to another that differs.
template <class T>
struct Path {
  const CtcSample<T>& s;
  int64_t length;

  explicit Path(const CtcSample<T>& sample) : s(sample), length(2 * sample.count + 1) {}
  int64_t at(int64_t i) const { return i % 2 ? s.labels[i / 2] : s.blank; }
  double log_prob(int64_t t, int64_t i) const { return double(s.log_probs[t * s.stride + at(i)]); }
  bool skips_to(int64_t i) const { return i % 2 && i >= 3 && at(i) != at(i - 2); }

  // alpha[t * length + i]: log-probability of all beginnings that stand at i at moment t.
  std::vector<double> alpha() const {
    std::vector<double> a(size_t(s.moments * length), kNever);
    a[0] = log_prob(0, 0);
    if (length > 1) a[1] = log_prob(0, 1);
    for (int64_t t = 1; t < s.moments; t++) {
      const double* before = &a[size_t((t - 1) * length)];
      double* now = &a[size_t(t * length)];
      for (int64_t i = 0; i < length; i++) {
        const double step = i >= 1 ? before[i - 1] : kNever, skip = skips_to(i) ? before[i - 2] : kNever;
        now[i] = log_sum(before[i], step, skip) + log_prob(t, i);
      }
    }
    return a;
  }
  // beta[t * length + i]: of all that may follow after standing at i at moment t.
  std::vector<double> beta() const {
    std::vector<double> b(size_t(s.moments * length), kNever);
    double* last = &b[size_t((s.moments - 1) * length)];
    last[length - 1] = 0;
    if (length > 1) last[length - 2] = 0;
    for (int64_t t = s.moments - 2; t >= 0; t--) {
      const double* after = &b[size_t((t + 1) * length)];
      double* now = &b[size_t(t * length)];
      for (int64_t i = 0; i < length; i++) {
        auto by_way_of = [&](int64_t j) { return after[j] + log_prob(t + 1, j); };
        now[i] = log_sum(by_way_of(i), i + 1 < length ? by_way_of(i + 1) : kNever,
                         i + 2 < length && skips_to(i + 2) ? by_way_of(i + 2) : kNever);
      }
    }
    return b;
  }
  double total(const std::vector<double>& alpha) const {
    const double* last = &alpha[size_t((s.moments - 1) * length)];
    return length > 1 ? log_sum(last[length - 1], last[length - 2]) : last[0];
  }
};

}  // namespace

template <class T>
double ctc_loss(const CtcSample<T>& s) {
  if (s.moments == 0) return s.count == 0 ? 0 : -kNever;
  const Path<T> path(s);
  return -path.total(path.alpha());
}

template <class T>
void ctc_loss_backward(const CtcSample<T>& s, double scale, T* gradient) {
  if (s.moments == 0) return;
  const Path<T> path(s);
  const std::vector<double> a = path.alpha(), b = path.beta();
  const double total = path.total(a);
  if (total == kNever) {  // no alignment: the loss is infinite and has no slope
    for (int64_t t = 0; t < s.moments; t++)
      for (int64_t c = 0; c < s.classes; c++) gradient[t * s.stride + c] += T(std::nan(""));
    return;
  }
  for (int64_t t = 0; t < s.moments; t++)
    for (int64_t i = 0; i < path.length; i++) {  // the share of alignments that stand at i at this moment
      const size_t k = size_t(t * path.length + i);
      gradient[t * s.stride + path.at(i)] -= T(scale * std::exp(a[k] + b[k] - total));
    }
}

template double ctc_loss(const CtcSample<float>&);
template double ctc_loss(const CtcSample<double>&);
template void ctc_loss_backward(const CtcSample<float>&, double, float*);
template void ctc_loss_backward(const CtcSample<double>&, double, double*);

}  // namespace rushlight::kernels
