"""What a user's mistake is told: the whole message, and that the mend it names does mend the program.

A row's snippet ends in its mistake. Lines that the message names carry a mark, as ``# recorded``; ``{recorded}`` in
the message stands for that line, ``{any}`` for what differs from machine to machine. ``mend`` replaces one text in the
snippet by another, as the hint says; the program then runs, and ``check`` holds. tests/oracle/test_errors.py runs the
same snippets under PyTorch.
"""

from __future__ import annotations

import builtins
import linecache
import re
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

import rushlight


class Row(NamedTuple):
    snippet: str
    error: str
    message: str
    mend: tuple[str, str]
    check: str = "True"
    notes: tuple[str, ...] = ()
    pytorch: str | None = None  # PyTorch's exception, where it differs


R = "RuntimeError"
NET = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 64, 3), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(9216, 10))
    def forward(self, x):
        return self.head(self.features(x))
"""
EXP = "x = torch.ones(2, requires_grad=True)\ny = x.exp()  # recorded\n"
MODIFIED = (
    "a tensor that ExpBackward0 needs for its gradient has been modified in place: float32 (2,), its own output, is at "
    "version 1, was saved at version 0\n  recorded at {recorded}\n  hint: use the out-of-place form of the operation "
    "that modified it, or clone() the tensor before modifying it"
)
FREED = (
    "cannot run backward through ExpBackward0 a second time: the first freed its saved tensors\n  recorded at "
    "{recorded}\n  hint: pass retain_graph=True to the first backward() or grad() if you need a second; or compute the "
    "loss anew"
)
SEVERAL_VIEWS = (
    "mul_: this view would be modified in place, and it is one of several that one operation returned (split, chunk, "
    "unbind): the gradients of the others would be wrong\n  hint: use the out-of-place form, or clone() the view "
    "before anything is written"
)
VIEW_OF_LEAF = (
    ": this is a view of a leaf that requires grad, and a leaf cannot be modified in place\n  hint: write under "
    "no_grad(), or use the out-of-place form"
)
NO_CUDA = (
    'no CUDA device: this build of Rushlight computes on the CPU\n  hint: use device="cpu", or "cuda" if '
    'rushlight.cuda.is_available() else "cpu"'
)
PICK = '"cuda" if torch.cuda.is_available() else "cpu"'

ROWS = {
    # Broadcasting
    "normalizing an image": Row(
        "r = torch.ones(3, 256, 256) - torch.tensor([0.25, 0.5, 1.0])",
        R,
        "cannot broadcast (3, 256, 256) with (3,): dimension -1 is 256 and 3.\n  hint: to line the 3 up with dimension "
        "0, use b.view(3, 1, 1) or b[:, None, None].",
        ("1.0])", "1.0]).view(3, 1, 1)"),
        "r[:, 0, 7].tolist() == [0.75, 0.5, 0.0]",
    ),
    "a vector for rows": Row(
        "r = torch.zeros(2, 3) + torch.tensor([1.0, 2.0])",
        R,
        "cannot broadcast (2, 3) with (2,): dimension -1 is 3 and 2.\n  hint: to line the 2 up with dimension 0, use "
        "b.view(2, 1) or b[:, None].",
        ("2.0])", "2.0])[:, None]"),
        "r.tolist() == [[1, 1, 1], [2, 2, 2]]",
    ),
    "a larger result in place": Row(
        "r = torch.ones(3).add_(torch.ones(2, 3))",
        R,
        "add: the result has shape (2, 3), the tensor to write it to (3,)\n  hint: use the out-of-place form",
        ("add_", "add"),
        "r.shape == (2, 3)",
    ),
    "expand": Row(
        "r = torch.ones(2, 3).expand(4, 3)",
        R,
        "expand: dimension 0 of (2, 3) cannot become 4\n  hint: only dimensions of size 1 expand",
        ("ones(2, 3)", "ones(1, 3)"),
        "r.shape == (4, 3)",
    ),
    # In place
    "a leaf": Row(
        "w = torch.ones(2, requires_grad=True)\nw.add_(1)",
        R,
        "add_: a leaf that requires grad cannot be modified in place\n  hint: write under no_grad() (as optimizers "
        "do), or use the out-of-place form",
        ("w.add_(1)", "with torch.no_grad():\n    w.add_(1)"),
        "w.tolist() == [2, 2] and w.is_leaf",
    ),
    "an element of a leaf": Row(
        "w = torch.ones(2, requires_grad=True)\nw[0] = 5",
        R,
        "fill_" + VIEW_OF_LEAF,
        ("w[0] = 5", "with torch.no_grad():\n    w[0] = 5"),
        "w.tolist() == [5, 1]",
    ),
    "a view of a leaf": Row(
        "w = torch.ones(2, requires_grad=True)\nr = w[:1]\nr = r.mul_(2)",
        R,
        "mul_" + VIEW_OF_LEAF,
        ("mul_", "mul"),
        "r.tolist() == [2]",
    ),
    "a saved output": Row(
        EXP + "y[0] = 5  # written\ny.sum().backward()",
        R,
        MODIFIED,
        ("y[0] = 5", "y = y.clone(); y[0] = 5"),
        "x.grad[0] == 0 and torch.allclose(x.grad[1], x[1].exp())",
    ),
    "a saved output through detach()": Row(
        EXP + "y.detach().zero_()  # written\ny.sum().backward()",
        R,
        MODIFIED,
        ("detach().zero_()", "detach().clone().zero_()"),
        "torch.allclose(x.grad, x.exp())",
    ),
    "a saved output under no_grad()": Row(
        EXP + "with torch.no_grad():\n    y.mul_(2)  # written\ny.sum().backward()",
        R,
        MODIFIED,
        ("y.mul_(2)", "z = y.mul(2)"),
        "torch.allclose(x.grad, x.exp())",
    ),
    "one of several views": Row(
        "x = torch.ones(4, requires_grad=True)\na, b = x.exp().split(2)\na.mul_(2)",
        R,
        SEVERAL_VIEWS,
        ("a.mul_(2)", "a = a.mul(2)"),
        "a.grad_fn is not None",
    ),
    "one of several rows": Row(
        "x = torch.ones(2, 2, requires_grad=True)\na, b = x.exp().unbind()\na.mul_(2)",
        R,
        SEVERAL_VIEWS,
        ("a.mul_(2)", "a = a.clone(); a.mul_(2)"),
        "a.grad_fn is not None",
    ),
    "a view made under no_grad()": Row(
        "x = torch.ones(4, requires_grad=True) * 1\nwith torch.no_grad():\n    v = x[:2]\nv.mul_(2)",
        R,
        "mul_: this view would be modified in place with grad mode on, but it was made under no_grad(): its history is "
        "unknown\n  hint: make the view with grad mode on, or write under no_grad()",
        ("v.mul_(2)", "with torch.no_grad():\n    v.mul_(2)"),
        "x.tolist() == [2, 2, 1, 1]",
    ),
    "memory that elements share": Row(
        "x = torch.ones(1).expand(3)\nx.add_(1)",
        R,
        "add: several elements of the tensor written to share one memory location (it was made by expand())\n  hint: "
        "clone() it first",
        ("expand(3)", "expand(3).clone()"),
        "x.tolist() == [2, 2, 2]",
    ),
    "floats into integers": Row(
        "r = torch.tensor([1, 2]).div_(2)",
        R,
        "div: the result is float32 and cannot be written into a tensor of int64\n  hint: use the out-of-place form, "
        "or convert first",
        ("div_", "div"),
        "r.tolist() == [0.5, 1]",
    ),
    # Autograd
    "a second backward": Row(
        EXP + "z = y.sum()\nz.backward()\nz.backward()",
        R,
        FREED,
        ("z.backward()\nz", "z.backward(retain_graph=True)\nz"),
        "torch.allclose(x.grad, 2 * x.exp())",
    ),
    "a second loss of the same graph": Row(
        EXP + "a = y.sum()\nb = y.mean()\na.backward()\nb.backward()",
        R,
        FREED,
        ("a.backward()", "a.backward(retain_graph=True)"),
        "torch.allclose(x.grad, 1.5 * x.exp())",
    ),
    "grad of a result": Row(
        "x = torch.ones(2, requires_grad=True)\ny = x * 2\ny.sum().backward()\nr = y.grad",
        "UserWarning",
        "the .grad of a tensor that is not a leaf is not kept: backward() writes leaves only.\n  hint: call "
        ".retain_grad() on it before backward() to have it kept",
        ("y.sum()", "y.retain_grad()\ny.sum()"),
        "r.tolist() == [1, 1]",
    ),
    "backward of several elements": Row(
        "x = torch.ones(2, requires_grad=True)\n(x * 2).backward()",
        R,
        "backward: a gradient can be made up only for a scalar, but tensor 0 is float32 (2,)\n  hint: reduce it with "
        "sum() or mean(), or pass gradient= of the same shape",
        (".backward()", ".backward(gradient=torch.ones(2))"),
        "x.grad.tolist() == [2, 2]",
    ),
    "backward of what needs no gradient": Row(
        "w = torch.ones(())\n(w * 2).backward()",
        R,
        "backward: tensor 0 (float32 ()) does not require grad and has no grad_fn\n  hint: make an input require "
        "gradients with requires_grad=True, and compute the loss with grad mode on",
        ("ones(())", "ones((), requires_grad=True)"),
        "w.grad == 2",
    ),
    "an unused input": Row(
        "x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)\n"
        "r = torch.autograd.grad(x.sum(), [x, y])",
        R,
        "grad: input 1 was not used in computing the outputs\n  hint: pass allow_unused=True to get None for it, or "
        "materialize_grads=True to get zeros",
        ("[x, y]", "[x, y], allow_unused=True"),
        "r[0].tolist() == [1, 1] and r[1] is None",
    ),
    "an input that needs no gradient": Row(
        "x, y = torch.ones(2, requires_grad=True), torch.ones(2)\nr = torch.autograd.grad((x * y).sum(), y)",
        R,
        "grad: input 0 (float32 (2,)) does not require grad\n  hint: call requires_grad_() on it before computing",
        ("torch.ones(2)\n", "torch.ones(2).requires_grad_()\n"),
        "r[0].tolist() == [1, 1]",
    ),
    "integers that require grad": Row(
        "r = torch.tensor([1, 2]).requires_grad_()",
        R,
        "only tensors of floating point dtype can require gradients, not int64\n  hint: convert with .float(), or "
        "leave requires_grad off for indices and counts",
        ("])", "]).float()"),
        "r.requires_grad",
    ),
    "requires_grad of a result": Row(
        "x = torch.ones(2, requires_grad=True)\nr = (x * 2).requires_grad_(False)",
        R,
        "requires_grad can be changed on leaves only; this tensor is the result of MulBackward0\n  hint: use detach() "
        "to get a tensor without history",
        ("requires_grad_(False)", "detach()"),
        "not r.requires_grad",
    ),
    # Arithmetic and shapes
    "the mean of integers": Row(
        "r = torch.tensor([1, 2]).mean()",
        R,
        "mean: the mean of int64 is not an integer in general\n  hint: give dtype=rushlight.float32, or convert with "
        ".float() first",
        ("mean()", "mean(dtype=torch.float32)"),
        "r == 1.5",
    ),
    "the deviation of integers": Row(
        "r = torch.tensor([1, 3]).std(correction=0)",
        R,
        "std is for floating point only, not int64\n  hint: convert with .float() first",
        ("std", "float().std"),
        "r == 1",
    ),
    "softmax of integers": Row(
        "r = torch.tensor([1, 1]).softmax(0)",
        "NotImplementedError",
        "softmax is not implemented for int64\n  hint: convert with .float(), or pass dtype=rushlight.float32",
        ("softmax(0)", "softmax(0, dtype=torch.float32)"),
        "r.tolist() == [0.5, 0.5]",
    ),
    "item of several": Row(
        "r = torch.ones(2).item()",
        R,
        "a tensor of shape (2,) has 2 elements; only one can become a number\n  hint: pick one by indexing, reduce "
        "with sum() or mean(), or take all with tolist()",
        ("item", "sum().item"),
        "r == 2",
    ),
    "numpy of what requires grad": Row(
        "r = torch.ones(2, requires_grad=True).numpy()",
        R,
        "numpy() on a tensor that requires grad would lose its history\n  hint: use tensor.detach().numpy()",
        (".numpy()", ".detach().numpy()"),
        "r.tolist() == [1, 1]",
    ),
    "numpy of bfloat16": Row(
        "r = torch.ones(2, dtype=torch.bfloat16).numpy()",
        "TypeError",
        "NumPy has no bfloat16\n  hint: convert first: tensor.float().numpy()",
        (".numpy", ".float().numpy"),
        "r.tolist() == [1, 1]",
    ),
    "numpy of the meta device": Row(
        'r = torch.ones(2, device="meta").numpy()',
        "TypeError",
        "a tensor on the meta device has no values for a NumPy array",
        ('"meta"', '"cpu"'),
        "r.tolist() == [1, 1]",
    ),
    "view of a transposed": Row(
        "r = torch.arange(6).reshape(2, 3).t().view(6)",
        R,
        "view: a tensor of shape (3, 2) and strides (1, 3) cannot be seen as (6,) without copying\n  hint: use "
        ".reshape(...), which copies where it must",
        ("view", "reshape"),
        "r.tolist() == [0, 3, 1, 4, 2, 5]",
    ),
    "reshape to another number": Row(
        "r = torch.ones(2, 3).reshape(4)",
        R,
        "shape '(4,)' is invalid for input of size 6",
        ("(4)", "(6)"),
    ),
    "two unknown sizes": Row(
        "r = torch.ones(2, 3).reshape(-1, -1)",
        R,
        "only one dimension can be inferred (-1), got shape (-1, -1)",
        ("-1, -1", "-1, 2"),
        "r.shape == (3, 2)",
    ),
    "a product of shapes that do not fit": Row(
        "a = b = torch.ones(2, 3)\nr = a @ b",
        R,
        "mm: shapes (2, 3) and (2, 3) do not fit: 3 columns of the first meet 2 rows of the second\n  hint: multiply "
        "by b.t(), or did you mean a * b?",
        ("a @ b", "a @ b.t()"),
        "r.tolist() == [[3, 3], [3, 3]]",
    ),
    "mm with a vector": Row(
        "r = torch.mm(torch.ones(2, 3), torch.ones(3))",
        R,
        "mm: mat2 must have 2 dimensions, got shape (3,)\n  hint: matmul() takes any number of dimensions",
        ("mm", "matmul"),
        "r.tolist() == [3, 3]",
    ),
    "batches of different lengths": Row(
        "r = torch.bmm(torch.ones(1, 3, 4), torch.ones(3, 4, 5))",
        R,
        "bmm: the batches have different lengths: (1, 3, 4) and (3, 4, 5)\n  hint: matmul() broadcasts batches",
        ("bmm", "matmul"),
        "r.shape == (3, 3, 5)",
    ),
    "the truth of several": Row(
        "r = bool(torch.ones(2) == 1)",
        R,
        "the truth of a tensor of 2 elements (shape (2,)) is ambiguous\n  hint: use .any() or .all(), or compare one "
        "element",
        ("torch.ones(2) == 1", "(torch.ones(2) == 1).all()"),
        "r is True",
    ),
    "an index out of range": Row(
        "r = torch.ones(3, 4)[0, 4]",
        "IndexError",
        "index 4 is out of bounds for dimension 0 of size 4",
        ("0, 4", "0, 3"),
    ),
    "a tensor's index out of range": Row(
        "r = torch.ones(3)[torch.tensor([0, 3])]",
        "IndexError",
        "index 3 is out of bounds for dimension 0 with size 3",
        ("0, 3", "0, 2"),
    ),
    "too many indices": Row(
        "r = torch.ones(3)[0, 0]",
        "IndexError",
        "too many indices: 2 for a tensor of 1 dimension (shape (3,))",
        ("0, 0", "0"),
    ),
    "a float for an index": Row(
        "r = torch.arange(3)[1.0]",
        "IndexError",
        "a float cannot be an index\n  hint: an index is made of integers, slices, None, ..., bools, and integer or "
        "bool tensors, lists or arrays",
        ("1.0", "1"),
        "r == 1",
    ),
    "a backward slice": Row(
        "r = torch.arange(3)[::-1]",
        "ValueError",
        "slice step must be positive, got -1\n  hint: use flip() to reverse a dimension",
        ("[::-1]", ".flip(0)"),
        "r.tolist() == [2, 1, 0]",
    ),
    "cat of different shapes": Row(
        "r = torch.cat([torch.ones(2, 3), torch.ones(2, 4)])",
        R,
        "cat: sizes must agree except in dimension 0, but (2, 3) and (2, 4) differ in dimension 1",
        ("4)]", "4)], dim=1"),
        "r.shape == (2, 7)",
    ),
    "stack of different shapes": Row(
        "r = torch.stack([torch.ones(2), torch.ones(3)])",
        R,
        "stack: all tensors must have one shape, but tensor 0 has (2,) and tensor 1 has (3,)",
        ("ones(3)", "ones(2)"),
    ),
    "cat of nothing": Row(
        "r = torch.cat([])",
        "ValueError",
        "cat: expected a non-empty list of tensors",
        ("[]", "[torch.ones(2)]"),
    ),
    "a dimension that is not there": Row(
        "r = torch.ones(3).sum(dim=1)",
        "IndexError",
        "dimension out of range: 1 for a tensor of 1 dimension (expected -1 to 0)",
        ("dim=1", "dim=0"),
        "r == 3",
    ),
    "a size that is a float": Row(
        "r = torch.zeros(4 / 2)",
        "TypeError",
        "a size must be an integer, not a float",
        ("/", "//"),
        "r.shape == (2,)",
    ),
    "a ragged list": Row(
        "r = torch.tensor([[1, 2], [3]])",
        "ValueError",
        "the nested list is ragged: at depth 1 a list has 1 elements where others have 2",
        ("[3]", "[3, 4]"),
    ),
    "integers by zero": Row(
        "r = torch.arange(3) // 0",
        R,
        "floor_divide: ZeroDivisionError: an integer divided by zero\n  hint: convert to floating point, where the "
        "result is infinite or NaN, or replace the zeros",
        ("arange(3)", "arange(3).float()"),
        "r[0].isnan() and r[1].isinf()",
    ),
    "minus a mask": Row(
        "r = -torch.tensor([True])",
        R,
        "neg is not defined for bool tensors\n  hint: use logical_not() (~) to invert a mask",
        ("-", "~"),
        "r.tolist() == [False]",
    ),
    # Devices and dtypes
    "to the GPU": Row(
        'r = torch.ones(2).to("cuda")', R, NO_CUDA, ('"cuda"', PICK), "r.device.type == 'cpu'", pytorch="AssertionError"
    ),
    "on the GPU": Row('r = torch.ones(2, device="cuda")', R, NO_CUDA, ('"cuda"', PICK), pytorch="AssertionError"),
    "cuda()": Row("r = torch.ones(2).cuda()", R, NO_CUDA, ("cuda()", 'to("cpu")'), pytorch="AssertionError"),
    "a model to a GPU": Row(
        'r = nn.Linear(2, 2).to("cuda:1")', R, NO_CUDA, ('"cuda:1"', PICK), pytorch="AssertionError"
    ),
    "an unknown device": Row(
        'r = torch.ones(2, device="disk")',
        R,
        "unknown device 'disk'\n  hint: use 'cpu' or 'meta'",
        ("disk", "cpu"),
    ),
    "more memory than there is": Row(
        "r = torch.empty(1 << 50)",
        "OutOfMemoryError",
        "out of memory: asked for 4.0 PiB; {any} in use, {any} cached, {any} free in the system\n  hint: that is more "
        "than this machine has; is one of the sizes wrong?",
        ("1 << 50", "1 << 5"),
        "r.numel() == 32",
        pytorch=R,
    ),
    "a product of two dtypes": Row(
        "x = torch.ones(2, 2)\nr = x @ torch.ones(2, 2, dtype=torch.float64)",
        R,
        "mm: the dtypes differ: float32 (2, 2) and float64 (2, 2)\n  hint: convert one of them, for example with "
        ".to(x.dtype)",
        ("float64)", "float64).to(x.dtype)"),
        "r.dtype == torch.float32",
    ),
    "a layer given float64": Row(
        "model = nn.Linear(2, 2)\nr = model(torch.from_numpy(np.ones((2, 2))))",
        R,
        "linear: the dtypes differ: float64 (2, 2) and float32 (2, 2)\n  hint: convert one of them, for example with "
        ".to(x.dtype)",
        ("(2, 2))))", "(2, 2))).to(model.weight.dtype))"),
        notes=("in model (Linear)",),
    ),
    "a convolution given float64": Row(
        "model = nn.Conv2d(1, 1, 3)\nr = model(torch.ones(1, 1, 4, 4, dtype=torch.float64))",
        R,
        "conv2d: input is float64, weight float32, bias float32: they must be the same\n  hint: convert the input with "
        ".to(weight.dtype), or the model with .to(dtype)",
        ("nn.Conv2d(1, 1, 3)", "nn.Conv2d(1, 1, 3).to(torch.float64)"),
        "r.dtype == torch.float64",
        notes=("in model (Conv2d)",),
    ),
    "an index of floats": Row(
        "r = torch.ones(3).gather(0, torch.tensor([0.0]))",
        R,
        "gather: the index must be int64 or int32, not float32",
        ("0.0]", "0]"),
    ),
    "a mask of floats": Row(
        "r = torch.ones(3).masked_fill(torch.ones(3), 0)",
        R,
        "masked_fill: the mask must be bool, not float32\n  hint: use .bool()",
        ("ones(3), 0", "ones(3).bool(), 0"),
        "r.tolist() == [0, 0, 0]",
    ),
    "a condition of floats": Row(
        "condition = torch.ones(2)\nr = torch.where(condition, 1, 0)",
        R,
        "where: condition must be bool, got float32 (2,)\n  hint: compare it with something, for example condition "
        "!= 0",
        ("where(condition", "where(condition != 0"),
        "r.tolist() == [1, 1]",
    ),
    # The network
    "9216 against 1600": Row(
        NET + "r = Net()(torch.ones(2, 1, 12, 12))",
        R,
        "linear: input (2, 1600) does not fit weight (10, 9216): the last dimension is 1600, the weight takes 9216\n"
        "  hint: make the layer with in_features=1600, or reshape the input",
        ("Linear(9216", "Linear(1600"),
        "r.shape == (2, 10)",
        notes=("in Net.head[1] (Linear)",),
    ),
    "channels of a convolution": Row(
        "r = nn.Sequential(nn.Conv2d(3, 8, 3))(torch.ones(1, 1, 8, 8))",
        R,
        "conv2d: input (1, 1, 8, 8) has 1 channels; weight (8, 3, 3, 3) takes 3",
        ("ones(1, 1", "ones(1, 3"),
        notes=("in Sequential[0] (Conv2d)",),
    ),
    "an image without channels": Row(
        "x = torch.ones(8, 8)\nr = nn.Conv2d(1, 8, 3)(x)",
        R,
        "conv2d: input must be (N, C, H, W) or (C, H, W), got shape (8, 8)\n  hint: add the missing dimensions, as "
        "x[None, None]",
        ("(x)", "(x[None, None])"),
        "r.shape == (1, 8, 6, 6)",
        notes=("in Conv2d (Conv2d)",),
    ),
    "a kernel larger than the image": Row(
        "r = nn.Conv2d(1, 8, 5)(torch.ones(1, 1, 3, 3))",
        R,
        "conv2d: the kernel reaches over (5, 5), more than the padded input's (3, 3)",
        ("8, 5", "8, 5, padding=1"),
        "r.shape == (1, 8, 1, 1)",
        notes=("in Conv2d (Conv2d)",),
    ),
    "channels of a normalization": Row(
        "r = nn.BatchNorm2d(3)(torch.ones(2, 4, 5, 5))",
        R,
        "batch_norm: weight of shape (3,) does not fit 4 channels: it needs one value for each",
        ("2d(3)", "2d(4)"),
        notes=("in BatchNorm2d (BatchNorm2d)",),
    ),
    "dimensions of a normalization": Row(
        "r = nn.BatchNorm2d(3)(torch.ones(2, 3))",
        "ValueError",
        "expected 4D input (got 2D input)",
        ("2d", "1d"),
        notes=("in BatchNorm2d (BatchNorm2d)",),
    ),
    "a batch of one": Row(
        "model = nn.BatchNorm1d(3)\nr = model(torch.ones(1, 3))",
        "ValueError",
        "training takes more than one value per channel for its statistics, but the input is (1, 3)\n  hint: use a "
        "larger batch, or call eval() on the model",
        ("r = model", "r = model.eval()"),
        notes=("in model (BatchNorm1d)",),
    ),
    "a word beyond the table": Row(
        "r = nn.Embedding(10, 3)(torch.tensor([10]))",
        "IndexError",
        "embedding: index 10 is out of range for a table of 10 rows (position 0 of the indices)",
        ("(10, 3)", "(11, 3)"),
        notes=("in Embedding (Embedding)",),
    ),
    "words that are floats": Row(
        "r = nn.Embedding(10, 3)(torch.tensor([1.0]))",
        R,
        "embedding: indices must be int64 or int32, not float32\n  hint: convert with .long()",
        ("])", "]).long()"),
        "r.shape == (1, 3)",
        notes=("in Embedding (Embedding)",),
    ),
    "a class beyond the last": Row(
        "r = F.cross_entropy(torch.ones(2, 3), torch.tensor([0, 3]))",
        "IndexError",
        "cross_entropy_loss: target 3 is out of bounds for 3 classes (position 1 of the target)\n  hint: classes are "
        "numbered from 0; ignore_index marks what does not count",
        ("3]))", "3]), ignore_index=3)"),
        "abs(r - np.log(3)) < 1e-6",
    ),
    "classes that are floats": Row(
        "r = F.cross_entropy(torch.ones(2, 3), torch.tensor([0.0, 1.0]))",
        R,
        "cross_entropy_loss: target must hold class numbers, int64, not float32\n  hint: convert with .long(); or give "
        "probabilities of the input's shape to cross_entropy()",
        ("]))", "]).long())"),
        "abs(r - np.log(3)) < 1e-6",
    ),
    "a target too many": Row(
        "r = F.cross_entropy(torch.ones(2, 3), torch.tensor([0, 1, 2]))",
        "ValueError",
        "cross_entropy_loss: input (2, 3) needs a target of shape (2,), got (3,)",
        ("ones(2", "ones(3"),
    ),
    "a target with a dimension for classes": Row(
        "target = torch.tensor([[0], [1]])\nr = F.nll_loss(torch.ones(2, 3), target)",
        R,
        "nll_loss: input (2, 3) needs a target of shape (2,), got (2, 1)\n  hint: class numbers have no dimension for "
        "the classes: target.argmax(1) or target.squeeze(1)",
        ("3), target", "3), target.squeeze(1)"),
        "r == -1",
    ),
    "scores for probabilities": Row(
        "r = F.binary_cross_entropy(torch.tensor([2.0]), torch.tensor([1.0]))",
        R,
        "binary_cross_entropy: the input must hold probabilities between 0 and 1, but holds 2 to 2\n  hint: pass "
        "scores through sigmoid() first, or better give them to binary_cross_entropy_with_logits()",
        ("cross_entropy(", "cross_entropy_with_logits("),
        "abs(r - np.log1p(np.exp(-2))) < 1e-6",
    ),
    "parameters of another shape": Row(
        "nn.Linear(2, 3).load_state_dict(nn.Linear(2, 4).state_dict())",
        R,
        "Linear cannot load this state_dict:\n\tweight: the checkpoint has shape (4, 2), the module (3, 2)\n\tbias: "
        "the checkpoint has shape (4,), the module (3,)",
        ("Linear(2, 3)", "Linear(2, 4)"),
    ),
    "other parameters": Row(
        'r = nn.Linear(2, 3).load_state_dict({"weight": torch.ones(3, 2), "extra": torch.ones(1)})',
        R,
        'Linear cannot load this state_dict:\n\tmissing: "bias"\n\tunknown: "extra"\n  hint: load_state_dict(..., '
        "strict=False) loads what matches and returns the rest",
        ("})", "}, strict=False)"),
        "r.missing_keys == ['bias'] and r.unexpected_keys == ['extra']",
    ),
    "a model without forward": Row(
        "class Model(nn.Module):\n    pass\nr = Model()(1)",
        "NotImplementedError",
        "Model does not say what a call computes\n  hint: define forward(self, ...) in class Model",
        ("pass", "def forward(self, x): return x"),
        "r == 1",
        notes=("in Model (Model)",),
    ),
    "an optimizer of nothing": Row(
        "model = nn.Linear(1, 1)\np = model.parameters()\nlist(p)\ntorch.optim.SGD(p, lr=0.1)",
        "ValueError",
        "optimizer got an empty parameter list\n  hint: model.parameters() can be walked once only; or the model has "
        "registered none",
        ("SGD(p", "SGD(model.parameters()"),
    ),
    "an optimizer of a result": Row(
        "p = nn.Linear(1, 1).weight * 2\ntorch.optim.SGD([p], lr=1)",
        "ValueError",
        "parameter 0 (torch.float32, shape (1, 1)) is not a leaf: it is computed from others\n  hint: pass those; or "
        "cut it off from them with p.detach().requires_grad_()",
        ("[p]", "[p.detach().requires_grad_()]"),
    ),
    "samples of different shapes": Row(
        "r = list(torch.utils.data.DataLoader([torch.ones(2), torch.ones(3)], batch_size=2))",
        R,
        "stack expects each tensor to be equal size, but sample 0 of the batch has shape (2,) and sample 1 has (3,)\n"
        "  hint: bring samples to one shape in a transform, or pad them in a collate_fn",
        ("batch_size=2", "batch_size=2, collate_fn=lambda b: nn.utils.rnn.pad_sequence(b)"),
        "r[0].shape == (3, 2)",
    ),
    "samples of different shapes, in a worker": Row(
        "r = list(torch.utils.data.DataLoader([torch.ones(2), torch.ones(3)], batch_size=2, num_workers=1))",
        R,
        "RuntimeError in DataLoader worker process 0:\nTraceback (most recent call last):\n{any}\nRuntimeError: stack "
        "expects each tensor to be equal size, but sample 0 of the batch has shape (2,) and sample 1 has (3,)\n  hint: "
        "bring samples to one shape in a transform, or pad them in a collate_fn",
        ("ones(3)", "ones(2)"),
        "r[0].shape == (2, 2)",
    ),
    "pinned memory": Row(
        "r = list(torch.utils.data.DataLoader([1], pin_memory=True))",
        "UserWarning",
        "pin_memory=True has no effect: there is no accelerator",
        ("pin_memory=True", "pin_memory=torch.cuda.is_available()"),
    ),
}


def run(lib: Any, source: str, name: str) -> dict[str, Any]:
    """The program's variables; a warning ends it like an error."""
    file = f"<{name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope = {"torch": lib, "nn": lib.nn, "F": lib.nn.functional, "np": np, "__name__": "snippet"}
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        exec(compile(source, file, "exec"), scope)
    return scope


