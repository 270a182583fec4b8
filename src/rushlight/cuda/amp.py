"""Mixed precision on a CUDA device, of which there is none: autocast and GradScaler warn and disable themselves."""

from __future__ import annotations

import functools

from .. import _C, amp


class autocast(amp.autocast):
    """``amp.autocast("cuda", ...)``."""

    def __init__(self, enabled: bool = True, dtype=_C.float16, cache_enabled: bool = True):
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """``amp.GradScaler("cuda", ...)``."""

    def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


custom_fwd = functools.partial(amp.custom_fwd, device_type="cuda")
custom_bwd = functools.partial(amp.custom_bwd, device_type="cuda")
