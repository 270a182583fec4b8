#include "autograd/engine.h"

#include <algorithm>

#include "autograd/autocast.h"
#include "autograd/mode.h"
#include "autograd/needs.h"
#include "autograd/profile.h"

namespace rushlight {
namespace {

// An open-addressing table from node to what this backward knows of it. Kept per run, not in the nodes, so that several
// threads may run over the same graph.
class NodeTable {
 public:
  struct Entry {
    Node* node = nullptr;
    uint32_t waiting = 0;  // gradients still to come from nodes of this run
    int8_t needed = -1;    // leads to a wanted input? -1: not known yet
    bool queued = false;
    int32_t capture = -1;  // first wanted input of this node
    Grads grads;
  };
  Entry* find(Node* n) {
    for (size_t i = slot(n);; i = (i + 1) & mask_) {
      if (!index_[i]) return nullptr;
      if (entries_[index_[i] - 1].node == n) return &entries_[index_[i] - 1];
    }
  }
  std::pair<uint32_t, bool> insert(Node* n) {
    if ((entries_.size() + 1) * 2 > mask_ + 1) rehash();
    size_t i = slot(n);
    for (; index_[i]; i = (i + 1) & mask_)
      if (entries_[index_[i] - 1].node == n) return {index_[i] - 1, false};
    entries_.emplace_back().node = n;
    index_[i] = entries_.size();
    return {uint32_t(entries_.size() - 1), true};
  }
  Entry& operator[](uint32_t i) { return entries_[i]; }
  size_t size() const { return entries_.size(); }

 private:
  size_t slot(Node* n) const { return (reinterpret_cast<uintptr_t>(n) * 0x9E3779B97F4A7C15ull >> 20) & mask_; }
  void rehash() {
    grown_.assign((mask_ + 1) * 2, 0);
    index_ = grown_.data();
    mask_ = grown_.size() - 1;
    for (uint32_t e = 0; e < entries_.size(); e++) {
      size_t i = slot(entries_[e].node);
      while (index_[i]) i = (i + 1) & mask_;
      index_[i] = e + 1;
    }
  }
  SmallVec<Entry, 16> entries_;
  uint32_t first_[64] = {};      // where small graphs find room
  std::vector<uint32_t> grown_;  // where larger ones do
  uint32_t* index_ = first_;     // entry + 1; 0 is a free slot
  size_t mask_ = 63;
};

Tensor fit(Tensor g, const OutputMeta& m, const Node* to) {
  if (m.matches(g)) return g;
  if (g.sizes() != m.shape) {
    bool expandable = g.sizes().size() >= m.shape.size();
    if (expandable)
      for (size_t i = 1; i <= m.shape.size(); i++) {
        int64_t a = m.shape[m.shape.size() - i], b = g.sizes()[g.sizes().size() - i];
        expandable &= a == b || a == 1;
      }
    RL_CHECK(expandable, "backward: a gradient of shape ", g.sizes(), " came to ", to->name(),
             ", whose output has shape ", m.shape);
    g = needs::sum_to(g, m.shape);
  }
  if (g.dtype() != m.dtype) g = needs::cast(g, m.dtype);
  return g;
}

// Gradients that come from outside the engine, made to fit what the node expects.
void check_grads(const Node& node, Grads& grads) {
  RL_CHECK(grads.size() == node.outputs.size(), node.name(), " expects ", node.outputs.size(), " gradients, got ",
           grads.size());
  for (size_t i = 0; i < grads.size(); i++)
    if (grads[i] && node.outputs[i].is_tensor) grads[i] = fit(std::move(grads[i]), node.outputs[i], &node);
}

void fill_undefined(const Node& node, Grads& grads) {
  if (node.wants_undefined()) return;
  for (size_t i = 0; i < grads.size() && i < node.outputs.size(); i++)
    if (!grads[i] && node.outputs[i].is_tensor)
      grads[i] = needs::zeros(node.outputs[i].shape, node.outputs[i].dtype, node.outputs[i].device);
}

using Entries = SmallVec<uint32_t, 16>;  // places in the table

struct Run {
  BackwardOptions options;
  NodeTable table;
  SmallVec<std::pair<uint64_t, uint32_t>, 8> ready;  // a heap: latest sequence number first
  std::span<const Edge> inputs;
  std::vector<Tensor> captured;
  std::vector<int32_t> next_capture;  // further wanted inputs of the same node

  void push_ready(uint32_t e) {
    if (table[e].queued) return;
    table[e].queued = true;
    ready.emplace_back(table[e].node->sequence, e);
    std::push_heap(ready.begin(), ready.end());
  }

