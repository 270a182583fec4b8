// What Python adds to the graph: hooks, and Functions written in Python.
#include "python/common.h"

namespace rushlight::python {
namespace {

nb::tuple to_tuple(const Grads& grads) {
  nb::tuple t = nb::steal<nb::tuple>(checked(PyTuple_New(grads.size())));
  for (size_t i = 0; i < grads.size(); i++) PyTuple_SET_ITEM(t.ptr(), i, wrap(grads[i]));
  return t;
}

void from_result(nb::handle h, Tensor& into, const char* who) {
  if (!h.is_none() && !is_tensor(h.ptr()))
    fail(ErrorKind::Type, who, " must return a Tensor or None, not ", Py_TYPE(h.ptr())->tp_name);
  into = h.is_none() ? Tensor() : unwrap(h.ptr());
}

// All hooks of one place, in a table that the handles take them off again: one Hook object for the engine.
struct TableHook final : Hook {
  enum Place { of_tensor, before_node, after_node, after_accumulate } place;
  PyObject* table;  // OrderedDict of id -> callable

  explicit TableHook(Place p) : place(p) {
    table = checked(PyObject_CallNoArgs(nb::module_::import_("collections").attr("OrderedDict").ptr()));
  }
  ~TableHook() override {
    with_gil([&] { Py_DECREF(table); });
  }
  void* python() override { return table; }

  void call(Grads& grads, const Grads& others) override {
    nb::list hooks = nb::steal<nb::list>(checked(PyDict_Values(table)));
    for (nb::handle hook : hooks) {
      switch (place) {
        case after_accumulate: {
          nb::object r = steal(PyObject_CallOneArg(hook.ptr(), nb::steal(wrap(grads[0])).ptr()));
          RL_CHECK(r.is_none(), "a hook that runs after the gradient is accumulated must return None, not ",
                   Py_TYPE(r.ptr())->tp_name, hint("change leaf.grad inside the hook"));
          break;
        }
        case of_tensor: {
          nb::object r = steal(PyObject_CallOneArg(hook.ptr(), nb::steal(wrap(grads[0])).ptr()));
          if (r.is_none()) break;
          Tensor t;
          from_result(r, t, "a tensor's hook");
          RL_CHECK(t.sizes() == grads[0].sizes(), "a hook returned a gradient of shape ", t.sizes(),
                   " for one of shape ", grads[0].sizes());
          grads[0] = t;
          break;
        }
        case before_node:
        case after_node: {
          nb::object r = place == before_node ? hook(to_tuple(grads)) : hook(to_tuple(grads), to_tuple(others));
          if (r.is_none()) break;
          if (is_tensor(r.ptr()) && grads.size() == 1) {
            grads[0] = unwrap(r.ptr());
            break;
          }
          if (!PyTuple_Check(r.ptr()) || size_t(PyTuple_GET_SIZE(r.ptr())) != grads.size())
            fail(ErrorKind::Type, "a node's hook must return None or a tuple of ", grads.size(), " gradients");
          for (size_t i = 0; i < grads.size(); i++)
            from_result(PyTuple_GET_ITEM(r.ptr(), i), grads[i], "a node's hook");
          break;
        }
      }
    }
  }
};

nb::object table_of(std::vector<Ref<Hook>>& hooks, TableHook::Place place) {
  for (auto& h : hooks)
    if (auto* t = dynamic_cast<TableHook*>(h.get()); t && t->place == place) return nb::borrow(t->table);
  auto h = make_ref<TableHook>(place);
  nb::object table = nb::borrow(h->table);
  hooks.push_back(std::move(h));
  return table;
}

nb::object tensor_hooks(Tensor t) {
  if (t.is_leaf()) {
    AutogradMeta& m = need_meta(t);
    if (!m.hooks) m.hooks = std::make_unique<LeafHooks>();
    return table_of(m.hooks->pre, TableHook::of_tensor);
  }
  NodeHooks& hooks = grad_fn(t)->need_hooks();
  uint32_t nr = t.impl()->autograd->nr;
  for (auto& h : hooks.tensor)
    if (auto* table = dynamic_cast<TableHook*>(h.hook.get()); table && h.nr == nr) return nb::borrow(table->table);
  auto h = make_ref<TableHook>(TableHook::of_tensor);
  nb::object table = nb::borrow(h->table);
  hooks.tensor.push_back({nr, std::move(h)});
  return table;
}

nb::object post_accumulate_hooks(Tensor t) {
  AutogradMeta& m = need_meta(t);
  if (!m.hooks) m.hooks = std::make_unique<LeafHooks>();
  return table_of(m.hooks->post_accumulate, TableHook::after_accumulate);
}

// --- Functions -------------------------------------------------------------------------------------------------------

struct FunctionNode;

// What a ctx object holds of its node, which owns it: cleared when the node goes.
struct NodeLink {
  FunctionNode* node = nullptr;
};

struct FunctionNode final : Node {
  PyObject* py_ctx;  // owned
  NodeLink* link;    // inside the ctx object
  Ctx ctx;
  std::string title;
  bool materialize = true;