def exception(lib: Any, name: str) -> type[BaseException]:
    return getattr(builtins, name, None) or getattr(lib, name)


def mended(row: Row) -> str:
    old, new = row.mend
    assert old in row.snippet
    return row.snippet.replace(old, new, 1)


def pattern(row: Row, name: str) -> str:
    """The message as a regular expression, with the places that it names."""
    text = re.escape(row.message).replace(r"\{any\}", "[^\0]+")
    for number, line in enumerate(row.snippet.splitlines(), 1):
        if "  # " in line:
            text = text.replace(rf"\{{{line.split('  # ')[1]}\}}", re.escape(f"<{name}>:{number}: {line.strip()}"))
    return text


@pytest.fixture(autouse=True)
def nothing_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a process is told once, each test is told again."""
    monkeypatch.setattr(rushlight.utils.data.dataloader._BaseDataLoaderIter, "_warned", False)


@pytest.mark.parametrize("name", ROWS)
def test_message(name: str) -> None:
    row = ROWS[name]
    with pytest.raises(exception(rushlight, row.error)) as caught:
        run(rushlight, row.snippet, name)
    assert re.fullmatch(pattern(row, name), str(caught.value)), str(caught.value)
    assert tuple(getattr(caught.value, "__notes__", ())) == row.notes


@pytest.mark.parametrize("name", ROWS)
def test_mend(name: str) -> None:
    row = ROWS[name]
    scope = run(rushlight, mended(row), name)
    assert eval(row.check, scope)
