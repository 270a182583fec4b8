"""The worker processes of one DataLoader, seen from the main process."""

from __future__ import annotations

import atexit
import multiprocessing
import multiprocessing.util
import os
import select
import signal
import socket
import sys
import time
import warnings
import weakref
from collections import deque

from . import worker
from .channel import Channel
from .worker import Result, WorkerConfig

_CHECK = 1.0  # seconds between looks at whether workers live, should the socket not tell
_GRACE = 2.0  # seconds a worker gets to leave by itself once its channel is closed


class PoolClosedError(Exception):
    """The pool was closed by another thread."""


class WorkerPool:
    """Starts workers, passes messages, notices deaths, and stops everything when closed or collected."""

    def __init__(self, config: WorkerConfig, context):
        if not hasattr(socket, "send_fds"):
            raise RuntimeError("DataLoader workers need Unix sockets\n  hint: use num_workers=0 on this platform")
        self.size = config.num_workers
        self.channels: list[Channel] = []
        self.processes: list = []
        self.backlog: list[deque] = [deque() for _ in range(self.size)]
        self._poll = select.poll()
        self._by_fd: dict[int, int] = {}
        # Runs when the pool is collected or the interpreter ends, whichever is first.
        self.close = weakref.finalize(self, _stop, os.getpid(), self.channels, self.processes)
        _pools.add(self)
        context = _context(context)
        # The forkserver's children see the server as their parent; it ends when this process does.
        parent = os.getpid() if context.get_start_method() != "forkserver" else _forkserver_pid()
        try:
            for i in range(self.size):
                self._start(config, i, context, parent)
        except BaseException:
            self.close()
            raise

    def _start(self, config, i: int, context, parent: int) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            process = context.Process(
                target=worker.main, args=(config, i, theirs, parent), name=f"rushlight-worker-{i}", daemon=True
            )
            with warnings.catch_warnings():
                # Python warns of any fork in a process with threads; the engine's own pool is made for it.
                warnings.filterwarnings("ignore", message=".*multi-threaded.*", category=DeprecationWarning)
                process.start()
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self.channels.append(Channel(ours))
        self.processes.append(process)
        self._by_fd[ours.fileno()] = i
        self._poll.register(ours.fileno(), select.POLLIN)

    def send(self, i: int, message) -> None:
        self.backlog[i].append(message)
        self._flush(i)

    def _flush(self, i: int) -> None:
        """Sends what the socket takes without blocking: a worker may itself be waiting for us to read."""
        queue, channel = self.backlog[i], self.channels[i]
        if not queue:
            return
        room = select.poll()
        room.register(channel.fileno(), select.POLLOUT)
        while queue and room.poll(0):
            try:
                channel.send(queue[0])
            except ConnectionError:
                return  # the death is reported by receive(), after what the worker still sent
            queue.popleft()

    def receive(self, timeout: float | None) -> Result | None:
        """The next result of any worker, or None after `timeout` seconds. Raises RuntimeError when a worker died."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            wait = _CHECK if deadline is None else min(_CHECK, max(0.0, deadline - time.monotonic()))
            ready = self._poll.poll(wait * 1000)
            if not self.close.alive:  # while we waited, by the end of the interpreter
                raise PoolClosedError
            for fd, _ in ready:
                i = self._by_fd[fd]
                try:
                    result = self.channels[i].recv()
                except (EOFError, OSError) as error:
                    if not self.close.alive:
                        raise PoolClosedError from None
                    if isinstance(error, OSError) and not isinstance(error, ConnectionError):
                        raise
                    raise self._death(i) from None
                self._flush(i)
                return result
            for i, process in enumerate(self.processes):
                if process.exitcode is not None:  # and its socket, still open in a child of its own, is empty
                    raise self._death(i)
                self._flush(i)
            if deadline is not None and time.monotonic() >= deadline:
                return None

    def _death(self, i: int) -> RuntimeError:
        process = self.processes[i]
        process.join(_GRACE)
        code = process.exitcode
        hint = ""
        if code is None:
            how = "closed its connection but has not exited"
        elif code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = "a signal"
            how = f"was killed by {name} (signal {-code})"
            if name in ("SIGKILL", "SIGBUS"):
                hint = "\n  hint: often the system ran out of memory; try fewer workers or smaller batches"
            elif name in ("SIGSEGV", "SIGABRT", "SIGILL", "SIGFPE"):
                hint = "\n  hint: a native library crashed; num_workers=0 under `python -X faulthandler` shows where"
        else:
            how = f"exited with code {code}"
            hint = "\n  hint: something in the dataset, collate_fn or worker_init_fn ended the process"
            if code == 1:
                hint += "; its last words, if any, are on stderr"
        return RuntimeError(f"DataLoader worker {i} (pid {process.pid}) {how}.{hint}")


_pools: weakref.WeakSet[WorkerPool] = weakref.WeakSet()


def _forget_workers() -> None:
    """In a forked child: its multiprocessing would otherwise end the workers of the parent when the child exits."""
    for pool in _pools:
        for process in pool.processes:
            multiprocessing.process._children.discard(process)  # type: ignore[attr-defined]


os.register_at_fork(after_in_child=_forget_workers)


# Registered after multiprocessing's own, so run before it: that one would kill the workers under a waiting thread.
@atexit.register
def _stop_all() -> None:
    for pool in list(_pools):
        pool.close()


def _stop(owner: int, channels: list[Channel], processes: list) -> None:
    if os.getpid() != owner:  # a forked copy of the pool: the workers are not ours
        for channel in channels:
            channel.socket.close()
        return
    for channel in channels:
        channel.close()
    deadline = time.monotonic() + _GRACE
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
    for process in processes:
        if process.exitcode is None:
            process.kill()
            process.join()
    # Not closed: at the interpreter's end multiprocessing may be waiting for the same processes in another thread.


def _context(context):
    if context is None:
        # fork is quickest, and the engine's threads survive it; who has set another method gets that.
        method = multiprocessing.get_start_method(allow_none=True)
        return multiprocessing.get_context(method or ("fork" if sys.platform == "linux" else None))
    return multiprocessing.get_context(context) if isinstance(context, str) else context


def _forkserver_pid() -> int:
    from multiprocessing import forkserver

    forkserver.ensure_running()
    return forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]
