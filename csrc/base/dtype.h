// Element types, devices, and Python numbers.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/macros.h"

namespace rushlight {

// Two bytes that convert to and from float32 with rounding to nearest even; arithmetic happens in float32.
struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  RL_INLINE BFloat16(float f) {
    uint32_t u = std::bit_cast<uint32_t>(f);
    bits = f != f ? 0x7fc0 : uint16_t((u + 0x7fff + ((u >> 16) & 1)) >> 16);
  }
  RL_INLINE operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }
};
struct Half {
  uint16_t bits;
  Half() = default;
  RL_INLINE Half(float f) {
    uint32_t u = std::bit_cast<uint32_t>(f), sign = (u >> 16) & 0x8000;
    u &= 0x7fffffff;
    if (u > 0x7f800000) {
      bits = 0x7e00;
      return;
    }
    if (u >= 0x477ff000) {  // rounds to 65536 or more
      bits = sign | 0x7c00;
      return;
    }
    if (u < 0x38800000) {  // subnormal: let float addition round at the right place
      float v = std::bit_cast<float>(u) + 0.5f;
      bits = sign | uint16_t(std::bit_cast<uint32_t>(v) - 0x3f000000);
      return;
    }
    u += 0xc8000fff + ((u >> 13) & 1);
    bits = sign | uint16_t(u >> 13);
  }
  RL_INLINE operator float() const {
    uint32_t sign = uint32_t(bits & 0x8000) << 16, e = (bits >> 10) & 31, m = bits & 0x3ff;
    if (e == 0) {
      float v = float(m) * 0x1p-24f;
      return std::bit_cast<float>(std::bit_cast<uint32_t>(v) | sign);
    }
    return std::bit_cast<float>(sign | (e == 31 ? 0x7f800000u : (e + 112) << 23) | (m << 13));
  }
};

enum class DType : uint8_t {
  Bool,
  UInt8,
  Int8,
  Int16,
  Int32,
  Int64,
  UInt16,
  UInt32,
  UInt64,
  Float16,
  BFloat16,
  Float32,
  Float64
};
inline constexpr int kDTypes = 13;

template <class T>
struct Tag {
  using type = T;
};

// visit(dtype, f) calls f(Tag<T>()) with the C++ type of the dtype.
template <class F>
decltype(auto) visit(DType d, F&& f) {
  switch (d) {
    case DType::Bool: return f(Tag<bool>());
    case DType::UInt8: return f(Tag<uint8_t>());
    case DType::Int8: return f(Tag<int8_t>());
    case DType::Int16: return f(Tag<int16_t>());
    case DType::Int32: return f(Tag<int32_t>());
    case DType::Int64: return f(Tag<int64_t>());
    case DType::UInt16: return f(Tag<uint16_t>());
    case DType::UInt32: return f(Tag<uint32_t>());
    case DType::UInt64: return f(Tag<uint64_t>());
    case DType::Float16: return f(Tag<Half>());
    case DType::BFloat16: return f(Tag<BFloat16>());
    case DType::Float32: return f(Tag<float>());
    case DType::Float64: break;
  }
  return f(Tag<double>());
}

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return DType::Bool;
  if constexpr (std::is_same_v<T, uint8_t>) return DType::UInt8;
  if constexpr (std::is_same_v<T, int8_t>) return DType::Int8;
  if constexpr (std::is_same_v<T, int16_t>) return DType::Int16;
  if constexpr (std::is_same_v<T, int32_t>) return DType::Int32;
  if constexpr (std::is_same_v<T, int64_t>) return DType::Int64;
  if constexpr (std::is_same_v<T, uint16_t>) return DType::UInt16;
  if constexpr (std::is_same_v<T, uint32_t>) return DType::UInt32;
  if constexpr (std::is_same_v<T, uint64_t>) return DType::UInt64;
  if constexpr (std::is_same_v<T, Half>) return DType::Float16;
  if constexpr (std::is_same_v<T, BFloat16>) return DType::BFloat16;
  if constexpr (std::is_same_v<T, float>) return DType::Float32;
  return DType::Float64;
}

// An element in memory. A bool may be any byte there (after view(), frombuffer(), empty()), where C++ knows 0 and 1
// only.
template <class T>
RL_INLINE T element(const T* p) {
  if constexpr (std::is_same_v<T, bool>) return *reinterpret_cast<const unsigned char*>(p) != 0;
  else return *p;
}

