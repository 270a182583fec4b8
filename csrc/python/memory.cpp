// What the allocator says of itself, and the thread pool's size.
#include "base/allocator.h"
#include "base/thread_pool.h"
#include "python/common.h"

namespace rushlight::python {

void bind_memory(nb::module_& m) {
  m.def(
      "memory_stats",
      [] {
        MemoryStats s = memory_stats();
        nb::dict d;
        d["allocated"] = s.allocated;
        d["allocated_peak"] = s.allocated_peak;
        d["reserved"] = s.reserved;
        d["reserved_peak"] = s.reserved_peak;
        d["allocations"] = s.allocations;
        d["frees"] = s.frees;
        d["cache_hits"] = s.cache_hits;
        return d;
      },
      "What tensors hold and held: bytes allocated and reserved from the system, now and at most, and counts of "
      "calls.");
  m.def("reset_peak_memory_stats", reset_peak_memory_stats, "Peaks count from what is held now.");
  m.def("empty_cache", empty_cache, "Gives memory that is kept for reuse back to the system.");
  m.def("set_cache_limit", set_cache_limit, nb::arg("bytes"), "Keeps at most this much unused memory.");
  m.def("get_num_threads", num_threads, "How many threads an operation may use.");
  m.def("set_num_threads", set_num_threads, nb::arg("n"), "Lets operations use up to n threads.");
}

}  // namespace rushlight::python
