// The same memory through another geometry.
#include <numeric>

#include "autograd/needs.h"
#include "base/size_math.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

// Whether two elements may share a place; dimensions sorted by stride must each step over all smaller ones.
bool self_overlapping(const Dims& sizes, const Dims& strides) {
  SmallVec<std::pair<int64_t, int64_t>, 6> dims;
  for (size_t d = 0; d < sizes.size(); d++)
    if (sizes[d] > 1) dims.push_back({strides[d], sizes[d]});
  std::sort(dims.begin(), dims.end());
  int64_t reach = 0;
  for (auto [stride, size] : dims) {
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

struct AsStrided {
  static constexpr auto schema =
      "as_strided(Tensor self, int[] size, int[] stride, int? storage_offset=None) -> Tensor";
  static constexpr auto doc =
      "Any geometry over self's memory. The offset counts elements from the start of the storage.";
  static constexpr Kind kind = Kind::view;
  Dims in_sizes, in_strides, sizes, strides;
  int64_t in_offset, offset;
  Tensor forward(Ctx&, const Tensor& x, IntSpan size, IntSpan stride, OptInt at) {
    RL_CHECK(size.size() == stride.size(), "as_strided: size ", size, " and stride ", stride, " differ in length");
    in_sizes = x.sizes(), in_strides = x.strides(), in_offset = x.offset();
    sizes = size.dims(), strides = stride.dims(), offset = at.value_or(x.offset());
    RL_CHECK(offset >= 0, "as_strided: the storage offset must not be negative, got ", offset);
    RL_CHECK(offset < int64_t(1) << 47, "as_strided: the storage offset ", offset, " lies beyond any memory");
    int64_t last = offset, n = product(sizes);
    for (size_t i = 0; i < size.size(); i++) {
      RL_CHECK(stride[i] >= 0, "as_strided: strides must not be negative, got ", stride);
      int64_t step;
      RL_CHECK(
          !__builtin_mul_overflow(size[i] - 1, stride[i], &step) && !__builtin_add_overflow(last, n ? step : 0, &last),
          "as_strided: size ", size, " with stride ", stride, " reaches beyond any memory");
    }
    int64_t have = x.storage()->nbytes / x.itemsize();
    RL_CHECK(n == 0 || last < have, "as_strided: size ", size, " with stride ", stride, " and offset ", offset,
             " reaches place ", last, " of memory; the storage has ", have, " elements");
    return alias(x, size, stride, offset);
  }
  Grads backward(Ctx&, Grads g) {
    // Every place of memory gathers the gradients of all elements that the view showed of it; where the input itself
    // shows a place several times, they share what it gathered.
    int64_t low = std::min(in_offset, offset), need = 1;
    auto reach = [&](const Dims& s, const Dims& st, int64_t at) {
      if (product(s) == 0) return;  // wherever that is said to begin
      int64_t last = at - low;
      for (size_t i = 0; i < s.size(); i++) last += std::max<int64_t>(s[i] - 1, 0) * st[i];
      need = std::max(need, last + 1);
    };
    reach(in_sizes, in_strides, in_offset), reach(sizes, strides, offset);
    Tensor memory = zeros({need}, g[0].dtype(), g[0].device());
    auto gather_in = [&](const Tensor& to, const Dims& s, const Dims& st, int64_t at, const Tensor& values) {
      Tensor places = empty({need}, DType::Int64, g[0].device());
      if (!places.is_meta()) std::iota(places.data<int64_t>(), places.data<int64_t>() + need, int64_t(0));
      Tensor index = alias(places, s, st, at - low);
      return index_put(to, {&index, 1}, values, true);
    };
    if (self_overlapping(sizes, strides)) memory = gather_in(memory, sizes, strides, offset, g[0]);
    else copy_(rushlight::as_strided(memory, sizes, strides, offset - low), g[0]);
    if (self_overlapping(in_sizes, in_strides)) {
      Tensor count = zeros({need}, g[0].dtype(), g[0].device());
      memory = div(memory, gather_in(count, in_sizes, in_strides, in_offset, ones({}, g[0].dtype(), g[0].device())));
    }
    return {rushlight::as_strided(memory, in_sizes, in_strides, in_offset - low)};
  }
};

struct View {
  static constexpr auto schema = "view(Tensor self, int[]* size) -> Tensor";
  static constexpr auto doc = "The same elements in another shape, without copying; one size may be -1.";
  static constexpr Kind kind = Kind::view;
  Dims shape;
  Tensor forward(Ctx&, const Tensor& x, IntSpan size) {
    shape = x.sizes();
    Dims to = infer_size(size, x.numel());
    auto strides = view_strides(x.sizes(), x.strides(), to);
    RL_CHECK(strides, "view: a tensor of shape ", x.sizes(), " and strides ", x.strides(), " cannot be seen as ", to,
             " without copying", hint("use .reshape(...), which copies where it must"));
    return alias(x, to, *strides, x.offset());
  }
  Grads backward(Ctx&, Grads g) { return {reshape(g[0], shape)}; }
};

struct ReshapeAlias : View {  // by reshape(), of a tensor that is not contiguous
  static constexpr auto schema = "_reshape_alias(Tensor self, int[] size) -> Tensor";
};

struct UnsafeView {  // of a fresh copy that nobody else sees: no view relation to keep
  static constexpr auto schema = "_unsafe_view(Tensor self, int[] size) -> Tensor";
  Dims shape;
  Tensor forward(Ctx&, const Tensor& x, const Dims& size) {
    shape = x.sizes();
    return alias(x, size, contiguous_strides(size), x.offset());
  }
  Grads backward(Ctx&, Grads g) { return {reshape(g[0], shape)}; }
};

struct Reshape {
  static constexpr auto schema = "reshape(Tensor self, int[]* shape) -> Tensor";
  static constexpr auto doc = "The same elements in another shape: a view where possible, else a copy.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, IntSpan shape) {
    Dims to = infer_size(shape, x.numel());
    if (x.is_contiguous()) return view(x, to);
    if (view_strides(x.sizes(), x.strides(), to)) return apply<ReshapeAlias>(x, IntSpan(to));
    return apply<UnsafeView>(rushlight::clone(x, MemoryFormat::Contiguous), to);
  }
};

struct Expand {
  static constexpr auto schema = "expand(Tensor self, int[]* size, *, bool implicit=False) -> Tensor";
  static constexpr auto doc = "Dimensions of size 1 seen as larger, without copying; -1 keeps a size.";
  static constexpr Kind kind = Kind::view;
  Dims shape;
  Tensor forward(Ctx&, const Tensor& x, IntSpan size, bool) {
    shape = x.sizes();
    int64_t lead = int64_t(size.size()) - x.dim();
    RL_CHECK(lead >= 0, "expand: ", size, " has fewer dimensions than the tensor's ", x.sizes());
    Dims to = size.dims(), strides;
    strides.resize(size.size(), 0);
    for (int64_t d = int64_t(size.size()) - 1; d >= 0; d--) {
      int64_t own = d - lead;
      if (own < 0) {
        RL_CHECK(to[d] >= 0, "expand: -1 at dimension ", d, " is not allowed where the tensor has no dimension");
        strides[d] = d + 1 < int64_t(size.size()) ? wrapping_mul(to[d + 1], strides[d + 1]) : 1;
        if (to[d] != 1) strides[d] = 0;
        continue;
      }
      if (to[d] == -1) to[d] = x.sizes()[own];
      strides[d] = x.strides()[own];
      if (to[d] == x.sizes()[own]) continue;
      RL_CHECK(x.sizes()[own] == 1 && to[d] >= 0, "expand: dimension ", own, " of ", x.sizes(), " cannot become ",
               to[d], hint("only dimensions of size 1 expand"));
      strides[d] = 0;
    }
    return alias(x, to, strides, x.offset());
  }
  Grads backward(Ctx&, Grads g) { return {sum_to(g[0], shape)}; }
};

struct Permute {
  static constexpr auto schema = "permute(Tensor self, int[]* dims) -> Tensor";
  static constexpr auto doc = "The dimensions in another order.";
  static constexpr Kind kind = Kind::view;
  Dims inverse;
  Tensor forward(Ctx&, const Tensor& x, IntSpan dims) {
    RL_CHECK(int64_t(dims.size()) == x.dim(), "permute: ", dims, " names ", dims.size(), " dimensions, the tensor has ",
             x.dim());
    Dims sizes, strides;
    inverse.resize(dims.size(), -1);
    for (size_t i = 0; i < dims.size(); i++) {
      int64_t d = wrap_dim(dims[i], x.dim());
      RL_CHECK(inverse[d] < 0, "permute: dimension ", d, " appears twice in ", dims);
      inverse[d] = i;
      sizes.push_back(x.sizes()[d]), strides.push_back(x.strides()[d]);
    }
    return alias(x, sizes, strides, x.offset());
  }
  Grads backward(Ctx&, Grads g) { return {permute(g[0], inverse)}; }
};

struct Transpose {
  static constexpr auto schema = "transpose(Tensor self, int dim0, int dim1) -> Tensor";
  static constexpr auto doc = "Two dimensions exchanged.";
  static constexpr Kind kind = Kind::view;
  int64_t a, b;
  Tensor forward(Ctx&, const Tensor& x, int64_t d0, int64_t d1) {
    a = wrap_dim(d0, x.dim()), b = wrap_dim(d1, x.dim());
    Dims sizes = x.sizes(), strides = x.strides();
    if (x.dim()) std::swap(sizes[a], sizes[b]), std::swap(strides[a], strides[b]);
    return alias(x, sizes, strides, x.offset());
  }
  Grads backward(Ctx&, Grads g) { return {transpose(g[0], a, b)}; }
};

struct T {
  static constexpr auto schema = "t(Tensor self) -> Tensor";
  static constexpr auto doc = "The transpose of a matrix; tensors of fewer dimensions as they are.";
  static constexpr Kind kind = Kind::view;
  Tensor forward(Ctx&, const Tensor& x) {
    RL_CHECK(x.dim() <= 2, "t: expects at most 2 dimensions, got shape ", x.sizes(),
             hint("use .transpose(a, b) or .mT"));
    Dims sizes(x.sizes()), strides(x.strides());
    std::reverse(sizes.begin(), sizes.end()), std::reverse(strides.begin(), strides.end());
    return alias(x, sizes, strides, x.offset());
  }
  Grads backward(Ctx&, Grads g) { return {apply<T>(g[0])}; }
};

struct Unsqueeze {
  static constexpr auto schema = "unsqueeze(Tensor self, int dim) -> Tensor";
  static constexpr auto doc = "A new dimension of size 1.";
  static constexpr Kind kind = Kind::view;
  int64_t dim;
  Tensor forward(Ctx&, const Tensor& x, int64_t d) {
    dim = wrap_dim(d, x.dim() + 1);
    Dims sizes = x.sizes(), strides = x.strides();
    int64_t stride = dim < x.dim() ? wrapping_mul(sizes[dim], strides[dim]) : 1;
    sizes.insert(dim, 1), strides.insert(dim, stride);
    return alias(x, sizes, strides, x.offset());
  }
  Grads backward(Ctx&, Grads g) { return {squeeze(g[0], dim)}; }
};

// squeeze() and squeeze(dim): dimensions of size 1 dropped.
Tensor squeezed(const Tensor& x, auto&& drop) {
  Dims sizes, strides;
  for (int64_t d = 0; d < x.dim(); d++)
    if (x.sizes()[d] != 1 || !drop(d)) sizes.push_back(x.sizes()[d]), strides.push_back(x.strides()[d]);
  return alias(x, sizes, strides, x.offset());
}
struct SqueezeAll {
  static constexpr auto schema = "squeeze(Tensor self) -> Tensor";
  static constexpr auto doc = "Without the dimensions of size 1: all of them, or those named by dim.";
  static constexpr Kind kind = Kind::view;
  Dims shape;
  Tensor forward(Ctx&, const Tensor& x) {
    shape = x.sizes();
    return squeezed(x, [](int64_t) { return true; });
  }
  Grads backward(Ctx&, Grads g) { return {reshape(g[0], shape)}; }
};
struct Squeeze {
  static constexpr auto schema = "squeeze(Tensor self, int dim) -> Tensor";
  static constexpr auto node_name = "SqueezeBackward1";
  static constexpr Kind kind = Kind::view;
  Dims shape;
  Tensor forward(Ctx&, const Tensor& x, int64_t d) {
    shape = x.sizes();
    int64_t dim = wrap_dim(d, x.dim());
    return squeezed(x, [&](int64_t k) { return k == dim; });
  }
  Grads backward(Ctx&, Grads g) { return {reshape(g[0], shape)}; }
};
struct SqueezeDims {
  static constexpr auto schema = "squeeze(Tensor self, int[] dim) -> Tensor";
  static constexpr auto node_name = "SqueezeBackward2";
  static constexpr Kind kind = Kind::view;
  Dims shape;
  Tensor forward(Ctx&, const Tensor& x, IntSpan dims) {
    shape = x.sizes();
    Dims wrapped;
    for (int64_t d : dims) {
      int64_t w = wrap_dim(d, x.dim());
      RL_CHECK(std::find(wrapped.begin(), wrapped.end(), w) == wrapped.end(), "squeeze: dimension ", w,
               " appears twice in ", dims);
      wrapped.push_back(w);
    }
    return squeezed(x, [&](int64_t d) { return std::find(wrapped.begin(), wrapped.end(), d) != wrapped.end(); });
  }
  Grads backward(Ctx&, Grads g) { return {reshape(g[0], shape)}; }
};

// The gradient of a part: zeros, with g in its place.
template <class Take>
Tensor embed(const Tensor& g, const Dims& shape, Take&& take) {
  Tensor z = zeros(shape, g.dtype(), g.device());
  copy_(take(z), g);
  return z;
}

struct Select {
  static constexpr auto schema = "select(Tensor self, int dim, int index) -> Tensor";
  static constexpr auto doc = "One index of a dimension, which disappears.";
  static constexpr Kind kind = Kind::view;
  Dims shape;
  int64_t dim, index;
  Tensor forward(Ctx&, const Tensor& x, int64_t d, int64_t i) {
    RL_CHECK_KIND(x.dim() > 0, Index, "select: a tensor without dimensions cannot be indexed", hint("use .item()"));
    shape = x.sizes();
    dim = wrap_dim(d, x.dim());
    int64_t n = shape[dim];
    RL_CHECK_KIND(i >= -n && i < n, Index, "index ", i, " is out of bounds for dimension ", dim, " of size ", n);
    index = i < 0 ? i + n : i;
    Dims sizes = x.sizes(), strides = x.strides();
    int64_t at = wrapping_add(x.offset(), wrapping_mul(index, strides[dim]));
    sizes.erase(dim), strides.erase(dim);
    return alias(x, sizes, strides, at);
  }
  Grads backward(Ctx&, Grads g) {
    return {embed(g[0], shape, [&](const Tensor& z) { return select_index(z, dim, index); })};
  }
};

struct Slice {
  static constexpr auto schema = "slice(Tensor self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor";
  static constexpr Kind kind = Kind::view;
  Dims shape;
  int64_t dim, start, end, step;
  Tensor forward(Ctx&, const Tensor& x, int64_t d, OptInt from, OptInt to, int64_t by) {
    RL_CHECK(x.dim() > 0, "slice: a tensor without dimensions cannot be sliced");
    RL_CHECK_KIND(by > 0, Value, "slice step must be positive, got ", by, hint("use flip() to reverse a dimension"));
    shape = x.sizes(), dim = wrap_dim(d, x.dim()), step = by;
    int64_t n = shape[dim];
    auto clip = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n); };
    start = clip(from.value_or(0)), end = std::max(start, clip(to.value_or(n)));
    Dims sizes = x.sizes(), strides = x.strides();
    int64_t at = wrapping_add(x.offset(), wrapping_mul(start, strides[dim]));
    sizes[dim] = ceil_div(end - start, step);
    if (__builtin_mul_overflow(strides[dim], step, &strides[dim])) strides[dim] = 1;  // one element at most
    return alias(x, sizes, strides, at);
  }
  Grads backward(Ctx&, Grads g) {
    return {embed(g[0], shape, [&](const Tensor& z) { return slice(z, dim, start, end, step); })};
  }
};