  FunctionNode(PyObject* o, NodeLink* l, std::string name) : py_ctx(Py_NewRef(o)), link(l), title(std::move(name)) {
    link->node = this;
    ctx.recording = true;
    ctx.node = this;
  }
  ~FunctionNode() override {
    link->node = nullptr;
    with_gil([&] { Py_DECREF(py_ctx); });
  }
  const char* name() const override { return title.c_str(); }
  void* python_self() const override { return py_ctx; }
  void release_saved() override {
    released = true;
    ctx.saved.clear();
  }
  bool wants_undefined() const override { return !materialize; }
  bool runs_on_nothing() const override { return true; }
  Grads run(Grads&& grads) override {
    static PyObject* method = PyUnicode_InternFromString("_run_backward");
    nb::tuple args = to_tuple(grads);
    grads.clear();
    nb::object keep = nb::borrow(py_ctx);
    nb::object r = steal(PyObject_CallMethodOneArg(py_ctx, method, args.ptr()));
    Grads out;
    for (nb::handle h : nb::cast<nb::sequence>(r)) {
      Tensor t;
      from_result(h, t, "backward() of a Function");
      out.push_back(std::move(t));
    }
    return out;
  }
};

FunctionNode& node_of(const NodeLink& l) {
  RL_CHECK(l.node, "this ctx belongs to no graph: its Function was not recorded, or its result was freed");
  return *l.node;
}

// Before forward: the node with its edges. Kept by whoever runs the Function until it is attached to the outputs.
struct NodeHandle {
  Ref<Node> node;
};

NodeHandle begin_function(nb::object ctx, nb::object link, std::string name, nb::sequence tensors) {
  auto node = make_ref<FunctionNode>(ctx.ptr(), &nb::cast<NodeLink&>(link), std::move(name));
  for (nb::handle h : tensors) detail::add_input(node.get(), node->ctx, unwrap(h.ptr()));
  return {Ref<Node>(std::move(node))};
}

bool contains(nb::sequence s, const Tensor& t) {
  for (nb::handle h : s)
    if (is_tensor(h.ptr()) && unwrap(h.ptr()).is_same(t)) return true;
  return false;
}

// An output as a Function gives it away: an input is returned as a view of it, so that its own history stays; views
// cannot be written to with grad mode on, since that would put another node in the place of the Function's.
Tensor given_away(const Tensor& t, bool is_input, size_t outputs) {
  if (is_input) {
    Tensor view = alias(t);
    mark_view(view, t, ViewMadeBy::CustomFunction);
    return view;
  }
  if (is_view(t))
    t.impl()->autograd->view->made_by = outputs > 1 ? ViewMadeBy::MultiOutput : ViewMadeBy::CustomFunction;
  else if (t.requires_grad()) return alias(t);
  return t;
}

// After forward: outputs get their history, what was saved is put away. Returns the outputs, some of them as new views.
nb::list end_function(NodeHandle& handle, nb::list outputs, nb::sequence inputs, nb::sequence dirty, nb::sequence plain,
                      nb::object to_save, bool materialize) {
  auto* node = static_cast<FunctionNode*>(handle.node.get());
  node->materialize = materialize;
  nb::list result;
  std::vector<Tensor> originals;  // undefined where an output is no tensor
  for (nb::handle h : outputs) {
    if (!is_tensor(h.ptr())) {
      node->outputs.emplace_back();
      node->outputs.back().is_tensor = false;
      originals.emplace_back();
      result.append(h);
      continue;
    }
    Tensor t = unwrap(h.ptr());
    originals.push_back(t);
    bool is_input = contains(inputs, t), is_dirty = contains(dirty, t), is_plain = contains(plain, t);
    if (is_dirty) {
      RL_CHECK(is_input, "mark_dirty: a tensor that is no input of the Function was marked");
      t.bump_version();  // forward has written, even if it should not have
      check_inplace(t, true, node->title.c_str());
      t.set_grad(Tensor());  // as PyTorch: it was that of another value
      if (is_view(t)) {
        RL_CHECK(outputs.size() == 1, "a Function that writes to a view in place may return nothing else");
        rebase_history(t, handle.node);
      } else {
        replace_history(t, handle.node);
      }
    } else if (is_plain) {
      if (is_input) t = detach(t);
      node->outputs.emplace_back(t);
    } else {
      t = given_away(t, is_input, outputs.size());
      set_history(t, handle.node);
    }
    result.append(t.is_same(originals.back()) ? nb::borrow(h) : nb::steal(wrap(t)));
  }
  for (nb::handle h : dirty)
    RL_CHECK(
        [&] {
          for (auto& t : originals)
            if (t && t.is_same(unwrap(h.ptr()))) return true;
          return false;
        }(),
        "mark_dirty: every tensor that was marked must be returned by forward()");
  if (!to_save.is_none())
    for (nb::handle h : nb::cast<nb::sequence>(to_save)) {
      if (h.is_none()) {
        node->ctx.saved.push_back({Tensor(), 0, -1});
        continue;
      }
      Tensor t = unwrap(h.ptr());
      int own = -1;
      for (size_t i = 0; i < originals.size(); i++)
        if (originals[i] && originals[i].is_same(t)) own = int(i);
      if (own >= 0) {
        node->ctx.saved.push_back({alias(t), t.version(), own});
      } else {
        node->ctx.save(t);
        node->ctx.saved.back().has_history = false;  // its backward may use what was detached
      }
    }
  return result;
}

// The same where nothing was recorded.
nb::list end_unrecorded(nb::list outputs, nb::sequence inputs, nb::sequence dirty) {
  nb::list result;
  for (nb::handle h : outputs) {
    Tensor t = is_tensor(h.ptr()) ? unwrap(h.ptr()) : Tensor(), given = t;
    if (t && contains(dirty, t)) t.bump_version();
    else if (t && (contains(inputs, t) || is_view(t))) given = given_away(t, contains(inputs, t), outputs.size());
    result.append(given.is_same(t) ? nb::borrow(h) : nb::steal(wrap(given)));
  }
  return result;
}

}  // namespace

void bind_function(nb::module_& m) {
  m.def("_tensor_hooks", tensor_hooks);
  m.def("_post_accumulate_hooks", post_accumulate_hooks);
  nb::class_<NodeHandle>(m, "_NodeHandle");
  nb::class_<NodeLink>(m, "_NodeLink")
      .def(nb::init<>())
      .def("saved",
           [](const NodeLink& l) {
             FunctionNode& n = node_of(l);
             n.check_not_released();
             nb::list r;
             for (size_t i = 0; i < n.ctx.saved.size(); i++) r.append(nb::steal(wrap(n.ctx.get(i))));
             return nb::tuple(r);
           })
      .def("next_functions",
           [](const NodeLink& l) {
             nb::list r;
             for (const Edge& e : node_of(l).next) r.append(nb::make_tuple(nb::steal(wrap_node(e.node)), e.nr));
             return nb::tuple(r);
           })
      .def("hooks",
           [](const NodeLink& l, bool before) {
             NodeHooks& h = node_of(l).need_hooks();
             return before ? table_of(h.pre, TableHook::before_node) : table_of(h.post, TableHook::after_node);
           })
      .def("run", [](const NodeLink& l, nb::args grads) { return run_node(Ref<Node>::share(&node_of(l)), grads); })
      .def("where", [](const NodeLink& l) { return node_of(l).where(); })
      .def("sequence", [](const NodeLink& l) { return node_of(l).sequence; })
      .def("__bool__", [](const NodeLink& l) { return l.node != nullptr; });
  m.def("_begin_function", begin_function);
  m.def("_end_unrecorded", end_unrecorded);
  m.def("_end_function", end_function, nb::arg("handle"), nb::arg("outputs"), nb::arg("inputs"), nb::arg("dirty"),
        nb::arg("plain"), nb::arg("to_save").none(), nb::arg("materialize"));
}

nb::object node_hook_table(const Ref<Node>& node, bool before) {
  NodeHooks& h = node->need_hooks();
  return before ? table_of(h.pre, TableHook::before_node) : table_of(h.post, TableHook::after_node);
}

nb::tuple run_node(const Ref<Node>& node, nb::args grads) {
  Grads g;
  for (nb::handle h : grads) g.push_back(h.is_none() ? Tensor() : unwrap(h.ptr()));
  return to_tuple(rushlight::run_node(*node, std::move(g)));
}

}  // namespace rushlight::python
