#include "autograd/autocast.h"

#include <unordered_map>

#include "autograd/meta.h"
#include "autograd/needs.h"

namespace rushlight {
namespace {

// A weight is used many times within a region, and its half is the same until it is written to. Without grad mode the
// copy has no history, so that it must not be taken for one that has.
struct Cast {
  Tensor weight, cast;  // the weight is kept, so that no other takes its place in memory
  uint32_t version;
  bool recorded;
};

struct Region : AutocastState {
  std::unordered_map<const TensorImpl*, Cast> casts;
};
thread_local Region region;

}  // namespace

AutocastState& autocast_state() { return region; }
void clear_autocast_cache() { region.casts.clear(); }

namespace detail {

Tensor autocast_to(const Tensor& t, DType dtype) {
  const bool weight = region.cache_enabled && dtype == region.dtype && t.dtype() == DType::Float32 &&
                      requires_grad(t) && t.is_leaf() && !is_view(t);
  if (!weight) return needs::cast(t, dtype);
  Cast& known = region.casts[t.impl()];
  if (!known.cast || known.cast.dtype() != dtype || known.version != t.version() || known.recorded != tls.grad_enabled)
    known = {t, needs::cast(t, dtype), t.version(), tls.grad_enabled};
  return known.cast;
}

}  // namespace detail
}  // namespace rushlight
