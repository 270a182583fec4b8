// What sorted elements are good for: modes, medians, distinct elements, searching, counting; and running extrema.
#include "kernels/order.h"

#include "kernels/scan.h"
#include "kernels/sort.h"
#include "ops/pointwise.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

using Pair = std::tuple<Tensor, Tensor>;
using Triple = std::tuple<Tensor, Tensor, Tensor>;

int64_t length_along(const Tensor& x, int64_t dim) { return x.dim() ? x.sizes()[dim] : 1; }

// x as lines: dim last, contiguous.
Tensor in_lines(const Tensor& x, int64_t dim) { return kernels::contiguous(x.dim() ? transpose(x, dim, -1) : x); }

// One element was taken of every line along `dim`; index is where, with size 1 there.
struct OneOfLine {
  Dims shape;
  int64_t dim;
  bool keepdim;
  Tensor as_result(const Tensor& lines) const {  // one element a line, in the order of in_lines()
    if (shape.empty()) return alias(lines, {}, {}, lines.offset());
    Dims swapped = shape;
    std::swap(swapped[dim], swapped.back());
    swapped.back() = 1;
    const Tensor y = kernels::contiguous(squeeze(transpose(reshape(lines, swapped), dim, -1), dim));
    return keepdim ? unsqueeze(y, dim) : y;
  }
  Tensor back(const Tensor& g, const Tensor& index) const {
    if (shape.empty()) return g;
    const Tensor full = keepdim ? g : unsqueeze(g, dim), at = keepdim ? index : unsqueeze(index, dim);
    return scatter_add(zeros(shape, g.dtype(), g.device()), dim, at, full);
  }
};

struct Mode : OneOfLine {
  static constexpr auto schema = "mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)";
  static constexpr auto doc =
      "The most frequent element along a dimension, the least of several, and the last of its places.";
  Pair forward(Ctx& ctx, const Tensor& x, int64_t d, bool keep) {
    shape = x.sizes(), dim = wrap_dim(d, x.dim()), keepdim = keep;
    RL_CHECK_KIND(length_along(x, dim) > 0, Index, "mode: dimension ", dim, " of ", x.sizes(), " is empty");
    const int64_t lines = x.numel() / length_along(x, dim);
    Tensor values = empty({lines}, x.dtype(), x.device()), places = empty({lines}, DType::Int64, x.device());
    if (!x.is_meta()) {
      const Tensor from = in_lines(x, dim);
      Tensor sorted = empty_like(from), order = empty_like(from, DType::Int64);
      if (x.dim() == 0) kernels::fill(order, 0);
      kernels::sort_into(sorted, order, from, from.dim() - 1, false);
      kernels::mode(sorted, order, values, places);
    }
    Tensor y = as_result(values), at = as_result(places);
    ctx.save(alias(at));
    return {y, at};
  }
  Grads backward(Ctx& ctx, Grads g) { return {back(g[0], ctx.get(0))}; }
};

// The middle of what is left without NaN; NaN where nothing is.
struct NanMedianDim : OneOfLine {
  static constexpr auto schema =
      "nanmedian(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)";
  static constexpr auto node_name = "NanmedianBackward1";
  static constexpr auto doc =
      "The middle element in order, the lower one of two, without regard to NaN; of all elements, or along a dimension "
      "with where it was.";
  Pair forward(Ctx& ctx, const Tensor& x, int64_t d, bool keep) {
    shape = x.sizes(), dim = wrap_dim(d, x.dim()), keepdim = keep;
    RL_CHECK_KIND(length_along(x, dim) > 0, Index, "nanmedian: dimension ", dim, " of ", x.sizes(), " is empty");
    const Tensor from = in_lines(x, dim);
    Tensor sorted = empty_like(from), order = empty_like(from, DType::Int64);
    if (x.dim() == 0) kernels::fill(order, 0);
    kernels::sort_into(sorted, order, from, from.dim() - 1, false);
    Tensor y = sorted, at = order;
    if (x.dim()) {
      Tensor numbers = sum(to_dtype(eq(from, from), DType::Int64), {-1}, true);
      const Tensor middle = to_dtype(floor((maximum(numbers, ones_like(numbers)) - 1.0) / 2.0), DType::Int64);
      y = gather(sorted, -1, middle), at = gather(order, -1, middle);
    }
    y = as_result(y), at = as_result(at);
    ctx.save(alias(at));
    return {y, at};
  }
  Grads backward(Ctx& ctx, Grads g) { return {back(g[0], ctx.get(0))}; }
};
struct NanMedian {
  static constexpr auto schema = "nanmedian(Tensor self) -> Tensor";
  static constexpr auto node_name = "NanmedianBackward0";
  NanMedianDim of;
  Dims shape;
  Tensor forward(Ctx& ctx, const Tensor& x) {
    shape = x.sizes();
    if (x.numel() == 0) return full({}, Scalar(std::nan("")), x.dtype(), x.device());
    return std::get<0>(of.forward(ctx, reshape(kernels::contiguous(x), {-1}), 0, false));
  }
  Grads backward(Ctx& ctx, Grads g) {
    if (ctx.saved.empty()) return {zeros(shape, g[0].dtype())};
    return {reshape(of.back(g[0], ctx.get(0)), shape)};
  }
};

