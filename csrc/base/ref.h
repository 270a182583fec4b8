// Intrusive reference counts: one pointer wide, no separate control block.
#pragma once
#include <atomic>
#include <cstdint>
#include <utility>

namespace rushlight {

struct RefCounted {
  std::atomic<uint32_t> refs{1};  // a new object belongs to whoever made it: Ref<T>::adopt

  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  uint32_t use_count() const { return refs.load(std::memory_order_relaxed); }
};

// T has RefCounted as a base and `static void destroy(T*)`, called when the last Ref goes.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  static Ref adopt(T* p) { return Ref(p, Adopt{}); }
  static Ref share(T* p) {
    if (p) p->refs.fetch_add(1, std::memory_order_relaxed);
    return Ref(p, Adopt{});
  }
  Ref(const Ref& o) : p_(o.p_) {
    if (p_) p_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  template <class U>
    requires std::is_convertible_v<U*, T*>
  Ref(Ref<U> o) : p_(o.release()) {}
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Ref() { reset(); }

  void reset() {
    // The pointer is cleared first: a destructor may come back here.
    if (T* p = std::exchange(p_, nullptr))
      if (p->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) T::destroy(p);
  }
  T* release() { return std::exchange(p_, nullptr); }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.p_ == b.p_; }

 private:
  struct Adopt {};
  Ref(T* p, Adopt) : p_(p) {}
  T* p_ = nullptr;
};

template <class T, class... A>
Ref<T> make_ref(A&&... a) {
  return Ref<T>::adopt(new T(std::forward<A>(a)...));
}

}  // namespace rushlight
