// Systems of linear equations: inverses, solutions, determinants, Cholesky's and LU decompositions.
#include "ops/decompositions.h"

namespace rushlight {
namespace ops {
namespace {

using Pair = std::tuple<Tensor, Tensor>;
using Triple = std::tuple<Tensor, Tensor, Tensor>;

int64_t count_of(IntSpan batch) { return product(batch); }

// --- Inverses and solutions -----------------------------------------------------------------------------------------

// b (batch, n, cols) in float64 becomes the solution of a x = b; a is destroyed. info: as that of lu_factor.
void solve_in_place(const Tensor& a, const Tensor& b, const Tensor& info) {
  const int64_t n = a.size(-1), cols = b.size(-1), count = info.numel();
  if (n == 0) return fill_(info, 0), void();
  double* left = a.data<double>();
  double* right = b.numel() ? b.data<double>() : nullptr;
  int32_t* failed = info.data<int32_t>();
  each_matrix(count, n * n * (n + cols), [&](int64_t i) {
    std::vector<int32_t> pivots(n);
    failed[i] = int32_t(kernels::lu_factor(left + i * n * n, n, n, pivots.data()));
    if (right) kernels::lu_solve(left + i * n * n, pivots.data(), n, right + i * n * cols, cols);
  });
}

struct InvEx {
  static constexpr auto schema = "linalg_inv_ex(Tensor self) -> (Tensor inverse, Tensor info)";
  static constexpr auto doc = "(inverses of matrices, 0 or 1 + the place of a zero pivot for each).";
  Pair forward(Ctx& ctx, const Tensor& a) {
    check_square("linalg.inv", a);
    const Dims batch = batch_of(a);
    Tensor info = empty(batch, DType::Int32, a.device()), y;
    if (a.is_meta()) {
      y = empty_columns(a.sizes(), a.dtype(), a.device());
    } else {
      Tensor work = in_double(a), inverse = zeros(a.sizes(), DType::Float64);
      fill_(diagonal(inverse, 0, -2, -1), 1);
      solve_in_place(work, inverse, info);
      y = as_columns(inverse, a.dtype());
    }
    ctx.save_output(y);
    return {y, info};
  }
  Grads backward(Ctx& ctx, Grads g) {
    const Tensor t = transposed(ctx.get(0));
    return {-matmul(t, matmul(g[0], t))};
  }
};

struct SolveEx {
  static constexpr auto schema =
      "linalg_solve_ex(Tensor self, Tensor B, *, bool left=True) -> (Tensor result, Tensor info)";
  static constexpr auto doc = "(solutions of A x = B, or of x A = B, 0 or 1 + the place of a zero pivot for each).";
  bool left, vector;
  Pair forward(Ctx& ctx, const Tensor& a, const Tensor& b, bool on_left) {
    check_square("linalg.solve", a);
    check_alike("linalg.solve", a, b);
    left = on_left;
    vector = b.dim() == 1 || (a.dim() - 1 == b.dim() && b.sizes() == with_vector(batch_of(a), a.size(-1)));
    RL_CHECK(b.dim() >= 1, "linalg.solve: B must have at least one dimension");
    RL_CHECK(left || !vector, "linalg.solve: with left=False, B must be a matrix, got shape ", b.sizes());
    const Tensor right = vector ? unsqueeze(b, -1) : b;
    RL_CHECK((left ? right.size(-2) : right.size(-1)) == a.size(-1), "linalg.solve: A of shape ", a.sizes(),
             " does not fit B of shape ", b.sizes());
    const Dims batch = broadcast_shapes(batch_of(a), batch_of(right));
    const Dims shape = with_matrix(batch, right.size(-2), right.size(-1));
    Tensor info = empty(batch_of(a), DType::Int32, a.device()), y;
    if (a.is_meta()) {
      y = empty_columns(shape, a.dtype(), a.device());
    } else {
      const Dims turned = with_matrix(batch, shape[shape.size() - 1], shape[shape.size() - 2]);
      const Tensor full = expand(a, with_matrix(batch, a.size(-1), a.size(-1)));
      Tensor all = empty(batch, DType::Int32), work = in_double(left ? full : transposed(full)),
             x = in_double(left ? expand(right, shape) : expand(transposed(right), turned));
      solve_in_place(work, x, all);
      if (all.numel() == info.numel()) kernels::copy_into(info, reshape(all, info.sizes()));
      else kernels::copy_into(info, to_dtype(sum_to(all, info.sizes()), DType::Int32));
      if (left) y = as_columns(x, a.dtype());
      else y = as_dtype(transposed(x), a.dtype());
      if (!left) y = kernels::clone(y, MemoryFormat::Contiguous);
    }
    if (vector) y = b.dim() > 1 ? as_columns(squeeze(y, -1), y.dtype()) : kernels::contiguous(squeeze(y, -1));
    ctx.save(a);
    ctx.save_output(y);
    return {y, info};
  }
  Grads backward(Ctx& ctx, Grads g) {
    const Tensor a = ctx.get(0), x = ctx.get(1);
    auto as_matrix = [&](const Tensor& t) { return vector ? unsqueeze(t, -1) : t; };
    const Tensor gb = std::get<0>(apply<SolveEx>(transposed(a), as_matrix(g[0]), left));
    Tensor ga;
    if (ctx.need(0)) ga = left ? -matmul(gb, transposed(as_matrix(x))) : -matmul(transposed(as_matrix(x)), gb);
    return {ga, vector ? squeeze(gb, -1) : gb};
  }
};

Tensor inverse_transposed(const Tensor& a) { return std::get<0>(apply<InvEx>(transposed(a))); }

struct SolveTriangular {
  static constexpr auto schema =
      "linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> "
      "Tensor";
  static constexpr auto doc = "The solution of T x = B, or of x T = B, where only one triangle of T is read.";
  bool upper, left, unit;
  Tensor forward(Ctx& ctx, const Tensor& t, const Tensor& b, bool u, bool on_left, bool ones) {
    upper = u, left = on_left, unit = ones;
    const char* op = "linalg.solve_triangular";
    check_out_dtype(op, ctx, b.dtype());
    check_square(op, t, ErrorKind::NotImplemented), check_matrix(op, b, ErrorKind::NotImplemented),
        check_alike(op, t, b);
    const int64_t n = t.size(-1);
    RL_CHECK((left ? b.size(-2) : b.size(-1)) == n, op, ": A of shape ", t.sizes(), " does not fit B of shape ",
             b.sizes());
    const Dims batch = broadcast_shapes(batch_of(t), batch_of(b));
    const Dims shape = with_matrix(batch, b.size(-2), b.size(-1));
    ctx.save(t);
    Tensor y;
    if (t.is_meta() || product(shape) == 0) {
      y = empty_columns(shape, t.dtype(), t.device());
    } else {  // x T = b is T^T x^T = b^T
      const Tensor full = expand(t, with_matrix(batch, n, n)), right = expand(b, shape);
      const Tensor a = in_double(left ? full : transposed(full)), x = in_double(left ? right : transposed(right));
      const int64_t cols = x.size(-1);
      each_matrix(count_of(batch), n * n * cols, [&](int64_t i) {
        kernels::solve_triangular(a.data<double>() + i * n * n, n, left ? upper : !upper, unit,
                                  x.data<double>() + i * n * cols, cols);
      });
      y = as_columns(left ? x : transposed(x), t.dtype());
    }
    ctx.save_output(y);
    return y;
  }
  Grads backward(Ctx& ctx, Grads g) {
    const Tensor t = ctx.get(0), x = ctx.get(1);
    const Tensor gb = ops::solve_triangular(transposed(t), g[0], !upper, left, unit);
    Tensor gt;
    if (ctx.need(0)) {
      gt = left ? -matmul(gb, transposed(x)) : -matmul(transposed(x), gb);
      gt = upper ? triu(gt, unit) : tril(gt, unit ? -1 : 0);
    }
    return {gt, gb};
  }
};

RL_BIND(InvEx, hidden | out)
RL_BIND(SolveEx, hidden | out)
RL_BIND(SolveTriangular, hidden | out)

// --- Determinants ---------------------------------------------------------------------------------------------------

// f(i, LU decomposition, whether the rows were exchanged an odd number of times)
template <class F>
void each_lu(const Tensor& a, F&& f) {
  const int64_t n = a.size(-1);
  const Tensor work = in_double(a);
  double* lu = n ? work.data<double>() : nullptr;
  each_matrix(count_of(batch_of(a)), n * n * n, [&](int64_t i) {
    std::vector<int32_t> pivots(n);
    kernels::lu_factor(lu + i * n * n, n, n, pivots.data());
    bool odd = false;
    for (int64_t k = 0; k < n; k++) odd ^= pivots[k] != k;
    f(i, lu + i * n * n, odd);
  });
}

// The matrices of cofactors, which is det(A) A^-T also where A is singular: from A = U S V^T.
Tensor cofactors(const Tensor& a) {
  const int64_t n = a.size(-1);
  Tensor y = zeros(a.sizes(), DType::Float64);
  if (n == 0 || y.numel() == 0) return as_dtype(y, a.dtype());
  const Tensor u = in_double(a);
  each_matrix(count_of(batch_of(a)), 8 * n * n * n, [&](int64_t i) {
    double* columns = u.data<double>() + i * n * n;
    std::vector<double> s(n), v(n * n), copy(n * n);
    std::vector<int32_t> pivots(n);
    int64_t rank;
    kernels::jacobi_svd(columns, n, n, s.data(), v.data(), rank);
    kernels::complete_columns(columns, n, n, rank);
    auto determinant = [&](const double* m) {  // of an orthogonal matrix
      std::copy(m, m + n * n, copy.begin());
      kernels::lu_factor(copy.data(), n, n, pivots.data());
      double d = 1;
      for (int64_t k = 0; k < n; k++) d *= copy[k * n + k] * (pivots[k] != k ? -1 : 1);
      return d > 0 ? 1.0 : -1.0;
    };
    const double sign = determinant(columns) * determinant(v.data());
    for (int64_t k = 0; k < n; k++) {
      double others = sign;
      for (int64_t j = 0; j < n; j++)
        if (j != k) others *= s[j];
      for (int64_t r = 0; r < n; r++)
        for (int64_t c = 0; c < n; c++)
          y.data<double>()[i * n * n + r * n + c] += others * columns[r * n + k] * v[c * n + k];
    }
  });
  return as_dtype(y, a.dtype());
}

Tensor as_matrices(const Tensor& t) { return unsqueeze(unsqueeze(t, -1), -1); }

struct Det {
  static constexpr auto schema = "linalg_det(Tensor self) -> Tensor";
  static constexpr auto doc = "The determinants of square matrices.";
  Tensor forward(Ctx& ctx, const Tensor& a) {
    check_square("linalg.det", a);
    check_out_dtype("linalg.det", ctx, a.dtype());
    ctx.save(a);
    Tensor y = empty(batch_of(a), DType::Float64, a.device());
    if (!y.is_meta()) {
      const int64_t n = a.size(-1);
      double* to = y.numel() ? y.data<double>() : nullptr;
      each_lu(a, [&](int64_t i, const double* lu, bool odd) {
        to[i] = odd ? -1 : 1;
        for (int64_t k = 0; k < n; k++) to[i] *= lu[k * n + k];
      });
    }
    y = as_dtype(y, a.dtype());
    ctx.save_output(y);
    return y;
  }
  Grads backward(Ctx& ctx, Grads g) {
    const Tensor a = ctx.get(0);
    if (!tls.grad_enabled && !a.is_meta()) return {as_matrices(g[0]) * cofactors(a)};
    return {as_matrices(g[0] * ctx.get(1)) * inverse_transposed(a)};
  }
};

struct Slogdet {
  static constexpr auto schema = "linalg_slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)";
  static constexpr auto doc = "(signs, logarithms of the magnitudes) of the determinants of square matrices.";
  Pair forward(Ctx& ctx, const Tensor& a) {
    check_square("linalg.slogdet", a);
    ctx.save(a);
    Tensor sign = empty(batch_of(a), DType::Float64, a.device()), log = empty(batch_of(a), DType::Float64, a.device());
    if (!a.is_meta()) {
      const int64_t n = a.size(-1);
      double *s = log.numel() ? sign.data<double>() : nullptr, *l = log.numel() ? log.data<double>() : nullptr;
      each_lu(a, [&](int64_t i, const double* lu, bool odd) {
        s[i] = odd ? -1 : 1, l[i] = 0;
        for (int64_t k = 0; k < n; k++) {
          const double d = lu[k * n + k];
          s[i] *= d == 0 ? 0 : d < 0 ? -1 : 1;
          l[i] += std::log(std::abs(d));
        }
      });
    }
    return {as_dtype(sign, a.dtype()), as_dtype(log, a.dtype())};
  }
  Grads backward(Ctx& ctx, Grads g) { return {as_matrices(g[1]) * inverse_transposed(ctx.get(0))}; }
};

RL_BIND(Det, hidden | out)
RL_BIND(Slogdet, hidden | out)

// --- Cholesky -------------------------------------------------------------------------------------------------------

// The triangle of t, its diagonal halved.
Tensor half_diagonal(const Tensor& t) { return tril(t) - 0.5 * (tril(t) - tril(t, -1)); }

template <bool legacy>
struct Cholesky {
  static constexpr auto schema =
      legacy ? "_cholesky(Tensor self, bool upper=False) -> (Tensor L, Tensor info)"
             : "linalg_cholesky_ex(Tensor self, *, bool upper=False) -> (Tensor L, Tensor info)";
  static constexpr auto node_name = legacy ? "CholeskyBackward0" : "LinalgCholeskyExBackward0";
  static constexpr auto doc =
      "(Cholesky's decompositions of symmetric positive definite matrices, 0 or the order of the first leading minor "
      "that is not positive for each).";
  bool upper;
  Pair forward(Ctx& ctx, const Tensor& a, bool up) {
    upper = up;
    check_square(legacy ? "cholesky" : "linalg.cholesky", a, legacy ? ErrorKind::NotImplemented : ErrorKind::Runtime);
    Tensor info = zeros(batch_of(a), DType::Int32, a.device()), y;
    if (a.is_meta() || a.numel() == 0) {
      y = legacy && a.numel() == 0 ? empty(a.sizes(), a.dtype(), a.device())
                                   : empty_columns(a.sizes(), a.dtype(), a.device());
    } else {
      const int64_t n = a.size(-1);
      const Tensor work = in_double(upper ? transposed(a) : a);
      each_matrix(info.numel(), n * n * n / 3, [&](int64_t i) {
        info.data<int32_t>()[i] = int32_t(kernels::cholesky(work.data<double>() + i * n * n, n));
      });
      y = as_columns(upper ? triu(transposed(work)) : tril(work), a.dtype());
    }
    ctx.save_output(y);
    return {y, info};
  }
  // With L^T gL's lower triangle, its diagonal halved, as P: L^-T P L^-1, made symmetric (Murray, Differentiation of
  // the Cholesky decomposition, 2016).
  Grads backward(Ctx& ctx, Grads g) {
    const Tensor l = upper ? transposed(ctx.get(0)) : ctx.get(0), gl = upper ? transposed(g[0]) : g[0];
    const Tensor p = half_diagonal(matmul(transposed(l), gl));
    Tensor s = ops::solve_triangular(transposed(l), p, true);
    s = ops::solve_triangular(l, s, false, false);
    return {0.5 * (s + transposed(s))};
  }
};
using CholeskyEx = Cholesky<false>;
using CholeskyOld = Cholesky<true>;

struct CholeskySolve {
  static constexpr auto schema = "cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor";
  static constexpr auto doc = "The solution of A x = self, given Cholesky's decomposition of A: A = L L^T, or U^T U.";
  bool upper;
  Tensor forward(Ctx& ctx, const Tensor& b, const Tensor& l, bool up) {
    upper = up;
    check_matrix("cholesky_solve", b, ErrorKind::NotImplemented),
        check_square("cholesky_solve", l, ErrorKind::NotImplemented), check_alike("cholesky_solve", b, l);
    RL_CHECK(b.size(-2) == l.size(-1), "cholesky_solve: a factor of shape ", l.sizes(),
             " does not fit a right side of shape ", b.sizes());
    ctx.save(l);
    const Tensor y = ops::solve_triangular(upper ? transposed(l) : l, b, false);
    Tensor x = as_columns(ops::solve_triangular(upper ? l : transposed(l), y, true), b.dtype());
    ctx.save_output(x);
    return x;
  }
  Grads backward(Ctx& ctx, Grads g) {
    const Tensor l = ctx.get(0), x = ctx.get(1), gb = apply<CholeskySolve>(g[0], l, upper);
    Tensor gl;
    if (ctx.need(1)) {
      const Tensor half = matmul(gb, transposed(x)), both = half + transposed(half);
      gl = upper ? -triu(matmul(l, both)) : -tril(matmul(both, l));
    }
    return {gb, gl};
  }
};

struct CholeskyInverse {
  static constexpr auto schema = "cholesky_inverse(Tensor self, bool upper=False) -> Tensor";
  static constexpr auto doc = "The inverse of A, given Cholesky's decomposition of A: A = L L^T, or U^T U.";
  bool upper;
  Tensor forward(Ctx& ctx, const Tensor& l, bool up) {
    upper = up;
    check_square("cholesky_inverse", l, ErrorKind::NotImplemented);
    ctx.save(l);
    const Tensor eye = expand(identity(l.size(-1), l), l.sizes());
    const Tensor y = ops::solve_triangular(upper ? transposed(l) : l, eye, false);
    Tensor x = as_columns(ops::solve_triangular(upper ? l : transposed(l), y, true), l.dtype());
    ctx.save_output(x);
    return x;
  }
  Grads backward(Ctx& ctx, Grads g) {
    const Tensor l = ctx.get(0), x = ctx.get(1);
    const Tensor both = matmul(x, matmul(g[0] + transposed(g[0]), x));
    return {upper ? -triu(matmul(l, both)) : -tril(matmul(both, l))};
  }
};

RL_BIND(CholeskyEx, hidden | out)
RL_BIND(CholeskyOld, hidden)
RL_BIND(CholeskySolve, both | out)
RL_BIND(CholeskyInverse, both | out)

// --- LU -------------------------------------------------------------------------------------------------------------

struct LuFactorEx {
  static constexpr auto schema = "linalg_lu_factor_ex(Tensor self) -> (Tensor LU, Tensor pivots, Tensor info)";
  static constexpr auto doc =
      "(L and U in one matrix, with which row each row was exchanged in turn, counted from 1, and 0 or 1 + the place "
      "of a "
      "zero pivot) of A = P L U.";
  Triple forward(Ctx& ctx, const Tensor& a) {
    check_matrix("linalg.lu_factor", a, ErrorKind::NotImplemented);
    const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
    Tensor pivots = empty(with_vector(batch_of(a), k), DType::Int32, a.device()),
           info = zeros(batch_of(a), DType::Int32, a.device()), y;
    if (a.is_meta() || a.numel() == 0) {
      y = empty_columns(a.sizes(), a.dtype(), a.device());
    } else {
      const Tensor work = in_double(a);
      each_matrix(info.numel(), m * n * k, [&](int64_t i) {
        int32_t* p = pivots.data<int32_t>() + i * k;
        info.data<int32_t>()[i] = int32_t(kernels::lu_factor(work.data<double>() + i * m * n, m, n, p));
        for (int64_t j = 0; j < k; j++) p[j]++;
      });
      y = as_columns(work, a.dtype());
    }
    ctx.save_output(y);
    ctx.save(alias(pivots));
    return {y, pivots, info};
  }
  Grads backward(Ctx& ctx, Grads g) {
    const Tensor lu = ctx.get(0), p = permutation(ctx.get(1), lu);
    RL_CHECK_KIND(lu.size(-1) == lu.size(-2), NotImplemented,
                  "linalg.lu_factor has a derivative for square matrices only, not for shape ", lu.sizes());
    const Tensor l = tril(lu, -1) + identity(lu.size(-1), lu), u = triu(lu);
    return {gradient(p, l, u, tril(g[0], -1), triu(g[0]))};
  }

