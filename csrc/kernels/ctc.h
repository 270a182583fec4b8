// Connectionist temporal classification (Graves et al., 2006): the probability of a sequence of labels under
// probabilities of labels and blanks for each moment, over all ways to align them.
#pragma once
#include <cstdint>

namespace rushlight::kernels {

// One sample. log_probs[t * stride + c]; the labels, of which none is the blank.
template <class T>
struct CtcSample {
  const T* log_probs;
  int64_t stride, moments, classes;
  const int64_t* labels;
  int64_t count, blank;
};

// -log of the labels' probability; infinite where they do not fit into the moments.
template <class T>
double ctc_loss(const CtcSample<T>& s);

// Adds the derivative by log_probs, times `scale`, to gradient, which is laid out like log_probs.
template <class T>
void ctc_loss_backward(const CtcSample<T>& s, double scale, T* gradient);

}  // namespace rushlight::kernels
