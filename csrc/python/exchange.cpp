// Memory shared with other libraries, by the buffer protocol (NumPy arrays among them) and DLPack, and with other
// processes.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "python/common.h"

namespace rushlight::python {
namespace {

// Kernels want every element at a multiple of its size. Memory that has them elsewhere (from an odd byte of a file on,
// in a packed struct) is copied.
Tensor aligned(Tensor t) {
  Storage& s = *t.storage();
  if (!s.nbytes || reinterpret_cast<uintptr_t>(s.data) % t.itemsize() == 0) return t;
  auto own = Storage::make(s.nbytes);
  std::memcpy(own->data, s.data, s.nbytes);
  t.impl()->storage = std::move(own);
  warn(
      "the elements of this memory do not lie at multiples of their size, so the tensor is a copy: what is written to "
      "one does not show in the other\n  hint: copy the memory first");
  return t;
}

// --- Buffers ---------------------------------------------------------------------------------------------------------

DType dtype_of_format(const char* f, Py_ssize_t size) {
  if (!f) f = "B";
  if (*f == '@' || *f == '=' || *f == '<') f++;
  RL_CHECK_KIND(f[0] != '>' && f[0] != '!', Value, "the array has the byte order of another machine",
                hint("convert it with array.astype(array.dtype.newbyteorder('='))"));
  if (f[0] && !f[1]) {
    switch (f[0]) {
      case '?': return DType::Bool;
      case 'e': return DType::Float16;
      case 'f': return DType::Float32;
      case 'd': return DType::Float64;
      case 'b':
      case 'h':
      case 'i':
      case 'l':
      case 'q':
      case 'n': return size == 1 ? DType::Int8 : size == 2 ? DType::Int16 : size == 4 ? DType::Int32 : DType::Int64;
      case 'B':
      case 'H':
      case 'I':
      case 'L':
      case 'Q':
      case 'N': return size == 1 ? DType::UInt8 : size == 2 ? DType::UInt16 : size == 4 ? DType::UInt32 : DType::UInt64;
      default: break;
    }
  }
  fail(ErrorKind::Type, "an array of element type '", f, "' cannot become a tensor",
       hint("supported are bool, integers of 8 to 64 bits, float16, float32 and float64"));
}

void release_buffer(void*, size_t, void* context) {
  auto* b = static_cast<Py_buffer*>(context);
  with_gil([&] { PyBuffer_Release(b); });
  delete b;
}

Tensor from_array(nb::object array) {
  auto b = std::make_unique<Py_buffer>();
  if (!PyObject_CheckBuffer(array.ptr()))
    fail(ErrorKind::Type, "expected a NumPy array, not ", Py_TYPE(array.ptr())->tp_name);
  if (PyObject_GetBuffer(array.ptr(), b.get(), PyBUF_FORMAT | PyBUF_STRIDES) < 0) throw PythonError();
  struct Release {
    Py_buffer* b;
    ~Release() {
      if (b) PyBuffer_Release(b);
    }
  } release{b.get()};
  if (b->readonly)
    warn(
        "the NumPy array cannot be written, but tensors can: writing to this one is undefined\n"
        "  hint: copy the array first");
  DType d = dtype_of_format(b->format, b->itemsize);
  Dims sizes, strides;
  int64_t span = b->itemsize;
  // NumPy tells buffers other strides than its own where a dimension has one element or none.
  nb::object own = nb::getattr(array, "strides", nb::none());
  for (int i = 0; i < b->ndim; i++) {
    RL_CHECK_KIND(b->strides[i] >= 0 || b->shape[i] <= 1, Value,
                  "the array has negative strides, which tensors cannot have", hint("copy it first: array.copy()"));
    RL_CHECK_KIND(b->strides[i] % b->itemsize == 0, Value, "the array's strides are no multiples of its element size");
    sizes.push_back(b->shape[i]);
    int64_t stride = own.is_none() ? b->strides[i] : nb::cast<int64_t>(own[i]);
    strides.push_back(std::max<int64_t>(stride, 0) / b->itemsize);
    if (b->shape[i] == 0) span = 0;
    else span += (b->shape[i] - 1) * std::max<int64_t>(b->strides[i], 0);
  }
  void* data = b->buf;
  auto storage = Storage::wrap(data, span, release_buffer, b.get());
  release.b = nullptr;
  b.release();
  Tensor t = empty({0}, d);
  t.impl()->storage = std::move(storage);
  t.impl()->sizes = sizes;
  t.impl()->strides = strides;
  t.impl()->refresh();
  return aligned(std::move(t));
}

// frombuffer: flat, any object with a buffer.
Tensor from_buffer(nb::object buffer, nb::object dtype, int64_t count, int64_t offset) {
  DType d;
  if (!to_dtype(dtype.ptr(), d)) fail(ErrorKind::Type, "frombuffer: dtype must be a rushlight.dtype");
  auto b = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(buffer.ptr(), b.get(), PyBUF_WRITABLE) < 0) {
    PyErr_Clear();
    if (PyObject_GetBuffer(buffer.ptr(), b.get(), PyBUF_SIMPLE) < 0) throw PythonError();
    try {
      warn("the buffer cannot be written, but tensors can: writing to this one is undefined\n  hint: copy it first");
    } catch (...) {
      PyBuffer_Release(b.get());
      throw;
    }
  }
  int64_t have = b->len;
  char* data = static_cast<char*>(b->buf);
  auto storage = Storage::wrap(data, have, release_buffer, b.release());
  int64_t size = itemsize(d);
  RL_CHECK_KIND(have > 0 && count != 0, Value, "frombuffer: both the buffer's length (", have, ") and count (", count,
                ") must be positive");
  RL_CHECK_KIND(offset >= 0 && offset < have, Value, "frombuffer: offset ", offset, " is outside the buffer of ", have,
                " bytes");
  if (count < 0) {
    RL_CHECK_KIND((have - offset) % size == 0, Value, "frombuffer: ", have - offset,
                  " bytes are no multiple of the element size ", size);
    count = (have - offset) / size;
  }
  RL_CHECK_KIND(count <= (have - offset) / size, Value, "frombuffer: ", count, " elements of ", size,
                " bytes from offset ", offset, " exceed the buffer of ", have, " bytes");
  storage->data = data + offset;
  storage->nbytes = have - offset;
  Tensor t = empty({0}, d);
  t.impl()->storage = std::move(storage);
  t.impl()->sizes = Dims{count};
  t.impl()->strides = Dims{1};
  t.impl()->refresh();
  return aligned(std::move(t));
}

// --- DLPack (version 0.x, the struct that all array libraries share) -------------------------------------------------

struct DLDevice {
  int32_t type, id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor*);
};
enum { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLBool = 6, kDLCPU = 1 };

