"""Types that layers' arguments have in common."""

from __future__ import annotations

import rushlight as rl

Size1 = int | tuple[int]
Size2 = int | tuple[int, int]  # one number for both dimensions of an image, or one for each; Size1 and Size3 likewise
Size3 = int | tuple[int, int, int]
Device = rl.device | str | int | None
