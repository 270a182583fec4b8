"""ImageFolder and DatasetFolder, CIFAR's files, FakeData."""

import hashlib
import http.server
import io
import os
import pickle
import tarfile
import threading

import numpy as np
import pytest
from PIL import Image

import rushlight as rl
from rushlight.utils import data
from rushlight.vision import datasets, transforms
from rushlight.vision.datasets.array_pickle import read_arrays

# ---- folders of images


@pytest.fixture
def pets(tmp_path):
    """Two cats, of which one lies deeper, a dog in grey, and what is no image."""
    for name in ("dog", "cat/tabby"):
        os.makedirs(tmp_path / name)
    Image.new("RGB", (4, 3), (255, 0, 0)).save(tmp_path / "cat" / "b.PNG")
    Image.new("RGB", (4, 3), (0, 255, 0)).save(tmp_path / "cat" / "tabby" / "a.bmp")
    Image.new("L", (4, 3), 7).save(tmp_path / "dog" / "c.png")
    (tmp_path / "dog" / "notes.txt").write_text("no image")
    (tmp_path / "readme.txt").write_text("no class")
    return tmp_path


def test_image_folder(pets):
    found = datasets.ImageFolder(pets, transforms.ToTensor(), lambda label: label + 10)
    assert found.classes == ["cat", "dog"] and found.class_to_idx == {"cat": 0, "dog": 1}
    assert [os.path.relpath(path, pets) for path, _ in found.samples] == ["cat/b.PNG", "cat/tabby/a.bmp", "dog/c.png"]
    assert found.targets == [0, 0, 1] and found.imgs is found.samples and len(found) == 3
    assert "Root location" in repr(found)
    images, labels = next(iter(data.DataLoader(found, batch_size=3)))
    assert images[:, :, 0, 0].mul(255).tolist() == [[255, 0, 0], [0, 255, 0], [7, 7, 7]] and labels.tolist() == [
        10,
        10,
        11,
    ]
    assert datasets.ImageFolder(pets)[2][0].mode == "RGB"


def test_dataset_folder(pets):
    found = datasets.DatasetFolder(str(pets), lambda path: open(path).read(), (".txt",), allow_empty=True)
    assert [found[i] for i in range(len(found))] == [("no image", 1)]
    by_name = datasets.DatasetFolder(pets, os.path.basename, is_valid_file=lambda path: True)
    assert [sample for sample, _ in by_name] == ["b.PNG", "a.bmp", "c.png", "notes.txt"]
    with pytest.raises(FileNotFoundError, match="the classes cat in(.|\n)*extensions are: .txt(.|\n)*allow_empty"):
        datasets.DatasetFolder(pets, str, (".txt",))
    with pytest.raises(ValueError, match="either extensions or is_valid_file"):
        datasets.DatasetFolder(pets, str)


def test_folders_that_will_not_do(tmp_path):
    with pytest.raises(FileNotFoundError, match="class folder(.|\n)*hint: files lie in a folder for each class"):
        datasets.ImageFolder(tmp_path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        datasets.ImageFolder(tmp_path / "nowhere")


def test_classes_of_ones_own(pets):
    class Dogs(datasets.ImageFolder):
        def find_classes(self, directory):
            return ["dog"], {"dog": 0}

    assert Dogs(pets).targets == [0]


# ---- CIFAR

PIXELS = np.random.default_rng(0).integers(0, 256, (6, 3072)).astype("uint8")


def entry(rows, labels):
    return {"batch_label": "b", "labels": labels, "data": PIXELS[rows], "filenames": ["x.png"] * len(labels)}


def dumped(obj, protocol):
    return pickle.dumps(obj, protocol)


def contents(protocol=2, labels="labels"):
    names = {
        "data_batch_1": entry([0, 1], [3, 1]),
        "data_batch_2": entry([2, 3], [0, 1]),
        "test_batch": entry([5], [2]),
    }
    names["batches.meta"] = {"num_cases_per_batch": 2, "label_names": ["plane", "car", "bird", "cat"], "num_vis": 3072}
    return {name: dumped(value, protocol) for name, value in names.items()}


def packed(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def cifar(files, archive=b"", mirrors=("http://127.0.0.1:9/",)):
    """CIFAR10 with the checksums of these files."""
    md5 = {name: hashlib.md5(content).hexdigest() for name, content in files.items()}

    class Small(datasets.CIFAR10):
        train_list = [(name, md5[name]) for name in ("data_batch_1", "data_batch_2")]
        test_list = [("test_batch", md5["test_batch"])]
        meta = {"filename": "batches.meta", "key": "label_names", "md5": md5["batches.meta"]}
        tgz_md5 = hashlib.md5(archive).hexdigest()

    Small.mirrors = mirrors
    return Small


def put(files, root):
    (root / "cifar-10-batches-py").mkdir()
    for name, content in files.items():
        (root / "cifar-10-batches-py" / name).write_bytes(content)


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_cifar(tmp_path, protocol):
    files = contents(protocol)
    put(files, tmp_path)
    train, test = cifar(files)(tmp_path), cifar(files)(tmp_path, train=False)
    expected = PIXELS.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    assert np.array_equal(train.data, expected[:4]) and train.targets == [3, 1, 0, 1] and len(test) == 1
    image, label = train[2]
    assert image.mode == "RGB" and np.array_equal(np.asarray(image), expected[2]) and label == 0
    assert train.classes == ["plane", "car", "bird", "cat"] and train.class_to_idx["bird"] == 2
    assert "Split: Test" in repr(test)


@pytest.mark.parametrize(
    "transform",
    [
        transforms.ToTensor(),
        transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5, 0.4, 0.3), (0.2, 0.2, 0.3))]),
        transforms.Compose([transforms.RandomHorizontalFlip(0), transforms.ToTensor()]),
    ],
)
def test_batches_of_cifar_equal_single_samples(tmp_path, transform):
    files = contents()
    put(files, tmp_path)
    train = cifar(files)(tmp_path, transform=transform)
    images, labels = next(iter(data.DataLoader(train, batch_size=4)))
    assert (images == rl.stack([transform(Image.fromarray(pixels)) for pixels in train.data])).all()
    assert labels.tolist() == train.targets and labels.dtype == rl.int64


