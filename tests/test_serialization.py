"""Saving and loading: what comes back, what is refused, and what survives a kill."""

import collections
import io
import os
import pathlib
import pickle
import pickletools
import random
import resource
import signal
import struct
import tarfile
import time
import zipfile

import pytest

import rushlight as rl
from rushlight import serialization
from rushlight._tensor_pickle import deepcopy_tensor, reduce_tensor

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")

DTYPES = "float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 bool uint16".split()
DTYPES = [getattr(rl, name) for name in DTYPES]


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __eq__(self, other):
        return type(other) is Point and (self.x, self.y) == (other.x, other.y)

    __hash__ = None


def make_point(x, y):
    return Point(x, y)


class ByCall(Point):
    def __reduce__(self):
        return make_point, (self.x, self.y)


def saved(obj, **options):
    file = io.BytesIO()
    serialization.save(obj, file, **options)
    file.seek(0)
    return file


def round_trip(obj, **options):
    return serialization.load(saved(obj), **options)


def same(a, b):
    if isinstance(a, rl.Tensor):
        facts = [(t.dtype, t.shape, t.stride(), t.storage_offset(), t.requires_grad, type(t)) for t in (a, b)]
        return facts[0] == facts[1] and a.tolist() == b.tolist()
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


BASE = rl.arange(24.0).view(4, 6)
OBJECTS = {
    "tensor": rl.arange(3),
    "zero-dimensional": rl.tensor(3.5),
    "empty": rl.empty(0, 3),
    "transposed": BASE.t(),
    "strided": BASE[1::2, 1:4],
    "expanded": rl.tensor([1.0, 2.0]).expand(3, 2),
    "requires grad": rl.ones(2, requires_grad=True),
    "parameter": rl.nn.Parameter(rl.ones(2, 2)),
    "frozen parameter": rl.nn.Parameter(rl.ones(2), requires_grad=False),
    "dtypes": [rl.ones(3).to(dtype) for dtype in DTYPES],
    "names": [rl.float32, rl.bool, rl.device("cpu"), rl.Size([2, 3])],
    "scalars": [1, -1, 10**40, 1.5, float("inf"), True, None, "text é", b"bytes", 1 + 2j],
    "containers": {"a": [1, (2, 3, {"b": ()})], "s": {1, 2}, "f": frozenset([1]), (1, "t"): bytearray(b"x")},
    "ordered": collections.OrderedDict([("b", rl.ones(1)), ("a", 2)]),
    "counter": collections.Counter("abca"),
    "long": {"text": "x" * 100_000, "list": list(range(3000)), "keys": {str(i): i for i in range(2000)}},
}


@pytest.mark.parametrize("options", [{}, {"weights_only": False}], ids=["weights_only", "full"])
@pytest.mark.parametrize("name", OBJECTS)
def test_round_trip(name, options):
    assert same(round_trip(OBJECTS[name], **options), OBJECTS[name])


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_protocols(protocol):
    assert same(serialization.load(saved(OBJECTS, pickle_protocol=protocol)), OBJECTS)


def test_shared_memory_stays_shared():
    shared = {"base": BASE, "row": BASE[1], "again": BASE, "other": BASE.clone(), "empty": [rl.empty(0), rl.empty(0)]}
    for loaded in (round_trip(shared), round_trip(shared, weights_only=False)):
        assert loaded["again"] is loaded["base"]
        loaded["base"][1] = -1
        assert loaded["row"].tolist() == [-1] * 6 and loaded["other"][1, 0].item() == 6
    assert len(zipfile.ZipFile(saved(shared)).namelist()) == 3 + 4


def test_attributes_and_metadata():
    tensor = rl.ones(2)
    tensor.label = "mine"
    parameter = rl.nn.Parameter(rl.ones(2))
    parameter.group = 3
    state = collections.OrderedDict(w=tensor)
    state._metadata = {"": {"version": 2}}
    loaded = round_trip([tensor, parameter, state])
    assert loaded[0].label == "mine" and loaded[1].group == 3 and loaded[2]._metadata == {"": {"version": 2}}


def test_state_dict_of_a_module():
    model = rl.nn.Sequential(rl.nn.Linear(3, 4), rl.nn.ReLU(), rl.nn.Linear(4, 2))
    state = model.state_dict()
    other = rl.nn.Sequential(rl.nn.Linear(3, 4), rl.nn.ReLU(), rl.nn.Linear(4, 2))
    other.load_state_dict(round_trip(state))
    assert all((a == b).all() for a, b in zip(model.parameters(), other.parameters(), strict=True))


