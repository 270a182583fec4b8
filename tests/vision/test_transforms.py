"""Transforms, on PIL images, tensors and arrays."""

import random

import numpy as np
import pytest
from PIL import Image

import rushlight as rl
from rushlight.vision import transforms
from rushlight.vision.transforms import InterpolationMode
from rushlight.vision.transforms import functional as F

GREY = np.random.default_rng(0).integers(0, 256, (9, 12)).astype("uint8")
COLOUR = np.random.default_rng(1).integers(0, 256, (9, 12, 3)).astype("uint8")


def forms(array):
    """The same image in every kind."""
    tensor = rl.from_numpy(array.copy())
    tensor = tensor.permute(2, 0, 1) if array.ndim == 3 else tensor
    return {"pil": Image.fromarray(array), "array": array, "tensor": tensor}


def pixels(image):
    """(height, width[, channels]) as an array."""
    if isinstance(image, rl.Tensor):
        image = image.permute(1, 2, 0) if image.ndim == 3 else image
        return image.numpy()
    return np.asarray(image)


# What a geometric function makes of an array (height, width, ...), in NumPy.
GEOMETRY = {
    "hflip": (F.hflip, lambda a: a[:, ::-1]),
    "vflip": (F.vflip, lambda a: a[::-1]),
    "crop": (lambda x: F.crop(x, 2, 3, 4, 5), lambda a: a[2:6, 3:8]),
    "crop beyond": (
        lambda x: F.crop(x, -2, 8, 5, 7),
        lambda a: np.pad(a[:3, 8:], [(2, 0), (0, 3)] + [(0, 0)] * (a.ndim - 2)),
    ),
    "crop outside": (lambda x: F.crop(x, 20, 20, 2, 3), lambda a: np.zeros((2, 3, *a.shape[2:]), a.dtype)),
    "center_crop": (lambda x: F.center_crop(x, (5, 4)), lambda a: a[2:7, 4:8]),
    "center_crop larger": (
        lambda x: F.center_crop(x, [12, 6]),
        lambda a: np.pad(a, [(1, 2), (0, 0)] + [(0, 0)] * (a.ndim - 2))[:, 3:9],
    ),
    "rotate 90": (lambda x: F.rotate(x, 90, expand=True), lambda a: np.rot90(a)),
    "rotate 180": (lambda x: F.rotate(x, 180), lambda a: a[::-1, ::-1]),
    "rotate 0": (lambda x: F.rotate(x, 0, InterpolationMode.BILINEAR), lambda a: a),
    **{
        f"pad {mode}": (
            lambda x, mode=mode: F.pad(x, (1, 2, 3, 4), padding_mode=mode),
            lambda a, mode=mode: np.pad(a, [(2, 4), (1, 3)] + [(0, 0)] * (a.ndim - 2), mode=mode),
        )
        for mode in ("constant", "edge", "reflect", "symmetric")
    },
    "pad one": (lambda x: F.pad(x, 2), lambda a: np.pad(a, [(2, 2), (2, 2)] + [(0, 0)] * (a.ndim - 2))),
    "pad fill": (
        lambda x: F.pad(x, (1, 2), fill=9),
        lambda a: np.pad(a, [(2, 2), (1, 1)] + [(0, 0)] * (a.ndim - 2), constant_values=9),
    ),
}


@pytest.mark.parametrize("kind", ["pil", "array", "tensor"])
@pytest.mark.parametrize("array", [GREY, COLOUR], ids=["grey", "colour"])
@pytest.mark.parametrize("name", GEOMETRY)
def test_geometry(name, array, kind):
    function, expected = GEOMETRY[name]
    image = forms(array)[kind]
    result = function(image)
    assert type(result).__module__.partition(".")[0] == type(image).__module__.partition(".")[0]
    assert np.array_equal(pixels(result), expected(array))
    assert np.array_equal(pixels(image), array)  # the image given is as it was


@pytest.mark.parametrize("expand", [False, True])
@pytest.mark.parametrize("center", [None, (2, 3)])
@pytest.mark.parametrize("mode", [InterpolationMode.NEAREST, InterpolationMode.BILINEAR])
@pytest.mark.parametrize("angle", [30, -75.5, 200])
def test_rotate_is_nearly_pillows(angle, mode, center, expand):
    """Pillow computes in fixed point and cuts edges its own way; a smooth image shows no other difference."""
    if expand and center:
        pytest.skip("expanding supposes the middle")
    y, x = np.mgrid[0:40, 0:60]
    smooth = (128 + 60 * np.sin(x / 9) + 60 * np.cos(y / 7)).astype("uint8")
    ours = F.rotate(smooth, angle, mode, expand, center, fill=100)
    pillows = pixels(F.rotate(Image.fromarray(smooth), angle, mode, expand, center, fill=100))
    assert ours.shape == pillows.shape
    differ = np.abs(ours.astype(int) - pillows) > 20
    assert differ.mean() < 0.03


