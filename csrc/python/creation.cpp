// Creating tensors from Python values; shapes and options are worked out here so that zeros(3) costs little.
#include "kernels/cpu/dispatch.h"
#include "kernels/probe.h"
#include "python/common.h"

namespace rushlight::python {
namespace {

// What a nested list of numbers is: its shape, and the widest kind of number in it.
struct Nested {
  Dims shape;
  DType kind = DType::Bool;
  bool any = false;
  std::vector<Scalar> values;

  void scan(PyObject* o, size_t depth) {
    if (PyList_Check(o) || PyTuple_Check(o)) {
      int64_t n = PySequence_Fast_GET_SIZE(o);
      if (depth == shape.size()) {
        RL_CHECK_KIND(!any, Type, "expected a number at depth ", depth, " of the nested list, got a list");
        RL_CHECK_KIND(depth < 64, Value, "the list is nested more than 64 deep");
        shape.push_back(n);
      }
      RL_CHECK_KIND(shape[depth] == n, Value, "the nested list is ragged: at depth ", depth, " a list has ", n,
                    " elements where others have ", shape[depth]);
      for (int64_t i = 0; i < n; i++) scan(PySequence_Fast_GET_ITEM(o, i), depth + 1);
      return;
    }
    Scalar s;
    const bool text = PyUnicode_Check(o) || PyBytes_Check(o);
    if (Tensor t = is_tensor(o) ? unwrap(o) : Tensor(); t && t.numel() == 1 && !t.is_meta()) {
      s = t.item();
    } else if (text || !to_scalar(o, s)) {  // PyTorch takes the first string of a list for another list
      const bool list = depth && depth == shape.size() && !any;
      const ErrorKind wrong = !text ? ErrorKind::Runtime : list ? ErrorKind::Value : ErrorKind::Type;
      fail(wrong, "a tensor cannot be made from a ", Py_TYPE(o)->tp_name);
    }
    RL_CHECK_KIND(depth == shape.size(), Type, "expected a list at depth ", depth, " of the nested list, got a ",
                  Py_TYPE(o)->tp_name);
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
  try {
    n.scan(data.ptr(), 0);
  } catch (const Error& e) {
    if (e.kind != ErrorKind::Overflow) throw;
    fail(ErrorKind::Value, "a tensor cannot hold such a large integer: it does not fit 64 bits",
         hint("give it as a float"));
  }
  DType d = !n.any ? default_dtype() : n.kind == DType::Float64 ? default_dtype() : n.kind;
  if (dtype && !dtype->is_none() && !to_dtype(dtype->ptr(), d))
    fail(ErrorKind::Type, "dtype must be a rushlight.dtype, not ", Py_TYPE(dtype->ptr())->tp_name);
  Tensor t = empty(n.shape, d);
  visit(d, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* p = t.data<T>();
    for (const Scalar& s : n.values) {
      if constexpr (std::is_same_v<T, float>) *p++ = float(s.to_double());  // infinite where it is too large
      else *p++ = s.to<T>();
    }
  });
  return nb::steal(wrap(t));
}

int64_t size_from(nb::handle h) {
  RL_CHECK_KIND(PyIndex_Check(h.ptr()), Type, "a size must be an integer, not a ", Py_TYPE(h.ptr())->tp_name);
  nb::object i = steal(PyNumber_Index(h.ptr()));
  int overflow;
  long long v = PyLong_AsLongLongAndOverflow(i.ptr(), &overflow);
  RL_CHECK_KIND(!overflow, Overflow, "the size ", nb::str(i).c_str(), " does not fit 64 bits");
  return v;
}
Dims dims_of(nb::handle h) {
  Dims d;
  if (PyTuple_Check(h.ptr()) || PyList_Check(h.ptr())) {
    for (nb::handle x : h) d.push_back(size_from(x));
  } else {
    d.push_back(size_from(h));
  }
  return d;
}

DType dtype_or(nb::handle h, DType fallback) {
  DType d = fallback;
  if (!h.is_none() && !to_dtype(h.ptr(), d))
    fail(ErrorKind::Type, "dtype must be a rushlight.dtype, not ", Py_TYPE(h.ptr())->tp_name);
  return d;
}
Device device_of(nb::handle h) {
  Device d;
  if (!h.is_none() && !to_device(h.ptr(), d))
    fail(ErrorKind::Type, "device must be a string or a rushlight.device, not ", Py_TYPE(h.ptr())->tp_name);
  return d;
}

// Dimensions d and further of the elements from place `at` on.
nb::object to_list(const Tensor& t, int64_t d, int64_t at) {
  if (d == t.dim()) {
    return visit(t.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      T v = element(t.data<T>() + at);
      if constexpr (std::is_same_v<T, bool>) return nb::object(nb::bool_(v));
      else if constexpr (std::is_same_v<T, uint64_t>) return nb::object(nb::int_(v));
      else if constexpr (std::is_integral_v<T>) return nb::object(nb::int_(int64_t(v)));
      else return nb::object(nb::float_(double(v)));
    });
  }
  nb::object l = steal(PyList_New(t.sizes()[d]));
  for (int64_t i = 0; i < t.sizes()[d]; i++)
    PyList_SET_ITEM(l.ptr(), i, to_list(t, d + 1, at + i * t.strides()[d]).release().ptr());
  return l;
}

}  // namespace

