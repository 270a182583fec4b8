#include "tensor/tensor.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/size_math.h"

namespace rushlight {

void (*python_object_hook)(void*) = nullptr;
thread_local bool inference_mode = false;

void TensorImpl::destroy(TensorImpl* t) {
  // Either may run code that looks for this tensor: by a weak reference to its object, which therefore goes first; by
  // its fields, which are therefore cleared before what they point to is freed.
  if (t->pyobj && python_object_hook) python_object_hook(std::exchange(t->pyobj, nullptr));
  if (t->autograd) destroy_autograd_meta(std::exchange(t->autograd, nullptr));
  delete t;
}

static bool contiguous_as(IntSpan sizes, IntSpan strides, IntSpan expected) {
  for (size_t i = 0; i < sizes.size(); i++)
    if (sizes[i] != 1 && strides[i] != expected[i]) return false;
  return true;
}

void TensorImpl::refresh() {
  numel = product(sizes);
  contiguous = true;
  if (numel == 0) return;
  int64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] != 1 && strides[i] != expected) contiguous = false;
    expected *= sizes[i];
  }
}

int64_t wrap_dim(int64_t d, int64_t ndim) {
  int64_t n = std::max<int64_t>(ndim, 1);
  RL_CHECK_KIND(d >= -n && d < n, Index, "dimension out of range: ", d, " for a tensor of ", ndim, " dimension",
                ndim == 1 ? "" : "s", " (expected ", -n, " to ", n - 1, ")");
  return d < 0 ? d + n : d;
}
int64_t Tensor::wrap(int64_t d) const {
  RL_CHECK_KIND(dim() > 0, Index, "dimension ", d, " asked of a tensor that has no dimensions");
  return wrap_dim(d, dim());
}

int64_t product(IntSpan sizes) {
  int64_t n = 1;
  bool zero = false, overflow = false;
  for (int64_t s : sizes) {
    RL_CHECK(s >= 0, "a tensor cannot have a negative size: ", sizes);
    if (s == 0) zero = true;
    overflow |= __builtin_mul_overflow(n, s ? s : 1, &n);
  }
  if (zero) return 0;
  RL_CHECK(!overflow, "a tensor of shape ", sizes, " has more elements than can be counted");
  return n;
}

// Without holes, for dimensions ordered from innermost to outermost.
static Dims dense_strides(IntSpan sizes, const Dims& order) {
  Dims strides;
  strides.resize(sizes.size(), 1);
  int64_t s = 1;
  for (int64_t d : order) strides[d] = s, s = wrapping_mul(s, std::max<int64_t>(sizes[d], 1));
  return strides;
}

static Dims row_major(IntSpan sizes) {
  Dims strides;
  strides.resize(sizes.size(), 1);
  int64_t s = 1;
  for (size_t i = sizes.size(); i-- > 0;) strides[i] = s, s = wrapping_mul(s, std::max<int64_t>(sizes[i], 1));
  return strides;
}

Dims contiguous_strides(IntSpan sizes, MemoryFormat f) {
  if (f != MemoryFormat::ChannelsLast && f != MemoryFormat::ChannelsLast3d) return row_major(sizes);
  const size_t n = sizes.size(), want = f == MemoryFormat::ChannelsLast ? 4 : 5;
  RL_CHECK(n == want, "memory format ", want == 4 ? "channels_last" : "channels_last_3d", " needs ", want,
           " dimensions, got shape ", sizes);
  Dims order;
  order.push_back(1);
  for (size_t i = n - 1; i >= 2; i--) order.push_back(i);
  order.push_back(0);
  return dense_strides(sizes, order);
}

bool Tensor::is_contiguous(MemoryFormat f) const {
  if (f == MemoryFormat::Contiguous || f == MemoryFormat::Preserve) return impl_->contiguous;
  if (dim() != (f == MemoryFormat::ChannelsLast ? 4 : 5)) return false;
  return numel() == 0 || contiguous_as(sizes(), strides(), contiguous_strides(sizes(), f));
}

