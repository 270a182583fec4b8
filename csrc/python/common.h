// What every file of the binding uses: wrapping and unwrapping Tensors, and errors crossing the border.
#pragma once
#include <Python.h>
#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <structmember.h>

#include "base/generator.h"
#include "ops/registry.h"

namespace rushlight::python {

namespace nb = nanobind;

// Thrown after a Python error was set.
struct PythonError {};

// The Python object of a Tensor. While `impl->owns_pyobj` the tensor keeps the object alive, and not the other way.
struct TensorObject {
  PyObject_HEAD
  TensorImpl* impl;
  PyObject* dict;
  PyObject* weakrefs;
};

extern PyTypeObject* tensor_type;     // rushlight.Tensor
extern PyTypeObject* tensor_meta;     // its metaclass
extern PyTypeObject* parameter_type;  // set by rushlight.nn; null before
extern PyObject* size_type;           // rushlight.Size
extern PyObject* out_of_memory_error;
extern PyObject* disabled_torch_function;  // as __torch_function__: an ordinary tensor after all

bool is_tensor_type(PyTypeObject* t);
inline bool is_tensor(PyObject* o) { return Py_TYPE(o) == tensor_type || is_tensor_type(Py_TYPE(o)); }
inline bool plain(PyObject* o) { return Py_TYPE(o) == tensor_type || Py_TYPE(o) == parameter_type; }
// A class of its own behaviour: it defines __torch_function__.
bool overrides_torch_function(PyObject* o);
inline bool in_torch_function_mode() { return (tls.modes & kTorchFunctionMode) && !tls.torch_function_off; }
void make_tensor_type(nb::module_& m);

PyObject* wrap(Tensor t);                         // new reference; None where undefined
PyObject* wrap_as(PyTypeObject* type, Tensor t);  // a new object of a subclass
Tensor unwrap(PyObject* o);                       // TypeError unless it is a Tensor
inline TensorImpl*& impl_of(PyObject* o) { return reinterpret_cast<TensorObject*>(o)->impl; }
PyObject* wrap_shape(IntSpan sizes);  // rushlight.Size
PyObject* wrap_tuple(IntSpan values);

PyObject* wrap_node(const Ref<Node>& node);  // None where null
PyObject* wrap_dtype(DType d);               // new references
PyObject* wrap_device(Device d);
PyObject* wrap_scalar(const Scalar& s);
bool to_dtype(PyObject* o, DType& d);    // also float, int, bool
bool to_device(PyObject* o, Device& d);  // also str and int
bool to_scalar(PyObject* o, Scalar& s);  // Python and NumPy numbers, tensors without dimensions
void make_dtype_types(nb::module_& m);

// Runs f with the GIL, from wherever: where memory is freed, say. Does nothing once the interpreter is gone.
// A thread that asks for the GIL while the interpreter ends is unwound by it, which C++ would take for a crash: it is
// stopped where it stands instead.
[[noreturn]] void stop_thread();
template <class F>
void with_gil(F&& f) noexcept {
  if (!Py_IsInitialized()) return;
  try {
    PyGILState_STATE gil = PyGILState_Ensure();
    f();
    PyGILState_Release(gil);
  } catch (const abi::__forced_unwind&) {
    stop_thread();
  }
}

nb::str describe_frame(const Source& s);  // "file.py(12): function"
Py_ssize_t frames_to_user();              // how far up the user's line is, as PyErr_WarnEx counts
void set_python_error();                  // for the exception in flight

// Runs f, turning C++ exceptions into Python errors; returns null then.
template <class F>
PyObject* guarded(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}
template <class F>
int guarded_int(F&& f) noexcept {
  try {
    f();
    return 0;
  } catch (...) {
    set_python_error();
    return -1;
  }
}
inline PyObject* checked(PyObject* o) {  // throws where a Python call failed
  if (!o) throw PythonError();
  return o;
}
inline nb::object steal(PyObject* o) { return nb::steal(checked(o)); }

// Binding of the registry: rushlight._C functions and Tensor methods.
void bind_operations(nb::module_& m);
// Calls an operation with Python arguments through the generic path.
PyObject* call_operation(const char* name, PyObject* const* args, size_t n);
PyObject* make_returns(Returns& r, const char* schema);

// Parts of the module, one file each.
void bind_tensor_properties(nb::module_& m);
void bind_autograd(nb::module_& m);
void bind_autocast(nb::module_& m);
void bind_creation(nb::module_& m);
void bind_random(nb::module_& m);
void bind_function(nb::module_& m);
void bind_source(nb::module_& m);
void bind_memory(nb::module_& m);
void bind_profiler(nb::module_& m);
nb::object node_hook_table(const Ref<Node>& node, bool before);
nb::tuple run_node(const Ref<Node>& node, nb::args grads);
void bind_exchange(nb::module_& m);
void bind_optimizers(nb::module_& m);
extern PyNumberMethods number_slots;
PyObject* rich_compare(PyObject* a, PyObject* b, int op);
PyObject* get_item(PyObject* self, PyObject* index);
int set_item(PyObject* self, PyObject* index, PyObject* value);

}  // namespace rushlight::python

namespace nanobind::detail {
template <>
struct type_caster<rushlight::Tensor> {
  NB_TYPE_CASTER(rushlight::Tensor, const_name("rushlight.Tensor"))
  bool from_python(handle src, uint8_t, cleanup_list*) noexcept {
    if (src.is_none()) {
      value = rushlight::Tensor();
      return true;
    }
    if (!rushlight::python::is_tensor(src.ptr())) return false;
    value = rushlight::Tensor(rushlight::Ref<rushlight::TensorImpl>::share(rushlight::python::impl_of(src.ptr())));
    return true;
  }
  static handle from_cpp(const rushlight::Tensor& t, rv_policy, cleanup_list*) noexcept {
    return rushlight::python::guarded([&] { return rushlight::python::wrap(t); });
  }
};
}  // namespace nanobind::detail
