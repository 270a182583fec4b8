"""Image datasets and their download."""

import gzip
import hashlib
import http.server
import os
import pathlib
import re
import struct
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image

import rushlight as rl
from rushlight.utils import data
from rushlight.vision import datasets, transforms
from rushlight.vision.datasets.download import _only_one, download

NORMALIZED = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])


def idx(array, code=8):
    array = np.asarray(array)
    head = bytes([0, 0, code, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return head + array.astype(array.dtype.newbyteorder(">")).tobytes()


IMAGES = np.arange(3 * 28 * 28).reshape(3, 28, 28).astype("uint8")
LABELS = np.array([7, 0, 9], "uint8")
FILES = {
    "train-images-idx3-ubyte": idx(IMAGES),
    "train-labels-idx1-ubyte": idx(LABELS),
    "t10k-images-idx3-ubyte": idx(IMAGES[:2]),
    "t10k-labels-idx1-ubyte": idx(LABELS[:2]),
}
PACKED = {name + ".gz": gzip.compress(content, mtime=0) for name, content in FILES.items()}


# ---- Digits


@pytest.mark.parametrize("train, size", [(True, 8000), (False, 2000)])
def test_digits(train, size):
    digits = datasets.Digits(train=train)
    assert len(digits) == size and digits.data.shape == (size, 28, 28) and digits.data.dtype == rl.uint8
    counts = np.bincount(digits.targets.numpy(), minlength=10)
    assert len(counts) == 10 and counts.min() > size / 15
    image, label = digits[5]
    assert isinstance(image, Image.Image) and image.mode == "L" and image.size == (28, 28) and type(label) is int
    assert np.array_equal(np.asarray(image), digits.data[5].numpy()) and digits.classes[label].startswith(str(label))
    assert "Number of datapoints" in repr(digits)
    folder = pathlib.Path(digits.root)
    assert "Yann LeCun" in (folder / "README.md").read_text()


def test_train_and_test_digits_differ():
    train = {bytes(image) for image in datasets.Digits().data.numpy().reshape(-1, 784)}
    assert not train & {bytes(image) for image in datasets.Digits(train=False).data.numpy().reshape(-1, 784)}


@pytest.mark.parametrize(
    "transform",
    [
        NORMALIZED,
        transforms.ToTensor(),
        transforms.Compose([NORMALIZED]),
        transforms.Compose([transforms.ToTensor(), lambda x: x * 2]),
        transforms.Compose([transforms.RandomHorizontalFlip(0), transforms.ToTensor()]),
    ],
)
@pytest.mark.parametrize("workers", [0, 2])
def test_batches_equal_single_samples(transform, workers):
    """However a batch is read and transformed, the numbers are those of sample after sample through PIL."""
    digits = datasets.Digits(train=False, transform=transform)
    plain = datasets.Digits(train=False)
    expected = rl.stack([transform(plain[i][0]) for i in range(40)])
    for source in (digits, data.Subset(digits, range(40))):
        images, labels = next(iter(data.DataLoader(source, batch_size=40, num_workers=workers)))
        assert images.dtype == rl.float32 and (images == expected).all()
        assert labels.dtype == rl.int64 and (labels == plain.targets[:40]).all()
    assert (digits[3][0] == expected[3]).all()


def test_redefinitions_are_not_bypassed():
    class Negative(datasets.Digits):
        def __getitem__(self, i):
            image, label = super().__getitem__(i)
            return -image, label

    class Halved(transforms.Normalize):
        def forward(self, image):
            return super().forward(image) / 2

    class Inverted(transforms.ToTensor):
        def __call__(self, image):
            return 1 - super().__call__(image)

    base = datasets.Digits(train=False, transform=transforms.ToTensor())[0][0]
    for dataset, expected in (
        (Negative(train=False, transform=transforms.ToTensor()), -base),
        (datasets.Digits(train=False, transform=Halved(0, 1)), None),
        (
            datasets.Digits(train=False, transform=transforms.Compose([transforms.ToTensor(), Halved([0.0], [1.0])])),
            base / 2,
        ),
        (datasets.Digits(train=False, transform=Inverted()), 1 - base),
    ):
        if expected is not None:
            assert (next(iter(data.DataLoader(dataset)))[0][0] == expected).all()
    targets = datasets.Digits(train=False, transform=transforms.ToTensor(), target_transform=lambda y: y + 100)
    assert next(iter(data.DataLoader(targets)))[1].item() == targets[0][1] >= 100


def test_samples_are_collated_with_a_hint():
    with pytest.raises(TypeError, match="PIL.Image.Image(.|\n)*ToTensor"):
        next(iter(data.DataLoader(datasets.Digits(train=False))))


# ---- files that are there


@pytest.mark.parametrize("folder", ["MNIST/raw", "raw", ""])
@pytest.mark.parametrize("files", [FILES, PACKED])
def test_a_folder_with_the_files_is_used(tmp_path, folder, files, monkeypatch):
    monkeypatch.setattr(datasets.MNIST, "mirrors", ["http://127.0.0.1:9/"])  # nothing answers there
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (tmp_path / folder / name).write_bytes(content)
    for ask in (False, True):
        mnist = datasets.MNIST(tmp_path, download=ask)
        assert (mnist.data.numpy() == IMAGES).all() and mnist.targets.tolist() == [7, 0, 9]
    assert len(datasets.MNIST(str(tmp_path), train=False)) == 2


def test_missing_files(tmp_path):
    with pytest.raises(RuntimeError, match="not found: train-images(.|\n)*hint: download=True"):
        datasets.MNIST(tmp_path)
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(PACKED["train-images-idx3-ubyte.gz"])
    with pytest.raises(RuntimeError, match="not found: train-labels-idx1-ubyte.gz is"):
        datasets.MNIST(tmp_path)
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(FILES["t10k-labels-idx1-ubyte"])
    with pytest.raises(RuntimeError, match="do not hold images and their labels"):
        datasets.MNIST(tmp_path)


@pytest.mark.parametrize(
    "array, code, dtype",
    [
        (np.array([-1, 3], "int8"), 9, rl.int8),
        (np.array([[-300, 3]], "int16"), 11, rl.int16),
        (np.array([1 << 20], "int32"), 12, rl.int32),
        (np.array([1.5, -2], "float32"), 13, rl.float32),
        (np.array([1.5, -2], "float64"), 14, rl.float64),
        (np.zeros((0, 3), "uint8"), 8, rl.uint8),
    ],
)
def test_read_idx(tmp_path, array, code, dtype):
    (tmp_path / "file").write_bytes(idx(array, code))
    tensor = datasets.read_idx(tmp_path / "file")
    assert tensor.dtype == dtype and tuple(tensor.shape) == array.shape and (tensor.numpy() == array).all()


@pytest.mark.parametrize(
    "content, words",
    [
        (b"", "not an IDX file"),
        (b"<html>", "not an IDX file"),
        (FILES["train-images-idx3-ubyte"][:-1], "is damaged: shape"),
        (FILES["train-images-idx3-ubyte"] + b"x", "is damaged: shape"),
        (b"\0\0\x08\xff", "is damaged"),
        (PACKED["train-images-idx3-ubyte.gz"][:-9], "is damaged"),
        (b"\x1f\x8bnonsense", "is damaged"),
    ],
)
def test_read_idx_of_damaged_files(tmp_path, content, words):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(RuntimeError, match=words):
        datasets.read_idx(tmp_path / "file")


# ---- download


class Server(http.server.BaseHTTPRequestHandler):
    """/good serves files with ranges, /plain without; /missing has none; /bad damages them; /cut breaks off."""

    def do_GET(self):
        _, mirror, name = self.path.split("/")
        self.server.requests.append((mirror, name, self.headers.get("Range")))
        content = PACKED.get(name)
        if mirror == "missing" or content is None:
            self.send_error(404)
            return
        if mirror == "bad":
            content = content[:-1] + bytes([content[-1] ^ 1])
        start = 0
        if (wanted := self.headers.get("Range")) and mirror not in ("plain", "bad"):
            start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1])
            if start >= len(content):
                self.send_error(416)
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        body = content[start:]
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if mirror == "cut" else body)

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as running:
        running.requests = []
        running.url = f"http://127.0.0.1:{running.server_port}"
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def mnist(server, monkeypatch):
    class MNIST(datasets.MNIST):
        resources = [(name, hashlib.md5(content).hexdigest()) for name, content in PACKED.items()]

    def using(*mirrors):
        MNIST.mirrors = [mirror if "//" in mirror else f"{server.url}/{mirror}/" for mirror in mirrors]
        return MNIST

    return using


