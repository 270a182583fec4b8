#include "base/dtype.h"

#include <atomic>
#include <cstdlib>

namespace rushlight {

static std::atomic<DType> default_dtype_{DType::Float32};
DType default_dtype() { return default_dtype_; }
void set_default_dtype(DType d) {
  RL_CHECK_KIND(is_floating(d), Type, "the default dtype must be a floating point type, not ", d);
  default_dtype_ = d;
}

void Scalar::does_not_fit(DType d) const {
  visit(d, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>)
      fail(ErrorKind::Runtime, "the number ", *this, " does not fit ", d, ", which holds ",
           +std::numeric_limits<T>::min(), " to ", +std::numeric_limits<T>::max(), hint("use a dtype that holds it"));
    else fail(ErrorKind::Runtime, "the number ", *this, " is too large for ", d, hint("use float64"));
  });
  std::abort();  // not reached
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
