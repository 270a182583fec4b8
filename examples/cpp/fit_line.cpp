// Fits y = 2x + 1 by gradient descent, from C++ alone.
#include <rushlight.h>

#include <cstdio>

int main() {
  using namespace rushlight;
  manual_seed(0);
  Tensor x = randn({100, 1});
  Tensor y = 2 * x + 1 + 0.1 * randn({100, 1});

  Tensor slope = zeros({1}), intercept = zeros({1});
  slope.set_requires_grad();
  intercept.set_requires_grad();

  for (int step = 0; step < 200; step++) {
    Tensor loss = mse_loss(x * slope + intercept, y);
    loss.backward();
    {
      NoGradGuard no_grad;
      for (const Tensor& parameter : {slope, intercept}) {  // handles to the same tensors
        sub_(parameter, 0.1 * parameter.grad());
        parameter.set_grad({});
      }
    }
    if (step % 50 == 0) std::printf("step %3d  loss %.4f\n", step, loss.item().to_double());
  }
  std::printf("y = %.2f x + %.2f\n", slope.item().to_double(), intercept.item().to_double());
}
