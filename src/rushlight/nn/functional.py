"""Layers and losses as functions, with PyTorch's names and arguments.

Where the engine's own function takes the same arguments, the name here is that function.
"""

from __future__ import annotations

from .. import _C
from .._composites import layers as _layers
from .._lazy import only as _only
from ._attention import multi_head_attention_forward, scaled_dot_product_attention  # noqa: F401
from ._functional.activation import *
from ._functional.convolution import *
from ._functional.dropout import *
from ._functional.fold import *
from ._functional.loss import *
from ._functional.margin_loss import *
from ._functional.normalization import *
from ._functional.padding import *
from ._functional.pooling import *
from ._functional.sampling import *
from ._functional.sparse import *

linear = _C.linear
bilinear = _layers.bilinear
channel_shuffle = _C.channel_shuffle
pixel_shuffle = _C.pixel_shuffle
pixel_unshuffle = _C.pixel_unshuffle


__getattr__ = _only(__name__)