  // Counts, for every node reachable from the roots, how many gradients will come to it.
  void discover(Entries& stack) {
    while (!stack.empty()) {
      uint32_t e = stack.back();
      stack.pop_back();
      Node* n = table[e].node;
      for (const Edge& edge : n->next) {
        if (!edge) continue;
        auto [at, fresh] = table.insert(edge.node.get());
        table[at].waiting++;
        if (fresh) stack.push_back(at);
      }
    }
  }

  // Which nodes lead to a wanted input; depth first without recursion.
  void mark_needed(uint32_t root) {
    std::vector<std::pair<uint32_t, uint32_t>> stack{{root, 0}};
    while (!stack.empty()) {
      auto& [e, i] = stack.back();
      Node* n = table[e].node;
      if (i == 0 && table[e].needed < 0) table[e].needed = table[e].capture >= 0;
      bool descended = false;
      while (i < n->next.size()) {
        const Edge& edge = n->next[i];
        if (!edge) {
          i++;
          continue;
        }
        auto* child = table.find(edge.node.get());
        if (child->needed < 0) {
          uint32_t c = uint32_t(child - &table[0]);
          stack.push_back({c, 0});
          descended = true;
          break;
        }
        if (child->needed) table[e].needed = 1;
        i++;
      }
      if (!descended) stack.pop_back();
    }
  }

  void deliver(uint32_t e, uint32_t nr, Tensor g) {
    auto& entry = table[e];
    if (entry.grads.size() < entry.node->outputs.size()) entry.grads.resize(entry.node->outputs.size());
    if (entry.grads.size() <= nr) entry.grads.resize(nr + 1);
    Tensor& slot = entry.grads[nr];
    if (!slot) {
      slot = std::move(g);
    } else if (!options.create_graph && slot.impl()->use_count() == 1 && slot.storage()->use_count() == 1 &&
               owned(slot) && slot.dtype() == g.dtype()) {
      needs::add_(slot, g);
    } else {
      slot = needs::add(slot, g);
    }
  }
  static bool owned(const Tensor& t) { return !t.impl()->pyobj && !t.storage()->deleter && t.is_dense(); }

  void evaluate(uint32_t e) {
    Ref<Node> node = Ref<Node>::share(table[e].node);
    Profiled around(*node, true);
    Grads grads = std::move(table[e].grads);
    if (grads.size() < node->outputs.size()) grads.resize(node->outputs.size());

    if (node->hooks) {
      for (size_t i = 0; i < node->hooks->tensor.size(); i++) {
        auto h = node->hooks->tensor[i];
        if (!grads[h.nr]) continue;
        Grads one{grads[h.nr]};
        h.hook->call(one, one);
        grads[h.nr] = one[0];
      }
      for (size_t i = 0; i < node->hooks->pre.size(); i++) Ref(node->hooks->pre[i])->call(grads, grads);
      if (!node->hooks->pre.empty()) check_grads(*node, grads);
      for (size_t nr = 0; nr < node->hooks->retain.size(); nr++) {
        TensorImpl* impl = node->hooks->retain[nr];
        if (!impl || nr >= grads.size() || !grads[nr]) continue;
        Tensor t{Ref<TensorImpl>::share(impl)};
        Tensor old = t.grad();
        t.set_grad(!old ? (options.create_graph ? grads[nr] : needs::clone(grads[nr])) : needs::add(old, grads[nr]));
      }
    }
    if (table[e].capture >= 0) {
      auto* leaf = dynamic_cast<AccumulateGrad*>(node.get());
      for (int32_t c = table[e].capture; c >= 0; c = next_capture[c]) {
        Tensor g = inputs[c].nr < grads.size() ? grads[inputs[c].nr] : Tensor();
        if (leaf && g && leaf->leaf.impl()->autograd && leaf->leaf.impl()->autograd->hooks && !options.accumulate)
          for (auto& h : std::vector(leaf->leaf.impl()->autograd->hooks->pre)) {
            Grads one{g};
            h->call(one, one);
            g = one[0];
          }
        captured[c] = g;
      }
    }
    if (!inputs.empty()) {
      bool is_leaf = dynamic_cast<AccumulateGrad*>(node.get());
      if (is_leaf && (!options.accumulate || table[e].capture < 0)) return;
      if (table[e].needed == 0) return;
      // Of grad(), a captured node need not run unless something wanted lies further on; backward() frees what it
      // saved.
      if (!is_leaf && !options.accumulate && !leads_on(node.get())) return;
    }

    bool any =
        node->runs_on_nothing() || std::any_of(grads.begin(), grads.end(), [](const Tensor& t) { return t.defined(); });
    Grads out;
    if (any) {
      fill_undefined(*node, grads);
      Grads before;
      bool post = node->hooks && !node->hooks->post.empty();
      if (post) before = grads;
      {
        Profiled seen(*node);
        out = node->run(std::move(grads));
      }
      if (post)
        for (size_t i = 0; i < node->hooks->post.size(); i++) Ref(node->hooks->post[i])->call(out, before);
    }
    if (!options.retain_graph) node->release_saved();
    RL_CHECK(out.size() <= node->next.size() || !any, node->name(), " returned ", out.size(), " gradients for ",
             node->next.size(), " inputs");
    for (size_t i = 0; i < node->next.size(); i++) {
      const Edge& edge = node->next[i];
      if (!edge) continue;
      auto [at, fresh] = table.insert(edge.node.get());
      if (i < out.size() && out[i]) {
        Node* to = edge.node.get();
        Tensor g = std::move(out[i]);
        if (edge.nr < to->outputs.size()) g = fit(std::move(g), to->outputs[edge.nr], to);
        deliver(at, edge.nr, std::move(g));
      }
      if (--table[at].waiting == 0 && (inputs.empty() || table[at].needed)) push_ready(at);
    }
  }

