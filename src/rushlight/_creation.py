"""Functions that make tensors: shapes, dtypes and devices of all kinds worked out for the engine.

The options that they share stand in each signature, for help() and completion to show, and are described at empty().
"""

from __future__ import annotations

from . import _C
from ._C import Tensor
from .overrides import overridable


def _shape(args, size):
    """zeros(2, 3), zeros((2, 3)) and zeros(size=(2, 3)) all mean the shape (2, 3)."""
    if size is not None:
        if args:
            raise TypeError("the shape is given twice, by position and as size=")
        return size
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        return args[0]
    return args


def _finish(tensor, requires_grad):
    if requires_grad:
        tensor.requires_grad_(True)
    return tensor


def _dtype(dtype, out, default=None):
    """The dtype to make: that of ``out`` where one is given."""
    if out is None:
        return default if dtype is None else dtype
    if dtype is not None and dtype != out.dtype:
        raise RuntimeError(f"dtype is {dtype}, but out= is {out.dtype}\n  hint: leave dtype= away")
    return out.dtype


def _store(result, out):
    """Puts a result into ``out``, where one is given."""
    if out is None:
        return result
    if out.shape != result.shape:
        out.resize_(result.shape)
    return out.copy_(result)


@overridable
def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False) -> Tensor:
    """A new tensor that holds a copy of ``data``.

    Args:
        data: a number, a nested list or tuple of numbers, a NumPy array or scalar, or a tensor.
        dtype: of the elements. Without it: bool for bools, int64 for ints, the default dtype for floats; that of an
            array or a tensor, and of those among the elements the smallest that holds all.
        device: ``"cpu"`` or ``"meta"``.
        requires_grad: whether operations on it are recorded.

    Raises:
        ValueError: for ragged lists.
        TypeError: for a number among lists, or a list among numbers.
        RuntimeError: for what is no number.

    >>> import rushlight as rl
    >>> rl.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    if isinstance(data, Tensor):
        result = data.detach().clone()
        if dtype is not None:
            result = result.to(dtype)
    elif hasattr(data, "__array_interface__") or hasattr(data, "__array__"):
        result = _from_array(data, dtype).clone()
    else:
        kinds: set = set()
        data = _plain(data, kinds)
        if dtype is None and not kinds <= _PYTHON_NUMBERS:
            dtype = _common_dtype(kinds)
        result = _C._from_nested(data, dtype)
    if device is not None:
        result = result.to(device)
    return _finish(result, requires_grad)


_PYTHON_NUMBERS = {bool, int, float}


def _common_dtype(kinds):
    """Of types of Python numbers and dtypes."""
    own = {bool: _C.bool, int: _C.int64, float: _C.get_default_dtype()}
    result = _C.bool
    for kind in kinds:
        result = _C.promote_types(result, own.get(kind, kind))
    return result


def _plain(data, kinds):
    """Lists all the way down: sequences of other kinds, arrays and tensors among the elements included.

    ``kinds`` takes the types of Python numbers and the dtypes of arrays and tensors.
    """
    if isinstance(data, (list, tuple)):
        types = set(map(type, data))
        if types <= _PYTHON_NUMBERS:
            kinds |= types
            return data
        return [_plain(x, kinds) for x in data]
    if isinstance(data, Tensor):
        kinds.add(data.dtype)
        return data.item() if data.numel() == 1 else data.tolist()
    if hasattr(data, "tolist"):
        kinds.add(_from_array(data, None).dtype)
        return data.tolist()
    if hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, (str, bytes, dict)):
        return [_plain(data[i], kinds) for i in range(len(data))]
    if type(data) in _PYTHON_NUMBERS:
        kinds.add(type(data))
    return data


def _from_array(data, dtype):
    import numpy

    array = numpy.asarray(data)
    if any(s < 0 for s in array.strides) or not array.flags.writeable or not array.flags.aligned:
        array = array.copy()
    result = from_numpy(array)
    return result if dtype is None else result.to(dtype)


def from_numpy(array) -> Tensor:
    """A tensor over the memory of a NumPy array: writes to one show in the other.

    An array whose elements do not lie at multiples of their size (``array.flags.aligned`` tells) is copied, with a
    warning.

    Raises:
        TypeError: for what is no array, or an element type that tensors do not have.
        ValueError: for negative strides.

    >>> import rushlight as rl
    >>> import numpy
    >>> array = numpy.zeros(2)
    >>> x = rl.from_numpy(array)
    >>> array[0] = 5
    >>> x
    tensor([5., 0.], dtype=torch.float64)
    """
    return _C._from_numpy(array)


@overridable
def as_tensor(data, dtype=None, device=None) -> Tensor:
    """``data`` as a tensor, sharing its memory where that is possible; history is kept. A storage's bytes are taken as
    they are, as elements of ``dtype``.

    >>> import rushlight as rl
    >>> x = rl.ones(2)
    >>> rl.as_tensor(x) is x
    True
    >>> rl.as_tensor([1, 2])
    tensor([1, 2])
    """
    if isinstance(data, Tensor):
        result = data
    elif hasattr(data, "__array_interface__"):
        result = _from_array(data, None)
    elif hasattr(data, "__dlpack__"):
        result = from_dlpack(data)
    else:
        from .storage import is_storage

        if not is_storage(data):
            return tensor(data, dtype=dtype, device=device)
        result = data._as(_C.uint8)
        if dtype is not None:
            if result.data_ptr() % dtype.itemsize:  # elements have to be aligned
                result = result.clone()
            result = result.view(dtype)
    if dtype is not None:
        result = result.to(dtype)
    return result if device is None else result.to(device)


asarray = as_tensor


def from_dlpack(x) -> Tensor:
    """A tensor over the memory of any array that speaks DLPack.

    >>> import rushlight as rl
    >>> x = rl.zeros(2)
    >>> y = rl.from_dlpack(x)
    >>> x[0] = 5
    >>> y
    tensor([5., 0.])
    """
    return _C._from_dlpack(x.__dlpack__() if hasattr(x, "__dlpack__") else x)


@overridable
def empty(
    *args,
    size=None,
    out=None,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    pin_memory=False,
    memory_format=None,
) -> Tensor:
    """A tensor of the given shape whose elements are not set.

    Args:
        args, size: the shape: as numbers, as one tuple or list, or by name.
        out: a tensor to write to and to return.
        dtype: of the elements; the default dtype where not given.
        layout: taken for PyTorch's sake: all tensors are strided.
        device: ``"cpu"`` or ``"meta"``.
        requires_grad: whether operations on it are recorded.
        pin_memory: taken for PyTorch's sake: there is no accelerator to pin memory for.
        memory_format: in which order dimensions lie in memory.

    Raises:
        TypeError: for a shape that is not made of whole numbers.
        RuntimeError: for a negative size, or a dtype that is not that of ``out``.

    >>> import rushlight as rl
    >>> rl.empty(2, 3).shape
    torch.Size([2, 3])
    """
    shape = _shape(args, size)
    if memory_format is not None and memory_format._number >= 2:
        like = _C._empty(shape, dtype, "meta")
        like = _C._empty_like(like, None, memory_format._number)
        return _finish(_C._empty_strided(like.shape, like.stride(), dtype, device), requires_grad)
    dtype = _dtype(dtype, out)
    if out is not None:
        return out.resize_(shape)
    return _finish(_C._empty(shape, dtype, device), requires_grad)


@overridable
def zeros(
    *args, size=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
) -> Tensor:
    """A tensor of the given shape, all elements 0.

    >>> import rushlight as rl
    >>> rl.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    dtype = _dtype(dtype, out, _C.get_default_dtype())
    return _finish(_store(_C._full(_shape(args, size), 0, dtype, device), out), requires_grad)


