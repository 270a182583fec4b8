// Further views: several at once, diagonals, windows, other dtypes, and what is composed of views.
#include "base/size_math.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

// --- Several views at once -------------------------------------------------------------------------------------------

Tensors pieces(const Tensor& x, int64_t dim, IntSpan sizes) {
  Tensors parts;
  parts.reserve(sizes.size());
  int64_t at = x.offset();
  for (int64_t n : sizes) {
    Dims shape = x.sizes();
    shape[dim] = n;
    parts.push_back(alias(x, shape, x.strides(), at));
    at = wrapping_add(at, wrapping_mul(n, x.strides()[dim]));
  }
  return parts;
}

Tensor joined(const Grads& g, int64_t dim) { return cat(Tensors(g.begin(), g.end()), dim); }

struct Split {
  static constexpr auto schema = "split(Tensor self, int split_size, int dim=0) -> Tensor[]";
  static constexpr auto doc =
      "Views of split_size indices of a dimension each (the last may be smaller), or of the given sizes.";
  static constexpr Kind kind = Kind::view;
  int64_t dim;
  Tensors forward(Ctx&, const Tensor& x, int64_t size, int64_t d) {
    RL_CHECK(x.dim() > 0, "split: a tensor without dimensions cannot be split");
    dim = wrap_dim(d, x.dim());
    int64_t n = x.sizes()[dim];
    RL_CHECK(size >= 0, "split: split_size must not be negative, got ", size);
    RL_CHECK(size > 0 || n == 0, "split: split_size 0 cannot cover dimension ", dim, " of size ", n);
    Dims sizes;
    if (n == 0) sizes.push_back(0);
    for (int64_t at = 0; at < n; at += std::min(size, n - at)) sizes.push_back(std::min(size, n - at));
    return pieces(x, dim, sizes);
  }
  Grads backward(Ctx&, Grads g) { return {joined(g, dim)}; }
};

struct SplitWithSizes {
  static constexpr auto schema = "split_with_sizes(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]";
  static constexpr auto doc = "Views of a dimension, of the given sizes, which must add up to it.";
  static constexpr Kind kind = Kind::view;
  int64_t dim;
  Tensors forward(Ctx&, const Tensor& x, IntSpan sizes, int64_t d) {
    RL_CHECK(x.dim() > 0, "split: a tensor without dimensions cannot be split");
    dim = wrap_dim(d, x.dim());
    int64_t n = x.sizes()[dim], left = n;
    for (int64_t s : sizes) {
      RL_CHECK(s >= 0, "split: sizes must not be negative, got ", sizes);
      RL_CHECK(s <= left, "split: sizes ", sizes, " exceed dimension ", dim, " of size ", n);
      left -= s;
    }
    RL_CHECK(left == 0, "split: sizes ", sizes, " add up to ", n - left, ", dimension ", dim, " has size ", n);
    return pieces(x, dim, sizes);
  }
  Grads backward(Ctx&, Grads g) { return {joined(g, dim)}; }
};
struct SplitSizes {
  static constexpr auto schema = "split(Tensor self, int[] split_size, int dim=0) -> Tensor[]";
  static constexpr Kind kind = Kind::composite;
  Tensors forward(Ctx&, const Tensor& x, IntSpan sizes, int64_t dim) { return apply<SplitWithSizes>(x, sizes, dim); }
};

struct Chunk {
  static constexpr auto schema = "chunk(Tensor self, int chunks, int dim=0) -> Tensor[]";
  static constexpr auto doc = "At most `chunks` views of a dimension, all of one size but perhaps the last.";
  static constexpr Kind kind = Kind::composite;
  Tensors forward(Ctx&, const Tensor& x, int64_t chunks, int64_t d) {
    RL_CHECK(x.dim() > 0, "chunk: a tensor without dimensions cannot be split");
    RL_CHECK(chunks > 0, "chunk: chunks must be positive, got ", chunks);
    int64_t n = x.sizes()[wrap_dim(d, x.dim())];
    if (n == 0) {
      Dims none(size_t(chunks), 0);
      return apply<SplitWithSizes>(x, IntSpan(none), d);
    }
    return apply<Split>(x, n / chunks + (n % chunks != 0), d);
  }
};