@pytest.mark.parametrize("kind", [str, pathlib.Path, "file", "unbuffered", "unseekable"])
def test_kinds_of_files(kind, tmp_path):
    path = tmp_path / "model.v1.pt"
    if kind == "unseekable":

        class Pipe(io.RawIOBase):
            content = b""

            def writable(self):
                return True

            def write(self, data):
                self.content += bytes(data)
                return len(data)

        pipe = Pipe()
        serialization.save(OBJECTS["strided"], pipe)
        assert same(serialization.load(io.BytesIO(pipe.content)), OBJECTS["strided"])
        return
    if kind in ("file", "unbuffered"):
        with open(path, "wb", buffering=-1 if kind == "file" else 0) as file:
            serialization.save(OBJECTS["strided"], file)
        with open(path, "rb", buffering=-1 if kind == "file" else 0) as file:
            assert same(serialization.load(file), OBJECTS["strided"])
    else:
        serialization.save(OBJECTS["strided"], kind(path))
        assert same(serialization.load(kind(path)), OBJECTS["strided"])
        assert zipfile.ZipFile(path).namelist()[0] == "model.v1/data.pkl"
    assert os.listdir(tmp_path) == ["model.v1.pt"]


def test_storages_are_aligned_and_files_equal(tmp_path):
    content = [rl.ones(n) for n in (1, 3, 1000)]
    assert saved(content).getvalue() == saved(content).getvalue()
    file = saved(content)
    for info in zipfile.ZipFile(file).infolist():
        file.seek(info.header_offset + 26)
        name, extra = struct.unpack("<HH", file.read(4))
        assert (info.header_offset + 30 + name + extra) % 64 == 0 and info.compress_type == zipfile.ZIP_STORED


def test_mmap(tmp_path):
    serialization.save({"w": BASE, "v": BASE[1], "e": rl.empty(0)}, tmp_path / "a.pt")
    before = (tmp_path / "a.pt").read_bytes()
    loaded = serialization.load(tmp_path / "a.pt", mmap=True)
    assert same(loaded["w"], BASE)
    loaded["w"][1] = -1
    assert loaded["v"].tolist() == [-1] * 6
    assert (tmp_path / "a.pt").read_bytes() == before
    serialization.save({"w": rl.zeros(2)}, tmp_path / "a.pt")  # replacing the file leaves the mapping alone
    assert loaded["w"][0].tolist() == BASE[0].tolist()
    with pytest.raises(ValueError, match="path"):
        serialization.load(saved(1), mmap=True)


@pytest.mark.parametrize(
    "location",
    ["cpu", rl.device("cpu"), {"cpu": "cpu"}, {}, lambda storage, where: storage, lambda storage, where: None],
)
def test_map_location(location):
    assert same(round_trip({"w": BASE.t()}, map_location=location)["w"], BASE.t())


def test_map_location_to_another_device():
    assert round_trip({"w": BASE.t()}, map_location="meta")["w"].device.type == "meta"
    assert round_trip(rl.empty(3, device="meta")).device.type == "meta"
    seen = []
    round_trip({"w": BASE}, map_location=lambda storage, where: seen.append(where))
    assert seen == ["cpu"]
    if not (hasattr(rl, "cuda") and rl.cuda.is_available()):
        with pytest.raises(RuntimeError, match='cuda:0(.|\n)*map_location="cpu"'):
            round_trip({"w": BASE}, map_location="cuda:0")


