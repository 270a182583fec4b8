// One pool of worker threads for the whole process.
#pragma once
#include <cstdint>

#include "base/macros.h"

namespace rushlight {

RL_API int num_threads();            // how many threads parallel_for uses, the caller included
RL_API void set_num_threads(int n);  // n >= 1
RL_API bool in_parallel_region();

namespace detail {
using RangeFn = void (*)(void* ctx, int64_t begin, int64_t end);
RL_API void parallel_for(int64_t begin, int64_t end, int64_t grain, RangeFn fn, void* ctx);
}  // namespace detail

// Calls f(b, e) on pieces that cover [begin, end), none smaller than `grain` but the last; serial when the range is
// under two grains, with one thread, or inside another parallel_for. The first exception a piece throws is rethrown
// in the caller after all pieces have ended.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, F&& f) {
  if (end - begin < 2 * grain) {
    if (begin < end) f(begin, end);
    return;
  }
  detail::parallel_for(begin, end, grain, [](void* ctx, int64_t b, int64_t e) { (*static_cast<F*>(ctx))(b, e); }, &f);
}

}  // namespace rushlight
