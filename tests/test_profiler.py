"""The profiler: what it notes, by step and by thread, and what it writes."""

from __future__ import annotations

import gzip
import json
import os
import re
import threading
import warnings
from typing import Any

import pytest

import rushlight as torch
from rushlight.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule
from tests.helpers import Call, resolve
from tests.op_table import OPS, SEED

CPU = [ProfilerActivity.CPU]


def tree(events: Any) -> list:
    """Names, with those inside an event in a list behind it."""

    def of(event: Any) -> Any:
        return (event.name, [of(c) for c in event.cpu_children]) if event.cpu_children else event.name

    return [of(e) for e in events if e.cpu_parent is None]


def named(events: Any, name: str) -> Any:
    found = [e for e in events if e.name == name]
    assert found, f"{name} is not among {[e.name for e in events]}"
    return found[0]


def running() -> bool:
    return torch._C._profiler_running()


@pytest.fixture(autouse=True)
def off_again():
    yield
    assert not running()


# --- What is noted ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", [op for op in OPS if op.name != "Tensor.real"], ids=lambda op: op.id)
def test_every_operation_is_seen(op):
    """Whichever way an operation takes through the package, an event has its name.

    Functions of nn.functional that are written in Python show what they call, as in PyTorch; a real tensor's real part
    is the tensor itself.
    """
    call = Call(torch, op.calls(op.dtypes[0])[0])
    torch.manual_seed(SEED)
    with profile(activities=CPU, record_shapes=True, profile_memory=True, with_flops=True) as prof:
        resolve(torch, op.name)(*call.args, **call.kwargs)
    names = {e.name for e in prof.events() if e.name != "[memory]"}
    own = {{"pinverse": "pinv"}.get(op.short, op.short), *op.registered_names}
    wanted = {f"aten::{prefix}{n}" for n in own for prefix in ("", "linalg_", "special_")}
    assert names if op.name.startswith("nn.functional.") else names & wanted, (
        f"none of {sorted(wanted)} among {sorted(names)}"
    )


def test_forms_of_an_operation():
    a, b = torch.ones(3), torch.ones(3)
    with profile(activities=CPU) as prof:
        a + b
        a.add(b)
        a.add_(b)
        a += b
        torch.add(a, b, out=b)
        a + 1
        1 - a
    names = [e.name for e in prof.events() if e.cpu_parent is None]
    assert names == ["aten::add", "aten::add", "aten::add_", "aten::add_", "aten::add", "aten::add", "aten::sub"]


def test_ranges_nest():
    with profile(activities=CPU) as prof:
        with record_function("outer"):
            torch.ones(2)
            with record_function("inner"):
                torch.ones(2).exp()
        torch.zeros(1)
    assert tree(prof.events()) == [("outer", ["aten::ones", ("inner", ["aten::ones", "aten::exp"])]), "aten::zeros"]
    assert [e.is_user_annotation for e in prof.events()] == [True, False, True, False, False, False]


def test_times_nest():
    x = torch.rand(64, 64)
    with profile(activities=CPU) as prof, record_function("all"):
        for _ in range(3):
            x = torch.nn.functional.linear(x, x).softmax(-1)
    events = prof.events()
    outer = events[0]
    for event in events:
        assert event.time_range.start >= 0
        assert event.cpu_time_total == event.time_range.elapsed_us() > 0
        assert event.self_cpu_time_total >= 0
        if event.cpu_parent:
            around = event.cpu_parent.time_range
            assert around.start <= event.time_range.start <= event.time_range.end <= around.end
    assert [e.time_range.start for e in events] == sorted(e.time_range.start for e in events)
    assert events.self_cpu_time_total == pytest.approx(outer.cpu_time_total)


def test_ranges_may_cross_and_end_twice():
    with profile(activities=CPU) as prof:
        first, second = record_function("first"), record_function("second")
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        torch.ones(1)
        second.__exit__(None, None, None)
        torch.zeros(1)
        left_open = torch._C._Profiled("open")
    left_open.end()
    left_open.end()
    assert tree(prof.events()) == ["first", ("second", ["aten::ones"]), "aten::zeros", "open"]
    assert named(prof.events(), "open").cpu_time_total >= 0


