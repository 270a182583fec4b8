"""Traces in Chrome's format ("Trace Event Format", Google 2016): for chrome://tracing, Perfetto and TensorBoard."""

from __future__ import annotations

import gzip
import json
import os
import socket
import sys
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .profiler_util import Recording

_OPERATION, _RANGE, _NODE, _MEMORY = range(4)  # as in profiler_util
_SECOND = 1_000_000_000


def write(recording: Recording, path: Any) -> None:
    """Writes a trace as JSON, compressed where ``path`` ends in ``.gz``."""
    path = os.fspath(path)
    base = (recording.start + recording.epoch) // _SECOND * _SECOND  # so that times are small and keep nanoseconds
    head: dict[str, Any] = {"schemaVersion": 1, "deviceProperties": [], "trace_id": recording.trace_id}
    for option in ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules"):
        if getattr(recording.options, option):
            head[option] = 1
    head |= {"host_name": socket.gethostname(), "displayTimeUnit": "ms", "baseTimeNanoseconds": base}
    head |= {key: json.loads(value) for key, value in recording.metadata.items()}
    head["traceName"] = path
    with gzip.open(path, "wt", encoding="utf-8") if path.endswith(".gz") else open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(head)[:-1] + ', "traceEvents": [\n')
        file.write(",\n".join(json.dumps(row) for row in _rows(recording, recording.epoch - base)))
        file.write("\n]}\n")


def _rows(recording: Recording, shift: int) -> Iterator[dict[str, Any]]:
    pid = recording.process

    def us(ns: int) -> float:
        return (ns + shift) / 1e3

    first = us(recording.start)
    yield from _names(recording, pid, first)
    forward = _forward(recording)
    number = 0
    for thread, (tid, _, events) in enumerate(recording.threads, 1):
        at = {"pid": pid, "tid": tid}
        left_out = _doubles(events)
        for i, (kind, name, start, end, _, sequence, inputs, stack, address, size, total) in enumerate(events):
            if i in left_out:
                continue
            if kind == _MEMORY:
                args = {
                    "Total Reserved": 0, "Total Allocated": total, "Bytes": size, "Device Id": -1, "Device Type": 0,
                    "Addr": address, "Ev Idx": number,
                }  # fmt: skip
                yield {
                    "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": name, **at, "ts": us(start), "args": args
                }  # fmt: skip
                number += 1
                continue
            args = {"External id": number + 1, "Record function id": 0, "Ev Idx": number}
            if sequence >= 0:
                args["Sequence number"] = sequence
                args["Fwd thread id"] = 0
            if kind == _NODE and sequence in forward:
                args["Fwd thread id"] = forward[sequence][0]
            if inputs is not None and recording.options.record_shapes:
                args |= _inputs(inputs)
            if stack:
                args["Call stack"] = ";".join(reversed(stack))
            category = "user_annotation" if kind == _RANGE else "cpu_op"
            yield {
                "ph": "X", "cat": category, "name": name, **at, "ts": us(start), "dur": (end - start) / 1e3,
                "args": args,
            }  # fmt: skip
            number += 1
            arrow = {"cat": "fwdbwd", "name": "fwdbwd", "id": sequence, **at, "ts": us(start)}
            if sequence in forward and kind == _NODE and not name.startswith("autograd::engine::"):
                yield {"ph": "f", "bp": "e", **arrow}
            elif sequence in forward and forward[sequence] == (thread, start):
                yield {"ph": "s", **arrow}
    whole = {"name": "Rushlight Profiler (0)", "pid": "Spans", "tid": "Rushlight Profiler"}
    length = (recording.end - recording.start) / 1e3
    yield {"ph": "X", "cat": "Trace", **whole, "ts": first, "dur": length, "args": {"Op count": number}}
    yield {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": us(recording.end)}


def _names(recording: Recording, pid: int, first: float) -> Iterator[dict[str, Any]]:
    """Rows that name the process and its threads, and put them in order."""

    def meta(kind: str, tid: int, **args) -> dict[str, Any]:
        return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "ts": first, "args": args}

    yield meta("process_name", 0, name=os.path.basename(sys.executable) or "python")
    yield meta("process_labels", 0, labels="CPU")
    yield meta("process_sort_index", 0, sort_index=pid)
    for place, (tid, name, _) in enumerate(recording.threads):
        yield meta("thread_name", tid, name=f"thread {tid} ({recording.thread_names.get(tid, name)})")
        yield meta("thread_sort_index", tid, sort_index=place)


def _doubles(events: list[tuple]) -> set[int]:
    """Those that are all there is inside of an event of their own name, as ``Recording.events`` leaves them out."""
    inside = Counter(e[4] for e in events if e[0] != _MEMORY)
    return {i for i, e in enumerate(events) if e[4] >= 0 and events[e[4]][1] == e[1] and inside[e[4]] == 1}


def _forward(recording: Recording) -> dict[int, tuple[int, int]]:
    """The operation that recorded each node which ran: by its sequence number the thread and the start."""
    ran = {e[5] for _, _, events in recording.threads for e in events if e[0] == _NODE and e[5] >= 0}
    found = {}
    for thread, (_, _, events) in enumerate(recording.threads, 1):
        left_out = _doubles(events)
        for i, (kind, _, start, _, _, sequence, *_) in enumerate(events):
            if kind == _OPERATION and sequence in ran and i not in left_out:
                found[sequence] = (thread, start)  # of nested ones the innermost
    return found


def _inputs(inputs: list) -> dict[str, list]:
    shapes: list[Any] = []
    kinds: list[Any] = []
    values: list[Any] = []
    for value in inputs:
        if isinstance(value, tuple):
            shapes.append(value[0])
            kinds.append(_type_name(value[1]))
            values.append("")
        elif isinstance(value, list) and value and isinstance(value[0], tuple):
            shapes.append([shape for shape, _ in value])
            kinds.append("TensorList")
            values.append("")
        else:
            shapes.append([])
            kinds.append("" if value is None else "ScalarList" if isinstance(value, list) else "Scalar")
            values.append("" if value is None else str(value))
    return {"Concrete Inputs": values, "Input type": kinds, "Input Dims": shapes}


def _type_name(dtype: Any) -> str:
    """As C++ calls it: "float" for float32."""
    name = str(dtype).rpartition(".")[2]
    return {"float32": "float", "float64": "double", "int64": "long int", "int32": "int"}.get(name, name)
