"""A switch that goes with ``use_deterministic_algorithms``, and changes nothing."""

fill_uninitialized_memory = True