def test_record_function_decorates_and_recurses():
    @record_function("factorial")
    def factorial(n):
        "Docs."
        torch.ones(1)
        return n * factorial(n - 1) if n > 1 else n

    with profile(activities=CPU) as prof:
        assert factorial(3) == 6
    assert (factorial.__name__, factorial.__doc__) == ("factorial", "Docs.")
    ones = "aten::ones"
    assert tree(prof.events()) == [("factorial", [ones, ("factorial", [ones, ("factorial", [ones])])])]
    same = record_function("same")
    with profile(activities=CPU) as prof, same, same:
        torch.ones(1)
    assert tree(prof.events()) == [("same", ["aten::ones"])]  # one inside its like alone is left out, as in PyTorch
    assert factorial(2) == 2  # off
    with pytest.raises(RuntimeError, match="name must be a str, not int"):
        record_function(3)  # type: ignore[arg-type]


def test_shapes_types_and_values():
    x = torch.ones(2, 3, dtype=torch.float64)
    with profile(activities=CPU, record_shapes=True) as prof:
        torch.add(x, 2, alpha=3)
        torch.stack([x, x[0].expand(2, 3)], dim=1)
        x.permute(1, 0)
        torch.nn.functional.linear(x, x)
    add, stack, permute, linear = (named(prof.events(), f"aten::{n}") for n in ("add", "stack", "permute", "linear"))
    assert add.input_shapes == [[2, 3], [], []] and add.concrete_inputs[2] == 3
    assert stack.input_shapes == [[], []] and stack.structured_input_shapes == [[[2, 3], [2, 3]], []]
    assert stack.concrete_inputs[1] == 1
    assert permute.input_shapes == [[2, 3], []] and permute.concrete_inputs == [None, [1, 0]]
    assert linear.input_shapes == [[2, 3], [2, 3], []]
    by_shape = prof.key_averages(group_by_input_shape=True)
    assert [e.input_shapes for e in by_shape if e.key == "aten::add"] == [[[2, 3], [], []]]
    with profile(activities=CPU) as prof:
        torch.add(x, 2)
    assert prof.events()[0].input_shapes == []


def test_every_thread_is_seen():
    """Also one that was there before; the profiler's own numbers tell them apart."""
    go, done = threading.Event(), threading.Event()

    def early():
        go.wait(60)
        with record_function("early"):
            torch.ones(2).exp()
        done.set()

    def late():
        with record_function("late"):
            torch.ones(2).log()

    threads = [threading.Thread(target=early)]
    threads[0].start()
    with profile(activities=CPU) as prof:
        torch.zeros(2)
        go.set()
        done.wait(60)
        threads.append(threading.Thread(target=late))
        threads[1].start()
        threads[1].join()
    threads[0].join()
    events = prof.events()
    assert {e.thread: tree([x for x in events if x.thread == e.thread]) for e in events} == {
        1: ["aten::zeros"],
        2: [("early", ["aten::ones", "aten::exp"])],
        3: [("late", ["aten::ones", "aten::log"])],
    }


def test_threads_that_write_while_it_stops():
    """Nothing is lost, doubled or torn."""
    stop = threading.Event()

    def work():
        x = torch.ones(8)
        while not stop.is_set():
            with record_function("pair"):
                (x + x).mul(x)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    try:
        for _ in range(20):
            with profile(activities=CPU, record_shapes=True, profile_memory=True) as prof:
                torch.rand(100, 100) @ torch.rand(100, 100)
            for event in prof.events():
                assert event.name in ("pair", "aten::add", "aten::mul", "aten::rand", "aten::matmul", "aten::mm",
                                      "aten::uniform_", "[memory]")  # fmt: skip
                assert event.time_range.start <= event.time_range.end
    finally:
        stop.set()
        for t in threads:
            t.join()