// tensor_split and its kin: cut before each of `at`, as slices do it.
Tensors cut(const Tensor& x, IntSpan at, int64_t dim) {
  Tensors parts;
  int64_t from = 0;
  for (int64_t to : at) parts.push_back(slice(x, dim, from, to)), from = to;
  parts.push_back(slice(x, dim, from, OptInt()));
  return parts;
}
Tensors cut_evenly(const char* op, const Tensor& x, int64_t sections, int64_t dim) {
  RL_CHECK(sections > 0, op, ": the number of sections must be positive, got ", sections);
  int64_t n = x.size(dim);
  Dims at;
  for (int64_t i = 1; i < sections; i++) at.push_back(n / sections * i + std::min(i, n % sections));
  return cut(x, at, dim);
}
int64_t tensor_split_dim(const Tensor& x, int64_t d) {
  RL_CHECK(x.dim() > 0, "tensor_split: a tensor without dimensions cannot be split");
  return wrap_dim(d, x.dim());
}
struct TensorSplit {
  static constexpr auto schema = "tensor_split(Tensor self, int sections, int dim=0) -> Tensor[]";
  static constexpr auto doc = "Views of a dimension: so many nearly equal sections, or cut before each of the indices.";
  static constexpr Kind kind = Kind::composite;
  Tensors forward(Ctx&, const Tensor& x, int64_t sections, int64_t dim) {
    return cut_evenly("tensor_split", x, sections, tensor_split_dim(x, dim));
  }
};
struct TensorSplitAt {
  static constexpr auto schema = "tensor_split(Tensor self, int[] indices, int dim=0) -> Tensor[]";
  static constexpr Kind kind = Kind::composite;
  Tensors forward(Ctx&, const Tensor& x, IntSpan at, int64_t dim) { return cut(x, at, tensor_split_dim(x, dim)); }
};
struct TensorSplitTensor {
  static constexpr auto schema = "tensor_split(Tensor self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor[]";
  static constexpr Kind kind = Kind::composite;
  Tensors forward(Ctx&, const Tensor& x, const Tensor& t, int64_t d) {
    int64_t dim = tensor_split_dim(x, d);
    RL_CHECK(t.dtype() == DType::Int64 && t.dim() <= 1 && !t.is_meta(),
             "tensor_split: indices must be int64 with at most one dimension, got ", Describe{t});
    if (t.dim() == 0) return cut_evenly("tensor_split", x, t.item().to_int(), dim);
    Tensor c = t.contiguous();
    return cut(x, IntSpan(c.data<int64_t>(), c.numel()), dim);
  }
};

// hsplit, vsplit, dsplit: the dimension is given, and a number must divide it.
template <class Names>
struct DimSplit {
  static constexpr auto schema = Names::by_number;
  static constexpr auto doc = Names::doc;
  static constexpr Kind kind = Kind::composite;
  static int64_t dim_of(const Tensor& x) {
    RL_CHECK(x.dim() >= Names::least, Names::name, ": expects at least ", Names::least, " dimension",
             Names::least == 1 ? "" : "s", ", got shape ", x.sizes());
    return x.dim() == 1 ? 0 : Names::dim;
  }
  Tensors forward(Ctx&, const Tensor& x, int64_t sections) {
    int64_t dim = dim_of(x), n = x.sizes()[dim];
    RL_CHECK(sections > 0 && n % sections == 0, Names::name, ": dimension ", dim, " of size ", n,
             " does not split into ", sections, " equal sections",
             hint("use tensor_split(), which allows unequal ones"));
    return cut_evenly(Names::name, x, sections, dim);
  }
};
template <class Names>
struct DimSplitAt {
  static constexpr auto schema = Names::by_index;
  static constexpr Kind kind = Kind::composite;
  Tensors forward(Ctx&, const Tensor& x, IntSpan at) { return cut(x, at, DimSplit<Names>::dim_of(x)); }
};
#define RL_DIM_SPLIT(N, text, d, l, what)                                                         \
  struct N {                                                                                      \
    static constexpr auto name = text;                                                            \
    static constexpr auto by_number = text "(Tensor self, int sections) -> Tensor[]";             \
    static constexpr auto by_index = text "(Tensor self, int[] indices) -> Tensor[]";             \
    static constexpr auto doc = what ": into equal sections, or cut before each of the indices."; \
    static constexpr int64_t dim = d, least = l;                                                  \
  };                                                                                              \
  RL_BIND(DimSplit<N>, both)                                                                      \
  RL_BIND(DimSplitAt<N>, both)
