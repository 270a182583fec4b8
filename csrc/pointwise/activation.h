// Activation functions of neural networks. They are listed at the end of unary.h and binary.h, as all others are.
#pragma once
#include "pointwise/functor.h"

namespace rushlight::pointwise {

struct Relu {
  static constexpr auto schema = "relu(Tensor self) -> Tensor";
  static constexpr auto bool_hint = "a mask is its own relu";
  static constexpr auto doc = "max(x, 0), NaN kept.";
  static constexpr auto saves = Saves::output;
  static constexpr auto types = Types::all;
  template <class V>
  V forward(V x) const {
    return maximum(x, V(0.0));
  }
  template <class V>
  V grad(V g, V y) const {
    return select(y <= 0.0, zero_of(g), g);
  }
};

struct Silu {
  static constexpr auto schema = "silu(Tensor self) -> Tensor";
  static constexpr auto doc = "x * sigmoid(x).";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return x * sigmoid(x);
  }
  template <class V>
  V grad(V g, V x) const {
    V s = sigmoid(x);
    return g * s * (1.0 + x * (1.0 - s));
  }
};

struct Mish {
  static constexpr auto schema = "mish(Tensor self) -> Tensor";
  static constexpr auto doc = "x * tanh(softplus(x)) (Misra, 2019).";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return x * tanh(select(x > 20.0, x, log1p(exp(x))));
  }
  template <class V>
  V grad(V g, V x) const {
    V t = tanh(select(x > 20.0, x, log1p(exp(x))));
    return g * (t + x * sigmoid(x) * (1.0 - t * t));
  }
};

struct LogSigmoid {
  static constexpr auto schema = "log_sigmoid(Tensor self) -> Tensor";
  static constexpr auto doc = "log(sigmoid(x)), exact also where sigmoid(x) is near 0 or 1.";
  static constexpr auto layout = Layout::contiguous;
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return minimum(x, V(0.0)) - log1p(exp(-abs(x)));
  }
  template <class V>
  V grad(V g, V x) const {
    return g * sigmoid(-x);
  }
};

struct Hardsigmoid {
  static constexpr auto schema = "hardsigmoid(Tensor self) -> Tensor";
  static constexpr auto doc = "x / 6 + 1 / 2, held between 0 and 1.";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return minimum(maximum(x * (1.0 / 6.0) + 0.5, V(0.0)), V(1.0));
  }
  template <class V>
  V grad(V g, V x) const {
    return select((x > -3.0) & (x < 3.0), g * (1.0 / 6.0), zero_of(g));
  }
};

struct Hardswish {
  static constexpr auto schema = "hardswish(Tensor self) -> Tensor";
  static constexpr auto doc = "x * hardsigmoid(x) (Howard et al., 2019).";
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return x * minimum(maximum(x + 3.0, V(0.0)), V(6.0)) * (1.0 / 6.0);
  }
  template <class V>
  V grad(V g, V x) const {
    return select(x < -3.0, zero_of(g), select(x <= 3.0, g * (x * (1.0 / 3.0) + 0.5), g));
  }
};

struct Softsign {
  static constexpr auto schema = "softsign(Tensor self) -> Tensor";
  static constexpr auto node_name = "DivBackward0";
  static constexpr auto doc = "x / (1 + |x|).";
  static constexpr auto saves = Saves::input;
  static constexpr bool no_bool = true;
  template <class V>
  V forward(V x) const {
    return x / (1.0 + abs(x));
  }
  template <class V>
  V grad(V g, V x) const {
    V d = 1.0 + abs(x);
    return g / d / d;  // d * d would overflow in float16 from 255 on
  }
};

struct Gelu {  // x * Phi(x), Phi the normal distribution function (Hendrycks and Gimpel, 2016)
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return x * normal_cdf(x);
  }
  template <class V>
  V grad(V g, V x) const {
    return g * (normal_cdf(x) + x * exp(-0.5 * x * x) * 0.3989422804014327);
  }
};

struct GeluTanh {  // the same, with Phi approximated by a tanh
  static constexpr auto saves = Saves::input;
  template <class V>
  V forward(V x) const {
    return 0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
  }
  template <class V>
  V grad(V g, V x) const {
    V t = tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
    return g * (0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * 0.7978845608028654 * (1.0 + 0.134145 * x * x));
  }
};

struct Softplus {
  static constexpr auto schema = "softplus(Tensor self, float beta=1, float threshold=20) -> Tensor";
  static constexpr auto doc = "log(1 + exp(beta x)) / beta; x itself where beta x is above the threshold.";
  static constexpr auto saves = Saves::input;
  double beta = 1, threshold = 20;
  template <class V>
  V forward(V x) const {
    V z = x * beta;
    return select(z > threshold, x, log1p(exp(z)) / beta);
  }
  template <class V>
  V grad(V g, V x) const {
    V z = x * beta;
    return select(z > threshold, g, g * sigmoid(z));
  }
};

struct LeakyRelu {
  static constexpr auto schema = "leaky_relu(Tensor self, float negative_slope=0.01) -> Tensor";
  static constexpr auto doc = "x where it is positive, negative_slope * x elsewhere.";
  static constexpr auto saves = Saves::input;
  double slope = 0.01;
  template <class V>
  V forward(V x) const {
    return select(x > 0.0, x, x * slope);
  }
  template <class V>
  V grad(V g, V x) const {
    return select(x > 0.0, g, g * slope);
  }
};

