#include "tensor/storage.h"

#include <cstring>

namespace rushlight {

std::atomic<AllocationHook> allocation_hook{nullptr};

static inline void note(const void* data, int64_t bytes) {
  if (auto hook = allocation_hook.load(std::memory_order_relaxed)) [[unlikely]]
    hook(data, bytes);
}

constexpr size_t head = 64;  // bytes of a Storage, rounded up to the alignment of what lies behind it
static_assert(sizeof(Storage) <= head);

static void* behind(Storage* s) { return reinterpret_cast<char*>(s) + head; }

static Ref<Storage> with_room(size_t room) {
  auto* s = new (allocate(head + room)) Storage;
  s->room = uint8_t(room);
  return Ref<Storage>::adopt(s);
}

Ref<Storage> Storage::make(size_t nbytes, Device device) {
  constexpr size_t small = 192;
  bool fits = nbytes <= small && !device.is_meta();
  auto s = with_room(fits ? nbytes : 0);
  s->device = device;
  s->nbytes = nbytes;
  if (!device.is_meta() && nbytes) {
    s->data = fits ? behind(s.get()) : allocate(nbytes);
    note(s->data, int64_t(nbytes));
  }
  return s;
}

Ref<Storage> Storage::wrap(void* data, size_t nbytes, Deleter deleter, void* context) {
  auto s = with_room(0);
  s->data = data;
  s->nbytes = nbytes;
  s->deleter = deleter;
  s->context = context;
  s->resizable = false;
  return s;
}

void Storage::release() {
  bool inside = room && data == behind(this);
  if (deleter) {
    deleter(data, nbytes, context);
  } else if (data) {
    note(data, -int64_t(nbytes));
    if (!inside) deallocate(data, nbytes);
  }
  data = nullptr;
}

void Storage::destroy(Storage* s) {
  s->release();
  size_t block = head + s->room;
  s->~Storage();
  deallocate(s, block);
}

void Storage::resize(size_t n) {
  RL_CHECK(resizable, "cannot resize a storage whose memory belongs to something else (NumPy, a file, another library)",
           hint("clone() the tensor first"));
  if (device.is_meta()) {
    nbytes = n;
    return;
  }
  void* p = allocate(n);
  if (p) note(p, int64_t(n));
  if (data && n) std::memcpy(p, data, std::min(n, nbytes));
  release();
  data = p;
  nbytes = n;
}

}  // namespace rushlight
