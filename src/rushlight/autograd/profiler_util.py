"""What the profiler saw: single events, and sums of those that have a name in common."""

from __future__ import annotations

import enum
import os
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from . import _profiler_flops, _profiler_table, _profiler_trace

# Kinds of events, as the engine numbers them (csrc/autograd/profile.h).
OPERATION, RANGE, NODE, MEMORY = range(4)


class DeviceType(enum.IntEnum):
    """Where an event took place."""

    CPU = 0
    CUDA = 1


class ProfilerActivity(enum.IntEnum):
    """What is to be profiled. There is the CPU alone; asking for others warns."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class Interval:
    """A stretch of time.

    Args:
        start, end: microseconds since the profiler was started.
    """

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """How long it is, in microseconds."""
        return self.end - self.start

    def __repr__(self) -> str:
        return f"Interval({self.start:.3f}, {self.end:.3f})"


class _Figures:
    """What single events and sums have alike. Times are in microseconds, memory in bytes.

    There is no device but the CPU: of others, and under the older names that begin with cuda, everything is 0.
    """

    key: str
    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    cpu_memory_usage = self_cpu_memory_usage = 0
    flops: int | None = None
    input_shapes: Any
    stack: list[str]

    device_type = DeviceType.CPU
    use_device = None
    node_id = -1
    overload_name = ""
    is_async = is_remote = is_legacy = False
    device_time = device_time_total = self_device_time_total = 0.0
    device_memory_usage = self_device_memory_usage = 0
    cuda_time = cuda_time_total = self_cuda_time_total = 0.0
    cuda_memory_usage = self_cuda_memory_usage = 0

    @property
    def cpu_time(self) -> float:
        """How long one call took, on average."""
        return self.cpu_time_total / self.count if self.count else 0.0


def _as_text(name: str) -> property:
    return property(
        lambda self: _profiler_table.time_text(getattr(self, name)), doc=f"``{name}`` with a unit that suits it."
    )


for _name in (
    "cpu_time", "cpu_time_total", "self_cpu_time_total",
    "device_time", "device_time_total", "self_device_time_total",
):  # fmt: skip
    setattr(_Figures, f"{_name}_str", _as_text(_name))


class FunctionEvent(_Figures):
    """One call of an operation, one node of a backward, or one range of the user's.

    Attributes:
        name, key: what ran; ``trace_name`` tells ranges apart that are summed up (``ProfilerStep#3``).
        time_range: when, in microseconds since the profiler was started.
        thread: which thread, counted from 1 in the order in which they were first seen.
        cpu_parent, cpu_children: the event around this one, and those inside.
        input_shapes: for each argument its shape; of numbers and lists ``[]``.
        structured_input_shapes: the same, with lists of tensors as lists of shapes.
        concrete_inputs: for each argument its value, where it is a number or a list of them.
        stack: the user's lines, innermost first; of a backward those that recorded it.
        sequence_nr: links an operation and its node in the graph; -1 where nothing was recorded.
        scope: 0 for operations, 1 for backward, 7 for ranges of the user's.
    """

    def __init__(self, id: int, name: str, kind: int, thread: int, start: float, end: float, sequence_nr: int) -> None:
        self.id = id
        self.trace_name = name
        self.name = self.key = "ProfilerStep*" if name.startswith("ProfilerStep#") else name
        self.kind = kind
        self.scope = {RANGE: 7, NODE: 1}.get(kind, 0)
        self.is_user_annotation = kind == RANGE
        self.thread = thread
        self.fwd_thread: int | None = None
        self.time_range = Interval(start, end)
        self.cpu_time_total = end - start
        self.count = 1
        self.sequence_nr = sequence_nr
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []
        self.kernels: list[Any] = []
        self.input_shapes: list[Any] = []
        self.structured_input_shapes: list[Any] = []
        self.concrete_inputs: list[Any] = []
        self.stack = []

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """The time not spent in events inside this one."""
        return self.cpu_time_total - sum(c.cpu_time_total for c in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={_profiler_table.time_text(self.cpu_time)} "
            f"start_us={self.time_range.start:.3f} end_us={self.time_range.end:.3f} "
            f"cpu_children={[c.id for c in self.cpu_children]} thread={self.thread} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} seq_nr={self.sequence_nr}>"
        )


class FunctionEventAvg(_Figures):
    """The sum over events of one name: times and memory in all, ``cpu_time`` on average."""

    def __init__(self) -> None:
        self.key = ""
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.flops = 0
        self.input_shapes: Any = None
        self.stack = []
        self.scope: int | None = None
        self.is_user_annotation = False
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Adds one more event, or a sum of them."""
        if not self.key:
            self.key = other.key
            self.input_shapes, self.stack = other.input_shapes, other.stack
            self.scope, self.is_user_annotation = other.scope, other.is_user_annotation
            self.cpu_parent, self.cpu_children = other.cpu_parent, other.cpu_children
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.cpu_memory_usage += other.cpu_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage
        self.flops = (self.flops or 0) + (other.flops or 0)
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        text = _profiler_table.time_text
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={text(self.self_cpu_time_total)} "
            f"cpu_time={text(self.cpu_time)} input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>"
        )