def test_rotate_fills_by_channel():
    turned = F.rotate(rl.ones(3, 8, 8), 45, fill=[5.0, 6.0, 7.0])
    assert turned[:, 0, 0].tolist() == [5.0, 6.0, 7.0] and turned[:, 4, 4].tolist() == [1, 1, 1]
    stack = rl.rand(2, 3, 8, 8)
    assert (F.rotate(stack, 30)[1] == F.rotate(stack[1], 30)).all()


@pytest.mark.parametrize(
    "size, options, expected",
    [(6, {}, (6, 8)), ((4, 5), {}, (4, 5)), ([18], {}, (18, 24)), (6, {"max_size": 7}, (5, 7))],
)
@pytest.mark.parametrize("kind", ["pil", "array", "tensor"])
def test_resize(size, options, expected, kind):
    result = pixels(transforms.Resize(size, **options)(forms(COLOUR)[kind]))
    assert result.shape == (*expected, 3)
    assert np.array_equal(result, pixels(F.resize(Image.fromarray(COLOUR), size, **options)))


# ---- to and from tensors


@pytest.mark.parametrize("array", [GREY, COLOUR])
def test_to_tensor(array):
    expected = (array[None] if array.ndim == 2 else array.transpose(2, 0, 1)).astype("float32") / np.float32(255)
    for image in forms(array).values():
        tensor = F.to_tensor(image)
        assert tensor.dtype == rl.float32 and np.array_equal(tensor.numpy(), expected)


@pytest.mark.parametrize(
    "image, dtype, first",
    [
        (Image.new("I", (3, 2), 70000), rl.int32, 70000),
        (Image.new("F", (3, 2), 1.5), rl.float32, 1.5),
        (Image.new("1", (3, 2), 1), rl.float32, 1.0),
        (Image.new("P", (3, 2), 4), rl.float32, rl.tensor(4 / 255).item()),
        (np.full((2, 3), 1.5), rl.float64, 1.5),
        (np.full((2, 3), 300, "int32"), rl.int32, 300),
        (rl.full((1, 2, 3), 0.25), rl.float32, 0.25),
    ],
)
def test_to_tensor_of_other_types(image, dtype, first):
    tensor = transforms.ToTensor()(image)
    assert tensor.shape == (1, 2, 3) and tensor.dtype == dtype and tensor[0, 0, 0].item() == first


@pytest.mark.parametrize("array", [GREY, COLOUR, np.dstack([COLOUR, GREY]), COLOUR[:, :, :2]])
def test_pil_image_and_back(array):
    for image in (array, F.to_tensor(array), forms(array)["tensor"] if array.shape[-1] != 2 else array):
        made = transforms.ToPILImage()(image)
        assert made.mode == {2: "L", 3: {2: "LA", 3: "RGB", 4: "RGBA"}.get(array.shape[-1])}[array.ndim]
        assert np.array_equal(np.asarray(made), array)
    back = transforms.PILToTensor()(made)
    assert back.dtype == rl.uint8 and np.array_equal(pixels(back), array if array.ndim == 3 else array[:, :, None])


def test_normalize():
    image = rl.rand(3, 4, 5)
    mean, std = (0.1, 0.2, 0.3), (0.5, 1.0, 2.0)
    expected = (image.numpy() - np.array(mean, "float32")[:, None, None]) / np.array(std, "float32")[:, None, None]
    normalize = transforms.Normalize(mean, std)
    for _ in range(2):
        assert np.allclose(normalize(image).numpy(), expected, rtol=1e-6)
    assert np.allclose(normalize(image.to(rl.float64)).numpy(), expected) and normalize(image).dtype == rl.float32
    assert (F.normalize(rl.stack([image, image]), mean, std)[1] == normalize(image)).all()
    assert transforms.Normalize(mean, std, inplace=True)(image) is image
    assert np.allclose(image.numpy(), expected, rtol=1e-6)


# ---- random transforms


def test_random_crop_draws():
    image = rl.arange(9 * 12).view(9, 12)
    crop = transforms.RandomCrop((4, 5))
    rl.manual_seed(3)
    results = [crop(image) for _ in range(50)]
    rl.manual_seed(3)
    for result in results:
        top, left = (rl.randint(0, 9 - 4 + 1, size=(1,)).item(), rl.randint(0, 12 - 5 + 1, size=(1,)).item())
        assert (result == image[top : top + 4, left : left + 5]).all()
    assert len({int(result[0, 0]) for result in results}) > 20


def test_random_crop_pads():
    image = rl.ones(2, 3)
    assert transforms.RandomCrop(4, pad_if_needed=True, fill=7)(image).shape == (4, 4)
    assert transforms.RandomCrop((2, 3), padding=1)(image).shape == (2, 3)
    assert transforms.RandomCrop((8, 9), padding=3, padding_mode="edge")(image).min().item() == 1
    with pytest.raises(ValueError, match=r"\(4, 4\) is larger than input image size \(2, 3\)(.|\n)*pad_if_needed"):
        transforms.RandomCrop(4)(image)


