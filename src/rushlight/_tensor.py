"""What of ``Tensor`` is written in Python: attached to the engine's type when the package is imported."""

from __future__ import annotations

import builtins

from . import _C, _creation, autograd
from ._C import Tensor
from ._size import Size
from ._types import strided
from .autograd.function import _add_hook
from .autograd.grad_mode import no_grad
from .overrides import overridable


def _legacy_new(*args, dtype=None, device=None):
    """``Tensor(2, 3)`` is uninitialised, ``Tensor([1, 2])`` holds the values, both of the default dtype."""
    if not args:
        return _C._empty((0,), dtype, device)
    if len(args) == 1 and isinstance(args[0], Tensor):
        return args[0].detach()
    if len(args) == 1 and not isinstance(args[0], int):
        if isinstance(args[0], Size):
            return _C._empty(args[0], dtype, device)
        return _creation.tensor(args[0], dtype=dtype or _C.get_default_dtype(), device=device)
    return _C._empty(args, dtype, device)


def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None) -> None:
    """Adds the gradient of this tensor to the ``.grad`` of the leaves it was computed from.

    Args:
        gradient: the gradient of something by this tensor, of the same shape; 1 where it is a scalar.
        retain_graph, create_graph, inputs: as in :func:`rushlight.autograd.backward`.

    >>> import rushlight as rl
    >>> x = rl.tensor(2.0, requires_grad=True)
    >>> (x**2 + 3 * x).backward()
    >>> x.grad
    tensor(7.)
    """
    if inputs is None:
        _C._backward(self, gradient, create_graph if retain_graph is None else retain_graph, create_graph)
    else:
        autograd.backward((self,), (gradient,), retain_graph, create_graph, inputs)


# --- Conversion -------------------------------------------------------------------------------------------------------


@overridable
def to(self, *args, dtype=None, device=None, other=None, non_blocking=False, copy=False, memory_format=None) -> Tensor:
    """This tensor with another dtype or on another device; itself where nothing changes, unless ``copy`` is set.

    ``x.to(dtype)``, ``x.to(device)``, ``x.to(device, dtype)`` and ``x.to(other)`` are understood, each with
    ``non_blocking`` and ``copy`` after; gradients pass on.

    Raises:
        TypeError: for what is no dtype, device or tensor.
        RuntimeError: for a device that is not there.

    >>> import rushlight as rl
    >>> rl.ones(2).to(rl.int64)
    tensor([1, 1])
    """
    flagged = False
    for value in args:
        if value is None:
            continue
        if isinstance(value, Tensor):
            dtype, device = value.dtype, value.device
        elif isinstance(value, _C.dtype) or value in (float, int, bool):
            dtype = value
        elif isinstance(value, bool):
            if flagged:  # the first is non_blocking
                copy = value
            flagged = True
        elif isinstance(value, (str, int, _C.device)):
            device = value
        else:
            raise TypeError(f"to() expects a dtype, a device or a tensor, not {builtins.type(value).__name__}")
    if other is not None:
        dtype, device = other.dtype, other.device
    result = self
    if device is not None:
        where = device if isinstance(device, _C.device) else _C.device(device)
        if where.type != self.device.type:
            if where.type == "meta":
                result = _C._empty_strided(self.shape, self.stride(), self.dtype, "meta")
            elif self.is_meta:
                raise NotImplementedError("a tensor on the meta device has no values to move to the CPU")
            else:
                _C._empty((0,), None, where)  # says that there is no such device
    changes = dtype is not None and _as_dtype(dtype) != result.dtype
    if changes or copy or (memory_format is not None and not result.is_contiguous(memory_format=memory_format)):
        result = _C._to_copy(result, _as_dtype(dtype) if changes else result.dtype, memory_format)
    return result


def _as_dtype(kind):
    return {float: _C.float64, int: _C.int64, bool: _C.bool}.get(kind, kind)


def type(self, dtype=None, non_blocking=False):
    """The tensor converted to a dtype, or, without one, the name of its type: ``'torch.FloatTensor'``.

    >>> import rushlight as rl
    >>> rl.ones(2).type()
    'torch.FloatTensor'
    """
    if dtype is None:
        return f"torch.{_legacy_names[self.dtype]}Tensor"
    if isinstance(dtype, _C.dtype):
        return self.to(dtype)
    from ._tensor_types import tensortype, type_of_name

    if dtype is Tensor:
        return self.to(_C.get_default_dtype())
    if isinstance(dtype, str):
        dtype = type_of_name(dtype)
    if isinstance(dtype, tensortype):
        return self.to("cuda" if dtype.is_cuda else "cpu", dtype.dtype)
    return self.to(dtype)


