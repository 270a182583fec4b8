// QR, symmetric eigenvalues and singular values.
#include <algorithm>
#include <atomic>
#include <cmath>

#include "ops/decompositions.h"

namespace rushlight {
namespace ops {
namespace {

using Pair = std::tuple<Tensor, Tensor>;
using Triple = std::tuple<Tensor, Tensor, Tensor>;

int64_t count_of(IntSpan batch) { return product(batch); }
double* memory(const Tensor& t) { return t.numel() ? t.data<double>() : nullptr; }

// --- QR -------------------------------------------------------------------------------------------------------------

struct Qr {
  static constexpr auto schema = "linalg_qr(Tensor self, str mode='reduced') -> (Tensor Q, Tensor R)";
  static constexpr auto doc =
      "(Q, R) of A = Q R: orthonormal columns and an upper triangle. mode 'complete' makes Q square, 'r' leaves it "
      "empty.";
  static constexpr bool wants_undefined = true;
  enum { reduced, complete, r_only } mode;
  Pair forward(Ctx& ctx, const Tensor& a, std::string_view how) {
    check_matrix("linalg.qr", a);
    RL_CHECK(how == "reduced" || how == "complete" || how == "r",
             "linalg.qr: mode must be 'reduced', 'complete' or 'r', not '", how, "'");
    mode = how == "reduced" ? reduced : how == "complete" ? complete : r_only;
    const int64_t m = a.size(-2), n = a.size(-1), k = mode == complete ? m : std::min(m, n),
                  count = count_of(batch_of(a));
    const Dims q_shape = with_matrix(batch_of(a), m, k), r_shape = with_matrix(batch_of(a), k, n);
    Tensor q, r;
    if (a.is_meta()) {
      q = empty_columns(q_shape, a.dtype(), a.device()), r = empty_columns(r_shape, a.dtype(), a.device());
    } else {
      const Tensor work = in_double(a), wide = empty(mode == r_only ? Dims{0} : q_shape, DType::Float64);
      const bool wanted = mode != r_only;
      if (m && (n || k))
        each_matrix(count, 2 * m * n * k, [&](int64_t i) {
          kernels::householder_qr(memory(work) ? memory(work) + i * m * n : nullptr, m, n,
                                  wanted ? memory(wide) + i * m * k : nullptr, k);
        });
      if (wanted) q = as_columns(wide, a.dtype());
      r = as_columns(narrow(work, -2, 0, k), a.dtype());
    }
    if (mode == r_only) q = empty({0}, a.dtype(), a.device());
    ctx.save_output(q, 0), ctx.save_output(r, 1);
    return {q, r};
  }
  // Seeger et al., Auto-differentiating linear algebra, 2017; of a wide A = [X Y], Q and the start of R are X's.
  Grads backward(Ctx& ctx, Grads g) {
    const Tensor q = ctx.get(0), r = ctx.get(1);
    const int64_t k = q.size(-1), n = r.size(-1);
    RL_CHECK(mode != r_only, "linalg.qr: mode 'r' has no derivative", hint("use mode='reduced'"));
    RL_CHECK_KIND(k <= n, NotImplemented,
                  "linalg.qr: mode 'complete' has no derivative for matrices with more rows "
                  "than columns",
                  hint("use mode='reduced'"));
    Tensor gq = g[0], gr = g[1], right;
    if (k < n && gr) {
      const Tensor rest = narrow(gr, -1, k, n - k), y = matmul(q, narrow(r, -1, k, n - k));
      right = matmul(q, rest);
      const Tensor by_rest = matmul(y, transposed(rest));
      gq = gq ? gq + by_rest : by_rest;
      gr = narrow(gr, -1, 0, k);
    }
    const Tensor left = of_tall(q, narrow(r, -1, 0, k), gq, gr);
    if (k == n) return {left};
    if (!right) right = zeros(with_matrix(batch_of(q), q.size(-2), n - k), q.dtype(), q.device());
    const Tensor both[] = {left, right};
    return {cat(both, -1)};
  }

