"""Optimizers against formulas in NumPy, written from the papers that their docstrings name."""

import numpy as np
import pytest

import rushlight as rl
from rushlight import optim


def sgd(p, grads, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, maximize=False):
    buf = None
    for g in grads:
        g = (-g if maximize else g) + weight_decay * p
        if momentum:
            buf = g if buf is None else momentum * buf + (1 - dampening) * g
            g = g + momentum * buf if nesterov else buf
        p = p - lr * g
    return p


def adam(p, grads, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False, maximize=False, decoupled=False):
    m = v = largest = 0
    for t, g in enumerate(grads, 1):
        g = -g if maximize else g
        if decoupled:
            p = p * (1 - lr * weight_decay)
        else:
            g = g + weight_decay * p
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g * g
        largest = np.maximum(largest, v)
        root = np.sqrt((largest if amsgrad else v) / (1 - betas[1] ** t)) + eps
        p = p - lr * m / (1 - betas[0] ** t) / root
    return p


def rmsprop(p, grads, lr, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False):
    v = m = buf = 0
    for g in grads:
        g = g + weight_decay * p
        v = alpha * v + (1 - alpha) * g**2
        m = alpha * m + (1 - alpha) * g
        buf = momentum * buf + g / (np.sqrt(v - m**2 if centered else v) + eps)
        p = p - lr * buf
    return p


def adagrad(p, grads, lr, lr_decay=0.0, weight_decay=0.0, initial_accumulator_value=0.0, eps=1e-10):
    s = initial_accumulator_value
    for t, g in enumerate(grads):
        g = g + weight_decay * p
        s = s + g**2
        p = p - lr / (1 + t * lr_decay) * g / (np.sqrt(s) + eps)
    return p


def adadelta(p, grads, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0.0):
    v = u = 0
    for g in grads:
        g = g + weight_decay * p
        v = rho * v + (1 - rho) * g**2
        d = np.sqrt(u + eps) / np.sqrt(v + eps) * g
        u = rho * u + (1 - rho) * d**2
        p = p - lr * d
    return p


