// The line of the user's program that recorded a node: the innermost frame outside the package. While recording only
// the code object and the instruction are kept; the line is worked out when somebody asks.
#include <cstring>

#include "python/common.h"

#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030c0000
  #define RL_READS_FRAMES 1
  #define Py_BUILD_CORE 1
  #include <internal/pycore_frame.h>
  #undef Py_BUILD_CORE
#endif

namespace rushlight::python {
namespace {

std::string package_folder;
Py_ssize_t extra_index = -1;  // of the mark that a code object carries: 1 ours, 2 the user's

bool ours(PyCodeObject* code) {
  void* mark = nullptr;
  _PyCode_GetExtra(reinterpret_cast<PyObject*>(code), extra_index, &mark);
  if (!mark) {
    const char* file = PyUnicode_AsUTF8(code->co_filename);
    bool inside = file && (std::strncmp(file, package_folder.c_str(), package_folder.size()) == 0 ||
                           !std::strncmp(file, "<frozen", 7));
    mark = reinterpret_cast<void*>(uintptr_t(inside ? 1 : 2));
    _PyCode_SetExtra(reinterpret_cast<PyObject*>(code), extra_index, mark);
  }
  return mark == reinterpret_cast<void*>(uintptr_t(1));
}

void record(Source& s) {
#ifdef RL_READS_FRAMES
  // 3.11 keeps frames in a list of its own; making frame objects of them would cost more than the operation.
  PyThreadState* state = _PyThreadState_UncheckedGet();
  if (!state || !state->cframe) return;
  for (_PyInterpreterFrame* f = state->cframe->current_frame; f; f = f->previous) {
    if (ours(f->f_code)) continue;
    s.code = Py_NewRef(f->f_code);
    s.instruction = int32_t(reinterpret_cast<char*>(f->prev_instr) - reinterpret_cast<char*>(_PyCode_CODE(f->f_code)));
    return;
  }
#else
  if (!PyGILState_Check()) return;
  PyFrameObject* f = PyEval_GetFrame();
  Py_XINCREF(f);
  while (f) {
    PyCodeObject* code = PyFrame_GetCode(f);
    if (!ours(code)) {
      s.code = code;
      s.instruction = PyFrame_GetLasti(f);
      Py_DECREF(f);
      return;
    }
    Py_DECREF(code);
    PyFrameObject* back = PyFrame_GetBack(f);
    Py_DECREF(f);
    f = back;
  }
#endif
}

void release(Source& s) {
  if (!Py_IsInitialized()) return;
  Py_DECREF(static_cast<PyObject*>(s.code));
  s.code = nullptr;
}

// "file:line", or "Cell In[3], line 2" where the code stands in a notebook, whose kernel names its files after nothing
// that a user knows. IPython's own tracebacks ask the same function.
std::string place(PyCodeObject* code, int line) {
  try {
    if (nb::object ipython = nb::borrow(PyImport_GetModule(nb::str("IPython").ptr())); ipython.is_valid()) {
      nb::object shell = ipython.attr("get_ipython")();
      nb::object name =
          shell.is_none() ? shell : shell.attr("compile").attr("format_code_name")(nb::handle(code->co_filename));
      if (!name.is_none()) return nb::cast<std::string>(nb::str("{} {}, line {}").format(name[0], name[1], line));
    }
  } catch (nb::python_error&) {
  }
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  return std::string(file ? file : "?") + ":" + std::to_string(line);
}

std::string describe(const Source& s) {
  auto* code = static_cast<PyCodeObject*>(s.code);
  int line = PyCode_Addr2Line(code, s.instruction);
  std::string text = place(code, line);
  try {
    nb::object getline = nb::module_::import_("linecache").attr("getline");
    std::string source = nb::cast<std::string>(getline(nb::handle(code->co_filename), line).attr("strip")());
    if (!source.empty()) text += ": " + source;
  } catch (nb::python_error&) {  // the source is not there to be read
  }
  return text;
}

}  // namespace

Py_ssize_t frames_to_user() {
  Py_ssize_t count = 1;
  PyFrameObject* f = PyEval_GetFrame();
  Py_XINCREF(f);
  while (f) {
    PyCodeObject* code = PyFrame_GetCode(f);
    PyFrameObject* back = ours(code) ? PyFrame_GetBack(f) : nullptr;
    count += back != nullptr;
    Py_DECREF(code);
    Py_DECREF(f);
    f = back;
  }
  return count;
}

void bind_source(nb::module_& m) {
  extra_index = _PyEval_RequestCodeExtraIndex(nullptr);
  m.def("_set_package_folder", [](std::string folder) {
    package_folder = std::move(folder);
    source_hooks = {record, release, describe};
  });
}

}  // namespace rushlight::python
