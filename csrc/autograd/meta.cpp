#include "autograd/meta.h"

#include "autograd/engine.h"
#include "autograd/mode.h"
#include "autograd/needs.h"

namespace rushlight {

void destroy_autograd_meta(AutogradMeta* m) { delete m; }

bool is_view(const Tensor& t) { return t.impl()->autograd && t.impl()->autograd->view; }
Tensor view_base(const Tensor& t) { return is_view(t) ? t.impl()->autograd->view->base : Tensor(); }

// Whether a view's history can be made anew after a write through it or its base: only for views that one recorded
// operation made.
static void check_history_can_follow(const ViewInfo& v, std::string_view what) {
  switch (v.made_by) {
    case ViewMadeBy::Operation: return;
    case ViewMadeBy::MultiOutput:
      fail(ErrorKind::Runtime, what,
           ", and it is one of several that one operation returned (split, chunk, unbind): the gradients of the others "
           "would be wrong",
           hint("use the out-of-place form, or clone() the view before anything is written"));
    case ViewMadeBy::NoGrad:
      fail(ErrorKind::Runtime, what, " with grad mode on, but it was made under no_grad(): its history is unknown",
           hint("make the view with grad mode on, or write under no_grad()"));
    case ViewMadeBy::CustomFunction:
      fail(ErrorKind::Runtime, what,
           ", and it was returned by a custom autograd.Function, whose backward would be overridden",
           hint("return a clone() from the Function"));
  }
}

static TensorImpl*& retained_of(Node& node, uint32_t nr) {
  auto& retain = node.need_hooks().retain;
  if (retain.size() <= nr) retain.resize(nr + 1);
  return retain[nr];
}

// From now on t is an output of `node`. Hooks stay with the value they were registered for, but retain_grad()
// means the tensor as it is when backward runs.
static void set_grad_fn(const Tensor& t, Ref<Node> node, uint32_t nr = 0) {
  AutogradMeta& m = need_meta(t);
  if (m.retains_grad && m.grad_fn) {
    TensorImpl*& before = retained_of(*m.grad_fn, m.nr);
    if (before == t.impl()) before = nullptr, retained_of(*node, nr) = t.impl();
  }
  if (m.hooks) m.hooks->pre.clear();
  m.requires_grad = false;
  m.grad_fn = std::move(node);
  m.nr = nr;
}

const Ref<Node>& grad_fn(const Tensor& t) {
  static const Ref<Node> none;
  AutogradMeta* m = t.impl()->autograd;
  if (!m) return none;
  if (m->view && m->view->version != t.version() && (m->grad_fn || requires_grad(m->view->base))) {
    check_history_can_follow(*m->view, "the base of this view was modified in place since the view was made");
    // The base was written through another view since: what leads here now is the base's new history.
    Ref<Node> node = needs::as_strided_node(m->view->base, t.sizes(), t.strides(), t.offset());
    node->next.clear();
    node->next.push_back(gradient_edge(m->view->base));
    node->outputs.clear();
    node->outputs.emplace_back(t);
    set_grad_fn(t, std::move(node));
    m->view->version = t.version();
  }
  return m->grad_fn;
}

Edge accumulator_edge(const Tensor& leaf) {
  AutogradMeta& m = need_meta(leaf);
  AccumulateGrad* a = m.accumulator;
  // One that is neither in a graph nor waiting is about to be disposed of, and some destructor came here before that.
  if (!a || (a->leaf && a->use_count() == 0)) {
    auto node = make_ref<AccumulateGrad>(leaf);
    m.accumulator = node.get();
    return {std::move(node), 0};
  }
  if (!a->leaf) a->serve(leaf);
  return {Ref<Node>::share(a), 0};
}

Edge gradient_edge(const Tensor& t) {
  AutogradMeta* m = t.impl()->autograd;
  if (!m) return {};
  if (const Ref<Node>& fn = grad_fn(t)) return {fn, m->nr};
  return m->requires_grad ? accumulator_edge(t) : Edge();
}

void set_history(const Tensor& t, const Ref<Node>& node) {
  uint32_t nr = node->outputs.size();
  node->outputs.emplace_back(t);
  if (!t.is_floating()) return;
  AutogradMeta& m = need_meta(t);
  m.grad_fn = node;
  m.nr = nr;
}

void mark_view(const Tensor& v, const Tensor& base, ViewMadeBy by) {
  if (v.is_same(base) || !v.is_floating() || base.impl()->inference) return;
  AutogradMeta& m = need_meta(v);
  const ViewInfo* of = base.impl()->autograd ? base.impl()->autograd->view.get() : nullptr;
  if (of && by == ViewMadeBy::Operation) by = of->made_by;
  m.view.reset(new ViewInfo{of ? of->base : base, v.version(), by});
}

void check_inplace(const Tensor& t, bool recording, const char* op) {
  RL_CHECK(t.impl()->counts_versions() || inference_mode, op_name(op),
           "_: a tensor made under inference_mode() cannot be modified in place outside of it",
           hint("clone() it first"));
  AutogradMeta* m = t.impl()->autograd;
  if (!m || !recording) return;
  if (m->view) {
    check_history_can_follow(*m->view, op_name(op) + "_: this view would be modified in place");
    RL_CHECK(!(t.requires_grad() && m->view->base.is_leaf()), op_name(op),
             "_: this is a view of a leaf that requires grad, and a leaf cannot be modified in place",
             hint("write under no_grad(), or use the out-of-place form"));
  }
  RL_CHECK(!(t.requires_grad() && t.is_leaf()), op_name(op), "_: a leaf that requires grad cannot be modified in place",
           hint("write under no_grad() (as optimizers do), or use the out-of-place form"));
}

// Gradient of writing through a view: outside the view the base's gradient passes on; inside it goes through `inner`.
struct CopySlices final : Node {
  Ref<Node> inner;
  Dims sizes, strides, base_sizes, base_strides;
  int64_t offset, base_offset;

