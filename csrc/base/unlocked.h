// Long work lets other Python threads run. The Python layer sets the functions; without it nothing happens.
// No Tensor may be copied or dropped while an Unlocked lives: only Storage and raw memory are safe without the GIL.
#pragma once
#include <cstdint>

#include "base/macros.h"

namespace rushlight {

struct GilHooks {
  void* (*release)() = nullptr;  // null result: this thread does not hold it
  void (*acquire)(void*) = nullptr;
};
extern RL_API GilHooks gil_hooks;
extern RL_API thread_local bool hold_gil;  // set where other threads must not come in between

class Unlocked {
 public:
  // Below some 20 microseconds of work (given in elementary steps) releasing costs more than it gives.
  explicit Unlocked(int64_t work) {
    if (work > 100000 && gil_hooks.release && !hold_gil) state_ = gil_hooks.release();
  }
  ~Unlocked() {
    if (state_) gil_hooks.acquire(state_);
  }
  Unlocked(const Unlocked&) = delete;

 private:
  void* state_ = nullptr;
};

}  // namespace rushlight
