// Makes tile functions of pointwise functors; included by the per-set files that instantiate them.
#pragma once
#include "kernels/cpu/tiles.h"
#include "kernels/cpu/vec_math.h"
#include "pointwise/functor.h"

namespace rushlight::kernels::RL_ISA {

using namespace rushlight::pointwise;

template <class T>
RL_INLINE Vec<T> zero_of(Vec<T>) {
  return Vec<T>(0);
}

// Part 0 is forward; 1, 2, 3 the derivatives by each argument. A unary grad takes g and what was saved.
template <int part, class F, class... V>
RL_INLINE auto call_part(const F& f, V... v) {
  if constexpr (part == 0) return f.forward(v...);
  else if constexpr (part == 1) {
    if constexpr (requires { F::saves; }) return f.grad(v...);
    else return f.grad_a(v...);
  } else if constexpr (part == 2) return f.grad_b(v...);
  else return f.grad_c(v...);
}

template <class F, int part, class T, int arity>
void tile(const void* functor, int64_t n, void* out, const void* const* in) {
  using V = Vec<T>;
  const F f = *static_cast<const F*>(functor);
  const T* a = static_cast<const T*>(in[0]);
  const T* b = arity > 1 ? static_cast<const T*>(in[1]) : nullptr;
  const T* c = arity > 2 ? static_cast<const T*>(in[2]) : nullptr;
  const T* d = arity > 3 ? static_cast<const T*>(in[3]) : nullptr;
  auto at = [&](int64_t i, auto... count) __attribute__((always_inline)) {
    if constexpr (arity == 1) return call_part<part>(f, V::load(a + i, count...));
    else if constexpr (arity == 2) return call_part<part>(f, V::load(a + i, count...), V::load(b + i, count...));
    else if constexpr (arity == 3)
      return call_part<part>(f, V::load(a + i, count...), V::load(b + i, count...), V::load(c + i, count...));
    else
      return call_part<part>(f, V::load(a + i, count...), V::load(b + i, count...), V::load(c + i, count...),
                             V::load(d + i, count...));
  };
  int64_t i = 0;
  if constexpr (part == 0 && is_predicate<F>()) {
    uint8_t* o = static_cast<uint8_t*>(out);
    for (; i + V::size <= n; i += V::size) at(i).store_bool(o + i);
    if (i < n) at(i, int(n - i)).store_bool(o + i, int(n - i));
  } else {
    T* o = static_cast<T*>(out);
    for (; i + V::size <= n; i += V::size) at(i).store(o + i);
    if (i < n) at(i, int(n - i)).store(o + i, int(n - i));
  }
}

template <class F, int part, int arity>
constexpr Tiles tiles_of() {
  constexpr Types types = types_of<F>();
  Tiles t{};
  if constexpr (types != Types::ints) {
    t.fn[kF32] = tile<F, part, float, arity>;
    t.fn[kF64] = tile<F, part, double, arity>;
  }
  if constexpr (types != Types::floats && part == 0) t.fn[kI64] = tile<F, part, int64_t, arity>;
  t.predicate = part == 0 && is_predicate<F>();
  return t;
}

template <class F, int arity>
constexpr TileRow row_of() {
  using V = Vec<float>;
  TileRow r{};
  r.part[0] = tiles_of<F, 0, arity>();
  if constexpr (requires { F::saves; }) {
    if constexpr (requires(F f, V v) { f.grad(v, v); }) r.part[1] = tiles_of<F, 1, 2>();
  } else if constexpr (arity == 2) {
    if constexpr (requires(F f, V v) { f.grad_a(v, v, v); }) r.part[1] = tiles_of<F, 1, 3>();
    if constexpr (requires(F f, V v) { f.grad_b(v, v, v); }) r.part[2] = tiles_of<F, 2, 3>();
  } else if constexpr (arity == 3) {
    if constexpr (requires(F f, V v) { f.grad_a(v, v, v, v); }) r.part[1] = tiles_of<F, 1, 4>();
    if constexpr (requires(F f, V v) { f.grad_b(v, v, v, v); }) r.part[2] = tiles_of<F, 2, 4>();
    if constexpr (requires(F f, V v) { f.grad_c(v, v, v, v); }) r.part[3] = tiles_of<F, 3, 4>();
  }
  return r;
}

template <int arity, class... F>
const TileRow* table_of(List<F...>) {
  static constexpr TileRow rows[] = {row_of<F, arity>()...};
  return rows;
}

}  // namespace rushlight::kernels::RL_ISA
