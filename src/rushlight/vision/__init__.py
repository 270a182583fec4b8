"""Image datasets, models and transforms, with the names scripts know from torchvision."""

from .._lazy import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import datasets, io, models, transforms, utils

__all__ = ["datasets", "io", "models", "transforms", "utils"]

__getattr__, __dir__ = lazily(__name__, globals(), {name: name for name in __all__})
