"""What all tests share."""

import faulthandler
import os
import pathlib
import signal
import sys

import pytest

faulthandler.enable()
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # begun in the background by a shell; tests press Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """As many processes as cores for the suite; none for a test named alone, so that print and pdb work."""
    named = config.option.file_or_dir
    if named and all("::" in name for name in named):
        return 0
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def pytest_collection_modifyitems(items):
    """Tests of what is not done yet are listed in not_yet.txt: they must fail, so that none stays there once it holds.

    A line with an exclamation mark in front is not even run (it would crash or hang).
    """
    lines = pathlib.Path(__file__).with_name("not_yet.txt").read_text().splitlines()
    listed = {line.lstrip("!"): line.startswith("!") for line in lines if line and not line.startswith("#")}
    for item in items:
        crashes = listed.get(item.nodeid)
        if crashes is not None:
            item.add_marker(pytest.mark.xfail(reason="listed in tests/not_yet.txt", strict=True, run=not crashes))


@pytest.fixture(autouse=True)
def _fresh_state():
    """Every test that uses the package starts from the same random state and leaves gradients on."""
    torch = sys.modules.get("rushlight")  # some tests check the sources alone
    if not hasattr(torch, "manual_seed"):
        yield
        return
    torch.manual_seed(0)
    yield
    left_off = not torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    assert not left_off, "the test left gradients off"
