"""Automatic differentiation: running the graph backward, and switching its recording."""

from __future__ import annotations

from .. import _C
from .._lazy import lazily
from . import function
from .function import Function
from .grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled


def _node_metadata(self) -> dict:
    return self.__dict__.setdefault("_metadata", {})


def _node_attribute(self, name: str):
    from ._saved import get  # with the first use, not with the package

    return get(self, name)


def _node_dir(self) -> list[str]:
    from ._saved import attributes

    return attributes(self)


for _name, _value in {
    "__getattr__": _node_attribute,
    "__dir__": _node_dir,
    "metadata": property(_node_metadata, doc="A dictionary for whoever wants to note something on this node."),
    "register_hook": lambda self, hook: function._add_hook(self._hooks(False), hook),
    "register_prehook": lambda self, hook: function._add_hook(self._hooks(True), hook),
}.items():
    setattr(_C.Node, _name, _value)


def _as_tuple(x):
    return (x,) if isinstance(x, _C.Tensor) else tuple(x)


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, inputs=None) -> None:
    """Adds the gradients of ``tensors`` to the ``.grad`` of the leaves they were computed from.

    Args:
        tensors: a tensor or a sequence of them. Those with more than one element need a gradient of their own.
        grad_tensors: for each tensor its gradient, of the same shape, or None for 1 where it is a scalar.
        retain_graph: keeps what the graph saved, for another backward; as ``create_graph`` where not given.
        create_graph: records the backward itself, so that the gradients can be differentiated.
        inputs: the leaves to write; all that are reached where not given.

    Raises:
        RuntimeError: where nothing requires a gradient, or saved tensors were freed or modified.

    >>> import rushlight as rl
    >>> x = rl.ones(2, requires_grad=True)
    >>> rl.autograd.backward([x * 2, x * 3], [rl.ones(2), rl.ones(2)])
    >>> x.grad
    tensor([5., 5.])
    """
    tensors = _as_tuple(tensors)
    if grad_tensors is None:
        grad_tensors = (None,) * len(tensors)
    else:
        grad_tensors = _as_tuple(grad_tensors)
        if len(grad_tensors) != len(tensors):
            raise RuntimeError(f"backward: got {len(tensors)} tensors and {len(grad_tensors)} gradients for them")
    if inputs is not None:
        inputs = _as_tuple(inputs)
        if not inputs:
            raise RuntimeError("backward: inputs is empty\n  hint: leave it away to reach all leaves")
    if retain_graph is None:
        retain_graph = create_graph
    _C._run_backward(tensors, grad_tensors, inputs, retain_graph, create_graph, True, True)


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=None,
    is_grads_batched=False,
    materialize_grads=False,
):
    """The gradients of ``outputs`` by ``inputs``, as a tuple; no ``.grad`` is written.

    Args:
        outputs: a tensor or a sequence of them.
        inputs: what to differentiate by: tensors that the outputs were computed from.
        grad_outputs: for each output its gradient, or None for 1 where it is a scalar.
        retain_graph, create_graph: as in :func:`backward`.
        allow_unused: gives None for an input that no output depends on, instead of an error.
        materialize_grads: gives zeros for such an input.

    Raises:
        RuntimeError: for an input that does not require a gradient, or was not used.

    >>> import rushlight as rl
    >>> x = rl.tensor(3.0, requires_grad=True)
    >>> rl.autograd.grad(x**2, x)
    (tensor(6.),)
    """
    if not only_inputs:
        raise ValueError("grad: only_inputs=False is not supported\n  hint: use backward() to write all leaves")
    if is_grads_batched:
        raise NotImplementedError("grad: is_grads_batched is not implemented")
    if materialize_grads and allow_unused is False:
        raise ValueError("grad: materialize_grads=True needs unused inputs to be allowed")
    outputs, inputs = _as_tuple(outputs), _as_tuple(inputs)
    grads = (None,) * len(outputs) if grad_outputs is None else _as_tuple(grad_outputs)
    if len(grads) != len(outputs):
        raise RuntimeError(f"grad: got {len(outputs)} outputs and {len(grads)} gradients for them")
    if retain_graph is None:
        retain_graph = create_graph
    unused = bool(allow_unused) or materialize_grads
    result = _C._run_backward(outputs, grads, inputs, retain_graph, create_graph, False, unused)
    if materialize_grads:
        from .. import zeros_like

        result = tuple(zeros_like(x) if g is None else g for g, x in zip(result, inputs, strict=True))
    return result


TYPE_CHECKING = False  # typing's own would have to be imported
if TYPE_CHECKING:
    from . import profiler, profiler_util
    from .gradcheck import gradcheck, gradgradcheck
    from .variable import Variable

__getattr__, __dir__ = lazily(
    __name__,
    globals(),
    {
        "functional": "functional",
        "gradcheck": "gradcheck:gradcheck",
        "gradgradcheck": "gradcheck:gradgradcheck",
        "Variable": "variable:Variable",
        "profiler": "profiler",
        "profiler_util": "profiler_util",
        "DeviceType": "profiler_util:DeviceType",
        "ProfilerActivity": "profiler_util:ProfilerActivity",
        "kineto_available": "profiler:kineto_available",
    },
)
