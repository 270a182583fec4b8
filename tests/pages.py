"""Runs the Python blocks of a page section by section, and compares what they say with the page.

A section (`## Title`) is a program under `rushlight run`, in a process and a folder of its own; its ```python blocks
run one after another in one namespace. The ```text block that follows one is all that it prints: with warnings as
`Category: message`, and with the exception that ends it as Python prints it last. `...` stands for anything, and in a
block that begins with "```text numbers vary" a number for any other. A block without one prints nothing and ends well.
Every block is the file `example.py` to tracebacks and source lines.

    python tests/pages.py docs/pytorch-notes.md docs/pytorch-notes.zh-CN.md

writes into the pages what their blocks print now, and the code of the first page into the others.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import linecache
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import traceback
import types
import warnings
from typing import NamedTuple

FILE = "example.py"
HEADING = re.compile(r"^## (.+)\n", re.MULTILINE)
BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n*```text(?P<varies> numbers vary)?\n(?P<said>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)


class Block(NamedTuple):
    code: str
    said: str
    varies: bool = False


def sections(page: str) -> dict[str, list[Block]]:
    """The blocks below each heading, and those above the first under ""."""
    parts = HEADING.split(page)
    titles = ["", *parts[1::2]]
    return {
        title: [Block(found["code"], found["said"] or "", bool(found["varies"])) for found in BLOCK.finditer(text)]
        for title, text in zip(titles, parts[::2], strict=True)
    }


def run(blocks: list[Block], folder: str | os.PathLike[str], framework: str = "rushlight") -> list[str]:
    """What each block says, run in a process of its own in the folder; under PyTorch where framework is "torch"."""
    done = subprocess.run(
        [sys.executable, os.path.abspath(__file__), "--under", framework],
        input=json.dumps([block.code for block in blocks]),
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=folder,
        timeout=300,
    )
    if done.returncode or done.stderr:
        raise RuntimeError(f"status {done.returncode} {done.stderr}")
    return json.loads(done.stdout.rpartition("\n")[2])


def differences(blocks: list[Block], said: list[str]) -> str:
    """What differs from the page, for people; empty where nothing does."""
    checker = doctest.OutputChecker()
    found = []
    for block, got in zip(blocks, said, strict=True):
        want, have = (map(_without_numbers, (block.said, got))) if block.varies else (block.said, got)
        if not checker.check_output(want, have, doctest.ELLIPSIS):
            found.append(f"{block.code}--- should say\n{block.said}--- says\n{got}")
    return "\n".join(found)


def _without_numbers(text: str) -> str:
    """Numbers with their units as N, rows of dashes and spaces as one."""
    text = re.sub(r"(?<![\w.#])-?\d[\d.]*\s?(%|us|ms|s|KB|MB|b|B)?(?=\s|$)", "N", text)
    return re.sub(r"[ -]+", " ", text)


def _run_here(codes: list[str], framework: str) -> list[str]:
    if framework == "rushlight":
        import rushlight.compat

        rushlight.compat.install()
    program = types.ModuleType("__main__")  # where pickle looks for the classes of the program
    sys.modules["__main__"] = program
    return [_say(code, vars(program)) for code in codes]


def _say(code: str, names: dict) -> str:
    linecache.cache[FILE] = (len(code), None, code.splitlines(keepends=True), FILE)
    said = io.StringIO()

    def warn(message, category, *_, **__):
        said.write(f"{category.__name__}: {message}\n")

    with contextlib.redirect_stdout(said), warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = warn
        try:
            exec(compile(code, FILE, "exec"), names)
        except Exception as error:
            said.writelines(traceback.format_exception_only(error))
    return said.getvalue()


def _rewrite(paths: list[pathlib.Path]) -> None:
    blocks = []
    for part in sections(paths[0].read_text()).values():
        with tempfile.TemporaryDirectory() as folder:
            new = run(part, folder)
        for block, got in zip(part, new, strict=True):
            blocks.append(block if not differences([block], [got]) else block._replace(said=got))
    for path in paths:
        page = path.read_text()
        assert len(BLOCK.findall(page)) == len(blocks), f"{path} has other blocks than {paths[0]}"
        new = iter(blocks)
        path.write_text(BLOCK.sub(lambda _, new=new: _written(next(new)), page))


def _written(block: Block) -> str:
    answer = f"\n```text{' numbers vary' if block.varies else ''}\n{block.said}```\n" if block.said else ""
    return f"```python\n{block.code}```\n{answer}"


if __name__ == "__main__":
    if sys.argv[1] != "--under":
        _rewrite([pathlib.Path(name) for name in sys.argv[1:]])
    else:
        answer = json.dumps(_run_here(json.loads(sys.stdin.read()), sys.argv[2]))
        sys.__stdout__.write("\n" + answer)  # type: ignore[union-attr]
