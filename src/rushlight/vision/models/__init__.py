"""Models that classify images, with torchvision's names of parameters."""

from ..._lazy import only as _only
from . import alexnet as _alexnet
from . import mobilenetv2, resnet
from . import vgg as _vgg
from ._registry import get_model, get_model_builder, list_models, register_model
from ._weights import Weights, WeightsEnum
from .alexnet import *
from .mobilenetv2 import *
from .resnet import *
from .vgg import *

__all__ = ["Weights", "WeightsEnum", "get_model", "get_model_builder", "list_models", "register_model"]
__all__ += _alexnet.__all__ + mobilenetv2.__all__ + resnet.__all__ + _vgg.__all__

__getattr__ = _only(__name__)
