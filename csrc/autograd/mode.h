// What the current thread has switched on or off.
#pragma once
#include <atomic>
#include <cstdint>

#include "base/macros.h"

namespace rushlight {

struct Node;

struct ThreadState {
  bool grad_enabled = true;
  bool torch_function_off = false;
  bool burying = false;  // a node is being destroyed
  uint32_t modes = 0;    // bits of what wants to see every operation; none set on the fast path
  Node* dead = nullptr;  // nodes that wait to be destroyed
};
enum ModeBit : uint32_t {
  kTorchFunctionMode = 1,  // a TorchFunctionMode is active
  kAutocast = 2,           // operations choose the precision of their inputs (autocast.h)
  kProfiling = 4,          // operations are noted with their times (profile.h)
  kSeesOperations = kAutocast | kProfiling,
};

extern RL_API constinit thread_local ThreadState tls __attribute__((tls_model("initial-exec")));
extern RL_API std::atomic<uint32_t> process_modes;  // the same for all threads: kProfiling

inline bool seen_operations() {  // whether something wants to see them
  return (tls.modes | process_modes.load(std::memory_order_relaxed)) & kSeesOperations;
}

struct GradMode {
  explicit GradMode(bool on) : before(tls.grad_enabled) { tls.grad_enabled = on; }
  ~GradMode() { tls.grad_enabled = before; }
  GradMode(const GradMode&) = delete;
  bool before;
};
struct NoGradGuard : GradMode {
  NoGradGuard() : GradMode(false) {}
};

}  // namespace rushlight