DLDataType dlpack_type(DType d) {
  uint8_t code = d == DType::Bool       ? kDLBool
                 : d == DType::BFloat16 ? kDLBfloat
                 : is_floating(d)       ? kDLFloat
                 : is_signed(d)         ? kDLInt
                                        : kDLUInt;
  return {code, uint8_t(itemsize(d) * 8), 1};
}

DType from_dlpack_type(DLDataType t) {
  if (t.lanes == 1)
    for (int i = 0; i < kDTypes; i++) {
      DLDataType x = dlpack_type(DType(i));
      if (x.code == t.code && x.bits == t.bits) return DType(i);
    }
  fail(ErrorKind::Type, "DLPack: element type of code ", int(t.code), " with ", int(t.bits), " bits is not supported");
}

nb::object to_dlpack(Tensor t) {
  RL_CHECK(!t.requires_grad(), "a tensor that requires grad cannot be exported by DLPack", hint("use t.detach()"));
  RL_CHECK(!t.is_meta(), "a tensor on the meta device has no memory to export");
  struct Held {
    Ref<Storage> storage;
    Dims sizes, strides;
    DLManagedTensor managed;
  };
  auto* h = new Held{t.storage(), t.sizes(), t.strides(), {}};
  h->managed.tensor = {
      t.bytes(), {kDLCPU, 0}, int32_t(t.dim()), dlpack_type(t.dtype()), h->sizes.data(), h->strides.data(), 0};
  h->managed.context = h;
  h->managed.deleter = [](DLManagedTensor* m) { delete static_cast<Held*>(m->context); };
  return steal(PyCapsule_New(&h->managed, "dltensor", [](PyObject* capsule) {
    // Renamed to used_dltensor once somebody took it over.
    if (!PyCapsule_IsValid(capsule, "dltensor")) return;
    auto* m = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
    m->deleter(m);
  }));
}

