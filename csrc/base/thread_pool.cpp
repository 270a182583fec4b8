#include "base/thread_pool.h"

#include <pthread.h>
#include <signal.h>
#ifdef __linux__
  #include <sched.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"

namespace rushlight {
namespace {

constexpr int max_threads = 1024;
constexpr auto spin_time = std::chrono::microseconds(100);  // covers the gap between two operations of an eager program

thread_local bool inside_region = false;

int available_cpus() {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
#endif
  return std::max(1, int(std::thread::hardware_concurrency()));
}

int default_threads() {
  for (const char* name : {"RUSHLIGHT_NUM_THREADS", "OMP_NUM_THREADS"})
    if (const char* text = std::getenv(name))
      if (long n = std::strtol(text, nullptr, 10); n >= 1) return int(std::min<long>(n, max_threads));
  return std::min(available_cpus(), max_threads);
}

std::atomic<int>& wanted_threads() {
  static std::atomic<int> n{default_threads()};
  return n;
}

void relax() {
#ifdef __x86_64__
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Returns what `word` holds once that is no longer `old`: spins for a while (if spinning helps), then sleeps.
uint32_t wait_while(const std::atomic<uint32_t>& word, uint32_t old, bool spin) {
  if (spin) {
    auto start = std::chrono::steady_clock::now();
    do {
      for (int i = 0; i < 32; ++i) {
        if (uint32_t now = word.load(std::memory_order_acquire); now != old) return now;
        relax();
      }
    } while (std::chrono::steady_clock::now() - start < spin_time);
  }
  word.wait(old, std::memory_order_acquire);
  return word.load(std::memory_order_acquire);
}

// A worker's word goes idle -> ready (set by the caller) -> running (claimed by the worker) -> idle. A piece that its
// worker has not claimed by the time the caller is through with its own is taken back by the caller (ready -> idle),
// so that a worker that wakes late costs nothing. The upper bits count regions, so that such a worker still sees that
// there was work, and spins before it sleeps again.
enum : uint32_t { idle, ready, running, stop, states };

struct alignas(64) Worker {
  std::atomic<uint32_t> word{idle};
  std::thread thread;
};

class Pool {
 public:
  // Held by one region at a time. Others do not wait for it.
  bool try_lock() { return !busy_.exchange(true, std::memory_order_acquire); }
  void unlock() { busy_.store(false, std::memory_order_release); }

  void resize(int workers) {  // with the lock held
    spin_.store(workers < available_cpus(), std::memory_order_relaxed);
    shrink(workers);
    workers_.reserve(size_t(workers));  // what throws, throws before a thread is there that nobody would join
    while (workers_.size() < size_t(workers))
      if (!add_worker()) break;  // no more threads to be had: go on with those there are
    size_ = workers;
  }

  void shrink(int workers) {  // with the lock held
    for (; workers_.size() > size_t(workers); workers_.pop_back()) {
      Worker& last = *workers_.back();
      last.word.store(stop, std::memory_order_release);
      last.word.notify_one();
      last.thread.join();
    }
    size_ = std::min(size_, workers);
  }

  void run(int threads, int64_t begin, int64_t end, int64_t grain, detail::RangeFn fn, void* ctx) {
    if (size_ != threads - 1) resize(threads - 1);
    int64_t length = end - begin;
    int64_t pieces = std::min<int64_t>(int64_t(workers_.size()) + 1, length / grain);
    int64_t step = (length + pieces - 1) / pieces;
    pieces = (length + step - 1) / step;

    begin_ = begin, end_ = end, step_ = step, fn_ = fn, ctx_ = ctx;
    failed_.store(false, std::memory_order_relaxed);
    uint32_t region = states * ++regions_;
    for (int64_t i = 1; i < pieces; ++i) {
      auto& word = workers_[i - 1]->word;
      word.store(region + ready, std::memory_order_release);
      word.notify_one();
    }
    run_piece(0);
    for (int64_t i = 1; i < pieces; ++i) {
      auto& word = workers_[i - 1]->word;
      uint32_t expected = region + ready;
      if (word.compare_exchange_strong(expected, region + idle, std::memory_order_acquire)) run_piece(i);
      else wait_while(word, region + running, spin_.load(std::memory_order_relaxed));
    }
  }

  std::exception_ptr take_error() { return std::exchange(error_, nullptr); }

  Pool* before_fork = nullptr;  // keeps what the parent's pool holds reachable for leak checkers

 private:
  void run_piece(int64_t i) noexcept {
    int64_t b = begin_ + i * step_;
    try {
      fn_(ctx_, b, std::min(end_, b + step_));
    } catch (...) {
      if (!failed_.exchange(true, std::memory_order_relaxed)) error_ = std::current_exception();
    }
  }

  bool add_worker() {
    auto worker = std::make_unique<Worker>();
    // Signals go to the program's own threads.
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool started = true;
    try {
      worker->thread = std::thread([this, w = worker.get(), index = int64_t(workers_.size())] { work(*w, index); });
    } catch (const std::system_error&) {
      started = false;
    }
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    if (started) workers_.push_back(std::move(worker));
    return started;
  }

  void work(Worker& self, int64_t index) {
#ifdef __linux__
    pthread_setname_np(pthread_self(), "rushlight");
#endif
    inside_region = true;
    for (uint32_t seen = idle; seen % states != stop;) {
      seen = wait_while(self.word, seen, spin_.load(std::memory_order_relaxed));
      uint32_t region = seen - seen % states;
      if (seen == region + ready &&
          self.word.compare_exchange_strong(seen, region + running, std::memory_order_acquire)) {
        run_piece(index + 1);
        seen = region + idle;
        self.word.store(seen, std::memory_order_release);
        self.word.notify_one();
      }
    }
  }

  std::atomic<bool> busy_{false};
  std::atomic<bool> spin_{true};  // not where threads outnumber the CPUs
  std::vector<std::unique_ptr<Worker>> workers_;
  uint32_t regions_ = 0;
  int size_ = 0;  // the number asked for; there may be fewer

  // The region being run. Written by the caller while every worker is idle.
  int64_t begin_ = 0, end_ = 0, step_ = 0;
  detail::RangeFn fn_ = nullptr;
  void* ctx_ = nullptr;
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;
};

// Never destroyed: workers may outlive static destructors, and sleeping threads do no harm at exit.
std::atomic<Pool*> the_pool{nullptr};
Pool* parents_pool = nullptr;

// A child has none of its parent's workers, and may find the lock held by a thread that is not there.
void forget_pool_in_child() {
  if (Pool* p = the_pool.exchange(nullptr, std::memory_order_relaxed)) parents_pool = p;
  inside_region = false;
}

// At load: a fork that met a first use half done would leave the child waiting for it.
[[maybe_unused]] const int made_at_load = (wanted_threads(), pthread_atfork(nullptr, nullptr, forget_pool_in_child));

Pool& pool() {
  Pool* p = the_pool.load(std::memory_order_acquire);
  if (p) return *p;
  auto fresh = std::make_unique<Pool>();
  fresh->before_fork = parents_pool;
  if (the_pool.compare_exchange_strong(p, fresh.get(), std::memory_order_acq_rel)) p = fresh.release();
  return *p;
}

}  // namespace

int num_threads() { return wanted_threads().load(std::memory_order_relaxed); }

void set_num_threads(int n) {
  RL_CHECK(n >= 1, "set_num_threads: expected at least 1 thread, got ", n);
  RL_CHECK(n <= max_threads, "set_num_threads: expected at most ", max_threads, " threads, got ", n);
  wanted_threads().store(n, std::memory_order_relaxed);
  // Surplus workers end at once if no region is running, else when the next one begins. New ones start when needed.
  Pool* p = the_pool.load(std::memory_order_acquire);
  if (p && !inside_region && p->try_lock()) {
    p->shrink(n - 1);
    p->unlock();
  }
}

bool in_parallel_region() { return inside_region; }

void detail::parallel_for(int64_t begin, int64_t end, int64_t grain, RangeFn fn, void* ctx) {
  if (begin >= end) return;
  grain = std::max<int64_t>(grain, 1);
  int threads = num_threads();
  if (threads == 1 || end - begin < 2 * grain || inside_region) return fn(ctx, begin, end);
  Pool& p = pool();
  if (!p.try_lock()) return fn(ctx, begin, end);
  inside_region = true;
  std::exception_ptr error;
  try {
    p.run(threads, begin, end, grain, fn, ctx);
  } catch (...) {  // no memory to keep track of workers
    error = std::current_exception();
  }
  if (!error) error = p.take_error();
  inside_region = false;
  p.unlock();
  if (error) std::rethrow_exception(error);
}

}  // namespace rushlight
