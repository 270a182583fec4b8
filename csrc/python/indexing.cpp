// x[...] and x[...] = value.
//
// An index is taken apart from left to right: integers, slices, None, Ellipsis and bools become views; tensors, lists
// and arrays are collected, each for the dimension where it stands, and handed to index() or index_put_() together.
#include "python/common.h"

namespace rushlight::python {
namespace {

constexpr auto kAllowed =
    "\n  hint: an index is made of integers, slices, None, ..., bools, and integer or bool tensors, lists or arrays";

// An integer, also of NumPy's; not a bool and no tensor.
bool as_integer(PyObject* o, int64_t& v) {
  if (PyBool_Check(o) || is_tensor(o)) return false;
  if (!PyLong_Check(o)) {
    PyNumberMethods* n = Py_TYPE(o)->tp_as_number;
    if (!n || !n->nb_index || PySequence_Check(o)) return false;
    nb::object i = nb::steal(PyNumber_Index(o));
    if (!i.is_valid()) {
      PyErr_Clear();
      return false;
    }
    return as_integer(i.ptr(), v);
  }
  int overflow;
  v = PyLong_AsLongLongAndOverflow(o, &overflow);
  RL_CHECK_KIND(!overflow, Index, "the index does not fit 64 bits");
  return true;
}

Tensor take_slice(const Tensor& x, int64_t dim, PyObject* o) {
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(o, &start, &stop, &step) < 0) throw PythonError();
  return slice(x, dim, start, stop, step);
}
bool whole(PyObject* o) {
  PySliceObject* s = reinterpret_cast<PySliceObject*>(o);
  return s->start == Py_None && s->stop == Py_None && s->step == Py_None;
}

// A list or array as the tensor it spells.
Tensor tensor_of(PyObject* o) {
  if (PyUnicode_Check(o) || PyBytes_Check(o) || PyDict_Check(o))
    fail(ErrorKind::Index, "a ", Py_TYPE(o)->tp_name, " cannot be an index", kAllowed);
  nb::object data = nb::borrow(o);
  bool array = PyObject_HasAttrString(o, "__array__") || PyObject_HasAttrString(o, "__dlpack__");
  if (!array && !PySequence_Check(o))
    fail(ErrorKind::Index, "a ", Py_TYPE(o)->tp_name, " cannot be an index", kAllowed);
  nb::object made;
  try {
    if (!array && PySequence_Size(o) == 0) return empty({0}, DType::Int64);
    made = nb::module_::import_("rushlight").attr("as_tensor")(data);
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_ValueError) && !e.matches(PyExc_TypeError)) throw;
    fail(ErrorKind::Index, "a ", Py_TYPE(o)->tp_name, " that is no array of integers or bools cannot be an index",
         kAllowed);
  }
  return unwrap(made.ptr());
}

// How many dimensions of the tensor an item of the index covers.
int64_t covers(PyObject* o) {
  if (o == Py_None || o == Py_Ellipsis || PyBool_Check(o)) return 0;
  if (is_tensor(o)) {
    TensorImpl* t = impl_of(o);
    return t->dtype == DType::Bool || t->dtype == DType::UInt8 ? int64_t(t->sizes.size()) : 1;
  }
  return 1;
}

// Complains of the index before anything of the tensor's history.
Tensor pick(const Tensor& x, int64_t dim, int64_t i) {
  int64_t size = x.sizes()[dim];
  RL_CHECK_KIND(i >= -size && i < size, Index, "index ", i, " is out of bounds for dimension ", dim, " of size ", size);
  return select_index(x, dim, i);
}

struct Taken {
  Tensor view;                  // after all that views can do
  std::vector<Tensor> indices;  // of its leading dimensions, undefined where they are taken whole; empty: none
};

Tensor bool_index(bool value, Device device) {
  return value ? zeros({1}, DType::Int64, device) : empty({0}, DType::Int64, device);
}

