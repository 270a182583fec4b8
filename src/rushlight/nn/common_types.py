"""Types that layers' arguments have in common."""

from __future__ import annotations

import rushlight as rl

Size2 = int | tuple[int, int]  # one number for both dimensions of an image, or one for each
Device = rl.device | str | int | None
