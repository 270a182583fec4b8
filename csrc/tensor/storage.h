// Storage: a block of memory and who frees it. It never knows of Python, so it may be held without the GIL.
#pragma once
#include <atomic>

#include "base/allocator.h"
#include "base/dtype.h"
#include "base/ref.h"

namespace rushlight {

struct VersionCounter : RefCounted {
  std::atomic<uint32_t> value{0};
  static void destroy(VersionCounter* v) { delete v; }
};

// Told of the memory of tensors as it is taken (bytes > 0) and given back (bytes < 0), where the profiler wants to
// know.
using AllocationHook = void (*)(const void* data, int64_t bytes);
extern std::atomic<AllocationHook> allocation_hook;

struct RL_API Storage : RefCounted {
  using Deleter = void (*)(void* data, size_t nbytes, void* context);

  void* data = nullptr;
  size_t nbytes = 0;
  Device device;
  bool resizable = true;
  uint8_t room = 0;           // bytes behind this object, in the same block: the data of a small tensor
  Deleter deleter = nullptr;  // null: memory of the caching allocator
  void* context = nullptr;
  std::atomic<uint32_t> version{0};  // counts writes; shared by all views

  static Ref<Storage> make(size_t nbytes, Device device = {});
  static Ref<Storage> wrap(void* data, size_t nbytes, Deleter deleter, void* context);
  static void destroy(Storage* s);
  void release();              // gives the data back to whom it belongs
  void resize(size_t nbytes);  // keeps the old content
};

}  // namespace rushlight