NOWHERE = "http://127.0.0.1:9/"


@pytest.mark.parametrize(
    "mirrors",
    [
        ("good",),
        ("plain",),
        (NOWHERE, "missing", "good"),
        ("bad", "good"),
        ("cut", "good"),
        ("cut", "plain"),
        ("bad", "cut", "cut", "good"),
    ],
    ids=" ".join,
)
def test_download(mnist, mirrors, tmp_path):
    made = mnist(*mirrors)(tmp_path, download=True)
    assert (made.data.numpy() == IMAGES).all()
    assert sorted(os.listdir(tmp_path / "MNIST" / "raw")) == sorted(PACKED)


def test_download_is_resumed(mnist, server, tmp_path):
    name = "train-images-idx3-ubyte.gz"
    with pytest.raises(RuntimeError, match="broke off after"):
        mnist("cut")(tmp_path, download=True)
    part = tmp_path / "MNIST" / "raw" / (name + ".part")
    have = part.stat().st_size
    assert 0 < have < len(PACKED[name])
    server.requests.clear()
    mnist("good")(tmp_path, download=True)
    assert server.requests[0] == ("good", name, f"bytes={have}-")
    assert not part.exists()


@pytest.mark.parametrize("left", [b"another file", PACKED["train-images-idx3-ubyte.gz"], b"x" * 10_000])
@pytest.mark.parametrize("mirror", ["good", "plain"])
def test_what_an_earlier_try_left(mnist, tmp_path, left, mirror):
    """Rubbish, the whole file, more than the file."""
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    (raw / "train-images-idx3-ubyte.gz.part").write_bytes(left)
    assert len(mnist(mirror)(tmp_path, download=True)) == 3


