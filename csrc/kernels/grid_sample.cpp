#include "kernels/grid_sample.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/thread_pool.h"

namespace rushlight::kernels {
namespace {

constexpr int64_t kGrain = 16384;  // values read that make a piece worth a thread
constexpr int64_t kBlock = 32;     // points at a time

// What one axis gives to one output: inputs, their weights, and the weights' derivatives by the grid's coordinate.
// An index below 0 is outside of the image, where there are zeros.
template <class T>
struct AxisTaps {
  int count;
  int64_t index[4];
  T weight[4], slope[4];
};

// A coordinate brought back into the image by `padding`, and by what a step of it was multiplied.
template <class T>
T inside(const GridShape& s, T at, int64_t size, T& slope) {
  slope = 1;
  if (s.padding == GridPadding::zeros) return at;
  if (s.padding == GridPadding::reflection) {
    // Mirrors stand at the outermost pixels' centers or, unless corners are aligned, their edges.
    const T low = s.align_corners ? T(0) : T(-0.5), span = T(s.align_corners ? size - 1 : size);
    if (span == 0) return slope = 0, T(0);
    T distance = at - low;
    if (distance < 0) distance = -distance, slope = -1;
    const T rest = std::fmod(distance, span);
    if (std::fmod(std::floor(distance / span), T(2)) != 0) at = span - rest + low, slope = -slope;
    else at = rest + low;
  }
  if (!(at > 0)) return slope = 0, T(0);
  if (at >= T(size - 1)) return slope = 0, T(size - 1);
  return at;
}

template <class T>
int64_t index_within(T at, int64_t size) {  // NaN and what fits no integer are outside, too
  return at >= 0 && at <= T(size - 1) ? int64_t(at) : -1;
}

template <class T>
void cubic_taps(T part, T* weight, T* slope) {  // Keys (1981), see ops/upsample.cpp
  constexpr T a = T(-0.75);
  for (int i = 0; i < 4; i++) {
    const T d = part + 1 - T(i), x = std::abs(d), sign = d < 0 ? T(-1) : T(1);
    weight[i] = x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
    slope[i] = sign * (x <= 1 ? (3 * (a + 2) * x - 2 * (a + 3)) * x : (3 * a * x - 10 * a) * x + 8 * a);
  }
}

template <class T>
AxisTaps<T> taps_of(const GridShape& s, T coordinate, int64_t size) {
  AxisTaps<T> taps;
  T at = s.align_corners ? (coordinate + 1) / 2 * T(size - 1) : ((coordinate + 1) * T(size) - 1) / 2, slope;
  const T scale = s.align_corners ? T(size - 1) / 2 : T(size) / 2;
  if (s.mode == GridMode::bicubic) {
    taps.count = 4;
    const T low = std::floor(at);
    cubic_taps(at - low, taps.weight, taps.slope);
    for (int i = 0; i < 4; i++) {
      taps.index[i] = index_within(inside(s, low - 1 + T(i), size, slope), size);
      taps.slope[i] *= scale;
    }
    return taps;
  }
  at = inside(s, at, size, slope);
  if (s.mode == GridMode::nearest) {
    taps.count = 1;
    taps.index[0] = index_within(std::nearbyint(at), size);
    taps.weight[0] = 1, taps.slope[0] = 0;
    return taps;
  }
  taps.count = 2;
  const T low = std::floor(at), part = at - low;
  taps.index[0] = index_within(low, size), taps.index[1] = index_within(low + 1, size);
  taps.weight[0] = 1 - part, taps.weight[1] = part;
  taps.slope[0] = -slope * scale, taps.slope[1] = slope * scale;
  return taps;
}

// The inputs that an output is made from.
template <class T>
struct PointTaps {
  int count = 0;
  int64_t offset[16];
  T weight[16], slope[16][3];  // by the coordinate of each axis
};

template <class T>
PointTaps<T> point_taps(const GridShape& s, const T* place) {
  PointTaps<T> p;
  AxisTaps<T> axis[3];
  for (int64_t a = 0; a < s.axes; a++) axis[a] = taps_of(s, place[s.axes - 1 - a], s.inputs[a]);
  int total = 1;
  for (int64_t a = 0; a < s.axes; a++) total *= axis[a].count;
  for (int k = 0; k < total; k++) {
    int64_t offset = 0;
    T weight = 1, slope[3] = {1, 1, 1};
    bool outside = false;
    for (int64_t a = 0, rest = k; a < s.axes; a++) {
      const int64_t i = rest % axis[a].count;
      rest /= axis[a].count;
      outside |= axis[a].index[i] < 0;
      offset = offset * s.inputs[a] + axis[a].index[i];
      weight *= axis[a].weight[i];
      for (int64_t b = 0; b < s.axes; b++) slope[b] *= b == a ? axis[a].slope[i] : axis[a].weight[i];
    }
    if (outside) continue;
    p.offset[p.count] = offset, p.weight[p.count] = weight;
    for (int a = 0; a < 3; a++) p.slope[p.count][a] = slope[a];
    p.count++;
  }
  return p;
}

template <class T>
T weigh(const PointTaps<T>& p, const T* plane) {
  const T* w = p.weight;
  const int64_t* at = p.offset;
  if (p.count == 4)  // the most common, between four pixels
    return (w[0] * plane[at[0]] + w[1] * plane[at[1]]) + (w[2] * plane[at[2]] + w[3] * plane[at[3]]);
  T sum = 0;
  for (int k = 0; k < p.count; k++) sum += w[k] * plane[at[k]];
  return sum;
}

int64_t volume_of(const GridShape& s) {
  int64_t volume = 1;
  for (int64_t a = 0; a < s.axes; a++) volume *= s.inputs[a];
  return volume;
}

}  // namespace

// Points are taken in blocks: the taps of a block once, then channel after channel, whose values lie together.

template <class T>
void grid_sample(const GridShape& s, const T* x, const T* grid, T* y) {
  const int64_t volume = volume_of(s), blocks = (s.points + kBlock - 1) / kBlock;
  const int64_t grain = std::max<int64_t>(1, kGrain / (4 * kBlock * (s.c + 1)));
  parallel_for(0, s.n * blocks, grain, [&](int64_t begin, int64_t end) {
    PointTaps<T> taps[kBlock];
    for (int64_t i = begin; i < end; i++) {
      const int64_t image = i / blocks, first = i % blocks * kBlock, count = std::min(kBlock, s.points - first);
      for (int64_t p = 0; p < count; p++) taps[p] = point_taps(s, grid + (image * s.points + first + p) * s.axes);
      for (int64_t c = 0; c < s.c; c++) {
        const T* plane = x + (image * s.c + c) * volume;
        T* out = y + (image * s.c + c) * s.points + first;
        for (int64_t p = 0; p < count; p++) out[p] = weigh(taps[p], plane);
      }
    }
  });
}

template <class T>
void grid_sample_backward(const GridShape& s, const T* grad_y, const T* x, const T* grid, T* grad_x, T* grad_grid) {
  const int64_t volume = volume_of(s);
  const int64_t grain = std::max<int64_t>(1, kGrain / (4 * (s.c + 1) * (s.points + 1)));
  // A piece owns whole images, for points may see the same pixels.
  parallel_for(0, s.n, grain, [&](int64_t begin, int64_t end) {
    PointTaps<T> taps[kBlock];
    T slope[kBlock][3];
    for (int64_t image = begin; image < end; image++) {
      if (grad_x) std::memset(grad_x + image * s.c * volume, 0, size_t(s.c * volume) * sizeof(T));
      for (int64_t first = 0; first < s.points; first += kBlock) {
        const int64_t count = std::min(kBlock, s.points - first), place = (image * s.points + first) * s.axes;
        for (int64_t p = 0; p < count; p++) taps[p] = point_taps(s, grid + place + p * s.axes);
        std::memset(slope, 0, sizeof(slope));
        for (int64_t c = 0; c < s.c; c++) {
          const T* g = grad_y + (image * s.c + c) * s.points + first;
          const int64_t plane = (image * s.c + c) * volume;
          for (int64_t p = 0; grad_x && p < count; p++)
            for (int k = 0; k < taps[p].count; k++) grad_x[plane + taps[p].offset[k]] += taps[p].weight[k] * g[p];
          for (int64_t p = 0; grad_grid && p < count; p++)
            for (int k = 0; k < taps[p].count; k++) {
              const T product = x[plane + taps[p].offset[k]] * g[p];
              for (int a = 0; a < 3; a++) slope[p][a] += taps[p].slope[k][a] * product;
            }
        }
        for (int64_t p = 0; grad_grid && p < count; p++)
          for (int64_t a = 0; a < s.axes; a++) grad_grid[place + (p + 1) * s.axes - 1 - a] = slope[p][a];
      }
    }
  });
}

template void grid_sample(const GridShape&, const float*, const float*, float*);
template void grid_sample(const GridShape&, const double*, const double*, double*);
template void grid_sample_backward(const GridShape&, const float*, const float*, const float*, float*, float*);
template void grid_sample_backward(const GridShape&, const double*, const double*, const double*, double*, double*);

}  // namespace rushlight::kernels
