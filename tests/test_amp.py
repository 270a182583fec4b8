"""Mixed precision: which dtypes operations choose inside autocast, and GradScaler's arithmetic."""

from __future__ import annotations

import copy
import pickle
import threading
import warnings
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn

F = nn.functional
HALVES = [torch.bfloat16, torch.float16]
halves = pytest.mark.parametrize("half", HALVES, ids=["bfloat16", "float16"])


def auto(half: Any = torch.bfloat16, **options: Any) -> Any:
    return torch.autocast("cpu", dtype=half, **options)


# ---- Which dtypes operations choose

square = torch.tensor([[2.0, 1.0], [1.0, 3.0]])
image, volume = torch.rand(1, 2, 4, 4), torch.rand(1, 2, 4, 4, 4)
signs, classes = torch.tensor([[1.0, -1.0], [-1.0, 1.0]]), torch.tensor([0, 1])


def wide_zeros(x: Any) -> Any:
    return torch.zeros(2, 2, dtype=torch.float64 if x.dtype == torch.float64 else torch.float32)


LOWER = {
    "matmul": lambda x: x @ x,
    "matmul with a vector": lambda x: x @ x[0],
    "mm": lambda x: torch.mm(x, x),
    "bmm": lambda x: torch.bmm(x[None], x[None]),
    "addmm": lambda x: torch.addmm(x, x, x),
    "baddbmm": lambda x: torch.baddbmm(x[None], x[None], x[None]),
    "addbmm": lambda x: torch.addbmm(x, x[None], x[None]),
    "linear": lambda x: F.linear(x, x, x[0]),
    "einsum": lambda x: torch.einsum("ij,jk->ik", x, x),
    "tensordot": lambda x: torch.tensordot(x, x, 1),
    "chain_matmul": lambda x: torch.linalg.multi_dot([x, x, x]),
    "vecdot": lambda x: torch.linalg.vecdot(x, x),
    "prelu": lambda x: torch.prelu(x, x[0]),
    "conv1d": lambda x: F.conv1d(x[None], x[None]),
    "conv2d": lambda x: F.conv2d(x[None, None], x[None, None]),
    "conv3d": lambda x: F.conv3d(x[None, None, None], x[None, None, None]),
    "conv_transpose1d": lambda x: F.conv_transpose1d(x[None], x[..., None]),
    "conv_transpose2d": lambda x: F.conv_transpose2d(x[None, None], x[None, None]),
    "conv_transpose3d": lambda x: F.conv_transpose3d(x[None, None, None], x[None, None, None]),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x),
    "attention with a mask": lambda x: F.scaled_dot_product_attention(x, x, x, wide_zeros(x)),
}
FLOAT32 = {
    "prod": lambda x: x.prod(),
    "trace": lambda x: x.trace(),
    "cdist": lambda x: torch.cdist(x, x),
    "quantile": lambda x: torch.quantile(x, 0.5),
    "mse_loss": lambda x: F.mse_loss(x, x),
    "l1_loss": lambda x: F.l1_loss(x, x),
    "smooth_l1_loss": lambda x: F.smooth_l1_loss(x, x),
    "huber_loss": lambda x: F.huber_loss(x, x),
    "nll_loss": lambda x: F.nll_loss(x, classes),
    "cross_entropy": lambda x: F.cross_entropy(x, classes),
    "binary_cross_entropy": lambda x: F.binary_cross_entropy(x.sigmoid(), x.sigmoid()),
    "binary_cross_entropy_with_logits": lambda x: F.binary_cross_entropy_with_logits(x, x),
    "kl_div": lambda x: F.kl_div(x, x),
    "poisson_nll_loss": lambda x: F.poisson_nll_loss(x, x),
    "hinge_embedding_loss": lambda x: F.hinge_embedding_loss(x, signs),
    "margin_ranking_loss": lambda x: F.margin_ranking_loss(x, x, signs),
    "cosine_embedding_loss": lambda x: F.cosine_embedding_loss(x, x, signs[0]),
    "soft_margin_loss": lambda x: F.soft_margin_loss(x, signs),
    "multi_margin_loss": lambda x: F.multi_margin_loss(x, classes),
    "multilabel_margin_loss": lambda x: F.multilabel_margin_loss(x, classes.expand(2, 2)),
    "triplet_margin_loss": lambda x: F.triplet_margin_loss(x, x + 1, x - 1),
    "ctc_loss": lambda x: F.ctc_loss(
        x[:, None].log_softmax(-1), torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1])
    ),
    "max_pool3d": lambda x: F.max_pool3d(volume.to(x.dtype), 2),
    "avg_pool3d": lambda x: F.avg_pool3d(volume.to(x.dtype), 2),
    "adaptive_avg_pool3d": lambda x: F.adaptive_avg_pool3d(volume.to(x.dtype), 2),
    "reflection_pad": lambda x: F.pad(image.to(x.dtype), (1, 1, 1, 1), "reflect"),
    "replication_pad": lambda x: F.pad(image.to(x.dtype), (1, 1, 1, 1), "replicate"),
    "grid_sample": lambda x: F.grid_sample(image.to(x.dtype), torch.zeros(1, 2, 2, 2, dtype=x.dtype)),
    "inverse": torch.linalg.inv,
    "cholesky": torch.linalg.cholesky,
    "solve": lambda x: torch.linalg.solve(x, x),
    "pinv": torch.linalg.pinv,
    "qr": lambda x: torch.linalg.qr(x)[0],
    "svdvals": torch.linalg.svdvals,
    "eigvalsh": torch.linalg.eigvalsh,
    "cond": torch.linalg.cond,
}
AS_GIVEN = {
    "add": lambda x: x + x,
    "exp": torch.exp,
    "sum": lambda x: x.sum(),
    "softmax": lambda x: x.softmax(0),
    "layer_norm": lambda x: F.layer_norm(x, (2,)),
    "batch_norm": lambda x: F.batch_norm(x, torch.zeros(2), torch.ones(2)),
    "mv": lambda x: torch.mv(x, x[0]),
    "dot": lambda x: torch.dot(x[0], x[0]),
    "max_pool2d": lambda x: F.max_pool2d(x[None], 2),
    "constant_pad": lambda x: F.pad(x, (1, 1)),
    "norm": torch.linalg.norm,
    "cat": lambda x: torch.cat([x, x]),
}
LISTS = [(name, f, kind) for kind, table in enumerate((LOWER, FLOAT32, AS_GIVEN)) for name, f in table.items()]


