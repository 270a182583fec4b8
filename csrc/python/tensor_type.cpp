// rushlight.Tensor as a heap type written by hand: the garbage collector, __dict__, weak references, a free list, and
// one identity with its TensorImpl while either lives.
#include "python/common.h"

namespace rushlight::python {

PyTypeObject* tensor_type = nullptr;
PyTypeObject* tensor_meta = nullptr;
PyTypeObject* parameter_type = nullptr;
PyObject* size_type = nullptr;
PyObject* disabled_torch_function = nullptr;

namespace {

// --- Life and death -------------------------------------------------------------------------------------------------

constexpr int kFreeList = 128;
TensorObject* free_list[kFreeList];
int free_count = 0;

TensorObject* object_of(PyObject* o) { return reinterpret_cast<TensorObject*>(o); }

PyObject* new_object(PyTypeObject* type, Ref<TensorImpl> impl) {
  TensorObject* self;
  if (type == tensor_type && free_count) {
    self = free_list[--free_count];
    PyObject_Init(reinterpret_cast<PyObject*>(self), type);
    PyObject_GC_Track(self);
  } else {
    self = reinterpret_cast<TensorObject*>(type->tp_alloc(type, 0));
    if (!self) throw PythonError();
  }
  self->dict = self->weakrefs = nullptr;
  self->impl = impl.release();
  self->impl->pyobj = self;
  return reinterpret_cast<PyObject*>(self);
}

// Something of the object would be missed if it came back as a new one.
bool worth_keeping(TensorObject* self) {
  return Py_TYPE(self) != tensor_type || self->weakrefs || (self->dict && PyDict_GET_SIZE(self->dict) > 0);
}

void clear_subclass_slots(PyTypeObject* type, PyObject* self) {
  for (PyTypeObject* t = type; t && t != tensor_type; t = t->tp_base) {
    if (!Py_SIZE(t)) continue;
    PyMemberDef* m = reinterpret_cast<PyMemberDef*>(reinterpret_cast<char*>(t) + Py_TYPE(t)->tp_basicsize);
    for (Py_ssize_t i = 0; i < Py_SIZE(t); i++, m++)
      if (m->type == T_OBJECT_EX && !(m->flags & READONLY)) {
        PyObject** slot = reinterpret_cast<PyObject**>(reinterpret_cast<char*>(self) + m->offset);
        Py_CLEAR(*slot);
      }
  }
}

void tensor_dealloc(PyObject* o) {
  TensorObject* self = object_of(o);
  PyTypeObject* type = Py_TYPE(o);
  if (type->tp_finalize && PyObject_CallFinalizerFromDealloc(o) < 0) return;
  if (self->impl && self->impl->use_count() > 1 && worth_keeping(self)) {
    // Others still hold the tensor: it now keeps its object, so that a later wrap finds the same one.
    Py_SET_REFCNT(o, 1);
    self->impl->owns_pyobj = true;
    self->impl->refs.fetch_sub(1, std::memory_order_acq_rel);
    return;
  }
  PyObject_GC_UnTrack(o);
  if (self->weakrefs) PyObject_ClearWeakRefs(o);
  Py_CLEAR(self->dict);
  if (type != tensor_type) clear_subclass_slots(type, o);
  if (TensorImpl* impl = std::exchange(self->impl, nullptr)) {
    impl->pyobj = nullptr;
    Ref<TensorImpl>::adopt(impl);
  }
  if (type == tensor_type && free_count < kFreeList) free_list[free_count++] = self;
  else type->tp_free(o);
  Py_DECREF(type);
}

// The tensor dies while it owns its object.
void drop_python_object(void* pyobj) {
  with_gil([&] {
    object_of(static_cast<PyObject*>(pyobj))->impl = nullptr;
    Py_DECREF(static_cast<PyObject*>(pyobj));
  });
}

void for_each_hook(TensorImpl* impl, auto&& f) {
  AutogradMeta* m = impl->autograd;
  if (!m) return;
  if (m->hooks) {
    for (auto& h : m->hooks->pre) f(*h);
    for (auto& h : m->hooks->post_accumulate) f(*h);
  }
  // A node is followed only where this tensor is its one owner: anything else would be counted twice.
  if (m->grad_fn && m->grad_fn->use_count() == 1 && m->grad_fn->hooks) {
    for (auto& h : m->grad_fn->hooks->tensor) f(*h.hook);
    for (auto& h : m->grad_fn->hooks->pre) f(*h);
    for (auto& h : m->grad_fn->hooks->post) f(*h);
  }
}

int tensor_traverse(PyObject* o, visitproc visit, void* arg) {
  TensorObject* self = object_of(o);
  Py_VISIT(Py_TYPE(o));
  Py_VISIT(self->dict);
  if (!self->impl || self->impl->owns_pyobj || self->impl->use_count() != 1) return 0;
  int r = 0;
  for_each_hook(self->impl, [&](Hook& h) {
    if (!r && h.use_count() == 1 && h.python()) r = visit(static_cast<PyObject*>(h.python()), arg);
  });
  if (r) return r;
  if (AutogradMeta* m = self->impl->autograd)
    if (m->grad_fn && m->grad_fn->use_count() == 1)
      if (void* p = m->grad_fn->python_self()) Py_VISIT(static_cast<PyObject*>(p));
  return 0;
}

int tensor_clear(PyObject* o) {
  TensorObject* self = object_of(o);
  Py_CLEAR(self->dict);
  if (self->impl && !self->impl->owns_pyobj && self->impl->use_count() == 1)
    if (AutogradMeta* m = self->impl->autograd) {
      auto hooks = std::move(m->hooks);
      auto grad_fn = std::move(m->grad_fn);
    }
  return 0;
}

// --- The metaclass ---------------------------------------------------------------------------------------------------

// Subclasses made by `class` statements get tp_dealloc from Python's own type; ours must decide about keeping the
// object.
int meta_init(PyObject* cls, PyObject* args, PyObject* kwargs) {
  if (PyType_Type.tp_init(cls, args, kwargs) < 0) return -1;
  reinterpret_cast<PyTypeObject*>(cls)->tp_dealloc = tensor_dealloc;
  return 0;
}

PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    // Tensor(2, 3), Tensor([1., 2.]), Tensor(): worked out in Python.
    nb::object make = nb::module_::import_("rushlight._tensor").attr("_legacy_new");
    nb::object t = steal(PyObject_Call(make.ptr(), args, kwargs));
    if (type == tensor_type) return t.release().ptr();
    return wrap_as(type, alias(unwrap(t.ptr())));
  });
}

}  // namespace