RL_DIM_SPLIT(Hsplit, "hsplit", 1, 1, "Columns split")
RL_DIM_SPLIT(Vsplit, "vsplit", 0, 2, "Rows split")
RL_DIM_SPLIT(Dsplit, "dsplit", 2, 3, "The third dimension split")

struct Unbind {
  static constexpr auto schema = "unbind(Tensor self, int dim=0) -> Tensor[]";
  static constexpr auto doc = "One view for each index of a dimension, without that dimension.";
  static constexpr Kind kind = Kind::view;
  int64_t dim;
  Tensors forward(Ctx&, const Tensor& x, int64_t d) {
    RL_CHECK_KIND(x.dim() > 0, Index, "unbind: a tensor without dimensions has nothing to unbind");
    dim = wrap_dim(d, x.dim());
    Dims sizes = x.sizes(), strides = x.strides();
    sizes.erase(dim), strides.erase(dim);
    Tensors parts;
    for (int64_t i = 0; i < x.sizes()[dim]; i++)
      parts.push_back(alias(x, sizes, strides, wrapping_add(x.offset(), wrapping_mul(i, x.strides()[dim]))));
    return parts;
  }
  Grads backward(Ctx&, Grads g) { return {stack(Tensors(g.begin(), g.end()), dim)}; }
};

// --- Single views ----------------------------------------------------------------------------------------------------

struct Alias {
  static constexpr auto schema = "alias(Tensor self) -> Tensor";
  static constexpr auto doc = "The same elements as another tensor object.";
  static constexpr Kind kind = Kind::view;
  Tensor forward(Ctx&, const Tensor& x) { return rushlight::alias(x); }
  Grads backward(Ctx&, Grads g) { return {g[0]}; }
};

struct Diagonal {
  static constexpr auto schema = "diagonal(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor";
  static constexpr auto doc = "The diagonal of two dimensions, as a last dimension in their place.";
  static constexpr Kind kind = Kind::view;
  Dims shape;
  int64_t offset, dim1, dim2;
  Tensor forward(Ctx&, const Tensor& x, int64_t o, int64_t d1, int64_t d2) {
    shape = x.sizes(), offset = o, dim1 = wrap_dim(d1, x.dim()), dim2 = wrap_dim(d2, x.dim());
    RL_CHECK(dim1 != dim2, "diagonal: dim1 and dim2 must differ, both are ", dim1);
    int64_t rows = shape[dim1], cols = shape[dim2];
    int64_t n = offset >= 0 ? std::min(rows, offset >= cols ? 0 : cols - offset)
                            : std::min(cols, offset <= -rows ? 0 : rows + offset);
    n = std::max<int64_t>(n, 0);
    int64_t at = x.offset();
    if (n > 0)
      at = wrapping_add(
          at, offset >= 0 ? wrapping_mul(offset, x.strides()[dim2]) : wrapping_mul(-offset, x.strides()[dim1]));
    Dims sizes = x.sizes(), strides = x.strides();
    for (int64_t d : {std::max(dim1, dim2), std::min(dim1, dim2)}) sizes.erase(d), strides.erase(d);
    sizes.push_back(n), strides.push_back(wrapping_add(x.strides()[dim1], x.strides()[dim2]));
    return rushlight::alias(x, sizes, strides, at);
  }
  Grads backward(Ctx&, Grads g) {
    Tensor z = zeros(shape, g[0].dtype(), g[0].device());
    copy_(apply<Diagonal>(z, offset, dim1, dim2), g[0]);
    return {z};
  }
};

