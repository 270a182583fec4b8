"""The house keeps its floors: what includes and imports what, how long files are, what object code leaves behind."""

import ast
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
CSRC, PACKAGE = ROOT / "csrc", ROOT / "src" / "rushlight"
MAX_LINES = 800

# docs/architecture.md, as a table: a file in a folder includes only files of these folders.
LAYERS = {
    "base": {"base"},
    "pointwise": {"pointwise"},
    "tensor": {"base", "tensor"},
    "kernels/cpu": {"base", "kernels/cpu", "pointwise"},
    "kernels": {"base", "tensor", "pointwise", "kernels/cpu", "kernels"},
    "autograd": {"base", "tensor", "autograd"},
    "ops": {"base", "tensor", "pointwise", "kernels/cpu", "kernels", "autograd", "ops"},
    "": {"base", "tensor", "autograd", "ops", "kernels"},  # csrc/rushlight.h, what a C++ program includes
    "python": {"base", "tensor", "pointwise", "kernels/cpu", "kernels", "autograd", "ops", "python"},
}

# The package: a module imports only from these of its neighbours. "core" is every module beside the folders.
PACKAGE_LAYERS = {
    "core": {"core", "_composites", "autograd"},
    "_composites": {"core", "_composites"},
    "autograd": {"core", "utils", "autograd"},
    "cuda": {"core", "amp", "cuda"},
    "amp": {"core", "autograd", "amp"},
    "cpu": {"core", "amp", "cpu"},
    "backends": {"core", "backends"},
    "multiprocessing": {"core", "multiprocessing"},
    "compat": {"core", "compat"},
    "distributions": {
        "core",
        "autograd",
        "nn",
        "distributions",
    },  # autograd: gamma draws have a derivative of their own
    "nn": {"core", "_composites", "autograd", "backends", "utils", "nn"},  # backends: the switches of attention
    "optim": {"core", "_composites", "autograd", "utils", "optim", "nn"},  # nn: swa_utils averages Modules
    "profiler": {"core", "autograd", "profiler"},
    "func": {"core", "nn", "func"},  # nn: functional_call calls Modules
    "utils": {"core", "utils"},
    "vision": {"core", "nn", "utils", "vision"},  # nn: transforms are Modules, as torchvision's are
    "demo": {"core", "nn", "optim", "utils", "vision", "demo"},
}
TOP = {"__init__", "__main__"}  # put everything together

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)


def sources(folder: pathlib.Path, *suffixes: str) -> list[pathlib.Path]:
    return sorted(p for p in folder.rglob("*") if p.suffix in suffixes and "__pycache__" not in p.parts)


def layer_of(relative: pathlib.PurePath) -> str:
    folder = relative.parent.as_posix()
    if folder.startswith("kernels/cpu"):
        return "kernels/cpu"
    return "" if folder == "." else folder.split("/")[0]


def cpp_breaches(csrc: pathlib.Path) -> list[str]:
    found = []
    for path in sources(csrc, ".h", ".cpp"):
        relative = path.relative_to(csrc)
        layer = layer_of(relative)
        if layer not in LAYERS:
            found.append(f"{relative}: lies in no layer of docs/architecture.md")
            continue
        for quote, name in INCLUDE.findall(path.read_text()):
            if quote == "<":
                if layer == "pointwise":
                    found.append(f"{relative} includes <{name}>; pointwise/ needs no other header")
                elif re.match(r"Python\.h|nanobind/|internal/pycore|(frameobject|structmember)\.h", name):
                    if layer != "python":
                        found.append(f"{relative} includes <{name}>; only csrc/python knows Python")
                elif "/" in name and not name.startswith(("sys/", "linux/", "asm/")):
                    found.append(f"{relative} includes <{name}>, which is neither ours nor the system's")
                continue
            target = csrc / name if (csrc / name).exists() else path.parent / name
            if not target.exists():
                found.append(f'{relative} includes "{name}", which is not in csrc/')
                continue
            other = layer_of(pathlib.Path(os.path.relpath(target, csrc)))
            if other not in LAYERS[layer]:
                found.append(f'{relative} includes "{name}"; {layer or "csrc"}/ stands below {other}/')
    return found


