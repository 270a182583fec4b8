// In-place fills with random numbers, from which Python builds rand, randn and the others.
#include "kernels/random.h"

#include "kernels/loops.h"
#include "ops/registry.h"

namespace rushlight {
namespace ops {
namespace {

bool is_half(DType d) { return d == DType::Float16 || d == DType::BFloat16; }
DType drawn_as(DType d) { return is_half(d) ? DType::Float32 : d; }

// Fills self through f(T* memory, n) in memory order: directly where the memory is dense, else by way of a copy.
// Half types are drawn as floats and rounded.
template <class F>
Tensor fill_memory(const Tensor& self, F&& f) {
  if (self.is_meta() || self.numel() == 0) return self;
  if (self.is_dense() && !is_half(self.dtype())) {
    f(self);
    return self;
  }
  Tensor dense = empty_like(self, drawn_as(self.dtype()));
  f(dense);
  kernels::copy_into(self, dense);
  return self;
}

void check_floating(const char* op, const Tensor& t) {
  RL_CHECK_KIND(t.is_floating(), NotImplemented, op, " is for floating point tensors, not ", t.dtype());
}

template <class F>
void visit_float(const Tensor& t, F&& f) {
  if (t.dtype() == DType::Float64) f(t.data<double>());
  else f(t.data<float>());
}

// Rounding to a half type may reach `to`, which is outside: such a number becomes `from`.
template <class H>
void keep_below(float* p, int64_t n, double from, double to) {
  const float bound = float(H(float(to)));
  for (int64_t i = 0; i < n; i++)
    if (float(H(p[i])) == bound) p[i] = float(from);
}

struct Uniform {
  static constexpr auto schema =
      "uniform(Tensor self, float from=0, float to=1, *, Generator? generator=None) -> Tensor";
  static constexpr auto doc = "Fills with numbers from [from, to), uniformly distributed.";
  Tensor forward(Ctx& ctx, const Tensor& self, double from, double to, Generator* g) {
    check_floating("uniform_", self);
    RL_CHECK(from <= to, "uniform_: expects from <= to, got from ", from, " and to ", to);
    return fill_memory(ctx.out ? *ctx.out : empty_like(self), [&](const Tensor& t) {
      visit_float(t, [&](auto* p) { kernels::random_uniform(*g, p, t.numel(), from, to); });
      if (self.dtype() == DType::Float16) keep_below<Half>(t.data<float>(), t.numel(), from, to);
      if (self.dtype() == DType::BFloat16) keep_below<BFloat16>(t.data<float>(), t.numel(), from, to);
    });
  }
  Grads backward(Ctx&, Grads g) { return {zeros_like(g[0])}; }
};

struct Normal {
  static constexpr auto schema =
      "normal(Tensor self, float mean=0, float std=1, *, Generator? generator=None) -> Tensor";
  static constexpr auto doc = "Fills with normally distributed numbers.";
  Tensor forward(Ctx& ctx, const Tensor& self, double mean, double std, Generator* g) {
    check_floating("normal_", self);
    RL_CHECK(std >= 0, "normal_: expects std >= 0, got ", std);
    Tensor to = ctx.out ? *ctx.out : empty_like(self);
    if (to.is_meta() || to.numel() == 0) return to;
    Tensor t = to.is_contiguous() && !is_half(to.dtype()) ? to : empty_like(to, drawn_as(to.dtype()));
    if (to.is_contiguous()) {
      if (is_half(to.dtype())) kernels::random_normal_half(*g, t.data<float>(), t.numel(), mean, std);
      else visit_float(t, [&](auto* p) { kernels::random_normal(*g, p, t.numel(), mean, std); });
    } else {
      // One by one, in memory order.
      std::lock_guard lock(g->mutex);
      visit_float(t, [&](auto* p) {
        for (int64_t i = 0; i < t.numel(); i++) p[i] = std::remove_reference_t<decltype(*p)>(g->normal(mean, std));
      });
    }
    if (!t.is_same(to)) kernels::copy_into(to, t);
    return to;
  }
  Grads backward(Ctx&, Grads g) { return {zeros_like(g[0])}; }
};

// The largest integer that dtype and all integers below it can hold, and the smallest.
std::pair<double, double> whole_range(DType d) {
  return visit(d, [&](auto tag) -> std::pair<double, double> {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, bool>) return {0, 1};
    else if constexpr (std::is_integral_v<T>)
      return {double(std::numeric_limits<T>::min()), double(std::numeric_limits<T>::max())};
    else if constexpr (std::is_same_v<T, Half>) return {-2048, 2048};
    else if constexpr (std::is_same_v<T, BFloat16>) return {-256, 256};
    else if constexpr (std::is_same_v<T, float>) return {-16777216., 16777216.};
    else return {-9007199254740992., 9007199254740992.};
  });
}

// Without `to`, up to the largest one.
Tensor integers(const char* op, Ctx& ctx, const Tensor& self, int64_t from, OptInt to, Generator* g) {
  auto [low, high] = whole_range(self.dtype());
  RL_CHECK(!to || from < *to, op, ": expects from < to, got from ", from, " and to ", to.value_or(0));
  const int64_t last = to ? *to - 1 : high < 9e18 ? int64_t(high) : INT64_MAX;
  RL_CHECK(from <= last, op, ": expects from < to, got from ", from, " and to ", last);
  RL_CHECK(double(from) >= low && double(last) <= high, op, ": [", from, ", ", last, "] does not fit ", self.dtype());
  uint64_t range = uint64_t(last) - uint64_t(from) + 1;
  Tensor out = ctx.out ? *ctx.out : empty_like(self);
  return fill_memory(out, [&](const Tensor& t) {
    visit(t.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (!std::is_same_v<T, Half> && !std::is_same_v<T, BFloat16>)
        kernels::random_integer(*g, t.data<T>(), t.numel(), from, range);
    });
  });
}

struct RandomBetween {
  static constexpr auto schema = "random(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor";
  Tensor forward(Ctx& ctx, const Tensor& self, int64_t from, OptInt to, Generator* g) {
    return integers("random_", ctx, self, from, to, g);
  }
};
struct RandomBelow {
  static constexpr auto schema = "random(Tensor self, int to, *, Generator? generator=None) -> Tensor";
  Tensor forward(Ctx& ctx, const Tensor& self, int64_t to, Generator* g) {
    return integers("random_", ctx, self, 0, to, g);
  }
};
struct Random {
  static constexpr auto schema = "random(Tensor self, *, Generator? generator=None) -> Tensor";
  static constexpr auto doc = "Fills with whole numbers: from [from, to), or all that the dtype can hold exactly.";
  Tensor forward(Ctx& ctx, const Tensor& self, Generator* g) {
    Tensor out = ctx.out ? *ctx.out : empty_like(self);
    DType d = self.dtype();
    return fill_memory(out, [&](const Tensor& t) {
      if (is_half(d))
        return kernels::random_integer(*g, t.data<float>(), t.numel(), 0, d == DType::Float16 ? 2049 : 257);
      visit(t.dtype(), [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (!std::is_same_v<T, Half> && !std::is_same_v<T, BFloat16>)
          kernels::random_whole(*g, t.data<T>(), t.numel());
      });
    });
  }
};

void check_probability(const char* op, double p) {
  RL_CHECK(p >= 0 && p <= 1, op, ": expects a probability in [0, 1], got ", p);
}

struct BernoulliFill {
  static constexpr auto schema = "bernoulli(Tensor self, float p=0.5, *, Generator? generator=None) -> Tensor";
  static constexpr auto doc = "Fills with 1 with probability p, with 0 else.";
  Tensor forward(Ctx& ctx, const Tensor& self, double p, Generator* g) {
    check_probability("bernoulli_", p);
    return fill_memory(ctx.out ? *ctx.out : empty_like(self), [&](const Tensor& t) {
      visit(t.dtype(), [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (!std::is_same_v<T, Half> && !std::is_same_v<T, BFloat16>)
          kernels::random_bernoulli(*g, t.data<T>(), t.numel(), p);
      });
    });
  }
  Grads backward(Ctx&, Grads g) { return {zeros_like(g[0])}; }
};

// Fills out with 1 with each element's own probability p, broadcast to it, and with 0 else.
Tensor bernoulli_each(const char* op, const Tensor& out, const Tensor& p, Generator* g) {
  check_floating(op, p);
  Tensor each = empty_like(out, p.dtype() == DType::Float64 ? DType::Float64 : DType::Float32);
  kernels::copy_into(each, expand(p, out.sizes()));
  return fill_memory(out, [&](const Tensor& t) {
    visit_float(each, [&](auto* q) {
      for (int64_t i = 0; i < t.numel(); i++) check_probability(op, double(q[i]));
      visit(t.dtype(), [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (!std::is_same_v<T, Half> && !std::is_same_v<T, BFloat16>)
          kernels::random_bernoulli(*g, t.data<T>(), t.numel(), q);
      });
    });
  });
}

struct BernoulliFillEach {
  static constexpr auto schema = "bernoulli(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor";
  Tensor forward(Ctx& ctx, const Tensor& self, const Tensor& p, Generator* g) {
    return bernoulli_each("bernoulli_", ctx.out ? *ctx.out : empty_like(self), p, g);
  }
  Grads backward(Ctx&, Grads g) { return {zeros_like(g[0]), Tensor()}; }
};

// bernoulli(probabilities): one draw for each element, of the tensor's own dtype.
struct Bernoulli {
  static constexpr auto schema = "bernoulli(Tensor self, *, Generator? generator=None) -> Tensor";
  static constexpr auto doc = "1 with the probability that self gives for each element, else 0.";
  Tensor forward(Ctx& ctx, const Tensor& p, Generator* g) {
    if (ctx.out) resize_out(*ctx.out, p.sizes());
    return bernoulli_each("bernoulli", ctx.out ? *ctx.out : empty(p.sizes(), p.dtype(), p.device()), p, g);
  }
  Grads backward(Ctx&, Grads g) { return {zeros_like(g[0])}; }
};

// One-parameter and two-parameter fills of floats.
#define RL_FILL(Name, text, signature, parameters, condition, what, call)                                       \
  struct Name {                                                                                                 \
    static constexpr auto schema = text "(Tensor self, " signature ", *, Generator? generator=None) -> Tensor"; \
    static constexpr auto doc = what;                                                                           \
    Tensor forward parameters {                                                                                 \
      check_floating(text "_", self);                                                                           \
      RL_CHECK(condition, text "_: the parameters are out of range");                                           \
      return fill_memory(ctx.out ? *ctx.out : empty_like(self),                                                 \
                         [&](const Tensor& t) { visit_float(t, [&](auto* x) { call; }); });                     \
    }                                                                                                           \
    Grads backward(Ctx&, Grads g) { return {zeros_like(g[0])}; }                                                \
  };
RL_FILL(Exponential, "exponential", "float lambd=1", (Ctx & ctx, const Tensor& self, double a, Generator* g), a > 0,
        "Fills with exponentially distributed numbers of rate lambd.", kernels::random_exponential(*g, x, t.numel(), a))
RL_FILL(Cauchy, "cauchy", "float median=0, float sigma=1",
        (Ctx & ctx, const Tensor& self, double a, double b, Generator* g), b > 0,
        "Fills with Cauchy distributed numbers.", kernels::random_cauchy(*g, x, t.numel(), a, b))
RL_FILL(LogNormal, "log_normal", "float mean=1, float std=2",
        (Ctx & ctx, const Tensor& self, double a, double b, Generator* g), b > 0,
        "Fills with numbers whose logarithm is normally distributed.",
        kernels::random_log_normal(*g, x, t.numel(), a, b))

struct Geometric {
  static constexpr auto schema = "geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor";
  static constexpr auto doc = "Fills with the number of trials up to the first success of probability p.";
  Tensor forward(Ctx& ctx, const Tensor& self, double p, Generator* g) {
    RL_CHECK(p > 0 && p < 1, "geometric_: expects p in (0, 1), got ", p);
    return fill_memory(ctx.out ? *ctx.out : empty_like(self), [&](const Tensor& t) {
      visit(t.dtype(), [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (!std::is_same_v<T, Half> && !std::is_same_v<T, BFloat16>)
          kernels::random_geometric(*g, t.data<T>(), t.numel(), p);
      });
    });
  }
};

struct Poisson {
  static constexpr auto schema = "poisson(Tensor self, Generator? generator=None) -> Tensor";
  static constexpr auto doc = "Poisson distributed numbers, self being their rates.";
  Tensor forward(Ctx&, const Tensor& rate, Generator* g) {
    check_floating("poisson", rate);
    Tensor c = kernels::cast(rate, rate.dtype() == DType::Float64 ? DType::Float64 : DType::Float32,
                             MemoryFormat::Contiguous),
           out = empty_like(c);
    if (rate.is_meta()) return empty(rate.sizes(), rate.dtype(), rate.device());
    visit_float(c, [&](auto* p) {
      using T = std::remove_reference_t<decltype(*p)>;
      for (int64_t i = 0; i < c.numel(); i++)
        RL_CHECK(p[i] >= 0, "poisson: rates must not be negative, got ", double(p[i]));
      kernels::random_poisson(*g, out.data<T>(), c.numel(), static_cast<const T*>(p));
    });
    return kernels::cast(out, rate.dtype());
  }
  Grads backward(Ctx&, Grads g) { return {zeros_like(g[0])}; }
};

struct Randperm {
  static constexpr auto schema = "_randperm(int n, *, Generator? generator=None) -> Tensor";
  Tensor forward(Ctx&, int64_t n, Generator* g) {
    RL_CHECK(n >= 0, "randperm: n must not be negative, got ", n);
    Tensor t = empty({n}, DType::Int64);
    kernels::random_permutation(*g, t.data<int64_t>(), n);
    return t;
  }
};

struct Multinomial {
  static constexpr auto schema =
      "multinomial(Tensor self, int num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor";
  static constexpr auto doc = "Indices drawn with probabilities proportional to the weights in each row.";
  Tensor forward(Ctx& ctx, const Tensor& w, int64_t count, bool replacement, Generator* g) {
    check_floating("multinomial", w);
    check_out_dtype(schema, ctx, DType::Int64);
    RL_CHECK(w.dim() == 1 || w.dim() == 2, "multinomial: expects weights of 1 or 2 dimensions, got shape ", w.sizes());
    RL_CHECK(count > 0, "multinomial: num_samples must be positive, got ", count);
    int64_t n = w.size(-1), rows = w.dim() == 2 ? w.size(0) : 1;
    RL_CHECK(n > 0 && n <= (1 << 24), "multinomial: the number of categories must be in [1, 2^24], got ", n);
    RL_CHECK(replacement || count <= n, "multinomial: cannot draw ", count, " of ", n,
             " categories without replacement", hint("pass replacement=True"));
    Tensor c = kernels::contiguous(kernels::cast(w, w.dtype() == DType::Float64 ? DType::Float64 : DType::Float32));
    Dims shape;
    if (w.dim() == 2) shape.push_back(rows);
    shape.push_back(count);
    Tensor out = empty(shape, DType::Int64, w.device());
    if (w.is_meta()) return out;
    visit_float(c, [&](auto* p) {
      for (int64_t r = 0; r < rows; r++) {
        double total = 0;
        int64_t positive = 0;
        for (int64_t i = 0; i < n; i++) {
          double x = p[r * n + i];
          RL_CHECK(x >= 0 && std::isfinite(x), "multinomial: weights must be finite and not negative, got ", x);
          total += x, positive += x > 0;
        }
        RL_CHECK(total > 0, "multinomial: the weights of a row sum to 0");
        RL_CHECK(replacement || positive >= count, "multinomial: cannot draw ", count,
                 " categories without replacement: only ", positive, " have a positive weight");
      }
      kernels::random_multinomial(*g, out.data<int64_t>(), p, rows, n, count, replacement);
    });
    return out;
  }
};

RL_BIND(Uniform, inplace)
RL_BIND(Normal, inplace)
RL_BIND(Random, inplace)
RL_BIND(RandomBelow, inplace)
RL_BIND(RandomBetween, inplace)
RL_BIND(BernoulliFillEach, inplace)
RL_BIND(BernoulliFill, inplace)
RL_BIND(Bernoulli, both | out)
RL_BIND(Exponential, inplace)
RL_BIND(Cauchy, inplace)
RL_BIND(LogNormal, inplace)
RL_BIND(Geometric, inplace)
RL_BIND(Poisson, function)
RL_BIND(Randperm, hidden)
RL_BIND(Multinomial, both | out)

}  // namespace
}  // namespace ops

void manual_seed(uint64_t seed) { default_generator().manual_seed(seed); }
Tensor rand(IntSpan shape, DType d) {
  Tensor t = empty(shape, d);
  apply_inplace<ops::Uniform>(t, 0.0, 1.0, &default_generator());
  return t;
}
Tensor randn(IntSpan shape, DType d) {
  Tensor t = empty(shape, d);
  apply_inplace<ops::Normal>(t, 0.0, 1.0, &default_generator());
  return t;
}

}  // namespace rushlight
