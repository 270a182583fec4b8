#include "python/args.h"

#include <cstring>

namespace rushlight::python {

namespace {

PyObject* parse_default(const std::string& s) {
  nb::object builtins = nb::module_::import_("builtins");
  return builtins.attr("eval")(nb::str(s.c_str()), nb::dict()).release().ptr();
}

ArgType type_of(const std::string& t) {
  static const std::pair<const char*, ArgType> names[] = {{"Tensor", ArgType::Tensor},
                                                          {"Number|Tensor", ArgType::NumberOrTensor},
                                                          {"Tensor[]", ArgType::TensorList},
                                                          {"Tensor?[]", ArgType::TensorList},
                                                          {"int", ArgType::Int},
                                                          {"float", ArgType::Float},
                                                          {"bool", ArgType::Bool},
                                                          {"Scalar", ArgType::Number},
                                                          {"int[]", ArgType::IntList},
                                                          {"dtype", ArgType::DType},
                                                          {"device", ArgType::Device},
                                                          {"str", ArgType::Str},
                                                          {"memory_format", ArgType::MemoryFormat},
                                                          {"Generator", ArgType::Generator}};
  for (auto& [n, type] : names)
    if (t == n) return type;
  fail(ErrorKind::Runtime, "unknown type in a schema: ", t);
}

}  // namespace

Signature::Signature(const OpInfo& o) : op(o) {
  std::string s = o.schema;
  size_t open = s.find('('), close = s.rfind(") ->");
  name = s.substr(0, open);
  bool keyword = false;
  size_t at = open + 1;
  while (at < close) {
    // Up to the next comma outside quotes and brackets.
    size_t end = at;
    int depth = 0;
    for (bool quoted = false; end < close; end++) {
      char c = s[end];
      if (c == '\'') quoted = !quoted;
      if (quoted) continue;
      if (c == '[' || c == '(') depth++;
      if (c == ']' || c == ')') depth--;
      if (c == ',' && !depth) break;
    }
    std::string part = s.substr(at, end - at);
    at = end + 1;
    part.erase(0, part.find_first_not_of(' '));
    if (part == "*") {
      keyword = true;
      continue;
    }
    Param p;
    p.keyword_only = keyword;
    size_t equals = part.find('=');
    if (equals != std::string::npos) p.fallback = parse_default(part.substr(equals + 1));
    std::string declaration = part.substr(0, equals);
    size_t space = declaration.rfind(' ');
    p.name = PyUnicode_InternFromString(declaration.substr(space + 1).c_str());
    std::string type = declaration.substr(0, space);
    p.type_name = type;
    if (type.back() == '*') p.varargs = true, type.pop_back();
    if (type.back() == '?') p.optional = true, type.pop_back();
    if (type == "Tensor?[]") p.list_optional = true;
    if (type.back() == ']' && isdigit(type[type.size() - 2])) {
      p.size = type[type.size() - 2] - '0';
      type.erase(type.size() - 2, 1);
    }
    p.type = type_of(type);
    params.push_back(p);
    if (!keyword) positional++;
  }
  RL_CHECK(params.size() <= kMaxParams, "too many parameters: ", o.schema);
}

std::string Signature::text() const { return std::string(op.schema, std::strstr(op.schema, " ->") - op.schema); }

static bool as_int(PyObject* o, int64_t& v) {
  if (PyLong_CheckExact(o) || PyLong_Check(o)) {
    int overflow;
    v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow) fail(ErrorKind::Overflow, "the integer does not fit 64 bits");
    return true;
  }
  PyNumberMethods* n = Py_TYPE(o)->tp_as_number;
  if (!n || !n->nb_index) return false;
  if (is_tensor(o) && (!is_integral(impl_of(o)->dtype) || impl_of(o)->numel != 1)) return false;
  PyObject* i = PyNumber_Index(o);
  if (!i) {
    PyErr_Clear();
    return false;
  }
  bool ok = as_int(i, v);
  Py_DECREF(i);
  return ok;
}

bool Arguments::convert_ints(const Param& p, PyObject* const* items, size_t n, Slot& slot) {
  size_t count = n == 1 && p.size > 1 ? p.size : n;
  if (p.size > 1 && count != size_t(p.size) && !(p.optional && n == 0)) return false;
  int64_t* to;
  if (n_ints + count <= std::size(ints)) {
    to = ints + n_ints;
    n_ints += count;
  } else {
    long_ints.push_back(std::make_unique<int64_t[]>(count));
    to = long_ints.back().get();
  }
  for (size_t i = 0; i < n; i++)
    if (!as_int(items[i], to[i])) return false;
  for (size_t i = n; i < count; i++) to[i] = to[0];
  slot.pointer = to;
  slot.count = count;
  return true;
}

