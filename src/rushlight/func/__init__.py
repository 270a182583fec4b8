"""Functions of functions; so far ``functional_call``."""

from .._lazy import only as _only
from .functional_call import functional_call

__getattr__ = _only(__name__, "func has functional_call alone")
