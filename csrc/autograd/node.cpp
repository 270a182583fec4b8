#include "autograd/node.h"

#include <algorithm>
#include <atomic>

#include "autograd/apply.h"
#include "autograd/engine.h"
#include "autograd/needs.h"
#include "base/unlocked.h"

namespace rushlight {

constinit thread_local ThreadState tls;
SourceHooks source_hooks;

static std::atomic<uint64_t> next_sequence{0};

Node::Node() : sequence(next_sequence.fetch_add(1, std::memory_order_relaxed)) {
  if (source_hooks.record) source_hooks.record(source);
}

uint64_t Node::upcoming_sequence() { return next_sequence.load(std::memory_order_relaxed); }

Node::~Node() {
  if (source.code && source_hooks.release) source_hooks.release(source);
}

void Node::destroy(Node* n) {
  // A node's edges and saved tensors may hold the last reference to other nodes, and so on down the graph. Whoever
  // comes here while a node is being destroyed only adds to the list, which the outermost call empties.
  n->next_dead = tls.dead;
  tls.dead = n;
  if (tls.burying) return;
  tls.burying = true;
  while (Node* next = tls.dead) {
    tls.dead = next->next_dead;
    next->dispose();
  }
  tls.burying = false;
}

std::string Node::where() const {
  return source.code && source_hooks.describe ? source_hooks.describe(source) : std::string();
}

void Node::check_not_released() const {
  RL_CHECK(
      !released, "cannot run backward through ", name(), " a second time: the first freed its saved tensors",
      where().empty() ? "" : "\n  recorded at " + where(),
      hint("pass retain_graph=True to the first backward() or grad() if you need a second; or compute the loss anew"));
}

AccumulateGrad::AccumulateGrad(const Tensor& t) : Node(UINT64_MAX) {
  outputs.emplace_back(t);
  leaf = t;
}

void AccumulateGrad::serve(const Tensor& t) {
  leaf = t;
  sequence = UINT64_MAX;
  if (!outputs[0].matches(t) || outputs[0].device != t.device()) outputs[0] = OutputMeta(t);
}

void AccumulateGrad::dispose() {
  AutogradMeta* m = leaf.impl()->autograd;
  if (!m || m->accumulator != this) {  // the leaf was given another history, or a new accumulator meanwhile
    delete this;
    return;
  }
  hooks.reset();
  released = false;
  Tensor last = std::move(leaf);  // if it is the last, the leaf's AutogradMeta goes with it, and deletes this
}

// Ours alone, so that keeping it instead of a copy cannot be noticed.
static bool stealable(const Tensor& g, const Tensor& leaf) {
  return g.impl()->use_count() == 1 && g.storage()->use_count() == 1 && !g.impl()->pyobj && !is_view(g) &&
         !g.storage()->deleter && g.storage()->nbytes == size_t(g.numel() * g.itemsize()) &&
         (g.strides() == leaf.strides() || (g.is_contiguous() && !leaf.is_dense()));
}

Grads AccumulateGrad::run(Grads&& grads) {
  Tensor g = std::move(grads[0]);
  AutogradMeta& m = need_meta(leaf);
  if (m.hooks)
    for (auto& h : std::vector(m.hooks->pre)) {
      Grads one{std::move(g)};
      h->call(one, one);
      g = std::move(one[0]);
    }
  RL_CHECK(!g || !m.grad_fn, "a leaf that the graph leads to has since become the result of ", m.grad_fn->name(),
           ": it was detached and written to in place", hint("use detach(), which gives a new tensor"));
  // It may not require grad any longer: detach_() or requires_grad_(False) since the graph was made.
  if (g && m.requires_grad) {
    hold_gil = true;  // no other thread may come between reading and writing .grad
    struct Restore {
      ~Restore() { hold_gil = false; }
    } restore;
    grads.clear();
    if (!m.grad) {
      m.grad = !tls.grad_enabled && stealable(g, leaf) ? std::move(g) : needs::clone_as(g, leaf);
    } else if (tls.grad_enabled) {
      m.grad = needs::add(m.grad, g);
    } else {
      needs::add_(m.grad, g);
    }
  }
  if (m.hooks && !m.hooks->post_accumulate.empty())
    for (auto& h : std::vector(m.hooks->post_accumulate)) {
      Grads one{leaf};
      h->call(one, one);
    }
  return {};
}

std::string node_name_of_schema(const char* schema) {
  std::string s;
  bool upper = true;
  for (const char* p = schema; *p && *p != '('; p++) {
    if (*p == '_') {
      upper = true;
      continue;
    }
    s += upper ? char(toupper(*p)) : *p;
    upper = false;
  }
  return s + "Backward0";
}

// --- Ctx ------------------------------------------------------------------------------------------------------------

void Ctx::save(const Tensor& t) {
  if (!recording) return;
  RL_CHECK(!t || !t.impl()->inference, node->name(),
           " would save a tensor made under inference_mode() for its backward",
           hint("clone() the tensor outside inference_mode first, or use no_grad() instead"));
  Tensor kept = t;
  if (inplace && t && t.is_same(*out)) {  // about to be overwritten; the copy keeps t's history for second derivatives
    GradMode on(true);
    kept = needs::clone(t);
  }
  uint32_t version = kept ? kept.version() : 0;
  bool has_history = kept && !kept.is_leaf();
  saved.push_back({std::move(kept), version, -1, has_history});
}

void Ctx::save_output(const Tensor& t, int nr) {
  if (recording) saved.push_back({alias(t), t.version(), nr});
}

Tensor Ctx::get(size_t i) const {
  node->check_not_released();
  RL_CHECK(i < saved.size(), "the forward of ", node->name(), " saved ", saved.size(),
           " tensors, its backward asks for number ", i);
  const Saved& s = saved[i];
  if (!s.tensor) return {};
  uint32_t now = s.tensor.version();
  RL_CHECK(
      now == s.version, "a tensor that ", node->name(),
      " needs for its gradient has been modified in place: ", Describe{s.tensor},
      s.own_output >= 0 ? ", its own output," : ",", " is at version ", now, ", was saved at version ", s.version,
      node->where().empty() ? "" : "\n  recorded at " + node->where(),
      hint("use the out-of-place form of the operation that modified it, or clone() the tensor before modifying it"));
  if (s.own_output < 0) {
    RL_CHECK(!s.has_history || grad_fn(s.tensor), "a tensor that ", node->name(),
             " needs for its gradient has lost its history to detach_()",
             node->where().empty() ? "" : "\n  recorded at " + node->where(),
             hint("use detach(), which gives a new tensor"));
    return s.tensor;
  }
  Tensor t = alias(s.tensor);
  AutogradMeta& m = need_meta(t);
  m.grad_fn = Ref<Node>::share(node);
  m.nr = s.own_output;
  return t;
}

Tensor Ctx::result(IntSpan shape, DType dtype, const Tensor& like) const {
  if (out && out->dtype() == dtype && IntSpan(out->sizes()) == shape && out->is_contiguous()) return *out;
  return empty(shape, dtype, like.device());
}

void check_out_dtype(const char* op, const Ctx& ctx, DType result) {
  RL_CHECK(!ctx.out || ctx.inplace || ctx.out->dtype() == result, op_name(op), ": the result is ", result,
           ", but out= is ", ctx.out->dtype(), hint("give a tensor of the result's dtype, or copy_() the result"));
}

namespace detail {

void prepare(Node* node, Ctx& ctx) {
  ctx.recording = true;
  ctx.node = node;
}

void add_input(Node* node, Ctx& ctx, const Tensor& t) {
  Edge e = t.defined() ? gradient_edge(t) : Edge();
  if (e) ctx.needs |= uint64_t(1) << std::min<size_t>(node->next.size(), 63);
  node->next.push_back(std::move(e));
}

void finish_target(Ctx& ctx, const Tensor& result, const char* op) {
  const Tensor& out = *ctx.out;
  if (result.is_same(out)) return;
  RL_CHECK(can_cast(result.dtype(), out.dtype()), op_name(op), ": the result is ", result.dtype(),
           " and cannot be written into a tensor of ", out.dtype(),
           hint(concat("convert first, for example with .to(rushlight.", result.dtype(), ")")));
  if (out.sizes() != result.sizes()) {
    RL_CHECK(!ctx.inplace, op_name(op), "_: the result has shape ", result.sizes(), ", which does not fit into ",
             out.sizes(), hint("use the out-of-place form"));
    resize_out(out, result.sizes());
  }
  needs::copy_(out, result);
}

void check_out(const Tensor& out, bool any_requires_grad, const char* op) {
  RL_CHECK(!any_requires_grad && !(requires_grad(out) && tls.grad_enabled), op_name(op),
           ": out= does not support automatic differentiation, and one of the arguments requires grad",
           hint("leave out= away, or use it under no_grad()"));
}

}  // namespace detail

}  // namespace rushlight
