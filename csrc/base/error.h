// Errors a user can cause. The kind names the Python exception; the hint says how to mend it.
#pragma once
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/macros.h"

namespace rushlight {

enum class ErrorKind { Runtime, Value, Type, Index, NotImplemented, OutOfMemory, Assertion, Overflow };

class RL_API Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind(kind) {}
  ErrorKind kind;
};

namespace detail {
template <class... A>
std::string concat(const A&... parts) {
  std::ostringstream s;
  (s << ... << parts);
  return std::move(s).str();
}
}  // namespace detail

// fail(ErrorKind::Value, "dim is ", d, ", but ...", hint("..."))
inline std::string hint(const std::string& text) { return "\n  hint: " + text; }

template <class... A>
[[noreturn, gnu::cold, gnu::noinline]] void fail(ErrorKind kind, const A&... parts) {
  throw Error(kind, detail::concat(parts...));
}

// "add" of "add(Tensor self, ...": the operation that an error names, from its schema.
inline std::string op_name(std::string_view schema) { return std::string(schema.substr(0, schema.find('('))); }

// Tells the user of something odd that is no error; the Python layer makes it a UserWarning.
extern RL_API void (*warning_hook)(const std::string& message);
inline void warn(const std::string& message) {
  if (warning_hook) warning_hook(message);
}

}  // namespace rushlight

// The message is put together only when the condition fails.
#define RL_CHECK(condition, ...) \
  if (!(condition)) [[unlikely]] \
  ::rushlight::fail(::rushlight::ErrorKind::Runtime, __VA_ARGS__)
#define RL_CHECK_KIND(condition, kind_, ...) \
  if (!(condition)) [[unlikely]]             \
  ::rushlight::fail(::rushlight::ErrorKind::kind_, __VA_ARGS__)