def test_cifar_as_python_2_wrote_it(tmp_path):
    """Text and bytes are both its str, and NumPy's functions lie where they lay then."""
    content = PIXELS[:1].tobytes()
    parts = [
        b"\x80\x02}(U\x04dataq\x01cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R",
        b"(K\x01K\x01M\x00\x0c\x86cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb",
        b"\x89T" + len(content).to_bytes(4, "little") + content + b"tbU\x06labels]K\x07au.",
    ]
    (tmp_path / "batch").write_bytes(b"".join(parts))
    read = read_arrays(tmp_path / "batch")
    assert np.array_equal(read["data"], PIXELS[:1]) and read["labels"] == [7]


class Evil:
    def __reduce__(self):
        return os.system, ("true",)


@pytest.mark.parametrize(
    "content",
    [
        dumped({"data": Evil()}, 2),
        dumped(np.array([object()]), 2),
        dumped(np.zeros(2), 2)[:-9],
        dumped(PIXELS[:1], 2).replace(b"M\x00\x0c", b"M\x00\x0d"),
        b"",
        b"<html>",
    ],
)
def test_pickles_that_are_refused(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(RuntimeError, match="cannot be read(.|\n)*hint: download it again"):
        read_arrays(tmp_path / "file")


def test_cifar_that_is_missing_or_damaged(tmp_path):
    files = contents()
    with pytest.raises(RuntimeError, match="not found(.|\n)*hint: download=True"):
        cifar(files)(tmp_path)
    put(files, tmp_path)
    (tmp_path / "cifar-10-batches-py" / "data_batch_2").write_bytes(b"x")
    with pytest.raises(RuntimeError, match="corrupted(.|\n)*hint: delete it"):
        cifar(files)(tmp_path)


class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked += 1
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.content)))
        self.end_headers()
        self.wfile.write(self.server.content)

    def log_message(self, *args):
        pass


def test_cifar_is_downloaded(tmp_path):
    files = contents()
    archive = packed({**files, "readme.html": b"not needed"})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        server.content, server.asked = archive, 0
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            kind = cifar(files, archive, [f"http://127.0.0.1:{server.server_port}/"])
            assert len(kind(tmp_path, download=True)) == 4
            assert sorted(os.listdir(tmp_path / "cifar-10-batches-py")) == sorted(files)
            (tmp_path / "cifar-10-batches-py" / "test_batch").unlink()
            assert len(kind(tmp_path, train=False, download=True)) == 1  # from the archive, which is kept
            assert server.asked == 1
        finally:
            server.shutdown()
            thread.join()
    with pytest.raises(RuntimeError, match="could not download cifar-10-python.tar.gz"):
        cifar(files, b"", kind.mirrors)(tmp_path / "elsewhere", download=True)


def test_published_names():
    assert datasets.CIFAR100.base_folder == "cifar-100-python" and datasets.CIFAR100.meta["key"] == "fine_label_names"
    for kind in (datasets.CIFAR10, datasets.CIFAR100):
        digests = [kind.tgz_md5, kind.meta["md5"], *(digest for _, digest in [*kind.train_list, *kind.test_list])]
        assert all(len(digest) == 32 and int(digest, 16) for digest in digests) and len({*digests}) == len(digests)


# ---- noise


def test_fake_data():
    fake = datasets.FakeData(5, (3, 8, 6), num_classes=4, transform=transforms.ToTensor(), random_offset=1)
    before = rl.get_rng_state()
    images, labels = zip(*[fake[i] for i in range(5)], strict=True)
    assert rl.equal(rl.get_rng_state(), before)
    assert images[0].shape == (3, 8, 6) and all(0 <= label < 4 for label in labels)
    assert rl.equal(fake[3][0], images[3]) and not rl.equal(images[2], images[3])
    with pytest.raises(IndexError, match="5 images"):
        fake[5]
    assert len(list(fake)) == len(fake) == 5
