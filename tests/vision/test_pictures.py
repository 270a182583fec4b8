"""make_grid, save_image and image files."""

import io as files
import pathlib

import numpy as np
import pytest
from PIL import Image

import rushlight as rl
from rushlight.vision import io, utils


def grid_by_hand(images, nrow, padding, value):
    """In NumPy, image by image."""
    n, channels, height, width = images.shape
    columns = min(nrow, n)
    rows = -(-n // columns)
    grid = np.full(
        (channels, rows * (height + padding) + padding, columns * (width + padding) + padding), value, "float32"
    )
    for i, image in enumerate(images):
        top, left = divmod(i, columns)
        top, left = top * (height + padding) + padding, left * (width + padding) + padding
        grid[:, top : top + height, left : left + width] = image
    return grid


@pytest.mark.parametrize(
    "count, nrow, padding, value", [(6, 3, 2, 0.0), (7, 8, 0, 0.5), (5, 2, 1, 1.0), (2, 1, 3, 0.0)]
)
def test_make_grid(count, nrow, padding, value):
    images = rl.rand(count, 3, 4, 5)
    grid = utils.make_grid(images, nrow, padding, pad_value=value)
    assert np.array_equal(grid.numpy(), grid_by_hand(images.numpy(), nrow, padding, value))
    assert rl.equal(utils.make_grid(list(images), nrow, padding, pad_value=value), grid)


def test_make_grid_of_one_and_of_grey():
    image = rl.rand(3, 4, 5)
    assert rl.equal(utils.make_grid(image), image)
    grey = rl.rand(4, 5)
    assert rl.equal(utils.make_grid(grey), grey.expand(3, 4, 5))
    assert utils.make_grid(rl.rand(3, 1, 4, 4)).shape == (3, 8, 20)
    assert utils.make_grid(rl.zeros(2, 3, 4, 4, dtype=rl.uint8)).dtype == rl.uint8


def test_make_grid_normalizes():
    images = rl.tensor([[[[-1.0, 1.0]]], [[[0.0, 3.0]]]])
    grid = utils.make_grid(images, padding=0, normalize=True)
    assert grid[0, 0].tolist() == [0, 0.5, 0.25, 1]
    assert utils.make_grid(images, padding=0, normalize=True, scale_each=True)[0, 0].tolist() == [0, 1, 0, 1]
    assert utils.make_grid(images, padding=0, normalize=True, value_range=(0, 2))[0, 0].tolist() == [0, 0.5, 0, 1]
    assert images[0, 0, 0, 0] == -1  # as it was
    assert not utils.make_grid(images.requires_grad_(), normalize=True).requires_grad


def test_make_grid_errors():
    with pytest.raises(TypeError, match="tensor or list of tensors expected, got ndarray"):
        utils.make_grid(np.zeros((2, 3, 4, 4)))
    with pytest.raises(ValueError, match=r"2 to 4 dimensions, got shape \(2,\)"):
        utils.make_grid(rl.zeros(2))
    with pytest.raises(ValueError, match="normalize=True"):
        utils.make_grid(rl.zeros(2, 3, 4, 4), scale_each=True)
    with pytest.raises(TypeError, match="value_range"):
        utils.make_grid(rl.zeros(2, 3, 4, 4), normalize=True, value_range=1)


def test_save_image(tmp_path):
    images = rl.rand(4, 3, 5, 6) * 1.2 - 0.1
    utils.save_image(images, tmp_path / "a.png", nrow=2)
    expected = np.clip(grid_by_hand(images.numpy(), 2, 2, 0) * np.float32(255) + np.float32(0.5), 0, 255).astype(
        "uint8"
    )
    assert np.array_equal(np.asarray(Image.open(tmp_path / "a.png")), expected.transpose(1, 2, 0))
    buffer = files.BytesIO()
    utils.save_image(images[0], buffer, format="png")
    assert Image.open(buffer).size == (6, 5)


@pytest.mark.parametrize("mode, channels", [("L", 1), ("LA", 2), ("RGB", 3), ("RGBA", 4)])
def test_read_image(tmp_path, mode, channels):
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, channels)).astype("uint8")
    Image.fromarray(pixels[:, :, 0] if channels == 1 else pixels, mode).save(tmp_path / "a.png")
    image = io.read_image(str(tmp_path / "a.png"))
    assert image.dtype == rl.uint8 and np.array_equal(image.permute(1, 2, 0).numpy(), pixels)
    for name, wanted in (("GRAY", 1), ("gray_alpha", 2), ("RGB", 3), ("RGB_ALPHA", 4)):
        assert io.read_image(tmp_path / "a.png", name).shape == (wanted, 5, 7)
    assert io.read_image(tmp_path / "a.png", io.ImageReadMode.RGB).shape == (3, 5, 7)


def test_palettes_and_masks(tmp_path):
    Image.new("RGB", (4, 3), (9, 8, 7)).quantize(4).save(tmp_path / "p.png")
    Image.new("1", (4, 3), 1).save(tmp_path / "1.png")
    assert io.read_image(tmp_path / "p.png")[:, 0, 0].tolist() == [9, 8, 7]
    assert (io.read_image(tmp_path / "1.png") == 255).all()


def test_files(tmp_path):
    image = rl.randint(0, 256, (3, 6, 5), dtype=rl.uint8)
    io.write_png(image, tmp_path / "a.png", compression_level=1)
    assert rl.equal(io.read_image(tmp_path / "a.png"), image)
    assert rl.equal(io.decode_png(io.encode_png(image)), image)
    flat = rl.full((3, 16, 16), 100, dtype=rl.uint8)
    io.write_jpeg(flat, tmp_path / "a.jpg", quality=95)
    assert (io.decode_jpeg(io.read_file(tmp_path / "a.jpg")).int() - 100).abs().max() <= 2
    io.write_file(tmp_path / "b", io.read_file(tmp_path / "a.jpg"))
    assert pathlib.Path(tmp_path / "b").read_bytes() == pathlib.Path(tmp_path / "a.jpg").read_bytes()


def test_orientation(tmp_path):
    image = Image.new("RGB", (6, 4))
    exif = image.getexif()
    exif[0x0112] = 6  # the camera was held upright
    image.save(tmp_path / "a.jpg", exif=exif)
    assert io.read_image(tmp_path / "a.jpg").shape == (3, 4, 6)
    assert io.read_image(tmp_path / "a.jpg", apply_exif_orientation=True).shape == (3, 6, 4)


def test_errors_of_image_files(tmp_path):
    (tmp_path / "a.png").write_bytes(b"no image")
    with pytest.raises(RuntimeError, match="a.png cannot be read as an image"):
        io.read_image(tmp_path / "a.png")
    with pytest.raises(FileNotFoundError):
        io.read_image(tmp_path / "nowhere.png")
    with pytest.raises(RuntimeError, match=r"float32 of shape \(3, 4, 4\)"):
        io.encode_png(rl.zeros(3, 4, 4))
    with pytest.raises(ValueError, match="bytes of a file"):
        io.decode_image(rl.zeros(3))
    with pytest.raises(RuntimeError, match="between 0 and 9"):
        io.encode_png(rl.zeros(3, 4, 4, dtype=rl.uint8), 11)
    with pytest.raises(ValueError, match="between 1 and 100"):
        io.encode_jpeg(rl.zeros(3, 4, 4, dtype=rl.uint8), 0)
