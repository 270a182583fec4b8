// Tensor's properties, and its methods that are no operations.
#include "python/common.h"

namespace rushlight::python {
namespace {

Tensor self_of(PyObject* o) { return unwrap(o); }

#define RL_GET(name) PyObject* name(PyObject* o, void*)
#define RL_GUARDED(name, expression)    \
  RL_GET(name) {                        \
    return guarded([&]() -> PyObject* { \
      Tensor t = self_of(o);            \
      return expression;                \
    });                                 \
  }
RL_GUARDED(get_shape, wrap_shape(t.sizes()))
RL_GUARDED(get_dtype, wrap_dtype(t.dtype()))
RL_GUARDED(get_device, wrap_device(t.device()))
RL_GUARDED(get_ndim, PyLong_FromLongLong(t.dim()))
RL_GUARDED(get_itemsize, PyLong_FromLong(t.itemsize()))
RL_GUARDED(get_nbytes, PyLong_FromLongLong(t.numel() * t.itemsize()))
RL_GUARDED(get_requires_grad, PyBool_FromLong(t.requires_grad()))
RL_GUARDED(get_is_leaf, PyBool_FromLong(t.is_leaf()))
RL_GUARDED(get_retains_grad, PyBool_FromLong(t.impl()->autograd != nullptr && t.impl()->autograd->retains_grad))
RL_GET(get_version) {
  return guarded([&]() -> PyObject* {
    Tensor t = self_of(o);
    RL_CHECK(t.impl()->counts_versions(), "a tensor made under inference_mode() does not count its versions");
    return PyLong_FromLong(t.version());
  });
}
RL_GUARDED(get_data, wrap(variable_data(t)))
RL_GUARDED(get_output_nr, PyLong_FromLong(t.impl()->autograd ? t.impl()->autograd->nr : 0))
RL_GUARDED(get_base, wrap(view_base(t)))
RL_GUARDED(get_inference, PyBool_FromLong(t.impl()->inference))
RL_GUARDED(is_meta, PyBool_FromLong(t.is_meta()))
RL_GUARDED(is_cpu, PyBool_FromLong(t.device().type == DeviceType::CPU))
// The transposes as PyTorch has them.
Tensor all_dimensions_reversed(const Tensor& t) {
  Dims order;
  for (int64_t d = t.dim(); d-- > 0;) order.push_back(d);
  return permute(t, order);
}
Tensor matrices_transposed(const Tensor& t, const char* name) {
  RL_CHECK(t.dim() >= 2, name, ": expects a matrix or a batch of matrices, got shape ", t.sizes());
  return transpose(t, -2, -1);
}
Tensor matrix_transposed(const Tensor& t) {
  RL_CHECK(t.dim() == 2 || t.dim() == 0, "H: expects a matrix, got shape ", t.sizes(), hint("use .mH for batches"));
  return t.dim() ? transpose(t, 0, 1) : alias_view(t);
}
RL_GUARDED(get_T, wrap(all_dimensions_reversed(t)))
RL_GUARDED(get_mT, wrap(matrices_transposed(t, "mT")))
RL_GUARDED(get_mH, wrap(matrices_transposed(t, "mH")))
RL_GUARDED(get_H, wrap(matrix_transposed(t)))
RL_GUARDED(get_real, wrap(t))
RL_GET(always_false) {
  (void)o;
  Py_RETURN_FALSE;
}

RL_GET(get_grad_fn) {
  return guarded([&]() -> PyObject* { return wrap_node(grad_fn(self_of(o))); });
}

RL_GET(get_grad) {
  return guarded([&]() -> PyObject* {
    Tensor t = self_of(o);
    if (!t.is_leaf() && !(t.impl()->autograd && t.impl()->autograd->retains_grad) && !t.grad()) {
      warn(
          "the .grad of a tensor that is not a leaf is not kept: backward() writes leaves only.\n"
          "  hint: call .retain_grad() on it before backward() to have it kept");
    }
    return wrap(t.grad());
  });
}

int set_grad(PyObject* o, PyObject* value, void*) {
  return guarded_int([&] {
    Tensor t = self_of(o);
    if (!value || value == Py_None) return t.set_grad(Tensor());
    if (!is_tensor(value)) fail(ErrorKind::Type, "grad must be a Tensor or None, not ", Py_TYPE(value)->tp_name);
    Tensor g = unwrap(value);
    RL_CHECK(!g.is_same(t), "a tensor cannot be its own grad");
    RL_CHECK(g.dtype() == t.dtype(), "grad is ", g.dtype(), ", the tensor ", t.dtype());
    RL_CHECK(g.sizes() == t.sizes(), "grad has shape ", g.sizes(), ", the tensor ", t.sizes());
    t.set_grad(g);
  });
}

int set_requires_grad(PyObject* o, PyObject* value, void*) {
  return guarded_int([&] {
    if (!value || !PyBool_Check(value)) fail(ErrorKind::Type, "requires_grad must be a bool");
    self_of(o).set_requires_grad(value == Py_True);
  });
}

int set_data(PyObject* o, PyObject* value, void*) {
  return guarded_int([&] {
    if (!value) fail(ErrorKind::Type, "the data of a tensor cannot be deleted", hint("delete the tensor"));
    Tensor t = self_of(o), from = unwrap(value);
    TensorImpl *a = t.impl(), *b = from.impl();
    RL_CHECK(a->inference == b->inference || !a->inference,
             "data: a tensor made under inference_mode() cannot take the memory of one that was not",
             hint("clone() it first"));
    if (!a->own_version && !a->inference) {  // it goes on counting its own writes
      auto counter = make_ref<VersionCounter>();
      counter->value = t.version();
      a->own_version = std::move(counter);
    }
    a->storage = b->storage;
    a->offset = b->offset;
    a->sizes = b->sizes;
    a->strides = b->strides;
    a->dtype = b->dtype;
    a->refresh();
    if (a->autograd && a->autograd->accumulator) a->autograd->accumulator->outputs[0] = OutputMeta(t);
  });
}

PyGetSetDef properties[] = {
    {"shape", get_shape, nullptr, "The size of every dimension.", nullptr},
    {"dtype", get_dtype, nullptr, "The type of the elements.", nullptr},
    {"device", get_device, nullptr, "Where the elements are.", nullptr},
    {"ndim", get_ndim, nullptr, "How many dimensions there are.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes of one element.", nullptr},
    {"nbytes", get_nbytes, nullptr, "Bytes of all elements.", nullptr},
    {"requires_grad", get_requires_grad, set_requires_grad, "Whether operations on it are recorded.", nullptr},
    {"is_leaf", get_is_leaf, nullptr, "Whether it is not the result of a recorded operation.", nullptr},
    {"retains_grad", get_retains_grad, nullptr, "Whether retain_grad() was called on it.", nullptr},
    {"grad", get_grad, set_grad, "The gradient that backward() has accumulated; None before.", nullptr},
    {"grad_fn", get_grad_fn, nullptr, "The node that made it; None for leaves.", nullptr},
    {"data", get_data, set_data, "The same memory without history, unseen by the checks of in-place writes.", nullptr},
    {"output_nr", get_output_nr, nullptr, "Which output of grad_fn it is.", nullptr},
    {"_base", get_base, nullptr, "What it is a view of; None if it is no view.", nullptr},
    {"_version", get_version, nullptr, "How often its memory was written in place.", nullptr},
    {"T", get_T, nullptr, "The dimensions in reverse order.", nullptr},
    {"mT", get_mT, nullptr, "The last two dimensions exchanged.", nullptr},
    {"H", get_H, nullptr, "The matrix transposed (and conjugated, were numbers complex).", nullptr},
    {"mH", get_mH, nullptr, "The last two dimensions exchanged (and conjugated, were numbers complex).", nullptr},
    {"real", get_real, nullptr, "The tensor itself: numbers are real.", nullptr},
    {"is_meta", is_meta, nullptr, nullptr, nullptr},
    {"is_cpu", is_cpu, nullptr, nullptr, nullptr},
    {"is_cuda", always_false, nullptr, nullptr, nullptr},
    {"is_sparse", always_false, nullptr, nullptr, nullptr},
    {"is_quantized", always_false, nullptr, nullptr, nullptr},
    {"is_nested", always_false, nullptr, nullptr, nullptr},
    {"is_mps", always_false, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

// --- Methods --------------------------------------------------------------------------------------------------------

PyObject* numel(PyObject* o, PyObject*) {
  return guarded([&] { return PyLong_FromLongLong(self_of(o).numel()); });
}
PyObject* dim(PyObject* o, PyObject*) {
  return guarded([&] { return PyLong_FromLongLong(self_of(o).dim()); });
}
PyObject* item(PyObject* o, PyObject*) {
  return guarded([&] {
    Tensor t = self_of(o);
    const ProfiledArg args[] = {ProfiledArg(t)};
    Profiled seen("item", false, args);
    return wrap_scalar(t.item());
  });
}
PyObject* data_ptr(PyObject* o, PyObject*) {
  return guarded([&] {
    Tensor t = self_of(o);
    return PyLong_FromVoidPtr(t.is_meta() || !t.storage()->data ? nullptr : t.bytes());
  });
}
PyObject* storage_offset(PyObject* o, PyObject*) {
  return guarded([&] { return PyLong_FromLongLong(self_of(o).offset()); });
}
PyObject* element_size(PyObject* o, PyObject*) {
  return guarded([&] { return PyLong_FromLong(self_of(o).itemsize()); });
}
PyObject* is_floating_point(PyObject* o, PyObject*) {
  return guarded([&] { return PyBool_FromLong(self_of(o).is_floating()); });
}
PyObject* detach_method(PyObject* o, PyObject*) {
  return guarded([&] {
    Tensor t = self_of(o);
    const ProfiledArg args[] = {ProfiledArg(t)};
    Profiled seen("detach", false, args);
    return wrap(detach(t));
  });
}
PyObject* detach_inplace(PyObject* o, PyObject*) {
  return guarded([&] {
    detach_(self_of(o));
    return Py_NewRef(o);
  });
}
PyObject* retain_grad_method(PyObject* o, PyObject*) {
  return guarded([&] {
    retain_grad(self_of(o));
    return Py_NewRef(Py_None);
  });
}

// The one argument of a method that takes at most one, by position or by its name; null where it is not given.
PyObject* only_argument(const char* method, const char* name, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  Py_ssize_t keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  RL_CHECK_KIND(n + keywords <= 1, Type, method, "() takes at most 1 argument, ", n + keywords, " were given");
  if (keywords && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), name) != 0)
    fail(ErrorKind::Type, method, "() got an unexpected keyword argument '",
         nb::cast<std::string>(nb::handle(PyTuple_GET_ITEM(kwnames, 0))), "'",
         hint(detail::concat("it is called ", name)));
  return n + keywords ? args[0] : nullptr;
}

// size(), size(dim), stride(), stride(dim)
template <bool strides>
PyObject* extent(PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    Tensor t = self_of(o);
    const Dims& d = strides ? t.strides() : t.sizes();
    PyObject* which = only_argument(strides ? "stride" : "size", "dim", args, n, kwnames);
    if (!which || which == Py_None) return strides ? wrap_tuple(d) : wrap_shape(d);
    Py_ssize_t i = PyNumber_AsSsize_t(which, PyExc_IndexError);
    if (i == -1 && PyErr_Occurred()) throw PythonError();
    return PyLong_FromLongLong(d[t.wrap(i)]);
  });
}

