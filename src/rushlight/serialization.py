"""Saving and loading, in PyTorch's `.pt` format both ways.

A file is a zip archive, stored without compression: `data.pkl` holds the pickled object with every tensor's geometry,
`data/N` the bytes of storage N, aligned so that a file can be mapped. Names in the pickle are PyTorch's (`torch...`);
reading turns them into Rushlight's. By default reading refuses every name that is not on a short list, since a pickle
could otherwise run any program.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import pickle
import stat
import sys
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import IO, Any

import rushlight
from rushlight import Size, Tensor, device, dtype

from ._legacy_format import LegacyFile, is_legacy
from ._restricted_pickle import RestrictedUnpickler, checked
from ._tensor_pickle import (
    NAME_OF_DTYPE,
    REBUILDERS,
    STORAGE_NAMES,
    UNTYPED,
    Storage,
    StorageName,
    _rebuild_from_type_v2,
    _rebuild_parameter_with_state,
    memory_of,
    reduce_tensor,
)

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]

_ALIGN = 64


# --- Saving ----------------------------------------------------------------------------------------------------------


def save(
    obj,
    f,
    pickle_module=pickle,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Saves an object to a file that `rushlight.load` and PyTorch's `torch.load` read.

    Args:
        obj: a tensor, a state_dict, or anything that can be pickled, with tensors anywhere in it. Tensors that share
            memory share it again once loaded.
        f: a path, or a file object open for binary writing.
        pickle_protocol: PyTorch reads protocol 2 with `weights_only=True`.

    A file at the path `f` is replaced in one step, once the new one is whole and on the disk: whatever happens while
    saving, the path holds the old file or the new one.

    Raises:
        RuntimeError: the folder does not exist.
        OSError: the disk is full (the old file stays).
        pickle.PicklingError, AttributeError, TypeError: `obj` holds what cannot be pickled.

    >>> import io, rushlight
    >>> file = io.BytesIO()
    >>> rushlight.save({"w": rushlight.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> rushlight.load(file)
    {'w': tensor([1., 1.])}
    """
    if not _use_new_zipfile_serialization:
        raise ValueError("Rushlight writes the zip format only\n  hint: leave out _use_new_zipfile_serialization")
    if isinstance(f, (str, os.PathLike)):
        path = os.path.realpath(os.fspath(f))
        root = os.path.splitext(os.path.basename(path))[0] or "archive"
        # Pickling first: what cannot be pickled fails before any file is touched.
        pickled, storages = _dump(obj, pickle_protocol)
        with _replacing(path) as file:
            _write_archive(file, root, pickled, storages)
    elif hasattr(f, "write"):
        _write_archive(f, "archive", *_dump(obj, pickle_protocol))
    else:
        raise AttributeError(f"expected 'f' to be a path or a file object with a write method, got {type(f).__name__}")