def test_backward_is_linked():
    x = torch.ones(3, requires_grad=True)
    with profile(activities=CPU) as prof:
        y = x * 2
        y.exp().sum().backward()
    events = prof.events()
    for op, node in (("aten::mul", "MulBackward0"), ("aten::exp", "ExpBackward0"), ("aten::sum", "SumBackward0")):
        inner = named(events, node)
        assert inner.cpu_parent.name == f"autograd::engine::evaluate_function: {node}"
        forward = next(e for e in events if e.name == op and not e.sequence_nr < 0)
        assert inner.sequence_nr == forward.sequence_nr == inner.cpu_parent.sequence_nr
        assert inner.fwd_thread == forward.thread and inner.scope == 1
    order = [e.name for e in events if e.name.startswith("autograd::engine")]
    assert [n.rpartition(" ")[2] for n in order] == [
        "SumBackward0", "ExpBackward0", "MulBackward0", "torch::autograd::AccumulateGrad",
    ]  # fmt: skip
    with torch.no_grad(), profile(activities=CPU) as prof:
        x * 2
    assert prof.events()[0].sequence_nr == -1


def test_functions_written_in_python():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g + g

    x = torch.ones(3, requires_grad=True)
    with profile(activities=CPU) as prof:
        Double.apply(x).backward(torch.ones(3))
    node = named(prof.events(), "DoubleBackward")
    assert tree([named(prof.events(), "Double")]) == [("Double", ["aten::mul"])]
    assert [c.name for c in node.cpu_children] == ["aten::add"]
    assert node.sequence_nr == named(prof.events(), "Double").sequence_nr


@pytest.mark.parametrize("n", [10, 1000, 1_000_000])  # in the storage's block, small and large blocks
def test_memory(n):
    keep = torch.empty(n)
    with profile(activities=CPU, profile_memory=True) as prof:
        with record_function("grows"):
            x = torch.empty(n)
        with record_function("level"):
            torch.empty(n)
        with record_function("shrinks"):
            del x
        del keep
    size = 4 * n
    events = prof.events()
    assert named(events, "grows").cpu_memory_usage == size
    assert named(events, "grows").self_cpu_memory_usage == 0  # it is in what it calls
    assert named(events, "aten::empty").self_cpu_memory_usage == size
    assert (named(events, "level").cpu_memory_usage, named(events, "level").self_cpu_memory_usage) == (0, -size)
    assert named(events, "shrinks").self_cpu_memory_usage == -size
    assert named(events, "[memory]").cpu_memory_usage == -size  # outside of everything
    total = prof.key_averages()
    assert named_average(total, "aten::empty").self_cpu_memory_usage == 2 * size
    with profile(activities=CPU) as prof:
        torch.empty(n)
    assert prof.events()[0].cpu_memory_usage == 0


def named_average(averages: Any, key: str) -> Any:
    return next(a for a in averages if a.key == key)


def test_memory_of_resized_and_foreign_storage():
    numpy = pytest.importorskip("numpy")
    with profile(activities=CPU, profile_memory=True) as prof:
        with record_function("foreign"):
            x = torch.from_numpy(numpy.ones(1000, numpy.float32))
        with record_function("resized"):
            y = torch.empty(10).resize_(1000)
        with record_function("freed"):
            del x, y
    used = {e.name: e.cpu_memory_usage for e in prof.events()}
    assert (used["foreign"], used["resized"], used["freed"]) == (0, 4000, -4000)


def test_stacks():
    def inner():
        return torch.ones(2, requires_grad=True).exp()  # line A

    def outer():
        return inner()  # line B

    with profile(activities=CPU, with_stack=True) as prof:
        outer().sum().backward()  # line C
    here = os.path.basename(__file__)
    lines = {m.group(1): i for i, text in enumerate(open(__file__), 1) if (m := re.search("# line ([ABC])$", text))}
    expected = [(lines["A"], "inner"), (lines["B"], "outer"), (lines["C"], "test_stacks")]
    for name in ("aten::exp", "ExpBackward0"):  # of a backward what recorded it
        stack = named(prof.events(), name).stack[:3]
        assert [re.sub(".*/", "", line) for line in stack] == [f"{here}({n}): {f}" for n, f in expected]
    assert not any("rushlight/" in line for e in prof.events() for line in e.stack)


