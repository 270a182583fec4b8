// New tensors. Python's creation functions come here with shape, dtype and device worked out.
#include "kernels/loops.h"
#include "ops/registry.h"

namespace rushlight {

Tensor full(IntSpan shape, const Scalar& value, DType dtype, Device device) {
  Tensor t = empty(shape, dtype, device);
  kernels::fill(t, value);
  return t;
}
Tensor zeros(IntSpan shape, DType dtype, Device device) { return full(shape, 0, dtype, device); }
Tensor ones(IntSpan shape, DType dtype, Device device) { return full(shape, 1, dtype, device); }
Tensor zeros_like(const Tensor& t) {
  Tensor z = empty_like(t);
  kernels::fill(z, 0);
  return z;
}
Tensor ones_like(const Tensor& t) {
  Tensor z = empty_like(t);
  kernels::fill(z, 1);
  return z;
}

}  // namespace rushlight
