"""Tensors in other processes: what is sent, what is shared, and what is said when one of them fails."""

import gc
import os
import pickle
import subprocess
import sys
import time

import pytest

import rushlight as rl
import rushlight.multiprocessing as mp
from rushlight import nn

METHODS = ("fork", "spawn", "forkserver")


class Marked(rl.Tensor):
    """A subclass of Tensor."""


class Net(nn.Module):
    """A linear layer and a buffer."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 1)
        self.register_buffer("seen", rl.zeros(()))

    def forward(self, x):
        return self.linear(x)


def samples():
    base = rl.arange(12.0).reshape(3, 4)
    parameter = nn.Parameter(rl.ones(2))
    parameter.note = "kept"
    return {
        "contiguous": rl.arange(6.0).reshape(2, 3),
        "transposed": base.t(),
        "part": base[1:, ::2],
        "scalar": rl.tensor(3),
        "empty": rl.empty(0, 2),
        "bool": rl.tensor([True, False]),
        "half": rl.ones(3, dtype=rl.float16),
        "uint16": rl.ones(3, dtype=rl.uint16),
        "leaf": rl.ones(2, requires_grad=True),
        "parameter": parameter,
        "subclass": rl.ones(2).as_subclass(Marked),
        "meta": rl.empty(2, 3, device="meta"),
    }


def echo(receive, send):
    for message in iter(receive.get, None):
        send.put(message)
    receive.get()  # lives until what it sent is received


@pytest.fixture(scope="module", params=METHODS)
def partner(request):
    """A process that sends back what it is sent."""
    context = mp.get_context(request.param)
    to, back = context.Queue(), context.Queue()
    process = context.Process(target=echo, args=(to, back), daemon=True)
    process.start()

    def ask(message):
        to.put(message)
        return back.get(timeout=60)

    yield ask
    to.put(None)
    to.put(None)
    process.join(60)
    assert process.exitcode == 0


@pytest.mark.parametrize("name", samples())
def test_what_arrives(partner, name):
    sent = samples()[name]
    got = partner(sent)
    assert type(got) is type(sent) and got.shape == sent.shape and got.stride() == sent.stride()
    assert (got.dtype, got.requires_grad, vars(got)) == (sent.dtype, sent.requires_grad, vars(sent))
    if not sent.is_meta:
        assert got.tolist() == sent.tolist()
    if sent.numel() and not sent.is_meta:
        assert got.is_shared() and sent.is_shared()
        with rl.no_grad():
            got.fill_(1)
            sent.zero_()
        assert not got.any()  # written through the other


def test_what_shared_memory_goes_on_sharing_it(partner):
    base = rl.zeros(4)
    a, b = partner((base[:2], base[1:]))
    a[1] = 5
    assert b[0] == 5 and base[1] == 5


def test_a_module(partner):
    net = Net()
    twin = partner(net)
    with rl.no_grad():
        net.linear.weight.fill_(3)
        twin.seen += 1
    assert twin.linear.weight.tolist() == [[3, 3]] and net.seen.item() == 1


def test_what_has_a_history_is_not_sent(partner):
    with pytest.raises(RuntimeError, match=r"part of a graph.*\n  hint: send tensor.detach\(\)"):
        mp.reduction.ForkingPickler.dumps(rl.ones(2, requires_grad=True) * 2)


def test_files_are_closed(partner):
    def open_files():
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    partner(rl.ones(2))
    before = open_files()
    for _ in range(20):
        partner([rl.ones(100), rl.ones(3)])
    time.sleep(0.1)  # the queue's thread lets go of the last
    assert open_files() <= before + 4


def test_plain_pickles_copy():
    shared = rl.ones(2).share_memory_()
    copy = pickle.loads(pickle.dumps(shared))
    copy.zero_()
    assert not copy.is_shared() and shared.tolist() == [1, 1]


def write(i, tensors, model):
    tensors[i].fill_(i + 1)
    with rl.no_grad():
        model.linear.weight[0, i] = 10 * (i + 1)


@pytest.mark.parametrize("method", METHODS)
def test_arguments_are_shared(method):
    tensors = [rl.zeros(1).share_memory_() for _ in range(300)]  # more files than Python's forkserver takes at once
    model = Net().share_memory()
    mp.start_processes(write, (tensors, model), nprocs=2, start_method=method)
    assert [tensors[i].item() for i in range(3)] == [1, 2, 0]
    assert model.linear.weight.tolist() == [[10, 20]]


def train(i, model, steps):
    rl.manual_seed(i)
    optimizer = rl.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        x = rl.randn(16, 2)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()


@pytest.mark.parametrize("method", METHODS)
def test_hogwild(method):
    """Processes that train one model at once, without locks, all of which it learns from (Niu et al., 2011)."""
    model = Net().share_memory()
    mp.start_processes(train, (model, 60), nprocs=2, start_method=method)
    assert (model.linear.weight - 1).abs().max() < 0.05
    assert model.linear.weight.grad is None


def double(x):
    return 2 * x


@pytest.mark.parametrize("method", METHODS)
def test_pool(method):
    with mp.get_context(method).Pool(2) as pool:
        assert [y.tolist() for y in pool.map(double, [rl.ones(2), rl.zeros(1)])] == [[2, 2], [0]]


# ---- spawn


def fail(i, how):
    if i == 1:
        if how == "raise":
            raise KeyError("words")
        if how == "long":
            raise ValueError("x" * 300_000 + "end")
        if how == "exit":
            sys.exit(3)
        if how == "status":
            os._exit(4)
        if how == "kill":
            os.kill(os.getpid(), 9)
    time.sleep(120)


@pytest.mark.parametrize(
    "how, kind, words, attributes",
    [
        ("raise", mp.ProcessRaisedException, "KeyError: 'words'", {}),
        ("long", mp.ProcessRaisedException, "xend", {}),
        ("exit", mp.ProcessExitedException, "exit code 3", {"exit_code": 3, "signal_name": None}),
        ("status", mp.ProcessExitedException, "exit code 4", {"exit_code": 4}),
        ("kill", mp.ProcessExitedException, "signal SIGKILL", {"exit_code": -9, "signal_name": "SIGKILL"}),
    ],
)
def test_an_error_ends_all(how, kind, words, attributes):
    start = time.monotonic()
    with pytest.raises(kind) as caught:
        mp.start_processes(fail, (how,), nprocs=2, start_method="fork")
    error = caught.value
    assert words in str(error) and error.error_index == 1 and error.error_pid == error.pid > 0
    assert {name: getattr(error, name) for name in attributes} == attributes
    assert time.monotonic() - start < 60
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind and vars(again) == vars(error)


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_an_error_in_a_process_started_afresh(method):
    with pytest.raises(mp.ProcessRaisedException, match="KeyError: 'words'"):
        mp.start_processes(fail, ("raise",), nprocs=2, start_method=method)


def test_spawn_without_waiting():
    running = mp.spawn(write, ([rl.zeros(1), rl.zeros(1)], Net()), nprocs=2, join=False)
    assert len(set(running.pids())) == 2
    running.join(timeout=0)
    while not running.join(timeout=60):
        pass
    assert [process.exitcode for process in running.processes] == [0, 0] and running.join()
    with pytest.warns(UserWarning, match="start_processes"):
        mp.spawn(write, nprocs=0, start_method="fork")


def test_processes_end_with_the_one_that_started_them():
    code = """if True:
        import os, time, rushlight.multiprocessing as mp
        def work(i, q):
            q.put(os.getpid())
            time.sleep(60)
        q = mp.get_context("fork").Queue()
        mp.start_processes(work, (q,), 1, join=False, start_method="fork")
        print(q.get(), flush=True)
        os._exit(0)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    pid = int(done.stdout)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().split(") ")[-1][0] == "Z":
                    return
        except FileNotFoundError:
            return
        time.sleep(0.05)
    pytest.fail("the process lives on")


# ---- the module


def test_it_is_the_standard_module_and_more():
    import multiprocessing

    assert set(multiprocessing.__all__) <= set(dir(mp)) and mp.Process is multiprocessing.Process
    assert mp.get_context("spawn") is multiprocessing.get_context("spawn") and mp.queues is multiprocessing.queues
    with pytest.raises(AttributeError, match="novelty"):
        mp.novelty  # noqa: B018


def test_sharing_strategies():
    before = mp.get_sharing_strategy()
    assert before in mp.get_all_sharing_strategies()
    mp.set_sharing_strategy("file_system")
    assert mp.get_sharing_strategy() == "file_system"
    mp.set_sharing_strategy(before)
    with pytest.raises(ValueError, match="novel"):
        mp.set_sharing_strategy("novel")


def test_storages_are_shared_too():
    x = rl.ones(3)
    storage = x.untyped_storage()
    assert not storage.is_shared() and storage.share_memory_() is storage and x.is_shared()


def test_too_many_open_files():
    code = """if True:
        import resource, rushlight as rl
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
        kept = []
        try:
            for i in range(100): kept.append(rl.ones(1).share_memory_())
        except RuntimeError as error:
            print(error)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "raise `ulimit -n`" in done.stdout
