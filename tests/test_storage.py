"""The bytes behind tensors: parts of them, files as memory, and tensors over them."""

import pytest

import rushlight as rl


def test_a_slice_shares_memory():
    x = rl.arange(4, dtype=rl.int16)
    part = x.untyped_storage()[2:6]
    assert part.nbytes() == 4 and part.tolist() == [1, 0, 2, 0] and part.untyped() is part
    rl.asarray(part, dtype=rl.int16).fill_(7)
    assert x.tolist() == [0, 7, 7, 3]
    assert x.untyped_storage()[0:0].nbytes() == 0 and x.untyped_storage()[-2:].tolist() == [3, 0]
    with pytest.raises(RuntimeError, match="step 1, got 2"):
        x.untyped_storage()[::2]


def test_tensors_over_bytes():
    storage = rl.tensor([1, 2], dtype=rl.int32).untyped_storage()
    assert rl.asarray(storage).tolist() == [1, 0, 0, 0, 2, 0, 0, 0]
    assert rl.asarray(storage, dtype=rl.int32).tolist() == [1, 2]
    assert rl.asarray(storage[1:5], dtype=rl.int32).tolist() == [2 << 24]  # not aligned: copied


def test_a_file_as_memory(tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(bytes([1, 2, 3, 4]))
    private = rl.UntypedStorage.from_file(path)
    rl.asarray(private).fill_(9)
    assert private.tolist() == [9] * 4 and path.read_bytes() == bytes([1, 2, 3, 4])
    shared = rl.UntypedStorage.from_file(str(path), shared=True, nbytes=6)
    rl.asarray(shared)[2:].fill_(9)
    assert path.read_bytes() == bytes([1, 2, 9, 9, 9, 9])
    assert rl.UntypedStorage.from_file(path, False, 2).tolist() == [1, 2]
    assert rl.asarray(rl.UntypedStorage.from_file(tmp_path / "new", True, 2)).tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="has 6 bytes, not 7"):
        rl.UntypedStorage.from_file(path, nbytes=7)
    with pytest.raises(RuntimeError, match="No such file"):
        rl.UntypedStorage.from_file(tmp_path / "none")
    (tmp_path / "empty").write_bytes(b"")
    assert rl.UntypedStorage.from_file(tmp_path / "empty").nbytes() == 0