@pytest.mark.parametrize(
    "make, change",
    [
        (transforms.RandomHorizontalFlip, lambda x: F.hflip(x)),
        (transforms.RandomVerticalFlip, lambda x: F.vflip(x)),
        (lambda p: transforms.RandomApply([transforms.Lambda(lambda x: x + 1)], p), lambda x: x + 1),
    ],
)
@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_random_choices_draw_once(make, change, p):
    image = rl.arange(6).view(2, 3)
    transform = make(p)
    rl.manual_seed(0)
    results = [transform(image) for _ in range(100)]
    rl.manual_seed(0)
    changed = 0
    for result in results:
        hit = rl.rand(1).item() < p
        changed += hit
        assert (result == (change(image) if hit else image)).all()
    assert abs(changed - 100 * p) < 15


def test_random_rotation_draws():
    image = rl.rand(1, 9, 9)
    rl.manual_seed(1)
    result = transforms.RandomRotation((-30, 60))(image)
    rl.manual_seed(1)
    assert (result == F.rotate(image, float(rl.empty(1).uniform_(-30.0, 60.0).item()), fill=0)).all()
    assert transforms.RandomRotation(5).degrees == [-5.0, 5.0]


def test_python_random():
    add = [transforms.Lambda(lambda x, k=k: x + [k]) for k in range(3)]
    random.seed(0)
    assert sorted(transforms.RandomOrder(add)([])) == [0, 1, 2]
    assert transforms.RandomChoice(add, p=[0, 1, 0])([]) == [1]


def test_transforms_are_modules_and_print():
    model = rl.nn.Sequential(transforms.CenterCrop(2), transforms.RandomHorizontalFlip(p=1))
    assert model(rl.arange(16).view(4, 4)).tolist() == [[6, 5], [10, 9]]
    nested = transforms.Compose([transforms.RandomApply([transforms.ToTensor()], p=0.1), transforms.Normalize(0, 1)])
    assert repr(nested).splitlines() == [
        "Compose(",
        "    RandomApply(",
        "        p=0.1",
        "        ToTensor()",
        "    )",
        "    Normalize(mean=0, std=1)",
        ")",
    ]


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: F.to_tensor("x"), TypeError, "PIL Image"),
        (lambda: F.to_tensor(np.zeros(3)), ValueError, "2/3 dimensional"),
        (lambda: F.to_tensor(rl.zeros(3)), ValueError, "2/3 dimensional"),
        (lambda: F.pil_to_tensor(GREY), TypeError, "PIL Image"),
        (lambda: F.to_pil_image(rl.zeros(5, 2, 2)), ValueError, "5 channels"),
        (lambda: F.to_pil_image(np.zeros((2, 2), "int64")), TypeError, "int64"),
        (lambda: F.hflip(3), TypeError, "got int"),
        (lambda: F.hflip(rl.zeros(3)), TypeError, "height, width"),
        (lambda: F.pad(GREY, (1, 2, 3)), ValueError, "1, 2, or 4"),
        (lambda: F.pad(GREY, -1), ValueError, "non-negative"),
        (lambda: F.pad(GREY, 1, padding_mode="wrap"), ValueError, "wrap"),
        (lambda: F.pad(GREY, 20, padding_mode="reflect"), ValueError, "reflect"),
        (lambda: F.pad(rl.zeros(3, 2, 2), 1, fill=[1, 2]), ValueError, "fill has 2 values"),
        (lambda: F.rotate(GREY, "a"), TypeError, "angle"),
        (lambda: F.rotate(GREY, 5, InterpolationMode.BICUBIC), ValueError, "nearest or bilinear"),
        (lambda: F.rotate(GREY, 5, center=3), TypeError, "center"),
        (lambda: F.resize(GREY, 5, max_size=4), ValueError, "max_size"),
        (lambda: F.normalize(GREY, 0, 1), TypeError, "ToTensor comes before"),
        (lambda: transforms.Normalize(0, 1)(GREY), TypeError, "ToTensor comes before"),
        (lambda: transforms.Normalize(0, 1)(rl.zeros(1, 2, 2, dtype=rl.uint8)), TypeError, "uint8"),
        (lambda: transforms.Normalize(0, 1)(rl.zeros(2, 2)), ValueError, "C, H, W"),
        (lambda: transforms.Normalize(0, 0)(rl.zeros(1, 2, 2)), ValueError, "std evaluated to zero"),
        (lambda: transforms.Normalize((0, 0), 1)(rl.zeros(3, 2, 2)), ValueError, "mean has 2 values .* 3 channels"),
        (
            lambda: transforms.Normalize((0, 0), (1, 1))(rl.zeros(1, 2, 2)),
            ValueError,
            "mean has 2 values .* 1 channels",
        ),
        (lambda: transforms.Lambda(3), TypeError, "callable"),
        (lambda: transforms.RandomRotation(-1), ValueError, "positive"),
        (lambda: transforms.RandomRotation((1, 2, 3)), ValueError, "two"),
        (lambda: transforms.RandomChoice([1], p=[1, 2]), ValueError, "2 weights"),
    ],
)
def test_wrong_use(call, error, words):
    with pytest.raises(error, match=words):
        call()
