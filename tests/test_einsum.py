"""einsum with random subscripts, beside NumPy's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rushlight as rl

LETTERS = "ijkAB"


@st.composite
def calls(draw):
    """An equation and arrays for it: repeated subscripts, sizes that broadcast, ellipses, an output or none."""
    sizes = {c: draw(st.integers(0 if c == "k" else 1, 4)) for c in LETTERS}
    covered = draw(st.lists(st.integers(1, 3), max_size=2))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    parts, arrays = [], []
    for _ in range(draw(st.integers(1, 4))):
        letters = draw(st.lists(st.sampled_from(LETTERS), max_size=4))
        ones = [c for c in LETTERS if letters.count(c) == 1 and draw(st.integers(0, 4)) == 0]
        dims = [1 if c in ones else sizes[c] for c in letters]
        if draw(st.booleans()):
            at = draw(st.integers(0, len(letters)))
            own = covered[draw(st.integers(0, len(covered))) :]
            own = [1 if draw(st.integers(0, 4)) == 0 else n for n in own]
            letters, dims = [*letters[:at], "...", *letters[at:]], [*dims[:at], *own, *dims[at:]]
        parts.append("".join(letters))
        arrays.append(rng.standard_normal(dims))
    equation = ",".join(parts)
    if draw(st.booleans()):
        used = sorted({c for c in equation if c in LETTERS})
        output = draw(st.lists(st.sampled_from(used), unique=True)) if used else []
        output.insert(draw(st.integers(0, len(output))), "..." if "." in equation else "")
        equation += "->" + "".join(output)
    return equation, arrays


@given(calls())
@settings(max_examples=300, deadline=None)
def test_random_subscripts(call):
    equation, arrays = call
    tensors = [rl.tensor(a) for a in arrays]
    expected = np.einsum(equation, *arrays)
    result = rl.einsum(equation, tensors)
    assert result.shape == expected.shape
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-10, atol=1e-10)
    # The same in lists of subscripts.
    inputs, arrow, output = equation.partition("->")
    lists = [
        [LETTERS.index(c) if c != "." else ... for c in p.replace("...", ".")] for p in [*inputs.split(","), output]
    ]
    args = [x for pair in zip(tensors, lists, strict=False) for x in pair]
    order = "ABijk"  # capital letters come first where the output is left out
    args = [[a if a is ... else order.index(LETTERS[a]) for a in x] if isinstance(x, list) else x for x in args]
    if arrow:
        args.append([s if s is ... else order.index(LETTERS[s]) for s in lists[-1]])
    np.testing.assert_array_equal(rl.einsum(*args).numpy(), result.numpy())


def test_views():
    x = rl.arange(9.0).view(3, 3)
    rl.einsum("ii->i", x).zero_()
    assert x.tolist() == [[0, 1, 2], [3, 0, 5], [6, 7, 0]]
    assert rl.einsum("ij->ji", x).data_ptr() == x.data_ptr()


def test_ellipsis_left_out_of_the_output_is_summed_over():
    assert rl.einsum("...j->j", rl.ones(2, 4, 3)).tolist() == [8, 8, 8]


EQUATIONS = [
    "ij,jk->ik",
    "bij,bjk->kbi",
    "ij,kj,k->i",
    "iij,j",
    "a...,...a->...",
    "ij,ij->j",
    "i,j->ji",
    "ii->i",
    "ij->",
]
SHAPES = [[(2, 3), (3, 4)], [(2, 3, 4), (2, 4, 3)], [(2, 3), (4, 3), (4,)], [(2, 2, 3), (3,)], [(3, 1, 2), (4, 2, 3)]]
SHAPES += [[(1, 3), (4, 3)], [(2,), (3,)], [(3, 3)], [(2, 3)]]


@pytest.mark.parametrize("equation, shapes", list(zip(EQUATIONS, SHAPES, strict=True)), ids=EQUATIONS)
def test_gradients(equation, shapes):
    inputs = [rl.randn(s, dtype=rl.float64).requires_grad_() for s in shapes]
    function = lambda *tensors: rl.einsum(equation, *tensors)
    assert rl.autograd.gradcheck(function, inputs)
    assert rl.autograd.gradgradcheck(function, inputs)


A, B = rl.ones(2, 3), rl.ones(3, 4)
ERRORS = [
    (("ij", A, B), RuntimeError, "'ij' is for 1, got 2"),
    (("ij,jk,kl", A, B), RuntimeError, "'ij,jk,kl' is for 3, got 2"),
    (("ijk,jk", A, B), RuntimeError, r"\(3\) does not match the number of dimensions \(2\) of operand 0"),
    (("i,jk", A, B), RuntimeError, "hint: an ellipsis"),
    (("ij,ij", A, B), RuntimeError, r"'i' has size 3 in operand 1 with shape \(3, 4\)"),
    (("...,...", A, B), RuntimeError, "dimension -2 of the ellipsis has size 3"),
    (("ii", A), RuntimeError, r"'i' is repeated for operand 0 with shape \(2, 3\)"),
    (("ij,jk->il", A, B), RuntimeError, "output subscript 'l' does not appear"),
    (("ij,jk->ii", A, B), RuntimeError, "output subscript 'i' appears more than once"),
    (("i.j,jk", A, B), RuntimeError, "not part of an ellipsis"),
    (("......", A), RuntimeError, "already found"),
    (("1j,jk", A, B), RuntimeError, "invalid subscript '1'"),
    (("ij->ji->", A), RuntimeError, "invalid subscript '-'"),
    (("ij,jk", A, B.double()), RuntimeError, "dtypes differ"),
    (("ij", "text"), TypeError, "operand 0 must be a Tensor, not str"),
    ((3, A), TypeError, "must be a str"),
    ((A, B), TypeError, "list of subscripts"),
    (("ij",), ValueError, "at least one operand"),
    ((A,), ValueError, "at least one operand"),
    ((A, [0, 52]), ValueError, "valid range"),
    ((A, [..., 0, ...]), RuntimeError, "2 ellipses"),
]


@pytest.mark.parametrize("args, kind, message", ERRORS)
def test_errors(args, kind, message):
    with pytest.raises(kind, match=message):
        rl.einsum(*args)