struct Narrow {
  static constexpr auto schema = "narrow(Tensor self, int dim, int start, int length) -> Tensor";
  static constexpr auto doc = "length elements of a dimension, from start on.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, int64_t dim, int64_t start, int64_t length) {
    RL_CHECK(x.dim() > 0, "narrow: a tensor without dimensions cannot be narrowed");
    RL_CHECK(length >= 0, "narrow: length must not be negative, got ", length);
    int64_t n = x.size(dim);
    RL_CHECK_KIND(start >= -n && start <= n, Index, "narrow: start ", start, " is outside dimension ", dim, " of size ",
                  n);
    if (start < 0) start += n;
    RL_CHECK(start <= n - length, "narrow: start ", start, " + length ", length, " exceeds dimension ", dim,
             " of size ", n);
    return slice(x, dim, start, start + length, 1);
  }
};

// --- The same tensor with another geometry ---------------------------------------------------------------------------

// Makes self the view that `V` would return.
template <class V, class... A>
Tensor become(const Tensor& self, const char* name, const A&... a) {
  bool recording = requires_grad(self) && tls.grad_enabled;
  check_inplace(self, recording, name);
  auto node = Ref<NodeOf<V>>::adopt(new NodeOf<V>);
  if (recording) {
    detail::prepare(node.get(), node->ctx);
    detail::add_input(node.get(), node->ctx, self);
  }
  Tensor v;
  {
    NoGradGuard guard;
    v = node->op.forward(node->ctx, self, a...);
  }
  TensorImpl* p = self.impl();
  p->sizes = v.sizes(), p->strides = v.strides(), p->offset = v.offset();
  p->refresh();
  self.bump_version();
  if (recording) replace_history(self, node);
  return self;
}

