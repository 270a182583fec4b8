// TensorImpl holds a tensor's geometry, memory and history; Tensor is the handle that everyone passes around.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "base/small_vec.h"
#include "tensor/storage.h"

namespace rushlight {

struct AutogradMeta;  // autograd/meta.h
class Tensor;
RL_API void destroy_autograd_meta(AutogradMeta*);
extern RL_API void (*python_object_hook)(void* pyobj);  // the Python layer's: lets go of a tensor's object

// New tensors are marked as made under inference mode: they can never take part in autograd.
extern RL_API thread_local bool inference_mode __attribute__((tls_model("initial-exec")));

enum class MemoryFormat : uint8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

struct RL_API TensorImpl : RefCounted {
  Ref<Storage> storage;
  int64_t offset = 0;  // in elements
  int64_t numel = 1;
  Dims sizes, strides;
  DType dtype = DType::Float32;
  bool contiguous = true;
  bool wrapped_number = false;  // made from a Python number: weakest in promotion
  bool inference = inference_mode;
  bool owns_pyobj = false;  // Python let go of the object first; we keep it alive
  void* pyobj = nullptr;    // the one Python object of this tensor, if there is one
  AutogradMeta* autograd = nullptr;
  Ref<VersionCounter> own_version;  // null: the storage's

  static void destroy(TensorImpl* t);
  static void* operator new(size_t n) { return allocate(n); }
  static void operator delete(void* p, size_t n) { deallocate(p, n); }
  void refresh();  // numel and contiguous, after sizes or strides changed
  bool counts_versions() const { return !inference || own_version; }
  std::atomic<uint32_t>& version() { return own_version ? own_version->value : storage->version; }
};

class RL_API Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}

  bool defined() const { return bool(impl_); }
  explicit operator bool() const { return defined(); }
  TensorImpl* impl() const { return impl_.get(); }
  Ref<TensorImpl>& ref() { return impl_; }
  bool is_same(const Tensor& o) const { return impl_ == o.impl_; }
  void reset() { impl_.reset(); }

  // Geometry and type.
  const Dims& sizes() const { return impl_->sizes; }
  const Dims& strides() const { return impl_->strides; }
  int64_t size(int64_t d) const { return impl_->sizes[wrap(d)]; }
  int64_t stride(int64_t d) const { return impl_->strides[wrap(d)]; }
  int64_t dim() const { return int64_t(impl_->sizes.size()); }
  int64_t numel() const { return impl_->numel; }
  int64_t offset() const { return impl_->offset; }
  DType dtype() const { return impl_->dtype; }
  Device device() const { return impl_->storage->device; }
  bool is_meta() const { return device().is_meta(); }
  int itemsize() const { return rushlight::itemsize(impl_->dtype); }
  bool is_floating() const { return rushlight::is_floating(impl_->dtype); }
  bool is_contiguous(MemoryFormat f = MemoryFormat::Contiguous) const;
  bool is_dense() const;  // covers its memory exactly once, in some order of dimensions
  const Ref<Storage>& storage() const { return impl_->storage; }
  uint32_t version() const { return impl_->version().load(std::memory_order_relaxed); }
  void bump_version() const { impl_->version().fetch_add(1, std::memory_order_relaxed); }
  int64_t wrap(int64_t d) const;  // -1 is the last dimension; raises IndexError

  // Memory. Raises on the meta device, so that no kernel touches memory that is not there.
  char* bytes() const {
    if (!impl_->storage->data) [[unlikely]]
      return no_memory();
    return static_cast<char*>(impl_->storage->data) + impl_->offset * itemsize();
  }
  template <class T>
  T* data() const {
    return reinterpret_cast<T*>(bytes());
  }
  Scalar item() const;  // of a one-element tensor

  // History: defined in autograd/.
  bool requires_grad() const;
  Tensor& set_requires_grad(bool value = true);
  bool is_leaf() const;
  Tensor grad() const;
  void set_grad(Tensor g) const;
  void backward(Tensor gradient = {}, bool retain_graph = false, bool create_graph = false) const;
  Tensor detach() const;

  // Common operations as methods; the rest are free functions (ops/functions.h).
  Tensor to(DType d) const;
  Tensor contiguous() const;
  Tensor clone() const;

 private:
  char* no_memory() const;  // null for a tensor without elements
  Ref<TensorImpl> impl_;
};

// Geometry.
RL_API int64_t wrap_dim(int64_t d, int64_t ndim);  // IndexError names the range
RL_API int64_t product(IntSpan sizes);             // raises when it does not fit int64
RL_API Dims contiguous_strides(IntSpan sizes, MemoryFormat f = MemoryFormat::Contiguous);
RL_API Dims dense_strides_like(const Tensor& t);  // strides of a new dense tensor in t's order of memory
RL_API Dims broadcast_shapes(IntSpan a, IntSpan b);
RL_API std::optional<Dims> view_strides(IntSpan sizes, IntSpan strides, IntSpan new_sizes);  // none: must copy
RL_API Dims infer_size(IntSpan shape, int64_t numel);                                        // resolves -1

// New tensors without history. The memory is not initialised.
RL_API Tensor empty(IntSpan sizes, DType dtype = default_dtype(), Device device = {});
RL_API Tensor empty_strided(IntSpan sizes, IntSpan strides, DType dtype, Device device = {});
RL_API Tensor empty_like(const Tensor& t, std::optional<DType> dtype = {}, MemoryFormat f = MemoryFormat::Preserve);
RL_API Tensor scalar_tensor(const Scalar& s, DType dtype, Device device = {});
RL_API Tensor wrapped_number(const Scalar& s);  // dtype int64, float64 or bool; weakest in promotion
// Another geometry over the same memory, without history; shares the version counter.
RL_API Tensor alias(const Tensor& t, IntSpan sizes, IntSpan strides, int64_t offset);
inline Tensor alias(const Tensor& t) { return alias(t, t.sizes(), t.strides(), t.offset()); }
RL_API void resize_tensor(const Tensor& t, IntSpan sizes);  // keeps memory where it suffices
RL_API void resize_out(const Tensor& out, IntSpan sizes);   // for out=; warns unless it was empty

// Promotion over tensors with dimensions, zero-dimensional tensors and Python numbers.
RL_API DType result_type(std::span<const Tensor* const> ts);
inline DType result_type(const Tensor& a, const Tensor& b) {
  if (a.dtype() == b.dtype()) return a.dtype();
  const Tensor* ts[] = {&a, &b};
  return result_type(ts);
}
RL_API bool can_cast(DType from, DType to);

// float32 (2, 3)
struct Describe {
  const Tensor& t;
};
RL_API std::ostream& operator<<(std::ostream& o, const Describe& d);

}  // namespace rushlight
