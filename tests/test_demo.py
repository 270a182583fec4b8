"""The command line and the demo: what it writes, how it stops and carries on, what it says when it cannot."""

import argparse
import os
import signal
import subprocess
import sys
import time

import pytest

import rushlight as rl
from rushlight.utils.data import Subset

pytest.importorskip("matplotlib")
pytest.importorskip("tqdm")
pytest.importorskip("PIL")

from rushlight.demo import train  # noqa: E402

OPTIONS = {"epochs": 2, "batch_size": 64, "device": "cpu", "seed": 3, "data": None, "data_dir": None, "resume": False,
           "safetensors": False}  # fmt: skip


def command(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "rushlight", *arguments], capture_output=True, text=True, timeout=300, **options
    )


def few(dataset, count):
    """The first images, with the attributes that the pictures need."""
    subset = Subset(dataset, range(count))
    subset.data, subset.targets, subset.classes = dataset.data[:count], dataset.targets[:count], dataset.classes
    return subset


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Runs the demo in this process on a few images; stops it after some batches if asked."""
    whole = train.datasets

    def small(name, data_dir):
        first, second = whole(name, data_dir)
        return few(first, 400), few(second, 100)

    monkeypatch.setattr(train, "datasets", small)
    monkeypatch.setattr(train, "WORKERS", 0)

    def call(out, stop_after=None, **options):
        class Interrupt(train._Interrupt):
            @property
            def asked(self):
                self.batches += 1
                return stop_after is not None and self.batches >= stop_after

            @asked.setter
            def asked(self, value):
                self.batches = 0

        monkeypatch.setattr(train, "_Interrupt", Interrupt)
        return train.run(argparse.Namespace(**{**OPTIONS, "out": str(tmp_path / out), **options}))

    return call


def weights(path):
    return {name: value.tolist() for name, value in rl.load(path / "checkpoint.pt")["model"].items()}


def test_writes_everything(run, tmp_path, capsys):
    assert run("a") == 0
    assert {p.name for p in (tmp_path / "a").iterdir()} == {"checkpoint.pt", "curves.png", "predictions.png"}
    from PIL import Image

    for name, width in (("curves.png", 1000), ("predictions.png", 1000)):
        with Image.open(tmp_path / "a" / name) as image:
            assert image.width > width and image.convert("L").getextrema()[0] < 60
    said = capsys.readouterr().out
    assert "epoch  2/2  loss" in said and "images/s" in said and "test accuracy" in said and "<- read as" in said


@pytest.mark.parametrize("stops", [(3,), (7,), (2, 3, 6)], ids=str)  # an epoch has 7 batches
def test_resumes_to_the_same_result(run, tmp_path, capsys, stops):
    assert run("whole") == 0
    for i, batches in enumerate(stops):
        assert run("parts", stop_after=batches, resume=i > 0) == 130
        assert f"rushlight demo --resume --out {tmp_path / 'parts'}" in capsys.readouterr().out
    assert run("parts", resume=True) == 0
    whole, parts = (rl.load(tmp_path / name / "checkpoint.pt")["progress"] for name in ("whole", "parts"))
    assert whole["step_losses"] == parts["step_losses"] and whole["epochs"] == parts["epochs"]
    assert weights(tmp_path / "whole") == weights(tmp_path / "parts")


def test_more_epochs_after_the_last(run, tmp_path):
    assert run("a", epochs=1) == 0
    assert run("a", epochs=2, resume=True) == 0
    assert run("b", epochs=2) == 0
    assert weights(tmp_path / "a") == weights(tmp_path / "b")


def test_other_options_are_not_mixed_in(run, capsys):
    assert run("a", epochs=1) == 0
    assert run("a", resume=True, seed=4) == 1
    said = capsys.readouterr().err
    assert "--seed is 4, but the checkpoint was trained with 3" in said and "hint" in said


def test_safetensors(run, tmp_path, capsys):
    """With training or, later, from the checkpoint of a run that is done: the same weights."""
    safetensors = pytest.importorskip("safetensors.numpy")
    assert run("a", epochs=1, safetensors=True) == 0
    assert "wrote checkpoint.pt, model.safetensors, curves.png and" in capsys.readouterr().out
    written = tmp_path / "a" / "model.safetensors"
    for _ in range(2):  # the order of the file's entries may differ, what they hold may not
        held = {name: value.tolist() for name, value in safetensors.load_file(written).items()}
        same = held == weights(tmp_path / "a")  # by itself, as pytest takes minutes to explain how long lists differ
        assert same and not list((tmp_path / "a").glob("*.part"))
        written.unlink()
        assert run("a", epochs=1, resume=True, safetensors=True) == 0


def test_nothing_to_resume(run, capsys):
    assert run("none", resume=True) == 1
    said = capsys.readouterr().err
    assert "no checkpoint at" in said and "hint" in said


@pytest.mark.parametrize("content", [b"hello", b"PK", b""])
def test_damaged_checkpoint(run, tmp_path, capsys, content):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "checkpoint.pt").write_bytes(content)
    assert run("a", resume=True) == 1
    assert "cannot resume" in capsys.readouterr().err


def test_another_checkpoint(run, tmp_path, capsys):
    (tmp_path / "a").mkdir()
    rl.save({"weight": rl.ones(2)}, tmp_path / "a" / "checkpoint.pt")
    assert run("a", resume=True) == 1
    assert "not a checkpoint of the demo" in capsys.readouterr().err


def test_out_is_a_file(run, tmp_path, capsys):
    (tmp_path / "a").write_text("")
    assert run("a") == 1
    assert "not a folder" in capsys.readouterr().err


def test_unknown_device(run, capsys):
    assert run("a", device="abacus") == 1
    assert "--device abacus" in capsys.readouterr().err


def test_missing_extras(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name in ('tqdm', 'PIL') else find(name, *a)\n"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    out = command("demo", env={**os.environ, "PYTHONPATH": path}, cwd=tmp_path)
    assert out.returncode == 1 and "needs pillow, tqdm" in out.stderr and "pip install 'rushlight[demo]'" in out.stderr
    assert "Traceback" not in out.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_saves(tmp_path):
    """As on a terminal: the signal reaches the whole process group, workers included."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rushlight", "demo"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout.readline().startswith("digits: 8,000 images")
        time.sleep(2)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert "to carry on: rushlight demo --resume" in out and "Traceback" not in err
    assert rl.load(tmp_path / "rushlight-demo" / "checkpoint.pt")["progress"]["step_losses"]


def test_help_version_info():
    assert "demo" in command("--help").stdout and "info" in command("--help").stdout
    assert command().returncode == 0
    assert command("--version").stdout.startswith("rushlight ")
    info = command("info").stdout
    for word in ("rushlight:", "python:", "platform:", "threads:", "numpy:"):
        assert word in info


@pytest.mark.parametrize("arguments", [("demo", "--epochs", "0"), ("demo", "--batch-size", "x"), ("no-such-command",)])
def test_bad_options(arguments):
    out = command(*arguments)
    assert out.returncode == 2 and "Traceback" not in out.stderr


def test_confusion():
    text = train.confusion([0, 0, 1, 1, 2], [0, 1, 1, 0, 0], ["a", "b", "c"])
    assert text.splitlines()[1].split() == ["a", "1", "1", "."]
    assert text.splitlines()[-1] == "most often mistaken: c read as a (1), b read as a (1), a read as b (1)"
