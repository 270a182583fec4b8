// Two heaps under one lock, both kept from the system's allocator so that memory once faulted in is reused:
// small blocks come from slabs of equal blocks, large ones from page-granular best fit with split and merge.
#include "base/allocator.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "base/memory_info.h"

namespace rushlight {
namespace {

constexpr size_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;
constexpr size_t page = 4 * KiB;
constexpr size_t huge_page = 2 * MiB;
constexpr size_t slab_size = 256 * KiB;  // and alignment, so that a block's slab is found by masking its address
constexpr size_t arena_size = 4 * MiB;   // slabs are mapped this many at a time
constexpr size_t largest_small = 32 * KiB;
constexpr size_t largest_medium = 1 * MiB;
constexpr size_t address_space = size_t(1) << 46;
constexpr size_t worth_a_look = 64 * MiB;  // from here on ask the system first: it promises memory it does not have

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

// Held for some ten nanoseconds as a rule, never during a page fault or munmap.
class SpinLock {
 public:
  void lock() noexcept {
    for (int tries = 0; held_.exchange(true, std::memory_order_acquire);)
      while (held_.load(std::memory_order_relaxed))
        if (++tries % 64 == 0) sched_yield();
  }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

char* map_pages(size_t size, size_t alignment) {
  size_t room = size + alignment - page;
  void* p = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  char* first = static_cast<char*>(p);
  char* aligned = reinterpret_cast<char*>(round_up(reinterpret_cast<uintptr_t>(first), alignment));
  if (aligned > first) munmap(first, aligned - first);
  if (size_t rest = first + room - (aligned + size)) munmap(aligned + size, rest);
  return aligned;
}

// ---- small blocks ----

struct FreeBlock {
  FreeBlock* next;
};

// Lies at the start of its 256 KiB. In its class's list while it has a block to give.
struct alignas(64) Slab {
  Slab *next, *prev;
  FreeBlock* free;        // blocks given back
  uint32_t used, fresh;   // blocks handed out; blocks never touched so far, at the end
  uint32_t block, klass;  // block size
};

// Up to 512 bytes in steps of 64, from there on four classes per doubling.
constexpr int size_class(size_t bytes) {
  size_t last = bytes - 1;
  if (last < 512) return int(last / 64);
  int top = std::bit_width(last) - 1;
  return 8 + (top - 9) * 4 + int(last >> (top - 2) & 3);
}
constexpr size_t class_size(int klass) {
  if (klass < 8) return size_t(klass + 1) * 64;
  return size_t(5 + (klass - 8) % 4) << ((klass - 8) / 4 + 7);
}
constexpr int class_count = size_class(largest_small) + 1;
static_assert(class_size(size_class(513)) == 640 && class_size(class_count - 1) == largest_small);

struct SmallHeap {
  Slab* partial[class_count] = {};
  Slab* empty = nullptr;  // no class; linked by next
  size_t empty_bytes = 0;

  void* take(int klass) {
    Slab* s = partial[klass];
    if (!s) {
      if (!empty) return nullptr;
      s = empty;
      empty = s->next;
      empty_bytes -= slab_size;
      uint32_t size = uint32_t(class_size(klass));
      *s = {nullptr, nullptr, nullptr, 0, uint32_t((slab_size - sizeof(Slab)) / size), size, uint32_t(klass)};
      link(s);
    }
    void* p;
    if (s->free) {
      p = s->free;
      s->free = s->free->next;
    } else {
      p = reinterpret_cast<char*>(s) + slab_size - size_t(s->fresh--) * s->block;
    }
    s->used++;
    if (full(s)) unlink(s);
    return p;
  }

  void put(void* p) {
    Slab* s = reinterpret_cast<Slab*>(reinterpret_cast<uintptr_t>(p) & ~(slab_size - 1));
    if (full(s)) link(s);
    auto* block = static_cast<FreeBlock*>(p);
    block->next = s->free;
    s->free = block;
    s->used--;
    if (s->used == 0 && (s->next || s->prev)) {  // the last slab of its class stays
      unlink(s);
      add_empty(s);
    }
  }

  void add_empty(Slab* s) {
    s->next = empty;
    empty = s;
    empty_bytes += slab_size;
  }

  Slab* remove_empty() {
    Slab* s = empty;
    if (s) empty = s->next, empty_bytes -= slab_size;
    return s;
  }

  void unlink_unused() {
    for (Slab* s : partial)
      if (s && s->used == 0) unlink(s), add_empty(s);
  }