@overridable
def ones(
    *args, size=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
) -> Tensor:
    """A tensor of the given shape, all elements 1.

    The options are those of :func:`empty`.

    >>> import rushlight as rl
    >>> rl.ones(2, 3)
    tensor([[1., 1., 1.],
            [1., 1., 1.]])
    """
    dtype = _dtype(dtype, out, _C.get_default_dtype())
    return _finish(_store(_C._full(_shape(args, size), 1, dtype, device), out), requires_grad)


@overridable
def full(
    size, fill_value, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
) -> Tensor:
    """A tensor of the given shape, all elements ``fill_value``; its dtype is that of the value where not given.

    The options are those of :func:`empty`.

    >>> import rushlight as rl
    >>> rl.full((2,), 3.5)
    tensor([3.5000, 3.5000])
    """
    return _finish(_store(_C._full(size, fill_value, _dtype(dtype, out), device), out), requires_grad)


def _like(input, dtype, device, memory_format, requires_grad):
    if not isinstance(input, Tensor):
        raise TypeError(f"expected a tensor whose shape to take, got a {type(input).__name__}")
    result = _C._empty_like(input, dtype, 1 if memory_format is None else memory_format._number)
    if device is not None and str(device) != str(input.device):
        result = _C._empty_strided(result.shape, result.stride(), result.dtype, device)
    return result


