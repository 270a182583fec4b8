"""Reading the samples of one batch from a dataset, by the quickest way the dataset offers."""

from __future__ import annotations

from collections.abc import Callable

from .collate import default_collate


def defined_with(cls: type, fast: str, plain: str) -> bool:
    """Whether `cls` has a method `fast` that speaks for its method `plain`.

    It does not when a subclass redefines `plain` alone: the inherited `fast` would silently skip the redefinition.
    """
    for base in cls.__mro__:
        if fast in vars(base):
            return True
        if plain in vars(base):
            return False
    return False


def fetch_list(dataset, indices) -> list:
    """The samples at `indices`, by `__getitems__` where the dataset has it."""
    if defined_with(type(dataset), "__getitems__", "__getitem__") or "__getitems__" in getattr(dataset, "__dict__", ()):
        samples = dataset.__getitems__(indices)
        if len(samples) != len(indices):
            name = type(dataset).__name__
            raise RuntimeError(f"{name}.__getitems__ was asked for {len(indices)} samples, returned {len(samples)}")
        return samples
    return [dataset[i] for i in indices]


def collated(dataset, indices):
    """The batch at `indices` as default_collate would build it, if the dataset can read it in one go; else None."""
    if defined_with(type(dataset), "_collated", "__getitem__"):
        return dataset._collated(indices)
    return None


class MapFetcher:
    """Reads from a dataset with `__getitem__`; with `batched`, keys come in lists and samples are collated."""

    def __init__(self, dataset, batched: bool, collate_fn: Callable, drop_last: bool):
        self.dataset, self.batched, self.collate_fn = dataset, batched, collate_fn
        self.try_collated = batched and collate_fn is default_collate

    def fetch(self, key):
        try:
            if not self.batched:
                return self.collate_fn(self.dataset[key])
            if self.try_collated and (batch := collated(self.dataset, key)) is not None:
                return batch
            return self.collate_fn(fetch_list(self.dataset, key))
        except StopIteration as error:
            # It would end the caller's loop without a word.
            raise RuntimeError(f"{type(self.dataset).__name__} raised StopIteration while reading {key}") from error


class IterableFetcher:
    """Reads from an iterable dataset; `fetch` raises StopIteration at the stream's end."""

    def __init__(self, dataset, batched: bool, collate_fn: Callable, drop_last: bool):
        self.batched, self.collate_fn, self.drop_last = batched, collate_fn, drop_last
        self.stream = iter(dataset)
        self.ended = False

    def fetch(self, key):
        if self.ended:
            raise StopIteration
        if not self.batched:
            return self.collate_fn(next(self.stream))
        samples = []
        for _ in key:
            try:
                samples.append(next(self.stream))
            except StopIteration:
                self.ended = True
                if not samples or self.drop_last:
                    raise
                break
        return self.collate_fn(samples)
