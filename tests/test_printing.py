"""Tensors print as PyTorch prints them; tests/oracle/test_printing.py checks that these are PyTorch's texts."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch

CASES: dict[str, str] = {
    "torch.tensor(1)": "tensor(1)",
    "torch.tensor(1.5)": "tensor(1.5000)",
    "torch.tensor(True)": "tensor(True)",
    "torch.tensor([])": "tensor([])",
    "torch.empty(0, 3)": "tensor([], size=(0, 3))",
    "torch.tensor([], dtype=torch.int64)": "tensor([], dtype=torch.int64)",
    "torch.tensor([1, 2, 3])": "tensor([1, 2, 3])",
    "torch.tensor([1, 2, 3], dtype=torch.int32)": "tensor([1, 2, 3], dtype=torch.int32)",
    "torch.tensor([True, False])": "tensor([ True, False])",
    "torch.tensor([1.0, 2.0])": "tensor([1., 2.])",
    "torch.tensor([1.0, 2.5])": "tensor([1.0000, 2.5000])",
    "torch.tensor([1.0, 2.0], dtype=torch.float64)": "tensor([1., 2.], dtype=torch.float64)",
    "torch.tensor([1, 2], dtype=torch.uint8)": "tensor([1, 2], dtype=torch.uint8)",
    "torch.tensor([0.5, 1.5], dtype=torch.float16)": "tensor([0.5000, 1.5000], dtype=torch.float16)",
    "torch.tensor([0.5, 1.5], dtype=torch.bfloat16)": "tensor([0.5000, 1.5000], dtype=torch.bfloat16)",
    "torch.tensor([[1, 20], [300, 4]])": """\
tensor([[  1,  20],
        [300,   4]])""",
    "torch.tensor([[1.0, -2.0], [0.001, 1000.0]])": """\
tensor([[ 1.0000e+00, -2.0000e+00],
        [ 1.0000e-03,  1.0000e+03]])""",
    "torch.tensor([1e10, 1.0])": "tensor([1.0000e+10, 1.0000e+00])",
    "torch.tensor([1e-5, 1.0])": "tensor([1.0000e-05, 1.0000e+00])",
    "torch.tensor([1e8, 1.0])": "tensor([1.0000e+08, 1.0000e+00])",
    "torch.tensor([1e7, 1e8])": "tensor([ 10000000., 100000000.])",
    "torch.tensor([100000.0, 1.0])": "tensor([1.0000e+05, 1.0000e+00])",
    "torch.tensor([100000.5, 1.0])": "tensor([1.0000e+05, 1.0000e+00])",
    "torch.tensor([float('nan'), float('inf'), -float('inf'), 1.0])": "tensor([nan, inf, -inf, 1.])",
    "torch.tensor([float('nan'), float('inf'), 1.5])": "tensor([   nan,    inf, 1.5000])",
    "torch.tensor([float('nan')])": "tensor([nan])",
    "torch.tensor([1.23456789])": "tensor([1.2346])",
    "torch.tensor([12345.678, 0.1])": "tensor([1.2346e+04, 1.0000e-01])",
    "torch.tensor([-1, 10, -100])": "tensor([  -1,   10, -100])",
    "torch.tensor([-0.0, 0.0])": "tensor([-0., 0.])",
    "torch.tensor([1e-40, 1.0])": "tensor([9.9999e-41, 1.0000e+00])",
    "torch.tensor([3.4e38])": "tensor([3.4000e+38])",
    "torch.tensor([0.1 + 0.2], dtype=torch.float64)": "tensor([0.3000], dtype=torch.float64)",
    "torch.zeros(2, 2, 2)": """\
tensor([[[0., 0.],
         [0., 0.]],

        [[0., 0.],
         [0., 0.]]])""",
    "torch.arange(24).view(2, 3, 4)": """\
tensor([[[ 0,  1,  2,  3],
         [ 4,  5,  6,  7],
         [ 8,  9, 10, 11]],

        [[12, 13, 14, 15],
         [16, 17, 18, 19],
         [20, 21, 22, 23]]])""",
    "torch.arange(40.0)": """\
tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,
        14., 15., 16., 17., 18., 19., 20., 21., 22., 23., 24., 25., 26., 27.,
        28., 29., 30., 31., 32., 33., 34., 35., 36., 37., 38., 39.])""",
    "torch.arange(30) * 1000": """\