def imported(path: pathlib.Path, package: pathlib.Path) -> list[tuple[int, str]]:
    """Line and top-level name within the package of every import of it, wherever in the file it stands."""
    found = []
    here = ("rushlight", *path.relative_to(package).with_suffix("").parts)
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom):
            base = list(here[: len(here) - node.level]) if node.level else []
            base += node.module.split(".") if node.module else []
            names = [[*base, alias.name] for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        found += [(node.lineno, name[1]) for name in names if name[0] == "rushlight" and len(name) > 1]
    return found


def package_breaches(package: pathlib.Path) -> list[str]:
    folders = {p.name for p in package.iterdir() if p.is_dir()}
    found = []
    for path in sources(package, ".py"):
        relative = path.relative_to(package)
        layer = relative.parts[0] if len(relative.parts) > 1 else "core"
        if layer == "core" and path.stem in TOP:
            continue
        allowed = PACKAGE_LAYERS.get(layer)
        if allowed is None:
            found.append(f"{relative}: the package's folder {layer}/ has no row in PACKAGE_LAYERS")
            continue
        for line, name in imported(path, package):
            other = name if name in folders else "core"
            if other not in allowed:
                found.append(f"{relative}:{line} imports rushlight.{name}; {layer} stands below {other}")
    return found


def test_engine_layers():
    assert not cpp_breaches(CSRC)


def test_package_layers():
    assert not package_breaches(PACKAGE)


@pytest.mark.parametrize(
    "file, text",
    [
        ("pointwise/a.h", "#include <cmath>"),
        ("kernels/cpu/a.cpp", '#include "tensor/tensor.h"'),
        ("base/a.h", '#include "tensor/tensor.h"'),
        ("autograd/a.cpp", "#include <Python.h>"),
        ("ops/a.cpp", "#include <nanobind/nanobind.h>"),
        ("ops/a.cpp", '#include "no/such.h"'),
        ("novel/a.h", ""),
    ],
)
def test_a_breach_is_seen(tmp_path, file, text):
    for name in ("tensor/tensor.h", file):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / file).write_text(text + "\n")
    assert len(cpp_breaches(tmp_path)) == 1


def test_a_breach_in_the_package_is_seen(tmp_path):
    for name, text in {
        "nn/a.py": "from ..optim import Adam\n",
        "optim/b.py": "from .. import nn\n",
        "utils/b.py": "def f():\n    from rushlight import nn\n",
        "utils/c.py": "from .. import Tensor\nfrom .data import d\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert len(package_breaches(tmp_path)) == 2


def test_files_are_short():
    long = {
        p.relative_to(ROOT).as_posix(): lines
        for folder in ("csrc", "src", "tests", "benchmarks", "examples")
        for p in sources(ROOT / folder, ".h", ".cpp", ".py")
        if (lines := p.read_bytes().count(b"\n")) > MAX_LINES
    }
    assert not long, f"over {MAX_LINES} lines: {long}"


def test_no_machine_paths():
    pattern = re.compile(r"(?<![\w.:/~-])/(home|root|work|Users|opt|mnt)/\w+")
    suffixes = (".h", ".cpp", ".py", ".pyi", ".md", ".toml", ".txt", ".sh", ".cmake", ".in", ".json")
    folders = ("csrc", "src", "tests", "benchmarks", "examples", "docs", "scripts", "cmake")
    paths = [p for folder in folders for p in sources(ROOT / folder, *suffixes)]
    paths += [p for p in ROOT.glob("*") if p.suffix in suffixes] + [ROOT / ".ci" / "run"]
    found = [f"{p.relative_to(ROOT)}: {m.group()}" for p in paths for m in pattern.finditer(p.read_text())]
    assert not found


# ---- object code of the instruction sets

WIDER_SETS = ("avx2", "avx512")  # what a machine may lack


def strays(objects: list[pathlib.Path], isa: str) -> list[str]:
    """Functions that the linker may merge with those of other files, though compiled for `isa`.

    A weak function (nm's W; weak data holds no instructions) whose name tells of its set
    (`rushlight::kernels::avx2::...`, or a template over one of its types) is its own. Any other could be picked for
    the whole library, and be an illegal instruction elsewhere.
    """
    out = subprocess.run(["nm", "--defined-only", *map(str, objects)], capture_output=True, text=True, check=True)
    found = set()
    for line in out.stdout.splitlines():
        if (parts := line.split()) and len(parts) == 3 and parts[1] == "W" and f"{len(isa)}{isa}" not in parts[2]:
            found.add(parts[2])
    return demangle(sorted(found))


def demangle(names: list[str]) -> list[str]:
    if not names or not shutil.which("c++filt"):
        return names
    return subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True).stdout.splitlines()


