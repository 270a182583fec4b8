#include "kernels/reduce.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/thread_pool.h"
#include "base/unlocked.h"

namespace rushlight::kernels {
namespace {

constexpr int64_t kGrain = 32768;  // elements for one thread
constexpr int64_t kUnit = 512;     // results whose accumulators stay in the cache
constexpr int64_t kBuffer = 2048;  // elements converted at a time
constexpr int64_t kFewUnits = 16;  // fewer, and the reduced range is cut too
constexpr int64_t kShortRow = 16;  // rows so short are read across many results

struct Axis {
  int64_t size, in, out, parameter;  // strides in bytes
};
using Axes = SmallVec<Axis, 6>;

// Keeps axes sorted by the input's stride, smallest first; a stride of 0 says nothing about nearness.
void insert_sorted(Axes& axes, Axis axis) {
  auto rank = [](const Axis& a) { return a.in ? a.in : std::numeric_limits<int64_t>::max(); };
  size_t at = axes.size();
  while (at > 0 && rank(axes[at - 1]) > rank(axis)) at--;
  axes.insert(at, axis);
}

void merge(Axes& axes) {
  size_t n = 0;
  for (const Axis& a : axes) {
    if (n > 0) {
      Axis& last = axes[n - 1];
      if (a.in == last.in * last.size && a.out == last.out * last.size && a.parameter == last.parameter * last.size) {
        last.size *= a.size;
        continue;
      }
    }
    axes[n++] = a;
  }
  if (n == 0) axes.push_back({1, 0, 0, 0}), n = 1;
  axes.resize(n, Axis{});
}

// Visits elements [begin, begin + n) of the axes' space in runs along the first axis: run(offsets, length, done).
template <class F>
void walk(const Axes& axes, int64_t begin, int64_t n, F&& run) {
  Axis at{begin, 0, 0, 0};  // size: place along the first axis
  int64_t place[64];
  if (axes.size() > 1) {
    int64_t rest = begin;
    for (size_t d = 0; d < axes.size(); d++) {
      place[d] = rest % axes[d].size;
      rest /= axes[d].size;
      if (d == 0) continue;
      at.in += place[d] * axes[d].in, at.out += place[d] * axes[d].out, at.parameter += place[d] * axes[d].parameter;
    }
    at.size = place[0];
  }
  for (int64_t done = 0; done < n;) {
    int64_t length = std::min(axes[0].size - at.size, n - done);
    run(Axis{length, at.in + at.size * axes[0].in, at.out + at.size * axes[0].out,
             at.parameter + at.size * axes[0].parameter},
        done);
    done += length;
    at.size = 0;
    for (size_t d = 1; d < axes.size() && done < n; d++) {
      at.in += axes[d].in, at.out += axes[d].out, at.parameter += axes[d].parameter;
      if (++place[d] < axes[d].size) break;
      at.in -= place[d] * axes[d].in, at.out -= place[d] * axes[d].out, at.parameter -= place[d] * axes[d].parameter;
      place[d] = 0;
    }
  }
}

// The axes of x, apart by whether they stay. `out` is laid out as a result that keeps or drops the reduced dimensions.
struct Layout {
  Axes kept, reduced;
  Layout(const Tensor& x, DimSet gone, const Tensor& out, bool keepdim) {
    int64_t at = out.dim(), item = x.itemsize(), out_item = out.itemsize(), parameter = sizeof(double);
    for (int64_t d = x.dim(); d-- > 0;) {
      bool goes = gone >> d & 1;
      if (!goes || keepdim) at--;
      if (x.sizes()[d] == 1) continue;
      if (x.numel() == 0 && goes) continue;  // nothing is read, and the strides may be anything
      if (goes) {
        insert_sorted(reduced, {x.sizes()[d], x.strides()[d] * item, 0, 0});
      } else {
        insert_sorted(kept,
                      {x.sizes()[d], x.numel() ? x.strides()[d] * item : 0, out.strides()[at] * out_item, parameter});
        parameter *= x.sizes()[d];
      }
    }
    merge(kept), merge(reduced);
  }
};

// Accumulators as they are before the first element.
void clear(Fold fold, Compute compute, double* acc, int64_t n) {
  double real = 0;
  int64_t integer = 0;
  switch (fold) {
    case Fold::product:
    case Fold::all: real = 1, integer = 1; break;
    case Fold::max:
    case Fold::max_abs:
      real = -std::numeric_limits<double>::infinity(), integer = std::numeric_limits<int64_t>::min();
      break;
    case Fold::min:
    case Fold::min_abs:
      real = std::numeric_limits<double>::infinity(), integer = std::numeric_limits<int64_t>::max();
      break;
    default: break;
  }
  if (compute == kI64) std::fill_n(reinterpret_cast<int64_t*>(acc), n, integer);
  else std::fill_n(acc, n, real);
}

struct Work {
  FoldKernels kernels;
  Compute compute;
  DType dtype;  // of x
  int unit;     // bytes of one element of the compute type
  bool same;    // x is of the compute type: it need not be converted
  const char* x;
  Layout layout;

