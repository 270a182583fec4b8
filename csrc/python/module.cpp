// rushlight._C
#include "python/common.h"

namespace rushlight::python {
namespace {

void translate(const std::exception_ptr& p, void*) {
  try {
    std::rethrow_exception(p);
  } catch (const Error&) {
    set_python_error();
  } catch (const PythonError&) {
    set_python_error();
  }
}

}  // namespace

NB_MODULE(_C, m) {
  nb::set_leak_warnings(false);
  nb::register_exception_translator(translate);
  out_of_memory_error = checked(PyErr_NewException("rushlight.OutOfMemoryError", PyExc_RuntimeError, nullptr));
  m.attr("OutOfMemoryError") = nb::handle(out_of_memory_error);
  make_dtype_types(m);
  make_tensor_type(m);
  bind_operations(m);
  bind_tensor_properties(m);
  bind_autograd(m);
  bind_autocast(m);
  bind_creation(m);
  bind_random(m);
  bind_function(m);
  bind_source(m);
  bind_memory(m);
  bind_profiler(m);
  bind_exchange(m);
  bind_optimizers(m);
  m.def("_set_size_type", [](nb::object t) { size_type = t.release().ptr(); });
  m.def("_set_parameter_type",
        [](nb::object t) { parameter_type = reinterpret_cast<PyTypeObject*>(t.release().ptr()); });
}

}  // namespace rushlight::python