RL_BIND(Mode, both | out)
RL_BIND(NanMedian, both)
RL_BIND(NanMedianDim, both | out)

// --- Distinct elements ----------------------------------------------------------------------------------------------

[[noreturn]] void not_differentiable(const char* op) {
  fail(ErrorKind::NotImplemented, op, " has no derivative", hint("call it with x.detach()"));
}

Tensor vector_of(const std::vector<int64_t>& v) {
  Tensor t = empty({int64_t(v.size())}, DType::Int64);
  if (!v.empty()) std::copy(v.begin(), v.end(), t.data<int64_t>());
  return t;
}
Tensor lengths(const std::vector<int64_t>& starts, int64_t n) {
  std::vector<int64_t> counts(starts.size());
  for (size_t i = 0; i < starts.size(); i++) counts[i] = (i + 1 < starts.size() ? starts[i + 1] : n) - starts[i];
  return vector_of(counts);
}

// (distinct elements, the place of each element among them, how often each occurs)
template <bool sorted>
struct Unique {
  static constexpr auto schema = sorted ? "_unique2(Tensor self) -> (Tensor, Tensor, Tensor)"
                                        : "_unique_consecutive(Tensor self) -> (Tensor, Tensor, Tensor)";
  static constexpr auto node_name = sorted ? "Unique2Backward0" : "UniqueConsecutiveBackward0";
  Triple forward(Ctx&, const Tensor& x) {
    Tensor flat = reshape(kernels::contiguous(x), {-1}), order;
    if (sorted) {
      Tensor in_order = empty_like(flat);
      order = empty_like(flat, DType::Int64);
      kernels::sort_into(in_order, order, flat, 0, false);
      flat = in_order;
    }
    Tensor groups = empty_like(flat, DType::Int64);
    const std::vector<int64_t> starts = kernels::runs(flat, groups);
    if (sorted) groups = scatter(groups, 0, order, kernels::clone(groups));
    return {index_select(flat, 0, vector_of(starts)), reshape(groups, x.sizes()), lengths(starts, x.numel())};
  }
  Grads backward(Ctx&, Grads) { not_differentiable(sorted ? "unique" : "unique_consecutive"); }
};

// The same for the slices along a dimension.
template <bool sorted>
struct UniqueDim {
  static constexpr auto schema = sorted ? "_unique_dim(Tensor self, int dim) -> (Tensor, Tensor, Tensor)"
                                        : "_unique_dim_consecutive(Tensor self, int dim) -> (Tensor, Tensor, Tensor)";
  static constexpr auto node_name = sorted ? "UniqueDimBackward0" : "UniqueDimConsecutiveBackward0";
  Triple forward(Ctx&, const Tensor& x, int64_t d) {
    RL_CHECK_KIND(x.dim() > 0, Index, "unique: a tensor without dimensions has no dimension ", d);
    const int64_t dim = wrap_dim(d, x.dim()), n = x.sizes()[dim];
    RL_CHECK(x.numel() > 0 || n == 0, "unique: dimensions other than ", dim, " of ", x.sizes(), " are empty");
    const Tensor slices = kernels::contiguous(transpose(x, dim, 0)), rows = reshape(slices, {n, n ? x.numel() / n : 0});
    Tensor order = sorted ? kernels::order_of_rows(rows) : Tensor(), groups = empty({n}, DType::Int64);
    const std::vector<int64_t> starts = kernels::runs_of_rows(rows, order, groups);
    Tensor first = vector_of(starts);
    if (sorted) first = index_select(order, 0, first);
    return {transpose(index_select(slices, 0, first), dim, 0), groups, lengths(starts, n)};
  }
  Grads backward(Ctx&, Grads) { not_differentiable("unique"); }
};