_legacy_names = {
    _C.float32: "Float", _C.float64: "Double", _C.float16: "Half", _C.bfloat16: "BFloat16", _C.int64: "Long",
    _C.int32: "Int", _C.int16: "Short", _C.int8: "Char", _C.uint8: "Byte", _C.bool: "Bool", _C.uint16: "UInt16",
    _C.uint32: "UInt32", _C.uint64: "UInt64",
}  # fmt: skip


def type_as(self, other) -> Tensor:
    """This tensor with the dtype of another."""
    return self.to(other.dtype)


def cpu(self, memory_format=None) -> Tensor:
    """This tensor in the CPU's memory; itself where it is there."""
    return self.to("cpu", memory_format=memory_format)


def cuda(self, device=None, non_blocking=False, memory_format=None) -> Tensor:
    """This build has no CUDA: raises an error that says so."""
    return self.to("cuda" if device is None else device)


def tolist(self):
    """The values as nested Python lists, or as a number where there are no dimensions.

    >>> import rushlight as rl
    >>> rl.tensor([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]
    """
    return _C._tolist(self)


def numpy(self, *, force=False):
    """A NumPy array over the same memory.

    Raises:
        RuntimeError: for a tensor that requires grad; ``x.detach().numpy()`` is what is meant.
        TypeError: for bfloat16, which NumPy does not know.

    >>> import rushlight as rl
    >>> rl.ones(2).numpy()
    array([1., 1.], dtype=float32)
    """
    import numpy

    if force:
        return self.detach().cpu().numpy()
    if self.requires_grad:
        raise RuntimeError(
            "numpy() on a tensor that requires grad would lose its history\n  hint: use tensor.detach().numpy()"
        )
    if self.is_meta:
        raise TypeError("a tensor on the meta device has no values for a NumPy array")
    if self.dtype == _C.bfloat16:
        raise TypeError("NumPy has no bfloat16\n  hint: convert first: tensor.float().numpy()")
    return numpy.asarray(_Exported(self.detach()))


class _Exported:
    """What NumPy reads a tensor's memory from; it keeps the tensor alive as the array's base."""

    __slots__ = ("__array_interface__", "tensor")

    def __init__(self, tensor):
        size = tensor.element_size()
        whole = "i" if tensor.dtype.is_signed else "u"
        kind = "b" if tensor.dtype == _C.bool else "f" if tensor.is_floating_point() else whole
        strides = [s * size for s in tensor.stride()]
        self.tensor = tensor
        self.__array_interface__ = {
            "shape": tuple(tensor.shape),
            "typestr": f"{'|' if size == 1 else '<'}{kind}{size}",
            "data": (tensor.data_ptr(), False),
            # What does not fit belongs to a dimension of one element at most, which is never stepped over.
            "strides": tuple(s if abs(s) < 2**63 else 0 for s in strides),
            "version": 3,
        }


def __array__(self, dtype=None, copy=None):
    array = self.numpy()
    if dtype is not None:
        array = array.astype(dtype, copy=bool(copy))
    elif copy:
        array = array.copy()
    return array


def __array_wrap__(self, array, context=None, return_scalar=False):
    if array.dtype == bool:
        array = array.astype("uint8")
    return _creation.from_numpy(array)


def __dlpack__(self, stream=None, **options):
    return _C._to_dlpack(self)


def __dlpack_device__(self):
    return (1, 0)


# --- Making others like it --------------------------------------------------------------------------------------------


def new(self, *args, device=None) -> Tensor:
    """As the constructor of this tensor's type: ``new(2, 3)`` is uninitialised, ``new([1, 2])`` holds the values.

    >>> import rushlight as rl
    >>> rl.ones(1, dtype=rl.int64).new([1, 2])
    tensor([1, 2])
    """
    return _legacy_new(*args, dtype=self.dtype, device=device)