@halves
@pytest.mark.parametrize(("name", "f", "kind"), LISTS, ids=[name for name, _, _ in LISTS])
def test_lists(name: str, f: Any, kind: int, half: Any) -> None:
    for given in (torch.float32, half, torch.float64):
        plain = f(square.to(given)) if given != half else None
        with auto(half):
            result = f(square.to(given))
        wanted = given if given == torch.float64 or kind == 2 else (half, torch.float32)[kind]
        assert result.dtype == wanted, f"{name} of {given}"
        if plain is not None:
            torch.testing.assert_close(result.to(given), plain, rtol=0.05, atol=0.05)


def test_promotes_to_the_widest() -> None:
    a, b = torch.zeros(2, 2), torch.ones(1, 2, dtype=torch.bfloat16)
    with auto():
        for result in (torch.cat([a, b]), torch.stack([a[0], b[0]]), torch.index_copy(a, 0, torch.tensor([0]), b)):
            assert result.dtype == torch.float32


def test_in_place_and_out_do_not_cast() -> None:
    x = square.clone()
    with auto():
        assert x.addmm_(square, square).dtype == torch.float32
        assert torch.mm(square, square, out=torch.empty(2, 2)).dtype == torch.float32
        assert torch.matmul(square, square, out=torch.empty(2, 2)).dtype == torch.float32
        with pytest.raises(RuntimeError):
            x.addmm_(square.bfloat16(), square)
    np.testing.assert_array_equal(x.numpy(), (square + square @ square).numpy())


def test_meta_tensors_and_integers_are_left_alone() -> None:
    with auto():
        assert (square.to("meta") @ square.to("meta")).dtype == torch.float32
        assert (square.long() @ square.long()).dtype == torch.int64


@halves
def test_norms_take_float32_weights(half: Any) -> None:
    """What follows a convolution has inputs of the lower precision, and its own parameters in float32."""
    net = nn.Sequential(
        nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.GroupNorm(2, 4), nn.Flatten(), nn.LayerNorm(16)
    )
    with auto(half):
        y = net(image)
    assert y.dtype == half
    y.sum().backward()
    assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in net.parameters())
    assert net[1].running_mean.dtype == torch.float32


