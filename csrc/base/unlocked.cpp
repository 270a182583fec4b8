#include "base/unlocked.h"

namespace rushlight {

GilHooks gil_hooks;
thread_local bool hold_gil = false;

}  // namespace rushlight
