"""Helpers for parameters, their gradients, and batches of sequences."""

from ..._lazy import lazily
from . import rnn
from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .convert_parameters import parameters_to_vector, vector_to_parameters

# Left for later: what few programs use.
_MODULES = ("fusion", "init", "memory_format", "parametrizations", "parametrize", "prune", "stateless")
_FUNCTIONS = {
    "fusion": ("fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"),
    "init": ("skip_init",),
    "memory_format": ("convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"),
    "norm_hooks": ("remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"),
}
__getattr__, __dir__ = lazily(
    __name__,
    globals(),
    {
        **{name: name for name in _MODULES},
        **{name: f"{module}:{name}" for module, names in _FUNCTIONS.items() for name in names},
    },
)
