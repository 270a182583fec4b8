"""Downloading a file from the first mirror that gives it whole, resuming where an earlier try broke off."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import IO

_CHUNK = 1 << 16
_TIMEOUT = 30  # seconds without a byte


def file_digest(path: str, algorithm: str) -> str:
    """The hexadecimal digest of a file."""
    with open(path, "rb") as file:
        # MD5 serves against damage here, not against malice.
        return hashlib.file_digest(file, lambda: hashlib.new(algorithm, usedforsecurity=False)).hexdigest()


def download(urls: Sequence[str], path: str, digest: str, progress: bool = False) -> None:
    """Downloads to `path` from the first of `urls` whose content has the digest (MD5 or SHA-256, by its length).

    Bytes gather in `path + ".part"`, which later tries, other mirrors and later calls go on with. Processes that
    download the same file wait for one another. Raises RuntimeError saying what went wrong at each mirror.
    """
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    part = path + ".part"
    said = []
    with _only_one(path + ".lock"):
        if os.path.exists(path):  # another process has just fetched it
            return
        for url in urls:
            # What an earlier try left may be another file's; a mirror that ends in a wrong sum gets a fresh start.
            for _ in range(2):
                resumed = os.path.exists(part)
                try:
                    _fetch(url, part, progress)
                except (OSError, ValueError) as error:  # URLError, HTTPError, timeouts and cut connections among them
                    said.append(f"{url}: {_describe(error)}")
                    break
                found = file_digest(part, "md5" if len(digest) == 32 else "sha256")
                if found == digest.lower():
                    os.replace(part, path)
                    return
                said.append(f"{url}: the file is damaged (its checksum is {found}, not {digest})")
                os.unlink(part)
                if not resumed:
                    break
    raise RuntimeError(
        f"could not download {os.path.basename(path)}:\n  "
        + "\n  ".join(said)
        + f"\n  hint: check the network, or put the file into {os.path.dirname(path)} yourself"
    )


def _fetch(url: str, part: str, progress: bool) -> None:
    import http.client
    import urllib.error
    import urllib.request

    have = os.path.getsize(part) if os.path.exists(part) else 0
    request = urllib.request.Request(url, headers={"User-Agent": "rushlight"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        response = urllib.request.urlopen(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code == 416 and have:  # nothing lies beyond what we have; the checksum will tell
            error.close()
            return
        raise
    with response:
        resumes = (
            have and response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        )
        if have and response.status == 206 and not resumes:
            raise ValueError(f"asked to go on at byte {have}, the server sent {response.headers.get('Content-Range')}")
        length = response.headers.get("Content-Length")
        at = have if resumes else 0
        total = at + int(length) if length is not None else None
        with open(part, "ab" if resumes else "wb") as file:
            try:
                while chunk := response.read(_CHUNK):
                    file.write(chunk)
                    at += len(chunk)
                    if progress:
                        _show(url, at, total)
            except http.client.HTTPException as error:  # a body shorter than promised, a broken chunk
                raise ConnectionError(f"the connection broke off after {at} bytes: {error!r}") from None
        if progress:
            print(file=sys.stderr)
    if total is not None and at < total:
        raise ConnectionError(f"the connection broke off after {at} of {total} bytes")


def _show(url: str, at: int, total: int | None) -> None:
    share = f"{100 * at // total:3d} %" if total else f"{at >> 10} KiB"
    print(f"\r{url.rpartition('/')[2]} {share}", end="", file=sys.stderr, flush=True)


def _describe(error: Exception) -> str:
    import urllib.error

    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        return str(error.reason)
    return str(error) or type(error).__name__


@contextlib.contextmanager
def _only_one(path: str) -> Iterator[None]:
    """Keeps other processes out while the block runs. The lock goes with the process, however it ends."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    while True:
        with open(path, "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if not _is_at(path, file):
                continue  # the one before removed it while we waited; others may have made and locked a new one
            try:
                yield
                return
            finally:
                with contextlib.suppress(OSError):
                    os.unlink(path)


def _is_at(path: str, file: IO) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
