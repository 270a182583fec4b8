// The graph as Python sees it: nodes, grad mode, running backward.
#include <unordered_map>

#include "base/unlocked.h"
#include "python/common.h"

namespace rushlight::python {
namespace {

struct NodeObject {
  Ref<Node> node;
  ~NodeObject() {
    if (node) node->pyobj = nullptr;
  }
};

std::vector<Tensor> tensors_of(nb::sequence s) {
  std::vector<Tensor> r;
  for (nb::handle h : s) r.push_back(h.is_none() ? Tensor() : unwrap(h.ptr()));
  return r;
}

void* release_gil() { return PyGILState_Check() ? PyEval_SaveThread() : nullptr; }
void acquire_gil(void* state) {
  try {
    PyEval_RestoreThread(static_cast<PyThreadState*>(state));
  } catch (const abi::__forced_unwind&) {
    stop_thread();
  }
}

// A class for every kind of node, so that type(y.grad_fn).__name__ names it.
nb::handle node_class(const char* name) {
  static auto* classes = new std::unordered_map<std::string, PyObject*>;
  PyObject*& c = (*classes)[name];
  if (!c) {
    nb::object type = nb::borrow(reinterpret_cast<PyObject*>(&PyType_Type));
    nb::dict attributes;
    attributes["__module__"] = "torch.autograd.graph";
    c = type(name, nb::make_tuple(nb::type<NodeObject>()), attributes).release().ptr();
  }
  return c;
}

}  // namespace

PyObject* wrap_node(const Ref<Node>& node) {
  if (!node) Py_RETURN_NONE;
  if (void* self = node->python_self()) return Py_NewRef(static_cast<PyObject*>(self));
  if (node->pyobj) return Py_NewRef(static_cast<PyObject*>(node->pyobj));
  nb::object o = nb::inst_alloc(node_class(node->name()));
  new (nb::inst_ptr<NodeObject>(o)) NodeObject{node};
  nb::inst_mark_ready(o);
  node->pyobj = o.ptr();
  return o.release().ptr();
}

void bind_autograd(nb::module_& m) {
  gil_hooks = {release_gil, acquire_gil};

  nb::class_<NodeObject>(m, "Node", nb::dynamic_attr(), nb::is_weak_referenceable())
      .def("name",  // nodes that belong to no operation have PyTorch's longer name
           [](const NodeObject& n) {
             const std::string name = n.node->name();
             return name == "CopySlices" || name == "AccumulateGrad" ? "torch::autograd::" + name : name;
           })
      .def("__repr__",
           [](const NodeObject& n) {
             return detail::concat("<", n.node->name(), " object at ", static_cast<const void*>(n.node.get()), ">");
           })
      .def_prop_ro("next_functions",
                   [](const NodeObject& n) {
                     nb::list l;
                     for (const Edge& e : n.node->next) l.append(nb::make_tuple(nb::steal(wrap_node(e.node)), e.nr));
                     return nb::tuple(l);
                   })
      .def_prop_ro("variable",
                   [](const NodeObject& n) {
                     auto* a = dynamic_cast<AccumulateGrad*>(n.node.get());
                     if (!a) throw nb::attribute_error("only AccumulateGrad has a variable");
                     return a->leaf;
                   })
      .def_prop_ro("_where", [](const NodeObject& n) { return n.node->where(); })
      .def_prop_ro("_saved_tensors",
                   [](const NodeObject& n) {
                     nb::list l;
                     n.node->for_each_saved(
                         [](const Tensor& t, void* l) { static_cast<nb::list*>(l)->append(alias(t)); }, &l);
                     return nb::tuple(l);
                   })
      .def("_hooks", [](const NodeObject& n, bool before) { return node_hook_table(n.node, before); })
      .def("__call__", [](const NodeObject& n, nb::args grads) { return run_node(n.node, grads); })
      .def("_sequence_nr", [](const NodeObject& n) { return n.node->sequence; });

  m.def("_torch_function_is_off", [] { return tls.torch_function_off; });
  m.def("_in_torch_function_mode", in_torch_function_mode);
  m.def("_functions_are_seen", [] { return in_torch_function_mode() || profile::running(); });
  m.def("_overrides_torch_function", [](nb::handle o) { return overrides_torch_function(o.ptr()); }, nb::arg().none());
  m.def("_torch_function_off", [](bool off) {
    bool before = tls.torch_function_off;
    tls.torch_function_off = off;
    return before;
  });
  m.def("_torch_function_mode",
        [](bool on) { tls.modes = on ? tls.modes | kTorchFunctionMode : tls.modes & ~kTorchFunctionMode; });
  m.def(
      "_disabled_torch_function_impl",
      [](nb::object func, nb::object, nb::object args, nb::object kwargs) {
        struct Restore {
          bool before = std::exchange(tls.torch_function_off, true);
          ~Restore() { tls.torch_function_off = before; }
        } restore;
        return steal(PyObject_Call(func.ptr(), args.ptr(), kwargs.is_none() ? nullptr : kwargs.ptr()));
      },
      nb::arg("func"), nb::arg("types"), nb::arg("args"), nb::arg("kwargs").none() = nb::none());
  disabled_torch_function = nb::object(m.attr("_disabled_torch_function_impl")).release().ptr();

  m.def("_set_inference_mode", [](bool on) { return std::exchange(inference_mode, on); });
  m.def("_is_inference_mode", [] { return inference_mode; });
  m.def("_is_grad_enabled", [] { return tls.grad_enabled; });
  m.def("_set_grad_enabled", [](bool on) { tls.grad_enabled = on; });

  m.def(
      "_backward",
      [](const Tensor& root, const Tensor& gradient, bool retain_graph, bool create_graph) {
        root.backward(gradient, retain_graph, create_graph);
      },
      nb::arg(), nb::arg().none(), nb::arg(), nb::arg());

  // roots, gradients (or None), inputs (or None): the gradients of the inputs, or None where they accumulate.
  m.def(
      "_run_backward",
      [](nb::sequence roots, nb::sequence grads, nb::object inputs, bool retain_graph, bool create_graph,
         bool accumulate, bool allow_unused) -> nb::object {
        std::vector<Tensor> r = tensors_of(roots), g = tensors_of(grads), in;
        std::vector<Edge> edges;
        if (!inputs.is_none()) {
          for (size_t i = 0; i < r.size(); i++) root_edge(r[i], i);  // a bad root is told before inputs are touched
          in = tensors_of(nb::cast<nb::sequence>(inputs));
          for (size_t i = 0; i < in.size(); i++) {
            RL_CHECK(in[i].requires_grad(), "grad: input ", i, " (", Describe{in[i]}, ") does not require grad",
                     hint("call requires_grad_() on it before computing"));
            edges.push_back(gradient_edge(in[i]));
            if (accumulate) retain_grad(in[i]);  // results are written too, where they are named
          }
        }
        BackwardOptions o{retain_graph, create_graph, accumulate, allow_unused};
        std::vector<Tensor> result = run_backward(r, g, edges, o);
        if (accumulate) return nb::none();
        nb::list l;
        for (Tensor& t : result) l.append(nb::steal(wrap(t)));
        return nb::tuple(l);
      },
      nb::arg("roots"), nb::arg("grads"), nb::arg("inputs").none(), nb::arg("retain_graph"), nb::arg("create_graph"),
      nb::arg("accumulate"), nb::arg("allow_unused"));
}

}  // namespace rushlight::python
