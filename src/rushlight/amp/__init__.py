"""Mixed precision: :class:`autocast` chooses dtypes, :class:`GradScaler` keeps small gradients of float16.

>>> import rushlight as rl
>>> model = rl.nn.Linear(2, 1)
>>> optimizer, scaler = rl.optim.SGD(model.parameters(), lr=0.1), rl.amp.GradScaler("cpu", 1024.0)
>>> for _ in range(3):
...     optimizer.zero_grad()
...     with rl.autocast("cpu", dtype=rl.float16):
...         loss = (model(rl.ones(4, 2)) - 1).square().mean()
...     scaler.scale(loss).backward()
...     scaler.step(optimizer)
...     scaler.update()
>>> scaler.get_scale()
1024.0
"""

from __future__ import annotations

from .autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