@overridable
def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False) -> Tensor:
    """A copy of ``data``, with this tensor's dtype where none is given.

    >>> import rushlight as rl
    >>> rl.ones(1, dtype=rl.float64).new_tensor([1, 2])
    tensor([1., 2.], dtype=torch.float64)
    """
    return _creation.tensor(data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


@overridable
def new_empty(
    self, *args, size=None, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False
) -> Tensor:
    """An uninitialised tensor of the given shape, with this tensor's dtype where none is given."""
    return _creation.empty(
        *args, size=size, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad
    )


@overridable
def new_zeros(
    self, *args, size=None, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False
) -> Tensor:
    """Zeros of the given shape, with this tensor's dtype where none is given.

    >>> import rushlight as rl
    >>> rl.ones(1, dtype=rl.int64).new_zeros(2)
    tensor([0, 0])
    """
    return _creation.zeros(
        *args, size=size, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad
    )


@overridable
def new_ones(
    self, *args, size=None, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False
) -> Tensor:
    """Ones of the given shape, with this tensor's dtype where none is given."""
    return _creation.ones(
        *args, size=size, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad
    )


@overridable
def new_full(
    self, size, fill_value, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False
) -> Tensor:
    """A tensor of the given shape filled with a value, with this tensor's dtype where none is given.

    >>> import rushlight as rl
    >>> rl.ones(1).new_full((2,), 3)
    tensor([3., 3.])
    """
    return _creation.full(
        size, fill_value, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad
    )


@overridable
def new_empty_strided(
    self, size, stride, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False
) -> Tensor:
    """An uninitialised tensor of the given shape and strides."""
    return _creation.empty_strided(
        size, stride, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad
    )


# --- Python's protocols -----------------------------------------------------------------------------------------------


def __repr__(self, *, tensor_contents=None) -> str:
    from ._tensor_str import tensor_str

    return tensor_str(self)


def __format__(self, spec: str) -> str:
    if self.dim() == 0 and not self.is_meta and builtins.type(self) is Tensor:
        return self.item().__format__(spec)
    return object.__format__(self, spec)


def __iter__(self):
    if self.dim() == 0:
        raise TypeError("a tensor without dimensions cannot be iterated over\n  hint: .item() gives its one value")
    return iter(self.unbind(0))


def __contains__(self, element) -> bool:
    if isinstance(element, (Tensor, int, float, bool)):
        return bool((self == element).any().item())
    raise RuntimeError(f"'in' looks for a number or a tensor in a tensor, not for a {builtins.type(element).__name__}")


def __deepcopy__(self, memo):
    from ._tensor_pickle import deepcopy_tensor

    return deepcopy_tensor(self, memo)


def __reduce_ex__(self, protocol):
    from ._tensor_pickle import reduce_tensor

    return reduce_tensor(self, protocol)


# --- The rest ---------------------------------------------------------------------------------------------------------


def is_contiguous(self, memory_format=None) -> bool:
    """Whether the elements lie in memory in the order of their indices, or in that of a memory format.

    >>> import rushlight as rl
    >>> rl.zeros(2, 3).t().is_contiguous()
    False
    """
    return _C._is_contiguous(self, 0 if memory_format is None else memory_format._number)


def untyped_storage(self):
    """The memory behind this tensor and its views, as bytes.

    >>> import rushlight as rl
    >>> x = rl.zeros(2, 3)
    >>> x[1].untyped_storage() == x.untyped_storage()
    True
    """
    from .storage import UntypedStorage

    return UntypedStorage(self)


def storage(self):
    """The memory behind this tensor, as elements of its dtype."""
    from .storage import TypedStorage

    return TypedStorage(self)


def register_hook(self, hook):
    """Calls ``hook(grad)`` whenever a gradient of this tensor is computed; what it returns replaces the gradient.

    Returns:
        a handle with ``remove()``.

    Raises:
        RuntimeError: the tensor does not require grad.

    >>> import rushlight as rl
    >>> x = rl.tensor(2.0, requires_grad=True)
    >>> handle = x.register_hook(lambda grad: 10 * grad)
    >>> (x * 3).backward()
    >>> x.grad
    tensor(30.)
    """
    if not self.requires_grad:
        raise RuntimeError(
            "register_hook: this tensor does not require grad, so no gradient will come to it\n"
            "  hint: call requires_grad_() first"
        )
    return _add_hook(_C._tensor_hooks(self), hook)


def register_post_accumulate_grad_hook(self, hook):
    """Calls ``hook(tensor)`` whenever backward has written this leaf's ``.grad``.

    Returns:
        a handle with ``remove()``.
    """
    if not self.requires_grad:
        raise RuntimeError(
            "register_post_accumulate_grad_hook: this tensor does not require grad\n  hint: call requires_grad_() first"
        )
    if self.grad_fn is not None:
        raise RuntimeError("register_post_accumulate_grad_hook: only leaves accumulate, and this tensor is none")
    return _add_hook(_C._post_accumulate_hooks(self), hook)


def _is_view(self) -> bool:
    return self._base is not None


def share_memory_(self) -> Tensor:
    """Moves the memory of this tensor and its views to where other processes see each other's writes.

    Those are processes forked later, and those that are given it by :mod:`rushlight.multiprocessing`.

    Raises:
        RuntimeError: the system gives no memory or no further open file.

    >>> import rushlight as rl
    >>> rl.zeros(2).share_memory_().is_shared()
    True
    """
    from ._sharing import register

    register()
    _C._share_memory(self)
    return self


def is_shared(self) -> bool:
    """Whether this memory is shared with other processes, by :meth:`share_memory_` or a queue."""
    return _C._is_shared(self)


def pin_memory(self, device=None) -> Tensor:
    """There is no accelerator to copy to: the tensor itself."""
    return self


def is_pinned(self, device=None) -> bool:
    """False: there is no accelerator to pin memory for."""
    return False


def is_complex(self) -> bool:
    """False: there are no complex dtypes."""
    return False


def is_signed(self) -> bool:
    """Whether the dtype has negative numbers."""
    return self.dtype.is_signed


def is_same_size(self, other) -> bool:
    """Whether the shapes are the same."""
    return self.shape == other.shape


def is_nonzero(self) -> bool:
    """Whether the one element is not 0.

    Raises:
        RuntimeError: there are more elements, or none.
    """
    if self.numel() != 1:
        raise RuntimeError(f"is_nonzero: the truth of {self.numel()} elements is ambiguous\n  hint: use any() or all()")
    return builtins.bool(self.item())


def resize_(self, *sizes, memory_format=None) -> Tensor:
    """Gives the tensor another shape, keeping its memory where that is large enough."""
    shape = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    return _C._resize_(self, shape)


def resize_as_(self, other, *, memory_format=None) -> Tensor:
    """Gives the tensor the shape of another."""
    return _C._resize_(self, other.shape)


def set_(self, source=None, storage_offset=0, size=None, stride=None) -> Tensor:
    """Makes the tensor share the memory of another tensor or storage."""
    if source is None:
        source = _C._empty((0,), self.dtype, None)
    flat = source if isinstance(source, Tensor) else source._as(self.dtype)
    if size is not None:
        flat = flat.as_strided(size, stride if stride is not None else _C._contiguous_strides(size), storage_offset)
    with no_grad():
        self.data = flat
    return self


def as_subclass(self, cls):
    """The same data seen as a subclass of Tensor."""
    return _C._as_subclass(cls, self)


def get_device(self) -> int:
    """-1 for the CPU."""
    return -1


def map_(self, other, function) -> Tensor:
    """Not offered: calling Python for each element is what tensors are there to avoid."""
    raise NotImplementedError("map_ is not implemented\n  hint: write the function over whole tensors")


def _conversion(name: str, kind):
    def convert(self, memory_format=None) -> Tensor:
        return self.to(kind, memory_format=memory_format)

    convert.__name__, convert.__qualname__ = name, f"Tensor.{name}"
    convert.__doc__ = f"This tensor as {kind}; itself where it is that already."
    return convert


for _name, _kind in {
    "float": _C.float32, "double": _C.float64, "half": _C.float16, "bfloat16": _C.bfloat16, "long": _C.int64,
    "int": _C.int32, "short": _C.int16, "char": _C.int8, "byte": _C.uint8, "bool": _C.bool,
}.items():  # fmt: skip
    setattr(Tensor, _name, _conversion(_name, _kind))


def _attach() -> None:
    for name, function in list(globals().items()):
        if name.startswith("_") and not name.startswith("__") and name != "_is_view":
            continue
        if getattr(function, "__module__", "") == __name__ and hasattr(function, "__code__"):
            function.__qualname__ = f"Tensor.{name}"
            setattr(Tensor, name, function)


_attach()


def _torch_function(cls, func, types, args=(), kwargs=None):
    """How an operation treats subclasses: run as for plain tensors, the results made members of the subclass."""
    from .overrides import _default

    return _default(cls, func, types, args, kwargs)


for _name, _value in {
    "__torch_function__": classmethod(_torch_function),
    "_make_subclass": staticmethod(_C._make_subclass),
    "__array_priority__": 1000,
    "layout": property(lambda self: strided, doc="How the elements are kept: always strided."),
    "names": property(lambda self: (None,) * self.dim(), doc="Dimensions have no names."),
}.items():
    setattr(Tensor, _name, _value)