 private:
  static Tensor of_tall(const Tensor& q, const Tensor& r, const Tensor& gq, const Tensor& gr) {
    Tensor m;
    if (gr) m = matmul(r, transposed(gr));
    if (gq) m = m ? m - matmul(transposed(gq), q) : -matmul(transposed(gq), q);
    const Tensor product = matmul(q, tril(m) + transposed(tril(m, -1)));
    return ops::solve_triangular(transposed(r), gq ? product + gq : product, false, false);
  }
};
RL_BIND(Qr, hidden | out)

// --- Eigenvalues of symmetric matrices ------------------------------------------------------------------------------

// 1 / (x[j] - x[i]), 0 on the diagonal.
Tensor inverse_gaps(const Tensor& x) {
  const Tensor gap = unsqueeze(x, -2) - unsqueeze(x, -1), one = identity(x.size(-1), x);
  return (1.0 - one) / (gap + one);
}

struct Eigh {
  static constexpr auto schema = "linalg_eigh(Tensor self, str UPLO='L') -> (Tensor eigenvalues, Tensor eigenvectors)";
  static constexpr auto doc =
      "(eigenvalues, ascending, and eigenvectors in columns) of symmetric matrices, of which one triangle is read.";
  static constexpr bool wants_undefined = true;
  Pair forward(Ctx& ctx, const Tensor& a, std::string_view which) {
    check_square("linalg.eigh", a, ErrorKind::NotImplemented);
    const bool upper = which == "U" || which == "u";
    RL_CHECK_KIND(upper || which == "L" || which == "l", Runtime, "linalg.eigh: UPLO must be 'L' or 'U', not '", which,
                  "'");
    const int64_t n = a.size(-1);
    Tensor values = empty(with_vector(batch_of(a), n), DType::Float64, a.device()), vectors;
    if (a.is_meta()) {
      values = empty(values.sizes(), a.dtype(), a.device());
      vectors = empty_columns(a.sizes(), a.dtype(), a.device());
    } else {
      const Tensor half = in_double(upper ? triu(a) : tril(a)),
                   both = kernels::contiguous(half + transposed(upper ? triu(half, 1) : tril(half, -1))),
                   wide = empty(a.sizes(), DType::Float64);
      if (a.numel())
        each_matrix(count_of(batch_of(a)), 50 * n * n * n, [&](int64_t i) {
          double *to = memory(values) + i * n, *columns = memory(wide) + i * n * n;
          if (kernels::symmetric_eigen(memory(both) + i * n * n, n, to, columns)) return;
          std::fill_n(to, n, std::nan("")), std::fill_n(columns, n * n, std::nan(""));
        });
      values = as_dtype(values, a.dtype()), vectors = as_columns(wide, a.dtype());
    }
    ctx.save_output(values, 0), ctx.save_output(vectors, 1);
    return {values, vectors};
  }
  Grads backward(Ctx& ctx, Grads g) {
    const Tensor values = ctx.get(0), v = ctx.get(1);
    Tensor middle;
    if (g[1]) {  // symmetric, as what it is the gradient of
      const Tensor m = matmul(transposed(v), g[1]) * inverse_gaps(values);
      middle = 0.5 * (m + transposed(m));
    }
    if (g[0]) {
      const Tensor d = unsqueeze(g[0], -1) * identity(v.size(-1), v);
      middle = middle ? middle + d : d;
    }
    return {matmul(v, matmul(middle, transposed(v)))};
  }
};
RL_BIND(Eigh, hidden | out)

// --- Singular values ------------------------------------------------------------------------------------------------

struct Svd {
  static constexpr auto schema = "linalg_svd(Tensor self, bool full_matrices=True) -> (Tensor U, Tensor S, Tensor Vh)";
  static constexpr auto doc =
      "(U, S, Vh) of A = U diag(S) Vh, S descending; U and Vh are square if full_matrices, else as small as S allows.";
  static constexpr bool wants_undefined = true;
  Triple forward(Ctx& ctx, const Tensor& a, bool full) {
    check_matrix("linalg.svd", a);
    const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n), large = std::max(m, n),
                  count = count_of(batch_of(a));
    const int64_t columns = full ? large : k;  // of the side that is not k square
    const Dims u_shape = with_matrix(batch_of(a), m, full ? m : k), v_shape = with_matrix(batch_of(a), full ? n : k, n);
    Tensor s = empty(with_vector(batch_of(a), k), DType::Float64, a.device()), u, vh;
    if (a.is_meta()) {
      s = empty(s.sizes(), a.dtype(), a.device());
      u = empty_columns(u_shape, a.dtype(), a.device()), vh = empty_columns(v_shape, a.dtype(), a.device());
    } else {
      // Tall matrices are decomposed; a wide one is transposed, and so is what comes out.
      const bool tall = m >= n;
      const Tensor work = in_double(tall ? a : transposed(a));
      const Tensor left = zeros(with_matrix(batch_of(a), large, columns), DType::Float64),
                   right = zeros(with_matrix(batch_of(a), k, k), DType::Float64);
      std::atomic<bool> converged = true;
      each_matrix(count, 20 * large * k * k, [&](int64_t i) {
        double *from = memory(work) ? memory(work) + i * large * k : nullptr, *to = memory(left) + i * large * columns;
        int64_t rank = 0;
        if (k) {
          double* values = memory(s) + i * k;
          if (!kernels::jacobi_svd(from, large, k, values, memory(right) + i * k * k, rank)) converged = false;
          for (int64_t r = 0; r < large; r++) std::copy_n(from + r * k, k, to + r * columns);
        }
        if (converged && columns) kernels::complete_columns(to, large, columns, rank);
      });
      RL_CHECK(converged, "linalg.svd: does not converge", hint("is everything finite? x.isfinite().all() tells"));
      s = as_dtype(s, a.dtype());
      u = as_columns(tall ? left : right, a.dtype());
      vh = as_columns(transposed(tall ? right : left), a.dtype());
    }
    ctx.save_output(u, 0), ctx.save_output(s, 1), ctx.save_output(vh, 2);
    return {u, s, vh};
  }
  // Townsend, Differentiating the singular value decomposition, 2016.
  Grads backward(Ctx& ctx, Grads g) {
    Tensor u = ctx.get(0), s = ctx.get(1), vh = ctx.get(2), gu = g[0], gv = g[2] ? transposed(g[2]) : Tensor();
    const int64_t m = u.size(-2), n = vh.size(-1), k = s.size(-1);
    RL_CHECK((!gu || u.size(-1) == k) && (!gv || vh.size(-2) == k),
             "linalg.svd: U and Vh have derivatives with full_matrices=False only");
    u = narrow(u, -1, 0, k);
    const Tensor v = transposed(narrow(vh, -2, 0, k)), across = unsqueeze(s, -2), down = unsqueeze(s, -1);
    Tensor middle;
    auto add_to = [](Tensor& sum, const Tensor& t) { sum = sum ? sum + t : t; };
    auto skew = [](const Tensor& t) { return t - transposed(t); };
    if (g[1]) add_to(middle, unsqueeze(g[1], -1) * identity(k, s));
    if (gu || gv) {
      const Tensor gaps = inverse_gaps(s * s);
      if (gu) add_to(middle, skew(matmul(transposed(u), gu)) * gaps * across);
      if (gv) add_to(middle, skew(matmul(transposed(v), gv)) * gaps * down);
    }
    Tensor out = matmul(u, matmul(middle, transposed(v)));
    if (gu && m > k) out = out + matmul((gu - matmul(u, matmul(transposed(u), gu))) / across, transposed(v));
    if (gv && n > k) out = out + matmul(u, transposed((gv - matmul(v, matmul(transposed(v), gv))) / across));
    return {out};
  }
};
RL_BIND(Svd, hidden | out)

}  // namespace
}  // namespace ops
}  // namespace rushlight
