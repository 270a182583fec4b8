"""The profiler beside PyTorch's.

Compared is what both must agree on: which steps a schedule takes, the names, order and shapes of the operations that
a program calls itself, the nodes of a backward, names of steps and batches, bytes and floating point operations.
What an operation calls inside is each library's own, and is not compared; nor is the transposition of a weight, which
is a node of its own in PyTorch (TBackward0). Programs leave out what differs on purpose: cross_entropy is one operation
here, and max_pool2d goes by the name of the one that keeps indices.
"""

from __future__ import annotations

import random
import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch")
import rushlight as rl  # noqa: E402

LIBS = (rl, torch)


def on_both(program: Any, **options: Any) -> tuple[list, list]:
    """Events of the program under each profiler."""
    seen = []
    for lib in LIBS:
        with lib.profiler.profile(activities=[lib.profiler.ProfilerActivity.CPU], **options) as prof:
            program(lib)
        seen.append(prof.events())
    return seen[0], seen[1]


def called(events: Any) -> list:
    """What the program itself calls: events outside of all, or in ranges of its own."""
    return [e for e in events if e.cpu_parent is None or e.cpu_parent.is_user_annotation]


def test_schedules():
    rng = random.Random(0)
    for _ in range(200):
        options = {
            "wait": rng.randrange(4), "warmup": rng.randrange(3), "active": rng.randrange(1, 4),
            "repeat": rng.randrange(4), "skip_first": rng.randrange(4), "skip_first_wait": rng.randrange(2),
        }  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours, theirs = (lib.profiler.schedule(**options) for lib in LIBS)
        assert [ours(i).name for i in range(40)] == [theirs(i).name for i in range(40)], options
        assert [ours(i).value for i in range(9)] == [theirs(i).value for i in range(9)]


def train(lib: Any) -> None:
    model = lib.nn.Sequential(lib.nn.Conv2d(1, 2, 3), lib.nn.ReLU(), lib.nn.Flatten(), lib.nn.Linear(72, 3))
    optimizer = lib.optim.SGD(model.parameters(), lr=0.1)
    x, y = lib.rand(5, 1, 8, 8), lib.rand(5, 3)
    with lib.profiler.record_function("forward"):
        out = model(x)
        loss = (out - y).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def test_a_training_step():
    events = on_both(train, record_shapes=True)
    inside = []
    for of in events:
        forward = next(e for e in of if e.name == "forward")
        inside.append([(c.name, c.input_shapes[:2]) for c in forward.cpu_children])
    assert inside[0] == inside[1]
    assert [name for name, _ in inside[0]] == [
        "aten::conv2d", "aten::relu", "aten::flatten", "aten::linear", "aten::sub", "aten::pow", "aten::mean",
    ]  # fmt: skip
    ours, theirs = (
        [(e.name, [c.name for c in e.cpu_children if not c.name.startswith("aten::")]) for e in of
         if e.name.startswith("autograd::engine") and not e.name.endswith(" TBackward0")]
        for of in events
    )  # fmt: skip
    assert sorted(ours) == sorted(theirs)
    steps = [[e.name for e in of if e.is_user_annotation] for of in events]
    assert steps[0] == steps[1]


PROGRAMS = [
    lambda lib: lib.ones(3).exp().add_(1),
    lambda lib: (lib.rand(3, 4) @ lib.rand(4, 5)).softmax(-1).sum(),
    lambda lib: lib.cat([lib.zeros(2, 3), lib.ones(2, 3)]).view(3, 4).t().contiguous(),
    lambda lib: lib.arange(10)[2:5].float().mean().item(),
    lambda lib: lib.nn.functional.avg_pool2d(lib.rand(1, 1, 4, 4), 2),
    lambda lib: lib.stack([lib.rand(3), lib.rand(3)]).argmax(1).eq(1),
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_names_and_shapes(program):
    ours, theirs = ([(e.name, [s for s in e.input_shapes if s]) for e in called(of)]
                    for of in on_both(program, record_shapes=True))  # fmt: skip
    assert [name for name, _ in ours] == [name for name, _ in theirs]
    assert [s[:2] for _, s in ours] == [s[:2] for _, s in theirs]


def test_memory():
    def program(lib: Any) -> None:
        with lib.profiler.record_function("made"):
            x = lib.empty(1000)
        with lib.profiler.record_function("added"):
            y = x + x
        with lib.profiler.record_function("freed"):
            del x, y

    ours, theirs = ({e.name: e.cpu_memory_usage for e in of if e.is_user_annotation}
                    for of in on_both(program, profile_memory=True))  # fmt: skip
    assert ours == theirs == {"made": 4000, "added": 4000, "freed": -8000}


FLOPS = [
    ("aten::mm", lambda lib: lib.mm(lib.rand(3, 4), lib.rand(4, 5))),
    ("aten::addmm", lambda lib: lib.addmm(lib.rand(5), lib.rand(3, 4), lib.rand(4, 5))),
    ("aten::bmm", lambda lib: lib.bmm(lib.rand(2, 3, 4), lib.rand(2, 4, 5))),
    ("aten::baddbmm", lambda lib: lib.baddbmm(lib.rand(2, 3, 5), lib.rand(2, 3, 4), lib.rand(2, 4, 5))),
    ("aten::conv2d", lambda lib: lib.conv2d(lib.rand(2, 4, 9, 8), lib.rand(6, 2, 3, 3), None, 2, 1, 1, 2)),
    ("aten::add", lambda lib: lib.rand(3, 4) + lib.rand(3, 4)),
    ("aten::mul", lambda lib: lib.rand(3, 4) * lib.rand(3, 4)),
]


@pytest.mark.parametrize(("name", "program"), FLOPS, ids=[n for n, _ in FLOPS])
def test_flops(name, program):
    ours, theirs = (next(e.flops for e in of if e.name == name) for of in on_both(program, with_flops=True))
    assert ours == theirs > 0


def test_loader():
    def program(lib: Any) -> None:
        list(lib.utils.data.DataLoader(lib.arange(4), batch_size=2))

    ours, theirs = ([e.name for e in of if e.is_user_annotation] for of in on_both(program))
    assert ours == theirs


def test_tables_have_the_same_columns():
    titles = []
    for lib in LIBS:
        with lib.profiler.profile(profile_memory=True, record_shapes=True, with_flops=True) as prof:
            lib.rand(3, 4) @ lib.rand(4, 5)
        lines = prof.key_averages(group_by_input_shape=True).table().splitlines()
        titles.append([t.strip() for t in lines[1].split("  ") if t.strip()])
        assert lines[-1].startswith("Self CPU time total: ")
    assert titles[0] == titles[1]


def test_attributes():
    """What programs read from events and sums has the same names."""
    single, sums = [], []
    for lib in LIBS:
        with lib.profiler.profile(activities=[lib.profiler.ProfilerActivity.CPU]) as prof:
            lib.ones(2)
        for into, thing in ((single, prof.events()[0]), (sums, prof.key_averages()[0])):
            into.append({a for a in dir(thing) if not a.startswith("_")})
    of_devices = {
        "append_cpu_child", "append_kernel", "set_cpu_parent", "device_index", "device_resource_id",
        "linked_correlation_id", "total_device_percent", "self_cpu_percent", "total_cpu_percent", "kwinputs",
        "structured_input_strides", "input_dtypes", "metadata_json", "event_metadata", "external_id", "flow_id",
        "flow_start", "flow_type", "activity_type", "is_python_function", "python_id", "python_module_id",
        "python_parent_id",
    }  # fmt: skip
    assert single[1] - single[0] <= of_devices
    assert sums[1] <= sums[0]