@halves
@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU", "MultiheadAttention", "TransformerEncoderLayer", "Bilinear"])
def test_layers_train(kind: str, half: Any) -> None:
    torch.manual_seed(0)
    x = torch.randn(3, 2, 4)
    layer = {
        "MultiheadAttention": lambda: nn.MultiheadAttention(4, 2),
        "TransformerEncoderLayer": lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0),
        "Bilinear": lambda: nn.Bilinear(4, 4, 2),
    }.get(kind, lambda: getattr(nn, kind)(4, 4))()

    def loss() -> Any:
        layer.zero_grad()
        inputs = {"MultiheadAttention": (x, x, x), "Bilinear": (x, x)}.get(kind, (x,))
        y = layer(*inputs)
        return (y[0] if isinstance(y, tuple) else y).float().square().mean()

    loss().backward()
    expected = [p.grad.clone() for p in layer.parameters()]
    with auto(half):
        low = loss()
    low.backward()
    scale = max(float(e.abs().max()) for e in expected)
    for p, e in zip(layer.parameters(), expected, strict=True):
        assert p.grad.dtype == torch.float32
        assert float((p.grad - e).abs().max()) <= 0.05 * scale, kind


# ---- Regions


def test_nesting() -> None:
    def dtype() -> Any:
        return (square @ square).dtype

    assert dtype() == torch.float32 and not torch.is_autocast_enabled("cpu")
    with auto(torch.float16):
        assert dtype() == torch.float16 == torch.get_autocast_dtype("cpu")
        with auto():
            assert dtype() == torch.bfloat16 and torch.is_autocast_enabled("cpu")
        with auto(enabled=False):
            assert dtype() == torch.float32 and not torch.is_autocast_enabled("cpu")
            with torch.autocast("cpu"):
                assert dtype() == torch.bfloat16
        with pytest.raises(ZeroDivisionError), auto():
            raise ZeroDivisionError
        assert dtype() == torch.float16
        again = auto()
        with again, again:
            assert dtype() == torch.bfloat16
        assert dtype() == torch.float16
    assert dtype() == torch.float32 and torch.get_autocast_dtype("cpu") == torch.bfloat16


def test_decorator() -> None:
    @auto(torch.float16)
    def product(x: Any) -> Any:
        """Doc."""
        return x @ x

    @torch.autocast("cpu")
    def products(x: Any) -> Any:
        yield x @ x
        yield x @ x

    class Model(nn.Module):
        @torch.cpu.amp.autocast()
        def forward(self, x: Any) -> Any:
            return x @ x

    assert product(square).dtype == torch.float16 and product.__doc__ == "Doc." and product.__name__ == "product"
    for p in products(square):
        assert p.dtype == torch.bfloat16 and (square @ square).dtype == torch.float32
    assert Model()(square).dtype == torch.bfloat16


def test_threads_are_apart() -> None:
    seen: dict[str, Any] = {}
    decorated = auto(torch.float16)(lambda: (square @ square).dtype)

    def other() -> None:
        seen["before"] = (square @ square).dtype
        with auto(torch.float16):
            entered.set(), leave.wait(20)
            seen["inside"] = (square @ square).dtype

    entered, leave = threading.Event(), threading.Event()
    with auto():
        thread = threading.Thread(target=other)
        thread.start()
        assert entered.wait(20)
        assert (square @ square).dtype == torch.bfloat16
    assert (square @ square).dtype == torch.float32
    leave.set(), thread.join()
    assert seen == {"before": torch.float32, "inside": torch.float16}
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.extend(decorated() for _ in range(200))) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [torch.float16] * 800 and decorated.__closure__ is not None


def test_backward_runs_outside() -> None:
    seen: list[Any] = []

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            seen.append((x @ x).dtype)
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append((square @ square).dtype)
            return g

    x = square.clone().requires_grad_()
    with auto():
        Product.apply(x).sum().backward()
        assert torch.is_autocast_enabled("cpu")
    assert seen == [torch.bfloat16, torch.float32]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: torch.autocast("cpu", dtype=torch.float32), "bfloat16 and float16"),
        (lambda: torch.autocast("cpu", torch.float64), "bfloat16 and float16"),
        (lambda: torch.autocast("cpu", torch.int64), "bfloat16 and float16"),
        (lambda: torch.autocast("cuda"), "no such device"),
        (lambda: torch.autocast("cuda", dtype=torch.bfloat16), "no such device"),
        (lambda: torch.cuda.amp.autocast(), "no such device"),
        (lambda: torch.autocast("mps"), "no such device"),
    ],
)
def test_what_cannot_be_is_disabled(make: Any, message: str) -> None:
    with pytest.warns(UserWarning, match=message) as caught:
        region = make()
    assert caught[0].filename == __file__
    with warnings.catch_warnings(), region:
        warnings.simplefilter("error")
        assert (square @ square).dtype == torch.float32


