"""Events as a table of text."""

from __future__ import annotations

from typing import Any

_SORT_KEYS = (
    "cpu_time", "cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage",
    "device_time", "device_time_total", "self_device_time_total", "device_memory_usage", "self_device_memory_usage",
    "cuda_time", "cuda_time_total", "self_cuda_time_total", "cuda_memory_usage", "self_cuda_memory_usage",
    "count", "flops", "key",
)  # fmt: skip
_UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}
_GAP = "  "
_WIDTH = 12  # of a column of figures


def time_text(us: float, unit: str | None = None) -> str:
    """A time in microseconds with its unit: ``"2.071ms"``."""
    if unit is None:
        unit = "s" if us >= 1e6 else "ms" if us >= 1e3 else "us"
    return f"{us / _UNITS[unit]:.3f}{unit}"


def memory_text(size: int) -> str:
    """A number of bytes with its unit: ``"3.55 KB"``."""
    for power, unit in ((30, "GB"), (20, "MB"), (10, "KB")):
        if abs(size) >= 1 << power:
            return f"{size / (1 << power):.2f} {unit}"
    return f"{size} B"


def _share(part: float, whole: float) -> str:
    return f"{part * 100 / whole if whole else 0:.2f}%"


def _cut(text: str, width: int | None) -> str:
    return text if width is None or len(text) <= width else text[: width - 3] + "..."


def table(
    events: Any,
    sort_by: str | None,
    row_limit: int,
    max_src_column_width: int | None,
    max_name_column_width: int | None,
    max_shapes_column_width: int | None,
    header: str | None,
    profile_memory: bool,
    with_flops: bool,
    top_level_events_only: bool,
    time_unit: str | None,
) -> str:
    """See ``EventList.table``."""
    if not events:
        return ""
    if sort_by is not None and sort_by not in _SORT_KEYS:
        raise AttributeError(
            f"events cannot be sorted by {sort_by!r}\n  hint: sort_by is one of {', '.join(_SORT_KEYS)}"
        )
    if time_unit is not None and time_unit not in _UNITS:
        raise ValueError(f"time_unit must be one of {', '.join(_UNITS)}, not {time_unit!r}")
    total = events.self_cpu_time_total
    rows = list(events) if sort_by is None else sorted(events, key=lambda e: getattr(e, sort_by) or 0, reverse=True)
    if top_level_events_only:
        rows = [e for e in rows if e.cpu_parent is None]
    if row_limit >= 0:
        rows = rows[:row_limit]

    # Title, texts of the rows, and whether they begin at the left.
    columns: list[tuple[str, list[str], bool]] = [
        ("Name", [_cut(e.key, max_name_column_width) for e in rows], False),
        ("Self CPU %", [_share(e.self_cpu_time_total, total) for e in rows], False),
        ("Self CPU", [time_text(e.self_cpu_time_total, time_unit) for e in rows], False),
        ("CPU total %", [_share(e.cpu_time_total, total) for e in rows], False),
        ("CPU total", [time_text(e.cpu_time_total, time_unit) for e in rows], False),
        ("CPU time avg", [time_text(e.cpu_time, time_unit) for e in rows], False),
    ]
    if profile_memory:
        columns += [
            ("CPU Mem", [memory_text(e.cpu_memory_usage) for e in rows], False),
            ("Self CPU Mem", [memory_text(e.self_cpu_memory_usage) for e in rows], False),
        ]
    columns.append(("# of Calls", [str(e.count) for e in rows], False))
    if any(e.input_shapes for e in events):
        columns.append(("Input Shapes", [_cut(str(e.input_shapes), max_shapes_column_width) for e in rows], False))
    if any(e.stack for e in events):
        columns.append(
            ("Source Location", [_cut(e.stack[0] if e.stack else "", max_src_column_width) for e in rows], True)
        )
    if with_flops:
        columns.append(_flops_column(rows))

    widths = [
        max(_WIDTH if i else 0, *(len(t) for t in (title, *texts))) for i, (title, texts, _) in enumerate(columns)
    ]
    rule = _GAP.join("-" * w for w in widths)

    def line(texts: list[str]) -> str:
        aligned = (
            t.ljust(w) if left else t.rjust(w) for t, w, (_, _, left) in zip(texts, widths, columns, strict=True)
        )
        return _GAP.join(aligned).rstrip()

    lines = [rule, line([title for title, _, _ in columns]), rule]
    for i in range(len(rows)):
        lines.append(line([texts[i] for _, texts, _ in columns]))
    lines += [rule, f"Self CPU time total: {time_text(total, time_unit)}", ""]
    if header is not None:
        lines[:0] = ["=" * len(rule), header]
    return "\n".join(lines)


def _flops_column(rows: list) -> tuple[str, list[str], bool]:
    """All in the unit that suits the largest."""
    largest = max((e.flops or 0 for e in rows), default=0)
    unit, prefix = next(((u, p) for u, p in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K")) if largest >= u), (1, ""))
    texts = [f"{e.flops / unit:.3f}" if e.flops else "--" for e in rows]
    return f"Total {prefix}FLOPs", texts, False