def test_every_mirror_is_heard(mnist, tmp_path):
    with pytest.raises(RuntimeError) as caught:
        mnist(NOWHERE, "missing", "bad", "cut")(tmp_path, download=True)
    text = str(caught.value)
    for words in ("Connection refused", "HTTP 404", "its checksum is", "broke off after", "hint:"):
        assert words in text
    assert len(re.findall("http://", text)) == 4


def test_sha256_and_processes_at_once(server, tmp_path):
    name, content = next(iter(PACKED.items()))
    code = (
        "import sys; from rushlight.vision.datasets.download import download;"
        f"download(['{server.url}/good/{name}'], sys.argv[1], '{hashlib.sha256(content).hexdigest()}')"
    )
    runs = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / name)]) for _ in range(3)]
    assert [run.wait() for run in runs] == [0, 0, 0]
    assert (tmp_path / name).read_bytes() == content
    assert len(server.requests) == 1


def test_the_lock_of_a_download_is_where_others_look(tmp_path):
    """Who waited for a lock file that its holder then removed would hold a file that nobody else opens."""
    fcntl = pytest.importorskip("fcntl")
    path = tmp_path / "file.lock"
    with open(path, "w") as first, ThreadPoolExecutor(1) as waiting:
        fcntl.flock(first, fcntl.LOCK_EX)
        inside, leave = threading.Event(), threading.Event()

        def second():
            with _only_one(str(path)):
                inside.set()
                leave.wait(10)

        ended = waiting.submit(second)
        assert not inside.wait(0.2)
        path.unlink()
        fcntl.flock(first, fcntl.LOCK_UN)
        try:
            assert inside.wait(10)
            with open(path) as third, pytest.raises(BlockingIOError):
                fcntl.flock(third, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            leave.set()
        ended.result()
    assert not path.exists()


def test_published_checksums_are_listed():
    for kind in (datasets.MNIST, datasets.FashionMNIST):
        assert [name for name, _ in kind.resources] == list(PACKED)
        assert all(re.fullmatch("[0-9a-f]{32}", digest) for _, digest in kind.resources)
        assert all(mirror.endswith("/") for mirror in kind.mirrors)
    assert callable(download)