Tensor from_dlpack(nb::object capsule) {
  auto* m = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (!m) {
    PyErr_Clear();
    fail(ErrorKind::Runtime, "from_dlpack: expects a fresh DLPack capsule; each can be taken over once");
  }
  const DLTensor& d = m->tensor;
  RL_CHECK_KIND(d.device.type == kDLCPU, Runtime,
                "from_dlpack: only CPU memory can be shared, the array is on device type ", d.device.type);
  DType dtype = from_dlpack_type(d.dtype);
  Dims sizes(d.shape, d.shape + d.ndim),
      strides = d.strides ? Dims(d.strides, d.strides + d.ndim) : contiguous_strides(sizes);
  int64_t span = product(sizes) ? 1 : 0;
  for (size_t i = 0; i < sizes.size() && span; i++) {
    RL_CHECK_KIND(strides[i] >= 0, Value, "from_dlpack: negative strides are not supported",
                  hint("copy the array first"));
    span += (sizes[i] - 1) * strides[i];
  }
  if (PyCapsule_SetName(capsule.ptr(), "used_dltensor") < 0) throw PythonError();
  auto storage = Storage::wrap(
      static_cast<char*>(d.data) + d.byte_offset, span * itemsize(dtype),
      [](void*, size_t, void* c) {
        auto* m = static_cast<DLManagedTensor*>(c);
        if (!m->deleter) return;
        with_gil([&] { m->deleter(m); });
      },
      m);
  Tensor t = empty({0}, dtype);
  t.impl()->storage = std::move(storage);
  t.impl()->sizes = sizes, t.impl()->strides = strides;
  t.impl()->refresh();
  return aligned(std::move(t));
}

// --- Memory of several processes -------------------------------------------------------------------------------------

// The memory is a file without a name: it goes with the last process that holds it, whoever is killed when. The storage
// keeps the file open, to send it to processes that are not forked from this one.
int file_of(const Storage& s) { return int(reinterpret_cast<intptr_t>(s.context)); }

void unmap(void* p, size_t nbytes, void* file) {
  munmap(p, std::max<size_t>(nbytes, 1));
  close(int(reinterpret_cast<intptr_t>(file)));
}

void* map_file(int file, size_t nbytes) {
  void* p = mmap(nullptr, std::max<size_t>(nbytes, 1), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (p != MAP_FAILED) return p;
  int error = errno;
  close(file);
  fail(ErrorKind::Runtime, "shared memory: ", nbytes, " bytes cannot be mapped: ", strerror(error));
}

void* as_context(int file) { return reinterpret_cast<void*>(intptr_t(file)); }

// Moves the storage, and so all of its views, to memory that other processes can write to as well.
void share_memory(Tensor t) {
  Storage& s = *t.storage();
  if (s.deleter == unmap || t.is_meta()) return;
  int file = memfd_create("rushlight-shared", MFD_CLOEXEC);
  if (file < 0) {
    bool many = errno == EMFILE;
    fail(ErrorKind::Runtime, "share_memory_: the system gave no file in memory: ", strerror(errno),
         hint(many ? "each storage that is shared takes an open file; raise `ulimit -n`" : "close other programs"));
  }
  if (ftruncate(file, off_t(std::max<size_t>(s.nbytes, 1))) != 0) {
    int error = errno;
    close(file);
    fail(ErrorKind::Runtime, "share_memory_: the system gave no ", s.nbytes, " bytes: ", strerror(error));
  }
  void* p = map_file(file, s.nbytes);
  if (s.nbytes) std::memcpy(p, s.data, s.nbytes);
  s.release();
  s.data = p, s.deleter = unmap, s.context = as_context(file), s.resizable = false;
}

// The bytes of a file that another process shares, which is this process's to close.
Tensor open_shared(int file, size_t nbytes) {
  void* p = map_file(file, nbytes);
  Tensor t = empty({0}, DType::UInt8);
  t.impl()->storage = Storage::wrap(p, nbytes, unmap, as_context(file));
  t.impl()->sizes = Dims{int64_t(nbytes)}, t.impl()->strides = Dims{1};
  t.impl()->refresh();
  return t;
}

}  // namespace

void bind_exchange(nb::module_& m) {
  m.def("_share_memory", share_memory);
  m.def("_open_shared", open_shared);
  m.def("_shared_file", [](Tensor t) { return t.storage()->deleter == unmap ? file_of(*t.storage()) : -1; });
  m.def("_is_shared", [](Tensor t) { return t.storage()->deleter == unmap; });
  m.def("_from_numpy", from_array, nb::arg("array"));
  m.def("_from_buffer", from_buffer, nb::arg("buffer"), nb::arg("dtype"), nb::arg("count"), nb::arg("offset"));
  m.def("_to_dlpack", to_dlpack, nb::arg("t"));
  m.def("_from_dlpack", from_dlpack, nb::arg("capsule"));
}

}  // namespace rushlight::python
