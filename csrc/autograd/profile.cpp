#include "autograd/profile.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <mutex>

#include "base/allocator.h"

namespace rushlight {

std::atomic<uint32_t> process_modes{0};

namespace profile {

void (*note_stack)(std::vector<Source>&) = nullptr;

namespace {

constexpr uint32_t chunk_size = 256;

// Its own thread alone adds events, and publishes each by the count.
struct Chunk {
  Event events[chunk_size];
  std::atomic<uint32_t> used{0};
  std::atomic<Chunk*> next{nullptr};
};

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

struct Log {
  explicit Log(uint64_t session) : session(session), thread_id(syscall(SYS_gettid)) {
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    thread_name = name;
  }
  ~Log() {
    for (Chunk* c : chunks) delete c;
  }

  Event* room() {  // for one more event
    if (uint32_t(count) == chunks.size() * chunk_size) {
      chunks.push_back(new Chunk);
      if (count) chunks[chunks.size() - 2]->next.store(chunks.back(), std::memory_order_release);
    }
    return &at(count);
  }
  int32_t publish() {
    chunks.back()->used.store(uint32_t(count % chunk_size) + 1, std::memory_order_release);
    return count++;
  }
  Event& at(int32_t i) { return chunks[size_t(i) / chunk_size]->events[size_t(i) % chunk_size]; }

  // The innermost event that has not ended. Ranges may end in another order than they began, and on another thread.
  int32_t innermost() {
    while (current >= 0 && at(current).end.load(std::memory_order_relaxed)) current = at(current).parent;
    return current;
  }