class EventList(list):
    """Events or sums of them, with what is asked of them as a whole.

    Args:
        events: what it holds.
        recording: what the engine noted, which a trace is written from.
        profile_memory, with_flops: whether tables show memory and floating point operations.
    """

    def __init__(
        self, events: Iterable = (), *, recording: Any = None, profile_memory: bool = False, with_flops: bool = False
    ) -> None:
        super().__init__(events)
        self._recording = recording
        self._profile_memory = profile_memory
        self._with_flops = with_flops

    @property
    def self_cpu_time_total(self) -> float:
        """The time in all events, each counted once, in microseconds."""
        return sum(e.self_cpu_time_total for e in self)

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Sums over the events of each name.

        Args:
            group_by_input_shapes: keeps calls with different shapes apart.
            group_by_stack_n: keeps calls apart whose innermost so many lines differ.
            group_by_overload_name: changes nothing: operations have one name each.
        """
        sums: dict[tuple, FunctionEventAvg] = {}
        for event in self:
            key = (
                event.key,
                event.is_user_annotation,
                str(event.input_shapes) if group_by_input_shapes else "",
                tuple(event.stack[:group_by_stack_n]),
            )
            sums.setdefault(key, FunctionEventAvg()).add(event)
        for total in sums.values():
            total.stack = total.stack[:group_by_stack_n]
            if not group_by_input_shapes:
                total.input_shapes = ""
        return EventList(sums.values(), profile_memory=self._profile_memory, with_flops=self._with_flops)

    def total_average(self) -> FunctionEventAvg:
        """The sum over everything."""
        total = FunctionEventAvg()
        for event in self:
            total += event
        total.key = "Total"
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """A table for reading.

        Args:
            sort_by: the figure to sort by, largest first: ``cpu_time``, ``cpu_time_total``, ``self_cpu_time_total``,
                ``cpu_memory_usage``, ``self_cpu_memory_usage``, ``count``, ``flops``, or the same of ``cuda`` or
                ``device``. In the order of first calls where not given.
            row_limit: how many rows at most; -1 for all.
            max_src_column_width, max_name_column_width, max_shapes_column_width: where texts are cut off, in
                characters; None for nowhere.
            header: a line to put above.
            top_level_events_only: leaves events inside others out.
            time_unit: ``"s"``, ``"ms"`` or ``"us"`` for all times; what suits each where not given.

        Raises:
            AttributeError: there is no such figure to sort by.
            ValueError: there is no such unit.
        """
        return _profiler_table.table(
            self, sort_by, row_limit, max_src_column_width, max_name_column_width, max_shapes_column_width, header,
            self._profile_memory, self._with_flops, top_level_events_only, time_unit,
        )  # fmt: skip

    def __str__(self) -> str:
        return self.table()

    def export_chrome_trace(self, path: Any) -> None:
        """Writes the events in Chrome's trace format, for chrome://tracing and https://ui.perfetto.dev.

        Raises:
            RuntimeError: these are sums, which have no times.
        """
        if self._recording is None:
            raise RuntimeError(
                "export_chrome_trace: sums over events have no times of their own\n"
                "  hint: write the profiler's events: prof.export_chrome_trace(path)"
            )
        _profiler_trace.write(self._recording, path)

    def supported_export_stacks_metrics(self) -> list[str]:
        """What :meth:`export_stacks` takes as metric."""
        return ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total"]

    def export_stacks(self, path: Any, metric: str) -> None:
        """Writes a line for each event: its stack, outermost first, and its time in whole microseconds.

        This is what flame graphs are drawn from (github.com/brendangregg/FlameGraph).

        Raises:
            ValueError: ``metric`` is not among :meth:`supported_export_stacks_metrics`.
        """
        if metric not in self.supported_export_stacks_metrics():
            raise ValueError(f"metric should be one of: {self.supported_export_stacks_metrics()}, not {metric!r}")
        blank = str.maketrans(" ;\t\n", "____")
        with open(path, "w", encoding="utf-8") as file:
            for event in self:
                value = int(event.self_cpu_time_total) if metric == "self_cpu_time_total" else 0
                if event.stack and value > 0:
                    file.write(";".join(line.translate(blank) for line in reversed(event.stack)) + f" {value}\n")


class Recording:
    """What the engine noted between start and stop, as the tuples that ``_C._profiler_stop`` describes."""

    def __init__(self, data: dict[str, Any], options: Any) -> None:
        self.start: int = data["start"]
        self.end: int = data["end"]
        self.epoch: int = data["epoch"]
        self.threads: list[tuple[int, str, list[tuple]]] = data["threads"]
        self.options = options
        self.process = os.getpid()
        self.thread_names = {t.native_id: t.name for t in threading.enumerate()}
        self.metadata: dict[str, str] = {}
        self.trace_id = ""

    def events(self) -> EventList:
        """All events of all threads, by their start."""
        options = self.options
        found: list[FunctionEvent] = []
        for number, (_, _, rows) in enumerate(self.threads, 1):
            found.extend(self._of_thread(number, rows))
        found.sort(key=lambda e: (e.time_range.start, e.id))
        _link_backward(found)
        for i, event in enumerate(found):
            event.id = i
        return EventList(found, recording=self, profile_memory=options.profile_memory, with_flops=options.with_flops)

    def _of_thread(self, thread: int, rows: list[tuple]) -> Iterator[FunctionEvent]:
        made: list[FunctionEvent | None] = []
        for row in rows:
            kind, name, start, end, parent, sequence, inputs, stack, _, size, _ = row
            around = made[parent] if parent >= 0 else None
            if kind == MEMORY and around is not None:
                around.self_cpu_memory_usage += size
                made.append(None)
                continue
            times = (start - self.start) / 1e3, (end - self.start) / 1e3
            event = FunctionEvent(len(made), name, kind, thread, *times, sequence)
            if kind == MEMORY:
                event.self_cpu_memory_usage = size
            while around is not None and around.time_range.end < event.time_range.end:  # ranges may cross
                around = around.cpu_parent
            if around is not None:
                event.cpu_parent = around
                around.cpu_children.append(event)
            if inputs is not None:
                self._note_inputs(event, inputs)
            if stack is not None:
                event.stack = stack
            made.append(event)
        events = _without_doubles([e for e in made if e is not None])
        for event in reversed(events):  # those inside have their sums by then
            event.cpu_memory_usage = event.self_cpu_memory_usage + sum(c.cpu_memory_usage for c in event.cpu_children)
        yield from events

    def _note_inputs(self, event: FunctionEvent, inputs: list) -> None:
        if self.options.with_flops:
            event.flops = _profiler_flops.count(event.name, inputs)
        if not self.options.record_shapes:
            return
        for value in inputs:
            one = isinstance(value, tuple)
            several = isinstance(value, list) and bool(value) and isinstance(value[0], tuple)
            event.input_shapes.append(value[0] if one else [])
            event.structured_input_shapes.append(value[0] if one else [v[0] for v in value] if several else [])
            event.concrete_inputs.append(None if one or several else value)


def _without_doubles(events: list[FunctionEvent]) -> list[FunctionEvent]:
    """Without those that are all there is inside of an event of their own name."""
    kept = []
    for event in events:
        around = event.cpu_parent
        if around is None or around.name != event.name or len(around.cpu_children) != 1:
            kept.append(event)
            continue
        around.cpu_children = event.cpu_children
        around.self_cpu_memory_usage += event.self_cpu_memory_usage
        around.flops = around.flops or event.flops
        for inside in event.cpu_children:
            inside.cpu_parent = around
    return kept


def _link_backward(events: list[FunctionEvent]) -> None:
    """Tells events of a backward which thread and line recorded them."""
    forward = {e.sequence_nr: e for e in events if e.kind == OPERATION and e.sequence_nr >= 0}
    for event in events:
        node: FunctionEvent | None = event
        while node is not None and not (node.kind == NODE and node.sequence_nr >= 0):
            node = node.cpu_parent
        made_by = forward.get(node.sequence_nr) if node is not None else None
        if made_by is None:
            continue
        if made_by.stack:
            event.stack = made_by.stack
        if event is node:
            event.fwd_thread = made_by.thread
