"""Warnings name the line of the user's that caused them."""

import warnings

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn, optim
from rushlight.nn import functional as F

X = rl.ones(2, 3)
READ_ONLY = np.zeros(2)
READ_ONLY.flags.writeable = False


def parameter():
    return rl.ones(1, requires_grad=True)


CAUSES = {
    "function": lambda: F.softmax(X),
    "function by way of another": lambda: F.softmin(X),
    "module": lambda: nn.Softmax()(X),
    "modules in modules": lambda: nn.Sequential(nn.Sequential(nn.Softmax()))(X),
    "loss": lambda: F.mse_loss(X, rl.ones(3)),
    "loss of older flags": lambda: F.nll_loss(X, rl.tensor([0, 1]), reduce=False),
    "module of older flags": lambda: nn.MSELoss(reduce=False),
    "module of older flags, two bases up": lambda: nn.CrossEntropyLoss(reduce=False),
    "initialization": lambda: nn.Linear(0, 2),
    "optimizer": lambda: optim.Adam([p := parameter(), p]),
    "group": lambda: optim.SGD([parameter()]).add_param_group({"params": [p := parameter(), p]}),
    "schedule": lambda: optim.lr_scheduler.StepLR(optim.SGD([parameter()]), 1).get_lr(),
    "state": lambda: nn.Linear(1, 1, device="meta").load_state_dict(nn.Linear(1, 1).state_dict()),
    "engine, by way of the package": lambda: rl.frombuffer(b"abcd", dtype=rl.uint8),
    "engine, by way of a module": lambda: nn.Identity()(rl.from_numpy(READ_ONLY)),
    "engine at once": lambda: (parameter() * 2).grad,
    "index": lambda: X[rl.ones(2, dtype=rl.uint8)],
    "out": lambda: rl.hstack([X, X], out=rl.ones(2)),
    "gradcheck": lambda: rl.autograd.gradcheck(lambda x: x * 0 + x, X.clone().requires_grad_(), atol=1, rtol=1),
}


@pytest.mark.parametrize("cause", CAUSES.values(), ids=CAUSES)
def test_the_line(cause):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cause()
    assert caught
    assert {(w.filename, w.lineno) for w in caught} == {(__file__, cause.__code__.co_firstlineno)}
