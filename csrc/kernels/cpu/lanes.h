// Loops over arrays in vectors whose last one may be partly filled. Only per-set files include this header.
#pragma once
#include "kernels/cpu/vec.h"

namespace rushlight::kernels::RL_ISA {

// Calls f(i, lanes) for vectors that cover n elements; `lanes` is a constant for all but the last.
template <class V, class F>
RL_INLINE void for_vectors(int64_t n, F&& f) {
  int64_t i = 0;
  for (; i + V::size <= n; i += V::size) f(i, std::integral_constant<int, V::size>());
  if (i < n) f(i, int(n - i));
}
template <class V, class T>
RL_INLINE V load(const T* p, std::integral_constant<int, V::size>) {
  return V::load(p);
}
template <class V, class T>
RL_INLINE V load(const T* p, int lanes) {
  return V::load(p, lanes);
}
template <class V, class T>
RL_INLINE void store(V v, T* p, std::integral_constant<int, V::size>) {
  v.store(p);
}
template <class V, class T>
RL_INLINE void store(V v, T* p, int lanes) {
  v.store(p, lanes);
}
// v, with `rest` in the lanes beyond the first `lanes`.
template <class V>
RL_INLINE V filled(V v, V, std::integral_constant<int, V::size>) {
  return v;
}
template <class V>
RL_INLINE V filled(V v, V rest, int lanes) {
  using T = std::remove_cvref_t<decltype(v[0])>;
  T numbers[V::size];
  for (int i = 0; i < V::size; i++) numbers[i] = T(i);
  return select(V::load(numbers) < V(T(lanes)), v, rest);
}

}  // namespace rushlight::kernels::RL_ISA
