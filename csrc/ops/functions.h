// Operations as C++ functions over Tensors: recorded where grad mode is on. This is what derivatives are written with,
// and the C++ interface of the library. Operations that C++ code does not need by name are called as apply<Op>(...).
#pragma once
#include <optional>

#include "autograd/engine.h"
#include "autograd/meta.h"
#include "autograd/mode.h"
#include "tensor/tensor.h"

namespace rushlight {

using OptInt = std::optional<int64_t>;
using Tensors = std::vector<Tensor>;

// Creation (not recorded).
RL_API Tensor zeros(IntSpan shape, DType dtype = default_dtype(), Device device = {});
RL_API Tensor ones(IntSpan shape, DType dtype = default_dtype(), Device device = {});
RL_API Tensor full(IntSpan shape, const Scalar& value, DType dtype, Device device = {});
RL_API Tensor zeros_like(const Tensor& t);
RL_API Tensor ones_like(const Tensor& t);
RL_API Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype);

// Pointwise. A double stands for a tensor of one number.
#define RL_UNARY(name) RL_API Tensor name(const Tensor& x)
// clang-format off
RL_UNARY(neg); RL_UNARY(abs); RL_UNARY(sign); RL_UNARY(square); RL_UNARY(exp); RL_UNARY(exp2); RL_UNARY(expm1);
RL_UNARY(log); RL_UNARY(log1p); RL_UNARY(sqrt); RL_UNARY(rsqrt); RL_UNARY(reciprocal); RL_UNARY(sin); RL_UNARY(cos);
RL_UNARY(sinh); RL_UNARY(cosh); RL_UNARY(tanh); RL_UNARY(floor); RL_UNARY(trunc); RL_UNARY(sigmoid); RL_UNARY(erf);
RL_UNARY(relu); RL_UNARY(logical_not);
// clang-format on
#undef RL_UNARY
RL_API Tensor add(const Tensor& a, const Tensor& b, const Scalar& alpha = 1);
RL_API Tensor sub(const Tensor& a, const Tensor& b, const Scalar& alpha = 1);
RL_API Tensor mul(const Tensor& a, const Tensor& b);
RL_API Tensor div(const Tensor& a, const Tensor& b);
RL_API Tensor pow(const Tensor& a, const Tensor& b);  // wrapped numbers are taken as numbers
RL_API Tensor pow(const Tensor& a, double b);
RL_API Tensor maximum(const Tensor& a, const Tensor& b);
RL_API Tensor minimum(const Tensor& a, const Tensor& b);
RL_API Tensor hypot(const Tensor& a, const Tensor& b);
RL_API Tensor copysign(const Tensor& a, const Tensor& b);
RL_API Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
RL_API Tensor add_(const Tensor& self, const Tensor& other, const Scalar& alpha = 1);
RL_API Tensor sub_(const Tensor& self, const Tensor& other, const Scalar& alpha = 1);
RL_API Tensor mul_(const Tensor& self, const Tensor& other);
RL_API Tensor div_(const Tensor& self, const Tensor& other);
RL_API Tensor zero_(const Tensor& self);
RL_API Tensor fill_(const Tensor& self, const Scalar& value);
RL_API Tensor copy_(const Tensor& self, const Tensor& from);

#define RL_COMPARE(name, op)                                                         \
  RL_API Tensor name(const Tensor& a, const Tensor& b);                              \
  inline Tensor operator op(const Tensor& a, const Tensor& b) { return name(a, b); } \
  inline Tensor operator op(const Tensor& a, double b) { return name(a, wrapped_number(b)); }
RL_COMPARE(eq, ==)
RL_COMPARE(ne, !=)
RL_COMPARE(lt, <)
RL_COMPARE(le, <=)
RL_COMPARE(gt, >)
RL_COMPARE(ge, >=)
#undef RL_COMPARE
RL_API Tensor logical_and(const Tensor& a, const Tensor& b);
RL_API Tensor logical_or(const Tensor& a, const Tensor& b);
inline Tensor operator&(const Tensor& a, const Tensor& b) { return logical_and(a, b); }  // of bools
inline Tensor operator|(const Tensor& a, const Tensor& b) { return logical_or(a, b); }

#define RL_ARITHMETIC(name, op)                                                               \
  inline Tensor operator op(const Tensor& a, const Tensor& b) { return name(a, b); }          \
  inline Tensor operator op(const Tensor& a, double b) { return name(a, wrapped_number(b)); } \
  inline Tensor operator op(double a, const Tensor& b) { return name(wrapped_number(a), b); }
RL_ARITHMETIC(add, +)
RL_ARITHMETIC(sub, -)
RL_ARITHMETIC(mul, *)
RL_ARITHMETIC(div, /)
#undef RL_ARITHMETIC
inline Tensor operator-(const Tensor& a) { return neg(a); }

// What pointwise functors say beside operators.
inline Tensor select(const Tensor& m, const Tensor& a, const Tensor& b) { return where(m, a, b); }
RL_API Tensor zero_of(const Tensor& g);
inline Tensor normal_cdf(const Tensor& x) { return 0.5 * (1.0 + erf(x * 0.7071067811865476)); }

