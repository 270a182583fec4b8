"""Which operations share their input's memory and which copy: by address, by storage, and by writing."""

import random

import numpy as np
import pytest

import rushlight as rl

# Of x, 2 by 3 and contiguous, and t, its transpose.
SHARE = {
    "a second name": lambda x, t: x,
    "view": lambda x, t: x.view(3, 2),
    "view_as": lambda x, t: x.view_as(rl.empty(6)),
    "view of other bits": lambda x, t: x.view(rl.int32),
    "reshape": lambda x, t: x.reshape(3, 2),
    "reshape of a transpose that allows it": lambda x, t: t.reshape(3, 2, 1),
    "flatten": lambda x, t: x.flatten(),
    "contiguous of contiguous": lambda x, t: x.contiguous(),
    "transpose": lambda x, t: x.transpose(0, 1),
    "t": lambda x, t: x.t(),
    "T": lambda x, t: x.T,
    "mT": lambda x, t: x.mT,
    "permute": lambda x, t: x.permute(1, 0),
    "movedim": lambda x, t: x.movedim(0, 1),
    "squeeze": lambda x, t: x.squeeze(),
    "unsqueeze": lambda x, t: x.unsqueeze(0),
    "expand": lambda x, t: x.expand(4, 2, 3),
    "indexing by number and slice": lambda x, t: x[0, 1:],
    "narrow": lambda x, t: x.narrow(1, 0, 2),
    "select": lambda x, t: x.select(0, 0),
    "split": lambda x, t: x.split(1)[0],
    "chunk": lambda x, t: x.chunk(2)[0],
    "unbind": lambda x, t: x.unbind()[0],
    "diagonal": lambda x, t: x.diagonal(),
    "unfold": lambda x, t: x.unfold(1, 2, 1),
    "as_strided": lambda x, t: x.as_strided((2,), (1,)),
    "detach": lambda x, t: x.detach(),
    "data": lambda x, t: x.data,
    "to the same": lambda x, t: x.to("cpu").float().cpu(),
    "in place": lambda x, t: x.add_(0),
    "by NumPy and back": lambda x, t: rl.from_numpy(x.numpy()),
}
COPY = {
    "clone": lambda x, t: x.clone(),
    "detach, clone": lambda x, t: x.detach().clone(),
    "out of place": lambda x, t: x + 0,
    "reshape that must": lambda x, t: t.reshape(6),
    "flatten that must": lambda x, t: t.flatten(),
    "contiguous of a transpose": lambda x, t: t.contiguous(),
    "another dtype": lambda x, t: x.double(),
    "to with copy": lambda x, t: x.to("cpu", copy=True),
    "indexing by a list": lambda x, t: x[[0, 1]],
    "indexing by a mask": lambda x, t: x[x > -1],
    "tensor": lambda x, t: rl.tensor(x.tolist()),
    "repeat": lambda x, t: x.repeat(2, 1),
    "stack": lambda x, t: rl.stack([x]),
    "cat": lambda x, t: rl.cat([x]),
    "roll": lambda x, t: x.roll(1),
    "flip": lambda x, t: x.flip(0),
}


@pytest.mark.parametrize("name", [*SHARE, *COPY])
def test_what_shares(name):
    x = rl.arange(6.0).view(2, 3)
    y = (SHARE | COPY)[name](x, x.t())
    shares = name in SHARE
    assert (y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()) is shares
    inside = x.data_ptr() <= y.data_ptr() < x.data_ptr() + x.untyped_storage().nbytes()
    assert inside is shares
    x.fill_(7)
    seen = y.view(rl.float32) if y.dtype == rl.int32 else y
    assert bool((seen == 7).all()) is shares
    versions = name in SHARE and name not in ("data", "by NumPy and back")
    assert (y._version == x._version) is versions


def test_what_shares_with_an_array():
    array = np.zeros(3, np.float32)
    for make, shares in [(rl.from_numpy, True), (rl.as_tensor, True), (rl.asarray, True), (rl.tensor, False)]:
        array[0] = 0
        x = make(array)
        x[0] = 5
        assert bool(array[0] == 5) is shares, make


def random_array(draw):
    """An array of random strides: dimensions in another order, with steps, from an offset."""
    shape = [draw.choice((1, 2, 3, 4)) for _ in range(draw.randint(1, 4))]
    array = np.arange(int(np.prod(shape)) * 2 ** len(shape) + 3, dtype=np.int64)
    steps = [draw.choice((1, 1, 2)) for _ in shape]
    wide = array[3:].reshape([2 * n for n in shape])
    cut = wide[tuple(slice(0, n * step, step) for n, step in zip(shape, steps, strict=True))]
    if draw.random() < 0.5:
        cut = np.ascontiguousarray(cut)
    order = list(range(len(shape)))
    draw.shuffle(order)
    return cut.transpose(order) if draw.random() < 0.5 else cut


def regrouped(draw, shape):
    """Another shape of as many elements."""
    left = int(np.prod(shape))
    sizes = []
    while left > 1 and len(sizes) < 4:
        n = draw.choice([d for d in range(1, left + 1) if left % d == 0])
        sizes.append(n)
        left //= n
    return (*sizes, left)


def test_view_and_reshape_copy_where_numpy_does():
    """`view` is refused, and `reshape` copies, exactly where NumPy's reshape has to copy."""
    draw, seen = random.Random(0), {True: 0, False: 0}
    for _ in range(600):
        array = random_array(draw)
        shape = regrouped(draw, array.shape)
        expected = array.reshape(shape)
        x = rl.from_numpy(array)
        shares = bool(np.shares_memory(array, expected))
        seen[shares] += 1
        y = x.reshape(shape)
        assert np.array_equal(y.numpy(), expected)
        assert (y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()) is shares, (array.strides, shape)
        if shares:
            assert np.array_equal(x.view(shape).numpy(), expected)
        else:
            with pytest.raises(RuntimeError, match="reshape"):
                x.view(shape)
        assert x.is_contiguous() == array.flags.c_contiguous
        assert x.contiguous().is_contiguous()
        assert (x.contiguous() is x) == x.is_contiguous()
    assert min(seen.values()) > 50


def test_clone_passes_gradients_on_and_detach_ends_them():
    x = rl.ones(2, requires_grad=True)
    copy, apart, alone = x.clone(), x.detach(), x.detach().clone()
    assert copy.requires_grad and copy.grad_fn.name() == "CloneBackward0"
    assert not apart.requires_grad and not alone.requires_grad and apart.is_leaf and alone.is_leaf
    (copy * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]
    alone[0] = 7
    assert x.tolist() == [1, 1]
    apart[0] = 7
    assert x.tolist() == [7, 1]


def test_a_freed_half_cannot_hold_a_whole():
    """Free pieces that do not touch are not joined; those that do are, so that a large tensor finds room again."""
    rl.empty_cache()
    start = rl.memory_stats()["reserved"]
    blocks = [rl.empty(2**20) for _ in range(16)]
    filled = rl.memory_stats()["reserved"]
    if filled == start:
        pytest.skip("the allocator passes through")  # under sanitizers
    del blocks[::2]
    held = rl.memory_stats()
    large = rl.empty(2**22)
    assert rl.memory_stats()["reserved"] >= held["reserved"] + 2**24
    held = rl.memory_stats()
    del large, blocks
    whole = rl.empty(2**23)
    assert rl.memory_stats()["reserved"] == held["reserved"]
    del whole
    rl.empty_cache()
    assert rl.memory_stats()["reserved"] <= start + 2**22
