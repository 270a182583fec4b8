// Values of images and volumes between their pixels, at the places that a grid says.
#pragma once
#include <cstdint>

namespace rushlight::kernels {

enum class GridMode { bilinear, nearest, bicubic };
enum class GridPadding { zeros, border, reflection };

// x (n, c, inputs...), grid (n, points, axes) with coordinates from -1 to 1, the last axis of x first,
// y (n, c, points), all contiguous.
struct GridShape {
  int64_t n, c, axes, points;
  int64_t inputs[3];  // of `axes` axes
  GridMode mode;
  GridPadding padding;
  bool align_corners;
};

template <class T>
void grid_sample(const GridShape& s, const T* x, const T* grid, T* y);
// grad_x and grad_grid are overwritten; either may be null.
template <class T>
void grid_sample_backward(const GridShape& s, const T* grad_y, const T* x, const T* grid, T* grad_x, T* grad_grid);

}  // namespace rushlight::kernels