// In place, nodes have names of their own.
template <class V>
struct Own;
#define RL_OWN(V, name)                     \
  template <>                               \
  struct Own<V> : V {                       \
    static constexpr auto node_name = name; \
  };
RL_OWN(T, "TBackward1")
RL_OWN(Transpose, "TransposeBackward1")
RL_OWN(Unsqueeze, "UnsqueezeBackward1")
RL_OWN(SqueezeAll, "SqueezeBackward3")
RL_OWN(Squeeze, "SqueezeBackward4")
RL_OWN(SqueezeDims, "SqueezeBackward5")
#undef RL_OWN

struct TransposeInplace {
  static constexpr auto schema = "transpose_(Tensor self, int dim0, int dim1) -> Tensor";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, int64_t a, int64_t b) { return become<Own<Transpose>>(x, schema, a, b); }
};
struct SwapaxesInplace {
  static constexpr auto schema = "swapaxes_(Tensor self, int axis0, int axis1) -> Tensor";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, int64_t a, int64_t b) { return become<Own<Transpose>>(x, schema, a, b); }
};
struct SwapdimsInplace {
  static constexpr auto schema = "swapdims_(Tensor self, int dim0, int dim1) -> Tensor";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, int64_t a, int64_t b) { return become<Own<Transpose>>(x, schema, a, b); }
};
struct TInplace {
  static constexpr auto schema = "t_(Tensor self) -> Tensor";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x) { return become<Own<T>>(x, schema); }
};
struct UnsqueezeInplace {
  static constexpr auto schema = "unsqueeze_(Tensor self, int dim) -> Tensor";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, int64_t d) { return become<Own<Unsqueeze>>(x, schema, d); }
};
struct SqueezeAllInplace {
  static constexpr auto schema = "squeeze_(Tensor self) -> Tensor";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x) { return become<Own<SqueezeAll>>(x, schema); }
};
struct SqueezeInplace {
  static constexpr auto schema = "squeeze_(Tensor self, int dim) -> Tensor";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, int64_t d) { return become<Own<Squeeze>>(x, schema, d); }
};
struct SqueezeDimsInplace {
  static constexpr auto schema = "squeeze_(Tensor self, int[] dim) -> Tensor";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, IntSpan d) { return become<Own<SqueezeDims>>(x, schema, d); }
};