def test_errors() -> None:
    for call, error in [
        (lambda: torch.autocast(3), ValueError),  # type: ignore[arg-type]
        (lambda: torch.autocast("novel"), RuntimeError),
        (lambda: torch.autocast("meta"), RuntimeError),
        (lambda: torch.get_autocast_dtype("novel"), RuntimeError),
        (lambda: torch.is_autocast_enabled("novel"), RuntimeError),
        (lambda: torch.amp.is_autocast_available("novel"), RuntimeError),
        (lambda: torch.set_autocast_dtype("cpu", torch.int64), RuntimeError),
        (lambda: torch.amp.custom_fwd(lambda x: x, device_type=3), ValueError),  # type: ignore[arg-type]
        (lambda: torch.amp.custom_fwd(lambda x: x), TypeError),  # type: ignore[call-arg]
    ]:
        with pytest.raises(error):
            call()
    assert torch.amp.is_autocast_available("cpu") and not torch.amp.is_autocast_available("meta")


def test_settings_by_hand() -> None:
    """As libraries do that write their own contexts."""
    torch.set_autocast_enabled("cpu", True)
    torch.set_autocast_dtype("cpu", torch.float16)
    assert torch.autocast_increment_nesting() == 1
    try:
        assert (square @ square).dtype == torch.float16 and torch.is_autocast_cpu_enabled()
        assert torch.get_autocast_cpu_dtype() == torch.float16
    finally:
        assert torch.autocast_decrement_nesting() == 0
        torch.clear_autocast_cache()
        torch.set_autocast_cpu_enabled(False)
        torch.set_autocast_cpu_dtype(torch.bfloat16)
    assert (square @ square).dtype == torch.float32
    torch.set_autocast_enabled(True)
    assert torch.is_autocast_enabled() and not torch.is_autocast_enabled("cpu")
    torch.set_autocast_enabled(False)
    torch.set_autocast_gpu_dtype(torch.bfloat16)
    assert torch.get_autocast_gpu_dtype() == torch.bfloat16 == torch.get_autocast_dtype("cuda")
    torch.set_autocast_dtype("cuda", torch.float16)


# ---- The cache of cast parameters


def casts_of(layer: Any, times: int, **options: Any) -> int:
    """How many casts the graph of `times` uses of the layer's weight has."""
    with auto(**options):
        y = sum(layer(torch.ones(1, 2)) for _ in range(times))
    found, todo = set(), [y.grad_fn]
    while todo:
        node = todo.pop()
        if node.name() == "ToCopyBackward0" and "AccumulateGrad" in node.next_functions[0][0].name():
            found.add(node)
        todo += [n for n, _ in node.next_functions if n is not None]
    return len(found)


def test_parameters_are_cast_once() -> None:
    layer = nn.Linear(2, 2, bias=False)
    assert casts_of(layer, 3) == 1
    assert casts_of(layer, 3, cache_enabled=False) == 3
    with auto(), auto(cache_enabled=False):
        assert not torch.is_autocast_cache_enabled()
    assert torch.is_autocast_cache_enabled()


def test_gradients_add_up_through_the_cache() -> None:
    x, w = torch.rand(4, 2), torch.rand(2, 2, requires_grad=True)
    ((x @ w).sum() + (x @ w).square().sum()).backward()
    expected, w.grad = w.grad.clone(), None
    with auto():
        loss = (x @ w).sum() + (x @ w).square().sum()
    loss.backward()
    assert w.grad.dtype == torch.float32
    torch.testing.assert_close(w.grad, expected, rtol=0.03, atol=0.03)


