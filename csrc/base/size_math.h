// Arithmetic on sizes and strides. They are whatever integers users give, so what is worked out from them may not fit.
#pragma once
#include <cstdint>
#include <initializer_list>

#include "base/error.h"

namespace rushlight {

// These raise where the result does not fit; `op` says which operation asked.
inline int64_t checked_add(const char* op, int64_t a, int64_t b) {
  int64_t sum;
  RL_CHECK(!__builtin_add_overflow(a, b, &sum), op, ": a size of ", a, " + ", b, " does not fit 64 bits");
  return sum;
}
inline int64_t checked_mul(const char* op, int64_t a, int64_t b) {
  int64_t product;
  RL_CHECK(!__builtin_mul_overflow(a, b, &product), op, ": a size of ", a, " * ", b, " does not fit 64 bits");
  return product;
}

// Of strides and offsets: those of a tensor without elements may exceed 64 bits, and are never used.
inline int64_t wrapping_add(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
inline int64_t wrapping_mul(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }

// Of estimates: the product of numbers that are not negative, or the largest there is.
inline int64_t saturating_product(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  bool over = false;
  for (int64_t f : factors) {
    if (f == 0) return 0;
    over |= __builtin_mul_overflow(product, f, &product);
  }
  return over ? INT64_MAX : product;
}

// a / b rounded up or down, for b > 0. Unlike (a + b - 1) / b it cannot overflow.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0); }
constexpr int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

}  // namespace rushlight
