"""How tensors are pickled: for files, deepcopy and other processes alike.

A tensor becomes its storage, which all tensors on the same memory share, and its geometry on it. The functions that put
it together again have PyTorch's names, for its files are read and written by them.
"""

from __future__ import annotations

import copy
import pickle
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import rushlight
from rushlight import Tensor, dtype


class Storage:
    """The memory of one or more tensors, held as a flat tensor over all of it."""

    __slots__ = ("flat", "__weakref__")

    def __init__(self, flat: Tensor):
        self.flat = flat

    @classmethod
    def of(cls, tensor: Tensor) -> Storage:
        """The one Storage of the tensor's memory while anyone holds it.

        Picklers and deepcopy remember objects by identity, so tensors that share memory go on sharing it.
        """
        memory = tensor.untyped_storage()
        key = (memory.data_ptr(), memory.nbytes(), tensor.dtype)
        storage = _storages.get(key) if key[0] else None
        if storage is None:
            storage = cls(memory._as(tensor.dtype))
            if key[0]:
                _storages[key] = storage
        return storage

    def typed(self, kind: dtype) -> Tensor:
        return self.flat if self.flat.dtype == kind else self.flat.view(kind)

    def to(self, target) -> Storage:
        return Storage(self.flat.to(target))

    def cpu(self) -> Storage:
        return self.to("cpu")

    def cuda(self, index: int | None = None) -> Storage:
        return self.to("cuda" if index is None else f"cuda:{index}")

    def __reduce_ex__(self, protocol):
        content: Any = memory_of(self.flat.cpu())
        content = pickle.PickleBuffer(content) if protocol >= 5 and len(content) else bytes(content)
        return _storage_from_bytes, (content, self.flat.dtype)

    def __deepcopy__(self, memo: dict) -> Storage:
        return Storage(self.flat.clone())


_storages: weakref.WeakValueDictionary = weakref.WeakValueDictionary()


def memory_of(flat: Tensor):
    """The bytes of a contiguous tensor on the CPU, as a writable buffer that keeps the tensor alive."""
    import ctypes

    count = flat.numel() * flat.element_size()
    if not count:
        return bytearray()
    view = (ctypes.c_char * count).from_address(flat.data_ptr())
    view._owner = flat  # type: ignore[attr-defined]
    return view


def _storage_from_bytes(content, kind: dtype) -> Storage:
    flat = rushlight.empty(len(content) // kind.itemsize, dtype=kind)
    if len(content):
        memoryview(memory_of(flat)).cast("B")[:] = memoryview(content).cast("B")
    return Storage(flat)


def _strided(flat: Tensor, offset: int, size, stride) -> Tensor:
    """A tensor over the memory of `flat`."""
    size, stride = tuple(size), tuple(stride)
    if len(size) != len(stride) or not all(type(n) is int and 0 <= n < 2**62 for n in (offset, *size, *stride)):
        raise pickle.UnpicklingError(f"impossible tensor: size {size}, stride {stride}, offset {offset}")
    if 0 not in size:
        last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
        if last >= flat.numel():
            raise pickle.UnpicklingError(
                f"impossible tensor: size {size}, stride {stride}, offset {offset} need {last + 1} elements, "
                f"its storage has {flat.numel()}"
            )
    return flat.as_strided(size, stride, offset)


# The functions that pickles name. PyTorch's files call them torch._utils._rebuild_tensor_v2 and so on.


def _rebuild_tensor_v2(
    storage, offset, size, stride, requires_grad=False, backward_hooks=None, metadata=None
) -> Tensor:
    return _rebuild_tensor_v3(storage, offset, size, stride, requires_grad, backward_hooks, None, metadata)


def _rebuild_tensor_v3(
    storage, offset, size, stride, requires_grad=False, backward_hooks=None, kind=None, metadata=None
) -> Tensor:
    if not isinstance(storage, Storage) or not (kind is None or isinstance(kind, dtype)):
        raise pickle.UnpicklingError(f"a tensor was to be built on a {type(storage).__name__}, not on a storage")
    tensor = _strided(storage.flat if kind is None else storage.typed(kind), offset, size, stride)
    if metadata and metadata.get("neg"):  # PyTorch's, of an imaginary part
        tensor = -tensor
    if requires_grad:
        tensor.requires_grad_()
    return tensor


def _rebuild_meta_tensor_no_storage(kind: dtype, size, stride, requires_grad) -> Tensor:
    tensor = rushlight.empty_strided(tuple(size), tuple(stride), dtype=kind, device="meta")
    return tensor.requires_grad_(requires_grad)


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks=None) -> Tensor:
    if not isinstance(data, Tensor):
        raise pickle.UnpicklingError(f"a Parameter was to be built on a {type(data).__name__}, not on a tensor")
    return rushlight.nn.Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data: Tensor, requires_grad: bool, backward_hooks, state) -> Tensor:
    return _with_state(_rebuild_parameter(data, requires_grad), state)


