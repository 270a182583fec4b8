"""Neural networks: modules, their parameters, functions, initialization."""

from .._lazy import only as _only
from . import functional, init, utils
from .modules import *
from .modules import module as _module
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__getattr__ = _only(__name__)