// requires_grad_(), requires_grad_(value), requires_grad_(requires_grad=value)
PyObject* requires_grad_(PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  return guarded([&] {
    PyObject* value = only_argument("requires_grad_", "requires_grad", args, n, kwnames);
    int on = value ? PyObject_IsTrue(value) : 1;
    if (on < 0) throw PythonError();
    self_of(o).set_requires_grad(on);
    return Py_NewRef(o);
  });
}

PyObject* is_inference(PyObject* o, PyObject*) { return get_inference(o, nullptr); }

PyMethodDef methods[] = {
    {"is_inference", is_inference, METH_NOARGS, "Whether it was made under inference_mode()."},
    {"numel", numel, METH_NOARGS, "How many elements there are."},
    {"nelement", numel, METH_NOARGS, "How many elements there are."},
    {"dim", dim, METH_NOARGS, "How many dimensions there are."},
    {"ndimension", dim, METH_NOARGS, "How many dimensions there are."},
    {"item", item, METH_NOARGS, "The value of a one-element tensor as a Python number."},
    {"data_ptr", data_ptr, METH_NOARGS, "The address of the first element."},
    {"storage_offset", storage_offset, METH_NOARGS, "Where in its storage it begins, in elements."},
    {"element_size", element_size, METH_NOARGS, "Bytes of one element."},
    {"is_floating_point", is_floating_point, METH_NOARGS, "Whether the dtype is a floating point one."},
    {"detach", detach_method, METH_NOARGS, "The same memory without history."},
    {"detach_", detach_inplace, METH_NOARGS, "Forgets the history of this tensor."},
    {"retain_grad", retain_grad_method, METH_NOARGS, "Has backward() keep .grad on this tensor, though it is no leaf."},
    {"size", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(extent<false>)), METH_FASTCALL | METH_KEYWORDS,
     "The shape, or the size of one dimension."},
    {"requires_grad_", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(requires_grad_)),
     METH_FASTCALL | METH_KEYWORDS, "Sets requires_grad and returns the tensor."},
    {nullptr, nullptr, 0, nullptr}};
PyMethodDef stride_method = {"stride", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(extent<true>)),
                             METH_FASTCALL | METH_KEYWORDS, "How many elements apart neighbours of a dimension lie."};

}  // namespace

void bind_tensor_properties(nb::module_&) {
  PyObject* type = reinterpret_cast<PyObject*>(tensor_type);
  auto set = [&](const char* name, PyObject* descriptor) {
    nb::object o = steal(descriptor);
    nb::setattr(nb::handle(type), name, o);
  };
  for (PyGetSetDef* p = properties; p->name; p++) set(p->name, PyDescr_NewGetSet(tensor_type, p));
  for (PyMethodDef* p = methods; p->ml_name; p++) set(p->ml_name, PyDescr_NewMethod(tensor_type, p));
  set("stride", PyDescr_NewMethod(tensor_type, &stride_method));
}

}  // namespace rushlight::python
