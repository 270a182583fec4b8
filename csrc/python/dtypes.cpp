// rushlight.dtype and rushlight.device, and numbers from Python.
#include <cstring>

#include "python/common.h"

namespace rushlight::python {
namespace {

// A dtype that programs name (is x.dtype complex64?) and that no tensor has.
struct NamedOnly {
  const char* name;
  int itemsize;
  bool complex;
};
constexpr NamedOnly kNamedOnly[] = {
    {"complex32", 4, true},        {"complex64", 8, true},    {"complex128", 16, true},     {"float8_e4m3fn", 1, false},
    {"float8_e4m3fnuz", 1, false}, {"float8_e5m2", 1, false}, {"float8_e5m2fnuz", 1, false}};

struct DTypeObject {
  DType dtype;
  const NamedOnly* other = nullptr;  // then it is that one
  const char* name() const { return other ? other->name : rushlight::name(dtype); }
};
struct DeviceObject {
  Device device;
};

PyObject* dtype_objects[kDTypes];

int8_t device_index(int64_t i) {
  RL_CHECK(i >= 0 && i <= INT8_MAX, "device index ", i, " is out of range", hint("use one of 0 to 127"));
  return int8_t(i);
}

Device parse_device(const std::string& s) {
  size_t colon = s.find(':');
  std::string kind = s.substr(0, colon);
  Device d;
  if (kind == "cpu") d.type = DeviceType::CPU;
  else if (kind == "meta") d.type = DeviceType::Meta;
  else if (kind == "cuda") d.type = DeviceType::CUDA;
  else fail(ErrorKind::Runtime, "unknown device '", s, "'", hint("use 'cpu' or 'meta'"));
  if (colon != std::string::npos) {
    std::string digits = s.substr(colon + 1);
    RL_CHECK(!digits.empty() && digits.size() < 4 && digits.find_first_not_of("0123456789") == std::string::npos,
             "invalid device '", s, "': what follows the colon must be a small number");
    d.index = device_index(std::stoi(digits));
  }
  return d;
}

std::string str(Device d) { return detail::concat(d); }

}  // namespace

void make_dtype_types(nb::module_& m) {
  nb::class_<DTypeObject>(m, "dtype")
      .def("__repr__", [](const DTypeObject& d) { return std::string("torch.") + d.name(); })
      .def("__reduce__", [](const DTypeObject& d) { return nb::str(d.name()); })
      .def("__hash__",
           [](const DTypeObject& d) {
             return (d.other ? kDTypes + size_t(d.other - kNamedOnly) : size_t(d.dtype)) * 7919 + 17;
           })
      .def("__deepcopy__", [](nb::object self, nb::object) { return self; })
      .def("__copy__", [](nb::object self) { return self; })
      .def_prop_ro("itemsize", [](const DTypeObject& d) { return d.other ? d.other->itemsize : itemsize(d.dtype); })
      .def_prop_ro("is_floating_point",
                   [](const DTypeObject& d) { return d.other ? !d.other->complex : is_floating(d.dtype); })
      .def_prop_ro("is_complex", [](const DTypeObject& d) { return d.other && d.other->complex; })
      .def_prop_ro("is_signed", [](const DTypeObject& d) { return d.other || is_signed(d.dtype); })
      .def_prop_ro("_name", [](const DTypeObject& d) { return d.name(); });
  for (int i = 0; i < kDTypes; i++) {
    nb::object o = nb::cast(DTypeObject{DType(i)});
    m.attr(name(DType(i))) = o;
    dtype_objects[i] = o.release().ptr();
  }
  for (const NamedOnly& other : kNamedOnly) m.attr(other.name) = nb::cast(DTypeObject{DType::Float32, &other});
  nb::class_<DeviceObject>(m, "device")
      .def(
          "__init__",
          [](DeviceObject* self, nb::object type, std::optional<int64_t> index) {
            Device d;
            if (!to_device(type.ptr(), d)) fail(ErrorKind::Type, "device: expected a string, a device or an index");
            if (index) {
              RL_CHECK(d.index < 0, "device: the index is given twice");
              d.index = device_index(*index);
            }
            new (self) DeviceObject{d};
          },
          nb::arg("type"), nb::arg("index") = nb::none())
      .def_prop_ro("type", [](const DeviceObject& d) { return str({d.device.type, -1}); })
      .def_prop_ro("index",
                   [](const DeviceObject& d) {
                     return d.device.index < 0 ? nb::object(nb::none()) : nb::int_(int(d.device.index));
                   })
      .def("__repr__",
           [](const DeviceObject& d) {
             std::string s = "device(type='" + str({d.device.type, -1}) + "'";
             return s + (d.device.index >= 0 ? ", index=" + std::to_string(d.device.index) + ")" : ")");
           })
      .def("__str__", [](const DeviceObject& d) { return str(d.device); })
      .def("__hash__", [](const DeviceObject& d) { return int(d.device.type) * 131 + d.device.index; })
      .def(
          "__eq__",
          [](const DeviceObject& d, nb::object o) {
            return nb::isinstance<DeviceObject>(o) && nb::cast<DeviceObject>(o).device == d.device;
          },
          nb::arg().none())
      .def("__reduce__",
           [m](const DeviceObject& d) { return nb::make_tuple(m.attr("device"), nb::make_tuple(str(d.device))); });
}

PyObject* wrap_dtype(DType d) { return Py_NewRef(dtype_objects[int(d)]); }
PyObject* wrap_device(Device d) { return nb::cast(DeviceObject{d}).release().ptr(); }

PyObject* wrap_scalar(const Scalar& s) {
  if (s.is_bool()) return PyBool_FromLong(s.to_int());
  return s.is_floating() ? PyFloat_FromDouble(s.to_double()) : PyLong_FromLongLong(s.to_int());
}

bool to_dtype(PyObject* o, DType& d) {
  for (int i = 0; i < kDTypes; i++)
    if (o == dtype_objects[i]) {
      d = DType(i);
      return true;
    }
  if (nb::isinstance<DTypeObject>(nb::handle(o)))
    fail(ErrorKind::NotImplemented, "there are no tensors of ", nb::cast<DTypeObject&>(nb::handle(o)).name(),
         hint("use float32; docs/differences.md lists what Rushlight does not have of PyTorch"));
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) d = DType::Float64;
  else if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) d = DType::Int64;
  else if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) d = DType::Bool;
  else return false;
  return true;
}

