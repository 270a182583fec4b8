"""Transforms as objects. Random ones draw from the global generator in torchvision's order, so seeds agree."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import rushlight
from rushlight.nn import Module
from rushlight.utils.data._utils.fetch import defined_with

from . import functional as F
from .functional import InterpolationMode

# A transform that treats all images alike may define `_batch`, the same for a stack of them (images, channels, height,
# width), which gives bit for bit what one by one would. Datasets use it to transform a whole batch at once.


def batch_form(transform) -> Callable | None:
    """The transform for a stack of images, or None where there is none, or a subclass has redefined the transform."""
    kind = type(transform)
    if not all(defined_with(kind, "_batch", plain) for plain in ("__call__", "forward") if hasattr(kind, plain)):
        return None
    if isinstance(transform, Compose):
        parts = [batch_form(part) for part in transform.transforms]
        if not parts or None in parts:
            return None
    return getattr(transform, "_batch", None)


def takes_pixels(transform) -> bool:
    """Whether it begins with ToTensor, which makes the same of a PIL image and of its pixels as a tensor."""
    while type(transform) is Compose and transform.transforms:
        transform = transform.transforms[0]
    return type(transform) is ToTensor


class Compose:
    """One transform after another.

    >>> import rushlight as rl
    >>> from rushlight.vision import transforms
    >>> transforms.Compose([transforms.ToTensor(), transforms.CenterCrop(1)])(rl.zeros(3, 3, dtype=rl.uint8)).shape
    torch.Size([1, 1, 1])
    """

    def __init__(self, transforms: Sequence[Callable]):
        self.transforms = transforms

    def __call__(self, img):
        for transform in self.transforms:
            img = transform(img)
        return img

    def _batch(self, images):
        for transform in self.transforms:
            images = transform._batch(images)
        return images

    def __repr__(self) -> str:
        return _listing(type(self).__name__, self.transforms)


class ToTensor:
    """Turns an image into a tensor (channels, height, width), bytes into numbers in [0, 1]; see functional.to_tensor.

    >>> import rushlight
    >>> from rushlight.vision.transforms import ToTensor
    >>> ToTensor()(rushlight.tensor([[0, 255]], dtype=rushlight.uint8))
    tensor([[[0., 1.]]])
    """

    def __call__(self, pic):
        return F.to_tensor(pic)

    def _batch(self, images):
        return F.bytes_to_unit(images)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class PILToTensor:
    """Turns a PIL image into a tensor (channels, height, width) of its own dtype."""

    def __call__(self, pic):
        return F.pil_to_tensor(pic)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ToPILImage:
    """Turns a tensor (channels, height, width) or an array (height, width, channels) into a PIL image."""

    def __init__(self, mode: str | None = None):
        self.mode = mode

    def __call__(self, pic):
        return F.to_pil_image(pic, self.mode)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.mode is None else f'mode={self.mode}'})"


class Lambda:
    """Applies a function of yours. With workers that are spawned it must be picklable: not a lambda.

    >>> import rushlight as rl
    >>> from rushlight.vision import transforms
    >>> transforms.Lambda(lambda image: image + 1)(rl.zeros(2))
    tensor([1., 1.])
    """

    def __init__(self, lambd: Callable):
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__}")
        self.lambd = lambd

    def __call__(self, img):
        return self.lambd(img)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _Transform(Module):
    """Prints itself on one line, by `extra_repr`."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.extra_repr()})"


class Normalize(_Transform):
    """(image - mean) / std for each channel of a floating point tensor (..., channels, height, width).

    Raises:
        TypeError: integers, or no tensor.
        ValueError: a std of 0, or a wrong number of values.

    >>> import rushlight as rl
    >>> from rushlight.vision import transforms
    >>> transforms.Normalize([0.5], [0.25])(rl.ones(1, 1, 2))
    tensor([[[2., 2.]]])
    """

    def __init__(self, mean: Sequence[float] | float, std: Sequence[float] | float, inplace: bool = False):
        super().__init__()
        self.mean = mean
        self.std = std
        self.inplace = inplace
        # mean and std as tensors, and for what they are: dtype, device, channels, and the values they were made of.
        self._made: tuple | None = None

    def forward(self, tensor):
        if not isinstance(tensor, rushlight.Tensor):
            return F.normalize(tensor, self.mean, self.std)  # which says what is wrong
        made = self._made
        wanted = (tensor.dtype, tensor.device, tensor.shape[-3] if tensor.ndim >= 3 else 0, self.mean, self.std)
        if made is None or made[0] != wanted:
            made = self._made = wanted, *F.as_statistics(tensor, self.mean, self.std)
        _, mean, std = made
        return tensor.sub_(mean).div_(std) if self.inplace else (tensor - mean).div_(std)

    def _batch(self, images):
        return self.forward(images)

    def extra_repr(self) -> str:
        return f"mean={self.mean}, std={self.std}"


