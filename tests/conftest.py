import os

import pytest


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """As many processes as cores for the suite; none for a test named alone, so that print and pdb work."""
    named = config.option.file_or_dir
    if named and all("::" in name for name in named):
        return 0
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
