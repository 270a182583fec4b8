#include "ops/registry.h"

namespace rushlight {

std::vector<OpInfo>& registry() {
  static std::vector<OpInfo> list;
  return list;
}

std::span<const Alias> aliases() {
  static constexpr Alias all[] = {
      {"absolute", "abs"},    {"arccos", "acos"},   {"arccosh", "acosh"},    {"arcsin", "asin"}, {"arcsinh", "asinh"},
      {"arctan", "atan"},     {"arctan2", "atan2"}, {"arctanh", "atanh"},    {"clip", "clamp"},  {"divide", "div"},
      {"fix", "trunc"},       {"greater", "gt"},    {"greater_equal", "ge"}, {"less", "lt"},     {"less_equal", "le"},
      {"multiply", "mul"},    {"negative", "neg"},  {"not_equal", "ne"},     {"sgn", "sign"},    {"subtract", "sub"},
      {"true_divide", "div"},
  };
  return all;
}

}  // namespace rushlight