bool is_tensor_type(PyTypeObject* t) { return PyType_IsSubtype(t, tensor_type); }

bool overrides_torch_function(PyObject* o) {
  PyTypeObject* t = Py_TYPE(o);
  if (t == tensor_type || t == parameter_type || t == &PyLong_Type || t == &PyFloat_Type || t == &PyBool_Type)
    return false;
  if (tls.torch_function_off) return false;
  static PyObject* name = PyUnicode_InternFromString("__torch_function__");
  PyObject* found = _PyType_Lookup(t, name);
  return found && found != disabled_torch_function;
}

PyObject* wrap_as(PyTypeObject* type, Tensor t) { return new_object(type, std::move(t.ref())); }

PyObject* wrap(Tensor t) {
  if (!t) Py_RETURN_NONE;
  TensorImpl* impl = t.impl();
  if (!impl->pyobj) return new_object(tensor_type, std::move(t.ref()));
  PyObject* o = static_cast<PyObject*>(impl->pyobj);
  if (impl->owns_pyobj) {
    // Python holds the object again, and through it the tensor.
    impl->owns_pyobj = false;
    t.ref().release();
    return o;
  }
  return Py_NewRef(o);
}

Tensor unwrap(PyObject* o) {
  if (!is_tensor(o)) fail(ErrorKind::Type, "expected a Tensor, not ", Py_TYPE(o)->tp_name);
  RL_CHECK(impl_of(o), "this tensor was freed by the garbage collector");
  return Tensor(Ref<TensorImpl>::share(impl_of(o)));
}

PyObject* wrap_shape(IntSpan sizes) {
  PyTypeObject* type = size_type ? reinterpret_cast<PyTypeObject*>(size_type) : &PyTuple_Type;
  PyObject* t = checked(size_type ? type->tp_alloc(type, sizes.size()) : PyTuple_New(sizes.size()));
  for (size_t i = 0; i < sizes.size(); i++) PyTuple_SET_ITEM(t, i, PyLong_FromLongLong(sizes[i]));
  return t;
}

PyObject* wrap_tuple(IntSpan values) {
  PyObject* t = checked(PyTuple_New(values.size()));
  for (size_t i = 0; i < values.size(); i++) PyTuple_SET_ITEM(t, i, PyLong_FromLongLong(values[i]));
  return t;
}

static Py_ssize_t tensor_length(PyObject* o) {
  try {
    Tensor t = unwrap(o);
    if (t.dim() == 0) fail(ErrorKind::Type, "len() of a tensor without dimensions");
    return t.sizes()[0];
  } catch (...) {
    set_python_error();
    return -1;
  }
}

