"""Attention and transformers against NumPy."""

import copy
import itertools
import math
import pickle

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional as F

RNG = np.random.default_rng(0)


def arrays(*shapes):
    rng = np.random.default_rng(1)
    return [rng.standard_normal(s) for s in shapes]


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attend(q, k, v, mask=None, scale=None):
    """NumPy's; the mask is added. Rows masked as a whole give zeros."""
    scores = q @ np.swapaxes(k, -2, -1) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is None:
        return softmax(scores) @ v
    scores = scores + mask
    nowhere = np.isneginf(scores).all(-1, keepdims=True)
    return np.where(nowhere, 0, softmax(np.where(nowhere, 0, scores))) @ v


def close(a, b, rtol=1e-10, atol=1e-12):
    np.testing.assert_allclose(a.detach().numpy(), b, rtol=rtol, atol=atol)


def added(mask):
    """A bool mask, True where a query may look, as one to add."""
    return np.where(mask, 0.0, -np.inf)


CAUSAL = np.tril(np.ones((5, 6), bool))
SOME = np.random.default_rng(2).random((5, 6)) < 0.6
DEAD = SOME & (np.arange(5) != 3)[:, None]
MASKS = {
    "none": (None, None),
    "bool": (SOME, added(SOME)),
    "dead": (DEAD, added(DEAD)),
    "dead float": (added(DEAD), added(DEAD)),
    "float": (RNG.standard_normal((5, 6)),) * 2,
    "each": (RNG.standard_normal((2, 3, 5, 6)),) * 2,
    "padding": (SOME[:2, None, None], added(SOME[:2, None, None])),
    "row": (SOME[0], added(SOME[0])),
}


