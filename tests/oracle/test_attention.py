"""Attention and transformers beside PyTorch's: text, state, first values, values, gradients, dropout."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import rushlight as rl  # noqa: E402

from .test_nn import build_both, close  # noqa: E402
from .test_rnn import f32, same_module, same_results  # noqa: E402

SOME = np.random.default_rng(2).random((5, 6)) < 0.6
SDPA = {
    "plain": {},
    "causal": {"is_causal": True},
    "bool": {"attn_mask": SOME},
    "nowhere": {"attn_mask": SOME & (np.arange(5) != 2)[:, None]},
    "float": {"attn_mask": f32(2, 1, 5, 6), "scale": 0.4},
    "dropout": {"dropout_p": 0.4},
    "all": {"attn_mask": SOME, "dropout_p": 0.2, "scale": 2.0},
}


@pytest.mark.parametrize("options", SDPA.values(), ids=SDPA)
@pytest.mark.parametrize("heads", [3, 1])
def test_scaled_dot_product(options, heads):
    results = []
    for lib in (rl, torch):
        q, k, v = (
            lib.from_numpy(a).requires_grad_() for a in (f32(2, 3, 5, 4), f32(2, heads, 6, 4), f32(2, heads, 6, 7))
        )
        given = {n: lib.from_numpy(o) if isinstance(o, np.ndarray) else o for n, o in options.items()}
        if heads == 1:
            given["enable_gqa"] = True
        lib.manual_seed(4)
        y = lib.nn.functional.scaled_dot_product_attention(q, k, v, **given)
        (y * y).sum().backward()
        results.append([y, q.grad, k.grad, v.grad])
    for a, b in zip(*results, strict=True):
        close(a, b, 1e-5, 1e-5)


ATTENTION = {
    "plain": lambda nn: nn.MultiheadAttention(8, 2),
    "all": lambda nn: nn.MultiheadAttention(8, 2, 0.3, True, True, True, 3, 4, True),
    "no bias": lambda nn: nn.MultiheadAttention(8, 2, bias=False, add_bias_kv=True, batch_first=True),
    "zero": lambda nn: nn.MultiheadAttention(8, 4, 0.2, add_zero_attn=True),
}


@pytest.mark.parametrize("build", ATTENTION.values(), ids=ATTENTION)
@pytest.mark.parametrize("options", [{}, {"need_weights": False}, {"average_attn_weights": False}])
def test_multi_head(build, options):
    ours, theirs = build_both(build)
    same_module(ours, theirs)
    first = ours.batch_first
    arrays = [f32(*((3, n) if first else (n, 3)), size) for n, size in ((5, 8), (6, ours.kdim), (6, ours.vdim))]
    padding = np.arange(6) >= np.array([[6], [4], [5]])

    def run(masks):
        def call(lib, module, q, k, v):
            given = {name: lib.from_numpy(m) for name, m in masks.items()}
            y, w = module(q, k, v, **given, **options)
            return [y] if w is None else [y, w]

        return call

    added = lambda m: np.where(m, 0, -np.inf).astype("float32")
    for training in (True, False):
        ours.train(training), theirs.train(training)
        same_results(ours, theirs, arrays, run({}))
        same_results(ours, theirs, arrays, run({"key_padding_mask": padding}))
        same_results(ours, theirs, arrays, run({"attn_mask": ~(SOME | (np.arange(6) < 2))}))
        same_results(ours, theirs, arrays, run({"attn_mask": f32(3 * ours.num_heads, 5, 6)}))
        both = {"attn_mask": f32(5, 6), "key_padding_mask": added(~padding)}
        same_results(ours, theirs, arrays, run(both))
        unbatched = [a[0] if first else a[:, 0] for a in arrays]
        same_results(ours, theirs, unbatched, run({"key_padding_mask": padding[1]}))


def test_self_attention():
    ours, theirs = build_both(lambda nn: nn.MultiheadAttention(8, 2, batch_first=True))
    same_results(ours, theirs, [f32(3, 5, 8)], lambda lib, m, x: m(x, x, x))
    same_results(ours, theirs, [f32(3, 5, 8), f32(3, 6, 8)], lambda lib, m, x, y: m(x, y, y))


MODELS = {
    "encoder layer": lambda nn: nn.TransformerEncoderLayer(8, 2, 16, 0.1),
    "encoder layer gelu": lambda nn: nn.TransformerEncoderLayer(8, 2, 16, 0.3, "gelu", 1e-3, True, True, False),
    "encoder": lambda nn: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, activation=nn.GELU()), 2),
    "encoder norm": lambda nn: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2, nn.LayerNorm(8)),
    "decoder layer": lambda nn: nn.TransformerDecoderLayer(8, 2, 16, 0.2, norm_first=True),
    "decoder": lambda nn: nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, bias=False), 2, nn.LayerNorm(8)),
    "both": lambda nn: nn.Transformer(8, 2, 2, 2, 16, 0.1),
    "both gelu": lambda nn: nn.Transformer(8, 4, 1, 2, 16, 0.0, "gelu", batch_first=True, norm_first=True, bias=False),
}


@pytest.mark.parametrize("name, build", MODELS.items(), ids=MODELS)
def test_transformer(name, build):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch says which layers take its fast path
        ours, theirs = build_both(build)
    same_module(ours, theirs)
    first = "gelu" in name
    x, y = f32(*((3, 5) if first else (5, 3)), 8), f32(*((3, 6) if first else (6, 3)), 8)
    padding = np.arange(5) >= np.array([[5], [4], [3]])

    def plain(lib, m, x, *y):
        return m(*y, x) if "decoder" in name else m(x, *y)

    def masked(lib, m, x, *y):
        causal = lib.nn.Transformer.generate_square_subsequent_mask((y or (x,))[0].shape[1 if first else 0])
        hidden = lib.from_numpy(np.where(padding, -np.inf, 0).astype("float32"))
        if "decoder" in name:
            return m(y[0], x, tgt_mask=causal, tgt_is_causal=True, memory_key_padding_mask=hidden)
        if "both" in name:
            masks = {"src_key_padding_mask": hidden, "memory_key_padding_mask": hidden}
            return m(x, y[0], tgt_mask=causal, **masks)
        return m(x, causal, src_key_padding_mask=hidden)

    arrays = [x] if "encoder" in name else [x, y]
    for training in (True, False):
        ours.train(training), theirs.train(training)
        same_results(ours, theirs, arrays, plain, 1e-4)
        same_results(ours, theirs, arrays, masked, 1e-4)
    ours.load_state_dict({k: rl.from_numpy(v.numpy()) for k, v in theirs.state_dict().items()})


def test_square_subsequent_mask():
    a, b = (lib.nn.Transformer.generate_square_subsequent_mask(4) for lib in (rl, torch))
    assert a.tolist() == b.tolist()
