"""Modules that PyTorch runs on several devices. There is one here, the CPU, and its cores work on each operation."""

from __future__ import annotations

from ..._settings import unavailable
from ..modules.module import Module


class DataParallel(Module):
    """Runs ``module`` as it is, for there are no devices to spread a batch over.

    As in PyTorch the module is the attribute ``module``, and so are the names in the state_dict.

    Args:
        module: what to run.
        device_ids, output_device, dim: accepted; there are no devices.

    >>> import rushlight as rl
    >>> model = rl.nn.DataParallel(rl.nn.Linear(2, 1))
    >>> list(model.state_dict())
    ['module.weight', 'module.bias']
    """

    def __init__(self, module: Module, device_ids=None, output_device=None, dim: int = 0):
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []
        self.dim = dim

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


def data_parallel(module: Module, inputs, device_ids=None, output_device=None, dim: int = 0, module_kwargs=None):
    """``module(*inputs, **module_kwargs)``, for there are no devices to spread a batch over."""
    return module(*(inputs if isinstance(inputs, tuple) else (inputs,)), **(module_kwargs or {}))


class DistributedDataParallel(Module):
    """Raises NotImplementedError: there is no distributed training."""

    def __init__(self, module: Module, *args, **kwargs):
        unavailable("torch.nn.parallel.DistributedDataParallel", "training on several machines is not there")()