Taken take_apart(const Tensor& x, PyObject* index) {
  PyObject* const* items = &index;
  Py_ssize_t n = 1;
  if (PyTuple_Check(index)) items = PySequence_Fast_ITEMS(index), n = PyTuple_GET_SIZE(index);
  // Lists and arrays first, as it matters how many dimensions their bools cover.
  std::vector<nb::object> held(n);
  int64_t covered = 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* o = items[i];
    int64_t ignored;
    held[i] = nb::borrow(o);
    if (o != Py_None && o != Py_Ellipsis && !PyBool_Check(o) && !PySlice_Check(o) && !is_tensor(o) &&
        !as_integer(o, ignored))
      held[i] = nb::steal(wrap(tensor_of(o)));
    covered += covers(held[i].ptr());
  }
  RL_CHECK_KIND(covered <= x.dim(), Index, "too many indices: ", covered, " for a tensor of ", x.dim(), " dimension",
                x.dim() == 1 ? "" : "s", " (shape ", x.sizes(), ")");

  Taken t{x, {}};
  int64_t dim = 0;
  int64_t folded = 0;  // dimensions that masks cover beyond the first: the list is shorter by so many
  auto put = [&](Tensor index, int64_t dims) {
    t.indices.resize(dim - folded);
    t.indices.push_back(std::move(index));
    dim += dims, folded += dims - 1;
  };
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* o = held[i].ptr();
    int64_t at;
    if (as_integer(o, at)) {
      RL_CHECK_KIND(t.view.dim() > dim, Index, "too many indices for a tensor of shape ", x.sizes());
      t.view = pick(t.view, dim, at);
    } else if (PySlice_Check(o)) {
      if (!whole(o)) t.view = take_slice(t.view, dim, o);
      dim++;
    } else if (o == Py_None) {
      t.view = unsqueeze(t.view, dim++);
    } else if (o == Py_Ellipsis) {
      dim += x.dim() - covered;
      covered = x.dim();  // a second one covers nothing
    } else if (PyBool_Check(o)) {
      t.view = unsqueeze(t.view, dim);
      put(bool_index(o == Py_True, x.device()), 1);
    } else {
      Tensor index = unwrap(o);
      DType d = index.dtype();
      bool mask = d == DType::Bool || d == DType::UInt8;
      RL_CHECK_KIND(mask || d == DType::Int64 || d == DType::Int32, Index,
                    "tensors used as indices must be int64, int32, uint8 or bool, not ", d,
                    hint("convert with .long(), or compare to get a bool mask"));
      if (d == DType::UInt8)
        warn(
            "a uint8 tensor as an index is taken for a mask, which is deprecated\n"
            "  hint: use .bool() for a mask, or .long() for indices");
      if (index.dim() > 0) {
        put(index, mask ? index.dim() : 1);
      } else if (mask) {
        t.view = unsqueeze(t.view, dim);
        put(bool_index(index.item().to_int() != 0, x.device()), 1);
      } else {
        t.view = pick(t.view, dim, index.item().to_int());
      }
    }
  }
  return t;
}

// Whether __torch_function__ of an argument, or a mode, wants to see the call.
bool intercepted(PyObject* o) {
  if (tls.torch_function_off) return false;
  return in_torch_function_mode() || (!plain(o) && overrides_torch_function(o));
}
bool intercepted_index(PyObject* index) {
  if (!PyTuple_Check(index)) return intercepted(index);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(index); i++)
    if (intercepted(PyTuple_GET_ITEM(index, i))) return true;
  return false;
}

PyObject* torch_function(const char* name, std::initializer_list<PyObject*> args) {
  nb::object dispatch = nb::module_::import_("rushlight.overrides").attr("_dispatch");
  nb::object function = nb::steal(checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), name)));
  nb::list list;
  for (PyObject* o : args) list.append(nb::handle(o));
  return dispatch(function, nb::tuple(list), nb::dict()).release().ptr();
}