class _Pickler(pickle._Pickler):  # type: ignore[name-defined]  # the one in Python: it lets save_global be overridden
    """Writes names as PyTorch's, and storages as references to records of the archive."""

    dispatch = dict(pickle._Pickler.dispatch)  # type: ignore[attr-defined]

    def __init__(self, file, protocol: int):
        super().__init__(file, protocol)
        self.storages: list[Storage] = []  # the position is the name in the file
        self._numbers: dict[int, int] = {}  # id of a storage -> its position
        self._kinds: dict[int, dtype] = {}

    def persistent_id(self, obj):
        if type(obj) is not Storage:
            return None
        flat = obj.flat
        number = self._numbers.setdefault(id(obj), len(self.storages))
        if number == len(self.storages):
            self.storages.append(obj)
            if flat.numel() and self._kinds.setdefault(flat.data_ptr(), flat.dtype) != flat.dtype:
                raise RuntimeError(
                    "Cannot save multiple tensors or storages that view the same data as different types: "
                    f"{self._kinds[flat.data_ptr()]} and {flat.dtype}\n  hint: save a clone() of one of them"
                )
        name = NAME_OF_DTYPE.get(flat.dtype, UNTYPED)
        count = flat.numel() * (flat.element_size() if name is UNTYPED else 1)
        return ("storage", name, str(number), str(flat.device), count)

    def reducer_override(self, obj):
        if isinstance(obj, Tensor):
            return reduce_tensor(obj) if _plain_reduce(type(obj)) else NotImplemented
        kind = type(obj)
        if kind is dtype:
            return str(obj).split(".")[-1]
        if kind is StorageName:
            return obj.name
        if kind is device:
            return device, (obj.type,) if obj.index is None else (obj.type, obj.index)
        if kind is Size:
            return Size, (tuple(obj),)
        return NotImplemented

    def save_global(self, obj, name=None):
        if type(obj) is StorageName:
            module = obj.module
        elif type(obj) is dtype:
            module = "torch"
        elif obj in (Tensor, Size, device):
            module, name = "torch", obj.__name__
        elif isinstance(obj, FunctionType) and obj in REBUILDERS:
            module, name = REBUILDERS[obj]
        else:
            module = getattr(obj, "__module__", None) or ""
            if module.partition(".")[0] != "rushlight":
                return super().save_global(obj, name)
            module = "torch" + module[len("rushlight") :]
            name = name or obj.__qualname__
        self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)
        return None

    dispatch[FunctionType] = save_global  # type: ignore[assignment]


def _plain_reduce(kind: type) -> bool:
    """Whether tensors of this class are pickled as tensors are, and not by a method of the subclass's own."""
    return kind.__reduce_ex__ in (Tensor.__reduce_ex__, rushlight.nn.Parameter.__reduce_ex__)


def _dump(obj, protocol: int) -> tuple[bytes, list[Storage]]:
    file = io.BytesIO()
    pickler = _Pickler(file, protocol)
    pickler.dump(obj)
    return file.getvalue(), pickler.storages


def _write_archive(file: IO[bytes], root: str, pickled: bytes, storages: list[Storage]) -> None:
    import zipfile

    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:

        def write(name: str, content) -> None:
            info = zipfile.ZipInfo(f"{root}/{name}")  # dated 1980: equal content gives equal files
            info.file_size = len(content)
            big = info.file_size * 1.05 > zipfile.ZIP64_LIMIT  # zipfile then adds 20 bytes to the header
            start = archive.start_dir + 30 + len(info.filename.encode()) + 20 * big
            # Padding is an extra field: two bytes of name, two of length, zeros.
            pad = -(start + 4) % _ALIGN
            info.extra = b"FB" + pad.to_bytes(2, "little") + bytes(pad)
            with archive.open(info, "w", force_zip64=big) as entry:
                entry.write(content)

        write("data.pkl", pickled)
        write("byteorder", sys.byteorder.encode())
        for number, storage in enumerate(storages):
            write(f"data/{number}", memory_of(storage.flat.cpu()))
        write("version", b"3\n")


