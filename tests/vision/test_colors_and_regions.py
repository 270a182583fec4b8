"""Transforms of colour and sharpness, random parts, and maps of the plane; on PIL images, tensors and arrays."""

import colorsys
import math

import numpy as np
import pytest
import scipy.ndimage
from PIL import Image

import rushlight as rl
from rushlight.vision import transforms
from rushlight.vision.transforms import InterpolationMode
from rushlight.vision.transforms import functional as F

COLOUR = np.random.default_rng(1).integers(0, 256, (9, 12, 3)).astype("uint8")
GREY = np.random.default_rng(0).integers(20, 200, (9, 12)).astype("uint8")
SMOOTH = scipy.ndimage.zoom(np.random.default_rng(2).integers(0, 256, (4, 5, 3)), (8, 8, 1), order=1).astype("uint8")


def forms(array):
    tensor = rl.from_numpy(array.copy())
    tensor = tensor.permute(2, 0, 1) if array.ndim == 3 else tensor[None]
    return {"pil": Image.fromarray(array), "array": array, "tensor": tensor}


def pixels(image):
    """(height, width, channels) as an array of float64."""
    if isinstance(image, rl.Tensor):
        return image.permute(1, 2, 0).double().numpy()
    array = np.asarray(image).astype("float64")
    return array if array.ndim == 3 else array[:, :, None]


def luma(array):
    return array @ np.array([0.2989, 0.587, 0.114]) if array.shape[-1] == 3 else array[..., 0]


def blend(a, b, share):
    return np.clip(share * a + (1 - share) * b, 0, 255)


def turned(array, turn):
    def one(pixel):
        h, s, v = colorsys.rgb_to_hsv(*(pixel / 255))
        return np.array(colorsys.hsv_to_rgb((h + turn) % 1, s, v)) * 255

    return np.apply_along_axis(one, 2, array)


