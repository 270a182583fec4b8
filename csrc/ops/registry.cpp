#include "ops/registry.h"

namespace rushlight {

std::vector<OpInfo>& registry() {
  static std::vector<OpInfo> list;
  return list;
}

}  // namespace rushlight
