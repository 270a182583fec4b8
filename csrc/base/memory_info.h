// What the system has in the way of memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace rushlight {

size_t total_memory();      // of the machine, or of the control group if that is less
size_t available_memory();  // what new allocations can have without swapping; SIZE_MAX if the system does not say
std::string human_size(size_t bytes);  // "3.1 GiB"

}  // namespace rushlight
