// Volumes as stacks of slices: a convolution in three dimensions is one in two, whose channels are the slices of depth
// that a kernel covers.
#pragma once
#include <cstdint>

namespace rushlight::kernels {

// x (n, c, d, h * w) and slices (n, d_out, c, kd, h * w), both contiguous: slice (i, k) is x's at depth
// i * stride - pad + k * dilation, zeros outside.
struct Slices {
  int64_t n, c, d, plane, kd, d_out, stride, pad, dilation;
};

template <class T>
void gather_slices(const Slices& s, const T* x, T* slices);
// x becomes the sum of the slices at each depth, plus bias (c), which may be null.
template <class T>
void add_slices(const Slices& s, const T* slices, const T* bias, T* x);

}  // namespace rushlight::kernels