# Name: function, what it makes of an array (height, width, 3) in NumPy, how far PIL and bytes may be off.
COLOURS = {
    "brightness": (lambda x: F.adjust_brightness(x, 1.4), lambda a: blend(a, 0, 1.4), 1),
    "contrast": (lambda x: F.adjust_contrast(x, 0.4), lambda a: blend(a, luma(a).mean(), 0.4), 1.5),
    "saturation": (lambda x: F.adjust_saturation(x, 1.7), lambda a: blend(a, luma(a)[..., None], 1.7), 2),
    "gamma": (lambda x: F.adjust_gamma(x, 1.8, 0.9), lambda a: np.clip(0.9 * (a / 255) ** 1.8, 0, 1) * 255, 1),
    "grey": (lambda x: F.rgb_to_grayscale(x, 3), lambda a: np.repeat(luma(a)[..., None], 3, -1), 1),
    "invert": (F.invert, lambda a: 255 - a, 0),
    "solarize": (lambda x: F.solarize(x, 128), lambda a: np.where(a >= 128, 255 - a, a), 0),
    "posterize": (lambda x: F.posterize(x, 3), lambda a: a // 32 * 32, 0),
    "autocontrast": (
        F.autocontrast,
        lambda a: (a - a.min((0, 1))) * (255 / (a.max((0, 1)) - a.min((0, 1)))),
        1,
    ),
    "hue": (lambda x: F.adjust_hue(x, 0.2), lambda a: turned(a, 0.2), 12),
}


@pytest.mark.parametrize("kind", ["pil", "array", "tensor"])
@pytest.mark.parametrize("name", COLOURS)
def test_colours(name, kind):
    function, expected, off = COLOURS[name]
    image = forms(COLOUR)[kind]
    result = function(image)
    assert type(result).__module__.partition(".")[0] == type(image).__module__.partition(".")[0]
    np.testing.assert_allclose(pixels(result), expected(pixels(image)), atol=off + 1e-6)
    assert np.array_equal(pixels(image), COLOUR)  # the image given is as it was


@pytest.mark.parametrize("name", sorted(set(COLOURS) - {"posterize", "solarize"}))
def test_colours_of_floating_point(name):
    function, expected, _ = COLOURS[name]
    image = forms(COLOUR)["tensor"].float() / 255
    assert function(image).dtype == rl.float32
    np.testing.assert_allclose(pixels(function(image)) * 255, expected(pixels(image) * 255), atol=1e-3)
    batch = rl.stack([image, image.flip(-1)])
    if name != "contrast":
        assert rl.allclose(function(batch)[1], function(image.flip(-1)), atol=1e-6)


@pytest.mark.parametrize("turn", [-0.5, -0.1, 0.0, 0.3, 0.5])
def test_hue_round_the_circle(turn):
    corners = rl.tensor([[[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)]]).permute(2, 0, 1).float()
    np.testing.assert_allclose(
        pixels(F.adjust_hue(corners, turn)) * 255, turned(pixels(corners) * 255, turn), atol=1e-3
    )


def test_grey_images_have_no_colour():
    for image in forms(GREY).values():
        for function in (F.adjust_hue, F.adjust_saturation):
            assert np.array_equal(pixels(function(image, 0.3)), pixels(image))
        assert abs(pixels(F.adjust_contrast(image, 0.0)) - GREY.mean()).max() < 1
    assert F.rgb_to_grayscale(forms(GREY)["pil"], 3).mode == "RGB"
    assert F.rgb_to_grayscale(forms(COLOUR)["array"]).shape == (9, 12, 1)


def test_equalize():
    same = [pixels(F.equalize(forms(SMOOTH)[kind])) for kind in ("pil", "array", "tensor")]
    assert np.array_equal(same[0], same[1]) and np.array_equal(same[0], same[2])
    assert np.histogram(same[0], 4)[0].min() > SMOOTH.size / 5 > np.histogram(SMOOTH, 4)[0].min()


@pytest.mark.parametrize(
    "source, target, white",
    [
        ("uint8", "float32", 1),
        ("float32", "uint8", 255),
        ("float64", "int32", 2**31 - 1),
        ("uint8", "int16", 255 * 128),
        ("int16", "uint8", 255),
        ("float32", "float64", 1),
        ("uint8", "uint8", 255),
    ],
)
def test_convert_image_dtype(source, target, white):
    source, target = getattr(rl, source), getattr(rl, target)
    top = 1.0 if source.is_floating_point else 2 ** (8 * source.itemsize - source.is_signed) - 1
    made = F.convert_image_dtype(rl.tensor([0, top], dtype=source), target)
    assert made.dtype == target and made.tolist() == [0, white]
    assert transforms.ConvertImageDtype(target)(made).dtype == target


def test_convert_image_dtype_refuses_what_is_not_exact():
    with pytest.raises(RuntimeError, match="float32 to .*int32 cannot be performed safely"):
        F.convert_image_dtype(rl.rand(3), rl.int32)


# ---- filters


@pytest.mark.parametrize("sizes, sigmas", [((3, 3), None), ((5, 3), (1.0, 2.0)), ((7, 7), (0.5, 0.5))])
def test_gaussian_blur(sizes, sigmas):
    def weights(size, sigma):
        w = np.exp(-0.5 * ((np.arange(size) - size // 2) / sigma) ** 2)
        return w / w.sum()

    across, down = (weights(n, s) for n, s in zip(sizes, sigmas or [0.15 * n + 0.35 for n in sizes], strict=True))
    expected = scipy.ndimage.correlate(COLOUR.astype(float), np.outer(down, across)[:, :, None], mode="mirror")
    for image in forms(COLOUR).values():
        np.testing.assert_allclose(pixels(F.gaussian_blur(image, sizes, sigmas)), expected, atol=0.51)
    exact = F.gaussian_blur(forms(COLOUR)["tensor"].double(), list(sizes), sigmas)
    np.testing.assert_allclose(pixels(exact), expected, atol=1e-4)


@pytest.mark.parametrize("factor", [0.0, 0.5, 1.0, 2.0])
def test_sharpness(factor):
    kernel = np.array([[1, 1, 1], [1, 5, 1], [1, 1, 1]]) / 13
    smooth = COLOUR.astype(float)
    smooth[1:-1, 1:-1] = scipy.ndimage.correlate(COLOUR.astype(float), kernel[:, :, None])[1:-1, 1:-1]
    expected = blend(COLOUR.astype(float), smooth, factor)
    for image in forms(COLOUR).values():
        np.testing.assert_allclose(pixels(F.adjust_sharpness(image, factor)), expected, atol=2)
    assert F.adjust_sharpness(rl.ones(3, 2, 2), factor).shape == (3, 2, 2)


# ---- maps of the plane


@pytest.mark.parametrize("kind", ["array", "tensor"])
@pytest.mark.parametrize("mode", [InterpolationMode.NEAREST, InterpolationMode.BILINEAR])
@pytest.mark.parametrize(
    "angle, translate, scale, shear, center",
    [
        (0, (3, -2), 1.0, 0, None),
        (30, (0, 0), 1.0, 0, None),
        (-20, (2, 1), 1.3, (10, -5), None),
        (10, (0, 0), 0.7, [15.0], (4, 20)),
    ],
)
def test_affine(kind, mode, angle, translate, scale, shear, center):
    """As Pillow does it, but for its rounding."""
    args = (angle, translate, scale, shear, mode, 9, center)
    expected, got = pixels(F.affine(forms(SMOOTH)["pil"], *args)), pixels(F.affine(forms(SMOOTH)[kind], *args))
    assert got.shape == expected.shape
    assert (abs(got - expected) <= (0 if mode is InterpolationMode.NEAREST else 2)).mean() > 0.93


def test_affine_is_the_opposite_of_rotate():
    for image in forms(SMOOTH).values():
        assert np.array_equal(pixels(F.affine(image, 90, (0, 0), 1, 0)), pixels(F.rotate(image, -90)))


def test_affine_and_back():
    image = forms(SMOOTH)["tensor"].float()
    there = F.affine(image, 25, (0, 0), 1.0, 0, InterpolationMode.BILINEAR)
    back = F.affine(there, -25, (0, 0), 1.0, 0, InterpolationMode.BILINEAR)
    middle = (slice(None), slice(12, 20), slice(14, 26))
    assert (back - image)[middle].abs().max() < 12


def test_perspective():
    rows, columns = SMOOTH.shape[:2]
    corners = [[0, 0], [columns - 1, 0], [columns - 1, rows - 1], [0, rows - 1]]
    for image in forms(SMOOTH).values():
        assert abs(pixels(F.perspective(image, corners, corners)) - SMOOTH).max() <= 1
    ends = [[3, 2], [columns - 5, 1], [columns - 2, rows - 4], [1, rows - 1]]
    both = [pixels(F.perspective(forms(SMOOTH)[kind], corners, ends, fill=7)) for kind in ("pil", "tensor")]
    assert abs(both[0] - both[1])[4:-4, 5:-5].max() <= 2 and (both[1][0, 0] == 7).all()


def test_five_and_ten_crops():
    for image in forms(COLOUR).values():
        five = transforms.FiveCrop((4, 5))(image)
        for part, (top, left) in zip(five, [(0, 0), (0, 7), (5, 0), (5, 7), (2, 4)], strict=True):
            assert np.array_equal(pixels(part), COLOUR[top : top + 4, left : left + 5])
        ten = transforms.TenCrop((4, 5))(image)
        assert len(ten) == 10 and np.array_equal(pixels(ten[5]), COLOUR[:4, ::-1][:, :5])
        assert np.array_equal(pixels(transforms.TenCrop((4, 5), vertical_flip=True)(image)[5]), COLOUR[::-1][:4, :5])
    with pytest.raises(ValueError, match="bigger than input size"):
        transforms.FiveCrop(10)(rl.zeros(3, 9, 12))


# ---- at random


def test_random_resized_crop():
    image = rl.arange(20.0 * 30).view(1, 20, 30)
    crop = transforms.RandomResizedCrop((5, 6), scale=(0.1, 0.5), ratio=(0.5, 2.0))
    shares, aspects = [], []
    for _ in range(200):
        top, left, height, width = crop.get_params(image, crop.scale, crop.ratio)
        assert 0 <= top <= 20 - height and 0 <= left <= 30 - width
        shares.append(height * width / 600)
        aspects.append(width / height)
    assert min(shares) > 0.08 and max(shares) < 0.53 and 0.45 < min(aspects) < 0.7 and 1.5 < max(aspects) < 2.2
    assert crop(image).shape == (1, 5, 6) and crop(forms(COLOUR)["pil"]).size == (6, 5)
    assert crop.get_params(rl.zeros(1, 4, 100), (1.0, 1.0), (0.5, 2.0)) == (0, 46, 4, 8)
    assert crop.get_params(rl.zeros(1, 100, 4), (1.0, 1.0), (0.5, 2.0)) == (46, 0, 8, 4)


def test_random_erasing():
    image = rl.ones(3, 20, 30)
    erased = transforms.RandomErasing(p=1, value=(0.1, 0.2, 0.3))(image)
    changed = erased != 1
    assert (image == 1).all() and 0.01 < changed[0].float().mean() < 0.4
    assert np.unique(erased[changed].numpy()).tolist() == pytest.approx([0.1, 0.2, 0.3])
    rows, columns = changed[0].any(1).nonzero().flatten(), changed[0].any(0).nonzero().flatten()
    assert changed[0].sum() == (rows[-1] - rows[0] + 1) * (columns[-1] - columns[0] + 1)
    assert transforms.RandomErasing(p=1, value="random")(image).std() > 0.1
    assert transforms.RandomErasing(p=0)(image) is image
    with pytest.raises(ValueError, match=r"one per channel \(3\), got 2"):
        transforms.RandomErasing(p=1, value=(1, 2))(image)
    with pytest.raises(TypeError, match="hint: ToTensor"):
        transforms.RandomErasing(p=1)(forms(COLOUR)["pil"])


def test_colour_jitter():
    jitter = transforms.ColorJitter(brightness=0.4, contrast=(0.5, 1.5), saturation=0, hue=0.1)
    assert jitter.brightness == (0.6, 1.4) and jitter.contrast == (0.5, 1.5)
    assert jitter.saturation is None and jitter.hue == (-0.1, 0.1)
    order, brightness, contrast, saturation, hue = jitter.get_params(
        jitter.brightness, jitter.contrast, jitter.saturation, jitter.hue
    )
    assert sorted(order.tolist()) == [0, 1, 2, 3] and saturation is None
    assert 0.6 <= brightness <= 1.4 and 0.5 <= contrast <= 1.5 and -0.1 <= hue <= 0.1
    image = forms(COLOUR)["tensor"]
    rl.manual_seed(3)
    first = jitter(image)
    rl.manual_seed(3)
    assert rl.equal(jitter(image), first) and not rl.equal(jitter(image), first)
    assert transforms.ColorJitter()(image) is image
    assert jitter(forms(COLOUR)["pil"]).size == (12, 9)


RANDOM = [
    transforms.RandomGrayscale,
    transforms.RandomInvert,
    lambda p: transforms.RandomPosterize(3, p),
    lambda p: transforms.RandomSolarize(128, p),
    lambda p: transforms.RandomAdjustSharpness(2.0, p),
    transforms.RandomAutocontrast,
    transforms.RandomEqualize,
    lambda p: transforms.RandomPerspective(0.5, p),
]


@pytest.mark.parametrize("make", RANDOM)
def test_probability(make):
    for image in forms(SMOOTH).values():
        assert make(0)(image) is image
        changed = make(1)(image)
        assert not np.array_equal(pixels(changed), SMOOTH) and pixels(changed).shape == SMOOTH.shape
    sometimes, image = make(0.3), forms(SMOOTH)["tensor"]
    assert 10 < sum(sometimes(image) is not image for _ in range(100)) < 50
    assert repr(make(0.3)).startswith("Random") and "p=0.3" in repr(make(0.3))


def test_random_affine():
    affine = transforms.RandomAffine(10, translate=(0.1, 0.2), scale=(0.8, 1.2), shear=(-5, 5, -3, 3))
    for _ in range(50):
        angle, (dx, dy), scale, shear = affine.get_params(
            affine.degrees, affine.translate, affine.scale, affine.shear, (40, 32)
        )
        assert abs(angle) <= 10 and abs(dx) <= 4 and abs(dy) <= 6 and 0.8 <= scale <= 1.2
        assert abs(shear[0]) <= 5 and abs(shear[1]) <= 3
    for image in forms(SMOOTH).values():
        assert pixels(affine(image)).shape == SMOOTH.shape
    assert repr(transforms.RandomAffine(10, scale=(1, 2))) == "RandomAffine(degrees=[-10.0, 10.0], scale=(1, 2))"


def test_augmentations():
    for transform in (transforms.RandAugment(3, 12, fill=9), transforms.TrivialAugmentWide()):
        for image in forms(SMOOTH).values():
            changed = [pixels(transform(image)) for _ in range(30)]
            assert all(result.shape == SMOOTH.shape for result in changed)
            assert len({result.tobytes() for result in changed}) > 10
            assert np.array_equal(pixels(image), SMOOTH)
    first = transforms.TrivialAugmentWide()
    for change, strengths, signed in first._strengths(0.99, (32.0, 32.0), 135.0, 0.99, bits=6):
        if signed:  # the least strength changes nothing
            assert strengths[0] == 0 and abs(pixels(change(forms(SMOOTH)["tensor"], 0.0)) - SMOOTH).max() <= 1
    with pytest.raises(ValueError, match="from 0 to 30, got 31"):
        transforms.RandAugment(magnitude=31)


def test_gaussian_blur_at_random():
    blur = transforms.GaussianBlur(3, (0.5, 1.5))
    drawn = [blur.get_params(*blur.sigma) for _ in range(50)]
    assert 0.5 <= min(drawn) < 0.8 < 1.2 < max(drawn) <= 1.5
    assert pixels(blur(forms(COLOUR)["pil"])).shape == COLOUR.shape


def test_grayscale():
    assert transforms.Grayscale(3)(forms(COLOUR)["tensor"]).shape == (3, 9, 12)
    assert transforms.Grayscale()(forms(COLOUR)["pil"]).mode == "L"


@pytest.mark.parametrize(
    "make, error, text",
    [
        (lambda: F.adjust_brightness(COLOUR, -1), ValueError, "brightness_factor .* is not non-negative"),
        (lambda: F.adjust_hue(COLOUR, 0.6), ValueError, r"not in \[-0.5, 0.5\]"),
        (lambda: F.adjust_contrast(rl.zeros(4, 5, 5), 1), TypeError, "permitted channel values are 1 or 3, got 4"),
        (lambda: F.rgb_to_grayscale(COLOUR, 2), ValueError, "either 1 or 3"),
        (lambda: F.posterize(rl.zeros(3, 4, 4), 3), TypeError, "uint8"),
        (lambda: F.posterize(COLOUR, 9), ValueError, "from 0 to 8"),
        (lambda: F.gaussian_blur(COLOUR, 4), ValueError, "odd and positive"),
        (lambda: F.gaussian_blur(COLOUR, 3, -1.0), ValueError, "positive values"),
        (lambda: F.affine(COLOUR, 0, (0, 0), 0, 0), ValueError, "scale should be positive"),
        (lambda: F.perspective(COLOUR, [[0, 0]], [[0, 0]]), ValueError, "four points"),
        (lambda: F.erase(COLOUR, 0, 0, 1, 1, 0), TypeError, "hint: ToTensor"),
        (lambda: F.adjust_gamma("image", 1), TypeError, "PIL image, a Tensor or a NumPy array, got str"),
        (lambda: transforms.ColorJitter(hue=0.7), ValueError, "hue values should be between"),
        (lambda: transforms.ColorJitter(contrast=-1), ValueError, "non negative"),
        (lambda: transforms.ColorJitter(contrast="a"), TypeError, "single number"),
        (lambda: transforms.GaussianBlur(2), ValueError, "odd and positive"),
        (lambda: transforms.GaussianBlur(3, (2, 1)), ValueError, "min, max"),
        (lambda: transforms.RandomErasing(p=2), ValueError, "between 0 and 1"),
        (lambda: transforms.RandomErasing(value="black"), ValueError, "'random'"),
        (lambda: transforms.RandomResizedCrop(4, scale=0.5), TypeError, "Scale should be a sequence"),
        (lambda: transforms.RandomAffine(-1), ValueError, "must be positive"),
        (lambda: transforms.RandomAffine(1, translate=(2, 0)), ValueError, "between 0 and 1"),
    ],
)
def test_errors(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_ranges_the_wrong_way_round_warn():
    with pytest.warns(UserWarning, match="min, max"):
        transforms.RandomResizedCrop(4, ratio=(2.0, 0.5))


def test_training_pipeline():
    """What image classifiers are trained with."""
    train = transforms.Compose(
        [
            transforms.RandomResizedCrop(8),
            transforms.RandomHorizontalFlip(),
            transforms.ColorJitter(0.2, 0.2, 0.2, 0.1),
            transforms.ToTensor(),
            transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
            transforms.RandomErasing(p=0.5),
        ]
    )
    image = train(forms(SMOOTH)["pil"])
    assert image.shape == (3, 8, 8) and image.dtype == rl.float32 and math.isfinite(image.sum().item())
    assert repr(train).count("\n") == 7