  bool leads_on(Node* n) {
    for (const Edge& edge : n->next)
      if (edge)
        if (auto* c = table.find(edge.node.get()); c && c->needed == 1) return true;
    return false;
  }
};

}  // namespace

Edge root_edge(const Tensor& r, size_t i) {
  Edge e = gradient_edge(r);
  RL_CHECK(e, "backward: tensor ", i, " (", Describe{r}, ") does not require grad and has no grad_fn",
           hint("make an input require gradients with requires_grad=True, and compute the loss with grad mode on"));
  return e;
}

Grads run_node(Node& node, Grads grads) {
  check_grads(node, grads);
  fill_undefined(node, grads);
  return node.run(std::move(grads));
}

std::vector<Tensor> run_backward(std::span<const Tensor> roots, std::span<const Tensor> grads,
                                 std::span<const Edge> inputs, const BackwardOptions& options) {
  Run run;
  run.options = options;
  run.inputs = inputs;
  run.captured.resize(inputs.size());
  run.next_capture.assign(inputs.size(), -1);
  GradMode mode(options.create_graph);
  AutocastOff off;  // gradients come in the dtypes that forward chose

  Entries stack, root_entries;
  SmallVec<Edge, 1> edges;
  for (size_t i = 0; i < roots.size(); i++) {
    const Tensor& r = roots[i];
    Edge e = root_edge(r, i);
    auto [at, fresh] = run.table.insert(e.node.get());
    if (fresh) stack.push_back(at);
    root_entries.push_back(at);
    edges.push_back(std::move(e));
  }
  run.discover(stack);
  for (size_t i = 0; i < inputs.size(); i++) {
    auto* e = inputs[i] ? run.table.find(inputs[i].node.get()) : nullptr;
    if (!e) continue;
    run.next_capture[i] = e->capture;
    e->capture = i;
  }
  if (!inputs.empty())
    for (uint32_t r : root_entries) run.mark_needed(r);

  for (size_t i = 0; i < roots.size(); i++) {
    Tensor g = i < grads.size() ? grads[i] : Tensor();
    if (!g) {
      RL_CHECK(roots[i].numel() == 1, "backward: a gradient can be made up only for a scalar, but tensor ", i, " is ",
               Describe{roots[i]}, hint("reduce it with sum() or mean(), or pass gradient= of the same shape"));
      g = needs::ones_like(roots[i]);
    } else {
      RL_CHECK(g.sizes() == roots[i].sizes(), "backward: gradient ", i, " has shape ", g.sizes(), ", its tensor ",
               roots[i].sizes());
      if (g.dtype() != roots[i].dtype()) g = needs::cast(g, roots[i].dtype());
    }
    run.deliver(root_entries[i], edges[i].nr, std::move(g));
  }
  for (uint32_t r : root_entries)
    if (run.table[r].waiting == 0 && (inputs.empty() || run.table[r].needed)) run.push_ready(r);

  while (!run.ready.empty()) {
    std::pop_heap(run.ready.begin(), run.ready.end());
    uint32_t e = run.ready.back().second;
    run.ready.pop_back();
    run.evaluate(e);
  }
  if (!options.accumulate && !options.allow_unused)
    for (size_t i = 0; i < inputs.size(); i++)
      RL_CHECK(run.captured[i], "grad: input ", i, " was not used in computing the outputs",
               hint("pass allow_unused=True to get None for it, or materialize_grads=True to get zeros"));
  return std::move(run.captured);
}

}  // namespace rushlight