def test_repacked_archives(tmp_path):
    """Another tool may have compressed the records, or renamed the folder in the archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(saved(OBJECTS)) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name.replace("archive/", "renamed/"), old.read(name))
    packed.seek(0)
    assert same(serialization.load(packed), OBJECTS)
    (tmp_path / "a.pt").write_bytes(packed.getvalue())
    assert same(serialization.load(tmp_path / "a.pt", mmap=True), OBJECTS)


# ---- pickle, deepcopy


class Pickler(pickle.Pickler):
    """As Tensor.__reduce_ex__ does it."""

    def reducer_override(self, obj):
        return reduce_tensor(obj) if type(obj) in (rl.Tensor, rl.nn.Parameter) else NotImplemented


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_pickle(protocol):
    objects = {name: value for name, value in OBJECTS.items() if name != "names"}
    file = io.BytesIO()
    Pickler(file, protocol).dump([objects, BASE, BASE[1]])
    loaded, base, row = pickle.loads(file.getvalue())
    assert same(loaded, objects)
    base[1] = -1
    assert row.tolist() == [-1] * 6


@pytest.mark.parametrize("name", [name for name, value in OBJECTS.items() if isinstance(value, rl.Tensor)])
def test_deepcopy(name):
    assert same(deepcopy_tensor(OBJECTS[name], {}), OBJECTS[name])


def test_deepcopy_shares_what_was_shared():
    memo = {}
    base, row, again = (deepcopy_tensor(tensor, memo) for tensor in (BASE, BASE[1], BASE))
    base[1] = -1
    assert row.tolist() == [-1] * 6 and again is base and BASE[1, 1].item() == 7
    leaf = rl.ones(2, requires_grad=True)
    leaf.grad = rl.ones(2)
    leaf.label = ["mine"]
    copied = deepcopy_tensor(leaf, {})
    assert copied.grad.tolist() == [1, 1] and copied.grad is not leaf.grad
    assert copied.label == ["mine"] and copied.label is not leaf.label
    with pytest.raises(RuntimeError, match="deep-copied"):
        deepcopy_tensor(leaf * 2, {})


# ---- what is refused


def archive(pickled, **records):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as new:
        new.writestr("archive/data.pkl", pickled)
        for name, content in records.items():
            new.writestr("archive/" + name.replace("_", "/"), content)
    file.seek(0)
    return file


class Calls:
    def __init__(self, function, *args):
        self.what = function, args

    def __reduce__(self):
        return self.what


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


GLOBAL = "c{}\n{}\n".format
V2 = b"ctorch._utils\n_rebuild_tensor_v2\n"
STORAGE = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + b"K\x04tQ"


def rebuild(arguments, function=V2, storage=STORAGE):
    return b"\x80\x02" + function + b"(" + storage + arguments + b"\x89ccollections\nOrderedDict\n)RtR."


def nested(depth, share=False):
    """A dict with a tuple nested so deep as its key; or one that mentions each level twice."""
    return b"\x80\x02}K\x01" + (b"2\x86" if share else b"\x85") * depth + b"K\x01s."


HOSTILE = {
    "system": pickle.dumps(Calls(os.system, "true"), 2),
    "eval": pickle.dumps(Calls(eval, "1"), 2),
    "getattr": pickle.dumps(Calls(getattr, 1, "real"), 2),
    "open": pickle.dumps(Calls(open, "nowhere", "w"), 2),
    "a point": pickle.dumps(Point(1, 2), 2),
    "protocol 4": pickle.dumps(Calls(os.system, "true"), 4),
    "dotted name": b"\x80\x04" + b"\x8c\x05torch\x8c\x12serialization.os.x\x93.",
    "module of ours": b"\x80\x02ctorch.serialization\nload\n.",
    "module": b"\x80\x02ctorch\nserialization\n.",
    "inst": b"(" + text("true") + b"ios\nsystem\n.",
    "obj": b"(cos\nsystem\n" + text("true") + b"o.",
    "extension": b"\x80\x02\x82\x01.",
    "build on a function": b"\x80\x02" + V2 + b"}" + text("__defaults__") + b"(K\x01tsb.",
    "slots on a class": b"\x80\x02ccollections\nOrderedDict\n(N}" + text("x") + b"K\x01stb.",
    "dunder metadata": b"\x80\x02ccollections\nOrderedDict\n)R}" + text("__class__") + b"K\x01sb.",
    "newobj of a set": b"\x80\x02c__builtin__\nset\n)\x81.",
    "call of a number": b"\x80\x02K\x01)R.",
    "call of a dtype": b"\x80\x02ctorch\nfloat32\n)R.",
    "call of a storage": b"\x80\x02ctorch\nFloatStorage\n)R.",
    "no tuple of arguments": b"\x80\x02c__builtin__\nset\nK\x01R.",
    "bytearray of a number": pickle.dumps(Calls(bytearray, 1 << 45), 2),
    "import by encoding": b"\x80\x02c_codecs\nencode\n(" + text("x") + text("os.path") + b"tR.",
    "deep key": nested(200_000),
    "key that never ends": nested(64, share=True),
    "deep element of a set": b"\x80\x04\x8f(K\x01" + b"\x85" * 200_000 + b"\x90.",
    "append to a dict": b"\x80\x02}K\x01a.",
    "items of a list": b"\x80\x02]K\x01K\x02s.",
    "persistent number": b"\x80\x02K\x01Q.",
    "persistent path": rebuild(b"", storage=STORAGE.replace(text("0"), text("../0"))),
    "storage by name only": rebuild(b"K\x00K\x04\x85K\x01\x85", storage=b"ctorch\nFloatStorage\n"),
    "tensor on a list": rebuild(b"K\x00K\x04\x85K\x01\x85", storage=b"]"),
    "too large": rebuild(b"K\x00K\x05\x85K\x01\x85"),
    "beyond the end": rebuild(b"K\x01K\x04\x85K\x01\x85"),
    "long stride": rebuild(b"K\x00K\x02K\x02\x86K\x01J\xff\xff\xff\x7f\x86"),
    "negative stride": rebuild(b"K\x03K\x04\x85J\xff\xff\xff\xff\x85"),
    "negative offset": rebuild(b"J\xff\xff\xff\xffK\x04\x85K\x01\x85"),
    "negative size": rebuild(b"K\x00J\xff\xff\xff\xff\x85K\x01\x85"),
    "huge size": rebuild(b"K\x00\x8a\x0a" + b"\xff" * 9 + b"\x00\x85K\x00\x85"),
    "float size": rebuild(b"K\x00G@\x00\x00\x00\x00\x00\x00\x00\x85K\x01\x85"),
    "fewer strides": rebuild(b"K\x00K\x02K\x02\x86K\x01\x85"),
    "more than is there": rebuild(b"K\x00K\x04\x85K\x01\x85", storage=STORAGE.replace(b"K\x04", b"J\xff\xff\xff\x7f")),
    "another type": rebuild(b"", storage=STORAGE + b"0" + STORAGE.replace(b"Float", b"Int")),
    "foreign tensor type": b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n(" + V2 + b"c__builtin__\nset\n)}tR.",
    "foreign rebuilder": b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n(c__builtin__\nset\nctorch\nTensor\n)}tR.",
    "method as attribute": b"\x80\x02ctorch._utils\n_rebuild_parameter_with_state\n("
    + rebuild(b"K\x00K\x04\x85K\x01\x85")[2:-1]
    + b"\x88N}"
    + text("backward")
    + b"K\x01stR.",
    "parameter on text": b"\x80\x02ctorch._utils\n_rebuild_parameter\n(" + text("x") + b"\x88NtR.",
    "empty": b"",
    "no stop": b"\x80\x02K\x01",
    "underflow": b"\x80\x02.",
    "pop of nothing": b"\x80\x02000.",
    "no mark": b"\x80\x02t.",
    "unknown instruction": b"\x80\x02\xff.",
    "unknown memo": b"\x80\x02h\x07.",
    "future protocol": b"\x80\x63K\x01.",
    "length beyond the end": b"\x80\x02X\xff\xff\xff\x7fabc",
    "eight-byte length": b"\x80\x04\x8d" + b"\xff" * 8 + b".",
    "bytearray8": b"\x80\x05\x96" + struct.pack("<Q", 1 << 45) + b"x.",
    "unhashable key": b"\x80\x02}]K\x01s.",
    "self as key": b"\x80\x02}q\x00h\x00K\x01s.",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pickles_are_refused(name):
    file = archive(HOSTILE[name], data_0=struct.pack("<4f", 1, 2, 3, 4))
    with pytest.raises((pickle.UnpicklingError, RuntimeError)):
        serialization.load(file)


def test_the_frame_of_hostile_pickles_is_sound():
    """The same hand-written pickle with good numbers loads."""
    file = archive(rebuild(b"K\x01K\x03\x85K\x01\x85"), data_0=struct.pack("<4f", 1, 2, 3, 4))
    assert serialization.load(file).tolist() == [2, 3, 4]
    pickletools.dis(rebuild(b"K\x01K\x03\x85K\x01\x85"), out=io.StringIO())
    shallow = archive(b"\x80\x02}K\x01" + b"\x85" * 20 + b"K\x01s.")
    assert list(serialization.load(shallow).values()) == [1]


def test_the_refusal_says_what_to_do():
    with pytest.raises(pickle.UnpicklingError, match=r"Point, which(.|\n)*add_safe_globals(.|\n)*weights_only=False"):
        round_trip(Point(1, 2))


def test_safe_globals():
    points = [Point(1, [2]), ByCall(3, 4)]
    before = serialization.get_safe_globals()
    with serialization.safe_globals([Point, make_point]):
        assert round_trip(points) == [Point(1, [2]), Point(3, 4)]
        assert Point in serialization.get_safe_globals()
    assert serialization.get_safe_globals() == before
    with pytest.raises(pickle.UnpicklingError):
        round_trip(points)
    serialization.add_safe_globals([(Point, "elsewhere.Punkt")])
    try:
        assert serialization.load(archive(b"\x80\x02celsewhere\nPunkt\n)\x81}" + text("x") + b"K\x05sb.")).x == 5
    finally:
        serialization.clear_safe_globals()
    assert round_trip(points, weights_only=False) == points


# ---- damaged and foreign files

GOOD = saved({"w": BASE, "text": "x" * 200}).getvalue()


def tar():
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as new:
        new.addfile(tarfile.TarInfo("storages"))
    return file.getvalue()


FOREIGN = {
    "empty": (b"", EOFError, "0 bytes"),
    "random": (random.Random(0).randbytes(5000), pickle.UnpicklingError, "no archive"),
    "html": (b"\n<!DOCTYPE html><html>404</html>", pickle.UnpicklingError, "web page"),
    "tar": (tar(), pickle.UnpicklingError, "tar archive"),
    "pickle": (pickle.dumps({}), pickle.UnpicklingError, "bare pickle"),
    "legacy": (pickle.dumps(0x1950A86A20F9469CFC6C, 2), pickle.UnpicklingError, "damaged or truncated"),
    "gzip": (b"\x1f\x8b" + bytes(100), pickle.UnpicklingError, "gzip"),
    "safetensors": (struct.pack("<Q", 30) + b'{"a":1}', pickle.UnpicklingError, "safetensors"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\n", pickle.UnpicklingError, "git lfs pull"),
    "truncated": (GOOD[:-100], RuntimeError, "damaged or truncated"),
    "half": (GOOD[: len(GOOD) // 2], RuntimeError, "damaged or truncated"),
    "PK only": (b"PK", RuntimeError, "damaged or truncated"),
    "damaged tensor": (GOOD.replace(struct.pack("<f", 5), struct.pack("<f", 99)), RuntimeError, "checksum"),
    "damaged pickle": (GOOD.replace(b"xxxx", b"yyyy", 1), RuntimeError, "data.pkl cannot be read"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_and_damaged_files(name, tmp_path):
    content, error, words = FOREIGN[name]
    (tmp_path / "bad.pt").write_bytes(content)
    for source in (io.BytesIO(content), tmp_path / "bad.pt"):
        with pytest.raises(error, match=words):
            serialization.load(source)
    with pytest.raises(error, match=r"bad\.pt"):
        serialization.load(tmp_path / "bad.pt")


# ---- PyTorch's format before 1.6

LEGACY_STORAGE = STORAGE.replace(b"tQ", b"NtQ")


def legacy(pickled, keys=("0",), storages=((1.0, 2.0, 3.0, 4.0),), version=1001, little_endian=True):
    parts = [0x1950A86A20F9469CFC6C, version, {"protocol_version": version, "little_endian": little_endian}]
    parts = [*(pickle.dumps(part, 2) for part in parts), pickled, pickle.dumps(list(keys), 2)]
    parts += [struct.pack(f"<q{len(values)}f", len(values), *values) for values in storages]
    return b"".join(parts)


ROWS = rebuild(b"K\x00K\x02K\x02\x86K\x02K\x01\x86", storage=LEGACY_STORAGE)


@pytest.mark.parametrize("weights_only", [True, False])
def test_legacy_format(weights_only, tmp_path):
    (tmp_path / "a.pt").write_bytes(legacy(ROWS))
    for source in (io.BytesIO(legacy(ROWS)), tmp_path / "a.pt"):
        assert serialization.load(source, weights_only=weights_only).tolist() == [[1, 2], [3, 4]]
    both = b"\x80\x02" + ROWS[2:-1] + ROWS[2:-1] + b"\x86."
    first, second = serialization.load(io.BytesIO(legacy(both)), weights_only=weights_only)
    first[0, 0] = 9
    assert second[0, 0] == 9  # the storage is one
    meta = serialization.load(io.BytesIO(legacy(ROWS)), map_location="meta")
    assert meta.shape == (2, 2) and meta.device.type == "meta"
    with pytest.raises(RuntimeError, match="cannot be mapped(.|\n)*mmap=False"):
        serialization.load(tmp_path / "a.pt", mmap=True)


def test_legacy_files_cut_anywhere():
    whole = legacy(ROWS)
    for end in range(len(pickle.dumps(0x1950A86A20F9469CFC6C, 2)), len(whole)):
        with pytest.raises((pickle.UnpicklingError, RuntimeError)):
            serialization.load(io.BytesIO(whole[:end]))


@pytest.mark.parametrize(
    "content, words",
    [
        (legacy(ROWS, keys=()), "its storages are not those"),
        (legacy(ROWS, keys=("0", "1"), storages=((1.0,) * 4,) * 2), "its storages are not those"),
        (legacy(ROWS, storages=((1.0,) * 3,)), "not whole"),
        (legacy(ROWS, version=1000), "a version that Rushlight does not know"),
        (legacy(ROWS, little_endian=False), "another order of bytes"),
        (legacy(ROWS.replace(b"K\x04N", b"J\xff\xff\xff\x7fN")), "storage 0 has 2147483647 elements"),
        (legacy(ROWS.replace(b"K\x04N", b"K\x04K\x01")), "before 0.4"),
        (legacy(ROWS.replace(b"ctorch\nFloatStorage\n", text("Float"))), "which is no storage"),
        (legacy(pickle.dumps(Calls(os.system, "true"), 2)), "was refused"),
        (legacy(ROWS).replace(pickle.dumps(["0"], 2), pickle.dumps(Calls(os.system, "true"), 2)), "posix|nt|system"),
    ],
)
def test_damaged_and_hostile_legacy_files(content, words):
    with pytest.raises((pickle.UnpicklingError, RuntimeError), match=words):
        serialization.load(io.BytesIO(content))


def test_zips_that_are_no_checkpoints():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as new:
        new.writestr("readme.txt", "hello")
    file.seek(0)
    with pytest.raises(RuntimeError, match="no data.pkl"):
        serialization.load(file)
    with pytest.raises(RuntimeError, match="TorchScript"):
        serialization.load(archive(b"N.", **{"constants.pkl": b"N."}))
    with pytest.raises(RuntimeError, match="no record data/0"):
        serialization.load(archive(rebuild(b"K\x00K\x04\x85K\x01\x85")))
    with pytest.raises(RuntimeError, match="has 3 bytes, not 4 elements"):
        serialization.load(archive(rebuild(b"K\x00K\x04\x85K\x01\x85"), data_0=b"abc"))


@pytest.mark.parametrize("mapped", [False, True])
def test_flipped_bits_never_crash(mapped, tmp_path):
    chance = random.Random(1)
    path = tmp_path / "a.pt"
    for _ in range(400):
        content = bytearray(GOOD)
        for _ in range(chance.choice([1, 1, 3, 30])):
            content[chance.randrange(len(content))] = chance.randrange(256)
        path.write_bytes(content)
        try:
            serialization.load(path, mmap=mapped)
        except (pickle.UnpicklingError, RuntimeError, EOFError):
            pass


def test_mistakes_in_calls(tmp_path):
    file = saved(1)
    file.seek(0, 2)
    with pytest.raises(EOFError, match=r"file\.seek\(0\)"):
        serialization.load(file)
    with pytest.raises(AttributeError, match="BytesIO"):
        serialization.load(b"PK")
    with pytest.raises(AttributeError, match="write"):
        serialization.save(1, 3)
    with pytest.raises(FileNotFoundError):
        serialization.load(tmp_path / "none.pt")
    with pytest.raises(RuntimeError, match="Parent directory .* does not exist"):
        serialization.save(1, tmp_path / "none" / "a.pt")
    with pytest.raises(IsADirectoryError):
        serialization.save(1, tmp_path)
    with pytest.raises(RuntimeError, match="pickle_module"):
        serialization.load(saved(1), pickle_module=pickle, weights_only=True)
    with pytest.raises(RuntimeError, match="different types"):
        serialization.save([BASE, BASE.view(rl.int32)], io.BytesIO())
    assert os.listdir(tmp_path) == []


# ---- the old file or the new one, always


def test_what_cannot_be_pickled_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.pt"
    serialization.save("old", path)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        serialization.save(lambda: 0, path)
    assert serialization.load(path) == "old" and os.listdir(tmp_path) == ["a.pt"]


def in_child(function, *args):
    """Runs the function in a forked process; its pid."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            function(*args)
            code = 0
        finally:
            os._exit(code)
    return pid


