// The profiler's switch, ranges of the user's, and what was noted, as Python objects for rushlight.profiler.
#include <deque>
#include <map>
#include <set>

#include "python/common.h"

namespace rushlight::python {
namespace {

using profile::Details;
using profile::Event;
using profile::Kind;

// Names and lines repeat, so that each is made once.
class Converter {
 public:
  nb::object event(const Event& e, int64_t stopped) {
    int64_t end = e.end.load(std::memory_order_relaxed);
    nb::object inputs = nb::none(), stack = nb::none();
    if (e.details && (e.kind == Kind::operation)) inputs = inputs_of(*e.details);
    if (e.details && !e.details->stack.empty()) stack = stack_of(*e.details);
    return nb::make_tuple(int(e.kind), name(e), e.start, end ? end : stopped, e.parent, e.sequence, inputs, stack,
                          reinterpret_cast<uintptr_t>(e.address), e.bytes, e.total_allocated);
  }

 private:
  nb::object name(const Event& e) {
    if (e.kind == Kind::memory) return nb::str("[memory]");
    if (!e.name) return nb::str(e.details->name.c_str());
    nb::object& s = names_[{e.name, e.inplace}];
    if (!s) s = nb::str(("aten::" + op_name(e.name) + (e.inplace ? "_" : "")).c_str());
    return s;
  }

  // For each argument what it was: [(shape, dtype), ...] of tensors, (shape, dtype) of one, the value of a number.
  nb::object inputs_of(const Details& d) {
    nb::list list;
    size_t tensor = 0, integers = 0;
    auto one = [&] {
      size_t i = tensor++;
      return nb::make_tuple(to_list(d.shapes[i]), nb::steal(wrap_dtype(d.dtypes[i])));
    };
    for (const ProfiledArg& a : d.args) switch (a.kind) {
        case ProfiledArg::tensor: list.append(one()); break;
        case ProfiledArg::tensors: {
          nb::list all;
          for (uint32_t i = 0; i < a.count; i++) all.append(one());
          list.append(all);
          break;
        }
        case ProfiledArg::integers: list.append(to_list(d.integers[integers++])); break;
        case ProfiledArg::integer: list.append(a.integer_value); break;
        case ProfiledArg::real: list.append(a.real_value); break;
        case ProfiledArg::boolean: list.append(bool(a.integer_value)); break;
        case ProfiledArg::other: list.append(nb::none()); break;
      }
    return list;
  }
  static nb::list to_list(const std::vector<int64_t>& v) {
    nb::list l;
    for (int64_t i : v) l.append(i);
    return l;
  }

  nb::object stack_of(Details& d) {
    nb::list list;
    for (Source& s : d.stack) {
      nb::object& line = lines_[{s.code, s.instruction}];
      if (!line) line = describe_frame(s);
      list.append(line);
      source_hooks.release(s);
    }
    d.stack.clear();
    return list;
  }

  std::map<std::pair<const char*, bool>, nb::object> names_;
  std::map<std::pair<void*, int32_t>, nb::object> lines_;
};

// Arguments of a function written in Python. What they point to stays while the caller holds them.
class PythonArgs {
 public:
  PythonArgs(nb::handle args, nb::handle kwargs) {
    for (nb::handle a : args) add(a.ptr());
    for (nb::handle a : nb::steal(checked(PyDict_Values(kwargs.ptr())))) add(a.ptr());
  }
  std::span<const ProfiledArg> list() const { return list_; }

 private:
  void add(PyObject* o) {
    if (is_tensor(o)) {
      list_.emplace_back(tensors_.emplace_back(unwrap(o)));
    } else if (PyList_Check(o) || PyTuple_Check(o)) {
      auto& several = lists_.emplace_back();
      for (nb::handle x : nb::handle(o))
        if (is_tensor(x.ptr())) several.push_back(unwrap(x.ptr()));
      if (several.empty()) list_.emplace_back();
      else list_.emplace_back(std::span<const Tensor>(several));
    } else if (PyBool_Check(o)) {
      list_.emplace_back(o == Py_True);
    } else if (PyFloat_Check(o)) {
      list_.emplace_back(PyFloat_AS_DOUBLE(o));
    } else if (int overflow = 0; PyLong_Check(o)) {
      int64_t v = PyLong_AsLongLongAndOverflow(o, &overflow);
      if (overflow) list_.emplace_back();
      else list_.emplace_back(v);
    } else {
      list_.emplace_back();
    }
  }
  std::vector<ProfiledArg> list_;
  std::deque<Tensor> tensors_;
  std::deque<std::vector<Tensor>> lists_;
};

// Names are kept: events refer to them for as long as the program runs.
const char* kept(const std::string& name) {
  static auto* names = new std::set<std::string>;
  return names->insert(name).first->c_str();
}

nb::dict stop() {
  profile::Recording r = profile::stop();
  Converter convert;
  nb::list threads;
  for (auto& t : r.threads) {
    nb::list events;
    for (Event* e : t.events) events.append(convert.event(*e, r.end));
    threads.append(nb::make_tuple(t.thread_id, t.thread_name, events));
  }
  nb::dict d;
  d["start"] = r.start;
  d["end"] = r.end;
  d["epoch"] = r.epoch;
  d["threads"] = threads;
  return d;
}

}  // namespace

void bind_profiler(nb::module_& m) {
  nb::class_<Profiled>(m, "_Profiled", "What the profiler shows, from here to end() or the end of a with block.")
      .def(
          "__init__",
          [](Profiled* p, std::string name, bool operation) {
            new (p) Profiled(std::move(name), operation ? Kind::operation : Kind::range);
          },
          nb::arg("name"), nb::arg("operation") = false)
      .def(
          "__init__",
          [](Profiled* p, const std::string& name, nb::tuple args, nb::dict kwargs) {
            new (p) Profiled(kept(name), false, PythonArgs(args, kwargs).list());
          },
          nb::arg("name"), nb::arg("args"), nb::arg("kwargs"))
      .def("end", &Profiled::end)
      .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__exit__", [](Profiled& p, nb::args) { p.end(); });
  m.def(
      "_profiler_start",
      [](bool shapes, bool memory, bool stack) {
        profile::start({.shapes = shapes, .memory = memory, .stack = stack});
      },
      nb::arg("shapes"), nb::arg("memory"), nb::arg("stack"));
  m.def("_profiler_stop", stop,
        "What was noted since: times in nanoseconds, and for each thread its events, as tuples of kind, name, start, "
        "end, place of the event around it or -1, sequence number of the node, inputs, the user's stack, and of memory "
        "its address, size and what is allocated in all.");
  m.def("_profiler_running", profile::running);
}

}  // namespace rushlight::python
