// Every operation of the registry as a Python callable: functions of rushlight._C, methods of Tensor, in-place forms.

#include <cstring>
#include <unordered_map>

#include "python/args.h"

namespace rushlight::python {
namespace {

struct Callable {
  std::string name;  // as Python sees it: "add", "add_"
  Target target = Target::fresh;
  bool takes_out = false;
  std::vector<const OpInfo*> ops;     // same name, tried in order
  std::vector<Signature> signatures;  // made at the first call
  PyObject* object = nullptr;         // what __torch_function__ receives as func
};

struct CallableObject {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  Callable* callable;
};

PyTypeObject* function_type = nullptr;
PyTypeObject* method_type = nullptr;  // the same, but binds its instance

PyObject* torch_function(Callable& c, PyObject* const* args, size_t n, PyObject* kwnames) {
  nb::object dispatch = nb::module_::import_("rushlight.overrides").attr("_dispatch");
  nb::tuple positional = nb::steal<nb::tuple>(checked(PyTuple_New(n)));
  for (size_t i = 0; i < n; i++) PyTuple_SET_ITEM(positional.ptr(), i, Py_NewRef(args[i]));
  nb::dict keywords;
  if (kwnames)
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); k++)
      if (PyDict_SetItem(keywords.ptr(), PyTuple_GET_ITEM(kwnames, k), args[n + k]) < 0) throw PythonError();
  return dispatch(nb::handle(c.object), positional, keywords).release().ptr();
}

// Several results into as many tensors given as out=(...).
void write_results(Returns& r, PyObject* given, const char* schema) {
  size_t n = PySequence_Fast_GET_SIZE(given);
  std::string name = op_name(schema);
  RL_CHECK_KIND(r.shape == Returns::tuple && n == r.tensors.size(), Type, name, "(): out= holds ", n, " tensors for ",
                r.tensors.size(), " results");
  for (size_t i = 0; i < n; i++) {
    PyObject* o = PySequence_Fast_ITEMS(given)[i];
    if (!is_tensor(o)) fail(ErrorKind::Type, name, "(): out= must hold Tensors, not ", Py_TYPE(o)->tp_name);
    Tensor out = unwrap(o);
    detail::check_out(out, requires_grad(r.tensors[i]), schema);
    RL_CHECK(out.dtype() == r.tensors[i].dtype(), name, ": result ", i, " is ", r.tensors[i].dtype(),
             ", but its out= is ", out.dtype(), hint("give tensors of the results' dtypes"));
    Ctx ctx;
    ctx.out = &out;
    detail::finish_target(ctx, r.tensors[i], schema);
    r.tensors[i] = out;
  }
}

// Apart first: defaults are evaluated by the interpreter, which may let in another thread that wants the same.
void make_signatures(Callable& c) {
  std::vector<Signature> made;
  for (const OpInfo* op : c.ops) made.emplace_back(*op);
  if (c.signatures.empty()) c.signatures = std::move(made);
}

PyObject* call(Callable& c, PyObject* const* args, size_t n, PyObject* kwnames) {
  if (c.signatures.empty()) make_signatures(c);
  std::string why;
  for (size_t i = 0; i < c.signatures.size(); i++) {
    const Signature& s = c.signatures[i];
    Arguments a;
    if (!a.parse(s, args, n, kwnames, c.takes_out, c.signatures.size() == 1 ? &why : nullptr)) continue;
    if (a.overridden || in_torch_function_mode()) [[unlikely]]
      return torch_function(c, args, n, kwnames);
    Returns r;
    if (c.target == Target::self) {
      s.op.call(a.slots, Target::self, &a.tensors[0], r);
      return n ? Py_NewRef(args[0]) : wrap(std::move(a.tensors[0]));  // no positional one: self is among the keywords
    }
    if (a.out && (PyTuple_Check(a.out) || PyList_Check(a.out))) {
      s.op.call(a.slots, Target::fresh, nullptr, r);
      write_results(r, a.out, s.op.schema);
      return make_returns(r, s.op.schema);
    }
    if (a.out) {
      if (!is_tensor(a.out)) fail(ErrorKind::Type, c.name, "(): out must be a Tensor, not ", Py_TYPE(a.out)->tp_name);
      Tensor out = unwrap(a.out);
      s.op.call(a.slots, Target::out, &out, r);
      return Py_NewRef(a.out);
    }
    s.op.call(a.slots, Target::fresh, nullptr, r);
    if (r.shape == Returns::one) [[likely]]
      return wrap(std::move(r.tensors[0]));
    return make_returns(r, s.op.schema);
  }
  if (c.signatures.size() == 1) fail(ErrorKind::Type, why);
  std::string given;
  for (size_t i = 0; i < n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0); i++) {
    given += i ? ", " : "";
    if (i >= n) given += std::string(PyUnicode_AsUTF8(PyTuple_GET_ITEM(kwnames, i - n))) + "=";
    given += Py_TYPE(args[i])->tp_name;
  }
  std::string list;
  for (auto& s : c.signatures) list += "\n  " + s.text();
  fail(ErrorKind::Type, c.name, "() does not take (", given, "); it takes one of", list);
}

