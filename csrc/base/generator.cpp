#include "base/generator.h"

#include <pthread.h>

#include <cmath>
#include <cstring>
#include <numbers>
#include <random>

#include "base/error.h"

namespace rushlight {
namespace {

// The layout of the exchanged state.
struct State {
  uint64_t seed;
  int32_t left;  // words before the next twist, counting the one just handed out
  int32_t seeded;
  uint64_t next;
  uint64_t words[Mt19937::size];
  double unused_x;
  double spare_normal;
  double unused_rho;
  int32_t has_spare_normal;
  int32_t padding;
  float spare_float_normal;
  int32_t has_spare_float_normal;
};
static_assert(sizeof(State) == Generator::state_size);

}  // namespace

Generator::Generator(uint64_t seed) { restart(seed); }

Generator::Generator(const Generator& other) {
  std::lock_guard hold(other.mutex);
  mt = other.mt;
  seed_ = other.seed_;
  spare_normal_ = other.spare_normal_;
}

void Generator::restart(uint64_t seed) {
  seed_ = seed;
  spare_normal_.reset();
  mt_seed(mt, uint32_t(seed));
}

void Generator::manual_seed(uint64_t seed) {
  std::lock_guard hold(mutex);
  restart(seed);
}

uint64_t Generator::initial_seed() const {
  std::lock_guard hold(mutex);
  return seed_;
}

uint64_t Generator::seed() {
  uint64_t s = nondeterministic_seed();
  manual_seed(s);
  return s;
}

// G. E. P. Box, M. E. Muller, "A note on the generation of random normal deviates", 1958.
double Generator::normal() {
  if (spare_normal_) {
    double x = *spare_normal_;
    spare_normal_.reset();
    return x;
  }
  double angle = 2 * std::numbers::pi * uniform();
  double radius = std::sqrt(-2 * std::log1p(-uniform()));
  spare_normal_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

double Generator::normal(double mean, double std) { return std::fma(normal(), std, mean); }

std::vector<uint8_t> Generator::get_state() const {
  std::lock_guard hold(mutex);
  State s{};
  s.seed = seed_;
  s.seeded = 1;
  s.left = mt.size + 1 - mt.next;
  s.next = mt.fresh ? 0 : uint64_t(mt.next);
  for (int i = 0; i < mt.size; ++i) s.words[i] = mt.state[i];
  s.spare_normal = spare_normal_.value_or(0);
  s.has_spare_normal = spare_normal_.has_value();
  std::vector<uint8_t> bytes(sizeof s);
  std::memcpy(bytes.data(), &s, sizeof s);
  return bytes;
}

void Generator::set_state(std::span<const uint8_t> bytes) {
  RL_CHECK(bytes.size() == state_size, "set_state: expected a state of ", state_size, " bytes, got ", bytes.size(),
           hint("give what get_state() or get_rng_state() returned."));
  State s;
  std::memcpy(&s, bytes.data(), sizeof s);
  bool fresh = s.left == 1 && s.next == 0;
  bool valid =
      s.seeded == 1 && (fresh || (s.next >= 1 && s.next <= uint64_t(mt.size) && s.left == mt.size + 1 - int(s.next)));
  for (uint64_t w : s.words) valid &= w <= UINT32_MAX;
  RL_CHECK(valid, "set_state: these bytes are not the state of a generator",
           hint("give what get_state() or get_rng_state() returned."));
  std::lock_guard hold(mutex);
  seed_ = s.seed;
  for (int i = 0; i < mt.size; ++i) mt.state[i] = uint32_t(s.words[i]);
  mt.next = fresh ? mt.size : int(s.next);
  mt.fresh = fresh;
  spare_normal_.reset();
  if (s.has_spare_normal) spare_normal_ = s.spare_normal;
}

uint64_t nondeterministic_seed() {
  std::random_device device;
  return (uint64_t(device()) << 32 | device()) & INT64_MAX;
}

Generator& default_generator() {
  static Generator* const g = [] {
    pthread_atfork([] { default_generator().mutex.lock(); }, [] { default_generator().mutex.unlock(); },
                   [] { default_generator().mutex.unlock(); });
    return new Generator(nondeterministic_seed());
  }();
  return *g;
}

// Made at load: a fork that met the first use half done would leave the child waiting for it.
[[maybe_unused]] static Generator& made_at_load = default_generator();

}  // namespace rushlight
