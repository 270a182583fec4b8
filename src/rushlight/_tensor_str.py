"""How tensors print, in PyTorch's format."""

from __future__ import annotations

import math

from . import _C


class _Options:
    precision = 4
    threshold: float = 1000
    edgeitems = 3
    linewidth = 80
    sci_mode: bool | None = None


_options = _Options()
_profiles = {
    "default": (4, 1000, 3, 80),
    "short": (2, 1000, 2, 80),
    "full": (4, math.inf, 3, 80),
}


def set_printoptions(
    precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None
) -> None:
    """How tensors print.

    Args:
        precision: digits after the point (4).
        threshold: elements above which the middle is left out (1000).
        edgeitems: how many are shown at each end of a dimension then (3).
        linewidth: characters of a line (80).
        profile: ``"default"``, ``"short"`` or ``"full"``, overridden by the others.
        sci_mode: True or False forces scientific notation on or off; None decides by the values.

    Raises:
        ValueError: an unknown profile.

    >>> import rushlight as rl
    >>> rl.set_printoptions(precision=2)
    >>> rl.tensor([1.2345])
    tensor([1.23])
    >>> rl.set_printoptions(profile="default")
    """
    if profile is not None:
        if profile not in _profiles:
            raise ValueError(f"unknown profile {profile!r}; there are {', '.join(_profiles)}")
        _options.precision, _options.threshold, _options.edgeitems, _options.linewidth = _profiles[profile]
    for name, value in (
        ("precision", precision),
        ("threshold", threshold),
        ("edgeitems", edgeitems),
        ("linewidth", linewidth),
    ):
        if value is not None:
            setattr(_options, name, value)
    _options.sci_mode = sci_mode


class _Formatter:
    """One width and notation for all the numbers of a tensor."""

    def __init__(self, values: list, floating: bool):
        self.floating = floating
        self.integers = self.scientific = False
        if not floating:
            self.width = max((len(str(v)) for v in values), default=1)
            return
        finite = [abs(v) for v in values if math.isfinite(v) and v != 0]
        self.integers = all(v == math.ceil(v) for v in finite)
        if finite:
            low, high = min(finite), max(finite)
            self.scientific = high / low > 1000 or high > 1.0e8 or (low < 1.0e-4 and not self.integers)
        if _options.sci_mode is not None:
            self.scientific = _options.sci_mode
        # As in PyTorch, zeros and what is not finite do not count for the width.
        self.width = max([1, *(len(self._digits(v)) for v in values if math.isfinite(v) and v != 0)])

    def _digits(self, value) -> str:
        if not self.floating:
            return str(value)
        if not math.isfinite(value):
            return str(value)
        if self.scientific:
            return f"{value:.{_options.precision}e}"
        if self.integers:
            return f"{value:.0f}."
        return f"{value:.{_options.precision}f}"

    def __call__(self, value) -> str:
        return self._digits(value).rjust(self.width)


def _corners(x, between: int):
    """The corners of a large tensor, as a tensor, with so many elements between them in each long dimension."""
    e = _options.edgeitems
    for d in range(x.dim()):
        if x.size(d) > 2 * e + between:
            x = _C.cat((x.narrow(d, 0, e + between), x.narrow(d, x.size(d) - e, e)), d)
    return x


def _vector(values: list, indent: int, summarize: bool, format_) -> str:
    per_line = max(1, (_options.linewidth - indent) // (format_.width + 2))
    e = _options.edgeitems
    if summarize and len(values) > 2 * e:
        words = [*map(format_, values[:e]), " ...", *map(format_, values[-e:])]
    else:
        words = [*map(format_, values)]
    lines = [", ".join(words[i : i + per_line]) for i in range(0, len(words), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _nested(values, dims: int, indent: int, summarize: bool, format_) -> str:
    if dims == 0:
        return format_(values)
    if dims == 1:
        return _vector(values, indent, summarize, format_)
    e = _options.edgeitems
    dots = summarize and len(values) > 2 * e
    shown = [*values[:e], *values[-e:]] if dots else values
    parts = [_nested(v, dims - 1, indent + 1, summarize, format_) for v in shown]
    if dots:
        parts.insert(e, "...")
    return "[" + ("," + "\n" * (dims - 1) + " " * (indent + 1)).join(parts) + "]"


def _flatten(values, dims: int) -> list:
    for _ in range(dims - 1):
        values = [x for v in values for x in v]
    return values if dims else [values]


def tensor_str(x) -> str:
    """The text of ``repr(x)``."""
    name = "tensor" if type(x) is _C.Tensor or type(x).__name__ == "Parameter" else type(x).__name__
    prefix = f"{name}("
    indent = len(prefix)
    suffixes = []
    plain = x.detach()
    default = _C.get_default_dtype()
    if x.is_meta:
        body = "..."
        suffixes += [f"device='{x.device}'", f"size={tuple(x.shape)}"]
        if x.dtype != default:
            suffixes.append(f"dtype={x.dtype}")
    elif x.numel() == 0:
        body = "[]"
        if x.dim() != 1:
            suffixes.append(f"size={tuple(x.shape)}")
        if x.dtype != default:
            suffixes.append(f"dtype={x.dtype}")
    else:
        if x.dtype not in (default, _C.int64, _C.bool):
            suffixes.append(f"dtype={x.dtype}")
        summarize = x.numel() > _options.threshold
        shown = _corners(plain, 0) if summarize else plain
        format_ = _Formatter(_flatten(shown.tolist(), shown.dim()), x.is_floating_point())
        if summarize:
            shown = _corners(plain, 1)  # one element, for the dots to stand in
        body = _nested(shown.tolist(), x.dim(), indent, summarize, format_)
    if x.grad_fn is not None:
        suffixes.append(f"grad_fn=<{type(x.grad_fn).__name__}>")
    elif x.requires_grad:
        suffixes.append("requires_grad=True")
    text = prefix + body
    last = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if last + len(suffix) + 2 > _options.linewidth:
            text += ",\n" + " " * indent + suffix
            last = indent + len(suffix)
        else:
            text += ", " + suffix
            last += len(suffix) + 2
    return text + ")"
