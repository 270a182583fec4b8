"""The classes ``FloatTensor``, ``LongTensor`` and so on, of which a tensor is an instance by its dtype."""

from __future__ import annotations

from . import _C
from ._C import Tensor
from ._settings import NO_CUDA
from ._tensor import _legacy_names
from ._types import strided


class tensortype(type):
    """The class of those classes.

    >>> import rushlight as rl
    >>> rl.LongTensor([1, 2])
    tensor([1, 2])
    >>> rl.FloatTensor(2, 3).shape
    torch.Size([2, 3])
    >>> isinstance(rl.ones(2), rl.FloatTensor), isinstance(rl.ones(2), rl.LongTensor)
    (True, False)
    """

    dtype: _C.dtype
    is_cuda: bool
    layout = strided

    def __call__(cls, *args, device=None):
        """A tensor of the given sizes, uninitialised, or of the values in a sequence, array or tensor."""
        if cls.is_cuda:
            raise TypeError(f"{cls.full_name} is not available: {NO_CUDA}")
        first = args[0] if args else None
        if isinstance(first, Tensor) and first.dtype != cls.dtype:
            raise TypeError(f"{cls.full_name} of a tensor of {first.dtype}\n  hint: convert it: tensor.to({cls.dtype})")
        if isinstance(first, (bool, float, str)):
            raise TypeError(f"{cls.full_name}: expects sizes or a sequence of values, not {first!r}")
        return Tensor(*args, dtype=cls.dtype, device=device)

    def __instancecheck__(cls, value) -> bool:
        return isinstance(value, Tensor) and value.dtype == cls.dtype and not cls.is_cuda

    def __repr__(cls) -> str:
        return f"<class '{cls.full_name}'>"

    @property
    def full_name(cls) -> str:
        """'torch.FloatTensor', and so on."""
        return f"torch.{'cuda.' if cls.is_cuda else ''}{cls.__name__}"

    def __getattr__(cls, name: str):
        return getattr(Tensor, name)


def _types(module: str, is_cuda: bool) -> dict[str, tensortype]:
    return {
        f"{name}Tensor": tensortype(f"{name}Tensor", (), {"__module__": module, "dtype": dtype, "is_cuda": is_cuda})
        for dtype, name in _legacy_names.items()
        if not name.startswith("UInt")
    }


TYPES = _types("rushlight", False)
CUDA_TYPES = _types("rushlight.cuda", True)
FloatTensor = TYPES["FloatTensor"]
DoubleTensor = TYPES["DoubleTensor"]
HalfTensor = TYPES["HalfTensor"]
BFloat16Tensor = TYPES["BFloat16Tensor"]
LongTensor = TYPES["LongTensor"]
IntTensor = TYPES["IntTensor"]
ShortTensor = TYPES["ShortTensor"]
CharTensor = TYPES["CharTensor"]
ByteTensor = TYPES["ByteTensor"]
BoolTensor = TYPES["BoolTensor"]


def type_of_name(name: str) -> tensortype:
    """The class that ``tensor.type()`` names, such as 'torch.FloatTensor'.

    Raises:
        ValueError: there is none.
    """
    short = name.removeprefix("torch.").removeprefix("rushlight.")
    types = CUDA_TYPES if short.startswith("cuda.") else TYPES
    if short.removeprefix("cuda.") not in types:
        raise ValueError(f"unknown type {name!r}\n  hint: give a dtype, or a name such as 'torch.FloatTensor'")
    return types[short.removeprefix("cuda.")]


def typename(obj) -> str:
    """The name of an object's type: of a tensor the one that ``tensor.type()`` gives.

    >>> import rushlight as rl
    >>> rl.typename(rl.ones(2))
    'torch.FloatTensor'
    """
    if isinstance(obj, Tensor):
        return obj.type()
    if isinstance(obj, tensortype):
        return obj.full_name
    kind = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(kind, "__module__", None)
    return kind.__qualname__ if module in (None, "builtins") else f"{module}.{kind.__qualname__}"