def test_cache_follows_the_parameter() -> None:
    w = torch.ones(2, 2, requires_grad=True)
    with auto():
        with torch.no_grad():
            first = w @ w
        recorded = w @ w  # a cast without history must not serve
        assert recorded.requires_grad and not first.requires_grad
        with torch.no_grad():
            w.mul_(3)
        assert (w @ w)[0, 0].item() == 18
    with torch.no_grad():
        w.mul_(2)
    with auto():
        assert (w @ w)[0, 0].item() == 72
        torch.clear_autocast_cache()
        assert (w @ w)[0, 0].item() == 72


def test_cache_is_emptied() -> None:
    before = torch.cuda.memory_allocated()  # of no device; the cache must not keep the weight alive
    import weakref

    w = torch.ones(2, 2, requires_grad=True)
    with auto():
        w @ w
    gone = weakref.ref(w)
    del w
    assert gone() is None and before == 0


# ---- With other parts


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpoint_computes_in_the_same_precision(use_reentrant: bool) -> None:
    layer, x, seen = nn.Linear(2, 2), torch.rand(3, 2, requires_grad=True), []

    def run(x: Any) -> Any:
        y = layer(x)
        seen.append(y.dtype)
        return y.relu()

    with auto(torch.float16):
        y = torch.utils.checkpoint.checkpoint(run, x, use_reentrant=use_reentrant)
    y.float().sum().backward()
    assert set(seen) == {torch.float16} and len(seen) == 2
    assert layer.weight.grad.dtype == torch.float32 and x.grad.dtype == torch.float32


class Cube(torch.autograd.Function):
    seen: list[Any] = []

    @staticmethod
    def forward(ctx: Any, x: Any, scale: int = 1) -> Any:
        Cube.seen.append((x.dtype, (square @ square).dtype))
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        Cube.seen.append((g.dtype, (square @ square).dtype))
        return g * 3 * ctx.saved_tensors[0] ** 2, None


@pytest.mark.parametrize(
    ("cast_inputs", "on", "expected"),
    [
        (None, True, [(torch.bfloat16, torch.bfloat16)] * 2),
        (torch.float32, True, [(torch.float32, torch.float32)] * 2),
        (torch.float16, True, [(torch.float16, torch.float32)] * 2),
        (torch.float16, False, [(torch.bfloat16, torch.float32)] * 2),
    ],
)
def test_custom_functions(cast_inputs: Any, on: bool, expected: list) -> None:
    class Function(torch.autograd.Function):
        forward = staticmethod(torch.amp.custom_fwd(Cube.forward, device_type="cpu", cast_inputs=cast_inputs))
        backward = staticmethod(torch.amp.custom_bwd(Cube.backward, device_type="cpu"))

    x = torch.full((2,), 2.0, dtype=torch.bfloat16, requires_grad=True)
    Cube.seen.clear()
    with auto(enabled=on):
        y = Function.apply(x, 2)
    y.sum().backward()
    assert Cube.seen == expected and x.grad.tolist() == [12, 12] and x.grad.dtype == torch.bfloat16


def test_older_spellings_of_custom_functions() -> None:
    class Function(torch.autograd.Function):
        @staticmethod
        @torch.cuda.amp.custom_fwd(cast_inputs=torch.float32)
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        @torch.cuda.amp.custom_bwd
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    x = torch.ones(2, requires_grad=True)
    Function.apply(x).sum().backward()
    assert x.grad.tolist() == [2, 2]


# ---- GradScaler


def scaler_and(optimizers: int = 1, **options: Any) -> tuple:
    weights = [nn.Parameter(torch.ones(2)) for _ in range(optimizers)]
    return torch.amp.GradScaler("cpu", **options), weights, [torch.optim.SGD([w], lr=0.5) for w in weights]