  const uint64_t session;
  const int64_t thread_id;
  std::string thread_name;
  int32_t count = 0, current = -1;
  std::vector<Chunk*> chunks{new Chunk};  // for its own thread alone; others go from the first to the next
  Chunk* const first = chunks[0];
};

namespace {

struct Session {
  std::mutex mutex;  // of what follows; a thread takes it for its first event only
  std::vector<std::shared_ptr<Log>> logs;
  int64_t start = 0;
  std::atomic<uint64_t> number{0};  // grows with each start
  Options options;
};

Session& session() {
  static auto* s = [] {
    // The child begins with the profiler off. What its parent noted so far is the parent's.
    pthread_atfork([] { session().mutex.lock(); }, [] { session().mutex.unlock(); },
                   [] {
                     session().mutex.unlock();
                     process_modes.fetch_and(~uint32_t(kProfiling));
                     allocation_hook.store(nullptr);
                     session().number++;
                     new std::vector(std::move(session().logs));  // threads that are gone may have been writing
                   });
    return new Session;
  }();
  return *s;
}

[[maybe_unused]] const Session& made_at_load = session();  // lest a fork meet its first use half done

constinit thread_local bool ending = false;  // what follows is gone; a last tensor may still be freed
struct OwnLog {
  std::shared_ptr<Log> log;
  ~OwnLog() { ending = true; }
};
thread_local OwnLog own;

// This thread's, in this session; null where the thread is ending.
std::shared_ptr<Log> log() {
  if (ending) return nullptr;
  Session& s = session();
  if (!own.log || own.log->session != s.number.load(std::memory_order_relaxed)) {
    own.log = std::make_shared<Log>(s.number.load());
    std::lock_guard hold(s.mutex);
    s.logs.push_back(own.log);
  }
  return own.log;
}

void note_memory(const void* address, int64_t bytes) {
  auto l = log();
  if (!l) return;
  Event* e = l->room();
  e->kind = Kind::memory;
  e->parent = l->innermost();
  e->start = now();
  e->end.store(e->start, std::memory_order_relaxed);
  e->address = address;
  e->bytes = bytes;
  e->total_allocated = int64_t(memory_stats().allocated);
  l->publish();
}

}  // namespace

bool running() { return process_modes.load(std::memory_order_relaxed) & kProfiling; }

void start(Options options) {
  Session& s = session();
  std::lock_guard hold(s.mutex);
  RL_CHECK(!running(), "the profiler is already running", hint("stop the other profiler first; they do not nest"));
  s.options = options;
  s.logs.clear();
  s.number++;
  s.start = now();
  process_modes.fetch_or(kProfiling);
  if (options.memory) allocation_hook.store(note_memory);
}

Recording stop() {
  Session& s = session();
  Recording r;
  std::lock_guard hold(s.mutex);
  RL_CHECK(running(), "the profiler is not running");
  process_modes.fetch_and(~uint32_t(kProfiling));
  allocation_hook.store(nullptr);
  r.start = s.start;
  r.end = now();
  using namespace std::chrono;
  r.epoch = duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count() - r.end;
  r.logs = std::move(s.logs);
  s.logs.clear();
  for (auto& l : r.logs) {
    auto& t = r.threads.emplace_back(ThreadEvents{l->thread_id, l->thread_name, {}});
    for (Chunk* c = l->first; c; c = c->next.load(std::memory_order_acquire))
      for (uint32_t i = 0, n = c->used.load(std::memory_order_acquire); i < n; i++) t.events.push_back(&c->events[i]);
  }
  return r;
}

}  // namespace profile

using profile::Event;
using profile::Kind;

Event* Profiled::begin(Kind kind) {
  auto l = profile::log();
  if (!l) return nullptr;
  Event* e = l->room();
  e->kind = kind;
  e->parent = l->innermost();
  event_ = e;
  log_ = std::move(l);
  if (profile::session().options.stack && profile::note_stack) {
    e->details = std::make_unique<profile::Details>();
    profile::note_stack(e->details->stack);
  }
  return e;
}

static void publish(profile::Log& log, Event* e) {
  e->start = profile::now();
  log.current = log.publish();
}

Profiled::Profiled(const char* schema, bool inplace, std::span<const ProfiledArg> args) {
  if (!profile::running()) return;
  Event* e = begin(Kind::operation);
  if (!e) return;
  e->name = schema;
  e->inplace = inplace;
  if (tls.grad_enabled) e->sequence = int64_t(Node::upcoming_sequence());
  if (profile::session().options.shapes) {
    if (!e->details) e->details = std::make_unique<profile::Details>();
    auto note = [&](const Tensor& t) {
      auto sizes = t ? t.sizes() : IntSpan();
      e->details->shapes.emplace_back(sizes.begin(), sizes.end());
      e->details->dtypes.push_back(t ? t.dtype() : DType::Float32);
    };
    for (const ProfiledArg& a : args) {
      e->details->args.push_back(a);
      if (a.kind == ProfiledArg::tensor) note(*static_cast<const Tensor*>(a.at));
      else if (a.kind == ProfiledArg::tensors)
        for (uint32_t i = 0; i < a.count; i++) note(static_cast<const Tensor*>(a.at)[i]);
      else if (a.kind == ProfiledArg::integers) {
        auto* p = static_cast<const int64_t*>(a.at);
        e->details->integers.emplace_back(p, p + a.count);
      }
    }
  }
  publish(*log_, e);
}

Profiled::Profiled(const Node& node, bool around) {
  if (!profile::running()) return;
  Event* e = begin(Kind::node);
  if (!e) return;
  if (!e->details) e->details = std::make_unique<profile::Details>();
  bool leaf = dynamic_cast<const AccumulateGrad*>(&node);
  e->details->name = std::string(around ? "autograd::engine::evaluate_function: " : "") +
                     (leaf ? "torch::autograd::" : "") + node.name();
  if (!leaf) e->sequence = int64_t(node.sequence);
  publish(*log_, e);
}

Profiled::Profiled(std::string name, Kind kind) {
  if (!profile::running()) return;
  Event* e = begin(kind);
  if (!e) return;
  if (!e->details) e->details = std::make_unique<profile::Details>();
  e->details->name = std::move(name);
  if (kind == Kind::operation && tls.grad_enabled) e->sequence = int64_t(Node::upcoming_sequence());
  publish(*log_, e);
}

void Profiled::end() {
  if (!event_) return;
  event_->end.store(profile::now(), std::memory_order_relaxed);
  event_ = nullptr;
  log_.reset();
}

}  // namespace rushlight
