"""The profiler: what runs, when, how long, with which shapes and how much memory.

>>> import rushlight as rl
>>> from rushlight.profiler import profile, record_function, ProfilerActivity
>>> model, x = rl.nn.Linear(3, 2), rl.ones(4, 3)
>>> with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
...     with record_function("forward"):
...         y = model(x)
...     y.sum().backward()
>>> print(prof.key_averages().table(sort_by="cpu_time_total", row_limit=5))  # doctest: +ELLIPSIS
---...
"""

from __future__ import annotations

from .._lazy import only
from ..autograd.profiler import DeviceType, kineto_available, record_function
from .profiler import (
    ProfilerAction,
    ProfilerActivity,
    _ExperimentalConfig,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = [
    "DeviceType",
    "ProfilerAction",
    "ProfilerActivity",
    "_ExperimentalConfig",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]

__getattr__ = only(__name__)