RL_BIND(AsStrided, both)
RL_BIND(View, method)
RL_BIND(Reshape, both)
RL_BIND(Expand, method)
RL_BIND(Permute, both)
RL_BIND(Transpose, both)
RL_BIND(T, both)
RL_BIND(Unsqueeze, both)
RL_BIND(SqueezeAll, both)
RL_BIND(Squeeze, both)
RL_BIND(SqueezeDims, both)
RL_BIND(Select, both)
RL_BIND(Slice, hidden)
RL_BIND(Narrow, both)
RL_BIND(TransposeInplace, method)
RL_BIND(SwapaxesInplace, method)
RL_BIND(SwapdimsInplace, method)
RL_BIND(TInplace, method)
RL_BIND(UnsqueezeInplace, method)
RL_BIND(SqueezeAllInplace, method)
RL_BIND(SqueezeInplace, method)
RL_BIND(SqueezeDimsInplace, method)

}  // namespace
}  // namespace ops

Tensor as_strided(const Tensor& t, IntSpan sizes, IntSpan strides, OptInt offset) {
  return apply<ops::AsStrided>(t, sizes, strides, offset);
}
Tensor view(const Tensor& t, IntSpan shape) { return apply<ops::View>(t, shape); }
Tensor reshape(const Tensor& t, IntSpan shape) { return apply<ops::Reshape>(t, shape); }
Tensor expand(const Tensor& t, IntSpan shape) { return apply<ops::Expand>(t, shape, false); }
Tensor permute(const Tensor& t, IntSpan dims) { return apply<ops::Permute>(t, dims); }
Tensor transpose(const Tensor& t, int64_t a, int64_t b) { return apply<ops::Transpose>(t, a, b); }
Tensor unsqueeze(const Tensor& t, int64_t dim) { return apply<ops::Unsqueeze>(t, dim); }
Tensor squeeze(const Tensor& t, int64_t dim) { return apply<ops::Squeeze>(t, dim); }
Tensor select_index(const Tensor& t, int64_t dim, int64_t i) { return apply<ops::Select>(t, dim, i); }
Tensor slice(const Tensor& t, int64_t dim, OptInt a, OptInt b, int64_t step) {
  return apply<ops::Slice>(t, dim, a, b, step);
}
Tensor narrow(const Tensor& t, int64_t dim, int64_t a, int64_t n) { return apply<ops::Narrow>(t, dim, a, n); }

namespace needs {
Tensor as_strided(const Tensor& t, IntSpan sizes, IntSpan strides, int64_t offset) {
  return rushlight::as_strided(t, sizes, strides, offset);
}
Ref<Node> as_strided_node(const Tensor& base, IntSpan sizes, IntSpan strides, int64_t offset) {
  auto node = Ref<NodeOf<ops::AsStrided>>::adopt(new NodeOf<ops::AsStrided>);
  detail::prepare(node.get(), node->ctx);
  node->op.in_sizes = base.sizes(), node->op.in_strides = base.strides(), node->op.in_offset = base.offset();
  node->op.sizes = sizes.dims(), node->op.strides = strides.dims(), node->op.offset = offset;
  return node;
}
}  // namespace needs
}  // namespace rushlight
