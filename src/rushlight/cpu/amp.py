"""Mixed precision on the CPU, in older words."""

from __future__ import annotations

from .. import _C, amp


class autocast(amp.autocast):
    """``amp.autocast("cpu", ...)``."""

    def __init__(self, enabled: bool = True, dtype=_C.bfloat16, cache_enabled: bool = True):
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """``amp.GradScaler("cpu", ...)``."""

    def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