def test_scale_follows_the_rules() -> None:
    """Against the rules by hand, with infinities and NaN put in at some steps."""
    rng = np.random.default_rng(0)
    bad = rng.random(60) < 0.2
    scaler, (w,), (optimizer,) = scaler_and(
        init_scale=1024.0, growth_factor=4.0, backoff_factor=0.25, growth_interval=3
    )
    scale, tracker, value = 1024.0, 0, 1.0
    for step in range(60):
        optimizer.zero_grad()
        factor = float("nan" if step % 2 else "inf") if bad[step] else 0.5
        scaler.scale((w * torch.tensor([0.25, factor])).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        if bad[step]:
            scale, tracker = scale * 0.25, 0
        else:
            value -= 0.5 * 0.25
            tracker += 1
            if tracker == 3:
                scale, tracker = scale * 4, 0
        assert scaler.get_scale() == scale and scaler.state_dict()["_growth_tracker"] == tracker
        assert w[0].item() == pytest.approx(value)


def test_unscaled_gradients() -> None:
    scaler, (w,), (optimizer,) = scaler_and()
    scaler.scale((w * 3).sum()).backward()
    assert w.grad.tolist() == [3 * 65536] * 2
    scaler.unscale_(optimizer)
    assert w.grad.tolist() == [3, 3]
    assert nn.utils.clip_grad_norm_([w], 1.0).item() == pytest.approx(18**0.5)
    scaler.step(optimizer)
    scaler.update()
    assert w.tolist() == pytest.approx([1 - 0.5 / 2**0.5] * 2)


def test_each_optimizer_is_judged_by_its_own_gradients() -> None:
    scaler, (a, b), (first, second) = scaler_and(2, init_scale=8.0)
    for loss in scaler.scale([a.sum(), (b * float("inf")).sum()]):
        loss.backward()
    scaler.step(first), scaler.step(second)
    scaler.update()
    assert a.tolist() == [0.5, 0.5] and b.tolist() == [1, 1] and scaler.get_scale() == 4


def test_step_passes_on() -> None:
    class Optimizer(torch.optim.SGD):
        def step(self, *args: Any, **kwargs: Any) -> Any:
            super().step()
            return args, kwargs

    scaler, (w,), _ = scaler_and()
    optimizer = Optimizer([w], lr=1.0)
    scaler.scale(w.sum()).backward()
    assert scaler.step(optimizer, None, flag=2) == ((None,), {"flag": 2})
    scaler.update()
    optimizer.zero_grad()
    scaler.scale((w * float("nan")).sum()).backward()
    assert scaler.step(optimizer) is None


def test_scale_takes_nested_outputs() -> None:
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    one = torch.ones(1)
    nested = scaler.scale([one, (one, [one])])
    assert [nested[0].item(), nested[1][0].item(), nested[1][1][0].item()] == [4, 4, 4]
    assert isinstance(nested[1], tuple) and [t.item() for t in scaler.scale(iter([one]))] == [4]
    assert scaler.scale(one.bfloat16()).dtype == torch.bfloat16
    with pytest.raises(ValueError):
        scaler.scale(3)


def test_scale_stops_at_what_float32_holds() -> None:
    scaler, (w,), (optimizer,) = scaler_and(init_scale=2.0**126, growth_interval=1)
    scales = []
    for _ in range(3):
        optimizer.zero_grad()
        scaler.scale((w * 1e-30).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    assert scales == [2.0**127] * 3


def test_update_to_a_given_scale() -> None:
    scaler, (w,), (optimizer,) = scaler_and()
    for new, expected in [(7.0, 7), (torch.tensor(5.0), 5)]:
        scaler.scale(w.sum()).backward()
        scaler.step(optimizer)
        scaler.update(new)
        assert scaler.get_scale() == expected
    for new in (torch.ones(2), torch.ones(1, requires_grad=True), torch.ones(1).double()):
        with pytest.raises(AssertionError):
            scaler.update(new)


def misuse(name: str) -> Any:
    scaler, (w,), (optimizer,) = scaler_and()
    if name == "step without scale":
        w.sum().backward()
        return scaler.step(optimizer)
    if name == "update without scale":
        return scaler.update()
    loss = scaler.scale(w.sum())
    if name == "step before backward":
        return scaler.step(optimizer)
    loss.backward()
    if name == "update without step":
        return scaler.update()
    if name == "closure":
        return scaler.step(optimizer, closure=lambda: 1)
    if name == "half gradients":
        half = nn.Parameter(torch.ones(2, dtype=torch.float16))
        half.grad = torch.ones(2, dtype=torch.float16)
        return scaler.unscale_(torch.optim.SGD([half], lr=1.0))
    first, second = name.split(" then ")
    calls = {"unscale": scaler.unscale_, "step": scaler.step, "pickle": lambda _: pickle.dumps(scaler)}
    calls[first](optimizer)
    return calls[second](optimizer)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("step without scale", AssertionError),
        ("update without scale", AssertionError),
        ("step before backward", AssertionError),
        ("update without step", AssertionError),
        ("closure", RuntimeError),
        ("half gradients", ValueError),
        ("unscale then unscale", RuntimeError),
        ("step then unscale", RuntimeError),
        ("step then step", RuntimeError),
        ("unscale then pickle", AssertionError),
    ],
)
def test_misuse(name: str, error: Any) -> None:
    with pytest.raises(error) as caught:
        misuse(name)
    assert len(str(caught.value)) > 20