def test_export_stacks(tmp_path):
    path = tmp_path / "stacks"
    x = torch.rand(300, 300)

    def work():
        return x @ x

    with profile(activities=CPU, with_stack=True) as prof:
        work()
    prof.export_stacks(path, "self_cpu_time_total")
    lines = path.read_text().splitlines()
    assert lines
    for line in lines:
        stack, _, value = line.rpartition(" ")
        assert int(value) > 0 and " " not in stack
        assert re.search(r"test_profiler\.py\(\d+\):_test_export_stacks;.*test_profiler\.py\(\d+\):_work$", stack)
    with pytest.raises(ValueError, match="self_cpu_time_total"):
        prof.export_stacks(path, "count")
    with profile(activities=CPU) as prof:
        work()
    with pytest.raises(AssertionError, match="with_stack=True"):
        prof.export_stacks(path)


F = torch.nn.functional
FLOPS = [
    ("mm", lambda r: torch.mm(r(3, 4), r(4, 5)), 2 * 3 * 4 * 5),
    ("bmm", lambda r: torch.bmm(r(2, 3, 4), r(2, 4, 5)), 2 * 2 * 3 * 4 * 5),
    ("addmm", lambda r: torch.addmm(r(5), r(3, 4), r(4, 5)), 2 * 3 * 4 * 5),
    ("baddbmm", lambda r: torch.baddbmm(r(2, 3, 5), r(2, 3, 4), r(2, 4, 5)), 2 * 2 * 3 * 4 * 5),
    ("linear", lambda r: F.linear(r(7, 3, 4), r(5, 4), r(5)), 2 * 7 * 3 * 4 * 5),
    ("conv1d", lambda r: F.conv1d(r(2, 4, 8), r(6, 4, 3)), 2 * 2 * 6 * 6 * 4 * 3),
    ("conv2d", lambda r: F.conv2d(r(2, 4, 8, 8), r(6, 2, 3, 3), None, 2, 1, 1, 2), 2 * 2 * 6 * 16 * 2 * 9),
    ("conv2d", lambda r: F.conv2d(r(4, 9, 9), r(6, 4, 3, 2), None, (2, 1), 0, (2, 3)), 2 * 6 * 3 * 6 * 4 * 6),
    ("conv3d", lambda r: F.conv3d(r(1, 1, 4, 5, 6), r(2, 1, 2, 3, 3)), 2 * 2 * 3 * 3 * 4 * 18),
    ("add", lambda r: r(3, 4) + r(3, 4), 12),
    ("mul", lambda r: r(3, 4) * 2, 12),
    ("exp", lambda r: r(3, 4).exp(), None),
]


@pytest.mark.parametrize(("name", "call", "flops"), FLOPS, ids=lambda v: v if isinstance(v, str) else "")
def test_flops(name, call, flops):
    with profile(activities=CPU, with_flops=True) as prof:
        call(torch.rand)
    event = named(prof.events(), f"aten::{name}")
    assert event.flops == flops
    assert event.input_shapes == []  # not asked for


def test_optimizer_and_loader_name_their_steps():
    x = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([x], lr=0.1)
    loader = torch.utils.data.DataLoader(torch.arange(4), batch_size=2)
    with profile(activities=CPU) as prof:
        for _ in loader:
            optimizer.zero_grad()
            x.sum().backward()
            optimizer.step()
    top = [e.name for e in prof.events() if e.is_user_annotation]
    fetch = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    step = [fetch, "Optimizer.zero_grad#SGD.zero_grad", "Optimizer.step#SGD.step"]
    assert top == [*step, *step, fetch]
    assert [c.name for c in named(prof.events(), "Optimizer.step#SGD.step").cpu_children] == ["aten::_fused_sgd_"]


# --- Steps -----------------------------------------------------------------------------------------------------------