class Resize(_Transform):
    """Resizes to (height, width), or the shorter side to one number; see functional.resize."""

    def __init__(
        self,
        size: int | Sequence[int],
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ):
        super().__init__()
        self.size, self.interpolation, self.max_size, self.antialias = size, interpolation, max_size, antialias

    def forward(self, img):
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)

    def extra_repr(self) -> str:
        return f"size={self.size}, interpolation={_name(self.interpolation)}, max_size={self.max_size}"


class CenterCrop(_Transform):
    """The middle of an image.

    >>> import rushlight as rl
    >>> from rushlight.vision import transforms
    >>> transforms.CenterCrop(1)(rl.arange(9).view(3, 3))
    tensor([[4]])
    """

    def __init__(self, size: int | Sequence[int]):
        super().__init__()
        self.size = F.size_pair(size)

    def forward(self, img):
        return F.center_crop(img, self.size)

    def extra_repr(self) -> str:
        return f"size={self.size}"


class Pad(_Transform):
    """Adds a border; see functional.pad.

    >>> import rushlight as rl
    >>> from rushlight.vision import transforms
    >>> transforms.Pad((1, 0))(rl.ones(1, 2))
    tensor([[0., 1., 1., 0.]])
    """

    def __init__(self, padding: int | Sequence[int], fill: float | Sequence[float] = 0, padding_mode: str = "constant"):
        super().__init__()
        self.padding, self.fill, self.padding_mode = padding, fill, padding_mode

    def forward(self, img):
        return F.pad(img, self.padding, self.fill, self.padding_mode)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, fill={self.fill}, padding_mode={self.padding_mode}"


