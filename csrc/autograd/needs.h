// What the engine needs of operations. Declared here, defined in ops/, so that autograd/ does not depend on ops/.
#pragma once
#include "autograd/node.h"

namespace rushlight::needs {

Tensor add(const Tensor& a, const Tensor& b);   // differentiable
void add_(const Tensor& a, const Tensor& b);    // not recorded
Tensor sum_to(const Tensor& g, IntSpan shape);  // undoes broadcasting; differentiable
Tensor cast(const Tensor& g, DType dtype);      // differentiable
Tensor zeros(IntSpan shape, DType dtype, Device device);
Tensor ones_like(const Tensor& t);
Tensor clone(const Tensor& t);                         // differentiable; keeps the strides of a dense tensor
Tensor clone_contiguous(const Tensor& t);              // differentiable
Tensor clone_as(const Tensor& t, const Tensor& like);  // differentiable; in the memory layout of like
Tensor as_strided(const Tensor& t, IntSpan sizes, IntSpan strides, int64_t offset);  // differentiable
void copy_(const Tensor& to, const Tensor& from);                                    // recorded where grad mode is on
Ref<Node> as_strided_node(const Tensor& base, IntSpan sizes, IntSpan strides, int64_t offset);

}  // namespace rushlight::needs
