"""How tensors go to other processes by way of Python's multiprocessing: as files in memory that both sides map.

What is pickled is the storage (`_tensor_pickle.Storage`), so views, strides, Parameters and subclasses come along, and
tensors that share memory go on sharing it.
"""

from __future__ import annotations

import os
from importlib import import_module
from multiprocessing import context, reduction, resource_sharer

from . import _C
from ._tensor_pickle import Storage


def register() -> None:
    """Has multiprocessing's queues, pipes and arguments of processes share tensors rather than copy them."""
    parameter = import_module("rushlight.nn").Parameter  # nn stands above

    reduction.ForkingPickler.register(Storage, _reduce_storage)
    reduction.ForkingPickler.register(_C.Tensor, _reduce_tensor)
    reduction.ForkingPickler.register(parameter, _reduce_tensor)


def _reduce_tensor(tensor):
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "a tensor that is part of a graph cannot be sent to another process: its history would be lost\n"
            "  hint: send tensor.detach()"
        )
    return tensor.__reduce_ex__(4)


def _reduce_storage(storage: Storage):
    flat = storage.flat
    if not flat.numel():
        return storage.__reduce_ex__(4)
    flat.share_memory_()
    fd = _C._shared_file(flat)
    starting = context.get_spawning_popen()
    # The server of forkserver takes no more than 256 files at once, which is less than a large model has.
    later = starting is not None and starting.method == "forkserver"
    file = resource_sharer.DupFd(fd) if later else reduction.DupFd(fd)
    return _open_storage, (file, _C._storage_nbytes(flat), flat.dtype)


def _open_storage(file, nbytes: int, dtype) -> Storage:
    try:
        fd = file.detach()
    except (ConnectionError, FileNotFoundError, EOFError) as error:
        raise RuntimeError(
            "a tensor came from a process that has ended, and its memory with it\n"
            "  hint: let the sender live until the tensor is received: join() it after get(), or send tensor.numpy()"
        ) from error
    except OSError as error:
        error.add_note("hint: each tensor that is received takes an open file; raise `ulimit -n`, or drop some")
        raise
    os.set_inheritable(fd, False)
    flat = _C._open_shared(fd, nbytes)  # which closes it
    return Storage(flat if flat.dtype == dtype else flat.view(dtype))
