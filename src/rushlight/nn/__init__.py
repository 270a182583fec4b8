"""Neural networks: modules, their parameters, functions, initialization."""

from . import functional, init, utils
from .modules import *
from .modules import module as _module
from .parameter import Buffer, Parameter, UninitializedParameter
