"""Batches of sequences of different lengths: padded to the longest one, or packed without padding."""

from __future__ import annotations

from collections import namedtuple

import rushlight as rl

from ... import Tensor

PackedSequence_ = namedtuple("PackedSequence_", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])


class PackedSequence(PackedSequence_):
    """Sequences of different lengths, step by step: all first elements, then all second ones, and so on.

    Recurrent layers take and return it. ``pack_padded_sequence`` and ``pack_sequence`` make it.

    Attributes:
        data: (sum of lengths, *). The sequences lie in it sorted by length, the longest first.
        batch_sizes: how many sequences reach each step, int64, on the CPU.
        sorted_indices: where each of the sorted sequences stood before, or None if they were sorted.
        unsorted_indices: the inverse of that permutation.

    Raises:
        ValueError: ``batch_sizes`` is not on the CPU.

    Example:
        >>> import rushlight as rl
        >>> p = rl.nn.utils.rnn.pack_sequence([rl.tensor([1, 2, 3]), rl.tensor([4, 5])])
        >>> p.data, p.batch_sizes
        (tensor([1, 4, 2, 5, 3]), tensor([2, 2, 1]))
    """

    __slots__ = ()

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError(
                    f"PackedSequence: without batch_sizes, data must be a pair (data, batch_sizes), "
                    f"got {type(data).__name__}\n  hint: pack_sequence() makes one of a list of tensors"
                )
            data, batch_sizes = data
        if not batch_sizes.is_cpu:
            raise ValueError(f"PackedSequence: batch_sizes must be on the CPU, but is on {batch_sizes.device}")
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs) -> PackedSequence:
        """With the data on another device or of another dtype; arguments as for ``Tensor.to``."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = [None if i is None else i.to(data.device) for i in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(data, self.batch_sizes, *indices)

    def cpu(self, *args, **kwargs) -> PackedSequence:
        """On the CPU."""
        return self.to(*args, device="cpu", **kwargs)

    def cuda(self, *args, **kwargs) -> PackedSequence:
        """On a GPU."""
        return self.to(*args, device="cuda", **kwargs)

    def pin_memory(self) -> PackedSequence:
        """With the data in page-locked memory."""
        indices = [None if i is None else i.pin_memory() for i in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(self.data.pin_memory(), self.batch_sizes, *indices)

    def double(self) -> PackedSequence:
        """In float64."""
        return self.to(rl.float64)

    def float(self) -> PackedSequence:
        """In float32."""
        return self.to(rl.float32)

    def half(self) -> PackedSequence:
        """In float16."""
        return self.to(rl.float16)

    def long(self) -> PackedSequence:
        """In int64."""
        return self.to(rl.int64)

    def int(self) -> PackedSequence:
        """In int32."""
        return self.to(rl.int32)

    def short(self) -> PackedSequence:
        """In int16."""
        return self.to(rl.int16)

    def char(self) -> PackedSequence:
        """In int8."""
        return self.to(rl.int8)

    def byte(self) -> PackedSequence:
        """In uint8."""
        return self.to(rl.uint8)

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a GPU."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the data is in page-locked memory."""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes the one given; None for None.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.utils.rnn.invert_permutation(rl.tensor([2, 0, 1]))
        tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    result = rl.empty_like(permutation)
    result[permutation] = rl.arange(permutation.numel(), device=permutation.device)
    return result


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | list[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs a padded batch, leaving the padding out.

    Args:
        input: (L, N, *), or (N, L, *) with ``batch_first``.
        lengths: of the N sequences, from 1 to L.
        enforce_sorted: the sequences must come sorted, the longest first. Otherwise they are sorted here, and
            ``pad_packed_sequence`` restores their order.

    Raises:
        RuntimeError: lengths are not as many as sequences, not sorted, not above 0, or over L.

    Example:
        >>> import rushlight as rl
        >>> x = rl.tensor([[1, 2, 0], [3, 0, 0], [4, 5, 6]])
        >>> packed = rl.nn.utils.rnn.pack_padded_sequence(x, [2, 1, 3], batch_first=True, enforce_sorted=False)
        >>> packed.data, packed.batch_sizes
        (tensor([4, 1, 3, 5, 2, 6]), tensor([3, 2, 1]))
    """
    lengths = rl.as_tensor(lengths, dtype=rl.int64)
    if lengths.dim() != 1 or not lengths.is_cpu:
        raise RuntimeError(
            f"pack_padded_sequence: lengths must be one-dimensional and on the CPU, got shape {tuple(lengths.shape)} "
            f"on {lengths.device}"
        )
    if batch_first:
        input = input.transpose(0, 1)
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = lengths.sort(descending=True)
        sorted_indices = sorted_indices.to(input.device)
    longest = _check_lengths(input, lengths)
    if sorted_indices is not None:
        input = input.index_select(1, sorted_indices)
    real = rl.arange(longest).unsqueeze(1) < lengths
    return PackedSequence(input[:longest][real], real.sum(1), sorted_indices, None)


def _check_lengths(input, lengths):
    """The largest of the lengths."""
    steps, batch = input.shape[0], input.size(1)
    if lengths.numel() != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {lengths.numel()} (batch_size={batch})\n"
            "  hint: the batch is the second dimension, or the first with batch_first=True"
        )
    if batch == 0 or steps == 0:
        raise RuntimeError(f"Cannot pack empty tensors: got {steps} steps of {batch} sequences")
    values = lengths.tolist()
    if any(a < b for a, b in zip(values, values[1:], strict=False)):
        raise RuntimeError(
            f"`lengths` must be sorted in decreasing order, got {values}\n"
            "  hint: pass enforce_sorted=False to have the sequences sorted, and their order restored afterwards"
        )
    if values[-1] <= 0:
        raise RuntimeError(f"Length of all samples has to be greater than 0, but the shortest is {values[-1]}")
    if values[0] > steps:
        raise RuntimeError(f"pack_padded_sequence: a length is {values[0]}, but there are {steps} steps")
    return values[0]


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The inverse of ``pack_padded_sequence``.

    Args:
        sequence: what a recurrent layer returned for packed input.
        total_length: pad up to that length instead of to the longest sequence.

    Returns:
        The padded batch, (L, N, *) or (N, L, *), and the lengths.

    Raises:
        ValueError: ``total_length`` is less than the longest length.

    Example:
        >>> import rushlight as rl
        >>> packed = rl.nn.utils.rnn.pack_sequence([rl.tensor([1, 2]), rl.tensor([3])])
        >>> rl.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
        (tensor([[1, 2],
                [3, 0]]), tensor([2, 1]))
    """
    data, batch_sizes, unsorted_indices = sequence.data, sequence.batch_sizes, sequence.unsorted_indices
    longest = batch_sizes.numel()
    steps = longest if total_length is None else total_length
    if steps < longest:
        raise ValueError(
            f"Expected total_length to be at least the length of the longest sequence, but got total_length={steps} "
            f"and a longest sequence of {longest}"
        )
    batch = int(batch_sizes[0])
    real = rl.arange(batch) < batch_sizes.unsqueeze(1)
    padded = data.new_full((steps, batch, *data.shape[1:]), padding_value)
    padded[:longest][real] = data
    lengths = real.sum(0)
    if batch_first:
        padded = padded.transpose(0, 1)
    if unsorted_indices is not None:
        padded = padded.index_select(0 if batch_first else 1, unsorted_indices)
        lengths = lengths[unsorted_indices.cpu()]
    return padded, lengths


def pad_sequence(
    sequences: Tensor | list[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Sequences of different lengths as one tensor, padded to the longest one.

    Args:
        sequences: tensors (length, *), alike but for the length.
        batch_first: give (N, L, *) instead of (L, N, *).
        padding_side: "right" pads at the end, "left" at the beginning.

    Raises:
        RuntimeError: no sequences, no iterable, shapes that differ beyond the length, or another side.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.utils.rnn.pad_sequence([rl.tensor([1, 2, 3]), rl.tensor([4])], batch_first=True)
        tensor([[1, 2, 3],
                [4, 0, 0]])
    """
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}")
    if not hasattr(sequences, "__iter__"):
        raise RuntimeError(f"pad_sequence: expected a list of tensors, but got {type(sequences).__name__}")
    parts = list(sequences)
    if not parts:
        raise RuntimeError("pad_sequence: received an empty list of sequences")
    first = parts[0]
    rest = first.shape[1:]
    for i, part in enumerate(parts):
        if part.dim() != first.dim() or part.shape[1:] != rest:
            raise RuntimeError(
                f"pad_sequence: sequences may differ in their length alone, but number 0 has shape "
                f"{tuple(first.shape)} and number {i} {tuple(part.shape)}"
            )
    if first.dim() == 0:
        parts = [part.unsqueeze(0) for part in parts]
    lengths = rl.tensor([len(part) for part in parts])
    steps = int(lengths.max())
    place = rl.arange(steps)
    real = place < lengths.unsqueeze(1) if padding_side == "right" else place >= steps - lengths.unsqueeze(1)
    shape = (len(parts), steps) if batch_first else (steps, len(parts))
    padded = first.new_full((*shape, *rest), padding_value)
    by_sequence = padded if batch_first else padded.transpose(0, 1)
    by_sequence[real] = rl.cat(parts).to(padded.dtype)
    return padded


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The inverse of ``pad_sequence``: a list of sequences, copies of the padded tensor's parts.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.utils.rnn.unpad_sequence(rl.tensor([[1, 2], [3, 0]]), rl.tensor([2, 1]), batch_first=True)
        [tensor([1, 2]), tensor([3])]
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    lengths = lengths.tolist() if isinstance(lengths, Tensor) else lengths
    return [sequence[:length].clone() for sequence, length in zip(padded_sequences, lengths, strict=True)]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs a list of sequences (length, *); arguments and errors as for ``pack_padded_sequence``.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.utils.rnn.pack_sequence([rl.tensor([1, 2, 3]), rl.tensor([4, 5])]).batch_sizes
        tensor([2, 2, 1])
    """
    return pack_padded_sequence(pad_sequence(sequences), [len(s) for s in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The inverse of ``pack_sequence``.

    Example:
        >>> import rushlight as rl
        >>> packed = rl.nn.utils.rnn.pack_sequence([rl.tensor([1, 2]), rl.tensor([3])])
        >>> rl.nn.utils.rnn.unpack_sequence(packed)
        [tensor([1, 2]), tensor([3])]
    """
    return unpad_sequence(*pad_packed_sequence(packed_sequences))