@contextlib.contextmanager
def _replacing(path: str) -> Iterator[IO[bytes]]:
    """A file to write that takes the place of `path` when the block ends well, in one step, and on the disk.

    Where the system can, it has no name until it is whole, and then one that the next to save to `path` takes over if
    this process is killed before it gets its own.
    """
    folder, name = os.path.split(path)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.\n  hint: os.makedirs({folder!r})")
    try:
        old = os.stat(path)
    except FileNotFoundError:
        old = None
    if old is not None and not stat.S_ISREG(old.st_mode):  # a device or a pipe; open() refuses a folder
        with open(path, "wb") as file:
            yield file
        return
    temporary = os.path.join(folder, f".{name[:200]}.tmp")
    nameless = True
    try:
        fd = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o666)
    except (OSError, AttributeError):
        nameless = False
        temporary = os.path.join(folder, f".{name[:200]}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
        fd = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_CLOEXEC", 0), 0o666)
    try:
        with open(fd, "w+b") as file:
            yield file
            file.flush()
            if old is not None:
                os.chmod(fd, stat.S_IMODE(old.st_mode))
            os.fsync(fd)
            if nameless:
                _link(fd, folder, temporary)
                try:
                    os.replace(temporary, path)  # before the lock goes with fd
                except OSError:
                    os.unlink(temporary)
                    raise
        if not nameless:  # closed first: not every system renames open files
            os.replace(temporary, path)
    except BaseException as error:
        if not nameless:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        if isinstance(error, OSError) and old is not None:
            error.add_note(f"{path} is as it was before saving.")
        raise
    if os.name == "posix":
        here = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(here)  # the renaming itself
        finally:
            os.close(here)


def _is_held(name: str) -> bool:
    """Whether a living process holds the lock on this file; one that a killed process left behind is removed."""
    import fcntl

    with contextlib.suppress(FileNotFoundError), open(name, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        if os.path.samestat(os.fstat(file.fileno()), os.stat(name)):
            os.unlink(name)
    return False


def _link(fd: int, folder: str, name: str) -> None:
    """Gives a nameless file a name, at once or when the process that uses this name is through with it."""
    import fcntl

    fcntl.flock(fd, fcntl.LOCK_EX)
    here = os.open(folder, os.O_RDONLY)
    try:
        for _ in range(1000):
            try:
                # With a dir_fd Python calls linkat(), which follows the link in /proc.
                return os.link(f"/proc/self/fd/{fd}", name, src_dir_fd=here)
            except FileExistsError:
                if _is_held(name):
                    time.sleep(0.01)
        raise TimeoutError(f"another process is about to save this file, and does not go on: {name} stays locked")
    finally:
        os.close(here)


# --- Loading ---------------------------------------------------------------------------------------------------------


def load(
    f, map_location=None, pickle_module=None, *, weights_only: bool | None = None, mmap: bool | None = None, **args
):
    """Loads what `rushlight.save` or PyTorch's `torch.save` wrote, also in its format before 1.6.

    Args:
        f: a path, or a file object that can `read`, `seek` and `tell`.
        map_location: the device to load to: a device or its name; a dict from saved to wanted names; or a function
            `(storage, location) -> storage or None`. Tensors go to the device they were saved from if not given.
        weights_only: True (the default) builds tensors, containers, numbers, strings, and what `add_safe_globals` was
            given, and refuses all else. False runs whatever the file says: only for files you trust.
        mmap: maps the file instead of reading it (`f` must be a path); tensors are read when first touched, and
            writing to them does not change the file.

    Raises:
        pickle.UnpicklingError: content that is refused or damaged.
        RuntimeError: a file that is damaged, cut short or no archive.
        EOFError: an empty file.

    >>> import rushlight as rl
    >>> import io
    >>> file = io.BytesIO()
    >>> rl.save(rl.arange(3), file)
    >>> _ = file.seek(0)
    >>> rl.load(file)
    tensor([0, 1, 2])
    """
    if weights_only is None:
        weights_only = pickle_module is None
    if weights_only and pickle_module is not None:
        raise RuntimeError("pickle_module cannot be used with weights_only=True\n  hint: pass weights_only=False")
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return _load(file, os.fspath(f), map_location, pickle_module, weights_only, bool(mmap), args)
    if mmap:
        raise ValueError(f"f must be a path in order to use the mmap argument, got {type(f).__name__}")
    for method in ("read", "seek", "tell"):
        if not hasattr(f, method):
            raise AttributeError(
                f"expected 'f' to be a path or a file object that can read, seek and tell; {type(f).__name__} has no "
                f"{method}\n  hint: for bytes, or a stream from the network, load(io.BytesIO(data))"
            )
    return _load(f, getattr(f, "name", type(f).__name__), map_location, pickle_module, weights_only, False, args)


def _load(file, name, map_location, pickle_module, weights_only: bool, mapped: bool, args: dict):
    name = str(name)
    content: Any
    source: Any
    if is_legacy(_head(file, name)):
        if mapped:
            raise RuntimeError(f"{name} is in PyTorch's format before 1.6, which cannot be mapped\n  hint: mmap=False")
        content = file
        source = LegacyFile(file, name, lambda storage, location: _placed(storage, location, map_location, name))
    else:
        source = _Archive(file, name, map_location, mapped)
        content = io.BytesIO(source.read("data.pkl"))
    if not weights_only:
        result = _full_unpickler(pickle_module or pickle, source)(content, **args).load()
    else:
        try:
            result = RestrictedUnpickler(content, _look_up, source.storage, tuple(_safe.values()), **args).load()
        except pickle.UnpicklingError as error:
            raise pickle.UnpicklingError(f"{name} was refused: {error}") from None
    if content is file:
        source.fill()
    return result


class _Archive:
    """A `.pt` file being read: its records, and the storages built from them so far."""

    def __init__(self, file: IO[bytes], name: str, map_location, mapped: bool):
        import zipfile

        self.file, self.name, self.map_location = file, name, map_location
        try:
            self.zip = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, ValueError, OverflowError, NotImplementedError) as error:
            raise RuntimeError(
                f"{name} is a damaged or truncated archive: {error}\n  hint: copy or download it again"
            ) from None
        self.infos = {info.filename: info for info in self.zip.infolist()}
        root = next((path for path in self.infos if path.endswith("/data.pkl") and path.count("/") == 1), None)
        if root is None:
            raise RuntimeError(f"{name} is a zip archive, but has no data.pkl: not a file written by save()")
        self.root = root[: -len("data.pkl")]
        if self.root + "constants.pkl" in self.infos:
            raise RuntimeError(f"{name} is a TorchScript archive, which Rushlight does not run")
        order = self.read("byteorder").decode("ascii", "replace") if self.root + "byteorder" in self.infos else "little"
        self.swap = order != sys.byteorder
        self.storages: dict[str, tuple[Storage, StorageName]] = {}
        self.mapping: Any = None
        if mapped:
            import mmap

            self.mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)

    def read(self, record: str) -> bytes:
        import zipfile
        import zlib

        try:
            return self.zip.read(self.root + record)
        except KeyError:
            raise RuntimeError(f"{self.name} has no record {record}: it is damaged") from None
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError) as error:
            raise RuntimeError(f"{self.name} is damaged: record {record} cannot be read: {error}") from None

    def storage(self, reference) -> Storage:
        """The storage that a persistent id of the pickle refers to."""
        if not isinstance(reference, tuple) or len(reference) != 5 or reference[0] != "storage":
            raise pickle.UnpicklingError(f"{self.name} refers to {reference!r}, which is no storage")
        _, kind, key, location, count = reference
        if not (isinstance(kind, StorageName) and isinstance(key, str) and isinstance(location, str)):
            raise pickle.UnpicklingError(f"{self.name} refers to {reference!r}, which is no storage")
        if key in self.storages:
            storage, known = self.storages[key]
            if known is not kind:
                raise pickle.UnpicklingError(f"{self.name} gives storage {key} two types: {known.name}, {kind.name}")
            return storage
        flat = self._flat(f"data/{key}", kind.kind or rushlight.uint8, count)
        storage = _placed(Storage(flat), location, self.map_location, self.name)
        self.storages[key] = storage, kind
        return storage

    def _flat(self, record: str, kind: dtype, count) -> Tensor:
        info = self.infos.get(self.root + record)
        if info is None:
            raise RuntimeError(f"{self.name} has no record {record}: it is damaged")
        if type(count) is not int or count < 0 or info.file_size != count * kind.itemsize:
            raise RuntimeError(
                f"{self.name} is damaged: record {record} has {info.file_size} bytes, not {count} elements of {kind}"
            )
        start = self._start(info, record)
        if self.map_location is not None and str(self.map_location) == "meta":
            return rushlight.empty(count, dtype=kind, device="meta")
        if self.mapping is not None and start is not None and not self.swap and count:
            if start + info.file_size > len(self.mapping):
                raise RuntimeError(f"{self.name} is damaged: record {record} reaches beyond its end")
            return rushlight.frombuffer(self.mapping, dtype=kind, count=count, offset=start)
        if start is not None:  # never more than the file can hold, whatever its directory says
            self.file.seek(0, os.SEEK_END)
            if start + info.file_size > self.file.tell():
                raise RuntimeError(f"{self.name} is damaged: record {record} reaches beyond its end")
        flat = rushlight.empty(count, dtype=kind)
        if count:
            self._read_into(memoryview(memory_of(flat)).cast("B"), info, start, record)
        if self.swap:
            import numpy

            width = kind.itemsize // (2 if kind.is_complex else 1)
            numpy.frombuffer(memory_of(flat), dtype=f"u{width}").byteswap(inplace=True)
        return flat

    def _start(self, info, record: str) -> int | None:
        """Where a stored record's bytes begin in the file; None when it is compressed (repacked by another tool)."""
        if info.compress_type:
            return None
        self.file.seek(info.header_offset)
        header = self.file.read(30)
        if len(header) != 30 or header[:4] != b"PK\x03\x04":
            raise RuntimeError(f"{self.name} is damaged: record {record} is not where the directory says")
        return (
            info.header_offset + 30 + int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        )

    def _read_into(self, view: memoryview, info, start: int | None, record: str) -> None:
        import zlib

        if start is None:
            view[:] = self.read(record)
            return
        self.file.seek(start)
        at = 0
        if hasattr(self.file, "readinto"):
            while at < len(view) and (got := self.file.readinto(view[at:])):  # type: ignore[attr-defined]
                at += got
        else:
            content = self.file.read(len(view))
            at = len(content)
            view[:at] = content
        if at < len(view):
            raise RuntimeError(f"{self.name} is damaged: record {record} reaches beyond its end")
        # PyTorch can be told to leave the checksums out; they are zero then.
        if info.CRC and zlib.crc32(view) != info.CRC:
            raise RuntimeError(f"{self.name} is damaged: record {record} does not match its checksum")