@pytest.mark.parametrize("mask, bias", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("scale", [None, 0.3])
def test_scaled_dot_product(mask, bias, scale):
    q, k, v = arrays((2, 3, 5, 4), (2, 3, 6, 4), (2, 3, 6, 7))
    tensors = [rl.tensor(a, requires_grad=True) for a in (q, k, v)]
    given = None if mask is None else rl.tensor(mask)
    run = lambda *t: F.scaled_dot_product_attention(*t, given, scale=scale)
    close(run(*tensors), attend(q, k, v, bias, scale))
    if scale is None:
        assert rl.autograd.gradcheck(run, tensors)
        run(*tensors).sum().backward()
        assert all(bool(t.grad.isfinite().all()) for t in tensors)


def test_causal_and_other_shapes():
    q, k, v = arrays((5, 4), (6, 4), (6, 4))
    close(F.scaled_dot_product_attention(*map(rl.tensor, (q, k, v)), is_causal=True), attend(q, k, v, added(CAUSAL)))
    q, k, v = arrays((2, 3, 5, 4), (3, 6, 4), (1, 3, 6, 4))
    close(F.scaled_dot_product_attention(*map(rl.tensor, (q, k, v))), attend(q, k, v))


def test_grouped_queries():
    q, k, v = arrays((2, 6, 5, 4), (2, 3, 5, 4), (2, 1, 5, 4))
    expected = attend(q, k.repeat(2, 1), v.repeat(6, 1))
    close(F.scaled_dot_product_attention(*map(rl.tensor, (q, k, v)), enable_gqa=True), expected)


def test_dropout_of_weights():
    q, k = rl.randn(2, 5, 4), rl.randn(2, 6, 4)
    y = F.scaled_dot_product_attention(q, k, rl.eye(6).expand(2, 6, 6), dropout_p=0.5)
    weights = F.scaled_dot_product_attention(q, k, rl.eye(6).expand(2, 6, 6))
    kept = y != 0
    assert 0 < int(kept.sum()) < kept.numel()
    close(y[kept], (2 * weights[kept]).numpy(), 1e-6)


Q, K = rl.ones(2, 3, 5, 4), rl.ones(2, 3, 6, 4)
SDPA_ERRORS = [
    ((Q[0, 0, 0], K, K), {}, RuntimeError, r"at least 2 dimensions.*query \(4,\)"),
    ((Q, K.double(), K), {}, RuntimeError, "same dtype, got torch.float32, torch.float64"),
    ((Q.long(), K.long(), K.long()), {}, RuntimeError, "floating point dtype, got torch.int64"),
    ((Q[..., :3], K, K), {}, RuntimeError, r"as many features.*query \(2, 3, 5, 3\)"),
    ((Q, K, K[:, :, :5]), {}, RuntimeError, r"the same length; got.*value \(2, 3, 5, 4\)"),
    ((Q, K, K, rl.zeros(5, 5)), {}, RuntimeError, "5"),
    ((Q, K, K, rl.zeros(5, 6).long()), {}, RuntimeError, "bool or of query's dtype, got torch.int64.*\n.*hint"),
    ((Q, K, K, rl.zeros(5, 6)), {"is_causal": True}, RuntimeError, "hint: put the causal part into the mask"),
    ((Q, K, K), {"dropout_p": 1.5}, RuntimeError, "between 0 and 1, but got 1.5"),
    ((Q, K[:, :2], K), {"enable_gqa": True}, RuntimeError, r"multiple of those of key, got.*\(2, 2, 6, 4\)"),
    ((Q, 3, K), {}, TypeError, "key must be a Tensor, not int"),
]


@pytest.mark.parametrize("args, options, kind, message", SDPA_ERRORS)
def test_scaled_dot_product_errors(args, options, kind, message):
    with pytest.raises(kind, match=message):
        F.scaled_dot_product_attention(*args, **options)


def multi_head(layer, query, key, value, mask=None, padding=None):
    """NumPy's output and weights for a batch (L, N, E); masks are added, (L, S) or (N, H, L, S) and (N, S)."""
    p = {name: t.detach().numpy() for name, t in layer.named_parameters()}
    size, heads = layer.embed_dim, layer.num_heads
    names = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
    weights = np.split(p["in_proj_weight"], 3) if "in_proj_weight" in p else [p[name] for name in names]
    biases = np.split(p.get("in_proj_bias", np.zeros(3 * size)), 3)
    q, k, v = (x @ w.T + b for x, w, b in zip((query, key, value), weights, biases, strict=True))
    length, batch, _ = q.shape
    if "bias_k" in p:
        k, v = (np.concatenate([x, np.repeat(p[n], batch, 1)]) for x, n in ((k, "bias_k"), (v, "bias_v")))
    if layer.add_zero_attn:
        k, v = (np.concatenate([x, np.zeros((1, batch, size))]) for x in (k, v))
    q, k, v = (x.reshape(len(x), batch, heads, size // heads).transpose(1, 2, 0, 3) for x in (q, k, v))
    bias = np.zeros((batch, heads, length, k.shape[2]))
    source = key.shape[0]
    if mask is not None:
        bias[..., :source] += mask
    if padding is not None:
        bias[..., :source] += padding[:, None, None]
    weights = softmax(q @ k.transpose(0, 1, 3, 2) * (size // heads) ** -0.5 + bias)
    y = (weights @ v).transpose(2, 0, 1, 3).reshape(length, batch, size)
    return y @ p["out_proj.weight"].T + p.get("out_proj.bias", 0), weights


OPTIONS = [
    {},
    {"bias": False, "add_zero_attn": True},
    {"add_bias_kv": True, "add_zero_attn": True, "batch_first": True},
    {"kdim": 3, "vdim": 5, "add_bias_kv": True},
]


def random_layer(options):
    layer = nn.MultiheadAttention(8, 2, dtype=rl.float64, **options)
    for p in layer.parameters():
        nn.init.normal_(p)
    return layer


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(o) or "plain")
@pytest.mark.parametrize("masked", ["no", "bool", "float", "each"])
def test_multi_head(options, masked):
    layer = random_layer(options)
    query, key, value = arrays((5, 3, 8), (6, 3, layer.kdim), (6, 3, layer.vdim))
    mask = padding = given = given_padding = None
    if masked != "no":
        padding = added(np.arange(6) < np.array([[6], [4], [5]]))
        mask = added(SOME | (np.arange(6) < 2)) if masked != "each" else arrays((6, 5, 6))[0]
        bool_mask = masked == "bool"
        given, given_padding = (rl.tensor(np.isneginf(m) if bool_mask else m) for m in (mask, padding))
        mask = mask.reshape(3, 2, 5, 6) if masked == "each" else mask
    expected, weights = multi_head(layer, query, key, value, mask, padding)
    turn = (lambda a: np.swapaxes(a, 0, 1)) if layer.batch_first else (lambda a: a)
    tensors = [rl.tensor(turn(a)) for a in (query, key, value)]
    call = lambda **more: layer(*tensors, attn_mask=given, key_padding_mask=given_padding, **more)
    y, w = call()
    close(y, turn(expected))
    close(w, weights.mean(1))
    close(call(average_attn_weights=False)[1], weights)
    y, w = call(need_weights=False)
    close(y, turn(expected))
    assert w is None
    if masked == "no":  # without a batch
        y, w = layer(*(rl.tensor(a[:, 0]) for a in (query, key, value)))
        close(y, expected[:, 0])
        close(w, weights[0].mean(0))


def test_one_product_where_inputs_are_the_same():
    layer = random_layer({})
    x, y = arrays((5, 3, 8), (6, 3, 8))
    a, b = rl.tensor(x), rl.tensor(y)
    close(layer(a, a, a)[0], multi_head(layer, x, x, x)[0])
    close(layer(a, b, b)[0], multi_head(layer, x, y, y)[0])
    close(layer(a, b, b.clone())[0], multi_head(layer, x, y, y)[0])


def test_multi_head_gradients():
    layer = random_layer({"add_bias_kv": True, "add_zero_attn": True})
    names = [n for n, _ in layer.named_parameters(recurse=False)]

    def run(x, y, *weights):
        layer._parameters.update(zip(names, weights, strict=True))
        return layer(x, y, y)[0]

    inputs = [rl.randn(s, dtype=rl.float64).requires_grad_() for s in ((2, 1, 8), (3, 1, 8))]
    inputs += [layer._parameters[n].detach().clone().requires_grad_() for n in names]
    assert rl.autograd.gradcheck(run, inputs)


def test_static_key_and_value():
    layer = random_layer({})
    x, k, v = arrays((5, 3, 8), (6, 4, 4), (6, 4, 4))
    p = layer.state_dict()
    run = lambda **more: F.multi_head_attention_forward(
        *(rl.tensor(x),) * 3, 8, 2, p["in_proj_weight"], p["in_proj_bias"], None, None, False, 0.0,
        p["out_proj.weight"], p["out_proj.bias"], **more,
    )  # fmt: skip
    y, w = run(static_k=rl.tensor(k), static_v=rl.tensor(v))
    assert y.shape == (5, 3, 8) and w.shape == (3, 5, 4)
    with pytest.raises(AssertionError, match=r"static_k of shape \(6, length, 4\), but got \(2, 4, 4\)"):
        run(static_k=rl.tensor(k[:2]), static_v=rl.tensor(v))


def test_nowhere_to_look():
    layer = nn.MultiheadAttention(8, 2)
    x, mask = rl.randn(5, 3, 8), rl.ones(3, 5, dtype=rl.bool)
    assert bool(layer(x, x, x, mask)[0].isnan().all())
    close(layer(x, x, x, mask, need_weights=False)[0], np.broadcast_to(layer.out_proj.bias.detach().numpy(), (5, 3, 8)))


X, MHA = rl.ones(5, 3, 8), nn.MultiheadAttention(8, 2)
ERRORS = [
    (lambda: nn.MultiheadAttention(8, 3), AssertionError, "got 8 and 3"),
    (lambda: nn.MultiheadAttention(0, 3), ValueError, "embed_dim=0"),
    (lambda: MHA(X[0, 0], X, X), AssertionError, r"received 1-D query \(8,\)"),
    (lambda: MHA(X, X[0], X[0]), AssertionError, r"For batched \(3-D\) query.*2-D \(3, 8\)"),
    (lambda: MHA(X[0], X, X), AssertionError, r"For unbatched \(2-D\) query"),
    (lambda: MHA(X[..., :7], X, X), AssertionError, r"embedding dimension of 8, but query is \(5, 3, 7\)"),
    (lambda: MHA(X, X, X[:4]), AssertionError, r"key shape \(5, 3, 8\) does not match value shape \(4, 3, 8\)"),
    (lambda: MHA(X, X[:, :2], X[:, :2]), RuntimeError, "other batch sizes\n.*hint.*batch_first"),
    (lambda: nn.MultiheadAttention(8, 2, kdim=3)(X, X, X), AssertionError, r"key weights shape of \(8, 8\)"),
    (lambda: MHA(X, X, X, rl.zeros(5, 3)), AssertionError, r"of shape \(3, 5\).*got \(5, 3\)"),
    (lambda: MHA(X, X, X, rl.zeros(3)), AssertionError, r"None or 2-D but found \(3,\)"),
    (lambda: MHA(X, X, X, rl.zeros(3, 5).long()), AssertionError, "bool and floating types.*int64"),
    (lambda: MHA(X, X, X, attn_mask=rl.zeros(5, 6)), RuntimeError, r"2D attn_mask is \(5, 6\).*be \(5, 5\)"),
    (lambda: MHA(X, X, X, attn_mask=rl.zeros(3, 5, 5)), RuntimeError, r"3D attn_mask is.*be \(6, 5, 5\)"),
    (lambda: MHA(X, X, X, attn_mask=rl.zeros(5)), AssertionError, "None, 2-D or 3-D"),
    (lambda: MHA(X, X, X, attn_mask=rl.zeros(5, 5).double()), RuntimeError, "dtype torch.float64"),
    (lambda: MHA(X[:, 0], X[:, 0], X[:, 0], attn_mask=rl.zeros(6, 5, 5)), AssertionError, r"\(2, 5, 5\)"),
    (lambda: MHA(X, X, X, is_causal=True), RuntimeError, "hint: nn.Transformer.generate_square"),
    (lambda: nn.TransformerEncoderLayer(8, 2, activation="selu"), RuntimeError, "not selu\n.*hint"),
    (lambda: nn.Transformer(8, 2, 1, 1, 8)(X, X[:, :2]), RuntimeError, "batch number.*\n.*hint"),
    (lambda: nn.Transformer(8, 2, 1, 1, 8)(X, X[..., :7]), RuntimeError, r"d_model, 8, got.*\(5, 3, 7\)"),
]


@pytest.mark.parametrize("call, kind, message", ERRORS)
def test_errors(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_masks_of_two_kinds_warn():
    with pytest.warns(UserWarning, match="mismatched"):
        MHA(X, X, X, rl.zeros(3, 5, dtype=rl.bool), attn_mask=rl.zeros(5, 5))


def norm(layer, x):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(var + layer.eps) * layer.weight.detach().numpy() + layer.bias.detach().numpy()


def encoder_layer(layer, x, memory=None, mask=None):
    """NumPy's TransformerEncoderLayer, or DecoderLayer with memory."""
    linear = lambda m, x: x @ m.weight.detach().numpy().T + m.bias.detach().numpy()
    relu = lambda x: np.maximum(x, 0)
    parts = [lambda x: multi_head(layer.self_attn, x, x, x, mask)[0]]
    if memory is not None:
        parts.append(lambda x: multi_head(layer.multihead_attn, x, memory, memory)[0])
    parts.append(lambda x: linear(layer.linear2, relu(linear(layer.linear1, x))))
    for i, part in enumerate(parts, 1):
        own = getattr(layer, f"norm{i}")
        x = x + part(norm(own, x)) if layer.norm_first else norm(own, x + part(x))
    return x


@pytest.mark.parametrize("norm_first, batch_first", list(itertools.product([False, True], repeat=2)))
def test_layers(norm_first, batch_first):
    options = {"norm_first": norm_first, "batch_first": batch_first, "dtype": rl.float64}
    x, memory = arrays((5, 3, 8), (4, 3, 8))
    mask = added(np.tril(np.ones((5, 5), bool)))
    turn = (lambda a: np.swapaxes(a, 0, 1)) if batch_first else (lambda a: a)
    layer = nn.TransformerEncoderLayer(8, 2, 16, **options).eval()
    causal = nn.Transformer.generate_square_subsequent_mask(5, dtype=rl.float64)
    close(causal, mask)
    close(layer(rl.tensor(turn(x))), turn(encoder_layer(layer, x)))
    close(layer(rl.tensor(turn(x)), causal, is_causal=True), turn(encoder_layer(layer, x, mask=mask)))
    layer = nn.TransformerDecoderLayer(8, 2, 16, **options).eval()
    y = layer(rl.tensor(turn(x)), rl.tensor(turn(memory)), tgt_mask=causal)
    close(y, turn(encoder_layer(layer, x, memory, mask)))


def test_stacks():
    layer = nn.TransformerEncoderLayer(8, 2, 16, dtype=rl.float64)
    encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8, dtype=rl.float64)).eval()
    (x,) = arrays((5, 3, 8))
    expected = norm(encoder.norm, encoder_layer(encoder.layers[1], encoder_layer(encoder.layers[0], x)))
    close(encoder(rl.tensor(x)), expected)
    assert encoder.layers[0].linear1.weight is not encoder.layers[1].linear1.weight
    model = nn.Transformer(8, 2, 2, 1, 16, dtype=rl.float64).eval()
    memory = x
    for one in model.encoder.layers:
        memory = encoder_layer(one, memory)
    memory = norm(model.encoder.norm, memory)
    y = norm(model.decoder.norm, encoder_layer(model.decoder.layers[0], x, memory))
    close(model(rl.tensor(x), rl.tensor(x)), y)
    assert model(rl.tensor(x[:, 0]), rl.tensor(x[:, 0])).shape == (5, 8)


@pytest.mark.parametrize("activation", ["relu", "gelu", rl.tanh, nn.SiLU()])
def test_activations_copies_and_pickles(activation):
    layer = nn.TransformerEncoderLayer(8, 2, 16, activation=activation).eval()
    x = rl.randn(5, 3, 8)
    y = layer(x)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert other(x).equal(y)


def test_masked_positions_do_not_matter():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2).eval()
    x, padding = rl.randn(2, 5, 8), rl.tensor([[False] * 5, [False] * 3 + [True] * 2])
    y = encoder(x, src_key_padding_mask=padding)
    changed = x.clone()
    changed[1, 3:] = 7.0
    z = encoder(changed, src_key_padding_mask=padding)
    close(y[0], z[0].detach().numpy())
    close(y[1, :3], z[1, :3].detach().numpy())
    assert math.isfinite(float(y.sum()))