// Dimensions ordered from innermost to outermost; ties keep the logical order.
static Dims memory_order(IntSpan sizes, IntSpan strides) {
  Dims order;
  for (size_t i = sizes.size(); i-- > 0;) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    if (strides[a] != strides[b]) return strides[a] < strides[b];
    return sizes[a] < sizes[b] && a > b;
  });
  return order;
}

bool Tensor::is_dense() const {
  if (impl_->contiguous) return true;
  int64_t expected = 1;
  for (int64_t d : memory_order(sizes(), strides())) {
    if (sizes()[d] == 1) continue;
    if (strides()[d] != expected) return false;
    expected *= sizes()[d];
  }
  return true;
}

Dims dense_strides_like(const Tensor& t) {
  if (t.impl()->contiguous) return contiguous_strides(t.sizes());
  if (t.is_dense()) return t.strides();
  // Not dense (slices, expanded): keep the order of the dimensions, squeeze the holes out.
  Dims order;
  for (int64_t i = t.dim(); i-- > 0;) order.push_back(i);
  // Insertion sort that never moves a dimension past one of ambiguous order (stride 0, or size 1).
  auto compare = [&](int64_t a, int64_t b) {  // >0: a belongs outside b
    int64_t sa = t.strides()[a], sb = t.strides()[b];
    if (sa == 0 || sb == 0) return 0;
    if (sa != sb) return sa < sb ? -1 : 1;
    return t.sizes()[a] > t.sizes()[b] ? 1 : 0;
  };
  for (size_t i = 1; i < order.size(); i++) {
    size_t at = i;
    for (size_t j = i; j-- > 0;) {
      int c = compare(order[j], order[at]);
      if (c > 0) std::swap(order[j], order[at]), at = j;
      else if (c < 0) break;
    }
  }
  return dense_strides(t.sizes(), order);
}

