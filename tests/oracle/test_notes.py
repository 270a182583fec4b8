"""The programs of docs/pytorch-notes.md under PyTorch: they print the same, and raise errors of the same types."""

import pathlib
import re

import pytest

from tests import pages

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "pytorch-notes.md"
# What PyTorch has not, or says otherwise on purpose (docs/differences.md); torchvision is not asked for.
OTHERWISE = re.compile(
    r"memory_stats|extra\(|megabytes\(|torchvision|collect_env|cuda|2\*\*45|_where|pixels|images"
    r"|len\(seen\)|\(device\)"
)
SECTIONS = {
    title: [block for block in blocks if not OTHERWISE.search(block.code)]
    for title, blocks in pages.sections(PAGE.read_text()).items()
}


def types_only(said):
    """Without the words of errors and warnings, and without those of old spellings."""
    said = re.sub(r"^(\w+Error): .*", r"\1", said, flags=re.MULTILINE | re.DOTALL)
    said = re.sub(r"^FutureWarning: .*\n", "", said, flags=re.MULTILINE)
    return re.sub(r"^(\w+Warning): .*\n(  .*\n)*", r"\1\n", said, flags=re.MULTILINE)


@pytest.mark.parametrize("numbers", ["3 4 5", "7 8 9", "11 13 14 15 16"])
def test_prints_the_same(numbers, tmp_path):
    wanted = numbers.split()
    blocks = [block for title, found in SECTIONS.items() if title.partition(".")[0] in wanted for block in found]
    assert len(blocks) > 8
    for block, got in zip(blocks, pages.run(blocks, tmp_path, "torch"), strict=True):
        assert types_only(block.said) == types_only(got), block.code
