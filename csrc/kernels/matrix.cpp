#include "kernels/matrix.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace rushlight::kernels {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr int kSweeps = 60;  // of rotations; a handful is enough for any matrix seen

double dot(const double* x, const double* y, int64_t n) {
  double s = 0;
  for (int64_t i = 0; i < n; i++) s += x[i] * y[i];
  return s;
}
// y += f x
void add_multiple(double f, const double* x, double* y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] += f * x[i];
}
void rotate(double* x, double* y, int64_t n, double c, double s) {
  for (int64_t i = 0; i < n; i++) {
    const double a = x[i], b = y[i];
    x[i] = c * a - s * b, y[i] = s * a + c * b;
  }
}
void transpose_into(double* to, const double* from, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++) to[j * rows + i] = from[i * cols + j];
}
bool all_finite(const double* a, int64_t n) {
  return std::all_of(a, a + n, [](double v) { return std::isfinite(v); });
}

}  // namespace

int64_t lu_factor(double* a, int64_t rows, int64_t cols, int32_t* pivots) {
  int64_t info = 0;
  for (int64_t k = 0; k < std::min(rows, cols); k++) {
    int64_t p = k;
    for (int64_t i = k + 1; i < rows; i++)
      if (std::abs(a[i * cols + k]) > std::abs(a[p * cols + k])) p = i;
    pivots[k] = int32_t(p);
    if (p != k) std::swap_ranges(a + p * cols, a + (p + 1) * cols, a + k * cols);
    const double pivot = a[k * cols + k];
    if (pivot == 0) {
      if (!info) info = k + 1;
      continue;
    }
    for (int64_t i = k + 1; i < rows; i++) {
      double& l = a[i * cols + k];
      l /= pivot;
      if (l != 0) add_multiple(-l, a + k * cols + k + 1, a + i * cols + k + 1, cols - k - 1);
    }
  }
  return info;
}

void lu_solve(const double* lu, const int32_t* pivots, int64_t n, double* b, int64_t cols) {
  for (int64_t i = 0; i < n; i++)
    if (pivots[i] != i) std::swap_ranges(b + pivots[i] * cols, b + (pivots[i] + 1) * cols, b + i * cols);
  solve_triangular(lu, n, false, true, b, cols);
  solve_triangular(lu, n, true, false, b, cols);
}

int64_t cholesky(double* a, int64_t n) {
  for (int64_t j = 0; j < n; j++) {
    double* row = a + j * n;
    const double square = row[j] - dot(row, row, j);
    if (!(square > 0)) return j + 1;
    row[j] = std::sqrt(square);
    for (int64_t i = j + 1; i < n; i++) a[i * n + j] = (a[i * n + j] - dot(a + i * n, row, j)) / row[j];
    std::fill(row + j + 1, row + n, 0.0);
  }
  return 0;
}

void solve_triangular(const double* t, int64_t n, bool upper, bool unit, double* b, int64_t cols) {
  for (int64_t k = 0; k < n; k++) {
    const int64_t i = upper ? n - 1 - k : k;
    const int64_t first = upper ? i + 1 : 0, last = upper ? n : i;
    for (int64_t j = first; j < last; j++)
      if (t[i * n + j] != 0) add_multiple(-t[i * n + j], b + j * cols, b + i * cols, cols);
    if (!unit)
      for (int64_t c = 0; c < cols; c++) b[i * cols + c] /= t[i * n + i];
  }
}

void householder_qr(double* a, int64_t rows, int64_t cols, double* q, int64_t q_cols) {
  const int64_t steps = std::min(rows, cols);
  // The reflections 1 - factor v v^T, v[k] being 1 for step k; columns as rows, so that memory is read in order.
  std::vector<double> c(rows * cols), factor(steps, 0.0);
  transpose_into(c.data(), a, rows, cols);
  for (int64_t k = 0; k < steps; k++) {
    double* v = c.data() + k * rows;
    const int64_t below = rows - k - 1;
    const double alpha = v[k], tail = std::sqrt(dot(v + k + 1, v + k + 1, below));
    if (tail == 0) continue;
    const double beta = -std::copysign(std::hypot(alpha, tail), alpha);
    factor[k] = (beta - alpha) / beta;
    for (int64_t i = k + 1; i < rows; i++) v[i] /= alpha - beta;
    v[k] = beta;
    for (int64_t j = k + 1; j < cols; j++) {
      double* x = c.data() + j * rows;
      const double f = -factor[k] * (x[k] + dot(v + k + 1, x + k + 1, below));
      x[k] += f;
      add_multiple(f, v + k + 1, x + k + 1, below);
    }
  }
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++) a[i * cols + j] = i <= j ? c[j * rows + i] : 0.0;
  if (!q) return;
  std::vector<double> columns(q_cols * rows, 0.0);
  for (int64_t j = 0; j < q_cols; j++) {
    double* x = columns.data() + j * rows;
    x[j] = 1;
    for (int64_t k = std::min(j, steps - 1); k >= 0; k--) {
      const double* v = c.data() + k * rows;
      const double f = -factor[k] * (x[k] + dot(v + k + 1, x + k + 1, rows - k - 1));
      x[k] += f;
      add_multiple(f, v + k + 1, x + k + 1, rows - k - 1);
    }
  }
  transpose_into(q, columns.data(), q_cols, rows);
}

