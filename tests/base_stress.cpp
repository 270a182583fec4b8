// Puts the allocator, the thread pool and the generator under strain; tests/test_base.py builds and runs it, also under
// sanitizers. Exit status 0 and "ok" if all holds.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "base/allocator.h"
#include "base/error.h"
#include "base/generator.h"
#include "base/thread_pool.h"

using namespace rushlight;

#define EXPECT(condition)                                       \
  if (!(condition)) {                                           \
    std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
    std::fflush(stdout);                                        \
    std::abort();                                               \
  }

template <class F>
void in_child(F f) {
#ifdef __SANITIZE_ADDRESS__
  return f();  // the sanitizer's own allocator may hang in a child of several threads
#endif
  pid_t child = fork();
  if (child == 0) {
    alarm(30);  // a child that hangs is a failure
    f();
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  EXPECT(status == 0);
}

// ---- allocator ----

constexpr size_t small_block = 5000;

struct Block {
  unsigned char* p;
  size_t n;
  unsigned char mark;

  Block(size_t n, unsigned char mark) : p(static_cast<unsigned char*>(allocate(n))), n(n), mark(mark) {
    EXPECT(uintptr_t(p) % 64 == 0);
    std::memset(p, mark, n < small_block ? n : 64);
    p[n / 2] = p[n - 1] = mark;
  }
  void check_and_free() {
    EXPECT(p[0] == mark && p[n / 2] == mark && p[n - 1] == mark);
    for (size_t i = 0; i < n && n < small_block; ++i) EXPECT(p[i] == mark);
    deallocate(p, n);
  }
};

void churn(unsigned seed, int rounds) {
  std::mt19937 g(seed);
  const unsigned bounds[] = {512, 40'000, 2'000'000, 10'000'000};
  std::vector<Block> live;
  for (int i = 0; i < rounds; ++i) {
    if (live.size() < 100 && g() % 2) {
      live.emplace_back(64 + g() % bounds[g() % 4], g());
    } else if (!live.empty()) {
      size_t k = g() % live.size();
      live[k].check_and_free();
      live[k] = live.back();
      live.pop_back();
    }
  }
  for (Block& b : live) b.check_and_free();
}

void check_allocator() {
  EXPECT(allocate(0) == nullptr);
  deallocate(nullptr, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) threads.emplace_back(churn, t, 3000);
  for (int i = 0; i < 5; ++i) in_child([] { churn(9, 300); });
  for (auto& t : threads) t.join();

  MemoryStats s = memory_stats();
  EXPECT(s.allocated == 0 && s.allocations == s.frees && s.allocated_peak > 0);
  empty_cache();
  EXPECT(memory_stats().reserved == 0);

  void* p = allocate(1000);
  void* q = allocate(3'000'000);
  s = memory_stats();
  EXPECT(s.allocated == 3'001'000);
  deallocate(p, 1000);
  deallocate(q, 3'000'000);
  reset_peak_memory_stats();
  EXPECT(memory_stats().allocated_peak == 0);

  set_cache_limit(16 << 20);
  churn(5, 3000);
  EXPECT(memory_stats().reserved <= (16 << 20) + (8 << 20));  // what is in partly used pieces comes on top
  set_cache_limit(0);
  churn(6, 300);
  set_cache_limit(size_t(1) << 30);

  for (size_t absurd : {size_t(1) << 60, size_t(1) << 45, SIZE_MAX}) try {
      allocate(absurd);
      EXPECT(!"an error");
    } catch (const Error& e) {
      EXPECT(e.kind == ErrorKind::OutOfMemory && std::strstr(e.what(), "out of memory: asked for"));
    }
}

// ---- thread pool ----

void cover(int64_t length, int64_t grain) {
  std::vector<std::atomic<int>> times(length);
  parallel_for(0, length, grain, [&](int64_t b, int64_t e) {
    EXPECT(e - b >= grain || e == length);
    bool nested = in_parallel_region();
    parallel_for(b, e, 1, [&](int64_t b2, int64_t e2) {
      EXPECT(!nested || (b2 == b && e2 == e));
      for (int64_t i = b2; i < e2; ++i) times[i]++;
    });
  });
  for (auto& t : times) EXPECT(t == 1);
}

void check_pool() {
  for (int n : {1, 2, 3, 8, 2}) {
    set_num_threads(n);
    EXPECT(num_threads() == n);
    for (int64_t length : {1, 2, 7, 100, 1000})
      for (int64_t grain : {1, 3, 50}) cover(length, grain);
    for (int64_t bad : {0, 99}) {
      bool thrown = false;
      try {
        parallel_for(0, 100, 1, [bad](int64_t b, int64_t e) {
          if (b <= bad && bad < e) fail(ErrorKind::Value, "piece with ", bad);
        });
      } catch (const Error& e) {
        thrown = e.kind == ErrorKind::Value;
      }
      EXPECT(thrown && !in_parallel_region());
    }
  }
  in_child([] { cover(1000, 10); });

  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 200; ++i) cover(500, 10);
    });
  for (int i = 0; i < 20; ++i) {
    set_num_threads(1 + i % 4);
    in_child([] { cover(500, 10); });
  }
  for (auto& t : threads) t.join();
}

// ---- generator ----

void check_generator() {
  auto draw = [] {
    std::lock_guard hold(default_generator().mutex);
    for (int i = 0; i < 100; ++i) default_generator().normal();
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) draw();
    });
  for (int i = 0; i < 5; ++i) in_child(draw);
  for (auto& t : threads) t.join();
}

int main() {
  check_allocator();
  check_pool();
  check_generator();
  std::puts("ok");
}