Dims broadcast_shapes(IntSpan a, IntSpan b) {
  size_t n = std::max(a.size(), b.size());
  Dims out;
  out.resize(n, 1);
  for (size_t i = 0; i < n; i++) {  // i counts from the last dimension
    int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      std::string mend;
      // The commonest slip: a vector meant for another dimension than the last.
      auto offer = [&](IntSpan small, IntSpan big, const char* name) {
        if (small.size() != 1 || !mend.empty()) return;
        for (size_t d = 0; d + 1 < big.size(); d++)
          if (big[d] == small[0]) {
            std::string shape, index = "[:";
            for (size_t k = d; k < big.size(); k++) shape += k == d ? std::to_string(small[0]) : ", 1";
            for (size_t k = d + 1; k < big.size(); k++) index += ", None";
            mend = hint(detail::concat("to line the ", small[0], " up with dimension ", d, ", use ", name, ".view(",
                                       shape, ") or ", name, index, "]."));
            return;
          }
      };
      offer(b, a, "b"), offer(a, b, "a");
      fail(ErrorKind::Runtime, "cannot broadcast ", a, " with ", b, ": dimension -", i + 1, " is ", x, " and ", y, ".",
           mend);
    }
    out[n - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

std::optional<Dims> view_strides(IntSpan sizes, IntSpan strides, IntSpan shape) {
  // Old dimensions are merged into runs that are contiguous among themselves; the new dimensions must tile each run.
  Dims out;
  out.resize(shape.size(), 1);
  if (product(sizes) == 0) {
    if (sizes == shape) return strides.dims();
    return contiguous_strides(shape);
  }
  if (sizes.empty()) return out;
  int64_t v = int64_t(shape.size()) - 1, run = 1, base = strides[strides.size() - 1];
  for (int64_t d = int64_t(sizes.size()) - 1; d >= 0; d--) {
    run *= sizes[d];
    bool ends = d == 0 || (sizes[d - 1] != 1 && strides[d - 1] != run * base);
    if (!ends) continue;
    int64_t filled = 1;
    while (v >= 0 && (filled < run || shape[v] == 1)) {
      out[v] = filled * base;
      filled *= shape[v--];
    }
    if (filled != run) return {};
    if (d > 0) base = strides[d - 1], run = 1;
  }
  if (v >= 0) return {};
  return out;
}

Dims infer_size(IntSpan shape, int64_t numel) {
  Dims out = shape.dims();
  int64_t known = 1, hole = -1;
  for (size_t i = 0; i < shape.size(); i++) {
    if (shape[i] == -1) {
      RL_CHECK(hole < 0, "only one dimension can be inferred (-1), got shape ", shape);
      hole = i;
    } else {
      RL_CHECK(shape[i] >= 0, "invalid shape ", shape, ": dimension ", i, " is ", shape[i]);
      if (__builtin_mul_overflow(known, shape[i], &known)) known = -1, hole = -1;
      if (known < 0) break;
    }
  }
  if (hole >= 0) {
    RL_CHECK(known != 0, "the shape ", shape, " leaves -1 ambiguous for a tensor of ", numel, " elements");
    if (numel % known == 0) {
      out[hole] = numel / known;
      return out;
    }
  }
  RL_CHECK(hole < 0 && known == numel, "shape '", shape, "' is invalid for input of size ", numel);
  return out;
}

static Tensor make(Ref<Storage> storage, IntSpan sizes, IntSpan strides, DType dtype) {
  auto impl = Ref<TensorImpl>::adopt(new TensorImpl);
  impl->storage = std::move(storage);
  impl->sizes = sizes.dims();
  impl->strides = strides.dims();
  impl->dtype = dtype;
  impl->refresh();
  return Tensor(std::move(impl));
}

static int64_t nbytes_of(int64_t numel, DType dtype) {
  int64_t n;
  RL_CHECK(!__builtin_mul_overflow(numel, itemsize(dtype), &n), "a tensor of ", numel, " ", dtype,
           " elements is larger than any memory");
  return n;
}

Tensor empty(IntSpan sizes, DType dtype, Device device) {
  RL_CHECK(device.type != DeviceType::CUDA, "no CUDA device: this build of Rushlight computes on the CPU",
           hint("use device=\"cpu\", or \"cuda\" if rushlight.cuda.is_available() else \"cpu\""));
  int64_t n = product(sizes);
  auto impl = Ref<TensorImpl>::adopt(new TensorImpl);
  impl->storage = Storage::make(nbytes_of(n, dtype), device);
  impl->sizes = sizes.dims();
  impl->strides = row_major(sizes);
  impl->dtype = dtype;
  impl->numel = n;
  return Tensor(std::move(impl));
}

// How many elements of memory a geometry reaches over.
static int64_t extent(IntSpan sizes, IntSpan strides) {
  if (product(sizes) == 0) return 0;
  int64_t last = 0;
  for (size_t i = 0; i < sizes.size(); i++) {
    int64_t step;
    RL_CHECK(!__builtin_mul_overflow(sizes[i] - 1, strides[i], &step) && !__builtin_add_overflow(last, step, &last),
             "strides ", strides, " over shape ", sizes, " reach beyond any memory");
  }
  return last + 1;
}

Tensor empty_strided(IntSpan sizes, IntSpan strides, DType dtype, Device device) {
  RL_CHECK(sizes.size() == strides.size(), "shape ", sizes, " and strides ", strides, " differ in length");
  RL_CHECK(device.type != DeviceType::CUDA, "no CUDA device: this build of Rushlight computes on the CPU",
           hint("use device=\"cpu\""));
  for (int64_t s : strides) RL_CHECK(s >= 0, "strides must not be negative, got ", strides);
  return make(Storage::make(nbytes_of(extent(sizes, strides), dtype), device), sizes, strides, dtype);
}

Tensor empty_like(const Tensor& t, std::optional<DType> dtype, MemoryFormat f) {
  DType d = dtype.value_or(t.dtype());
  if (f == MemoryFormat::Preserve) {
    // A dense tensor's strides are kept to the letter, those of dimensions of size 1 too.
    if (t.is_dense()) return make(Storage::make(nbytes_of(t.numel(), d), t.device()), t.sizes(), t.strides(), d);
    return empty_strided(t.sizes(), dense_strides_like(t), d, t.device());
  }
  if (f == MemoryFormat::ChannelsLast || f == MemoryFormat::ChannelsLast3d)
    return empty_strided(t.sizes(), contiguous_strides(t.sizes(), f), d, t.device());
  return empty(t.sizes(), d, t.device());
}

Tensor scalar_tensor(const Scalar& s, DType dtype, Device device) {
  Tensor t = empty({}, dtype, device);
  if (!device.is_meta())
    visit(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      *t.data<T>() = s.to<T>();
    });
  return t;
}

Tensor wrapped_number(const Scalar& s) {
  Tensor t = scalar_tensor(s, s.dtype());
  t.impl()->wrapped_number = true;
  return t;
}

Tensor alias(const Tensor& t, IntSpan sizes, IntSpan strides, int64_t offset) {
  Tensor v = make(t.storage(), sizes, strides, t.dtype());
  v.impl()->offset = offset;
  if (!t.impl()->inference) v.impl()->own_version = t.impl()->own_version;
  v.impl()->inference = t.impl()->inference;
  return v;
}

void resize_tensor(const Tensor& t, IntSpan sizes) {
  TensorImpl* p = t.impl();
  if (IntSpan(p->sizes) == sizes) return;
  int64_t n = product(sizes);
  int64_t need = nbytes_of(checked_add("resize_", n, p->offset), p->dtype);
  if (size_t(need) > p->storage->nbytes) p->storage->resize(need);
  p->sizes = sizes.dims();
  p->strides = contiguous_strides(sizes);
  p->refresh();
}

void (*warning_hook)(const std::string&) = nullptr;

void resize_out(const Tensor& out, IntSpan sizes) {
  if (IntSpan(out.sizes()) == sizes) return;
  if (out.numel())
    warn(detail::concat("a tensor of shape ", out.sizes(), " given as out= was resized to the result's shape ", sizes,
                        hint("give an empty one to have it resized, or one of the right shape")));
  resize_tensor(out, sizes);
}

char* Tensor::no_memory() const {
  RL_CHECK_KIND(numel() == 0 || !is_meta(), NotImplemented, "a tensor on the meta device has no values, but those of ",
                Describe{*this}, " are needed here", hint("make the tensors on the CPU"));
  RL_CHECK(numel() == 0, "the memory of a tensor was freed: its storage was resized to nothing");
  return nullptr;
}

Scalar Tensor::item() const {
  RL_CHECK(numel() == 1, "a tensor of shape ", IntSpan(sizes()), " has ", numel(),
           " elements; only one can become a number",
           hint("pick one by indexing, reduce with sum() or mean(), or take all with tolist()"));
  RL_CHECK(!is_meta(), "a tensor on the meta device has no values");
  return visit(dtype(), [&](auto tag) -> Scalar {
    using T = typename decltype(tag)::type;
    T v = element(data<T>());
    if constexpr (std::is_same_v<T, bool>) return Scalar(v);
    else if constexpr (std::is_integral_v<T>) return Scalar(int64_t(v));
    else return Scalar(double(v));
  });
}

// Category: bool 0, integers 1, floats 2.
static int category(DType d) { return d == DType::Bool ? 0 : is_integral(d) ? 1 : 2; }

DType result_type(std::span<const Tensor* const> ts) {
  // Three strengths; a weaker one counts only when its category is higher than all stronger ones'.
  std::optional<DType> by[3];
  for (const Tensor* t : ts) {
    if (!t->defined()) continue;
    DType d = t->dtype();
    int strength = t->impl()->wrapped_number ? 2 : t->dim() == 0 ? 1 : 0;
    if (strength == 2 && is_floating(d)) d = default_dtype();
    by[strength] = by[strength] ? promote(*by[strength], d) : d;
  }
  std::optional<DType> r;
  for (auto& b : by) {
    if (!b) continue;
    if (!r) r = b;
    else if (category(*b) > category(*r)) r = promote(*r, *b);
  }
  return r.value_or(default_dtype());
}

bool can_cast(DType from, DType to) { return category(from) <= category(to); }

std::ostream& operator<<(std::ostream& o, const Describe& d) {
  if (!d.t.defined()) return o << "None";
  return o << d.t.dtype() << " " << IntSpan(d.t.sizes());
}

}  // namespace rushlight