  // Results [begin, begin + n), each of elements [from, from + length) of the reduced range.
  void rows(int64_t begin, int64_t n, int64_t from, int64_t length, double* acc, const double* parameter) const {
    alignas(64) char buffer[kBuffer * 8];
    const int64_t kept_stride = layout.kept[0].in;
    walk(layout.kept, begin, n, [&](const Axis& k, int64_t done) {
      for (int64_t i = 0; i < k.size; i++, done++) {
        const char* base = x + k.in + i * kept_stride;
        walk(layout.reduced, from, length, [&](const Axis& r, int64_t) {
          const char* p = base + r.in;
          int64_t stride = layout.reduced[0].in;
          if (same && (stride == unit || r.size == 1)) {
            kernels.row(p, r.size, acc + done, parameter + done);
            return;
          }
          for (int64_t at = 0; at < r.size; at += kBuffer) {
            int64_t part = std::min(kBuffer, r.size - at);
            load_tile(buffer, compute, p + at * stride, int(dtype), stride, part);
            kernels.row(buffer, part, acc + done, parameter + done);
          }
        });
      }
    });
  }

  // The same for results along the first kept axis, whose elements are read side by side.
  void columns(int64_t begin, int64_t n, int64_t from, int64_t length, double* acc, const double* parameter) const {
    alignas(64) char buffer[kBuffer * 8];
    const int64_t across = layout.kept[0].in, down = layout.reduced[0].in;
    walk(layout.kept, begin, n, [&](const Axis& k, int64_t done) {
      walk(layout.reduced, from, length, [&](const Axis& r, int64_t) {
        const char* p = x + k.in + r.in;
        if (same && across == unit && down % unit == 0) {
          kernels.columns(p, down / unit, r.size, k.size, acc + done, parameter + done);
          return;
        }
        for (int64_t at = 0, batch; at < r.size; at += batch) {
          batch = std::min(std::max<int64_t>(1, kBuffer / k.size), r.size - at);
          for (int64_t i = 0; i < batch; i++)
            load_tile(buffer + i * k.size * unit, compute, p + (at + i) * down, int(dtype), across, k.size);
          kernels.columns(buffer, k.size, batch, k.size, acc + done, parameter + done);
        }
      });
    });
  }
};

// How partial accumulators are joined.
Fold joining(Fold f) {
  switch (f) {
    case Fold::product: return Fold::product;
    case Fold::max:
    case Fold::max_abs:
    case Fold::any: return Fold::max;
    case Fold::min:
    case Fold::min_abs:
    case Fold::all: return Fold::min;
    default: return Fold::sum;
  }
}

const FoldKernels& kernels_of(Fold f, Compute c) {
  static const FoldKernels* table = fold_kernels();
  return table[int(f) * kComputes + c];
}

}  // namespace

DimSet dim_set(const char* op, std::optional<IntSpan> dims, int64_t ndim) {
  RL_CHECK(ndim <= 64, op_name(op), ": at most 64 dimensions can be reduced, got ", ndim);
  if (!dims || dims->empty()) return ndim == 64 ? ~DimSet(0) : (DimSet(1) << ndim) - 1;
  DimSet set = 0;
  for (int64_t d : *dims) {
    DimSet bit = DimSet(1) << wrap_dim(d, ndim);
    RL_CHECK(!(set & bit), op_name(op), ": dimension ", wrap_dim(d, ndim), " appears twice in ", *dims);
    set |= bit;
  }
  return ndim ? set : 0;
}

Dims reduced_shape(IntSpan sizes, DimSet reduced, bool keepdim) {
  Dims shape;
  for (size_t d = 0; d < sizes.size(); d++) {
    if (!(reduced >> d & 1)) shape.push_back(sizes[d]);
    else if (keepdim) shape.push_back(1);
  }
  return shape;
}

int64_t reduced_count(IntSpan sizes, DimSet reduced) {
  int64_t n = 1;
  for (size_t d = 0; d < sizes.size(); d++)
    if (reduced >> d & 1) n *= sizes[d];
  return n;
}

static void reduce_into(const Tensor& out, Fold fold, const Tensor& x, DimSet reduced, bool keepdim,
                        DType compute_dtype, const Tensor* parameters, Finish finish) {
  if (out.is_meta() || out.numel() == 0) return;
  Compute compute = compute_of(compute_dtype);
  Compute acc_type = compute == kI64 ? kI64 : kF64;
  Work w{kernels_of(fold, compute),
         compute,
         x.dtype(),
         compute == kF32 ? 4 : 8,
         x.dtype() == (compute == kF32   ? DType::Float32
                       : compute == kF64 ? DType::Float64
                                         : DType::Int64),
         x.bytes(),
         Layout(x, reduced, out, keepdim)};
  const Layout& l = w.layout;
  const int64_t results = out.numel(), length = x.numel() / results;
  const double* parameter = parameters ? parameters->data<double>() : nullptr;
  char* to = out.bytes();
  DType to_dtype = out.dtype();

  // Elements that lie side by side are read together: along rows where they belong to one result, else across columns.
  auto rank = [](int64_t stride) { return stride ? stride : std::numeric_limits<int64_t>::max(); };
  bool by_rows = results == 1 || (length > 1 && rank(l.reduced[0].in) <= rank(l.kept[0].in));
  if (by_rows && l.reduced[0].size <= kShortRow && l.kept[0].size >= 4 * kShortRow) by_rows = false;

  // Units of work: neighbouring results; of columns, within one run along the first kept axis.
  int64_t per_unit, units, tiles = 1;
  if (by_rows) {
    per_unit = std::clamp<int64_t>(kGrain / std::max<int64_t>(length, 1), 1, std::min(kUnit, results));
    units = (results + per_unit - 1) / per_unit;
  } else {
    per_unit = std::min(kUnit, l.kept[0].size);
    tiles = (l.kept[0].size + per_unit - 1) / per_unit;
    units = results / l.kept[0].size * tiles;
  }
  auto range_of = [&](int64_t unit) {
    int64_t begin = by_rows ? unit * per_unit : unit / tiles * l.kept[0].size + unit % tiles * per_unit;
    int64_t end = by_rows ? results : (unit / tiles + 1) * l.kept[0].size;
    return std::pair(begin, std::min(per_unit, end - begin));
  };
  auto accumulate = [&](int64_t unit, int64_t from, int64_t count, double* acc) {
    double parameter_tile[kUnit];
    auto [begin, n] = range_of(unit);
    clear(fold, compute, acc, n);
    if (parameter)
      walk(l.kept, begin, n, [&](const Axis& k, int64_t done) {
        load_tile(parameter_tile + done, kF64, reinterpret_cast<const char*>(parameter) + k.parameter,
                  int(DType::Float64), l.kept[0].parameter, k.size);
      });
    if (count == 0) return;
    if (by_rows) w.rows(begin, n, from, count, acc, parameter_tile);
    else w.columns(begin, n, from, count, acc, parameter_tile);
  };
  auto store = [&](int64_t unit, double* acc) {
    auto [begin, n] = range_of(unit);
    walk(l.kept, begin, n, [&](const Axis& k, int64_t done) {
      if (finish.run) {
        double parameter_tile[kUnit];
        if (parameter)
          load_tile(parameter_tile, kF64, reinterpret_cast<const char*>(parameter) + k.parameter, int(DType::Float64),
                    l.kept[0].parameter, k.size);
        finish.run(acc + done, parameter_tile, k.size, double(length), finish.argument);
      }
      store_tile(to + k.out, int(to_dtype), l.kept[0].out, acc + done, acc_type, false, k.size);
    });
  };

  Unlocked unlocked(x.numel());
  if (units >= kFewUnits || units * length < 4 * kGrain || length < 2) {
    int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, per_unit * length));
    parallel_for(0, units, grain, [&](int64_t b, int64_t e) {
      double acc[kUnit];
      for (int64_t unit = b; unit < e; unit++) {
        accumulate(unit, 0, length, acc);
        store(unit, acc);
      }
    });
    return;
  }

  // Few results of many elements: the reduced range is cut into parts whose accumulators are joined in order.
  int64_t parts = std::min(length, std::clamp<int64_t>(units * per_unit * length / (2 * kGrain), 2, 32) / units + 1);
  std::vector<double> partial(parts * units * per_unit);
  parallel_for(0, parts * units, 1, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; i++) {
      int64_t part = i / units, unit = i % units, from = length * part / parts, end = length * (part + 1) / parts;
      accumulate(unit, from, end - from, &partial[i * per_unit]);
    }
  });
  const FoldKernels& join = kernels_of(joining(fold), acc_type);
  for (int64_t unit = 0; unit < units; unit++) {
    double acc[kUnit];
    int64_t n = range_of(unit).second;
    clear(fold, compute, acc, n);
    join.columns(&partial[unit * per_unit], units * per_unit, parts, n, acc, nullptr);
    store(unit, acc);
  }
}

