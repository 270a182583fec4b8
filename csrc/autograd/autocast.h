// Mixed precision: inside a region of autocast, the operations named here choose the precision of their inputs. What
// is not named takes them as they come and has no code for it.
#pragma once
#include <string_view>

#include "autograd/mode.h"
#include "tensor/tensor.h"

namespace rushlight {

enum class Precision : uint8_t {
  as_given,
  lower,    // the region's dtype: products, whose kernels add up in float32 anyway
  float32,  // sums and logarithms that lose too much in a half type
  widest,   // the widest of the inputs' dtypes, for operations that want one
};

// The lists are those of PyTorch's autocast on the CPU, under the names of our schemas. An operation written in Python
// has its policy there (_autocast.py).
constexpr Precision precision_of(std::string_view schema) {
  constexpr std::string_view lower =
      " matmul mm bmm addmm addbmm baddbmm linear prelu conv1d conv2d conv3d conv_transpose1d conv_transpose2d "
      "conv_transpose3d affine_grid_generator ";
  constexpr std::string_view float32 =
      " prod trace grid_sampler avg_pool3d max_pool3d adaptive_avg_pool3d adaptive_max_pool3d max_unpool2d "
      "max_unpool3d "
      "reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d replication_pad3d mse_loss nll_loss "
      "cross_entropy_loss soft_margin_loss multi_margin_loss multilabel_margin_loss _ctc_loss _cholesky "
      "linalg_cholesky_ex cholesky_solve cholesky_inverse linalg_inv_ex linalg_eigh linalg_svd linalg_qr "
      "linalg_solve_ex ";
  constexpr std::string_view widest = " index_copy _lstm_cell _gru_cell ";
  const std::string_view name = schema.substr(0, schema.find('('));
  auto lists = [name](std::string_view names) {
    for (size_t at = names.find(name); at != names.npos; at = names.find(name, at + 1))
      if (names[at - 1] == ' ' && names[at + name.size()] == ' ') return true;
    return false;
  };
  if (lists(lower)) return Precision::lower;
  if (lists(float32)) return Precision::float32;
  return lists(widest) ? Precision::widest : Precision::as_given;
}
static_assert(precision_of("mm(Tensor self)") == Precision::lower && precision_of("cdist(") == Precision::as_given);

inline bool autocasts() { return tls.modes & kAutocast; }

struct AutocastState {
  DType dtype = DType::BFloat16;
  bool cache_enabled = true;
  int depth = 0;  // of nested regions, on or off
};
RL_API AutocastState& autocast_state();  // of this thread
RL_API void clear_autocast_cache();

// What an operation with a policy does inside is its own business, and so is backward.
struct AutocastOff {
  AutocastOff() : was_on(autocasts()) { tls.modes &= ~kAutocast; }
  ~AutocastOff() {
    if (was_on) tls.modes |= kAutocast;
  }
  AutocastOff(const AutocastOff&) = delete;
  bool was_on;
};

namespace detail {

// Integers, float64 and other devices are left alone.
inline bool autocast_concerns(const Tensor& t) {
  return t.defined() && is_floating(t.dtype()) && t.dtype() != DType::Float64 && t.device().type == DeviceType::CPU;
}
RL_API Tensor autocast_to(const Tensor& t, DType dtype);  // recorded; once a region for leaves that require grad

template <class A>
decltype(auto) autocast_argument(const A& a, DType dtype) {
  if constexpr (std::is_same_v<A, Tensor>)
    return autocast_concerns(a) && a.dtype() != dtype ? autocast_to(a, dtype) : a;
  else return (a);
}

template <class... A>
DType autocast_dtype(Precision precision, const A&... a) {
  if (precision == Precision::float32) return DType::Float32;
  if (precision == Precision::lower) return autocast_state().dtype;
  DType widest = DType::Bool;
  auto widen = [&](const auto& x) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(x)>, Tensor>)
      if (autocast_concerns(x)) widest = promote(widest, x.dtype());
  };
  (widen(a), ...);
  return widest;
}

}  // namespace detail
}  // namespace rushlight