N, W, R, S = ProfilerAction.NONE, ProfilerAction.WARMUP, ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE
SCHEDULES = [
    ({"wait": 1, "warmup": 1, "active": 2}, [N, W, R, S, N, W, R, S]),
    ({"wait": 0, "warmup": 0, "active": 1}, [S, S, S]),
    ({"wait": 0, "warmup": 1, "active": 1, "repeat": 1}, [W, S, N, N]),
    ({"wait": 2, "warmup": 0, "active": 3, "repeat": 2}, [N, N, R, R, S, N, N, R, R, S, N, N, N]),
    ({"wait": 1, "warmup": 1, "active": 1, "skip_first": 2}, [N, N, N, W, S, N, W, S]),
    (
        {"wait": 2, "warmup": 1, "active": 1, "repeat": 2, "skip_first": 1, "skip_first_wait": 1},
        [N, W, S, N, N, W, S, N, N],
    ),
]


@pytest.mark.parametrize(("options", "actions"), SCHEDULES)
@pytest.mark.filterwarnings("ignore:schedule. without warmup")
def test_schedule(options, actions):
    steps = schedule(**options)
    assert [steps(i) for i in range(len(actions))] == actions


@pytest.mark.parametrize(("options", "actions"), SCHEDULES)
@pytest.mark.filterwarnings("ignore:schedule. without warmup")
def test_schedule_is_followed(options, actions):
    """Each step marks itself; what is handed out are the steps of one cycle."""
    ready = []

    def on_trace_ready(prof):
        assert not running()
        ready.append([e.trace_name for e in prof.events() if e.is_user_annotation and e.trace_name.startswith("mine")])

    with profile(activities=CPU, schedule=schedule(**options), on_trace_ready=on_trace_ready) as prof:
        for step, action in enumerate(actions):
            assert prof.step_num == step and prof.current_action == action
            assert running() == (action in (R, S))
            with record_function(f"mine {step}"):
                torch.ones(1)
            if step < len(actions) - 1:
                prof.step()
    expected: list[list[str]] = [[]]
    for step, action in enumerate(actions):
        if action in (R, S):
            expected[-1].append(f"mine {step}")
        if action is S:
            expected.append([])
    assert ready == [cycle for cycle in expected if cycle]


def test_steps_are_ranges():
    with profile(activities=CPU, schedule=schedule(wait=1, warmup=1, active=2)) as prof:
        for _ in range(4):
            torch.ones(1)
            prof.step()
    assert [(e.name, e.trace_name) for e in prof.events() if e.is_user_annotation] == [
        ("ProfilerStep*", "ProfilerStep#2"),
        ("ProfilerStep*", "ProfilerStep#3"),
    ]
    assert named_average(prof.key_averages(), "ProfilerStep*").count == 2


@pytest.mark.parametrize(("keep", "count"), [(False, 1), (True, 3)])
def test_events_of_cycles(keep, count):
    with profile(activities=CPU, schedule=schedule(wait=0, warmup=1, active=1), acc_events=keep) as prof:
        for _ in range(6):
            torch.ones(1)
            prof.step()
    assert [e.name for e in prof.events()] == ["ProfilerStep*", "aten::ones"] * count


def test_start_and_stop():
    ready = []
    prof = profile(activities=CPU, on_trace_ready=ready.append)
    prof.start()
    torch.ones(1)
    prof.step()
    prof.stop()
    prof.stop()
    assert ready == [prof] and prof.step_num == 1
    assert [e.name for e in prof.events()] == ["aten::ones"]
    prof.start()
    torch.zeros(1)
    prof.stop()
    assert [e.name for e in prof.events()] == ["aten::zeros"]


# --- What can go wrong -----------------------------------------------------------------------------------------------


