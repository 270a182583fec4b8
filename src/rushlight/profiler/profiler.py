"""Profiling a program that goes in steps: which of them are noted, and what is done with the result."""

from __future__ import annotations

import enum
import json
import os
import socket
import time
from collections.abc import Callable, Iterable
from typing import Any

from .._lazy import missing
from .._warnings import warn
from ..autograd import profiler as _stretch
from ..autograd.profiler_util import EventList, ProfilerActivity


class ProfilerAction(enum.Enum):
    """What the profiler does during a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class _ExperimentalConfig:
    """Options of PyTorch's profiler that change from version to version; kept, and not looked at."""

    def __init__(self, **options: Any) -> None:
        self.__dict__.update(options)


def supported_activities() -> set[ProfilerActivity]:
    """What can be profiled.

    >>> import rushlight as rl
    >>> rl.profiler.supported_activities()
    {<ProfilerActivity.CPU: 0>}
    """
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Which steps to note: after ``skip_first`` steps, cycles of ``wait``, ``warmup`` and ``active`` ones.

    Args:
        wait: steps at the start of a cycle in which the profiler is off.
        warmup: steps after that which are still left out, so that what is slow at first is not counted.
        active: steps that are noted; after the last of them the result is ready.
        repeat: how many cycles; 0 for as many as there are steps.
        skip_first: steps before the first cycle.
        skip_first_wait: leaves the first cycle's waiting out, unless 0.

    Raises:
        AssertionError: a number is negative, or ``active`` is 0.

    >>> import rushlight as rl
    >>> steps = rl.profiler.schedule(wait=1, warmup=1, active=2)
    >>> [steps(i).name for i in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError(
            f"schedule: got wait={wait}, warmup={warmup}, active={active}, repeat={repeat}, skip_first={skip_first}\n"
            "  hint: active must be at least 1, the others at least 0"
        )
    if warmup == 0:
        warn("schedule: without warmup steps, what is slow only at first is counted")
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"a step's number must not be negative, got {step}")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        if repeat and step >= repeat * cycle:
            return ProfilerAction.NONE
        place = step % cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if place == cycle - 1 else ProfilerAction.RECORD

    return action


def _always(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False
) -> Callable[[Any], None]:
    """An ``on_trace_ready`` that writes each trace into a folder, under a name that TensorBoard's plugin looks for.

    Args:
        dir_name: the folder; it is made where it is missing.
        worker_name: tells processes apart; host and process number where not given.
        use_gzip: compresses.
        use_python_export: changes nothing.

    Raises:
        RuntimeError: the folder cannot be made.
    """

    def handler(prof: Any) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError(f"tensorboard_trace_handler: cannot create the folder {dir_name}") from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + ".gz" * use_gzip
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return handler


def _checked(activities: Iterable[Any] | None) -> set[ProfilerActivity]:
    if activities is None:
        return supported_activities()
    found: set[ProfilerActivity] = set()
    for item in activities:
        for activity in item if isinstance(item, dict) else (item,):
            if not isinstance(activity, ProfilerActivity):
                raise AssertionError(f"activities must be members of ProfilerActivity, got {activity!r}")
            found.add(activity)
    if not found:
        raise AssertionError("no activities to profile\n  hint: activities=[ProfilerActivity.CPU]")
    others = sorted(a.name for a in found - supported_activities())
    if others:
        warn(f"{', '.join(others)} is not available: profiling the CPU" + " alone" * (ProfilerActivity.CPU in found))
    return found | supported_activities()