struct Elu {
  static constexpr auto schema = "elu(Tensor self, float alpha=1) -> Tensor";
  static constexpr auto doc = "x where it is positive, alpha * (exp(x) - 1) elsewhere (Clevert et al., 2015).";
  static constexpr auto saves = Saves::input;
  double alpha = 1;
  template <class V>
  V forward(V x) const {
    return select(x > 0.0, x, alpha * expm1(x));
  }
  template <class V>
  V grad(V g, V x) const {
    return select(x > 0.0, g, g * alpha * exp(x));
  }
};

struct Celu {
  static constexpr auto schema = "celu(Tensor self, float alpha=1) -> Tensor";
  static constexpr auto doc = "x where it is positive, alpha * (exp(x / alpha) - 1) elsewhere (Barron, 2017).";
  static constexpr auto saves = Saves::input;
  double alpha = 1;
  template <class V>
  V forward(V x) const {
    return select(x > 0.0, x, alpha * expm1(x / alpha));
  }
  template <class V>
  V grad(V g, V x) const {
    return select(x > 0.0, g, g * exp(x / alpha));
  }
};

struct Selu {
  static constexpr auto schema = "selu(Tensor self) -> Tensor";
  static constexpr auto node_name = "EluBackward0";
  static constexpr auto doc =
      "scale * x where it is positive, scale * alpha * (exp(x) - 1) elsewhere, with the numbers that keep mean 0 and "
      "variance 1 from layer to layer (Klambauer et al., 2017).";
  static constexpr auto saves = Saves::input;
  static constexpr double alpha = 1.6732632423543772848170429916717, scale = 1.0507009873554804934193349852946;
  template <class V>
  V forward(V x) const {
    return select(x > 0.0, x * scale, (alpha * scale) * expm1(x));
  }
  template <class V>
  V grad(V g, V x) const {
    return select(x > 0.0, g * scale, g * (alpha * scale) * exp(x));
  }
};

struct Hardshrink {
  static constexpr auto schema = "hardshrink(Tensor self, float lambd=0.5) -> Tensor";
  static constexpr auto doc = "0 where |x| is at most lambd, x elsewhere.";
  static constexpr auto saves = Saves::input;
  double bound = 0.5;
  template <class V>
  V forward(V x) const {
    return select((x >= -bound) & (x <= bound), V(0.0), x);
  }
  template <class V>
  V grad(V g, V x) const {
    return select((x >= -bound) & (x <= bound), zero_of(g), g);
  }
};

struct Softshrink {
  static constexpr auto schema = "softshrink(Tensor self, float lambd=0.5) -> Tensor";
  static constexpr auto doc = "x moved toward 0 by lambd; 0 where |x| is less.";
  static constexpr auto saves = Saves::input;
  double bound = 0.5;
  template <class V>
  V forward(V x) const {
    return select(x > bound, x - bound, select(x < -bound, x + bound, x * 0.0));
  }
  template <class V>
  V grad(V g, V x) const {
    return select((x >= -bound) & (x <= bound), zero_of(g), g);
  }
};

struct Hardtanh {
  static constexpr auto schema = "hardtanh(Tensor self, float min_val=-1, float max_val=1) -> Tensor";
  static constexpr auto doc = "x, held between min_val and max_val.";
  static constexpr auto layout = Layout::like_input;
  static constexpr auto saves = Saves::input;
  static constexpr auto types = Types::all;
  double low = -1, high = 1;
  template <class V>
  V forward(V x) const {
    return minimum(maximum(x, V(low)), V(high));
  }
  template <class V>
  V grad(V g, V x) const {
    return select((x > low) & (x < high), g, zero_of(g));
  }
};

struct Threshold {
  static constexpr auto schema = "threshold(Tensor self, float threshold, float value) -> Tensor";
  static constexpr auto doc = "x where it is above the threshold, value elsewhere.";
  static constexpr auto saves = Saves::input;
  static constexpr auto types = Types::all;
  double bound = 0, value = 0;
  template <class V>
  V forward(V x) const {
    return select(x <= V(bound), V(value), x);
  }
  template <class V>
  V grad(V g, V x) const {
    return select(x <= bound, zero_of(g), g);
  }
};

// Of two elements.

struct Glu {  // a * sigmoid(b) (Dauphin et al., 2016)
  template <class V>
  V forward(V a, V b) const {
    return a * sigmoid(b);
  }
  template <class V>
  V grad_a(V g, V, V b) const {
    return g * sigmoid(b);
  }
  template <class V>
  V grad_b(V g, V a, V b) const {
    V s = sigmoid(b);
    return g * a * s * (1.0 - s);
  }
};

struct Prelu {  // x where it is positive, slope * x elsewhere
  template <class V>
  V forward(V x, V slope) const {
    return select(x > 0.0, x, x * slope);
  }
  template <class V>
  V grad_a(V g, V x, V slope) const {
    return select(x > 0.0, g, g * slope);
  }
  template <class V>
  V grad_b(V g, V x, V) const {
    return select(x > 0.0, zero_of(g), g * x);
  }
};

}  // namespace rushlight::pointwise
