"""Optimizers, and schedules for their learning rates."""

from .._lazy import only as _only
from . import lr_scheduler
from .adam import Adam, AdamW
from .optimizer import Optimizer, register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from .sgd import SGD

__getattr__ = _only(__name__)
