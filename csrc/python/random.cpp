// rushlight.Generator.
#include <cstring>

#include "python/common.h"

namespace rushlight::python {
namespace {

struct GeneratorObject {
  Generator own;
  Generator* g;  // `own`, or the default one
};

uint64_t seed_of(nb::handle h) {
  // Any integer from -2^63 to 2^64 - 1, as PyTorch takes them.
  nb::object i = steal(PyNumber_Index(h.ptr()));
  int overflow;
  long long v = PyLong_AsLongLongAndOverflow(i.ptr(), &overflow);
  if (!overflow) {
    if (v == -1 && PyErr_Occurred()) throw PythonError();
    return uint64_t(v);
  }
  unsigned long long u = PyLong_AsUnsignedLongLong(i.ptr());
  if (PyErr_Occurred()) {
    PyErr_Clear();
    fail(ErrorKind::Value, "a seed must lie between -2^63 and 2^64 - 1");
  }
  return u;
}

Tensor state_of(const Generator& g) {
  auto bytes = g.get_state();
  Tensor t = empty({int64_t(bytes.size())}, DType::UInt8);
  std::memcpy(t.bytes(), bytes.data(), bytes.size());
  return t;
}

}  // namespace

void bind_random(nb::module_& m) {
  nb::class_<GeneratorObject> c(m, "Generator", nb::is_weak_referenceable());
  c.def(
       "__init__",
       [](GeneratorObject* self, nb::object device) {
         Device d;
         if (!to_device(device.ptr(), d)) fail(ErrorKind::Type, "Generator: device must be a string or a device");
         RL_CHECK(d.type == DeviceType::CPU, "Generator: only the CPU has a generator, not ", d);
         new (self) GeneratorObject{Generator(), nullptr};
         self->g = &self->own;
       },
       nb::arg("device") = "cpu")
      .def(
          "manual_seed",
          [](nb::object self, nb::object seed) {
            nb::cast<GeneratorObject&>(self).g->manual_seed(seed_of(seed));
            return self;
          },
          nb::arg("seed"))
      .def("initial_seed", [](const GeneratorObject& o) { return o.g->initial_seed(); })
      .def("seed", [](GeneratorObject& o) { return o.g->seed(); })
      .def("get_state", [](const GeneratorObject& o) { return state_of(*o.g); })
      .def(
          "set_state",
          [](nb::object self, Tensor state) {
            RL_CHECK_KIND(state && state.dtype() == DType::UInt8 && state.is_contiguous(), Type,
                          "set_state: expects a contiguous uint8 tensor, as get_state() gives");
            nb::cast<GeneratorObject&>(self).g->set_state({state.data<uint8_t>(), size_t(state.numel())});
            return self;
          },
          nb::arg("state"))
      .def("clone_state",
           [](const GeneratorObject& o) {
             nb::object copy = nb::module_::import_("rushlight._C").attr("Generator")();
             nb::cast<GeneratorObject&>(copy).g->set_state(o.g->get_state());
             return copy;
           })
      .def("__reduce__",
           [](const GeneratorObject& o) {
             nb::object rebuild = nb::module_::import_("rushlight.random").attr("_generator_of_state");
             return nb::make_tuple(rebuild, nb::make_tuple(state_of(*o.g)));
           })
      .def_prop_ro("device", [](const GeneratorObject&) { return nb::steal(wrap_device({})); })
      .def_prop_ro("_pointer", [](const GeneratorObject& o) { return nb::steal(PyLong_FromVoidPtr(o.g)); });
  nb::object shared = c();
  nb::cast<GeneratorObject&>(shared).g = &default_generator();
  m.attr("default_generator") = shared;
}

}  // namespace rushlight::python