bool Arguments::convert(const Signature& s, const Param& p, PyObject* v, Slot& slot, Tensor& holder, std::string* why) {
  slot.given = v != Py_None;
  if (v == Py_None && (p.optional || p.fallback == Py_None)) {
    slot.tensor = &holder;
    return true;
  }
  bool ok = false;
  switch (p.type) {
    case ArgType::NumberOrTensor:
      if (!is_tensor(v)) {
        if (overrides_torch_function(v)) {
          overridden = ok = true;
        } else if (Scalar number; to_scalar(v, number)) {
          holder = wrapped_number(number);
          ok = true;
        }
        slot.tensor = &holder;
        break;
      }
      [[fallthrough]];
    case ArgType::Tensor:
      if (is_tensor(v)) {
        holder = unwrap(v);
        ok = true;
        if (Py_TYPE(v) != tensor_type && overrides_torch_function(v)) overridden = true;
      } else if (overrides_torch_function(v)) {
        overridden = ok = true;
      }
      slot.tensor = &holder;
      break;
    case ArgType::TensorList:
      if (PyList_Check(v) || PyTuple_Check(v)) {
        ok = true;
        auto& list = lists[n_lists++];
        Py_ssize_t n = PySequence_Fast_GET_SIZE(v);
        for (Py_ssize_t i = 0; i < n && ok; i++) {
          PyObject* o = PySequence_Fast_GET_ITEM(v, i);
          if (o == Py_None && p.list_optional) list.emplace_back();
          else if (is_tensor(o)) {
            list.push_back(unwrap(o));
            if (overrides_torch_function(o)) overridden = true;
          } else if (overrides_torch_function(o)) {
            overridden = true;
          } else {
            ok = false;
            if (why)
              *why = detail::concat(s.name, "(): '", PyUnicode_AsUTF8(p.name), "' must hold Tensors only, but element ",
                                    i, " is ", Py_TYPE(o)->tp_name);
            return false;
          }
        }
        slot.tensor = list.data();
        slot.count = list.size();
      }
      break;
    case ArgType::Int: ok = !PyFloat_Check(v) && as_int(v, slot.integer); break;
    case ArgType::Float: {
      Scalar number;
      if ((ok = to_scalar(v, number))) slot.real = number.to_double();
      break;
    }
    case ArgType::Bool:
      if (PyBool_Check(v)) slot.boolean = v == Py_True, ok = true;
      else if (Scalar number; std::strncmp(Py_TYPE(v)->tp_name, "numpy.bool", 10) == 0 && to_scalar(v, number))
        slot.boolean = number.to_int() != 0, ok = true;
      break;
    case ArgType::Number: ok = to_scalar(v, slot.scalar); break;
    case ArgType::IntList:
      if (PyTuple_Check(v) || PyList_Check(v)) {
        ok = convert_ints(p, PySequence_Fast_ITEMS(v), PySequence_Fast_GET_SIZE(v), slot);
      } else if (p.size || p.varargs) {
        ok = !PyFloat_Check(v) && convert_ints(p, &v, 1, slot);
      }
      break;
    case ArgType::DType: {
      DType d;
      if ((ok = to_dtype(v, d))) slot.integer = int64_t(d);
      break;
    }
    case ArgType::Device: {
      Device d;
      if ((ok = to_device(v, d))) slot.integer = int64_t(d.type) | int64_t(uint8_t(d.index)) << 8;
      break;
    }
    case ArgType::Str:
      if (PyUnicode_Check(v)) {
        Py_ssize_t n;
        slot.pointer = PyUnicode_AsUTF8AndSize(v, &n);
        slot.count = n;
        ok = slot.pointer != nullptr;
        if (!ok) PyErr_Clear();
      }
      break;
    case ArgType::MemoryFormat: {
      static PyObject* attribute = PyUnicode_InternFromString("_number");
      PyObject* n = PyObject_GetAttr(v, attribute);
      if (!n) PyErr_Clear();
      else {
        ok = as_int(n, slot.integer) && slot.integer >= 0 && slot.integer <= 3;
        Py_DECREF(n);
      }
      break;
    }
    case ArgType::Generator: {
      static PyObject* attribute = PyUnicode_InternFromString("_pointer");
      PyObject* n = PyObject_GetAttr(v, attribute);
      if (!n) PyErr_Clear();
      else {
        slot.pointer = PyLong_AsVoidPtr(n);
        ok = slot.pointer != nullptr;
        if (!ok) PyErr_Clear();
        Py_DECREF(n);
      }
      break;
    }
  }
  if (!ok && why && why->empty()) {
    const bool number = p.type == ArgType::Number || p.type == ArgType::Float;
    const bool loses_grad = number && is_tensor(v) && requires_grad(unwrap(v));
    *why = detail::concat(s.name, "(): argument '", PyUnicode_AsUTF8(p.name), "' must be ", p.type_name, ", not ",
                          Py_TYPE(v)->tp_name, loses_grad ? " that requires grad, which would get no gradient" : "",
                          "\n  signature: ", s.text(), loses_grad ? hint("give its value: .item()") : "");
  }
  return ok;
}

