"""Noting what runs and how long it takes: one stretch at a time. ``rushlight.profiler`` does it by steps."""

from __future__ import annotations

import json
import os
import threading
import uuid
from collections.abc import Callable
from typing import Any

from .. import _C
from .._decorators import wraps
from .._warnings import warn
from .profiler_util import DeviceType, EventList, FunctionEvent, FunctionEventAvg, Recording

__all__ = [
    "DeviceType",
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "emit_itt",
    "emit_nvtx",
    "kineto_available",
    "profile",
    "record_function",
]


def kineto_available() -> bool:
    """Whether traces can be written: they can. (PyTorch needs a library of that name for it.)"""
    return True


class record_function:
    """A range of the program that the profiler shows by its name; a context, or a decorator.

    Args:
        name: what to call it.
        args: a text to show with it.

    Raises:
        RuntimeError: ``name`` is not a str.

    >>> import rushlight as rl
    >>> with rl.profiler.profile() as prof:
    ...     with rl.profiler.record_function("double"):
    ...         x = rl.ones(2) * 2
    >>> [(e.name, e.cpu_parent.name) for e in prof.events() if e.cpu_parent]
    [('aten::ones', 'double'), ('aten::mul', 'double')]
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        if not isinstance(name, str):
            raise RuntimeError(f"record_function's name must be a str, not {type(name).__name__}")
        self.name = name
        self.args = args
        self._ranges: list[Any] = []  # the same object may be entered again inside itself

    def __enter__(self) -> record_function:
        self._ranges.append(_C._Profiled(self.name))
        return self

    def __exit__(self, *exc) -> None:
        self._ranges.pop().end()

    def __call__(self, function: Callable) -> Callable:
        @wraps(function)
        def ranged(*args, **kwargs):
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return ranged


class profile:
    """Notes every operation of the process between entering and leaving the block, on all its threads.

    Args:
        enabled: does nothing where False.
        use_cuda, use_device: warn and change nothing where there is no such device.
        record_shapes: notes the shapes, types and numbers that operations are given.
        with_flops: works out floating point operations of products, convolutions, additions and multiplications.
        profile_memory: notes the memory that tensors take and give back.
        with_stack: notes the lines of the user's code that led to each operation.
        with_modules, use_kineto, experimental_config: taken for PyTorch's sake; they change nothing.
        use_cpu: must be True, as there is nothing else to profile.
        acc_events: entered again, keeps what was noted before.
        custom_trace_id_callback: makes the name by which a trace is told from others.

    Raises:
        RuntimeError: another profiler is running, or this one has not run yet and is asked for results.

    >>> import rushlight as rl
    >>> with rl.autograd.profiler.profile() as prof:
    ...     x = rl.ones(2).exp()
    >>> [e.name for e in prof.function_events]
    ['aten::ones', 'aten::exp']
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
    ) -> None:
        self.enabled = enabled
        if use_cuda:
            use_device = use_device or "cuda"
        if enabled and use_device not in (None, "cpu"):
            warn(f"{use_device.upper()} is not available: profiling the CPU alone")  # type: ignore[union-attr]
        if enabled and not use_cpu:
            raise AssertionError("no activities to profile\n  hint: there is the CPU alone: use_cpu=True")
        self.use_device = None
        self.record_shapes = record_shapes
        self.with_flops = with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_modules = with_modules
        self.experimental_config = experimental_config
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.trace_id = ""
        self._process: int | None = None  # that which is being profiled
        self._metadata: dict[str, str] = {}
        self._recordings: list[Recording] = []
        self._events: EventList | None = None

    def __enter__(self) -> profile:
        if not self.enabled:
            return self
        if self._process == os.getpid():
            raise RuntimeError("this profiler is running already")
        _C._profiler_start(self.record_shapes or self.with_flops, self.profile_memory, self.with_stack)
        self._process = os.getpid()
        self._thread_names = {t.native_id: t.name for t in threading.enumerate()}
        self.trace_id = self.custom_trace_id_callback() if self.custom_trace_id_callback else uuid.uuid4().hex.upper()
        if not self.acc_events:
            self._recordings = []
        self._events = None
        return self

    def __exit__(self, *exc) -> None:
        process, self._process = self._process, None
        if process != os.getpid():  # it never began, has ended, or belongs to the process that this one is forked from
            return
        recording = Recording(_C._profiler_stop(), self)
        recording.thread_names = self._thread_names | recording.thread_names  # some have ended since the start
        recording.trace_id = self.trace_id
        recording.metadata = self._metadata
        self._recordings.append(recording)

    @property
    def running(self) -> bool:
        """Whether it is noting now."""
        return self._process == os.getpid()

    def _results(self) -> list[Recording]:
        if not self._recordings:
            raise RuntimeError(
                "the profiler has nothing to show: "
                + (
                    "it was not enabled"
                    if not self.enabled
                    else "it is still running"
                    if self.running
                    else "it did not run"
                )
                + "\n  hint: ask for results after the with block, or after stop()"
            )
        return self._recordings

    @property
    def function_events(self) -> EventList:
        """All events, by their start."""
        recordings = self._results()
        if self._events is None:
            events = recordings[-1].events()
            for earlier in reversed(recordings[:-1]):
                events[:0] = earlier.events()
            self._events = events
        return self._events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Sums over the events of each name; see :meth:`EventList.key_averages`."""
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> FunctionEventAvg:
        """The sum over everything."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """The time spent in events, in microseconds."""
        return self.function_events.self_cpu_time_total

    def table(self, *args, **kwargs) -> str:
        """See :meth:`EventList.table`."""
        return self.function_events.table(*args, **kwargs)

    def export_chrome_trace(self, path: Any) -> None:
        """Writes what was noted last in Chrome's trace format; compressed where ``path`` ends in ``.gz``."""
        from ._profiler_trace import write

        write(self._results()[-1], path)

    def export_stacks(self, path: Any, metric: str = "self_cpu_time_total") -> None:
        """Writes stacks for flame graphs; see :meth:`EventList.export_stacks`.

        Raises:
            AssertionError: stacks were not noted.
        """
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self.function_events.export_stacks(path, metric)

    def add_metadata_json(self, key: str, value: str) -> None:
        """Has the trace say ``key: value``, where ``value`` is JSON.

        Raises:
            ValueError: it is not.
        """
        json.loads(value)
        self._metadata[key] = value

    def __repr__(self) -> str:
        return repr(self.function_events) if self._recordings else "<unfinished torch.autograd.profile>"

    def __str__(self) -> str:
        return self.table() if self._recordings else "<unfinished torch.autograd.profile>"


class _Emit:
    """A profiler that marks operations for a tool of some hardware's maker; there is none to see the marks."""

    _tool: str

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled
        self.record_shapes = record_shapes

    def __enter__(self):
        if self.enabled:
            raise AssertionError(
                f"Rushlight does not mark operations for {self._tool}\n  hint: use rushlight.profiler instead"
            )
        return self

    def __exit__(self, *exc) -> None:
        pass


class emit_nvtx(_Emit):
    """Raises when entered, unless ``enabled=False``: there is no NVIDIA device."""

    _tool = "NVTX, as there is no CUDA"


class emit_itt(_Emit):
    """Raises when entered, unless ``enabled=False``: Intel's tracing is not supported."""

    _tool = "Intel's ITT"