void bind_creation(nb::module_& m) {
  m.def("_from_nested", from_nested, nb::arg("data").none(), nb::arg("dtype").none() = nb::none());
  m.def(
      "_empty",
      [](nb::object size, nb::object dtype, nb::object device) {
        return empty(dims_of(size), dtype_or(dtype, default_dtype()), device_of(device));
      },
      nb::arg("size"), nb::arg("dtype").none(), nb::arg("device").none());
  m.def(
      "_full",
      [](nb::object size, nb::object value, nb::object dtype, nb::object device) {
        Scalar s;
        if (!to_scalar(value.ptr(), s))
          fail(ErrorKind::Type, "full: the value must be a number, not ", Py_TYPE(value.ptr())->tp_name);
        DType d = s.is_floating() ? default_dtype() : s.dtype();
        return full(dims_of(size), s, dtype_or(dtype, d), device_of(device));
      },
      nb::arg("size"), nb::arg("value"), nb::arg("dtype").none(), nb::arg("device").none());
  m.def(
      "_empty_strided",
      [](nb::object size, nb::object stride, nb::object dtype, nb::object device) {
        return empty_strided(dims_of(size), dims_of(stride), dtype_or(dtype, default_dtype()), device_of(device));
      },
      nb::arg("size"), nb::arg("stride"), nb::arg("dtype").none(), nb::arg("device").none());
  m.def(
      "_empty_like",
      [](Tensor t, nb::object dtype, int format) {
        return empty_like(t, dtype_or(dtype, t.dtype()), MemoryFormat(format));
      },
      nb::arg("input"), nb::arg("dtype").none(), nb::arg("format"));
  m.def(
      "_make_subclass",
      [](nb::type_object cls, Tensor data, bool requires_grad) {
        Tensor t = alias(data);
        nb::object o = nb::steal(wrap_as(reinterpret_cast<PyTypeObject*>(cls.ptr()), t));
        if (requires_grad) unwrap(o.ptr()).set_requires_grad(true);
        return o;
      },
      nb::arg("cls"), nb::arg("data"), nb::arg("requires_grad") = false);
  m.def("_tolist", [](Tensor t) {
    RL_CHECK(!t.is_meta(), "a tensor on the meta device has no values");
    return to_list(t, 0, 0);
  });
  m.def("_is_contiguous", [](Tensor t, int format) { return t.is_contiguous(MemoryFormat(format)); });
  m.def("_contiguous_strides",
        [](nb::object size) { return nb::steal(wrap_shape(contiguous_strides(dims_of(size)))); });
  m.def("_resize_", [](nb::object self, nb::object size) {
    Tensor t = unwrap(self.ptr());
    RL_CHECK(!t.requires_grad(), "resize_: a tensor that requires grad cannot be resized");
    resize_tensor(t, dims_of(size));
    return self;
  });
  m.def("_storage_data_ptr", [](Tensor t) { return reinterpret_cast<uintptr_t>(t.storage()->data); });
  m.def("_storage_nbytes", [](Tensor t) { return t.storage()->nbytes; });
  m.def("_instruction_set", [] {
    using kernels::Isa;
    Isa isa = kernels::current_isa();
    return isa == Isa::avx512 ? "avx512" : isa == Isa::avx2 ? "avx2" : "portable";
  });
  m.def(
      "_vec_math_probe",
      [](std::string name, nb::object x, nb::object y) -> nb::object {
        nb::object from_numpy = nb::module_::import_("rushlight._C").attr("_from_numpy");
        Tensor a = unwrap(from_numpy(x).ptr()), b = y.is_none() ? a : unwrap(from_numpy(y).ptr()), out = empty_like(a);
        RL_CHECK(a.is_contiguous() && b.is_contiguous() && b.numel() == a.numel() && a.dtype() == b.dtype(),
                 "probe: arguments differ");
        auto run = [&](auto* p) {
          using T = std::remove_pointer_t<decltype(p)>;
          return kernels::probe_vec_math(name.c_str(), a.data<T>(), y.is_none() ? nullptr : b.data<T>(), p, a.numel());
        };
        bool known = a.dtype() == DType::Float32   ? run(out.data<float>())
                     : a.dtype() == DType::Float64 ? run(out.data<double>())
                     : a.dtype() == DType::Int64   ? run(out.data<int64_t>())
                                                   : false;
        RL_CHECK_KIND(known, Value, "probe: no function '", name, "' for ", a.dtype());
        return nb::steal(wrap(out)).attr("numpy")();
      },
      nb::arg("name"), nb::arg("x"), nb::arg("y").none());
  m.def("_as_subclass", [](nb::type_object cls, Tensor t) {
    return nb::steal(wrap_as(reinterpret_cast<PyTypeObject*>(cls.ptr()), view(t, t.sizes())));
  });
  m.def("promote_types", [](nb::object a, nb::object b) {
    DType x, y;
    RL_CHECK_KIND(to_dtype(a.ptr(), x) && to_dtype(b.ptr(), y), Type, "promote_types takes two dtypes");
    return nb::steal(wrap_dtype(promote(x, y)));
  });
  m.def("can_cast", [](nb::object from, nb::object to) {
    DType x, y;
    RL_CHECK_KIND(to_dtype(from.ptr(), x) && to_dtype(to.ptr(), y), Type, "can_cast takes two dtypes");
    return can_cast(x, y);
  });
  m.def("result_type", [](nb::object a, nb::object b) {
    auto operand = [](nb::object o) {
      if (is_tensor(o.ptr())) return unwrap(o.ptr());
      Scalar s;
      RL_CHECK_KIND(to_scalar(o.ptr(), s), Type, "result_type takes tensors and numbers, not ",
                    Py_TYPE(o.ptr())->tp_name);
      return wrapped_number(s);
    };
    return nb::steal(wrap_dtype(result_type(operand(a), operand(b))));
  });
  m.def("get_default_dtype", [] { return nb::steal(wrap_dtype(default_dtype())); });
  m.def("set_default_dtype", [](nb::object d) { set_default_dtype(dtype_or(d, default_dtype())); });
}

}  // namespace rushlight::python