tensor([    0,  1000,  2000,  3000,  4000,  5000,  6000,  7000,  8000,  9000,
        10000, 11000, 12000, 13000, 14000, 15000, 16000, 17000, 18000, 19000,
        20000, 21000, 22000, 23000, 24000, 25000, 26000, 27000, 28000, 29000])""",
    "torch.arange(1001)": "tensor([   0,    1,    2,  ...,  998,  999, 1000])",
    "torch.arange(2000.0).view(50, 40)": """\
tensor([[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 3.7000e+01, 3.8000e+01,
         3.9000e+01],
        [4.0000e+01, 4.1000e+01, 4.2000e+01,  ..., 7.7000e+01, 7.8000e+01,
         7.9000e+01],
        [8.0000e+01, 8.1000e+01, 8.2000e+01,  ..., 1.1700e+02, 1.1800e+02,
         1.1900e+02],
        ...,
        [1.8800e+03, 1.8810e+03, 1.8820e+03,  ..., 1.9170e+03, 1.9180e+03,
         1.9190e+03],
        [1.9200e+03, 1.9210e+03, 1.9220e+03,  ..., 1.9570e+03, 1.9580e+03,
         1.9590e+03],
        [1.9600e+03, 1.9610e+03, 1.9620e+03,  ..., 1.9970e+03, 1.9980e+03,
         1.9990e+03]])""",
    "torch.zeros(3, 1000, dtype=torch.int32)": """\
tensor([[0, 0, 0,  ..., 0, 0, 0],
        [0, 0, 0,  ..., 0, 0, 0],
        [0, 0, 0,  ..., 0, 0, 0]], dtype=torch.int32)""",
    "torch.zeros(20, 20, 20).bool()": """\
tensor([[[False, False, False,  ..., False, False, False],
         [False, False, False,  ..., False, False, False],
         [False, False, False,  ..., False, False, False],
         ...,
         [False, False, False,  ..., False, False, False],
         [False, False, False,  ..., False, False, False],
         [False, False, False,  ..., False, False, False]],

        [[False, False, False,  ..., False, False, False],
         [False, False, False,  ..., False, False, False],
         [False, False, False,  ..., False, False, False],
         ...,
         [False, False, False,  ..., False, False, False],
         [False, False, False,  ..., False, False, False],
         [False, False, False,  ..., False, False, False]],

        [[False, False, False,  ..., False, False, False],
         [False, False, False,  ..., False, False, False],
         [False, False, False,  ..., False, False, False],
         ...,
         [False, False, False,  ..., False, False, False],
         [False, False, False,  ..., False, False, False],
         [False, False, False,  ..., False, False, False]],

        ...,

        [[False, False, False,  ..., False, False, False],
         [False, False, False,  ..., False, False, False],
         [False, False, False,  ..., False, False, False],
         ...,
         [False, False, False,  ..., False, False, False],
         [False, False, False,  ..., False, False, False],
         [False, False, False,  ..., False, False, False]],

        [[False, False, False,  ..., False, False, False],
         [False, False, False,  ..., False, False, False],
         [False, False, False,  ..., False, False, False],
         ...,
         [False, False, False,  ..., False, False, False],
         [False, False, False,  ..., False, False, False],
         [False, False, False,  ..., False, False, False]],

        [[False, False, False,  ..., False, False, False],
         [False, False, False,  ..., False, False, False],
         [False, False, False,  ..., False, False, False],
         ...,
         [False, False, False,  ..., False, False, False],
         [False, False, False,  ..., False, False, False],
         [False, False, False,  ..., False, False, False]]])""",
    "torch.ones(2, 0, 3)": "tensor([], size=(2, 0, 3))",
    "torch.ones(1).expand(3)": "tensor([1., 1., 1.])",
    "torch.ones(2, 2).t()": """\
tensor([[1., 1.],
        [1., 1.]])""",
    "torch.ones(1, requires_grad=True)": "tensor([1.], requires_grad=True)",
    "torch.ones(2, requires_grad=True) * 2": "tensor([2., 2.], grad_fn=<MulBackward0>)",
    "torch.ones(1, requires_grad=True).double()": "tensor([1.], dtype=torch.float64, grad_fn=<ToCopyBackward0>)",
    "torch.tensor(1.0, requires_grad=True).exp()": "tensor(2.7183, grad_fn=<ExpBackward0>)",
    "torch.ones(2, 2, requires_grad=True).view(4)": "tensor([1., 1., 1., 1.], grad_fn=<ViewBackward0>)",
    "torch.ones(2, requires_grad=True)[0]": "tensor(1., grad_fn=<SelectBackward0>)",
    "torch.ones(2, requires_grad=True).unbind()[1]": "tensor(1., grad_fn=<UnbindBackward0>)",
    "torch.arange(40.0).requires_grad_().exp().log()": """\
tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,
        14., 15., 16., 17., 18., 19., 20., 21., 22., 23., 24., 25., 26., 27.,
        28., 29., 30., 31., 32., 33., 34., 35., 36., 37., 38., 39.],
       grad_fn=<LogBackward0>)""",
    "torch.empty(2, 3, device='meta')": "tensor(..., device='meta', size=(2, 3))",
    "torch.empty(2, device='meta', dtype=torch.int64)": "tensor(..., device='meta', size=(2,), dtype=torch.int64)",
    "torch.nn.Parameter(torch.ones(2))": """\
Parameter containing:
tensor([1., 1.], requires_grad=True)""",
    "torch.nn.Parameter(torch.tensor(1.5), requires_grad=False)": """\
Parameter containing:
tensor(1.5000)""",
    "torch.ones(2).shape": "torch.Size([2])",
    "torch.Size([])": "torch.Size([])",
    "torch.Size([1])": "torch.Size([1])",
    "torch.float32": "torch.float32",
    "torch.bool": "torch.bool",
    "torch.device('cpu')": "device(type='cpu')",
    "torch.device('meta')": "device(type='meta')",
    "torch.strided": "torch.strided",
    "torch.contiguous_format": "torch.contiguous_format",
    "torch.ones(2, 3).sort()": """\
torch.return_types.sort(
values=tensor([[1., 1., 1.],
        [1., 1., 1.]]),
indices=tensor([[0, 1, 2],
        [0, 1, 2]]))""",
    "torch.tensor([3.0, 1.0]).max(0)": """\
torch.return_types.max(
values=tensor(3.),
indices=tensor(0))""",
    "torch.tensor([3.0, 1.0]).topk(1)": """\
torch.return_types.topk(
values=tensor([3.]),
indices=tensor([0]))""",
    "torch.ones(2).grad": "None",
}


@pytest.mark.parametrize("source", CASES)
def test_repr(source: str) -> None:
    assert repr(eval(source)) == CASES[source]


def test_str_and_format() -> None:
    x = torch.tensor([1.0, 2.5])
    assert str(x) == repr(x) == f"{x}" == "tensor([1.0000, 2.5000])"
    assert f"{torch.tensor(3.14159):.2f}" == "3.14" and f"{torch.tensor(3)}" == "3"
    with pytest.raises(TypeError):
        f"{x:.2f}"


def test_print_options() -> None:
    x = torch.tensor([1.23456789, 1000.0, 1e-3])
    try:
        torch.set_printoptions(precision=2)
        assert repr(x) == "tensor([1.23e+00, 1.00e+03, 1.00e-03])"
        torch.set_printoptions(precision=2, sci_mode=False)
        assert repr(x) == "tensor([   1.23, 1000.00,    0.00])"
        torch.set_printoptions(profile="default")
        torch.set_printoptions(threshold=2, edgeitems=1)
        assert repr(torch.arange(5)) == "tensor([0,  ..., 4])"
        torch.set_printoptions(profile="default")
        torch.set_printoptions(linewidth=20)
        assert repr(torch.arange(8)) == "tensor([0, 1, 2, 3,\n        4, 5, 6, 7])"
    finally:
        torch.set_printoptions(profile="default")
    assert repr(torch.arange(3)) == "tensor([0, 1, 2])"


def test_printing_records_nothing_and_changes_nothing() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    version = y._version
    repr(y), str(x)
    assert y._version == version and torch.is_grad_enabled()
    with torch.no_grad():
        assert repr(x * 2) == "tensor([2., 2., 2.])"
    with torch.inference_mode():
        assert repr(torch.ones(1) * 2) == "tensor([2.])"


def test_printing_does_not_read_outside() -> None:
    base = np.arange(12.0)
    x = torch.from_numpy(base)[3:9:2]
    assert repr(x) == "tensor([3., 5., 7.], dtype=torch.float64)"
    assert repr(torch.from_numpy(base.reshape(3, 4)).t()[:, ::2]).count("\n") == 3