PyObject* vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  Callable& c = *reinterpret_cast<CallableObject*>(self)->callable;
  return guarded([&] { return call(c, args, PyVectorcall_NARGS(nargsf), kwnames); });
}

PyObject* bind_instance(PyObject* self, PyObject* instance, PyObject*) {
  return !instance || instance == Py_None ? Py_NewRef(self) : PyMethod_New(self, instance);
}

Callable& callable_of(PyObject* o) { return *reinterpret_cast<CallableObject*>(o)->callable; }

PyObject* get_name(PyObject* o, void*) { return PyUnicode_FromString(callable_of(o).name.c_str()); }
PyObject* get_qualname(PyObject* o, void*) {
  return PyUnicode_FromString(((Py_TYPE(o) == method_type ? "Tensor." : "") + callable_of(o).name).c_str());
}
PyObject* get_module(PyObject* o, void*) {
  if (Py_TYPE(o) == method_type) Py_RETURN_NONE;
  return PyUnicode_FromString("rushlight._C");
}
PyObject* get_doc(PyObject* o, void*) {
  std::string doc;
  for (const OpInfo* op : callable_of(o).ops) doc += std::string(op->schema) + "\n";
  if (callable_of(o).ops[0]->doc[0]) doc += std::string("\n") + callable_of(o).ops[0]->doc + "\n";
  return PyUnicode_FromString(doc.c_str());
}
PyObject* represent(PyObject* o) {
  return PyUnicode_FromFormat("<built-in %s %s>", Py_TYPE(o) == method_type ? "method" : "function",
                              callable_of(o).name.c_str());
}
PyObject* reduce(PyObject* o, PyObject*) {
  if (Py_TYPE(o) == method_type) {
    return guarded([&] {
      nb::object get = nb::module_::import_("builtins").attr("getattr");
      return nb::make_tuple(
                 get, nb::make_tuple(nb::handle(reinterpret_cast<PyObject*>(tensor_type)), callable_of(o).name.c_str()))
          .release()
          .ptr();
    });
  }
  return get_name(o, nullptr);
}

PyTypeObject* make_type(const char* name, bool binds) {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(CallableObject, vectorcall), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyGetSetDef getset[] = {{"__name__", get_name, nullptr, nullptr, nullptr},
                                 {"__qualname__", get_qualname, nullptr, nullptr, nullptr},
                                 {"__module__", get_module, nullptr, nullptr, nullptr},
                                 {"__doc__", get_doc, nullptr, nullptr, nullptr},
                                 {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
  PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                         {Py_tp_members, members},
                         {Py_tp_getset, getset},
                         {Py_tp_methods, methods},
                         {Py_tp_repr, reinterpret_cast<void*>(represent)},
                         {binds ? Py_tp_descr_get : 0, reinterpret_cast<void*>(bind_instance)},
                         {0, nullptr}};
  unsigned flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | (binds ? Py_TPFLAGS_METHOD_DESCRIPTOR : 0);
  PyType_Spec spec = {name, sizeof(CallableObject), 0, flags, slots};
  return reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
}

nb::object make_object(PyTypeObject* type, Callable* c) {
  CallableObject* o = PyObject_New(CallableObject, type);
  if (!o) throw PythonError();
  o->vectorcall = vectorcall;
  o->callable = c;
  return nb::steal(reinterpret_cast<PyObject*>(o));
}

// By name, for operators and Python code: never freed, as the registry lives as long as the process.
std::unordered_map<std::string, Callable*>& callables() {
  static auto* m = new std::unordered_map<std::string, Callable*>;
  return *m;
}

void add(const std::string& name, const OpInfo& op, Target target) {
  Callable*& c = callables()[name];
  if (!c) c = new Callable{name, target, false, {}, {}, nullptr};
  c->ops.push_back(&op);
  c->takes_out |= target == Target::fresh && (op.forms & out);
}

PyObject* represent_returns(PyObject* o) {
  return guarded([&] {
    nb::object fields = nb::handle(o).attr("__match_args__");
    std::string text = std::string(Py_TYPE(o)->tp_name) + "(";
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); i++)
      text += (i ? ",\n" : "\n") + nb::cast<std::string>(fields[i]) + "=" +
              nb::repr(nb::handle(PyTuple_GET_ITEM(o, i))).c_str();
    return nb::str((text + ")").c_str()).release().ptr();
  });
}