def test_misuse():
    prof = profile(activities=CPU)
    with pytest.raises(RuntimeError, match="step.. of a profiler that is not running\n  hint"):
        prof.step()
    for ask in (prof.events, prof.key_averages, lambda: prof.export_chrome_trace("nowhere")):
        with pytest.raises(RuntimeError, match="did not run"):
            ask()
    with prof:
        with pytest.raises(RuntimeError, match="is still running"):
            prof.events()
        with pytest.raises(RuntimeError, match="already running\n  hint: stop the other"):
            profile(activities=CPU).start()
        with pytest.raises(RuntimeError, match="started already"):
            prof.start()
        torch.ones(1)
    assert [e.name for e in prof.events()] == ["aten::ones"]
    with pytest.raises(AttributeError, match="'nonsense'\n  hint: sort_by is one of cpu_time, .*self_cpu_memory_usage"):
        prof.key_averages().table(sort_by="nonsense")
    with pytest.raises(ValueError, match="time_unit must be one of s, ms, us"):
        prof.key_averages().table(time_unit="h")
    with pytest.raises(RuntimeError, match="sums"):
        prof.key_averages().export_chrome_trace("nowhere")
    for wrong in ([], ["CPU"]):
        with pytest.raises(AssertionError, match="activities"):
            profile(activities=wrong)
    for options in ({"wait": -1, "warmup": 1, "active": 1}, {"wait": 1, "warmup": 1, "active": 0}):
        with pytest.raises(AssertionError, match="at least"):
            schedule(**options)
    with pytest.raises(AssertionError, match="negative"):
        schedule(wait=1, warmup=1, active=1)(-1)
    with pytest.raises(NotImplementedError, match="execution_trace_observer"):
        profile(execution_trace_observer=object())
    with pytest.raises(AttributeError, match="docs/differences.md"):
        prof.export_memory_timeline  # noqa: B018
    with pytest.raises(AttributeError, match="docs/differences.md"):
        torch.profiler.ExecutionTraceObserver  # noqa: B018


def test_exceptions_pass_and_leave_it_off():
    ready = []
    with pytest.raises(ZeroDivisionError), profile(activities=CPU, on_trace_ready=ready.append) as prof:
        with record_function("fails"):
            torch.ones(1)
            1 / 0  # noqa: B018
    assert tree(prof.events()) == [("fails", ["aten::ones"])] and ready == [prof]
    with profile(activities=CPU) as prof, pytest.raises(RuntimeError):
        torch.ones(2) + torch.ones(3)
    assert named(prof.events(), "aten::add").cpu_parent is None  # what failed has ended
    torch.ones(1)

    def refuses(prof):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"), profile(activities=CPU, on_trace_ready=refuses):
        torch.ones(1)


def test_cuda_is_not_there(tmp_path, monkeypatch):
    """As the study note has it: CUDA alone is asked for, and traces go to ./log."""
    monkeypatch.chdir(tmp_path)
    model = torch.nn.Linear(4, 2)
    with (
        pytest.warns(UserWarning, match="CUDA is not available: profiling the CPU"),
        torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CUDA],
            schedule=torch.profiler.schedule(wait=1, warmup=1, active=2),
            on_trace_ready=torch.profiler.tensorboard_trace_handler("./log"),
        ) as prof,
    ):
        for _ in range(4):
            model(torch.rand(3, 4)).sum().backward()
            prof.step()
    (file,) = (tmp_path / "log").iterdir()
    assert re.fullmatch(r".+_\d+\.\d+\.pt\.trace\.json", file.name)
    assert any(e["name"] == "aten::linear" for e in json.loads(file.read_text())["traceEvents"])
    with pytest.warns(UserWarning, match="CUDA is not available"):
        legacy = torch.autograd.profiler.profile(use_cuda=True)
    with legacy:
        torch.ones(1)
    assert "Self CPU time total" in legacy.key_averages().table(sort_by="cuda_time_total")


def test_forked_children_start_with_it_off():
    with profile(activities=CPU, profile_memory=True) as prof:
        torch.ones(10)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                torch.ones(10).exp()
                prof.stop()  # its parent's: nothing to end here
                fine = not running()
                with profile(activities=CPU) as own:
                    torch.zeros(1)
                code = 0 if fine and [e.name for e in own.events()] == ["aten::zeros"] else 2
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        torch.ones(10)
    assert status == 0
    assert [e.name for e in prof.events() if e.name != "[memory]"] == ["aten::ones", "aten::ones"]


# --- What is written -------------------------------------------------------------------------------------------------


