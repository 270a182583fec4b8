"""Neural networks: modules, their parameters, functions, initialization."""

from .._lazy import lazily as _lazily
from . import functional, init, utils
from .modules import *
from .modules import module as _module
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

del globals()["attention"]  # of nn.modules; nn.attention is another

__getattr__, __dir__ = _lazily(__name__, globals(), {"attention": "attention"})