def _placed(storage: Storage, location: str, wanted, name: str) -> Storage:
    """The storage on the device that `wanted`, load's `map_location`, names for it."""
    if callable(wanted) and not isinstance(wanted, (str, device)):
        result = wanted(storage, location)
        if result is not None:
            return result
    elif isinstance(wanted, dict):
        location = str(wanted.get(location, location))
    elif wanted is not None:
        location = str(wanted)
    if str(storage.flat.device) == location:
        return storage
    try:
        return storage.to(location)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise RuntimeError(
            f"{name} holds tensors of device {location!r}, which is not available here: {error}\n"
            '  hint: load(..., map_location="cpu")'
        ) from None


def _head(file: IO[bytes], name: str) -> bytes:
    """How the file begins. Raises an error saying what it is if it is none written by save()."""
    start = file.tell()
    head = file.read(512)
    file.seek(start)
    if not head:
        file.seek(0, os.SEEK_END)
        size = file.tell()
        file.seek(start)
        hint = "\n  hint: the position is at the end of the file; file.seek(0) first" if size else ""
        raise EOFError(f"{name}: nothing to read at position {start} of {size} bytes{hint}")
    if head[:2] == b"PK" or is_legacy(head):
        return head
    text = head.lstrip().lower()
    if text.startswith((b"<!doctype", b"<html", b"<?xml", b"<head")):
        what, hint = "a web page, not a checkpoint", "the download gave an error or a login page; look at it"
    elif head[257:262] == b"ustar":
        what, hint = "a tar archive (PyTorch's format before 0.1.10, or another)", "re-save it with a newer torch.save"
    elif head[:1] == b"\x80" and 2 <= head[1] <= 5:
        what, hint = "a bare pickle, not an archive", "pickle.load reads it, if you trust it"
    elif head[:2] == b"\x1f\x8b":
        what, hint = "compressed with gzip", "load(gzip.open(file))"
    elif head[8:9] == b"{" and int.from_bytes(head[:8], "little") < 2**32:
        what, hint = "a safetensors file", "safetensors reads it"
    elif head.startswith(b"version https://git-lfs"):
        what, hint = "a Git LFS pointer, not the file itself", "git lfs pull"
    else:
        what, hint = f"no archive written by save() (it begins with {head[:8]!r})", "check where it came from"
    raise pickle.UnpicklingError(f"{name} is {what}\n  hint: {hint}")


