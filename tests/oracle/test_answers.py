"""Tensor types, finfo and iinfo, and the words of assert_close, beside PyTorch's."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import rushlight as rl  # noqa: E402

TYPES = ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool")
EXPRESSIONS = [
    *(f"lib.{name}Tensor({arguments})" for name in TYPES for arguments in ("[1, 0]", "[[1, 2]]", "(0, 3)", "range(3)")),
    *(f"lib.{name}Tensor({size}).shape" for name in TYPES for size in ("", "2", "2, 3", "lib.Size([2, 1])")),
    *(f"lib.{name}Tensor" for name in TYPES),
    *(f"lib.cuda.{name}Tensor" for name in TYPES),
    *(f"lib.ones(2).type(lib.{name}Tensor)" for name in TYPES),
    *(f"lib.ones(2).type('torch.{name}Tensor').type()" for name in TYPES),
    *(f"isinstance(lib.ones(1, dtype=lib.{d}), lib.{name}Tensor)" for name in TYPES for d in ("float32", "int64")),
    *(f"lib.{name}Tensor.dtype" for name in TYPES),
    *(f"lib.{kind}(lib.{d})" for kind in ("finfo", "iinfo") for d in ("float16", "bfloat16", "float32", "float64")),
    *(f"lib.{kind}(lib.{d})" for kind in ("finfo", "iinfo") for d in ("int8", "uint8", "int16", "bool")),
    *(f"lib.finfo(lib.float32).{name}" for name in ("bits", "eps", "max", "min", "tiny", "resolution", "dtype")),
    *(f"lib.iinfo(lib.int16).{name}" for name in ("bits", "max", "min", "dtype")),
    "lib.finfo()",
    "lib.finfo(lib.float16) == lib.finfo(lib.float16)",
    "lib.finfo(3)",
    "lib.FloatTensor(5.0)",
    "lib.FloatTensor('a')",
    "lib.LongTensor([1.5])",
    "lib.LongTensor(lib.ones(2))",
    "lib.FloatTensor(lib.ones(2))",
    "lib.FloatTensor(np.ones(2))",
    "lib.FloatTensor(lib.ones(2).storage())",
    "lib.cuda.FloatTensor(2)",
    "lib.typename(lib.ones(2))",
    "lib.typename(lib.FloatTensor)",
    "lib.typename(3)",
    "lib.is_storage(lib.ones(2).untyped_storage())",
    "lib.is_storage(lib.ones(2))",
    "lib.ones(2, dtype=lib.int32).new([1.5])",
    "lib.ones(2).new(2, 3).shape",
    "lib.ones(2).type(lib.Tensor)",
    "lib.set_default_tensor_type(lib.LongTensor)",
    "lib.use_deterministic_algorithms(True)",
    "lib.get_deterministic_debug_mode()",
    "lib.use_deterministic_algorithms(False)",
    "lib.set_deterministic_debug_mode('novel')",
    "lib.cuda.is_bf16_supported()",
    "lib.is_complex(lib.ones(1)), lib.is_signed(lib.ones(1)), lib.is_same_size(lib.ones(1), lib.ones(2))",
    "lib.is_nonzero(lib.ones(1)), lib.zeros(1).is_nonzero()",
    "lib.is_nonzero(lib.ones(2))",
    "lib.is_inference(lib.ones(1)), lib.get_device(lib.ones(1)), lib.detach(lib.ones(1))",
    "lib.scalar_tensor(3), lib.scalar_tensor(3, dtype=lib.int64), lib.scalar_tensor(True)",
    "type(lib.__config__.show()), type(lib.__config__.parallel_info())",
    "lib.accelerator.current_device_index()",
]


def outcome(expression, lib):
    try:
        return str(eval(expression, {"lib": lib, "np": np}))
    except Exception as error:
        return type(error).__name__


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_the_same(expression):
    assert outcome(expression, rl) == outcome(expression, torch)


nan, inf = float("nan"), float("inf")
PAIRS = [  # built from a package
    (lambda t: (t.ones(2), t.tensor([1, 2.0])), {}),
    (lambda t: (t.ones(2), t.ones(2) + 1e-6), {}),
    (lambda t: (t.ones(2), t.ones(3)), {}),
    (lambda t: (t.ones(2), t.ones(2).double()), {}),
    (lambda t: (t.ones(2), t.ones(2).double()), {"check_dtype": False}),
    (lambda t: (t.ones(2).half(), t.ones(2).half() + 0.0005), {}),
    (lambda t: (t.tensor([1, 2]), t.tensor([1, 4])), {}),
    (lambda t: (t.tensor([1, 200], dtype=t.uint8), t.tensor([255, 1], dtype=t.uint8)), {}),
    (lambda t: (t.tensor([True]), t.tensor([False])), {}),
    (lambda t: (t.tensor(1), t.tensor(2)), {}),
    (lambda t: (t.ones(2, 2), t.zeros(2, 2)), {"msg": "words"}),
    (lambda t: (t.ones(2, 2), t.zeros(2, 2)), {"msg": lambda text: f"words\n{text}"}),
    (lambda t: (t.ones(2, 2), t.ones(2, 2).t()), {"check_stride": True}),
    (lambda t: (t.tensor([nan]), t.tensor([nan])), {}),
    (lambda t: (t.tensor([nan]), t.tensor([nan])), {"equal_nan": True}),
    (lambda t: (t.tensor([inf, 1.0]), t.tensor([1.0, inf])), {}),
    (lambda t: (t.ones(0), t.ones(0)), {}),
    (lambda t: ([t.ones(2)], (t.ones(2),)), {}),
    (lambda t: ({"a": [t.ones(2)]}, {"a": [t.zeros(2)]}), {}),
    (lambda t: ({"a": 1}, {"b": 1}), {}),
    (lambda t: ([1, 2], [1, 3]), {}),
    (lambda t: ([1, 2], [1]), {}),
    (lambda t: (1, 2), {}),
    (lambda t: (1.0, 1.1), {}),
    (lambda t: (1.0, 1.1), {"rtol": 0.2, "atol": 0}),
    (lambda t: (True, False), {}),
    (lambda t: (None, None), {}),
    (lambda t: (np.ones(2), np.zeros(2)), {}),
]


@pytest.mark.parametrize("build, options", PAIRS)
def test_assert_close_says_the_same(build, options):
    said = []
    for lib in (rl, torch):
        try:
            lib.testing.assert_close(*build(lib), **options)
            said.append(None)
        except AssertionError as error:
            said.append(str(error))
    ours, theirs = said
    # Relative differences of float32 are worked out in float64.
    assert ours == theirs or [w[:6] for w in ours.split()] == [w[:6] for w in theirs.split()]


@pytest.mark.parametrize(
    "build, options",
    [
        (lambda t: (t.ones(2), [1.0, 1.0]), {}),
        (lambda t: ("a", "a"), {}),
        (lambda t: (t.ones(2), t.ones(2)), {"rtol": 1}),
        (lambda t: (t.ones(2), t.nn.Parameter(t.ones(2))), {"allow_subclasses": False}),
    ],
)
def test_assert_close_refuses_the_same(build, options):
    kinds = []
    for lib in (rl, torch):
        with pytest.raises((TypeError, ValueError)) as caught:
            lib.testing.assert_close(*build(lib), **options)
        kinds.append(type(caught.value))
    assert kinds[0] is kinds[1]


@pytest.mark.parametrize("count", [0, 1, 3, 10, 11])
@pytest.mark.parametrize("replicas", [1, 2, 4])
@pytest.mark.parametrize("options", [{}, {"drop_last": True}, {"shuffle": False}, {"seed": 3, "drop_last": True}])
def test_distributed_sampler(count, replicas, options):
    for rank in range(replicas):
        parts = []
        for lib in (rl, torch):
            sampler = lib.utils.data.DistributedSampler(range(count), replicas, rank, **options)
            sampler.set_epoch(2)
            parts.append((len(sampler), list(sampler) if count else []))
        assert parts[0] == parts[1]