Tensor reduce(Fold fold, const Tensor& x, DimSet reduced, bool keepdim, DType compute, DType result, const Tensor* out,
              const Tensor* parameter, Finish finish) {
  Tensor to = out ? *out : empty(reduced_shape(x.sizes(), reduced, keepdim), result, x.device());
  reduce_into(to, fold, x, reduced, keepdim, compute, parameter, finish);
  return to;
}

// --- Extrema with their places --------------------------------------------------------------------------------------

Extremum extremum(bool max, const Tensor& x, int64_t dim, bool keepdim) {
  DimSet reduced = x.dim() ? DimSet(1) << dim : 0;
  Extremum e;
  Dims shape = reduced_shape(x.sizes(), reduced, keepdim);
  e.value = empty(shape, x.dtype(), x.device());
  e.place = empty(shape, DType::Int64, x.device());
  if (x.is_meta() || e.place.numel() == 0) return e;

  const Compute compute = compute_of(x.dtype());
  const int unit = compute == kF32 ? 4 : 8;
  const DType dtype = x.dtype();
  const bool same = dtype == (compute == kF32 ? DType::Float32 : compute == kF64 ? DType::Float64 : DType::Int64);
  Layout l(x, reduced, e.place, keepdim);
  const int64_t length = x.numel() / e.place.numel(), down = l.reduced[0].in, across = l.kept[0].in;
  const char* from = x.bytes();
  char *values = e.value.bytes(), *places = e.place.bytes();
  const int64_t item = x.itemsize();  // an element's value lies where its place does, in units of its own size
  const FoldKernels& fold = kernels_of(max ? Fold::max : Fold::min, compute);
  const int64_t results = e.place.numel();

  // One row: the extremum first, in vectors, then where it stands.
  auto row = [&](const char* p, int64_t out) {
    alignas(64) char buffer[kBuffer * 8];
    double acc;
    clear(max ? Fold::max : Fold::min, compute, &acc, 1);
    auto tile = [&](int64_t at, int64_t n) -> const char* {
      if (same && (down == unit || n == 1)) return p + at * down;
      load_tile(buffer, compute, p + at * down, int(dtype), down, n);
      return buffer;
    };
    const int64_t step = same && down == unit ? length : kBuffer;
    for (int64_t at = 0; at < length; at += step) {
      int64_t n = std::min(step, length - at);
      fold.row(tile(at, n), n, &acc, nullptr);
    }
    double value = acc;
    if (compute == kF32) {
      float narrow = float(acc);
      std::memcpy(&value, &narrow, sizeof narrow);
    }
    int64_t place = 0;
    for (int64_t at = 0; at < length; at += step) {
      int64_t n = std::min(step, length - at), found = find_first(compute, tile(at, n), n, &value);
      place = at + found;
      if (found < n) break;
    }
    std::memcpy(places + out, &place, sizeof place);
    std::memcpy(values + out / 8 * item, p + place * down, item);
  };
  // Several results side by side.
  auto columns = [&](const char* p, int64_t out, int64_t n) {
    alignas(64) char buffer[kUnit * 8];
    alignas(64) char best[kUnit * 8];
    int64_t where[kUnit];
    load_tile(best, compute, p, int(dtype), across, n);
    std::fill_n(where, n, 0);
    if (same && across == unit && down % unit == 0) {
      find_extrema(max, compute, p + down, down / unit, 1, length - 1, n, best, where);
    } else {
      for (int64_t r = 1; r < length; r++) {
        load_tile(buffer, compute, p + r * down, int(dtype), across, n);
        find_extrema(max, compute, buffer, 0, r, 1, n, best, where);
      }
    }
    const int64_t stride = l.kept[0].out;
    store_tile(values + out / 8 * item, int(dtype), stride / 8 * item, best, compute, false, n);
    store_tile(places + out, int(DType::Int64), stride, where, kI64, false, n);
  };

  bool by_rows = results == 1 || (length > 1 && down <= across);
  Unlocked unlocked(x.numel());
  parallel_for(0, results, std::max<int64_t>(1, kGrain / length), [&](int64_t b, int64_t end) {
    walk(l.kept, b, end - b, [&](const Axis& k, int64_t) {
      if (by_rows) {
        for (int64_t i = 0; i < k.size; i++) row(from + k.in + i * across, k.out + i * l.kept[0].out);
      } else {
        for (int64_t i = 0; i < k.size; i += kUnit)
          columns(from + k.in + i * across, k.out + i * l.kept[0].out, std::min(kUnit, k.size - i));
      }
    });
  });
  return e;
}

}  // namespace rushlight::kernels
