// A vector that keeps its first N elements inside itself: shapes, strides, edges and gradients seldom need the heap.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <ostream>
#include <span>
#include <utility>

namespace rushlight {

template <class T, unsigned N>
class SmallVec {
 public:
  using value_type = T;
  SmallVec() {}
  explicit SmallVec(size_t n, const T& value = T()) { resize(n, value); }
  SmallVec(std::initializer_list<T> l) : SmallVec(l.begin(), l.end()) {}
  template <class It>
    requires(!std::is_integral_v<It>)
  SmallVec(It first, It last) {
    reserve(last - first);
    for (; first != last; ++first) push_back(*first);
  }
  SmallVec(const SmallVec& o) {
    if constexpr (kPlain) {
      if (!o.heap_) {
        copy_inline(o);
        return;
      }
    }
    append(o);
  }
  SmallVec(SmallVec&& o) noexcept { steal(o); }
  SmallVec& operator=(const SmallVec& o) {
    if (this != &o) {
      clear();
      append(o);
    }
    return *this;
  }
  SmallVec& operator=(SmallVec&& o) noexcept {
    if (this != &o) {
      destroy();
      steal(o);
    }
    return *this;
  }
  ~SmallVec() { destroy(); }

  T* data() { return heap_ ? heap_ : reinterpret_cast<T*>(inline_); }
  const T* data() const { return heap_ ? heap_ : reinterpret_cast<const T*>(inline_); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

  void reserve(size_t n) {
    if (n > capacity_) grow(n);
  }
  void push_back(T x) { emplace_back(std::move(x)); }
  template <class... A>
  T& emplace_back(A&&... a) {
    if (size_ == capacity_) grow(capacity_ * 2);
    return *new (data() + size_++) T(std::forward<A>(a)...);
  }
  void pop_back() { data()[--size_].~T(); }
  void resize(size_t n, const T& value = T()) {
    reserve(n);
    while (size_ > n) pop_back();
    while (size_ < n) new (data() + size_++) T(value);
  }
  void clear() { resize_down(0); }
  void insert(size_t at, T x) {
    push_back(std::move(x));
    std::rotate(begin() + at, end() - 1, end());
  }
  void erase(size_t at) {
    std::move(begin() + at + 1, end(), begin() + at);
    pop_back();
  }
  friend bool operator==(const SmallVec& a, const SmallVec& b) {
    if (a.size_ != b.size_) return false;
    for (size_t i = 0; i < a.size_; i++)  // std::equal would call memcmp, which takes longer for a few elements
      if (!(a[i] == b[i])) return false;
    return true;
  }

 private:
  // Copied whole with its unused room: less work than asking how much of it is used.
  static constexpr bool kPlain = std::is_trivially_copyable_v<T> && N * sizeof(T) <= 64;
  void copy_inline(const SmallVec& o) {
    std::memcpy(inline_, o.inline_, sizeof inline_);
    size_ = o.size_;
  }
  void append(const SmallVec& o) {
    reserve(size_ + o.size_);
    for (const T& x : o) new (data() + size_++) T(x);
  }
  void resize_down(size_t n) {
    if constexpr (std::is_trivially_destructible_v<T>) size_ = n;
    else
      while (size_ > n) pop_back();
  }
  void destroy() {
    resize_down(0);
    if (heap_) ::operator delete(heap_);
    heap_ = nullptr;
    capacity_ = N;
  }
  void steal(SmallVec& o) {
    if (o.heap_) {
      heap_ = std::exchange(o.heap_, nullptr);
      size_ = std::exchange(o.size_, 0);
      capacity_ = std::exchange(o.capacity_, N);
    } else if constexpr (kPlain) {
      copy_inline(o);
      o.size_ = 0;
    } else {
      for (T& x : o) new (data() + size_++) T(std::move(x));
      o.clear();
    }
  }
  [[gnu::noinline]] void grow(size_t n) {
    T* p = static_cast<T*>(::operator new(n * sizeof(T)));
    for (size_t i = 0; i < size_; i++) {
      new (p + i) T(std::move(data()[i]));
      data()[i].~T();
    }
    if (heap_) ::operator delete(heap_);
    heap_ = p;
    capacity_ = n;
  }

  T* heap_ = nullptr;
  uint32_t size_ = 0, capacity_ = N;
  alignas(T) unsigned char inline_[N * sizeof(T)];
};

using Dims = SmallVec<int64_t, 6>;  // shapes and strides

// A read-only view of integers, for arguments.
class IntSpan {
 public:
  IntSpan() = default;
  IntSpan(const int64_t* p, size_t n) : p_(p), n_(n) {}
  IntSpan(const Dims& d) : p_(d.data()), n_(d.size()) {}
  IntSpan(std::span<const int64_t> s) : p_(s.data()), n_(s.size()) {}
#if defined(__GNUC__) && !defined(__clang__)
  #pragma GCC diagnostic push
  #pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
  IntSpan(std::initializer_list<int64_t> l) : p_(l.begin()), n_(l.size()) {}
#if defined(__GNUC__) && !defined(__clang__)
  #pragma GCC diagnostic pop
#endif
  const int64_t* begin() const { return p_; }
  const int64_t* end() const { return p_ + n_; }
  const int64_t* data() const { return p_; }
  size_t size() const { return n_; }
  bool empty() const { return !n_; }
  int64_t operator[](size_t i) const { return p_[i]; }
  Dims dims() const { return Dims(begin(), end()); }
  friend bool operator==(IntSpan a, IntSpan b) { return a.n_ == b.n_ && std::equal(a.begin(), a.end(), b.begin()); }
  friend std::ostream& operator<<(std::ostream& o, IntSpan s) {  // as Python prints a tuple
    o << '(';
    for (size_t i = 0; i < s.n_; i++) o << (i ? ", " : "") << s.p_[i];
    return o << (s.n_ == 1 ? ",)" : ")");
  }

 private:
  const int64_t* p_ = nullptr;
  size_t n_ = 0;
};

inline std::ostream& operator<<(std::ostream& o, const Dims& d) { return o << IntSpan(d); }

}  // namespace rushlight
