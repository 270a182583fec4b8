"""Random numbers: generators, seeds, and tensors filled from them.

The same seed gives the same numbers as PyTorch on the CPU.
"""

from __future__ import annotations

from . import _C
from ._C import Generator, Tensor, default_generator
from ._composites.shape import broadcast_shapes
from ._creation import _dtype, _finish, _like, _shape, _store
from .overrides import overridable


def _generator_of_state(state) -> Generator:  # for pickle and deepcopy
    return Generator().set_state(state)


def manual_seed(seed) -> Generator:
    """Seeds the default generator, from which all draws come that name no other.

    >>> import rushlight as rl
    >>> _ = rl.manual_seed(0)
    >>> rl.rand(2)
    tensor([0.4963, 0.7682])
    """
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Seeds the default generator from the system's randomness; returns the seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the default generator was last given.

    >>> import rushlight as rl
    >>> _ = rl.manual_seed(7)
    >>> rl.initial_seed()
    7
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator, as bytes.

    >>> import rushlight as rl
    >>> before = rl.get_rng_state()
    >>> a = rl.rand(3)
    >>> rl.set_rng_state(before)
    >>> rl.equal(rl.rand(3), a)
    True
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Puts the default generator into a state that :func:`get_rng_state` gave."""
    default_generator.set_state(new_state)


class fork_rng:
    """Inside, draws are taken as ever; at the end the default generator is as it was at the beginning.

    >>> import rushlight as rl
    >>> _ = rl.manual_seed(0)
    >>> with rl.random.fork_rng():
    ...     a = rl.rand(1)
    >>> rl.equal(rl.rand(1), a)
    True
    """

    def __init__(self, devices=None, enabled: bool = True, device_type: str = "cpu"):
        self._enabled = enabled

    def __enter__(self):
        if self._enabled:
            self._state = get_rng_state()

    def __exit__(self, *exc) -> None:
        if self._enabled:
            set_rng_state(self._state)


@overridable
def rand(
    *args,
    size=None,
    generator=None,
    out=None,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    pin_memory=False,
) -> Tensor:
    """A tensor of the given shape, filled from the uniform distribution over [0, 1).

    The options are those of :func:`rushlight.empty`; numbers are drawn from ``generator``, or from the default one.

    >>> import rushlight as rl
    >>> rl.rand(2, generator=rl.Generator().manual_seed(0))
    tensor([0.4963, 0.7682])
    """
    shape, dtype = _shape(args, size), _dtype(dtype, out)
    if out is not None:
        return out.resize_(shape).uniform_(generator=generator)
    return _finish(_C._empty(shape, dtype, device).uniform_(generator=generator), requires_grad)


@overridable
def randn(
    *args,
    size=None,
    generator=None,
    out=None,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    pin_memory=False,
) -> Tensor:
    """A tensor of the given shape, filled from the normal distribution with mean 0 and standard deviation 1.

    The options are those of :func:`rushlight.empty`; numbers are drawn from ``generator``, or from the default one.

    >>> import rushlight as rl
    >>> rl.randn(3, generator=rl.Generator().manual_seed(0))
    tensor([ 1.5410, -0.2934, -2.1788])
    """
    shape, dtype = _shape(args, size), _dtype(dtype, out)
    if out is not None:
        return out.resize_(shape).normal_(generator=generator)
    return _finish(_C._empty(shape, dtype, device).normal_(generator=generator), requires_grad)


@overridable
def randint(
    *args,
    low=0,
    high=None,
    size=None,
    generator=None,
    out=None,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    pin_memory=False,
) -> Tensor:
    """A tensor of whole numbers from [low, high), int64 unless said otherwise.

    ``randint(high, size)`` and ``randint(low, high, size)`` are both understood, and all three by name.

    Raises:
        RuntimeError: where low < high does not hold, or the dtype cannot hold the bounds.

    >>> import rushlight as rl
    >>> rl.randint(10, (2, 3)).shape
    torch.Size([2, 3])
    """
    if args and isinstance(args[-1], (tuple, list)):
        args, size = args[:-1], args[-1]
    if len(args) == 1:
        (high,) = args
    elif len(args) == 2:
        low, high = args
    if len(args) > 2 or high is None or not isinstance(size, (tuple, list)):
        raise TypeError("randint takes (high, size) or (low, high, size), where size is a tuple of integers")
    if low >= high:
        raise RuntimeError(f"randint: expects low < high, got {low} and {high}")
    dtype = _dtype(dtype, out, _C.int64)
    result = _C._empty(size, dtype, device) if out is None else out.resize_(size)
    return _finish(result.random_(low, high, generator=generator), requires_grad)


@overridable
def randperm(
    n: int, *, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
) -> Tensor:
    """The numbers 0 to n - 1 in random order.

    The options are those of :func:`rushlight.empty`; numbers are drawn from ``generator``, or from the default one.

    Raises:
        RuntimeError: ``n`` is negative.

    >>> import rushlight as rl
    >>> rl.randperm(4).sort().values
    tensor([0, 1, 2, 3])
    """
    dtype = _dtype(dtype, out)
    result = _C._randperm(n, generator=generator)
    if dtype is not None and dtype != _C.int64:
        result = result.to(dtype)
    if device is not None:
        result = result.to(device)
    return _finish(_store(result, out), requires_grad)


@overridable
def rand_like(
    input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None
) -> Tensor:
    """As :func:`rand`, with ``input``'s shape, dtype and layout.

    Options as there; dtype and device are ``input``'s where not given.

    >>> import rushlight as rl
    >>> rl.rand_like(rl.zeros(2, 3)).shape
    torch.Size([2, 3])
    """
    return _finish(_like(input, dtype, device, memory_format, False).uniform_(generator=generator), requires_grad)


@overridable
def randn_like(
    input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None
) -> Tensor:
    """As :func:`randn`, with ``input``'s shape, dtype and layout.

    Options as there; dtype and device are ``input``'s where not given.

    >>> import rushlight as rl
    >>> rl.randn_like(rl.zeros(2, 3)).shape
    torch.Size([2, 3])
    """
    return _finish(_like(input, dtype, device, memory_format, False).normal_(generator=generator), requires_grad)


@overridable
def randint_like(
    input,
    low,
    high=None,
    *,
    generator=None,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    memory_format=None,
) -> Tensor:
    """As :func:`randint`, with ``input``'s shape, dtype and layout.

    Options as there; dtype and device are ``input``'s where not given.

    >>> import rushlight as rl
    >>> rl.randint_like(rl.zeros(2, 3), 10).shape
    torch.Size([2, 3])
    """
    if high is None:
        low, high = 0, low
    return _finish(
        _like(input, dtype, device, memory_format, False).random_(low, high, generator=generator), requires_grad
    )


@overridable
def normal(
    mean,
    std=1.0,
    size=None,
    *,
    generator=None,
    out=None,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    pin_memory=False,
) -> Tensor:
    """Normally distributed numbers; ``mean`` and ``std`` may be tensors, element by element.

    Args:
        mean, std: numbers, or tensors whose shapes broadcast together.
        size: the shape; needed where both are numbers.

    The options are those of :func:`rushlight.empty`; numbers are drawn from ``generator``, or from the default one.

    Raises:
        TypeError: ``size`` is needed and not given.

    >>> import rushlight as rl
    >>> rl.normal(rl.zeros(3), rl.tensor([1.0, 2.0, 3.0])).shape
    torch.Size([3])
    >>> rl.normal(0, 1, (2,)).shape
    torch.Size([2])
    """
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        shape = broadcast_shapes(*(t.shape for t in (mean, std) if isinstance(t, Tensor)))
        kind = mean.dtype if isinstance(mean, Tensor) else std.dtype
        result = _C._empty(shape, kind, None).normal_(generator=generator) * std + mean
        return _store(result, out)
    if size is None:
        raise TypeError("normal: numbers for mean and std need size=\n  hint: normal(0.0, 1.0, (2, 3))")
    return _finish(
        _store(_C._empty(size, _dtype(dtype, out), device).normal_(mean, std, generator=generator), out), requires_grad
    )
