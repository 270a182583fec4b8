"""The type stubs of the engine tell of all that it has, and type checkers understand them."""

import ast
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCRIPT, STUB = ROOT / "scripts" / "stubs.py", ROOT / "src" / "rushlight" / "_C.pyi"


def test_stub_is_up_to_date():
    # In a process of its own: what other tests import may attach to Tensor.
    out = subprocess.run([sys.executable, SCRIPT, "--print"], capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    assert STUB.read_text() == out.stdout, "run: python scripts/stubs.py"


def test_every_parameter_has_a_type():
    """Those of operations, that is: their types come from schemas."""
    tree = ast.parse(STUB.read_text())
    bare = {
        f"{f.name}({a.arg})"
        for f in ast.walk(tree)
        if isinstance(f, ast.FunctionDef) and f in tree.body
        for a in [*f.args.posonlyargs, *f.args.args, *f.args.kwonlyargs]
        if a.annotation is None
    }
    assert not bare


USER = """
import rushlight as torch
from rushlight import nn
from typing import assert_type

x = torch.randn(2, 3, requires_grad=True)
assert_type(x + 1, torch.Tensor)
assert_type(x.relu_(), torch.Tensor)
assert_type(torch.add(x, 2, alpha=3), torch.Tensor)
assert_type(x.view(3, 2).view((6,)), torch.Tensor)
assert_type(x.size(), torch.Size)
assert_type(x.size(0), int)
assert_type(x.requires_grad, bool)
x.requires_grad = False
model = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
x.shap  # E: "Tensor" has no attribute "shap"
torch.exp("x")  # E: incompatible type "str"
x.dtype = torch.float32  # E: read-only
"""


def test_a_users_program_is_checked(tmp_path):
    api = pytest.importorskip("mypy.api")
    program = tmp_path / "program.py"
    program.write_text(USER)
    config = tmp_path / "mypy.ini"
    config.write_text(f"[mypy]\nmypy_path = {ROOT / 'src'}\n")
    out, err, _ = api.run(["--config-file", str(config), "--cache-dir", str(tmp_path / "cache"), str(program)])
    lines = {
        int(line.split(":")[1]): line for line in out.splitlines() if line.startswith(str(program)) and "error" in line
    }
    expected = {i: line.split("# E: ")[1] for i, line in enumerate(USER.splitlines(), 1) if "# E: " in line}
    assert lines.keys() == expected.keys(), out + err
    for i, text in expected.items():
        assert text in lines[i]
