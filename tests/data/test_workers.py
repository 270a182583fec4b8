"""What goes wrong in workers: exceptions, exits, kills, hangs, and the death of the main process."""

import errno
import faulthandler
import gc
import os
import pathlib
import resource
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import rushlight as rl
from rushlight.utils import data

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


class Odd(Exception):
    """An exception whose constructor a message alone does not satisfy."""

    def __init__(self, a, b):
        super().__init__(f"{a} {b}")


class Mute(Exception):
    def __str__(self):
        return "nothing to say"


class At3(data.Dataset):
    """Does something at item 3."""

    def __init__(self, action, size=8):
        self.action, self.size = action, size

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        if i == 3:
            return self.action()
        return rl.full((1000,), float(i))


def raiser(error):
    def act():
        raise error

    return act


def crash():
    faulthandler.disable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.kill(os.getpid(), signal.SIGSEGV)


def alive(pids):
    """Which of the processes still run (zombies do not)."""
    running = []
    for pid in pids:
        try:
            state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state != "Z":
            running.append(pid)
    return running


def wait_until_gone(pids, seconds):
    deadline = time.monotonic() + seconds
    while (left := alive(pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def shared_memory():
    return set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()


@pytest.mark.parametrize(
    "error, kind",
    [
        (ValueError("bad sample"), ValueError),
        (KeyError("bad sample"), KeyError),
        (OSError(errno.ENOENT, "bad sample"), OSError),
        (Odd("bad", "sample"), Odd),
        (Mute("bad sample"), RuntimeError),
        (UnicodeDecodeError("utf8", b"x", 0, 1, "bad sample"), RuntimeError),
        (StopIteration("bad sample"), RuntimeError),
    ],
)
def test_an_exception_keeps_its_type_and_traceback(error, kind):
    loader = data.DataLoader(At3(raiser(error)), batch_size=2, num_workers=2)
    batches = iter(loader)
    next(batches)
    with pytest.raises(kind) as caught:
        next(batches)
    text = str(caught.value)
    assert "in DataLoader worker process 1" in text and "raiser" not in text.splitlines()[0]
    assert "Traceback" in text and "test_workers.py" in text and "\n" in text
    assert len(list(batches)) == 2  # the others are still to be had


def test_stop_iteration_does_not_end_the_loop_silently():
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(data.DataLoader(At3(raiser(StopIteration())), batch_size=2))


def test_what_cannot_be_pickled():
    class Local(Exception):
        pass

    for action, words in ((lambda: (x for x in ()), "generator"), (raiser(Local("gone wrong")), "gone wrong")):
        with pytest.raises((TypeError, RuntimeError), match=words):
            list(data.DataLoader(At3(action), batch_size=None, num_workers=2))
    with pytest.raises(RuntimeError, match=r"detach\(\)"):
        list(data.DataLoader(At3(lambda: rl.ones(2, requires_grad=True) * 2), batch_size=None, num_workers=2))


def test_failing_set_up():
    def init(worker):
        raise LookupError("no such shard")

    class Stream(data.IterableDataset):
        def __iter__(self):
            raise LookupError("no such shard")

    for loader in (
        data.DataLoader(At3(None), num_workers=1, worker_init_fn=init),
        data.DataLoader(Stream(), num_workers=1),
    ):
        with pytest.raises(LookupError, match="no such shard"):
            next(iter(loader))


def test_the_next_pass_starts_afresh(tmp_path):
    """Persistent workers: a dataset that could not be begun is begun again; a failed worker_init_fn stays failed."""
    here = tmp_path / "here"

    class Stream(data.IterableDataset):
        def __iter__(self):
            return iter(range(here.stat().st_size))

    def init(worker):
        here.stat()

    def loader(**options):
        return data.DataLoader(Stream(), None, num_workers=1, persistent_workers=True, **options)

    mended, broken = loader(), loader(worker_init_fn=init)
    for either in (mended, broken):
        with pytest.raises(FileNotFoundError):
            list(either)
    here.write_text("abc")
    assert list(mended) == [0, 1, 2]
    with pytest.raises(FileNotFoundError):
        list(broken)


@pytest.mark.parametrize(
    "action, words",
    [
        (lambda: os._exit(7), r"exited with code 7"),
        (lambda: sys.exit(3), r"exited with code 3"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), r"killed by SIGKILL \(signal 9\)(.|\n)*memory"),
        pytest.param(crash, r"killed by SIGSEGV \(signal 11\)(.|\n)*faulthandler", id="crash"),
    ],
)
def test_a_worker_that_dies(action, words):
    batches = iter(data.DataLoader(At3(action), batch_size=None, num_workers=2))
    pids = [process.pid for process in batches._pool.processes]
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=rf"DataLoader worker 1 \(pid {pids[1]}\) (was )?{words}"):
        list(batches)
    assert time.monotonic() - start < 10
    assert not wait_until_gone(pids, 1)
    with pytest.raises(RuntimeError, match="DataLoader worker 1"):
        next(batches)


