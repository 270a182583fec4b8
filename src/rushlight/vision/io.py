"""Images in files, as tensors (channels, height, width) of uint8. Pillow decodes and encodes them."""

from __future__ import annotations

import os
from enum import Enum
from typing import Any

import rushlight
from rushlight import Tensor
from rushlight._lazy import only as _only
from rushlight.vision.transforms.functional import pil_to_tensor, pillow, to_pil_image

__all__ = [
    "ImageReadMode",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "encode_jpeg",
    "encode_png",
    "read_file",
    "read_image",
    "write_file",
    "write_jpeg",
    "write_png",
]


class ImageReadMode(Enum):
    """Which channels an image is read with."""

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4


_PIL_MODES = {
    ImageReadMode.GRAY: "L",
    ImageReadMode.GRAY_ALPHA: "LA",
    ImageReadMode.RGB: "RGB",
    ImageReadMode.RGB_ALPHA: "RGBA",
}
_KEPT = ("L", "LA", "RGB", "RGBA", "I;16")  # what UNCHANGED leaves as it is; palettes and the like are converted


def read_file(path: str | os.PathLike) -> Tensor:
    """A file's bytes as a tensor of uint8."""
    with open(path, "rb") as file:
        content = bytearray(file.read())
    if not content:
        return rushlight.empty(0, dtype=rushlight.uint8)
    return rushlight.frombuffer(content, dtype=rushlight.uint8)


def write_file(filename: str | os.PathLike, data: Tensor) -> None:
    """Writes a tensor of uint8 of one dimension as a file."""
    with open(filename, "wb") as file:
        file.write(_bytes(data))


def _bytes(data: Tensor) -> bytes:
    if not isinstance(data, Tensor) or data.dtype != rushlight.uint8 or data.ndim != 1:
        what = f"{data.dtype} of shape {tuple(data.shape)}" if isinstance(data, Tensor) else type(data).__name__
        raise ValueError(f"expected the bytes of a file as a tensor of uint8 of one dimension, got {what}")
    return data.cpu().numpy().tobytes()


def decode_image(
    input: Tensor | str | os.PathLike,
    mode: ImageReadMode | str = ImageReadMode.UNCHANGED,
    apply_exif_orientation: bool = False,
) -> Tensor:
    """An image from a file's name, or from its bytes as a tensor, as a tensor (channels, height, width).

    Args:
        mode: which channels to read: "UNCHANGED", "GRAY", "GRAY_ALPHA", "RGB", "RGB_ALPHA".
        apply_exif_orientation: turns the image as the camera was held.

    Raises:
        RuntimeError: not an image, or one that is damaged.
    """
    mode = ImageReadMode[mode.upper()] if isinstance(mode, str) else mode
    image_module = pillow("reading an image")
    import io

    source: Any = io.BytesIO(_bytes(input)) if isinstance(input, Tensor) else os.fspath(input)
    try:
        with image_module.open(source) as image:
            image.load()
            if apply_exif_orientation:
                from PIL import ImageOps

                image = ImageOps.exif_transpose(image)
            if mode is not ImageReadMode.UNCHANGED:
                image = image.convert(_PIL_MODES[mode])
            elif image.mode not in _KEPT:
                image = image.convert("RGBA" if "transparency" in image.info else "L" if image.mode == "1" else "RGB")
            return pil_to_tensor(image)
    except FileNotFoundError:
        raise
    except (OSError, SyntaxError, ValueError) as error:  # Pillow reports damage by any of these
        name = "the data" if isinstance(input, Tensor) else source
        raise RuntimeError(f"{name} cannot be read as an image: {error}") from error


def read_image(
    path: str | os.PathLike,
    mode: ImageReadMode | str = ImageReadMode.UNCHANGED,
    apply_exif_orientation: bool = False,
) -> Tensor:
    """The image in a file as a tensor (channels, height, width) of uint8; see decode_image.

    >>> import rushlight as rl
    >>> from rushlight.vision import io
    >>> io.write_png(rl.zeros(3, 4, 5, dtype=rl.uint8), "black.png")
    >>> io.read_image("black.png", io.ImageReadMode.GRAY).shape
    torch.Size([1, 4, 5])
    """
    return decode_image(os.fspath(path), mode, apply_exif_orientation)


decode_jpeg = decode_png = decode_image


def _encode(input: Tensor, **options: Any) -> Tensor:
    if (
        not isinstance(input, Tensor)
        or input.dtype != rushlight.uint8
        or input.ndim != 3
        or input.shape[0] not in (1, 3)
    ):
        what = f"{input.dtype} of shape {tuple(input.shape)}" if isinstance(input, Tensor) else type(input).__name__
        raise RuntimeError(f"expected an image as a tensor of uint8 of shape (1 or 3, height, width), got {what}")
    import io

    file = io.BytesIO()
    to_pil_image(input).save(file, **options)
    return rushlight.frombuffer(bytearray(file.getvalue()), dtype=rushlight.uint8)


def encode_png(input: Tensor, compression_level: int = 6) -> Tensor:
    """The bytes of a PNG file; `compression_level` from 0 to 9."""
    if not 0 <= compression_level <= 9:
        raise RuntimeError(f"Compression level should be between 0 and 9, got {compression_level}")
    return _encode(input, format="PNG", compress_level=compression_level)


def encode_jpeg(input: Tensor, quality: int = 75) -> Tensor:
    """The bytes of a JPEG file; `quality` from 1 to 100."""
    if not 1 <= quality <= 100:
        raise ValueError(f"Image quality should be a positive number between 1 and 100, got {quality}")
    return _encode(input, format="JPEG", quality=quality)


def write_png(input: Tensor, filename: str | os.PathLike, compression_level: int = 6) -> None:
    """Writes an image (1 or 3, height, width) of uint8 as a PNG file."""
    write_file(filename, encode_png(input, compression_level))


def write_jpeg(input: Tensor, filename: str | os.PathLike, quality: int = 75) -> None:
    """Writes an image (1 or 3, height, width) of uint8 as a JPEG file."""
    write_file(filename, encode_jpeg(input, quality))


__getattr__ = _only(__name__)
