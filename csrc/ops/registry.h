// The list of all operations, for whoever calls them by schema: the Python binding, rushlight.ops, tests.
//
// One line binds an operation under its schema's name:
//
//   RL_BIND(Softplus, function | inplace | out)
//
// Several operations may share a name; the first whose schema fits the arguments is called.
//
// Schema types and what forward receives for them:
//   Tensor           const Tensor&                  Tensor?    const Tensor& (undefined where None)
//   Number|Tensor    const Tensor& (a number becomes a wrapped number)
//   Tensor[]         std::span<const Tensor>        Tensor?[]  std::span<const Tensor>
//   int, float, bool int64_t, double, bool          int?, float?, bool?  std::optional of them
//   Scalar, Scalar?  Scalar, std::optional<Scalar>
//   int[], int[]?    IntSpan, std::optional<IntSpan>; "int[2]" also takes one int, meant for all; after `self`, or
//                    first in a function, an int[]* may be given as separate arguments: x.permute(1, 0)
//   dtype?, device?  std::optional<DType>, std::optional<Device>      str  std::string_view
//   memory_format?   std::optional<MemoryFormat>    Generator? Generator*
// Parameters after a lone * are keyword-only. Defaults are Python literals.
#pragma once
#include <string_view>
#include <type_traits>

#include "autograd/apply.h"
#include "base/generator.h"
#include "ops/functions.h"

namespace rushlight {

// One argument, as the caller converted it by its schema type.
struct Slot {
  bool given = false;  // false: None, or an absent optional
  union {
    int64_t integer;
    double real;
    bool boolean;
    const void* pointer;
  };
  const Tensor* tensor = nullptr;  // Tensor; for lists, the first of `count`
  size_t count = 0;                // of lists; integers of int[] start at `pointer`
  Scalar scalar;
  Slot() : integer(0) {}
};

template <class T>
decltype(auto) take(const Slot& s) {
  if constexpr (std::is_same_v<T, Tensor>) return (*s.tensor);
  else if constexpr (std::is_same_v<T, std::span<const Tensor>>) return std::span<const Tensor>(s.tensor, s.count);
  else if constexpr (std::is_same_v<T, int64_t>) return s.integer;
  else if constexpr (std::is_same_v<T, double>) return s.real;
  else if constexpr (std::is_same_v<T, bool>) return s.boolean;
  else if constexpr (std::is_same_v<T, Scalar>) return s.scalar;
  else if constexpr (std::is_same_v<T, IntSpan>) return IntSpan(static_cast<const int64_t*>(s.pointer), s.count);
  else if constexpr (std::is_same_v<T, std::string_view>)
    return std::string_view(static_cast<const char*>(s.pointer), s.count);
  else if constexpr (std::is_same_v<T, DType>) return DType(s.integer);
  else if constexpr (std::is_same_v<T, Device>) return Device{DeviceType(s.integer & 0xff), int8_t(s.integer >> 8)};
  else if constexpr (std::is_same_v<T, MemoryFormat>) return MemoryFormat(s.integer);
  else if constexpr (std::is_same_v<T, Generator*>)
    return s.given ? static_cast<Generator*>(const_cast<void*>(s.pointer)) : &default_generator();
  else {  // std::optional
    using U = typename T::value_type;
    return s.given ? T(take<U>(s)) : T();
  }
}

struct Returns {
  enum Shape { one, tuple, list, scalar } shape = one;
  SmallVec<Tensor, 2> tensors;
  Scalar number;
};

enum Forms : uint32_t {
  function = 1,
  method = 2,
  inplace = 4,  // also name_(), as method and function
  out = 8,      // also out=
  both = function | method,
  hidden = 16,  // in _C only, for Python code over it
  all_forms = both | inplace | out,
};
constexpr Forms operator|(Forms a, Forms b) { return Forms(uint32_t(a) | uint32_t(b)); }

struct OpInfo {
  const char* schema;
  const char* doc;
  Forms forms;
  void (*call)(const Slot* slots, Target target, const Tensor* out, Returns& r);
};

RL_API std::vector<OpInfo>& registry();

// Further names of operations, in all their forms.
struct Alias {
  const char *name, *of;
};
RL_API std::span<const Alias> aliases();

namespace detail {

template <class R>
void put(Returns& r, R&& value) {
  using T = std::remove_cvref_t<R>;
  if constexpr (std::is_same_v<T, Tensor>) {
    r.tensors.push_back(std::forward<R>(value));
  } else if constexpr (std::is_same_v<T, Tensors>) {
    r.shape = Returns::list;
    for (Tensor& t : value) r.tensors.push_back(std::move(t));
  } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, int64_t> || std::is_same_v<T, double> ||
                       std::is_same_v<T, Scalar>) {
    r.shape = Returns::scalar;
    r.number = value;
  } else {
    r.shape = Returns::tuple;
    std::apply([&](auto&... t) { (r.tensors.push_back(std::move(t)), ...); }, value);
  }
}

template <class Op, class R, class... A>
struct Boxed {
  template <size_t... I>
  static void run(const Slot* slots, Target target, const Tensor* out, Returns& r, std::index_sequence<I...>) {
    put(r,
        run_op<Op>(target, out, static_cast<const std::remove_cvref_t<A>&>(take<std::remove_cvref_t<A>>(slots[I]))...));
  }
  static void call(const Slot* slots, Target target, const Tensor* out, Returns& r) {
    run(slots, target, out, r, std::index_sequence_for<A...>());
  }
};

template <class Op, class R, class... A>
constexpr auto boxed(R (Op::*)(Ctx&, A...)) {
  return &Boxed<Op, R, A...>::call;
}

}  // namespace detail

template <class Op>
int bind(Forms forms, const char* doc = "") {
  if constexpr (requires { Op::doc; }) doc = Op::doc;
  registry().push_back({Op::schema, doc, forms, detail::boxed<Op>(&Op::forward)});
  return 0;
}

}  // namespace rushlight

#define RL_JOIN2(a, b) a##b
#define RL_JOIN(a, b) RL_JOIN2(a, b)
#define RL_BIND(Op, ...) \
  [[maybe_unused]] static const int RL_JOIN(bound_, __COUNTER__) = ::rushlight::bind<Op>(__VA_ARGS__);