def _torch_global(module: str, name: str):
    """What Rushlight has for a name in torch. The module may be laid out differently, so its parents are tried too."""
    key = f"{module}.{name}"
    if key in STORAGE_NAMES:
        return STORAGE_NAMES[key]
    for function, where in REBUILDERS.items():
        if where == (module, name):
            return function
    path = "rushlight" + module[len("torch") :]
    while path:
        try:
            found: Any = importlib.import_module(path)
            for part in name.split("."):
                found = getattr(found, part)
            return found
        except (ImportError, AttributeError):
            path = path.rpartition(".")[0]
    raise pickle.UnpicklingError(f"the file needs {key}, which Rushlight does not have")


def _full_unpickler(module, source: _Archive | LegacyFile) -> type:
    """An unpickler without restrictions, from the standard module or one the user gave."""

    class Unpickler(module.Unpickler):
        def find_class(self, where: str, name: str):
            if where == "torch" or where.startswith("torch."):
                return _torch_global(where, name)
            return super().find_class(where, name)

        def persistent_load(self, reference):
            return source.storage(reference)

    return Unpickler


# --- Loading what is not trusted -------------------------------------------------------------------------------------

_safe: dict[str, Any] = {}  # what users allowed, by name


def add_safe_globals(safe_globals: list) -> None:
    """Allows classes or functions in files loaded with `weights_only=True`: a list of them, or of (object, name) pairs.

    The pair is for files that name the object otherwise than it is named here.
    """
    for item in safe_globals:
        obj, name = item if isinstance(item, tuple) else (item, f"{item.__module__}.{item.__qualname__}")
        _safe[_canonical(name)] = obj