def compiler() -> str | None:
    return os.environ.get("CXX") or next(filter(shutil.which, ("c++", "g++", "clang++")), None)


def flags_of(isa: str) -> list[str]:
    """What CMakeLists.txt compiles the set with, as far as it decides what code comes out."""
    text = (ROOT / "CMakeLists.txt").read_text()
    wider = re.search(rf"set\(isa_flags_{isa} ([^)]*)\)", text)
    assert wider, f"CMakeLists.txt has no isa_flags_{isa}"
    common = "-std=gnu++20 -fPIC -fvisibility=hidden -fvisibility-inlines-hidden -fno-math-errno -fno-trapping-math"
    own = f"-O3 -ffp-contract=off -DNDEBUG -DRL_ISA={isa} -DRL_ISA_{isa}=1 -w"
    return [*common.split(), *own.split(), *wider.group(1).split(), f"-I{CSRC}"]


def objects_of(isa: str, tmp_path: pathlib.Path) -> list[pathlib.Path]:
    """The object files of a set: of the newest build beside the checkout if it is up to date, else compiled here."""
    kernels = sorted((CSRC / "kernels" / "cpu").glob("*.cpp"))
    changed = max((p.stat().st_mtime for p in sources(CSRC, ".h", ".cpp")), default=0)
    for folder in sorted(ROOT.glob(f"build/**/kernels_{isa}.dir"), key=lambda p: -p.stat().st_mtime):
        found = [folder / "csrc" / "kernels" / "cpu" / f"{p.name}.o" for p in kernels]
        if "sanitize" in folder.as_posix():  # instrumented code has symbols of its own
            continue
        if all(o.exists() and o.stat().st_mtime >= changed for o in found):
            return found
    if not compiler():
        pytest.skip("no build beside the checkout, and no C++ compiler")
    launcher = ["ccache"] if shutil.which("ccache") else []
    made = [tmp_path / f"{p.name}.o" for p in kernels]
    for source, target in zip(kernels, made, strict=True):
        subprocess.run([*launcher, compiler(), *flags_of(isa), "-c", source, "-o", target], check=True)
    return made


needs_nm = pytest.mark.skipif(not shutil.which("nm"), reason="nm is not installed")
on_x86 = pytest.mark.skipif(os.uname().machine not in ("x86_64", "AMD64"), reason="these sets are x86's")


@needs_nm
@on_x86
@pytest.mark.parametrize("isa", WIDER_SETS)
def test_wider_sets_share_no_inline_functions(isa, tmp_path):
    objects = objects_of(isa, tmp_path)
    found = strays(objects, isa) if objects else []
    assert not found, f"compiled for {isa}, yet weak and named as shared:\n" + "\n".join(found)


@needs_nm
@on_x86
@pytest.mark.skipif(not compiler(), reason="no C++ compiler")
def test_a_stray_symbol_is_seen(tmp_path):
    source, target = tmp_path / "a.cpp", tmp_path / "a.o"
    source.write_text(
        "template <class T> __attribute__((noinline)) T shared(T x) { return x * x; }\n"
        "namespace rushlight::kernels::RL_ISA {\n"
        "struct Own { float v; Own operator*(Own o) const { return {v * o.v}; } };\n"
        "float f(float x) { return shared(x); }\n"
        "float g(float x) { return shared(Own{x}).v; }\n"
        "}\n"
    )
    subprocess.run([compiler(), *flags_of("avx2"), "-c", source, "-o", target], check=True)
    found = strays([target], "avx2")
    assert len(found) == 1 and "shared" in found[0]