def test_a_worker_killed_from_outside_while_it_sleeps():
    batches = iter(data.DataLoader(At3(lambda: time.sleep(60)), batch_size=None, num_workers=2))
    [next(batches) for _ in range(3)]
    os.kill(batches._pool.processes[1].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="killed by SIGKILL"):
        next(batches)


def test_persistent_workers_are_replaced_after_a_death():
    loader = data.DataLoader(At3(lambda: 0), batch_size=None, num_workers=2, persistent_workers=True)
    assert len(list(loader)) == 8
    os.kill(loader._iterator._pool.processes[0].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="killed by SIGKILL"):
        list(loader)
    assert len(list(loader)) == 8


def test_timeout():
    start = time.monotonic()
    with pytest.raises(RuntimeError, match="timed out after 0.5 seconds, waiting for batch 3 from worker 1"):
        list(data.DataLoader(At3(lambda: time.sleep(60)), batch_size=None, num_workers=2, timeout=0.5))
    assert time.monotonic() - start < 10


def test_leaving_the_loop_ends_the_workers():
    def slow():
        time.sleep(60)

    for leave in ("break", "collect", "cycle"):
        batches = iter(data.DataLoader(At3(slow), batch_size=None, num_workers=2))
        pids = [process.pid for process in batches._pool.processes]
        for _ in batches:
            break
        start = time.monotonic()
        if leave == "cycle":
            batches.me = batches
        del batches, _
        gc.collect()
        assert not wait_until_gone(pids, 1)
        assert time.monotonic() - start < 10


def run(code, **options):
    code = "import os, sys, time, signal\nimport rushlight as rl\nfrom rushlight.utils import data\n" + textwrap.dedent(
        code
    )
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


SLEEPER = """
class Sleeper(data.Dataset):
    def __len__(self):
        return 1000
    def __getitem__(self, i):
        if i >= 6:
            time.sleep({sleep})
        return rl.full((1 << 19,), float(i))
def start(workers=2, **options):
    it = iter(data.DataLoader(Sleeper(), batch_size=None, num_workers=workers, **options))
    next(it)
    print(*[p.pid for p in it._pool.processes], flush=True)
    return it
"""


@pytest.mark.parametrize("sleep", [0.01, 60])
@pytest.mark.parametrize("then", ["time.sleep(60)", "os.fork(); time.sleep(8)"], ids=["alone", "with a fork"])
def test_kill_9_of_the_main_process(sleep, then):
    before = shared_memory()
    main = run(SLEEPER.format(sleep=sleep) + f"it = start()\n{then}")
    pids = [int(pid) for pid in main.stdout.readline().split()]
    assert len(pids) == 2 and len(alive(pids)) == 2
    main.kill()
    main.wait()
    assert not wait_until_gone(pids, 10)
    assert shared_memory() <= before
    main.stdout.close()
    main.stderr.close()


@pytest.mark.parametrize(
    "ending",
    [
        "pass",
        "sys.exit(0)",
        "del it",
        "keep = [next(it) for _ in range(3)]",
        "import threading; threading.Thread(target=list, args=(it,), daemon=True).start(); time.sleep(0.2)",
        "os.fork()",
    ],
)
def test_the_interpreter_ends(ending):
    before = shared_memory()
    main = run(SLEEPER.format(sleep=60) + "it = start()\n" + ending)
    out, err = main.communicate(timeout=60)
    pids = [int(pid) for pid in out.split()][:2]
    assert main.returncode == 0, err
    assert not wait_until_gone(pids, 3) and "Traceback" not in err
    assert shared_memory() <= before


def test_ctrl_c():
    main = run(SLEEPER.format(sleep=60) + "it = start()\nlist(it)", start_new_session=True)
    pids = [int(pid) for pid in main.stdout.readline().split()]
    time.sleep(0.3)
    os.killpg(main.pid, signal.SIGINT)
    _, err = main.communicate(timeout=60)
    assert main.returncode != 0 and err.count("KeyboardInterrupt") == 1 and "rushlight-worker" not in err
    assert not wait_until_gone(pids, 3)


def test_a_loader_inside_a_worker():
    """Workers may not start processes of their own, but may load in themselves."""

    class Nested(data.Dataset):
        def __len__(self):
            return 2

        def __getitem__(self, i):
            return sum(int(batch.sum()) for batch in data.DataLoader(range(10), batch_size=3))

    assert [int(x) for x in data.DataLoader(Nested(), num_workers=2)] == [45, 45]
