"""Recurrent layers and their cells."""

from __future__ import annotations

import math

import rushlight as rl

from ... import Tensor
from ..._warnings import warn
from .. import functional as F
from .. import init
from ..common_types import Device
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from . import _recurrence
from .module import Module

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """What RNN, LSTM and GRU have in common: parameters, and running over layers, directions and steps.

    Args:
        mode: "LSTM", "GRU", "RNN_TANH" or "RNN_RELU"; other arguments as for ``LSTM``.

    Raises:
        ValueError: an unknown mode, a size below 1, a dropout that is no probability, a ``proj_size`` that is negative
            or not below ``hidden_size``, or one given without an LSTM.
        TypeError: ``hidden_size`` is no int.
    """

    __constants__ = [
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Device = None,
        dtype: rl.dtype | None = None,
    ) -> None:
        super().__init__()
        if mode not in _GATES:
            raise ValueError(f"Unrecognized RNN mode: {mode}\n  hint: use {', '.join(_GATES)}")
        if not isinstance(hidden_size, int):
            raise TypeError(f"hidden_size should be of type int, got: {type(hidden_size).__name__}")
        for name, value in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
            if value <= 0:
                raise ValueError(f"{name} must be greater than zero, got {value}")
        if isinstance(dropout, bool) or not 0 <= float(dropout) <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed, "
                f"got {dropout}"
            )
        if dropout > 0 and num_layers == 1:
            warn(
                "dropout is applied after all but the last recurrent layer, so it does nothing here: "
                f"dropout={dropout} and num_layers={num_layers}"
            )
        if proj_size < 0 or proj_size >= hidden_size:
            raise ValueError(
                f"proj_size should be 0 (no projection) or an int from 1 to below hidden_size={hidden_size}, "
                f"got {proj_size}"
            )
        if proj_size and mode != "LSTM":
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size

        gates, output_size = _GATES[mode] * hidden_size, proj_size or hidden_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            width = input_size if layer == 0 else output_size * (2 if bidirectional else 1)
            for suffix in (f"l{layer}", f"l{layer}_reverse")[: 2 if bidirectional else 1]:
                shapes: dict[str, tuple[int, ...]] = {"weight_ih": (gates, width), "weight_hh": (gates, output_size)}
                if bias:
                    shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                for name, shape in shapes.items():
                    setattr(self, f"{name}_{suffix}", Parameter(rl.empty(shape, device=device, dtype=dtype)))
                self._all_weights.append([f"{name}_{suffix}" for name in shapes])
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws all parameters anew."""
        bound = 1 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters, a list for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self):
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self):
        return [weight for weights in self.all_weights for weight in weights]

    def flatten_parameters(self) -> None:
        """Does nothing: parameters need not lie next to one another in memory."""

    def forward(self, input, hx=None):
        """Runs over all steps.

        Args:
            input: (L, N, input_size), (N, L, input_size) with ``batch_first``, (L, input_size) without a batch, or a
                PackedSequence.
            hx: the state before the first step, zeros unless given; see the class for shapes.

        Returns:
            The outputs of the last layer for all steps, as ``input`` was given, and the state after the last step.

        Raises:
            ValueError: the input has 1 or more than 3 dimensions, or another dtype than the weights.
            RuntimeError: sizes do not fit the layer, or there are no steps.
        """
        packed = isinstance(input, PackedSequence)
        if packed:
            x, batch_sizes, sorted_indices, unsorted_indices = input
            batch = int(batch_sizes[0])
            batched = True
        else:
            x, batch_sizes, sorted_indices, unsorted_indices = input, None, None, None
            if x.dim() not in (2, 3):
                raise ValueError(
                    f"{type(self).__name__}: Expected input to be 2D or 3D, got {x.dim()}D instead: {tuple(x.shape)}\n"
                    "  hint: the shape is (steps, batch, features), (batch, steps, features) with batch_first=True, "
                    "or (steps, features)"
                )
            batched = x.dim() == 3
        given = self._given_state(hx, batched)
        if not packed:
            if not batched:
                x = x.unsqueeze(1)
            elif self.batch_first:
                x = x.transpose(0, 1)
            batch = x.shape[1]
        self._check_input(x)
        state = self._initial_state(given, x, batch, batched, sorted_indices)

        output, final = self._run_layers(x, batch_sizes, state)

        if packed:
            output = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
            if unsorted_indices is not None:
                final = [s.index_select(1, unsorted_indices) for s in final]
        elif not batched:
            output, final = output.squeeze(1), [s.squeeze(1) for s in final]
        elif self.batch_first:
            output = output.transpose(0, 1)
        return output, tuple(final) if self.mode == "LSTM" else final[0]

    def _given_state(self, hx, batched):
        """The state that was given as a list of tensors, or None."""
        if hx is None:
            return None
        lstm = self.mode == "LSTM"
        if lstm != isinstance(hx, (tuple, list)) or (lstm and len(hx) != 2):
            wanted = "a pair (h_0, c_0)" if lstm else "one tensor h_0"
            got = f"{len(hx)} values" if isinstance(hx, (tuple, list)) else type(hx).__name__
            raise TypeError(f"{type(self).__name__}: the state must be {wanted}, got {got}")
        given = list(hx) if lstm else [hx]
        dims = 3 if batched else 2
        if any(s.dim() != dims for s in given):
            kind = "batched 3-D" if batched else "unbatched 2-D"
            raise RuntimeError(
                f"For {kind} input, {'hx and cx' if lstm else 'hx'} should also be {dims}-D but got "
                f"{' and '.join(f'{s.dim()}-D {tuple(s.shape)}' for s in given)}"
            )
        return given if batched else [s.unsqueeze(1) for s in given]

    def _check_input(self, x):
        weight = self.weight_ih_l0
        if x.dtype != weight.dtype and not rl.is_autocast_enabled("cpu"):
            raise ValueError(
                f"RNN input dtype ({x.dtype}) does not match weight dtype ({weight.dtype})\n"
                f"  hint: convert the input, input.to({weight.dtype}), or the model, model.to({x.dtype})"
            )
        if x.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {x.shape[-1]}"
            )
        if x.shape[0] == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")

    def _initial_state(self, given, x, batch, batched, sorted_indices):
        """One tensor (layers * directions, batch, size) for each part of the state."""
        stacked = self.num_layers * (2 if self.bidirectional else 1)
        sizes = [self.proj_size or self.hidden_size] + [self.hidden_size] * (self.mode == "LSTM")
        if given is None:
            return [x.new_zeros((stacked, batch, size)) for size in sizes]
        for i, (s, size) in enumerate(zip(given, sizes, strict=True)):
            if s.shape != (stacked, batch, size):
                name = f"hidden[{i}]" if self.mode == "LSTM" else "hidden"
                wanted, got = (stacked, batch, size), tuple(s.shape)
                if not batched:
                    wanted, got = (stacked, size), (got[0], *got[2:])
                raise RuntimeError(
                    f"Expected {name} size {wanted}, got {list(got)}\n"
                    "  hint: it is (layers * directions, batch, size), also with batch_first=True"
                )
            if s.dtype != x.dtype:
                raise RuntimeError(f"RNN: the input is of dtype {x.dtype}, but the given state of {s.dtype}")
        return given if sorted_indices is None else [s.index_select(1, sorted_indices) for s in given]

    def _run_layers(self, x, batch_sizes, state):
        sizes = None if batch_sizes is None else batch_sizes.tolist()
        directions = 2 if self.bidirectional else 1
        final = []
        for layer in range(self.num_layers):
            if layer > 0 and self.dropout:
                x = F.dropout(x, self.dropout, self.training)
            outputs = []
            for direction in range(directions):
                k = layer * directions + direction
                output, after = self._run_layer(x, sizes, [s[k] for s in state], self._all_weights[k], direction == 1)
                outputs.append(output)
                final.append(after)
            x = outputs[0] if directions == 1 else rl.cat(outputs, -1)
        return x, [rl.stack(parts) for parts in zip(*final, strict=True)]

    def _run_layer(self, x, batch_sizes, state, names, reverse):
        weights = iter([getattr(self, name) for name in names])
        w_ih, w_hh = next(weights), next(weights)
        b_ih, b_hh = (next(weights), next(weights)) if self.bias else (None, None)
        projection = next(weights).t() if self.proj_size else None
        if self.bias and self.mode != "GRU":  # elsewhere both biases are only ever added
            b_ih, b_hh = b_ih + b_hh, None
        products = F.linear(x, w_ih, b_ih)  # of all steps at once
        if batch_sizes is None:
            inputs, run, join = products.unbind(0), _recurrence.run, rl.stack
        else:
            inputs, run, join = products.split(batch_sizes), _recurrence.run_packed, rl.cat
        outputs, state = run(self.mode, inputs, state, w_hh.t(), b_hh, projection, reverse)
        return join(outputs), state

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        for name, default in (
            ("proj_size", 0),
            ("num_layers", 1),
            ("bias", True),
            ("batch_first", False),
            ("dropout", 0),
            ("bidirectional", False),
        ):
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        return text


class RNN(RNNBase):
    """The simple recurrent network (Elman 1990): h' = tanh(W_ih x + b_ih + W_hh h + b_hh).

    Args:
        nonlinearity: "tanh" or "relu". Other arguments as for ``LSTM``; there is no ``proj_size``.

    Shapes:
        As for ``LSTM``, with h_0 and h_n alone as the state. weight_ih_l{k} is (hidden_size, input's size),
        weight_hh_l{k} (hidden_size, hidden_size).

    Raises:
        ValueError: another nonlinearity; otherwise as for ``RNNBase``.

    Example:
        >>> import rushlight as rl
        >>> rnn = rl.nn.RNN(10, 20, num_layers=2)
        >>> output, h_n = rnn(rl.zeros(5, 3, 10))
        >>> output.shape, h_n.shape
        (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Device = None,
        dtype: rl.dtype | None = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(
            f"RNN_{nonlinearity.upper()}",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
        )
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber 1997), with forget gates.

    Gates i, f, o are sigmoids and g a tanh of W_ih x + b_ih + W_hh h + b_hh; c' = f c + i g and h' = o tanh(c').

    Args:
        input_size: features of the input.
        hidden_size: features of h and c.
        num_layers: layers on top of one another, each fed with the outputs of the one below.
        bias: whether there are b_ih and b_hh.
        batch_first: input and output are (N, L, *) instead of (L, N, *); states are not.
        dropout: its probability after each layer but the last, in training.
        bidirectional: a second network runs from the last step to the first; outputs are put side by side.
        proj_size: h is brought to that size by a matrix weight_hr (Sak et al. 2014); 0 for none.

    Shapes:
        input (L, N, input_size), (N, L, input_size), (L, input_size), or a PackedSequence; with D directions and H_out
        the proj_size if there is one, else hidden_size: output (L, N, D * H_out), or as the input was given.
        h_0 and h_n (D * num_layers, N, H_out), c_0 and c_n (D * num_layers, N, hidden_size), without N where the input
        has none. weight_ih_l{k} (4 hidden_size, the layer's input size), weight_hh_l{k} (4 hidden_size, H_out),
        bias_ih_l{k} and bias_hh_l{k} (4 hidden_size), gates in the order i, f, g, o; with the ending _reverse for the
        second direction. All are uniform within 1 / sqrt(hidden_size) at first.

    Raises:
        ValueError, TypeError: as for ``RNNBase``.

    Example:
        >>> import rushlight as rl
        >>> lstm = rl.nn.LSTM(10, 20, bidirectional=True, batch_first=True)
        >>> output, (h_n, c_n) = lstm(rl.zeros(3, 5, 10))
        >>> output.shape, h_n.shape
        (torch.Size([3, 5, 40]), torch.Size([2, 3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Device = None,
        dtype: rl.dtype | None = None,
    ) -> None:
        super().__init__(
            "LSTM",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
        )


class GRU(RNNBase):
    """Gated recurrent units (Cho et al. 2014).

    Gates r and z are sigmoids of W_i x + b_i + W_h h + b_h, n = tanh(W_in x + b_in + r (W_hn h + b_hn)), and
    h' = (1 - z) n + z h.

    Args:
        As for ``LSTM``; there is no ``proj_size``.

    Shapes:
        As for ``LSTM``, with h_0 and h_n alone as the state. weight_ih_l{k} is (3 hidden_size, input's size),
        weight_hh_l{k} (3 hidden_size, hidden_size), gates in the order r, z, n.

    Raises:
        ValueError, TypeError: as for ``RNNBase``.

    Example:
        >>> import rushlight as rl
        >>> gru = rl.nn.GRU(10, 20)
        >>> output, h_n = gru(rl.zeros(5, 10))  # without a batch
        >>> output.shape, h_n.shape
        (torch.Size([5, 20]), torch.Size([1, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Device = None,
        dtype: rl.dtype | None = None,
    ) -> None:
        super().__init__(
            "GRU",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
        )


class RNNCellBase(Module):
    """What the cells have in common: their parameters, and one step."""

    __constants__ = ["input_size", "hidden_size", "bias"]

    _mode = ""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Device = None,
        dtype: rl.dtype | None = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = num_chunks * hidden_size
        self.weight_ih = Parameter(rl.empty((gates, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(rl.empty((gates, hidden_size), device=device, dtype=dtype))
        if bias:
            self.bias_ih = Parameter(rl.empty(gates, device=device, dtype=dtype))
            self.bias_hh = Parameter(rl.empty(gates, device=device, dtype=dtype))
        else:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws all parameters anew."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + (f", bias={self.bias}" if self.bias is not True else "")

    def _step(self, input, given, count=1):
        """The state after one step, as a tuple of ``count`` tensors."""
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(
                f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead: {tuple(input.shape)}\n"
                f"  hint: a cell takes one step, (batch, features); nn.{name[:-4]} takes all of them"
            )
        if given is None:
            shape = (*input.shape[:-1], self.hidden_size)
            given = (input.new_zeros(shape),) * 2 if count == 2 else input.new_zeros(shape)
        if isinstance(given, Tensor) != (count == 1) or (count == 2 and len(given) != 2):
            got = f"{len(given)} values" if count == 2 and isinstance(given, tuple) else type(given).__name__
            raise TypeError(
                f"{name}: the state must be {'a pair (h_0, c_0)' if count == 2 else 'one tensor'}, got {got}"
            )
        if count == 1:
            given = (given,)
        if any(s.dim() not in (1, 2) for s in given):
            raise ValueError(f"{name}: Expected hidden to be 1D or 2D, got {[tuple(s.shape) for s in given]}")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"{name}: input has inconsistent input_size: got {input.shape[-1]} expected {self.input_size}"
            )
        if any(s.dim() != input.dim() for s in given):
            raise RuntimeError(
                f"{name}: input and hidden must both have a batch or none, got {tuple(input.shape)} and "
                f"{' and '.join(str(tuple(s.shape)) for s in given)}"
            )
        x, *state = (t if t.dim() == 2 else t.unsqueeze(0) for t in (input, *given))
        for i, s in enumerate(state):
            if s.shape[0] != x.shape[0]:
                raise RuntimeError(
                    f"{name}: Input batch size {x.shape[0]} doesn't match hidden{i} batch size {s.shape[0]}"
                )
            if s.shape[1] != self.hidden_size:
                raise RuntimeError(
                    f"{name}: hidden{i} has inconsistent hidden_size: got {s.shape[1]}, expected {self.hidden_size}"
                )
        b_ih, b_hh = self.bias_ih, self.bias_hh
        if self.bias and self._mode != "GRU":
            b_ih, b_hh = b_ih + b_hh, None
        product = F.linear(x, self.weight_ih, b_ih)
        state = _recurrence.CELLS[self._mode](product, state, self.weight_hh.t(), b_hh, None)
        return tuple(state) if input.dim() == 2 else tuple(s.squeeze(0) for s in state)


class RNNCell(RNNCellBase):
    """One step of ``RNN``: h' = tanh(W_ih x + b_ih + W_hh h + b_hh).

    Args:
        input_size, hidden_size: features of input and state.
        bias: whether there are b_ih and b_hh.
        nonlinearity: "tanh" or "relu".

    Shapes:
        input (N, input_size) or (input_size), hx (N, hidden_size) or (hidden_size), zeros unless given; result like hx.
        weight_ih (hidden_size, input_size), weight_hh (hidden_size, hidden_size), bias_ih and bias_hh (hidden_size),
        uniform within 1 / sqrt(hidden_size) at first.

    Raises:
        ValueError: input or state have 0 or more than 2 dimensions.
        RuntimeError: sizes do not fit, or the nonlinearity is another one (when called).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.RNNCell(10, 20)(rl.zeros(3, 10)).shape
        torch.Size([3, 20])
    """

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Device = None,
        dtype: rl.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}\n  hint: use 'tanh' or 'relu'")
        return self._step(input, hx)[0]

    @property
    def _mode(self):
        return f"RNN_{self.nonlinearity.upper()}"

    def extra_repr(self) -> str:
        return super().extra_repr() + (f", nonlinearity={self.nonlinearity}" if self.nonlinearity != "tanh" else "")


class LSTMCell(RNNCellBase):
    """One step of ``LSTM``.

    Args:
        As for ``RNNCell``, without nonlinearity.

    Shapes:
        input (N, input_size) or (input_size); hx a pair (h_0, c_0), each (N, hidden_size) or (hidden_size), zeros
        unless given; result a pair (h_1, c_1) like it. Parameters as for ``RNNCell``, with 4 hidden_size rows.

    Raises:
        As for ``RNNCell``.

    Example:
        >>> import rushlight as rl
        >>> h, c = rl.nn.LSTMCell(10, 20)(rl.zeros(3, 10))
        >>> h.shape, c.shape
        (torch.Size([3, 20]), torch.Size([3, 20]))
    """

    _mode = "LSTM"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Device = None,
        dtype: rl.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        h, c = self._step(input, hx, 2)
        return h, c


class GRUCell(RNNCellBase):
    """One step of ``GRU``.

    Args:
        As for ``RNNCell``, without nonlinearity.

    Shapes:
        As for ``RNNCell``; parameters have 3 hidden_size rows.

    Raises:
        As for ``RNNCell``.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.GRUCell(10, 20)(rl.zeros(10)).shape
        torch.Size([20])
    """

    _mode = "GRU"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Device = None,
        dtype: rl.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(input, hx)[0]