void make_tensor_type(nb::module_& m) {
  python_object_hook = drop_python_object;

  PyType_Slot meta_slots[] = {{Py_tp_init, reinterpret_cast<void*>(meta_init)}, {0, nullptr}};
  PyType_Spec meta_spec = {"rushlight._C._TensorMeta", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, meta_slots};
  nb::object bases = steal(PyTuple_Pack(1, &PyType_Type));
  tensor_meta = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpecWithBases(&meta_spec, bases.ptr())));

  static PyMemberDef members[] = {
      {"__dictoffset__", T_PYSSIZET, offsetof(TensorObject, dict), READONLY, nullptr},
      {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weakrefs), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyGetSetDef getset[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                                 {nullptr, nullptr, nullptr, nullptr, nullptr}};
  const PyNumberMethods& n = number_slots;
  auto p = [](auto f) { return reinterpret_cast<void*>(f); };
  PyType_Slot slots[] = {{Py_tp_new, p(tensor_new)},
                         {Py_tp_dealloc, p(tensor_dealloc)},
                         {Py_tp_traverse, p(tensor_traverse)},
                         {Py_tp_clear, p(tensor_clear)},
                         {Py_tp_members, members},
                         {Py_tp_getset, getset},
                         {Py_tp_hash, p(PyBaseObject_Type.tp_hash)},
                         {Py_tp_richcompare, p(rich_compare)},
                         {Py_mp_length, p(tensor_length)},
                         {Py_mp_subscript, p(get_item)},
                         {Py_mp_ass_subscript, p(set_item)},
                         {Py_nb_add, p(n.nb_add)},
                         {Py_nb_subtract, p(n.nb_subtract)},
                         {Py_nb_multiply, p(n.nb_multiply)},
                         {Py_nb_true_divide, p(n.nb_true_divide)},
                         {Py_nb_floor_divide, p(n.nb_floor_divide)},
                         {Py_nb_remainder, p(n.nb_remainder)},
                         {Py_nb_power, p(n.nb_power)},
                         {Py_nb_matrix_multiply, p(n.nb_matrix_multiply)},
                         {Py_nb_negative, p(n.nb_negative)},
                         {Py_nb_positive, p(n.nb_positive)},
                         {Py_nb_absolute, p(n.nb_absolute)},
                         {Py_nb_invert, p(n.nb_invert)},
                         {Py_nb_and, p(n.nb_and)},
                         {Py_nb_or, p(n.nb_or)},
                         {Py_nb_xor, p(n.nb_xor)},
                         {Py_nb_lshift, p(n.nb_lshift)},
                         {Py_nb_rshift, p(n.nb_rshift)},
                         {Py_nb_bool, p(n.nb_bool)},
                         {Py_nb_int, p(n.nb_int)},
                         {Py_nb_float, p(n.nb_float)},
                         {Py_nb_index, p(n.nb_index)},
                         {Py_nb_inplace_add, p(n.nb_inplace_add)},
                         {Py_nb_inplace_subtract, p(n.nb_inplace_subtract)},
                         {Py_nb_inplace_multiply, p(n.nb_inplace_multiply)},
                         {Py_nb_inplace_true_divide, p(n.nb_inplace_true_divide)},
                         {Py_nb_inplace_floor_divide, p(n.nb_inplace_floor_divide)},
                         {Py_nb_inplace_remainder, p(n.nb_inplace_remainder)},
                         {Py_nb_inplace_power, p(n.nb_inplace_power)},
                         {Py_nb_inplace_and, p(n.nb_inplace_and)},
                         {Py_nb_inplace_or, p(n.nb_inplace_or)},
                         {Py_nb_inplace_xor, p(n.nb_inplace_xor)},
                         {Py_nb_inplace_lshift, p(n.nb_inplace_lshift)},
                         {Py_nb_inplace_rshift, p(n.nb_inplace_rshift)},
                         {0, nullptr}};
  PyType_Spec spec = {"rushlight.Tensor", sizeof(TensorObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  tensor_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
  Py_SET_TYPE(reinterpret_cast<PyObject*>(tensor_type), reinterpret_cast<PyTypeObject*>(Py_NewRef(tensor_meta)));
  m.attr("_TensorMeta") = nb::handle(reinterpret_cast<PyObject*>(tensor_meta));
  m.attr("Tensor") = nb::handle(reinterpret_cast<PyObject*>(tensor_type));
}

}  // namespace rushlight::python
