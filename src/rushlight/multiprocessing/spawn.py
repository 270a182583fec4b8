"""One function in several processes, with an error in any of them raised here."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from multiprocessing import connection
from typing import Any

from .._warnings import warn

_LONGEST = 50_000  # characters of a traceback that are sent: what fits a pipe that is read after the process has ended


class ProcessException(Exception):
    """A process failed: ``error_index`` says which, ``error_pid`` is its process id."""

    def __init__(self, msg: str, error_index: int, pid: int):
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid
        self.error_pid = pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """The function raised an exception, whose traceback is in the message."""


class ProcessExitedException(ProcessException):
    """The process ended by itself with a status, or was ended by a signal."""

    def __init__(self, msg: str, error_index: int, pid: int, exit_code: int, signal_name: str | None = None):
        super().__init__(msg, error_index, pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def spawn(fn, args=(), nprocs: int = 1, join: bool = True, daemon: bool = False, start_method: str = "spawn"):
    """Runs ``fn(i, *args)`` in processes i = 0 to ``nprocs`` - 1, started afresh.

    Args:
        fn: a function of a module, so that it can be pickled.
        args: further arguments; tensors in them are shared.
        nprocs: how many processes.
        join: waits for all of them; otherwise a :class:`ProcessContext` is returned at once.
        daemon: whether the processes end with this one, and may have none of their own.
        start_method: "spawn"; :func:`start_processes` takes the others.

    Raises:
        ProcessRaisedException: in one of them ``fn`` raised an exception. The others are ended.
        ProcessExitedException: one of them ended otherwise. The others are ended.
    """
    if start_method != "spawn":
        warn(f"spawn starts processes by 'spawn', not {start_method!r}\n  hint: use start_processes(start_method=...)")
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")


def start_processes(fn, args=(), nprocs: int = 1, join: bool = True, daemon: bool = False, start_method: str = "spawn"):
    """:func:`spawn` by any of the methods "spawn", "fork" and "forkserver"."""
    context: Any = multiprocessing.get_context(start_method)
    processes: list = []
    errors: list = []
    try:
        for i in range(nprocs):
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_run, args=(fn, i, args, sender), daemon=daemon)
            process.start()
            sender.close()
            processes.append(process)
            errors.append(receiver)
    except BaseException:
        _end(processes, None)
        raise
    running = ProcessContext(processes, errors)
    if not join:
        return running
    while not running.join():
        pass
    return None


class ProcessContext:
    """The processes that :func:`spawn` with ``join=False`` has started: ``processes``."""

    def __init__(self, processes: list, errors: list):
        self.processes = processes
        self.errors = errors
        self.sentinels = {process.sentinel: i for i, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """Their process ids."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Waits until one or more processes end; True once all have ended well.

        Args:
            timeout: seconds to wait at most; False is returned then.
            grace_period: seconds that the others get to end by themselves, once asked to after an error.

        Raises:
            ProcessRaisedException, ProcessExitedException: see :func:`spawn`.
        """
        if not self.sentinels:
            return True
        ready = connection.wait(list(self.sentinels), timeout)
        failed = None
        for sentinel in ready:
            i = self.sentinels.pop(sentinel)  # type: ignore[arg-type]
            self.processes[i].join()
            if self.processes[i].exitcode:
                failed = i
                break
        if failed is None:
            return not self.sentinels
        _end(self.processes, grace_period)
        raise self._error(failed)

    def _error(self, i: int) -> ProcessException:
        process = self.processes[i]
        trace = None
        try:
            if self.errors[i].poll():
                trace = self.errors[i].recv()
        except EOFError:
            pass
        if trace is not None:
            return ProcessRaisedException(f"process {i} raised an exception:\n\n{trace}", i, process.pid)
        code = process.exitcode
        if code > 0:
            return ProcessExitedException(f"process {i} terminated with exit code {code}", i, process.pid, code)
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"number {-code}"
        return ProcessExitedException(f"process {i} terminated with signal {name}", i, process.pid, code, name)


SpawnContext = ProcessContext


def _end(processes: list, grace_period: float | None) -> None:
    for process in processes:
        if process.is_alive():
            process.terminate()
    deadline = time.monotonic() + (30.0 if grace_period is None else grace_period)
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
        if process.is_alive():
            process.kill()
            process.join()


def _run(fn, i: int, args, errors) -> None:
    """What runs in the process."""
    threading.Thread(target=_end_with_parent, daemon=True, name="rushlight-end-with-parent").start()
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass  # the parent has been interrupted as well, and says so
    except Exception:
        import sys
        import traceback

        errors.send(traceback.format_exc()[-_LONGEST:])
        sys.exit(1)


def _end_with_parent() -> None:
    """Ends this process when the one that started it has died."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