class RandomCrop(_Transform):
    """A rectangle of the given size at a random place.

    Args:
        size: (height, width), or one number for both.
        padding: a border added first, as in functional.pad.
        pad_if_needed: enlarges an image that is too small, on both sides, instead of raising ValueError.
        fill, padding_mode: the border, as in functional.pad.

    >>> import rushlight as rl
    >>> from rushlight.vision import transforms
    >>> transforms.RandomCrop(4)(rl.zeros(3, 8, 8)).shape
    torch.Size([3, 4, 4])
    """

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: float | Sequence[float] = 0,
        padding_mode: str = "constant",
    ):
        super().__init__()
        self.size = F.size_pair(size)
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    @staticmethod
    def get_params(img, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Draws (top, left, height, width)."""
        _, rows, columns = F.get_dimensions(img)
        height, width = output_size
        if rows < height or columns < width:
            raise ValueError(
                f"Required crop size {(height, width)} is larger than input image size {(rows, columns)}\n"
                "  hint: pad_if_needed=True, or padding"
            )
        if (rows, columns) == (height, width):
            return 0, 0, rows, columns
        top = int(rushlight.randint(0, rows - height + 1, size=(1,)).item())
        left = int(rushlight.randint(0, columns - width + 1, size=(1,)).item())
        return top, left, height, width

    def forward(self, img):
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        if self.pad_if_needed:
            height, width = self.size
            _, rows, columns = F.get_dimensions(img)
            if columns < width:
                img = F.pad(img, [width - columns, 0], self.fill, self.padding_mode)
            if rows < height:
                img = F.pad(img, [0, height - rows], self.fill, self.padding_mode)
        return F.crop(img, *self.get_params(img, self.size))

    def extra_repr(self) -> str:
        return f"size={self.size}, padding={self.padding}"


class RandomHorizontalFlip(_Transform):
    """Mirrors left and right with probability `p`.

    >>> import rushlight as rl
    >>> from rushlight.vision import transforms
    >>> transforms.RandomHorizontalFlip(p=1)(rl.tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
    """

    def __init__(self, p: float = 0.5):
        super().__init__()
        self.p = p

    def forward(self, img):
        return F.hflip(img) if rushlight.rand(1).item() < self.p else img

    def extra_repr(self) -> str:
        return f"p={self.p}"


class RandomVerticalFlip(RandomHorizontalFlip):
    """Mirrors top and bottom with probability `p`.

    >>> import rushlight as rl
    >>> from rushlight.vision import transforms
    >>> transforms.RandomVerticalFlip(p=1)(rl.tensor([[1, 2], [3, 4]]))
    tensor([[3, 4],
            [1, 2]])
    """

    def forward(self, img):
        return F.vflip(img) if rushlight.rand(1).item() < self.p else img


class RandomRotation(_Transform):
    """Rotates by an angle drawn from `degrees`: (least, most), or one number for (-degrees, +degrees).

    The other arguments are functional.rotate's.

    >>> import rushlight as rl
    >>> from rushlight.vision import transforms
    >>> transforms.RandomRotation((90, 90))(rl.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        interpolation: InterpolationMode = InterpolationMode.NEAREST,
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill: float | Sequence[float] | None = 0,
    ):
        super().__init__()
        if not isinstance(degrees, Sequence):
            if degrees < 0:
                raise ValueError("If degrees is a single number, it must be positive.")
            degrees = (-degrees, degrees)
        if len(degrees) != 2:
            raise ValueError(f"degrees should be a number or a sequence of two, got {degrees}")
        if center is not None and len(center) != 2:
            raise ValueError(f"center should be a sequence of two, got {center}")
        self.degrees = [float(degree) for degree in degrees]
        self.interpolation = interpolation
        self.expand = expand
        self.center = center
        self.fill = fill

    @staticmethod
    def get_params(degrees: Sequence[float]) -> float:
        """Draws the angle."""
        return float(rushlight.empty(1).uniform_(float(degrees[0]), float(degrees[1])).item())

    def forward(self, img):
        angle = self.get_params(self.degrees)
        return F.rotate(img, angle, self.interpolation, self.expand, self.center, self.fill)

    def extra_repr(self) -> str:
        text = f"degrees={self.degrees}, interpolation={_name(self.interpolation)}, expand={self.expand}"
        if self.center is not None:
            text += f", center={self.center}"
        return text + (f", fill={self.fill}" if self.fill is not None else "")


class RandomApply(Module):
    """Applies all the transforms with probability `p`, else none.

    >>> import rushlight as rl
    >>> from rushlight.vision import transforms
    >>> transforms.RandomApply([transforms.Pad(1)], p=0)(rl.ones(2, 2)).shape
    torch.Size([2, 2])
    """

    def __init__(self, transforms: Sequence[Callable], p: float = 0.5):
        super().__init__()
        self.transforms = transforms
        self.p = p

    def forward(self, img):
        if self.p < rushlight.rand(1).item():
            return img
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        return _listing(type(self).__name__, [f"p={self.p}", *self.transforms])


class RandomOrder:
    """Applies the transforms in a random order, drawn from Python's `random` as in torchvision.

    >>> import rushlight as rl
    >>> from rushlight.vision import transforms
    >>> transforms.RandomOrder([transforms.Pad(1), transforms.CenterCrop(2)])(rl.ones(3, 3)).ndim
    2
    """

    def __init__(self, transforms: Sequence[Callable]):
        self.transforms = transforms

    def __call__(self, img):
        order = list(range(len(self.transforms)))
        random.shuffle(order)
        for i in order:
            img = self.transforms[i](img)
        return img

    __repr__ = Compose.__repr__


class RandomChoice:
    """Applies one of the transforms, drawn from Python's `random` as in torchvision, with weights `p` if given.

    >>> import rushlight as rl
    >>> from rushlight.vision import transforms
    >>> transforms.RandomChoice([transforms.CenterCrop(1), transforms.CenterCrop(2)], p=[0, 1])(rl.ones(3, 3)).shape
    torch.Size([2, 2])
    """

    def __init__(self, transforms: Sequence[Callable], p: Sequence[float] | None = None):
        if p is not None and len(p) != len(transforms):
            raise ValueError(f"p has {len(p)} weights for {len(transforms)} transforms")
        self.transforms = transforms
        self.p = p

    def __call__(self, img):
        return random.choices(self.transforms, self.p)[0](img)

    __repr__ = Compose.__repr__


def _name(interpolation) -> str:
    return getattr(interpolation, "value", interpolation)


def _listing(name: str, parts: Sequence) -> str:
    return "\n".join([f"{name}(", *("    " + str(part).replace("\n", "\n    ") for part in parts), ")"])