def _rebuild_from_type_v2(rebuild: Callable, kind: type, args: tuple, state) -> Tensor:
    tensor = rebuild(*args)
    if type(tensor) is not kind:
        tensor = tensor.as_subclass(kind)
    if getattr(kind, "__setstate__", None) is not getattr(Tensor, "__setstate__", None):
        tensor.__setstate__(state)
        return tensor
    return _with_state(tensor, state)


def _with_state(tensor: Tensor, state) -> Tensor:
    # A pair is the state of an object with slots (copyreg).
    for part in state if isinstance(state, tuple) else (state,):
        for name, value in (part or {}).items():
            setattr(tensor, name, value)
    return tensor


REBUILDERS: dict[Callable, tuple[str, str]] = {
    function: (module, function.__name__)
    for module, functions in (
        (
            "torch._utils",
            (
                _rebuild_tensor_v2,
                _rebuild_tensor_v3,
                _rebuild_meta_tensor_no_storage,
                _rebuild_parameter,
                _rebuild_parameter_with_state,
            ),
        ),
        ("torch._tensor", (_rebuild_from_type_v2,)),
    )
    for function in functions
}

# dtype -> the name of its storage in PyTorch's pickles. Younger dtypes have none; they go as bytes, with the dtype.
_DTYPES = {
    "float64": "DoubleStorage",
    "float32": "FloatStorage",
    "float16": "HalfStorage",
    "bfloat16": "BFloat16Storage",
    "int64": "LongStorage",
    "int32": "IntStorage",
    "int16": "ShortStorage",
    "int8": "CharStorage",
    "uint8": "ByteStorage",
    "bool": "BoolStorage",
    "complex64": "ComplexFloatStorage",
    "complex128": "ComplexDoubleStorage",
}


class StorageName:
    """Stands for a storage class, which a file names and Rushlight has no need of."""

    def __init__(self, module: str, name: str, kind: dtype | None):
        self.module, self.name, self.kind = module, name, kind


STORAGE_NAMES: dict[str, StorageName] = {
    f"torch.{name}": StorageName("torch", name, getattr(rushlight, kind)) for kind, name in _DTYPES.items()
}
UNTYPED = StorageName("torch.storage", "UntypedStorage", None)
STORAGE_NAMES.update({"torch.storage.UntypedStorage": UNTYPED, "torch.UntypedStorage": UNTYPED})
NAME_OF_DTYPE = {name.kind: name for name in STORAGE_NAMES.values() if name.kind is not None}


def reduce_tensor(tensor: Tensor, protocol: int = 2):
    """What `Tensor.__reduce_ex__` returns: pickle, deepcopy and multiprocessing all go through here.

    Storage sharing, strides, offset, `requires_grad`, the subclass and attributes set on the tensor are kept.
    """
    kind = type(tensor)
    state = getattr(tensor, "__dict__", None)
    rebuild: Callable
    args: tuple
    if kind is rushlight.nn.Parameter:
        rebuild, args = _rebuild_parameter, (tensor.detach(), tensor.requires_grad, OrderedDict())
        return (_rebuild_parameter_with_state, (*args, state)) if state else (rebuild, args)
    size, stride = tuple(tensor.size()), tuple(tensor.stride())
    if tensor.device.type == "meta":
        rebuild, args = _rebuild_meta_tensor_no_storage, (tensor.dtype, size, stride, tensor.requires_grad)
    else:
        args = (Storage.of(tensor), tensor.storage_offset(), size, stride, tensor.requires_grad, OrderedDict())
        rebuild = _rebuild_tensor_v2
        if tensor.dtype not in NAME_OF_DTYPE:
            rebuild, args = _rebuild_tensor_v3, (*args, tensor.dtype)
    if kind is Tensor and not state:
        return rebuild, args
    return _rebuild_from_type_v2, (rebuild, kind, args, state or {})


def deepcopy_tensor(tensor: Tensor, memo: dict) -> Tensor:
    """What `Tensor.__deepcopy__` returns: tensors that shared memory do so in the copy, `.grad` is copied too."""
    if id(tensor) in memo:
        return memo[id(tensor)]
    if (node := tensor.grad_fn) is not None:
        raise RuntimeError(
            f"a tensor with history ({node.name()}) cannot be deep-copied, since its graph would have to be\n"
            "  hint: use .detach().clone(), or .clone() to stay connected"
        )
    if tensor.is_meta:
        result = rushlight.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
    else:
        storage = copy.deepcopy(Storage.of(tensor), memo)
        result = _strided(storage.flat, tensor.storage_offset(), tensor.shape, tensor.stride()).detach()
    kind = type(tensor)
    result = result if kind is Tensor else Tensor._make_subclass(kind, result, False)
    result.requires_grad_(tensor.requires_grad)
    memo[id(tensor)] = result
    if tensor.grad is not None:
        result.grad = copy.deepcopy(tensor.grad, memo)
    return _with_state(result, copy.deepcopy(getattr(tensor, "__dict__", None), memo))