def test_a_full_disk_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.pt"
    serialization.save("old", path)

    def fill():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
        with pytest.raises(OSError) as caught:
            serialization.save(rl.zeros(1 << 20), path)
        assert any("as it was before" in note for note in caught.value.__notes__)

    _, status = os.waitpid(in_child(fill), 0)
    assert status == 0
    assert serialization.load(path) == "old" and os.listdir(tmp_path) == ["a.pt"]
    if os.path.exists("/dev/full"):
        with pytest.raises(OSError, match="No space left"):
            serialization.save(rl.zeros(1 << 20), "/dev/full")


def test_50_kills_while_saving(tmp_path):
    path = tmp_path / "a.pt"
    chance = random.Random(2)

    def save_on_and_on(first):
        for i in range(first, first + 100_000):
            serialization.save({"a": rl.full((20_000,), float(i)), "i": i, "b": rl.full((20_000,), float(i))}, path)

    last = -1
    for kill in range(50):
        pid = in_child(save_on_and_on, 1000 * kill)
        deadline = time.monotonic() + 20
        while kill == 0 and not path.exists() and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.04))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        loaded = serialization.load(path)
        assert (loaded["a"] == loaded["i"]).all() and (loaded["b"] == loaded["i"]).all()
        assert loaded["i"] >= last
        last = loaded["i"]
    assert last >= 20_000  # many kills fell into a save, and saves were done between them
    assert len(os.listdir(tmp_path)) <= 2  # whoever is killed at the last moment leaves a name behind,
    serialization.save("done", path)
    assert os.listdir(tmp_path) == ["a.pt"]  # which the next to save removes


