"""What an image is, and turning one kind into another."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from enum import Enum

import rushlight
from rushlight import Tensor


class InterpolationMode(Enum):
    """How pixels between pixels are made."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


# --- Kinds of images -------------------------------------------------------------------------------------------------


def is_pil(image) -> bool:
    """Whether it is a PIL image; Pillow is not loaded to find out."""
    pil = sys.modules.get("PIL.Image")
    return pil is not None and isinstance(image, pil.Image)


def is_array(image) -> bool:
    """Whether it is a NumPy array; NumPy is not loaded to find out."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(image, numpy.ndarray)


def pillow(purpose: str):
    """The module PIL.Image."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(f"{purpose} needs Pillow\n  hint: pip install 'rushlight[vision]'") from error
    return Image


def by_kind(image, on_pil: Callable, on_tensor: Callable):
    """Runs the form of a function that fits the image; arrays go through the one for tensors."""
    if is_pil(image):
        return on_pil(image)
    if isinstance(image, Tensor):
        if image.ndim < 2:
            raise TypeError(f"expected an image tensor of shape (..., height, width), got shape {tuple(image.shape)}")
        return on_tensor(image)
    if is_array(image):
        result = on_tensor(_tensor_of_array(image))
        return (result.movedim(0, -1) if result.ndim == 3 else result).numpy()
    raise TypeError(f"expected a PIL image, a Tensor or a NumPy array, got {type(image).__name__}")


def _tensor_of_array(array) -> Tensor:
    """A tensor (channels, height, width) or (height, width) on the memory of an array, where its strides allow."""
    if array.ndim not in (2, 3):
        raise ValueError(f"an image array has 2 or 3 dimensions, this one has shape {array.shape}")
    tensor = rushlight.as_tensor(array)
    return tensor.movedim(-1, 0) if array.ndim == 3 else tensor


def get_dimensions(image) -> list[int]:
    """[channels, height, width].

    >>> import rushlight as rl
    >>> from rushlight.vision.transforms import functional
    >>> functional.get_dimensions(rl.zeros(3, 8, 9))
    [3, 8, 9]
    """
    if is_pil(image):
        return [len(image.getbands()), image.height, image.width]
    if is_array(image):
        return [image.shape[2] if image.ndim == 3 else 1, image.shape[0], image.shape[1]]
    if isinstance(image, Tensor) and image.ndim >= 2:
        return [image.shape[-3] if image.ndim > 2 else 1, image.shape[-2], image.shape[-1]]
    raise TypeError(f"expected a PIL image, a Tensor or a NumPy array, got {type(image).__name__}")


def get_image_size(image) -> list[int]:
    """[width, height].

    >>> import rushlight as rl
    >>> from rushlight.vision.transforms import functional
    >>> functional.get_image_size(rl.zeros(3, 8, 9))
    [9, 8]
    """
    _, height, width = get_dimensions(image)
    return [width, height]


def get_image_num_channels(image) -> int:
    """How many channels an image has."""
    return get_dimensions(image)[0]


# --- To and from tensors ---------------------------------------------------------------------------------------------


def to_tensor(pic) -> Tensor:
    """An image as a tensor (channels, height, width); bytes become numbers of the default dtype in [0, 1].

    Takes a PIL image, an array (height, width) or (height, width, channels), or a tensor (height, width) or
    (channels, height, width). Of other dtypes than uint8 the values stay as they are.

    Raises:
        TypeError: for what is no image.
        ValueError: not two or three dimensions.

    >>> import rushlight as rl
    >>> from rushlight.vision.transforms import functional
    >>> functional.to_tensor(rl.tensor([[0, 255]], dtype=rl.uint8))
    tensor([[[0., 1.]]])
    """
    if isinstance(pic, Tensor):
        if pic.ndim not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
        tensor = pic if pic.ndim == 3 else pic.unsqueeze(0)
    elif is_pil(pic):
        tensor = pil_to_tensor(pic)
        if pic.mode == "1":
            return tensor.to(rushlight.get_default_dtype())
    elif is_array(pic):
        if pic.ndim not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
        tensor = _tensor_of_array(pic)
        tensor = (tensor if pic.ndim == 3 else tensor.unsqueeze(0)).contiguous()
    else:
        raise TypeError(f"pic should be PIL Image, ndarray or Tensor. Got {type(pic)}")
    return bytes_to_unit(tensor)


def bytes_to_unit(tensor: Tensor) -> Tensor:
    """uint8 as numbers of the default dtype in [0, 1]; other dtypes as they are."""
    if tensor.dtype == rushlight.uint8:
        return tensor.to(rushlight.get_default_dtype()).div_(255)
    return tensor


_PIL_DTYPES = {"I": "int32", "F": "float32", "I;16": "uint16", "I;16L": "uint16", "1": "bool"}


def pil_to_tensor(pic) -> Tensor:
    """A PIL image as a tensor (channels, height, width) of its own dtype: uint8 for most modes."""
    if not is_pil(pic):
        raise TypeError(f"pic should be PIL Image. Got {type(pic)}")
    if pic.mode == "P":
        content, dtype, bands = pic.tobytes(), "uint8", 1
    elif pic.mode == "1":  # packed eight to a byte
        content, dtype, bands = pic.convert("L").point(bool).tobytes(), "bool", 1
    else:
        content, dtype, bands = pic.tobytes(), _PIL_DTYPES.get(pic.mode, "uint8"), len(pic.getbands())
    if pic.width == 0 or pic.height == 0:
        return rushlight.empty((bands, pic.height, pic.width), dtype=getattr(rushlight, dtype))
    # A bytearray, since bytes must not be written to.
    flat = rushlight.frombuffer(bytearray(content), dtype=getattr(rushlight, dtype))
    if bands == 1:
        return flat.view(1, pic.height, pic.width)
    return flat.view(pic.height, pic.width, bands).permute(2, 0, 1).contiguous()


