"""A two-way channel between processes that carries tensors through shared memory.

A message is pickled; tensors and arrays leave the pickle out of band (PEP 574). A short message travels in the socket
itself. A long one is written to an anonymous file in memory, whose descriptor is sent over the socket: it has no name,
so nothing stays in /dev/shm whoever is killed when, and the space goes when its last reader does.
"""

from __future__ import annotations

import copyreg
import io
import mmap
import os
import pickle
import socket
import struct
import sys
import tempfile
import weakref
from collections import ChainMap
from typing import Any

import rushlight
from rushlight import Tensor
from rushlight._tensor_pickle import memory_of

_HEADER = struct.Struct("<QQ")  # bytes that follow in the socket, bytes in the file that comes along (or 0)
_ALIGN = 64
_INLINE = 16 << 10  # longest message sent in the socket; several must fit its buffer, for a worker to run ahead
_MAP = 1 << 20  # from this size on a received file is mapped; below, reading it is as fast and holds no descriptor
_MAX_MAPS = 256  # so many batches may hold a mapping, and with it a descriptor; further ones are read as well
_maps: weakref.WeakSet = weakref.WeakSet()


class Channel:
    """One end. `recv` raises EOFError once the other end is closed, `send` BrokenPipeError."""

    def __init__(self, sock: socket.socket):
        self.socket = sock
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16 * _INLINE)

    def fileno(self) -> int:
        return self.socket.fileno()

    def send(self, message) -> None:
        stream, buffers = _dumps(message)
        size = len(stream) + sum(view.nbytes for view in buffers)
        if size <= _INLINE and not buffers:
            self.socket.sendall(_HEADER.pack(len(stream), 0) + stream)
            return
        fd = _anonymous_file()
        try:
            size = _write_segment(fd, [memoryview(stream), *buffers])
            sent = socket.send_fds(self.socket, [_HEADER.pack(0, size)], [fd])
            if sent < _HEADER.size:
                self.socket.sendall(_HEADER.pack(0, size)[sent:])
        finally:
            os.close(fd)

    def recv(self):
        # Descriptors ride on the first byte of their message.
        head, fds, flags, _ = socket.recv_fds(self.socket, _HEADER.size, 1, getattr(socket, "MSG_CMSG_CLOEXEC", 0))
        if not head:
            raise EOFError
        try:
            head += self._read(_HEADER.size - len(head))
            length, size = _HEADER.unpack(head)
            if not size:
                return pickle.loads(self._read(length))
            if not fds:
                raise OSError(
                    "a batch could not be received: this process has too many open files\n  hint: raise `ulimit -n`"
                )
            return _loads_segment(fds[0], size)
        finally:
            for fd in fds:
                os.close(fd)

    def close(self) -> None:
        """Ends the conversation for both sides, even where a fork left further copies of this end open."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()

    def _read(self, count: int) -> bytes:
        parts = []
        while count:
            part = self.socket.recv(count)
            if not part:
                raise EOFError
            parts.append(part)
            count -= len(part)
        return b"".join(parts)


def _dumps(message) -> tuple[bytes, list[memoryview]]:
    buffers: list[memoryview] = []

    def keep_in_band(buffer: pickle.PickleBuffer) -> bool:
        view = buffer.raw()
        if view.nbytes <= 512:
            return True
        buffers.append(view)
        return False

    stream = io.BytesIO()
    pickler = pickle.Pickler(stream, protocol=5, buffer_callback=keep_in_band)
    pickler.dispatch_table = _dispatch_table
    pickler.dump(message)
    return stream.getvalue(), buffers


def _reduce_tensor(tensor: Tensor):
    if tensor.requires_grad:
        if not tensor.is_leaf:
            raise RuntimeError(
                "cannot send a tensor that is part of a graph to another process: its history would be lost\n"
                "  hint: return tensor.detach() from the dataset or collate_fn"
            )
        return _require_grad, (tensor.detach(),)
    if tensor.device.type != "cpu":
        return tensor.__reduce_ex__(5)
    plain = tensor.contiguous()
    return _rebuild_tensor, (pickle.PickleBuffer(memory_of(plain)), plain.dtype, tuple(plain.shape))


def _rebuild_tensor(content, dtype, shape) -> Tensor:
    if not len(content):
        return rushlight.empty(shape, dtype=dtype)
    return rushlight.frombuffer(content, dtype=dtype).view(shape)


def _require_grad(tensor: Tensor) -> Tensor:
    return tensor.requires_grad_()


_dispatch_table: ChainMap[Any, Any] = ChainMap({Tensor: _reduce_tensor}, copyreg.dispatch_table)


def _anonymous_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("rushlight-batch", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _write_segment(fd: int, parts: list[memoryview]) -> int:
    """Writes a table of sizes, then each part at the next multiple of _ALIGN. Returns the file's size.

    write() rather than a mapping: the kernel then copies whole pages and need not clear and fault in each one first.
    """
    with open(fd, "wb", closefd=False) as file:
        table = struct.pack(f"<Q{len(parts)}Q", len(parts), *(part.nbytes for part in parts))
        at = file.write(table)
        for part in parts:
            at += file.write(bytes(-at % _ALIGN))
            at += file.write(part.cast("B") if part.format != "B" else part)
    return at


def _loads_segment(fd: int, size: int):
    if size < _MAP or len(_maps) >= _MAX_MAPS:
        content: bytearray | mmap.mmap = bytearray(size)
        view = memoryview(content)
        done = 0
        while done < size:
            done += os.preadv(fd, [view[done:]], done)
    else:
        options = {"trackfd": False} if sys.version_info >= (3, 13) else {}
        content = mmap.mmap(fd, size, flags=mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0), **options)
        _maps.add(content)
        view = memoryview(content)
    (count,) = struct.unpack_from("<Q", view)
    sizes = struct.unpack_from(f"<{count}Q", view, 8)
    parts = []
    at = 8 * (count + 1)
    for length in sizes:
        at += -at % _ALIGN
        parts.append(view[at : at + length])
        at += length
    return pickle.loads(parts[0], buffers=parts[1:])