 private:
  static bool full(const Slab* s) { return !s->free && s->fresh == 0; }
  void link(Slab* s) {
    s->prev = nullptr;
    s->next = partial[s->klass];
    if (s->next) s->next->prev = s;
    partial[s->klass] = s;
  }
  void unlink(Slab* s) {
    (s->prev ? s->prev->next : partial[s->klass]) = s->next;
    if (s->next) s->next->prev = s->prev;
  }
};

// ---- large blocks ----

// A run of pages. What lies next to it in the same mapping is linked, so that free neighbours merge.
struct Block {
  char* p;
  size_t size;
  Block *left, *right;
  bool free;
  int pool;
};

struct BySize {
  using is_transparent = void;
  bool operator()(const Block* a, const Block* b) const { return a->size != b->size ? a->size < b->size : a->p < b->p; }
  bool operator()(const Block* a, size_t size) const { return a->size < size; }
};

class LargeHeap {
 public:
  // Medium and large requests have mappings of their own, lest a long-lived weight split the block in which an
  // activation a hundred times its size should be reused.
  static int pool_of(size_t size) { return size > largest_medium; }
  static size_t mapping_size(size_t size) {
    if (pool_of(size) == 0) return 8 * MiB;
    return size < 16 * MiB ? 32 * MiB : round_up(size, huge_page);
  }

  void* take(size_t size) {
    auto& pool = free_[pool_of(size)];
    auto it = pool.lower_bound(size);
    if (it == pool.end()) return nullptr;
    Block* b = *it;
    // Everything that can throw comes first.
    std::unique_ptr<Block> rest(b->size > size ? new Block : nullptr);
    live_.emplace(b->p, b);
    auto node = pool.extract(it);
    free_bytes_ -= size;
    b->free = false;
    if (rest) {
      *rest = {b->p + size, b->size - size, b, b->right, true, b->pool};
      if (b->right) b->right->left = rest.get();
      b->right = rest.get();
      b->size = size;
      node.value() = rest.release();
      pool.insert(std::move(node));
    }
    return b->p;
  }

  void put(void* p) {
    auto it = live_.find(static_cast<char*>(p));
    Block* b = it->second;
    live_.erase(it);
    if (b->left && b->left->free) b = absorb_right(remove_free(b->left));
    if (b->right && b->right->free) remove_free(b->right), absorb_right(b);
    insert_free(b);
  }

  void add_mapping(char* p, size_t size, int pool) {
    auto b = std::make_unique<Block>(Block{p, size, nullptr, nullptr, false, pool});
    insert_free(b.release());
  }

  // Takes a free block out: the smallest of at least `wish` bytes, else the largest.
  bool remove(size_t wish, char*& p, size_t& size) {
    Block* best = nullptr;
    for (auto& pool : free_) {
      if (pool.empty()) continue;
      auto it = pool.lower_bound(wish);
      Block* b = it == pool.end() ? *pool.rbegin() : *it;
      if (!best || (best->size < wish ? b->size > best->size : b->size >= wish && b->size < best->size)) best = b;
    }
    if (!best) return false;
    remove_free(best);
    if (best->left) best->left->right = nullptr;
    if (best->right) best->right->left = nullptr;
    p = best->p, size = best->size;
    delete best;
    return true;
  }

  size_t free_bytes() const { return free_bytes_; }

 private:
  void insert_free(Block* b) {
    b->free = true;
    free_[b->pool].insert(b);
    free_bytes_ += b->size;
  }
  Block* remove_free(Block* b) {
    b->free = false;
    free_[b->pool].erase(b);
    free_bytes_ -= b->size;
    return b;
  }
  Block* absorb_right(Block* b) {
    Block* r = b->right;
    b->size += r->size;
    b->right = r->right;
    if (r->right) r->right->left = b;
    delete r;
    return b;
  }

  std::set<Block*, BySize> free_[2];
  std::unordered_map<char*, Block*> live_;
  size_t free_bytes_ = 0;
};

// ---- both ----

// Never destroyed: tensors may outlive static destructors.
struct Heap {
  SpinLock lock;
  MemoryStats stats{};
  size_t cache_limit = std::min(total_memory() / 4, 8 * GiB);
  SmallHeap small;
  LargeHeap large;

  size_t cached() const { return small.empty_bytes + large.free_bytes(); }

