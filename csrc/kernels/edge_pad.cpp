#include "kernels/edge_pad.h"

#include <cstring>

#include "base/thread_pool.h"

namespace rushlight::kernels {
namespace {

// Where each place of a padded dimension comes from.
std::vector<int64_t> sources(Edge edge, int64_t n, int64_t before, int64_t after) {
  std::vector<int64_t> from(size_t(n + before + after));
  for (int64_t i = 0; i < int64_t(from.size()); i++) {
    const int64_t at = i - before;
    if (edge == Edge::replicate) from[i] = std::min(std::max<int64_t>(at, 0), n - 1);
    else from[i] = at < 0 ? -at : at < n ? at : 2 * (n - 1) - at;
  }
  return from;
}

// (planes, depth, height, width), as all inputs are seen: what is not padded is 1 or part of the planes.
struct Geometry {
  int64_t planes = 1, in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  std::vector<int64_t> from[3];

  Geometry(const EdgePad& p, IntSpan small, IntSpan large) {
    const int64_t lead = int64_t(small.size()) - p.dims;
    for (int64_t d = 0; d < lead; d++) planes *= small[d];
    for (int d = 0; d < 3; d++) {
      const int last = 2 - d;  // 0 for the last dimension
      if (last < p.dims) {
        in[d] = small[small.size() - 1 - last], out[d] = large[large.size() - 1 - last];
        from[d] = sources(p.edge, in[d], p.widths[2 * last], p.widths[2 * last + 1]);
      } else {
        from[d] = {0};
      }
    }
  }
  int64_t rows() const { return out[0] * out[1]; }  // of a padded plane
  int64_t row_source(int64_t row) const { return (from[0][row / out[1]] * in[1] + from[1][row % out[1]]) * in[2]; }
  int64_t in_plane() const { return in[0] * in[1] * in[2]; }
  int64_t out_plane() const { return rows() * out[2]; }
};

template <class T>
void copy(const Geometry& s, const void* from, void* to) {
  const int64_t* column = s.from[2].data();
  parallel_for(0, s.planes * s.rows(), 1 + (1 << 15) / s.out[2], [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; r++) {
      const T* in = static_cast<const T*>(from) + r / s.rows() * s.in_plane() + s.row_source(r % s.rows());
      T* out = static_cast<T*>(to) + r * s.out[2];
      for (int64_t i = 0; i < s.out[2]; i++) out[i] = in[column[i]];
    }
  });
}

template <class T>
void add_back(const Geometry& s, const T* g, T* gx) {
  const int64_t* column = s.from[2].data();
  parallel_for(0, s.planes, 1 + (1 << 15) / (s.out_plane() + 1), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; plane++)
      for (int64_t r = 0; r < s.rows(); r++) {
        const T* in = g + plane * s.out_plane() + r * s.out[2];
        T* out = gx + plane * s.in_plane() + s.row_source(r);
        for (int64_t i = 0; i < s.out[2]; i++) out[column[i]] += in[i];
      }
  });
}

}  // namespace

void edge_pad(const EdgePad& p, const Tensor& from, const Tensor& to) {
  if (to.numel() == 0) return;
  const Geometry s(p, from.sizes(), to.sizes());
  switch (from.itemsize()) {
    case 1: return copy<uint8_t>(s, from.bytes(), to.bytes());
    case 2: return copy<uint16_t>(s, from.bytes(), to.bytes());
    case 4: return copy<uint32_t>(s, from.bytes(), to.bytes());
    default: return copy<uint64_t>(s, from.bytes(), to.bytes());
  }
}

void edge_pad_backward(const EdgePad& p, const Tensor& g, const Tensor& gx) {
  if (g.numel() == 0) return;
  const Geometry s(p, gx.sizes(), g.sizes());
  if (g.dtype() == DType::Float32) add_back(s, g.data<float>(), gx.data<float>());
  else add_back(s, g.data<double>(), gx.data<double>());
}

}  // namespace rushlight::kernels