  // P of A = P L U.
  static Tensor permutation(const Tensor& pivots, const Tensor& lu) {
    const int64_t m = lu.size(-2), k = pivots.size(-1), count = count_of(batch_of(lu));
    Tensor p = zeros(with_matrix(batch_of(lu), m, m), lu.dtype(), lu.device());
    if (p.is_meta() || p.numel() == 0) return p;
    Tensor wide = zeros(p.sizes(), DType::Float64);
    const Tensor swaps = kernels::contiguous(pivots);
    for (int64_t i = 0; i < count; i++) {
      std::vector<int64_t> rows(m);
      for (int64_t r = 0; r < m; r++) rows[r] = r;
      for (int64_t j = 0; j < k; j++) {
        const int64_t other = swaps.data<int32_t>()[i * k + j] - 1;
        RL_CHECK(other >= 0 && other < m, "lu: pivots must lie between 1 and ", m, ", got ", other + 1);
        std::swap(rows[j], rows[other]);
      }
      for (int64_t r = 0; r < m; r++) wide.data<double>()[i * m * m + rows[r] * m + r] = 1;
    }
    return as_dtype(wide, lu.dtype());
  }
  // P L^-T (the lower part of L^T gL and the upper part of gU U^T) U^-T.
  static Tensor gradient(const Tensor& p, const Tensor& l, const Tensor& u, const Tensor& gl, const Tensor& gu) {
    const Tensor middle = tril(matmul(transposed(l), gl), -1) + triu(matmul(gu, transposed(u)));
    const Tensor right = ops::solve_triangular(transposed(u), middle, false, false);
    return matmul(p, ops::solve_triangular(transposed(l), right, true, true, true));
  }
};

// P of A = P L U, for lu_factor()'s pivots.
struct Permutation {
  static constexpr auto schema = "_permutation(Tensor pivots, Tensor LU) -> Tensor";
  Tensor forward(Ctx&, const Tensor& pivots, const Tensor& lu) {
    check_matrix("lu_unpack", lu);
    RL_CHECK(pivots.dtype() == DType::Int32, "lu_unpack: pivots must be int32, not ", pivots.dtype());
    RL_CHECK(pivots.sizes() == with_vector(batch_of(lu), std::min(lu.size(-1), lu.size(-2))),
             "lu_unpack: pivots of shape ", pivots.sizes(), " do not fit LU of shape ", lu.sizes());
    return LuFactorEx::permutation(pivots, lu);
  }
};
RL_BIND(Permutation, hidden)

// L and U, given P and both in one matrix.
struct LuParts {
  static constexpr auto schema = "_lu_parts(Tensor self, Tensor P, Tensor LU) -> (Tensor, Tensor)";
  static constexpr auto node_name = "LinalgLuBackward0";
  static constexpr bool wants_undefined = true;
  bool square;
  Pair forward(Ctx& ctx, const Tensor& a, const Tensor& p, const Tensor& lu) {
    const int64_t k = std::min(a.size(-2), a.size(-1));
    square = a.size(-2) == a.size(-1);
    ctx.save(p);
    auto rows = [](const Tensor& t) { return t.is_meta() ? t : kernels::clone(t, MemoryFormat::Contiguous); };
    Tensor l = rows(tril(narrow(lu, -1, 0, k), -1)), u = rows(triu(narrow(lu, -2, 0, k)));
    if (!l.is_meta() && l.numel()) fill_(diagonal(l, 0, -2, -1), 1);
    ctx.save_output(l, 0), ctx.save_output(u, 1);
    return {l, u};
  }
  Grads backward(Ctx& ctx, Grads g) {
    RL_CHECK_KIND(square, NotImplemented, "linalg.lu has a derivative for square matrices only");
    const Tensor p = ctx.get(0), l = ctx.get(1), u = ctx.get(2);
    auto or_zero = [](const Tensor& t, const Tensor& like) { return t ? t : zeros_like(like); };
    return {LuFactorEx::gradient(p, l, u, or_zero(g[0], l), or_zero(g[1], u)), Tensor(), Tensor()};
  }
};
struct Lu {
  static constexpr auto schema = "linalg_lu(Tensor self) -> (Tensor P, Tensor L, Tensor U)";
  static constexpr auto doc = "(P, L, U) of A = P L U: a permutation, a lower and an upper triangle.";
  static constexpr Kind kind = Kind::composite;
  Triple forward(Ctx&, const Tensor& a) {
    Tensor lu, p;
    {
      NoGradGuard guard;
      Tensor pivots, info;
      std::tie(lu, pivots, info) = apply<LuFactorEx>(a);
      p = LuFactorEx::permutation(pivots, a);
    }
    auto [l, u] = apply<LuParts>(a, p, lu);
    return {p, l, u};
  }
};

RL_BIND(LuFactorEx, hidden | out)
RL_BIND(Lu, hidden | out)

// --- Exponential ----------------------------------------------------------------------------------------------------

// By scaling, Padé's approximant of degree 13, and squaring (Higham, The scaling and squaring method for the matrix
// exponential revisited, 2005).
struct MatrixExp {
  static constexpr auto schema = "linalg_matrix_exp(Tensor self) -> Tensor";
  static constexpr auto doc = "The exponentials of square matrices: the sum of A^k / k!.";
  Tensor forward(Ctx& ctx, const Tensor& given) {
    check_square("linalg.matrix_exp", given, ErrorKind::Runtime, true);
    ctx.save(given);
    const int64_t n = given.size(-1);
    if (given.is_meta() || given.numel() == 0) return empty(given.sizes(), given.dtype(), given.device());
    Tensor a = in_double(given);
    // How often each matrix is halved; those that need less are squared less.
    const Tensor norm = amax(sum(abs(a), {-2}), {-1});
    std::vector<int64_t> halvings(norm.numel());
    int64_t most = 0;
    for (size_t i = 0; i < halvings.size(); i++) {
      const double size = norm.data<double>()[i], theta = 5.371920351148152;
      halvings[i] = std::isfinite(size) && size > theta ? int64_t(std::ceil(std::log2(size / theta))) : 0;
      most = std::max(most, halvings[i]);
      double* m = a.data<double>() + int64_t(i) * n * n;
      for (int64_t k = 0; k < n * n; k++) m[k] = std::ldexp(m[k], -int(halvings[i]));
    }
    constexpr double b[] = {64764752532480000.,
                            32382376266240000.,
                            7771770303897600.,
                            1187353796428800.,
                            129060195264000.,
                            10559470521600.,
                            670442572800.,
                            33522128640.,
                            1323241920.,
                            40840800.,
                            960960.,
                            16380.,
                            182.,
                            1.};
    const Tensor eye = identity(n, a), a2 = matmul(a, a), a4 = matmul(a2, a2), a6 = matmul(a4, a2);
    const Tensor u =
        matmul(a, matmul(a6, b[13] * a6 + b[11] * a4 + b[9] * a2) + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * eye);
    const Tensor v = matmul(a6, b[12] * a6 + b[10] * a4 + b[8] * a2) + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * eye;
    Tensor x = kernels::clone(v + u, MemoryFormat::Contiguous), info = empty(batch_of(a), DType::Int32);
    solve_in_place(kernels::clone(v - u, MemoryFormat::Contiguous), x, info);
    for (int64_t step = 0; step < most; step++) {
      const Tensor squared = kernels::contiguous(matmul(x, x));
      for (size_t i = 0; i < halvings.size(); i++)
        if (step < halvings[i])
          std::copy_n(squared.data<double>() + int64_t(i) * n * n, n * n, x.data<double>() + int64_t(i) * n * n);
    }
    return as_dtype(x, given.dtype());
  }
  // The upper right block of the exponential of [[A^T, g], [0, A^T]] (Mathias, A chain rule for matrix functions,
  // 1996).
  Grads backward(Ctx& ctx, Grads g) {
    const Tensor t = transposed(ctx.get(0));
    const int64_t n = t.size(-1);
    const Tensor top[] = {t, g[0]}, bottom[] = {zeros_like(t), t};
    const Tensor both[] = {cat(top, -1), cat(bottom, -1)};
    return {narrow(narrow(apply<MatrixExp>(cat(both, -2)), -2, 0, n), -1, n, n)};
  }
};
RL_BIND(MatrixExp, hidden | out)

}  // namespace

Tensor solve_triangular(const Tensor& t, const Tensor& b, bool upper, bool left, bool unit) {
  return apply<SolveTriangular>(t, b, upper, left, unit);
}

}  // namespace ops
}  // namespace rushlight