@overridable
def empty_like(
    input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, pin_memory=False
) -> Tensor:
    """A tensor of ``input``'s shape, dtype and layout whose elements are not set.

    The options are those of :func:`empty`; dtype and device are ``input``'s where not given.

    >>> import rushlight as rl
    >>> rl.empty_like(rl.zeros(2, 3)).shape
    torch.Size([2, 3])
    """
    return _finish(_like(input, dtype, device, memory_format, requires_grad), requires_grad)


@overridable
def zeros_like(
    input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, pin_memory=False
) -> Tensor:
    """A tensor of ``input``'s shape, dtype and layout, all elements 0.

    The options are those of :func:`empty`; dtype and device are ``input``'s where not given.

    >>> import rushlight as rl
    >>> rl.zeros_like(rl.tensor([1, 2]))
    tensor([0, 0])
    """
    return _finish(_like(input, dtype, device, memory_format, requires_grad).zero_(), requires_grad)


@overridable
def ones_like(
    input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, pin_memory=False
) -> Tensor:
    """A tensor of ``input``'s shape, dtype and layout, all elements 1.

    The options are those of :func:`empty`; dtype and device are ``input``'s where not given.

    >>> import rushlight as rl
    >>> rl.ones_like(rl.tensor([0.5, 2]))
    tensor([1., 1.])
    """
    return _finish(_like(input, dtype, device, memory_format, requires_grad).fill_(1), requires_grad)


@overridable
def full_like(
    input,
    fill_value,
    *,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    memory_format=None,
    pin_memory=False,
) -> Tensor:
    """A tensor of ``input``'s shape, dtype and layout, all elements ``fill_value``.

    The options are those of :func:`empty`; dtype and device are ``input``'s where not given.

    >>> import rushlight as rl
    >>> rl.full_like(rl.zeros(3), 7)
    tensor([7., 7., 7.])
    """
    return _finish(_like(input, dtype, device, memory_format, requires_grad).fill_(fill_value), requires_grad)


