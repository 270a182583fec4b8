"""Windows against scipy.signal's."""

import numpy as np
import pytest
import scipy.signal

import rushlight as rl

KINDS = {
    "bartlett": ("bartlett", {}),
    "blackman": ("blackman", {}),
    "hamming": ("hamming", {}),
    "hamming of its own": (("general_hamming", 0.7), {"alpha": 0.7, "beta": 0.3}),
    "hann": ("hann", {}),
    "kaiser": (("kaiser", 12.0), {}),
    "kaiser wide": (("kaiser", 2.5), {"beta": 2.5}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("periodic", [True, False])
def test_windows(kind, periodic):
    reference, options = KINDS[kind]
    for length in (1, 2, 7, 64):
        got = getattr(rl, f"{kind.split()[0]}_window")(length, periodic, dtype=rl.float64, **options)
        want = scipy.signal.get_window(reference, length, fftbins=periodic)
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-12, atol=1e-15)


def test_options():
    assert rl.hann_window(0).shape == (0,) and rl.hann_window(3).dtype == rl.float32
    assert rl.hann_window(3, requires_grad=True).is_leaf and rl.hann_window(3, device="meta").is_meta
    with pytest.raises(RuntimeError, match="negative"):
        rl.kaiser_window(-1)
    with pytest.raises(RuntimeError, match="floating point numbers, not torch.int64"):
        rl.hamming_window(3, dtype=rl.int64)
