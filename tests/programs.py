"""Programs given as text, run from a file so that messages can name their lines."""

from __future__ import annotations

import linecache
import re
from pathlib import Path
from typing import Any

import rushlight


def run(text: str, path: Path, lib: Any = rushlight) -> dict[str, Any]:
    """The names of the program after it ran, with the library as ``torch``."""
    path.write_text(text)
    linecache.checkcache(str(path))
    names = {"torch": lib, "__name__": "__main__"}
    exec(compile(text, str(path), "exec"), names)
    return names


def with_lines(message: str, path: Path, text: str) -> str:
    """The message with every ``<line 3>`` written out."""
    lines = text.splitlines()
    return re.sub(r"<line (\d+)>", lambda m: f"{path}:{m[1]}: {lines[int(m[1]) - 1].strip()}", message)


def said(error: BaseException) -> str:
    """An error's text with its notes."""
    return "\n".join([str(error), *(f"note: {n}" for n in getattr(error, "__notes__", []))])