// (values, indices) as torch.return_types.max and the like.
PyTypeObject* return_type(const std::string& schema) {
  static auto* types = new std::unordered_map<std::string, PyTypeObject*>;
  PyTypeObject*& type = (*types)[schema];
  if (type) return type;
  std::string names = schema.substr(schema.rfind("-> (") + 4);
  auto* strings = new std::vector<std::string>;
  for (size_t at = 0; (at = names.find("Tensor ", at)) != std::string::npos;) {
    at += 7;
    strings->push_back(names.substr(at, names.find_first_of(",)", at) - at));
  }
  auto* fields = new std::vector<PyStructSequence_Field>;
  for (auto& s : *strings) fields->push_back({s.c_str(), nullptr});
  fields->push_back({nullptr, nullptr});
  auto* name = new std::string("torch.return_types." + schema.substr(0, schema.find('(')));
  PyStructSequence_Desc d{name->c_str(), nullptr, fields->data(), int(strings->size())};
  type = reinterpret_cast<PyTypeObject*>(checked(reinterpret_cast<PyObject*>(PyStructSequence_NewType(&d))));
  type->tp_repr = represent_returns;
  return type;
}

}  // namespace

PyObject* make_returns(Returns& r, const char* schema) {
  switch (r.shape) {
    case Returns::one: return wrap(std::move(r.tensors[0]));
    case Returns::scalar: return wrap_scalar(r.number);
    default: break;
  }
  bool named = r.shape == Returns::tuple && std::strstr(schema, "-> (Tensor ");
  nb::object t = steal(named ? PyStructSequence_New(return_type(schema)) : PyTuple_New(r.tensors.size()));
  for (size_t i = 0; i < r.tensors.size(); i++) {
    PyObject* o = wrap(std::move(r.tensors[i]));
    if (named) PyStructSequence_SET_ITEM(t.ptr(), i, o);
    else PyTuple_SET_ITEM(t.ptr(), i, o);
  }
  return t.release().ptr();
}

PyObject* call_operation(const char* name, PyObject* const* args, size_t n) {
  auto it = callables().find(name);
  RL_CHECK_KIND(it != callables().end(), NotImplemented, "the operation '", name, "' does not exist");
  return call(*it->second, args, n, nullptr);
}

void bind_operations(nb::module_& m) {
  function_type = make_type("rushlight._C.Function", false);
  method_type = make_type("rushlight._C.Method", true);
  std::unordered_multimap<std::string, std::string> also;
  for (const Alias& a : aliases()) also.emplace(a.of, a.name);
  std::unordered_map<std::string, uint32_t> forms;
  for (const OpInfo& op : registry()) {
    auto add_as = [&](const std::string& name) {
      if (op.forms & (function | method | hidden)) add(name, op, Target::fresh);
      if (op.forms & inplace) add(name + "_", op, Target::self);
      forms[name] |= op.forms;
    };
    std::string name = op_name(op.schema);
    add_as(name);
    for (auto [i, end] = also.equal_range(name); i != end; ++i) add_as(i->second);
  }
  nb::handle type(reinterpret_cast<PyObject*>(tensor_type));
  for (auto& [name, c] : callables()) {
    bool in_place = c->target == Target::self;
    uint32_t f = forms[in_place ? name.substr(0, name.size() - 1) : name];
    if (in_place || (f & (function | hidden))) {
      nb::object o = make_object(function_type, c);
      c->object = o.ptr();
      m.attr(name.c_str()) = o;
    }
    if (in_place || (f & method)) {
      nb::object o = make_object(method_type, c);
      if (!c->object) c->object = o.ptr();
      nb::setattr(type, name.c_str(), o);
    }
  }
  // Its schemas, whether it writes to its first argument, whether it takes out=.
  m.def("_describe", [](std::string name) {
    const Callable& c = *callables().at(name);
    nb::list schemas;
    for (const OpInfo* op : c.ops) schemas.append(op->schema);
    return nb::make_tuple(schemas, c.target == Target::self, c.takes_out);
  });
  m.def("_registered_ops", [] {
    nb::list l;
    for (const OpInfo& op : registry()) l.append(op.schema);
    return l;
  });
}

}  // namespace rushlight::python
