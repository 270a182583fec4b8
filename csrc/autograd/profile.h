// The profiler's eye in the engine: what ran, when, on which thread and inside of what. Off, an operation pays for one
// look at `process_modes`; on, each thread writes to a log of its own, without locks, and profile::stop collects them.
#pragma once
#include <memory>
#include <string>
#include <type_traits>

#include "autograd/mode.h"
#include "autograd/node.h"

namespace rushlight {

// One argument of an operation, as far as the profiler looks at it.
struct ProfiledArg {
  enum Kind : uint8_t { other, tensor, tensors, integer, integers, real, boolean } kind = other;
  uint32_t count = 0;  // of tensors, integers
  union {
    const void* at = nullptr;  // of tensor, tensors, integers
    int64_t integer_value;
    double real_value;
  };

  ProfiledArg() = default;
  template <class A>
  explicit ProfiledArg(const A& a) {
    if constexpr (std::is_same_v<A, Tensor>) kind = tensor, at = &a;
    else if constexpr (std::is_convertible_v<A, std::span<const Tensor>>) {
      std::span<const Tensor> s(a);
      kind = tensors, at = s.data(), count = uint32_t(s.size());
    } else if constexpr (std::is_same_v<A, IntSpan>) kind = integers, at = a.data(), count = uint32_t(a.size());
    else if constexpr (std::is_same_v<A, bool>) kind = boolean, integer_value = a;
    else if constexpr (std::is_same_v<A, int64_t>) kind = integer, integer_value = a;
    else if constexpr (std::is_same_v<A, double>) kind = real, real_value = a;
    else if constexpr (std::is_same_v<A, Scalar>) {
      if (a.is_floating()) *this = ProfiledArg(a.to_double());
      else *this = ProfiledArg(a.to_int());
    } else if constexpr (requires { *a, a.has_value(); }) {
      if (a.has_value()) *this = ProfiledArg(*a);
    }
  }
};

namespace profile {

enum class Kind : uint8_t {
  operation,
  range,   // of the user's program, by record_function
  node,    // backward of a recorded operation
  memory,  // a tensor's memory taken or given back
};

// What is noted only when it was asked for.
struct Details {
  std::string name;                          // where it is no literal
  std::vector<ProfiledArg> args;             // their pointers lead nowhere any more
  std::vector<std::vector<int64_t>> shapes;  // of each tensor, in the order of args; of tensors, one after the other
  std::vector<DType> dtypes;
  std::vector<std::vector<int64_t>> integers;  // of each argument that is integers
  std::vector<Source> stack;                   // the user's lines, innermost first; the receiver releases them
};

struct Event {
  const char* name = nullptr;  // a schema or node's name; null: details->name
  Kind kind = Kind::operation;
  bool inplace = false;
  int32_t parent = -1;  // the event of this thread around it
  int64_t start = 0;    // nanoseconds, of a clock that never goes back
  std::atomic<int64_t> end{0};
  int64_t sequence = -1;  // what links an operation with its node: the node's
  std::unique_ptr<Details> details;
  const void* address = nullptr;           // of memory
  int64_t bytes = 0, total_allocated = 0;  // of memory: negative when given back; what is in use after it
};

struct Options {
  bool shapes = false, memory = false, stack = false;
};

// What one thread did.
struct ThreadEvents {
  int64_t thread_id;  // the system's
  std::string thread_name;
  std::vector<Event*> events;  // by start; `parent` counts in these. They live as long as the Recording.
};
struct Log;
struct Recording {
  std::vector<ThreadEvents> threads;
  int64_t start = 0, end = 0;
  int64_t epoch = 0;  // what to add to a time to get nanoseconds since 1970
  std::vector<std::shared_ptr<Log>> logs;
};

RL_API void start(Options options);  // all threads are watched, also those that start later
RL_API Recording stop();             // events that still run end now
RL_API bool running();

// The Python layer fills in the user's lines.
extern RL_API void (*note_stack)(std::vector<Source>&);

}  // namespace profile

// An event from its construction to its destruction; nothing where the profiler is off.
class RL_API Profiled {
 public:
  Profiled(const char* schema, bool inplace, std::span<const ProfiledArg> args);  // an operation
  explicit Profiled(const Node& node, bool around = false);  // its backward; or what the engine does around that
  explicit Profiled(std::string name, profile::Kind kind = profile::Kind::range);
  ~Profiled() {
    if (event_) end();
  }
  Profiled(const Profiled&) = delete;
  Profiled& operator=(const Profiled&) = delete;
  void end();  // at once; a second time nothing

 private:
  profile::Event* begin(profile::Kind kind);
  std::shared_ptr<profile::Log> log_;
  profile::Event* event_ = nullptr;
};

}  // namespace rushlight