def test_factors_are_checked() -> None:
    for options in ({"growth_factor": 1.0}, {"backoff_factor": 1.0}):
        with pytest.raises(AssertionError):
            torch.amp.GradScaler("cpu", **options)
    scaler = torch.amp.GradScaler("cpu")
    scaler.set_growth_factor(3.0), scaler.set_backoff_factor(0.3), scaler.set_growth_interval(5)
    assert (scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()) == (3.0, 0.3, 5)


def test_state() -> None:
    scaler, (w,), (optimizer,) = scaler_and(growth_interval=2)

    def step(scaler: Any) -> None:
        optimizer.zero_grad()
        scaler.scale(w.sum()).backward()
        scaler.step(optimizer)
        scaler.update()

    step(scaler)
    state = scaler.state_dict()
    assert state == {
        "scale": 65536.0,
        "growth_factor": 2.0,
        "backoff_factor": 0.5,
        "growth_interval": 2,
        "_growth_tracker": 1,
    }
    other = torch.amp.GradScaler("cpu", init_scale=3.0)
    other.load_state_dict(state)
    for same in (other, pickle.loads(pickle.dumps(scaler)), copy.deepcopy(scaler)):
        assert same.state_dict() == state
        step(same)
        assert same.get_scale() == 131072
    assert scaler.get_scale() == 65536
    with pytest.raises(RuntimeError):
        scaler.load_state_dict({})


def test_disabled() -> None:
    for scaler in (torch.amp.GradScaler("cpu", enabled=False), torch.cpu.amp.GradScaler(enabled=False)):
        w = nn.Parameter(torch.ones(2))
        optimizer = torch.optim.SGD([w], lr=0.5)
        loss = w.sum()
        assert scaler.scale(loss) is loss and not scaler.is_enabled() and scaler.state_dict() == {}
        loss.backward()
        scaler.unscale_(optimizer), scaler.step(optimizer), scaler.update(), scaler.load_state_dict({})
        assert w.tolist() == [0.5, 0.5] and scaler.get_scale() == 1


# ---- Training


def losses(half: Any, steps: int = 60) -> list[float]:
    torch.manual_seed(0)
    inputs = torch.randn(64, 1, 8, 8)
    labels = (inputs[:, 0, :4].sum((1, 2)) > 0).long() + 2 * (inputs[:, 0, :, :4].sum((1, 2)) > 0).long()
    net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 4))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", enabled=half == torch.float16, growth_interval=20)
    seen = []
    for _ in range(steps):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=half or torch.bfloat16, enabled=half is not None):
            loss = F.cross_entropy(net(inputs), labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        scaler.step(optimizer)
        scaler.update()
        seen.append(loss.item())
    assert all(p.dtype == torch.float32 for p in net.parameters())
    return seen


@halves
def test_training_reaches_the_loss_of_float32(half: Any) -> None:
    full, low = losses(None), losses(half)
    assert full[-1] < 0.2 * full[0]
    assert abs(low[-1] - full[-1]) < 0.05 * full[0]
    assert max(abs(a - b) for a, b in zip(low[:10], full[:10], strict=True)) < 0.05 * full[0]


@halves
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "NAdam", "RAdam", "Adamax"])
def test_optimizers_step_half_parameters(name: str, half: Any) -> None:
    results = []
    for dtype in (torch.float32, half):
        w = nn.Parameter(torch.tensor([1.0, -2.0, 0.5], dtype=dtype))
        optimizer = getattr(torch.optim, name)([w], lr=0.125)
        for _ in range(3):
            optimizer.zero_grad()
            (w * w).sum().backward()
            nn.utils.clip_grad_norm_([w], 2.0)
            optimizer.step()
        assert w.dtype == dtype
        results.append(w.detach().float())
    torch.testing.assert_close(results[1], results[0], rtol=0.04, atol=0.02)


@halves
def test_half_batches(half: Any) -> None:
    data = torch.arange(12.0).view(6, 2).to(half)
    batches = list(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(data), batch_size=4))
    assert (
        batches[0][0].dtype == half and batches[0][0].shape == (4, 2) and batches[1][0].float().sum() == 8 + 9 + 10 + 11
    )