// Indices made of integers and whole slices, or a single slice: no need to take anything apart.
bool quick(const Tensor& x, PyObject* index, Tensor& result) {
  if (PyLong_CheckExact(index)) {
    int64_t i;
    as_integer(index, i);
    if (!x.dim()) return false;
    result = pick(x, 0, i);
    return true;
  }
  if (PySlice_Check(index)) {
    if (!x.dim()) return false;
    result = whole(index) ? alias_view(x) : take_slice(x, 0, index);
    return true;
  }
  if (!PyTuple_Check(index) || PyTuple_GET_SIZE(index) > x.dim() || !PyTuple_GET_SIZE(index)) return false;
  Py_ssize_t n = PyTuple_GET_SIZE(index);
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* o = PyTuple_GET_ITEM(index, i);
    if (!PyLong_CheckExact(o) && !PySlice_Check(o)) return false;
  }
  result = x;
  int64_t dim = 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* o = PyTuple_GET_ITEM(index, i);
    if (PySlice_Check(o)) {
      if (!whole(o)) result = take_slice(result, dim, o);
      dim++;
    } else {
      int64_t at;
      as_integer(o, at);
      result = pick(result, dim, at);
    }
  }
  if (result.is_same(x)) result = alias_view(x);
  return true;
}

// What is assigned: a tensor, or a number as a tensor of the target's dtype.
Tensor value_of(PyObject* value, const Tensor& x) {
  if (is_tensor(value)) return unwrap(value);
  Scalar s;
  if (!to_scalar(value, s))
    fail(ErrorKind::Type, "can't assign a ", Py_TYPE(value)->tp_name, " to a tensor of ", x.dtype(),
         hint("make it a tensor first, for example with rushlight.tensor(...)"));
  return scalar_tensor(s, x.dtype(), x.device());
}

// Leading dimensions of size 1 that the target has not are dropped.
Tensor without_leading_ones(const Tensor& value, const Dims& target) {
  int64_t extra = 0;
  while (value.dim() - extra > int64_t(target.size()) && value.sizes()[extra] == 1) extra++;
  return extra ? view(value, IntSpan(value.sizes().data() + extra, value.dim() - extra)) : value;
}

}  // namespace

PyObject* get_item(PyObject* self, PyObject* index) {
  return guarded([&]() -> PyObject* {
    if (intercepted(self) || intercepted_index(index)) [[unlikely]]
      return torch_function("__getitem__", {self, index});
    Tensor x = unwrap(self), result;
    if (quick(x, index, result)) return wrap(std::move(result));
    Taken t = take_apart(x, index);
    if (t.indices.empty()) return wrap(t.view.is_same(x) ? alias_view(x) : t.view);
    return wrap(rushlight::index(t.view, t.indices));
  });
}

int set_item(PyObject* self, PyObject* index, PyObject* value) {
  return guarded_int([&] {
    if (!value) fail(ErrorKind::Type, "elements of a tensor cannot be deleted", hint("select what remains: x[mask]"));
    if (intercepted(self) || intercepted_index(index) || intercepted(value)) [[unlikely]] {
      Py_DECREF(torch_function("__setitem__", {self, index, value}));
      return;
    }
    Tensor x = unwrap(self), to;
    std::vector<Tensor> indices;
    if (!quick(x, index, to)) {
      Taken t = take_apart(x, index);
      to = std::move(t.view), indices = std::move(t.indices);
    }
    Scalar number;
    bool is_number = !is_tensor(value) && to_scalar(value, number);
    if (indices.empty()) {
      if (is_number) {
        fill_(to, number);
        return;
      }
      Tensor v = value_of(value, x);
      copy_(to, without_leading_ones(v, to.sizes()));
      return;
    }
    Tensor v = value_of(value, x);
    // Unrecorded, one pass over the mask does; recorded, the node is index_put's as in PyTorch.
    bool recording = tls.grad_enabled && (to.requires_grad() || v.requires_grad());
    if (!recording && indices.size() == 1 && indices[0] && indices[0].dtype() == DType::Bool && v.dim() == 0 &&
        v.dtype() == to.dtype() && indices[0].sizes() == to.sizes()) {
      masked_fill_(to, indices[0], v);
      return;
    }
    index_put_(to, indices, v);
  });
}

}  // namespace rushlight::python
