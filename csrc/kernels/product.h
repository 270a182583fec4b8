// Matrix products of Tensors without history: any dtype, any strides, batches.
#pragma once
#include "tensor/tensor.h"

namespace rushlight::kernels {

// op(a) @ op(b) + bias over the last two dimensions, op transposing them where the flag is set. a and b have the same
// dtype and the same leading dimensions; bias, where defined, has one value for each column. Transposed and sliced
// memory is read in place. Integers wrap, 16-bit floats are multiplied as float32.
Tensor product(const Tensor& a, bool trans_a, const Tensor& b, bool trans_b, const Tensor& bias = {});

// beta * c + alpha * a @ b over c, which is contiguous. With beta == 0, c is not read.
void add_product(const Tensor& c, const Scalar& beta, const Tensor& a, const Tensor& b, const Scalar& alpha);

// The sum of the rows of a contiguous matrix.
Tensor sum_rows(const Tensor& matrix);

}  // namespace rushlight::kernels
