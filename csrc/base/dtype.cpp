#include "base/dtype.h"

#include <atomic>

namespace rushlight {

static std::atomic<DType> default_dtype_{DType::Float32};
DType default_dtype() { return default_dtype_; }
void set_default_dtype(DType d) {
  RL_CHECK_KIND(is_floating(d), Type, "the default dtype must be a floating point type, not ", d);
  default_dtype_ = d;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (a > b) std::swap(a, b);  // the enum runs from bool over integers to floats
  if (a == DType::Bool) return b;
  if (is_floating(b)) {
    if (a == DType::Float16 && b == DType::BFloat16) return DType::Float32;
    return b;
  }
  // Both integers, different, a before b.
  RL_CHECK(b < DType::UInt16, "promotion between ", a, " and ", b, " is not defined",
           hint("convert one of them first, for example with .to(rushlight.int64)"));
  if (a == DType::UInt8) return b == DType::Int8 ? DType::Int16 : b;
  return b;
}

}  // namespace rushlight
