"""Files from the network, and models that a folder offers in its ``hubconf.py``.

Models of GitHub repositories are not fetched: ``load(..., source="local")`` takes a folder that is here.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile

from ._settings import unavailable

_folder: str | None = None
_fetch = unavailable(
    "hub.load", 'repositories are not fetched from GitHub; for a folder, load(path, name, source="local")'
)


def get_dir() -> str:
    """Where files are kept: ``set_dir()``, or ``$TORCH_HOME/hub``, or ``~/.cache/torch/hub``, as PyTorch has it."""
    if _folder is not None:
        return _folder
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.join(os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))), "hub")


def set_dir(d) -> None:
    """Keeps files in another folder."""
    global _folder
    _folder = os.path.expanduser(os.fspath(d))


def load(repo_or_dir, model: str, *args, source: str = "github", **kwargs):
    """Calls the function ``model`` of the folder's ``hubconf.py``.

    Raises:
        NotImplementedError: unless ``source="local"``.
        RuntimeError: the folder offers no such function.
    """
    return _entry(_hubconf(repo_or_dir, source), model)(*args, **_plain(kwargs))


def list(github, source: str = "github", **kwargs):
    """The names of the functions that a folder's ``hubconf.py`` offers; see :func:`load`."""
    offered = vars(_hubconf(github, source))
    return sorted(name for name, value in offered.items() if callable(value) and not name.startswith("_"))


def help(github, model: str, source: str = "github", **kwargs) -> str | None:
    """The docstring of a function that a folder's ``hubconf.py`` offers; see :func:`load`."""
    return _entry(_hubconf(github, source), model).__doc__


def _plain(kwargs: dict) -> dict:
    """Without the options of fetching."""
    return {k: v for k, v in kwargs.items() if k not in ("trust_repo", "force_reload", "verbose", "skip_validation")}


def _hubconf(folder, source: str):
    if source != "local":
        _fetch()
    from importlib.util import module_from_spec, spec_from_file_location

    folder = os.path.expanduser(os.fspath(folder))
    path = os.path.join(folder, "hubconf.py")
    if not os.path.isfile(path):
        raise FileNotFoundError(f"hub: there is no {path}")
    sys.path.insert(0, folder)
    try:
        spec = spec_from_file_location("hubconf", path)
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    return module


def _entry(module, name: str):
    function = getattr(module, name, None)
    if not callable(function):
        raise RuntimeError(f"hub: {module.__file__} has no function {name!r}")
    return function


def load_state_dict_from_url(
    url: str,
    model_dir=None,
    map_location=None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
):
    """Loads a file from the network, or from ``model_dir`` (``get_dir()/checkpoints``), where it is kept.

    Args:
        check_hash: the name ends in ``-<the first digits of its SHA-256>.ext``, which the content has to match.
        map_location, weights_only: as in :func:`rushlight.load`.

    Raises:
        RuntimeError: the content does not match.
        OSError: it cannot be fetched.
    """
    from urllib.parse import urlparse

    from .serialization import load

    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else os.fspath(model_dir)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        digits = re.search(r"-([0-9a-f]{8,})\.", name) if check_hash else None
        download_url_to_file(url, path, digits[1] if digits else None, progress)
    return load(path, map_location=map_location, weights_only=weights_only)


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Writes what is at ``url`` to the file ``dst``, which appears once it is whole.

    Raises:
        RuntimeError: the content's SHA-256 does not begin with ``hash_prefix``.
        OSError: it cannot be fetched or written.
    """
    from urllib.request import Request, urlopen

    dst = os.path.expanduser(dst)
    digest = hashlib.sha256()
    with urlopen(Request(url, headers={"User-Agent": "rushlight"})) as answer:
        fd, temporary = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(dst)), suffix=".part")
        try:
            with open(fd, "wb") as file:
                total, done = int(answer.headers.get("Content-Length") or 0), 0
                while part := answer.read(1 << 20):
                    file.write(part)
                    digest.update(part)
                    done += len(part)
                    if progress and total and sys.stderr.isatty():
                        sys.stderr.write(f"\r{os.path.basename(dst)}: {100 * done // total} %")
                if progress and total and sys.stderr.isatty():
                    sys.stderr.write("\n")
            if hash_prefix and not digest.hexdigest().startswith(hash_prefix):
                raise RuntimeError(
                    f"{url}: the content's SHA-256 begins with {digest.hexdigest()[: len(hash_prefix)]}, "
                    f"not with {hash_prefix}\n  hint: it changed on its way, or the file was replaced"
                )
            os.replace(temporary, dst)
        except BaseException:
            os.unlink(temporary)
            raise
