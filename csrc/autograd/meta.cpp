#include "autograd/meta.h"

#include <algorithm>
#include <cstring>

#include "autograd/engine.h"
#include "autograd/mode.h"
#include "autograd/needs.h"

namespace rushlight {

void destroy_autograd_meta(AutogradMeta* m) { delete m; }

bool is_view(const Tensor& t) { return t.impl()->autograd && t.impl()->autograd->view; }
Tensor view_base(const Tensor& t) { return is_view(t) ? t.impl()->autograd->view->base : Tensor(); }

const Ref<Node>& grad_fn(const Tensor& t) {
  static const Ref<Node> none;
  AutogradMeta* m = t.impl()->autograd;
  if (!m) return none;
  if (m->view && m->view->version != t.version() && m->view->made_by != ViewMadeBy::NoGrad) {
    if (!m->grad_fn && !requires_grad(m->view->base)) return m->grad_fn;
    RL_CHECK(m->view->made_by != ViewMadeBy::MultiOutput,
             "this view is one of several that one operation returned (split, chunk, unbind), and their base was "
             "modified in "
             "place since; its history cannot be made anew",
             hint("clone() the view before the base is modified"));
    // The base was written through another view since: what leads here now is the base's new history.
    Ref<Node> node = needs::as_strided_node(m->view->base, t.sizes(), t.strides(), t.offset());
    node->next.clear();
    node->next.push_back(gradient_edge(m->view->base));
    node->outputs.clear();
    node->outputs.emplace_back(t);
    m->grad_fn = std::move(node);
    m->nr = 0;
    m->view->version = t.version();
  }
  return m->grad_fn;
}

Edge accumulator_edge(const Tensor& leaf) {
  AutogradMeta& m = need_meta(leaf);
  if (!m.accumulator) {
    auto node = make_ref<AccumulateGrad>(leaf);
    m.accumulator = node.get();
    return {std::move(node), 0};
  }
  if (!m.accumulator->leaf) m.accumulator->serve(leaf);
  return {Ref<Node>::share(m.accumulator), 0};
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
  if (v.is_same(base) || !v.is_floating()) return;
  AutogradMeta& m = need_meta(v);
  const ViewInfo* of = base.impl()->autograd ? base.impl()->autograd->view.get() : nullptr;
  if (of && by == ViewMadeBy::Operation) by = of->made_by;
  m.view.reset(new ViewInfo{of ? of->base : base, v.version(), by});
}

static std::string op_name(const char* schema) { return std::string(schema, strcspn(schema, "(")) + "_"; }

void check_inplace(const Tensor& t, const char* op) {
  RL_CHECK(!t.impl()->inference || inference_mode, op_name(op),
           ": a tensor made under inference_mode() cannot be modified in place outside of it",
           hint("clone() it first"));
  AutogradMeta* m = t.impl()->autograd;
  if (!m || !tls.grad_enabled) return;
  if (m->view && requires_grad(t)) {
    const ViewInfo& v = *m->view;
    RL_CHECK(
        v.made_by != ViewMadeBy::MultiOutput, op_name(op),
        ": this tensor is one of several views that one operation returned (split, chunk, unbind), and writing to one "
        "would break the gradients of the others",
        hint("use the out-of-place form, or clone() the view"));
    RL_CHECK(v.made_by != ViewMadeBy::NoGrad, op_name(op),
             ": this view was made under no_grad(), so its history is unknown, and it is now written with grad mode on",
             hint("make the view with grad mode on, or write under no_grad()"));
    RL_CHECK(v.made_by != ViewMadeBy::CustomFunction, op_name(op),
             ": this view was returned by a custom autograd.Function, whose backward would be overridden",
             hint("return a clone() from the Function"));
    AutogradMeta* b = v.base.impl()->autograd;
    RL_CHECK(!(b && b->requires_grad && !b->grad_fn), op_name(op),
             ": this is a view of a leaf that requires grad, and a leaf cannot be modified in place",
             hint("write under no_grad(), or use the out-of-place form"));
  }
  RL_CHECK(!(m->requires_grad && !m->grad_fn), op_name(op), ": a leaf that requires grad cannot be modified in place",
           hint("write under no_grad() (as optimizers do), or use the out-of-place form"));
}

// Gradient of writing through a view: outside the view the base's gradient passes on; inside it goes through `inner`.
struct CopySlices final : Node {
  Ref<Node> inner;
  Dims sizes, strides, base_sizes, base_strides;
  int64_t offset, base_offset;

  Grads run(Grads&& grads) override {
    Grads result;
    result.resize(next.size());
    if (!grads[0]) return result;
    const Tensor& g = grads[0];
    // A gradient laid out like the base, so that the view's geometry applies to it.
    Tensor all = empty_strided(base_sizes, base_strides, g.dtype(), g.device());
    needs::copy_(all, g);
    Tensor slice = needs::as_strided(all, sizes, strides, offset - base_offset);
    Grads in;
    in.push_back(needs::clone(slice));
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
    inner->released = true;
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
    AutogradMeta& b = need_meta(base);
    b.requires_grad = false;
    b.grad_fn = std::move(slices);
    b.nr = 0;
    m.view->version = t.version() - 1;  // forces grad_fn(t) to be made anew from the base
    grad_fn(t);
    return;
  }
  m.requires_grad = false;
  if (m.retains_grad && m.grad_fn && m.grad_fn->hooks) {
    auto& r = m.grad_fn->hooks->retain;
    if (m.nr < r.size() && r[m.nr] == t.impl()) r[m.nr] = nullptr;
    auto& to = node->need_hooks().retain;
    to.resize(1);
    to[0] = t.impl();
  }
  m.grad_fn = std::move(node);
  m.nr = 0;
}

void retain_grad(const Tensor& t) {
  RL_CHECK(requires_grad(t), "retain_grad() needs a tensor that requires grad",
           hint("call requires_grad_() first, or compute it from one that does"));
  if (t.is_leaf()) return;
  AutogradMeta& m = need_meta(t);
  if (m.retains_grad) return;
  m.retains_grad = true;
  Node* node = grad_fn(t).get();
  auto& r = node->need_hooks().retain;
  if (r.size() <= m.nr) r.resize(m.nr + 1);
  r[m.nr] = t.impl();
}

Tensor detach(const Tensor& t) { return alias(t); }

Tensor variable_data(const Tensor& t) {
  Tensor v = alias(t);
  v.impl()->own_version = make_ref<VersionCounter>();
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

bool Tensor::is_leaf() const { return !impl_->autograd || !grad_fn(*this); }
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
