#include "tensor/storage.h"

#include <cstring>

namespace rushlight {

Ref<Storage> Storage::make(size_t nbytes, Device device) {
  auto s = make_ref<Storage>();
  s->device = device;
  if (!device.is_meta()) s->data = allocate(nbytes);
  s->nbytes = nbytes;
  return s;
}

Ref<Storage> Storage::wrap(void* data, size_t nbytes, Deleter deleter, void* context) {
  auto s = make_ref<Storage>();
  s->data = data;
  s->nbytes = nbytes;
  s->deleter = deleter;
  s->context = context;
  s->resizable = false;
  return s;
}

static void release(Storage* s) {
  if (s->deleter) s->deleter(s->data, s->nbytes, s->context);
  else if (s->data) deallocate(s->data, s->nbytes);
}

void Storage::destroy(Storage* s) {
  release(s);
  delete s;
}

void Storage::resize(size_t n) {
  RL_CHECK(resizable, "cannot resize a storage whose memory belongs to something else (NumPy, a file, another library)",
           hint("clone() the tensor first"));
  if (device.is_meta()) {
    nbytes = n;
    return;
  }
  void* p = allocate(n);
  if (data && n) std::memcpy(p, data, std::min(n, nbytes));
  release(this);
  data = p;
  nbytes = n;
}

}  // namespace rushlight
