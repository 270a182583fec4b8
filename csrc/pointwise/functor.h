// Pointwise functions are structs of templates over V, which is a Vec<T> inside kernels and a Tensor when a derivative
// is composed so that it can be differentiated again. They use nothing but operators and functions that both know, and
// no standard headers.
//
//   struct Exp {
//     static constexpr auto schema = "exp(Tensor self) -> Tensor";
//     static constexpr auto doc = "e to the power of each element.";
//     static constexpr auto saves = Saves::output;                  // what grad wants beside g
//     template <class V> V forward(V x) const { return exp(x); }
//     template <class V> V grad(V g, V y) const { return g * y; }
//   };
//
// Integer inputs are converted to the default dtype, unless `types` says that the function knows integers.
// Parameters are plain members, filled from the operation's arguments.
#pragma once

namespace rushlight::pointwise {

enum class Saves { nothing, input, output };
enum class Types { floats, all, ints };        // ints: bool and integers only
enum class Layout { like_input, contiguous };  // of a new result, where it is not the planner's choice

template <class... F>
struct List {};

template <class A, class B>
constexpr bool same = false;
template <class A>
constexpr bool same<A, A> = true;

template <class F>
constexpr Types types_of() {
  if constexpr (requires { F::types; }) return F::types;
  else return Types::floats;
}
template <class F>
constexpr bool is_predicate() {  // forward gives a mask, the result is bool
  if constexpr (requires { F::predicate; }) return F::predicate;
  else return false;
}

// Numbers are rounded to the half type of the tensors they meet, unless a functor keeps them as they are.
template <class F>
constexpr bool rounds_numbers() {
  return !requires { F::full_numbers; };
}

// Where F stands in a list; -1 if it does not.
template <class F, class... G>
constexpr int index_of(List<G...>) {
  int found = -1, i = 0;
  ((found < 0 && same<F, G> ? found = i++ : i++), ...);
  return found;
}

}  // namespace rushlight::pointwise