bool to_device(PyObject* o, Device& d) {
  if (PyUnicode_Check(o)) {
    d = parse_device(nb::cast<std::string>(nb::handle(o)));
    return true;
  }
  if (nb::isinstance<DeviceObject>(nb::handle(o))) {
    d = nb::cast<DeviceObject&>(nb::handle(o)).device;
    return true;
  }
  if (PyLong_CheckExact(o)) {
    int overflow;
    int64_t i = PyLong_AsLongLongAndOverflow(o, &overflow);
    d = {DeviceType::CUDA, device_index(overflow ? overflow * INT64_MAX : i)};
    return true;
  }
  return false;
}

bool to_scalar(PyObject* o, Scalar& s) {
  if (PyFloat_Check(o)) s = Scalar(PyFloat_AS_DOUBLE(o));
  else if (PyBool_Check(o)) s = Scalar(o == Py_True);
  else if (PyLong_Check(o)) {
    int overflow;
    long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow) fail(ErrorKind::Overflow, "the integer does not fit 64 bits");
    if (v == -1 && PyErr_Occurred()) throw PythonError();
    s = Scalar(int64_t(v));
  } else if (is_tensor(o)) {
    // As in PyTorch, one that requires grad is none, or its gradient would be lost without a word.
    Tensor t = unwrap(o);
    if (t.dim() != 0 || t.is_meta() || requires_grad(t)) return false;
    s = t.item();
  } else {
    // NumPy's scalars, known by their module so that NumPy need not be imported.
    PyTypeObject* t = Py_TYPE(o);
    if (std::strncmp(t->tp_name, "numpy.", 6) != 0 || !t->tp_as_number) return false;
    if (!std::strcmp(t->tp_name, "numpy.ndarray")) return false;
    if (std::strstr(t->tp_name, "bool")) {
      int truth = PyObject_IsTrue(o);
      if (truth < 0) throw PythonError();
      s = Scalar(truth != 0);
    } else if (t->tp_as_number->nb_index) {
      nb::object i = steal(PyNumber_Index(o));
      return to_scalar(i.ptr(), s);
    } else if (t->tp_as_number->nb_float && !std::strstr(t->tp_name, "complex")) {
      double v = PyFloat_AsDouble(o);
      if (v == -1 && PyErr_Occurred()) throw PythonError();
      s = Scalar(v);
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace rushlight::python