struct Unfold {
  static constexpr auto schema = "unfold(Tensor self, int dimension, int size, int step) -> Tensor";
  static constexpr auto doc =
      "Windows of `size` indices of a dimension, `step` apart; the window is a new last dimension.";
  static constexpr Kind kind = Kind::view;
  Dims shape;
  int64_t dim, size, step;
  Tensor forward(Ctx&, const Tensor& x, int64_t d, int64_t n, int64_t by) {
    shape = x.sizes(), dim = wrap_dim(d, x.dim()), size = n, step = by;
    int64_t have = x.dim() ? shape[dim] : 1, stride = x.dim() ? x.strides()[dim] : 1;
    RL_CHECK(size >= 0, "unfold: the window's size must not be negative, got ", size);
    RL_CHECK(size <= have, "unfold: a window of ", size, " does not fit dimension ", dim, " of size ", have);
    RL_CHECK(step > 0, "unfold: step must be positive, got ", step);
    Dims sizes = x.sizes(), strides = x.strides();
    if (x.dim()) {
      sizes[dim] = (have - size) / step + 1;
      if (__builtin_mul_overflow(stride, step, &strides[dim])) strides[dim] = 1;  // one window at most
    }
    sizes.push_back(size), strides.push_back(stride);
    return rushlight::alias(x, sizes, strides, x.offset());
  }
  Grads backward(Ctx&, Grads g) {
    // Windows overlap, but what one position shows in all windows are distinct places: each position is added at once.
    Tensor z = zeros(shape, g[0].dtype(), g[0].device());
    if (shape.empty()) return {size ? reshape(g[0], {}) : z};
    int64_t windows = g[0].sizes()[dim];
    for (int64_t i = 0; i < size; i++)
      add_(slice(z, dim, i, i + (windows - 1) * step + 1, step), select_index(g[0], -1, i));
    return {z};
  }
};

// Not marked as a view: the bits of a number have no derivative.
struct Bitcast {
  static constexpr auto schema = "_bitcast(Tensor self, dtype dtype) -> Tensor";
  Tensor forward(Ctx&, const Tensor& x, DType d) {
    int64_t from = x.itemsize(), to = itemsize(d), at = x.offset();
    Dims sizes = x.sizes(), strides = x.strides();
    if (from != to) {
      RL_CHECK(x.dim() > 0, "view: a tensor without dimensions cannot be seen as ", d,
               ", whose elements have another size");
      RL_CHECK(strides.back() == 1, "view: seeing ", x.dtype(), " as ", d,
               " needs a last dimension of stride 1, it is ", strides.back(), hint("call contiguous() first"));
      auto fits = [&](int64_t n) { return from > to || n % (to / from) == 0; };
      RL_CHECK(fits(sizes.back()) && fits(at), "view: the last dimension of size ", sizes.back(), " at offset ", at,
               " does not hold whole elements of ", d);
      auto convert = [&](int64_t n) { return from > to ? n * (from / to) : n / (to / from); };
      for (size_t i = 0; i + 1 < sizes.size(); i++) {
        RL_CHECK(fits(strides[i]), "view: stride ", strides[i], " of dimension ", i,
                 " does not hold whole elements of ", d);
        strides[i] = convert(strides[i]);
      }
      sizes.back() = convert(sizes.back()), at = convert(at);
    }
    Tensor v = rushlight::alias(x, sizes, strides, at);
    v.impl()->dtype = d;
    return v;
  }
};
struct ViewDtype {
  static constexpr auto schema = "view(Tensor self, dtype dtype) -> Tensor";
  static constexpr auto doc =
      "The same bytes as elements of another dtype; the last dimension grows or shrinks with their size.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, DType d) { return d == x.dtype() ? apply<Alias>(x) : apply<Bitcast>(x, d); }
};

// --- Compositions of views -------------------------------------------------------------------------------------------

