// Writing at places counted through all of a tensor.
#include "ops/pointwise.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

struct Put {
  static constexpr auto schema = "put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor";
  static constexpr auto doc =
      "The elements of source written at places counted through all of self in order, or added to what is there.";
  bool accumulate;
  Dims source_shape;
  static Tensor run(const Tensor& x, const Tensor& index, const Tensor& source, bool accumulate) {
    Tensor y = kernels::clone(x, MemoryFormat::Contiguous), flat = alias(y, {y.numel()}, {1}, y.offset());
    const Tensor at = reshape(index, {-1});
    index_put_(flat, {&at, 1}, reshape(source, {-1}), accumulate);
    if (x.is_contiguous()) return y;
    Tensor laid_out = empty_like(x);
    if (!y.is_meta()) kernels::copy_into(laid_out, y);
    return laid_out;
  }
  Tensor forward(Ctx& ctx, const Tensor& x, const Tensor& index, const Tensor& source, bool add) {
    accumulate = add, source_shape = source.sizes();
    RL_CHECK(index.dtype() == DType::Int64, "put: the index must be int64, not ", index.dtype());
    RL_CHECK(x.dtype() == source.dtype(), "put: the dtypes differ: ", Describe{x}, " and ", Describe{source},
             hint("convert source with .to(x.dtype)"));
    RL_CHECK_KIND(index.numel() == source.numel(), Index, "put: ", index.numel(), " places do not fit ", source.numel(),
                  " elements");
    RL_CHECK_KIND(x.numel() > 0 || index.numel() == 0, Index, "put: there is no place in an empty tensor");
    ctx.save(index);
    return run(x, index, source, accumulate);
  }
  Grads backward(Ctx& ctx, Grads g) {
    const Tensor at = ctx.get(0);
    Tensor gx, gs;
    if (ctx.need(0))
      gx = accumulate ? g[0] : apply<Put>(g[0], at, zeros(at.sizes(), g[0].dtype(), g[0].device()), false);
    if (ctx.need(2)) {
      const Tensor flat = reshape(at, {-1});
      gs = reshape(index(reshape(g[0], {-1}), {&flat, 1}), source_shape);
    }
    return {gx, Tensor(), gs};
  }
};
RL_BIND(Put, both | inplace)

}  // namespace
}  // namespace ops
}  // namespace rushlight