  void count(size_t bytes, bool hit) {
    stats.allocated += bytes;
    if (stats.allocated > stats.allocated_peak) stats.allocated_peak = stats.allocated;
    stats.allocations++;
    stats.cache_hits += hit;
  }
  void reserve(size_t bytes) {
    stats.reserved += bytes;
    stats.reserved_peak = std::max(stats.reserved_peak, stats.reserved);
  }
};

Heap& heap() {
  static Heap* const h = [] {
    pthread_atfork([] { heap().lock.lock(); }, [] { heap().lock.unlock(); }, [] { heap().lock.unlock(); });
    return new Heap;
  }();
  return *h;
}

// Straight to malloc: so that a sanitizer sees each block's true bounds, or when asked for to compare.
bool pass_through() {
#ifdef __SANITIZE_ADDRESS__
  return true;
#else
  static const bool wish = [] {
    const char* text = std::getenv("RUSHLIGHT_NO_CACHE");
    return text && *text && *text != '0';
  }();
  return wish;
#endif
}

// Made at load: a fork that met the first use half done would leave the child waiting for it.
[[maybe_unused]] const bool made_at_load = (heap(), pass_through());

// Gives cached memory back until at most `keep` bytes of it are left. munmap can take long, so not under the lock.
void trim(Heap& h, size_t keep) {
  for (;;) {
    char* p;
    size_t size;
    {
      std::lock_guard hold(h.lock);
      if (h.cached() <= keep) return;
      if (!h.large.remove(h.cached() - keep, p, size)) {
        p = reinterpret_cast<char*>(h.small.remove_empty());
        size = slab_size;
        if (!p) return;
      }
      h.stats.reserved -= size;
    }
    munmap(p, size);
  }
}

[[noreturn, gnu::cold, gnu::noinline]] void out_of_memory(size_t bytes) {
  MemoryStats s = memory_stats();
  size_t available = available_memory();
  std::string left = available == SIZE_MAX ? "" : ", " + human_size(available) + " free in the system";
  bool hopeless = bytes > total_memory();
  fail(ErrorKind::OutOfMemory, "out of memory: asked for ", human_size(bytes), "; ", human_size(s.allocated),
       " in use, ", human_size(s.reserved - std::min(s.reserved, s.allocated)), " cached", left,
       hopeless ? hint("that is more than this machine has; is one of the sizes wrong?")
                : hint("try a smaller batch, delete tensors no longer needed (a graph keeps what its backward needs), "
                       "or use no_grad() where no gradient is wanted."));
}

void* allocate_plain(Heap& h, size_t bytes) {
  void* p;
  if (bytes > address_space || (bytes >= worth_a_look && bytes > available_memory()) || posix_memalign(&p, 64, bytes))
    out_of_memory(bytes);
  std::lock_guard hold(h.lock);
  h.reserve(bytes);
  h.count(bytes, false);
  return p;
}

void* allocate_small(Heap& h, size_t bytes) {
  int klass = size_class(bytes);
  bool hit = true;
  for (;; hit = false) {
    {
      std::lock_guard hold(h.lock);
      if (void* p = h.small.take(klass)) {
        h.count(bytes, hit);
        return p;
      }
    }
    char* arena = map_pages(arena_size, slab_size);
    if (!arena) trim(h, 0), arena = map_pages(arena_size, slab_size);
    if (!arena) out_of_memory(bytes);
    std::lock_guard hold(h.lock);
    h.reserve(arena_size);
    for (char* p = arena; p < arena + arena_size; p += slab_size) h.small.add_empty(::new (p) Slab);
  }
}

// New pages for at least `size` bytes, or nullptr; `got` says how many.
char* map_large(size_t size, size_t& got) {
  for (size_t n : {LargeHeap::mapping_size(size), size})
    if (char* p = map_pages(n, huge_page)) {
#ifdef MADV_HUGEPAGE
      madvise(p, n, MADV_HUGEPAGE);
#endif
      got = n;
      return p;
    }
  return nullptr;
}

void* allocate_large(Heap& h, size_t bytes) {
  if (bytes > address_space) out_of_memory(bytes);
  size_t size = round_up(bytes, page);
  {
    std::lock_guard hold(h.lock);
    if (void* p = h.large.take(size)) {
      h.count(bytes, true);
      return p;
    }
  }
  if (size >= worth_a_look && size > available_memory()) {
    trim(h, 0);
    if (size > available_memory()) out_of_memory(bytes);
  }
  size_t got;
  char* p = map_large(size, got);
  if (!p) trim(h, 0), p = map_large(size, got);
  if (!p) out_of_memory(bytes);
  std::lock_guard hold(h.lock);
  h.large.add_mapping(p, got, LargeHeap::pool_of(size));
  h.reserve(got);
  void* block = h.large.take(size);
  h.count(bytes, false);
  return block;
}

}  // namespace

void* allocate(size_t bytes) {
  if (bytes == 0) return nullptr;
  Heap& h = heap();
  try {
    if (pass_through()) return allocate_plain(h, bytes);
    return bytes <= largest_small ? allocate_small(h, bytes) : allocate_large(h, bytes);
  } catch (const std::bad_alloc&) {  // from the heap's own records
    out_of_memory(bytes);
  }
}

void deallocate(void* p, size_t bytes) noexcept {
  if (!p) return;
  Heap& h = heap();
  bool plain = pass_through(), over = false;
  {
    std::lock_guard hold(h.lock);
    h.stats.allocated -= bytes;
    h.stats.frees++;
    if (plain) {
      h.stats.reserved -= bytes;
    } else {
      bytes <= largest_small ? h.small.put(p) : h.large.put(p);
      over = h.cached() > h.cache_limit;
    }
  }
  if (plain) std::free(p);
  if (over) trim(h, h.cache_limit);
}

MemoryStats memory_stats() {
  std::lock_guard hold(heap().lock);
  return heap().stats;
}

void reset_peak_memory_stats() {
  std::lock_guard hold(heap().lock);
  MemoryStats& s = heap().stats;
  s.allocated_peak = s.allocated;
  s.reserved_peak = s.reserved;
}

void empty_cache() {
  Heap& h = heap();
  {
    std::lock_guard hold(h.lock);
    h.small.unlink_unused();
  }
  trim(h, 0);
}

void set_cache_limit(size_t bytes) {
  Heap& h = heap();
  {
    std::lock_guard hold(h.lock);
    h.cache_limit = bytes;
  }
  trim(h, bytes);
}

}  // namespace rushlight
