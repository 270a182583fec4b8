"""The transformer: encoder, decoder, and both together (Vaswani et al. 2017)."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import rushlight as rl

from ... import Tensor
from .. import functional as F
from .. import init
from ..common_types import Device
from .attention import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

Activation = str | Callable[[Tensor], Tensor]


def _activation(activation):
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}\n  hint: any other comes as a function")
    return F.relu if activation == "relu" else F.gelu


class _Layer(Module):
    """A layer: attentions, then a feed-forward network, each added to its input and normalized."""

    __constants__ = ["norm_first"]
    _attentions: tuple[str, ...] = ("self_attn",)

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device = None,
        dtype: rl.dtype | None = None,
    ) -> None:
        super().__init__()
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        for name in self._attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **place))
        self.linear1 = Linear(d_model, dim_feedforward, bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **place)
        self.norm_first = norm_first
        numbers = range(1, len(self._attentions) + 2)
        for i in numbers:
            setattr(self, f"norm{i}", LayerNorm(d_model, layer_norm_eps, bias=bias, **place))
        for i in numbers:
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = _activation(activation)

    def _run(self, x, *parts):
        """Adds each part, a function, to its input."""
        for i, part in enumerate(parts, 1):
            norm, dropout = getattr(self, f"norm{i}"), getattr(self, f"dropout{i}")
            x = x + dropout(part(norm(x))) if self.norm_first else norm(x + dropout(part(x)))
        return x

    def _feed_forward(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


def _attend(attention, x, memory, attn_mask, key_padding_mask, is_causal):
    return attention(
        x,
        memory,
        memory,
        attn_mask=attn_mask,
        key_padding_mask=key_padding_mask,
        need_weights=False,
        is_causal=is_causal,
    )[0]


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network, each added to its input and normalized.

    Args:
        d_model: features of input and output.
        nhead: heads of the attention.
        dim_feedforward: features inside the feed-forward network.
        dropout: the probability of dropping an attention weight, or an output of a part.
        activation: of the feed-forward network: "relu", "gelu", or a function of a tensor.
        layer_norm_eps: eps of the normalizations.
        batch_first: tensors are (N, S, E) instead of (S, N, E).
        norm_first: normalize the input of each part rather than the sum after it (Xiong et al. 2020).
        bias: whether linear layers and normalizations have biases.

    Shapes:
        src (S, N, E), (N, S, E) with ``batch_first``, or (S, E); output the same.

    Raises:
        RuntimeError: an unknown activation. ValueError, AssertionError: as for ``MultiheadAttention``.

    Example:
        >>> import rushlight as rl
        >>> layer = rl.nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16)
        >>> layer(rl.zeros(10, 3, 8)).shape
        torch.Size([10, 3, 8])
    """

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Masks are those of ``MultiheadAttention``; ``is_causal`` says of src_mask that it is the causal one."""
        attend = lambda x: _attend(self.self_attn, x, x, src_mask, src_key_padding_mask, is_causal)
        return self._run(src, attend, self._feed_forward)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output, and a feed-forward network.

    Args:
        As for ``TransformerEncoderLayer``.

    Shapes:
        tgt (T, N, E) and memory (S, N, E); (N, T, E) and (N, S, E) with ``batch_first``; or (T, E) and (S, E). The
        output is like ``tgt``.

    Raises:
        As for ``TransformerEncoderLayer``.

    Example:
        >>> import rushlight as rl
        >>> layer = rl.nn.TransformerDecoderLayer(d_model=8, nhead=2, dim_feedforward=16)
        >>> layer(rl.zeros(20, 3, 8), rl.zeros(10, 3, 8)).shape
        torch.Size([20, 3, 8])
    """

    _attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Masks for ``tgt`` and for ``memory`` are those of ``MultiheadAttention``."""
        attend = lambda x: _attend(self.self_attn, x, x, tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        look = lambda x: _attend(self.multihead_attn, x, memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        return self._run(tgt, attend, look, self._feed_forward)


def _copies(layer, count):
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


class TransformerEncoder(Module):
    """Encoder layers one after another, and perhaps a normalization at the end.

    Args:
        encoder_layer: the layer, of which copies are taken.
        num_layers: how many.
        norm: a module for the end, or None.
        enable_nested_tensor, mask_check: accepted and without effect: padding is computed like the rest, as there are
            no nested tensors.

    Shapes:
        As for ``TransformerEncoderLayer``.

    Example:
        >>> import rushlight as rl
        >>> layer = rl.nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16)
        >>> rl.nn.TransformerEncoder(layer, num_layers=2)(rl.zeros(10, 3, 8)).shape
        torch.Size([10, 3, 8])
    """

    __constants__ = ["norm"]

    def __init__(
        self,
        encoder_layer: TransformerEncoderLayer,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """Masks are those of ``MultiheadAttention``, for every layer."""
        x = src
        for layer in self.layers:
            x = layer(x, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=bool(is_causal))
        return x if self.norm is None else self.norm(x)


class TransformerDecoder(Module):
    """Decoder layers one after another, and perhaps a normalization at the end.

    Args:
        decoder_layer: the layer, of which copies are taken.
        num_layers: how many.
        norm: a module for the end, or None.

    Shapes:
        As for ``TransformerDecoderLayer``.

    Example:
        >>> import rushlight as rl
        >>> layer = rl.nn.TransformerDecoderLayer(d_model=8, nhead=2, dim_feedforward=16)
        >>> rl.nn.TransformerDecoder(layer, num_layers=2)(rl.zeros(20, 3, 8), rl.zeros(10, 3, 8)).shape
        torch.Size([20, 3, 8])
    """

    __constants__ = ["norm"]

    def __init__(self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Masks are those of ``TransformerDecoderLayer``, for every layer."""
        x = tgt
        for layer in self.layers:
            x = layer(
                x,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=bool(tgt_is_causal),
                memory_is_causal=memory_is_causal,
            )
        return x if self.norm is None else self.norm(x)


