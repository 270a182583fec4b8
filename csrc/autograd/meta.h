// A tensor's place in the graph.
#pragma once
#include "autograd/node.h"

namespace rushlight {

enum class ViewMadeBy : uint8_t { Operation, MultiOutput, NoGrad, CustomFunction };

struct ViewInfo {
  Tensor base;       // never itself a view
  uint32_t version;  // at which grad_fn was last made
  ViewMadeBy made_by;
};

struct LeafHooks {
  std::vector<Ref<Hook>> pre;              // tensor.register_hook on a leaf
  std::vector<Ref<Hook>> post_accumulate;  // called with the leaf after its .grad is written
};

struct AutogradMeta {
  Ref<Node> grad_fn;
  uint32_t nr = 0;  // which output of grad_fn
  bool requires_grad = false;
  bool retains_grad = false;
  Tensor grad;
  AccumulateGrad* accumulator = nullptr;  // in a graph, where it owns the leaf; or waiting for one, owned by this
  std::unique_ptr<ViewInfo> view;
  std::unique_ptr<LeafHooks> hooks;
  AutogradMeta() = default;
  ~AutogradMeta() {
    if (accumulator && !accumulator->leaf) delete accumulator;
  }
  static void* operator new(size_t n) { return allocate(n); }
  static void operator delete(void* p, size_t n) { deallocate(p, n); }
};

inline AutogradMeta& need_meta(const Tensor& t) {
  TensorImpl* p = t.impl();
  if (!p->autograd) p->autograd = new AutogradMeta;
  return *p->autograd;
}

RL_API const Ref<Node>& grad_fn(const Tensor& t);  // made anew for a view whose base has moved on
RL_API Edge gradient_edge(const Tensor& t);        // where t's gradient should go; empty when it needs none
RL_API Edge accumulator_edge(const Tensor& leaf);
RL_API bool is_view(const Tensor& t);
RL_API Tensor view_base(const Tensor& t);

RL_API void set_history(const Tensor& t, const Ref<Node>& node);            // a fresh output; adds its OutputMeta
RL_API void mark_view(const Tensor& view, const Tensor& base, ViewMadeBy);  // of an output over base's memory
// Raises where PyTorch refuses. recording: grad mode is on and an input of the operation requires grad.
RL_API void check_inplace(const Tensor& t, bool recording, const char* op);
RL_API void rebase_history(const Tensor& t, Ref<Node> node);  // after an in-place operation recorded as node

// t becomes a further output of `node`: for operations that change how t sees its memory, and for no views.
RL_API void replace_history(const Tensor& t, Ref<Node> node);

RL_API void retain_grad(const Tensor& t);
RL_API Tensor detach(const Tensor& t);         // shares memory and version counter
RL_API void detach_(const Tensor& t);          // forgets its history
RL_API Tensor variable_data(const Tensor& t);  // `.data`: a version counter of its own

inline bool requires_grad(const Tensor& t) {
  const AutogradMeta* m = t.impl()->autograd;
  if (!m) return false;
  return m->requires_grad || m->grad_fn || (m->view && t.requires_grad());
}

}  // namespace rushlight
