"""A C++ program builds against the installed library and computes with it."""

import gzip
import itertools
import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import rushlight as rl
import rushlight.utils
from rushlight.utils.data import DataLoader

EXAMPLE = pathlib.Path(__file__).resolve().parent.parent / "examples" / "cpp"
PREFIX = pathlib.Path(rushlight.utils.cmake_prefix_path)

needs_compiler = pytest.mark.skipif(not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="no C++ compiler")


def module(name, *arguments):
    """cmake and ninja come from PyPI; the scripts beside this interpreter are those."""
    script = pathlib.Path(sys.executable).with_name(name)
    return [str(script) if script.exists() else name, *map(str, arguments)]


def call(*arguments, **options):
    out = subprocess.run(arguments, capture_output=True, text=True, **options)
    assert out.returncode == 0, out.stdout + out.stderr
    return out.stdout


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The folder with the built examples."""
    if not any(map(shutil.which, ("c++", "g++", "clang++"))):
        pytest.skip("no C++ compiler")
    folder, ninja = tmp_path_factory.mktemp("build"), module("ninja")[0]
    call(*module("cmake", "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}", "-S", EXAMPLE, "-B", folder,
                 f"-DCMAKE_PREFIX_PATH={PREFIX}"))  # fmt: skip
    call(*module("cmake", "--build", folder))
    return folder


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """What the demo exports after a short training, the test images unpacked, and what Python reads in them."""
    pytest.importorskip("safetensors")
    from rushlight.demo import train

    rl.manual_seed(0)
    learned, tested = train.datasets("digits", None)
    model = train.network()
    optimizer = rl.optim.Adam(model.parameters(), lr=0.003)
    for images, targets in itertools.islice(DataLoader(learned, 64, shuffle=True), 25):
        optimizer.zero_grad()
        rl.nn.functional.cross_entropy(model(images), targets).backward()
        optimizer.step()
    folder = tmp_path_factory.mktemp("digits")
    train.export(model, "digits", folder / "model.safetensors")
    packed = pathlib.Path(tested.root) / "t10k-images-idx3-ubyte.gz"
    (folder / "images").write_bytes(gzip.decompress(packed.read_bytes()))
    model.eval()
    with rl.no_grad():
        read = [d for images, _ in DataLoader(tested, 500) for d in model(images).argmax(1).tolist()]
    assert sum(a == b for a, b in zip(read, tested.targets.tolist(), strict=True)) > 0.8 * len(read)
    return folder, read


def test_fit_line(programs):
    said = call(programs / "fit_line")
    slope, intercept = map(float, re.search(r"y = (\S+) x \+ (\S+)", said).groups())
    assert abs(slope - 2) < 0.05 and abs(intercept - 1) < 0.05


def test_predict_digits(programs, digits):
    """The same digits as in Python, one by one, and no Python in the process."""
    folder, read = digits
    said = call(programs / "predict_digits", folder / "model.safetensors", folder / "images")
    assert list(map(int, said.split())) == read
    linked = call("ldd", programs / "predict_digits") if shutil.which("ldd") else ""
    assert "python" not in linked.replace(str(PREFIX.parent.parent), "")


def packed(header, data=b"", length=None):
    """A file of the format from its header, a dict or text."""
    text = (header if isinstance(header, str) else json.dumps(header)).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def tensor(begin, end, shape=(1,), dtype="F32"):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


MALFORMED = {
    "nothing": (b"", "not a safetensors file"),
    "short": (b"abc", "not a safetensors file"),
    "length beyond the end": (packed({}, length=1000), "header is said to have 1000 bytes"),
    "length beyond all numbers": (packed({}, length=2**64 - 1), "header is said to have"),
    "no JSON": (packed("hello"), "expected '{'"),
    "JSON cut off": (packed('{"a": {"dtype": "F32"'), "expected '}'"),
    "string cut off": (packed('{"a'), "without an end"),
    "escape cut off": (packed('{"a\\u12'), "hexadecimal"),
    "half a pair": (packed('{"\\ud800x": 1}'), "surrogate"),
    "unknown escape": (packed('{"\\q": 1}'), "unknown escape"),
    "control character": (packed('{"a\nb": 1}'), "control character"),
    "number for a tensor": (packed('{"a": 1}'), "expected '{'"),
    "more than one value": (packed("{} {}"), "follows the last brace"),
    "unknown member": (packed({"a": {"kind": "x"}}), "'kind' of tensor 'a' is not known"),
    "no shape": (packed({"a": {"dtype": "F32", "data_offsets": [0, 4]}}, b"1234"), "lacks its shape"),
    "one offset": (packed({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0]}}, b"1234"), "two data_offsets"),
    "negative size": (packed({"a": tensor(0, 4, [-1])}, b"1234"), "expected a whole number"),
    "unknown dtype": (packed({"a": tensor(0, 4, dtype="F8_E4M3")}, b"1234"), "dtype F8_E4M3 is not known"),
    "beyond the data": (packed({"a": tensor(0, 8, [2])}, b"1234"), "does not fit its place"),
    "backwards": (packed({"a": tensor(4, 0)}, b"1234"), "does not fit its place"),
    "another size": (packed({"a": tensor(0, 4, [2])}, b"1234"), "does not fit its place"),
    "size overflows": (packed({"a": tensor(0, 4, [2**40, 2**40])}, b"1234"), "too large"),
    "size beyond 64 bits": (packed({"a": tensor(0, 4, [2**70])}, b"1234"), "too large"),
    "no elements, a wrong place": (packed({"a": tensor(0, 4, [0])}, b"1234"), "does not fit its place"),
    "twice": (packed(f'{{"a": {json.dumps(tensor(0, 4))}, "a": {json.dumps(tensor(0, 4))}}}', b"1234"), "twice"),
    "overlap": (packed({"a": tensor(0, 4), "b": tensor(0, 4)}, b"1234"), "overlap or have gaps"),
    "gap": (packed({"a": tensor(0, 4), "b": tensor(8, 12)}, b"1" * 12), "overlap or have gaps"),
    "bytes left over": (packed({"a": tensor(0, 4)}, b"12345"), "1 bytes belong to no tensor"),
    "not the demo's": (packed({"a": tensor(0, 4)}, b"1234"), "do not say the images' 'mean'"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_weights(programs, digits, tmp_path, name):
    content, message = MALFORMED[name]
    (tmp_path / "bad").write_bytes(content)
    out = subprocess.run(
        [programs / "predict_digits", tmp_path / "bad", digits[0] / "images"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert out.returncode == 1 and not out.stdout and message in out.stderr, (out.returncode, out.stderr)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda pixels: gzip.compress(pixels), "hint: unpack it"),
        (lambda pixels: pixels[:-1], "2000 images have 1568000 pixels, and 1567999 bytes"),
        (lambda pixels: pixels[:7], "too short"),
        (lambda pixels: b"\xff" * 16, "not a file of 28x28 images"),
    ],
)
def test_malformed_images(programs, digits, tmp_path, change, message):
    folder, _ = digits
    (tmp_path / "bad").write_bytes(change((folder / "images").read_bytes()))
    out = subprocess.run(
        [programs / "predict_digits", folder / "model.safetensors", tmp_path / "bad"], capture_output=True, text=True
    )
    assert out.returncode == 1 and message in out.stderr, (out.returncode, out.stderr)


@needs_compiler
def test_public_headers_need_only_the_standard_library(tmp_path):
    """Each header that is shipped compiles by itself, with no other include path than its own."""
    include = PREFIX.parent.parent / "include" / "rushlight"
    headers = sorted(include.rglob("*.h"))
    assert include / "rushlight.h" in headers
    compiler = next(filter(shutil.which, ("c++", "g++", "clang++")))
    source = tmp_path / "all.cpp"
    source.write_text("".join(f'#include "{h.relative_to(include)}"\n' for h in headers))
    call(compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{include}", source)
    assert not [h for h in headers if re.search(r"#\s*include\s*<(Python\.h|nanobind)", h.read_text())]