struct Flatten {
  static constexpr auto schema = "flatten(Tensor self, int start_dim=0, int end_dim=-1) -> Tensor";
  static constexpr auto doc = "Dimensions start_dim to end_dim as one; a copy only where no view can be.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, int64_t from, int64_t to) {
    int64_t a = wrap_dim(from, x.dim()), b = wrap_dim(to, x.dim());
    RL_CHECK(a <= b, "flatten: start_dim ", from, " comes after end_dim ", to);
    if (x.dim() == 0) return reshape(x, {1});
    if (a == b) return x;
    Dims shape(x.sizes().begin(), x.sizes().begin() + a);
    shape.push_back(product(IntSpan(x.sizes().data() + a, b - a + 1)));
    for (int64_t d = b + 1; d < x.dim(); d++) shape.push_back(x.sizes()[d]);
    return reshape(x, shape);
  }
};
struct Ravel {
  static constexpr auto schema = "ravel(Tensor self) -> Tensor";
  static constexpr auto doc = "All elements in one dimension; a copy only where no view can be.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x) { return view(contiguous(x), {-1}); }
};
struct Unflatten {
  static constexpr auto schema = "unflatten(Tensor self, int dim, int[] sizes) -> Tensor";
  static constexpr auto doc = "One dimension as several, whose sizes multiply up to it; one may be -1.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, int64_t d, IntSpan sizes) {
    int64_t dim = wrap_dim(d, x.dim());
    RL_CHECK(!sizes.empty(), "unflatten: sizes must not be empty");
    RL_CHECK(x.dim() > 0, "unflatten: a tensor without dimensions has none to unflatten");
    Dims shape = x.sizes(), parts = sizes.dims();
    int64_t known = 1, holes = 0;
    for (int64_t s : sizes) s == -1 ? void(holes++) : void(known = checked_mul("unflatten", known, s));
    RL_CHECK(holes <= 1 && (holes ? known != 0 && shape[dim] % known == 0 : known == shape[dim]), "unflatten: sizes ",
             sizes, " do not multiply up to dimension ", dim, " of size ", shape[dim]);
    for (int64_t& s : parts)
      if (s == -1) s = shape[dim] / known;
    shape.erase(dim);
    for (size_t i = 0; i < parts.size(); i++) shape.insert(dim + i, parts[i]);
    return view(x, shape);
  }
};
struct ViewAs {
  static constexpr auto schema = "view_as(Tensor self, Tensor other) -> Tensor";
  static constexpr auto doc = "self.view(other.shape).";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, const Tensor& o) { return view(x, o.sizes()); }
};
struct ReshapeAs {
  static constexpr auto schema = "reshape_as(Tensor self, Tensor other) -> Tensor";
  static constexpr auto doc = "self.reshape(other.shape).";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, const Tensor& o) { return reshape(x, o.sizes()); }
};
struct ExpandAs {
  static constexpr auto schema = "expand_as(Tensor self, Tensor other) -> Tensor";
  static constexpr auto doc = "self.expand(other.shape).";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, const Tensor& o) { return expand(x, o.sizes()); }
};
struct BroadcastTo {
  static constexpr auto schema = "broadcast_to(Tensor self, int[] size) -> Tensor";
  static constexpr auto doc = "self.expand(size).";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, IntSpan size) { return expand(x, size); }
};

template <class Names>
struct Movedim {
  static constexpr auto schema = Names::move;
  static constexpr auto doc =
      "Dimensions moved from places `source` to places `destination`; the others keep their order.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, IntSpan source, IntSpan destination) {
    RL_CHECK(source.size() == destination.size(), "movedim: ", source.size(), " sources ", source, " but ",
             destination.size(), " destinations ", destination);
    Dims order(size_t(x.dim()), -1);
    SmallVec<bool, 8> moved(size_t(x.dim()), false);
    for (size_t i = 0; i < source.size(); i++) {
      int64_t s = wrap_dim(source[i], x.dim()), d = wrap_dim(destination[i], x.dim());
      if (!x.dim()) continue;
      RL_CHECK(!moved[s], "movedim: dimension ", s, " appears twice in source ", source);
      RL_CHECK(order[d] < 0, "movedim: dimension ", d, " appears twice in destination ", destination);
      moved[s] = true, order[d] = s;
    }
    int64_t next = 0;
    for (int64_t& o : order) {
      if (o >= 0) continue;
      while (moved[next]) next++;
      o = next++;
    }
    return permute(x, order);
  }
};
struct MovedimName {
  static constexpr auto move = "movedim(Tensor self, int[1] source, int[1] destination) -> Tensor";
};
struct MoveaxisName {
  static constexpr auto move = "moveaxis(Tensor self, int[1] source, int[1] destination) -> Tensor";
};