RL_BIND(Unique<true>, hidden)
RL_BIND(Unique<false>, hidden)
RL_BIND(UniqueDim<true>, hidden)
RL_BIND(UniqueDim<false>, hidden)

// --- Searching and counting -----------------------------------------------------------------------------------------

struct Searchsorted {
  static constexpr auto schema =
      "_searchsorted(Tensor sorted_sequence, Tensor self, bool right, Tensor? sorter=None) -> Tensor";
  Tensor forward(Ctx&, const Tensor& given, const Tensor& x, bool right, const Tensor& sorter) {
    RL_CHECK(given.dim() > 0, "searchsorted: the boundaries must have at least one dimension");
    auto leading = [](const Tensor& t) { return IntSpan(t.sizes().data(), t.sizes().size() - 1); };
    RL_CHECK(given.dim() == 1 || (x.dim() == given.dim() && leading(x) == leading(given)),
             "searchsorted: boundaries of shape ", given.sizes(), " do not fit values of shape ", x.sizes(),
             hint("give a vector, or equal dimensions before the last"));
    const DType d = result_type(given, x);
    RL_CHECK_KIND(d != DType::Bool, NotImplemented, "searchsorted is not for bool");
    if (sorter) {
      RL_CHECK(sorter.sizes() == given.sizes(), "searchsorted: sorter of shape ", sorter.sizes(),
               " does not fit boundaries of shape ", given.sizes());
      RL_CHECK(sorter.dtype() == DType::Int64, "searchsorted: sorter must be int64, not ", sorter.dtype());
    }
    Tensor out = empty(x.sizes(), DType::Int64, x.device());
    if (out.is_meta()) return out;
    auto ready = [&](const Tensor& t) { return kernels::contiguous(t.dtype() == d ? t : kernels::cast(t, d)); };
    Tensor order = sorter ? kernels::contiguous(sorter) : Tensor();
    if (order && order.numel()) {
      const int64_t n = given.sizes().back();
      const Tensor bad = logical_or(lt(order, wrapped_number(0)), ge(order, wrapped_number(n)));
      RL_CHECK(!any(bad).item().to_int(), "searchsorted: sorter holds indices outside of 0 ... ", n - 1);
    }
    kernels::search(ready(given), order ? &order : nullptr, ready(x), right, out);
    return out;
  }
};
RL_BIND(Searchsorted, hidden)

struct Histc {
  static constexpr auto schema = "histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor";
  static constexpr auto doc =
      "How many elements lie in each of `bins` intervals of equal length between min and max; if these are equal, "
      "between the least and the largest element. Others, and NaN, are left out.";
  Tensor forward(Ctx& ctx, const Tensor& x, int64_t bins, Scalar min, Scalar max) {
    RL_CHECK_KIND(x.is_floating(), NotImplemented, "histc is for floating point only, not ", x.dtype(),
                  hint("convert with .float(), or use bincount()"));
    check_out_dtype("histc", ctx, x.dtype());
    RL_CHECK(bins > 0, "histc: bins must be positive, got ", bins);
    double low = min.to_double(), high = max.to_double();
    Tensor counts = empty({bins}, DType::Float64, x.device());
    if (x.is_meta()) return empty({bins}, x.dtype(), x.device());
    if (low == high && x.numel() > 0) low = amin(x, {}).item().to_double(), high = amax(x, {}).item().to_double();
    RL_CHECK(std::isfinite(low) && std::isfinite(high), "histc: the range from ", low, " to ", high, " is not finite",
             hint("give min and max; elements outside are left out"));
    if (low == high) low -= 1, high += 1;
    RL_CHECK(low < high, "histc: max must be larger than min, got ", max, " and ", min);
    kernels::histogram(kernels::contiguous(x), low, high, counts);
    return kernels::cast(counts, x.dtype());
  }
};
RL_BIND(Histc, both | out)

// --- Running extrema and log-sum-exp --------------------------------------------------------------------------------

