"""The loops of recurrent layers: one layer in one direction, over steps whose input product is already made."""

from __future__ import annotations

import rushlight as rl

from ... import _C

# A cell takes a step's input product, the state before it as a tuple of tensors (batch, size), the recurrent weights
# transposed (hidden, gates), their bias or None, and the transposed projection or None. It returns the state after it,
# the output first.


def _tanh(x, state, weight, bias, projection):
    return (rl.addmm(x, state[0], weight).tanh(),)


def _relu(x, state, weight, bias, projection):
    return (rl.addmm(x, state[0], weight).relu(),)


def _lstm(x, state, weight, bias, projection):
    """Hochreiter and Schmidhuber 1997, with forget gates (Gers et al. 2000)."""
    h, c = state
    h, c = _C._lstm_cell(rl.addmm(x, h, weight), c)
    return (h if projection is None else h @ projection), c


def _gru(x, state, weight, bias, projection):
    """Cho et al. 2014; the reset gate applies after the product, so that its bias is apart from the input's."""
    (h,) = state
    y = h @ weight if bias is None else rl.addmm(bias, h, weight)
    return (_C._gru_cell(x, y, h),)


CELLS = {"RNN_TANH": _tanh, "RNN_RELU": _relu, "LSTM": _lstm, "GRU": _gru}


def run(mode, inputs, state, weight, bias, projection, reverse):
    """Runs a layer over steps of one batch.

    Args:
        inputs: input products, one (batch, gates) a step.
        state: before the first step.
        reverse: from the last step to the first.

    Returns:
        The outputs of all steps in the order of the inputs, and the state after the last one run.
    """
    cell = CELLS[mode]
    outputs = []
    for x in reversed(inputs) if reverse else inputs:
        state = cell(x, state, weight, bias, projection)
        outputs.append(state[0])
    return outputs[::-1] if reverse else outputs, state


def run_packed(mode, inputs, state, weight, bias, projection, reverse):
    """As ``run``, where later steps have fewer rows than earlier ones: sequences come sorted, the longest first."""
    if reverse:
        return _run_packed_reverse(mode, inputs, state, weight, bias, projection)
    cell = CELLS[mode]
    outputs, finished = [], []
    for x in inputs:
        rows = x.shape[0]
        if rows < state[0].shape[0]:
            finished.append([s[rows:] for s in state])
            state = [s[:rows] for s in state]
        state = cell(x, state, weight, bias, projection)
        outputs.append(state[0])
    finished.append(state)
    return outputs, [rl.cat(parts) for parts in zip(*reversed(finished), strict=True)]


def _run_packed_reverse(mode, inputs, first, weight, bias, projection):
    cell = CELLS[mode]
    outputs = []
    state = [s[: inputs[-1].shape[0]] for s in first]
    for x in reversed(inputs):
        before, rows = state[0].shape[0], x.shape[0]
        if rows > before:  # shorter sequences begin here
            state = [rl.cat([s, new[before:rows]]) for s, new in zip(state, first, strict=True)]
        state = cell(x, state, weight, bias, projection)
        outputs.append(state[0])
    return outputs[::-1], state