constexpr int itemsize(DType d) {
  constexpr int size[] = {1, 1, 1, 2, 4, 8, 2, 4, 8, 2, 2, 4, 8};
  return size[int(d)];
}
constexpr const char* name(DType d) {  // as torch.float32 prints, less the module
  constexpr const char* names[] = {"bool",   "uint8",  "int8",    "int16",    "int32",   "int64",  "uint16",
                                   "uint32", "uint64", "float16", "bfloat16", "float32", "float64"};
  return names[int(d)];
}
constexpr bool is_floating(DType d) { return d >= DType::Float16; }
constexpr bool is_integral(DType d, bool with_bool = true) {
  return d < DType::Float16 && (with_bool || d != DType::Bool);
}
constexpr bool is_signed(DType d) { return is_floating(d) || (d >= DType::Int8 && d <= DType::Int64); }
inline std::ostream& operator<<(std::ostream& o, DType d) { return o << name(d); }

enum class DeviceType : uint8_t { CPU, Meta, CUDA };
struct Device {
  DeviceType type = DeviceType::CPU;
  int8_t index = -1;  // -1: none given
  bool operator==(const Device& o) const { return type == o.type && index == o.index; }
  bool is_meta() const { return type == DeviceType::Meta; }
};
inline std::ostream& operator<<(std::ostream& o, Device d) {
  o << (d.type == DeviceType::CPU ? "cpu" : d.type == DeviceType::Meta ? "meta" : "cuda");
  return d.index >= 0 ? o << ':' << int(d.index) : o;
}

// A Python number: bool, int or float.
class Scalar {
 public:
  Scalar() : Scalar(int64_t(0)) {}
  Scalar(bool v) : dtype_(DType::Bool), i_(v) {}
  Scalar(int v) : Scalar(int64_t(v)) {}
  Scalar(int64_t v) : dtype_(DType::Int64), i_(v) {}
  Scalar(double v) : dtype_(DType::Float64), d_(v) {}
  DType dtype() const { return dtype_; }  // Bool, Int64 or Float64
  bool is_floating() const { return dtype_ == DType::Float64; }
  bool is_bool() const { return dtype_ == DType::Bool; }
  double to_double() const { return is_floating() ? d_ : double(i_); }
  int64_t to_int() const { return is_floating() ? saturated(d_) : i_; }
  bool operator==(const Scalar& o) const { return to_double() == o.to_double() && to_int() == o.to_int(); }
  // As T; raises where that cannot hold it. As in PyTorch, unsigned types take negative integers as their complement;
  // half types round large numbers to infinity.
  template <class T>
  T to() const {
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_same_v<T, bool>) {
      return is_floating() ? d_ != 0 : i_ != 0;
    } else if constexpr (std::is_integral_v<T>) {
      constexpr double end = 2.0 * double(Limits::max() / 2 + 1);  // exact, as the largest of 64 bits is not
      const bool complement = std::is_unsigned_v<T> && !is_floating() && i_ < 0 && uint64_t(-(i_ + 1)) < Limits::max();
      if (is_floating() ? !(d_ >= double(Limits::min()) && d_ <= double(Limits::max()) && d_ < end)
                        : !std::in_range<T>(i_) && !complement)
        does_not_fit(dtype_of<T>());
      return is_floating() ? T(d_) : T(i_);
    } else {
      if constexpr (std::is_same_v<T, float>)
        if (std::isfinite(to_double()) && std::abs(to_double()) > Limits::max()) does_not_fit(dtype_of<T>());
      if constexpr (std::is_same_v<T, double>) return to_double();
      else return T(float(to_double()));
    }
  }

 private:
  [[noreturn]] RL_API void does_not_fit(DType d) const;
  static int64_t saturated(double d) {
    if (!(d >= -0x1p63)) return std::numeric_limits<int64_t>::min();  // NaN too
    return d < 0x1p63 ? int64_t(d) : std::numeric_limits<int64_t>::max();
  }
  DType dtype_;
  union {
    int64_t i_;
    double d_;
  };
};
inline std::ostream& operator<<(std::ostream& o, const Scalar& s) {
  return s.is_floating() ? o << s.to_double() : s.is_bool() ? o << (s.to_int() ? "True" : "False") : o << s.to_int();
}

// The smallest type both convert to, by PyTorch's lattice.
RL_API DType promote(DType a, DType b);
RL_API DType default_dtype();
RL_API void set_default_dtype(DType d);

}  // namespace rushlight