class profile:
    """Notes what the process does on all its threads: operations, their times, and what else is asked for.

    Args:
        activities: what to profile. There is the CPU alone; where others are asked for, a warning says so.
        schedule: for each step what to do, as made by :func:`schedule`; everything is noted where not given.
        on_trace_ready: called with this object when a cycle of the schedule, or the whole, is done.
        record_shapes: notes the shapes, types and numbers that operations are given.
        profile_memory: notes the memory that tensors take and give back.
        with_stack: notes the lines of the user's code that led to each operation.
        with_flops: works out floating point operations of products, convolutions, additions and multiplications.
        with_modules, experimental_config, use_cuda, post_processing_timeout_s: change nothing.
        execution_trace_observer: is not supported.
        acc_events: keeps events of earlier cycles of the schedule for :meth:`events` and :meth:`key_averages`.
        custom_trace_id_callback: makes the name by which a trace is told from others.

    Raises:
        AssertionError: ``activities`` is empty.
        RuntimeError: another profiler is running.

    >>> import rushlight as rl
    >>> from rushlight.profiler import profile, schedule
    >>> def ready(prof):
    ...     print(prof.step_num, [e.name for e in prof.events()])
    >>> with profile(schedule=schedule(wait=1, warmup=1, active=1, repeat=1), on_trace_ready=ready) as prof:
    ...     for _ in range(4):
    ...         x = rl.ones(1)
    ...         prof.step()
    3 ['ProfilerStep*', 'aten::ones']
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        if execution_trace_observer is not None:
            raise NotImplementedError("execution_trace_observer is not supported: docs/differences.md")
        self.activities = _checked(activities)
        self.schedule = schedule or _always
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.preset_metadata: dict[str, str] = {}
        self.acc_events = acc_events
        self.profiler = _stretch.profile(
            record_shapes=record_shapes, profile_memory=profile_memory, with_stack=with_stack, with_flops=with_flops,
            with_modules=with_modules, experimental_config=experimental_config, acc_events=acc_events,
            custom_trace_id_callback=custom_trace_id_callback,
        )  # fmt: skip
        self._step_range: _stretch.record_function | None = None
        self._started = False

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc) -> None:
        self.stop()

    def start(self) -> None:
        """Begins with the schedule's step, as entering a with block does."""
        if self._started:
            raise RuntimeError("this profiler was started already\n  hint: stop() it first")
        self._turn(ProfilerAction.NONE, self.current_action)
        self._started = True
        self._begin_step()

    def stop(self) -> None:
        """Ends, as leaving the with block does. Once stopped, it does nothing."""
        if not self._started:
            return
        self._started = False
        self._end_step()
        self._turn(self.current_action, None)

    def step(self) -> None:
        """Says that a step of the program is done and the next begins.

        Raises:
            RuntimeError: the profiler is not running.
        """
        if not self._started:
            raise RuntimeError("step() of a profiler that is not running\n  hint: call it inside the with block")
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._turn(before, self.current_action)
        self._begin_step()

    def _begin_step(self) -> None:
        if self.record_steps:
            self._step_range = _stretch.record_function(f"ProfilerStep#{self.step_num}").__enter__()

    def _end_step(self) -> None:
        if self._step_range is not None:
            self._step_range.__exit__(None, None, None)
            self._step_range = None

    def _turn(self, before: ProfilerAction, after: ProfilerAction | None) -> None:
        """Goes from one action to the next; after None, nothing follows."""
        noting = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        saved = before is ProfilerAction.RECORD_AND_SAVE or (before is ProfilerAction.RECORD and after is None)
        ended = before in noting and (saved or after not in noting) and self.profiler.running
        if ended:
            self.profiler.__exit__(None, None, None)
            if not saved:
                warn(f"the schedule goes from RECORD to {after.name}: what was noted is not saved")  # type: ignore[union-attr]
        try:
            if ended and saved and self.on_trace_ready is not None:
                self.on_trace_ready(self)
        finally:
            if after in noting and not self.profiler.running:
                self.profiler._metadata |= self.preset_metadata
                self.profiler.__enter__()

    def events(self) -> EventList:
        """The events noted last, by their start; with ``acc_events=True`` those of all cycles.

        Raises:
            RuntimeError: nothing was noted yet.
        """
        return self.profiler.function_events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Sums over the events of each name.

        Args:
            group_by_input_shape: keeps calls with different shapes apart.
            group_by_stack_n: keeps calls apart whose innermost so many lines differ.
            group_by_overload_name: changes nothing.
        """
        return self.profiler.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path: Any, use_python_export: bool = False) -> None:
        """Writes what was noted last in Chrome's trace format; compressed where ``path`` ends in ``.gz``."""
        self.profiler.export_chrome_trace(path)

    def export_stacks(self, path: Any, metric: str = "self_cpu_time_total") -> None:
        """Writes a line for each event, its stack and time, for flame graphs.

        Raises:
            AssertionError: stacks were not noted.
            ValueError: ``metric`` is not known.
        """
        self.profiler.export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Has the trace say ``key: value``, as a text."""
        self.add_metadata_json(key, json.dumps(value))

    def add_metadata_json(self, key: str, value: str) -> None:
        """The same of a value that is JSON.

        Raises:
            ValueError: it is not.
        """
        self.profiler.add_metadata_json(key, value)

    def preset_metadata_json(self, key: str, value: str) -> None:
        """The same for every trace from the next start on."""
        json.loads(value)
        self.preset_metadata[key] = value

    def get_trace_id(self) -> str | None:
        """The name by which the trace is told from others; None before the start."""
        return self.profiler.trace_id or None

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """Sets what makes that name, from the next start on."""
        self.profiler.custom_trace_id_callback = callback

    def __getattr__(self, name: str):
        if name in ("export_memory_timeline", "toggle_collection_dynamic"):
            raise missing("rushlight.profiler.profile", name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