  Grads run(Grads&& grads) override {
    check_not_released();
    Grads result;
    result.resize(next.size());
    if (!grads[0]) return result;
    const Tensor& g = grads[0];
    // A gradient laid out like the base, so that the view's geometry applies to it.
    Tensor all = empty_strided(base_sizes, base_strides, g.dtype(), g.device());
    needs::copy_(all, g);
    Tensor slice = needs::as_strided(all, sizes, strides, offset - base_offset);
    Grads in;
    in.push_back(needs::clone_contiguous(slice));
    Grads out = inner->run(std::move(in));
    for (size_t i = 0; i < out.size() && i < next.size(); i++) {
      if (!next[i]) continue;
      if (i > 0) {
        result[i] = out[i];
        continue;
      }
      if (out[0]) needs::copy_(slice, out[0]);
      else needs::copy_(slice, needs::zeros(sizes, g.dtype(), g.device()));
      result[0] = all;
    }
    return result;
  }
  const char* name() const override { return "CopySlices"; }
  void release_saved() override {
    released = true;
    inner->release_saved();
  }
};

void rebase_history(const Tensor& t, Ref<Node> node) {
  AutogradMeta& m = need_meta(t);
  node->outputs.clear();
  node->outputs.emplace_back(t);
  if (m.view) {
    Tensor base = m.view->base;
    auto slices = make_ref<CopySlices>();
    slices->inner = node;
    slices->sizes = t.sizes(), slices->strides = t.strides(), slices->offset = t.offset();
    slices->base_sizes = base.sizes(), slices->base_strides = base.strides(), slices->base_offset = base.offset();
    slices->next = std::move(node->next);
    node->next.clear();
    Edge base_edge = gradient_edge(base);
    if (slices->next.empty()) slices->next.push_back({});
    slices->next[0] = std::move(base_edge);
    slices->outputs.emplace_back(base);
    set_grad_fn(base, std::move(slices));
    m.view->version = t.version() - 1;  // forces grad_fn(t) to be made anew from the base
    grad_fn(t);
    return;
  }
  set_grad_fn(t, std::move(node));
}

void replace_history(const Tensor& t, Ref<Node> node) {
  uint32_t nr = node->outputs.size();
  node->outputs.emplace_back(t);
  set_grad_fn(t, std::move(node), nr);
  if (ViewInfo* view = t.impl()->autograd->view.get()) view->version = t.version();
}

void retain_grad(const Tensor& t) {
  RL_CHECK(t.requires_grad(), "retain_grad() needs a tensor that requires grad",
           hint("call requires_grad_() first, or compute it from one that does"));
  if (t.is_leaf()) return;
  AutogradMeta& m = need_meta(t);
  if (m.retains_grad) return;
  const Ref<Node>& node = grad_fn(t);
  retained_of(*node, m.nr) = t.impl();
  m.retains_grad = true;
}

Tensor detach(const Tensor& t) {
  Tensor v = alias(t);
  // Outside inference_mode() a detached tensor of it may be written to, and counts its writes itself.
  if (v.impl()->inference && !inference_mode) v.impl()->own_version = make_ref<VersionCounter>();
  return v;
}

void detach_(const Tensor& t) {
  RL_CHECK(!is_view(t), "detach_() on a view is not allowed, since its base would keep the history",
           hint("use detach(), which gives a new tensor"));
  AutogradMeta* m = t.impl()->autograd;
  if (!m) return;
  if (m->grad_fn && m->grad_fn->hooks)  // those on this tensor stay with it, should it become a leaf that requires grad
    for (auto& [nr, hook] : m->grad_fn->hooks->tensor) {
      if (nr != m->nr) continue;
      if (!m->hooks) m->hooks = std::make_unique<LeafHooks>();
      m->hooks->pre.push_back(hook);
    }
  m->grad_fn.reset();
  m->requires_grad = false;
  m->nr = 0;
}

Tensor variable_data(const Tensor& t) {
  Tensor v = alias(t);
  if (!v.impl()->inference || !inference_mode) v.impl()->own_version = make_ref<VersionCounter>();
  return v;
}

// --- Tensor ---------------------------------------------------------------------------------------------------------

bool Tensor::requires_grad() const {
  const AutogradMeta* m = impl_->autograd;
  if (!m) return false;
  return m->requires_grad || m->grad_fn || (m->view && is_floating() && m->view->base.requires_grad());
}

Tensor& Tensor::set_requires_grad(bool value) {
  RL_CHECK(!value || is_floating(), "only tensors of floating point dtype can require gradients, not ", dtype(),
           hint("convert with .float(), or leave requires_grad off for indices and counts"));
  RL_CHECK(!value || !impl_->inference || inference_mode,
           "a tensor made under inference_mode() cannot require gradients",
           hint("clone() it outside inference_mode first"));
  if (!value && !impl_->autograd) return *this;
  RL_CHECK(value || !grad_fn(*this), "requires_grad can be changed on leaves only; this tensor is the result of ",
           grad_fn(*this)->name(), hint("use detach() to get a tensor without history"));
  need_meta(*this).requires_grad = value;
  return *this;
}

bool Tensor::is_leaf() const { return !impl_->autograd || !impl_->autograd->grad_fn; }
Tensor Tensor::grad() const { return impl_->autograd ? impl_->autograd->grad : Tensor(); }
void Tensor::set_grad(Tensor g) const {
  if (g.defined() || impl_->autograd) need_meta(*this).grad = std::move(g);
}
Tensor Tensor::detach() const { return rushlight::detach(*this); }

void Tensor::backward(Tensor gradient, bool retain_graph, bool create_graph) const {
  BackwardOptions o;
  o.retain_graph = retain_graph || create_graph;
  o.create_graph = create_graph;
  run_backward({this, 1}, {&gradient, 1}, {}, o);
}

}  // namespace rushlight
