// Runs the graph backward.
#pragma once
#include <optional>

#include "autograd/meta.h"

namespace rushlight {

struct BackwardOptions {
  bool retain_graph = false;
  bool create_graph = false;
  bool accumulate = true;    // write .grad of leaves; false: return gradients of the inputs
  bool allow_unused = true;  // for accumulate == false
};

RL_API Edge root_edge(const Tensor& root, size_t i);  // where its gradient goes; raises where it needs none

// Gradients of sum(roots * grads). With inputs and accumulate, only those leaves are written; with inputs and not
// accumulate, returns one gradient (maybe undefined) for each input.
RL_API std::vector<Tensor> run_backward(std::span<const Tensor> roots, std::span<const Tensor> grads,
                                        std::span<const Edge> inputs, const BackwardOptions& options);

// One node alone: one gradient for each of its outputs, undefined for zeros.
RL_API Grads run_node(Node& node, Grads grads);

}  // namespace rushlight