def trained() -> Any:
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))

    def elsewhere():
        with torch.no_grad():
            model(torch.ones(1, 4))

    with profile(activities=CPU, record_shapes=True, profile_memory=True, with_stack=True, with_flops=True) as prof:
        with record_function("forward"):
            loss = model(torch.ones(3, 4)).sum()
        loss.backward()
        thread = threading.Thread(target=elsewhere, name="elsewhere")
        thread.start()
        thread.join()
    return prof


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_chrome_trace(tmp_path, name):
    """The keys that viewers require, by the format's description ("Trace Event Format", Google 2016)."""
    prof = trained()
    prof.add_metadata("run", 'the "first"')
    prof.add_metadata_json("layers", "[4, 8, 2]")
    prof.export_chrome_trace(tmp_path / name)
    raw = (tmp_path / name).read_bytes()
    trace = json.loads(gzip.decompress(raw) if name.endswith(".gz") else raw)
    assert trace["run"] == 'the "first"' and trace["layers"] == [4, 8, 2]
    assert trace["displayTimeUnit"] == "ms" and trace["record_shapes"] == 1
    rows = trace["traceEvents"]
    assert {r["ph"] for r in rows} == {"M", "X", "i", "s", "f"}
    for row in rows:
        assert isinstance(row["name"], str) and row["ts"] >= 0 and "pid" in row and "tid" in row
        assert row["ph"] == "M" or row["cat" if row["ph"] != "i" else "s"]
        if row["ph"] == "X":
            assert row["dur"] >= 0
    spans = [r for r in rows if r["ph"] == "X" and r["cat"] != "Trace"]
    assert sorted(r["name"] for r in spans) == sorted(e.name for e in prof.events() if e.name != "[memory]")
    assert {r["pid"] for r in spans} == {os.getpid()}
    threads = {r["tid"]: r["args"]["name"] for r in rows if r["name"] == "thread_name"}
    assert {r["tid"] for r in spans} == set(threads) and "MainThread" in threads[threading.get_native_id()]
    assert any(r["name"] == "process_name" for r in rows)
    linear = next(r for r in spans if r["name"] == "aten::linear")
    assert linear["cat"] == "cpu_op" and linear["args"]["Input Dims"] == [[3, 4], [8, 4], [8]]
    assert linear["args"]["Input type"] == ["float", "float", "float"]
    assert "test_profiler.py" in linear["args"]["Call stack"]
    assert next(r for r in spans if r["name"] == "forward")["cat"] == "user_annotation"
    memory = [r for r in rows if r["name"] == "[memory]"]
    assert {r["args"]["Bytes"] for r in memory} >= {96, -96} and all(r["args"]["Total Allocated"] > 0 for r in memory)
    for start in [r for r in rows if r["ph"] == "s"]:  # arrows from what recorded a node to the node
        (end,) = [r for r in rows if r["ph"] == "f" and r["id"] == start["id"]]
        at = {r["ts"]: r["name"] for r in spans}
        forward, backward = at[start["ts"]], at[end["ts"]]
        assert (forward, backward) in {
            ("aten::linear", "AddmmBackward0"), ("aten::relu", "ReluBackward0"), ("aten::sum", "SumBackward0"),
        }, (forward, backward)  # fmt: skip


def test_spans_of_a_thread_nest_in_the_trace(tmp_path):
    """Viewers draw wrong what overlaps in part."""
    trained().export_chrome_trace(tmp_path / "t.json")
    spans: dict[int, list] = {}
    for row in json.loads((tmp_path / "t.json").read_text())["traceEvents"]:
        if row["ph"] == "X":
            spans.setdefault(row["tid"], []).append((row["ts"], row["ts"] + row["dur"]))
    for of_thread in spans.values():
        stack: list[tuple[float, float]] = []
        for start, end in sorted(of_thread, key=lambda s: (s[0], -s[1])):
            while stack and stack[-1][1] <= start:
                stack.pop()
            assert not stack or end <= stack[-1][1] + 1e-3
            stack.append((start, end))