@overridable
def empty_strided(
    size, stride, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
) -> Tensor:
    """A tensor of the given shape and strides whose elements are not set.

    The options are those of :func:`empty`.

    >>> import rushlight as rl
    >>> rl.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    return _finish(_C._empty_strided(size, stride, dtype, device), requires_grad)


def _number_dtype(*numbers):
    """int64 if all are integers, else the default dtype."""
    if all(isinstance(n, int) or (isinstance(n, Tensor) and not n.is_floating_point()) for n in numbers):
        return _C.int64
    return _C.get_default_dtype()


@overridable
def arange(
    start, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
) -> Tensor:
    """The numbers from ``start`` up to ``end``, without it, in steps of ``step``.

    >>> import rushlight as rl
    >>> rl.arange(0, 10, 2)
    tensor([0, 2, 4, 6, 8])
    """
    if end is None:
        start, end = 0, start
    result = _C._arange(start, end, step, _dtype(dtype, out, _number_dtype(start, end, step)))
    if device is not None:
        result = result.to(device)
    return _finish(_store(result, out), requires_grad)


@overridable
def range_(start, end, step=1, *, out=None, dtype=None, **options) -> Tensor:
    """As :func:`arange`, with ``end`` included where a step meets it, and of the default dtype where none is given.

    >>> import rushlight as rl
    >>> rl.range(1, 4)
    tensor([1., 2., 3., 4.])
    """
    if step:
        end = start + ((end - start) / step // 1 + 0.5) * step  # half a step beyond the last number
    return arange(start, end, step, out=out, dtype=_dtype(dtype, out, _C.get_default_dtype()), **options)


range_.__name__ = "range"


@overridable
def linspace(
    start, end, steps, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
) -> Tensor:
    """``steps`` numbers evenly spaced from ``start`` to ``end``, both included.

    Args:
        start, end: numbers.
        steps: how many, a whole number.

    The options are those of :func:`empty`.

    Raises:
        TypeError: ``steps`` is no whole number.
        RuntimeError: ``steps`` is negative.

    >>> import rushlight as rl
    >>> rl.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    if isinstance(steps, bool) or not isinstance(steps, int):
        raise TypeError(f"linspace: steps must be an integer, not {type(steps).__name__}")
    result = _C._linspace(start, end, steps, _dtype(dtype, out, _C.get_default_dtype()))
    if device is not None:
        result = result.to(device)
    return _finish(_store(result, out), requires_grad)


@overridable
def logspace(
    start,
    end,
    steps,
    base=10.0,
    *,
    out=None,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    pin_memory=False,
) -> Tensor:
    """``steps`` numbers from ``base**start`` to ``base**end``, evenly spaced on a logarithmic scale.

    >>> import rushlight as rl
    >>> rl.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    dtype = _dtype(dtype, out, _C.get_default_dtype())
    # Exponents between integers count for integers too.
    exponents = linspace(start, end, steps, dtype=dtype if dtype.is_floating_point else _C.float64, device=device)
    return _finish(_store((base**exponents).to(dtype), out), requires_grad)


@overridable
def eye(n, m=None, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False) -> Tensor:
    """The n x m matrix with ones on its diagonal and zeros elsewhere.

    Args:
        n: rows.
        m: columns, as many as rows where not given.

    The options are those of :func:`empty`.

    Raises:
        RuntimeError: a negative size.

    >>> import rushlight as rl
    >>> rl.eye(2, 3)
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    m = n if m is None else m
    if n < 0 or m < 0:
        raise RuntimeError(f"eye: sizes must not be negative, got {n} and {m}")
    result = zeros(n, m, dtype=_dtype(dtype, out), device=device)
    k = min(n, m)
    if k:
        result.as_strided((k,), (m + 1,)).fill_(1)
    return _finish(_store(result, out), requires_grad)


@overridable
def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False) -> Tensor:
    """A one-dimensional tensor over the memory of any object with a buffer; a copy, with a warning, where its elements
    do not lie at multiples of their size.

    Args:
        dtype: of the elements.
        count: how many elements; all that fit where negative.
        offset: bytes to leave out at the beginning.

    Raises:
        ValueError: the buffer is too short, or holds no whole number of elements.

    >>> import rushlight as rl
    >>> buffer = bytearray([1, 0, 2, 0])
    >>> rl.frombuffer(buffer, dtype=rl.int16)
    tensor([1, 2], dtype=torch.int16)
    """
    return _finish(_C._from_buffer(buffer, dtype, count, offset), requires_grad)


@overridable
def scalar_tensor(s, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False) -> Tensor:
    """A number as a tensor without dimensions, of the default dtype where none is given.

    >>> import rushlight as rl
    >>> rl.scalar_tensor(3)
    tensor(3.)
    """
    return full((), s, dtype=dtype or _C.get_default_dtype(), device=device, requires_grad=requires_grad)
