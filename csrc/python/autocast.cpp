// Autocast as Python sees it: this thread's state, of the CPU.
#include "autograd/autocast.h"

#include "python/common.h"

namespace rushlight::python {
namespace {

DType floating(nb::handle h) {
  DType d;
  if (!to_dtype(h.ptr(), d)) throw nb::type_error("autocast: a dtype is expected");
  RL_CHECK(is_floating(d), "autocast: the dtype must be floating point, not ", d);
  return d;
}

}  // namespace

void bind_autocast(nb::module_& m) {
  m.def("_autocast_enabled", autocasts);
  m.def("_set_autocast", [](bool on) { tls.modes = on ? tls.modes | kAutocast : tls.modes & ~kAutocast; });
  m.def("_autocast_dtype", [] { return nb::steal(wrap_dtype(autocast_state().dtype)); });
  m.def("_set_autocast_dtype", [](nb::handle d) { autocast_state().dtype = floating(d); });
  m.def("_autocast_cache_enabled", [] { return autocast_state().cache_enabled; });
  m.def("_set_autocast_cache_enabled", [](bool on) { autocast_state().cache_enabled = on; });
  m.def("_autocast_nesting", [](int by) { return autocast_state().depth += by; });
  m.def("_clear_autocast_cache", clear_autocast_cache);
  m.def("_autocast_to", [](const Tensor& t, nb::handle d) { return detail::autocast_argument(t, floating(d)); });
}

}  // namespace rushlight::python