def test_many_save_to_one_file(tmp_path):
    path = tmp_path / "a.pt"

    def save_on_and_on(number):
        for i in range(40):
            serialization.save({"a": rl.full((5_000,), float(number + i)), "i": number + i}, path)

    children = [in_child(save_on_and_on, 1000 * child) for child in range(4)]
    while children:
        if path.exists():
            loaded = serialization.load(path)
            assert (loaded["a"] == loaded["i"]).all()
        pid, status = os.waitpid(children[0], os.WNOHANG)
        if pid:
            assert status == 0
            children.pop(0)
    assert os.listdir(tmp_path) == ["a.pt"]


def test_a_file_that_cannot_be_replaced(tmp_path):
    path = tmp_path / "a.pt"

    class Meanwhile:
        def __reduce__(self):
            path.mkdir(exist_ok=True)
            return str, ()

    with pytest.raises(IsADirectoryError):
        serialization.save(Meanwhile(), path)
    assert os.listdir(tmp_path) == ["a.pt"]


def test_permissions_and_links_are_kept(tmp_path):
    (tmp_path / "real").mkdir()
    path, link = tmp_path / "real" / "a.pt", tmp_path / "link.pt"
    serialization.save(1, path)
    assert path.stat().st_mode & 0o777 == 0o666 & ~current_umask()
    path.chmod(0o640)
    link.symlink_to(path)
    serialization.save(2, link)
    assert link.is_symlink() and serialization.load(path) == 2 and path.stat().st_mode & 0o777 == 0o640


def current_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_named_temporary_where_nameless_is_not_possible(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    path = tmp_path / "a.pt"
    serialization.save([1], path)
    assert serialization.load(path) == [1] and os.listdir(tmp_path) == ["a.pt"]
    monkeypatch.setattr(os, "fsync", lambda fd: (_ for _ in ()).throw(OSError("disk on fire")))
    with pytest.raises(OSError, match="on fire"):
        serialization.save([2], path)
    assert serialization.load(path) == [1] and os.listdir(tmp_path) == ["a.pt"]
