// Creating tensors from Python values; shapes and options are worked out here so that zeros(3) costs little.
#include "base/thread_pool.h"
#include "python/common.h"

namespace rushlight::python {
namespace {

// What a nested list of numbers is: its shape, and the widest kind of number in it.
struct Nested {
  Dims shape;
  DType kind = DType::Bool;
  bool any = false;
  std::vector<Scalar> values;
  std::vector<Tensor> parts;  // for lists that hold tensors

  void scan(PyObject* o, size_t depth) {
    if (PyList_Check(o) || PyTuple_Check(o)) {
      int64_t n = PySequence_Fast_GET_SIZE(o);
      if (depth == shape.size()) {
        RL_CHECK_KIND(!any, Value, "expected a number at depth ", depth, " of the nested list, got a list");
        RL_CHECK_KIND(depth < 64, Value, "the list is nested more than 64 deep");
        shape.push_back(n);
      }
      RL_CHECK_KIND(shape[depth] == n, Value, "the nested list is ragged: at depth ", depth, " a list has ", n,
                    " elements where others have ", shape[depth]);
      for (int64_t i = 0; i < n; i++) scan(PySequence_Fast_GET_ITEM(o, i), depth + 1);
      return;
    }
    RL_CHECK_KIND(depth == shape.size(), Value, "expected a list at depth ", depth, " of the nested list, got a ",
                  Py_TYPE(o)->tp_name);
    Scalar s;
    if (!to_scalar(o, s)) fail(ErrorKind::Type, "a tensor cannot be made from a ", Py_TYPE(o)->tp_name);
    any = true;
    DType d = s.dtype();
    kind = kind == DType::Float64 || d == DType::Float64 ? DType::Float64
           : kind == DType::Int64 || d == DType::Int64   ? DType::Int64
                                                         : DType::Bool;
    values.push_back(s);
  }
};

nb::object from_nested(nb::object data, std::optional<nb::object> dtype) {
  Nested n;
  n.scan(data.ptr(), 0);
  DType d = !n.any ? default_dtype() : n.kind == DType::Float64 ? default_dtype() : n.kind;
  if (dtype && !dtype->is_none() && !to_dtype(dtype->ptr(), d))
    fail(ErrorKind::Type, "dtype must be a rushlight.dtype, not ", Py_TYPE(dtype->ptr())->tp_name);
  Tensor t = empty(n.shape, d);
  visit(d, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* p = t.data<T>();
    for (const Scalar& s : n.values) *p++ = s.to<T>();
  });
  return nb::steal(wrap(t));
}

Dims dims_of(nb::handle h) {
  Dims d;
  if (PyTuple_Check(h.ptr()) || PyList_Check(h.ptr())) {
    for (nb::handle x : h) {
      Py_ssize_t v = PyNumber_AsSsize_t(x.ptr(), PyExc_OverflowError);
      if (v == -1 && PyErr_Occurred()) throw PythonError();
      d.push_back(v);
    }
  } else {
    Py_ssize_t v = PyNumber_AsSsize_t(h.ptr(), PyExc_OverflowError);
    if (v == -1 && PyErr_Occurred()) throw PythonError();
    d.push_back(v);
  }
  return d;
}

DType dtype_or(nb::handle h, DType fallback) {
  DType d = fallback;
  if (!h.is_none() && !to_dtype(h.ptr(), d)) fail(ErrorKind::Type, "dtype must be a rushlight.dtype, not ", Py_TYPE(h.ptr())->tp_name);
  return d;
}
Device device_of(nb::handle h) {
  Device d;
  if (!h.is_none() && !to_device(h.ptr(), d)) fail(ErrorKind::Type, "device must be a string or a rushlight.device, not ", Py_TYPE(h.ptr())->tp_name);
  return d;
}

}  // namespace

void bind_creation(nb::module_& m) {
  m.def("_from_nested", from_nested, nb::arg("data"), nb::arg("dtype").none() = nb::none());
  m.def("_empty", [](nb::object size, nb::object dtype, nb::object device) {
    return empty(dims_of(size), dtype_or(dtype, default_dtype()), device_of(device));
  }, nb::arg("size"), nb::arg("dtype").none(), nb::arg("device").none());
  m.def("_full", [](nb::object size, nb::object value, nb::object dtype, nb::object device) {
    Scalar s;
    if (!to_scalar(value.ptr(), s)) fail(ErrorKind::Type, "full: the value must be a number, not ", Py_TYPE(value.ptr())->tp_name);
    DType d = s.is_floating() ? default_dtype() : s.dtype();
    return full(dims_of(size), s, dtype_or(dtype, d), device_of(device));
  }, nb::arg("size"), nb::arg("value"), nb::arg("dtype").none(), nb::arg("device").none());
  m.def("_empty_strided", [](nb::object size, nb::object stride, nb::object dtype, nb::object device) {
    return empty_strided(dims_of(size), dims_of(stride), dtype_or(dtype, default_dtype()), device_of(device));
  }, nb::arg("size"), nb::arg("stride"), nb::arg("dtype").none(), nb::arg("device").none());
  m.def("_empty_like", [](Tensor t, nb::object dtype, int format) {
    return empty_like(t, dtype_or(dtype, t.dtype()), MemoryFormat(format));
  }, nb::arg("input"), nb::arg("dtype").none(), nb::arg("format"));
  m.def("_make_subclass", [](nb::type_object cls, Tensor data, bool requires_grad) {
    Tensor t = alias(data);
    nb::object o = nb::steal(wrap_as(reinterpret_cast<PyTypeObject*>(cls.ptr()), t));
    if (requires_grad) unwrap(o.ptr()).set_requires_grad(true);
    return o;
  }, nb::arg("cls"), nb::arg("data"), nb::arg("requires_grad") = false);
  m.def("get_default_dtype", [] { return nb::steal(wrap_dtype(default_dtype())); });
  m.def("set_default_dtype", [](nb::object d) { set_default_dtype(dtype_or(d, default_dtype())); });
  m.def("get_num_threads", num_threads);
  m.def("set_num_threads", [](int n) {
    RL_CHECK(n >= 1, "set_num_threads: expects at least 1, got ", n);
    set_num_threads(n);
  });
}

PyObject* get_item(PyObject*, PyObject*) { return guarded([]() -> PyObject* { fail(ErrorKind::NotImplemented, "indexing"); }); }
int set_item(PyObject*, PyObject*, PyObject*) { return guarded_int([] { fail(ErrorKind::NotImplemented, "indexing"); }); }

}  // namespace rushlight::python
