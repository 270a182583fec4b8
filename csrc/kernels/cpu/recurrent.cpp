#include "kernels/cpu/recurrent.h"

#include "base/thread_pool.h"
#include "kernels/cpu/lanes.h"
#include "kernels/cpu/vec_math.h"

namespace rushlight::kernels::RL_ISA {
namespace {

constexpr int64_t kGrain = 1 << 11;  // values of the state worth a thread of their own

// f(first value of the row, first of its gates, lanes) for vectors that cover the state, where a row has `gates` of n.
template <class T, int gates, class F>
void for_state(int64_t rows, int64_t n, F f) {
  parallel_for(0, rows, 1 + kGrain / (n + 1), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; r++)
      for_vectors<Vec<T>>(n, [&](int64_t j, auto lanes) { f(r * n + j, r * gates * n + j, lanes); });
  });
}

template <class T>
void lstm_cell(int64_t rows, int64_t n, const T* gates, const T* c, T* act, T* new_h, T* new_c) {
  using V = Vec<T>;
  for_state<T, 4>(rows, n, [=](int64_t at, int64_t gate, auto lanes) {
    const V i = sigmoid(load<V>(gates + gate, lanes)), f = sigmoid(load<V>(gates + gate + n, lanes));
    const V g = tanh(load<V>(gates + gate + 2 * n, lanes)), o = sigmoid(load<V>(gates + gate + 3 * n, lanes));
    const V next = f * load<V>(c + at, lanes) + i * g;
    store(next, new_c + at, lanes);
    store(o * tanh(next), new_h + at, lanes);
    if (!act) return;
    store(i, act + gate, lanes), store(f, act + gate + n, lanes);
    store(g, act + gate + 2 * n, lanes), store(o, act + gate + 3 * n, lanes);
  });
}

template <class T>
void lstm_cell_backward(int64_t rows, int64_t n, const T* act, const T* c, const T* new_c, const T* grad_h,
                        const T* grad_c, T* grad_gates, T* grad_old_c) {
  using V = Vec<T>;
  for_state<T, 4>(rows, n, [=](int64_t at, int64_t gate, auto lanes) {
    const V i = load<V>(act + gate, lanes), f = load<V>(act + gate + n, lanes);
    const V g = load<V>(act + gate + 2 * n, lanes), o = load<V>(act + gate + 3 * n, lanes);
    const V one(1), t = tanh(load<V>(new_c + at, lanes));
    const V gh = grad_h ? load<V>(grad_h + at, lanes) : V(0);
    V gc = gh * o * (one - t * t);
    if (grad_c) gc = gc + load<V>(grad_c + at, lanes);
    store(gc * g * i * (one - i), grad_gates + gate, lanes);
    store(gc * load<V>(c + at, lanes) * f * (one - f), grad_gates + gate + n, lanes);
    store(gc * i * (one - g * g), grad_gates + gate + 2 * n, lanes);
    store(gh * t * o * (one - o), grad_gates + gate + 3 * n, lanes);
    store(gc * f, grad_old_c + at, lanes);
  });
}

template <class T>
void gru_cell(int64_t rows, int64_t size, const T* x, const T* y, const T* h, T* act, T* new_h) {
  using V = Vec<T>;
  for_state<T, 3>(rows, size, [=](int64_t at, int64_t gate, auto lanes) {
    auto both = [&](int64_t p) { return load<V>(x + p, lanes) + load<V>(y + p, lanes); };
    const V r = sigmoid(both(gate)), z = sigmoid(both(gate + size));
    const V n = tanh(load<V>(x + gate + 2 * size, lanes) + r * load<V>(y + gate + 2 * size, lanes));
    store(n + z * (load<V>(h + at, lanes) - n), new_h + at, lanes);
    if (!act) return;
    store(r, act + gate, lanes), store(z, act + gate + size, lanes), store(n, act + gate + 2 * size, lanes);
  });
}

template <class T>
void gru_cell_backward(int64_t rows, int64_t size, const T* act, const T* y, const T* h, const T* grad, T* grad_x,
                       T* grad_y, T* grad_h) {
  using V = Vec<T>;
  for_state<T, 3>(rows, size, [=](int64_t at, int64_t gate, auto lanes) {
    const V r = load<V>(act + gate, lanes), z = load<V>(act + gate + size, lanes);
    const V n = load<V>(act + gate + 2 * size, lanes), g = load<V>(grad + at, lanes), one(1);
    const V gn = g * (one - z) * (one - n * n);
    const V gr = gn * load<V>(y + gate + 2 * size, lanes) * r * (one - r);
    const V gz = g * (load<V>(h + at, lanes) - n) * z * (one - z);
    store(gr, grad_x + gate, lanes), store(gr, grad_y + gate, lanes);
    store(gz, grad_x + gate + size, lanes), store(gz, grad_y + gate + size, lanes);
    store(gn, grad_x + gate + 2 * size, lanes), store(gn * r, grad_y + gate + 2 * size, lanes);
    store(g * z, grad_h + at, lanes);
  });
}

}  // namespace

#define RL_RECURRENT(T, suffix)                                                                                        \
  void lstm_cell_##suffix(int64_t rows, int64_t n, const T* gates, const T* c, T* act, T* new_h, T* new_c) {           \
    lstm_cell(rows, n, gates, c, act, new_h, new_c);                                                                   \
  }                                                                                                                    \
  void lstm_cell_backward_##suffix(int64_t rows, int64_t n, const T* act, const T* c, const T* new_c, const T* grad_h, \
                                   const T* grad_c, T* grad_gates, T* grad_old_c) {                                    \
    lstm_cell_backward(rows, n, act, c, new_c, grad_h, grad_c, grad_gates, grad_old_c);                                \
  }                                                                                                                    \
  void gru_cell_##suffix(int64_t rows, int64_t n, const T* x, const T* y, const T* h, T* act, T* new_h) {              \
    gru_cell(rows, n, x, y, h, act, new_h);                                                                            \
  }                                                                                                                    \
  void gru_cell_backward_##suffix(int64_t rows, int64_t n, const T* act, const T* y, const T* h, const T* grad,        \
                                  T* grad_x, T* grad_y, T* grad_h) {                                                   \
    gru_cell_backward(rows, n, act, y, h, grad, grad_x, grad_y, grad_h);                                               \
  }
RL_RECURRENT(float, f32)
RL_RECURRENT(double, f64)

}  // namespace rushlight::kernels::RL_ISA