def adamax(p, grads, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    m = u = 0
    for t, g in enumerate(grads, 1):
        g = g + weight_decay * p
        m = betas[0] * m + (1 - betas[0]) * g
        u = np.maximum(betas[1] * u, np.abs(g) + eps)
        p = p - lr / (1 - betas[0] ** t) * m / u
    return p


def nadam(p, grads, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, momentum_decay=4e-3, decoupled=False):
    m = v = 0
    mu = betas[0] * (1 - 0.5 * 0.96 ** (np.arange(1, len(grads) + 2) * momentum_decay))
    for t, g in enumerate(grads, 1):
        p, g = (p * (1 - lr * weight_decay), g) if decoupled else (p, g + weight_decay * p)
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g**2
        ahead = mu[t] * m / (1 - mu[: t + 1].prod()) + (1 - mu[t - 1]) * g / (1 - mu[:t].prod())
        p = p - lr * ahead / (np.sqrt(v / (1 - betas[1] ** t)) + eps)
    return p


def radam(p, grads, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, decoupled=False):
    m = v = 0
    rho = 2 / (1 - betas[1]) - 1
    for t, g in enumerate(grads, 1):
        p, g = (p * (1 - lr * weight_decay), g) if decoupled else (p, g + weight_decay * p)
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g**2
        step = m / (1 - betas[0] ** t)
        r = rho - 2 * t * betas[1] ** t / (1 - betas[1] ** t)
        if r > 5:
            step = step * np.sqrt((r - 4) * (r - 2) * rho / ((rho - 4) * (rho - 2) * r))
            step = step * np.sqrt(1 - betas[1] ** t) / (np.sqrt(v) + eps)
        p = p - lr * step
    return p


def asgd(p, grads, lr, lambd=1e-4, alpha=0.75, weight_decay=0.0):
    for t, g in enumerate(grads):
        eta = lr / (1 + lambd * lr * t) ** alpha
        p = p - eta * (g + weight_decay * p) - eta * lambd * p
    return p


def rprop(p, grads, lr, etas=(0.5, 1.2), step_sizes=(1e-6, 50)):
    step, before = np.full_like(p, lr), np.zeros_like(p)
    for g in grads:
        agreement = np.sign(g * before)
        step = step * np.where(agreement > 0, etas[1], np.where(agreement < 0, etas[0], 1))
        step = np.clip(step, *step_sizes)
        g = np.where(agreement < 0, 0, g)
        p = p - step * np.sign(g)
        before = g
    return p


def root_mean_square(x):
    return np.sqrt((x**2).mean())


def adafactor(p, grads, lr=0.01, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0):
    least = np.finfo(p.dtype).eps if eps[0] is None else eps[0]
    v = r = c = 0
    for t, g in enumerate(grads, 1):
        size = max(eps[1], root_mean_square(p)) * min(lr, t**-0.5)
        w = t**beta2_decay
        if p.ndim < 2:
            v = (1 - w) * v + w * g**2
        else:
            r = (1 - w) * r + w * (g**2).mean(-1, keepdims=True)
            c = (1 - w) * c + w * (g**2).mean(-2, keepdims=True)
            v = r * c / np.maximum(r.mean(-2, keepdims=True), least)
        u = g / np.sqrt(np.maximum(v, least**2))
        p = p * (1 - lr * weight_decay) - size * u / max(1, root_mean_square(u) / d)
    return p


def muon(p, grads, lr, weight_decay=0.1, momentum=0.95, nesterov=True, adjust_lr_fn="original", ns_steps=5):
    a, b, c = 3.4445, -4.7750, 2.0315
    rows, columns = p.shape
    factor = max(1, rows / columns) ** 0.5 if adjust_lr_fn == "original" else 0.2 * max(rows, columns) ** 0.5
    buf = 0
    for g in grads:
        buf = momentum * buf + (1 - momentum) * g
        # The iteration acts on singular values alone.
        u, s, v = np.linalg.svd(momentum * buf + (1 - momentum) * g if nesterov else buf, full_matrices=False)
        s = s / np.sqrt((s**2).sum())
        for _ in range(ns_steps):
            s = a * s + b * s**3 + c * s**5
        p = p * (1 - lr * weight_decay) - lr * factor * (u * s) @ v
    return p


CASES = [
    (optim.SGD, sgd, {"lr": 0.1}),
    (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9}),
    (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    (optim.Adam, adam, {"lr": 0.01}),
    (optim.Adam, adam, {"lr": 0.01, "betas": (0.5, 0.7), "eps": 0.01, "weight_decay": 0.1}),
    (optim.Adam, adam, {"lr": 0.01, "amsgrad": True, "maximize": True}),
    (optim.AdamW, adam, {"lr": 0.1, "weight_decay": 0.2, "decoupled": True}),
    (optim.RMSprop, rmsprop, {"lr": 0.01}),
    (optim.RMSprop, rmsprop, {"lr": 0.01, "alpha": 0.6, "momentum": 0.9, "weight_decay": 0.1}),
    (optim.RMSprop, rmsprop, {"lr": 0.01, "alpha": 0.6, "eps": 0.1, "centered": True}),
    (optim.Adagrad, adagrad, {"lr": 0.1}),
    (optim.Adagrad, adagrad, {"lr": 0.1, "lr_decay": 0.5, "weight_decay": 0.1, "initial_accumulator_value": 0.3}),
    (optim.Adadelta, adadelta, {}),
    (optim.Adadelta, adadelta, {"lr": 0.5, "rho": 0.6, "eps": 1e-3, "weight_decay": 0.1}),
    (optim.Adamax, adamax, {"lr": 0.01}),
    (optim.Adamax, adamax, {"lr": 0.01, "betas": (0.5, 0.7), "eps": 0.01, "weight_decay": 0.1}),
    (optim.NAdam, nadam, {"lr": 0.01}),
    (optim.NAdam, nadam, {"lr": 0.01, "betas": (0.5, 0.7), "momentum_decay": 0.3, "weight_decay": 0.1}),
    (optim.NAdam, nadam, {"lr": 0.1, "weight_decay": 0.2, "decoupled": True}),
    (optim.RAdam, radam, {"lr": 0.01}),
    (optim.RAdam, radam, {"lr": 0.01, "betas": (0.5, 0.8), "eps": 0.01, "weight_decay": 0.1}),
    (optim.RAdam, radam, {"lr": 0.1, "betas": (0.5, 0.9), "weight_decay": 0.2, "decoupled": True}),
    (optim.ASGD, asgd, {"lr": 0.1}),
    (optim.ASGD, asgd, {"lr": 0.1, "lambd": 0.2, "alpha": 0.5, "weight_decay": 0.1}),
    (optim.Rprop, rprop, {"lr": 0.01}),
    (optim.Rprop, rprop, {"lr": 0.01, "etas": (0.4, 1.5), "step_sizes": (0.008, 0.02)}),
]


@pytest.mark.parametrize("size", [1, 7, 64, 40000])  # around vectors' widths, and enough for threads
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("cls, reference, options", CASES)
def test_formula(cls, reference, options, dtype, size):
    rng = np.random.default_rng(0)
    start = rng.standard_normal(size).astype(dtype)
    grads = [rng.standard_normal(size).astype(dtype) for _ in range(8)]
    p = rl.from_numpy(start.copy()).requires_grad_()
    passed = dict(options)
    if passed.pop("decoupled", False) and cls is not optim.AdamW:
        passed["decoupled_weight_decay"] = True
    optimizer = cls([p], **passed)
    before = rl.get_default_dtype()
    rl.set_default_dtype(p.dtype)  # that of numbers in the state
    try:
        for g in grads:
            p.grad = rl.from_numpy(g.copy())
            optimizer.step()
    finally:
        rl.set_default_dtype(before)
    expected = reference(start.astype("float64"), [g.astype("float64") for g in grads], **options)
    rtol, atol = (1e-4, 1e-5) if dtype == "float32" else (1e-11, 1e-12)
    np.testing.assert_allclose(p.detach().numpy(), expected, rtol=rtol, atol=atol)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (8, 8), (7,), (2, 3, 4), (1, 1)])