bool Arguments::parse(const Signature& s, PyObject* const* args, size_t n, PyObject* kwnames, bool takes_out,
                      std::string* why) {
  size_t n_params = s.params.size(), n_keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  PyObject* values[kMaxParams] = {};
  // An int[]* swallows all that is given by position from its place on: x.permute(1, 0).
  size_t varargs_at = n_params;
  for (size_t i = 0; i < n_params && i < 2; i++)
    if (s.params[i].varargs) varargs_at = i;
  bool spread =
      varargs_at < n_params && varargs_at < n && !PyTuple_Check(args[varargs_at]) && !PyList_Check(args[varargs_at]);
  // With x.view(dtype)-like overloads the single argument may be no integer at all.
  if (spread) {
    int64_t ignored;
    for (size_t i = varargs_at; i < n; i++)
      if (PyFloat_Check(args[i]) || !as_int(args[i], ignored)) spread = false;
  }
  size_t by_position = spread ? varargs_at : n;
  if (by_position > size_t(s.positional)) {
    if (why)
      *why = detail::concat(s.name, "() takes at most ", s.positional, " positional arguments, ", n,
                            " were given\n  signature: ", s.text());
    return false;
  }
  for (size_t i = 0; i < by_position; i++) values[i] = args[i];

  for (size_t k = 0; k < n_keywords; k++) {
    PyObject* key = PyTuple_GET_ITEM(kwnames, k);
    PyObject* value = args[n + k];
    size_t i = 0;
    for (; i < n_params; i++)
      if (s.params[i].name == key) break;
    if (i == n_params)
      for (i = 0; i < n_params; i++)
        if (PyUnicode_Compare(s.params[i].name, key) == 0) break;
    if (i == n_params) {
      const char* word = PyUnicode_AsUTF8(key);
      if (takes_out && !std::strcmp(word, "out")) {
        out = value == Py_None ? nullptr : value;
        continue;
      }
      // NumPy's names for the same.
      const char* also = !std::strcmp(word, "axis")       ? "dim"
                         : !std::strcmp(word, "keepdims") ? "keepdim"
                         : !std::strcmp(word, "input")    ? "self"
                         : !std::strcmp(word, "x")        ? "self"
                                                          : nullptr;
      if (also)
        for (i = 0; i < n_params; i++)
          if (!PyUnicode_CompareWithASCIIString(s.params[i].name, also)) break;
      if (i == n_params) {
        if (why)
          *why = detail::concat(s.name, "() got an unexpected keyword argument '", word, "'\n  signature: ", s.text());
        return false;
      }
    }
    if (values[i] || (spread && i == varargs_at)) {
      if (why) *why = detail::concat(s.name, "() got argument '", PyUnicode_AsUTF8(s.params[i].name), "' twice");
      return false;
    }
    values[i] = value;
  }

  for (size_t i = 0; i < n_params; i++) {
    const Param& p = s.params[i];
    if (spread && i == varargs_at) {
      slots[i].given = true;
      if (!convert_ints(p, args + varargs_at, n - varargs_at, slots[i])) return false;
      continue;
    }
    PyObject* v = values[i] ? values[i] : p.fallback;
    if (!v) {
      if (why)
        *why = detail::concat(s.name, "() misses argument '", PyUnicode_AsUTF8(p.name), "'\n  signature: ", s.text());
      return false;
    }
    if (!convert(s, p, v, slots[i], tensors[i], why)) return false;
  }
  return true;
}

}  // namespace rushlight::python