def get_safe_globals() -> list:
    """What add_safe_globals allowed so far."""
    return list(_safe.values())


def clear_safe_globals() -> None:
    """Takes back all that add_safe_globals allowed."""
    _safe.clear()


@contextlib.contextmanager
def safe_globals(safe_globals: list) -> Iterator[None]:
    """Allows classes or functions while the block runs; see add_safe_globals.

    >>> import rushlight as rl
    >>> import fractions, io
    >>> file = io.BytesIO()
    >>> rl.save(fractions.Fraction(1, 2), file)
    >>> _ = file.seek(0)
    >>> with rl.serialization.safe_globals([fractions.Fraction]):
    ...     rl.load(file)
    Fraction(1, 2)
    """
    before = dict(_safe)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _safe.clear()
        _safe.update(before)


def _canonical(name: str) -> str:
    return "torch" + name[len("rushlight") :] if name.partition(".")[0] == "rushlight" else name


def _look_up(module: str, name: str) -> tuple[Any, Callable | None]:
    """For RestrictedUnpickler: what a name stands for, and what to call when the pickle calls it."""
    key = _canonical(f"{module}.{name}")
    if key in _safe:
        return _safe[key], _safe[key]
    if key in STORAGE_NAMES:
        return STORAGE_NAMES[key], None
    if module == "torch" and isinstance(found := getattr(rushlight, name, None), dtype):
        return found, None
    for table in (_constructors, _tensor_constructors()):
        if key in table:
            return table[key]
    spelled = name if module in ("builtins", "__main__") else f"{module}.{name}"
    raise pickle.UnpicklingError(
        f"it names {module}.{name}, which weights_only=True does not allow\n"
        f"  hint: if you know what it is, rushlight.serialization.add_safe_globals([{spelled}]); "
        "if you trust the file's author with your machine, load(..., weights_only=False); "
        "in files of your own keep model.state_dict(), not the model"
    )


