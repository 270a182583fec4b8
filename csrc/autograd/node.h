// The graph: a Node computes the gradients of an operation's inputs from those of its outputs; an Edge leads to the
// node that wants such a gradient.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace rushlight {

struct Node;
using Grads = SmallVec<Tensor, 2>;

struct Edge {
  Ref<Node> node;
  uint32_t nr = 0;  // which output of the node's operation
  explicit operator bool() const { return bool(node); }
};

// What is known of one output of the operation: its gradient is un-broadcast and cast to match.
struct OutputMeta {
  Dims shape;
  DType dtype = DType::Float32;
  Device device;
  bool is_tensor = true;  // false: a Function's output that is something else
  explicit OutputMeta(const Tensor& t) : shape(t.sizes()), dtype(t.dtype()), device(t.device()) {}
  OutputMeta() = default;
  bool matches(const Tensor& t) const { return t.dtype() == dtype && t.sizes() == shape; }
};

// Hooks are written in Python or C++; they may replace gradients.
struct RL_API Hook : RefCounted {
  virtual ~Hook() = default;
  static void destroy(Hook* h) { delete h; }
  // grads: what flows (into the node for pre-hooks, out of it for post-hooks); others: for post-hooks, what flowed in.
  virtual void call(Grads& grads, const Grads& others) = 0;
  virtual void* python() { return nullptr; }  // the callable, for the garbage collector
};

struct NodeHooks {
  struct OfTensor {
    uint32_t nr;
    Ref<Hook> hook;
  };
  std::vector<OfTensor> tensor;     // registered on an output tensor; run first
  std::vector<Ref<Hook>> pre;       // node.register_prehook
  std::vector<Ref<Hook>> post;      // node.register_hook
  std::vector<TensorImpl*> retain;  // outputs that asked for retain_grad(); not owned
};

// The line of the user's code that made a node: kept raw, worked out when asked. The Python layer sets the functions.
struct Source {
  void* code = nullptr;
  int32_t instruction = 0;
};
struct SourceHooks {
  void (*record)(Source&) = nullptr;
  void (*release)(Source&) = nullptr;
  std::string (*describe)(const Source&) = nullptr;
};
extern RL_API SourceHooks source_hooks;

struct RL_API Node : RefCounted {
  SmallVec<Edge, 2> next;
  SmallVec<OutputMeta, 1> outputs;
  union {
    uint64_t sequence;  // later operations have higher numbers and run backward first
    Node* next_dead;    // once nothing refers to it any more
  };
  std::unique_ptr<NodeHooks> hooks;
  void* pyobj = nullptr;  // the Python object that shows this node, not owned
  Source source;
  bool released = false;  // its saved tensors were freed by a backward

  Node();  // of an operation: notes the user's line
  explicit Node(uint64_t sequence) : sequence(sequence) {}
  static uint64_t upcoming_sequence();  // of the next operation's node
  virtual ~Node();
  static void destroy(Node* n);            // never recurses, however deep the graph
  virtual void dispose() { delete this; }  // nothing refers to it any more
  static void* operator new(size_t n) { return allocate(n); }
  static void operator delete(void* p, size_t n) { deallocate(p, n); }

  virtual Grads run(Grads&& grads) = 0;  // undefined gradients mean zero, both ways
  virtual const char* name() const = 0;
  virtual void release_saved() {}  // sets `released` if there was something
  virtual void for_each_saved(void (*)(const Tensor&, void*), void*) const {}
  virtual bool wants_undefined() const { return false; }  // false: undefined gradients arrive as zeros
  virtual bool runs_on_nothing() const { return false; }  // also where no gradient came at all
  virtual void* python_self() const { return nullptr; }   // of a Function written in Python: its ctx object
  NodeHooks& need_hooks() {
    if (!hooks) hooks = std::make_unique<NodeHooks>();
    return *hooks;
  }
  std::string where() const;        // "file.py:12: y = x.exp()", or empty
  void check_not_released() const;  // raises when an earlier backward freed what this one needs
};

// Adds a gradient to its leaf's .grad. It keeps the leaf alive while a graph leads to it; between graphs it waits in
// the leaf's AutogradMeta for the next one.
struct RL_API AccumulateGrad final : Node {
  explicit AccumulateGrad(const Tensor& leaf);
  Tensor leaf;  // undefined while it waits
  void serve(const Tensor& leaf);
  void dispose() override;
  Grads run(Grads&& grads) override;
  const char* name() const override { return "AccumulateGrad"; }
};

}  // namespace rushlight
