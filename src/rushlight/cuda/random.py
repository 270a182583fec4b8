"""The functions of ``rushlight.cuda`` about random numbers, under the name of their module in PyTorch."""

from . import get_rng_state_all, manual_seed, manual_seed_all, seed, seed_all, set_rng_state, set_rng_state_all

__all__ = [
    "get_rng_state_all",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]
