#include <unistd.h>

#include <new>

#include "python/common.h"

namespace rushlight::python {

PyObject* out_of_memory_error = nullptr;

void stop_thread() {
  for (;;) pause();
}

void set_python_error() {
  try {
    throw;
  } catch (const abi::__forced_unwind&) {
    stop_thread();
  } catch (const PythonError&) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "an error was raised without a message");
  } catch (nb::python_error& e) {
    e.restore();
  } catch (const Error& e) {
    PyObject* type = PyExc_RuntimeError;
    switch (e.kind) {
      case ErrorKind::Runtime: break;
      case ErrorKind::Value: type = PyExc_ValueError; break;
      case ErrorKind::Type: type = PyExc_TypeError; break;
      case ErrorKind::Index: type = PyExc_IndexError; break;
      case ErrorKind::NotImplemented: type = PyExc_NotImplementedError; break;
      case ErrorKind::Assertion: type = PyExc_AssertionError; break;
      case ErrorKind::Overflow: type = PyExc_OverflowError; break;
      case ErrorKind::OutOfMemory: type = out_of_memory_error ? out_of_memory_error : PyExc_MemoryError; break;
    }
    PyErr_SetString(type, e.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
}

namespace {
[[maybe_unused]] const bool installed = [] {
  warning_hook = [](const std::string& message) {
    if (PyErr_WarnEx(PyExc_UserWarning, message.c_str(), frames_to_user()) < 0) throw PythonError();
  };
  return true;
}();
}  // namespace

}  // namespace rushlight::python
