"""Helpers for parameters and their gradients."""

from ..._lazy import lazily
from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .convert_parameters import parameters_to_vector, vector_to_parameters

__getattr__, __dir__ = lazily(
    __name__,
    globals(),
    {
        **{name: name for name in ("fusion", "init", "memory_format", "parametrizations", "parametrize", "stateless")},
        **{
            name: f"norm_hooks:{name}"
            for name in ("remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm")
        },
        **{
            name: f"fusion:{name}"
            for name in (
                "fuse_conv_bn_eval",
                "fuse_conv_bn_weights",
                "fuse_linear_bn_eval",
                "fuse_linear_bn_weights",
            )
        },
        **{
            name: f"memory_format:{name}"
            for name in ("convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format")
        },
        "skip_init": "init:skip_init",
    },
)
