"""Padding."""

from __future__ import annotations

from ... import _C

__all__ = ["pad"]

_EDGES = {
    "reflect": (_C.reflection_pad1d, _C.reflection_pad2d, _C.reflection_pad3d),
    "replicate": (_C.replication_pad1d, _C.replication_pad2d, _C.replication_pad3d),
}


def pad(input, pad, mode="constant", value=None):
    """Surrounds a tensor with a constant, or continues it; negative widths crop it.

    Args:
        input: Tensor of any dtype. For modes other than "constant": (N, C, ...) or (C, ...), where all but these two
            dimensions are padded (bool only by "constant" and "circular").
        pad: widths (before, after) of the last dimension, then of the one before it, and so on.
        mode: "constant"; "reflect" (the mirror image, without the edge itself), "replicate" (the edge again and again)
            or "circular" (from the other end).
        value: the constant, 0 unless given.

    Raises:
        TypeError: one number for all widths.
        RuntimeError: an odd number of widths, more of them than dimensions, a size below zero, or widths beyond what
            the mode can continue.
        NotImplementedError: an unknown mode, or not as many widths as the mode needs for this input.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.pad(rl.ones(2), (1, 2))
        tensor([0., 1., 1., 0., 0.])
        >>> rl.nn.functional.pad(rl.tensor([[1., 2., 3.]]), (2, 1), mode="reflect")
        tensor([[3., 2., 1., 2., 3., 2.]])
    """
    if isinstance(pad, int):
        raise TypeError(
            f"pad: widths come as a tuple, got {pad!r}\n  hint: (1, 2) puts 1 before and 2 after the last dimension"
        )
    if len(pad) % 2:
        raise RuntimeError(f"pad: widths come in pairs (before, after), got {len(pad)} of them")
    if len(pad) > 2 * input.dim():
        raise RuntimeError(f"pad: {len(pad) // 2} dimensions are to be padded, but input has {input.dim()}")
    if mode == "constant":
        return _C.constant_pad_nd(input, pad, 0 if value is None else value)
    if value:
        raise RuntimeError(f"pad: mode '{mode}' takes no value, got {value}\n  hint: leave it out")
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(
            f"pad: unknown mode '{mode}'\n  hint: use 'constant', 'reflect', 'replicate' or 'circular'"
        )
    dims = len(pad) // 2
    if not 1 <= dims <= 3 or input.dim() not in (dims + 1, dims + 2):
        raise NotImplementedError(
            f"pad: {len(pad)} widths do not fit input of shape {tuple(input.shape)} in mode '{mode}'\n"
            "  hint: 2 widths go with 2 or 3 dimensions, 4 with 3 or 4, 6 with 4 or 5"
        )
    if mode == "circular":
        return _circular(input, pad)
    return _EDGES[mode][dims - 1](input, pad)


def _circular(input, pad):
    shape = list(input.shape)
    inside = [slice(None)] * input.dim()
    kept = list(inside)
    for i in range(len(pad) // 2):
        d, before, after = input.dim() - 1 - i, pad[2 * i], pad[2 * i + 1]
        size = shape[d]
        if before > size or after > size:
            raise RuntimeError(
                f"pad: dimension {d} has size {size}; padding of ({before}, {after}) goes around more than once"
            )
        shape[d] = size + before + after
        if shape[d] < 0:
            raise RuntimeError(
                f"pad: dimension {d} has size {size}, padded by ({before}, {after}) it would be negative"
            )
        inside[d] = slice(max(before, 0), shape[d] - max(after, 0))
        kept[d] = slice(max(-before, 0), size - max(-after, 0))
    result = input.new_empty(shape)
    result[tuple(inside)] = input[tuple(kept)]
    for i in range(len(pad) // 2):  # the last dimension first, so that corners are there for the next
        d, before, after = input.dim() - 1 - i, pad[2 * i], pad[2 * i + 1]
        if before > 0:
            end = shape[d] - max(after, 0)
            result.narrow(d, 0, before).copy_(result.narrow(d, end - before, before))
        if after > 0:
            result.narrow(d, shape[d] - after, after).copy_(result.narrow(d, max(before, 0), after))
    return result
