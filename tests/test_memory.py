"""The memory behind tensors, as Python sees it."""

import os

import pytest

import rushlight as rl


def test_memory_shared_with_a_fork():
    whole = rl.arange(4.0)
    view = whole[1:]
    assert not whole.is_shared()
    assert whole.share_memory_() is whole and view.is_shared()
    assert whole.tolist() == [0, 1, 2, 3]
    pid = os.fork()
    if pid == 0:
        view.fill_(7)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    assert whole.tolist() == [0, 7, 7, 7]


def test_shared_memory_stays_where_it_is():
    x = rl.zeros(2).share_memory_()
    where = x.data_ptr()
    assert x.share_memory_().data_ptr() == where
    with pytest.raises(RuntimeError, match="resize"):
        x.resize_(100)
    assert rl.zeros(0).share_memory_().is_shared()
