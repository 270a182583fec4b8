"""The functions of attention; nn.functional exports them."""

from __future__ import annotations

import math

import rushlight as rl

from .. import _C, Tensor
from .._autocast import in_lower_precision
from .._warnings import warn


@in_lower_precision
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query @ key.T * scale + mask) @ value (Vaswani et al. 2017).

    Args:
        query: (..., L, E).
        key: (..., S, E), of query's dtype, as is ``value``.
        value: (..., S, E_v).
        attn_mask: broadcast to (..., L, S). Bool: True where a query may look at a key. Floating point, of query's
            dtype: added to the scores. A query that may look nowhere gets zeros.
        dropout_p: the probability of dropping an attention weight. Applies whenever it is not 0: pass 0 in evaluation.
        is_causal: query i looks at keys 0 to i. Goes without a mask.
        scale: 1 / sqrt(E) unless given.
        enable_gqa: the third dimension from the end counts heads; those of key and value may be fewer than query's by a
            whole factor, and each serves as many of query's (Ainslie et al. 2023).

    Returns:
        (..., L, E_v).

    Raises:
        RuntimeError: shapes or dtypes do not fit, a mask is given besides ``is_causal``, or ``dropout_p`` is no
            probability.

    Example:
        >>> import rushlight as rl
        >>> q, k, v = rl.randn(2, 8, 5, 16), rl.randn(2, 8, 7, 16), rl.randn(2, 8, 7, 16)
        >>> rl.nn.functional.scaled_dot_product_attention(q, k, v).shape
        torch.Size([2, 8, 5, 16])
    """
    _check_operands(query, key, value)
    if not 0 <= dropout_p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p}")
    if enable_gqa:
        key, value = (_repeated_heads(query, t, name) for t, name in ((key, "key"), (value, "value")))
    nowhere = None
    if is_causal:
        if attn_mask is not None:
            raise RuntimeError(
                "scaled_dot_product_attention: an attn_mask should not be set when is_causal=True\n"
                "  hint: put the causal part into the mask: mask & rl.ones(L, S, dtype=rl.bool).tril()"
            )
        shape = (query.shape[-2], key.shape[-2])
        bias = query.new_full(shape, -math.inf).triu(1)
    elif attn_mask is None:
        bias = None
    else:
        bias, nowhere = _bias_of(attn_mask, query)
    if scale is None:
        scale = 1 / math.sqrt(max(query.shape[-1], 1))
    scores = (query * scale).matmul(key.transpose(-2, -1))
    if bias is not None:
        scores.add_(bias)
    weights = _C.softmax(scores, -1)
    if nowhere is not None:
        weights = weights.masked_fill(nowhere, 0.0)
    if dropout_p > 0:
        weights = _C.dropout(weights, dropout_p, True)
    return weights.matmul(value)


def _check_operands(query, key, value):
    for name, t in (("query", query), ("key", key), ("value", value)):
        if not isinstance(t, Tensor):
            raise TypeError(f"scaled_dot_product_attention: {name} must be a Tensor, not {type(t).__name__}")
    shapes = lambda: f"query {tuple(query.shape)}, key {tuple(key.shape)}, value {tuple(value.shape)}"
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError(
            f"scaled_dot_product_attention: expected at least 2 dimensions (length, features), got {shapes()}"
        )
    if not query.dtype == key.dtype == value.dtype:
        raise RuntimeError(
            "scaled_dot_product_attention: query, key and value must have the same dtype, got "
            f"{query.dtype}, {key.dtype} and {value.dtype}"
        )
    if not query.is_floating_point():
        raise RuntimeError(f"scaled_dot_product_attention: expected a floating point dtype, got {query.dtype}")
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise RuntimeError(
            "scaled_dot_product_attention: query and key must have as many features, key and value the same length; "
            f"got {shapes()}"
        )


def _repeated_heads(query, t, name):
    if min(query.dim(), t.dim()) < 3 or query.shape[-3] % t.shape[-3]:
        raise RuntimeError(
            f"scaled_dot_product_attention: enable_gqa wants query's heads to be a multiple of those of {name}, got "
            f"query {tuple(query.shape)} and {name} {tuple(t.shape)}, where heads are the third dimension from the end"
        )
    times = query.shape[-3] // t.shape[-3]
    return t if times == 1 else t.repeat_interleave(times, -3)


def _bias_of(mask, query):
    """The mask as something to add, and where rows are that are masked as a whole, or None.

    Such rows are left open, and their weights zeroed after the softmax, which would make them NaN.
    """
    if mask.dtype == rl.bool:
        bias = _minus_infinity(mask.logical_not(), query.dtype)
    elif mask.dtype == query.dtype:
        bias = mask
    else:
        raise RuntimeError(
            "scaled_dot_product_attention: expected attn_mask to be bool or of query's dtype, got "
            f"{mask.dtype} and {query.dtype}\n  hint: bool says where a query may look; a floating point mask is added"
        )
    if mask.is_meta or mask.dim() == 0:
        return bias, None
    nowhere = (bias == -math.inf).all(-1, keepdim=True)
    if not bool(nowhere.any()):
        return bias, None
    return bias.masked_fill(nowhere, 0.0), nowhere


def _minus_infinity(where, dtype):
    return rl.zeros_like(where, dtype=dtype).masked_fill_(where, -math.inf)


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """What ``nn.MultiheadAttention`` computes, its parameters given one by one.

    Args:
        query: (L, N, E), or (L, E) without a batch.
        key, value: (S, N, E), or (S, E); other sizes than E with separate weights.
        embed_dim_to_check: E.
        in_proj_weight, in_proj_bias: (3 E, E) and (3 E), for query, key and value in this order.
        bias_k, bias_v: (1, 1, E), one more key and value for all.
        add_zero_attn: one more key and value of zeros.
        use_separate_proj_weight: take q_proj_weight, k_proj_weight and v_proj_weight instead of in_proj_weight.
        static_k, static_v: (N * num_heads, S, E / num_heads), in place of projected key and value.
        Others as for ``nn.MultiheadAttention.forward``.

    Returns:
        The output, like ``query``, and the weights or None.

    Raises:
        AssertionError, RuntimeError: shapes or dtypes do not fit, or ``is_causal`` without a mask.

    Example:
        >>> import rushlight as rl
        >>> x, w, b = rl.ones(5, 2, 4), rl.ones(12, 4), rl.zeros(12)
        >>> attend = rl.nn.functional.multi_head_attention_forward
        >>> y, weights = attend(x, x, x, 4, 2, w, b, None, None, False, 0.0, rl.ones(4, 4), rl.zeros(4))
        >>> y.shape, weights.shape
        (torch.Size([5, 2, 4]), torch.Size([2, 5, 5]))
    """
    batched = _check_batch(query, key, value, key_padding_mask, attn_mask, num_heads)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint\n"
            "  hint: nn.Transformer.generate_square_subsequent_mask(length) makes that mask"
        )
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, embed_dim = query.shape
    head_dim = embed_dim // num_heads
    _require(
        embed_dim == embed_dim_to_check,
        lambda: f"was expecting embedding dimension of {embed_dim_to_check}, but query is {tuple(query.shape)}",
    )
    _require(head_dim * num_heads == embed_dim, lambda: f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")

    if use_separate_proj_weight:
        _require(
            key.shape[:2] == value.shape[:2],
            lambda: (
                f"key's sequence and batch dims {tuple(key.shape[:2])} do not match value's {tuple(value.shape[:2])}"
            ),
        )
    else:
        _require(
            key.shape == value.shape,
            lambda: f"key shape {tuple(key.shape)} does not match value shape {tuple(value.shape)}",
        )
    if key.shape[1] != batch:
        raise RuntimeError(
            f"multi_head_attention: query {tuple(query.shape)} and key {tuple(key.shape)} have other batch sizes\n"
            "  hint: the shape is (length, batch, features), or (batch, length, features) with batch_first=True"
        )
    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else in_proj_weight
    q, k, v = _project(query, key, value, weights, in_proj_bias)

    extra = 0
    if bias_k is not None and bias_v is not None:
        _require(
            static_k is None and static_v is None, lambda: "bias_k and bias_v cannot be added to static key and value"
        )
        k, v = (rl.cat([t, b.expand(1, batch, embed_dim)]) for t, b in ((k, bias_k), (v, bias_v)))
        extra += 1
    heads = lambda t: t.reshape(t.shape[0], batch, num_heads, head_dim).permute(1, 2, 0, 3)  # (batch, heads, length, _)
    q = heads(q)
    k = heads(k) if static_k is None else _static(static_k, "static_k", batch, num_heads, head_dim)
    v = heads(v) if static_v is None else _static(static_v, "static_v", batch, num_heads, head_dim)
    if add_zero_attn:
        k, v = (rl.cat([t, t.new_zeros((batch, num_heads, 1, head_dim))], 2) for t in (k, v))
        extra += 1

    mask = _merged_mask(attn_mask, key_padding_mask, q, k.shape[2], extra)
    dropout_p = dropout_p if training else 0.0
    if need_weights:
        scores = (q * math.sqrt(1 / head_dim)).matmul(k.transpose(-2, -1))
        attention = _C.softmax(scores if mask is None else scores.add_(mask), -1)
        if dropout_p > 0:
            attention = _C.dropout(attention, dropout_p, True)
        output = attention.matmul(v)
    else:
        output = scaled_dot_product_attention(q, k, v, mask, dropout_p)
    output = output.permute(2, 0, 1, 3).reshape(length * batch, embed_dim)
    output = _C.linear(output, out_proj_weight, out_proj_bias).view(length, batch, out_proj_weight.shape[0])
    if not batched:
        output = output.squeeze(1)
    if not need_weights:
        return output, None
    if average_attn_weights:
        attention = attention.mean(1)
    return output, attention if batched else attention.squeeze(0)


def _require(condition, message):
    if not condition:
        raise AssertionError(f"multi_head_attention: {message()}")


def _check_batch(query, key, value, key_padding_mask, attn_mask, num_heads):
    """Whether the input comes as a batch; checks that all of it does or none."""
    _require(
        query.dim() in (2, 3),
        lambda: (
            f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query {tuple(query.shape)}"
        ),
    )
    batched = query.dim() == 3
    kind = "batched (3-D)" if batched else "unbatched (2-D)"
    dims = query.dim()
    _require(
        key.dim() == value.dim() == dims,
        lambda: (
            f"For {kind} query, expected key and value to be {dims}-D but found {key.dim()}-D {tuple(key.shape)} and "
            f"{value.dim()}-D {tuple(value.shape)}"
        ),
    )
    _require(
        key_padding_mask is None or key_padding_mask.dim() == dims - 1,
        lambda: (
            f"For {kind} query, expected key_padding_mask to be None or {dims - 1}-D but found "
            f"{tuple(key_padding_mask.shape)}"
        ),
    )
    if attn_mask is not None:
        _require(
            attn_mask.dim() in (2, 3),
            lambda: f"For {kind} query, expected attn_mask to be None, 2-D or 3-D but found {tuple(attn_mask.shape)}",
        )
        wanted = (num_heads, query.shape[0], key.shape[0])
        _require(
            batched or attn_mask.dim() == 2 or tuple(attn_mask.shape) == wanted,
            lambda: f"Expected attn_mask shape to be {wanted} but got {tuple(attn_mask.shape)}",
        )
    return batched


def _project(query, key, value, weights, bias):
    """Query, key and value through their matrices, in as few products as may be."""
    linear = _C.linear
    if isinstance(weights, tuple):
        biases = (None, None, None) if bias is None else bias.chunk(3)
        for name, t, w in zip(("query", "key", "value"), (query, key, value), weights, strict=True):
            wanted = (query.shape[-1], t.shape[-1])
            if tuple(w.shape) != wanted:
                raise AssertionError(
                    f"multi_head_attention: expecting {name} weights shape of {wanted}, but got {tuple(w.shape)}"
                )
        return tuple(linear(t, w, b) for t, w, b in zip((query, key, value), weights, biases, strict=True))
    if key is value:
        if query is key:
            return linear(query, weights, bias).chunk(3, -1)
        size = query.shape[-1]
        sizes = [size, weights.shape[0] - size]
        w_q, w_kv = weights.split(sizes)
        b_q, b_kv = (None, None) if bias is None else bias.split(sizes)
        return linear(query, w_q, b_q), *linear(key, w_kv, b_kv).chunk(2, -1)
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return tuple(linear(t, w, b) for t, w, b in zip((query, key, value), weights.chunk(3), biases, strict=True))


def _static(t, name, batch, num_heads, head_dim):
    _require(
        t.shape[0] == batch * num_heads and t.shape[2] == head_dim,
        lambda: f"expecting {name} of shape ({batch * num_heads}, length, {head_dim}), but got {tuple(t.shape)}",
    )
    return t.unflatten(0, (batch, num_heads))


def _merged_mask(attn_mask, key_padding_mask, q, source, extra):
    """Both masks as one to add, broadcast over (batch, heads, length, source), or None.

    Source counts ``extra`` keys at the end that masks do not know of; they are never masked.
    """
    if attn_mask is not None and key_padding_mask is not None and attn_mask.dtype != key_padding_mask.dtype:
        warn(
            "Support for mismatched key_padding_mask and attn_mask is deprecated. Use same type for both instead: "
            f"got {key_padding_mask.dtype} and {attn_mask.dtype}"
        )
    batch, num_heads, length, _ = q.shape
    merged = None
    if attn_mask is not None:
        merged = _additive(attn_mask, "attn_mask", q.dtype)
        wanted = (length, source - extra) if attn_mask.dim() == 2 else (batch * num_heads, length, source - extra)
        if tuple(attn_mask.shape) != wanted:
            raise RuntimeError(
                f"The shape of the {attn_mask.dim()}D attn_mask is {tuple(attn_mask.shape)}, but should be {wanted}"
            )
        if attn_mask.dim() == 3:
            merged = merged.unflatten(0, (batch, num_heads))
    if key_padding_mask is not None:
        wanted = (batch, source - extra)
        _require(
            tuple(key_padding_mask.shape) == wanted,
            lambda: (
                f"Expected key_padding_mask of shape {wanted} (batch, length of key), but got "
                f"{tuple(key_padding_mask.shape)}"
            ),
        )
        padding = _additive(key_padding_mask, "key_padding_mask", q.dtype).view(batch, 1, 1, source - extra)
        merged = padding if merged is None else merged + padding
    if merged is not None and extra:
        merged = rl.cat([merged, merged.new_zeros((*merged.shape[:-1], extra))], -1)
    return merged


def _additive(mask, name, dtype):
    """A mask to add to scores; bool ones are True where not to look."""
    if mask.dtype == rl.bool:
        return _minus_infinity(mask, dtype)
    _require(
        mask.is_floating_point(), lambda: f"only bool and floating types of {name} are supported, got {mask.dtype}"
    )
    if mask.dtype != dtype:
        raise RuntimeError(f"multi_head_attention: {name} is of dtype {mask.dtype}, but the input of {dtype}")
    return mask
