#include "base/memory_info.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace rushlight {
namespace {

// The number after `key` in a file of "key value" lines, or the file's first number for an empty key.
// SIZE_MAX where there is none ("max" in a control group's files).
size_t read_number(const std::string& path, const char* key) {
  std::ifstream in(path);
  std::string word;
  size_t value;
  if (!*key) return in >> value ? value : SIZE_MAX;
  while (in >> word)
    if (word == key) return in >> value ? value : SIZE_MAX;
  return SIZE_MAX;
}

// The folder of this process's control group (version 2), empty if there is none.
std::string control_group() {
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);)
    if (line.rfind("0::", 0) == 0) {
      std::string own = "/sys/fs/cgroup" + line.substr(3);
      return access((own + "/memory.max").c_str(), R_OK) == 0 ? own : "/sys/fs/cgroup";
    }
  return "";
}

}  // namespace

size_t total_memory() {
  size_t pages = size_t(std::max(0L, sysconf(_SC_PHYS_PAGES)));
  return std::min(pages * size_t(sysconf(_SC_PAGESIZE)), read_number(control_group() + "/memory.max", ""));
}

size_t available_memory() {
  size_t available = read_number("/proc/meminfo", "MemAvailable:");
  if (available != SIZE_MAX) {
    size_t swap = read_number("/proc/meminfo", "SwapFree:");
    available = (available + (swap == SIZE_MAX ? 0 : swap)) * 1024;
  }
  std::string group = control_group();
  size_t limit = read_number(group + "/memory.max", "");
  size_t used = read_number(group + "/memory.current", "");
  if (limit != SIZE_MAX && used != SIZE_MAX) {
    size_t file = read_number(group + "/memory.stat", "file");  // the page cache, which yields
    if (file != SIZE_MAX) used -= std::min(used, file);
    available = std::min(available, limit - std::min(limit, used));
  }
  return available;
}

std::string human_size(size_t bytes) {
  const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  int u = 0;
  double x = double(bytes);
  for (; x >= 1024 && u < 6; ++u) x /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, u == 0 ? "%.0f %s" : "%.1f %s", x, units[u]);
  return text;
}

}  // namespace rushlight