template <bool max>
struct Cumulative {
  static constexpr auto schema = max ? "cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)"
                                     : "cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)";
  static constexpr auto doc =
      max ? "The largest element so far along a dimension, and where it is, the last of equals."
          : "The smallest element so far along a dimension, and where it is, the last of equals.";
  int64_t dim;
  Dims shape;
  Pair forward(Ctx& ctx, const Tensor& x, int64_t d) {
    dim = wrap_dim(d, x.dim()), shape = x.sizes();
    Tensor values = empty(x.sizes(), x.dtype(), x.device()), places = empty(x.sizes(), DType::Int64, x.device());
    kernels::running_extremum(max, kernels::contiguous(x), values, places, dim);
    ctx.save(alias(places));
    return {values, places};
  }
  Grads backward(Ctx& ctx, Grads g) {
    if (shape.empty()) return {g[0]};
    return {scatter_add(zeros(shape, g[0].dtype(), g[0].device()), dim, ctx.get(0), g[0])};
  }
};
RL_BIND(Cumulative<true>, both | out)
RL_BIND(Cumulative<false>, both | out)

struct Logcumsumexp {
  static constexpr auto schema = "logcumsumexp(Tensor self, int dim) -> Tensor";
  static constexpr auto doc = "log(cumsum(exp(self))) along a dimension, without overflow.";
  int64_t dim;
  Tensor forward(Ctx& ctx, const Tensor& x, int64_t d) {
    dim = wrap_dim(d, x.dim());
    RL_CHECK_KIND(x.is_floating(), NotImplemented, "logcumsumexp is for floating point only, not ", x.dtype(),
                  hint("convert with .float() first"));
    check_out_dtype("logcumsumexp", ctx, x.dtype());
    ctx.save(x);
    Tensor y = empty(x.sizes(), x.dtype(), x.device());
    kernels::running_logsumexp(kernels::contiguous(x), y, dim);
    ctx.save_output(y);
    return y;
  }
  Grads backward(Ctx& ctx, Grads g) {
    const Tensor x = ctx.get(0), y = ctx.get(1);
    if (x.dim() == 0) return {g[0]};
    const bool plain = x.dtype() == DType::Float32 || x.dtype() == DType::Float64;
    if (!tls.grad_enabled && plain && g[0].dtype() == x.dtype()) {
      Tensor out = empty(x.sizes(), x.dtype(), x.device());
      if (!x.is_meta())
        kernels::running_logsumexp_backward(kernels::contiguous(g[0]), kernels::contiguous(x), kernels::contiguous(y),
                                            out, dim);
      return {out};
    }
    // For every pair of places i >= j of a line: exp(x[j] - y[i]).
    auto line = [&](const Tensor& t, int64_t at) { return unsqueeze(transpose(t, dim, -1), at); };
    const Tensor place = arange(0, x.sizes()[dim], 1, DType::Int64), after = ge(unsqueeze(place, 1), place),
                 zero = wrapped_number(0.0);
    const Tensor gap =
        where(after, line(x, -2) - line(y, -1), wrapped_number(-std::numeric_limits<double>::infinity()));
    return {transpose(sum(line(g[0], -1) * exp(gap), {-2}), dim, -1)};
  }
};
RL_BIND(Logcumsumexp, both | out)

// --- Sums without NaN -----------------------------------------------------------------------------------------------

struct Nansum {
  static constexpr auto schema =
      "nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor";
  static constexpr auto doc = "The sum, of all elements or over the dimensions `dim`, with NaN counted as 0.";
  Dims dims;
  bool keepdim;
  Tensor forward(Ctx& ctx, const Tensor& x, std::optional<IntSpan> over, bool keep, std::optional<DType> dtype) {
    keepdim = keep, ctx.save(x);
    if (over)
      for (int64_t d : *over) dims.push_back(d);
    const DType d = dtype ? *dtype : ctx.out ? ctx.out->dtype() : is_floating(x.dtype()) ? x.dtype() : DType::Int64;
    RL_CHECK_KIND(is_floating(d) || !x.is_floating(), NotImplemented, "nansum of ", x.dtype(), " is no ", d);
    const Tensor numbers = x.is_floating() ? where(eq(x, x), x, wrapped_number(0.0)) : x;
    return sum(to_dtype(numbers, d), dims, keepdim);
  }
  Grads backward(Ctx& ctx, Grads g) {
    const Tensor x = ctx.get(0);
    Tensor full = g[0];
    if (!keepdim && !dims.empty() && x.dim()) {
      uint64_t set = 0;
      for (int64_t d : dims) set |= uint64_t(1) << wrap_dim(d, x.dim());
      for (int64_t d = 0; d < x.dim(); d++)
        if (set >> d & 1) full = unsqueeze(full, d);
    }
    return {where(eq(x, x), expand(full, x.sizes()), wrapped_number(0.0))};
  }
};
RL_BIND(Nansum, both | out)

}  // namespace
}  // namespace ops
}  // namespace rushlight
