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

// Calls f with the code and the instruction of each of the user's frames, innermost first, while it returns true.
template <class F>
void user_frames(F&& f) {
#ifdef RL_READS_FRAMES
  // 3.11 keeps frames in a list of its own; making frame objects of them would cost more than the operation.
  PyThreadState* state = _PyThreadState_UncheckedGet();
  if (!state || !state->cframe) return;
  for (_PyInterpreterFrame* at = state->cframe->current_frame; at; at = at->previous) {
    if (ours(at->f_code)) continue;
    auto* first = reinterpret_cast<char*>(_PyCode_CODE(at->f_code));
    if (!f(at->f_code, int32_t(reinterpret_cast<char*>(at->prev_instr) - first))) return;
  }
#else
  if (!PyGILState_Check()) return;
  PyFrameObject* at = PyEval_GetFrame();
  Py_XINCREF(at);
  for (bool on = true; at && on;) {
    PyCodeObject* code = PyFrame_GetCode(at);
    if (!ours(code)) on = f(code, PyFrame_GetLasti(at));
    Py_DECREF(code);
    PyFrameObject* back = PyFrame_GetBack(at);
    Py_DECREF(at);
    at = back;
  }
  Py_XDECREF(at);
#endif
}

void record(Source& s) {
  user_frames([&](PyCodeObject* code, int32_t instruction) {
    s = {Py_NewRef(code), instruction};
    return false;
  });
}

void record_all(std::vector<Source>& stack) {
  user_frames([&](PyCodeObject* code, int32_t instruction) {
    stack.push_back({Py_NewRef(code), instruction});
    return true;
  });
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

nb::str describe_frame(const Source& s) {
  auto* code = static_cast<PyCodeObject*>(s.code);
  return nb::steal<nb::str>(checked(
      PyUnicode_FromFormat("%U(%d): %U", code->co_filename, PyCode_Addr2Line(code, s.instruction), code->co_name)));
}

void bind_source(nb::module_& m) {
  extra_index = _PyEval_RequestCodeExtraIndex(nullptr);
  m.def("_set_package_folder", [](std::string folder) {
    package_folder = std::move(folder);
    source_hooks = {record, release, describe};
    profile::note_stack = record_all;
  });
}

}  // namespace rushlight::python
