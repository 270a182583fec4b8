"""Pruning."""

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn
from rushlight.nn.utils import prune

WEIGHT = rl.tensor([[3.0, -1.0, 2.0], [-0.5, 6.0, -4.0]])


def linear():
    layer = nn.Linear(3, 2)
    layer.weight.data.copy_(WEIGHT)
    return layer


@pytest.mark.parametrize(
    "apply, mask",
    [
        (lambda m: prune.l1_unstructured(m, "weight", 2), [[1, 0, 1], [0, 1, 1]]),
        (lambda m: prune.l1_unstructured(m, "weight", 0.5), [[1, 0, 0], [0, 1, 1]]),
        (lambda m: prune.l1_unstructured(m, "weight", 1, importance_scores=-WEIGHT.abs() + 7), [[1, 1, 1], [1, 0, 1]]),
        (lambda m: prune.ln_structured(m, "weight", 1, 2, 0), [[0, 0, 0], [1, 1, 1]]),
        (lambda m: prune.ln_structured(m, "weight", 1, float("inf"), -1), [[0, 1, 1], [0, 1, 1]]),
        (lambda m: prune.ln_structured(m, "weight", 2, 1, 1), [[0, 1, 0], [0, 1, 0]]),
        (lambda m: prune.random_structured(m, "weight", 3, 1), [[0, 0, 0], [0, 0, 0]]),
        (lambda m: prune.random_unstructured(m, "weight", 1.0), [[0, 0, 0], [0, 0, 0]]),
        (lambda m: prune.random_unstructured(m, "weight", 0), [[1, 1, 1], [1, 1, 1]]),
        (lambda m: prune.identity(m, "weight"), [[1, 1, 1], [1, 1, 1]]),
        (lambda m: prune.custom_from_mask(m, "weight", WEIGHT > 0), [[1, 0, 1], [0, 1, 0]]),
        # One after another: each among what is left.
        (lambda m: prune.l1_unstructured(prune.l1_unstructured(m, "weight", 2), "weight", 1), [[1, 0, 0], [0, 1, 1]]),
        (lambda m: prune.ln_structured(prune.ln_structured(m, "weight", 1, 2, 1), "weight", 1, 2, 1), [[0, 1, 0]] * 2),
        (
            lambda m: prune.custom_from_mask(prune.l1_unstructured(m, "weight", 2), "weight", WEIGHT > 0),
            [[1, 0, 1], [0, 1, 0]],
        ),
    ],
)
def test_masks(apply, mask):
    layer = linear()
    weight = layer.weight
    assert apply(layer) is layer and prune.is_pruned(nn.Sequential(layer))
    assert layer.weight_mask.tolist() == mask and layer.weight_orig is weight
    assert rl.equal(layer.weight, WEIGHT * layer.weight_mask)
    assert sorted(layer.state_dict()) == ["bias", "weight_mask", "weight_orig"]
    layer(rl.ones(3)).sum().backward()
    assert weight.grad.tolist() == mask
    with rl.no_grad():
        weight.mul_(2)
    layer(rl.ones(3))
    assert rl.equal(layer.weight, 2 * WEIGHT * layer.weight_mask)
    assert prune.remove(layer, "weight") is layer and layer.weight is weight
    assert weight.tolist() == (2 * WEIGHT * rl.tensor(mask)).tolist()
    assert not prune.is_pruned(layer) and sorted(layer.state_dict()) == ["bias", "weight"]


def test_random_amounts():
    rl.manual_seed(0)
    for amount, left in ((7, 13), (0.3, 14)):
        layer = prune.random_unstructured(nn.Linear(5, 4), "weight", amount)
        assert layer.weight_mask.sum() == left
    layer = prune.random_structured(nn.Conv2d(4, 3, 2), "weight", 0.5, 1)
    assert layer.weight_mask.sum((0, 2, 3)).sort().values.tolist() == [0, 0, 12, 12]


def test_globally():
    a, b = linear(), linear()
    b.weight.data.mul_(10)
    prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=6)
    assert a.weight_mask.tolist() == [[0, 0, 0], [0, 1, 0]] and b.weight_mask.tolist() == [[1, 1, 1], [0, 1, 1]]
    prune.global_unstructured(
        [(a, "weight"), (b, "weight")], prune.L1Unstructured, {(a, "weight"): WEIGHT * 1000}, amount=1
    )
    assert a.weight_mask.sum() == 1 and b.weight_mask.tolist() == [[1, 0, 1], [0, 1, 1]]


class EveryOther(prune.BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        mask = default_mask.clone()
        mask.view(-1)[::2] = 0
        return mask


def test_a_method_of_ones_own():
    layer = linear()
    EveryOther.apply(layer, "weight")
    assert layer.weight_mask.tolist() == [[0, 1, 0], [1, 0, 1]]
    container = EveryOther.apply(layer, "weight")
    assert layer.weight_mask.tolist() == [[0, 0, 0], [1, 0, 0]]
    assert (
        len(container) == 2 and [type(m) for m in container] == [EveryOther] * 2 and len(layer._forward_pre_hooks) == 1
    )
    np.testing.assert_array_equal(prune.L1Unstructured(2).prune(rl.arange(4.0)).tolist(), [0, 0, 2, 3])


@pytest.mark.parametrize(
    "provoke, kind, match",
    [
        (lambda m: prune.remove(m, "weight"), ValueError, "'weight' of Linear is not pruned"),
        (lambda m: prune.l1_unstructured(m, "weight", 7), ValueError, "7, but there are 6 elements"),
        (lambda m: prune.ln_structured(m, "weight", 4, 2, 1), ValueError, "4, but there are 3 slices"),
        (lambda m: prune.l1_unstructured(m, "weight", 1.5), ValueError, "got 1.5"),
        (lambda m: prune.l1_unstructured(m, "weight", "most"), TypeError, "got 'most'"),
        (lambda m: prune.ln_structured(m, "bias", 1, 2, 0), ValueError, "no slices to prune\n  hint"),
        (lambda m: prune.random_structured(m, "weight", 1, 5), IndexError, "dim 5"),
        (lambda m: prune.custom_from_mask(m, "weight", rl.ones(2)), AssertionError, "mask must be"),
        (lambda m: prune.l1_unstructured(m, "weight", 1, rl.ones(3)), AssertionError, "importance_scores must be"),
        (lambda m: prune.global_unstructured(3, prune.L1Unstructured, amount=1), TypeError, "pairs"),
        (lambda m: prune.global_unstructured([], prune.RandomStructured, amount=1), TypeError, "structured"),
        (lambda m: prune.global_unstructured([], prune.L1Unstructured, 3, amount=1), TypeError, "a dict"),
    ],
)
def test_errors_leave_the_module_as_it_was(provoke, kind, match):
    layer = linear()
    with pytest.raises(kind, match=match):
        provoke(layer)
    assert sorted(layer.state_dict()) == ["bias", "weight"] and not layer._forward_pre_hooks
