// Operators. Two plain Tensors, or a Tensor and a Python number, go straight to the engine; anything else through the
// operation's generic call, which knows __torch_function__, or back to Python as NotImplemented.
#include "python/common.h"

namespace rushlight::python {
namespace {

// A Tensor, or a number as one. False: not an operand of ours.
bool operand(PyObject* o, Tensor& t) {
  if (plain(o)) {
    t = Tensor(Ref<TensorImpl>::share(impl_of(o)));
    return true;
  }
  if (PyFloat_CheckExact(o)) {
    t = wrapped_number(PyFloat_AS_DOUBLE(o));
    return true;
  }
  if (is_tensor(o)) return false;
  Scalar s;
  if (!to_scalar(o, s)) return false;
  t = wrapped_number(s);
  return true;
}

using Binary = Tensor (*)(const Tensor&, const Tensor&);

PyObject* binary(PyObject* a, PyObject* b, const char* name, Binary f) {
  return guarded([&]() -> PyObject* {
    Tensor x, y;
    if (f && operand(a, x) && operand(b, y)) return wrap(f(x, y));
    if (!is_tensor(a) && !is_tensor(b)) Py_RETURN_NOTIMPLEMENTED;
    // NumPy arrays and foreign types answer for themselves unless they are numbers.
    auto fits = [](PyObject* o) {
      Scalar s;
      return is_tensor(o) || overrides_torch_function(o) || to_scalar(o, s);
    };
    if (!fits(a) || !fits(b)) Py_RETURN_NOTIMPLEMENTED;
    nb::object left = nb::borrow(a);
    if (!is_tensor(a) && !overrides_torch_function(a)) {
      Scalar s;
      to_scalar(a, s);
      left = nb::steal(wrap(wrapped_number(s)));
    }
    PyObject* args[] = {left.ptr(), b};
    return call_operation(name, args, 2);
  });
}

PyObject* inplace(PyObject* a, PyObject* b, const char* name) {
  return guarded([&]() -> PyObject* {
    Scalar s;
    if (!is_tensor(b) && !to_scalar(b, s)) Py_RETURN_NOTIMPLEMENTED;
    PyObject* args[] = {a, b};
    return call_operation(name, args, 2);
  });
}

PyObject* unary(PyObject* a, const char* name) {
  return guarded([&] { return call_operation(name, &a, 1); });
}

Tensor add2(const Tensor& a, const Tensor& b) { return add(a, b); }
Tensor sub2(const Tensor& a, const Tensor& b) { return sub(a, b); }

PyObject* power(PyObject* a, PyObject* b, PyObject* modulo) {
  if (modulo != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary(a, b, "pow", static_cast<Binary>(pow));
}

int truth(PyObject* o) {
  try {
    Tensor t = unwrap(o);
    RL_CHECK(t.numel() == 1, "the truth of a tensor of ", t.numel(), " elements (shape ", t.sizes(), ") is ambiguous",
             hint("use .any() or .all(), or compare one element"));
    Scalar s = t.item();
    return s.is_floating() ? s.to_double() != 0 : s.to_int() != 0;
  } catch (...) {
    set_python_error();
    return -1;
  }
}

PyObject* as_int(PyObject* o) {
  return guarded([&] {
    Scalar s = unwrap(o).item();
    return s.is_floating() ? PyLong_FromDouble(s.to_double()) : PyLong_FromLongLong(s.to_int());
  });
}
PyObject* as_float(PyObject* o) {
  return guarded([&] { return PyFloat_FromDouble(unwrap(o).item().to_double()); });
}
PyObject* as_index(PyObject* o) {
  return guarded([&] {
    Tensor t = unwrap(o);
    RL_CHECK_KIND(is_integral(t.dtype()) && t.numel() == 1, Type,
                  "only integer tensors of a single element can be used as an index, not ", Describe{t});
    return PyLong_FromLongLong(t.item().to_int());
  });
}

}  // namespace

#define RL_SLOT(name, f) [](PyObject* a, PyObject* b) { return binary(a, b, name, f); }
#define RL_INPLACE(name) [](PyObject* a, PyObject* b) { return inplace(a, b, name); }
PyNumberMethods number_slots = [] {
  PyNumberMethods n{};
  n.nb_add = RL_SLOT("add", add2);
  n.nb_subtract = RL_SLOT("sub", sub2);
  n.nb_multiply = RL_SLOT("mul", mul);
  n.nb_true_divide = RL_SLOT("div", div);
  n.nb_floor_divide = RL_SLOT("floor_divide", nullptr);
  n.nb_remainder = RL_SLOT("remainder", nullptr);
  n.nb_power = power;
  n.nb_matrix_multiply = [](PyObject* a, PyObject* b) -> PyObject* {
    if (!is_tensor(a) || !is_tensor(b)) Py_RETURN_NOTIMPLEMENTED;
    return binary(a, b, "matmul", nullptr);
  };
  n.nb_and = RL_SLOT("bitwise_and", nullptr);
  n.nb_or = RL_SLOT("bitwise_or", nullptr);
  n.nb_xor = RL_SLOT("bitwise_xor", nullptr);
  n.nb_lshift = RL_SLOT("bitwise_left_shift", nullptr);
  n.nb_rshift = RL_SLOT("bitwise_right_shift", nullptr);
  n.nb_negative = [](PyObject* a) { return unary(a, "neg"); };
  n.nb_positive = [](PyObject* a) { return Py_NewRef(a); };
  n.nb_absolute = [](PyObject* a) { return unary(a, "abs"); };
  n.nb_invert = [](PyObject* a) { return unary(a, "bitwise_not"); };
  n.nb_bool = truth;
  n.nb_int = as_int;
  n.nb_float = as_float;
  n.nb_index = as_index;
  n.nb_inplace_add = RL_INPLACE("add_");
  n.nb_inplace_subtract = RL_INPLACE("sub_");
  n.nb_inplace_multiply = RL_INPLACE("mul_");
  n.nb_inplace_true_divide = RL_INPLACE("div_");
  n.nb_inplace_floor_divide = RL_INPLACE("floor_divide_");
  n.nb_inplace_remainder = RL_INPLACE("remainder_");
  n.nb_inplace_power = [](PyObject* a, PyObject* b, PyObject*) { return inplace(a, b, "pow_"); };
  n.nb_inplace_and = RL_INPLACE("bitwise_and_");
  n.nb_inplace_or = RL_INPLACE("bitwise_or_");
  n.nb_inplace_xor = RL_INPLACE("bitwise_xor_");
  n.nb_inplace_lshift = RL_INPLACE("bitwise_left_shift_");
  n.nb_inplace_rshift = RL_INPLACE("bitwise_right_shift_");
  return n;
}();

PyObject* rich_compare(PyObject* a, PyObject* b, int op) {
  struct Comparison {
    const char* name;
    Binary f;
  };
  static const Comparison table[] = {{"lt", lt}, {"le", le}, {"eq", eq}, {"ne", ne}, {"gt", gt}, {"ge", ge}};
  return binary(a, b, table[op].name, table[op].f);
}

}  // namespace rushlight::python
