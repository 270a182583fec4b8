// The caching allocator for CPU memory. Every block is aligned to 64 bytes. Thread-safe, usable after fork.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/macros.h"

namespace rushlight {

struct MemoryStats {
  size_t allocated, allocated_peak;  // bytes handed out now, and at most
  size_t reserved, reserved_peak;    // bytes held from the system
  uint64_t allocations, frees;       // calls so far
  uint64_t cache_hits;               // allocations served without asking the system
};

// Throws Error(OutOfMemoryError) that says what was asked, held and free. bytes == 0 gives nullptr.
RL_API void* allocate(size_t bytes);
RL_API void deallocate(void* p, size_t bytes) noexcept;  // bytes as given to allocate
RL_API MemoryStats memory_stats();
RL_API void reset_peak_memory_stats();
RL_API void empty_cache();                  // gives cached memory back to the system
RL_API void set_cache_limit(size_t bytes);  // keeps at most this much unused memory

}  // namespace rushlight