def test_table():
    prof = trained()
    text = prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=3, header="Title")
    lines = text.splitlines()
    assert re.fullmatch("=+", lines[0]) and lines[1] == "Title"
    assert re.split(r"\s{2,}", lines[3].strip()) == [
        "Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "CPU Mem", "Self CPU Mem",
        "# of Calls", "Total FLOPs",
    ]  # fmt: skip
    assert len(lines) == 10 and re.fullmatch(r"Self CPU time total: [\d.]+(us|ms|s)", lines[-1])
    for line in lines[5:8]:
        cells = re.split(r"\s{2,}", line.strip())
        assert len(cells) == 10 and cells[1].endswith("%")
        assert all(re.fullmatch(r"[\d.]+(us|ms|s)", c) for c in (cells[2], cells[4], cells[5]))
        assert all(re.fullmatch(r"-?[\d.]+ (B|KB|MB)", c) for c in cells[6:8])
    shown = [float(re.split(r"\s{2,}", line.strip())[1][:-1]) for line in lines[5:8]]
    assert shown == sorted(shown, reverse=True)
    by_shape = prof.key_averages(group_by_input_shape=True, group_by_stack_n=2).table(row_limit=-1)
    assert "Input Shapes" in by_shape and "Source Location" in by_shape and "[[3, 4], [8, 4], [8]]" in by_shape
    assert "test_profiler.py(" in by_shape
    only_top = prof.events().table(top_level_events_only=True)
    assert re.search("^ +forward  ", only_top, re.M) and not re.search("^ +AddmmBackward0  ", only_top, re.M)
    assert re.search(r"\d\.\d{3}ms +\d+\.\d{2}%", prof.key_averages().table(time_unit="ms"))
    assert str(prof.key_averages()) == prof.key_averages().table()
    long = profile(activities=CPU)
    with long, record_function("x" * 80):
        pass
    assert "x" * 52 + "..." in str(long.events()) and "x" * 80 in long.events().table(max_name_column_width=None)


def test_sums():
    with profile(activities=CPU) as prof:
        for _ in range(3):
            torch.ones(2).exp()
    ones, exp = prof.key_averages()
    each = [e.cpu_time_total for e in prof.events() if e.name == "aten::exp"]
    assert (ones.key, exp.key, exp.count) == ("aten::ones", "aten::exp", 3)
    assert exp.cpu_time_total == pytest.approx(sum(each)) and exp.cpu_time == pytest.approx(sum(each) / 3)
    total = prof.events().total_average()
    assert total.count == 6 and total.self_cpu_time_total == pytest.approx(prof.events().self_cpu_time_total)
    assert (exp.cuda_time_total, exp.device_time_total, exp.self_cuda_time_total, exp.device_type) == (0, 0, 0, 0)
    assert (
        exp.cpu_time_str.endswith(("us", "ms")) and "aten::exp" in repr(exp) and "aten::exp" in repr(prof.events()[1])
    )


# --- The older interface ---------------------------------------------------------------------------------------------


def test_legacy_profile():
    legacy = torch.autograd.profiler
    with legacy.profile(record_shapes=True) as prof:
        with legacy.record_function("range"):
            torch.ones(2).exp()
    assert [e.name for e in prof.function_events] == ["range", "aten::ones", "aten::exp"]
    assert prof.self_cpu_time_total > 0 and prof.total_average().count == 3
    assert "aten::exp" in prof.table() == str(prof)
    with legacy.profile(enabled=False) as prof:
        torch.ones(2)
    with pytest.raises(RuntimeError, match="not enabled"):
        prof.key_averages()
    for emit in (legacy.emit_nvtx, legacy.emit_itt):
        with pytest.raises(AssertionError, match="hint"), emit():
            pass
        with emit(enabled=False):
            pass


def test_off_costs_no_import():
    import subprocess
    import sys

    code = "import rushlight, sys; print([m for m in sys.modules if 'profiler' in m])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_left_running_at_the_end():
    """Threads that end, and the program that ends, while it runs."""
    import subprocess
    import sys

    code = """
import threading, rushlight as rl
prof = rl.profiler.profile(profile_memory=True, with_stack=True)
prof.start()
def work():
    global kept
    kept = rl.ones(100).exp()
for _ in range(3):
    t = threading.Thread(target=work); t.start(); t.join()
rl.ones(1000)
print("ends")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ends\n", "")


def test_warnings_name_the_users_line():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU])
    assert [os.path.basename(w.filename) for w in caught] == ["test_profiler.py"]
