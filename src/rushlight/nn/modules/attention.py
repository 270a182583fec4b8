"""Multi-head attention."""

from __future__ import annotations

import rushlight as rl

from ... import Tensor
from .. import functional as F
from .. import init
from ..common_types import Device
from ..parameter import Parameter
from .linear import NonDynamicallyQuantizableLinear
from .module import Module


class MultiheadAttention(Module):
    """Attention in several heads at once (Vaswani et al. 2017).

    Query, key and value go through a matrix each, are cut into heads, attend by ``scaled_dot_product_attention``, and
    go side by side through one more matrix.

    Args:
        embed_dim: features of query and output.
        num_heads: how many heads; each has embed_dim / num_heads features.
        dropout: the probability of dropping an attention weight, in training.
        bias: whether the matrices have biases.
        add_bias_kv: one more key and value, learned.
        add_zero_attn: one more key and value of zeros.
        kdim, vdim: features of key and value; embed_dim unless given.
        batch_first: tensors are (N, L, E) instead of (L, N, E).

    Shapes:
        See ``forward``. in_proj_weight (3 embed_dim, embed_dim), or q_proj_weight (embed_dim, embed_dim), k_proj_weight
        (embed_dim, kdim) and v_proj_weight (embed_dim, vdim) where sizes differ; in_proj_bias (3 embed_dim);
        out_proj.weight (embed_dim, embed_dim), out_proj.bias (embed_dim); bias_k and bias_v (1, 1, embed_dim).

    Raises:
        ValueError: ``embed_dim`` or ``num_heads`` is not above 0.
        AssertionError: ``embed_dim`` is no multiple of ``num_heads``.

    Example:
        >>> import rushlight as rl
        >>> attention = rl.nn.MultiheadAttention(8, 2, batch_first=True)
        >>> x = rl.zeros(3, 5, 8)
        >>> output, weights = attention(x, x, x)
        >>> output.shape, weights.shape
        (torch.Size([3, 5, 8]), torch.Size([3, 5, 5]))
    """

    __constants__ = ["batch_first"]

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Device = None,
        dtype: rl.dtype | None = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads}"
            )
        if embed_dim % num_heads:
            raise AssertionError(f"embed_dim must be divisible by num_heads, got {embed_dim} and {num_heads}")
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads

        empty = lambda *shape: Parameter(rl.empty(shape, device=device, dtype=dtype))
        if self._qkv_same_embed_dim:
            self.in_proj_weight = empty(3 * embed_dim, embed_dim)
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
        else:
            self.q_proj_weight = empty(embed_dim, embed_dim)
            self.k_proj_weight = empty(embed_dim, self.kdim)
            self.v_proj_weight = empty(embed_dim, self.vdim)
            self.register_parameter("in_proj_weight", None)
        if bias:
            self.in_proj_bias = empty(3 * embed_dim)
        else:
            self.register_parameter("in_proj_bias", None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        for name in ("bias_k", "bias_v"):
            setattr(self, name, empty(1, 1, embed_dim) if add_bias_kv else None)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self):
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attends.

        Args:
            query: (L, N, embed_dim); with ``batch_first`` (N, L, embed_dim); without a batch (L, embed_dim).
            key, value: likewise with length S, and kdim and vdim features.
            key_padding_mask: (N, S), or (S) without a batch. Bool: True at keys that are not to be looked at. Floating
                point: added to the scores.
            need_weights: give the attention weights too, which costs the memory for them.
            attn_mask: (L, S) for all, or (N * num_heads, L, S). Bool: True where a query may not look. Floating point:
                added to the scores.
            average_attn_weights: give the weights' mean over heads, not those of each.
            is_causal: says that ``attn_mask`` is the causal one; it must be given all the same.

        Returns:
            The output, like ``query``; and the weights, (N, L, S) or (N, num_heads, L, S), or None. Where a query may
            look nowhere, the output is NaN if weights are given, and otherwise as though it saw zeros.

        Raises:
            AssertionError, RuntimeError: shapes or dtypes do not fit.
        """
        turn = self.batch_first and query.dim() == 3
        if turn:
            swap = lambda t: t.transpose(0, 1) if t.dim() == 3 else t
            q = swap(query)
            k = q if key is query else swap(key)  # what is the same tensor stays so, and takes one product
            v = k if value is key else swap(value)
            query, key, value = q, k, v
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return output.transpose(0, 1) if turn else output, weights
