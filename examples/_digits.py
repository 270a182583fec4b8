"""The handwritten digits that come with Rushlight, read without it, so that the programs run on PyTorch too."""

import gzip
import importlib.util
import math
import pathlib

import torch

BUNDLED = "vision/datasets/digits"


def load(train=True, folder=None):
    """Images, (N, 1, 28, 28) between 0 and 1, and labels: the bundled ones, or those of a folder with MNIST's files."""
    folder = pathlib.Path(folder) if folder else _bundled()
    kind = "train" if train else "t10k"
    images = _read_idx(folder / f"{kind}-images-idx3-ubyte.gz")
    labels = _read_idx(folder / f"{kind}-labels-idx1-ubyte.gz")
    return images.unsqueeze(1) / 255, labels.long()


def normalized(images):
    """With the mean and the standard deviation of MNIST taken out."""
    return (images - 0.1307) / 0.3081


def _bundled():
    checkout = pathlib.Path(__file__).resolve().parent.parent / "src" / "rushlight" / BUNDLED
    if checkout.is_dir():
        return checkout
    package = importlib.util.find_spec("rushlight")  # finds it, does not import it
    if package is None:
        raise SystemExit("the digits come with Rushlight, which is not installed; name a folder with MNIST's files")
    return pathlib.Path(package.submodule_search_locations[0]) / BUNDLED


def _read_idx(path):
    """The format of MNIST's authors: two zeros, type (8: bytes), dimensions, sizes of 4 bytes each, content."""
    content = bytearray(gzip.decompress(path.read_bytes()))
    start = 4 + 4 * content[3]
    shape = [int.from_bytes(content[i : i + 4], "big") for i in range(4, start, 4)]
    return torch.frombuffer(content, dtype=torch.uint8, offset=start, count=math.prod(shape)).view(shape)