// Dtypes, layout, views.
RL_API Tensor to_dtype(const Tensor& t, DType dtype);
RL_API Tensor clone(const Tensor& t, MemoryFormat f = MemoryFormat::Preserve);
RL_API Tensor contiguous(const Tensor& t, MemoryFormat f = MemoryFormat::Contiguous);
RL_API Tensor as_strided(const Tensor& t, IntSpan sizes, IntSpan strides, OptInt offset = {});
RL_API Tensor view(const Tensor& t, IntSpan shape);
RL_API Tensor reshape(const Tensor& t, IntSpan shape);
RL_API Tensor expand(const Tensor& t, IntSpan shape);
RL_API Tensor permute(const Tensor& t, IntSpan dims);
RL_API Tensor transpose(const Tensor& t, int64_t a, int64_t b);
RL_API Tensor unsqueeze(const Tensor& t, int64_t dim);
RL_API Tensor squeeze(const Tensor& t, int64_t dim);
RL_API Tensor select_index(const Tensor& t, int64_t dim, int64_t index);  // x[..., index, ...]
RL_API Tensor slice(const Tensor& t, int64_t dim, OptInt start, OptInt end, int64_t step = 1);
RL_API Tensor narrow(const Tensor& t, int64_t dim, int64_t start, int64_t length);
RL_API Tensor flatten(const Tensor& t, int64_t start = 0, int64_t end = -1);
RL_API Tensor alias_view(const Tensor& t);  // x[...]
RL_API Tensor diagonal(const Tensor& t, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1);
RL_API Tensors split(const Tensor& t, int64_t size, int64_t dim = 0);
RL_API Tensors split(const Tensor& t, IntSpan sizes, int64_t dim = 0);
RL_API Tensors chunk(const Tensor& t, int64_t chunks, int64_t dim = 0);
RL_API Tensors unbind(const Tensor& t, int64_t dim = 0);

// Joining, reordering, repeating.
RL_API Tensor cat(std::span<const Tensor> ts, int64_t dim = 0);
RL_API Tensor stack(std::span<const Tensor> ts, int64_t dim = 0);
RL_API Tensor flip(const Tensor& t, IntSpan dims);
RL_API Tensor roll(const Tensor& t, IntSpan shifts, IntSpan dims);
RL_API Tensor repeat(const Tensor& t, IntSpan repeats);
RL_API Tensor tril(const Tensor& t, int64_t diagonal = 0);
RL_API Tensor triu(const Tensor& t, int64_t diagonal = 0);

// Elements at indices.
RL_API Tensor index(const Tensor& t, std::span<const Tensor> indices);  // undefined: the whole dimension
RL_API Tensor index_put(const Tensor& t, std::span<const Tensor> indices, const Tensor& values,
                        bool accumulate = false);
RL_API Tensor index_put_(const Tensor& t, std::span<const Tensor> indices, const Tensor& values,
                         bool accumulate = false);
RL_API Tensor index_select(const Tensor& t, int64_t dim, const Tensor& index);
RL_API Tensor index_add(const Tensor& t, int64_t dim, const Tensor& index, const Tensor& source,
                        const Scalar& alpha = 1);
RL_API Tensor index_fill(const Tensor& t, int64_t dim, const Tensor& index, const Scalar& value);
RL_API Tensor gather(const Tensor& t, int64_t dim, const Tensor& index);
RL_API Tensor scatter(const Tensor& t, int64_t dim, const Tensor& index, const Tensor& src);
RL_API Tensor scatter_add(const Tensor& t, int64_t dim, const Tensor& index, const Tensor& src);
RL_API Tensor masked_fill(const Tensor& t, const Tensor& mask, const Scalar& value);
RL_API Tensor masked_fill_(const Tensor& t, const Tensor& mask, const Tensor& value);
RL_API Tensor masked_select(const Tensor& t, const Tensor& mask);
RL_API Tensor masked_scatter(const Tensor& t, const Tensor& mask, const Tensor& source);
RL_API Tensor nonzero(const Tensor& t);

// Reductions.
RL_API Tensor sum(const Tensor& t);
RL_API Tensor sum(const Tensor& t, IntSpan dims, bool keepdim = false);
RL_API Tensor sum_to(const Tensor& t, IntSpan shape);  // undoes broadcasting
RL_API Tensor mean(const Tensor& t);
RL_API Tensor mean(const Tensor& t, IntSpan dims, bool keepdim = false);
RL_API Tensor prod(const Tensor& t, int64_t dim, bool keepdim = false);
RL_API Tensor amax(const Tensor& t, IntSpan dims, bool keepdim = false);
RL_API Tensor amin(const Tensor& t, IntSpan dims, bool keepdim = false);
RL_API Tensor any(const Tensor& t);
RL_API Tensor all(const Tensor& t);

// Random numbers from the default generator.
RL_API void manual_seed(uint64_t seed);
RL_API Tensor rand(IntSpan shape, DType dtype = default_dtype());
RL_API Tensor randn(IntSpan shape, DType dtype = default_dtype());

// Linear algebra and losses.
RL_API Tensor matmul(const Tensor& a, const Tensor& b);
RL_API Tensor mse_loss(const Tensor& input, const Tensor& target);

}  // namespace rushlight