bool symmetric_eigen(double* a, int64_t n, double* values, double* v) {
  if (!all_finite(a, n * n)) return false;
  std::vector<double> vectors(n * n, 0.0);  // as rows
  for (int64_t i = 0; i < n; i++) vectors[i * n + i] = 1;
  // A sweep that finds nothing above rounding errors of the whole matrix leaves their squares.
  const double rounding = kEpsilon * std::sqrt(dot(a, a, n * n));
  bool done = n <= 1;
  for (int sweep = 0; sweep < kSweeps && !done; sweep++) {
    done = true;
    for (int64_t p = 0; p < n; p++)
      for (int64_t q = p + 1; q < n; q++) {
        const double apq = a[p * n + q], app = a[p * n + p], aqq = a[q * n + q];
        // Below this it changes neither eigenvalue in double.
        if (apq == 0 || std::abs(apq) <= 0.1 * kEpsilon * std::sqrt(std::abs(app)) * std::sqrt(std::abs(aqq)) ||
            std::abs(apq) <= std::numeric_limits<double>::min())
          continue;
        if (std::abs(apq) > rounding) done = false;
        const double tau = (aqq - app) / (2 * apq),
                     t = std::copysign(1.0, tau) / (std::abs(tau) + std::sqrt(1 + tau * tau)),
                     c = 1 / std::sqrt(1 + t * t), s = t * c;
        rotate(a + p * n, a + q * n, n, c, s);
        for (int64_t k = 0; k < n; k++) {
          const double x = a[k * n + p], y = a[k * n + q];
          a[k * n + p] = c * x - s * y, a[k * n + q] = s * x + c * y;
        }
        a[p * n + q] = a[q * n + p] = 0;
        rotate(vectors.data() + p * n, vectors.data() + q * n, n, c, s);
      }
  }
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return a[i * n + i] < a[j * n + j]; });
  for (int64_t i = 0; i < n; i++) {
    values[i] = a[order[i] * n + order[i]];
    if (v)
      for (int64_t k = 0; k < n; k++) v[k * n + i] = vectors[order[i] * n + k];
  }
  return done;
}

bool jacobi_svd(double* a, int64_t rows, int64_t cols, double* s, double* v, int64_t& rank) {
  rank = 0;
  if (!all_finite(a, rows * cols)) return false;
  std::vector<double> columns(cols * rows), right(v ? cols * cols : 0, 0.0);
  transpose_into(columns.data(), a, rows, cols);
  // Squares of very large or small elements would overflow or vanish.
  double largest = 0;
  for (double x : columns) largest = std::max(largest, std::abs(x));
  const double scale = largest > 0 ? std::exp2(-std::floor(std::log2(largest))) : 1;
  for (double& x : columns) x *= scale;
  for (int64_t i = 0; v && i < cols; i++) right[i * cols + i] = 1;
  const double tolerance = kEpsilon * std::max(2.0, std::sqrt(double(rows)));
  bool done = false;
  for (int sweep = 0; sweep < kSweeps && !done; sweep++) {
    done = true;
    for (int64_t p = 0; p < cols; p++)
      for (int64_t q = p + 1; q < cols; q++) {
        double *x = columns.data() + p * rows, *y = columns.data() + q * rows;
        const double xx = dot(x, x, rows), yy = dot(y, y, rows), xy = dot(x, y, rows);
        if (std::abs(xy) <= tolerance * std::sqrt(xx) * std::sqrt(yy) || std::abs(xy) < 0x1p-960) continue;
        done = false;
        const double tau = (yy - xx) / (2 * xy),
                     t = std::copysign(1.0, tau) / (std::abs(tau) + std::sqrt(1 + tau * tau)),
                     c = 1 / std::sqrt(1 + t * t), sine = t * c;
        rotate(x, y, rows, c, sine);
        if (v) rotate(right.data() + p * cols, right.data() + q * cols, cols, c, sine);
      }
  }
  std::vector<double> norms(cols);
  double top = 0;
  for (int64_t j = 0; j < cols; j++) {
    const double* x = columns.data() + j * rows;
    norms[j] = std::sqrt(dot(x, x, rows));
    top = std::max(top, norms[j]);
  }
  std::vector<int64_t> order(cols);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return norms[i] > norms[j]; });
  for (int64_t j = 0; j < cols; j++) {
    const int64_t from = order[j];
    // A column of nothing but rounding errors has no direction.
    const bool none = norms[from] <= top * kEpsilon * 0.5;
    if (!none) rank = j + 1;
    s[j] = norms[from] / scale;
    for (int64_t i = 0; i < rows; i++) a[i * cols + j] = none ? 0 : columns[from * rows + i] / norms[from];
    for (int64_t i = 0; v && i < cols; i++) v[i * cols + j] = right[from * cols + i];
  }
  return done;
}

void complete_columns(double* u, int64_t rows, int64_t cols, int64_t known) {
  std::vector<double> columns(cols * rows);
  transpose_into(columns.data(), u, rows, cols);
  for (int64_t j = known; j < cols; j++) {
    double* x = columns.data() + j * rows;
    // Of the unit vectors the one that lies least in the space so far; projected twice (Gram and Schmidt, 5.2.8).
    int64_t best = 0;
    double least = 2;
    for (int64_t i = 0; i < rows; i++) {
      double inside = 0;
      for (int64_t k = 0; k < j; k++) inside += columns[k * rows + i] * columns[k * rows + i];
      if (inside < least) least = inside, best = i;
    }
    std::fill(x, x + rows, 0.0);
    x[best] = 1;
    for (int pass = 0; pass < 2; pass++) {
      for (int64_t k = 0; k < j; k++)
        add_multiple(-dot(columns.data() + k * rows, x, rows), columns.data() + k * rows, x, rows);
      const double norm = std::sqrt(dot(x, x, rows));
      for (int64_t i = 0; i < rows; i++) x[i] /= norm;
    }
  }
  transpose_into(u, columns.data(), cols, rows);
}

}  // namespace rushlight::kernels