@pytest.mark.parametrize(
    "cls, reference, options",
    [
        (optim.Adafactor, adafactor, {}),
        (optim.Adafactor, adafactor, {"lr": 0.9, "eps": (0.1, 0.5), "d": 1.5, "beta2_decay": -0.4}),
        (optim.Adafactor, adafactor, {"lr": 0.5, "weight_decay": 0.3}),
        (optim.Muon, muon, {"lr": 0.1}),
        (optim.Muon, muon, {"lr": 0.1, "nesterov": False, "momentum": 0.5, "weight_decay": 0.0}),
        (optim.Muon, muon, {"lr": 0.1, "adjust_lr_fn": "match_rms_adamw", "ns_steps": 2}),
    ],
)
def test_formula_of_matrices(cls, reference, options, shape, dtype):
    if cls is optim.Muon and len(shape) != 2:
        with pytest.raises(ValueError, match=rf"parameter 0 has shape .*{shape[0]}.*\n  hint: give vectors"):
            cls([rl.zeros(shape, requires_grad=True)])
        return
    rng = np.random.default_rng(0)
    start = rng.standard_normal(shape).astype(dtype)
    grads = [rng.standard_normal(shape).astype(dtype) for _ in range(8)]
    p = rl.from_numpy(start.copy()).requires_grad_()
    optimizer = cls([p], **options)
    for g in grads:
        p.grad = rl.from_numpy(g.copy())
        optimizer.step()
    expected = reference(start, grads, **options)
    rtol, atol = (1e-3, 1e-4) if dtype == "float32" else (1e-10, 1e-11)
    np.testing.assert_allclose(p.detach().numpy(), expected, rtol=rtol, atol=atol)


@pytest.mark.parametrize("cls", [optim.Adafactor, optim.Muon])
def test_empty_parameters_stay(cls):
    p = rl.zeros(3, 0, requires_grad=True)
    p.grad = rl.zeros(3, 0)
    cls([p]).step()


@pytest.mark.parametrize("cls", list(dict.fromkeys(cls for cls, _, _ in CASES)))
def test_layouts(cls):
    """Parameters and gradients in other orders of memory, and views, get the same step."""
    results = []
    for lay_out in (
        lambda t: t,
        lambda t: t.t().contiguous().t(),
        lambda t: rl.stack([t, t], -1)[..., 0],
    ):
        for lay_out_grad in (lambda t: t, lambda t: t.t().contiguous().t(), lambda t: t[:1].expand(3, 4)):
            p = lay_out(rl.arange(12.0).reshape(3, 4)).detach().requires_grad_()
            optimizer = cls([p], lr=0.1)
            for _ in range(2):
                p.grad = lay_out_grad(rl.ones(3, 4) * 0.5)
                optimizer.step()
            results.append(p.tolist())
    assert all(r == results[0] for r in results)
