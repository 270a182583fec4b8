"""Training on several machines, which Rushlight does not have: it says so where it is asked, and raises where used.

Several processes on one machine: ``rushlight.multiprocessing``.

>>> import rushlight as rl
>>> rl.distributed.is_available()
False
"""

from __future__ import annotations

from ._lazy import only
from ._settings import unavailable

__path__: list[str] = []  # a package in PyTorch: a module below it is missing, and is said to be
_WHY = "training on several machines is not there; rushlight.multiprocessing starts processes on this one"


def is_available() -> bool:
    """False: there is no distributed training."""
    return False


def is_initialized() -> bool:
    """False: there is no process group."""
    return False


is_torchelastic_launched = is_mpi_available = is_nccl_available = is_gloo_available = is_initialized

for _name in """
    init_process_group destroy_process_group new_group get_rank get_world_size get_backend barrier monitored_barrier
    send recv isend irecv broadcast broadcast_object_list all_reduce reduce all_gather all_gather_into_tensor
    all_gather_object gather gather_object scatter scatter_object_list reduce_scatter reduce_scatter_tensor all_to_all
    all_to_all_single batch_isend_irecv init_device_mesh
""".split():
    globals()[_name] = unavailable(f"torch.distributed.{_name}", _WHY)


class ReduceOp:
    """Names of what a reduction would do."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR = "SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"


__getattr__ = only(__name__, _WHY)
