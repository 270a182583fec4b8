"""docs/pytorch-notes.md and its Chinese version run, and print what they say, the same in both.

What else holds the numbered sections:

| 1 environment | test_notebook.py, compat/test_names.py, compat/test_run.py |
| 2 creation and memory | op_table/creation.py, test_random.py, test_sharing.py (fragmentation) |
| 3 broadcasting | test_broadcasting.py (against NumPy), op_table |
| 4 in place | test_inplace_views.py, test_autograd.py, test_autograd_states.py, test_autograd_memory.py |
| 5 autograd | test_autograd.py, test_autograd_states.py, test_autograd_memory.py, test_gradients.py |
| 6 zero_grad | below; optim/test_optim.py, nn/test_module.py |
| 7 shapes | test_sharing.py (against NumPy), op_table/views.py, test_inplace_views.py |
| 8 arithmetic | op_table, test_sharing.py (clone and detach) |
| 9 devices | test_answers.py, test_limits.py |
| 10 data | data/, vision/test_transforms.py, vision/test_image_datasets.py (download) |
| 11 network | nn/test_module.py (paths), nn/, optim/test_lr_scheduler.py, test_demo.py |
| 12 profiler | test_profiler.py |
| 13 mixed precision | test_amp.py |
| 14 functions | test_function.py, test_serialization.py |
| 15 graphs that change | test_dynamic_graphs.py |
| 16 underneath | test_autograd.py, test_cpp_example.py |
"""

import pathlib
import re
import subprocess
import sys

import pytest

from tests import pages

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = {name: (DOCS / name).read_text() for name in ("pytorch-notes.md", "pytorch-notes.zh-CN.md")}
SECTIONS = [
    pytest.param(blocks, id=f"{page.removesuffix('.md').removeprefix('pytorch-')}-{number}")
    for page, text in PAGES.items()
    for number, blocks in enumerate(pages.sections(text).values())
    if blocks
]


@pytest.mark.parametrize("blocks", SECTIONS)
def test_section(blocks, tmp_path):
    assert not pages.differences(blocks, pages.run(blocks, tmp_path))


def test_both_languages_show_the_same():
    english, chinese = (list(pages.sections(text).values()) for text in PAGES.values())
    assert len(english) == len(chinese) == 1 + 16 + 1
    for number, (one, other) in enumerate(zip(english, chinese, strict=True)):
        assert one == other, f"section {number}"
    tables = [re.findall(r"\d+(?:[.,]\d+)*", "".join(re.findall(r"^\|.*", text, re.M))) for text in PAGES.values()]
    assert tables[0] == tables[1], "numbers in the tables"


BROKEN = {
    "another value": ("x = 1\nprint(x + 1)\n", "3\n"),
    "nothing said": ("x = 1\n", "1\n"),
    "something said": ("print(1)\n", ""),
    "an exception": ("1 / 0\n", ""),
    "no exception": ("1 / 1\n", "ZeroDivisionError: division by zero\n"),
    "another exception": ("[][0]\n", "ZeroDivisionError: division by zero\n"),
    "another message": ("import torch\ntorch.ones(2) + torch.ones(3)\n", "RuntimeError: cannot add\n"),
    "a warning": ("import warnings\nwarnings.warn('careful')\n", ""),
    "a mistake in writing": ("x = = 1\n", ""),
}


def test_numbers_may_vary_where_the_page_says_so(tmp_path):
    page = "## Section\n\n```python\nprint('add  12.5us  -3.0 %  1')\n```\n\n```text numbers vary\n{}\n```\n"
    for said, holds in [("add 1.25ms 4 % 7", True), ("mul 12.5us -3.0 % 1", False), ("add 12.5us -3.0 %", False)]:
        (block,) = pages.sections(page.format(said))["Section"]
        assert block.varies
        assert (not pages.differences([block], pages.run([block], tmp_path))) is holds, said


@pytest.mark.parametrize("code, said", BROKEN.values(), ids=BROKEN)
def test_a_broken_page_is_found(code, said, tmp_path):
    page = f"# Title\n\n## Section\n\n```python\n{code}```\n" + (f"\n```text\n{said}```\n" if said else "")
    blocks = pages.sections(page)["Section"]
    assert blocks == [pages.Block(code, said)]
    found = pages.run(blocks, tmp_path)
    assert pages.differences(blocks, found)
    assert not pages.differences([pages.Block(code, found[0])], found)


def test_what_forgetting_zero_grad_costs(tmp_path):
    """The example behind section 6, from one seed: its table, and its picture."""
    program = [str(ROOT / "examples" / "forgetting_zero_grad.py"), "--seeds", "1", "--epochs", "3"]
    done = subprocess.run(
        [sys.executable, "-m", "rushlight", "run", *program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    rows = re.findall(r"^\| (SGD|Adam),.*? \| ([\d.]+) .*? \| ([\d.]+) .*? \| ([\d.]+) \|$", done.stdout, re.M)
    assert [name for name, *_ in rows] == ["SGD", "Adam"]
    for _, cleared, forgotten, lost in rows:
        assert float(cleared) > 88 and float(forgotten) < 70
        assert abs(float(cleared) - float(forgotten) - float(lost)) < 0.11
    assert (tmp_path / "forgetting_zero_grad.png").read_bytes().startswith(b"\x89PNG")