def _ordered_dict(pairs=()) -> OrderedDict:
    pairs = [tuple(pair) for pair in pairs]
    checked(key for key, _ in pairs)
    return OrderedDict(pairs)


def _counter(counts=()) -> Counter:
    return Counter(dict(_ordered_dict(counts.items() if isinstance(counts, dict) else ())))


def _bytearray(content: bytes = b"") -> bytearray:
    if not isinstance(content, bytes):  # a number would allocate that many bytes
        raise pickle.UnpicklingError(f"a bytearray was to be made of a {type(content).__name__}")
    return bytearray(content)


def _encode(text: str, encoding: str) -> bytes:
    """How protocol 2 writes bytes. Other encodings would import modules by name."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"text is encoded as {encoding!r}; only latin1 is allowed")
    return text.encode("latin1")


def _from_type(rebuild, kind: type, args: tuple, state) -> Tensor:
    if kind not in (Tensor, rushlight.nn.Parameter, *_safe.values()):
        raise pickle.UnpicklingError(f"a tensor of type {kind!r} is not allowed")
    if not isinstance(rebuild, FunctionType) or rebuild not in REBUILDERS:
        raise pickle.UnpicklingError(f"a tensor was to be built by {rebuild!r}")
    return _rebuild_from_type_v2(rebuild, kind, args, _plain_state(state))


def _parameter_with_state(data: Tensor, requires_grad: bool, backward_hooks, state) -> Tensor:
    return _rebuild_parameter_with_state(data, requires_grad, backward_hooks, _plain_state(state))


def _plain_state(state) -> dict:
    """Attributes of a tensor: a dict of names that hide nothing the class defines."""
    if type(state) is not dict:
        raise pickle.UnpicklingError(f"a tensor's attributes were given as a {type(state).__name__}")
    for name in state:
        if type(name) is not str or name.startswith("_") or hasattr(Tensor, name):
            raise pickle.UnpicklingError(f"a tensor's attribute {name!r} was to be set")
    return state


_constructors: dict[str, tuple[Any, Callable | None]] = {
    "collections.OrderedDict": (OrderedDict, _ordered_dict),
    "collections.Counter": (Counter, _counter),
    "builtins.set": (set, lambda items=(): set(checked(items))),
    "builtins.frozenset": (frozenset, lambda items=(): frozenset(checked(items))),
    "builtins.complex": (complex, complex),
    "builtins.bytearray": (bytearray, _bytearray),
    "_codecs.encode": (_encode, _encode),
    "torch.Size": (Size, Size),
    "torch.device": (device, device),
    "torch.Tensor": (Tensor, None),
    **{f"{module}.{name}": (function, function) for function, (module, name) in REBUILDERS.items()},
    "torch._utils._rebuild_parameter_with_state": (_rebuild_parameter_with_state, _parameter_with_state),
    "torch._tensor._rebuild_from_type_v2": (_rebuild_from_type_v2, _from_type),
}


def _tensor_constructors() -> dict[str, tuple[Any, Callable | None]]:
    """What needs rushlight.nn, which may be loaded after this module."""
    parameter = rushlight.nn.Parameter
    return {"torch.nn.parameter.Parameter": (parameter, None), "torch.nn.Parameter": (parameter, None)}
