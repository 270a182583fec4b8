// The source of random numbers, with PyTorch's stream: the same seed gives the same numbers.
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/macros.h"
#include "base/mt19937.h"

namespace rushlight {

// Lock `mutex` around any number of draws that belong together (what fills a tensor does). The drawing functions
// themselves do not lock; the others do.
class RL_API Generator {
 public:
  static constexpr uint64_t default_seed = 67280421310721;

  explicit Generator(uint64_t seed = default_seed);
  Generator(const Generator& other);  // continues as `other` would
  Generator& operator=(const Generator&) = delete;

  void manual_seed(uint64_t seed);  // only the low 32 bits matter to the stream
  uint64_t initial_seed() const;
  uint64_t seed();  // seeds from the system's randomness; returns the seed

  // The bytes torch.get_rng_state() gives for the same state; set_state takes either's. Anything else is an error.
  static constexpr size_t state_size = 5056;
  std::vector<uint8_t> get_state() const;
  void set_state(std::span<const uint8_t> bytes);

  uint32_t random32() {
    if (mt.next == mt.size) mt_twist(mt);
    return mt_temper(mt.state[mt.next++]);
  }
  uint64_t random64() {
    uint64_t high = random32();
    return high << 32 | random32();
  }
  // [0, 1)
  double uniform() { return double(random64() & ((uint64_t(1) << 53) - 1)) * 0x1p-53; }
  double normal();  // mean 0, standard deviation 1
  double normal(double mean, double std);

  mutable std::mutex mutex;
  Mt19937 mt;  // kernels that draw many at a time work on this directly

 private:
  void restart(uint64_t seed);

  uint64_t seed_;
  std::optional<double> spare_normal_;  // normals come in pairs
};

RL_API Generator& default_generator();  // seeded at random when the process starts
RL_API uint64_t nondeterministic_seed();

}  // namespace rushlight