template <class Names>
struct Swap {
  static constexpr auto schema = Names::swap;
  static constexpr auto doc = "Two dimensions exchanged: transpose() by its NumPy name.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x, int64_t a, int64_t b) { return transpose(x, a, b); }
};
struct SwapaxesName {
  static constexpr auto swap = "swapaxes(Tensor self, int axis0, int axis1) -> Tensor";
};
struct SwapdimsName {
  static constexpr auto swap = "swapdims(Tensor self, int dim0, int dim1) -> Tensor";
};

struct Adjoint {
  static constexpr auto schema = "adjoint(Tensor self) -> Tensor";
  static constexpr auto doc = "The last two dimensions exchanged (and conjugated, were numbers complex).";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x) {
    RL_CHECK(x.dim() >= 2, "adjoint: expects a matrix or a batch of matrices, got shape ", x.sizes());
    return transpose(x, -2, -1);
  }
};

struct Positive {
  static constexpr auto schema = "positive(Tensor self) -> Tensor";
  static constexpr auto doc = "self; bool tensors have no sign.";
  static constexpr Kind kind = Kind::composite;
  Tensor forward(Ctx&, const Tensor& x) {
    RL_CHECK(x.dtype() != DType::Bool, "positive: is not defined for bool tensors");
    return x;
  }
};

RL_BIND(Positive, both)
RL_BIND(Split, both)
RL_BIND(SplitSizes, both)
RL_BIND(SplitWithSizes, both)
RL_BIND(Chunk, both)
RL_BIND(TensorSplit, both)
RL_BIND(TensorSplitAt, both)
RL_BIND(TensorSplitTensor, both)
RL_BIND(Unbind, both)
RL_BIND(Alias, hidden)
RL_BIND(Diagonal, both)
RL_BIND(Unfold, method)
RL_BIND(Bitcast, hidden)
RL_BIND(ViewDtype, method)
RL_BIND(Flatten, both)
RL_BIND(Ravel, both)
RL_BIND(Unflatten, both)
RL_BIND(ViewAs, method)
RL_BIND(ReshapeAs, method)
RL_BIND(ExpandAs, method)
RL_BIND(BroadcastTo, both)
RL_BIND(Movedim<MovedimName>, both)
RL_BIND(Movedim<MoveaxisName>, both)
RL_BIND(Swap<SwapaxesName>, both)
RL_BIND(Swap<SwapdimsName>, both)
RL_BIND(Adjoint, both)

}  // namespace
}  // namespace ops

Tensor alias_view(const Tensor& t) { return apply<ops::Alias>(t); }
Tensor flatten(const Tensor& t, int64_t start, int64_t end) { return apply<ops::Flatten>(t, start, end); }
Tensors split(const Tensor& t, int64_t size, int64_t dim) { return apply<ops::Split>(t, size, dim); }
Tensors split(const Tensor& t, IntSpan sizes, int64_t dim) { return apply<ops::SplitWithSizes>(t, sizes, dim); }
Tensors chunk(const Tensor& t, int64_t chunks, int64_t dim) { return apply<ops::Chunk>(t, chunks, dim); }
Tensors unbind(const Tensor& t, int64_t dim) { return apply<ops::Unbind>(t, dim); }
Tensor diagonal(const Tensor& t, int64_t offset, int64_t dim1, int64_t dim2) {
  return apply<ops::Diagonal>(t, offset, dim1, dim2);
}

}  // namespace rushlight