class Transformer(Module):
    """Encoder and decoder.

    Args:
        d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias: as for
            ``TransformerEncoderLayer``.
        num_encoder_layers, num_decoder_layers: how many of each.
        custom_encoder, custom_decoder: modules to take instead.

    Shapes:
        src (S, N, E) and tgt (T, N, E); (N, S, E) and (N, T, E) with ``batch_first``; or (S, E) and (T, E). The
        output is like ``tgt``. All matrices are drawn by ``init.xavier_uniform_`` at first.

    Example:
        >>> import rushlight as rl
        >>> model = rl.nn.Transformer(8, 2, 1, 1, 16)
        >>> causal = model.generate_square_subsequent_mask(20)
        >>> model(rl.zeros(10, 3, 8), rl.zeros(20, 3, 8), tgt_mask=causal).shape
        torch.Size([20, 3, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device = None,
        dtype: rl.dtype | None = None,
    ) -> None:
        super().__init__()
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        layer = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        norm = lambda: LayerNorm(d_model, layer_norm_eps, bias=bias, **place)
        if custom_encoder is None:
            encoder_layer = TransformerEncoderLayer(*layer, **place)
            custom_encoder = TransformerEncoder(encoder_layer, num_encoder_layers, norm())
        self.encoder = custom_encoder
        if custom_decoder is None:
            decoder_layer = TransformerDecoderLayer(*layer, **place)
            custom_decoder = TransformerDecoder(decoder_layer, num_decoder_layers, norm())
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self):
        for p in self.parameters():
            if p.dim() > 1:
                init.xavier_uniform_(p)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Encodes ``src``, and decodes ``tgt`` looking at it; masks are those of the layers.

        Raises:
            RuntimeError: batch sizes differ, or the last dimension is not d_model.
        """
        batch = 0 if self.batch_first else 1
        if src.dim() == tgt.dim() == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError(
                f"the batch number of src and tgt must be equal, got {tuple(src.shape)} and {tuple(tgt.shape)}\n"
                "  hint: the shape is (length, batch, features), or (batch, length, features) with batch_first=True"
            )
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError(
                f"the feature number of src and tgt must be equal to d_model, {self.d_model}, got {tuple(src.shape)} "
                f"and {tuple(tgt.shape)}"
            )
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Device = None, dtype: rl.dtype | None = None) -> Tensor:
        """The causal mask (sz, sz): 0 up to the diagonal, minus infinity above it.

        Example:
            >>> import rushlight as rl
            >>> rl.nn.Transformer.generate_square_subsequent_mask(2)
            tensor([[0., -inf],
                    [0., 0.]])
        """
        return rl.full((sz, sz), -math.inf, device=device, dtype=dtype).triu(1)