def to_pil_image(pic, mode: str | None = None):
    """A tensor (channels, height, width) or (height, width), or an array, as a PIL image.

    Floating point tensors are taken as numbers in [0, 1], unless `mode` is "F". Without `mode` it follows from the
    number of channels and the dtype: L, LA, RGB, RGBA, I;16, I or F.
    """
    image_module = pillow("to_pil_image")
    if isinstance(pic, Tensor):
        if pic.ndim == 2:
            pic = pic.unsqueeze(0)
        if pic.ndim != 3:
            raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
        if pic.is_floating_point() and mode != "F":
            pic = pic.mul(255).to(rushlight.uint8)
        array = pic.permute(1, 2, 0).cpu().numpy()
    elif is_array(pic):
        if pic.ndim not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
        array = pic if pic.ndim == 3 else pic[:, :, None]
    else:
        raise TypeError(f"pic should be Tensor or ndarray. Got {type(pic)}.")
    channels = array.shape[2]
    if channels not in (1, 2, 3, 4):
        raise ValueError(f"pic should have 1 to 4 channels. Got {channels} channels.")
    by_dtype = {"uint8": "L", "int16": "I;16", "uint16": "I;16", "int32": "I", "float32": "F", "bool": "1"}
    natural = by_dtype.get(str(array.dtype)) if channels == 1 else {2: "LA", 3: "RGB", 4: "RGBA"}[channels]
    if natural is None or (channels > 1 and array.dtype != "uint8"):
        raise TypeError(f"Input type {array.dtype} with {channels} channels is not supported")
    if natural == "1":
        array = array.astype("uint8") * 255
        natural = "L"
    if channels == 1:
        image = image_module.fromarray(array[:, :, 0])
    else:
        image = image_module.frombytes(natural, (array.shape[1], array.shape[0]), array.tobytes())
    return image if mode is None or mode == image.mode else image.convert(mode)


def normalize(tensor: Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> Tensor:
    """(tensor - mean) / std, for each channel of a floating point tensor (..., channels, height, width).

    Raises:
        TypeError: integers, or no tensor.
        ValueError: a std of 0, or a wrong number of values.

    >>> import rushlight as rl
    >>> from rushlight.vision.transforms import functional
    >>> functional.normalize(rl.ones(1, 1, 2), [0.5], [0.25])
    tensor([[[2., 2.]]])
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(tensor)}\n  hint: ToTensor comes before Normalize")
    centre, scale = as_statistics(tensor, mean, std)
    return tensor.sub_(centre).div_(scale) if inplace else (tensor - centre).div_(scale)


def as_statistics(tensor: Tensor, mean, std) -> tuple[Tensor, Tensor]:
    """Mean and std as tensors that broadcast over the image, once they fit it."""
    if not tensor.is_floating_point():
        raise TypeError(
            f"Input tensor should be a float tensor. Got {tensor.dtype}.\n  hint: ToTensor comes before Normalize"
        )
    if tensor.ndim < 3:
        raise ValueError(
            f"Expected tensor to be a tensor image of size (..., C, H, W). Got tensor.size() = {tuple(tensor.shape)}"
        )
    mean = rushlight.as_tensor(mean, dtype=tensor.dtype, device=tensor.device)
    std = rushlight.as_tensor(std, dtype=tensor.dtype, device=tensor.device)
    if (std == 0).any().item():
        raise ValueError(f"std evaluated to zero after conversion to {tensor.dtype}, leading to division by zero.")
    for name, values in (("mean", mean), ("std", std)):
        if values.ndim > 1 or values.numel() not in (1, tensor.shape[-3]):
            raise ValueError(
                f"{name} has {values.numel()} values for an image of {tensor.shape[-3]} channels "
                f"(shape {tuple(tensor.shape)})\n  hint: give one value per channel, or one for all"
            )
    return mean.view(-1, 1, 1), std.view(-1, 1, 1)


def filled(image: Tensor, shape: tuple, fill) -> Tensor:
    """A tensor of one colour, of the image's dtype."""
    if not isinstance(fill, Sequence):
        return image.new_full(shape, 0 if fill is None else fill)
    if len(fill) not in (1, image.shape[-3] if image.ndim > 2 else 1):
        raise ValueError(f"fill has {len(fill)} values for an image of shape {tuple(image.shape)}")
    colour = rushlight.tensor(list(fill), dtype=image.dtype, device=image.device).view(-1, 1, 1)
    return (colour if image.ndim > 2 else colour[0]).expand(shape).clone()


def colour(image, fill):
    """`fill` as Pillow takes it for a PIL image: a number, or one for each band."""
    if fill is None:
        return None
    bands = tuple(fill) if isinstance(fill, Sequence) else (fill,) * len(image.getbands())
    return bands[0] if len(bands) == 1 else bands


def resampling(mode):
    names = {"nearest-exact": "NEAREST"}
    mode = InterpolationMode(mode) if isinstance(mode, str) else mode
    if not isinstance(mode, InterpolationMode):
        return mode  # one of Pillow's own constants
    return getattr(sys.modules["PIL.Image"].Resampling, names.get(mode.value, mode.value.upper()))


def size_pair(size: int | Sequence[int]) -> tuple[int, int]:
    """(height, width) from one number or two."""
    values = list(size) if isinstance(size, Sequence) else [size]
    if len(values) not in (1, 2):
        raise ValueError(f"Please provide only two dimensions (h, w) for size; got {size}")
    return int(values[0]), int(values[-1])
